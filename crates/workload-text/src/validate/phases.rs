//! Rules for phases and their workers: names, ends, queues, and the fit of backends and targets.

use super::programs::OtherFiles;
use super::targets::{Facts, Kind, Shape, facts, percent_is_sane};
use super::{Checker, blocks, companions, copies, help_for_name, net, programs, repeat, replays, streams};
use plumb_workload::Workload;
use plumb_workload::backend::{Backend, RwFlag};
use plumb_workload::blocks::BlockStream;
use plumb_workload::blocks::requests::RequestOps;
use plumb_workload::limits::QUEUE_DEPTH_MAX;
use plumb_workload::pace::{OpenLoad, Pace, ThinkTime};
use plumb_workload::phase::{CachePolicy, Phase, RunAs, Stop, When, Work, WorkerGroup};
use plumb_workload::program::{Program, Step, Wall, walk};
use plumb_workload::target::Target;
use plumb_workload::units::Size;
use plumb_workload::verify::{StampLayout, Verify, VerifyMethod, VerifyState};
use std::collections::BTreeSet;

/// Maximum number of workers in a phase; more is a typo.
const WORKERS_MAX: u32 = 65_536;

/// Maximum number of verification threads; more do not verify faster.
const VERIFY_THREADS_MAX: u32 = 4096;

/// Number of CPUs in a `cpu_set_t`. Source: sched_setaffinity(2), `CPU_SETSIZE`.
const CPUS_MAX: u32 = 1024;

/// Maximum rate: one op per nanosecond, which is the resolution of the schedule.
const RATE_MAX: f64 = 1e9;

pub(super) fn check(check: &mut Checker, workload: &Workload) {
    if workload.phase.is_empty() {
        check.problem(["phase"], "the workload has no phase", "add a `[[phase]]` with its `[[phase.workers]]`");
    }
    let mut names = BTreeSet::new();
    let mut populated: BTreeSet<&str> = BTreeSet::new();
    for (index, phase) in workload.phase.iter().enumerate() {
        // Files created by a worker of this phase or an earlier one may exist for the others.
        for group in &phase.workers {
            if let Some(program) = group.work.program()
                && programs::creates(program)
            {
                populated.insert(&group.target);
            }
        }
        check.inside("phase", |check| {
            check.inside(index, |check| {
                check.name(["name"], "the phase", &phase.name);
                check.unique(["name"], "phases", &phase.name, &mut names);
                one(check, workload, phase, &populated);
            });
        });
    }
}

/// Checks that no worker waits forever for the others.
fn meetings(check: &mut Checker, phase: &Phase) {
    let mut meetings = phase.workers.iter().map(|group| {
        let starts_with_all = group.start.after.is_empty();
        group.work.program().map_or(0, |program| if starts_with_all { program.meetings() } else { 0 })
    });
    let first = meetings.next().unwrap_or(0);
    let same = meetings.all(|other| other == first);
    let waits = |program: &Program| program.meetings() > 0;
    let any = phase.workers.iter().filter_map(|group| group.work.program()).any(waits);
    if any && (!same || first == 0) {
        check.problem(
            ["workers"],
            "some workers wait for all others of the phase, but the others never arrive",
            "give all of them the same `meet` steps and walls, and let them start together",
        );
    }
}

/// Checks stonewalls. A worker meets a stonewall once per phase. The count reached there stays in this process's memory,
/// where later phases read it.
fn walls(check: &mut Checker, phase: &Phase) {
    for (index, group) in phase.workers.iter().enumerate() {
        let Some(program) = group.work.program() else { continue };
        let meets = |step: &&Step| matches!(step.wall(), Some(Wall::After(_)));
        let all = walk(&program.steps).filter(meets).count();
        let once = program.steps.iter().filter(meets).count();
        let (message, help) = match () {
            () if all > 1 => {
                ("the workers of a phase meet at one stonewall only", "move the other one to another phase")
            }
            () if all > once => {
                ("a stonewall inside a loop or a mix is met only once", "move it out of the loop or mix")
            }
            () if all > 0 && group.limit.passes.is_some_and(|passes| passes > 1) => {
                ("a stonewall is met once, not in each pass", "leave `limit.passes` out")
            }
            () if group.run_as == RunAs::Process && program.all_steps().any(|step| step.wall().is_some()) => {
                ("processes cannot report the count of a stonewall to later phases", "use `run-as = \"thread\"`")
            }
            () => continue,
        };
        check.inside("workers", |check| {
            check.inside(index, |check| check.problem(["work", "program", "steps"], message, help));
        });
    }
}

