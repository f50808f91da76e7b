//! Opens a file of any known format.

use crate::binary::{Binary, Layout};
use crate::blktrace::{Blktrace, RecordLayout};
use crate::elbencho::{OpsLog, is_ops_log};
use crate::error::TraceError;
use crate::events::{Blkparse, Events, is_blkparse, is_event};
use crate::format_reader::{FormatReader, Input};
use crate::iolog::{self, Iolog, Waits};
use crate::lines::{LineParser, Lines};
use crate::model::Drawn;
use crate::names::Names;
use crate::own::{Facts, Loss, MAGIC, OwnReader};
use crate::processors::Processors;
use crate::record::{FileName, Record, Task};
use crate::strace::{Strace, is_strace};
use crate::table::{PRESETS, Table, detect};
use std::fs::File;
use std::io::{BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

/// Formats that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    Own,
    /// fio's iolog, with or without times.
    Iolog,
    Blktrace,
    /// The text output of blkparse.
    Blkparse,
    Btrecord,
    /// The text output of strace.
    Strace,
    /// The text output of `perf script` and tracefs.
    Events,
    /// elbencho's log of ops.
    OpsLog,
    /// CloudPhysics's vSCSI traces.
    Vscsi,
    /// A [model](crate::model), from which ops are drawn.
    Model,
    /// A table of text, by its name or its description.
    Table(String),
}

/// Names of formats, for users who specify one.
const NAMES: [(&str, Format); 10] = [
    ("plumb", Format::Own),
    ("iolog", Format::Iolog),
    ("blktrace", Format::Blktrace),
    ("blkparse", Format::Blkparse),
    ("btrecord", Format::Btrecord),
    ("strace", Format::Strace),
    ("events", Format::Events),
    ("elbencho", Format::OpsLog),
    ("vscsi", Format::Vscsi),
    ("model", Format::Model),
];

impl Format {
    /// Returns the name of the format.
    pub fn name(&self) -> &str {
        match self {
            Format::Table(name) => name,
            other => NAMES.iter().find(|(_, format)| format == other).map_or("", |(name, _)| name),
        }
    }

    /// Returns the format with this name. A name with a blank is the description of a table.
    ///
    /// # Errors
    /// Returns [`TraceError::Description`] if the format is unknown.
    pub fn named(name: &str) -> Result<Format, TraceError> {
        if let Some((_, format)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Ok(format.clone());
        }
        if name.contains(' ') || PRESETS.iter().any(|preset| preset.name == name) {
            Table::new(name)?;
            return Ok(Format::Table(name.to_owned()));
        }
        let known = NAMES.iter().map(|(name, _)| *name).chain(PRESETS.iter().map(|preset| preset.name));
        let known: Vec<&str> = known.collect();
        Err(TraceError::Description { what: format!("unknown format `{name}`; known: {}", known.join(", ")) })
    }

    /// Detects the format from the first bytes of a file.
    fn from_header(head: &[u8]) -> Option<Format> {
        if head.starts_with(&MAGIC) {
            return Some(Format::Own);
        }
        if RecordLayout::is_magic(head) {
            return Some(Format::Blktrace);
        }
        let text = String::from_utf8_lossy(head);
        let first = text.lines().next().unwrap_or("");
        if first.starts_with("fio version ") {
            return Some(Format::Iolog);
        }
        if first == crate::model::HEAD {
            return Some(Format::Model);
        }
        match Layout::from_header(head) {
            Some(Layout::Btrecord) => return Some(Format::Btrecord),
            Some(_) => return Some(Format::Vscsi),
            None => {}
        }
        if head.contains(&0) {
            return None;
        }
        // Headers and comments come before the first line that shows the format.
        text.lines().filter(|line| !line.trim().is_empty()).take(200).find_map(|line| {
            Some(match line {
                line if is_ops_log(line) => Format::OpsLog,
                line if is_blkparse(line) => Format::Blkparse,
                line if is_event(line) => Format::Events,
                line if is_strace(line) => Format::Strace,
                line => Format::Table(detect(line)?.to_owned()),
            })
        })
    }
}

impl FormatReader for OwnReader {
    fn next(&mut self) -> Option<Result<Record, TraceError>> {
        OwnReader::next(self)
    }

    fn names(&self) -> &Names {
        OwnReader::names(self)
    }

    fn facts(&self) -> Option<&Facts> {
        Some(self.chunks().facts())
    }

    fn losses(&self) -> &[Loss] {
        self.chunks().losses()
    }
}

/// A recording, read one record after another.
pub struct RecordingReader {
    format: Format,
    records: Box<dyn FormatReader>,
    has_failed: bool,
}

/// Records of one or several recordings.
pub type Records = Box<dyn Iterator<Item = Result<Record, TraceError>> + Send>;

impl RecordingReader {
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Returns the files mentioned so far; [`Record::file`] is an index into them.
    pub fn files(&self) -> &[FileName] {
        self.records.names().files()
    }

    /// Returns the threads mentioned so far; [`Record::task`] is an index into them.
    pub fn tasks(&self) -> &[Task] {
        self.records.names().tasks()
    }

    /// Returns the files and threads mentioned so far.
    pub fn names(&self) -> &Names {
        self.records.names()
    }

