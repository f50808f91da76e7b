//! iostat's language (sysstat 12.6.1): its command line in; two looks at the kernel's counters become the text or JSON that
//! its readers expect.
//!
//! 1. [`read`]: words become [`Settings`]; what the machine knows about names comes in through [`DeviceNames`].
//! 2. [`Session::report`]: a look at the counters becomes a report over what happened since the look before.
//! 3. [`print`]: text as columns, for people (`-h`), or JSON.
//!
//! Two things that iostat prints are not so, and are printed right unless `--compat=strict` is said: see [`Compat`].

mod devices;
mod options;
pub mod print;
mod report;
mod session;
mod settings;

pub use devices::{DeviceList, DeviceRow};
pub use options::{OPTIONS, Opt, USAGE, Wrong, read};
pub use report::{CpuShares, Report};
pub use session::Session;
pub use settings::{Action, Columns, Compat, DataUnit, DeviceNames, OtherPlace, Settings, TableLayout, Which};

/// What `-V` says.
pub const VERSION: &str = "sysstat version 12.6.1 (iostat, by Plumb)\n";

#[cfg(test)]
mod tests;
