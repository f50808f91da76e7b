//! Moves servers to the background, like the tools that they emulate: the program starts itself again without a terminal.

use crate::exit::Stopped;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Environment variable that marks the background process, whose arguments ask for the background, too.
const IN_BACKGROUND: &str = "PLUMB_IN_BACKGROUND";

/// Starts this program again with the same arguments. The new process outlives this one and its terminal.
///
/// # Errors
/// The program cannot be started.
pub fn start_again() -> Result<(), Stopped> {
    let failed = |error| Stopped::io(format!("cannot start in the background: {error}"));
    let mut words = std::env::args_os();
    let called = words.next().unwrap_or_default();
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.arg0(called).args(words).env(IN_BACKGROUND, "1");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(failed)?;
    Ok(())
}

/// Returns `true` in the process that [`start_again`] started.
pub fn is_here() -> bool {
    std::env::var_os(IN_BACKGROUND).is_some()
}

/// Leaves the parent's session if this process is in the background. A hangup of the terminal then does not reach
/// it. The scheduler, which shares processors between sessions first, then no longer counts it with the parent's
/// load. Source: sched(7), "The autogroup feature".
pub fn leave_session() {
    if is_here() {
        // Fails only for the leader of a process group, and `start_again` starts none.
        let _ = rustix::process::setsid();
    }
}
