//! Telemetry files.

use super::RECORD_MAX_BYTES;
use crate::iozone::{IozoneUsageError, Machine};
use plumb_workload::program::ListedRecord;
use plumb_workload::{Bytes, Nanos};

/// Records of a telemetry file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Telemetry {
    pub path: String,
    /// Records in the order of the file.
    pub records: Vec<ListedRecord>,
    /// Whether its lines contain computing times.
    pub has_delays: bool,
}

impl Telemetry {
    /// Returns the end of its last record in kB.
    pub fn file_kb(&self) -> u64 {
        self.records.iter().map(|record| record.offset.0.saturating_add(record.length.0)).max().unwrap_or(0) / 1024
    }
}

/// Files that list the records to write and to read.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetryFiles {
    /// `-X`: records to write.
    pub writes: Option<Telemetry>,
    /// `-Y`: records to read.
    pub reads: Option<Telemetry>,
}

/// Parses lines of offset, size and an optional computing time in milliseconds; `#` begins a comment.
pub(super) fn telemetry(path: &str, which: &str, machine: &mut dyn Machine) -> Result<Telemetry, IozoneUsageError> {
    let text = machine
        .file(path)
        .map_err(|_| IozoneUsageError::say(174, format!("Unable to open {which} telemetry file \"{path}\"\n")))?;
    let mut telemetry = Telemetry { path: path.to_owned(), records: Vec::new(), has_delays: false };
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        let parsed = match fields.as_slice() {
            [offset, length] => offset.parse().ok().zip(length.parse().ok()).map(|pair| (pair, 0.0)),
            [offset, length, delay] => {
                telemetry.has_delays = true;
                offset.parse().ok().zip(length.parse().ok()).zip(delay.parse::<f64>().ok())
            }
            _ => None,
        };
        let Some(((offset, length), delay_ms)) =
            parsed.filter(|((_, length), delay)| *length > 0u64 && *length <= RECORD_MAX_BYTES && *delay >= 0.0)
        else {
            return Err(IozoneUsageError::refuse(
                178,
                format!("{path}:{}: `{line}` is not a line of offset, size and delay", number + 1),
            ));
        };
        telemetry.records.push(ListedRecord {
            offset: Bytes(offset),
            length: Bytes(length),
            pause: Nanos((delay_ms * 1e6) as u64),
            does: None,
        });
    }
    match telemetry.records.is_empty() {
        true => Err(IozoneUsageError::refuse(178, format!("{path} has no records"))),
        false => Ok(telemetry),
    }
}
