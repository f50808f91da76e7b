use crate::check::{Check, Judge, Outcome, grade};
use crate::evidence::PhaseView;
use crate::text::percent;
use plumb_result::{Level, LoadProcess, ProcessCpu, ProcessorUse, Remedy, WorkerMeasurement};
use std::collections::BTreeSet;

/// Above this share of the workers' time, others were part of the number.
const WARN_SHARE: f64 = 0.02;
/// Above this share, the load did not have its processors.
const FAIL_SHARE: f64 = 0.10;
/// Processor times are counted in ticks of 10 ms: less than this proves nothing.
const LEAST_NS: f64 = 20_000_000.0;
/// Time to put a thread on an idle processor, in ns: no other program causes it.
const WAKE_UP_NS: u64 = 10_000;
/// A program with less than this share of others' use is not named.
const NAMED_SHARE: f64 = 0.20;

pub(crate) static CHECK: Check = Check {
    code: "C5",
    title: "Processors taken",
    what: "How much of the workers' time went by without a processor: taken by other programs, by the CPU quota of a \
           control group, or by other guests of the hypervisor. Programs that took the processors are named. Workers \
           that wait for each other, because there are more of them than processors, or for kernel threads that do \
           their I/O, are the load's own.",
    why: "An I/O is issued and completed by a thread that runs, so a load without a processor measures its neighbours: \
          with three busy loops on the worker's processor, 294 kIOPS became 49 kIOPS (measured on cached 4 KiB reads, \
          Linux 6.18). In a virtual machine the hypervisor's schedule does the same.",
    how: "Time that each worker was runnable and waited (`/proc/thread-self/schedstat`, less 10 µs for each wake-up); of \
          it, the part that other programs caused: their share of the processor time that competed with the workers, \
          and no more than they used (`/proc/PID/stat` of all programs before and after, ended children included). \
          `throttled_usec` of the control group's `cpu.stat`, and `steal` of /proc/stat. The three are added. Where \
          the kernel does not count waiting, `/proc/pressure/cpu` or the group's `cpu.pressure` takes its place, and \
          the check warns at most.",
    threshold: "more than 2 % of the workers' time, and more than 20 ms, warns; more than 10 % fails",
    settled: "By reasoning: the limits of C1, for processors instead of devices. 20 ms are two ticks of the kernel's \
              counters, and 10 µs a few context switches. `cargo xtask traps` counts how often it is right on a real \
              machine (docs/calibration.md).",
    fix: &[
        Remedy::words("Stop the named programs, raise the quota, or run when the host is quiet."),
        Remedy::DeclareLoad,
    ],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.is_virtual_time() {
        return Outcome::NotApplicable;
    }
    let used = view.seen.processors.used.value();
    let stolen = match stolen(view, used) {
        Ok(share) => share,
        Err(reason) => return Outcome::skipped(reason),
    };
    let held = held_by_quota(view, used);
    let taken = used.and_then(|used| taken(view, used, held)).unwrap_or_default();
    let share = (stolen + held + taken.share).min(1.0);
    let observed = format!(
        "{} taken by other programs, {} by a CPU quota, {} by the hypervisor",
        percent(taken.share),
        percent(held),
        percent(stolen)
    );
    let Some(level) = grade(share, WARN_SHARE, FAIL_SHARE) else { return Outcome::pass(observed) };
    let mut parts = [
        Part {
            share: taken.share,
            text: format!("Workers waited {} of the time for processors that {} took", percent(taken.share), taken.by),
        },
        Part {
            share: held,
            text: format!("The control group's CPU quota held the workers back {} of the time", percent(held)),
        },
        Part {
            share: stolen,
            text: format!("The hypervisor gave {} of the processor time to other guests", percent(stolen)),
        },
    ];
    parts.sort_by(|one, other| other.share.total_cmp(&one.share));
    // A small part is not the cause if another one is five times as large.
    let text: Vec<String> =
        parts.iter().filter(|part| part.share > share * NAMED_SHARE).map(|part| format!("{}.", part.text)).collect();
    // A part that is only an estimate rejects nothing.
    let certain = share - if taken.is_certain { 0.0 } else { taken.share };
    let level = if taken.is_certain || certain > FAIL_SHARE { level } else { level.min(Level::Warn) };
    Outcome::found(level, observed, text.join(" "))
}

