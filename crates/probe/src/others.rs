//! I/O of other processes during a phase. Source: proc_pid_io(5), proc_pid_stat(5).

use crate::census::{self, Census};
use crate::counters::process_io;
use crate::platform;
use crate::process_stat::{self, ProcessStat};
use crate::stack;
use crate::sysroot::Sysroot;
use plumb_result::Seen;
use plumb_result::observe::{PhaseObservations, ProcessIo};
use std::collections::BTreeMap;

/// Maximum number of processes to report.
const NAMED_MAX: usize = 5;
/// Names of kernel threads that work on their own account instead of a requester's: these count as other processes.
const BACKGROUND: [&str; 6] = ["_resync", "_reshape", "_recovery", "lazyinit", "scrub", "balance"];

/// Bytes of one process: read from storage, and dirtied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bytes {
    read: u64,
    written: u64,
}

/// I/O of all processes at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    /// In ticks since boot, like the start times of processes.
    at_ticks: Option<u64>,
    by_pid: BTreeMap<u32, Bytes>,
    unreadable: usize,
}

/// Watches the I/O of other processes.
///
/// Other users' processes can only be read with privilege. A process that begins and ends between two
/// readings is not seen, nor one that ended before the watch did. Its bytes are added to the parent's once
/// the parent has waited for it.
#[derive(Debug)]
pub struct IoWatch {
    sys: Sysroot,
    before: Snapshot,
    /// Parent of each child.
    parents: BTreeMap<u32, u32>,
    /// Leaf devices of interest; `None` for all.
    devices: Option<Vec<String>>,
    /// Page faults of reaped children of each process, before the watch.
    child_faults: BTreeMap<u32, u64>,
    /// Processes that earlier readings found.
    met: BTreeMap<u32, KnownProcess>,
}

/// A process of an earlier reading, which may have ended since.
#[derive(Debug)]
struct KnownProcess {
    command: String,
    parent: u32,
    bytes: Bytes,
}

/// I/O of other processes, as far as it is visible.
#[derive(Debug, Clone, PartialEq)]
pub struct OthersSeen {
    /// Processes that did I/O, the largest first. [`Seen::No`] if none could be read, or if no readable one did any
    /// but some are unreadable: the unreadable ones may have.
    pub named: Seen<Vec<ProcessIo>>,
    /// The reason why some are invisible.
    pub hidden: Option<String>,
}

impl OthersSeen {
    /// Adds this to the observations of a phase.
    pub fn record(&self, phase: &mut PhaseObservations) {
        phase.other_io.clone_from(&self.named);
        phase.hidden_io.clone_from(&self.hidden);
    }
}

impl IoWatch {
    /// Starts watching. Reads a file for each process: call it while the clock is stopped.
    pub fn start() -> IoWatch {
        IoWatch::start_in(&Sysroot::real())
    }

    /// Like [`IoWatch::start`], for the machine described by a tree of files.
    pub(crate) fn start_in(sys: &Sysroot) -> IoWatch {
        let before = Snapshot::read(sys, census::pids(sys));
        IoWatch::new(sys, before, None)
    }

    /// Starts watching for I/O on these leaf devices. The kernel counts a process's bytes, but not their device. If
    /// no process that moved any has a file on one of the devices, the bytes went elsewhere. Kernel threads that work
    /// for others are skipped, and without devices nothing is reported.
    pub fn start_on(leaves: &[String], census: &Census) -> IoWatch {
        let before = if leaves.is_empty() { Snapshot::default() } else { census.io().clone() };
        IoWatch::new(&Sysroot::real(), before, Some(leaves.to_vec()))
    }

    fn new(sys: &Sysroot, before: Snapshot, devices: Option<Vec<String>>) -> IoWatch {
        IoWatch {
            sys: sys.clone(),
            before,
            parents: BTreeMap::new(),
            devices,
            child_faults: BTreeMap::new(),
            met: BTreeMap::new(),
        }
    }

    /// Sets the page faults of reaped children of each process at the start. A process with more of them later has
    /// reaped a child, and has its bytes.
    pub fn set_child_faults(&mut self, child_faults: BTreeMap<u32, u64>) {
        self.child_faults = child_faults;
    }