fn one(check: &mut Checker, workload: &Workload, phase: &Phase, populated: &BTreeSet<&str>) {
    match phase.memory_pressure {
        Some(Size::Free(_)) => check.problem(
            ["memory-pressure"],
            "memory cannot be given as a share of free disk space",
            "use bytes, or a share of memory such as `ram*50%`",
        ),
        Some(Size::Ram(factor)) if factor >= 1.0 => check.problem(
            ["memory-pressure"],
            format!("`ram*{factor}` leaves no memory to run in"),
            "lock less, such as `ram*80%`",
        ),
        Some(size) => check.size(["memory-pressure"], size),
        None => {}
    }
    if phase.workers.is_empty() && phase.companions.is_empty() {
        check.problem(["workers"], "the phase has no workers", "add a `[[phase.workers]]` with a `target` and `work`");
    }
    let all = phase.workers.iter().fold(0, |sum: u64, group| sum.saturating_add(group.count.into()));
    if phase.workers.len() > 1 && all > u64::from(WORKERS_MAX) {
        let message = format!("{all} workers of all groups together are too many");
        check.problem(["workers"], message, format!("use at most {WORKERS_MAX} in a phase"));
    }
    stop(check, workload, phase);
    meetings(check, phase);
    walls(check, phase);
    let mut names = BTreeSet::new();
    for (index, group) in phase.workers.iter().enumerate() {
        check.inside("workers", |check| {
            check.inside(index, |check| {
                if let Some(name) = &group.name {
                    check.name(["name"], "the group of workers", name);
                    check.unique(["name"], "groups of workers", name, &mut names);
                }
                workers(check, phase, group);
                match workload.target.get(&group.target) {
                    Some(target) => {
                        let facts = facts(target);
                        fits(check, group, facts);
                        let is_real = matches!(facts.kind, Kind::Files | Kind::Device);
                        streams::has_means(check, group, is_real);
                        match &group.work {
                            Work::Blocks(stream) => match &**stream {
                                BlockStream::Plumb(work) => check.nested(&["work", "blocks"], |check| {
                                    blocks::check(check, phase.cache, group, work, facts);
                                }),
                                _ => streams::check(check, phase, group),
                            },
                            Work::Program(program) => check.nested(&["work", "program"], |check| {
                                let others = if populated.contains(group.target.as_str()) {
                                    OtherFiles::Created
                                } else {
                                    OtherFiles::None
                                };
                                if program.is_over_shared_sets() || matches!(target, Target::SharedTree(_)) {
                                    programs::shared_sets(check, workload, group, program);
                                } else {
                                    programs::check(check, phase.cache, group, program, target, others);
                                    programs::copied(check, workload, group, program);
                                }
                            }),
                            Work::Copy(copy) => check
                                .nested(&["work", "copy"], |check| copies::check(check, workload, phase, group, copy)),
                            Work::Replay(replay) => replays::check(check, phase, group, replay, target),
                            Work::Net(load) => net::check(check, group, load, target),
                        }
                    }
                    None => check.problem(
                        ["target"],
                        format!("there is no target named `{}`", group.target),
                        help_for_name(&group.target, workload.target.keys()),
                    ),
                }
            });
        });
    }
    let unnamed = (0..).zip(&phase.workers).filter(|(_, group)| group.name.is_none());
    names.extend(unnamed.map(|(number, _): (usize, _)| format!("workers.{number}")));
    if let Some(probe) = &phase.probe {
        net::probe(check, probe);
    }
    companions::check(check, workload, phase, &mut names);
}

/// Returns `true` if the group's work ends by itself, or a limit of the phase or the group ends it.
fn ends(stop: &Stop, group: &WorkerGroup, target: Option<&Target>) -> bool {
    let by_bytes = stop.bytes.is_some() || group.limit.bytes.is_some();
    let always = stop.time.is_some()
        || stop.ops.is_some()
        || stop.steady.is_some()
        || group.limit.ops.is_some()
        || group.limit.passes.is_some()
        || group.limit.time.is_some();
    if group.work.net().is_some() {
        return always || by_bytes;
    }
    // Over named files, a program runs its steps once and ends by itself.
    let by_itself = group.work.program().is_none_or(|program| !program.is_over_file_set())
        || matches!(target, Some(Target::SharedTree(_)))
        || target.is_some_and(|target| target.names().is_some());
    by_itself || always || (by_bytes && group.work.moves_bytes_of_set())
}

