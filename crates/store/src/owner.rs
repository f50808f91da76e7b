//! Owners of runs, by which a later process distinguishes a running run from a killed one.

use crate::{StoreError, canonical};
use plumb_guard::testdir::started_ticks;
use serde::{Deserialize, Serialize};
use std::fs;

/// Reason stored with a run whose process is gone.
pub(crate) const KILLED: &str = "its process was killed";

/// A process, identified so that no later process is mistaken for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    host: String,
    /// `/proc/sys/kernel/random/boot_id`; `None` if it does not exist.
    boot: Option<String>,
    /// Namespace of `pid`: a container has process ids of its own.
    pid_namespace: Option<String>,
    pid: u32,
    /// Start time of the process, clock ticks since boot (field 22 of /proc/PID/stat, see proc_pid_stat(5)).
    started: Option<u64>,
}

/// Whether an owner is still alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Alive,
    Dead,
    /// The owner is on another host or in another container, or this system has no /proc.
    Unknown,
}

impl Owner {
    /// Returns the owner for this process.
    pub(crate) fn this() -> Owner {
        Owner::for_process(std::process::id())
    }

    /// Returns the owner for a process of this host.
    pub(crate) fn for_process(pid: u32) -> Owner {
        Owner {
            host: read("/proc/sys/kernel/hostname").unwrap_or_default(),
            boot: read("/proc/sys/kernel/random/boot_id"),
            pid_namespace: fs::read_link("/proc/self/ns/pid").ok().map(|link| link.to_string_lossy().into_owned()),
            pid,
            started: started_ticks(pid),
        }
    }

    /// Returns the text that is stored with a run.
    pub(crate) fn text(&self) -> Result<String, StoreError> {
        Ok(canonical::text(&canonical::value("the owner", self)?))
    }

    /// Returns `true` if the owner of a stored run is known to be dead.
    pub(crate) fn is_dead(stored: &str) -> bool {
        plumb_document::json::from_str::<Owner>(stored).is_ok_and(|owner| owner.life() == Life::Dead)
    }

    /// Returns whether the owner is alive, as seen from this process.
    pub(crate) fn life(&self) -> Life {
        let this = Owner::this();
        if self.host != this.host || self.boot.is_none() || this.started.is_none() {
            return Life::Unknown;
        }
        if self.boot != this.boot {
            return Life::Dead;
        }
        if self.pid_namespace != this.pid_namespace {
            return Life::Unknown;
        }
        match started_ticks(self.pid) {
            Some(started) if Some(started) == self.started => Life::Alive,
            _ => Life::Dead,
        }
    }
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_an_earlier_one_with_its_pid_is_not() {
        let this = Owner::this();
        if this.started.is_none() {
            assert!(std::env::var_os("CI").is_none(), "no /proc");
            eprintln!("SKIPPED: this system has no /proc, so the state of processes is unknown");
            return;
        }
        assert_eq!(this.life(), Life::Alive);
        assert_eq!(Owner { started: Some(1), ..this.clone() }.life(), Life::Dead);
        assert_eq!(Owner { boot: Some("another".to_owned()), ..this.clone() }.life(), Life::Dead);
        assert_eq!(Owner { host: "elsewhere".to_owned(), ..this.clone() }.life(), Life::Unknown);
        assert_eq!(Owner { pid_namespace: Some("pid:[1]".to_owned()), ..this }.life(), Life::Unknown);
    }
}
