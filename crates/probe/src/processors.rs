//! Processor time by program during a phase. Sources: proc_stat(5),
//! proc_pid_stat(5), Documentation/accounting/psi.rst.

use crate::census::Census;
use crate::counters::{cpu_ticks_of, some_stall_us};
use crate::error::ProbeError;
use crate::platform;
use crate::process_stat::{self, ProcessStat};
use crate::sysroot::Sysroot;
use crate::throttle::QuotaFiles;
use plumb_result::blocks::CpuTicks;
use plumb_result::{ProcessCpu, ProcessorUse, ProcessorsSeen, Seen};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Maximum number of programs to report.
const NAMED_MAX: usize = 16;
/// Maximum number of threads per program whose processors are read.
const THREADS_MAX: usize = 64;
/// A program's time is counted in ticks; a difference of one is chance.
const CHANCE_TICKS: u64 = 1;
/// Share of the processors' time below which other programs cannot matter to check C5, and are not read.
const IDLE_SHARE: f64 = 0.01;

/// Watches the processors that this process may use.
#[derive(Debug)]
pub struct ProcessorWatch {
    sys: Sysroot,
    /// Processors that this process may use; `None` for all.
    allowed: Option<Vec<u32>>,
    ticks_per_second: u64,
    at_ns: u64,
    at_ticks: Option<u64>,
    sums: Result<Sums, ProbeError>,
    programs: BTreeMap<u32, ProcessStat>,
    group_file: Option<PathBuf>,
    pressure_us: Option<u64>,
    group_pressure_us: Option<u64>,
}

/// Sum of the ticks of all allowed processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sums {
    busy: u64,
    stolen: u64,
    processors: u32,
}

impl ProcessorWatch {
    /// Starts watching. Reads a file for each program: call it before the clock starts.
    pub fn start(census: &Census, quotas: &QuotaFiles) -> ProcessorWatch {
        ProcessorWatch::start_in(&Sysroot::real(), platform::allowed_processors(), census, quotas)
    }

    fn start_in(sys: &Sysroot, allowed: Option<Vec<u32>>, census: &Census, quotas: &QuotaFiles) -> ProcessorWatch {
        let group_file = quotas.pressure_file(sys);
        ProcessorWatch {
            sys: sys.clone(),
            ticks_per_second: platform::ticks_per_second().max(1),
            at_ns: platform::monotonic_ns(),
            at_ticks: crate::others::uptime_ticks(sys),
            sums: sums(sys, allowed.as_deref()),
            programs: stats(sys, census),
            pressure_us: pressure_us(sys, "/proc/pressure/cpu".into()),
            group_pressure_us: group_file.clone().and_then(|file| pressure_us(sys, file)),
            group_file,
            allowed,
        }
    }

    /// Returns the page faults of reaped children of each program at the start.
    pub fn child_faults(&self) -> BTreeMap<u32, u64> {
        BTreeMap::from_iter(self.programs.iter().map(|(pid, stat)| (*pid, stat.child_faults)))
    }

    /// Ends the watch. `own` are Plumb's processes; their children count as its own too.
    pub fn finish(self, own: &[u32], census: &Census) -> ProcessorsSeen {
        let since = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        let sys = &self.sys;
        let group = self.group_file.clone().and_then(|file| pressure_us(sys, file));
        ProcessorsSeen {
            pressure_us: since(pressure_us(sys, "/proc/pressure/cpu".into()), self.pressure_us),
            group_pressure_us: since(group, self.group_pressure_us),
            used: self.used(own, census).into(),
            pauses: Seen::default(),
        }
    }

