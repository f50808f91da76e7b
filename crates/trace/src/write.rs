//! Writes recordings: Plumb's own form, fio's iolog of versions 3 and 2, blktrace version 7, and a table.

use crate::error::TraceError;
use crate::merged::MergedRecording;
use crate::names::Names;
use crate::outline::Recorded;
use crate::own::{Facts, OwnWriter};
use crate::record::{FileName, Record, RecordedAct, UNKNOWN_NS};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::io::{self, Write};
use std::path::Path;

/// A form that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// Plumb's own.
    Own,
    /// fio's, with times in microseconds.
    Iolog3,
    /// fio's of old, with waits in whole milliseconds since the start, which is how fio reads them.
    Iolog2,
    /// blktrace's, version 7.
    Blktrace,
    /// A table, with times in nanoseconds.
    Csv,
}

/// The names of output forms, and how files of theirs end.
const FORMATS: [(OutputFormat, &str, &str); 5] = [
    (OutputFormat::Own, "plumb", "trace"),
    (OutputFormat::Iolog3, "iolog", "iolog"),
    (OutputFormat::Iolog2, "iolog2", "iolog2"),
    (OutputFormat::Blktrace, "blktrace", "blktrace"),
    (OutputFormat::Csv, "csv", "csv"),
];

impl OutputFormat {
    /// The form with a name.
    ///
    /// # Errors
    /// [`TraceError::Description`] where there is none.
    pub fn named(name: &str) -> Result<OutputFormat, TraceError> {
        let found = FORMATS.iter().find(|(_, known, _)| *known == name).map(|(format, ..)| *format);
        let what = || format!("unknown format `{name}` to write; known: plumb, iolog, iolog2, blktrace, csv");
        found.ok_or_else(|| TraceError::Description { what: what() })
    }

    /// The form that a file's name ends with; Plumb's own otherwise.
    pub fn of_path(path: &Path) -> OutputFormat {
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or("");
        FORMATS.iter().find(|(_, _, known)| *known == end).map_or(OutputFormat::Own, |(format, ..)| *format)
    }
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Records.
    pub records: u64,
    /// Records that the form cannot express.
    pub left_out: u64,
    /// Files whose names had characters that the form cannot express, and were changed.
    pub renamed: u64,
}

/// Writes a recording in a form; `path` is for messages.
///
/// # Errors
/// The problem with the recording, or with writing; [`TraceError::Merge`] where the form does not hold such a recording.
pub fn convert(
    recording: &mut dyn Recorded,
    out: &mut dyn Write,
    path: &Path,
    format: OutputFormat,
    facts: &Facts,
) -> Result<Written, TraceError> {
    let io = |source| TraceError::Io { path: path.to_owned(), source };
    let mut written = Written::default();
    match format {
        OutputFormat::Own => {
            let mut writer = OwnWriter::new(out, facts).map_err(io)?;
            while let Some(record) = recording.next() {
                writer.push(record?, recording.names()).map_err(io)?;
                written.records += 1;
            }
            writer.finish(recording.names(), &Facts::default()).map_err(io)?;
            return Ok(written);
        }
        OutputFormat::Blktrace => {
            let mut writer = BlktraceWriter { out, sequence: 0, completions: BinaryHeap::new() };
            while let Some(record) = recording.next() {
                let record = record?;
                let name = recording.names().files().get(record.file as usize);
                let Some(&FileName::Device { major, minor }) = name else {
                    return Err(TraceError::Merge(
                        "blktrace's format holds requests to block devices, and this recording has files; convert it to iolog"
                            .to_owned(),
                    ));
                };
                let process = recording.names().tasks().get(record.task as usize).map_or(0, |task| task.process);
                match writer.request(&record, major << 20 | minor, process).map_err(|error| error.at(path))? {
                    true => written.records += 1,
                    false => written.left_out += 1,
                }
            }
            writer.complete(u64::MAX).map_err(io)?;
            writer.out.flush().map_err(io)?;
            return Ok(written);
        }
        OutputFormat::Csv => {
            out.write_all(b"time,took,op,file,offset,length,result,process,task,command\n").map_err(io)?
        }
        OutputFormat::Iolog3 => out.write_all(b"fio version 3 iolog\n").map_err(io)?,
        OutputFormat::Iolog2 => out.write_all(b"fio version 2 iolog\n").map_err(io)?,
    }
    let mut iolog =
        IologWriter { version: if format == OutputFormat::Iolog2 { 2 } else { 3 }, ..IologWriter::default() };
    let mut renamed = BTreeSet::new();
    while let Some(record) = recording.next() {
        let record = record?;
        let name = recording.names().files().get(record.file as usize).map(plain_name).unwrap_or_default();
        let is_bad = |letter: char| match format {
            OutputFormat::Csv => matches!(letter, ',' | '\n' | '\r'),
            _ => letter.is_whitespace() || letter.is_control(),
        };
        let name = if name.contains(is_bad) {
            renamed.insert(record.file);
            Cow::from(name.replace(is_bad, "_"))
        } else {
            name
        };
        let is_written = if format == OutputFormat::Csv {
            csv_line(out, &record, &name, recording.names())
        } else {
            iolog.record(out, &record, &name)
        };
        match is_written.map_err(io)? {
            true => written.records += 1,
            false => written.left_out += 1,
        }
    }
    out.flush().map_err(io)?;
    written.renamed = renamed.len() as u64;
    Ok(written)
}