/// Processor time that other programs took from the workers.
pub(crate) struct TakenByPrograms {
    /// Share of the workers' time, 0–1.
    pub(crate) share: f64,
    /// The process that used most.
    pub(crate) by: Option<LoadProcess>,
}

/// Returns the processor time that other programs took from the workers, if it was a part of the phase's numbers.
pub(crate) fn taken_by_programs(view: &PhaseView<'_>) -> Option<TakenByPrograms> {
    if view.is_virtual_time() {
        return None;
    }
    let used = view.seen.processors.used.value()?;
    let Taken { share, .. } = taken(view, used, held_by_quota(view, Some(used)))?;
    let largest = used.others.iter().max_by_key(|one| one.total_ns());
    let by = largest.map(|one| LoadProcess {
        command: one.command.clone(),
        pid: one.pid,
        with_children: one.children_ns > one.cpu_ns,
    });
    (share > WARN_SHARE).then_some(TakenByPrograms { share, by })
}

struct Part {
    share: f64,
    text: String,
}

/// Returns the workers that do I/O and were measured.
fn workers<'a>(view: &PhaseView<'a>) -> Vec<&'a WorkerMeasurement> {
    view.measured.workers.iter().filter(|worker| worker.depth_asked > 0 && worker.wall_ns > 0).collect()
}

/// Returns the time of all workers together, in ns.
fn time_ns(workers: &[&WorkerMeasurement]) -> f64 {
    workers.iter().map(|worker| worker.wall_ns as f64).sum()
}

/// Returns the share of time that the hypervisor took: of all processors, or of the workers, whichever is larger. A
/// single busy worker loses all the time stolen from its processor, however many others are idle.
fn stolen(view: &PhaseView<'_>, used: Option<&ProcessorUse>) -> Result<f64, String> {
    let Some(used) = used else {
        let (before, after) = (view.seen.before.cpu.as_result()?, view.seen.after.cpu.as_result()?);
        let total = after.total_s - before.total_s;
        if total <= 0.0 {
            return Err("too short for the kernel's processor times".to_owned());
        }
        let stolen_s = after.steal_s - before.steal_s;
        return Ok(if stolen_s * 1e9 > LEAST_NS { (stolen_s / total).min(1.0) } else { 0.0 });
    };
    let stolen_ns = used.stolen_ns as f64;
    let all_ns = used.length_ns as f64 * f64::from(used.processors);
    if stolen_ns <= LEAST_NS || all_ns <= 0.0 {
        return Ok(0.0);
    }
    let workers = workers(view);
    let ran_ns: f64 = workers.iter().map(|worker| (worker.cpu_user_ns + worker.cpu_system_ns) as f64).sum();
    let whole = used.busy_ns as f64 * time_ns(&workers);
    let from_workers = if whole > 0.0 { ran_ns * stolen_ns / whole } else { 0.0 };
    Ok((stolen_ns / all_ns).max(from_workers).min(1.0))
}

/// Returns the share of time in which the quota of a control group was used up. The kernel adds the times of all
/// processors on which the group was runnable.
fn held_by_quota(view: &PhaseView<'_>, used: Option<&ProcessorUse>) -> f64 {
    let Some(quota) = view.seen.limits.cpu_quota.value() else { return 0.0 };
    let held_ns = quota.throttled_us as f64 * 1000.0;
    let running = workers(view).len().min(used.map_or(1, |used| used.processors as usize)).max(1);
    let time_ns = view.measured.wall_ns as f64 * running as f64;
    if held_ns <= LEAST_NS || time_ns <= 0.0 { 0.0 } else { (held_ns / time_ns).min(1.0) }
}

/// Time that other programs took from the workers.
struct Taken {
    /// As a share of the workers' time, 0–1.
    share: f64,
    by: String,
    is_certain: bool,
}

impl Default for Taken {
    fn default() -> Taken {
        Taken { share: 0.0, by: String::new(), is_certain: true }
    }
}