fn stop(check: &mut Checker, workload: &Workload, phase: &Phase) {
    let stop = &phase.stop;
    check.positive_if_some(["stop", "time"], "`stop.time`", stop.time.map(|time| time.0));
    check.positive_if_some(["stop", "bytes"], "`stop.bytes`", stop.bytes.map(|bytes| bytes.0));
    check.positive_if_some(["stop", "ops"], "`stop.ops`", stop.ops);
    if phase.ramp.0 > 0 && stop.time.is_none() && stop.steady.is_none() {
        check.problem(
            ["ramp"],
            "the phase may end before its ramp, and then nothing is measured",
            "add `stop.time`, which counts from the end of the ramp",
        );
    }
    let first_ends = phase.stop.when == When::FirstDone;
    let mut endless: Vec<usize> = (0..phase.workers.len())
        .filter(|&index| {
            let group = &phase.workers[index];
            !ends(stop, group, workload.target.get(&group.target))
        })
        .collect();
    if first_ends && endless.len() < phase.workers.len() {
        endless.clear();
    }
    for index in endless {
        check.inside("workers", |check| {
            check.inside(index, |check| {
                check.problem(
                    ["limit"],
                    "this work never ends, and neither does its phase",
                    "add `stop.time` to the phase, or `limit.passes` to the workers",
                );
            });
        });
    }
    let Some(steady) = &stop.steady else { return };
    check.nested(&["stop", "steady"], |check| {
        check.positive(["round"], "the length of a round", steady.round.0, "`1s` is usual");
        repeat::rule(check, steady.window, steady.max_rounds, steady.range, steady.slope);
        let shortest = steady.round.0.saturating_mul(steady.window.into());
        if let Some(time) = stop.time
            && time.0 < shortest
        {
            check.problem(
                [],
                format!("`stop.time` {time} ends the phase before {} rounds have passed", steady.window),
                format!("allow at least {}, or leave `stop.time` out", plumb_workload::Nanos(shortest)),
            );
        }
    });
}

/// Checks the number of workers or companions.
pub(super) fn count(check: &mut Checker, count: u32, what: &str) {
    check.positive(["count"], &format!("the number of {what}"), count.into(), "use at least 1");
    if count > WORKERS_MAX {
        check.problem(["count"], format!("{count} {what} are too many"), format!("use at most {WORKERS_MAX}"));
    }
}

/// Checks the list of CPUs to run on.
pub(super) fn cpus(check: &mut Checker, cpus: &[u32]) {
    for (index, cpu) in cpus.iter().enumerate().filter(|(_, cpu)| **cpu >= CPUS_MAX) {
        check.inside("cpus", |check| {
            check.inside(index, |check| {
                check.problem([], format!("there is no CPU {cpu}"), format!("CPUs are numbered 0 to {}", CPUS_MAX - 1));
            });
        });
    }
}

/// Checks the rules for a group that do not depend on its target.
fn workers(check: &mut Checker, phase: &Phase, group: &WorkerGroup) {
    count(check, group.count, "workers");
    check.positive(["depth"], "the queue depth", group.depth.into(), "use at least 1");
    if group.depth > QUEUE_DEPTH_MAX {
        check.problem(
            ["depth"],
            format!("a queue cannot hold {} requests", group.depth),
            format!("the largest io_uring queue holds {QUEUE_DEPTH_MAX}"),
        );
    }
    if group.work.program().is_some() {
        if group.depth > 1 {
            check.problem(
                ["depth"],
                format!("a program runs one step at a time and cannot keep {} requests in flight", group.depth),
                "use depth = 1, and more workers with `count`",
            );
        }
    } else if group.depth > 1 && group.backend.is_synchronous() {
        check.problem(
            ["depth"],
            format!(
                "the backend `{}` is synchronous and cannot keep {} requests in flight",
                group.backend.name(),
                group.depth
            ),
            "use backend = \"io-uring\", or depth = 1 and more workers with `count`",
        );
    }
    for (key, batch) in [("submit", group.batch.submit), ("complete", group.batch.complete)] {
        if batch > group.depth {
            check.problem(
                ["batch", key],
                format!("a batch of {batch} can never fill up at depth {}", group.depth),
                "use at most the depth, or 0 to let the engine choose",
            );
        }
    }
    cpus(check, &group.cpus);
    check.positive_if_some(["limit", "bytes"], "`limit.bytes`", group.limit.bytes.map(|bytes| bytes.0));
    check.positive_if_some(["limit", "ops"], "`limit.ops`", group.limit.ops);
    check.positive_if_some(["limit", "passes"], "`limit.passes`", group.limit.passes);
    pace(check, &group.pace);
    if let Some(buffers) = &group.content {
        if !group.work.has_queue() {
            check.problem(
                ["content"],
                "only block I/O groups can set their own content",
                "set `content` of the target or of the program",
            );
        }
        for (key, percent) in [
            ("refill-percent", buffers.refill_percent),
            ("compress-percent", buffers.compress_percent),
            ("dedupe-percent", buffers.dedupe_percent),
            ("dedupe-set-percent", buffers.dedupe_set_percent),
        ] {
            percent_is_sane(check, ["content", key], percent.into());
        }
    }
    backend(check, phase.cache, group);
}