    /// Returns the processes that did I/O since the last call or since the start, the largest first. Includes Plumb
    /// and the kernel's threads (in brackets, as in `ps`).
    ///
    /// When a parent has waited for a child, the kernel adds the child's I/O to the parent's. I/O already reported
    /// for the child is subtracted; the rest is of unseen children.
    pub fn advance(&mut self) -> AllProcesses {
        let after = Snapshot::read(&self.sys, census::pids(&self.sys));
        let inherited = self.inherited(&after);
        let mut processes: Vec<ProcessIo> = after
            .by_pid
            .iter()
            .filter_map(|(pid, now)| {
                let ProcessActivity { stat, mut io } = self.io_since_start(*pid, *now)?;
                if let Some(known) = inherited.get(pid)
                    && io.read_bytes >= known.read
                    && io.write_bytes >= known.written
                {
                    io.read_bytes -= known.read;
                    io.write_bytes -= known.written;
                }
                if stat.is_kernel_thread {
                    io.command = format!("[{}]", io.command);
                }
                (io.read_bytes + io.write_bytes > 0).then_some(io)
            })
            .collect();
        processes.sort_by_key(|one| std::cmp::Reverse(one.read_bytes.saturating_add(one.write_bytes)));
        let seen = AllProcesses { processes, readable: after.by_pid.len(), closed: after.unreadable };
        self.before = after;
        self.learn_parents();
        seen
    }

    /// Returns the last known I/O of ended children, by parent.
    fn inherited(&self, after: &Snapshot) -> BTreeMap<u32, Bytes> {
        let mut inherited: BTreeMap<u32, Bytes> = BTreeMap::new();
        for (pid, before) in self.before.by_pid.iter().filter(|(pid, _)| !after.by_pid.contains_key(pid)) {
            if let Some(parent) = self.parents.get(pid) {
                let sum = inherited.entry(*parent).or_insert(Bytes { read: 0, written: 0 });
                sum.read = sum.read.saturating_add(before.read);
                sum.written = sum.written.saturating_add(before.written);
            }
        }
        inherited
    }

    /// Reads the parent of each process that did I/O: once, while the process exists.
    fn learn_parents(&mut self) {
        let before = &self.before.by_pid;
        self.parents.retain(|pid, _| before.contains_key(pid));
        for (pid, _) in before.iter().filter(|(_, bytes)| bytes.read.saturating_add(bytes.written) > 0) {
            if !self.parents.contains_key(pid)
                && let Some(stat) = self
                    .sys
                    .read_one_piece(format!("/proc/{pid}/stat"))
                    .ok()
                    .and_then(|text| process_stat::parse(&text))
            {
                self.parents.insert(*pid, stat.parent);
            }
        }
    }

    /// Returns the processes that did I/O since the start, on the watched devices as far as that is visible;
    /// the largest first, at most five. Excludes `own`, their children, and kernel threads that work for
    /// others (writeback, journals, loop devices).
    pub fn finish(mut self, own: &[u32], census: &Census) -> OthersSeen {
        self.so_far(own, census)
    }

    /// Like [`IoWatch::finish`], but the watch goes on. Reads a file for each process: not for every second.
    pub fn so_far(&mut self, own: &[u32], census: &Census) -> OthersSeen {
        if self.devices.as_ref().is_some_and(Vec::is_empty) {
            return OthersSeen { named: Seen::no("no block device is below the targets"), hidden: None };
        }
        let after = census.io();
        let moved: Vec<ProcessActivity> = after
            .by_pid
            .iter()
            .filter(|(pid, _)| !own.contains(pid) && **pid != std::process::id())
            .filter_map(|(pid, now)| self.since(*pid, *now, own))
            .collect();
        let programs = moved.iter().filter(|one| !one.stat.is_kernel_thread).map(|one| one.io.pid);
        let are_elsewhere = self.devices.as_ref().is_some_and(|leaves| !stack::may_use(&self.sys, programs, leaves));
        let mut others: Vec<ProcessIo> = Vec::new();
        for mut one in moved.into_iter().filter(|one| one.stat.is_kernel_thread || !are_elsewhere) {
            others.extend(self.ended_children(&mut one.io, after));
            let bytes = Bytes { read: one.io.read_bytes, written: one.io.write_bytes };
            self.met.insert(one.io.pid, KnownProcess { command: one.stat.command, parent: one.stat.parent, bytes });
            others.push(one.io);
        }
        others.sort_by_key(|one| std::cmp::Reverse(one.read_bytes.saturating_add(one.write_bytes)));
        others.truncate(NAMED_MAX);
        let seen = after.by_pid.len();
        let hidden = (after.unreadable > 0 || seen == 0 || !census.sees_all()).then(|| {
            let reader = if rustix::process::geteuid().is_root() { Reader::Root } else { Reader::User };
            hidden(after.unreadable, seen + after.unreadable, reader)
        });
        match (others.is_empty() && (after.unreadable > 0 || seen == 0), hidden) {
            (true, Some(reason)) => OthersSeen { named: Seen::no(&reason), hidden: Some(reason) },
            (_, hidden) => OthersSeen { named: Seen::Yes(others), hidden },
        }
    }