    fn used(self, own: &[u32], census: &Census) -> Result<ProcessorUse, ProbeError> {
        let length_ns = platform::monotonic_ns().saturating_sub(self.at_ns);
        let before = self.sums.clone()?;
        let now = sums(&self.sys, self.allowed.as_deref())?;
        let ns = |ticks: u64| (u128::from(ticks) * 1_000_000_000 / u128::from(self.ticks_per_second)) as u64;
        let busy_ns = ns(now.busy.saturating_sub(before.busy));
        let own: Vec<u32> = own.iter().copied().chain([std::process::id()]).collect();
        let mut used = ProcessorUse {
            length_ns,
            processors: now.processors,
            busy_ns,
            stolen_ns: ns(now.stolen.saturating_sub(before.stolen)),
            own_ns: ns(self.ticks_of_own(&own)),
            others: Vec::new(),
            sees_all: census.sees_all(),
        };
        let free_ns = IDLE_SHARE * length_ns as f64 * f64::from(now.processors);
        if (busy_ns.saturating_sub(used.own_ns) as f64) < free_ns {
            return Ok(used);
        }
        let after = stats(&self.sys, census);
        let is_own = |pid: u32| is_descendant(&after, pid, &own);
        let spent = after
            .iter()
            .filter(|(pid, _)| !is_own(**pid))
            .map(|(pid, stat)| (*pid, stat, self.time_since_start(&after, *pid, stat)));
        let mut spent: Vec<(u32, &ProcessStat, ProcessTicks)> =
            spent.filter(|(_, _, spent)| spent.own + spent.children > CHANCE_TICKS).collect();
        spent.sort_by_key(|(_, _, spent)| std::cmp::Reverse(spent.own + spent.children));
        spent.truncate(NAMED_MAX);
        used.own_ns = after
            .iter()
            .filter(|(pid, _)| is_own(**pid))
            .map(|(pid, stat)| self.time_since_start(&after, *pid, stat))
            .map(|spent| ns(spent.own + spent.children))
            .sum();
        used.others = spent
            .into_iter()
            .map(|(pid, stat, spent)| ProcessCpu {
                pid,
                command: stat.command.clone(),
                cpu_ns: ns(spent.own),
                children_ns: ns(spent.children),
                processors: last_processors(&self.sys, pid, stat),
            })
            .collect();
        Ok(used)
    }

    /// Returns the ticks of the given processes alone, without reading others.
    fn ticks_of_own(&self, own: &[u32]) -> u64 {
        let ticks = |pid: &u32| {
            let now = read(&self.sys, *pid)?;
            let before = self.programs.get(pid).map_or(0, |before| before.cpu_ticks + before.children_ticks);
            Some((now.cpu_ticks + now.children_ticks).saturating_sub(before))
        };
        let mut own = own.to_vec();
        own.sort();
        own.dedup();
        own.iter().filter_map(ticks).sum()
    }

    /// Returns the time of a process since the start, and of its children that began and ended meanwhile. For
    /// children from before, their earlier time is subtracted.
    fn time_since_start(&self, after: &BTreeMap<u32, ProcessStat>, pid: u32, now: &ProcessStat) -> ProcessTicks {
        let is_new = self.at_ticks.is_some_and(|started| now.start_ticks > started);
        let Some(before) = self.programs.get(&pid).filter(|_| !is_new) else {
            return ProcessTicks { own: now.cpu_ticks, children: now.children_ticks };
        };
        let ended = self.programs.iter().filter(|(child, stat)| stat.parent == pid && !after.contains_key(child));
        let known: u64 = ended.map(|(_, stat)| stat.cpu_ticks + stat.children_ticks).sum();
        ProcessTicks {
            own: now.cpu_ticks.saturating_sub(before.cpu_ticks),
            children: now.children_ticks.saturating_sub(before.children_ticks).saturating_sub(known),
        }
    }
}

/// Ticks of a process, and of its children that ended meanwhile.
#[derive(Debug, Clone, Copy)]
struct ProcessTicks {
    own: u64,
    children: u64,
}

fn is_descendant(all: &BTreeMap<u32, ProcessStat>, pid: u32, of: &[u32]) -> bool {
    let mut at = pid;
    // A chain longer than the number of processes is a cycle, which can occur because the list is read piecemeal.
    for _ in 0..=all.len() {
        if of.contains(&at) {
            return true;
        }
        match all.get(&at) {
            Some(stat) if stat.parent != 0 => at = stat.parent,
            _ => return false,
        }
    }
    false
}

