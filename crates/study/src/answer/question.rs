//! Answers a question about a study's data other than its plan's. The plan stays unchanged: contrasts that it
//! declared keep their verdicts, and all others are exploratory.

use super::evidence::StudyEvidence;
use super::factor_levels::{FactorLevels, SecondQuestion, factor};
use super::question_error::QuestionError;
use super::{answer_second, contrasts, judged, messages, values};
use crate::file::known_metric;
use crate::plan::{ComparePlan, Plan, is_meant};
use plumb_result::Metric;
use plumb_result::metric::DeviceCount;
use plumb_result::study::{AskedQuestion, ComparedLevels, StudyContrast, StudyReport};
use std::collections::BTreeSet;

/// A question as typed. Parts that it omits come from the plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Question {
    /// The factor whose levels are compared, `F` or `F=A,B`. The first of the levels is the baseline. With a single
    /// level, the others are compared with it; without any, all are compared, in the plan's order.
    pub by: Option<String>,
    /// Factors whose levels are reported separately, `F,G`, or only some of their levels, `F=A,G`; an empty text
    /// averages over all. If omitted, and `by` is not the plan's, it is the plan's, and the plan's own `by`.
    pub within: Option<String>,
    /// Metrics by name or by their last parts. Each gets a verdict.
    pub metrics: Option<Vec<String>>,
}

/// Reports on a study with another question.
///
/// # Errors
/// The study has no such factor, level or metric, or nothing to compare.
pub fn answer_question(mut evidence: StudyEvidence, question: &Question) -> Result<StudyReport, QuestionError> {
    let asked = ResolvedQuestion::resolve(&evidence, question)?;
    let planned = compared(&evidence.plan);
    let declared = declared(&evidence, &asked);
    asked.put_into(&mut evidence.plan);
    let asked_for = ComparedLevels { within: asked.within_names(), ..compared(&evidence.plan) };
    let mut report = answer_second(&evidence, Some(&SecondQuestion { declared, within: asked.within }));
    let count = |of: fn(&StudyContrast) -> bool| report.contrasts.iter().filter(|one| of(one)).count() as u32;
    let (declared, exploratory) = (count(|one| one.primary), count(|one| one.exploratory));
    let note =
        messages::explain_question([&asked_for, &planned], [declared, exploratory], evidence.plan.compare.correction);
    report.asked = Some(AskedQuestion { note, asked: asked_for, planned, declared, exploratory });
    Ok(report)
}

/// A question that the study can answer.
struct ResolvedQuestion {
    /// Holds all compared levels, the baseline first.
    by: FactorLevels,
    within: Vec<FactorLevels>,
    metrics: Option<Vec<String>>,
}

impl ResolvedQuestion {
    fn resolve(evidence: &StudyEvidence, question: &Question) -> Result<ResolvedQuestion, QuestionError> {
        let plan = &evidence.plan;
        let by = match &question.by {
            Some(by) => FactorLevels::of_text(plan, "--by", by)?,
            None => FactorLevels::all(&plan.compare.by),
        };
        let factor = factor(plan, "--by", &by.factor)?;
        if let [only] = factor.levels.as_slice() {
            return Err(QuestionError::OneLevel { factor: factor.name.clone(), level: only.clone() });
        }
        let levels = match by.levels.as_slice() {
            [] => factor.levels.clone(),
            [baseline] => {
                let others = factor.levels.iter().filter(|level| *level != baseline);
                [baseline].into_iter().chain(others).cloned().collect()
            }
            several => several.to_vec(),
        };
        let within = match &question.within {
            Some(within) => FactorLevels::list(plan, "--within", within)?,
            None => {
                let own = (by.factor != plan.compare.by).then_some(&plan.compare.by);
                let names = own.into_iter().chain(&plan.compare.within).filter(|name| **name != by.factor);
                names.map(|name| FactorLevels::all(name)).collect()
            }
        };
        if within.iter().any(|one| one.factor == by.factor) {
            return Err(QuestionError::Compared { factor: by.factor });
        }
        let metrics = question.metrics.as_ref().map(|names| metrics(evidence, names)).transpose()?;
        let by = FactorLevels { factor: by.factor, levels };
        Ok(ResolvedQuestion { by, within: merged(within), metrics })
    }

