//! Waits for a child and measures its CPU time.

use std::io;
use std::process::{Child, ExitStatus};
use wait4::Wait4;

/// Waits for a child. Returns its status and the user and system time, in seconds, of it and of all children that it waited for.
///
/// # Errors
/// The child cannot be waited for.
pub(super) fn wait(mut child: Child) -> io::Result<(ExitStatus, f64)> {
    let ended = child.wait4()?;
    Ok((ended.status, (ended.rusage.utime + ended.rusage.stime).as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn processor_time_includes_grandchildren_and_excludes_sleep() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let used = |script: &str| {
            let (status, seconds) = wait(Command::new("sh").args(["-c", script]).spawn().unwrap()).unwrap();
            assert!(status.success());
            seconds
        };
        let idle = used("sleep 0.2");
        assert!(used(&format!("sh -c '{busy}'; true")) > 2.0 * idle, "idle: {idle} s");
    }

    #[test]
    fn the_exit_code_is_the_childs() {
        let (status, _) = wait(Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap()).unwrap();
        assert_eq!(status.code(), Some(7));
    }
}
