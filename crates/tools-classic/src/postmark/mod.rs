//! PostMark: turns its commands into a workload, and results into its two reports.
//!
//! 1. [`Language`]: parses lines into [`PostmarkSettings`] and actions, with a table of commands.
//! 2. [`lower`]: creates a workload with PostMark's parts as phases.
//! 3. [`report`]: prints the verbose or terse report.
//!
//! It emulates 1.51 to 1.53, which all call themselves v1.51. `set threads` is an extension.

mod amount;
mod compat;
mod language;
mod lower;
mod report;
mod settings;

pub use compat::Compat;
pub use language::{Answer, Language};
pub use lower::{PhaseKind, Plan, lower, run_of};
pub use report::{Counts, Spent, dots, report};
pub use settings::{Location, PostmarkSettings, ReportForm};

/// The program's name and version, printed at its start.
pub const BANNER: &str = "PostMark v1.51 : 8/14/01\n";

/// The prompt for the next command.
pub const PROMPT: &str = "pm>";

pub const CONFIGURATION: &str = ".pmrc";

/// Printed instead of `Done` if all files were deleted before the transactions ended.
pub const OUT_OF_FILES: &str = "out of files!\nFor this workload, either increase the number of files or\n\
                                decrease the number of transactions.\n";

#[cfg(test)]
mod tests;
