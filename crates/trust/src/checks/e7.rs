use crate::check::{Check, Judge, Outcome};
use crate::checks::c15::breaks_series;
use crate::evidence::{Ground, PhaseView, RunView};
use crate::series::{Series, drift, left_in_memory, memory_takes_the_writes};
use crate::text::{count, nanos, percent};
use crate::tier::rate_tier;
use plumb_result::assertion::PRECONDITIONING;
use plumb_result::{Level, Remedy, Tier};
use plumb_workload::OpKind;

/// Phases of at least this length are long.
const LONG_NS: u64 = 30_000_000_000;
/// Fewer seconds than this show no trend: of four, even the clearest order has p = 0.08.
const MIN_SECONDS: usize = 5;
/// A trend in a short phase counts below this p …
const BELIEVED_P: f64 = 0.05;
/// … if it is more than this share of the rate.
const DRIFT_SHARE: f64 = 0.10;
/// Writeback is part of a buffered write only after this many times the kernel's expiry.
const EXPIRIES: u64 = 3;
/// The kernel's default of `vm.dirty_expire_centisecs`. Source: Documentation/admin-guide/sysctl/vm.rst.
const DEFAULT_EXPIRY_NS: u64 = 30_000_000_000;

pub(crate) static CHECK: Check = Check {
    code: "E7",
    title: "Too short",
    what: "Whether phases were long enough to show what comes later: full caches, garbage collection, heat, writeback. \
           A short phase with a steady rate is noted, once per run. A short phase whose rate is still moving warns, \
           and so does a buffered write without a flush in which writeback had begun and not settled. Where all of it \
           stayed in memory, the rate is the cache's, is labelled so, and is noted.",
    why: "The kernel begins to write dirty pages back when they are 30 s old, so a shorter buffered write reaches the \
          device by accident of its length. A short measurement is not wrong by itself: a comparison repeats it many \
          times, and what varies between runs is in its interval; what no run lasted long enough to see is not. So \
          shortness alone is noted: nobody would read a warning on every run of a few seconds.",
    how: "Wall time of each phase; under 30 s the trend of its one-second means (Mann-Kendall, Theil-Sen); \
          `vm.dirty_expire_centisecs` and the tier of buffered writes.",
    threshold: "less than 30 s is noted; with a trend (over 5 s or more after the first, p < 0.05, more than 10 %) it \
                warns; a buffered write without a flush in the clock, shorter than 3 times the expiry and partly \
                written back, warns",
    settled: "By reasoning: 30 s is the kernel's own expiry of dirty pages. Of four seconds even the clearest order \
              has p = 0.08, so a trend needs five; p < 0.05 is lax because so few seconds show little, and 10 % is \
              twice the margin of comparisons.",
    fix: &[Remedy::LONGER_TIME, Remedy::setting("flush", "fsync", "Flush inside the clock")],
    judges: &[Judge::Run(examine)],
};

/// The finding for one phase.
struct ShortPhase<'a> {
    phase: &'a str,
    wall_ns: u64,
    level: Level,
    message: String,
    /// Smallest sufficient length.
    at_least_ns: u64,
}

fn examine(run: &RunView<'_>) -> Outcome {
    // Preparing the storage is not a measurement.
    let measures = |view: &&PhaseView<'_>| !view.measured.name.starts_with(PRECONDITIONING);
    let timed = || {
        run.phases.iter().filter(measures).filter(|view| view.ground != Ground::Nothing && view.measured.count() > 0)
    };
    if timed().next().is_none() {
        return Outcome::NotApplicable;
    }
    let mut short: Vec<ShortPhase<'_>> = timed().filter_map(shortness).collect();
    short.sort_by_key(|one| (std::cmp::Reverse(one.level), one.wall_ns));
    let Some(worst) = short.first() else {
        let shortest = timed().map(|view| view.measured.wall_ns).min().unwrap_or(0);
        return Outcome::pass(format!("every phase took {} or more", nanos(shortest as f64)));
    };
    let observed = format!(
        "{} of {} short; `{}` took {}",
        short.len(),
        count(timed().count() as u64, "phase"),
        worst.phase,
        nanos(worst.wall_ns as f64)
    );
    let mut remedies =
        vec![Remedy::LongerTime { phase: Some(worst.phase.to_owned().into()), at_least_ns: Some(worst.at_least_ns) }];
    if worst.at_least_ns > LONG_NS {
        remedies.push(Remedy::setting("flush", "fsync", "Flush inside the clock"));
    }
    Outcome::found(worst.level, observed, worst.message.clone()).remedies(remedies)
}

