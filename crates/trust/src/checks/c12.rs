use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::text::{bytes, count, nanos, ops_rate, percent, rate, short};
use plumb_result::observe::DeviceCounters;
use plumb_result::{Level, Remedy};
use plumb_workload::{Backend, OpKind, Size, Target};

/// From this share of a limit on, the limit held the load back: a token bucket lets through its full rate,
/// less losses between two refills.
const BINDS_SHARE: f64 = 0.80;
/// Files that Plumb itself keeps open: its store, counters, signals.
const OWN_FILES: u64 = 64;

pub(crate) static CHECK: Check = Check {
    code: "C12",
    title: "Limits",
    what: "Whether a control group or a resource limit of the process held the load back: I/O limits of the device, a \
           CPU quota, file size, open files, locked memory, processor time.",
    why: "Under `io.max` every tool measures the limit, and containers and service managers set it silently. A \
          comparison of two containers is then a comparison of two lines of configuration. Linux: \
          Documentation/admin-guide/cgroup-v2.rst; getrlimit(2).",
    how: "`io.max` or `blkio.throttle.*_device` of this process's groups for the device numbers of the stack, against \
          the device's own counters; `cpu.max` or `cpu.cfs_quota_us` with the periods in which it was used up; \
          /proc/self/limits against what the workload needs.",
    threshold: "a limit of which 80 % was reached, a CPU quota that was used up, or a resource limit below the need \
                warns; a limit that did not bind is noted",
    settled: "By reasoning: a token bucket lets through its rate, less what falls between two refills and at both ends \
              of the phase; a load that reached 80 % of its limit was held back by it.",
    fix: &[Remedy::words("Raise the limit, or run outside the group. If the limit is what you measure, say so.")],
    judges: &[Judge::Phase(examine)],
};

/// A limit, with its level and message.
struct Limit {
    level: Level,
    observed: String,
    message: String,
}

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.is_virtual_time() || view.ground == Ground::Nothing {
        return Outcome::NotApplicable;
    }
    let mut found: Vec<Limit> = io_limits(view);
    found.extend(cpu_limit(view));
    found.extend(resource_limits(view));
    found.sort_by_key(|one| std::cmp::Reverse(one.level));
    if let Some(worst) = found.first() {
        let observed = found.iter().map(|one| one.observed.as_str()).collect::<Vec<_>>().join("; ");
        let graver: Vec<&str> =
            found.iter().filter(|one| one.level == worst.level).map(|one| one.message.as_str()).collect();
        return Outcome::found(worst.level, observed, format!("{}.", graver.join("; ")));
    }
    match view.environment.cgroup.unseen.first() {
        Some(unseen) => Outcome::skipped(format!("limits of control groups: {unseen}")),
        None => Outcome::pass("no control group or resource limit held the load back"),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Read,
    Write,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LimitUnit {
    Bytes,
    Ops,
}

/// One number of `io.max` or `blkio.throttle.*`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct IoLimit<'a> {
    /// Device number, such as `254:0`.
    device: &'a str,
    way: Way,
    unit: LimitUnit,
    per_second: f64,
    /// Name of the file that has the limit.
    file: &'a str,
}

/// Parses the limits of one line in the form that the probe keeps: the file's name, then its content.
fn parse(line: &str) -> Vec<IoLimit<'_>> {
    let mut words = line.split_whitespace();
    let (Some(file), Some(device)) = (words.next(), words.next()) else { return Vec::new() };
    if file == "io.max" {
        let limit = |word: &str| {
            let (key, value) = word.split_once('=')?;
            let (way, unit) = match key {
                "rbps" => (Way::Read, LimitUnit::Bytes),
                "wbps" => (Way::Write, LimitUnit::Bytes),
                "riops" => (Way::Read, LimitUnit::Ops),
                "wiops" => (Way::Write, LimitUnit::Ops),
                _ => return None,
            };
            // `max` is not a number, and not a limit.
            Some((way, unit, value.parse::<f64>().ok()?))
        };
        let limits = words.filter_map(limit);
        return limits.map(|(way, unit, per_second)| IoLimit { device, way, unit, per_second, file }).collect();
    }
    let Some(value) = words.next().and_then(|value| value.parse().ok()) else { return Vec::new() };
    let way = if file.contains("read") { Way::Read } else { Way::Write };
    let unit = if file.contains("iops") { LimitUnit::Ops } else { LimitUnit::Bytes };
    vec![IoLimit { device, way, unit, per_second: value, file }]
}

