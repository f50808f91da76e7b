//! Merges several recordings into one, each repeated and scaled in time, with files of the same name unified.

use crate::error::TraceError;
use crate::iolog::Waits;
use crate::merge::{MergeInput, Merged, merge};
use crate::names::Names;
use crate::open::{RecordingReader, open};
use crate::outline::{Recorded, outline};
use crate::own::has_other_file;
use crate::record::{FileName, Record, Task};
use std::path::PathBuf;

/// One recording of a merge.
#[derive(Debug, Clone, PartialEq)]
pub struct MergedPart {
    pub path: PathBuf,
    /// Percentage to multiply its times by.
    pub percent: f64,
    /// Number of repetitions, end to end.
    pub times: u32,
    /// Number of this copy, if one recording is replayed several times at once.
    pub copy: u32,
}

/// Returns the file name for a copy and repetition of a recording, from its name, the copy's number, and
/// the repetition counted from 0.
pub type Renames<'a> = dyn Fn(&FileName, u32, u32) -> FileName + 'a;

/// The records of several recordings, in time order.
pub struct MergedRecording {
    merged: Merged<Repeated>,
    /// Files of all parts, one part after another.
    part_names: Vec<FileName>,
    /// Threads of all parts; empty if threads are not kept.
    part_tasks: Vec<Task>,
    names: Names,
    waits: u64,
}

impl MergedRecording {
    /// Opens all parts. Reads each to its end first, for its files and its length.
    ///
    /// # Errors
    /// Returns a [`TraceError`] of a part, or if there is nothing to merge.
    pub fn open(parts: &[MergedPart], waits: Waits) -> Result<MergedRecording, TraceError> {
        MergedRecording::open_parts(parts, waits, None)
    }

    /// Opens all parts for a replay of calls: threads stay apart, and each repetition has its own files.
    ///
    /// # Errors
    /// Returns the same errors as [`open`](MergedRecording::open).
    pub fn open_calls(
        parts: &[MergedPart],
        waits: Waits,
        renames: &Renames<'_>,
    ) -> Result<MergedRecording, TraceError> {
        MergedRecording::open_parts(parts, waits, Some(renames))
    }

    fn open_parts(
        parts: &[MergedPart],
        waits: Waits,
        renames: Option<&Renames<'_>>,
    ) -> Result<MergedRecording, TraceError> {
        if parts.is_empty() {
            return Err(TraceError::Merge("nothing to merge; name a recording".to_owned()));
        }
        let (mut part_names, mut part_tasks, mut sources, mut waits_seen) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for (part, number) in parts.iter().zip(0_u32..) {
            let outline = outline(open(&part.path, waits)?)?;
            let first_file = u32::try_from(part_names.len())
                .map_err(|_| TraceError::Merge("they have too many files".to_owned()))?;
            let first_task = part_tasks.len() as u32;
            waits_seen += outline.waits;
            let mut records = Repeated {
                path: part.path.clone(),
                waits,
                reader: None,
                left: part.times,
                began_ns: 0,
                length_ns: outline.length_ns,
                files_each: 0,
                first_file: 0,
                first_task: 0,
            };
            match renames {
                None => part_names.extend(outline.files.into_iter().map(|file| file.name)),
                Some(renames) => {
                    for time in 0..part.times {
                        part_names.extend(outline.files.iter().map(|file| renames(&file.name, part.copy, time)));
                    }
                    // Recordings made apart may reuse process numbers: these are different processes.
                    part_tasks.extend(
                        outline
                            .tasks
                            .into_iter()
                            .map(|task| Task { process: task.process ^ number << PROCESS_BITS, ..task }),
                    );
                    (records.files_each, records.first_task) = (outline.files.len() as u32, first_task);
                    records.length_ns = outline.end_ns;
                }
            }
            sources.push(MergeInput { records, percent: part.percent, first_file });
        }
        let (merged, names) = (merge(sources)?, Names::default());
        Ok(MergedRecording { merged, part_names, part_tasks, names, waits: waits_seen })
    }

