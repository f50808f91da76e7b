//! Groups of one phase with their own starts, ramps, times and series, and the groups that their ends stop.

use super::common::*;
use plumb_engine::op::Role;
use plumb_engine::{LoggedOp, Observer, Part, PhaseNow, Process, WorkerState};
use plumb_result::{PhaseMeasurement, WorkerMeasurement};
use plumb_workload::OpKind;
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;

/// A group at 500 ops a second, a negligible load for any machine.
fn group(name: &str, more: &str) -> String {
    format!(
        "[[phase.workers]]\nname = \"{name}\"\ntarget = \"nothing\"\nwork.blocks.pattern = \"random\"\npace.open.rate = \"500/s\"\n{more}\n"
    )
}

fn phase(name: &str, more: &str, groups: &[String]) -> String {
    format!("[[phase]]\nname = \"{name}\"\n{more}\n{}", groups.concat())
}

fn text(phases: &[String]) -> String {
    format!("name = \"groups\"\n[target.nothing.null]\nsize = \"1GiB\"\n{}", phases.concat())
}

fn only(groups: &[String]) -> String {
    text(&[phase("only", "", groups)])
}

fn worker<'a>(phase: &'a PhaseMeasurement, name: &str) -> &'a WorkerMeasurement {
    phase.workers.iter().find(|worker| worker.name.starts_with(name)).unwrap()
}

const RUN_AS: [&str; 2] = ["thread", "process"];

#[test]
fn each_worker_has_its_own_counters_and_times() {
    for run_as in RUN_AS {
        let run_as = format!("run-as = \"{run_as}\"");
        let more = |ops: u32| format!("limit.ops = {ops}\n{run_as}");
        let phase = Place::new().phase(&only(&[group("a", &more(7)), group("b", &more(30))]));
        consistent(&phase);
        for (name, ops) in [("a", 7), ("b", 30)] {
            let worker = worker(&phase, name);
            let read = &worker.ops[&OpKind::Read];
            assert_eq!((worker.count, read.count, read.service.count()), (ops, ops, ops), "{name}");
            assert_eq!(worker.bytes, read.bytes);
            assert!(worker.ops.len() == 1 && worker.samples.is_empty() && worker.queue.is_none());
            assert!(worker.pid.is_some());
            assert_eq!((worker.started_ns, worker.began_ns, worker.fault_count), (0, 0, 0));
        }
        assert_ne!(phase.workers[0].pid, phase.workers[1].pid);
        if cfg!(target_os = "linux") {
            assert!(phase.workers.iter().all(|worker| worker.preemptions.is_some() && worker.minor_faults.is_some()));
            assert!(phase.workers.iter().all(|worker| worker.run_queue.is_some()), "{:?}", phase.workers);
        }
    }
}

#[test]
fn a_group_starts_after_its_delay_and_after_those_it_waits_for() {
    for run_as in RUN_AS {
        let run_as = format!("run-as = \"{run_as}\"");
        let phase = Place::new().phase(&only(&[
            group("late", &format!("start.delay = \"200ms\"\nlimit.ops = 20\n{run_as}")),
            group("last", &format!("start = {{ after = [\"late\"], delay = \"50ms\" }}\nlimit.ops = 10\n{run_as}")),
        ]));
        consistent(&phase);
        let (late, last) = (worker(&phase, "late"), worker(&phase, "last"));
        assert_eq!((late.count, last.count), (20, 10));
        assert_eq!(late.began_ns, late.started_ns);
        assert!(late.started_ns.abs_diff(200 * MS) < 1_000, "{}", late.started_ns);
        assert!(last.started_ns >= late.started_ns + late.wall_ns + 50 * MS, "{run_as}: {last:?}");
        assert!(late.wall_ns < phase.wall_ns - last.wall_ns, "the group has its own time");
    }
}

/// Protects: a group that only its own time ends goes on after one pass over the target, like one with a limit on ops.
#[test]
fn a_time_limit_of_a_group_is_not_cut_short_by_the_end_of_the_target() {
    for run_as in RUN_AS {
        let workers = format!("run-as = \"{run_as}\"\nwork.blocks.block = \"4KiB\"\nlimit.time = \"200ms\"");
        let text = format!(
            "name = \"small\"\n[target.nothing.null]\nsize = \"8KiB\"\n[[phase]]\nname = \"only\"\n[[phase.workers]]\ntarget = \"nothing\"\n{workers}\n"
        );
        let phase = Place::new().phase(&text);
        let worker = &phase.workers[0];
        assert!(worker.count > 2, "more than the two ops of one pass: {}", worker.count);
        assert!(worker.wall_ns >= 200 * MS, "{}", worker.wall_ns);
    }
}

