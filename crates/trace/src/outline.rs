//! Facts that a replay needs in advance: the recording's files, their lengths, its largest op.

use crate::error::TraceError;
use crate::names::Names;
use crate::open::RecordingReader;
use crate::record::{FileName, Record, RecordedAct, Task, end_of};

/// A stream of records with the names that they refer to.
pub trait Recorded: Iterator<Item = Result<Record, TraceError>> {
    /// Returns the files and threads mentioned so far; [`Record::file`] and [`Record::task`] are indexes into them.
    fn names(&self) -> &Names;

    /// Returns the number of waits of fio's version 2 so far. Its manual and fio itself differ about them.
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

/// Summary of a whole recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outline {
    /// Its files, in the order of their first mention.
    pub files: Vec<FileOutline>,
    /// Length of its largest op, in bytes.
    pub largest_bytes: u64,
    /// Number of reads, writes, trims and flushes.
    pub ops: u64,
    /// Time from the first record to the last of these, ns.
    pub length_ns: u64,
    /// Latest end of any op, ns.
    pub end_ns: u64,
    /// Its threads, in the order of their first mention.
    pub tasks: Vec<Task>,
    /// Number of waits of fio's version 2. Its manual and fio itself differ about them.
    pub waits: u64,
}

/// Summary of a recording's ops on one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOutline {
    pub name: FileName,
    /// End of the op that reaches furthest, in bytes.
    pub end_bytes: u64,
    /// Number of reads from the file.
    pub reads: u64,
    /// Number of writes to the file.
    pub writes: u64,
    /// Number of trims on the file.
    pub trims: u64,
}

/// Reads a recording to its end.
///
/// # Errors
/// Returns the problem with the recording.
pub fn outline(mut reader: impl Recorded) -> Result<Outline, TraceError> {
    let mut outline = Outline::default();
    let mut touched: Vec<FileUse> = Vec::new();
    for record in reader.by_ref() {
        let record = record?;
        let number = record.file as usize;
        if touched.len() <= number {
            touched.resize(number + 1, FileUse::default());
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
        .zip(touched.into_iter().chain(std::iter::repeat(FileUse::default())))
        .map(|(name, FileUse { end_bytes, reads, writes, trims })| FileOutline {
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
struct FileUse {
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
    fn an_outline_has_the_files_that_a_replay_needs() {
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
