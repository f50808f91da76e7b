//! The definition of a check, and its possible outcomes.

use crate::advice::{CommandContext, sentences};
use crate::evidence::{ComparisonView, PhaseView, RunView};
use plumb_result::{Finding, Level, Remedy};

/// One named test of a result's validity. Codes are a stable interface.
pub struct Check {
    /// `A1` … `E15`.
    pub code: &'static str,
    /// A few words, as in the heading of its page.
    pub title: &'static str,
    /// The question that it answers.
    pub what: &'static str,
    /// The reason why it matters, with a paper or another source.
    pub why: &'static str,
    /// The data that it reads.
    pub how: &'static str,
    /// Limits between the levels.
    pub threshold: &'static str,
    /// The reason for the threshold: an experiment with its numbers, a calculation, or an argument.
    pub settled: &'static str,
    /// Remedies of findings that have none of their own.
    pub fix: &'static [Remedy],
    /// Its functions, one for each scope.
    pub judges: &'static [Judge],
}

/// The function of a check, by its scope.
#[derive(Clone, Copy)]
pub enum Judge {
    Phase(fn(&PhaseView<'_>) -> Outcome),
    Run(fn(&RunView<'_>) -> Outcome),
    Comparison(fn(&ComparisonView<'_>) -> Outcome),
}

/// The object that a check examines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Phase,
    Run,
    Comparison,
}

impl Scope {
    /// Returns the printed name.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Phase => "each phase",
            Scope::Run => "each run",
            Scope::Comparison => "each comparison",
        }
    }
}

impl Judge {
    /// Returns the scope of the function.
    pub const fn scope(self) -> Scope {
        match self {
            Judge::Phase(_) => Scope::Phase,
            Judge::Run(_) => Scope::Run,
            Judge::Comparison(_) => Scope::Comparison,
        }
    }
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The check does not apply; there is no finding.
    NotApplicable,
    /// The evidence is missing.
    Skipped {
        reason: String,
    },
    /// The check found no problem.
    Pass {
        /// The observed value, for the report.
        observed: String,
    },
    Found(Found),
}

/// A problem that a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Note, warn or fail.
    pub level: Level,
    /// The observed value, for the report.
    pub observed: String,
    /// The first sentence stands alone as a line on a page, with the problem and its number; it has at most 110
    /// characters if possible. Further sentences give details.
    pub message: String,
    /// Remedies; `None` for the check's [`fix`](Check::fix).
    pub remedies: Option<Vec<Remedy>>,
}

impl Outcome {
    pub(crate) fn skipped(reason: impl Into<String>) -> Outcome {
        Outcome::Skipped { reason: reason.into() }
    }

    pub(crate) fn pass(observed: impl Into<String>) -> Outcome {
        Outcome::Pass { observed: observed.into() }
    }

    pub(crate) fn found(level: Level, observed: impl Into<String>, message: impl Into<String>) -> Outcome {
        Outcome::Found(Found { level, observed: observed.into(), message: message.into(), remedies: None })
    }

    pub(crate) fn note(observed: impl Into<String>, message: impl Into<String>) -> Outcome {
        Outcome::found(Level::Note, observed, message)
    }

    pub(crate) fn warn(observed: impl Into<String>, message: impl Into<String>) -> Outcome {
        Outcome::found(Level::Warn, observed, message)
    }

    pub(crate) fn fail(observed: impl Into<String>, message: impl Into<String>) -> Outcome {
        Outcome::found(Level::Fail, observed, message)
    }

    /// Replaces the check's general remedies by one for this case.
    pub(crate) fn remedy(self, remedy: impl Into<Remedy>) -> Outcome {
        self.remedies(vec![remedy.into()])
    }

    /// Replaces the check's general remedies; an empty list means that there is nothing to do.
    pub(crate) fn remedies(self, remedies: Vec<Remedy>) -> Outcome {
        match self {
            Outcome::Found(found) => Outcome::Found(Found { remedies: Some(remedies), ..found }),
            other => other,
        }
    }
}

impl Check {
    /// Returns [`Check::fix`] as worded in the documentation.
    pub fn fix_in_words(&self) -> String {
        sentences(self.fix, &CommandContext::DOCUMENTATION)
    }

    /// Turns an outcome into a finding; `None` if the check does not apply.
    pub(crate) fn finding(&self, phase: Option<&str>, outcome: Outcome) -> Option<Finding> {
        let (level, observed, message, remedies) = match outcome {
            Outcome::NotApplicable => return None,
            Outcome::Skipped { reason } => {
                (Level::Skipped, String::new(), format!("Not checked: {reason}."), Vec::new())
            }
            Outcome::Pass { observed } => {
                let message = format!("OK: {observed}.");
                (Level::Pass, observed, message, Vec::new())
            }
            Outcome::Found(found) => {
                let remedies = found.remedies.unwrap_or_else(|| self.fix.to_vec());
                (found.level, found.observed, found.message, remedies)
            }
        };
        Some(Finding {
            code: self.code.to_owned(),
            level,
            phase: phase.map(str::to_owned),
            at_ns: None,
            observed,
            threshold: self.threshold.to_owned(),
            message,
            // `reword` replaces this once the command is known.
            remedy: sentences(&remedies, &CommandContext::default()),
            remedies,
        })
    }
}

/// Returns the level of a value against two limits, each of which must be exceeded.
pub(crate) fn grade(value: f64, warn_above: f64, fail_above: f64) -> Option<Level> {
    if value > fail_above {
        Some(Level::Fail)
    } else if value > warn_above {
        Some(Level::Warn)
    } else {
        None
    }
}
