use crate::check::{Check, Judge, Outcome};
use crate::evidence::ComparisonView;
use crate::text::count;
use plumb_result::Remedy;

/// Smallest number of runs a side for any claim.
pub const MIN_RUNS_TO_CLAIM: u32 = 6;

/// Smallest number of plots a side for a claim about a factor that needs new plots.
pub const MIN_PLOTS_TO_CLAIM: u32 = plumb_stats::verdict::PLOTS_MIN;

pub(crate) static CHECK: Check = Check {
    code: "E1",
    title: "Too few runs",
    what: "Whether each side of a comparison has enough runs for any verdict but \"cannot tell\", and, for a factor \
           that needs a new plot (`--varying fs`, `device`, `raid`, `kernel`, `os`, `host`, `layout`, `sim`), \
           enough plots. Runs that were left out do not count.",
    why: "The exact sign-flip test over fewer than six pairs cannot reach p < 0.05 (2/2⁶ = 0.031), whatever the \
          numbers are. With a true difference of 5 % and 5 % spread, one run per side names the wrong winner in 24 of \
          100 cases, three in 11. And one mkfs is one sample: where plots differ by 6 % and runs by 2 %, ten \
          runs on one plot per side call equal systems different in 82 of 100 cases. Hoefler and Belli, \
          \"Scientific Benchmarking of Parallel Computing Systems\", SC 2015.",
    how: "Runs of each side that were not rejected, for the workload with the fewest; plots of each \
          side.",
    threshold: "fewer than 6 runs on either side, or fewer than 2 plots of a factor that needs them: the \
                verdict can only be \"cannot tell\"",
    settled: "By calculation: 2/2⁶ = 0.031 is the first p of the sign-flip test below 0.05. By experiment, where \
              plots differ by 6 % and runs by 2 %: with two plots of five runs per side, equal ones \
              end in a claim in 2.4 % of comparisons; with one per side and the factor declared, in 0 of 1000 \
              (docs/statistics.md, docs/calibration.md).",
    fix: &[Remedy::LargerBudget { at_least_ns: None }],
    judges: &[Judge::Comparison(examine)],
};

fn examine(view: &ComparisonView<'_>) -> Outcome {
    let sides = [&view.baseline, &view.candidate];
    let runs = sides.map(|side| side.runs);
    let plots = sides.map(|side| side.record.plots);
    let replicated = plots.iter().any(|&plots| plots > 1);
    let (fewest, fewest_plots) = (runs[0].min(runs[1]), plots[0].min(plots[1]));
    let mut observed = format!("{} and {}", runs[0], count(u64::from(runs[1]), "run"));
    if replicated {
        observed.push_str(&format!(" on {} and {}", plots[0], count(u64::from(plots[1]), "plot")));
    }
    if fewest < MIN_RUNS_TO_CLAIM {
        let message = format!(
            "One side has {} (minimum {MIN_RUNS_TO_CLAIM}): the verdict is \"cannot tell\".",
            count(u64::from(fewest), "run")
        );
        let outcome = Outcome::warn(observed, message);
        return match rejected_by(view) {
            // More blocks of the same would be rejected too.
            Some(remedy) => outcome.remedy(remedy),
            None => outcome.remedy(Remedy::LargerBudget { at_least_ns: enough(view, fewest) }),
        };
    }
    let hard = view.varying.filter(|factor| factor.is_hard());
    if fewest_plots < MIN_PLOTS_TO_CLAIM
        && let Some(factor) = hard
    {
        let word = factor.name;
        let message = format!(
            "Only one plot per side: its effect and that of {word} cannot be separated, so the verdict is \
             \"cannot tell\"."
        );
        return Outcome::warn(observed, message).remedy(Remedy::MorePlaces { per_side: 3, varying: Some(word.into()) });
    }
    if replicated && fewest_plots < MIN_PLOTS_TO_CLAIM {
        let message = "One side has several places and the other only one: the verdict is \"cannot tell\".";
        return Outcome::warn(observed, message).remedy("Give both sides at least two places, or one each.");
    }
    Outcome::pass(observed)
}

/// Returns the time for enough runs for a claim, estimated from the runs so far, plus one block because runs vary.
fn enough(view: &ComparisonView<'_>, fewest: u32) -> Option<u64> {
    let run_seconds = view.sequence.run_seconds?;
    // Runs of all works of both sides, including rejected ones, if `fewest` are left of one.
    let made = view.sequence.previous.len().max(1) as f64;
    let needed = made * f64::from(MIN_RUNS_TO_CLAIM + 1) / f64::from(fewest.max(1));
    Some((needed * run_seconds * 1e9) as u64)
}

/// Returns the remedy if runs are missing because checks rejected them.
fn rejected_by(view: &ComparisonView<'_>) -> Option<Remedy> {
    let mut codes: Vec<&str> = Vec::new();
    for side in [&view.baseline, &view.candidate] {
        let rejected = side.record.rejected;
        if rejected > 0 && rejected >= side.runs {
            codes.extend(side.record.rejected_by.iter().map(String::as_str));
        }
    }
    codes.sort();
    codes.dedup();
    if codes.is_empty() {
        return None;
    }
    Some(Remedy::SeeChecks { codes: codes.into_iter().map(str::to_owned).collect() })
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Both, MIB, Scene, compare};
    use plumb_result::{Level, Remedy};

    #[test]
    fn six_runs_a_side_may_speak() {
        let side = || Scene::reading(MIB);
        assert_eq!(compare(&side(), &side(), 6, None).level("E1"), Some(Level::Pass));
        assert_eq!(compare(&side(), &side(), 5, None).level("E1"), Some(Level::Warn));
    }

    /// A remedy that does not help is worse than none.
    #[test]
    fn more_runs_are_not_a_remedy_for_rejected_runs() {
        let few = Both::equal().with(|both| both.runs = [6, 0]);
        assert!(matches!(few.judge().finding("E1").unwrap().remedies[..], [Remedy::LargerBudget { .. }]));
        let rejected = few.with(|both| {
            both.records[1].rejected = 6;
            both.records[1].rejected_by = vec!["A1".to_owned()];
        });
        let remedies = rejected.judge().finding("E1").unwrap().remedies;
        assert_eq!(remedies, [Remedy::SeeChecks { codes: vec!["A1".to_owned()] }]);
    }

    #[test]
    fn a_factor_that_takes_a_new_provisioning_needs_two_of_them() {
        let varying = |word: &str, plots: u32| {
            Both::equal().with(|both| {
                both.runs = [30; 2];
                both.varying = Some(word.to_owned());
                both.records.iter_mut().for_each(|record| record.plots = plots);
            })
        };
        assert_eq!(varying("fs", 1).level("E1"), Some(Level::Warn));
        let remedies = varying("fs", 1).judge().finding("E1").unwrap().remedies;
        assert_eq!(remedies, [Remedy::MorePlaces { per_side: 3, varying: Some("fs".into()) }]);
        assert_eq!(varying("fs", 2).level("E1"), Some(Level::Pass));
        assert_eq!(varying("scheduler", 1).level("E1"), Some(Level::Pass), "a setting changes without mkfs");
    }

    #[test]
    fn one_place_against_several_cannot_speak() {
        let uneven = Both::equal().with(|both| both.records[1].plots = 3);
        assert_eq!(uneven.level("E1"), Some(Level::Warn));
    }
}
