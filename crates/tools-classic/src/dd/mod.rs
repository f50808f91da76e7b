//! dd: copies like GNU coreutils and FreeBSD.
//!
//! [`read`] parses a command line by dd's rules, [`read_printed`] one with misprints, [`lower`] turns it into a
//! workload, and a [`Reporter`] prints dd's messages while it runs.

pub mod help;
pub mod human;
pub mod keywords;
pub mod lower;
pub mod number;
pub mod operands;
pub mod print;
mod printed;
pub mod quote;

#[cfg(test)]
mod tests;

pub use keywords::Personality;
pub use operands::{Action, Compat, Dd, DdUsageError, read};
pub use print::Reporter;
pub use printed::{PrintedCommand, read_printed};
pub use quote::Marks;