#[test]
fn a_workers_time_starts_after_its_own_ramp() {
    let more = "ramp = \"300ms\"\nstart.delay = \"100ms\"\nlimit.time = \"400ms\"";
    let phase = Place::new().phase(&only(&[group("a", more), group("b", "limit.time = \"200ms\"")]));
    consistent(&phase);
    let (a, b) = (worker(&phase, "a"), worker(&phase, "b"));
    assert_eq!(a.began_ns / MS, 99 + u64::from(a.began_ns >= 100 * MS));
    assert!(a.started_ns >= 400 * MS - 1_000, "{}", a.started_ns);
    assert!(a.wall_ns >= 400 * MS - 1_000, "{}", a.wall_ns);
    // 200 starts are in its time, 150 in its ramp. A machine that is busy at the end of the
    // ramp makes some of those late.
    assert!((1..=300).contains(&a.count), "{} were measured", a.count);
    assert!((1..=101).contains(&b.count), "{}", b.count);
    assert!(a.ended_by.is_none() && b.ended_by.is_none(), "the end of a worker's time is not a failure");
}

// Protects: ops in a group's ramp use up none of its limits, and are not measured.
#[test]
fn limits_of_a_group_count_from_the_end_of_its_ramp() {
    for manner in ["", "run-as = \"process\""] {
        let text = only(&[group("a", &format!("ramp = \"300ms\"\nlimit.ops = 40\n{manner}"))]);
        let phase = Place::new().phase(&text);
        consistent(&phase);
        assert_eq!(phase.workers[0].count, 40);
        assert_eq!(phase.workers[0].ops[&OpKind::Read].response.as_ref().map(|times| times.count()), Some(40));
        // All groups share this ramp: the phase's measured time begins after it.
        assert!(phase.workers[0].started_ns < 250 * MS, "{}", phase.workers[0].started_ns);
        assert!(phase.wall_ns >= phase.workers[0].wall_ns);
    }
}

#[test]
fn samples_cover_a_workers_time_without_a_gap() {
    let more = "start.delay = \"130ms\"\nlimit.time = \"480ms\"\nsample = \"50ms\"";
    // The other group is idle most of the time.
    let idle = "limit.ops = 2\npace.open.rate = \"5/s\"\nsample = \"20ms\"";
    let phase = Place::new().phase(&only(&[group("a", more), group("b", "limit.time = \"100ms\"")]));
    let a = worker(&phase, "a");
    let mut at = 0;
    for sample in &a.samples {
        assert_eq!(sample.start_ns, at);
        at += sample.length_ns;
    }
    assert!(at.abs_diff(a.wall_ns) < 1_000, "{at} of {}", a.wall_ns);
    assert!((2..=10).contains(&a.samples.len()), "{}", a.samples.len());
    let counted: u64 = a.samples.iter().flat_map(|sample| sample.ops.values()).map(|moved| moved.count).sum();
    assert_eq!(counted, a.count);
    assert!(worker(&phase, "b").samples.is_empty(), "nobody asked");

    let idle =
        format!("[[phase.workers]]\nname = \"idle\"\ntarget = \"nothing\"\nwork.blocks.pattern = \"random\"\n{idle}\n");
    let phase = Place::new().phase(&only(&[idle]));
    let empty = phase.workers[0].samples.iter().filter(|sample| sample.ops.is_empty()).count();
    assert!(empty >= 1, "pieces without completed ops are listed: {:?}", phase.workers[0].samples);
}

#[test]
fn the_end_of_a_group_stops_the_configured_groups() {
    let place = Place::new();
    let first = |rule: &str| group("first", &format!("limit.ops = 20\n{rule}"));
    let forever = |name: &str, time: &str| group(name, &format!("limit.time = \"{time}\""));
    let next = phase("next", "", &[group("n", "limit.ops = 1")]);

    for (rule, phases) in [("when-done = \"phase\"", 2), ("when-done = \"run\"", 1)] {
        let groups = [first(rule), forever("b", "1h"), group("c", "start.after = [\"b\"]\nlimit.time = \"1h\"")];
        let text = text(&[phase("only", "", &groups), next.clone()]);
        let measurement = within(WATCHDOG, move || Place::new().run(&text));
        assert_eq!((measurement.phases.len(), measurement.interrupted), (phases, false), "{rule}");
        let (b, c) = (worker(&measurement.phases[0], "b"), worker(&measurement.phases[0], "c"));
        assert!(b.count > 0 && b.ended_by.is_none());
        assert_eq!((c.count, c.wall_ns), (0, 0), "the group never started");
    }

    let groups = [first("when-done = { groups = [\"b\"] }"), forever("b", "1h"), forever("c", "500ms")];
    let phase = place.phase(&only(&groups));
    assert!(worker(&phase, "b").wall_ns < worker(&phase, "c").wall_ns);

    let groups = [first("when-done = \"run-if-failed\""), forever("b", "200ms")];
    let measurement = place.run(&text(&[super::groups::phase("only", "", &groups), next]));
    assert_eq!(measurement.phases.len(), 2, "nothing failed");
}