    /// Subtracts the known I/O of ended children from their parent's, where the kernel has added it.
    fn ended_children(&self, parent: &mut ProcessIo, after: &Snapshot) -> Vec<ProcessIo> {
        if !parent.with_children {
            return Vec::new();
        }
        let ended = self.met.iter().filter(|(pid, met)| met.parent == parent.pid && !after.by_pid.contains_key(pid));
        let named = ended.map(|(pid, met)| {
            let (read, written) = (met.bytes.read.min(parent.read_bytes), met.bytes.written.min(parent.write_bytes));
            parent.read_bytes -= read;
            parent.write_bytes -= written;
            let (command, with_children) = (met.command.clone(), false);
            ProcessIo { pid: *pid, command, read_bytes: read, write_bytes: written, with_children }
        });
        named.collect()
    }

    fn since(&self, pid: u32, now: Bytes, own: &[u32]) -> Option<ProcessActivity> {
        let moved = self.io_since_start(pid, now)?;
        let stat = &moved.stat;
        if stat.is_kernel_thread && !has_own_work(&stat.command) {
            return None;
        }
        // Workers may be separate processes.
        if own.contains(&stat.parent) || stat.parent == std::process::id() {
            return None;
        }
        Some(moved)
    }

    /// Returns the I/O of a process since the start, if any.
    fn io_since_start(&self, pid: u32, now: Bytes) -> Option<ProcessActivity> {
        let before = self.before.by_pid.get(&pid).copied().unwrap_or(Bytes { read: 0, written: 0 });
        if now == before {
            return None;
        }
        let stat = process_stat::parse(&self.sys.read_one_piece(format!("/proc/{pid}/stat")).ok()?)?;
        let is_new = self.before.at_ticks.is_some_and(|started| stat.start_ticks > started);
        let shrank = now.read < before.read || now.written < before.written;
        let before = if is_new || shrank { Bytes { read: 0, written: 0 } } else { before };
        let (read_bytes, write_bytes) =
            (now.read.saturating_sub(before.read), now.written.saturating_sub(before.written));
        let (command, had_faults) = (stat.command.clone(), self.child_faults.get(&pid).copied());
        // Without an earlier reading, this is unknown for a process unless it is new.
        let with_children = had_faults.or(is_new.then_some(0)).is_some_and(|had| stat.child_faults > had);
        (read_bytes + write_bytes > 0)
            .then_some(ProcessActivity { stat, io: ProcessIo { pid, command, read_bytes, write_bytes, with_children } })
    }
}

/// A process that did I/O.
struct ProcessActivity {
    stat: ProcessStat,
    io: ProcessIo,
}

/// I/O of all processes between two readings.
#[derive(Debug, Clone, PartialEq)]
pub struct AllProcesses {
    /// Processes that did I/O, the largest first.
    pub processes: Vec<ProcessIo>,
    /// Number of processes that could be read.
    pub readable: usize,
    /// Number of processes that this user may not read.
    pub closed: usize,
}

/// Privilege of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// An ordinary user, who may read only their own processes.
    User,
    /// Root, who may read all of them outside a container.
    Root,
}