fn io_limits(view: &PhaseView<'_>) -> Vec<Limit> {
    let mut found: Vec<Limit> = Vec::new();
    for limit in view.environment.cgroup.io.iter().flat_map(|line| parse(line)) {
        let Some(layer) = view.layers().find(|layer| layer.number == limit.device) else { continue };
        let used = match limit.way {
            Way::Read => view.ops(OpKind::Read) > 0,
            Way::Write => view.ops(OpKind::Write) > 0 || view.ops(OpKind::Read) == 0,
        };
        if !used && !view.is_at_rest() {
            continue;
        }
        let of = |value: f64| match limit.unit {
            LimitUnit::Bytes => rate(value),
            LimitUnit::Ops => ops_rate(value),
        };
        let way = if limit.way == Way::Read { "reads" } else { "writes" };
        let limit_text =
            format!("a control group limits {way} on {} to {} ({})", layer.name, of(limit.per_second), limit.file);
        let observed = format!("{way} limited to {}", of(limit.per_second));
        let reached = reached(view, &layer.name, limit).filter(|_| !view.is_at_rest());
        found.push(match reached {
            None => Limit { level: Level::Warn, observed, message: capital(&limit_text) },
            Some(reached) => {
                let share = reached / limit.per_second;
                let level = if share >= BINDS_SHARE { Level::Warn } else { Level::Note };
                let message = format!("{}; {} was reached", capital(&limit_text), of(reached));
                Limit { level, observed: format!("{observed}, {} reached", of(reached)), message }
            }
        });
    }
    found
}

/// Returns the load's rate on the device: the device's rate, limited to the I/O of this process. `None`
/// if the counters are unknown.
fn reached(view: &PhaseView<'_>, name: &str, limit: IoLimit<'_>) -> Option<f64> {
    let (before, after) = (view.seen.before.devices.get(name)?.value()?, view.seen.after.devices.get(name)?.value()?);
    let pick = |counters: &DeviceCounters| match (limit.way, limit.unit) {
        (Way::Read, LimitUnit::Bytes) => counters.read_bytes,
        (Way::Read, LimitUnit::Ops) => counters.reads,
        (Way::Write, LimitUnit::Bytes) => counters.write_bytes,
        (Way::Write, LimitUnit::Ops) => counters.writes,
    };
    let seconds = view.seen.after.at_ns.saturating_sub(view.seen.before.at_ns) as f64 / 1e9;
    let own = match (limit.way, limit.unit) {
        (Way::Read, LimitUnit::Bytes) => view.traffic.own.as_ref().map_or(u64::MAX, |own| own.read_bytes),
        (Way::Write, LimitUnit::Bytes) => view.traffic.app_write.saturating_mul(view.traffic.copies),
        // Merging and readahead turn ops into different requests.
        (_, LimitUnit::Ops) => u64::MAX,
    };
    let done = pick(after).saturating_sub(pick(before)).min(own);
    (seconds > 0.0).then(|| done as f64 / seconds)
}

fn cpu_limit(view: &PhaseView<'_>) -> Option<Limit> {
    let machine = f64::from(view.environment.cpus);
    let quota = view.environment.cgroup.cpus.filter(|quota| machine == 0.0 || *quota < machine)?;
    let what = format!("A control group limits the processors to {} of {}", short(quota), short(machine));
    let observed = format!("{} of {} processors", short(quota), short(machine));
    if view.is_at_rest() {
        return Some(Limit { level: Level::Note, observed, message: what });
    }
    if let Some(held) = view.seen.limits.cpu_quota.value().filter(|held| held.throttled_periods > 0) {
        let waited = nanos(held.throttled_us as f64 * 1000.0);
        let periods = count(held.throttled_periods, "period");
        let message = format!("{what}, used up in {periods} (threads waited {waited})");
        return Some(Limit { level: Level::Warn, observed: format!("{observed}, used up in {periods}"), message });
    }
    let spent = (view.measured.cpu_user_ns + view.measured.cpu_system_ns) as f64;
    let busy = if view.measured.wall_ns == 0 { 0.0 } else { spent / view.measured.wall_ns as f64 };
    let share = busy / quota;
    let level = if share >= BINDS_SHARE { Level::Warn } else { Level::Note };
    let message = format!("{what}; {} of that was used", percent(share));
    Some(Limit { level, observed: format!("{observed}, {} used", percent(share)), message })
}

