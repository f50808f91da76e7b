//! Bonnie++: turns its command line into a workload with exactly its calls, and results into its tables.
//!
//! 1. [`BonnieSettings::read`]: parses a command line like the chosen version.
//! 2. [`lower::lower`]: creates one phase for each of its twelve tests, with the names, sizes and positions that its
//!    generator draws.
//! 3. [`print`]: prints its table and CSV lines. [`html`] and [`table`] are the tool's own readers of CSV lines, and
//!    [`published`] is Plumb's.
//!
//! Version 2.00a prints some wrong values. The correct ones are printed unless [`BonnieSettings::is_exact`].

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
pub use published::{PublishedLine, PublishedTest, published, published_lines};
pub use refusal::Refusal;
pub use settings::{BonnieSettings, Links, Machine, Meeting, Seed};