/// Returns the reason why others' I/O is unknown, and a way out. In a container, root is refused without
/// `CAP_SYS_PTRACE` (proc_pid_io(5), ptrace(2)): advice to become root would not help.
fn hidden(unreadable: usize, all: usize, reader: Reader) -> String {
    let (from, way_out) = match reader {
        Reader::User => ("this user", "run as root to see all"),
        Reader::Root => ("root, as in a container without CAP_SYS_PTRACE", "run on the host to see all"),
    };
    match unreadable {
        0 => "processes outside this one's namespace, or hidden by `/proc`, are not in sight".to_owned(),
        _ => format!("the I/O of {unreadable} of {all} processes is hidden from {from}; {way_out}"),
    }
}

/// Returns the time since boot, in the ticks of processes' start times.
pub(crate) fn uptime_ticks(sys: &Sysroot) -> Option<u64> {
    let seconds = sys.line("/proc/uptime").and_then(|line| line.split(' ').next()?.parse::<f64>().ok())?;
    Some((seconds * platform::ticks_per_second() as f64) as u64)
}

/// Returns programs, and kernel threads that work on their own account.
fn movers(census: &Census) -> impl Iterator<Item = u32> {
    let threads = census.kernel_threads().unwrap_or_default().iter();
    census.programs().iter().copied().chain(threads.filter(|one| has_own_work(&one.name)).map(|one| one.pid))
}

/// Whether a kernel thread of this name works on its own account.
fn has_own_work(name: &str) -> bool {
    BACKGROUND.iter().any(|word| name.contains(word))
}

impl Snapshot {
    /// Reads these processes. A process that starts during the reading counts as new.
    fn read(sys: &Sysroot, pids: impl IntoIterator<Item = u32>) -> Snapshot {
        let mut seen = Snapshot { at_ticks: uptime_ticks(sys), ..Snapshot::default() };
        for pid in pids {
            match sys.read_one_piece(format!("/proc/{pid}/io")).and_then(|text| process_io(&text)) {
                Ok(io) => {
                    seen.by_pid.insert(pid, Bytes { read: io.read_bytes, written: io.write_bytes });
                }
                // A process that has just ended is not unreadable.
                Err(_) if !sys.exists(format!("/proc/{pid}")) => {}
                Err(_) => seen.unreadable += 1,
            }
        }
        seen
    }

