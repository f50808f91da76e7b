//! Findings from the points of a curve: knee, saturation, a limit of the 99th percentile, the
//! edge of the cache. Pure.
//!
//! Levels are compared within blocks: the ratio of two levels is taken in each repeat, in which both ran close to
//! each other, and its interval is that of [`paired`].

use plumb_result::run::TierName;
use plumb_result::sweep::{
    Agreement, Beyond, CacheEdge, Knee, KneeFound, LevelPlace, Rise, RunSpread, Saturation, WithinLimit, WithinPoint,
};
use plumb_result::{Level as CheckLevel, SweepKey};
use plumb_stats::{geometric_mean, paired, sample, welch};
use std::collections::BTreeMap;

/// Coverage of printed intervals.
pub const CONFIDENCE: f64 = 0.95;

/// Two one-sided tests at 5 % are a 90 % interval inside the margin. Source: Schuirmann 1987.
const EQUIVALENCE_CONFIDENCE: f64 = 0.90;

/// Rates within this of each other are equal for choosing a depth: the margin of every comparison.
const MARGIN: f64 = 0.05;

/// A fall of the rate from one size to the next by less than this is not the edge of a cache: memory is many times
/// as fast as any storage.
const EDGE_RATIO: f64 = 0.75;

/// The numbers of one accepted run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RunNumbers {
    /// Completion rate in ops per second.
    pub rate: f64,
    /// Transfer rate in bytes per second.
    pub bandwidth: Option<f64>,
    /// Mean number of ops in flight.
    pub in_flight: f64,
    /// Start to completion.
    pub service: RunTimes,
    /// Intended start to completion.
    pub response: Option<RunTimes>,
}

/// Numbers of a run's distribution of times, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RunTimes {
    pub mean: Option<f64>,
    pub p50: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
}

impl RunNumbers {
    /// Returns the times that users wait for: response time if known, else service time.
    fn waited(&self) -> &RunTimes {
        self.response.as_ref().unwrap_or(&self.service)
    }

    /// Returns rate over mean latency.
    fn power(&self) -> Option<f64> {
        self.waited().mean.filter(|mean| *mean > 0.0).map(|mean| self.rate / mean)
    }
}

/// The accepted runs of one level, by block.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LevelRuns {
    pub level: f64,
    /// At most one run per block.
    pub blocks: BTreeMap<u32, RunNumbers>,
}

impl LevelRuns {
    /// Returns a number over the runs; `None` if no run has it.
    pub fn spread(&self, number: impl Fn(&RunNumbers) -> Option<f64>) -> Option<RunSpread> {
        spread(&self.blocks.values().filter_map(number).collect::<Vec<_>>())
    }

    fn mean(&self, number: impl Fn(&RunNumbers) -> Option<f64>) -> Option<f64> {
        self.spread(number).map(|spread| spread.value)
    }
}

/// Returns geometric mean and log-t interval of one value per run. Values without a logarithm are left out.
pub fn spread(values: &[f64]) -> Option<RunSpread> {
    let values: Vec<f64> = values.iter().copied().filter(|value| *value > 0.0 && value.is_finite()).collect();
    let value = geometric_mean(&values).ok()?;
    let interval = sample(&values).and_then(|estimate| estimate.interval(CONFIDENCE)).ok();
    let finite = |value: f64| value.is_finite().then_some(value);
    Some(RunSpread {
        value,
        lo: interval.map(|interval| interval.lo),
        hi: interval.and_then(|interval| finite(interval.hi)),
        runs: values.len() as u32,
    })
}

