//! Finds the programs that a user's shell line starts, as far as possible without running it.

use crate::command::{Command, LineError, NoWitness};

/// Words of the shell's grammar. The commands after them may never run.
const GRAMMAR: [&str; 16] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "{", "(",
    "!",
];
/// Commands that may change which programs are found later: they install, unpack, or change the search path.
const CHANGERS: [&str; 22] = [
    "cd", ".", "source", "eval", "export", "alias", "hash", "cp", "mv", "ln", "install", "tar", "unzip", "curl",
    "wget", "git", "make", "apt", "apt-get", "dnf", "yum", "pkg",
];

/// Returns the programs that a line starts in any case, up to the point where the line itself may change the search.
/// A command before `||` has an alternative.
fn programs(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for command in commands(line) {
        let mut words = command.text.split_whitespace().skip_while(|word| is_assignment(word));
        let Some(word) = words.next() else { continue };
        if GRAMMAR.iter().any(|grammar| word == *grammar || (grammar.len() == 1 && word.starts_with(grammar))) {
            break;
        }
        // The shell expands such a name first, or it defines a function.
        if word.contains(['$', '`', '(', ')', '*', '?', '[', '~', '>', '<']) {
            break;
        }
        let word = word.trim_matches(['\'', '"']);
        if !command.has_alternative && !word.is_empty() && !found.iter().any(|known| known == word) {
            found.push(word.to_owned());
        }
        if CHANGERS.contains(&word) || command.is_alternative {
            break;
        }
    }
    found
}

/// Returns `true` for `NAME=value` before a command.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// A simple command of a line.
struct SimpleCommand<'a> {
    text: &'a str,
    /// Whether `||` follows.
    has_alternative: bool,
    /// Whether `||` comes before.
    is_alternative: bool,
}

/// Splits a line into simple commands at the operators outside quotes.
fn commands(line: &str) -> Vec<SimpleCommand<'_>> {
    let mut found: Vec<SimpleCommand<'_>> = Vec::new();
    let (mut quote, mut start, mut is_alternative) = (None, 0, false);
    let mut characters = line.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some('"') | None, '\\') => drop(characters.next()),
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '#') if line[..at].chars().next_back().is_none_or(char::is_whitespace) => {
                found.push(SimpleCommand { text: &line[start..at], has_alternative: false, is_alternative });
                return found;
            }
            (None, ';' | '&' | '|' | '\n') => {
                // `2>&1` and `&>FILE` separate nothing.
                let redirects = character == '&'
                    && (line[..at].ends_with(['>', '<']) || characters.peek().is_some_and(|(_, next)| *next == '>'));
                if redirects {
                    continue;
                }
                let doubled = characters.next_if(|(_, next)| *next == character).is_some();
                let is_or = character == '|' && doubled;
                found.push(SimpleCommand { text: &line[start..at], has_alternative: is_or, is_alternative });
                is_alternative = is_or;
                start = at + 1 + usize::from(doubled);
            }
            (None, _) => {}
        }
    }
    found.push(SimpleCommand { text: line.get(start..).unwrap_or_default(), has_alternative: false, is_alternative });
    found
}

/// Returns the programs that a user's line starts and that a shell here does not find. Runs nothing of the line.
///
/// # Errors
/// Returns an error if the shell cannot be run.
pub fn missing_programs(line: &str) -> Result<Vec<String>, LineError> {
    let mut missing = Vec::new();
    for program in programs(line) {
        let ask = Command::new("sh", ["-c", "command -v -- \"$1\"", "sh", &program]);
        match ask.run(&mut NoWitness, None).map_err(LineError::from) {
            Ok(_) => {}
            Err(LineError::Failed { .. }) => missing.push(program),
            Err(error) => return Err(error),
        }
    }
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Protects: programs that run in any case are found, and those that the line itself
    // makes available are not reported.
    #[test]
    fn programs_of_a_line_are_those_that_surely_run() {
        for (line, expected) in [
            ("vmrun start /vm/a.vmx nogui", &["vmrun"][..]),
            ("LANG=C vmrun list | grep -q a && sleep 1; true", &["vmrun", "grep", "sleep", "true"]),
            ("vmrun list || true", &["true"]),
            ("command -v vmrun >/dev/null 2>&1 || install-vmrun; vmrun", &["install-vmrun"]),
            ("cd /vm && ./start.sh", &["cd"]),
            ("apt-get install -y qemu && qemu-img --version", &["apt-get"]),
            ("if test -x a; then b; fi", &[]),
            ("(a; b)", &[]),
            ("start() { a; }; start", &[]),
            ("$TOOL run", &[]),
            ("echo 'a; b' \"c && d\" # e; f", &["echo"]),
            ("a 2>&1 | b &> log", &["a", "b"]),
            ("echo \\; a", &["echo"]),
            ("", &[]),
        ] {
            assert_eq!(programs(line), expected, "{line}");
        }
    }

    #[test]
    fn missing_programs_are_found_by_the_shell() {
        let of = |line: &str| missing_programs(line).unwrap();
        assert_eq!(of("true && echo a; /bin/sh -c b"), [] as [&str; 0]);
        assert_eq!(of("no-such-program-of-plumb start; /no/such/file"), ["no-such-program-of-plumb", "/no/such/file"]);
        assert_eq!(of("-v"), ["-v"], "not an option of the shell");
    }

    proptest! {
        #[test]
        fn no_line_panics(text in "\\PC{0,40}", words in "(a|&|&&|\\||\\|\\||;|'|\"|\\\\|#|>|<|é|=|\\(|\\)| ){0,20}") {
            let _ = (programs(&text), programs(&words));
        }
    }
}
