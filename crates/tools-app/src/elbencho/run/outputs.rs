//! Result files, and facts from the system's clock and CPUs.

use plumb_engine::guard::OutputFile;
use plumb_tools_app::elbencho::ElbenchoSettings;
use plumb_tools_app::elbencho::lower::Geometry;
use plumb_tools_app::elbencho::print::{PhaseReport, csv, json, table};
use plumb_tools_run::error::DialectError;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};

/// Limit for a line of results; a command line is shorter.
const MOST_LINE_BYTES: u64 = 4 << 20;

/// Outputs of results besides standard output.
pub struct Outputs {
    csv: Option<ResultFile>,
    json: Option<ResultFile>,
    text: Option<ResultFile>,
}

/// A file to which results are appended.
pub(crate) struct ResultFile {
    option: &'static str,
    path: String,
    file: File,
}

impl ResultFile {
    /// Opens the file for appending.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(super) fn open(option: &'static str, path: &str) -> Result<ResultFile, DialectError> {
        let file = OutputFile::named(&format!("--{option}"), path).append()?;
        Ok(ResultFile { option, path: path.to_owned(), file })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.len() == 0)
    }

    /// Appends text.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn add(&mut self, text: &str) -> Result<(), DialectError> {
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|source| DialectError::File { what: format!("--{}: {}", self.option, self.path), source })
    }
}

impl Outputs {
    /// Opens the files that the settings name. A new CSV file gets a header row.
    ///
    /// # Errors
    /// A file cannot be created or written, or the CSV file has other columns.
    pub fn open(settings: &ElbenchoSettings, geometry: &Geometry) -> Result<Outputs, DialectError> {
        let output = &settings.output;
        if let Some(path) = &output.csv {
            check_columns(path, &csv::labels(settings, geometry))?;
        }
        let open =
            |option, path: &Option<String>| path.as_deref().map(|path| ResultFile::open(option, path)).transpose();
        let mut outputs = Outputs {
            csv: open("csvfile", &output.csv)?,
            json: open("jsonfile", &output.json)?,
            text: open("resfile", &output.text)?,
        };
        if let Some(csv) = outputs.csv.as_mut().filter(|csv| !output.no_csv_labels && csv.is_empty()) {
            csv.add(&csv::labels(settings, geometry))?;
        }
        Ok(outputs)
    }

    /// Writes the header of an iteration.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn head(&mut self, settings: &ElbenchoSettings, command: &[String]) -> Result<(), DialectError> {
        let Some(text) = &mut self.text else { return Ok(()) };
        let date = date_of(jiff::Timestamp::now(), "%Y-%m-%dT%H:%M:%S%z");
        text.add(&table::file_head(&date, settings.output.label.as_deref(), command))?;
        text.add(&table::head())
    }

    /// Writes the report of a phase.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn phase(
        &mut self,
        report: &PhaseReport,
        settings: &ElbenchoSettings,
        geometry: &Geometry,
        command: &[String],
    ) -> Result<(), DialectError> {
        if let Some(csv) = &mut self.csv {
            csv.add(&csv::line(report, settings, geometry, command))?;
        }
        if let Some(json) = &mut self.json {
            json.add(&json::line(report, settings, geometry, command))?;
        }
        if let Some(text) = &mut self.text {
            text.add(&(table::phase(report, settings, geometry) + "\n"))?;
        }
        Ok(())
    }
}

/// Checks that the first line of a file has as many columns as `labels`.
fn check_columns(path: &str, labels: &str) -> Result<(), DialectError> {
    // A pipe or another special file cannot be read before it is written.
    if !std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0) {
        return Ok(());
    }
    let failed = || DialectError::file(format!("--csvfile: cannot read {path}"));
    let file = File::open(path).map_err(failed())?;
    let mut first = Vec::new();
    BufReader::new(file.take(MOST_LINE_BYTES)).read_until(b'\n', &mut first).map_err(failed())?;
    let commas = |line: &[u8]| line.iter().filter(|byte| **byte == b',').count();
    let (found, wanted) = (commas(&first) + 1, commas(labels.as_bytes()) + 1);
    if found == wanted {
        return Ok(());
    }
    Err(DialectError::OtherColumns { path: path.to_owned(), found, wanted })
}

fn date_of(at: jiff::Timestamp, format: &str) -> String {
    at.to_zoned(jiff::tz::TimeZone::system()).strftime(format).to_string()
}

/// Formats local time with milliseconds.
pub(super) fn date(at: jiff::Timestamp) -> String {
    date_of(at, "%Y-%m-%dT%H:%M:%S.%3f%z")
}

/// Returns a random UUID (version 4).
pub(super) fn uuid() -> String {
    let [high, low] = [1u8, 2].map(|part| RandomState::new().hash_one(part));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 48 & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    )
}

/// Time spent by all CPUs together, in clock ticks. Source: proc_stat(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct MachineTicks {
    busy: u64,
    all: u64,
}

impl MachineTicks {
    /// Reads the current ticks; all 0 if they cannot be read.
    pub(super) fn now() -> MachineTicks {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "));
        let times: Vec<u64> =
            line.unwrap_or_default().split_whitespace().filter_map(|time| time.parse().ok()).take(8).collect();
        let all = times.iter().sum();
        // The columns idle and iowait.
        let idle: u64 = times.get(3..5).map_or(0, |idle| idle.iter().sum());
        MachineTicks { busy: all - idle, all }
    }

    /// Returns the CPU utilization since `earlier`, in percent.
    pub(crate) fn percent_since(self, earlier: MachineTicks) -> u32 {
        let all = self.all.saturating_sub(earlier.all);
        let busy = self.busy.saturating_sub(earlier.busy);
        busy.saturating_mul(100).checked_div(all).map_or(0, |percent| u32::try_from(percent).unwrap_or(100))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_version_4() {
        let id = uuid();
        let parts: Vec<&str> = id.split('-').collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{id}");
        assert!(parts[2].starts_with('4') && "89ab".contains(&parts[3][..1]), "{id}");
        assert_ne!(uuid(), id);
    }

    #[test]
    fn idle_processors_are_not_busy() {
        let earlier = MachineTicks { busy: 100, all: 1000 };
        assert_eq!(MachineTicks { busy: 150, all: 1200 }.percent_since(earlier), 25);
        assert_eq!(earlier.percent_since(earlier), 0);
    }
}
