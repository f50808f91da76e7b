use super::*;
use crate::conduct::fake::{answer as ran, normal, plan};
use crate::conduct::{FrozenStudy, StudyOrigin};
use plumb_result::{ContrastVerdict, Level};
use plumb_store::{Store, StudyRunEnd, StudyRunStatus, TagChange};

/// Stores a run of a side at a position in time, with this speed.
fn store_run(store: &mut Store, at: usize, tag: &str, speed: f64, change: impl FnOnce(&mut RunResult)) {
    let mut result = ran(speed).result.unwrap();
    result.started_at = format!("2024-05-{:02}T{:02}:{:02}:00Z", 1 + at / 1440, at / 60 % 24, at % 60);
    change(&mut result);
    let id = result.id.clone();
    store.import(&result).unwrap();
    store.tag(&id, tag, TagChange::Add).unwrap();
}

/// Stores runs in this order, with `b` this many times as fast, a spread of 1 % and a drift per run.
fn stored(order: &str, gain: f64, drift: f64, seed: u64) -> Store {
    let mut store = Store::open_in_memory().unwrap();
    for (at, letter) in order.chars().enumerate() {
        let side = if letter == 'B' { gain } else { 1.0 };
        let speed = 1e8 * side * (1.0 + drift * at as f64) * (0.01 * normal(seed, at as u64)).exp();
        store_run(&mut store, at, if letter == 'B' { "b" } else { "a" }, speed, |_| ());
    }
    store
}

fn request<'a>(selections: [&'a str; 2]) -> StoredRequest<'a> {
    StoredRequest { selections, metrics: &[], varying: None, seed: 1, runs_max: None }
}

fn compared(store: &Store) -> Comparison {
    compare_stored(store, &request(["tag:a", "tag:b"])).unwrap()
}

fn only(comparison: &Comparison) -> &Contrast {
    assert_eq!(comparison.contrasts.len(), 1, "{:?}", comparison.contrasts);
    &comparison.contrasts[0]
}

#[test]
fn runs_that_alternate_are_compared_as_blocks() {
    let comparison = compared(&stored("ABBAABBAABBAABBA", 1.2, 0.0, 1));
    let contrast = only(&comparison);
    assert_eq!((contrast.verdict, contrast.unit, contrast.blocks), (ContrastVerdict::Faster, Replicate::Block, 8));
    assert_eq!(comparison.order[..3], ["AB", "BA", "AB"]);
    let stored = comparison.stored.as_ref().unwrap();
    assert_eq!((stored.works[0].interleaving, stored.baseline.runs), (StoredOrder::Pairs, 8));
    assert!(comparison.verdict_note.starts_with("tag:b is faster than tag:a (1."), "{}", comparison.verdict_note);
    assert!(comparison.left_out.is_empty() && comparison.runs.len() == 16);
}

// Protects: all runs of one side before all of the other support no claim, however clear the difference looks.
#[test]
fn one_side_after_the_other_claims_nothing() {
    for (gain, said) in [(1.5, ContrastVerdict::Faster), (1.0, ContrastVerdict::Equivalent)] {
        let comparison = compared(&stored("AAAAAAAABBBBBBBB", gain, 0.0, 2));
        let contrast = only(&comparison);
        assert_eq!((contrast.verdict, contrast.unit), (ContrastVerdict::CannotTell, Replicate::Run));
        let capped = contrast.capped.as_ref().unwrap();
        assert_eq!((capped.code.as_str(), capped.verdict), ("D8", said));
        assert!(comparison.verdict_note.contains("Not interleaved: a difference may be one of time"));
        // The numbers are still shown.
        assert!((contrast.ratio.unwrap() / gain - 1.0).abs() < 0.02 && contrast.lo.is_some());
        assert_eq!(contrast.blocks_needed, None, "more of the same would not help");
        let finding = comparison.checks.iter().find(|finding| finding.code == "D8").unwrap();
        assert_eq!((finding.level, finding.observed.as_str()), (Level::Fail, "AAAAAAAA BBBBBBBB"));
        assert_eq!(comparison.order, ["AAAAAAAA", "BBBBBBBB"]);
    }
}

