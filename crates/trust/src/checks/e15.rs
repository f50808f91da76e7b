use crate::check::{Check, Judge, Outcome};
use crate::comparison::{NumberFinding, NumberView, RunValue, Sequence};
use crate::evidence::ComparisonView;
use crate::text::percent;
use plumb_result::{Better, Remedy};
use plumb_stats::carry_over::{CarryOver, CarryRun, carry_over};
use plumb_stats::schedule::Side;
use plumb_workload::Nanos;
use std::collections::BTreeMap;

/// The chance of a false alarm over all numbers of a comparison together.
const ALPHA: f64 = 0.01;

/// A smaller effect of the run before does not matter, except for a claim that is not much larger.
const RELEVANT: f64 = 0.01;

/// The level of the test if the effect of the run before is as large as the claimed difference.
const ALPHA_OF_CLAIM: f64 = 0.05;

/// Smallest number of runs of both sides for the test.
const RUNS_MIN: usize = 8;

pub(crate) static CHECK: Check = Check {
    code: "E15",
    title: "Carry-over",
    what: "Whether a run depends on which side ran before it: one that leaves work behind (garbage collection, discards, \
           writeback, spent burst credits, a hot CPU) makes the next run slower.",
    why: "The side that leaves the work is not the side that pays. In orders such as ABBA BAAB, A runs after B more often \
          than B does: with a debt of 10 % that halves with each run, B was called faster in 96 of 100 comparisons of equal \
          sides. Plumb's orders are balanced for what the run before leaves, but a debt that lasts longer than one run still \
          favours one side. Williams, \"Experimental designs balanced for the estimation of residual effects of \
          treatments\", Australian Journal of Scientific Research A 2, 1949.",
    how: "The logarithms of the values are regressed on side (and plot), on the side of the run before, and on the place in \
          time; the F test of the side before.",
    threshold: "an effect of 1 % or more with p < 0.01 shared among the numbers of the comparison, or with p < 0.05 one as large \
                as the difference that is claimed: every verdict is \"cannot tell\"; fewer than 8 runs are not tested",
    settled: "By simulation (`docs/calibration.md`): at a spread of 2 % and 12 blocks a halving debt of 10 % is found in all \
              comparisons, one of 5 % in nine of ten, and clean ones are flagged in one of a hundred.",
    fix: &[Remedy::Settle { at_least_ns: None }],
    judges: &[Judge::Comparison(examine)],
};

