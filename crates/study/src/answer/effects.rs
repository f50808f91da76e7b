//! Effects of all factors on a number, alone and in pairs, with intervals. Also shares of variation, if
//! every cell has a value.

use super::values::{CountedValue, WorkNumber, WorkNumbers, is_hard};
use crate::compare::claims;
use crate::plan::Plan;
use plumb_result::study::{EffectLine, EffectTable};
use plumb_stats::effects::{NotEstimable, PlotValues, contrast, shares};
use plumb_stats::estimate::Estimate;
use plumb_stats::geometric_mean;
use plumb_stats::verdict::Better;
use std::collections::{BTreeMap, BTreeSet};

const CONFIDENCE: f64 = 0.95;

/// Returns a table for each number that two or more factors vary.
pub(super) fn effects(plan: &Plan, numbers: &WorkNumbers) -> Vec<EffectTable> {
    let asked = |name: &str| plan.compare.effects.is_empty() || plan.compare.effects.iter().any(|one| one == name);
    numbers
        .iter()
        // Counts may be the same in every run, or 0: then there are no ratios.
        .filter(|(_, values)| values.iter().any(|value| value.value != values[0].value))
        .filter(|(_, values)| values.iter().all(|value| value.value > 0.0))
        .filter_map(|(number, values)| {
            // A factor that chooses the work has one level in all values of that work.
            let factors: Vec<Varied> = plan
                .factors
                .iter()
                .filter(|factor| asked(&factor.name))
                .map(|factor| Varied::new(plan, &factor.name, &factor.levels, values))
                .filter(|factor| factor.levels.len() > 1)
                .collect();
            (factors.len() > 1).then(|| Design::new(plan, values, factors).table(number))
        })
        .collect()
}

/// A factor with those of its levels that a number has values of.
struct Varied {
    name: String,
    levels: Vec<String>,
    hard: bool,
}

impl Varied {
    fn new(plan: &Plan, name: &str, levels: &[String], values: &[CountedValue]) -> Varied {
        let is_there = |level: &&String| {
            values.iter().any(|value| plan.cells[value.cell as usize].levels.get(name) == Some(level))
        };
        Varied {
            name: name.to_owned(),
            levels: levels.iter().filter(is_there).cloned().collect(),
            hard: is_hard(plan, name),
        }
    }

    fn level_of(&self, plan: &Plan, value: &CountedValue) -> Option<usize> {
        let level = plan.cells[value.cell as usize].levels.get(&self.name)?;
        self.levels.iter().position(|known| known == level)
    }
}

/// The values of a number, by plots and by combinations of levels. Hard factors come first.
struct Design {
    factors: Vec<Varied>,
    hard: usize,
    plots: Vec<PlotValues>,
}

/// The values of a unit's runs, by combination of hard and of easy levels.
type Cells = BTreeMap<(usize, usize), Vec<f64>>;

/// A factor and one of its levels, compared with the factor's first level.
type Step = (usize, usize);

impl Design {
    fn new(plan: &Plan, values: &[CountedValue], factors: Vec<Varied>) -> Design {
        let (mut factors, easy): (Vec<Varied>, Vec<Varied>) = factors.into_iter().partition(|factor| factor.hard);
        let hard = factors.len();
        factors.extend(easy);
        let mut design = Design { factors, hard, plots: Vec::new() };
        let one_plot = values.iter().all(|value| value.plot == values[0].plot);
        // On a single plot its repetitions are the units: each contains every combination once.
        let unit = |value: &CountedValue| if one_plot { (value.plot, value.repeat) } else { (value.plot, 0) };
        let mut units: BTreeMap<(u32, u32), Cells> = BTreeMap::new();
        for value in values {
            let place = |factors: &[Varied]| {
                factors
                    .iter()
                    .try_fold(0, |place, factor| Some(place * factor.levels.len() + factor.level_of(plan, value)?))
            };
            let Some(place) = place(&design.factors[..hard]).zip(place(&design.factors[hard..])) else { continue };
            units.entry(unit(value)).or_default().entry(place).or_default().push(value.value);
        }
        for cells in units.into_values() {
            let wholes = BTreeSet::from_iter(cells.keys().map(|(whole, _)| *whole));
            for whole in wholes {
                let of_sub = |sub| cells.get(&(whole, sub)).and_then(|runs| geometric_mean(runs).ok()).map(f64::ln);
                design.plots.push(PlotValues { whole, logs: (0..design.subs()).map(of_sub).collect() });
            }
        }
        design
    }

    fn subs(&self) -> usize {
        combinations(&self.factors[self.hard..])
    }

    fn table(&self, number: &WorkNumber) -> EffectTable {
        let better = claims::better(number.metric);
        // A rate that doubles and a latency that halves are both twice as good; counts have no direction here.
        let turns = number.metric.device_count().is_none() && better == Better::Lower;
        let shares = self.shares();
        let mut lines = Vec::new();
        for (at, term) in self.terms().into_iter().enumerate() {
            let share = shares.as_ref().map(|(terms, _, _)| terms[at]);
            for (first, steps) in self.steps(&term).into_iter().enumerate() {
                // The share belongs to the whole term.
                lines.push(self.line(&steps, share.filter(|_| first == 0), turns));
            }
        }
        if let Some((_, rest, error)) = shares {
            if self.factors.len() > 2 {
                lines.push(only_share("interactions of three and more", rest));
            }
            lines.push(only_share("between plots of one cell", error));
        }
        EffectTable {
            workload: number.workload.clone(),
            phase: number.phase.clone(),
            metric: number.metric,
            method: "contrasts".to_owned(),
            lines,
        }
    }

