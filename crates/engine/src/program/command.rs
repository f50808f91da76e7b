//! Commands of the shell as steps of a program.

use super::rules::StepRules;
use crate::backend::{Completion, Errno};

/// Runs a command and waits for its end. Only a failure to start it is an error.
#[cold]
pub(super) fn run_command(rules: Option<&StepRules>) -> Completion {
    let Some(StepRules::Command(line)) = rules else { return Err(Errno(libc::EINVAL)) };
    match crate::process::shell(line).status() {
        Ok(_any) => Ok(0),
        Err(error) => Err(Errno(error.raw_os_error().unwrap_or(libc::EIO))),
    }
}
