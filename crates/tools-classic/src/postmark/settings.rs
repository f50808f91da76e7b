//! The settings, and how they are shown.

use super::amount::scaled;
use std::fmt::Write;

/// What is set, with PostMark's defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostmarkSettings {
    /// Smallest size of a file, bytes.
    pub low: u32,
    /// Largest size, bytes.
    pub high: u32,
    /// Files at the beginning.
    pub number: u32,
    /// Seed.
    pub seed: u32,
    /// Transactions.
    pub transactions: u32,
    /// Directories; the working directory when empty.
    pub locations: Vec<Location>,
    /// Subdirectories; 1 is none.
    pub subdirectories: u32,
    /// Bytes of a read.
    pub read_block: u32,
    /// Bytes of a write.
    pub write_block: u32,
    /// Reads among ten reads and appends; −1 for neither.
    pub bias_read: i32,
    /// Creations among ten creations and deletions; −1 for neither.
    pub bias_create: i32,
    /// Through the C library's buffers.
    pub buffered: bool,
    /// Which report is printed.
    pub report: ReportForm,
    /// Threads; an extension.
    pub threads: u32,
}

/// A directory, and how often it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// As said.
    pub path: String,
    /// Against the weights of the others.
    pub weight: u32,
}

/// The forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportForm {
    /// For human readers.
    Verbose,
    /// One line of numbers.
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
    /// What `show` prints, in the given working directory.
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

/// A size as it is shown.
fn size(bytes: u32) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        // Units begin with the value here; in reports after it.
        1_048_576 => "1.00 megabytes".to_owned(),
        _ => scaled(f64::from(bytes as f32)),
    }
}