/// A path, or that of a device's node.
fn plain_name(name: &FileName) -> Cow<'_, str> {
    match name {
        FileName::Path(path) => Cow::from(path.as_str()),
        FileName::Device { major, minor } => Cow::from(format!("/dev/block/{major}:{minor}")),
    }
}

fn csv_line(out: &mut dyn Write, record: &Record, name: &str, names: &Names) -> io::Result<bool> {
    let Record { at_ns, took_ns, offset, length, result, .. } = record;
    let took = if *took_ns == UNKNOWN_NS { String::new() } else { took_ns.to_string() };
    let unknown = crate::record::Task::default();
    let task = names.tasks().get(record.task as usize).unwrap_or(&unknown);
    let command = task.command.replace([',', '\n'], "_");
    let (act, process, thread) = (record.act.name(), task.process, task.thread);
    // A device keeps its numbers.
    let name = match name.strip_prefix("/dev/block/") {
        Some(numbers) => Cow::from(format!("device {numbers}")),
        None => Cow::from(name),
    };
    writeln!(out, "{at_ns},{took},{act},{name},{offset},{length},{result},{process},{thread},{command}")?;
    Ok(true)
}

/// Writes fio's lines. fio wants each file added and opened before it is used.
#[derive(Default)]
struct IologWriter {
    version: u8,
    /// By number of file: how often it is open, once it was added.
    files: Vec<Option<u32>>,
    /// The same of those that were not added yet: nothing was read or written there.
    quiet: Vec<u32>,
    /// Until when was waited, ms.
    waited_ms: u64,
}

