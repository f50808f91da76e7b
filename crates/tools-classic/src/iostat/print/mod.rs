//! Prints reports like iostat.

mod colour;
mod frame;
mod json;
mod number;
mod text;

use super::{DataUnit, IostatSettings, Report, TableLayout};
pub use colour::{Palette, palette};
use frame::Rates;
pub use frame::{FrameEnvironment, TimeFormat};

/// Formats the text before the first report.
pub(super) fn opening(settings: &IostatSettings, environment: &FrameEnvironment) -> String {
    match settings.layout {
        TableLayout::Json => json::opening(environment),
        _ => text::opening(environment),
    }
}

pub(super) fn report(report: &Report, settings: &IostatSettings, environment: &FrameEnvironment) -> String {
    match settings.layout {
        TableLayout::Json => json::report(report, settings),
        _ => text::report(report, settings, &environment.palette),
    }
}

impl DataUnit {
    /// Returns its size in sectors.
    fn sectors(self) -> u64 {
        match self {
            DataUnit::Kilobytes => 2,
            DataUnit::Megabytes => 2048,
            DataUnit::Sectors => 1,
        }
    }
}
