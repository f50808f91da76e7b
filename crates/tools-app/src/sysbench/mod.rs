//! sysbench's file test: `sysbench fileio prepare|run|cleanup`. Based on the documentation and the observed behavior
//! of sysbench 1.0.20.
//!
//! [`read`] parses a command line, [`lower`] turns it into a workload, and [`print`](mod@print) prints sysbench's
//! output.

pub mod lower;
pub mod options;
pub mod print;
mod settings;

pub use settings::{Action, Command, IoMode, SysbenchSettings, SysbenchUsageError, TestMode, Warnings, read, warnings};

#[cfg(test)]
mod tests;
