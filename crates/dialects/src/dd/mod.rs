//! dd: copies as GNU coreutils makes them, and as FreeBSD does.
//!
//! [`read`] takes a command line by dd's own rules, [`read_printed`] one with slips of print, [`lower`] makes a workload of it, and a [`Reporter`] says what dd says
//! while it runs.

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
pub use operands::{Action, Compat, Dd, Wrong, read};
pub use print::Reporter;
pub use printed::{PrintedCommand, read_printed};
pub use quote::Marks;