/// A worker whose reads all fail, next to one without errors.
fn leaving(manner: &str, when_done: &str) -> String {
    format!(
        r#"
        name = "leaving"
        [target.data.file]
        path = "data"
        size = "1MiB"
        prepare = "sparse"
        [target.nothing.null]
        size = "1GiB"
        [[phase]]
        name = "only"
        [[phase.workers]]
        name = "bad"
        target = "data"
        on-error = "leave"
        when-done = "{when_done}"
        work.blocks.pattern = "random"
        pace.open.rate = "500/s"
        {manner}
        {}
        [[phase]]
        name = "next"
        {}
        "#,
        group("good", "limit.time = \"400ms\""),
        group("n", "limit.ops = 1")
    )
}

#[test]
fn a_group_that_ends_with_an_error_does_not_stop_the_others() {
    for manner in ["", "run-as = \"process\"", "depth = 4"] {
        for (when_done, phases) in [("itself", 2), ("run-if-failed", 1)] {
            // Unwritten blocks cannot be verified.
            let mut spy = Spy::at_begin(|phase, targets| {
                if phase == "only" {
                    let file = targets.iter().find(|target| target.name == "data").unwrap();
                    std::fs::write(file.path, vec![b'x'; 1 << 20]).unwrap();
                }
            });
            let text = leaving(&format!("{manner}\nverify.checksum = \"crc32c\""), when_done);
            let measurement = Place::new().watch(&text, &mut spy);
            assert_eq!(measurement.phases.len(), phases, "{manner} {when_done}");
            let phase = &measurement.phases[0];
            let (bad, good) = (worker(phase, "bad"), worker(phase, "good"));
            assert!(bad.fault_count >= 1 && bad.faults[0].op == OpKind::Read, "{bad:?}");
            assert!(bad.ended_by.as_ref().is_some_and(|reason| reason.starts_with("read of ")), "{bad:?}");
            assert_eq!((good.fault_count, good.ended_by.is_none()), (0, true));
            assert_eq!(phase.fault_count, bad.fault_count);
            if when_done == "itself" {
                assert!(good.wall_ns > bad.wall_ns, "it went on");
            }
        }
    }
}

/// Keeps the single ops and the moments of a phase that it observes.
#[derive(Default)]
struct Keeper {
    ticks: Vec<(u64, WorkerState, u64)>,
    so_far: Vec<u64>,
    logs: BTreeMap<String, Vec<LoggedOp>>,
}

impl Observer for Keeper {
    fn tick_ns(&self) -> Option<u64> {
        Some(50 * MS)
    }

    fn tick(&mut self, now: &dyn PhaseNow) {
        assert_eq!(now.phase(), "only");
        let workers = now.workers();
        let count = workers[0].ops.values().map(|moved| moved.count).sum();
        self.ticks.push((now.elapsed_ns(), workers[0].state, count));
        let so_far = now.measurement();
        assert!(so_far.workers.iter().all(|worker| worker.ended_by.is_none()));
        assert!(so_far.count() >= count, "the result is from a later reading");
        self.so_far.push(so_far.count());
    }

    fn op_log(&mut self, phase: &str, worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        assert_eq!(phase, "only");
        self.logs.insert(worker.to_owned(), ops.collect());
    }
}

#[test]
fn an_observer_sees_every_worker_at_every_tick() {
    let mut keeper = Keeper::default();
    let more = "start.delay = \"120ms\"\nramp = \"120ms\"\nlimit.time = \"300ms\"";
    let phase = Place::new().watch(&only(&[group("a", more), group("b", "limit.time = \"800ms\"")]), &mut keeper);
    assert!(keeper.ticks.len() >= 3, "{:?}", keeper.ticks);
    assert!(keeper.ticks.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].2 <= pair[1].2));
    let order = [WorkerState::Waiting, WorkerState::Ramp, WorkerState::Running, WorkerState::Over];
    let places: Vec<usize> =
        keeper.ticks.iter().map(|tick| order.iter().position(|state| *state == tick.1).unwrap()).collect();
    assert!(places.is_sorted() && places[0] == 0, "{places:?}");
    assert!(keeper.so_far.is_sorted());
    assert!(*keeper.so_far.last().unwrap() <= phase.phases[0].count());
    assert!(keeper.logs.is_empty(), "single ops were not requested");
}

