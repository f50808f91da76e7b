//! The list of processes, read once for all users of the same moment. Source: proc(5),
//! proc_pid_task(5) (`children`), `kthreadd` of kernel/kthread.c.

use crate::others::Snapshot;
use crate::sysroot::Sysroot;
use std::cell::OnceCell;
use std::time::{Duration, Instant};

/// `kthreadd`, the parent of all other kernel threads, if the initial PID namespace is visible.
const KTHREADD: u32 = 2;

/// Time for which the ID of a kernel thread is assumed to be the same thread. IDs are assigned in turn, so reuse
/// takes tens of thousands of new processes.
const SAME_NUMBER: Duration = Duration::from_secs(1);

/// Age up to which a list describes the present.
const FRESH: Duration = Duration::from_millis(100);

/// The processes at one moment: that of the first query.
#[derive(Debug, Clone)]
pub struct Census {
    sys: Sysroot,
    threads: OnceCell<Threads>,
    /// Programs. Includes kernel threads if the two cannot be distinguished.
    programs: OnceCell<Vec<u32>>,
    io: OnceCell<Snapshot>,
    /// Kernel threads of an earlier census.
    known: Vec<KernelThread>,
}

#[derive(Debug, Clone)]
struct Threads {
    at: Instant,
    /// `None` if they cannot be distinguished from programs.
    listed: Option<Vec<KernelThread>>,
}

/// A kernel thread. It keeps its name for life, unless it is a generic worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KernelThread {
    pub(crate) pid: u32,
    pub(crate) name: String,
}

impl Census {
    /// Creates a census of this machine. Reads nothing before the first query.
    pub fn new() -> Census {
        Census::with_sysroot(&Sysroot::real())
    }

    /// Like [`Census::new`], for the machine described by a tree of files.
    pub fn with_sysroot(sys: &Sysroot) -> Census {
        Census::with_known_threads(sys.clone(), Vec::new())
    }

    fn with_known_threads(sys: Sysroot, known: Vec<KernelThread>) -> Census {
        Census { sys, threads: OnceCell::new(), programs: OnceCell::new(), io: OnceCell::new(), known }
    }

    /// Creates a census and reads it with all processes' I/O, so that it can be made on another thread.
    pub fn read_now() -> Census {
        let census = Census::new();
        census.io();
        census
    }

    /// Whether it describes the present. An unread census will be read at the first query, and counts as fresh.
    pub fn is_fresh(&self) -> bool {
        self.threads.get().is_none_or(|threads| threads.at.elapsed() < FRESH)
    }

    /// Creates a new census for a later moment. If that is soon, only the names of new kernel threads are read.
    #[must_use]
    pub fn later(self) -> Census {
        let threads = self.threads.into_inner().filter(|threads| threads.at.elapsed() < SAME_NUMBER);
        Census::with_known_threads(self.sys, threads.and_then(|threads| threads.listed).unwrap_or_default())
    }

    /// Returns programs. Includes kernel threads if [`Census::kernel_threads`] returns `None`.
    pub(crate) fn programs(&self) -> &[u32] {
        self.programs.get_or_init(|| {
            let threads = self.kernel_threads();
            let mut programs = pids(&self.sys);
            if let Some(threads) = threads {
                programs.retain(|pid| *pid != KTHREADD && threads.binary_search_by_key(pid, |one| one.pid).is_err());
            }
            programs
        })
    }

    /// Returns kernel threads; `None` if they cannot be distinguished from programs. They are invisible in a PID
    /// namespace, and some kernels do not list children.
    pub(crate) fn kernel_threads(&self) -> Option<&[KernelThread]> {
        let threads = self.threads.get_or_init(|| Threads { at: Instant::now(), listed: self.read_threads() });
        threads.listed.as_deref()
    }

    /// Whether all processes of the machine are visible. Not the case in a PID namespace, or if `/proc`
    /// hides other users' processes (`hidepid`).
    pub(crate) fn sees_all(&self) -> bool {
        self.sys.line(format!("/proc/{KTHREADD}/comm")).is_some_and(|name| name == "kthreadd")
    }

