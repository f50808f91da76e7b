//! The state after calls, to find rounds that return to their initial state.

use super::Step;
use std::collections::BTreeMap;

/// Names of calls that change nothing.
const READS: [&str; 13] = [
    "access",
    "faccessat",
    "faccessat2",
    "fsync",
    "fdatasync",
    "getdents64",
    "getxattr",
    "lgetxattr",
    "listxattr",
    "pread64",
    "readlinkat",
    "statfs",
    "statx",
];

/// Existing names with the calls that made them, open descriptors, and all other changes. Each part is text, so that
/// states are equal only after the same calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct State {
    names: BTreeMap<String, Vec<String>>,
    descriptors: BTreeMap<String, String>,
    /// By name of the call; the last call of each name counts.
    process: BTreeMap<String, String>,
    /// Number of calls with unknown effect: a state after one never equals an earlier state.
    others: usize,
}

impl State {
    /// Whether a call changes nothing.
    pub(super) fn is_read(name: &str) -> bool {
        READS.contains(&name)
    }

    /// Returns the state after a step.
    pub(super) fn after(&self, step: &Step) -> State {
        let mut state = self.clone();
        if step.has_failed() || step.recorded.is_none() || READS.contains(&step.name()) {
            return state;
        }
        let strings: Vec<&str> = step.text.split('"').skip(1).step_by(2).collect();
        let descriptor = step.text.split_once("(SYS_").and_then(|(_, call)| {
            let argument = call.split_once("fd[")?.1;
            Some(argument.split(']').next()?.to_owned())
        });
        match (step.name(), strings.as_slice()) {
            ("unlinkat", [path]) => {
                state.names.remove(*path);
            }
            ("renameat2", [from, to]) if step.text.ends_with(" 0L)") => {
                let moved = state.names.remove(*from).unwrap_or_default();
                state.names.insert((*to).to_owned(), moved);
            }
            ("setresuid" | "setresgid" | "setgroups" | "umask" | "chdir", _) => {
                state.process.insert(step.name().to_owned(), step.text.clone());
            }
            ("openat", [path]) => {
                if step.text.contains("O_CREAT") || step.text.contains("O_TRUNC") {
                    state.change(path, &step.text);
                }
                let number = step.recorded.clone().unwrap_or_default();
                state.descriptors.insert(number, (*path).to_owned());
            }
            ("close", _) => {
                state.descriptors.remove(&descriptor.unwrap_or_default());
            }
            (
                "mkdirat" | "mknodat" | "symlinkat" | "linkat" | "fchmodat" | "fchownat" | "utimensat" | "truncate",
                all,
            ) => match all {
                [.., path] if !step.text.contains("fd[") => state.change(path, &step.text),
                _ => state.others += 1,
            },
            _ => match descriptor.and_then(|number| self.descriptors.get(&number)) {
                Some(path) => state.change(&path.clone(), &step.text),
                None => state.others += 1,
            },
        }
        state
    }

    fn change(&mut self, path: &str, how: &str) {
        self.names.entry(path.to_owned()).or_default().push(how.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lines: &[&str]) -> State {
        lines.iter().fold(State::default(), |state, line| state.after(&Step::parse(line)))
    }

    // Protects: a file that was made and removed leaves no trace; one with another mode does.
    #[test]
    fn states_are_equal_if_nothing_is_left() {
        let make = "fd[9] = syscall(SYS_openat, AT_FDCWD, \"f\", O_CREAT | O_RDWR, 0644); /* 9 */";
        let close = "syscall(SYS_close, fd[9]); /* 0 */";
        let write = "syscall(SYS_pwrite64, fd[9], \"ab\", 2L, 0L); /* 2 */";
        let remove = "syscall(SYS_unlinkat, AT_FDCWD, \"f\", 0L); /* 0 */";
        let failed = "syscall(SYS_unlinkat, AT_FDCWD, \"f\", 0L); /* EPERM */";
        assert_eq!(after(&[make, close, remove]), State::default());
        assert_eq!(after(&[make, write, close, remove]), State::default());
        assert_ne!(after(&[make, remove]), State::default(), "it is still open");
        assert_ne!(after(&[make, close, failed]), State::default());
        assert_ne!(after(&[make, close]), after(&[make, write, close]));
        assert_ne!(after(&["syscall(SYS_unheard_of, 1L); /* 0 */"]), State::default());
        assert_eq!(
            after(&["/* wait 3 µs */", "syscall(SYS_statx, AT_FDCWD, \"f\", 0L, STATX_ALL, &stx); /* mode 1 */"]),
            State::default()
        );
    }
}
