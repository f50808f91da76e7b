use super::*;
use crate::gate::{GateRule, GateVerdict, assess, overall};
use crate::random::SplitMix;

/// Generates sessions of one number: their means on a log scale, where higher is better.
type World = fn(&mut SplitMix, usize) -> Vec<f64>;

fn normal(stream: &mut SplitMix, count: usize) -> Vec<f64> {
    (0..count).map(|_| 0.03 * stream.normal()).collect()
}

/// One session in five is 10 % slow.
fn slow(stream: &mut SplitMix, count: usize) -> Vec<f64> {
    (0..count).map(|_| 0.01 * stream.normal() - if stream.unit() < 0.2 { 0.105 } else { 0.0 }).collect()
}

/// Two levels; one session in ten switches.
fn sticky(stream: &mut SplitMix, count: usize) -> Vec<f64> {
    let mut is_slow = stream.unit() < 0.5;
    let mut session = || {
        is_slow ^= stream.unit() < 0.1;
        0.01 * stream.normal() - if is_slow { 0.105 } else { 0.0 }
    };
    (0..count).map(|_| session()).collect()
}

fn remembering(stream: &mut SplitMix, count: usize) -> Vec<f64> {
    let mut state = stream.normal();
    let mut session = || {
        state = 0.8 * state + 0.6 * stream.normal();
        0.03 * state
    };
    (0..count).map(|_| session()).collect()
}

fn drifting(stream: &mut SplitMix, count: usize) -> Vec<f64> {
    (0..count).map(|at| 0.03 * stream.normal() - 0.005 * at as f64).collect()
}

fn runs(log: f64) -> Vec<f64> {
    vec![(100.0f64.ln() + log).exp(); 3]
}

/// Returns the verdict over all numbers, with the first `history` sessions as baseline and the rest as candidate.
fn verdict(numbers: &[Vec<f64>], history: usize) -> GateVerdict {
    let sides: Vec<[Vec<Vec<f64>>; 2]> = numbers
        .iter()
        .map(|logs| [&logs[..history], &logs[history..]].map(|side| side.iter().map(|log| runs(*log)).collect()))
        .collect();
    let numbers: Vec<NumberHistory<'_>> = sides
        .iter()
        .map(|[baseline, candidate]| NumberHistory {
            sides: SessionSides { baseline, candidate },
            better: Better::Higher,
        })
        .collect();
    let found = of_histories(&numbers, numbers.len()).unwrap();
    let evidence: Vec<GateEvidence> = found.iter().map(|one| one.evidence).collect();
    overall(assess(&evidence, 1, &GateRule::default()).unwrap().iter().map(|one| one.verdict))
}

/// Returns the final verdict of the path that starts with a new session: a suspected session is
/// followed by a second one.
fn path(numbers: &[Vec<f64>], history: usize) -> GateVerdict {
    let first: Vec<Vec<f64>> = numbers.iter().map(|logs| logs[..=history].to_vec()).collect();
    match verdict(&first, history) {
        GateVerdict::Suspected => verdict(numbers, history),
        other => other,
    }
}

/// Returns the share of regressions among 1000 paths, with all numbers `worse` in both new sessions.
fn regressions(world: World, count: usize, history: usize, worse: f64) -> f64 {
    let mut stream = SplitMix::new(29 + (count * 1000 + history) as u64);
    let found = (0..1000).filter(|_| {
        let mut session = || {
            let mut logs = world(&mut stream, history + 2);
            logs[history..].iter_mut().for_each(|log| *log -= worse);
            logs
        };
        let numbers: Vec<Vec<f64>> = (0..count).map(|_| session()).collect();
        path(&numbers, history) == GateVerdict::Regression
    });
    found.count() as f64 / 1000.0
}

// Protects the error rate against a history, including the search for the last level: differences between sessions
// are not a regression in any of these worlds.
#[test]
fn a_new_session_of_an_unchanged_system_is_no_regression() {
    let worlds: [(&str, World); 5] =
        [("normal", normal), ("slow", slow), ("sticky", sticky), ("remembering", remembering), ("drifting", drifting)];
    for (name, world) in worlds {
        for (count, history) in [(1, 14), (4, 14), (1, 30), (4, 30)] {
            let rate = regressions(world, count, history, 0.0);
            assert!(rate <= 0.04, "{name}, {count} numbers, {history} sessions: {rate}");
        }
    }
}

#[test]
fn ten_per_cent_are_found_after_two_sessions() {
    let worse = -(0.9f64.ln());
    let rate = regressions(normal, 1, 14, worse);
    assert!(rate >= 0.85, "{rate}");
    let rate = regressions(sticky, 1, 14, worse);
    assert!(rate >= 0.4, "of two levels: {rate}");
}

#[test]
fn one_session_is_suspected_at_most() {
    let mut logs = normal(&mut SplitMix::new(3), 14);
    logs.push(-0.5);
    assert_eq!(verdict(&[logs.clone()], 14), GateVerdict::Suspected);
    logs.push(-0.5);
    assert_eq!(verdict(&[logs], 14), GateVerdict::Regression);
}

