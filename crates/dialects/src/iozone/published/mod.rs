//! The numbers of what IOzone has printed: the table and the blocks of its text, the reports of `-R`, the spreadsheet of
//! `-b`. Nothing of it is a run of ours: rates are told as they stand there, with the sizes they were had on.

mod sheet;
mod table;
#[cfg(test)]
mod tests;

use super::pass::Pass;
use super::settings::Rate;
use plumb_result::published::Unread;
use plumb_result::{PublishedNumber, Unit};
use plumb_workload::Bytes;

/// Reads the numbers of IOzone's text or spreadsheet. A 0 stands for a test that was not made, and is no number; the use of
/// processors is none of ours.
///
/// # Errors
/// A file that is none of IOzone's, or that ends before its numbers do, with the place.
pub fn published(bytes: &[u8]) -> Result<Vec<PublishedNumber>, Unread> {
    // What later spreadsheets begin with: an archive, or a compound file.
    let is_workbook = bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"\xd0\xcf\x11\xe0");
    let found = match sheet::is_sheet(bytes) {
        _ if is_workbook => Vec::new(),
        true => sheet::of_records(bytes)?,
        false => {
            let text = String::from_utf8_lossy(bytes);
            // The report behind a table says the same again.
            match table::numbers(&text)? {
                numbers if numbers.is_empty() => sheet::of_text(&text)?,
                numbers => numbers,
            }
        }
    };
    if found.is_empty() {
        return Err(Unread {
            place: String::new(),
            message: if is_workbook { "a workbook of a later kind" } else { "no number of IOzone's is in it" }
                .to_owned(),
            help: "what is read is IOzone's own text, its `-R` report, and the spreadsheet of `-b` (BIFF 2)".to_owned(),
        });
    }
    Ok(found)
}

/// The number of a pass as it was printed; none where it says that nothing was measured.
fn number(pass: Pass, printed: &str, value: f64, rate: Rate, conditions: String) -> Option<PublishedNumber> {
    const NS_PER_US: f64 = 1000.0;
    let (unit, factor, words) = match rate {
        Rate::Kb => (Unit::BytesPerSecond, 1024.0, "kBytes/sec"),
        Rate::Ops => (Unit::OpsPerSecond, 1.0, "ops/sec"),
        Rate::Usec => (Unit::Nanoseconds, NS_PER_US, "µs/op"),
    };
    PublishedNumber::new(pass.kind(), format!("{printed} {words}"), value * factor, unit, conditions)
}

/// `8MiB by 64KiB`, of sizes in kB of 1024 bytes; a record of 0 is none that was told.
fn sizes(file_kb: u64, record_kb: u64) -> String {
    let size = |kb: u64| Bytes(kb.saturating_mul(1024));
    match record_kb {
        0 => format!("iozone, {}", size(file_kb)),
        _ => format!("iozone, {} by {}", size(file_kb), size(record_kb)),
    }
}
