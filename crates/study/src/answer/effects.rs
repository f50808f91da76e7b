//! Effects of the factors to a number, alone and together, and how much share of variation that is.

use super::values::{CountedValue, WorkNumber, WorkNumbers, is_hard};
use crate::plan::Plan;
use plumb_result::short_list;
use plumb_result::study::{EffectLine, EffectTable};
use plumb_stats::factorial::{TwoLevel, two_level};
use plumb_stats::geometric_mean;
use plumb_stats::split_plot::{SplitPlot, split_plot};
use std::collections::BTreeMap;

/// A table for each number whose design is whole and balanced over the factors that were asked for.
pub(super) fn effects(plan: &Plan, numbers: &WorkNumbers) -> Vec<EffectTable> {
    let asked = |name: &str| plan.compare.effects.is_empty() || plan.compare.effects.iter().any(|one| one == name);
    numbers
        .iter()
        // Counts may be the same in every run: of no variation there are no shares.
        .filter(|(_, values)| values.iter().any(|value| value.value != values[0].value))
        .filter_map(|(number, values)| {
            // A factor that chooses the work has one level in all values of that work.
            let factors: Vec<Varied> = plan
                .factors
                .iter()
                .filter(|factor| asked(&factor.name))
                .map(|factor| Varied::of(plan, &factor.name, &factor.levels, values))
                .filter(|factor| factor.levels.len() > 1)
                .collect();
            table(plan, number, values, &factors)
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
    fn of(plan: &Plan, name: &str, levels: &[String], values: &[CountedValue]) -> Varied {
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

fn table(plan: &Plan, number: &WorkNumber, values: &[CountedValue], factors: &[Varied]) -> Option<EffectTable> {
    let (hard, easy): (Vec<&Varied>, Vec<&Varied>) = factors.iter().partition(|factor| factor.hard);
    if factors.len() < 2 {
        return None;
    }
    let mixed = !hard.is_empty() && !easy.is_empty();
    let strata = if mixed { split(plan, values, &hard, &easy) } else { None };
    let (method, lines) = if factors.iter().all(|factor| factor.levels.len() == 2) {
        let signs = signs(plan, values, factors)?;
        ("sign-table", sign_lines(&signs, factors, mixed))
    } else {
        ("split-plot", Vec::new())
    };
    let mut lines = lines;
    match strata {
        Some(strata) if lines.is_empty() => lines = strata_lines(&strata, &hard, &easy),
        // With two kinds of error, p of the sign table would hold hard factors against the wrong one.
        Some(strata) if factors.len() == 2 => {
            for line in &mut lines {
                line.p = match line.factors.as_slice() {
                    [one] if *one == hard[0].name => Some(strata.whole.p),
                    [_] => Some(strata.sub.p),
                    [_, _] => Some(strata.interaction.p),
                    _ => None,
                };
            }
        }
        _ => {}
    }
    (!lines.is_empty()).then(|| EffectTable {
        workload: number.workload.clone(),
        phase: number.phase.clone(),
        metric: number.metric,
        method: method.to_owned(),
        lines,
    })
}

/// The sign table over plots: the values of a cell are one for each plot, or runs where there is but one plot.
fn signs(plan: &Plan, values: &[CountedValue], factors: &[Varied]) -> Option<TwoLevel> {
    let mut cells: Vec<BTreeMap<u32, Vec<f64>>> = vec![BTreeMap::new(); 1 << factors.len()];
    for value in values {
        let mut cell = 0;
        for (bit, factor) in factors.iter().enumerate() {
            cell |= factor.level_of(plan, value)? << bit;
        }
        cells[cell].entry(value.plot).or_default().push(value.value);
    }
    let one_plot = cells.iter().all(|plots| plots.len() == 1);
    let of_cell = |plots: BTreeMap<u32, Vec<f64>>| -> Vec<f64> {
        if one_plot {
            plots.into_values().flatten().collect()
        } else {
            plots.into_values().filter_map(|runs| geometric_mean(&runs).ok()).collect()
        }
    };
    two_level(&cells.into_iter().map(of_cell).collect::<Vec<_>>()).ok()
}

fn sign_lines(table: &TwoLevel, factors: &[Varied], mixed: bool) -> Vec<EffectLine> {
    let mut lines: Vec<EffectLine> = table
        .terms
        .iter()
        .map(|term| {
            let names: Vec<String> = factors
                .iter()
                .enumerate()
                .filter(|(bit, _)| term.factors & (1 << bit) != 0)
                .map(|(_, factor)| factor.name.clone())
                .collect();
            EffectLine {
                name: names.join(" × "),
                ratio: (names.len() == 1).then_some(term.ratio),
                share: term.share,
                p: term.p.filter(|_| !mixed),
                factors: names,
            }
        })
        .collect();
    lines.push(error("between provisionings of one cell", table.error_share));
    lines
}

/// All hard factors together as the whole plots' factor, all easy ones together as the other: `values[a][plot][b]`.
fn split(plan: &Plan, values: &[CountedValue], hard: &[&Varied], easy: &[&Varied]) -> Option<SplitPlot> {
    let place = |factors: &[&Varied], value: &CountedValue| -> Option<usize> {
        let mut place = 0;
        for factor in factors {
            place = place * factor.levels.len() + factor.level_of(plan, value)?;
        }
        Some(place)
    };
    let count = |factors: &[&Varied]| factors.iter().map(|factor| factor.levels.len()).product::<usize>();
    let mut wholes: Vec<BTreeMap<u32, BTreeMap<usize, Vec<f64>>>> = vec![BTreeMap::new(); count(hard)];
    for value in values {
        let plots = &mut wholes[place(hard, value)?];
        plots.entry(value.plot).or_default().entry(place(easy, value)?).or_default().push(value.value);
    }
    let subs = count(easy);
    let design: Vec<Vec<Vec<f64>>> = wholes
        .into_iter()
        .map(|plots| {
            let whole = plots.into_values().filter(|cells| cells.len() == subs);
            whole.map(|cells| cells.into_values().filter_map(|runs| geometric_mean(&runs).ok()).collect()).collect()
        })
        .collect();
    split_plot(&design).ok()
}

fn strata_lines(table: &SplitPlot, hard: &[&Varied], easy: &[&Varied]) -> Vec<EffectLine> {
    let names = |factors: &[&Varied]| factors.iter().map(|factor| factor.name.clone()).collect::<Vec<String>>();
    let (whole, sub) = (names(hard), names(easy));
    let both: Vec<String> = whole.iter().chain(&sub).cloned().collect();
    let line = |names: &[String], share: f64, p: f64| EffectLine {
        factors: names.to_vec(),
        name: names.join(" × "),
        share,
        ratio: None,
        p: Some(p),
    };
    let mut lines = vec![
        line(&whole, table.whole.line.share, table.whole.p),
        line(&sub, table.sub.line.share, table.sub.p),
        line(&both, table.interaction.line.share, table.interaction.p),
    ];
    short_list::sort_by(&mut lines, |one, other| other.share.total_cmp(&one.share));
    lines.push(error("between provisionings", table.plots.share));
    lines.push(error("within provisionings", table.within.share));
    lines
}

fn error(name: &str, share: f64) -> EffectLine {
    EffectLine { factors: Vec::new(), name: name.to_owned(), share, ratio: None, p: None }
}