    fn within_names(&self) -> Vec<String> {
        let name = |one: &FactorLevels| match one.levels.as_slice() {
            [] => vec![one.factor.clone()],
            levels => levels.iter().map(|level| format!("{}={level}", one.factor)).collect(),
        };
        self.within.iter().flat_map(name).collect()
    }

    fn put_into(&self, plan: &mut Plan) {
        let compare = &mut plan.compare;
        compare.by.clone_from(&self.by.factor);
        compare.within = self.within.iter().map(|one| one.factor.clone()).collect();
        if let Some(metrics) = &self.metrics {
            compare.metrics.clone_from(metrics);
            compare.primary.clear();
        }
        for factor in plan.factors.iter_mut().filter(|factor| factor.name == self.by.factor) {
            factor.levels.clone_from(&self.by.levels);
        }
    }
}

/// Merges `G=a` and `G=b` into `G=a,b`.
fn merged(within: Vec<FactorLevels>) -> Vec<FactorLevels> {
    let mut all: Vec<FactorLevels> = Vec::new();
    for one in within {
        match all.iter_mut().find(|known| known.factor == one.factor) {
            Some(known) if known.levels.is_empty() || one.levels.is_empty() => known.levels.clear(),
            Some(known) => known.levels.extend(one.levels),
            None => all.push(one),
        }
    }
    all
}

/// Resolves metrics to Plumb's names. Each must have a value in some run.
fn metrics(evidence: &StudyEvidence, names: &[String]) -> Result<Vec<String>, QuestionError> {
    let measured: BTreeSet<Metric> =
        BTreeSet::from_iter(values::numbers_of(evidence, |_| true).into_keys().map(|number| number.metric));
    let has = |name: &str| measured.iter().any(|&metric| is_meant(name, metric));
    names
        .iter()
        .map(|name| {
            let name = known_metric(name.trim());
            if has(&name) {
                return Ok(name);
            }
            // Device counts come after the metrics of the work.
            let is_count = |metric: &&Metric| DeviceCount::ALL.iter().any(|&count| **metric == Metric::device(count));
            let (counts, others): (Vec<&Metric>, Vec<&Metric>) = measured.iter().partition(is_count);
            let known = others.into_iter().chain(counts).map(Metric::to_string).collect();
            Err(QuestionError::Metric { name, known })
        })
        .collect()
}

/// Returns the contrasts that the plan declared and the question may ask for again.
fn declared(evidence: &StudyEvidence, asked: &ResolvedQuestion) -> Vec<StudyContrast> {
    let ComparePlan { by, within, .. } = &evidence.plan.compare;
    let told_apart = BTreeSet::from_iter(asked.within.iter().map(|one| one.factor.as_str()));
    if *by != asked.by.factor || told_apart != BTreeSet::from_iter(within.iter().map(String::as_str)) {
        return Vec::new();
    }
    let numbers = values::compared(&evidence.plan, values::numbers(evidence));
    let emulated = evidence.is_emulated();
    let judged = if emulated { Vec::new() } else { judged::judged(evidence, &numbers) };
    let ground = contrasts::Ground { emulated, forbids: judged::forbids(&judged) };
    let own = contrasts::contrasts(evidence, &numbers, ground, None);
    own.into_iter().filter(|one| one.primary).collect()
}

fn compared(plan: &Plan) -> ComparedLevels {
    let ComparePlan { by, within, metrics, .. } = &plan.compare;
    let levels = plan.factors.iter().find(|factor| factor.name == *by).map(|factor| factor.levels.clone());
    ComparedLevels {
        by: by.clone(),
        levels: levels.unwrap_or_default(),
        within: within.clone(),
        metrics: metrics.clone(),
    }
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