    /// Returns the number of waits of fio's version 2 so far. Its manual and fio itself differ about them.
    pub fn waits(&self) -> u64 {
        self.records.waits()
    }

    /// Returns the metadata in a file of Plumb's own format. Complete only after the end was read.
    pub fn facts(&self) -> Option<&Facts> {
        self.records.facts()
    }

    /// Returns the damaged parts of a file of Plumb's own format so far. Other formats end with an error there.
    pub fn losses(&self) -> &[Loss] {
        self.records.losses()
    }
}

impl Iterator for RecordingReader {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Result<Record, TraceError>> {
        if self.has_failed {
            return None;
        }
        let next = self.records.next();
        self.has_failed = matches!(next, Some(Err(_)));
        next
    }
}

/// Opens a recording and detects its format.
///
/// # Errors
/// Returns a [`TraceError`] if it cannot be opened or its format is unknown.
pub fn open(path: &Path, waits: Waits) -> Result<RecordingReader, TraceError> {
    open_as(path, waits, None)
}

/// Opens a recording, in this format if given.
///
/// # Errors
/// Returns the same errors as [`open`].
pub fn open_as(path: &Path, waits: Waits, format: Option<Format>) -> Result<RecordingReader, TraceError> {
    let failed = |source| TraceError::Io { path: path.to_owned(), source };
    if let Some(processors) = Processors::open(path).map_err(failed)? {
        return read_as(Box::new(processors), path, waits, format);
    }
    let file = File::open(path).map_err(failed)?;
    read_as(Box::new(BufReader::with_capacity(1 << 16, file)), path, waits, format)
}

/// Reads a recording from any input; `path` is for messages.
///
/// # Errors
/// Returns the same errors as [`open`].
pub fn read(input: Input, path: &Path, waits: Waits) -> Result<RecordingReader, TraceError> {
    read_as(input, path, waits, None)
}

/// Returns the name of a format that needs conversion by its own program, and the command.
fn foreign_format(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let known: [(&[u8], &str, &str); 6] = [
        (
            b"PERFILE2",
            "a file of `perf record`",
            "print it with `perf script -F comm,pid,tid,cpu,time,event,trace --ns`",
        ),
        (b"\x17\x08\x44tracing", "a file of `trace-cmd`", "print it with `trace-cmd report`"),
        (b"\xc1\x1f\xfc\xc1", "a stream of CTF", "print it with `babeltrace2`, and describe its columns with --from"),
        (b"\x1f\x8b", "compressed", "unpack it with `gzip -d`"),
        (b"\x28\xb5\x2f\xfd", "compressed", "unpack it with `zstd -d`"),
        (b"\xfd7zXZ\0", "compressed", "unpack it with `xz -d`"),
    ];
    known.iter().find(|(magic, ..)| head.starts_with(magic)).map(|(_, what, way)| (*what, *way))
}

/// Number of bytes used to detect a format.
const HEAD_BYTES: u64 = 1 << 14;

/// Reads a recording from any input, in this format if given.
///
/// # Errors
/// Returns the same errors as [`open`].
pub fn read_as(
    mut input: Input,
    path: &Path,
    waits: Waits,
    format: Option<Format>,
) -> Result<RecordingReader, TraceError> {
    let mut head = Vec::new();
    loop {
        match input.by_ref().take(HEAD_BYTES - head.len() as u64).read_to_end(&mut head) {
            Ok(_) => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(source) => return Err(TraceError::Io { path: path.to_owned(), source }),
        }
    }
    let unknown = || match foreign_format(&head) {
        Some((what, way)) => TraceError::Elsewhere { path: path.to_owned(), what, way },
        None => TraceError::Unknown { path: path.to_owned() },
    };
    let format = format.or_else(|| Format::from_header(&head)).ok_or_else(unknown)?;
    let first = String::from_utf8_lossy(&head).lines().next().unwrap_or("").to_owned();
    let layout = Layout::from_header(&head);
    let blktrace = RecordLayout::detect(path, &head);
    let whole: Input = Box::new(Cursor::new(head.clone()).chain(input));
    let text =
        |parser: Box<dyn LineParser>, whole| -> Box<dyn FormatReader> { Box::new(Lines::new(whole, path, parser)) };
    let records: Box<dyn FormatReader> = match &format {
        Format::Own => Box::new(OwnReader::new(whole, path)?),
        Format::Iolog => {
            let version = iolog::version(path, &first).ok_or_else(unknown)??;
            text(Box::new(Iolog::new(version, waits)), whole)
        }
        Format::Blktrace => Box::new(Blktrace::new(whole, path, blktrace.ok_or_else(unknown)??)),
        Format::Btrecord | Format::Vscsi => Box::new(Binary::new(whole, path, layout.ok_or_else(unknown)?)),
        Format::Blkparse => text(Box::<Blkparse>::default(), whole),
        Format::Strace => text(Box::<Strace>::default(), whole),
        Format::Events => text(Box::<Events>::default(), whole),
        Format::OpsLog => text(Box::<OpsLog>::default(), whole),
        Format::Model => Box::new(Drawn::new(whole, path)?),
        Format::Table(description) => text(Box::new(Table::new(description)?), whole),
    };
    Ok(RecordingReader { format, records, has_failed: false })
}
