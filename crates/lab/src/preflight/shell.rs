//! Guesses the programs that a shell line calls. A missing one is only a warning.

/// Words that are not programs: the shell's grammar and its built-ins. Source: POSIX, "Shell Command Language".
const SHELL_WORDS: &[&str] = &[
    "if", "then", "else", "elif", "fi", "while", "until", "do", "done", "in", "!", "time", "{", "}", ":", ".", "[",
    "[[", "alias", "bg", "break", "cd", "command", "continue", "echo", "eval", "exec", "exit", "export", "false", "fg",
    "getopts", "hash", "jobs", "kill", "local", "printf", "pwd", "read", "readonly", "return", "set", "shift",
    "source", "test", "times", "trap", "true", "type", "ulimit", "umask", "unalias", "unset", "wait",
];

/// Words that a program may follow.
const LEADERS: &[&str] = &["then", "else", "do", "!", "{", "if", "while", "until", "elif", "exec", "command", "time"];

/// Returns the programs at the beginning of each command of a line, each once. Skips parts with more complex grammar:
/// functions, `case`, quotes in a program's name.
pub(super) fn programs(line: &str) -> Vec<String> {
    if line.contains("case ") || line.contains("()") || line.contains("<<") {
        return Vec::new();
    }
    let mut found: Vec<String> = Vec::new();
    for command in commands(line) {
        let mut words = command.split_whitespace().skip_while(|word| LEADERS.contains(word) || is_assignment(word));
        let Some(word) = words.next() else { continue };
        let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./+".contains(c));
        let is_path = word.contains('/');
        if is_plain && !is_path && !SHELL_WORDS.contains(&word) && word != "for" && !found.iter().any(|one| one == word)
        {
            found.push(word.to_owned());
        }
    }
    found
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Splits a line into commands, with each quoted part replaced by one character.
fn commands(line: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut letters = line.chars().peekable();
    let mut quote: Option<char> = None;
    let mut in_comment = false;
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (_, '\n') if in_comment => in_comment = false,
            _ if in_comment => continue,
            (None, '#') if before.is_whitespace() => in_comment = true,
            (Some(open), letter) if letter == open => quote = None,
            (Some('"') | None, '\\') => drop(letters.next()),
            (Some(_), _) => continue,
            (None, '\'' | '"' | '`') => {
                quote = Some(letter);
                found.last_mut().expect("one at least").push('"');
            }
            // Redirections such as `2>&1` do not end a command.
            (None, '&') if before == '>' => {}
            (None, ';' | '&' | '|' | '\n' | '(' | ')') => found.push(String::new()),
            (None, letter) => found.last_mut().expect("one at least").push(letter),
        }
        before = letter;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::programs;

    // Protects: a warning about a program names one that is in the line.
    #[test]
    fn only_programs_that_are_certainly_called_are_named() {
        let cases: [(&str, &[&str]); 12] = [
            ("bindfs /a /b", &["bindfs"]),
            ("mkdir -p /a && mount --bind /a /b; sync", &["mkdir", "mount", "sync"]),
            ("X=1 Y='a b' blkdiscard /dev/x || true", &["blkdiscard"]),
            ("if ! grep -q x /proc/y; then modprobe z; fi", &["grep", "modprobe"]),
            ("echo 'a; b | c' | tee /x 2>&1", &["tee"]),
            ("for d in a b; do wipefs \"$d\"; done", &["wipefs"]),
            ("\"$TOOL\" x; $TOOL y; /opt/tool z", &[]),
            ("f() { a; }; f", &[]),
            ("case $x in a) b;; esac", &[]),
            ("cat <<EOF\nnothing here\nEOF", &[]),
            ("true # comment here", &[]),
            ("sleep 1 & wait", &["sleep"]),
        ];
        for (line, expected) in cases {
            assert_eq!(programs(line), expected, "{line}");
        }
    }
}
