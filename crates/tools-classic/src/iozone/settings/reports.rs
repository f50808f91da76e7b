//! Reports, their units and their files.

use super::{Given, IozoneSettings, Rate, Seen, Trouble};
use crate::iozone::IozoneUsageError;

/// Lines to print before the results.
#[derive(Debug, Clone, PartialEq)]
pub struct Messages {
    /// Lines below the banner.
    pub echo: Vec<String>,
    /// Notes for standard error, about IOzone's silent deviations.
    pub notes: Vec<String>,
    /// An error reported after the banner.
    pub trouble: Option<Trouble>,
}

impl Messages {
    /// Adds a line below the banner.
    pub(super) fn line(&mut self, text: impl std::fmt::Display) {
        self.echo.push(format!("\t{text}\n"));
    }
}

/// The reports to print or write, and their unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Reports {
    /// `-N`, `-O`: the unit of rates.
    pub rate: Rate,
    /// `-R`, `-b`: whether the report for spreadsheets is printed.
    pub report: bool,
    /// `-+u`: whether processor utilization is reported.
    pub cpu: bool,
    /// `--xlsx`: path of the workbook.
    pub xlsx: Option<String>,
    /// `-b`: path of the spreadsheet.
    pub biff: Option<String>,
    /// `-Q`: whether offsets and latencies are written to files.
    pub latencies: bool,
    /// `-+z`: whether histograms are written to files.
    pub histograms: bool,
}

/// Handles an option about reports; returns `false` for any other option.
pub(super) fn take(settings: &mut IozoneSettings, seen: &mut Seen, given: &Given) -> Result<bool, IozoneUsageError> {
    let (reports, messages) = (&mut settings.reports, &mut settings.messages);
    match given.name {
        "b" => {
            reports.report = true;
            reports.biff = Some(given.word.to_owned());
        }
        "N" => {
            messages.line("Microseconds/op Mode. Output is in microseconds per operation.");
            seen.usec = true;
        }
        "O" => {
            messages.line("OPS Mode. Output is in operations per second.");
            reports.rate = Rate::Ops;
        }
        "Q" => {
            messages.line("Offset/latency files enabled.");
            reports.latencies = true;
        }
        "R" => {
            messages.line("Excel chart generation enabled");
            reports.report = true;
        }
        // The option does not affect IOzone's output.
        "+T" if settings.strict => {}
        "+T" => messages.notes.push("-+T prints nothing, as in IOzone; `plumb show last` has the times".to_owned()),
        "+u" => {
            messages.line("CPU utilization Resolution = 0.000 seconds.");
            messages.line("CPU utilization Excel chart enabled");
            reports.cpu = true;
        }
        "+z" => {
            messages.line("Histogram summary enabled.");
            reports.histograms = true;
        }
        _ => return Ok(false),
    }
    Ok(true)
}
