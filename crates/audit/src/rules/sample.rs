//! Rules about the size of the sample, and about how it is shown.

use super::rule::{AppliedTo, Draft, Rule, distinct, grouped, ids, listed, side_name};
use crate::form::TestOrder;
use crate::view::{CellView, View};
use plumb_result::Level;
use plumb_trust::MIN_RUNS_TO_CLAIM;
use plumb_trust::text::count;

pub(crate) static FEW_RUNS: Rule = Rule {
    code: "E1",
    name: "few-runs",
    what: "Fewer repetitions than a claim needs.",
    fix: "Repeat each test at least six times, in random order, and show the spread.",
    stage: AppliedTo::Study(few_runs),
};

pub(crate) static NO_SPREAD: Rule = Rule {
    code: "E1",
    name: "no-spread",
    what: "Repeated runs shown only as a mean.",
    fix: "Show the spread between runs next to each mean.",
    stage: AppliedTo::Study(no_spread),
};

pub(crate) static ORDER: Rule = Rule {
    code: "E5",
    name: "order",
    what: "Sides tested one after the other, so that drift over time affects one of them.",
    fix: "Test in blocks that contain every side, in random order.",
    stage: AppliedTo::Study(order),
};

pub(crate) static DRAWN_AS_ZERO: Rule = Rule {
    code: "E9",
    name: "drawn-as-zero",
    what: "Missing numbers that a chart or table shows as a number.",
    fix: "Leave the field empty and say why.",
    stage: AppliedTo::Study(drawn_as_zero),
};

pub(crate) static SELECTED: Rule = Rule {
    code: "E10",
    name: "selected",
    what: "Levels that were run but are not shown.",
    fix: "Show every level that was run, or say how many were left out and why.",
    stage: AppliedTo::Study(selected),
};

pub(crate) static UNUSED: Rule = Rule {
    code: "E10",
    name: "unused",
    what: "Results of the command that the study does not show.",
    fix: "Show them, or do not measure them.",
    stage: AppliedTo::Study(unused),
};

/// Returns the probability that two equal systems differ by a ratio of `ratio` or more, if each is the mean of `runs`
/// runs with spread `cv`. Uses a normal distribution on a log scale; its tail is Abramowitz and Stegun 7.1.26.
pub(crate) fn by_chance(ratio: f64, cv: f64, runs: u32) -> f64 {
    let z = ratio.ln().abs() / (cv * (2.0 / f64::from(runs.max(1))).sqrt());
    let x = z / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let series = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let polynomial = series.iter().fold(0.0, |sum, coefficient| (sum + coefficient) * t);
    (polynomial * (-x * x).exp()).clamp(0.0, 1.0)
}

fn few_runs(view: &View<'_>) -> Vec<Draft> {
    let few = view
        .cells
        .iter()
        .filter(|cell| cell.cell.value.is_some() && cell.repetitions.is_none_or(|runs| runs < MIN_RUNS_TO_CLAIM));
    grouped(few, |cell| cell.repetitions)
        .into_iter()
        .map(|(runs, cells)| {
            let stated = match runs {
                Some(runs) => count(u64::from(runs), "run"),
                None => "an unstated number of runs, so probably 1 run,".to_owned(),
            };
            // Differences of pairs that are drawn from one distribution.
            let chance = by_chance(1.05, 0.05, runs.unwrap_or(1)) * 100.0;
            Draft {
                level: Level::Warn,
                cells: ids(cells.iter().copied()),
                observed: runs.map_or("not stated".to_owned(), |runs| count(u64::from(runs), "run")),
                message: format!(
                    "Each number comes from {stated}; a claim needs {MIN_RUNS_TO_CLAIM}: if runs spread by 5 %, two \
                     equal systems differ by 5 % or more in {chance:.0} % of such comparisons."
                ),
            }
        })
        .collect()
}

fn no_spread(view: &View<'_>) -> Vec<Draft> {
    let bare: Vec<&CellView<'_>> = view
        .cells
        .iter()
        .filter(|cell| {
            cell.cell.value.is_some() && cell.spread.is_none() && cell.repetitions.is_some_and(|runs| runs > 1)
        })
        .collect();
    if bare.is_empty() {
        return Vec::new();
    }
    vec![Draft {
        level: Level::Warn,
        cells: ids(bare.iter().copied()),
        observed: "no spread".to_owned(),
        message: "Only means of repeated runs are shown: a difference cannot be distinguished from noise.".to_owned(),
    }]
}