    /// Returns main effects first, then pairs.
    fn terms(&self) -> Vec<Vec<usize>> {
        let count = self.factors.len();
        let pairs = (0..count).flat_map(|one| (one + 1..count).map(move |other| vec![one, other]));
        (0..count).map(|one| vec![one]).chain(pairs).collect()
    }

    /// Returns every level of the term's factors against the first.
    fn steps(&self, term: &[usize]) -> Vec<Vec<Step>> {
        let mut all: Vec<Vec<Step>> = vec![Vec::new()];
        for &factor in term {
            let levels = 1..self.factors[factor].levels.len();
            all = all
                .iter()
                .flat_map(|known| levels.clone().map(move |level| [known.as_slice(), &[(factor, level)]].concat()))
                .collect();
        }
        all
    }

    fn line(&self, steps: &[Step], share: Option<f64>, turns: bool) -> EffectLine {
        let weights = |factors: std::ops::Range<usize>| {
            factors.fold(vec![1.0], |weights, factor| {
                let levels = self.factors[factor].levels.len();
                let step = steps.iter().find(|(of, _)| *of == factor).map(|(_, level)| *level);
                let weight = |level: usize| match step {
                    None => 1.0 / levels as f64,
                    Some(_) if level == 0 => -1.0,
                    Some(step) => f64::from(u8::from(level == step)),
                };
                weights
                    .iter()
                    .flat_map(|weight_so_far| (0..levels).map(move |level| weight_so_far * weight(level)))
                    .collect()
            })
        };
        let found = contrast(&self.plots, &weights(0..self.hard), &weights(self.hard..self.factors.len()));
        let ratio = |log: f64| if turns { (-log).exp() } else { log.exp() };
        let factors: Vec<String> = steps.iter().map(|(factor, _)| self.factors[*factor].name.clone()).collect();
        let mut line = EffectLine {
            name: factors.join(" × "),
            factors,
            levels: steps.iter().map(|(factor, level)| self.factors[*factor].levels[*level].clone()).collect(),
            against: steps.iter().map(|(factor, _)| self.factors[*factor].levels[0].clone()).collect(),
            share,
            ratio: None,
            lo: None,
            hi: None,
            p: None,
            reason: None,
        };
        match found {
            Ok(estimate) => {
                line.ratio = Some(ratio(estimate.log_mean));
                line.p = Some(estimate.p());
                match interval(&estimate) {
                    Some([lo, hi]) => {
                        (line.lo, line.hi) = (Some(ratio(lo).min(ratio(hi))), Some(ratio(lo).max(ratio(hi))))
                    }
                    None => line.reason = Some("no spread to compare it with".to_owned()),
                }
            }
            Err(NotEstimable::NoReplicates { log_mean }) => {
                line.ratio = Some(ratio(log_mean));
                line.reason = Some("no interval: no combination of levels has two plots".to_owned());
            }
            Err(NotEstimable::EmptyCell { whole }) => {
                line.reason = Some(format!("cannot be estimated: {} lacks values", self.cell(whole)));
            }
            Err(NotEstimable::Input(_)) => {
                line.reason = Some("cannot be estimated: a value is not a number".to_owned())
            }
        }
        line
    }

    /// Returns the levels of the hard factors of a combination, or `some combination` if it has none.
    fn cell(&self, whole: usize) -> String {
        let mut rest = whole;
        let mut names = Vec::new();
        for factor in self.factors[..self.hard].iter().rev() {
            names.push(format!("{} {}", factor.name, factor.levels[rest % factor.levels.len()]));
            rest /= factor.levels.len();
        }
        names.reverse();
        if names.is_empty() { "a combination of levels".to_owned() } else { names.join(", ") }
    }

    /// Returns the shares of the terms, of the rest between cells, and of the error; `None` if a cell has no value.
    fn shares(&self) -> Option<(Vec<f64>, f64, f64)> {
        let levels: Vec<usize> = self.factors.iter().map(|factor| factor.levels.len()).collect();
        let mut cells: Vec<Vec<f64>> = vec![Vec::new(); combinations(&self.factors)];
        for plot in &self.plots {
            for (sub, log) in plot.logs.iter().enumerate() {
                cells[plot.whole * self.subs() + sub].extend(log);
            }
        }
        let terms: Vec<u32> =
            self.terms().iter().map(|term| term.iter().fold(0, |bits, at| bits | (1 << at))).collect();
        let found = shares(&levels, &cells, &terms).ok()?;
        Some((found.terms, found.rest, found.error))
    }
}

fn combinations(factors: &[Varied]) -> usize {
    factors.iter().map(|factor| factor.levels.len()).product()
}

/// Returns both ends, as logarithms; `None` if the values have no spread.
fn interval(estimate: &Estimate) -> Option<[f64; 2]> {
    let half = estimate.log_half_width(CONFIDENCE).ok().filter(|half| *half > 0.0)?;
    Some([estimate.log_mean - half, estimate.log_mean + half])
}

fn only_share(name: &str, share: f64) -> EffectLine {
    EffectLine {
        factors: Vec::new(),
        name: name.to_owned(),
        levels: Vec::new(),
        against: Vec::new(),
        share: Some(share),
        ratio: None,
        lo: None,
        hi: None,
        p: None,
        reason: None,
    }
}
