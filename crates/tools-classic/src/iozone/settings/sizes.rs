//! Sizes of files and records.

use super::number::{bytes_of, record_max};
use super::{Given, IozoneSettings, RECORD_MAX_BYTES, Seen};
use crate::iozone::IozoneUsageError;
use crate::iozone::pass::Test;

/// Sizes of files and records.
#[derive(Default)]
pub(super) struct SizesSeen {
    pub(super) files_kb: Vec<u64>,
    pub(super) records: Vec<u64>,
    pub(super) min_file_kb: Option<u64>,
    pub(super) max_file_kb: Option<u64>,
    pub(super) min_record: Option<u64>,
    pub(super) max_record: Option<u64>,
    pub(super) times: u64,
    pub(super) auto: bool,
    pub(super) no_crossover: bool,
}

/// Handles an option about sizes; returns `false` for any other option.
pub(super) fn take(settings: &mut IozoneSettings, seen: &mut Seen, given: &Given) -> Result<bool, IozoneUsageError> {
    match given.name {
        "a" => {
            seen.sizes.auto = true;
            settings.buffers.purge = false;
            settings.buffers.many_buffers = false;
            settings.messages.line("Auto Mode");
        }
        "A" => {
            seen.sizes.auto = true;
            settings.tests.only_writes_and_reads = true;
            seen.sizes.no_crossover = true;
            settings.messages.line("Auto Mode 2. This option is obsolete. Use -az -i0 -i1 ");
            settings.tests.selects = true;
            settings.tests.include.extend([Test::Write, Test::Read]);
        }
        "g" | "n" => {
            let kb = (bytes_of(settings, given.name, given.word).max(0) as u64 / 1024).max(4);
            let which = if given.name == "g" { "maximum" } else { "minimum" };
            settings.messages.line(format!("Using {which} file size of {kb} kilobytes."));
            *(if given.name == "g" { &mut seen.sizes.max_file_kb } else { &mut seen.sizes.min_file_kb }) = Some(kb);
        }
        "q" | "y" => {
            let bytes = bytes_of(settings, given.name, given.word);
            let (which, fallback) = if given.name == "q" { ("Maximum", RECORD_MAX_BYTES) } else { ("Minimum", 4096) };
            let bytes = u64::try_from(bytes).ok().filter(|bytes| *bytes > 0).unwrap_or(fallback);
            record_max(bytes)?;
            settings.messages.line(format!("Using {which} Record Size {} kB", bytes / 1024));
            *(if given.name == "q" { &mut seen.sizes.max_record } else { &mut seen.sizes.min_record }) = Some(bytes);
        }
        "r" => {
            let bytes = bytes_of(settings, "r", given.word);
            let bytes = u64::try_from(bytes).ok().filter(|bytes| *bytes > 0).unwrap_or(4096);
            settings.messages.line(format!("Record Size {} kB", bytes / 1024));
            record_max(bytes)?;
            seen.sizes.records.push(bytes);
        }
        "s" => {
            let kb = bytes_of(settings, "s", given.word) / 1024;
            let kb = u64::try_from(kb).ok().filter(|kb| *kb > 0).unwrap_or(512);
            settings.messages.line(format!("File size set to {kb} kB"));
            seen.sizes.files_kb.push(kb);
        }
        "z" => {
            settings.messages.line("Cross over of record size disabled.");
            seen.sizes.no_crossover = true;
        }
        "+x" => seen.sizes.times = if given.number() > 1 { given.number() as u64 } else { 2 },
        _ => return Ok(false),
    }
    Ok(true)
}
