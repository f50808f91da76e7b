//! IOzone 3.489: its command line, its calls, and its output.
//!
//! [`read`] reads a command line, [`lower::lower`] turns its tests into phases, [`print`] prints as IOzone does, and
//! [`published`] reads numbers from its output. Where IOzone silently does something other than asked, the intended
//! meaning is used with a note; `--compat=strict` does and prints what IOzone does.

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
