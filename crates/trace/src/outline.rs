//! What a replay must know in advance: the recording's files, their lengths, its largest op.

use crate::error::TraceError;
use crate::names::Names;
use crate::open::RecordingReader;
use crate::record::{FileName, Record, RecordedAct, Task, end_of};

/// Records with the files that they are about.
pub trait Recorded: Iterator<Item = Result<Record, TraceError>> {
    /// The files and threads that were mentioned so far; [`Record::file`] and [`Record::task`] count them.
    fn names(&self) -> &Names;

    /// Waits of fio's version 2 so far, about which its manual and fio itself differ.
    fn waits(&self) -> u64;
}

impl Recorded for Box<dyn Recorded + Send> {
    fn names(&self) -> &Names {
        (**self).names()
    }

    fn waits(&self) -> u64 {
        (**self).waits()
    }
}

impl Recorded for RecordingReader {
    fn names(&self) -> &Names {
        RecordingReader::names(self)
    }

    fn waits(&self) -> u64 {
        RecordingReader::waits(self)
    }
}

/// What a whole recording touches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outline {
    /// Its files, in the order of their first mention.
    pub files: Vec<FileOutline>,
    /// Bytes of its largest op.
    pub largest_bytes: u64,
    /// Reads, writes, trims and flushes.
    pub ops: u64,
    /// From the first record to the last of these, ns.
    pub length_ns: u64,
    /// The end of whatever ended last, ns.
    pub end_ns: u64,
    /// Its threads, in the order of their first mention.
    pub tasks: Vec<Task>,
    /// Waits of fio's version 2, about which its manual and fio itself differ.
    pub waits: u64,
}

/// What a recording does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOutline {
    /// Which.
    pub name: FileName,
    /// The end of the op that reaches furthest, bytes.
    pub end_bytes: u64,
    /// Reads of it.
    pub reads: u64,
    /// Writes of it.
    pub writes: u64,
    /// Trims of it.
    pub trims: u64,
}

/// Reads a recording to its end.
///
/// # Errors
/// The problem with the recording.
pub fn outline(mut reader: impl Recorded) -> Result<Outline, TraceError> {
    let mut outline = Outline::default();
    let mut touched: Vec<Touched> = Vec::new();
    for record in reader.by_ref() {
        let record = record?;
        let number = record.file as usize;
        if touched.len() <= number {
            touched.resize(number + 1, Touched::default());
        }
        let file = &mut touched[number];
        outline.end_ns = outline.end_ns.max(end_of(&record));
        match record.act {
            RecordedAct::Read => file.reads += 1,
            RecordedAct::Write => file.writes += 1,
            RecordedAct::Trim => file.trims += 1,
            RecordedAct::Sync | RecordedAct::Datasync => {}
            _ => continue,
        }
        file.end_bytes = file.end_bytes.max(record.offset.saturating_add(record.length));
        if record.act != RecordedAct::Trim {
            outline.largest_bytes = outline.largest_bytes.max(record.length);
        }
        outline.ops += 1;
        outline.length_ns = outline.length_ns.max(record.at_ns);
    }
    outline.waits = reader.waits();
    outline.tasks = reader.names().tasks().to_vec();
    outline.files = reader
        .names()
        .files()
        .iter()
        .zip(touched.into_iter().chain(std::iter::repeat(Touched::default())))
        .map(|(name, Touched { end_bytes, reads, writes, trims })| FileOutline {
            name: name.clone(),
            end_bytes,
            reads,
            writes,
            trims,
        })
        .collect();
    Ok(outline)
}

#[derive(Debug, Clone, Copy, Default)]
struct Touched {
    end_bytes: u64,
    reads: u64,
    writes: u64,
    trims: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iolog::Waits;
    use std::io::Cursor;
    use std::path::Path;

    #[test]
    fn an_outline_tells_what_must_be_there_before_a_replay() {
        let text =
            "fio version 3 iolog\n0 a add\n0 b add\n1 a open\n2 a read 4096 512\n3 b write 0 8192\n9 b sync 0 0\n";
        let input = Box::new(Cursor::new(text.as_bytes()));
        let outline = outline(crate::read(input, Path::new("r"), Waits::Manual).unwrap()).unwrap();
        let file = |name: &str, end_bytes, reads, writes| FileOutline {
            name: FileName::Path(name.to_owned()),
            end_bytes,
            reads,
            writes,
            trims: 0,
        };
        assert_eq!(outline.files, [file("a", 4608, 1, 0), file("b", 8192, 0, 1)]);
        assert_eq!((outline.largest_bytes, outline.ops, outline.length_ns), (8192, 3, 9_000));
    }
}
