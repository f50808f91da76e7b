//! The numbers of a gate: their selection, and the answer for each.

use crate::compare::claims::{better, cap};
use crate::compare::{ComparedCell, claims};
use crate::plan::is_meant;
use plumb_result::compare::{Capped, Floor};
use plumb_result::gate::{GateAnswer, GateNumber, GateUnit, LevelChange};
use plumb_result::{ContrastVerdict, Finding, Metric};
use plumb_stats::gate::{GateAssessment, GateNote, GateRule, GateVerdict, Objection, SESSIONS_MIN};
use plumb_trust::{NumberFound, Planned};
use plumb_workload_text::named::NamedWorkload;

/// No work has the requested number.
#[derive(Debug, thiserror::Error)]
#[error("--metrics {name}: no workload of this gate has it; there is {}", known.join(", "))]
pub struct WantedError {
    pub name: String,
    pub known: Vec<String>,
}

/// Returns the numbers that a gate of these works judges: their headline numbers, or those selected
/// by name or last parts.
///
/// # Errors
/// A name matches none of them.
pub fn planned(workloads: &[&'static NamedWorkload], metrics: &[String]) -> Result<Vec<Planned>, WantedError> {
    let all: Vec<Planned> = workloads
        .iter()
        .flat_map(|named| named.headline.iter().map(move |headline| (named.name, headline)))
        .filter_map(|(workload, headline)| {
            Some(Planned { workload: workload.to_owned(), metric: headline.parse().ok()? })
        })
        .collect();
    let wanted: Vec<String> = metrics.iter().map(|name| crate::file::known_metric(name.trim())).collect();
    let means = |name: &String, metric: Metric| is_meant(name, metric);
    if let Some(name) = wanted.iter().find(|name| !all.iter().any(|one| means(name, one.metric))) {
        let mut known: Vec<String> = all.iter().map(|one| one.metric.to_string()).collect();
        known.sort();
        known.dedup();
        return Err(WantedError { name: name.clone(), known });
    }
    let is_wanted = |one: &Planned| wanted.is_empty() || wanted.iter().any(|name| means(name, one.metric));
    Ok(all.into_iter().filter(is_wanted).collect())
}

/// The inputs of a number's answer other than its assessment.
pub(super) struct NumberContext<'a> {
    pub(super) values: [Vec<f64>; 2],
    pub(super) unit: GateUnit,
    pub(super) floor: Option<Floor>,
    /// Findings about both sides together.
    pub(super) findings: &'a [Finding],
    /// Another reason that forbids an answer.
    pub(super) forbids: Option<Capped>,
    pub(super) changes: Vec<LevelChange>,
}

/// Returns a number with its answer: that of the statistics, unless a check forbids it.
pub(super) fn number(
    cell: &ComparedCell,
    assessment: &GateAssessment,
    rule: &GateRule,
    context: NumberContext<'_>,
) -> GateNumber {
    let ratio = assessment.ratio;
    // To the checks, a pass is a claim of equality within the margin, and a regression is a claim of a difference.
    let (answer, uncapped, found) = match (assessment.verdict, ratio) {
        (GateVerdict::Pass, _) => {
            (GateAnswer::Pass, ContrastVerdict::Equivalent, NumberFound::Equal { margin: rule.margin })
        }
        (GateVerdict::Regression, Some(ratio)) => {
            (GateAnswer::Regression, ContrastVerdict::Slower, NumberFound::Difference { ratio: ratio.value })
        }
        (GateVerdict::Suspected, Some(ratio)) => {
            (GateAnswer::CannotTell, ContrastVerdict::Slower, NumberFound::Difference { ratio: ratio.value })
        }
        _ => (GateAnswer::CannotTell, ContrastVerdict::CannotTell, NumberFound::Nothing),
    };
    let capped = match uncapped {
        ContrastVerdict::CannotTell => None,
        _ => cap(uncapped, found, context.floor.as_ref(), context.findings).or(context.forbids),
    };
    let mean = |values: &[f64]| plumb_stats::summary::geometric_mean(values).ok();
    let note = match &capped {
        Some(capped) => Some(capped.reason.clone()),
        None => words(assessment.note, context.unit),
    };
    GateNumber {
        workload: cell.workload.clone(),
        phase: cell.phase.clone(),
        metric: cell.metric,
        answer: if capped.is_some() { GateAnswer::CannotTell } else { answer },
        suspected: assessment.verdict == GateVerdict::Suspected && capped.is_none(),
        note,
        capped: capped.map(|capped| capped.code),
        baseline_value: mean(&context.values[0]),
        candidate_value: mean(&context.values[1]),
        ratio: ratio.map(|ratio| ratio.value),
        lo: ratio.map(|ratio| ratio.lo),
        hi: ratio.map(|ratio| ratio.hi),
        confidence: ratio.map_or(1.0 - 2.0 * rule.alpha, |ratio| ratio.confidence),
        p_worse: assessment.p_worse,
        p_worse_adjusted: assessment.p_worse_adjusted,
        p_beyond: assessment.p_beyond,
        unit: context.unit,
        units: assessment.units,
        floor: context.floor,
        changes: context.changes,
    }
}

fn words(note: GateNote, unit: GateUnit) -> Option<String> {
    let text = match (note, unit) {
        (GateNote::None, _) => return None,
        (GateNote::TooFew, GateUnit::Block) => "too few blocks for any answer".to_owned(),
        (GateNote::TooFew, GateUnit::Plot) => "too few plots for any answer".to_owned(),
        (GateNote::TooFew, GateUnit::Session) => {
            format!("fewer than {SESSIONS_MIN} sessions say too little of how sessions differ")
        }
        (GateNote::WorseWithinMargin, _) => "worse, within the margin".to_owned(),
        (GateNote::ChanceAmongMany, _) => "possibly worse, but not significant among all numbers".to_owned(),
        (GateNote::OnlyInterval, _) => "the interval shows a regression, the permutation test does not".to_owned(),
        (GateNote::Objected(objection), _) => objected(objection).to_owned(),
        (GateNote::TooWide, _) => "too noisy: neither a regression nor its absence is shown".to_owned(),
    };
    Some(text)
}

/// Describes the other explanation of sessions that look worse.
fn objected(objection: Objection) -> &'static str {
    match objection {
        Objection::SeenBefore => "it looks worse, but the history has sessions that are equally bad",
        Objection::TooFewForFamily => {
            "it looks worse, but with this few sessions one of this many numbers does by chance; name fewer --metrics, or wait for \
             more sessions"
        }
        Objection::LevelsChange => {
            "it looks worse, but the level of this history changes by itself as often and as far"
        }
        Objection::SlowSessions => "it looks worse, but this history has single slow sessions as often and as slow",
        Objection::Falling => "it looks worse, but the history was falling before, and it lies on the line",
        Objection::Wanders => "it looks worse, but the history wanders, and has taken steps as large",
    }
}

/// Returns the direction of a number for the statistics.
pub(super) fn direction(cell: &ComparedCell) -> plumb_stats::verdict::Better {
    better(cell.metric)
}

/// Returns the sampling unit of these numbers.
pub(super) fn unit_of(rows: &claims::Rows) -> GateUnit {
    if rows.values().any(|rows| claims::has_several_plots(rows)) { GateUnit::Plot } else { GateUnit::Block }
}