    /// Reads programs, and kernel threads that work on their own account.
    pub(crate) fn read_movers(sys: &Sysroot, census: &Census) -> Snapshot {
        Snapshot::read(sys, movers(census))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process_stat::KERNEL_THREAD;
    use crate::testtree::Tree;

    fn io(read: u64, written: u64) -> String {
        format!("rchar: 0\nwchar: 0\nread_bytes: {read}\nwrite_bytes: {written}\n")
    }

    fn stat(command: &str, flags: u64, start: u64) -> String {
        format!("1 ({command}) S 1 1 1 0 -1 {flags} 0 0 0 0 1 2 3 4 20 0 1 0 {start} 1000 100\n")
    }

    fn process(tree: &Tree, pid: u32, command: &str, flags: u64, start: u64) {
        tree.file(&format!("/proc/{pid}/stat"), &stat(command, flags, start))
            .file(&format!("/proc/{pid}/io"), &io(1000, 1000));
    }

    // Protects: the selection and order of the reported processes.
    #[test]
    fn the_busiest_others() {
        let tree = Tree::new();
        tree.file("/proc/uptime", "100.00 1.0\n");
        for (pid, command) in [(10, "backup (nightly) x"), (11, "idle"), (12, "plumb"), (13, "small"), (14, "reused")] {
            process(&tree, pid, command, 0, 5);
        }
        process(&tree, 15, "kworker/u8:1", KERNEL_THREAD, 5);
        process(&tree, 16, "md0_resync", KERNEL_THREAD, 5);
        let watch = IoWatch::start_in(&tree.sys());
        for pid in [10u32, 12, 15, 16] {
            tree.file(&format!("/proc/{pid}/io"), &io(1000, 9000 + u64::from(pid)));
        }
        tree.file("/proc/13/io", &io(1001, 1000));
        tree.file("/proc/14/stat", &stat("reused", 0, 1_000_000)).file("/proc/14/io", &io(1500, 1000));
        tree.file("/proc/17/stat", &stat("new", 0, 1_000_000)).file("/proc/17/io", &io(0, 40));
        let seen = watch.finish(&[12], &Census::with_sysroot(&tree.sys())).named;
        let named: Vec<(&str, u64)> =
            seen.value().unwrap().iter().map(|one| (one.command.as_str(), one.read_bytes + one.write_bytes)).collect();
        assert_eq!(
            named,
            [("md0_resync", 8016), ("backup (nightly) x", 8010), ("reused", 2500), ("new", 40), ("small", 1)]
        );
    }

    // Protects: each reading counts from the last, and the kernel's threads are distinguished from programs.
    #[test]
    fn repeated_readings_count_from_the_last() {
        let tree = Tree::new();
        tree.file("/proc/uptime", "100.00 1.0\n");
        process(&tree, 10, "dd", 0, 5);
        process(&tree, 11, "loop0", KERNEL_THREAD, 5);
        tree.file("/proc/12/stat", &stat("closed", 0, 5));
        let mut watch = IoWatch::start_in(&tree.sys());
        tree.file("/proc/10/io", &io(1000, 1500)).file("/proc/11/io", &io(1000, 9000));
        let named = |seen: AllProcesses| -> Vec<(String, u64, u64)> {
            assert_eq!((seen.readable, seen.closed), (2, 1));
            seen.processes.into_iter().map(|one| (one.command, one.read_bytes, one.write_bytes)).collect()
        };
        assert_eq!(named(watch.advance()), [("[loop0]".to_owned(), 0, 8000), ("dd".to_owned(), 0, 500)]);
        tree.file("/proc/10/io", &io(1007, 1500));
        assert_eq!(named(watch.advance()), [("dd".to_owned(), 7, 0)]);
        assert_eq!(named(watch.advance()), []);
    }

    // Protects: I/O of an ended child is not reported a second time for its parent.
    #[test]
    fn io_of_a_child_is_reported_once() {
        let tree = Tree::new();
        tree.file("/proc/uptime", "100.00 1.0\n");
        process(&tree, 30, "bash", 0, 5);
        process(&tree, 31, "dd", 0, 5);
        tree.file("/proc/31/stat", "31 (dd) S 30 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 5 1000 100\n");
        let mut watch = IoWatch::start_in(&tree.sys());
        tree.file("/proc/31/io", &io(1000, 51_000));
        assert_eq!(watch.advance().processes[0].write_bytes, 50_000);
        // It wrote 7000 bytes more before it ended, which no reading saw.
        std::fs::remove_dir_all(tree.sys().locate("/proc/31")).unwrap();
        tree.file("/proc/30/io", &io(2000, 59_000));
        let seen = watch.advance().processes;
        assert_eq!((seen.len(), seen[0].command.as_str()), (1, "bash"));
        assert_eq!((seen[0].read_bytes, seen[0].write_bytes), (0, 7000));
    }

    // Protects: worker processes are not reported as others.
    #[test]
    fn own_children_are_not_others() {
        let tree = Tree::new();
        tree.file("/proc/uptime", "100.00 1.0\n");
        let child = "21 (plumb) S 12 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 5 1000 100\n";
        tree.file("/proc/21/stat", child).file("/proc/21/io", &io(0, 0));
        let mut watch = IoWatch::start_in(&tree.sys());
        tree.file("/proc/21/io", &io(1 << 20, 0));
        assert_eq!(watch.so_far(&[12], &Census::with_sysroot(&tree.sys())).named, Seen::Yes(Vec::new()));
        assert_eq!(watch.so_far(&[13], &Census::with_sysroot(&tree.sys())).named.value().map(Vec::len), Some(1));
    }

    // Protects: a user who sees only idle processes of their own does not get "no process did I/O".
    #[test]
    fn unreadable_processes_are_reported() {
        let tree = Tree::new();
        process(&tree, 10, "mine", 0, 5);
        tree.file("/proc/20/stat", &stat("theirs", 0, 5));
        assert!(
            IoWatch::start_in(&tree.sys())
                .finish(&[], &Census::with_sysroot(&tree.sys()))
                .named
                .as_result()
                .unwrap_err()
                .contains("1 of 2")
        );
        let tree = Tree::new();
        process(&tree, 10, "mine", 0, 5);
        let seen = IoWatch::start_in(&tree.sys()).finish(&[], &Census::with_sysroot(&tree.sys()));
        assert_eq!(seen.named, Seen::Yes(Vec::new()));
        assert!(seen.hidden.unwrap().contains("namespace"), "kthreadd is not in sight");
        let tree = Tree::new();
        assert!(IoWatch::start_in(&tree.sys()).finish(&[], &Census::with_sysroot(&tree.sys())).named.value().is_none());
    }

    // Protects: root is not advised to become root.
    #[test]
    fn the_way_out_depends_on_the_reader() {
        assert!(
            hidden(1, 9, Reader::User).ends_with("1 of 9 processes is hidden from this user; run as root to see all")
        );
        let hint = hidden(1, 9, Reader::Root);
        assert!(hint.contains("CAP_SYS_PTRACE; run on the host") && !hint.contains("as root"), "{hint}");
    }

    // Protects: a rebuilding kernel thread is reported even if threads are distinguished; without
    // devices no process is read.
    #[test]
    fn kernel_threads_with_their_own_work_are_read() {
        let tree = Tree::new();
        tree.file("/proc/2/comm", "kthreadd\n").file("/proc/2/task/2/children", "15 16 ");
        for (pid, name) in [(15, "kworker/u8:1"), (16, "md0_resync")] {
            tree.file(&format!("/proc/{pid}/comm"), &format!("{name}\n"));
            process(&tree, pid, name, KERNEL_THREAD, 5);
        }
        process(&tree, 17, "dd", 0, 5);
        let census = Census::with_sysroot(&tree.sys());
        assert_eq!(movers(&census).collect::<Vec<_>>(), [17, 16]);
        let watch = IoWatch::start_in(&tree.sys());
        tree.file("/proc/16/io", &io(1000, 1007)).file("/proc/15/io", &io(1000, 1007));
        let seen = watch.finish(&[], &census);
        assert_eq!(seen.hidden, None);
        let seen = seen.named;
        let named: Vec<&str> = seen.value().unwrap().iter().map(|one| one.command.as_str()).collect();
        assert_eq!(named, ["md0_resync"]);
        let nowhere = IoWatch::start_on(&[], &census).finish(&[], &census);
        assert!(nowhere.named.as_result().unwrap_err().contains("no block device"));
    }

    // Protects: a shell is not blamed for a program that it waited for. If no reading saw the
    // program, the finding says so.
    #[test]
    fn a_parent_is_not_blamed_for_its_ended_children() {
        let line = |command: &str, parent: u32, child_faults: u64| {
            format!("1 ({command}) S {parent} 1 1 0 -1 0 9 {child_faults} 0 0 1 2 3 4 20 0 1 0 5 1000 100\n")
        };
        let tree = Tree::new();
        tree.file("/proc/uptime", "100.00 1.0\n");
        for pid in [10, 20] {
            tree.file(&format!("/proc/{pid}/stat"), &line("bash", 1, 7)).file(&format!("/proc/{pid}/io"), &io(0, 0));
        }
        let mut watch = IoWatch::start_in(&tree.sys());
        watch.set_child_faults([(10, 7), (20, 7)].into());
        tree.file("/proc/11/stat", &line("dd", 10, 0)).file("/proc/11/io", &io(0, 600));
        let named = watch.so_far(&[], &Census::with_sysroot(&tree.sys())).named;
        assert_eq!(named.value().unwrap()[0].command, "dd");
        // dd wrote 300 more and ended. Another program ran from the second shell, which then executed `sleep`.
        tree.remove("/proc/11").file("/proc/10/stat", &line("bash", 1, 90)).file("/proc/10/io", &io(0, 900));
        tree.file("/proc/20/stat", &line("sleep", 1, 80)).file("/proc/20/io", &io(0, 500));
        let seen = watch.finish(&[], &Census::with_sysroot(&tree.sys())).named;
        let found: Vec<(&str, u64, bool)> = seen
            .value()
            .unwrap()
            .iter()
            .map(|one| (one.command.as_str(), one.write_bytes, one.with_children))
            .collect();
        assert_eq!(found, [("dd", 600, false), ("sleep", 500, true), ("bash", 300, true)]);
    }
}
