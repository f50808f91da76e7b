//! dbench: clients of a file server, as load files say. Written from what dbench 4.00 says and does.
//!
//! [`read`] understands a command line, [`lower`](fn@lower) turns it into a workload, and [`print`](mod@print) prints dbench's lines. A
//! load file itself is a [`LoadFile`] of the workload language.

mod lower;
pub mod print;
mod settings;

pub use lower::lower;
pub use plumb_workload::program::{LoadFile, LoadFileError};
pub use settings::{Action, DbenchSettings, help, read};

#[cfg(test)]
mod tests;
