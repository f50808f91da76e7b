//! Writes merged recordings: blktrace version 7 if all files are devices, fio's iolog version 3 if all have paths.

use crate::error::TraceError;
use crate::merged::MergedRecording;
use crate::outline::Recorded;
use crate::record::{FileName, Record, RecordedAct};
use std::io::{self, Write};
use std::path::Path;

/// Writes a recording; `path` is for messages.
///
/// # Errors
/// The problem with a part, or with writing; [`TraceError::Merge`] where paths and devices are mixed.
pub fn write(mut merged: MergedRecording, out: &mut impl Write, path: &Path) -> Result<(), TraceError> {
    let devices = merged.names().iter().filter(|name| matches!(name, FileName::Device { .. })).count();
    let to_blktrace = devices > 0;
    if to_blktrace && devices < merged.names().len() {
        return Err(TraceError::Merge(
            "some recordings are of devices and some of files, and no format holds both; merge each kind separately"
                .to_owned(),
        ));
    }
    let io = |source| TraceError::Io { path: path.to_owned(), source };
    if !to_blktrace {
        out.write_all(b"fio version 3 iolog\n").map_err(io)?;
    }
    let mut sequence = 0_u32;
    while let Some(record) = merged.next() {
        let record = record?;
        let Some(name) = merged.files().get(record.file as usize) else { continue };
        match name {
            FileName::Device { major, minor } => {
                sequence = sequence.wrapping_add(1);
                let device = major << 20 | minor;
                let header = blktrace_header(&record, device, sequence)?;
                out.write_all(&header)
            }
            FileName::Path(name) => iolog_line(out, &record, name),
        }
        .map_err(io)?;
    }
    out.flush().map_err(io)
}

fn iolog_line(out: &mut impl Write, record: &Record, name: &str) -> io::Result<()> {
    let at_us = record.at_ns / 1_000;
    let (act, has_place) = match record.act {
        RecordedAct::Add => ("add", false),
        RecordedAct::Open => ("open", false),
        RecordedAct::Close => ("close", false),
        RecordedAct::Read => ("read", true),
        RecordedAct::Write => ("write", true),
        RecordedAct::Trim => ("trim", true),
        RecordedAct::Sync => ("sync", true),
        RecordedAct::Datasync => ("datasync", true),
    };
    match has_place {
        true => writeln!(out, "{at_us} {name} {act} {} {}", record.offset, record.length),
        false => writeln!(out, "{at_us} {name} {act}"),
    }
}

/// Categories and the step `Q` of an action of version 7. Source: linux/blktrace_api.h.
const QUEUED: u32 = 1 | 0x10 << 16;
const READ: u32 = 1 << 16;
const WRITE: u32 = 2 << 16;
const FLUSH: u32 = 4 << 16;
const DISCARD: u32 = 0x2000 << 16;

/// One record of version 7, in the byte order of this machine.
fn blktrace_header(record: &Record, device: u32, sequence: u32) -> Result<Vec<u8>, TraceError> {
    let action = QUEUED
        | match record.act {
            RecordedAct::Read => READ,
            RecordedAct::Write => WRITE,
            RecordedAct::Trim => WRITE | DISCARD,
            RecordedAct::Sync | RecordedAct::Datasync => WRITE | FLUSH,
            RecordedAct::Add | RecordedAct::Open | RecordedAct::Close => return Ok(Vec::new()),
        };
    let bytes = u32::try_from(record.length).map_err(|_| TraceError::TooLong { bytes: record.length })?;
    let mut header = Vec::with_capacity(48);
    header.extend_from_slice(&0x6561_7407_u32.to_ne_bytes());
    header.extend_from_slice(&sequence.to_ne_bytes());
    header.extend_from_slice(&record.at_ns.to_ne_bytes());
    header.extend_from_slice(&(record.offset / 512).to_ne_bytes());
    header.extend_from_slice(&bytes.to_ne_bytes());
    header.extend_from_slice(&action.to_ne_bytes());
    // Who asked, which nobody needs.
    header.extend_from_slice(&0_u32.to_ne_bytes());
    header.extend_from_slice(&device.to_ne_bytes());
    // Which processor, which error, and how many bytes follow: none.
    header.extend_from_slice(&[0; 8]);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iolog::Waits;
    use crate::merged::MergedPart;
    use crate::open::open;
    use std::fs;
    use std::path::PathBuf;

    fn again(parts: &[MergedPart]) -> (Vec<Record>, Vec<Record>, Vec<FileName>) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("merged");
        let merged = MergedRecording::open(parts, Waits::Manual).unwrap();
        write(merged, &mut fs::File::create(&path).unwrap(), &path).unwrap();
        let mut reader = open(&path, Waits::Manual).unwrap();
        let read: Vec<Record> = reader.by_ref().collect::<Result<_, _>>().unwrap();
        let merged = MergedRecording::open(parts, Waits::Manual).unwrap();
        (merged.collect::<Result<_, _>>().unwrap(), read, reader.files().to_vec())
    }

    fn part(name: &str, times: u32) -> MergedPart {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
        MergedPart { path, percent: 100.0, times }
    }

    #[test]
    fn what_was_merged_is_read_back_as_it_was() {
        let (merged, read, files) = again(&[part("loop.blktrace", 2), part("loop.blktrace", 1)]);
        assert_eq!(merged, read);
        assert_eq!(files, [FileName::Device { major: 7, minor: 7 }]);
        let (merged, read, files) = again(&[part("fio_v3_fsync.iolog", 2)]);
        assert_eq!(merged, read);
        assert_eq!(files, [FileName::Path("ff".to_owned())]);
    }

    #[test]
    fn devices_and_files_are_not_mixed() {
        let parts = [part("loop.blktrace", 1), part("fio_v3_fsync.iolog", 1)];
        let merged = MergedRecording::open(&parts, Waits::Manual).unwrap();
        let error = write(merged, &mut Vec::new(), Path::new("merged")).expect_err("it must be refused");
        assert!(error.to_string().contains("separately"), "{error}");
    }
}