    /// Returns the I/O of programs, and of kernel threads that work on their own account, so far.
    pub(crate) fn io(&self) -> &Snapshot {
        self.io.get_or_init(|| Snapshot::read_movers(&self.sys, self))
    }

    /// Reads kernel threads, sorted by ID. The kernel's list may skip a thread while another one ends; it
    /// counts as a program then.
    fn read_threads(&self) -> Option<Vec<KernelThread>> {
        let sys = &self.sys;
        sys.line(format!("/proc/{KTHREADD}/comm")).filter(|name| name == "kthreadd")?;
        let children = sys.read(format!("/proc/{KTHREADD}/task/{KTHREADD}/children")).ok()?;
        let mut pids: Vec<u32> = children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
        pids.sort();
        let named = |pid: u32| -> Option<KernelThread> {
            if let Ok(at) = self.known.binary_search_by_key(&pid, |one| one.pid) {
                return Some(self.known[at].clone());
            }
            // A thread that has ended meanwhile has no name.
            Some(KernelThread { pid, name: sys.line(format!("/proc/{pid}/comm"))? })
        };
        Some(pids.into_iter().filter_map(named).collect())
    }
}

impl Default for Census {
    fn default() -> Census {
        Census::new()
    }
}

/// Returns the IDs of all processes.
pub(crate) fn pids(sys: &Sysroot) -> Vec<u32> {
    sys.names("/proc").iter().filter_map(|name| name.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;

    // Protects: kernel threads are distinguished from programs, and each census notices new and ended ones.
    #[test]
    fn kernel_threads_are_distinguished_from_programs() {
        let tree = Tree::new();
        for (pid, name) in [(1, "init"), (2, "kthreadd"), (3, "kswapd0"), (7, "ext4lazyinit"), (9, "bash")] {
            tree.file(&format!("/proc/{pid}/comm"), &format!("{name}\n"));
        }
        tree.file("/proc/2/task/2/children", "3 7 ");
        let census = Census::with_sysroot(&tree.sys());
        let thread = |pid: u32, name: &str| KernelThread { pid, name: name.to_owned() };
        assert_eq!(census.programs(), [1, 9]);
        assert_eq!(census.kernel_threads(), Some([thread(3, "kswapd0"), thread(7, "ext4lazyinit")].as_slice()));
        tree.file("/proc/2/task/2/children", "3 12 ").file("/proc/12/comm", "md0_resync\n");
        assert_eq!(census.kernel_threads().map(<[_]>::len), Some(2), "a census is of one moment");
        let later = census.later();
        assert_eq!(later.kernel_threads(), Some([thread(3, "kswapd0"), thread(12, "md0_resync")].as_slice()));
    }

    // Protects the reading before a phase: a list from before long preparations does not count as current.
    #[test]
    fn an_old_list_is_not_fresh() {
        let mut census = Census::with_sysroot(&Tree::new().sys());
        assert!(census.is_fresh(), "an unread census is fresh");
        census.programs();
        assert!(census.is_fresh());
        census.threads.get_mut().unwrap().at -= FRESH;
        assert!(!census.is_fresh());
    }

    // Protects: if process 2 is another program, as in a container, no program is left out.
    #[test]
    fn without_kthreadd_all_are_programs() {
        let tree = Tree::new();
        tree.file("/proc/1/comm", "sh\n").file("/proc/2/comm", "dd\n").file("/proc/2/task/2/children", "3 ");
        tree.file("/proc/3/comm", "sleep\n");
        let census = Census::with_sysroot(&tree.sys());
        assert_eq!((census.programs(), census.kernel_threads()), ([1, 2, 3].as_slice(), None));
    }

    // Protects: this process is listed as a program.
    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_a_program() {
        let census = Census::new();
        assert!(census.programs().contains(&std::process::id()));
        let own = census.kernel_threads().unwrap_or_default().iter().find(|one| one.pid == std::process::id());
        assert_eq!(own, None);
    }
}
