//! Waiting for a child and its processor time.
#![allow(unsafe_code)]

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

/// Waits for a child. Returns its status and the user and system time, in seconds, of it and of all children that it waited for.
///
/// # Errors
/// The child cannot be waited for.
pub fn wait(child: Child) -> io::Result<(ExitStatus, f64)> {
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let mut status = 0;
    // SAFETY: rusage is plain data, valid when zeroed.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both point to live values of the right types. `child` is consumed, so nothing waits for this pid again.
        if unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) } == pid {
            let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
            return Ok((ExitStatus::from_raw(status), seconds(usage.ru_utime) + seconds(usage.ru_stime)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
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
