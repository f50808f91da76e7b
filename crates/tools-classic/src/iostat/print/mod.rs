//! Reports as iostat prints them.

mod colour;
mod frame;
mod json;
mod number;
mod text;

use super::{DataUnit, IostatSettings, Report, TableLayout};
pub use colour::{Palette, palette};
use frame::Rates;
pub use frame::{FrameEnvironment, TimeFormat};

/// What comes before the first report.
pub(super) fn opening(settings: &IostatSettings, environment: &FrameEnvironment) -> String {
    match settings.layout {
        TableLayout::Json => json::opening(environment),
        _ => text::opening(environment),
    }
}

/// A report.
pub(super) fn report(report: &Report, settings: &IostatSettings, environment: &FrameEnvironment) -> String {
    match settings.layout {
        TableLayout::Json => json::report(report, settings),
        _ => text::report(report, settings, &environment.palette),
    }
}

impl DataUnit {
    /// How many sectors it has.
    fn sectors(self) -> u64 {
        match self {
            DataUnit::Kilobytes => 2,
            DataUnit::Megabytes => 2048,
            DataUnit::Sectors => 1,
        }
    }
}
