//! Code shared by IOR, mdtest and md-workbench: parsing of options, and the first lines of output.

mod error;
mod file_system;
mod given;
mod launched;
mod ops;
mod options;
mod size;
mod spread;

pub use error::OptionError;
pub(crate) use error::back_end_problem;
pub use file_system::FileSystem;
pub(crate) use given::value_error;
pub use given::{GivenOptions, Invocation, OptionValue};
pub use launched::Launched;
pub(crate) use launched::{more_ranks, node_map};
pub use ops::{OP_CSV_HEAD, op_csv_row};
pub use options::{BACKENDS, help};
pub use size::{SizeError, size};
pub use spread::{Divisor, Spread, percentiles_ms};

/// The emulated version of IOR.
pub const VERSION: &str = "4.1.0+dev";

/// Formats a number like C's `%e`.
pub fn exponent(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$e}");
    let (number, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    format!("{number}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
}
