//! Ends of phases: limits of workers, limits that they share, time, and the workers whose end ends the phase.

use super::common::*;
use plumb_workload::OpKind;

fn text(phase: &str, workers: &str) -> String {
    format!(
        r#"
        name = "ends"
        [target.data.file]
        path = "data"
        size = "1MiB"
        content = "zero"
        [[phase]]
        name = "only"
        {phase}
        [[phase.workers]]
        target = "data"
        {workers}
        "#
    )
}

const MANNERS: &[&str] = &[
    "count = 3",
    "count = 3\nrun-as = \"process\"",
    "count = 3\ndepth = 8",
    "count = 3\ndepth = 8\nrun-as = \"process\"",
    "count = 3\nbackend = \"stdio\"",
];

#[test]
fn a_workers_own_limit_is_its_own() {
    let place = Place::new();
    for manner in MANNERS {
        for (limit, each) in [
            ("limit.ops = 77", 77),
            ("limit.bytes = \"64KiB\"", 16),
            // A limit ends a worker when it is reached, not before.
            ("limit.bytes = 10000", 3),
            ("limit.passes = 2", 512),
            ("limit = { passes = 1, ops = 300 }", 256),
            ("limit = { passes = 1, ops = 30, bytes = \"1MiB\" }", 30),
        ] {
            let phase = place.phase(&text("", &format!("{manner}\n{limit}\nwork.blocks = {{}}")));
            consistent(&phase);
            let counts: Vec<u64> = phase.workers.iter().map(|worker| worker.count).collect();
            assert_eq!(counts, [each; 3], "{manner} {limit}");
        }
    }
}

#[test]
fn a_common_limit_is_used_up_exactly_by_all_together() {
    let place = Place::new();
    for manner in MANNERS {
        for (stop, ops) in [
            ("stop.ops = 1001", 1001),
            ("stop.bytes = \"4MiB\"", 1024),
            ("stop = { ops = 5000, bytes = \"1MiB\" }", 256),
        ] {
            let phase = place.phase(&text(stop, &format!("{manner}\nwork.blocks.pattern = \"random\"")));
            consistent(&phase);
            assert_eq!(phase.count(), ops, "{manner} {stop}");
        }
    }
}

#[test]
fn groups_of_one_phase_share_its_limit() {
    let place = Place::new();
    let phase = place.phase(&text(
        "stop.ops = 2000",
        r#"work.blocks = {}
        [[phase.workers]]
        target = "data"
        run-as = "process"
        depth = 4
        work.blocks.mix = { read = 0, write = 1 }
        [[phase.workers]]
        target = "data"
        limit.ops = 100
        work.blocks = {}"#,
    ));
    consistent(&phase);
    assert_eq!(phase.count(), 2000);
    assert!(phase.workers[2].count <= 100);
}

#[test]
fn time_ends_a_phase_that_would_go_on() {
    let place = Place::new();
    for manner in MANNERS {
        let phase = place.phase(&text("stop.time = \"300ms\"", &format!("{manner}\nwork.blocks.pattern = \"random\"")));
        consistent(&phase);
        assert!(phase.count() > 0);
        assert!(phase.wall_ns >= 300_000_000, "{manner}: the phase ended early: {}", phase.wall_ns);
        assert!(phase.workers.iter().all(|worker| worker.wall_ns >= 300_000_000), "{manner}");
        assert_eq!(phase.end.flush_ns, None, "{manner}: reading leaves nothing to flush");
    }
}

/// Protects: a companion that ends early does not count as the first finished worker, and does not end
/// a phase that ends with it.
#[test]
fn a_companion_does_not_count_as_a_finished_worker() {
    let place = Place::new();
    let groups = r#"run-as = "thread"
            pace.open.rate = "200/s"
            limit.ops = 40
            work.blocks = {}
            [[phase.companions]]
            name = "short"
            time = "20ms"
            does.busy = { percent = 10, piece = "1ms" }"#;
    for when in ["all-done", "first-done"] {
        let phase = place.phase(&text(&format!("stop.when = \"{when}\""), groups));
        assert_eq!(phase.workers[0].count, 40, "{when}");
        assert_eq!(phase.first_done_ns, Some(phase.workers[0].wall_ns), "{when}");
    }
}