/// Equal sides that drift: in stretches, time is part of the spread. One after the other, it is part of the
/// difference, which is not claimed.
#[test]
fn drift_makes_no_claim_in_any_order() {
    const STUDIES: u64 = 60;
    for order in ["AABBAABBAABB", "ABABABABABAB", "ABBAABBAABBA", "AAAAAABBBBBB"] {
        let is_claim =
            |contrast: &Contrast| matches!(contrast.verdict, ContrastVerdict::Faster | ContrastVerdict::Slower);
        let claims = (0..STUDIES).filter(|&seed| is_claim(only(&compared(&stored(order, 1.0, 0.005, seed))))).count();
        // At most 5 % of false claims: seven or more of 60 have a chance below 4 in 100.
        assert!(claims <= 6, "{order}: {claims} of {STUDIES}");
    }
}

#[test]
fn stretches_are_one_sample_each() {
    let comparison = compared(&stored("AAABBBAAABBBAAABBB", 1.3, 0.0, 3));
    let contrast = only(&comparison);
    assert_eq!((contrast.unit, contrast.blocks), (Replicate::Stretch, 3));
    assert_eq!(contrast.verdict, ContrastVerdict::Faster);
    assert!(contrast.note.as_ref().unwrap().contains("stretches"), "{:?}", contrast.note);
    assert!(comparison.verdict_note.contains("a stretch is one sample"));
}

#[test]
fn rejected_runs_and_runs_without_a_neighbour_are_left_out_and_named() {
    let mut store = stored("ABBAABBAABBAA", 1.2, 0.0, 4);
    store_run(&mut store, 14, "b", 1e15, |result| result.verdict = RunVerdict::Reject);
    let comparison = compared(&store);
    assert!(only(&comparison).candidate_value.unwrap() < 2e8, "a rejected run is in no number");
    let reasons: Vec<&str> = comparison.left_out.iter().map(|one| one.reason.as_str()).collect();
    assert_eq!(reasons, ["", "no run of the other side is next to it in time"]);
    assert_eq!(only(&comparison).blocks, 6);
}

// Protects: the checks of compare apply to the sides of stored runs too.
#[test]
fn other_work_another_tool_and_another_kernel_are_reported() {
    let with = |change: fn(&mut RunResult)| {
        let mut store = Store::open_in_memory().unwrap();
        for (at, letter) in "ABBAABBAABBA".chars().enumerate() {
            let speed = 1e8 * (1.0 + 0.001 * at as f64);
            let tag = if letter == 'B' { "b" } else { "a" };
            store_run(&mut store, at, tag, speed, |result| {
                if letter == 'B' {
                    change(result);
                }
            });
        }
        compared(&store)
    };
    let code = |comparison: &Comparison| only(comparison).capped.as_ref().map(|capped| capped.code.clone());
    let size = with(|result| {
        let target = Target::Null(plumb_workload::NullTarget::with_size(plumb_workload::Bytes(2 << 20)));
        result.workload.target.insert("data".to_owned(), target);
    });
    assert_eq!(code(&size).as_deref(), Some("D6"));
    assert_eq!(code(&with(|result| result.tool.name = "fio".to_owned())).as_deref(), Some("D7"));
    let kernel = with(|result| result.environment.kernel = "6.9".to_owned());
    assert_eq!((kernel.differences.len(), kernel.differences[0].factor.as_str()), (1, "kernel"));
    assert!(!kernel.confounded && code(&kernel).is_none());
    let tier = with(|result| {
        result.phases[0].metrics.values_mut().for_each(|value| value.tier = Some(TierName::Cache));
    });
    assert!(tier.verdict_note.contains("tag:b measures memory, not a device"), "{}", tier.verdict_note);
    // A side with several set-ups is reported too.
    let mut store = stored("ABBAABBAABBA", 1.0, 0.0, 5);
    store_run(&mut store, 12, "a", 1e8, |result| result.environment.kernel = "6.9".to_owned());
    let mixed = compared(&store);
    assert!(mixed.checks.iter().any(|one| one.code == "D5" && one.level == Level::Warn), "{:?}", mixed.checks);
}