fn examine(view: &ComparisonView<'_>) -> Outcome {
    let tested: Vec<(&NumberView<'_>, CarryOver)> =
        view.numbers.iter().filter_map(|number| Some((number, of_number(number, &view.sequence)?))).collect();
    let family = tested.len() as f64;
    let is_found = |(number, found): &&(&NumberView<'_>, CarryOver)| {
        let effect = found.spread().ln();
        let claimed = match number.found {
            NumberFinding::Difference { ratio } => ratio.ln().abs(),
            NumberFinding::Equal { .. } | NumberFinding::Nothing => f64::INFINITY,
        };
        let is_relevant = effect >= RELEVANT.ln_1p() || effect >= claimed / 2.0;
        found.p < ALPHA / family && is_relevant || found.p < ALPHA_OF_CLAIM && effect >= claimed
    };
    if tested.is_empty() {
        return Outcome::NotApplicable;
    }
    let worst = tested.iter().filter(is_found).max_by(|a, b| a.1.spread().total_cmp(&b.1.spread()));
    let Some((number, found)) = worst else {
        return Outcome::pass("no number depends on which side ran before");
    };
    let after_candidate = found.factors.get(1).copied().unwrap_or(1.0);
    let is_worse = match number.metric.better() {
        Better::Higher => after_candidate < 1.0,
        Better::Lower => after_candidate > 1.0,
    };
    let (culprit, other) = if is_worse { (&view.candidate, &view.baseline) } else { (&view.baseline, &view.candidate) };
    let effect = percent(found.spread() - 1.0);
    let observed = format!("{} differs by {effect} by what ran before, p {:.4}", number.name(), found.p);
    let settle = settle(&view.sequence, found.spread());
    let pause = settle.map_or("TIME".to_owned(), |time| time.to_string());
    let message = format!(
        "Runs after one on {} are worse by {effect} than after {}, so repeat with `--settle {pause}`: seen in {}. A run leaves \
         work to the next one.",
        culprit.name,
        other.name,
        number.name()
    );
    Outcome::fail(observed, message).remedy(Remedy::Settle { at_least_ns: settle.map(|time| time.0) })
}

/// Tests the runs of a number.
fn of_number(number: &NumberView<'_>, sequence: &Sequence<'_>) -> Option<CarryOver> {
    let mut owns: BTreeMap<(bool, u32), usize> = BTreeMap::new();
    let mut runs: Vec<CarryRun> = Vec::new();
    let sides = [(false, number.baseline), (true, number.candidate)];
    let all = sides.into_iter().flat_map(|(is_candidate, runs)| runs.iter().map(move |run| (is_candidate, run)));
    for (is_candidate, &RunValue { run, plot, value }) in all {
        let Some(Some(before)) = sequence.previous.get(run as usize) else { continue };
        let next = owns.len();
        let own = *owns.entry((is_candidate, plot)).or_insert(next);
        runs.push(CarryRun { own, previous: usize::from(*before == Side::B), at: f64::from(run), value });
    }
    if runs.len() < RUNS_MIN {
        return None;
    }
    carry_over(&runs).ok().flatten()
}

/// Returns the pause after which a debt that halves in the time of a run is below 1 %, in
/// whole seconds, at least one.
fn settle(sequence: &Sequence<'_>, spread: f64) -> Option<Nanos> {
    let halvings = ((spread - 1.0) / 0.01).log2().clamp(1.0, 10.0);
    let seconds = (sequence.run_seconds? * halvings).ceil().clamp(1.0, 3600.0);
    Some(Nanos(seconds as u64 * 1_000_000_000))
}

#[cfg(test)]
mod tests {
    use crate::comparison::NumberFinding;
    use crate::fixture::{Both, Number};
    use plumb_result::{Level, Remedy};

    /// Noise of 24 runs, with a spread of about 1 %.
    const NOISE: [f64; 24] = [
        0.4, -0.9, 1.1, -0.3, 0.7, -1.2, 0.1, 0.5, -0.6, 0.8, -0.2, -1.0, 0.9, 0.3, -0.7, 1.2, -0.4, 0.2, -1.1, 0.6,
        1.0, -0.8, -0.1, 0.05,
    ];

    /// Twelve blocks ABBA …, in which B leaves this debt, halved by each run.
    fn both(carry: f64, ratio: f64, found: NumberFinding) -> Both {
        let (mut sides, mut debt) = ([Vec::new(), Vec::new()], 0.0);
        for (at, noise) in NOISE.iter().enumerate() {
            let is_b = matches!(at % 4, 1 | 2);
            let level = if is_b { ratio } else { 1.0 };
            sides[usize::from(is_b)].push(100.0 * level * (1.0 + noise / 100.0) / (1.0 + debt));
            debt = debt / 2.0 + if is_b { carry } else { 0.0 };
        }
        let number = Number { found, ..Number::new("read.iops", &sides[0], &sides[1]) };
        Both::equal().with(|both| both.numbers.push(number))
    }

    #[test]
    fn a_side_that_leaves_unfinished_work_is_named_and_forbids_claims() {
        let finding = both(0.1, 1.0, NumberFinding::Difference { ratio: 1.04 }).judge().finding("E15").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.starts_with("Runs after one on B are worse by"), "{}", finding.message);
        assert!(finding.message.contains("`--settle "), "{}", finding.message);
    }

    #[test]
    fn clean_runs_and_differences_pass() {
        for ratio in [1.0, 0.5, 1.2] {
            let found = NumberFinding::Difference { ratio };
            assert_eq!(both(0.0, ratio, found).level("E15"), Some(Level::Pass), "{ratio}");
        }
    }

    /// A debt below 1 % does not undo a difference ten times as large, but undoes one smaller than itself.
    #[test]
    fn a_small_debt_matters_to_a_small_claim() {
        let level = |ratio: f64| both(0.012, 1.0, NumberFinding::Difference { ratio }).level("E15");
        assert_eq!((level(1.1), level(1.005)), (Some(Level::Pass), Some(Level::Fail)));
    }

    #[test]
    fn without_known_predecessors_nothing_is_tested() {
        let mut unknown = both(0.1, 1.0, NumberFinding::Nothing);
        unknown.is_sequence_known = false;
        assert_eq!(unknown.level("E15"), None);
    }

    #[test]
    fn the_pause_grows_with_the_time_of_a_run() {
        let settle = |seconds: f64| -> u64 {
            let mut both = both(0.1, 1.0, NumberFinding::Nothing);
            both.run_seconds = Some(seconds);
            match both.judge().finding("E15").unwrap().remedies.as_slice() {
                [Remedy::Settle { at_least_ns: Some(pause) }] => pause / 1_000_000_000,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(settle(0.1), 1, "never less than a second");
        // Some 8 % halve three times until they are below 1 %.
        assert!((150..=240).contains(&settle(60.0)), "{}", settle(60.0));
        assert_eq!(settle(1e9), 3600, "an hour at most");
    }
}
