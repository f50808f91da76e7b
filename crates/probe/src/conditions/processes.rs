//! Processes that work on storage by themselves, found by their names, which anybody may read.

use crate::error::ProbeError;
use crate::sysroot::Sysroot;
use plumb_result::conditions::ThreadTurns;

/// Which of them are alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Processes {
    /// The kernel's thread that zeroes inode tables of ext4. Source: `ext4_run_lazyinit_thread` in fs/ext4/super.c.
    pub(super) ext4_lazy_init: bool,
    /// That thread's turns, where they can be read.
    pub(super) ext4_lazy_init_turns: Option<ThreadTurns>,
    /// `btrfs scrub` of btrfs-progs, which waits for the kernel.
    pub(super) btrfs_scrub: bool,
}

impl Processes {
    /// Looks through `/proc` once; the reason where there is none.
    pub(super) fn look(sys: &Sysroot) -> Result<Processes, ProbeError> {
        sys.read("/proc/self/stat").or_else(|reason| if sys.is_real() { Err(reason) } else { Ok(String::new()) })?;
        let mut found = Processes::default();
        for pid in sys.names("/proc").iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
            match sys.line(format!("/proc/{pid}/comm")).as_deref() {
                Some("ext4lazyinit") => {
                    found.ext4_lazy_init = true;
                    found.ext4_lazy_init_turns = turns(sys, pid);
                }
                Some("btrfs") => {
                    let command = sys.read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                    found.btrfs_scrub |= command.split('\0').any(|word| word == "scrub");
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

fn turns(sys: &Sysroot, pid: &str) -> Option<ThreadTurns> {
    let status = sys.read(format!("/proc/{pid}/status")).ok()?;
    let switches = |name: &str| -> Option<u64> {
        status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok())
    };
    let switches = switches("voluntary_ctxt_switches")?.saturating_add(switches("nonvoluntary_ctxt_switches")?);
    Some(ThreadTurns { pid: pid.parse().ok()?, switches })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;

    // Protects: threads are known by name, and another command of btrfs is no scrub.
    #[test]
    fn workers_are_known_by_name() {
        let tree = Tree::new();
        tree.file("/proc/7/comm", "btrfs\n").file("/proc/7/cmdline", "btrfs\0subvolume\0list\0/\0");
        assert_eq!(Processes::look(&tree.sys()), Ok(Processes::default()));
        tree.file("/proc/8/comm", "ext4lazyinit\n")
            .file(
                "/proc/8/status",
                "Name:\text4lazyinit\nvoluntary_ctxt_switches:\t36\nnonvoluntary_ctxt_switches:\t2\n",
            )
            .file("/proc/9/comm", "btrfs\n")
            .file("/proc/9/cmdline", "btrfs\0scrub\0start\0/\0");
        let turns = Some(ThreadTurns { pid: 8, switches: 38 });
        let all = Processes { ext4_lazy_init: true, ext4_lazy_init_turns: turns, btrfs_scrub: true };
        assert_eq!(Processes::look(&tree.sys()), Ok(all));
    }
}
