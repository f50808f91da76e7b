//! Detects the format of a recording.

use crate::blktrace::{Blktrace, RecordLayout};
use crate::error::TraceError;
use crate::iolog::{self, Iolog, Waits};
use crate::record::{FileName, Record};
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;

/// The forms that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// fio's, with or without times.
    Iolog,
    /// blktrace's.
    Blktrace,
}

/// Anything that a recording can be read from.
pub type Input = Box<dyn BufRead + Send>;

/// A recording, read one record after another.
pub struct RecordingReader {
    records: Form,
}

enum Form {
    Iolog(Iolog<Input>),
    Blktrace(Blktrace<Input>),
}

/// Records of several recordings or of one.
pub type Records = Box<dyn Iterator<Item = Result<Record, TraceError>> + Send>;

impl RecordingReader {
    /// Which form it has.
    pub fn format(&self) -> Format {
        match &self.records {
            Form::Iolog(_) => Format::Iolog,
            Form::Blktrace(_) => Format::Blktrace,
        }
    }

    /// The files that were mentioned so far; [`Record::file`] counts them.
    pub fn files(&self) -> &[FileName] {
        match &self.records {
            Form::Iolog(iolog) => iolog.files(),
            Form::Blktrace(blktrace) => blktrace.files(),
        }
    }
}

impl RecordingReader {
    /// Waits of fio's version 2 so far, about which its manual and fio itself differ.
    pub fn waits(&self) -> u64 {
        match &self.records {
            Form::Iolog(iolog) => iolog.waits_seen(),
            Form::Blktrace(_) => 0,
        }
    }
}

impl Iterator for RecordingReader {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Result<Record, TraceError>> {
        match &mut self.records {
            Form::Iolog(iolog) => iolog.next(),
            Form::Blktrace(blktrace) => blktrace.next(),
        }
    }
}

/// Opens a recording and finds out what it is.
///
/// # Errors
/// [`TraceError`] where it cannot be opened, or is nothing that is read here.
pub fn open(path: &Path, waits: Waits) -> Result<RecordingReader, TraceError> {
    let file = File::open(path).map_err(|source| TraceError::Io { path: path.to_owned(), source })?;
    read(Box::new(BufReader::with_capacity(1 << 16, file)), path, waits)
}

/// The same from anything that can be read; `path` is for messages.
///
/// # Errors
/// As [`open`].
pub fn read(mut input: Input, path: &Path, waits: Waits) -> Result<RecordingReader, TraceError> {
    let io = |source| TraceError::Io { path: path.to_owned(), source };
    let mut first = [0; 4];
    let mut read = 0;
    while read < first.len() {
        match input.read(&mut first[read..]).map_err(io)? {
            0 => break,
            more => read += more,
        }
    }
    if read == first.len()
        && let Some(layout) = RecordLayout::of(path, first)
    {
        let whole: Input = Box::new(Cursor::new(first).chain(input));
        return Ok(RecordingReader { records: Form::Blktrace(Blktrace::new(whole, path, layout?)) });
    }
    let mut whole: Input = Box::new(Cursor::new(first[..read].to_vec()).chain(input));
    let mut line = Vec::new();
    // A first line is short; what has none is not a text.
    whole.by_ref().take(256).read_until(b'\n', &mut line).map_err(io)?;
    let unknown = || TraceError::Unknown { path: path.to_owned() };
    let version = iolog::version(path, &String::from_utf8_lossy(&line)).ok_or_else(unknown)??;
    Ok(RecordingReader { records: Form::Iolog(Iolog::new(whole, path, version, waits)) })
}