fn pace(check: &mut Checker, pace: &Pace) {
    check.inside("pace", |check| {
        if let Some(OpenLoad { rate, .. }) = pace.open {
            check.above_zero(["open", "rate"], "the rate", rate.0, "use a rate such as `1000/s`");
            if rate.0.is_finite() && rate.0 > RATE_MAX {
                check.problem(
                    ["open", "rate"],
                    format!("{rate} is more than one op per nanosecond"),
                    "leave `pace` out to go as fast as possible",
                );
            }
            if pace.has_rates() {
                check.problem(
                    ["open"],
                    "`open` cannot be combined with `bytes-per-second` or `ops-per-second`",
                    "remove one of them",
                );
            }
        }
        for (key, rates) in [("bytes-per-second", &pace.bytes_per_second), ("ops-per-second", &pace.ops_per_second)] {
            for (kind, rate) in [("read", rates.read), ("write", rates.write), ("trim", rates.trim)] {
                if let Some(rate) = rate {
                    check.above_zero([key, kind], "the rate", rate.0, "use a rate such as `1000/s`");
                }
            }
        }
        if pace.reads_count_as_writes && (pace.bytes_per_second.read.is_some() || pace.ops_per_second.read.is_some()) {
            check.problem(
                ["reads-count-as-writes"],
                "`reads-count-as-writes` cannot be combined with a rate for reads",
                "remove one of them",
            );
        }
        if let Some(think) = &pace.think {
            check.inside("think", |check| think_time(check, think));
        }
        if let Some(flow) = &pace.flow {
            check.positive(["flow", "weight"], "the weight", flow.weight.into(), "use at least 1");
        }
        if let Some(consumer) = &pace.consumer {
            check.positive(
                ["consumer", "batch"],
                "the batch",
                consumer.batch.0,
                "give the bytes per batch, such as `45MiB`",
            );
            check.positive(
                ["consumer", "busy"],
                "the busy time per batch",
                consumer.busy.0,
                "use a time such as `200ms`",
            );
            check.positive(["consumer", "ahead"], "the number of batches ahead", consumer.ahead.into(), "2 is usual");
            if pace.flow.is_some() {
                check.problem(["consumer"], "`consumer` cannot be combined with `flow`", "remove one of them");
            }
        }
    });
}

fn think_time(check: &mut Checker, think: &ThinkTime) {
    if think.pause.0 == 0 && think.busy_cycles == 0 {
        check.problem(["pause"], "the think time is 0", "leave `think` out for no pause");
    }
    if think.pause.0 > 0 && think.every == 0 && think.work.is_none() {
        check.problem(["every"], "the number of ops between pauses is 0", "use at least 1, or set a time for `work`");
    }
}

/// Checks the backend against the cache policy.
fn backend(check: &mut Checker, cache: CachePolicy, group: &WorkerGroup) {
    let direct = cache == CachePolicy::Direct || (group.work.foreign_stream().is_some() && group.files.direct);
    let needs_direct = "set the phase's `cache = \"direct\"`";
    match &group.backend {
        Backend::Preadv2 { flags, .. } if !direct => {
            for (index, flag) in flags.iter().enumerate() {
                if matches!(flag, RwFlag::Hipri | RwFlag::Atomic) {
                    check.nested(&["backend", "preadv2", "flags"], |check| {
                        check.inside(index, |check| {
                            check.problem([], "this flag works only with direct I/O", needs_direct);
                        });
                    });
                }
            }
        }
        Backend::IoUring { poll_completions: true, .. } => {
            if !direct {
                check.problem(
                    ["backend", "io-uring", "poll-completions"],
                    "completions can be polled only for direct I/O",
                    needs_direct,
                );
            }
            if let Some(work) = group.work.blocks()
                && (work.mix.trim > 0 || work.fsync_every > 0 || work.fdatasync_every > 0)
            {
                check.problem(
                    ["backend", "io-uring", "poll-completions"],
                    "a polled ring supports only reads and writes, not flushes or trims",
                    "leave `poll-completions` out, or the flushes and trims",
                );
            }
        }
        Backend::Mmap | Backend::Stdio if direct => check.problem(
            ["backend"],
            format!("`{}` always goes through the page cache, but the phase uses direct I/O", group.backend.name()),
            "use backend = \"psync\" or \"io-uring\", or a `cache` other than \"direct\"",
        ),
        _ => {}
    }
}

