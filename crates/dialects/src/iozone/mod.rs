//! IOzone 3.489: its words, what they mean, the calls that it makes, and what it prints.
//!
//! [`read`] takes a command line, [`lower::lower`] makes its tests phases of scripts, [`print`] prints as IOzone prints,
//! and [`published`] reads the numbers of what it has printed.
//! Where IOzone silently does something else than it was told, the meaning is taken and one line says so;
//! `--compat=strict` does and prints what IOzone does.

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
mod wrong;

pub use action::Action;
pub use machine::Machine;
pub use pass::{Pass, Test};
pub use published::published;
pub use settings::read::read;
pub use settings::{Rate, Settings, Telemetry, TestMode, WrittenContent};
pub use wrong::Wrong;