/// Returns `b` over `a` at a coverage, in the blocks that have both. With too few of these, uses Welch over all runs,
/// which takes drift for a difference.
fn ratio(
    a: &LevelRuns,
    b: &LevelRuns,
    confidence: f64,
    number: impl Fn(&RunNumbers) -> Option<f64>,
) -> Option<RunSpread> {
    let positive = |value: &f64| *value > 0.0 && value.is_finite();
    let value = |run: &RunNumbers| number(run).filter(positive);
    let pairs = a.blocks.iter().filter_map(|(block, run)| Some((value(run)?, value(b.blocks.get(block)?)?)));
    let (mut left, mut right): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let mut estimate = paired(&left, &right);
    if estimate.is_err() {
        (left, right) = (a.blocks.values().filter_map(value).collect(), b.blocks.values().filter_map(value).collect());
        estimate = welch(&left, &right);
    }
    let runs = left.len().min(right.len()) as u32;
    match estimate.and_then(|estimate| estimate.interval(confidence)) {
        Ok(interval) => Some(RunSpread {
            value: interval.value,
            lo: Some(interval.lo),
            hi: Some(interval.hi).filter(|hi| hi.is_finite()),
            runs,
        }),
        Err(_) => {
            let value = geometric_mean(&right).ok()? / geometric_mean(&left).ok()?;
            Some(RunSpread { value, lo: None, hi: None, runs })
        }
    }
}

/// Returns the position of the largest number; the first of equals.
fn largest(levels: &[&LevelRuns], number: impl Fn(&RunNumbers) -> Option<f64>) -> Option<(usize, f64)> {
    let mut best: Option<(usize, f64)> = None;
    for (at, level) in levels.iter().enumerate() {
        if let Some(value) = level.mean(&number)
            && best.is_none_or(|(_, most)| value > most)
        {
            best = Some((at, value));
        }
    }
    best
}

fn with_runs(levels: &[LevelRuns]) -> Vec<&LevelRuns> {
    levels.iter().filter(|level| !level.blocks.is_empty()).collect()
}

const fn place(at: usize, of: usize) -> LevelPlace {
    match at {
        0 => LevelPlace::First,
        at if at + 1 == of => LevelPlace::Last,
        _ => LevelPlace::Inside,
    }
}

/// Runs that a level needs before any claim about it.
const RUNS_TO_CLAIM: usize = 2;

/// Finds the knee of latency against rate: the level with the largest *power*, rate over mean latency. There a
/// further percent of rate costs one percent of latency; beyond it, more. For M/M/1 it is at a utilisation of one
/// half; for a closed queue that scales up to a saturated device, at saturation. Source: Kleinrock, "Power and
/// deterministic rules of thumb for probabilistic problems in computer communications", ICC 1979.
///
/// It only applies to load: depth, threads, rate. At least three levels must have runs, and the best one and a
/// neighbour of it two or more: single runs cannot distinguish levels.
pub fn knee(key: SweepKey, levels: &[LevelRuns]) -> Option<Knee> {
    if !matches!(key, SweepKey::Depth | SweepKey::Threads | SweepKey::Rate) {
        return None;
    }
    let levels = with_runs(levels);
    if levels.len() < 3 {
        return None;
    }
    let (at, _) = largest(&levels, RunNumbers::power)?;
    let best = levels[at];
    let neighbours = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|near| levels.get(near));
    let is_repeated = |level: &LevelRuns| level.blocks.len() >= RUNS_TO_CLAIM;
    if !is_repeated(best) || !neighbours.into_iter().any(|near| is_repeated(near)) {
        return None;
    }
    // A single run has no interval, and so cannot distinguish levels either.
    let alike = |level: &&&LevelRuns| {
        ratio(best, level, CONFIDENCE, RunNumbers::power)
            .is_none_or(|ratio| ratio.lo.is_none() || ratio.hi.is_none_or(|hi| hi >= 1.0))
    };
    let from = levels[..at].iter().rev().take_while(alike).last().map_or(best.level, |level| level.level);
    let to = levels[at + 1..].iter().take_while(alike).last().map_or(best.level, |level| level.level);
    let place = place(at, levels.len());
    let ends = [levels.first(), levels.last()].map(|level| level.map(|level| level.level));
    let is_everywhere = ends == [Some(from), Some(to)];
    let knee = Knee {
        level: best.level,
        from,
        to,
        rate: best.mean(|run| Some(run.rate))?,
        latency_ns: best.mean(|run| run.waited().mean)?,
        place,
        found: None,
    };
    let found = if is_everywhere && from < to { KneeFound::Unlocated } else { knee.found() };
    Some(Knee { found: Some(found), ..knee })
}