/// Returns the objection against two new sessions at `new`.
fn objection(history: &[f64], new: f64, family: usize) -> Option<Objection> {
    let [baseline, candidate] =
        [history, &[new, new - 0.001]].map(|side| side.iter().map(|log| runs(*log)).collect::<Vec<_>>());
    let sides = SessionSides { baseline: &baseline, candidate: &candidate };
    of_histories(&[NumberHistory { sides, better: Better::Higher }], family).unwrap()[0].evidence.objection
}

#[test]
fn changes_like_those_of_the_history_are_no_regression() {
    let mut stream = SplitMix::new(5);
    let noise = |stream: &mut SplitMix, level: f64| level + 0.005 * stream.normal();
    let calm: Vec<f64> = (0..16).map(|_| noise(&mut stream, 0.0)).collect();
    assert_eq!(objection(&calm, -0.1, 1), None);
    assert_eq!(objection(&calm, -0.002, 1), Some(Objection::SeenBefore));
    assert_eq!(objection(&calm, -0.1, 12), Some(Objection::TooFewForFamily));
    // The level changes every six sessions: a session a little below all of them is not a
    // regression, one far below is.
    let steps = [0.3, 0.1, 0.2, 0.02, 0.12, 0.0];
    let levels: Vec<f64> = (0..36).map(|at| noise(&mut stream, steps[at / 6])).collect();
    assert_eq!(objection(&levels, -0.02, 1), Some(Objection::LevelsChange));
    assert_eq!(objection(&levels, -0.4, 1), None);
    let falling: Vec<f64> = (0..30).map(|at| noise(&mut stream, -0.004 * f64::from(at))).collect();
    assert_eq!(objection(&falling, -0.125, 1), Some(Objection::Falling));
    let waves: Vec<f64> = (0..30).map(|at| 0.05 * (f64::from(at) * 0.45 + 4.0).sin()).collect();
    assert_eq!(objection(&waves, -0.06, 1), Some(Objection::Wanders));
}

#[test]
fn slow_sessions_of_other_numbers_count() {
    let mut stream = SplitMix::new(7);
    let mut calm = || (0..14).map(|_| 0.005 * stream.normal()).collect::<Vec<f64>>();
    let (own, mut others) = (calm(), [calm(), calm(), calm()]);
    for other in &mut others {
        for at in [1, 4, 8, 11] {
            other[at] -= 0.1;
        }
    }
    let numbers: Vec<[Vec<Vec<f64>>; 2]> = std::iter::once(&own)
        .chain(&others)
        .map(|logs| [logs.iter().map(|log| runs(*log)).collect(), vec![runs(-0.1), runs(-0.101)]])
        .collect();
    let histories: Vec<NumberHistory<'_>> = numbers
        .iter()
        .map(|[baseline, candidate]| NumberHistory {
            sides: SessionSides { baseline, candidate },
            better: Better::Higher,
        })
        .collect();
    let found = of_histories(&histories, 4).unwrap();
    assert_eq!(found[0].evidence.objection, Some(Objection::SlowSessions));
}

#[test]
fn the_last_level_is_the_baseline_once_it_has_five_sessions() {
    let mut stream = SplitMix::new(9);
    let of = |recent: usize, stream: &mut SplitMix| {
        let logs: Vec<f64> =
            (0..9 + recent).map(|at| 0.005 * stream.normal() + if at < 9 { -0.3 } else { 0.0 }).collect();
        let [baseline, candidate] =
            [logs.as_slice(), &[0.0]].map(|side| side.iter().map(|log| runs(*log)).collect::<Vec<_>>());
        let sides = SessionSides { baseline: &baseline, candidate: &candidate };
        of_histories(&[NumberHistory { sides, better: Better::Higher }], 1).unwrap().remove(0)
    };
    let few = of(4, &mut stream);
    assert_eq!((few.since, few.changes.len()), (0, 1));
    let enough = of(5, &mut stream);
    assert_eq!((enough.since, enough.evidence.units), (9, 5));
}

#[test]
fn a_lower_latency_is_better() {
    let [baseline, candidate] = [vec![runs(0.0), runs(0.01), runs(-0.01), runs(0.02), runs(-0.02)], vec![runs(-0.3)]];
    let sides = SessionSides { baseline: &baseline, candidate: &candidate };
    let found = of_histories(&[NumberHistory { sides, better: Better::Lower }], 1).unwrap().remove(0);
    assert!(found.evidence.estimate.unwrap().log_mean > 0.2);
    assert!(of_histories(&[], 0).unwrap().is_empty());
    let negative = SessionSides { baseline: &[vec![-1.0]], candidate: &[] };
    assert!(of_histories(&[NumberHistory { sides: negative, better: Better::Lower }], 1).is_err());
}
