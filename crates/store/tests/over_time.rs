//! Data that reports draw over time and over levels comes back as it was stored.

mod common;

use common::{FIRST, SECOND, measurement, result};
use plumb_result::repeat::{
    FigureRounds, LADDER_SCHEMA, LadderResult, ROUNDS_SCHEMA, Repeated, RepeatedRuns, RoundSpan, RoundsPhase,
    RoundsResult, RoundsRule,
};
use plumb_result::sweep::SWEEP_SCHEMA;
use plumb_result::{Histogram, Lane, LaneMeasure, LatencyMap, Measurement, RunVerdict, Sweep};
use plumb_store::{ResultStore, Store};
use plumb_workload::{Figure, OpKind};

fn watched() -> Measurement {
    let mut measured = measurement();
    let phase = &mut measured.phases[0];
    let lane = |of: &str, measure| Lane {
        of: of.to_owned(),
        measure,
        values: phase.intervals.iter().map(|one| (one.start_ns > 0).then_some(one.length_ns)).collect(),
    };
    phase.lanes = vec![lane("", LaneMeasure::CpuPermille), lane("nvme0n1", LaneMeasure::BusyMs)];
    let mut map = LatencyMap::default();
    for one in &phase.intervals {
        let mut histogram = Histogram::new();
        histogram.record_n(90_000, one.length_ns);
        histogram.record(u64::MAX);
        map.push(one.start_ns, one.length_ns, [(OpKind::Write, &histogram)].into_iter());
    }
    phase.latency_map = map;
    measured
}

#[test]
fn lanes_and_latencies_survive_and_are_replaced_with_their_run() {
    let mut store = Store::open_in_memory().unwrap();
    let measured = watched();
    for _ in 0..2 {
        store.finish_run(&result(FIRST, 1), &measured).unwrap();
    }
    let phases = store.intervals(FIRST).unwrap();
    assert_eq!(phases[0].lanes, measured.phases[0].lanes);
    assert_eq!(phases[0].latency_map.columns, measured.phases[0].latency_map.columns);
    // A run without watched devices has no lanes, like runs of older versions.
    store.finish_run(&result(SECOND, 2), &measurement()).unwrap();
    let phases = store.intervals(SECOND).unwrap();
    assert!(phases[0].lanes.is_empty() && phases[0].latency_map.columns.is_empty());
}

// Protects: rounds and a ladder are found by the tag of their runs, by their id and by each run, and are read back unchanged.
#[test]
fn repeated_runs_are_found_and_read() {
    let of = |tag: &str, runs: &[&str]| RepeatedRuns {
        workload: "pts-iops-like".to_owned(),
        path: ".".to_owned(),
        seed: 42,
        tag: Some(tag.to_owned()),
        runs: runs.iter().map(|&run| run.to_owned()).collect(),
        notes: vec!["a note".to_owned()],
        ..RepeatedRuns::default()
    };
    let figures = vec![FigureRounds { figure: Figure::Iops, value: Some(2.5), rounds: vec![Some(1.0), None] }];
    let phase = RoundsPhase { name: "random-r0-4KiB".to_owned(), read: Some(0), block: None, tier: None, figures };
    let rounds = Repeated::Rounds(Box::new(RoundsResult {
        schema: ROUNDS_SCHEMA.to_owned(),
        verdict_note: "Steady.".to_owned(),
        verdict: RunVerdict::Pass,
        of: of("rounds-0190a0b0", &[FIRST]),
        rule: RoundsRule { window: 5, range: 0.2, slope: 0.1, max_rounds: 25 },
        steady: Some(RoundSpan { first: 1, last: 5 }),
        tracked: Vec::new(),
        window: None,
        phases: vec![phase],
    }));
    let ladder = Repeated::Ladder(Box::new(LadderResult {
        schema: LADDER_SCHEMA.to_owned(),
        verdict_note: String::new(),
        verdict: RunVerdict::Reject,
        of: of("ladder-0190a0b0", &[FIRST, SECOND]),
        full: Some(1000.0),
        limit_ns: Some(30_000_000),
        within_limit: None,
        steps: Vec::new(),
        again: Vec::new(),
        within: 0.05,
        overall_response_ns: None,
    }));
    let mut store = Store::open_in_memory().unwrap();
    let (first, second) = ("0190a0b0-0000-7000-8000-00000000abcd", "0190a0b1-0000-7000-8000-00000000ef01");
    for (id, repeated) in [(first, &rounds), (second, &ladder)] {
        store.save_repeated(id, repeated).unwrap();
        assert_eq!(store.repeated(id).unwrap(), *repeated);
    }
    for (text, id) in [("rounds-0190a0b0", first), ("abcd", first), ("ladder-0190a0b0", second), ("0190A0B1", second)] {
        assert_eq!(store.find_repeated(text).unwrap().as_deref(), Some(id), "{text}");
    }
    // Both ids begin with it.
    for text in ["", "0190a0b", "dead"] {
        assert_eq!(store.find_repeated(text).unwrap(), None, "{text}");
    }
    assert_eq!(store.repeated_of(SECOND).unwrap().as_deref(), Some(second));
    assert_eq!(store.repeated_of(first).unwrap(), None);
    assert!(store.repeated("0190a0b2").is_err());
}

#[test]
fn a_sweep_is_found_by_its_tag_its_id_and_its_runs() {
    let id = "0190a0b0-0000-7000-8000-00000000abcd";
    let sweep = Sweep {
        schema: SWEEP_SCHEMA.to_owned(),
        verdict_note: "The knee is at depth 8.".to_owned(),
        path: ".".to_owned(),
        workload: "random-read".to_owned(),
        phase: "random-read".to_owned(),
        counted: vec!["read".to_owned()],
        seed: 42,
        repeats: 3,
        partial: false,
        time_ns: Some(1),
        op_bytes: None,
        cache: None,
        memory_bytes: 1 << 30,
        curves: Vec::new(),
        runs: vec![FIRST.to_owned(), SECOND.to_owned()],
        tag: Some("sweep-0190a0b0".to_owned()),
        left_out: Vec::new(),
        notes: Vec::new(),
        settle: None,
        under_load: None,
        run_checks: Vec::new(),
    };
    let mut store = Store::open_in_memory().unwrap();
    store.save_sweep(id, &sweep).unwrap();
    assert_eq!(store.sweep(id).unwrap(), sweep);
    for text in ["sweep-0190a0b0", id, "abcd", "0190A0"] {
        assert_eq!(store.find_sweep(text).unwrap().as_deref(), Some(id), "{text}");
    }
    for text in ["", "sweep-0190a0b", "dead"] {
        assert_eq!(store.find_sweep(text).unwrap(), None, "{text}");
    }
    assert_eq!(store.sweep_of(SECOND).unwrap().as_deref(), Some(id));
    assert_eq!(store.sweep_of(id).unwrap(), None);
}
