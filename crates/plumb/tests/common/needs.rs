//! What a test needs and may not have: it is then skipped out loud, and fails where a missing thing is an error (CI).

#![allow(dead_code)] // each test binary uses its part

use std::process::{Command, Stdio};

/// Says why a test is skipped; under CI, where everything is to be there, it fails.
#[track_caller]
pub(crate) fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "under CI nothing may be skipped: {why}");
    eprintln!("SKIPPED: {why}");
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Root, and these programs. The fast tier leaves out what needs root, so that it runs the same tests for everyone.
#[track_caller]
pub(crate) fn root_and(programs: &[&str]) -> bool {
    if !is_root() || std::env::var_os("PLUMB_TEST_FAST").is_some() {
        skip("needs root");
        return false;
    }
    tools(programs)
}

/// These programs.
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

/// Debian's Python: modules that its packages install are there for no other one, which may come first on the path.
pub(crate) const PYTHON: &str = "/usr/bin/python3";

/// A program that ends well with these arguments, which ask it for what is needed of it.
#[track_caller]
pub(crate) fn program(program: &str, arguments: &[&str]) -> bool {
    let is_there = Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success());
    if !is_there {
        skip(&format!("needs `{program} {}`", arguments.join(" ")));
    }
    is_there
}

/// Says what this machine, as it is set up or as busy as it is, did not let a test show, and where else it is covered.
/// Unlike [`skip`] it is no failure under CI: a machine has one version of control groups or the other, and others may
/// be at work on it; and no machine has every kernel.
pub(crate) fn not_shown(what: &str) {
    eprintln!("SKIPPED: {what}");
}
