//! vdbench's parameter files: storage, workload and run definitions for raw I/O, and definitions of file systems and of the work on
//! them. Written from what vdbench 5.04 documents.
//!
//! [`read`] understands a command line, [`Script::parse`] a parameter file; [`lower`](fn@lower) turns one run of it into a workload, and
//! [`print`](mod@print) prints the lines of a run.

mod definitions;
mod file_systems;
pub mod flat;
mod format;
mod general;
mod lower;
mod lower_files;
mod operation;
mod parse;
pub mod print;
pub mod print_files;
mod run_definition;
mod runs;
mod script;
mod settings;
mod storage;
mod usage_error;
mod values;

pub use lower::{NoWorkload, Places, lower};
pub use script::{Rate, Run, Script};
pub use settings::{Action, Misuse, VdbenchSettings, help, read};
pub use usage_error::{Reason, VdbenchUsageError};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_files;
