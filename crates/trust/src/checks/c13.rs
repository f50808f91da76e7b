use crate::check::{Check, Judge, Outcome};
use crate::checks::c15::breaks_series;
use crate::evidence::{Ground, PhaseView};
use crate::series::{CHANGE_SECONDS_MIN, Series, level_change, mean, memory_takes_the_writes};
use crate::text::{count, percent};
use plumb_result::Remedy;

/// A level whose seconds vary by less than this is set by a rule and not by a device.
const FLAT_COV: f64 = 0.01;
/// Fewer seconds than this are flat by chance.
const PLATEAU_SECONDS_MIN: usize = 3;

pub(crate) static CHECK: Check = Check {
    code: "C13",
    title: "Burst credits used up",
    what: "Whether the rate fell to a level so flat that a rule and not a device must set it: cloud volumes and \
           throttled groups grant credits for bursts, and a fixed rate once they are used up.",
    why: "A short benchmark measures the burst, and a long job gets the fixed rate: a gp2 volume of 100 GiB does 3000 \
          operations a second for half an hour, and 300 from then on (Amazon EBS documentation, \"I/O credits and \
          burst performance\").",
    how: "A downward change of level in the one-second means (as in E3), followed by a coefficient of variation below \
          1 %, with the second of the change left out.",
    threshold: "such a plateau of 3 s or more warns",
    settled: "By reasoning: one-second rates of a device vary by some per cent even when it is alone, those of a token \
              bucket by less than 1 %; two equal seconds may be chance, three hardly. On simulated devices, E3 or this \
              check found throttling in 300 of 300 runs (docs/calibration.md).",
    fix: &[Remedy::words(
        "Check whether the volume or control group has a burst allowance. Run until it is used up and leave the burst \
             out, or report both rates.",
    )],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    // Writes into memory use no credits.
    if view.ground == Ground::Nothing || view.measured.count() == 0 || memory_takes_the_writes(view) {
        return Outcome::NotApplicable;
    }
    if let Some(reason) = breaks_series(view) {
        return Outcome::skipped(reason);
    }
    let series = Series::from_phase(view);
    if series.rates.len() < CHANGE_SECONDS_MIN {
        return Outcome::skipped(format!(
            "{} are too few (minimum {CHANGE_SECONDS_MIN})",
            count(series.rates.len() as u64, "second")
        ));
    }
    let Some(change) = level_change(&series.rates) else { return Outcome::pass("no change of level") };
    if change.after >= change.before {
        return Outcome::pass("the level did not fall");
    }
    // The second of the change may contain some of the burst, on either side.
    let plateau = &series.rates[change.at + 1..];
    let Some(cov) = cov(plateau).filter(|_| plateau.len() >= PLATEAU_SECONDS_MIN) else {
        return Outcome::skipped("the lower level is too short to judge");
    };
    let observed = format!("{} after the change, varying by {}", series.text(change.after), percent(cov));
    if cov >= FLAT_COV {
        return Outcome::pass(observed);
    }
    let message = format!(
        "After {} s the rate fell from {} to a flat {}: burst credits may be used up.",
        change.at,
        series.text(change.before),
        series.text(change.after)
    );
    Outcome::warn(observed, message)
}

/// Returns the coefficient of variation; `None` if the mean is not above 0.
fn cov(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)? as f64;
    (mean > 0.0).then(|| (squares / freedom).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene, noisy};
    use plumb_result::Level;

    /// A burst with its own spread, then a level with this one.
    fn falling(seconds: usize, spread: f64) -> Scene {
        let burst = noisy(seconds / 2, 0.02, 2, |_| 300e6);
        let after = noisy(seconds - burst.len(), spread, 3, |_| 100e6);
        Scene::reading(1000 * MIB).rates(&[burst, after].concat())
    }

    #[test]
    fn a_burst_and_then_a_flat_level_are_credits() {
        for seconds in [10, 60] {
            let finding = falling(seconds, 0.001).finding("C13").unwrap();
            assert_eq!(finding.level, Level::Warn, "{seconds}: {}", finding.message);
            assert!(finding.message.contains("burst credits"), "{}", finding.message);
        }
    }

    #[test]
    fn a_device_that_slows_down_keeps_its_spread() {
        assert_eq!(falling(60, 0.03).level("C13"), Some(Level::Pass));
        assert_eq!(falling(60, 0.03).level("E3"), Some(Level::Warn));
    }

    #[test]
    fn a_flat_rate_and_a_rise_are_not_credits() {
        assert_eq!(Scene::reading(1000 * MIB).rates(&[100e6; 60]).level("C13"), Some(Level::Pass));
        let rising = noisy(60, 0.001, 1, |second| if second < 30 { 100e6 } else { 300e6 });
        assert_eq!(Scene::reading(1000 * MIB).rates(&rising).level("C13"), Some(Level::Pass));
    }

    #[test]
    fn buffered_writes_are_exempt_and_short_runs_are_skipped() {
        assert_eq!(Scene::writing(1000 * MIB).rates(&[100e6; 60]).level("C13"), None);
        assert_eq!(Scene::reading(1000 * MIB).rates(&[100e6; 6]).level("C13"), Some(Level::Skipped));
    }
}