/// Finds the lowest level from which on rates are equivalent to the largest, within 5 %, and the highest level for
/// which that holds. A lower rate in between ends the range. At least three levels must have runs.
pub fn saturation(key: SweepKey, levels: &[LevelRuns]) -> Option<Saturation> {
    if !matches!(key, SweepKey::Depth | SweepKey::Threads | SweepKey::Rate) {
        return None;
    }
    let levels = with_runs(levels);
    if levels.len() < 3 {
        return None;
    }
    let rate = |run: &RunNumbers| Some(run.rate);
    let (at, rate_max) = largest(&levels, rate)?;
    if levels[at].blocks.len() < RUNS_TO_CLAIM {
        return None;
    }
    let near = 1.0 / (1.0 + MARGIN);
    let proven = |level: &LevelRuns| {
        let interval = ratio(levels[at], level, EQUIVALENCE_CONFIDENCE, rate);
        interval.and_then(|ratio| Some(ratio.lo? >= near && ratio.hi? <= 1.0 + MARGIN)).unwrap_or(false)
    };
    let is_near = |level: &LevelRuns| level.mean(rate).is_some_and(|mean| mean >= rate_max * near);
    let below = |is_alike: &dyn Fn(&LevelRuns) -> bool| {
        at - levels[..at].iter().rev().take_while(|level| is_alike(level)).count()
    };
    let (first, perhaps) = (below(&proven), below(&is_near));
    let to = at + levels[at + 1..].iter().take_while(|level| is_near(level)).count();
    let beyond = levels.get(to + 1).and_then(|level| {
        let ratio = ratio(levels[at], level, CONFIDENCE, rate);
        let proven = ratio.and_then(|ratio| ratio.hi).is_some_and(|hi| hi < 1.0);
        Some(Beyond { level: level.level, rate: level.mean(rate)?, proven })
    });
    Some(Saturation {
        level: levels[first].level,
        perhaps: levels[perhaps].level,
        to: Some(levels[to].level),
        beyond,
        rate_max,
        level_max: levels[at].level,
        place: place(perhaps, levels.len()),
        rise: match at.checked_sub(1).and_then(|before| ratio(levels[before], levels[at], CONFIDENCE, rate)) {
            Some(RunSpread { lo: Some(lo), .. }) if lo > 1.0 => Rise::Proven,
            _ => Rise::Unproven,
        },
    })
}

/// Finds the highest achieved rate whose 99th percentile is within the limit, by the upper end of its interval. Uses
/// response time if known, else service time. A single run has no interval, and cannot hold a limit.
pub fn find_highest_within(limit_ns: u64, levels: &[LevelRuns]) -> WithinLimit {
    let upper_end = |level: &LevelRuns| level.spread(|run| run.waited().p99)?.hi;
    let unjudged = levels.iter().filter(|level| !level.blocks.is_empty() && upper_end(level).is_none()).count() as u32;
    let held = levels.iter().filter_map(|level| {
        let p99_hi_ns = upper_end(level)?;
        let rate = level.mean(|run| Some(run.rate))?;
        (p99_hi_ns <= limit_ns as f64).then_some(WithinPoint { level: level.level, rate, p99_hi_ns })
    });
    WithinLimit { limit_ns, best: held.max_by(|a, b| a.rate.total_cmp(&b.rate)), unjudged }
}

/// Facts about a size other than its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SizeFacts {
    /// Tier that was measured.
    pub tier: Option<TierName>,
    /// Level of the finding of B6.
    pub b6: Option<CheckLevel>,
}

/// Two neighbouring sizes, with their facts.
type Neighbours<'a> = [(&'a LevelRuns, SizeFacts)];

