//! Verdicts of a study's family, from drawn numbers: many contrasts of few units are tried thousands of times, which whole
//! studies would take days for. The rule and the correction are those that judge real studies.

use super::scenario::{Counted, Drawn, Noise, Truth};
use super::trial::Outcome;
use anyhow::{Context, Result, bail};
use plumb_stats::power::{PlannedFamily, claimable_ratio};
use plumb_stats::random::SplitMix;
use plumb_stats::{Assessment, Better, Compared, Family, ReplicationUnit, Sides, Verdict, VerdictRule, assess_family};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The chance with which a plan promises to find a difference.
const PROMISED: f64 = 0.8;

/// Draws a study, judges it, and says what each line sees.
pub fn run<'a>(drawn: &Drawn, seed: u64, counted: impl Iterator<Item = &'a Counted>) -> Result<Vec<Outcome>> {
    let found = study(drawn, seed)?;
    let is_claim = |one: &Assessment| matches!(one.verdict, Verdict::Faster(_) | Verdict::Slower(_));
    counted
        .map(|counted| {
            let hit = match counted {
                Counted::Claim => found.iter().any(is_claim),
                Counted::Slower => matches!(found[0].verdict, Verdict::Slower(_)),
                other => bail!("drawn numbers have no {other:?}"),
            };
            Ok(if hit { Outcome::Hit } else { Outcome::Miss })
        })
        .collect()
}

/// The verdicts of one drawn study.
pub fn study(drawn: &Drawn, seed: u64) -> Result<Vec<Assessment>> {
    let mut random = SplitMix::new(seed);
    let ratio = match drawn.truth {
        Truth::Equal => 1.0,
        Truth::Promised => promised(drawn)?,
    };
    let rule = VerdictRule::default();
    let units = drawn.units as usize;
    let mut numbers = Vec::new();
    for contrast in 0..drawn.contrasts {
        let (baseline, mut candidate) = drawn.noise.sides(&mut random, drawn.spread, units);
        if contrast == 0 {
            candidate.iter_mut().flatten().for_each(|value| *value /= ratio);
        }
        numbers.push((baseline, candidate));
    }
    let as_blocks: Vec<(Vec<f64>, Vec<f64>)> = numbers.iter().map(|(a, b)| (first(a), first(b))).collect();
    let compared: Vec<Compared<'_>> = numbers
        .iter()
        .zip(&as_blocks)
        .map(|((one, other), (baseline, candidate))| {
            let sides = match drawn.unit {
                ReplicationUnit::Plot => Sides::Plots { baseline: one, candidate: other },
                ReplicationUnit::Block => Sides::Blocks { baseline, candidate },
                ReplicationUnit::Run => Sides::Apart { baseline: one, candidate: other },
            };
            Compared { sides, better: Better::Higher }
        })
        .collect();
    Ok(assess_family(&compared, &rule, Family::Holm)?)
}

/// The first run of each unit.
fn first(units: &[Vec<f64>]) -> Vec<f64> {
    units.iter().filter_map(|runs| runs.first().copied()).collect()
}

/// The ratio that a plan of this family promises to find, computed once for each.
fn promised(drawn: &Drawn) -> Result<f64> {
    static KNOWN: Mutex<BTreeMap<(u32, u32, u64), f64>> = Mutex::new(BTreeMap::new());
    let key = (drawn.contrasts, drawn.units, drawn.spread.to_bits() ^ u64::from(drawn.unit == ReplicationUnit::Plot));
    if let Some(known) = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Ok(*known);
    }
    let planned = PlannedFamily {
        units: drawn.units,
        unit: drawn.unit,
        spread: drawn.spread * 2f64.sqrt(),
        verdicts: drawn.contrasts,
    };
    let ratio = claimable_ratio(planned, &VerdictRule::default(), PROMISED)?.context("this family promises nothing")?;
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(key, ratio);
    Ok(ratio)
}

/// The runs of each unit of a side: one each, but where runs are rejected.
type Units = Vec<Vec<f64>>;

impl Noise {
    /// Both sides of a study. A block holds one unit of each, in random order; noise with a memory runs on from unit to unit,
    /// whatever side that is of.
    fn sides(self, random: &mut SplitMix, spread: f64, units: usize) -> (Units, Units) {
        let (mut baseline, mut candidate) = (Units::new(), Units::new());
        let mut weather = Weather { last: random.normal(), burst: false };
        for _ in 0..units {
            let candidate_first = random.unit() < 0.5;
            for is_candidate in [candidate_first, !candidate_first] {
                let unit = self.unit(random, spread, &mut weather, is_candidate);
                if is_candidate { candidate.push(unit) } else { baseline.push(unit) }
            }
        }
        (baseline, candidate)
    }

    fn unit(self, random: &mut SplitMix, spread: f64, weather: &mut Weather, is_candidate: bool) -> Vec<f64> {
        let noise = spread * random.normal();
        let log = match self {
            Noise::Normal => noise,
            Noise::SlowRejected => {
                // Runs far below the usual are lost, as to a check that rejects by outcome; one is always left.
                let mut logs: Vec<f64> = (0..3).map(|_| spread * random.normal()).collect();
                logs.sort_by(f64::total_cmp);
                let lost = logs[..2].iter().filter(|log| **log < -1.3 * spread).count();
                return logs[lost..].iter().map(|log| log.exp()).collect();
            }
            Noise::Unequal(times) => noise * if is_candidate { times } else { 1.0 },
            Noise::StudentT(freedom) => {
                let chi_squared: f64 = (0..freedom).map(|_| random.normal().powi(2)).sum();
                noise / (chi_squared / f64::from(freedom)).sqrt()
            }
            Noise::Autocorrelated(kept) => {
                weather.last = kept * weather.last + (1.0 - kept * kept).sqrt() * random.normal();
                spread * weather.last
            }
            Noise::Bursts { share, slow } => {
                // A burst lasts for four units on average.
                weather.burst = random.unit() < if weather.burst { 0.75 } else { share / (1.0 - share) / 4.0 };
                noise - if weather.burst { f64::ln_1p(slow) } else { 0.0 }
            }
            Noise::SlowMode { share, slow } => noise - if random.unit() < share { f64::ln_1p(slow) } else { 0.0 },
        };
        vec![log.exp()]
    }
}

/// What noise remembers from one unit to the next.
struct Weather {
    last: f64,
    burst: bool,
}