impl IologWriter {
    fn record(&mut self, out: &mut dyn Write, record: &Record, name: &str) -> io::Result<bool> {
        let place = record.file as usize;
        if place >= self.files.len() {
            self.files.resize(place + 1, None);
            self.quiet.resize(place + 1, 0);
        }
        // What failed is not repeated, nor what found the end of a file; of what moved less than it was asked to, what it moved: fio
        // takes less for an error.
        let moves_nothing = record.act.moves_data() && record.length > 0 && record.moved() == 0;
        let known = iolog_act(record.act).filter(|_| record.result >= 0 && !moves_nothing);
        let length = if record.act.moves_data() { record.moved() } else { record.length };
        let record = &Record { length, ..*record };
        let Some((_, has_place)) = known else { return Ok(false) };
        // fio opens what is named for reading and writing. What only was opened and flushed may be a directory, which it cannot.
        if record.handle != 0 && self.files[place].is_none() {
            let quiet = &mut self.quiet[place];
            match record.act {
                RecordedAct::Open => {
                    *quiet += 1;
                    return Ok(true);
                }
                RecordedAct::Close => {
                    *quiet = quiet.saturating_sub(1);
                    return Ok(true);
                }
                RecordedAct::Sync | RecordedAct::Datasync => return Ok(false),
                _ => {}
            }
        }
        let at_ms = record.at_ns / 1_000_000;
        if self.version == 2 && at_ms > self.waited_ms {
            self.waited_ms = at_ms;
            if self.files[place].is_none() {
                self.files[place] = Some(0);
                self.line(out, record, name, RecordedAct::Add)?;
            }
            writeln!(out, "{name} wait {at_ms} 0")?;
        }
        if self.files[place].is_none() {
            self.files[place] = Some(0);
            if record.act != RecordedAct::Add {
                self.line(out, record, name, RecordedAct::Add)?;
            }
        } else if record.act == RecordedAct::Add {
            return Ok(true);
        }
        let opened = self.files[place].get_or_insert(0);
        // A file is open from its first open to its last close, whichever descriptors these are of.
        let is_within = match record.act {
            RecordedAct::Open => {
                *opened += 1;
                *opened > 1
            }
            RecordedAct::Close if *opened == 0 => true,
            RecordedAct::Close => {
                *opened -= 1;
                *opened > 0
            }
            _ => false,
        };
        if is_within {
            return Ok(true);
        }
        if has_place && *opened == 0 {
            *opened = std::mem::take(&mut self.quiet[place]).max(1);
            self.line(out, record, name, RecordedAct::Open)?;
        }
        self.line(out, record, name, record.act)?;
        Ok(true)
    }

    fn line(&self, out: &mut dyn Write, record: &Record, name: &str, act: RecordedAct) -> io::Result<()> {
        iolog_line(out, &Record { act, ..*record }, name, self.version)
    }
}

/// What fio calls an act, and whether a place follows.
fn iolog_act(act: RecordedAct) -> Option<(&'static str, bool)> {
    Some(match act {
        RecordedAct::Add => ("add", false),
        RecordedAct::Open => ("open", false),
        RecordedAct::Close => ("close", false),
        RecordedAct::Read => ("read", true),
        RecordedAct::Write => ("write", true),
        RecordedAct::Trim => ("trim", true),
        RecordedAct::Sync => ("sync", true),
        RecordedAct::Datasync => ("datasync", true),
        _ => return None,
    })
}

fn iolog_line(out: &mut dyn Write, record: &Record, name: &str, version: u8) -> io::Result<()> {
    let Some((act, has_place)) = iolog_act(record.act) else { return Ok(()) };
    if version == 3 {
        write!(out, "{} ", record.at_ns / 1_000)?;
    }
    match has_place {
        true => writeln!(out, "{name} {act} {} {}", record.offset, record.length),
        false => writeln!(out, "{name} {act}"),
    }
}

/// Writes a merged recording: blktrace version 7 if all files are devices, fio's iolog version 3 if all have paths; `path` is for
/// messages.
///
/// # Errors
/// The problem with a part, or with writing; [`TraceError::Merge`] where paths and devices are mixed.
pub fn write(mut merged: MergedRecording, out: &mut impl Write, path: &Path) -> Result<(), TraceError> {
    let devices = merged.part_names().iter().filter(|name| matches!(name, FileName::Device { .. })).count();
    let to_blktrace = devices > 0;
    if to_blktrace && devices < merged.part_names().len() {
        return Err(TraceError::Merge(
            "some recordings are of devices and some of files, and no format holds both; merge each kind separately"
                .to_owned(),
        ));
    }
    let format = if to_blktrace { OutputFormat::Blktrace } else { OutputFormat::Iolog3 };
    convert(&mut merged, out, path, format, &Facts::default()).map(|_| ())
}

/// Categories and steps of an action of version 7. Source: linux/blktrace_api.h.
const QUEUED: u32 = 1 | 0x10 << 16;
const COMPLETED: u32 = 8 | 0x80 << 16;
const READ: u32 = 1 << 16;
const WRITE: u32 = 2 << 16;
const FLUSH: u32 = 4 << 16;
const DISCARD: u32 = 0x2000 << 16;

