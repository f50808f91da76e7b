//! Parses numbers in IOzone's output: the table and the blocks of its text, the reports of `-R`, the spreadsheet of
//! `-b`. Rates are kept as printed, with their sizes.

mod cells;
mod sheet;
mod table;
#[cfg(test)]
mod tests;

use cells::{number, sizes};
use plumb_result::PublishedNumber;
use plumb_result::published::Unread;

/// Parses the numbers of IOzone's text or spreadsheet.
///
/// A 0 marks a test that did not run and is not a number. CPU usage is skipped.
///
/// # Errors
///
/// A file that is not IOzone's, or is truncated, with the place.
pub fn published(bytes: &[u8]) -> Result<Vec<PublishedNumber>, Unread> {
    // Magic bytes of later spreadsheets: an archive, or a compound file.
    let is_workbook = bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"\xd0\xcf\x11\xe0");
    let found = match sheet::is_sheet(bytes) {
        _ if is_workbook => Vec::new(),
        true => sheet::of_records(bytes)?,
        false => {
            let text = String::from_utf8_lossy(bytes);
            // The report after a table repeats it.
            match table::numbers(&text)? {
                numbers if numbers.is_empty() => sheet::of_text(&text)?,
                numbers => numbers,
            }
        }
    };
    if found.is_empty() {
        return Err(Unread {
            place: String::new(),
            message: if is_workbook { "a workbook of a later kind" } else { "there are no IOzone results in it" }
                .to_owned(),
            help: "what is read is IOzone's own text, its `-R` report, and the spreadsheet of `-b` (BIFF 2)".to_owned(),
        });
    }
    Ok(found)
}
