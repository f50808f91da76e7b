//! The parts of a study file that do not depend on levels.

use super::error::StudyError;
use super::factors::Factors;
use super::form::{RepeatForm, StudyForm};
use super::workload::WorkloadText;
use plumb_document::Table;
use plumb_workload::KeyPath;
use plumb_workload::keypath::Segment;
use plumb_workload_text::native::{Document, LocatedFailure, place_of};
use std::ops::Range;

/// Name of the host that is this machine.
pub(super) const LOCAL: &str = "local";

/// Plots of each combination by default.
pub(super) const PLOTS: u32 = 3;

/// Fewest plots from which their spread can be estimated.
pub(super) const PLOTS_MIN: u32 = 2;

/// Runs of each cell in a plot by default.
const REPEATS: u32 = 2;

/// The texts of a study, and the forms read from them.
pub(super) struct Study<'d> {
    pub(super) document: &'d Document<'d>,
    pub(super) table: &'d Table,
    pub(super) form: StudyForm,
    pub(super) workloads: Vec<WorkloadText>,
    pub(super) factors: Factors,
    pub(super) warnings: Vec<String>,
}

impl Study<'_> {
    pub(super) fn place(&self, path: &[&str]) -> Range<usize> {
        place_of(self.table, &KeyPath(path.iter().map(|key| Segment::from(*key)).collect()))
    }

    pub(super) fn failed(&self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> StudyError {
        self.document.failures(vec![LocatedFailure { span, message: message.into(), help: help.into() }]).into()
    }
}

pub(super) fn repeats(form: &StudyForm) -> (u32, u32) {
    match form.design.repeat {
        None => (REPEATS, REPEATS),
        Some(RepeatForm::Fixed(repeats)) => (repeats, repeats),
        Some(RepeatForm::Range(range)) => (range.min, range.max),
    }
}
