//! Factors of a plan and their levels, as questions name them.

use super::question_error::QuestionError;
use crate::plan::{FactorPlan, Levels, Plan};
use plumb_result::study::StudyContrast;

/// A factor of a plan, and some of its levels; an empty list means all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FactorLevels {
    pub(crate) factor: String,
    pub(crate) levels: Vec<String>,
}

impl FactorLevels {
    pub(super) fn all(factor: &str) -> FactorLevels {
        FactorLevels { factor: factor.to_owned(), levels: Vec::new() }
    }

    /// Parses `F`, or `F=A,B`: the text up to the first `=` is the factor. A level may contain commas itself.
    /// `option` is the name of the option in error messages.
    ///
    /// # Errors
    /// The plan has no such factor, or the factor no such level.
    pub(crate) fn of_text(plan: &Plan, option: &'static str, text: &str) -> Result<FactorLevels, QuestionError> {
        let (name, mut rest) = text.split_once('=').unwrap_or((text, ""));
        let factor = factor(plan, option, name.trim())?;
        let mut levels = Vec::new();
        while !rest.is_empty() {
            let is_next = |level: &&String| {
                rest.strip_prefix(level.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(','))
            };
            let Some(level) = factor.levels.iter().filter(is_next).max_by_key(|level| level.len()) else {
                return Err(QuestionError::Level {
                    option,
                    factor: factor.name.clone(),
                    name: rest.split(',').next().unwrap_or_default().to_owned(),
                    known: factor.levels.clone(),
                });
            };
            levels.push(level.clone());
            rest = rest[level.len()..].trim_start_matches(',');
        }
        Ok(FactorLevels { factor: factor.name.clone(), levels })
    }

    /// Parses `FACTOR=LEVEL,LEVEL,FACTOR=…`. A part that names no factor continues the levels of the one before.
    pub(super) fn list(plan: &Plan, option: &'static str, text: &str) -> Result<Vec<FactorLevels>, QuestionError> {
        let mut texts: Vec<String> = Vec::new();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let name = part.split('=').next().unwrap_or_default().trim();
            let is_factor = plan.factors.iter().any(|factor| factor.name == name);
            match texts.last_mut().filter(|last| !is_factor && last.contains('=')) {
                Some(last) => last.push_str(&format!(",{part}")),
                None => texts.push(part.trim().to_owned()),
            }
        }
        texts.iter().map(|text| FactorLevels::of_text(plan, option, text)).collect()
    }
}

/// A second question about the evidence; its plan is already changed to ask it.
pub(super) struct SecondQuestion {
    /// Contrasts that the plan declared, with the plan's verdicts.
    pub(super) declared: Vec<StudyContrast>,
    /// Factors that are reported separately, with the levels that are asked for.
    pub(super) within: Vec<FactorLevels>,
}

impl SecondQuestion {
    /// Returns `true` if the question covers cells of these levels.
    pub(super) fn asks_for(&self, levels: &Levels) -> bool {
        let is_asked = |one: &FactorLevels| {
            one.levels.is_empty() || levels.get(&one.factor).is_some_and(|level| one.levels.contains(level))
        };
        self.within.iter().all(is_asked)
    }
}

pub(super) fn factor<'a>(plan: &'a Plan, option: &'static str, name: &str) -> Result<&'a FactorPlan, QuestionError> {
    plan.factors.iter().find(|factor| factor.name == name).ok_or_else(|| {
        let has = |factor: &&FactorPlan| factor.levels.iter().any(|level| level == name);
        QuestionError::Factor {
            option,
            name: name.to_owned(),
            known: plan.factors.iter().map(|factor| factor.name.clone()).collect(),
            level_of: plan.factors.iter().find(has).map(|factor| factor.name.clone()),
        }
    })
}
