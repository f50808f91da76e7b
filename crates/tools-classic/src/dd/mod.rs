//! dd: copies as GNU coreutils and FreeBSD do.
//!
//! [`read`] reads a command line by dd's rules, [`read_printed`] one with misprints, [`lower`] turns it into a
//! workload, and a [`Reporter`] prints what dd prints while it runs.

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
