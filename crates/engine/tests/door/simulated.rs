//! Simulated devices through the same interface.

use super::common::*;
use super::jobs::{JobText, on_target};
use plumb_engine::Nobody;
use plumb_engine::sim::SimRun;
use plumb_workload::OpKind;

fn text(device: &str, phase: &str, workers: &str) -> String {
    format!(
        r#"
        name = "simulated"
        [target.disk.sim]
        device = "{device}"
        size = "1GiB"
        [[phase]]
        name = "only"
        {phase}
        [[phase.workers]]
        target = "disk"
        work.blocks = {{ pattern = "random", mix = {{ read = 2, write = 1 }}, fsync-every = 16 }}
        {workers}
        "#
    )
}

#[test]
fn the_same_run_is_identical_and_another_differs() {
    let mut place = Place::new();
    let text = text(
        "sim:ssd?cv=5%&errors=0.1%&short=1%",
        "stop.time = \"2s\"\nramp = \"1s\"",
        "count = 2\ndepth = 8\non-error = \"continue\"",
    );
    let first = place.run(&text);
    assert_eq!(first, place.run(&text));
    place.content_seed = 99;
    assert_eq!(first, place.run(&text), "content does not matter on a simulated device");
    place.sim_run = SimRun { run_index: 1, ..place.sim_run };
    assert_ne!(first, place.run(&text));
}

#[test]
fn limits_work_on_simulated_devices_like_on_real_ones() {
    let place = Place::new();
    for (phase, workers, data_ops) in [
        ("", "limit.ops = 300\ncount = 2", 600),
        ("stop.ops = 1000", "count = 4\ndepth = 4", 1000),
        ("stop.bytes = \"1MiB\"", "count = 3", 256),
    ] {
        let phase = place.phase(&text("sim:nvme", phase, workers));
        let done = count(&phase, OpKind::Read) + count(&phase, OpKind::Write);
        assert_eq!(done, data_ops, "{workers}: flushes do not count toward limits");
        assert!(count(&phase, OpKind::Fsync) > 0);
        assert_eq!(phase.clock, "virtual");
    }
}

#[test]
fn faults_of_the_device_are_faults_of_the_run() {
    let place = Place::new();
    let phase = place.phase(&text("sim:ssd?errors=5%&short=5%", "", "limit.ops = 2000\non-error = \"continue\""));
    assert!(phase.fault_count > 50, "{}", phase.fault_count);
    assert!(phase.faults.iter().all(|fault| fault.errno == Some(libc::EIO) && fault.path.ends_with("disk")));
    assert!(phase.short_count > 20, "{}", phase.short_count);
    let stopped = place.phase(&text("sim:ssd?errors=5%", "", "limit.ops = 2000"));
    assert_eq!(stopped.fault_count, 1);
}

#[test]
fn a_stall_is_a_gap_in_the_series() {
    let place = Place::new();
    let mut spy = Spy::default();
    let phase = place.watch(&text("sim:hdd?stall=5s", "stop.time = \"20s\"", ""), &mut spy).phases.remove(0);
    let zeros = phase.intervals.iter().filter(|interval| interval.ops.values().all(|counts| counts.count == 0)).count();
    assert!(zeros >= 3, "{:?}", phase.intervals);
    assert_eq!(spy.log, ["ready", "clock only", "simulated only"]);
    assert!(spy.intervals.len() >= 20);
    assert_eq!(spy.observations.len(), 1);
}

#[test]
fn flows_run_on_simulated_devices_and_keep_their_files() {
    let place = Place::new();
    let text = r#"
        name = "simulated-flow"
        [target.disk.sim]
        device = "sim:ssd"
        size = "16MiB"
        files = 1000
        preallocated-percent = 50
        [[phase]]
        name = "change"
        [[phase.workers]]
        target = "disk"
        count = 4
        limit.ops = 403
        work.flow = { count-transactions = true, steps = ["create", "write-whole", "fsync", "close", { unlink = { file = "random" } }] }
        [[phase]]
        name = "look"
        [[phase.workers]]
        target = "disk"
        count = 2
        limit.passes = 100
        work.flow.steps = [{ open = { file = "sequential" } }, "read-whole", "close"]
        "#;
    let measurement = place.run(text);
    assert_eq!(measurement, place.run(text));
    let [change, look] = &measurement.phases[..] else { panic!("two phases") };
    assert_eq!((change.count(), change.fault_count), (1612, 0));
    assert!(change.transactions.is_some_and(|transactions| transactions > 300));
    assert_eq!((count(look, OpKind::Open), look.fault_count), (200, 0));
}

#[test]
fn an_interruption_keeps_the_measurement() {
    let place = Place::new();
    let stop = place.stop;
    let mut spy = Spy {
        at_interval: Some(Box::new(move |live| {
            if live.elapsed_ns >= 3_000_000_000 {
                stop.request();
            }
        })),
        ..Spy::default()
    };
    let text = text("sim:hdd", "stop.time = \"1h\"", "");
    let again = text[text.find("[[phase]]").unwrap()..].replace("\"only\"", "\"never\"");
    let measurement = place.watch(&format!("{text}\n{again}"), &mut spy);
    assert!(measurement.interrupted);
    assert_eq!(measurement.phases.len(), 1);
    assert!(measurement.phases[0].count() > 0);
    let before = place.run(&text);
    assert!(before.interrupted && before.phases.is_empty(), "nothing starts if the flag is already raised");
}