/// Checks that the group fits its target.
fn fits(check: &mut Checker, group: &WorkerGroup, facts: Facts) {
    let name = group.backend.name();
    let auto = group.backend == Backend::Auto;
    match facts.kind {
        // These backends use only a range of offsets, so a null target is enough for them.
        Kind::Null
            if !auto && !matches!(group.backend, Backend::Null | Backend::Socket { .. } | Backend::PageFault) =>
        {
            check.problem(
                ["backend"],
                format!("the target `{}` is null, but the backend `{name}` needs a real one", group.target),
                "use backend = \"auto\"",
            )
        }
        Kind::Sim if !auto && group.backend != Backend::Sim => check.problem(
            ["backend"],
            format!("the target `{}` is simulated, but the backend `{name}` needs a real one", group.target),
            "use backend = \"auto\"",
        ),
        Kind::Files | Kind::Device if matches!(group.backend, Backend::Null | Backend::Sim | Backend::PageFault) => {
            let kind = if group.backend == Backend::Sim { "sim" } else { "null" };
            check.problem(
                ["backend"],
                format!("the backend `{name}` does no I/O, but the target `{}` is real", group.target),
                format!("use backend = \"auto\", or a `[target.NAME.{kind}]`"),
            )
        }
        _ => {}
    }
    if facts.kind == Kind::Sim && group.run_as == RunAs::Process {
        check.problem(
            ["run-as"],
            "a simulated device runs on a virtual clock, in one process",
            "use run-as = \"thread\"",
        );
    }
    let is_program = group.work.program().is_some();
    match facts.shape {
        Shape::Host if group.work.net().is_none() => check.problem(
            ["work"],
            format!("`{}` is a host, and has no files", group.target),
            "use `work.net`, or a `file`, `files` or `tree` target",
        ),
        Shape::Recorded if group.work.replay().is_none() => check.problem(
            ["work"],
            format!("`{}` has the files of a recording, which only `work.replay` uses", group.target),
            "use `work.replay`, or a `file`, `files` or `tree` target",
        ),
        Shape::Tree { .. } if group.work.blocks().is_some() => check.problem(
            ["work", "blocks"],
            format!("block I/O needs a range of offsets, but `{}` is a file set", group.target),
            "use `work.program`, or a `file`, `files` or `device` target",
        ),
        Shape::Range { .. } if is_program => check.problem(
            ["work", "program"],
            format!("a program needs a file set or file names, but `{}` is one range of offsets", group.target),
            match facts.kind {
                Kind::Sim => "add `files = 1000` to the simulated target",
                _ => "use a `[target.NAME.tree]` or a `[target.NAME.scratch]`, or `work.blocks`",
            },
        ),
        Shape::Tree { files, .. } if is_program && files < u64::from(group.count) => check.problem(
            ["count"],
            format!("{} workers need at least as many files, because each has its own; there are {files}", group.count),
            "use fewer workers or more files",
        ),
        _ => {}
    }
    // Files of a simulated device have no names; the program's steps determine how they are used.
    let is_named = match facts.shape {
        Shape::Named { .. } => is_program,
        Shape::Tree { .. } if facts.kind == Kind::Sim => {
            group.work.program().is_some_and(|program| !program.is_over_file_set())
        }
        Shape::Tree { .. } | Shape::Shared | Shape::Recorded | Shape::Host | Shape::Range { .. } => false,
    };
    if is_named && !group.pace.is_closed() {
        check.problem(
            ["pace"],
            "a program over named files cannot be paced",
            "leave `pace` out, and use `delay` steps",
        );
    }
    let is_over_set = matches!(facts.shape, Shape::Tree { .. });
    let needs_other_calls =
        matches!(group.backend, Backend::Preadv2 { .. } | Backend::Mmap | Backend::Stdio | Backend::IoUring { .. });
    if is_program && if is_over_set { needs_other_calls } else { !auto } {
        check.problem(
            ["backend"],
            format!("a program uses plain system calls and cannot use the backend `{name}`"),
            "use backend = \"auto\"",
        );
    }
    if let Some(rules) = &group.verify {
        verify(check, group, rules, facts);
    }
}

