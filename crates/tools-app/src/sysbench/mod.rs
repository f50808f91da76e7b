//! sysbench's file test: `sysbench fileio prepare|run|cleanup`. Written from what sysbench 1.0.20 says and does.
//!
//! [`read`] understands a command line, [`lower`] turns it into a workload, and [`print`](mod@print) prints what sysbench prints.

pub mod lower;
pub mod options;
pub mod print;
mod settings;

pub use settings::{Action, Command, IoMode, SysbenchSettings, SysbenchUsageError, TestMode, Warnings, read, warnings};

#[cfg(test)]
mod tests;