/// Returns the part of the workers' waits for a processor that others caused.
fn taken(view: &PhaseView<'_>, used: &ProcessorUse, held: f64) -> Option<Taken> {
    let workers = workers(view);
    let (time_ns, length_ns) = (time_ns(&workers), used.length_ns as f64);
    if time_ns <= 0.0 || length_ns <= 0.0 || used.processors == 0 {
        return None;
    }
    let pinned = pinned(view);
    let processors = pinned.as_ref().map_or(f64::from(used.processors), |set| set.len() as f64);
    let waits = waited(view, &workers, used);
    // Under some kernels, waiting for the quota's next period is waiting for a processor.
    let waited = (waits.share - held).max(0.0);
    let here = |one: &&ProcessCpu| match &pinned {
        Some(set) => one.processors.is_empty() || one.processors.iter().any(|number| set.contains(number)),
        None => true,
    };
    let named: Vec<&ProcessCpu> = used.others.iter().filter(here).collect();
    let rate = |ns: u64| ns as f64 / length_ns;
    let others = rate(named.iter().map(|one| one.total_ns()).sum());
    let all_others = rate(used.others.iter().map(ProcessCpu::total_ns).sum());
    // Kernel threads and unseen programs. It is only known to be kernel threads if all programs are visible.
    let rest = (rate(used.busy_ns) - rate(used.own_ns) - all_others).max(0.0) * processors / f64::from(used.processors);
    let (foreign, kernel) = if used.sees_all { (others, rest) } else { (others + rest, 0.0) };
    // Workers only wait for each other if there are more of them than processors.
    let among_themselves = rate(used.own_ns) * (1.0 - processors / workers.len() as f64).max(0.0);
    let competing = foreign + kernel + among_themselves;
    if foreign <= 0.0 || competing <= 0.0 {
        return None;
    }
    let share = (waited * foreign / competing).min(foreign / processors).min(1.0);
    if share * time_ns <= LEAST_NS {
        return None;
    }
    let is_certain = waits.is_counted && (used.sees_all || others >= foreign / 2.0);
    Some(Taken { share, by: by(&named, foreign * length_ns), is_certain })
}

/// Returns the processors that the workers are bound to; `None` if one of them is not bound.
fn pinned(view: &PhaseView<'_>) -> Option<BTreeSet<u32>> {
    let groups = || view.plan.workers.iter();
    if groups().count() == 0 || groups().any(|group| group.cpus.is_empty()) {
        return None;
    }
    Some(BTreeSet::from_iter(groups().flat_map(|group| group.cpus.iter().copied().take(group.count as usize))))
}

/// Waits of workers for processors, as a share of their time.
struct Waits {
    share: f64,
    /// Whether the kernel counted them, thread by thread.
    is_counted: bool,
}

fn waited(view: &PhaseView<'_>, workers: &[&WorkerMeasurement], used: &ProcessorUse) -> Waits {
    let of_worker = |worker: &&WorkerMeasurement| {
        let waits = worker.run_queue?;
        Some(waits.waited_ns.saturating_sub(waits.turns.saturating_mul(WAKE_UP_NS)) as f64)
    };
    let counted: Option<f64> = workers.iter().map(of_worker).sum();
    if let Some(waited_ns) = counted {
        return Waits { share: (waited_ns / time_ns(workers)).min(1.0), is_counted: true };
    }
    let seen = &view.seen.processors;
    let pressure_us = seen.group_pressure_us.or(seen.pressure_us).unwrap_or(0);
    Waits { share: (pressure_us as f64 * 1000.0 / used.length_ns as f64).min(1.0), is_counted: false }
}

/// Processes of one command.
struct Program<'a> {
    largest: &'a ProcessCpu,
    processes: usize,
    total_ns: u64,
}

impl Program<'_> {
    fn name(&self) -> String {
        let ProcessCpu { command, pid, .. } = self.largest;
        let more = match self.processes {
            1 => String::new(),
            several => format!(" and {} more", several - 1),
        };
        match self.largest.children_ns > self.largest.cpu_ns {
            true => format!("programs run by {command} (process {pid}{more})"),
            false => format!("{command} (process {pid}{more})"),
        }
    }
}