/// Checks verification, which needs a target that stores data, and blocks of one size.
fn verify(check: &mut Checker, group: &WorkerGroup, rules: &Verify, facts: Facts) {
    if rules.threads > VERIFY_THREADS_MAX {
        check.problem(
            ["verify", "threads"],
            format!("{} verification threads are too many", rules.threads),
            format!("use at most {VERIFY_THREADS_MAX}"),
        );
    }
    let is_own = rules.layout == StampLayout::Plumb;
    if is_own && !matches!(rules.method, VerifyMethod::Crc32c | VerifyMethod::XxHash) {
        check.problem(
            ["verify", "method"],
            "Plumb's own stamps support only CRC-32C and xxHash",
            "use `crc32c` or `xx-hash`, or fio's `layout = \"versioned\"`",
        );
    }
    let requests = match group.work.foreign_stream() {
        Some(BlockStream::Requests(requests)) => Some(requests),
        _ => None,
    };
    if rules.layout == StampLayout::Sysbench {
        let mixes = requests.is_some_and(|requests| matches!(requests.does, RequestOps::Mix { .. }));
        let (message, help) = match () {
            () if requests.is_none() => ("only `requests` can have sysbench's stamps", "use another `layout`"),
            () if rules.method != VerifyMethod::Crc32 => {
                ("sysbench's stamps hold a CRC-32", "use `method = \"crc32\"`")
            }
            () if mixes && (group.count > 1 || group.depth > 1) => {
                ("a read may see half of a concurrent write", "use one worker at `depth = 1`, or reads alone")
            }
            () => return,
        };
        return check.problem(["verify", "layout"], message, help);
    }
    if group.work.foreign_stream().is_some() {
        if is_own {
            check.problem(
                ["verify", "layout"],
                "only Plumb's own generator supports Plumb's own stamps",
                "use `layout = \"versioned\"` or `layout = \"unversioned\"`",
            );
        }
        return;
    }
    if matches!(facts.kind, Kind::Null | Kind::Sim) {
        check.problem(
            ["verify"],
            format!("the target `{}` does not store data, so nothing can be verified", group.target),
            "leave `verify` out, or use a real target",
        );
    }
    let Some(work) = group.work.blocks() else {
        check.problem(["verify"], "only block I/O can be verified", "leave `verify` out of workers with a program");
        return;
    };
    let Verify { only, backlog, redraw, flushed_only, threads, state, .. } = rules;
    for (key, is_set) in [
        ("only", *only),
        ("backlog", backlog.is_some()),
        ("redraw", *redraw),
        ("flushed-only", *flushed_only),
        ("threads", *threads > 0),
        ("state", *state != VerifyState::default()),
    ] {
        if is_set {
            check.problem(
                ["verify", key],
                "only `fio` and `sweep` streams read back what they wrote",
                "leave it out, or use `work.blocks.fio`",
            );
        }
    }
    if !is_own && work.mix.read > 0 && work.mix.write > 0 {
        check.problem(
            ["verify", "layout"],
            "in a mix, reads can be verified only with Plumb's own stamps",
            "use `layout = \"plumb\"`, or a phase of its own for verifying",
        );
    }
    for (key, block) in [("block", Some(&work.block)), ("write-block", work.write_block.as_ref())] {
        let Some(block) = block else { continue };
        if block.min().0 < Verify::HEADER_BYTES {
            check.problem(
                ["work", "blocks", key],
                format!("a verified block must hold a stamp of {} bytes", Verify::HEADER_BYTES),
                format!("use blocks of at least {}", plumb_workload::Bytes(Verify::HEADER_BYTES)),
            );
        }
        if block.min() != block.max() || *block != work.block {
            check.problem(
                ["work", "blocks", key],
                "a block can be verified only at the size it was written with",
                "use one fixed `block` for reads and writes alike",
            );
        }
    }
    if work.mix.trim > 0 {
        check.problem(["work", "blocks", "mix", "trim"], "a trimmed block cannot be verified", "leave the trims out");
    }
}