fn read(sys: &Sysroot, pid: u32) -> Option<ProcessStat> {
    process_stat::parse(&sys.read_one_piece(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads all programs. Skips kernel threads, which work for the requesters of I/O.
fn stats(sys: &Sysroot, census: &Census) -> BTreeMap<u32, ProcessStat> {
    let read = |pid: &u32| Some((*pid, read(sys, *pid).filter(|stat| !stat.is_kernel_thread)?));
    BTreeMap::from_iter(census.programs().iter().filter_map(read))
}

fn last_processors(sys: &Sysroot, pid: u32, stat: &ProcessStat) -> Vec<u32> {
    let mut processors: Vec<u32> = stat.processor.into_iter().collect();
    if stat.threads > 1 {
        let threads = sys.names(format!("/proc/{pid}/task"));
        let of = |thread: &String| {
            process_stat::parse(&sys.read_one_piece(format!("/proc/{pid}/task/{thread}/stat")).ok()?)?.processor
        };
        processors.extend(threads.iter().take(THREADS_MAX).filter_map(of));
    }
    processors.sort();
    processors.dedup();
    processors
}

fn pressure_us(sys: &Sysroot, file: PathBuf) -> Option<u64> {
    some_stall_us(&sys.read(file).ok()?)
}

/// Sums the lines `cpuN` of the allowed processors.
fn sums(sys: &Sysroot, allowed: Option<&[u32]>) -> Result<Sums, ProbeError> {
    let text = sys.read("/proc/stat")?;
    let mut sums = Sums { busy: 0, stolen: 0, processors: 0 };
    for line in text.lines() {
        let Some((number, rest)) = line.strip_prefix("cpu").and_then(|rest| rest.split_once(' ')) else { continue };
        let Ok(number) = number.parse::<u32>() else { continue };
        if allowed.is_some_and(|allowed| !allowed.contains(&number)) {
            continue;
        }
        let CpuTicks { user, nice, system, steal, .. } = cpu_ticks_of(rest)?;
        sums.busy = sums.busy.saturating_add(user).saturating_add(nice).saturating_add(system);
        sums.stolen = sums.stolen.saturating_add(steal);
        sums.processors += 1;
    }
    match sums.processors {
        0 => Err(ProbeError::lacks("/proc/stat", "line of a processor that this process may use")),
        _ => Ok(sums),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;

    /// A process of the described machine.
    struct Process {
        pid: u32,
        command: &'static str,
        parent: u32,
        cpu: u64,
        children: u64,
    }

    fn put(tree: &Tree, process: &Process) {
        let Process { pid, command, parent, cpu, children } = process;
        tree.file(&format!("/proc/{pid}/comm"), &format!("{command}\n")).file(
            &format!("/proc/{pid}/stat"),
            &format!(
                "{pid} ({command}) R {parent} 1 1 0 -1 0 1 1 0 0 {cpu} 0 {children} 0 20 0 1 0 5 1 1 1 1 1 1 1 1 0 0 0 \
                 0 0 0 0 17 1 0\n"
            ),
        );
    }

    fn machine(busy: u64) -> Tree {
        let tree = Tree::new();
        tree.file("/proc/uptime", "100.00 1.0\n")
            .file("/proc/2/comm", "kthreadd\n")
            .file("/proc/2/task/2/children", "");
        time(&tree, busy);
        tree
    }

    fn time(tree: &Tree, busy: u64) {
        tree.file(
            "/proc/stat",
            &format!(
                "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 500 0 0 9 0 0 0 100 0 0\ncpu1 {busy} 0 7 9 0 50 50 3 0 0\nctxt 1\n"
            ),
        )
        .file("/proc/pressure/cpu", &format!("some avg10=0.00 avg60=0.00 avg300=0.00 total={busy}\n"));
    }

    fn watch(tree: &Tree) -> ProcessorWatch {
        let quotas = QuotaFiles::find_in(&tree.sys());
        let mut watch =
            ProcessorWatch::start_in(&tree.sys(), Some(vec![1]), &Census::with_sysroot(&tree.sys()), &quotas);
        watch.ticks_per_second = 100;
        // On the described machine, time passes only when the test says so.
        watch.at_ns = watch.at_ns.saturating_sub(1_000_000_000);
        watch
    }

    fn finish(watch: ProcessorWatch, tree: &Tree) -> ProcessorUse {
        watch.finish(&[50], &Census::with_sysroot(&tree.sys())).used.value().unwrap().clone()
    }

    // Protects: only allowed processors count; own processes and their children are excluded; a parent is not charged
    // with an ended child's earlier time; a tick is chance.
    #[test]
    fn time_by_owner() {
        let tree = machine(100);
        let put_all = |rows: &[(u32, &'static str, u32, u64, u64)]| {
            for &(pid, command, parent, cpu, children) in rows {
                put(&tree, &Process { pid, command, parent, cpu, children });
            }
        };
        put_all(&[(50, "plumb", 1, 10, 0), (51, "worker", 50, 0, 0), (52, "shell", 1, 0, 0), (53, "old", 52, 900, 0)]);
        put_all(&[(54, "hog", 1, 500, 0), (55, "sleeper", 1, 7, 0)]);
        let watch = watch(&tree);
        time(&tree, 400);
        put_all(&[
            (50, "plumb", 1, 30, 0),
            (51, "worker", 50, 20, 0),
            (54, "hog", 1, 650, 0),
            (55, "sleeper", 1, 8, 0),
        ]);
        // `old` ended after 10 further ticks, and an unseen child after 40.
        put_all(&[(52, "shell", 1, 0, 950)]);
        tree.remove("/proc/53");
        put_all(&[(56, "make", 1, 5, 20)]);
        let seen = finish(watch, &tree);
        assert_eq!((seen.processors, seen.busy_ns, seen.stolen_ns, seen.sees_all), (1, 3_000_000_000, 0, true));
        assert_eq!(seen.own_ns, 400_000_000);
        let others: Vec<(&str, u64, u64)> = seen
            .others
            .iter()
            .map(|one| (one.command.as_str(), one.cpu_ns / 10_000_000, one.children_ns / 10_000_000))
            .collect();
        assert_eq!(others, [("hog", 150, 0), ("shell", 0, 50), ("make", 5, 20)]);
        assert_eq!(seen.others[0].processors, [1]);
    }

    // Protects: with idle processors no process is read, and the result is complete all the same.
    #[test]
    fn idle_processors_report_no_programs() {
        let tree = machine(100);
        put(&tree, &Process { pid: 54, command: "hog", parent: 1, cpu: 5, children: 0 });
        let watch = watch(&tree);
        put(&tree, &Process { pid: 54, command: "hog", parent: 1, cpu: 50, children: 0 });
        assert_eq!(finish(watch, &tree).others, []);
    }

    // Protects: pressure is a difference, and missing files are reported.
    #[test]
    fn pressure_and_absence() {
        let tree = machine(100);
        let watch = watch(&tree);
        time(&tree, 350);
        let seen = watch.finish(&[], &Census::with_sysroot(&tree.sys()));
        assert_eq!((seen.pressure_us, seen.group_pressure_us), (Some(250), None));
        let bare = Tree::new();
        let quotas = QuotaFiles::find_in(&bare.sys());
        let watch = ProcessorWatch::start_in(&bare.sys(), None, &Census::with_sysroot(&bare.sys()), &quotas);
        let seen = watch.finish(&[], &Census::with_sysroot(&bare.sys()));
        assert!(seen.used.as_result().unwrap_err().contains("/proc/stat") && seen.pressure_us.is_none());
        let other = Tree::new();
        other.file("/proc/stat", "cpu0 1 2 3 4 5 6 7 8\n");
        assert!(sums(&other.sys(), Some(&[7])).is_err());
        other.file("/proc/stat", "cpu0 1 x 3\n");
        assert!(sums(&other.sys(), None).is_err());
    }
}
