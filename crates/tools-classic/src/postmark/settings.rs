//! The settings, and their listing.

use super::amount::scaled;
use std::fmt::Write;

/// The settings, with PostMark's defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostmarkSettings {
    /// Minimum file size in bytes.
    pub low: u32,
    /// Maximum file size in bytes.
    pub high: u32,
    pub number: u32,
    pub seed: u32,
    pub transactions: u32,
    /// Directories; the working directory if empty.
    pub locations: Vec<Location>,
    /// Number of subdirectories; 1 means none.
    pub subdirectories: u32,
    /// Read size in bytes.
    pub read_block: u32,
    /// Write size in bytes.
    pub write_block: u32,
    /// Reads per ten reads and appends; −1 for neither.
    pub bias_read: i32,
    /// Creations per ten creations and deletions; −1 for neither.
    pub bias_create: i32,
    /// Whether to use the C library's buffers.
    pub buffered: bool,
    pub report: ReportForm,
    /// Number of threads; an extension.
    pub threads: u32,
}

/// A directory and its weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub path: String,
    /// Relative to the weights of the other directories.
    pub weight: u32,
}

/// The forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportForm {
    Verbose,
    Terse,
}

impl Default for PostmarkSettings {
    fn default() -> PostmarkSettings {
        PostmarkSettings {
            low: 500,
            high: 10_000,
            number: 500,
            seed: 42,
            transactions: 500,
            locations: Vec::new(),
            subdirectories: 0,
            read_block: 512,
            write_block: 512,
            bias_read: 5,
            bias_create: 5,
            buffered: true,
            report: ReportForm::Verbose,
            threads: 1,
        }
    }
}

impl PostmarkSettings {
    /// Returns the output of `show` in the given working directory.
    pub fn show(&self, working_directory: &str) -> String {
        let mut text = format!(
            "Current configuration is:\nThe base number of files is {}\nTransactions: {}\n",
            self.number, self.transactions
        );
        let mut line = |line: String| {
            text += &line;
            text.push('\n');
        };
        if self.threads > 1 {
            line(format!("Threads: {}, each with this many files and transactions", self.threads));
        }
        line(match self.low == self.high {
            true => format!("Files are {} in size", size(self.low)),
            false => format!("Files range between {} and {} in size", size(self.low), size(self.high)),
        });
        match self.locations.as_slice() {
            [] => line(format!("Working directory: {working_directory}")),
            [_] => line("Working directory: ".to_owned()),
            _ => line("Working directories: ".to_owned()),
        }
        for location in &self.locations {
            line(format!("\t{} (weight={})", location.path, location.weight));
        }
        if self.subdirectories > 0 {
            let plural = if self.subdirectories == 1 { "y" } else { "ies" };
            line(format!("{} subdirector{plural} will be used", self.subdirectories));
        }
        line(format!("Block sizes are: read={}, write={}", size(self.read_block), size(self.write_block)));
        let _ = write!(
            text,
            "Biases are: read/append={}, create/delete={}\n{}sing Unix buffered file I/O\n\
             Random number generator seed is {}\nReport format is {}.\n",
            self.bias_read,
            self.bias_create,
            if self.buffered { "U" } else { "Not u" },
            self.seed,
            match self.report {
                ReportForm::Verbose => "verbose",
                ReportForm::Terse => "terse",
            }
        );
        text
    }
}

/// Formats a size for the listing.
fn size(bytes: u32) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        // Here a unit begins at its own value; in reports, after it.
        1_048_576 => "1.00 megabytes".to_owned(),
        _ => scaled(f64::from(bytes as f32)),
    }
}