fn shortness<'a>(view: &PhaseView<'a>) -> Option<ShortPhase<'a>> {
    let (phase, wall_ns) = (view.measured.name.as_str(), view.measured.wall_ns);
    let expiry_ns = expiry_ns(view);
    let of = |at_least_ns: u64, level: Level, message: String| {
        Some(ShortPhase { phase, wall_ns, level, message, at_least_ns })
    };
    let found = |level: Level, message: String| of(LONG_NS, level, message);
    let took = nanos(wall_ns as f64);
    if view.ops(OpKind::Write) > 0 && left_in_memory(view) && wall_ns < EXPIRIES * expiry_ns && !view.is_virtual_time()
    {
        match rate_tier(view, OpKind::Write).tier {
            Tier::Device | Tier::Server => {}
            Tier::Mixed { device_share } => {
                return of(
                    EXPIRIES * expiry_ns,
                    Level::Warn,
                    format!(
                        "Phase `{phase}` wrote into memory for {took}, with {} written back: a longer run would differ.",
                        percent(device_share)
                    ),
                );
            }
            Tier::Cache | Tier::Unknown => {
                return of(
                    EXPIRIES * expiry_ns,
                    Level::Note,
                    format!(
                        "Phase `{phase}` wrote into memory for only {took}; writeback, after {}, would slow a longer \
                         run down.",
                        nanos(expiry_ns as f64)
                    ),
                );
            }
        }
    }
    if wall_ns >= LONG_NS {
        return None;
    }
    let series = Series::from_phase(view);
    // Queues and the device's own cache fill in the first second.
    let rates = series.rates.get(1..).unwrap_or_default();
    let moving = (rates.len() >= MIN_SECONDS && !memory_takes_the_writes(view) && breaks_series(view).is_none())
        .then(|| drift(rates))
        .flatten()
        .filter(|drift| drift.p < BELIEVED_P && drift.share.abs() > DRIFT_SHARE);
    match moving {
        Some(drift) => {
            let way = if drift.share > 0.0 { "rising" } else { "falling" };
            found(
                Level::Warn,
                format!(
                    "Phase `{phase}` is only {took} long, and its rate was still {way} ({}).",
                    percent(drift.share.abs())
                ),
            )
        }
        None => found(Level::Note, format!("Phase `{phase}` is only {took} long; a longer run may differ.")),
    }
}

/// Returns the age at which dirty pages are written back, in ns.
fn expiry_ns(view: &PhaseView<'_>) -> u64 {
    let centisecs =
        view.environment.facts.get("vm.dirty_expire_centisecs").and_then(|text| text.trim().parse::<u64>().ok());
    centisecs.map_or(DEFAULT_EXPIRY_NS, |centisecs| centisecs.saturating_mul(10_000_000))
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene, noisy};
    use plumb_result::Level;
    use plumb_workload::{CachePolicy, Flush};

    fn reading(seconds: usize) -> Scene {
        Scene::reading(1000 * MIB).rates(&noisy(seconds, 0.02, 3, |_| 100e6))
    }

    #[test]
    fn half_a_minute_is_long_and_less_is_noted() {
        assert_eq!(reading(30).level("E7"), Some(Level::Pass));
        let finding = reading(29).finding("E7").unwrap();
        assert_eq!((finding.level, finding.phase), (Level::Note, None));
    }

    /// One finding per run, the worst.
    #[test]
    fn a_short_run_whose_rate_moves_warns() {
        let falling = noisy(6, 0.01, 3, |second| 100e6 * (1.0 - second as f64 * 0.04));
        let finding = Scene::reading(1000 * MIB).rates(&falling).finding("E7").unwrap();
        assert_eq!(finding.level, Level::Warn, "{}", finding.message);
        let barely = noisy(6, 0.01, 3, |second| 100e6 * (1.0 - second as f64 * 0.01));
        assert_eq!(Scene::reading(1000 * MIB).rates(&barely).level("E7"), Some(Level::Note));
    }

    /// A survey of many short phases reports it once.
    #[test]
    fn flat_short_runs_never_warn() {
        for seed in 0..500 {
            let scene = Scene::reading(1000 * MIB).rates(&noisy(4 + seed as usize % 6, 0.03, seed, |_| 100e6));
            assert_eq!(scene.level("E7"), Some(Level::Note), "seed {seed}");
        }
    }

    #[test]
    fn a_buffered_write_is_short_until_writeback_has_settled() {
        let buffered = |written: u64| {
            Scene::writing(1000 * MIB)
                .flush(Flush::None)
                .dirty((1000 - written) * MIB)
                .device_write(written * MIB)
                .rates(&[100e6; 40])
        };
        assert_eq!(buffered(400).level("E7"), Some(Level::Warn));
        assert_eq!(buffered(0).level("E7"), Some(Level::Note), "declared, and labelled as the cache's");
        assert_eq!(buffered(1000).level("E7"), Some(Level::Pass), "the device kept up");
        assert_eq!(buffered(400).sysctl("vm.dirty_expire_centisecs", "1000").level("E7"), Some(Level::Pass));
        assert_eq!(Scene::writing(1000 * MIB).rates(&[100e6; 40]).level("E7"), Some(Level::Pass), "it was flushed");
    }

    /// The rate of filling memory is not that of a flushed write.
    #[test]
    fn the_seconds_of_a_buffered_write_are_not_a_trend() {
        let filling = noisy(8, 0.01, 3, |second| 100e6 * (1.0 - second as f64 * 0.1));
        assert_eq!(Scene::writing(1000 * MIB).rates(&filling).level("E7"), Some(Level::Note));
        let direct = Scene::writing(1000 * MIB).cache(CachePolicy::Direct).rates(&filling);
        assert_eq!(direct.level("E7"), Some(Level::Warn));
    }
}