fn resource_limits(view: &PhaseView<'_>) -> Vec<Limit> {
    let limit = |name: &str| view.environment.facts.get(&format!("limit.{name}"))?.parse::<u64>().ok();
    let is_root = view.environment.facts.get("process.effective_uid").is_some_and(|uid| uid == "0");
    let mut found = Vec::new();
    let mut warn = |observed: String, message: String| found.push(Limit { level: Level::Warn, observed, message });
    if let Some((allowed, needed)) =
        limit("file_size").zip(largest_file(view)).filter(|(allowed, needed)| allowed < needed)
    {
        warn(
            format!("files of at most {}", bytes(allowed)),
            format!(
                "The process may write files of at most {} (RLIMIT_FSIZE) and needs {}",
                bytes(allowed),
                bytes(needed)
            ),
        );
    }
    let needed = open_files(view);
    if let Some(allowed) = limit("open_files").filter(|allowed| *allowed < needed) {
        warn(
            format!("at most {allowed} open files"),
            format!("The process may open {allowed} files at once (RLIMIT_NOFILE) and needs about {needed}"),
        );
    }
    let needed = locked_bytes(view);
    if let Some(allowed) = limit("locked_memory").filter(|allowed| *allowed < needed && !is_root) {
        warn(
            format!("at most {} locked", bytes(allowed)),
            format!(
                "The process may lock {} of memory (RLIMIT_MEMLOCK); the fixed buffers of io_uring need {}",
                bytes(allowed),
                bytes(needed)
            ),
        );
    }
    if let Some(allowed) = limit("cpu_time") {
        warn(
            format!("at most {} of processor time", count(allowed, "second")),
            format!("The process is killed after {} of processor time (RLIMIT_CPU)", count(allowed, "second")),
        );
    }
    found
}

fn phase_targets<'a>(view: &PhaseView<'a>) -> impl Iterator<Item = &'a Target> {
    let workload = view.workload;
    view.target_names().into_iter().filter_map(move |name| workload.target.get(name))
}

/// Returns the length of the longest file of the phase's targets, in bytes.
fn largest_file(view: &PhaseView<'_>) -> Option<u64> {
    let size = |size: Size| size.fixed().map(|bytes| bytes.0);
    phase_targets(view)
        .filter_map(|target| match target {
            Target::File(file) => size(file.size?),
            Target::Files(files) => size(files.size),
            Target::JobFiles(files) => files.lengths.iter().map(|length| length.0).max(),
            Target::Tree(_)
            | Target::Device(_)
            | Target::Scratch(_)
            | Target::SharedTree(_)
            | Target::Recorded(_)
            | Target::Host(_)
            | Target::Null(_)
            | Target::Sim(_) => None,
        })
        .max()
}

/// Counts files that are open at once: each worker has its own descriptor for each.
fn open_files(view: &PhaseView<'_>) -> u64 {
    let files = |name: &str| match view.workload.target.get(name) {
        Some(Target::Files(files)) => u64::from(files.count),
        Some(Target::JobFiles(files)) => files.names.count() as u64,
        Some(_) => 1,
        None => 0,
    };
    let of_group = |group: &plumb_workload::WorkerGroup| u64::from(group.count).saturating_mul(files(&group.target));
    view.plan.workers.iter().map(of_group).fold(OWN_FILES, u64::saturating_add)
}

