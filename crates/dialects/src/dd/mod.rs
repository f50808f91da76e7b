//! dd: copies as GNU coreutils makes them, and as FreeBSD does.
//!
//! [`read`] takes a command line by dd's own rules, [`lower`] makes a workload of it, and a [`Teller`] says what dd says
//! while it runs.

pub mod help;
pub mod human;
pub mod lower;
pub mod number;
pub mod operands;
pub mod print;
pub mod quote;
pub mod words;

#[cfg(test)]
mod tests;

pub use operands::{Action, Compat, Dd, Wrong, read};
pub use print::Teller;
pub use quote::Marks;
pub use words::Personality;
