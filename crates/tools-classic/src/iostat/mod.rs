//! iostat (sysstat 12.6.1): turns its command line and samples of the kernel's counters into its text or JSON.
//!
//! 1. [`read`]: parses a command line into [`IostatSettings`]; facts about device names come from [`DeviceNames`].
//! 2. [`Session::report`]: turns a sample of the counters into a report since the previous sample.
//! 3. [`print`]: prints columns, human-readable text (`-h`), or JSON.
//!
//! Two values that iostat prints wrongly are corrected, except with `--compat=strict`: see [`Compat`].

mod devices;
mod options;
pub mod print;
mod report;
mod session;
mod settings;

pub use devices::{DeviceList, DeviceRow};
pub use options::{IostatUsageError, OPTIONS, USAGE, read};
pub use report::{CpuShares, Report};
pub use session::Session;
pub use settings::{Action, Columns, Compat, DataUnit, DeviceNames, IostatSettings, OtherPlace, TableLayout, Which};

pub const VERSION: &str = "sysstat version 12.6.1 (iostat, by Plumb)\n";

#[cfg(test)]
mod tests;
