//! Destination and formats of the results.

use super::complain;
use plumb_cli::exit::Stopped;
use plumb_cli::output::{self, error_text};
use plumb_engine::guard::OutputFile;
use plumb_tools_fio::fio::invocation::{Invocation, OutputFormat};
use plumb_tools_fio::fio::print::{Format, JsonFormat, Report, TerseVersion, print};
use plumb_tools_run::error::DialectError;
use std::fs::File;
use std::io::Write;

/// Standard output, or the file of `--output`.
pub struct Output {
    file: Option<File>,
    path: String,
    formats: Vec<Format>,
}

impl Output {
    /// Opens the output that the invocation names.
    ///
    /// # Errors
    ///
    /// The file cannot be created.
    pub fn open(invocation: &Invocation) -> Result<Output, DialectError> {
        let path = invocation.output.clone().unwrap_or_default();
        let file = match &invocation.output {
            None => None,
            Some(path) => Some(OutputFile::named("--output", path).create()?),
        };
        let version = match invocation.terse_version {
            2 => TerseVersion::V2,
            4 => TerseVersion::V4,
            5 => TerseVersion::V5,
            _ => TerseVersion::V3,
        };
        let format = |one: &OutputFormat| match one {
            OutputFormat::Normal => Format::Normal,
            OutputFormat::Terse => Format::Terse(version),
            OutputFormat::Json => Format::Json(JsonFormat::Plain),
            OutputFormat::JsonPlus => Format::Json(JsonFormat::Bins),
        };
        Ok(Output { file, path, formats: invocation.formats.iter().map(format).collect() })
    }

    pub(crate) fn is_normal(&self) -> bool {
        self.formats.contains(&Format::Normal)
    }

    pub fn formats(&self) -> &[Format] {
        &self.formats
    }

    /// Whether the output is a file.
    pub fn is_file(&self) -> bool {
        self.file.is_some()
    }

    /// Prints a report in every format.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn report(&mut self, report: &Report) -> Result<(), Stopped> {
        let text = print(report, &self.formats);
        self.write(&text)
    }

    /// Prints lines of `--debug`: to the report's output for the normal format, else to
    /// standard error, because scripts parse the output.
    pub fn debug(&mut self, text: &str) {
        if self.is_normal() {
            // `write` has already reported the error.
            let _ = self.write(text);
        } else {
            error_text!("{text}");
        }
    }

    /// Writes text unchanged.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn write(&mut self, text: &str) -> Result<(), Stopped> {
        match &mut self.file {
            None => {
                output::print(text);
                Ok(())
            }
            // Escape as on standard output: people read these files on terminals.
            Some(file) => {
                file.write_all(plumb_text::visible(text).as_bytes()).and_then(|()| file.flush()).map_err(|error| {
                    complain(format!("{}: {error}", self.path));
                    Stopped::io(format!("{}: {error}", self.path))
                })
            }
        }
    }
}
