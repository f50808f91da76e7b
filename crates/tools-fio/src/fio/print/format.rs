//! Printing a report in several formats.

use super::json::{JsonFormat, json};
use super::normal::normal;
use super::report::Report;
use super::terse::{TerseVersion, terse};

/// A format of `--output-format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Normal,
    /// `terse`, `minimal` or `csv`: three names of one format.
    Terse(TerseVersion),
    /// `json` or `json+`.
    Json(JsonFormat),
}

/// Prints the report in all these formats. As in fio, the order is always terse, JSON, normal. Of two similar formats,
/// the more detailed one is printed.
pub fn print(report: &Report, formats: &[Format]) -> String {
    let version = formats.iter().filter_map(|one| if let Format::Terse(version) = one { Some(*version) } else { None });
    let mut text = version.max().map(|version| terse(report, version)).unwrap_or_default();
    if formats.contains(&Format::Json(JsonFormat::Bins)) {
        text += &json(report, JsonFormat::Bins);
    } else if formats.contains(&Format::Json(JsonFormat::Plain)) {
        text += &json(report, JsonFormat::Plain);
    }
    if formats.contains(&Format::Normal) {
        text += &normal(report);
    }
    text
}