/// Stores a study with all its runs.
fn with_study(store: &mut Store) -> Vec<String> {
    let frozen = FrozenStudy::begin(
        store,
        plan(&["a", "b"], &["4k", "64k"], 4, 2),
        &StudyOrigin { file: "/x/fake.toml", text: "", options: "{}" },
    )
    .unwrap();
    let mut ids = Vec::new();
    for (seq, run) in frozen.plan.runs.iter().enumerate() {
        let levels = &frozen.plan.cells[run.cell as usize].levels;
        let gain = if levels["system"] == "b" { 1.3 } else { 1.0 } * if levels["size"] == "64k" { 2.0 } else { 1.0 };
        let mut result = ran(1e8 * gain * (0.01 * normal(1, seq as u64)).exp()).result.unwrap();
        result.started_at = format!("2024-05-01T{:02}:{:02}:00Z", seq / 60, seq % 60);
        ids.push(result.id.clone());
        let end = StudyRunEnd {
            conformance: None,
            status: StudyRunStatus::Done,
            reason: None,
            exit_code: Some(0),
            result: Some(&result),
            command: "plumb study run fake.toml",
            dialect: None,
            devices: None,
            seconds: 1.0,
        };
        store.begin_study_run(&frozen.id, seq as u32, 1).unwrap();
        store.end_study_run(&frozen.id, seq as u32, &end).unwrap();
    }
    ids
}

// Protects: runs on one plot are one sample of it, whichever selection they come from.
#[test]
fn levels_of_a_study_are_compared_by_its_plots() {
    let mut store = Store::open_in_memory().unwrap();
    with_study(&mut store);
    let of = |a: &str, b: &str| compare_stored(&store, &request([a, b]));
    let comparison = of("study:fake system=a size=4k", "study:fake system=b size=4k").unwrap();
    let contrast = only(&comparison);
    assert_eq!((contrast.unit, contrast.blocks), (Replicate::Plot, 4));
    assert_eq!(
        (contrast.verdict, contrast.baseline.as_str()),
        (ContrastVerdict::Faster, "study:fake system=a size=4k")
    );
    let refused = |a: &str| of(a, "study:fake system=b").unwrap_err().to_string();
    assert_eq!(refused("study:fake system=c"), "selection system=c: `system` has no level `c`; there is `a`, `b`");
    assert_eq!(refused("system=a"), "`system=a` names a level (`system=a`) without its study: add study:NAME");
    assert!(refused("study:fake").contains("is on both sides, and so are 15 more"), "{}", refused("study:fake"));
    assert!(refused("tag:none").starts_with("`tag:none` selects no run"), "{}", refused("tag:none"));
    assert!(refused("host:x").contains("none of tag, work, path, run and study"));
    assert!(refused("nothing").starts_with("`nothing` is neither a tag nor a run"));
}

#[test]
fn runs_are_selected_by_id_by_work_and_by_sql() {
    let mut store = stored("ABBAABBAABBA", 1.2, 0.0, 6);
    let ids = with_study(&mut store);
    let selected = |text: &str| select::select(&store, text).map(|rows| rows.len());
    assert_eq!(selected(&format!("{},{}", ids[0], ids[3])).unwrap(), 2);
    assert_eq!(selected("work:seq").unwrap(), 12 + ids.len());
    assert_eq!(selected("work:seq a").unwrap(), 6);
    assert_eq!(selected("SELECT id FROM run WHERE name = 'seq' LIMIT 3").unwrap(), 3);
    let error = selected("SELECT count(*) FROM run").unwrap_err().to_string();
    assert!(error.contains("the first column must be ids of runs, and has a number"), "{error}");
    let tags = selected("tag:c").unwrap_err().to_string();
    assert_eq!(tags, "`tag:c` selects no run; there is `a`, `b`");
}

#[test]
fn metrics_are_chosen_and_unknown_ones_are_reported() {
    let store = stored("ABBAABBAABBA", 1.2, 0.0, 7);
    let of = |metrics: &[String]| compare_stored(&store, &StoredRequest { metrics, ..request(["a", "b"]) });
    let iops = of(&["iops".to_owned()]).unwrap();
    assert_eq!(only(&iops).metric.to_string(), "write.iops");
    let error = of(&["read.bw".to_owned()]).err().unwrap().to_string();
    assert_eq!(error, "--metrics read.bw: no selected run has it; measured: write.bw, write.iops");
}
