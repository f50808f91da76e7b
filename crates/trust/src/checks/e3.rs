use super::e2::leave_out;
use crate::check::{Check, Judge, Outcome};
use crate::checks::c15::breaks_series;
use crate::evidence::{Ground, PhaseView};
use crate::series::{CHANGE_SECONDS_MIN, Series, level_change, memory_takes_the_writes};
use crate::text::{count, percent};
use plumb_result::{Level, Remedy};

pub(crate) static CHECK: Check = Check {
    code: "E3",
    title: "Two levels in one run",
    what: "Whether the rate changed its level during the phase: a full drive cache, throttling, a rebuild that began \
           or ended, credits used up. The run's one number then describes neither level, and depends on how long each \
           lasted. Buffered writes change level when memory is full, and are only noted.",
    why: "A drive with an SLC cache writes several times as fast until it is full, and a mean over both depends on the \
          file's size. Pettitt, \"A non-parametric approach to the change-point problem\", Applied Statistics 28, \
          1979; where one of the levels is too short for ranks, the test of Fleming et al., \"Hunter\", ICPE 2023.",
    how: "One-second means until the first worker is done. The first second is left out, because queues and the \
          device's own cache fill in it. Needs 7 s.",
    threshold: "levels more than 5 % apart warn, with p < 0.001 by ranks, or with p < 0.0001 by a t test and a \
                distance of more than twice the width of either",
    settled: "By experiment: a rank test alone missed 5 of 30 throttled runs, since ranks of 8 seconds among 24 can \
              never reach p < 0.001; a t test alone finds a change in a third of flat runs whose seconds resemble \
              their neighbours (correlation 0.8), and in 1 % where levels must be apart by twice their width. Together \
              they found throttling in 300 of 300 runs, with no false alarm in 1000 clean ones (docs/calibration.md).",
    fix: &[
        Remedy::LONGER_TIME,
        Remedy::Precondition,
        Remedy::setting("ramp", "10s", "Leave the beginning out"),
        Remedy::words("Report both levels."),
    ],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.ground == Ground::Nothing || view.measured.count() == 0 {
        return Outcome::NotApplicable;
    }
    if let Some(reason) = breaks_series(view) {
        return Outcome::skipped(reason);
    }
    let series = Series::from_phase(view);
    let seconds = series.rates.len();
    if seconds < CHANGE_SECONDS_MIN {
        return Outcome::skipped(format!(
            "{} are too few (minimum {CHANGE_SECONDS_MIN})",
            count(seconds as u64, "second")
        ));
    }
    let Some(change) = level_change(&series.rates) else {
        return Outcome::pass(format!("one level over {seconds} s"));
    };
    let (before, after) = (series.text(change.before), series.text(change.after));
    let observed = format!("{before} for {} s, then {after} for {} s", change.at, seconds - change.at);
    if memory_takes_the_writes(view) {
        return Outcome::note(
            observed,
            format!("The rate went from {before} to {after} after {} s, as usual when memory is full.", change.at),
        )
        .remedy("Write with O_DIRECT to measure the device's own levels.");
    }
    let message = format!(
        "The rate changed after {} s from {before} to {after} ({}): the mean describes neither.",
        change.at,
        by(change.before, change.after)
    );
    Outcome::found(Level::Warn, observed, message).remedies(vec![
        leave_out(change.at as u64),
        Remedy::Precondition,
        Remedy::words("Report both levels."),
    ])
}

fn by(before: f64, after: f64) -> String {
    if before <= 0.0 {
        return "from nothing".to_owned();
    }
    let share = after / before - 1.0;
    format!("{}{}", if share < 0.0 { "−" } else { "+" }, percent(share.abs()))
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene, noisy};
    use plumb_result::Level;
    use plumb_workload::CachePolicy;

    fn dropping(seconds: usize) -> Vec<f64> {
        noisy(seconds, 0.01, 5, |second| if second < seconds / 2 { 100e6 } else { 66e6 })
    }

    #[test]
    fn both_levels_are_named() {
        for seconds in [8, 60] {
            let finding = Scene::reading(1000 * MIB).rates(&dropping(seconds)).finding("E3").unwrap();
            assert_eq!(finding.level, Level::Warn);
            assert!(finding.message.contains("−34 %"), "{}", finding.message);
            assert!(finding.observed.contains("MB/s for"), "{}", finding.observed);
        }
    }

    #[test]
    fn one_level_passes() {
        for seed in 0..100 {
            let flat = noisy(30, 0.05, seed, |_| 100e6);
            assert_eq!(Scene::reading(1000 * MIB).rates(&flat).level("E3"), Some(Level::Pass), "seed {seed}");
        }
        // A change of 4 % does not matter.
        let little = noisy(60, 0.002, 1, |second| if second < 30 { 100e6 } else { 96e6 });
        assert_eq!(Scene::reading(1000 * MIB).rates(&little).level("E3"), Some(Level::Pass));
    }

    #[test]
    fn a_few_seconds_are_skipped() {
        assert_eq!(Scene::reading(1000 * MIB).rates(&[100e6; 6]).level("E3"), Some(Level::Skipped));
    }

    #[test]
    fn memory_that_is_full_is_noted() {
        let scene = || Scene::writing(1000 * MIB).rates(&dropping(20));
        assert_eq!(scene().level("E3"), Some(Level::Note));
        assert_eq!(scene().cache(CachePolicy::Direct).level("E3"), Some(Level::Warn));
    }
}
