//! vdbench's parameter files: storage, workload and run definitions for raw I/O, and definitions of file systems and
//! of workloads on their files. Based on the documentation of vdbench 5.04.
//!
//! [`read`] parses a command line, and [`Script::parse`] a parameter file. [`lower`](fn@lower) turns one run into a
//! workload, and [`print`](mod@print) prints its lines.

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
