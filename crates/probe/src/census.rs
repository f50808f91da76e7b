//! Which processes there are: listed once for everybody who asks about them at the same moment. Source: proc(5),
//! proc_pid_task(5) (`children`), `kthreadd` of kernel/kthread.c.

use crate::others::Snapshot;
use crate::sysroot::Sysroot;
use std::cell::OnceCell;
use std::time::{Duration, Instant};

/// `kthreadd`, the parent of all kernel threads but itself, wherever the first namespace of processes is in sight.
const KTHREADD: u32 = 2;

/// For so long, the number of a kernel thread is taken to be that thread's still: numbers are given away in turn, so that
/// another would have to wait until tens of thousands of processes were made.
const SAME_NUMBER: Duration = Duration::from_secs(1);

/// A list that is older describes another moment.
const FRESH: Duration = Duration::from_millis(100);

/// The processes of one moment: that of the first question.
#[derive(Debug, Clone)]
pub struct Census {
    sys: Sysroot,
    threads: OnceCell<Threads>,
    /// Programs; where kernel threads cannot be told from them, those too.
    programs: OnceCell<Vec<u32>>,
    io: OnceCell<Snapshot>,
    /// Kernel threads that were seen a moment before.
    known: Vec<KernelThread>,
}

#[derive(Debug, Clone)]
struct Threads {
    at: Instant,
    /// `None` where they cannot be told from programs.
    listed: Option<Vec<KernelThread>>,
}

/// A kernel thread, which keeps its name as long as it lives, unless it is a worker for anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KernelThread {
    pub(crate) pid: u32,
    pub(crate) name: String,
}

impl Census {
    /// Of the running machine. Nothing is read before the first question.
    pub fn new() -> Census {
        Census::of(&Sysroot::real())
    }

    /// As [`Census::new`], of the machine that a tree of files describes.
    pub fn of(sys: &Sysroot) -> Census {
        Census::knowing(sys.clone(), Vec::new())
    }

    fn knowing(sys: Sysroot, known: Vec<KernelThread>) -> Census {
        Census { sys, threads: OnceCell::new(), programs: OnceCell::new(), io: OnceCell::new(), known }
    }

    /// As [`Census::new`], already read with everybody's I/O, and so to be had from another thread.
    pub fn read_now() -> Census {
        let census = Census::new();
        census.io();
        census
    }

    /// Whether it is of a moment that has just passed. One that nobody has asked yet is of the moment to come.
    pub fn is_fresh(&self) -> bool {
        self.threads.get().is_none_or(|threads| threads.at.elapsed() < FRESH)
    }

    /// A new one for a later moment, which reads the names of new kernel threads only if that is soon.
    #[must_use]
    pub fn later(self) -> Census {
        let threads = self.threads.into_inner().filter(|threads| threads.at.elapsed() < SAME_NUMBER);
        Census::knowing(self.sys, threads.and_then(|threads| threads.listed).unwrap_or_default())
    }

    /// Programs; and kernel threads, where [`Census::kernel_threads`] has none.
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

    /// Kernel threads, `None` where they cannot be told from programs: in a namespace of processes they are not in sight,
    /// and some kernels do not list children.
    pub(crate) fn kernel_threads(&self) -> Option<&[KernelThread]> {
        let threads = self.threads.get_or_init(|| Threads { at: Instant::now(), listed: self.read_threads() });
        threads.listed.as_deref()
    }

    /// Whether all processes of the machine are in sight: not in a namespace of processes, nor where `/proc` hides those of
    /// others (`hidepid`).
    pub(crate) fn sees_all(&self) -> bool {
        self.sys.line(format!("/proc/{KTHREADD}/comm")).is_some_and(|name| name == "kthreadd")
    }

    /// What programs, and kernel threads that work for themselves, have read and written so far.
    pub(crate) fn io(&self) -> &Snapshot {
        self.io.get_or_init(|| Snapshot::of_movers(&self.sys, self))
    }

    /// By number. A thread that the kernel's list skips, as it may while another one ends, is among the programs.
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
            // One that has ended meanwhile has none.
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

/// The numbers of all processes.
pub(crate) fn pids(sys: &Sysroot) -> Vec<u32> {
    sys.names("/proc").iter().filter_map(|name| name.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;

    // Protects: kernel threads are told from programs, each look sees who is new, and who ended is gone.
    #[test]
    fn kernel_threads_are_told_from_programs() {
        let tree = Tree::new();
        for (pid, name) in [(1, "init"), (2, "kthreadd"), (3, "kswapd0"), (7, "ext4lazyinit"), (9, "bash")] {
            tree.file(&format!("/proc/{pid}/comm"), &format!("{name}\n"));
        }
        tree.file("/proc/2/task/2/children", "3 7 ");
        let census = Census::of(&tree.sys());
        let thread = |pid: u32, name: &str| KernelThread { pid, name: name.to_owned() };
        assert_eq!(census.programs(), [1, 9]);
        assert_eq!(census.kernel_threads(), Some([thread(3, "kswapd0"), thread(7, "ext4lazyinit")].as_slice()));
        tree.file("/proc/2/task/2/children", "3 12 ").file("/proc/12/comm", "md0_resync\n");
        assert_eq!(census.kernel_threads().map(<[_]>::len), Some(2), "a census is of one moment");
        let later = census.later();
        assert_eq!(later.kernel_threads(), Some([thread(3, "kswapd0"), thread(12, "md0_resync")].as_slice()));
    }

    // Protects the look before a phase: a list that was read before long preparations is not taken for it.
    #[test]
    fn an_old_list_is_not_fresh() {
        let mut census = Census::of(&Tree::new().sys());
        assert!(census.is_fresh(), "it will be of the moment in which it is asked");
        census.programs();
        assert!(census.is_fresh());
        census.threads.get_mut().unwrap().at -= FRESH;
        assert!(!census.is_fresh());
    }

    // Protects: where process 2 is somebody else, as in a container, no program is left out.
    #[test]
    fn without_kthreadd_all_are_programs() {
        let tree = Tree::new();
        tree.file("/proc/1/comm", "sh\n").file("/proc/2/comm", "dd\n").file("/proc/2/task/2/children", "3 ");
        tree.file("/proc/3/comm", "sleep\n");
        let census = Census::of(&tree.sys());
        assert_eq!((census.programs(), census.kernel_threads()), ([1, 2, 3].as_slice(), None));
    }

    // Protects: on this very machine, this process is a program.
    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_a_program() {
        let census = Census::new();
        assert!(census.programs().contains(&std::process::id()));
        let own = census.kernel_threads().unwrap_or_default().iter().find(|one| one.pid == std::process::id());
        assert_eq!(own, None);
    }
}
