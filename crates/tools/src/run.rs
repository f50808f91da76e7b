//! Runs the command lines of several tools: a tool implements [`runner::Dialect`], and the runner does the rest.
// Only `plumb_cli::output` writes to standard output and standard error.
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

#[path = "run/call.rs"]
mod call;
#[path = "run/cpus.rs"]
pub mod cpus;
#[path = "run/dashes.rs"]
pub mod dashes;
#[path = "run/error.rs"]
pub mod error;
#[path = "run/own_words.rs"]
pub mod own_words;
#[path = "run/report_files.rs"]
pub mod report_files;
#[path = "run/runner.rs"]
pub mod runner;
#[path = "run/simulated.rs"]
pub mod simulated;
#[path = "run/together.rs"]
pub mod together;
#[path = "run/verdicts.rs"]
pub mod verdicts;

pub use call::ToolCall;