/// Returns the bytes of buffers that io_uring registers and the kernel locks: one for each op in flight.
fn locked_bytes(view: &PhaseView<'_>) -> u64 {
    let of_group = |group: &plumb_workload::WorkerGroup| {
        let (Backend::IoUring { .. }, Some(blocks)) = (&group.backend, group.work.blocks()) else { return 0 };
        blocks.block.max().0.saturating_mul(u64::from(group.depth)).saturating_mul(u64::from(group.count))
    };
    view.plan.workers.iter().map(of_group).fold(0, u64::saturating_add)
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{MIB, Scene};

    #[test]
    fn lines_of_both_versions() {
        let v2 = parse("io.max 254:0 rbps=1048576 wbps=max riops=max wiops=500");
        let words: Vec<(Way, LimitUnit, f64)> = v2.iter().map(|one| (one.way, one.unit, one.per_second)).collect();
        assert_eq!(words, [(Way::Read, LimitUnit::Bytes, 1048576.0), (Way::Write, LimitUnit::Ops, 500.0)]);
        let v1 = parse("blkio.throttle.write_iops_device 8:0 120");
        let words: Vec<(&str, Way, LimitUnit, f64)> =
            v1.iter().map(|one| (one.device, one.way, one.unit, one.per_second)).collect();
        assert_eq!(words, [("8:0", Way::Write, LimitUnit::Ops, 120.0)]);
        assert!(parse("io.max").is_empty() && parse("blkio.throttle.write_iops_device 8:0 x").is_empty());
    }

    /// The same line is a limit or a note, depending on the share that was reached.
    #[test]
    fn an_io_limit_that_was_reached_warns() {
        let scene = |reached: u64| {
            Scene::reading(100 * MIB).device_read(10 * reached).cgroup_io("io.max 254:0 rbps=10485760 wbps=5")
        };
        let finding = scene(10 * MIB).finding("C12").unwrap();
        assert_eq!(finding.level, Level::Warn);
        assert_eq!(
            finding.message,
            "A control group limits reads on vda to 10.5 MB/s (io.max); 10.5 MB/s was reached."
        );
        assert_eq!(scene(5 * MIB).level("C12"), Some(Level::Note));
        // Others' reads do not count against this group's limit.
        assert_eq!(scene(10 * MIB).own_read(MIB).level("C12"), Some(Level::Note));
        assert_eq!(Scene::reading(MIB).cgroup_io("io.max 8:0 rbps=1").level("C12"), Some(Level::Pass), "another disk");
        let ops = Scene::writing(MIB).cgroup_io("blkio.throttle.write_iops_device 254:0 100");
        assert_eq!(ops.device_counts(|counters| counters.writes = 990).level("C12"), Some(Level::Warn));
    }

    /// Without a load no limit is reached, but it still applies.
    #[test]
    fn at_rest_an_io_limit_warns_and_a_quota_is_noted() {
        let limited = Scene::reading(MIB).cgroup_io("io.max 254:0 wbps=1000000").at_rest();
        let finding = limited.finding("C12").unwrap();
        assert_eq!(finding.level, Level::Warn);
        assert_eq!(finding.message, "A control group limits writes on vda to 1 MB/s (io.max).");
        assert_eq!(Scene::reading(MIB).cgroup_cpus(1.5, 8).at_rest().level("C12"), Some(Level::Note));
    }

    #[test]
    fn a_cpu_quota_that_was_used_up_warns() {
        // The scene's worker uses 0.15 of a processor.
        let scene = |quota| Scene::reading(MIB).cgroup_cpus(quota, 8);
        assert_eq!(scene(8.0).level("C12"), Some(Level::Pass));
        assert_eq!(scene(1.0).level("C12"), Some(Level::Note));
        assert_eq!(scene(0.16).level("C12"), Some(Level::Warn));
        let used_up = scene(1.0).quota_used_up(3).finding("C12").unwrap();
        assert_eq!(used_up.level, Level::Warn);
        assert!(used_up.message.contains("used up in 3 periods (threads waited 3 ms)"), "{}", used_up.message);
    }

    #[test]
    fn resource_limits_are_compared_with_the_need() {
        let level = |name: &str, value: &str| Scene::writing(MIB).resource_limit(name, value).level("C12");
        assert_eq!(
            (level("file_size", "unlimited"), level("file_size", "1048575")),
            (Some(Level::Pass), Some(Level::Warn))
        );
        assert_eq!((level("open_files", "1024"), level("open_files", "64")), (Some(Level::Pass), Some(Level::Warn)));
        assert_eq!((level("cpu_time", "unlimited"), level("cpu_time", "60")), (Some(Level::Pass), Some(Level::Warn)));
        assert_eq!(level("locked_memory", "0"), Some(Level::Pass), "nothing is locked");
    }

    #[test]
    fn groups_that_cannot_be_seen_are_skipped() {
        let mut scene = Scene::reading(MIB);
        scene.observations.environment.cgroup.unseen.push("cgroup v2 is not mounted here".to_owned());
        assert_eq!(scene.level("C12"), Some(Level::Skipped));
        assert_eq!(Scene::reading(MIB).virtual_time().level("C12"), None);
    }
}