#[test]
fn the_first_or_the_last_worker_ends_the_phase() {
    let place = Place::new();
    let groups = |run_as: &str| {
        format!(
            r#"name = "short"
            limit.ops = 10
            run-as = "{run_as}"
            work.blocks = {{}}
            [[phase.workers]]
            target = "data"
            name = "long"
            run-as = "{run_as}"
            pace.open.rate = "100/s"
            limit.ops = 40
            work.blocks = {{}}"#
        )
    };
    for run_as in ["thread", "process"] {
        let all = place.phase(&text("stop.when = \"all-done\"", &groups(run_as)));
        assert_eq!([all.workers[0].count, all.workers[1].count], [10, 40], "{run_as}");
        assert_eq!(all.first_done_ns, Some(all.workers[0].wall_ns), "{run_as}");
        assert!(all.first_done_ns < Some(all.wall_ns), "{run_as}");

        let first = place.phase(&text("stop.when = \"first-done\"", &groups(run_as)));
        consistent(&first);
        assert_eq!(first.workers[0].count, 10, "{run_as}");
        assert!(first.workers[1].count < 40, "{run_as}: the other worker was stopped, {} ops", first.workers[1].count);
        assert!(
            first.workers.iter().all(|worker| worker.ended_by.is_none()),
            "{run_as}: being stopped is not a failure"
        );
    }
}

#[test]
fn later_phases_find_the_data_of_earlier_ones() {
    let place = Place::new();
    let measurement = place.run(
        r#"
        name = "phases"
        [target.data.file]
        path = "data"
        size = "1MiB"
        prepare = "nothing"
        [[phase]]
        name = "write"
        [[phase.workers]]
        target = "data"
        work.blocks = { mix = { read = 0, write = 1 } }
        [[phase]]
        name = "read"
        [[phase.workers]]
        target = "data"
        work.blocks = { mix = { read = 1 } }
        "#,
    );
    let [write, read] = &measurement.phases[..] else { panic!("two phases") };
    assert_eq!((write.name.as_str(), count(write, OpKind::Write)), ("write", 256));
    assert_eq!((read.name.as_str(), count(read, OpKind::Read), read.short_count), ("read", 256, 0));
    assert_eq!(write.working_set_bytes, Some(1 << 20));
}

#[test]
fn a_read_beyond_the_end_is_short() {
    let place = Place::new();
    for backend in ["backend = \"psync\"", "backend = \"stdio\"", "depth = 4", "backend = \"preadv2\""] {
        let phase = place.phase(&format!(
            r#"
            name = "short"
            [target.data.file]
            path = "data"
            size = "64KiB"
            prepare = "nothing"
            [[phase]]
            name = "write"
            [[phase.workers]]
            target = "data"
            limit.ops = 16
            {backend}
            work.blocks = {{ pattern = {{ list = ["0", "4KiB", "60KiB"] }} }}
            "#
        ));
        consistent(&phase);
        assert_eq!((phase.count(), phase.short_count, phase.bytes()), (16, 16, 0), "{backend}");
    }
}

#[test]
fn observers_are_called_in_order() {
    let place = Place::new();
    let mut spy = Spy::default();
    let group = "[[phase.workers]]\ntarget = \"data\"\nwork.blocks = {}\n";
    place.watch(
        &format!(
            "name = \"told\"\n[target.data.file]\npath = \"data\"\nsize = \"64KiB\"\n[[phase]]\nname = \"a\"\n{group}[[phase]]\nname = \"b\"\n{group}"
        ),
        &mut spy,
    );
    assert_eq!(spy.log, ["ready", "begins a", "clock a", "stopped a", "begins b", "clock b", "stopped b"]);
    assert!(spy.preparing.iter().any(|what| what.starts_with("writing data")));
}
