//! IOzone 3.489: its command line, its calls, and its output.
//!
//! [`read`] parses a command line, [`lower::lower`] turns its tests into phases, [`print`] prints like IOzone, and
//! [`published`] parses numbers from its output. If IOzone silently deviates from the request, the intended meaning is
//! used with a note; `--compat=strict` behaves and prints like IOzone.

mod action;
mod getopt;
pub mod help;
pub mod lower;
mod machine;
mod options;
pub mod pass;
pub mod print;
mod published;
mod settings;
mod size;
pub mod sweep;
#[cfg(test)]
mod tests;
mod usage_error;

pub use action::Action;
pub use machine::Machine;
pub use pass::{Pass, Test};
pub use published::published;
pub use settings::read::read;
pub use settings::{IozoneSettings, Rate, TestMode, WrittenContent};
pub use usage_error::IozoneUsageError;