/// Plumb's own generator supports a group's settings for memory, process and log.
#[test]
fn any_block_io_supports_memory_process_and_log_settings() {
    let place = Place::new();
    let text = r#"
        name = "rules"
        [target.data.file]
        path = "data"
        size = "1MiB"
        [[phase]]
        name = "only"
        [[phase.workers]]
        name = "own"
        target = "data"
        work.blocks.pattern = "permutation"
        buffers = { memory = "shared", align = "64KiB" }
        process = { nice = 5, run-before = "echo before", run-after = "echo after" }
        log-ops = true
        "#;
    let mut keeper = Keeper::default();
    let measurement = place.watch(text, &mut keeper);
    let ops = &keeper.logs["own/0"];
    assert_eq!((measurement.phases[0].count(), ops.len()), (256, 256));
    let mut offsets: Vec<u64> = ops.iter().map(|op| op.offset).collect();
    offsets.sort_unstable();
    assert!(offsets.iter().zip(0..).all(|(&offset, number)| offset == number * 4096));
    let output = |when: &str| std::fs::read_to_string(place.base().join(format!("own.{when}.txt"))).unwrap();
    assert_eq!((output("prerun"), output("postrun")), ("before\n".to_owned(), "after\n".to_owned()));
}

// Protects: the requested logs of a job's single ops and of its queue are complete, in threads and in processes.
#[test]
fn a_job_keeps_its_single_ops_and_its_queue() {
    use super::jobs::{JobText, jobs};
    for run_as in RUN_AS {
        for group in
            [format!("run-as = \"{run_as}\""), format!("run-as = \"{run_as}\"\ndepth = 4\nbackend = \"io-uring\"")]
        {
            let job = JobText::reads("job").group(&group).job("log-ops = true\ntime-submission = true");
            let text = jobs("numbered = { path = \"job.{}\", count = 1 }", &[job]);
            let mut keeper = Keeper::default();
            let measurement = Place::new().watch(&text, &mut keeper);
            let worker = &measurement.phases[0].workers[0];
            let (notes, ops): (Vec<_>, Vec<_>) =
                keeper.logs[&worker.name].iter().copied().partition(|op| op.role == Role::Note);
            let noted: Vec<(OpKind, u64)> = notes.iter().map(|note| (note.kind, note.sequence)).collect();
            assert_eq!(noted, [(OpKind::Open, 0), (OpKind::Close, 257)], "{group}");
            assert_eq!((worker.count, ops.len()), (256, 256), "{group}");
            let mut offsets: Vec<u64> = ops.iter().map(|op| op.offset).collect();
            offsets.sort_unstable();
            assert!(offsets.iter().zip(0..).all(|(&offset, number)| offset == number * 4096));
            assert!(ops.iter().all(|op| op.kind == OpKind::Read && op.result == Ok(4096) && !op.in_ramp));
            assert!(ops.iter().all(|op| op.submit_ns >= worker.began_ns && op.submit_ns <= op.complete_ns));
            assert!(ops.is_sorted_by_key(|op| op.complete_ns));
            if group.contains("depth") && worker.backend == "io-uring" {
                let queue = worker.queue.as_ref().unwrap();
                assert_eq!((queue.depth.iter().sum::<u64>(), queue.depth.len()), (256, 5), "{queue:?}");
                let submission = worker.ops[&OpKind::Read].submission.as_ref().unwrap();
                assert_eq!(submission.count(), 256);
                assert!(ops.iter().all(|op| op.submission_ns.is_some_and(|ns| ns <= op.complete_ns - op.submit_ns)));
            }
        }
    }
}

// Protects: a part of a workload has the same names and random choices as within the whole, and
// all parts make up the whole.
#[test]
fn parts_of_a_workload_are_the_whole() {
    let text = "name = \"w\"\n[target.nothing.null]\nsize = \"1MiB\"\n[[phase]]\nname = \"p\"\n\
                [[phase.workers]]\nname = \"a\"\ntarget = \"nothing\"\ncount = 3\nlimit.ops = 4\nwork.blocks.mix.read = 1\n\
                [[phase.workers]]\nname = \"b\"\ntarget = \"nothing\"\ncount = 2\nlimit.ops = 4\nwork.blocks.mix.read = 1\n";
    let names = |part: Part| {
        let mut place = Place::new();
        place.part = part;
        let workers = &place.phase(text).workers;
        workers.iter().map(|worker| worker.name.clone()).collect::<Vec<_>>().join(" ")
    };
    let process = |number| Process { number, of: 2 };
    assert_eq!(names(Part::All), "a/0 a/1 a/2 b/0 b/1");
    assert_eq!(names(Part::Groups(process(0))), "a/0 a/1 a/2");
    assert_eq!(names(Part::Groups(process(1))), "b/0 b/1");
    assert_eq!(names(Part::Workers(process(0))), "a/0 a/2 b/0");
    assert_eq!(names(Part::Workers(process(1))), "a/1 b/1");
    // More processes than workers: the last one has nothing to do, and its phase ends immediately.
    assert_eq!(names(Part::Workers(Process { number: 3, of: 4 })), "");
}
