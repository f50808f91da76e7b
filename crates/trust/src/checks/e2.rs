use crate::check::{Check, Judge, Outcome};
use crate::checks::c15::breaks_series;
use crate::evidence::{Ground, PhaseView};
use crate::series::{Series, mean, memory_takes_the_writes};
use crate::text::{count, percent};
use plumb_result::{Level, Remedy};
use plumb_stats::steady::{DRIFT, RunState, within_run};
use plumb_stats::warmup::VALUES_MIN;

pub(crate) static CHECK: Check = Check {
    code: "E2",
    title: "No steady state",
    what: "Whether the rate settled, so that a longer run would give the same. A rate that still rises or falls is \
           transient: it depends on the length of the run. Buffered writes show memory filling up from second to \
           second, so for them this is only noted.",
    why: "SNIA's Performance Test Specification measures flash only once it is steady, for a new drive can be several \
          times as fast. White, \"An effective truncation heuristic for bias reduction in simulation output\", 1997 \
          (MSER-5); Mann, 1945, and Sen, 1968, for the trend. A cut past the middle alone proves nothing, since noise \
          moves it anywhere on a flat series: the whole is tested then.",
    how: "One-second means until the first worker is done: MSER-5 finds the warm-up, Mann-Kendall (allowing for \
          seconds that resemble their neighbours) and Theil-Sen the trend of the rest. Needs 10 s.",
    threshold: "a trend with p < 0.01 of more than 5 % after the warm-up (or of the whole, where a warm-up would take \
                more than half) warns; a warm-up that moves the mean by more than 5 % is noted",
    settled: "By experiment: with p < 0.01 and more than 5 %, the margin of comparisons, 1000 clean runs of 40 s gave \
              no warning (docs/calibration.md). A cut past the middle proves nothing by itself, since noise moves it \
              anywhere on a flat series; it only makes the check test the whole.",
    fix: &[
        Remedy::LONGER_TIME,
        Remedy::UntilSteady,
        Remedy::Precondition,
        Remedy::setting("ramp", "10s", "Leave the beginning out"),
    ],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.ground == Ground::Nothing || view.measured.count() == 0 {
        return Outcome::NotApplicable;
    }
    match view.measured.steady {
        Some(true) => return Outcome::pass("the requested steady-state rule was met"),
        Some(false) => {
            return Outcome::warn(
                "the steady-state rule was not met",
                "The rate did not become steady within the allowed rounds.",
            );
        }
        None => {}
    }
    if let Some(reason) = breaks_series(view) {
        return Outcome::skipped(reason);
    }
    let series = Series::from_phase(view);
    let rates = series.rates.as_slice();
    if rates.len() < VALUES_MIN {
        return Outcome::skipped(
            format!("{} are too few (minimum {VALUES_MIN})", count(rates.len() as u64, "second"),),
        );
    }
    let Ok(found) = within_run(rates) else { return Outcome::skipped("nothing was done in half of the seconds") };
    let rest = &rates[found.from..];
    let observed = format!("drift {} in {} s", signed(found.drift), rest.len());
    let level = if memory_takes_the_writes(view) { Level::Note } else { Level::Warn };
    let way = if found.drift > 0.0 { "rose" } else { "fell" };
    let moved = percent(found.drift.abs());
    match found.state {
        RunState::Drifting | RunState::WarmingUp => {
            let message =
                format!("The rate {way} by {moved} in {} s and had not settled when the run ended.", rest.len());
            Outcome::found(level, observed, message)
        }
        RunState::Steady => {
            let (all, settled) = (mean(rates), mean(rest));
            if (all - settled).abs() <= DRIFT * settled {
                return Outcome::pass(observed);
            }
            let message = format!(
                "A warm-up of {} s is part of the rate: {} without it, {} with it.",
                found.from,
                series.text(settled),
                series.text(all)
            );
            Outcome::note(observed, message).remedy(leave_out(found.from as u64))
        }
    }
}

/// Suggests a ramp over the first seconds.
pub(super) fn leave_out(seconds: u64) -> Remedy {
    Remedy::Setting {
        key: "ramp".into(),
        value: format!("{seconds}s").into(),
        purpose: "Leave the beginning out".into(),
    }
}

fn signed(share: f64) -> String {
    let sign = if share < 0.0 { "−" } else { "+" };
    format!("{sign}{}", percent(share.abs()))
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene, noisy};
    use plumb_result::{Level, Remedy};
    use plumb_workload::CachePolicy;

    fn reading(rates: &[f64]) -> Scene {
        Scene::reading(1000 * MIB).rates(rates)
    }

    #[test]
    fn a_flat_rate_is_steady() {
        for seed in 0..200 {
            assert_eq!(reading(&noisy(60, 0.03, seed, |_| 100e6)).level("E2"), Some(Level::Pass), "seed {seed}");
        }
    }

    #[test]
    fn a_rate_that_keeps_falling_is_transient() {
        let falling = noisy(60, 0.01, 1, |second| 100e6 * (1.0 - second as f64 * 0.005));
        let finding = reading(&falling).finding("E2").unwrap();
        assert_eq!(finding.level, Level::Warn);
        assert!(finding.message.contains("had not settled"), "{}", finding.message);
        // 3 % in a minute is not a relevant transient.
        let slowly = noisy(60, 0.01, 1, |second| 100e6 * (1.0 - second as f64 * 0.0005));
        assert_eq!(reading(&slowly).level("E2"), Some(Level::Pass));
    }

    #[test]
    fn a_warm_up_that_is_over_is_noted_with_the_way_out() {
        let warming = noisy(60, 0.01, 1, |second| if second < 15 { 40e6 } else { 100e6 });
        let finding = reading(&warming).finding("E2").unwrap();
        assert_eq!(finding.level, Level::Note, "{}", finding.message);
        assert!(
            matches!(&finding.remedies[..], [Remedy::Setting { key, value, .. }] if key == "ramp" && value.ends_with('s')),
            "{:?}",
            finding.remedies
        );
    }

    #[test]
    fn ten_seconds_are_needed() {
        assert_eq!(reading(&[100e6; 9]).level("E2"), Some(Level::Skipped));
        assert_eq!(reading(&[100e6; 10]).level("E2"), Some(Level::Pass));
    }

    /// Memory takes the first writes, and the flush inside the clock makes the whole valid.
    #[test]
    fn buffered_writes_are_noted_and_direct_ones_warn() {
        let filling = noisy(60, 0.01, 1, |second| 100e6 * (1.0 - second as f64 * 0.01));
        let writing = || Scene::writing(1000 * MIB).rates(&filling);
        assert_eq!(writing().level("E2"), Some(Level::Note));
        assert_eq!(writing().cache(CachePolicy::Direct).level("E2"), Some(Level::Warn));
    }

    #[test]
    fn a_requested_rule_decides() {
        let asked = |met: bool| {
            let mut scene = reading(&[100e6; 5]);
            scene.measured().steady = Some(met);
            scene.level("E2")
        };
        assert_eq!(asked(true), Some(Level::Pass));
        assert_eq!(asked(false), Some(Level::Warn));
    }
}
