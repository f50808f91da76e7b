//! Several recordings merged into one, each repeated and scaled in time, with files of the same name unified.

use crate::error::TraceError;
use crate::iolog::Waits;
use crate::merge::{MergeInput, Merged, merge};
use crate::names::Names;
use crate::open::{RecordingReader, open};
use crate::outline::{Recorded, outline};
use crate::own::has_other_file;
use crate::record::{FileName, Record, Task};
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
    /// Files of all parts, one part after another.
    part_names: Vec<FileName>,
    names: Names,
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
        let (mut part_names, mut sources, mut waits_seen) = (Vec::new(), Vec::new(), 0);
        for part in parts {
            let outline = outline(open(&part.path, waits)?)?;
            let first_file = u32::try_from(part_names.len())
                .map_err(|_| TraceError::Merge("they have too many files".to_owned()))?;
            part_names.extend(outline.files.into_iter().map(|file| file.name));
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
        Ok(MergedRecording { merged: merge(sources)?, part_names, names: Names::default(), waits: waits_seen })
    }

    /// All files that it will mention; some of them more than once.
    pub(crate) fn part_names(&self) -> &[FileName] {
        &self.part_names
    }
}

impl Recorded for MergedRecording {
    fn names(&self) -> &Names {
        &self.names
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
        let (parts, names) = (&self.part_names, &mut self.names);
        let mut number = |file: usize| match parts.get(file)? {
            FileName::Path(path) => Some(names.path(path)),
            FileName::Device { major, minor } => Some(names.device(*major, *minor)),
        };
        let file = number(record.file as usize);
        let aux = match has_other_file(record.act) {
            true => number(record.aux as usize).map(u64::from),
            false => Some(record.aux),
        };
        let (Some(file), Some(aux)) = (file, aux) else {
            return Some(Err(TraceError::Merge("a recording changed while it was being read; merge again".to_owned())));
        };
        // Whose threads they were is not kept: numbers of several machines are not comparable.
        self.names.task(Task::default());
        Some(Ok(Record { file, aux, task: 0, ..record }))
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
        assert_eq!(merged.names().files(), [FileName::Path("a".to_owned()), FileName::Path("b".to_owned())]);
    }
}
