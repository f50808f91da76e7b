//! Requirements of tests: without one, a test is skipped with a message, and fails if it must be there (CI).

#![allow(dead_code)] // each test binary uses its part

use std::process::{Command, Stdio};

/// Prints the reason why a test is skipped. Under CI, where everything must be installed, it fails.
#[track_caller]
pub(crate) fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "under CI nothing may be skipped: {why}");
    eprintln!("SKIPPED: {why}");
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Requires root and these programs. The fast tier skips tests that need root, so that it is the same for everyone.
#[track_caller]
pub(crate) fn root_and(programs: &[&str]) -> bool {
    if !is_root() || std::env::var_os("PLUMB_TEST_FAST").is_some() {
        skip("needs root");
        return false;
    }
    tools(programs)
}

/// Requires these programs.
#[track_caller]
pub(crate) fn tools(programs: &[&str]) -> bool {
    for program in programs {
        let found = Command::new("sh").args(["-c", "command -v \"$0\"", program]).stdout(Stdio::null()).status();
        if !found.is_ok_and(|status| status.success()) {
            skip(&format!("needs {program}"));
            return false;
        }
    }
    true
}

/// Debian's Python: modules from Debian packages are only available to it, but PATH may find another one first.
pub(crate) const PYTHON: &str = "/usr/bin/python3";

/// Requires a program that succeeds with these arguments, which check for a feature.
#[track_caller]
pub(crate) fn program(program: &str, arguments: &[&str]) -> bool {
    let is_there = Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success());
    if !is_there {
        skip(&format!("needs `{program} {}`", arguments.join(" ")));
    }
    is_there
}

/// Prints what this machine's set-up or load prevented a test from showing, and where else it is covered. Unlike
/// [`skip`], it does not fail under CI: a machine has one version of control groups, other users may load it, and it
/// lacks some kernels.
pub(crate) fn not_shown(what: &str) {
    eprintln!("SKIPPED: {what}");
}
