//! dbench: clients of a file server that replay a load file. Based on the documentation and the observed behavior of
//! dbench 4.00.
//!
//! [`read`] parses a command line, [`lower`](fn@lower) turns it into a workload, and [`print`](mod@print) prints
//! dbench's output. The load file itself is a [`LoadFile`] of the workload language.

mod lower;
pub mod print;
mod settings;

pub use lower::lower;
pub use plumb_workload::program::{LoadFile, LoadFileError};
pub use settings::{Action, DbenchSettings, help, read};

#[cfg(test)]
mod tests;