/// One record of version 7; in the order of their times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BlktraceRecord {
    at_ns: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    process: u32,
    device: u32,
    error: u16,
}

/// Writes requests, and their completions where they are known, in the order of their times.
struct BlktraceWriter<'a> {
    out: &'a mut dyn Write,
    sequence: u32,
    /// Those that are due, the earliest first.
    completions: BinaryHeap<Reverse<BlktraceRecord>>,
}

/// Why a request was not written.
enum RequestError {
    TooLong(u64),
    Io(io::Error),
}

impl RequestError {
    fn at(self, path: &Path) -> TraceError {
        match self {
            RequestError::TooLong(bytes) => TraceError::TooLong { bytes },
            RequestError::Io(source) => TraceError::Io { path: path.to_owned(), source },
        }
    }
}

impl BlktraceWriter<'_> {
    /// Writes a request; false for what is none.
    fn request(&mut self, record: &Record, device: u32, process: u32) -> Result<bool, RequestError> {
        let action = match record.act {
            RecordedAct::Read => READ,
            RecordedAct::Write => WRITE,
            RecordedAct::Trim => WRITE | DISCARD,
            RecordedAct::Sync | RecordedAct::Datasync => WRITE | FLUSH,
            _ => return Ok(false),
        };
        let bytes = u32::try_from(record.length).map_err(|_| RequestError::TooLong(record.length))?;
        self.complete(record.at_ns).map_err(RequestError::Io)?;
        let queued = BlktraceRecord {
            at_ns: record.at_ns,
            sector: record.offset / 512,
            bytes,
            action: QUEUED | action,
            process,
            device,
            error: 0,
        };
        self.put(&queued).map_err(RequestError::Io)?;
        if record.took_ns != UNKNOWN_NS {
            self.completions.push(Reverse(BlktraceRecord {
                at_ns: record.at_ns.saturating_add(record.took_ns),
                action: COMPLETED | action,
                process: 0,
                error: if record.result < 0 { record.result.unsigned_abs() as u16 } else { 0 },
                ..queued
            }));
        }
        Ok(true)
    }

    /// Writes the completions before a time.
    fn complete(&mut self, before_ns: u64) -> io::Result<()> {
        while let Some(Reverse(done)) = self.completions.peek().copied().filter(|done| done.0.at_ns < before_ns) {
            self.completions.pop();
            self.put(&done)?;
        }
        Ok(())
    }

    /// In the byte order of this machine.
    fn put(&mut self, record: &BlktraceRecord) -> io::Result<()> {
        let BlktraceRecord { at_ns, sector, bytes, action, process, device, error } = *record;
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = Vec::with_capacity(48);
        header.extend_from_slice(&0x6561_7407_u32.to_ne_bytes());
        header.extend_from_slice(&self.sequence.to_ne_bytes());
        header.extend_from_slice(&at_ns.to_ne_bytes());
        header.extend_from_slice(&sector.to_ne_bytes());
        // Which processor it was is not known.
        for field in [bytes, action, process, device, 0] {
            header.extend_from_slice(&field.to_ne_bytes());
        }
        header.extend_from_slice(&error.to_ne_bytes());
        // Nothing follows.
        header.extend_from_slice(&[0; 2]);
        self.out.write_all(&header)
    }
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
        MergedPart { path, percent: 100.0, times, copy: 0 }
    }

    #[test]
    fn what_was_merged_is_read_back_as_it_was() {
        let (merged, read, files) = again(&[part("loop.blktrace", 1)]);
        // Who asked is not kept, and a read that overlaps another is complete when that is.
        let place = |record: &Record| (record.at_ns, record.act, record.offset, record.length);
        assert_eq!(merged.iter().map(place).collect::<Vec<_>>(), read.iter().map(place).collect::<Vec<_>>());
        assert_eq!(files, [FileName::Device { major: 7, minor: 7 }]);
        let (merged, read, files) = again(&[part("fio_v3_fsync.iolog", 1)]);
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
