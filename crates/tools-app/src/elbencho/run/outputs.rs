//! The files that results go to, and what the machine's clock and processors say.

use plumb_engine::guard::OutputFile;
use plumb_tools_app::elbencho::ElbenchoSettings;
use plumb_tools_app::elbencho::lower::Geometry;
use plumb_tools_app::elbencho::print::{PhaseReport, csv, json, table};
use plumb_tools_run::error::DialectError;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};

/// No line of results is longer: a command line ends before.
const MOST_LINE_BYTES: u64 = 4 << 20;

/// Where results go beside standard output.
pub struct Outputs {
    csv: Option<ResultFile>,
    json: Option<ResultFile>,
    text: Option<ResultFile>,
}

/// A file that results are added to.
pub(crate) struct ResultFile {
    option: &'static str,
    path: String,
    file: File,
}

impl ResultFile {
    /// Opens it for adding.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn open(option: &'static str, path: &str) -> Result<ResultFile, DialectError> {
        let file = OutputFile::named(&format!("--{option}"), path).append()?;
        Ok(ResultFile { option, path: path.to_owned(), file })
    }

    /// Whether nothing is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.len() == 0)
    }

    /// Adds text.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn add(&mut self, text: &str) -> Result<(), DialectError> {
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|source| DialectError::File { what: format!("--{}: {}", self.option, self.path), source })
    }
}

impl Outputs {
    /// Opens what the settings name, with the line of labels where that is new.
    ///
    /// # Errors
    /// A file cannot be made or written, or the CSV file holds something else.
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

    /// The head of an iteration.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn head(&mut self, settings: &ElbenchoSettings, command: &[String]) -> Result<(), DialectError> {
        let Some(text) = &mut self.text else { return Ok(()) };
        let date = date_of(jiff::Timestamp::now(), "%Y-%m-%dT%H:%M:%S%z");
        text.add(&table::file_head(&date, settings.output.label.as_deref(), command))?;
        text.add(&table::head())
    }

    /// A phase.
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

/// Whether lines like `labels` may be added to a file: its first line has as many columns.
fn check_columns(path: &str, labels: &str) -> Result<(), DialectError> {
    // What is no regular file, such as a pipe, has nothing to read before it is written.
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

/// Local time with milliseconds.
pub(super) fn date(at: jiff::Timestamp) -> String {
    date_of(at, "%Y-%m-%dT%H:%M:%S.%3f%z")
}

/// A UUID of version 4.
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

/// Time that all processors together have spent, in clock ticks. Source: proc_stat(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct MachineTicks {
    busy: u64,
    all: u64,
}

impl MachineTicks {
    /// As they are now; all 0 where they cannot be seen.
    pub(super) fn now() -> MachineTicks {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "));
        let times: Vec<u64> =
            line.unwrap_or_default().split_whitespace().filter_map(|time| time.parse().ok()).take(8).collect();
        let all = times.iter().sum();
        // Idle, and waiting for I/O.
        let idle: u64 = times.get(3..5).map_or(0, |idle| idle.iter().sum());
        MachineTicks { busy: all - idle, all }
    }

    /// How busy they were since, per cent.
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
    fn a_uuid_is_one_of_version_4() {
        let id = uuid();
        let parts: Vec<&str> = id.split('-').collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{id}");
        assert!(parts[2].starts_with('4') && "89ab".contains(&parts[3][..1]), "{id}");
        assert_ne!(uuid(), id);
    }

    #[test]
    fn processors_that_did_nothing_were_not_busy() {
        let earlier = MachineTicks { busy: 100, all: 1000 };
        assert_eq!(MachineTicks { busy: 150, all: 1200 }.percent_since(earlier), 25);
        assert_eq!(earlier.percent_since(earlier), 0);
    }
}