/// Names the programs that used most, at least the largest. `named` has the largest processes first.
fn by(named: &[&ProcessCpu], foreign_ns: f64) -> String {
    let mut programs: Vec<Program<'_>> = Vec::new();
    for one in named {
        match programs.iter_mut().find(|program| program.largest.command == one.command) {
            Some(program) => {
                program.processes += 1;
                program.total_ns += one.total_ns();
            }
            None => programs.push(Program { largest: one, processes: 1, total_ns: one.total_ns() }),
        }
    }
    programs.sort_by_key(|program| std::cmp::Reverse(program.total_ns));
    let is_large = |program: &Program<'_>| program.total_ns as f64 >= NAMED_SHARE * foreign_ns;
    let large = programs.iter().take_while(|program| is_large(program)).count().clamp(1, 3);
    let names: Vec<String> = programs.iter().take(large).map(Program::name).collect();
    let named_ns: u64 = programs.iter().take(large).map(|program| program.total_ns).sum();
    // More than a fifth is left.
    let has_more = (named_ns as f64) < (1.0 - NAMED_SHARE) * foreign_ns;
    match names.split_last() {
        None => "programs out of sight".to_owned(),
        Some(_) if has_more => format!("{} and others", names.join(", ")),
        Some((last, [])) => last.clone(),
        Some((last, first)) => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;
    use plumb_result::Seen;
    use plumb_result::limits::CpuQuota;

    #[test]
    fn stolen_time_is_graded() {
        for (stolen, level) in
            [(0.0, Level::Pass), (0.02, Level::Pass), (0.03, Level::Warn), (0.10, Level::Warn), (0.11, Level::Fail)]
        {
            let by_counters = Scene::reading(MIB).unseen_use("x").steal(stolen);
            assert_eq!(by_counters.level("C5"), Some(level), "{stolen}");
            let by_processor = Scene::reading(MIB).used(|used| {
                (used.stolen_ns, used.busy_ns) = ((4.0 * 10e9 * stolen) as u64, 40_000_000_000);
            });
            assert_eq!(by_processor.level("C5"), Some(level), "{stolen}");
        }
        // One busy worker lost an eighth of its processor, and three idle ones lost nothing.
        let busy = Scene::reading(MIB).alike_workers(1, 0.9).used(|used| used.stolen_ns = 1_200_000_000);
        assert_eq!(busy.level("C5"), Some(Level::Fail));
        assert_eq!(Scene::reading(MIB).used(|used| used.stolen_ns = 1_200_000_000).level("C5"), Some(Level::Warn));
    }

    /// The review's trap: three busy loops on the worker's processor.
    #[test]
    fn busy_loops_on_the_workers_processor_are_named() {
        let finding = Scene::reading(MIB)
            .alike_workers(1, 0.25)
            .pinned(&[0])
            .hog("sh", 0.25)
            .hog("sh", 0.25)
            .hog("python3", 0.25)
            .waited(0.75, 2500)
            .finding("C5")
            .unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(
            finding.message.starts_with("Workers waited 75 % of the time for processors that"),
            "{}",
            finding.message
        );
        assert!(
            finding.message.contains("sh (process 4712 and 1 more) and python3 (process 4712) took"),
            "{}",
            finding.message
        );
    }

    #[test]
    fn a_program_on_another_processor_is_not_blamed() {
        let scene = || Scene::reading(MIB).alike_workers(1, 0.9).pinned(&[1]).waited(0.5, 100);
        assert_eq!(scene().hog("sh", 1.0).kernel_work(0.5).level("C5"), Some(Level::Pass));
        assert_eq!(
            scene().hog("sh", 1.0).used(|used| used.others[0].processors = vec![1]).level("C5"),
            Some(Level::Fail)
        );
    }

    /// Eight workers on two processors wait for each other most of the time.
    #[test]
    fn workers_that_wait_for_each_other_are_the_loads_own() {
        let eight = || Scene::reading(MIB).on_processors(2).alike_workers(8, 0.25).waited(0.75, 2500);
        assert_eq!(eight().level("C5"), Some(Level::Pass));
        assert_eq!(eight().hog("cron", 0.03).level("C5"), Some(Level::Pass));
        // A ninth thread takes a ninth.
        let ninth = Scene::reading(MIB).on_processors(2).alike_workers(8, 0.22).hog("sh", 0.22).waited(0.78, 2500);
        assert_eq!(ninth.level("C5"), Some(Level::Fail));
    }

    #[test]
    fn kernel_threads_that_do_the_io_are_the_loads_own() {
        let scene = || Scene::reading(MIB).on_processors(1).alike_workers(1, 0.5).kernel_work(0.5).waited(0.4, 1000);
        assert_eq!(scene().level("C5"), Some(Level::Pass));
        assert_eq!(scene().hog("cron", 0.01).level("C5"), Some(Level::Pass));
        // In a container both look alike, so nothing is rejected.
        assert_eq!(scene().used(|used| used.sees_all = false).level("C5"), Some(Level::Warn));
    }

    /// Wake-ups, a tick, and a daemon are not contention.
    #[test]
    fn living_systems_pass() {
        let quiet = || Scene::reading(MIB).alike_workers(1, 0.5);
        assert_eq!(quiet().hog("daemon", 0.05).waited(0.2, 200_000).level("C5"), Some(Level::Pass), "wake-ups");
        assert_eq!(
            quiet().hog("daemon", 0.05).waited(0.05, 100).level("C5"),
            Some(Level::Pass),
            "one of four processors"
        );
        let mut short = quiet().hog("daemon", 0.5).waited(0.0, 100);
        short.measured().workers[0].wall_ns = 100_000_000;
        short.measured().workers[0].run_queue.as_mut().unwrap().waited_ns = 10_000_000;
        assert_eq!(short.level("C5"), Some(Level::Pass), "10 ms of 100 ms are a tick");
    }

    #[test]
    fn limits_agree_with_the_documentation() {
        let waited =
            |share: f64| Scene::reading(MIB).on_processors(1).alike_workers(1, 0.5).hog("sh", 0.5).waited(share, 0);
        assert_eq!(waited(0.02).level("C5"), Some(Level::Pass));
        assert_eq!(waited(0.03).level("C5"), Some(Level::Warn));
        assert_eq!(waited(0.11).level("C5"), Some(Level::Fail));
    }

    #[test]
    fn a_quota_that_was_used_up_is_named_and_not_others() {
        let mut scene = Scene::reading(MIB).alike_workers(1, 0.1).hog("sh", 0.9).waited(0.9, 100);
        let quota = CpuQuota { periods: 100, throttled_periods: 99, throttled_us: 9_000_000 };
        scene.seen().limits.cpu_quota = Seen::Yes(quota);
        let finding = scene.finding("C5").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.starts_with("The control group's CPU quota held the workers back 90 %"));
        assert!(!finding.message.contains("sh ("), "{}", finding.message);
    }

    #[test]
    fn without_counted_waits_pressure_warns_at_most() {
        let scene = |pressure: f64| Scene::reading(MIB).alike_workers(1, 0.5).hog("sh", 4.0).uncounted_waits(pressure);
        assert_eq!(scene(0.9).level("C5"), Some(Level::Warn));
        assert_eq!(scene(0.0).level("C5"), Some(Level::Pass));
    }

    /// Ten processes of one command are one program; of many commands, the largest is named.
    #[test]
    fn the_largest_of_many_is_named() {
        let scene = || Scene::reading(MIB).on_processors(1).alike_workers(1, 0.2).waited(0.8, 0);
        let message = |scene: Scene| scene.finding("C5").unwrap().message;
        let compilers = message((0..10).fold(scene(), |scene, _| scene.hog("rustc", 0.08)));
        assert!(compilers.contains("that rustc (process 4712 and 9 more) took"), "{compilers}");
        let many = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        let mixed = message(many.iter().fold(scene(), |scene, command| scene.hog(command, 0.08)));
        assert!(mixed.contains("that a (process 4712) and others took"), "{mixed}");
    }

    #[test]
    fn ended_programs_are_reported_by_their_parent() {
        let scene = Scene::reading(MIB).on_processors(1).alike_workers(1, 0.5).hog("make", 0.5).waited(0.5, 0);
        let scene = scene.used(|used| {
            let make = &mut used.others[0];
            (make.cpu_ns, make.children_ns) = (0, make.cpu_ns);
        });
        let finding = scene.finding("C5").unwrap();
        assert!(finding.message.contains("programs run by make (process 4712)"), "{}", finding.message);
    }

    #[test]
    fn unseen_is_skipped_and_virtual_time_cannot_be_taken() {
        assert_eq!(Scene::reading(MIB).unseen_use("x").unseen_cpu("no /proc").level("C5"), Some(Level::Skipped));
        assert_eq!(Scene::reading(MIB).virtual_time().level("C5"), None);
    }
}
