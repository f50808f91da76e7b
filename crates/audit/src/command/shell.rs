//! Splits command lines: separators, quotation marks, redirections, and programs that launch others.

use super::PostmarkCommand;

/// Splits a line into commands; PostMark's settings count as one.
pub(crate) fn parts(line: &str) -> Vec<&str> {
    if PostmarkCommand::read(line).is_some() {
        return vec![line];
    }
    let parts = line.split("&&").flat_map(|part| part.split([';', '|', '\n']));
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Splits one command into words, without quotation marks and redirections.
pub(crate) fn words(part: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut words = part.split_whitespace();
    while let Some(word) = words.next() {
        match word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&').strip_prefix(['>', '<']) {
            // `> FILE`; `2>&1` and `>FILE` are one word.
            Some("" | ">") => drop(words.next()),
            Some(_) => {}
            None => {
                let quote = |c: char| matches!(c, '\'' | '"' | '’' | '‘' | '“' | '”');
                found.push(word.trim_matches(quote).to_owned());
            }
        }
    }
    found
}

/// A program that runs the command after its own arguments.
struct Launcher {
    name: &'static str,
    /// Number of the launcher's own arguments before the command, apart from options.
    arguments: usize,
    /// Options that take a value as the next word.
    valued: &'static [&'static str],
    /// Whether the launcher affects how the command runs.
    matters: bool,
}

const fn launcher_of(name: &'static str, arguments: usize, valued: &'static [&'static str], matters: bool) -> Launcher {
    Launcher { name, arguments, valued, matters }
}

/// Known launchers. Sources: util-linux's taskset(1), chrt(1) and ionice(1), numactl(8), coreutils.
const LAUNCHERS: [Launcher; 13] = [
    launcher_of("do", 0, &[], false),
    launcher_of("then", 0, &[], false),
    launcher_of("sudo", 0, &["-u", "-g"], false),
    launcher_of("doas", 0, &["-u"], false),
    launcher_of("time", 0, &["-f", "-o"], false),
    launcher_of("env", 0, &["-u"], false),
    launcher_of("nohup", 0, &[], false),
    launcher_of("taskset", 1, &[], true),
    launcher_of("chrt", 1, &[], true),
    launcher_of("numactl", 0, &["-N", "-m", "-C", "-i", "-p"], true),
    launcher_of("nice", 0, &["-n"], true),
    launcher_of("ionice", 0, &["-c", "-n"], true),
    launcher_of("timeout", 1, &["-s", "-k"], true),
];

/// Splits a command into the launchers that affect it, and its own words.
fn split(part: &str) -> (Vec<String>, Vec<String>) {
    let mut words: std::collections::VecDeque<String> = words(part).into();
    let mut launchers = Vec::new();
    while let Some(first) = words.front() {
        let name = first.rsplit('/').next().unwrap_or(first);
        let is_variable = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        });
        if is_variable {
            drop(words.pop_front());
            continue;
        }
        let Some(launcher) = LAUNCHERS.iter().find(|launcher| launcher.name == name) else { break };
        let mut own = vec![words.pop_front().unwrap_or_default()];
        while words.front().is_some_and(|word| word.starts_with('-')) {
            let Some(option) = words.pop_front() else { break };
            let takes_value = launcher.valued.contains(&option.as_str());
            own.push(option);
            if takes_value {
                own.extend(words.pop_front());
            }
        }
        for _ in 0..launcher.arguments {
            own.extend(words.pop_front());
        }
        if launcher.matters {
            launchers.extend(own);
        }
    }
    (launchers, words.into())
}

/// Returns the words of a command without launchers such as `sudo` or `taskset -c 0`.
pub(crate) fn without_launcher(part: &str) -> Vec<String> {
    split(part).1
}

/// Returns the launcher that affects how a command runs, such as `taskset -c 0`; empty if there is none.
pub(crate) fn launcher(part: &str) -> String {
    split(part).0.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a benchmark is found under any launcher.
    #[test]
    fn launchers_are_split_from_commands() {
        let of = |line: &str| (launcher(line), without_launcher(line).join(" "));
        let pair = |launcher: &str, command: &str| (launcher.to_owned(), command.to_owned());
        assert_eq!(of("fio --name=x"), pair("", "fio --name=x"));
        assert_eq!(of("sudo -u root time fio --name=x"), pair("", "fio --name=x"));
        assert_eq!(of("sudo taskset -c 0-3 fio --name=x"), pair("taskset -c 0-3", "fio --name=x"));
        assert_eq!(of("LANG=C nice -n 19 ionice -c3 dd if=a of=b"), pair("nice -n 19 ionice -c3", "dd if=a of=b"));
        assert_eq!(of("numactl -N 0 --membind=0 fio x"), pair("numactl -N 0 --membind=0", "fio x"));
        assert_eq!(of("dd if=a of=b"), pair("", "dd if=a of=b"), "an operand is not a variable");
        assert_eq!(of("taskset"), pair("taskset", ""));
    }
}
