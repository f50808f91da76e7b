//! Flows over file sets, from one phase to the next.

use super::common::*;
use plumb_result::Measurement;
use plumb_workload::OpKind;
use std::collections::BTreeMap;

/// Names and lengths of the files below a root.
type Listing = BTreeMap<String, u64>;

fn text(first: &str, second: &str) -> String {
    format!(
        r#"
        name = "flows"
        [target.set.tree]
        path = "set"
        files = 300
        width = 3
        depth = 2
        size = {{ uniform = {{ min = "0", max = "20KiB" }} }}
        preallocated-percent = 50
        [[phase]]
        name = "change"
        [[phase.workers]]
        target = "set"
        {first}
        [[phase]]
        name = "look"
        [[phase.workers]]
        target = "set"
        {second}
        "#
    )
}

/// Runs, and lists the file set after each phase.
fn listed(place: &Place, text: &str) -> (Measurement, Vec<Listing>) {
    let mut listings = Vec::new();
    let mut spy = Spy::at_end(|_, targets| {
        let root = targets[0].path;
        let name = |path: &std::path::PathBuf| path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        listings
            .push(tree_files(root).iter().map(|path| (name(path), path.symlink_metadata().unwrap().len())).collect());
    });
    let measurement = place.watch(text, &mut spy);
    drop(spy);
    (measurement, listings)
}

const CHURN: &str = r#"work.flow = { count-transactions = true, steps = [
    "create", { append = { size = { uniform = { min = "1", max = "9KiB" } } } }, "fsync", "close",
    { mix = { choices = [
        { weight = 2.0, steps = [{ unlink = { file = "random" } }] },
        { weight = 1.0, steps = [{ rename = { file = { zipf = { theta = 0.8 } } } }] },
        { weight = 1.0, steps = [{ open = { file = "round-robin", write = true } }, { truncate = { size = "100" } }, "close"] },
    ] } },
] }"#;

const STAT_ALL: &str =
    r#"work.flow.steps = [{ open = { file = "sequential" } }, "read-whole", "close", { stat = { file = "random" } }]"#;

#[test]
fn processes_leave_the_same_files_as_threads_and_the_next_phase_finds_them() {
    let place = Place::new();
    // Limits that end the flow halfway, where one op more or less decides whether a file exists.
    for limit in ["limit.passes = 60", "limit.ops = 101", "limit.ops = 102", "limit.ops = 103", "limit.ops = 104"] {
        for workers in [1, 3] {
            let mut outcomes = Vec::new();
            for run_as in ["thread", "process"] {
                let first = format!("count = {workers}\nrun-as = \"{run_as}\"\n{limit}\n{CHURN}");
                for second in ["thread", "process"] {
                    let text = text(
                        &first,
                        &format!("count = {workers}\nrun-as = \"{second}\"\nlimit.passes = 150\n{STAT_ALL}"),
                    );
                    let (measurement, listings) = listed(&place, &text);
                    for phase in &measurement.phases {
                        consistent(phase);
                        assert_eq!(phase.faults, [], "{run_as}, {second}, {limit}, {workers} workers");
                        assert_eq!(phase.short_count, 0, "no read is short: {run_as}, {second}, {limit}");
                    }
                    let counts: Vec<BTreeMap<OpKind, (u64, u64)>> = measurement
                        .phases
                        .iter()
                        .map(|phase| phase.ops.iter().map(|(kind, op)| (*kind, (op.count, op.bytes))).collect())
                        .collect();
                    outcomes.push((counts, measurement.phases[0].transactions, listings));
                }
            }
            for other in &outcomes[1..] {
                assert_eq!(&outcomes[0], other, "{limit}, {workers} workers");
            }
        }
    }
}

#[test]
fn another_number_of_workers_takes_over() {
    let place = Place::new();
    for (first, second) in [(1, 4), (4, 1), (3, 2)] {
        for run_as in ["thread", "process"] {
            let text = text(
                &format!("count = {first}\nrun-as = \"{run_as}\"\nlimit.ops = 150\n{CHURN}"),
                &format!("count = {second}\nrun-as = \"{run_as}\"\nlimit.passes = 100\n{STAT_ALL}"),
            );
            let (measurement, listings) = listed(&place, &text);
            assert_eq!(measurement.phases[1].faults, [], "{first} then {second} as {run_as}");
            assert_eq!(measurement.phases[1].count(), 400 * second, "{first} then {second} as {run_as}");
            assert_eq!(listings[0], listings[1], "reading changes nothing");
        }
    }
}

#[test]
fn the_state_of_a_process_stopped_by_time_is_recovered() {
    let place = Place::new();
    for pace in ["", "pace.open.rate = \"300/s\""] {
        let text = text(
            &format!("count = 2\nrun-as = \"process\"\n{pace}\n{CHURN}"),
            &format!("count = 2\nlimit.passes = 100\n{STAT_ALL}"),
        )
        .replace("name = \"change\"", "name = \"change\"\nstop.time = \"300ms\"");
        let measurement = place.run(&text);
        assert!(measurement.phases[0].count() > 0);
        assert_eq!(measurement.phases[1].faults, [], "{pace}");
    }
}

#[test]
fn a_common_limit_of_flows_is_exact() {
    let place = Place::new();
    for run_as in ["thread", "process"] {
        let text = text(
            &format!("count = 3\nrun-as = \"{run_as}\"\n{CHURN}"),
            &format!("count = 3\nlimit.passes = 50\n{STAT_ALL}"),
        )
        .replace("name = \"change\"", "name = \"change\"\nstop.ops = 500");
        let measurement = place.run(&text);
        assert_eq!(measurement.phases[0].count(), 500, "{run_as}: a flow's own flushes count as ops");
        assert_eq!(measurement.phases[1].faults, [], "{run_as}");
    }
}

#[test]
fn passes_are_whole_and_transactions_count_them() {
    let place = Place::new();
    let (measurement, _) = listed(
        &place,
        &text(
            "count = 3\nlimit.passes = 20\nwork.flow = { count-transactions = true, steps = [\"create\", \"write-whole\", \"close\"] }",
            &format!("limit.passes = 10\n{STAT_ALL}"),
        ),
    );
    let phase = &measurement.phases[0];
    assert_eq!([count(phase, OpKind::Create), count(phase, OpKind::Close), phase.transactions.unwrap()], [60; 3]);
    assert_eq!(measurement.phases[1].transactions, None);
}
