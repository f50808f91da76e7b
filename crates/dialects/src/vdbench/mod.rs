//! vdbench's parameter files for raw I/O: storage, workload and run definitions. Written from what vdbench 5.04 documents.
//!
//! [`read`] understands a command line, [`Script::parse`] a parameter file; [`lower`](fn@lower) turns one run of it into a workload, and
//! [`print`](mod@print) prints the lines of a run.

mod definitions;
mod lower;
mod parse;
pub mod print;
mod settings;
mod values;

pub use definitions::{Rate, Run, Script};
pub use lower::{NoWorkload, lower};
pub use parse::Wrong;
pub use settings::{Action, Misuse, Settings, help, read};

#[cfg(test)]
mod tests;
