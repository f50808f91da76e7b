//! Processes that do storage maintenance, found by their names, which any user may read.

use crate::census::Census;
use crate::error::ProbeError;
use crate::sysroot::Sysroot;
use plumb_result::conditions::ThreadTurns;

const LAZY_INIT: &str = "ext4lazyinit";

/// The maintenance processes that are running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Processes {
    /// The kernel's thread that zeroes inode tables of ext4. Source: `ext4_run_lazyinit_thread` in fs/ext4/super.c.
    pub(super) ext4_lazy_init: bool,
    /// That thread's turns, if they can be read.
    pub(super) ext4_lazy_init_turns: Option<ThreadTurns>,
    /// `btrfs scrub` of btrfs-progs, which waits for the kernel.
    pub(super) btrfs_scrub: bool,
}

/// The processes to look for. Looking for others takes longer than a short phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Wanted {
    pub(super) ext4_lazy_init: bool,
    pub(super) btrfs_scrub: bool,
}

impl Processes {
    /// Looks for the wanted processes. Returns an error if there is no `/proc`.
    pub(super) fn read(sys: &Sysroot, census: &Census, wanted: Wanted) -> Result<Processes, ProbeError> {
        if wanted == Wanted::default() {
            return Ok(Processes::default());
        }
        sys.read("/proc/self/stat").or_else(|reason| if sys.is_real() { Err(reason) } else { Ok(String::new()) })?;
        let mut found = Processes::default();
        let threads = census.kernel_threads();
        if let Some(thread) = threads.into_iter().flatten().find(|thread| thread.name == LAZY_INIT) {
            found.see_lazy_init(sys, thread.pid);
        }
        if threads.is_none() || wanted.btrfs_scrub {
            for &pid in census.programs() {
                match sys.line(format!("/proc/{pid}/comm")).as_deref() {
                    Some(LAZY_INIT) => found.see_lazy_init(sys, pid),
                    Some("btrfs") => {
                        let command = sys.read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                        found.btrfs_scrub |= command.split('\0').any(|word| word == "scrub");
                    }
                    _ => {}
                }
            }
        }
        Ok(found)
    }

    fn see_lazy_init(&mut self, sys: &Sysroot, pid: u32) {
        self.ext4_lazy_init = true;
        self.ext4_lazy_init_turns = thread_turns(sys, pid);
    }
}

fn thread_turns(sys: &Sysroot, pid: u32) -> Option<ThreadTurns> {
    let status = sys.read(format!("/proc/{pid}/status")).ok()?;
    let switches = |name: &str| -> Option<u64> {
        status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok())
    };
    let switches = switches("voluntary_ctxt_switches")?.saturating_add(switches("nonvoluntary_ctxt_switches")?);
    Some(ThreadTurns { pid, switches })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;

    // Protects: threads are recognised by name, and other commands of btrfs are not taken for a scrub.
    #[test]
    fn workers_are_known_by_name() {
        let tree = Tree::new();
        tree.file("/proc/7/comm", "btrfs\n").file("/proc/7/cmdline", "btrfs\0subvolume\0list\0/\0");
        let wanted = Wanted { ext4_lazy_init: true, btrfs_scrub: true };
        let read = |wanted: Wanted| Processes::read(&tree.sys(), &Census::with_sysroot(&tree.sys()), wanted);
        assert_eq!(read(wanted), Ok(Processes::default()));
        tree.file("/proc/8/comm", "ext4lazyinit\n")
            .file(
                "/proc/8/status",
                "Name:\text4lazyinit\nvoluntary_ctxt_switches:\t36\nnonvoluntary_ctxt_switches:\t2\n",
            )
            .file("/proc/9/comm", "btrfs\n")
            .file("/proc/9/cmdline", "btrfs\0scrub\0start\0/\0");
        let turns = Some(ThreadTurns { pid: 8, switches: 38 });
        let all = Processes { ext4_lazy_init: true, ext4_lazy_init_turns: turns, btrfs_scrub: true };
        assert_eq!(read(wanted), Ok(all));
        assert_eq!(read(Wanted::default()), Ok(Processes::default()));
        // The same if kernel threads can be distinguished.
        tree.file("/proc/2/comm", "kthreadd\n").file("/proc/2/task/2/children", "8 ");
        assert_eq!(read(wanted), Ok(all));
        let ext4 = Wanted { ext4_lazy_init: true, ..Wanted::default() };
        assert_eq!(read(ext4), Ok(Processes { btrfs_scrub: false, ..all }));
    }
}
