//! Several recordings merged into one, each repeated and scaled in time, with files of the same name unified.

use crate::error::TraceError;
use crate::iolog::Waits;
use crate::merge::{MergeInput, Merged, merge};
use crate::open::{RecordingReader, open};
use crate::outline::{Recorded, outline};
use crate::record::{FileName, Record};
use std::collections::HashMap;
use std::path::PathBuf;

/// One recording of several.
#[derive(Debug, Clone, PartialEq)]
pub struct MergedPart {
    /// Where it is.
    pub path: PathBuf,
    /// Its times are multiplied by this percentage.
    pub percent: f64,
    /// It is repeated this many times, end to end.
    pub times: u32,
}

/// The records of several recordings, in the order of their times.
pub struct MergedRecording {
    merged: Merged<Repeated>,
    /// Names of all parts, one part after another.
    names: Vec<FileName>,
    /// Their numbers in `files`.
    numbers: HashMap<FileName, u32>,
    files: Vec<FileName>,
    waits: u64,
}

impl MergedRecording {
    /// Opens all parts. Each is read once to its end before, for its files and its length.
    ///
    /// # Errors
    /// [`TraceError`] of a part, or where there is nothing to merge.
    pub fn open(parts: &[MergedPart], waits: Waits) -> Result<MergedRecording, TraceError> {
        if parts.is_empty() {
            return Err(TraceError::Merge("nothing to merge; name a recording".to_owned()));
        }
        let (mut names, mut sources, mut waits_seen) = (Vec::new(), Vec::new(), 0);
        for part in parts {
            let outline = outline(open(&part.path, waits)?)?;
            let first_file =
                u32::try_from(names.len()).map_err(|_| TraceError::Merge("they have too many files".to_owned()))?;
            names.extend(outline.files.into_iter().map(|file| file.name));
            waits_seen += outline.waits;
            let records = Repeated {
                path: part.path.clone(),
                waits,
                reader: None,
                left: part.times,
                began_ns: 0,
                length_ns: outline.length_ns,
            };
            sources.push(MergeInput { records, percent: part.percent, first_file });
        }
        Ok(MergedRecording {
            merged: merge(sources)?,
            names,
            numbers: HashMap::new(),
            files: Vec::new(),
            waits: waits_seen,
        })
    }

    /// All files that it will mention; some of them more than once.
    pub(crate) fn names(&self) -> &[FileName] {
        &self.names
    }
}

impl Recorded for MergedRecording {
    fn files(&self) -> &[FileName] {
        &self.files
    }

    fn waits(&self) -> u64 {
        self.waits
    }
}

impl Iterator for MergedRecording {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Result<Record, TraceError>> {
        let record = match self.merged.next()? {
            Ok(record) => record,
            Err(error) => return Some(Err(error)),
        };
        let Some(name) = self.names.get(record.file as usize) else {
            return Some(Err(TraceError::Merge("a recording changed while it was being read; merge again".to_owned())));
        };
        let next = self.files.len() as u32;
        let file = match self.numbers.get(name) {
            Some(&number) => number,
            None => {
                self.numbers.insert(name.clone(), next);
                self.files.push(name.clone());
                next
            }
        };
        Some(Ok(Record { file, ..record }))
    }
}

/// A recording again and again.
struct Repeated {
    path: PathBuf,
    waits: Waits,
    reader: Option<RecordingReader>,
    left: u32,
    began_ns: u64,
    length_ns: u64,
}

impl Iterator for Repeated {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Result<Record, TraceError>> {
        loop {
            if let Some(reader) = &mut self.reader {
                match reader.next() {
                    Some(Ok(record)) => {
                        let at_ns = self.began_ns.saturating_add(record.at_ns);
                        return Some(Ok(Record { at_ns, ..record }));
                    }
                    Some(Err(error)) => return Some(Err(error)),
                    None => {
                        self.reader = None;
                        self.began_ns = self.began_ns.saturating_add(self.length_ns);
                    }
                }
            }
            self.left = self.left.checked_sub(1)?;
            match open(&self.path, self.waits) {
                Ok(reader) => self.reader = Some(reader),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RecordedAct;
    use std::fs;

    #[test]
    fn parts_are_repeated_stretched_and_of_one_name_are_one_file() {
        let place = tempfile::tempdir().unwrap();
        let (first, second) = (place.path().join("1"), place.path().join("2"));
        fs::write(&first, "fio version 3 iolog\n0 a read 0 512\n10 a read 512 512\n").unwrap();
        fs::write(&second, "fio version 3 iolog\n0 b write 0 512\n4 a write 0 1024\n").unwrap();
        let parts = [
            MergedPart { path: first, percent: 100.0, times: 2 },
            MergedPart { path: second, percent: 200.0, times: 1 },
        ];
        let mut merged = MergedRecording::open(&parts, Waits::Manual).unwrap();
        let all: Vec<(u64, u32, RecordedAct)> =
            merged.by_ref().map(Result::unwrap).map(|record| (record.at_ns / 1_000, record.file, record.act)).collect();
        use RecordedAct::{Read, Write};
        assert_eq!(all, [(0, 0, Read), (0, 1, Write), (8, 0, Write), (10, 0, Read), (10, 0, Read), (20, 0, Read)]);
        assert_eq!(merged.files(), [FileName::Path("a".to_owned()), FileName::Path("b".to_owned())]);
    }
}
