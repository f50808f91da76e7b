use crate::check::{Check, Judge, Outcome};
use crate::evidence::ComparisonView;
use crate::text::count;

/// Runs a side, below which nothing may be claimed.
pub const MIN_RUNS_TO_CLAIM: u32 = 6;

pub(crate) static CHECK: Check = Check {
    code: "E1",
    title: "Too few runs",
    what: "Whether each side of a comparison has enough runs to say anything but \"cannot tell\". Runs that were left \
           out do not count.",
    why: "The exact sign-flip test over fewer than six pairs cannot reach p < 0.05 (2/2⁶ = 0.031), whatever the \
          numbers are. With a true gap of 5 % and 5 % spread, one run a side names the wrong winner in 24 of 100 \
          cases, three in 11. Hoefler and Belli, \"Scientific Benchmarking of Parallel Computing Systems\", SC 2015.",
    how: "Runs of each side that were not rejected.",
    threshold: "fewer than 6 runs on either side: the verdict can only be \"cannot tell\"",
    fix: "Run more blocks: give a larger `--budget`.",
    judges: &[Judge::Comparison(look)],
};

fn look(view: &ComparisonView<'_>) -> Outcome {
    let fewest = view.baseline.runs.min(view.candidate.runs);
    let observed = format!("{} and {}", view.baseline.runs, count(u64::from(view.candidate.runs), "run"));
    if fewest >= MIN_RUNS_TO_CLAIM {
        return Outcome::pass(observed);
    }
    let message = format!(
        "{} on the smaller side cannot carry a claim, {MIN_RUNS_TO_CLAIM} can: the verdict is \"cannot tell\".",
        count(u64::from(fewest), "run")
    );
    Outcome::warn(observed, message)
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene, compare};
    use plumb_result::Level;

    #[test]
    fn six_runs_a_side_may_speak() {
        let side = || Scene::reading(MIB);
        assert_eq!(compare(&side(), &side(), 6, None).level("E1"), Some(Level::Pass));
        assert_eq!(compare(&side(), &side(), 5, None).level("E1"), Some(Level::Warn));
    }
}
