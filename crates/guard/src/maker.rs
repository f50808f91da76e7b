//! The process that took a file, as recorded in a mark: short enough for an extended attribute, and sufficient to check later
//! whether the process is still running.

use crate::testdir::started_ticks;
use std::fs;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Identifies a process among all processes of its machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Maker {
    /// Checksum of host, boot and PID namespace: process ids from elsewhere mean nothing here.
    pub(super) place: u32,
    pub(super) pid: u32,
    /// Start time, clock ticks since boot. Source: proc_pid_stat(5), field 22.
    pub(super) started_ticks: u64,
}

/// State of the process that a mark names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    /// It is running, and is not this process.
    Alive,
    /// It has exited, or it is this process in an earlier run.
    Over,
    /// It belongs to another machine, boot or container.
    Elsewhere,
}

impl Maker {
    /// Returns the current process; the result is cached.
    pub(super) fn this() -> Maker {
        // A forked worker inherits the value of its parent.
        static THIS: Mutex<Option<Maker>> = Mutex::new(None);
        let pid = std::process::id();
        let mut known = THIS.lock().unwrap_or_else(PoisonError::into_inner);
        match *known {
            Some(maker) if maker.pid == pid => maker,
            _ => {
                let maker = Maker::for_process(pid);
                *known = Some(maker);
                maker
            }
        }
    }

    /// Describes a process of this machine and PID namespace.
    pub(super) fn for_process(pid: u32) -> Maker {
        Maker { place: this_place(), pid, started_ticks: started_ticks(pid).unwrap_or(0) }
    }

    /// Checks whether the process is still running.
    pub(super) fn life(self) -> Life {
        if self.place != this_place() {
            return Life::Elsewhere;
        }
        let is_alive = self.pid != std::process::id() && started_ticks(self.pid) == Some(self.started_ticks);
        if is_alive { Life::Alive } else { Life::Over }
    }
}

/// Returns a checksum of host, boot and PID namespace.
fn this_place() -> u32 {
    static PLACE: OnceLock<u32> = OnceLock::new();
    *PLACE.get_or_init(|| {
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let boot = fs::read_to_string(BOOT_ID).unwrap_or_default();
        crc32c::crc32c_append(this_host(), format!("{boot}\n{}", namespace.display()).as_bytes())
    })
}

/// Returns a checksum of host name and machine id: host names are not unique.
pub(super) fn this_host() -> u32 {
    static HOST: OnceLock<u32> = OnceLock::new();
    *HOST.get_or_init(|| {
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
        crc32c::crc32c(format!("{name}\n{id}").as_bytes())
    })
}

/// Changes at each boot. Source: proc_sys_kernel(5).
pub(super) const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_runs_until_it_ends_and_other_places_are_not_judged() {
        let this = Maker::this();
        assert_eq!(this.life(), Life::Over, "this process in another run");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let of_child = Maker { pid: child.id(), started_ticks: started_ticks(child.id()).unwrap(), ..this };
        assert_eq!(of_child.life(), Life::Alive);
        assert_eq!(Maker { started_ticks: 1, ..of_child }.life(), Life::Over, "the same id, another process");
        assert_eq!(Maker { place: this.place ^ 1, ..of_child }.life(), Life::Elsewhere);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(of_child.life(), Life::Over);
    }
}
