//! What a check is, and what it can find.

use crate::advice::{Asked, sentences};
use crate::evidence::{ComparisonView, PhaseView, RunView};
use plumb_result::{Finding, Level, Remedy};

/// One named test of a result's validity. Codes are stable interface.
pub struct Check {
    /// `A1` … `E15`.
    pub code: &'static str,
    /// A few words.
    pub title: &'static str,
    /// What it looks for.
    pub what: &'static str,
    /// Why it matters, with the paper or source.
    pub why: &'static str,
    /// The signal that it reads.
    pub how: &'static str,
    /// Where it draws the line.
    pub threshold: &'static str,
    /// Why the threshold is what it is: an experiment with its numbers, a calculation, or the reasoning.
    pub settled: &'static str,
    /// Remedies of its findings that do not carry others.
    pub fix: &'static [Remedy],
    /// Its functions, one for each scope.
    pub judges: &'static [Judge],
}

/// The function of a check, by its scope.
#[derive(Clone, Copy)]
pub enum Judge {
    /// One phase of a run.
    Phase(fn(&PhaseView<'_>) -> Outcome),
    /// A whole run.
    Run(fn(&RunView<'_>) -> Outcome),
    /// Two sides of a comparison.
    Comparison(fn(&ComparisonView<'_>) -> Outcome),
}

/// What a check examines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One phase of a run.
    Phase,
    /// A whole run.
    Run,
    /// Two sides of a comparison.
    Comparison,
}

impl Scope {
    /// As printed.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Phase => "each phase",
            Scope::Run => "each run",
            Scope::Comparison => "each comparison",
        }
    }
}

impl Judge {
    /// What it examines.
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
        /// Why it is missing.
        reason: String,
    },
    /// Checked, and nothing found.
    Pass {
        /// What was seen.
        observed: String,
    },
    /// Something was found.
    Found(Found),
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Note, warn or fail.
    pub level: Level,
    /// What was seen.
    pub observed: String,
    /// The first sentence, of at most 110 characters where possible, stands alone as a line on a page: what was found,
    /// with the number. Details follow in further sentences.
    pub message: String,
    /// What to do; the check's [`fix`](Check::fix) when absent.
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

    /// Replaces the check's general remedies by one that fits what was asked for.
    pub(crate) fn remedy(self, remedy: impl Into<Remedy>) -> Outcome {
        self.remedies(vec![remedy.into()])
    }

    /// Replaces the check's general remedies by these; there is nothing to do where there are none.
    pub(crate) fn remedies(self, remedies: Vec<Remedy>) -> Outcome {
        match self {
            Outcome::Found(found) => Outcome::Found(Found { remedies: Some(remedies), ..found }),
            other => other,
        }
    }
}

impl Check {
    /// Returns [`Check::fix`] as the documentation words it.
    pub fn fix_in_words(&self) -> String {
        sentences(self.fix, &Asked::DOCUMENTATION)
    }

    /// The finding that an outcome is; `None` where the question does not arise.
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
            // `reword` replaces this where the command is known.
            remedy: sentences(&remedies, &Asked::default()),
            remedies,
        })
    }
}

/// The level of a value against two limits, each of which must be exceeded.
pub(crate) fn grade(value: f64, warn_above: f64, fail_above: f64) -> Option<Level> {
    if value > fail_above {
        Some(Level::Fail)
    } else if value > warn_above {
        Some(Level::Warn)
    } else {
        None
    }
}