    /// Returns all files that it will mention; some of them more than once.
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
        // Without names, threads are not kept: numbers of several machines are not comparable.
        let task = self.part_tasks.get(record.task as usize).cloned().unwrap_or_default();
        let task = self.names.task(task);
        Some(Ok(Record { file, aux, task, ..record }))
    }
}

/// Number of bits in a process number.
const PROCESS_BITS: u32 = 22;

/// A repeated recording.
struct Repeated {
    path: PathBuf,
    waits: Waits,
    reader: Option<RecordingReader>,
    left: u32,
    began_ns: u64,
    length_ns: u64,
    /// Added to the numbers of files with each repetition, and the sum so far.
    files_each: u32,
    first_file: u32,
    /// Added to the numbers of threads.
    first_task: u32,
}

impl Iterator for Repeated {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Result<Record, TraceError>> {
        loop {
            if let Some(reader) = &mut self.reader {
                match reader.next() {
                    Some(Ok(record)) => {
                        let at_ns = self.began_ns.saturating_add(record.at_ns);
                        let other = if has_other_file(record.act) { self.first_file } else { 0 };
                        let aux = record.aux.saturating_add(other.into());
                        let (file, task) = (record.file + self.first_file, record.task + self.first_task);
                        return Some(Ok(Record { at_ns, file, aux, task, ..record }));
                    }
                    Some(Err(error)) => return Some(Err(error)),
                    None => {
                        self.reader = None;
                        self.began_ns = self.began_ns.saturating_add(self.length_ns);
                        self.first_file += self.files_each;
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

    /// Protects: equal thread numbers of different parts are different threads, and each repetition has new files.
    #[test]
    fn repetitions_have_their_own_files_and_parts_their_own_threads() {
        let place = tempfile::tempdir().unwrap();
        let paths = ["1", "2"].map(|name| place.path().join(name));
        let line = "7 1.0 rename(\"/w/a\", \"/w/b\") = 0 <0.5>\n";
        paths.iter().for_each(|path| fs::write(path, line).unwrap());
        let parts = paths.map(|path| MergedPart { path, percent: 100.0, times: 2, copy: 0 });
        let renames = |name: &FileName, _: u32, time: u32| FileName::Path(format!("{name}-{time}"));
        let mut merged = MergedRecording::open_calls(&parts, Waits::Manual, &renames).unwrap();
        let all: Vec<Record> = merged.by_ref().map(Result::unwrap).collect();
        let seen: Vec<_> =
            all.iter().map(|record| (record.at_ns / 1_000_000, record.file, record.aux, record.task)).collect();
        assert_eq!(seen, [(0, 0, 1, 0), (0, 0, 1, 1), (500, 2, 3, 0), (500, 2, 3, 1)]);
        let names: Vec<String> = merged.names().files().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["/w/a-0", "/w/b-0", "/w/a-1", "/w/b-1"]);
        assert_ne!(merged.names().tasks()[0].process, merged.names().tasks()[1].process);
    }

    #[test]
    fn parts_are_repeated_stretched_and_of_one_name_are_one_file() {
        let place = tempfile::tempdir().unwrap();
        let (first, second) = (place.path().join("1"), place.path().join("2"));
        fs::write(&first, "fio version 3 iolog\n0 a read 0 512\n10 a read 512 512\n").unwrap();
        fs::write(&second, "fio version 3 iolog\n0 b write 0 512\n4 a write 0 1024\n").unwrap();
        let parts = [
            MergedPart { path: first, percent: 100.0, times: 2, copy: 0 },
            MergedPart { path: second, percent: 200.0, times: 1, copy: 0 },
        ];
        let mut merged = MergedRecording::open(&parts, Waits::Manual).unwrap();
        let all: Vec<(u64, u32, RecordedAct)> =
            merged.by_ref().map(Result::unwrap).map(|record| (record.at_ns / 1_000, record.file, record.act)).collect();
        use RecordedAct::{Read, Write};
        assert_eq!(all, [(0, 0, Read), (0, 1, Write), (8, 0, Write), (10, 0, Read), (10, 0, Read), (20, 0, Read)]);
        assert_eq!(merged.names().files(), [FileName::Path("a".to_owned()), FileName::Path("b".to_owned())]);
    }
}