fn order(view: &View<'_>) -> Vec<Draft> {
    if view.study.side.len() < 2 {
        return Vec::new();
    }
    let message = match view.study.study.order {
        TestOrder::Randomised => return Vec::new(),
        TestOrder::Fixed => "The sides were tested in a fixed order: drift over time affects one of them.",
        TestOrder::NotStated => "The order of the tests is not stated: drift over time may affect one side.",
    };
    vec![Draft {
        level: Level::Warn,
        cells: Vec::new(),
        observed: match view.study.study.order {
            TestOrder::Fixed => "fixed".to_owned(),
            _ => "not stated".to_owned(),
        },
        message: message.to_owned(),
    }]
}

fn drawn_as_zero(view: &View<'_>) -> Vec<Draft> {
    let drawn: Vec<&CellView<'_>> =
        view.cells.iter().filter(|cell| cell.cell.missing.is_some() && cell.cell.drawn.is_some()).collect();
    let sides: Vec<String> = distinct(drawn.iter().map(|cell| side_name(view.study, &cell.cell.side).to_owned()));
    let Some(first) = drawn.first() else { return Vec::new() };
    let (Some(shown), Some(why)) = (&first.cell.drawn, &first.cell.missing) else { return Vec::new() };
    vec![Draft {
        level: Level::Fail,
        cells: ids(drawn.iter().copied()),
        observed: format!("{} shown as {shown}", count(drawn.len() as u64, "missing number")),
        message: format!(
            "{} of {} {} missing ({why}) and shown as {shown}, which looks like a measurement.",
            count(drawn.len() as u64, "number"),
            listed(&sides),
            if drawn.len() == 1 { "is" } else { "are" }
        ),
    }]
}

fn selected(view: &View<'_>) -> Vec<Draft> {
    let mut found = Vec::new();
    for factor in &view.study.factor {
        let left_out: Vec<String> = factor.run.iter().filter(|level| !factor.shown.contains(level)).cloned().collect();
        if !left_out.is_empty() {
            found.push(Draft {
                level: Level::Warn,
                cells: Vec::new(),
                observed: format!("{} of {} shown", factor.shown.len(), factor.run.len()),
                message: format!(
                    "Of the {} levels of {} that were run, only {} {} shown; {} {} not.",
                    factor.run.len(),
                    factor.name,
                    listed(&factor.shown),
                    if factor.shown.len() == 1 { "is" } else { "are" },
                    listed(&left_out),
                    if left_out.len() == 1 { "is" } else { "are" }
                ),
            });
        }
    }
    found
}

fn unused(view: &View<'_>) -> Vec<Draft> {
    let mut found = Vec::new();
    let with_command = view.tests.iter().enumerate().filter(|(_, test)| !test.actions.is_empty());
    for (command, tests) in grouped(with_command, |(_, test)| test.test.command.clone()) {
        let Some((_, first)) = tests.first() else { continue };
        let yields: Vec<_> = first.actions.iter().flat_map(crate::command::CommandAction::yields).collect();
        let of_tests = || tests.iter().flat_map(|(index, _)| view.of_test(*index));
        let left: Vec<String> = yields
            .iter()
            .filter(|metric| !of_tests().any(|cell| cell.cell.metric == **metric))
            .map(|metric| metric.name().to_owned())
            .collect();
        // If a test shows its numbers only in pictures, there is nothing to compare.
        let any_shown = of_tests().any(|cell| cell.cell.value.is_some());
        if command.is_some() && any_shown && !left.is_empty() {
            found.push(Draft {
                level: Level::Warn,
                cells: ids(of_tests()),
                observed: format!("{} of {} shown", yields.len() - left.len(), yields.len()),
                message: format!(
                    "{} ({}) gives {} results; {} of them are not shown: {}.",
                    first.test.id,
                    first.test.tool,
                    yields.len(),
                    left.len(),
                    listed(&left)
                ),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with tables of the normal distribution: two-sided 1.96 is 5 %, 1 is 31.7 %.
    #[test]
    fn chance_is_the_normal_tail() {
        let at = |z: f64| by_chance((z * 0.05 * 2.0_f64.sqrt()).exp(), 0.05, 1);
        for (z, p) in [(0.0, 1.0), (1.0, 0.3173), (1.959_964, 0.05), (3.0, 0.0027)] {
            assert!((at(z) - p).abs() < 1e-4, "{z}: {}", at(z));
        }
        assert!(by_chance(1.05, 0.05, 6) < by_chance(1.05, 0.05, 1));
    }
}
