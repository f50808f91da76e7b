//! Bonnie++'s language: its command line in, a workload of exactly its calls out; what was measured in, its tables out.
//!
//! 1. [`Settings::read`]: words become settings, as one of its versions reads them.
//! 2. [`lower::lower`]: settings become phases, one for each of its twelve tests, with the names, sizes and positions that
//!    its generator makes of the seed.
//! 3. [`print`]: what was measured becomes its text and its lines of values; [`html`] and [`table`] are its own readers
//!    of those lines, and [`published`] is ours.
//!
//! Where version 2.00a prints what is not so, the truth is printed; [`Settings::is_exact`] asks for what it prints.

pub mod getc_putc;
pub mod html;
mod keywords;
pub mod lower;
mod measured;
pub mod print;
mod published;
pub mod random;
mod refusal;
mod settings;
pub mod table;
#[cfg(test)]
mod tests;
pub mod zcav;

pub use measured::{Test, Version};
pub use published::published;
pub use refusal::Refusal;
pub use settings::{Links, Machine, Meeting, Seed, Settings};