/// Finds the edge of the cache: the largest fall of the rate between two neighbouring sizes that is more than chance.
/// If no fall is proven, the largest one at which the tier shows that the bytes no longer come from the cache.
pub fn edge(levels: &[LevelRuns], facts: &[SizeFacts]) -> Option<CacheEdge> {
    let known: Vec<(&LevelRuns, SizeFacts)> =
        levels.iter().zip(facts.iter().copied()).filter(|(level, _)| !level.blocks.is_empty()).collect();
    let falls: Vec<(&Neighbours<'_>, RunSpread)> = known
        .windows(2)
        .filter_map(|pair| Some((pair, ratio(pair[0].0, pair[1].0, CONFIDENCE, |run| Some(run.rate))?)))
        .collect();
    let largest = |wanted: &dyn Fn(&Neighbours<'_>, &RunSpread) -> bool| {
        let wanted = falls.iter().filter(|(pair, ratio)| wanted(pair, ratio));
        wanted.min_by(|(_, a), (_, b)| a.value.total_cmp(&b.value)).copied()
    };
    let by_rate =
        |_: &Neighbours<'_>, ratio: &RunSpread| ratio.value <= EDGE_RATIO && ratio.hi.is_some_and(|hi| hi < 1.0);
    // The source of the bytes was observed, however much the rates vary.
    let by_tier = |pair: &Neighbours<'_>, ratio: &RunSpread| {
        let [before, after] = [pair[0].1.tier, pair[1].1.tier];
        let left = before == Some(TierName::Cache)
            && matches!(after, Some(TierName::Mixed | TierName::Device | TierName::Server));
        left && ratio.value <= EDGE_RATIO
    };
    let (pair, ratio) = largest(&by_rate).or_else(|| largest(&by_tier))?;
    let [(below, before), (above, after)] = pair else { return None };
    let cliff = [before.b6, after.b6];
    let b6 = if cliff.contains(&Some(CheckLevel::Warn)) || cliff == [Some(CheckLevel::Note), Some(CheckLevel::Pass)] {
        Agreement::Agrees
    } else if cliff.iter().all(Option::is_none) {
        Agreement::NotAsked
    } else {
        Agreement::Differs
    };
    Some(CacheEdge {
        below_bytes: below.level,
        above_bytes: above.level,
        ratio,
        tier_before: before.tier,
        tier_after: after.tier,
        b6,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Makes three runs of each level, which differ by `spread` as whole runs do.
    fn curve(points: &[(f64, f64, f64)], spread: f64) -> Vec<LevelRuns> {
        let run = |rate: f64, latency: f64, factor: f64| RunNumbers {
            rate: rate * factor,
            service: RunTimes {
                mean: Some(latency / factor),
                p99: Some(latency * 4.0 / factor),
                ..RunTimes::default()
            },
            ..RunNumbers::default()
        };
        let factors = [1.0 - spread, 1.0, 1.0 + spread];
        points
            .iter()
            .map(|&(level, rate, latency)| LevelRuns {
                level,
                blocks: (1..).zip(factors.map(|factor| run(rate, latency, factor))).collect(),
            })
            .collect()
    }

    /// M/M/1 with a service time of 1 ms: at most 1000 ops/s, mean response 1 ms / (1 − ρ).
    fn mm1() -> Vec<(f64, f64, f64)> {
        (1..20).map(|step| 0.05 * f64::from(step)).map(|load| (load, 1000.0 * load, 1e6 / (1.0 - load))).collect()
    }

    /// A closed queue before one station that serves 8 at once: the rate rises until 8 are in flight.
    fn closed() -> Vec<(f64, f64, f64)> {
        [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
            .map(|depth: f64| (depth, 1000.0 * depth.min(8.0), 1e6 * (depth / 8.0).max(1.0)))
            .to_vec()
    }

    /// Kleinrock's result for M/M/1.
    #[test]
    fn the_knee_of_an_open_queue_is_at_half_its_capacity() {
        let knee = knee(SweepKey::Rate, &curve(&mm1(), 0.0)).unwrap();
        assert!((knee.level - 0.5).abs() < 1e-9 && (knee.rate - 500.0).abs() < 1e-6, "{knee:?}");
        assert!((knee.latency_ns - 2e6).abs() < 1e-3);
        assert_eq!(knee.place, LevelPlace::Inside);
    }

    #[test]
    fn the_knee_of_a_closed_queue_is_where_it_saturates() {
        let levels = curve(&closed(), 0.01);
        let knee = knee(SweepKey::Depth, &levels).unwrap();
        assert_eq!((knee.level, knee.from, knee.to, knee.place), (8.0, 8.0, 8.0, LevelPlace::Inside));
        let saturation = saturation(SweepKey::Depth, &levels).unwrap();
        assert_eq!((saturation.level, saturation.perhaps, saturation.place), (8.0, 8.0, LevelPlace::Inside));
        assert!((saturation.rate_max - 8000.0).abs() < 1.0);
    }

    #[test]
    fn a_rate_that_still_rises_at_the_end_has_no_saturation() {
        let levels = curve(&closed()[..4], 0.01);
        assert_eq!(knee(SweepKey::Depth, &levels).unwrap().place, LevelPlace::Last);
        let saturation = saturation(SweepKey::Depth, &levels).unwrap();
        assert_eq!((saturation.place, saturation.rise), (LevelPlace::Last, Rise::Proven));
        assert_eq!(knee(SweepKey::Depth, &levels[..2]), None, "two points make no curve");
        assert_eq!(knee(SweepKey::Block, &levels), None, "a larger block is not more load");
    }

    /// A level whose mean alone is near the largest is reported, but as unproven.
    #[test]
    fn noise_proves_no_saturation() {
        let mut levels = curve(&closed(), 0.01);
        for (number, run) in levels[3].blocks.values_mut().enumerate() {
            run.rate *= [0.8, 1.0, 1.2][number];
        }
        let saturation = saturation(SweepKey::Depth, &levels).unwrap();
        assert_eq!((saturation.level, saturation.perhaps), (16.0, 8.0));
    }

    /// Protects: the sentence agrees with its table. Rates that fall after the largest are not
    /// called saturated from there on.
    #[test]
    fn a_rate_that_falls_is_not_called_saturated_from_there_on() {
        let points =
            [(1.0, 130.0, 7.7e6), (2.0, 310.0, 6.5e6), (4.0, 500.0, 8e6), (8.0, 465.0, 17e6), (16.0, 403.0, 40e6)];
        let falls = saturation(SweepKey::Depth, &curve(&points, 0.01)).unwrap();
        assert_eq!((falls.level, falls.perhaps, falls.to, falls.level_max), (4.0, 4.0, Some(4.0), 4.0));
        let beyond = falls.beyond.unwrap();
        assert!((beyond.level - 8.0).abs() < 1e-9 && (beyond.rate - 465.0).abs() < 1.0 && beyond.proven, "{beyond:?}");
        // A dip between two levels that are near the largest also ends the saturated range.
        let dip = [(1.0, 100.0, 1e6), (2.0, 490.0, 2e6), (4.0, 300.0, 3e6), (8.0, 500.0, 4e6), (16.0, 495.0, 8e6)];
        let dip = saturation(SweepKey::Depth, &curve(&dip, 0.01)).unwrap();
        assert_eq!((dip.perhaps, dip.to, dip.beyond), (8.0, Some(16.0), None));
    }

    /// Page, charts and JSON agree: if the runs do not distinguish levels, no knee is located.
    #[test]
    fn a_knee_between_levels_that_are_alike_is_not_located() {
        let found = |levels: &[LevelRuns]| knee(SweepKey::Depth, levels).unwrap().found;
        assert_eq!(found(&curve(&closed(), 0.01)), Some(KneeFound::Located));
        assert_eq!(found(&curve(&closed()[..4], 0.01)), Some(KneeFound::NotReached));
        assert_eq!(found(&curve(&closed()[3..], 0.01)), Some(KneeFound::AtOrBelow));
        let mut noisy = curve(&closed()[2..5], 0.0);
        for (at, level) in noisy.iter_mut().enumerate() {
            for (number, run) in level.blocks.values_mut().enumerate() {
                run.rate *= [0.2, 1.0, 5.0][(number + at) % 3];
            }
        }
        assert_eq!(found(&noisy), Some(KneeFound::Unlocated));
    }

    /// Indistinguishable neighbours are reported with it.
    #[test]
    fn a_flat_knee_is_a_range() {
        let mut points = closed();
        points[4].1 = 11_300.0;
        points[4].2 = 1.41e6;
        let mut levels = curve(&points, 0.0);
        for (number, run) in levels[4].blocks.values_mut().enumerate() {
            run.rate *= [0.99, 1.0, 1.01][number];
        }
        let knee = knee(SweepKey::Depth, &levels).unwrap();
        assert_eq!((knee.from, knee.to), (8.0, 16.0), "{knee:?}");
    }

    #[test]
    fn a_limit_is_held_by_the_upper_end_of_the_interval() {
        let levels = curve(&mm1(), 0.01);
        // p99 is four times the mean here: 8 ms at half load.
        let best = find_highest_within(8_000_000, &levels).best.unwrap();
        assert!((best.level - 0.45).abs() < 1e-9, "at 0.5 the mean is at the limit, and its interval beyond: {best:?}");
        assert!(best.p99_hi_ns <= 8e6);
        assert_eq!(find_highest_within(1000, &levels).best, None);
        let single: Vec<LevelRuns> = levels
            .iter()
            .map(|level| LevelRuns { blocks: level.blocks.clone().into_iter().take(1).collect(), ..level.clone() })
            .collect();
        assert_eq!(find_highest_within(u64::MAX, &single).best, None, "one run has no interval");
    }

    fn sizes() -> Vec<(f64, f64, f64)> {
        const MIB: f64 = (1 << 20) as f64;
        [(64.0, 1e6), (128.0, 9e5), (256.0, 2e5), (512.0, 9e4), (1024.0, 8e4)]
            .map(|(size, rate)| (size * MIB, rate, 1e9 / rate))
            .to_vec()
    }

    fn facts(b6: [Option<CheckLevel>; 5]) -> Vec<SizeFacts> {
        let tiers = [TierName::Cache, TierName::Cache, TierName::Mixed, TierName::Device, TierName::Device];
        b6.into_iter().zip(tiers).map(|(b6, tier)| SizeFacts { tier: Some(tier), b6 }).collect()
    }

    #[test]
    fn the_edge_is_the_largest_fall_and_b6_is_asked() {
        use CheckLevel::{Note, Pass, Warn};
        let levels = curve(&sizes(), 0.02);
        let warned = facts([Some(Note), Some(Note), Some(Warn), Some(Pass), Some(Pass)]);
        let edge_found = edge(&levels, &warned).unwrap();
        assert_eq!(edge_found.below_bytes, f64::from(128 << 20));
        assert_eq!(edge_found.above_bytes, f64::from(256 << 20));
        assert_eq!((edge_found.tier_before, edge_found.tier_after), (Some(TierName::Cache), Some(TierName::Mixed)));
        assert_eq!(edge_found.b6, Agreement::Agrees);
        let elsewhere = facts([Some(Note), Some(Note), Some(Note), Some(Warn), Some(Pass)]);
        assert_eq!(edge(&levels, &elsewhere).unwrap().b6, Agreement::Differs);
        assert_eq!(edge(&levels, &facts([None; 5])).unwrap().b6, Agreement::NotAsked);
    }

    /// On a busy machine the rates prove little, but the device that moved the bytes was observed.
    #[test]
    fn the_tier_shows_the_edge_if_rates_are_noisy() {
        let mut levels = curve(&sizes(), 0.0);
        for level in &mut levels {
            for (number, run) in level.blocks.values_mut().enumerate() {
                run.rate *= [0.2, 1.0, 5.0][(number + level.level as usize / (64 << 20)) % 3];
            }
        }
        let found = edge(&levels, &facts([None; 5])).unwrap();
        assert_eq!((found.below_bytes, found.above_bytes), (f64::from(128 << 20), f64::from(256 << 20)));
        assert!(found.ratio.hi.is_none_or(|hi| hi >= 1.0), "{found:?}");
        let all_cached = vec![SizeFacts { tier: Some(TierName::Cache), b6: None }; 5];
        assert_eq!(edge(&levels, &all_cached), None);
    }

    #[test]
    fn a_smooth_curve_has_no_edge() {
        let flat: Vec<(f64, f64, f64)> = sizes().into_iter().map(|(size, ..)| (size, 1e5, 1e4)).collect();
        assert_eq!(edge(&curve(&flat, 0.02), &facts([None; 5])), None);
    }

    /// Points without accepted runs are missing, and not 0: neighbours of a gap are compared across it.
    #[test]
    fn gaps_are_gaps() {
        let mut levels = curve(&closed(), 0.01);
        levels[3].blocks.clear();
        assert_eq!(levels[3].spread(|run| Some(run.rate)), None);
        assert!(
            [4.0, 16.0].contains(&knee(SweepKey::Depth, &levels).unwrap().level),
            "equal power on both sides of the gap"
        );
        assert_eq!(saturation(SweepKey::Depth, &levels).unwrap().level, 16.0);
        let none: Vec<LevelRuns> =
            levels.iter().map(|level| LevelRuns { level: level.level, ..LevelRuns::default() }).collect();
        assert_eq!((knee(SweepKey::Depth, &none), saturation(SweepKey::Depth, &none)), (None, None));
    }

    proptest! {
        #[test]
        fn a_spread_holds_its_mean(values in prop::collection::vec(1e-3..1e9f64, 1..12)) {
            let spread = spread(&values).unwrap();
            prop_assert_eq!(spread.runs as usize, values.len());
            if let (Some(lo), Some(hi)) = (spread.lo, spread.hi) {
                prop_assert!(lo <= spread.value * (1.0 + 1e-9) && spread.value <= hi * (1.0 + 1e-9));
            }
        }

        /// The findings do not depend on the unit of time or of the rate.
        #[test]
        fn the_unit_does_not_move_the_knee(scale in 1e-3..1e3f64) {
            let scaled: Vec<(f64, f64, f64)> = mm1().into_iter().map(|(l, r, t)| (l, r * scale, t / scale)).collect();
            prop_assert_eq!(
                knee(SweepKey::Rate, &curve(&scaled, 0.01)).unwrap().level,
                knee(SweepKey::Rate, &curve(&mm1(), 0.01)).unwrap().level
            );
        }
    }

    /// One run per level cannot distinguish levels: neither a knee nor a saturation is claimed.
    #[test]
    fn single_runs_claim_no_knee() {
        let level = |level: f64, rate: f64, mean: f64| {
            let run = RunNumbers {
                rate,
                service: RunTimes { mean: Some(mean), ..RunTimes::default() },
                ..RunNumbers::default()
            };
            LevelRuns { level, blocks: BTreeMap::from([(1, run)]) }
        };
        let levels = [level(1.0, 100.0, 10.0), level(2.0, 190.0, 10.5), level(4.0, 200.0, 20.0)];
        assert_eq!((knee(SweepKey::Depth, &levels), saturation(SweepKey::Depth, &levels)), (None, None));
        let mut repeated = levels.clone();
        for level in &mut repeated {
            let run = level.blocks[&1];
            level.blocks.insert(2, run);
        }
        assert_eq!(knee(SweepKey::Depth, &repeated).unwrap().level, 2.0);
        // The checks rejected the second run of the best level.
        repeated[1].blocks.remove(&2);
        assert_eq!(knee(SweepKey::Depth, &repeated), None);
    }
}
