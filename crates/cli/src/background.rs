//! Servers that go to the background, as the tools that they stand for do: the program starts itself again without a terminal.

use crate::exit::Stopped;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Set for the process in the background, whose words ask it to go there as well.
const IN_BACKGROUND: &str = "PLUMB_IN_BACKGROUND";

/// Starts this program again with the same words. The other process outlives this one and its terminal.
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

/// Tells whether this is the process that [`start_again`] started.
pub fn is_here() -> bool {
    std::env::var_os(IN_BACKGROUND).is_some()
}

/// Leaves the parent's session, in the background: no hangup of the terminal reaches this process, and the scheduler, which shares
/// processors between sessions first (sched(7), "The autogroup feature"), no longer counts it as a part of what runs there.
pub fn leave_session() {
    if is_here() {
        // Fails only for the leader of a process group, which `start_again` never starts.
        let _ = rustix::process::setsid();
    }
}
