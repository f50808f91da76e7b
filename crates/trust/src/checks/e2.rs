use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::series::{Series, drift, mean, memory_takes_the_writes};
use crate::text::{count, percent};
use plumb_result::Level;
use plumb_stats::warmup::{self, mser5};

/// A trend is believed below this p.
const BELIEVED_P: f64 = 0.01;
/// A drift, or a warm-up, of up to this share of the rate is let pass.
const DRIFT_SHARE: f64 = 0.05;

pub(crate) static CHECK: Check = Check {
    code: "E2",
    title: "No steady state",
    what: "Whether the rate settled, so that a longer run would have given the same. A rate that still rises or falls is \
           transient: a property of the run's length. Buffered writes show memory filling up in their seconds, whatever \
           their whole is worth, and are only noted.",
    why: "SNIA's Performance Test Specification measures flash only once it is steady, for a new drive can be several \
          times as fast. White, \"An effective truncation heuristic for bias reduction in simulation output\", 1997 \
          (MSER-5); Mann, 1945, and Sen, 1968, for the trend. A warm-up that differs by 5 % or less from what follows is \
          chance, wherever MSER-5 would cut: on a flat series it cuts anywhere.",
    how: "Means of one second until the first worker is done: MSER-5 finds the warm-up, Mann-Kendall and Theil-Sen the \
          trend of the rest. Needs 10 s.",
    threshold: "a warm-up of more than half, or a trend with p < 0.01 of more than 5 % over the rest, warns; a warm-up that \
                moves the mean by more than 5 % is noted",
    fix: "Run longer, precondition, or leave the beginning out (`ramp`); `plumb run --until steady` waits for it.",
    judges: &[Judge::Phase(look)],
};

fn look(view: &PhaseView<'_>) -> Outcome {
    if view.ground == Ground::Nothing || view.measured.count() == 0 {
        return Outcome::NotApplicable;
    }
    match view.measured.steady {
        Some(true) => return Outcome::pass("the steady-state rule that was asked for was met"),
        Some(false) => {
            return Outcome::warn(
                "the steady-state rule was not met",
                "The rate did not become steady within the rounds that were allowed: it is transient.",
            );
        }
        None => {}
    }
    let series = Series::of(view);
    let rates = series.rates.as_slice();
    let cut = match mser5(rates) {
        Ok(cut) => cut,
        Err(_) => {
            return Outcome::skipped(format!(
                "{} are too few to see a steady state ({} are needed)",
                count(rates.len() as u64, "second"),
                warmup::VALUES_MIN
            ));
        }
    };
    let (before, after) = rates.split_at(cut.at);
    let (warming, settled) = (mean(before), mean(after));
    let differs = !before.is_empty() && (warming - settled).abs() > DRIFT_SHARE * settled;
    let level = if memory_takes_the_writes(view) { Level::Note } else { Level::Warn };
    if differs && !cut.accepted {
        let observed = format!("{} before {} s, {} after", series.text(warming), cut.at, series.text(settled));
        let message = format!(
            "The rate is transient: it went from {} to {}, and had not settled in the first half.",
            series.text(warming),
            series.text(settled)
        );
        return Outcome::found(level, observed, message);
    }
    let rest = if differs { after } else { rates };
    let Some(drift) = drift(rest) else { return Outcome::skipped("the seconds have no rate") };
    let observed = format!("drift {} in {} s", signed(drift.share), rest.len());
    if drift.p < BELIEVED_P && drift.share.abs() > DRIFT_SHARE {
        let way = if drift.share > 0.0 { "rose" } else { "fell" };
        let message = format!(
            "The rate is transient: it {way} by {} in {} s and was still on its way.",
            percent(drift.share.abs()),
            rest.len()
        );
        return Outcome::found(level, observed, message);
    }
    let all = mean(rates);
    if differs && (all - settled).abs() > DRIFT_SHARE * settled {
        let message = format!(
            "The first {} s are a warm-up at {}; without them the rate is {} and not {}.",
            cut.at,
            series.text(warming),
            series.text(settled),
            series.text(all)
        );
        return Outcome::note(observed, message).remedy(format!("Leave them out: `ramp = \"{}s\"`.", cut.at));
    }
    Outcome::pass(observed)
}

fn signed(share: f64) -> String {
    let sign = if share < 0.0 { "−" } else { "+" };
    format!("{sign}{}", percent(share.abs()))
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene, noisy};
    use plumb_result::Level;
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
        assert!(finding.message.contains("transient"), "{}", finding.message);
        // 3 % in a minute is no transient that matters.
        let slowly = noisy(60, 0.01, 1, |second| 100e6 * (1.0 - second as f64 * 0.0005));
        assert_eq!(reading(&slowly).level("E2"), Some(Level::Pass));
    }

    #[test]
    fn a_warm_up_that_is_over_is_noted_with_the_way_out() {
        let warming = noisy(60, 0.01, 1, |second| if second < 15 { 40e6 } else { 100e6 });
        let finding = reading(&warming).finding("E2").unwrap();
        assert_eq!(finding.level, Level::Note, "{}", finding.message);
        assert!(finding.remedy.contains("ramp = \"15s\""), "{}", finding.remedy);
    }

    #[test]
    fn ten_seconds_are_needed() {
        assert_eq!(reading(&[100e6; 9]).level("E2"), Some(Level::Skipped));
        assert_eq!(reading(&[100e6; 10]).level("E2"), Some(Level::Pass));
    }

    /// Memory takes the first writes, and the flush inside the clock makes the whole honest.
    #[test]
    fn buffered_writes_are_noted_and_direct_ones_are_not_spared() {
        let filling = noisy(60, 0.01, 1, |second| 100e6 * (1.0 - second as f64 * 0.01));
        let writing = || Scene::writing(1000 * MIB).rates(&filling);
        assert_eq!(writing().level("E2"), Some(Level::Note));
        assert_eq!(writing().cache(CachePolicy::Direct).level("E2"), Some(Level::Warn));
    }

    #[test]
    fn a_rule_that_was_asked_for_decides() {
        let asked = |met: bool| {
            let mut scene = reading(&[100e6; 5]);
            scene.measured().steady = Some(met);
            scene.level("E2")
        };
        assert_eq!(asked(true), Some(Level::Pass));
        assert_eq!(asked(false), Some(Level::Warn));
    }
}