#[test]
fn simulated_and_real_targets_do_not_mix() {
    let place = Place::new();
    let text = text("sim:hdd", "", "limit.ops = 1")
        + "[[phase.workers]]\ntarget = \"real\"\nwork.blocks = {}\n[target.real.file]\npath = \"real\"\nsize = \"1MiB\"\n";
    let error = place.try_run(&text, &mut Nobody).unwrap_err();
    assert!(error.is_plan() && error.to_string().contains("cannot be mixed"), "{error}");
}

/// A simulated device for jobs.
fn sim(device: &str, size: &str, more: &str) -> String {
    format!("[target.data.sim]\ndevice = \"{device}\"\nsize = \"{size}\"\n{more}\n")
}

// Protects: jobs keep their own pace, pauses, limits and order of starts in virtual time.
#[test]
fn jobs_run_on_simulated_devices_with_their_own_rules() {
    let place = Place::new();
    let jobs = [
        JobText::reads("deep")
            .group("depth = 8\nlimit.time = \"2s\"")
            .stream("order = { random = {} }\nrepeat-until-time = true"),
        JobText::writes("paced")
            .group("start = { delay = \"1s\" }\nramp = \"100ms\"")
            .job("pace.ops-per-second.write = 1000"),
        JobText::reads("last")
            .group("start = { after = [\"paced\"] }")
            .job("pace.think = { pause = \"10ms\", every = 64 }"),
    ];
    let text = on_target(&sim("sim:ssd?cv=0", "1MiB", ""), &jobs);
    let phase = place.phase(&text);
    assert_eq!(phase, place.phase(&text), "the measurement is identical");
    let [deep, paced, last] = &phase.workers[..] else { panic!("three jobs") };
    assert!(phase.workers.iter().all(|worker| worker.ended_by.is_none() && worker.backend == "sim"), "{phase:?}");
    assert!((deep.in_flight_mean - 8.0).abs() < 0.1 && deep.wall_ns.abs_diff(2_000_000_000) < 1_000_000, "{deep:?}");
    let of = |worker: &plumb_result::WorkerMeasurement, kind| worker.ops[&kind].count;
    // The ramp is part of the job: 100 of its 256 writes were made in it. The rest are 155 gaps of
    // 1 ms, and the last write.
    assert_eq!((of(paced, OpKind::Write), paced.wall_ns / 1_000_000), (156, 155));
    assert_eq!((paced.began_ns, last.began_ns > paced.began_ns), (1_000_000_000, true));
    assert_eq!(of(last, OpKind::Read), 256);
    // Three pauses of 10 ms, and reads of 80 µs.
    assert!((50_000_000..60_000_000).contains(&last.wall_ns), "{}", last.wall_ns);
}

#[test]
fn the_files_of_jobs_are_consecutive_on_a_simulated_device() {
    let place = Place::new();
    let of = |files: &str| {
        let job =
            JobText::reads("job").stream("ranges = [{ start = \"0\", length = \"16GiB\" }]").group("limit.ops = 400");
        let text = on_target(&sim("sim:hdd?cv=0", "64GiB", files), &[job]);
        place.phase(&text)
    };
    let (one, four) = (of(""), of("files = 4\npreallocated-percent = 100"));
    assert_eq!((one.count(), four.count()), (400, 400));
    assert!(
        one.wall_ns * 10 < four.wall_ns,
        "one stream is faster than seeks between four: {} {}",
        one.wall_ns,
        four.wall_ns
    );
    let small = on_target(&sim("sim:hdd", "512KiB", ""), &[JobText::reads("job")]);
    let error = place.try_run(&small, &mut Nobody).unwrap_err();
    assert!(error.is_plan() && error.to_string().contains("larger `size`"), "{error}");
}

// Protects: a program over named files keeps its files apart on the device, and waits in virtual time. Its steps before
// and after the clock also run there.
#[test]
fn programs_over_named_files_run_on_simulated_devices() {
    let place = Place::new();
    let text = sim("sim:ssd?cv=0", "2MiB", "files = 2\npreallocated-percent = 100");
    let text = format!(
        r#"
        name = "named"
        {text}
        [[phase]]
        name = "only"
        [[phase.workers]]
        target = "data"
        [phase.workers.work.script]
        before = [{{ open = {{ file = {{ nth = 1 }}, read = true, write = true, create = true }} }}, {{ delay = {{ time = "1h" }} }}]
        steps = [
            {{ transfer = {{ does = "write", record = 4096, count = 256 }} }},
            "fsync",
            {{ delay = {{ time = "10s" }} }},
            {{ transfer = {{ does = "read", record = 4096, count = 256 }} }},
        ]
        after = ["close"]
        "#
    );
    let phase = place.phase(&text);
    assert_eq!(phase, place.phase(&text), "the measurement is identical");
    let done = [OpKind::Write, OpKind::Fsync, OpKind::Read].map(|kind| count(&phase, kind));
    assert_eq!((done, phase.fault_count, phase.workers[0].backend.as_str()), ([256, 1, 256], 0, "sim"));
    assert_eq!(phase.wall_ns / 1_000_000_000, 10, "the hour passes before the clock starts");
    let larger = text.replace("count = 256", "count = 257");
    let error = place.try_run(&larger, &mut Nobody).unwrap_err();
    assert!(error.is_plan() && error.to_string().contains("larger `size`"), "{error}");
}
