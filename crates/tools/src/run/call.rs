//! One invocation of a tool.

use crate::own_words::VerdictOptions;
use plumb_cli::common::Common;

#[derive(Clone, Copy)]
pub struct ToolCall<'a> {
    /// The name that the program was called by.
    pub called: &'a str,
    /// The arguments after the name.
    pub words: &'a [String],
    /// Plumb's own options, from arguments or the environment.
    pub common: &'a Common,
    /// Options about verdicts.
    pub verdicts: VerdictOptions,
}
