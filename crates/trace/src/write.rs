//! Writes recordings: Plumb's own format, fio's iolog of versions 3 and 2, blktrace version 7, and a table.

use crate::error::TraceError;
use crate::merged::MergedRecording;
use crate::names::Names;
use crate::outline::Recorded;
use crate::own::{Facts, OwnWriter};
use crate::record::{FileName, Record, RecordedAct, UNKNOWN_NS};
use crate::write_blktrace::BlktraceWriter;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

/// Formats that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// Plumb's own format.
    Own,
    /// fio's iolog, with times in microseconds.
    Iolog3,
    /// fio's older iolog, with waits in whole milliseconds since the start, as fio reads them.
    Iolog2,
    /// blktrace's format, version 7.
    Blktrace,
    /// A table, with times in nanoseconds.
    Csv,
}

/// Names of output formats, and the endings of their files.
const FORMATS: [(OutputFormat, &str, &str); 5] = [
    (OutputFormat::Own, "plumb", "trace"),
    (OutputFormat::Iolog3, "iolog", "iolog"),
    (OutputFormat::Iolog2, "iolog2", "iolog2"),
    (OutputFormat::Blktrace, "blktrace", "blktrace"),
    (OutputFormat::Csv, "csv", "csv"),
];

impl OutputFormat {
    /// Returns the format with this name.
    ///
    /// # Errors
    /// Returns [`TraceError::Description`] if it is unknown.
    pub fn named(name: &str) -> Result<OutputFormat, TraceError> {
        let found = FORMATS.iter().find(|(_, known, _)| *known == name).map(|(format, ..)| *format);
        let what = || format!("unknown format `{name}` to write; known: plumb, iolog, iolog2, blktrace, csv");
        found.ok_or_else(|| TraceError::Description { what: what() })
    }

    /// Returns the format for a file name's ending; Plumb's own by default.
    pub fn of_path(path: &Path) -> OutputFormat {
        let end_of = |path: &Path| path.extension().and_then(|end| end.to_str()).unwrap_or("").to_owned();
        let end = end_of(path);
        // A processor's file in blktrace's naming: DEVICE.blktrace.0.
        let is_number = !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit());
        let end = if is_number { end_of(&path.with_extension("")) } else { end };
        FORMATS.iter().find(|(_, _, known)| *known == end).map_or(OutputFormat::Own, |(format, ..)| *format)
    }
}

/// Summary of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Number of records written.
    pub records: u64,
    /// Number of records that the format cannot express.
    pub left_out: u64,
    /// Number of files that were renamed, because the format cannot express their names.
    pub renamed: u64,
}

/// Writes a recording in a format; `path` is for messages.
///
/// # Errors
/// Returns the problem with the recording or with writing. Returns [`TraceError::Merge`] if the format
/// cannot hold such a recording.
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
            let mut writer = BlktraceWriter::new(out);
            while let Some(record) = recording.next() {
                let record = record?;
                let name = recording.names().files().get(record.file as usize);
                let Some(&FileName::Device { major, minor }) = name else {
                    return Err(TraceError::Merge(
                        "blktrace's format holds requests to block devices, and this recording has files; convert it to iolog"
                            .to_owned(),
                    ));
                };
                let task = recording.names().tasks().get(record.task as usize);
                let process = task.map_or(0, |task| task.process);
                if let Some(task) = task.filter(|task| !task.command.is_empty() && writer.named.insert(record.task)) {
                    writer.name(record.at_ns, task).map_err(io)?;
                }
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

/// Returns a path, or the path of a device's node.
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
    // A device is written by its numbers.
    let name = match name.strip_prefix("/dev/block/") {
        Some(numbers) => Cow::from(format!("device {numbers}")),
        None => Cow::from(name),
    };
    writeln!(out, "{at_ns},{took},{act},{name},{offset},{length},{result},{process},{thread},{command}")?;
    Ok(true)
}

/// Writes fio's lines. fio requires each file to be added and opened before use.
#[derive(Default)]
struct IologWriter {
    version: u8,
    /// Number of opens of each added file, by file number.
    files: Vec<Option<u32>>,
    /// The same for files without reads and writes, which are not added yet.
    quiet: Vec<u32>,
    /// Time up to which waits were written, ms.
    waited_ms: u64,
}

impl IologWriter {
    fn record(&mut self, out: &mut dyn Write, record: &Record, name: &str) -> io::Result<bool> {
        let place = record.file as usize;
        if place >= self.files.len() {
            self.files.resize(place + 1, None);
            self.quiet.resize(place + 1, 0);
        }
        // Skip failed ops and reads at the end of a file. Write short transfers with their moved length, because fio
        // treats a short transfer as an error.
        let moves_nothing = record.act.moves_data() && record.length > 0 && record.moved() == 0;
        let known = iolog_act(record.act).filter(|_| record.result >= 0 && !moves_nothing);
        let length = if record.act.moves_data() { record.moved() } else { record.length };
        let record = &Record { length, ..*record };
        let Some((_, has_place)) = known else { return Ok(false) };
        // fio opens every named file for reading and writing. A file that was only opened and flushed may be a
        // directory, which fio cannot open.
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
        // A file is open from its first open to its last close, over all descriptors.
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

/// Returns fio's name of an act, and whether a range follows.
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

/// Writes a merged recording: blktrace version 7 if all files are devices, fio's iolog version 3 if all have
/// paths; `path` is for messages.
///
/// # Errors
/// Returns the problem with a part or with writing. Returns [`TraceError::Merge`] if paths and devices are mixed.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iolog::Waits;
    use crate::merged::MergedPart;
    use crate::open::open;
    use crate::record::flag;
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

    /// Protects: programs keep their names, and writes their durability.
    #[test]
    fn blktrace_keeps_programs_and_flags() {
        let text = "8,0 0 1 0.000001 7 Q WFS 2048 + 8 [fio]\n8,0 0 2 0.000002 7 Q RA 4096 + 8 [fio]\n";
        let input = Box::new(io::Cursor::new(text.as_bytes().to_vec()));
        let mut recording = crate::open::read(input, Path::new("a"), Waits::Manual).unwrap();
        let mut bytes = Vec::new();
        let (path, facts) = (Path::new("a"), Facts::default());
        convert(&mut recording, &mut bytes, path, OutputFormat::Blktrace, &facts).unwrap();
        let mut reader = crate::open::read(Box::new(io::Cursor::new(bytes)), path, Waits::Manual).unwrap();
        let flags: Vec<u8> = reader.by_ref().map(|record| record.unwrap().flags).collect();
        assert_eq!(flags, [flag::SYNC | flag::UNFINISHED, flag::AHEAD | flag::UNFINISHED]);
        assert_eq!((reader.tasks()[0].command.as_str(), reader.tasks()[0].process), ("fio", 7));
        let of = |name: &str| OutputFormat::of_path(Path::new(name));
        assert_eq!(of("sda.blktrace.0"), OutputFormat::Blktrace);
        assert_eq!(
            (of("a.trace.0"), of("a.0"), of("a.csv.gz")),
            (OutputFormat::Own, OutputFormat::Own, OutputFormat::Own)
        );
    }

    #[test]
    fn a_merged_recording_reads_back() {
        let (merged, read, files) = again(&[part("loop.blktrace", 1)]);
        // The thread is not kept, and a read that overlaps another completes with it.
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
