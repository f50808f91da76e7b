//! The process that created a test directory, and whether it is still running.

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use std::fs::{self, File};

/// Identity of a process, which distinguishes it from later ones with the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    /// Process id in its own namespace.
    pub pid: u32,
    /// Start time, clock ticks since boot. Source: proc_pid_stat(5), field 22.
    pub started_ticks: u64,
    /// PID namespace, such as `pid:[4026531836]`.
    pub pid_namespace: String,
    /// Id of the boot in which it ran.
    pub boot: String,
    /// Machine on which it ran, because directories may be on shared storage.
    pub host: String,
}

/// Whether an owner is still running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Life {
    Alive,
    Dead,
    /// It cannot be determined here, for this reason.
    Unknown(String),
}

impl Owner {
    pub(super) fn this() -> Owner {
        let pid = std::process::id();
        Owner {
            pid,
            started_ticks: started_ticks(pid).unwrap_or(0),
            pid_namespace: pid_namespace(),
            boot: boot(),
            host: host(),
        }
    }

    /// Checks whether the owner is running. If the file system has locks, the lock on the marker decides, even in
    /// other containers. Otherwise, process id and start time decide. A directory is abandoned only if both agree.
    pub(super) fn life(&self, marker: &File) -> Life {
        let here = Owner::this();
        if self.host != here.host {
            return Life::Unknown(format!("it was made on the machine `{}`; run `plumb clean` there", self.host));
        }
        if self.boot != here.boot {
            return Life::Dead;
        }
        let lock = rustix::fs::flock(marker, FlockOperation::NonBlockingLockExclusive);
        if lock == Err(Errno::WOULDBLOCK) {
            return Life::Alive;
        }
        if self.pid_namespace != here.pid_namespace {
            return match lock {
                Ok(()) => Life::Dead,
                Err(_) => Life::Unknown("it was made in another container; run `plumb clean` there".to_owned()),
            };
        }
        match started_ticks(self.pid) {
            Some(ticks) if ticks == self.started_ticks => Life::Alive,
            _ => Life::Dead,
        }
    }
}

/// Returns the start time of a process, clock ticks since boot; `None` if there is none, or if it only waits to be reaped.
/// Source: proc_pid_stat(5), field 22.
pub fn started_ticks(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse_started_ticks(&text)
}

fn parse_started_ticks(stat: &str) -> Option<u64> {
    // The command may contain blanks and brackets, but the text after its last bracket does not.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

fn pid_namespace() -> String {
    fs::read_link("/proc/self/ns/pid").map(|link| link.to_string_lossy().into_owned()).unwrap_or_default()
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// Returns the host name and, if available, the machine id, because host names are not unique.
fn host() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let id = fs::read_to_string("/etc/machine-id").map(|text| text.trim().to_owned()).unwrap_or_default();
    format!("{name} {id}").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_time_is_found_after_any_command_and_zombies_are_dead() {
        let stat = |command: &str, state: &str| {
            let rest: Vec<String> = (4..=52).map(|field| field.to_string()).collect();
            format!("77 ({command}) {state} {}", rest.join(" "))
        };
        assert_eq!(parse_started_ticks(&stat("plumb", "S")), Some(22));
        assert_eq!(parse_started_ticks(&stat("a) R 1 (b", "R")), Some(22));
        assert_eq!(parse_started_ticks(&stat("plumb", "Z")), None);
        assert_eq!(parse_started_ticks(""), None);
    }

    #[test]
    fn a_process_is_alive_only_as_itself() {
        let file = tempfile::tempfile().unwrap();
        let me = Owner::this();
        assert_eq!(me.life(&file), Life::Alive);
        let earlier = Owner { started_ticks: me.started_ticks.wrapping_sub(1), ..me.clone() };
        assert_eq!(earlier.life(&file), Life::Dead, "the same id, another process");
        let last_boot = Owner { boot: "another".to_owned(), ..me.clone() };
        assert_eq!(last_boot.life(&file), Life::Dead);
        let elsewhere = Owner { host: "another".to_owned(), ..me };
        assert!(matches!(elsewhere.life(&file), Life::Unknown(_)));
    }

    #[test]
    fn a_held_lock_means_alive_for_any_process_id() {
        let file = tempfile::NamedTempFile::new().unwrap();
        rustix::fs::flock(file.as_file(), FlockOperation::NonBlockingLockExclusive).unwrap();
        let other = File::open(file.path()).unwrap();
        let gone = Owner { pid: 0, ..Owner::this() };
        assert_eq!(gone.life(&other), Life::Alive);
        drop(file.into_file());
        crate::testing::once_released(|| (gone.life(&other) == Life::Dead).then_some(()));
    }
}
