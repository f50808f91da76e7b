//! A tool as it was called.

use crate::own_words::VerdictOptions;
use plumb_cli::common::Common;

/// A tool as it was called.
#[derive(Clone, Copy)]
pub struct ToolCall<'a> {
    /// The program's own name.
    pub called: &'a str,
    /// The words behind it.
    pub words: &'a [String],
    /// What was said to Plumb, or stands in the environment.
    pub common: &'a Common,
    /// Options about the verdicts of its runs.
    pub verdicts: VerdictOptions,
}
