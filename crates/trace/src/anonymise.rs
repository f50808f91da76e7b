//! Removes names from recordings: replaces each part of a path with a word, the same one at each occurrence.

use crate::error::TraceError;
use crate::names::Names;
use crate::outline::Recorded;
use crate::own::has_other_file;
use crate::record::{FileName, Record, Task};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// Whether file name extensions stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extensions {
    /// Keep extensions of up to four characters.
    Kept,
    /// Hide extensions like the rest of the name.
    Hidden,
}

/// Maximum length of an extension that stays: a longer one may be a name.
const EXTENSION_MAX: usize = 4;

/// The records of a recording, with other names for its files, processes and programs.
///
/// Words are keyed hashes (SipHash) of the parts of a path. The key exists only during the conversion, so that names
/// cannot be guessed later. Directory structure, depth, sizes, times and devices stay.
pub struct Anonymised<R> {
    recording: R,
    key: RandomState,
    extensions: Extensions,
    names: Names,
    files: Vec<u32>,
    tasks: Vec<u32>,
    processes: HashMap<u32, u32>,
    threads: HashMap<u32, u32>,
}

impl<R: Recorded> Anonymised<R> {
    pub fn new(recording: R, extensions: Extensions) -> Anonymised<R> {
        Anonymised {
            recording,
            key: RandomState::new(),
            extensions,
            names: Names::default(),
            files: Vec::new(),
            tasks: Vec::new(),
            processes: HashMap::new(),
            threads: HashMap::new(),
        }
    }

    pub fn inner(&self) -> &R {
        &self.recording
    }

    fn word(&self, part: &str) -> String {
        let hidden = format!("{:016x}", self.key.hash_one(part));
        match part.rsplit_once('.') {
            Some((name, extension))
                if self.extensions == Extensions::Kept
                    && !name.is_empty()
                    && extension.len() <= EXTENSION_MAX
                    && extension.chars().all(|letter| letter.is_ascii_alphanumeric()) =>
            {
                format!("{hidden}.{extension}")
            }
            _ => hidden,
        }
    }

    fn path(&self, path: &str) -> String {
        let parts = path.split('/').map(|part| match part {
            "" | "." | ".." => part.to_owned(),
            part => self.word(part),
        });
        parts.collect::<Vec<_>>().join("/")
    }

    fn scan(&mut self) {
        while let Some(name) = self.recording.names().files().get(self.files.len()) {
            let hidden = match name {
                FileName::Path(path) => FileName::Path(self.path(path)),
                device => device.clone(),
            };
            self.files.push(self.names.file(hidden));
        }
        while let Some(task) = self.recording.names().tasks().get(self.tasks.len()) {
            let number = |known: &mut HashMap<u32, u32>, number: u32| match number {
                0 => 0,
                number => {
                    let next = known.len() as u32 + 1;
                    *known.entry(number).or_insert(next)
                }
            };
            let process = number(&mut self.processes, task.process);
            let thread = number(&mut self.threads, task.thread);
            self.tasks.push(self.names.task(Task { process, thread, command: String::new() }));
        }
    }
}

impl<R: Recorded> Iterator for Anonymised<R> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Result<Record, TraceError>> {
        let record = match self.recording.next()? {
            Ok(record) => record,
            Err(error) => return Some(Err(error)),
        };
        self.scan();
        let file = |number: u64| self.files.get(number as usize).copied().unwrap_or(0);
        let aux = if has_other_file(record.act) { file(record.aux).into() } else { record.aux };
        let task = self.tasks.get(record.task as usize).copied().unwrap_or(0);
        Some(Ok(Record { file: file(record.file.into()), aux, task, ..record }))
    }
}

impl<R: Recorded> Recorded for Anonymised<R> {
    fn names(&self) -> &Names {
        &self.names
    }

    fn waits(&self) -> u64 {
        self.recording.waits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iolog::Waits;
    use std::io::Cursor;
    use std::path::Path;

    const TEXT: &str = "4711 1.0 rename(\"/home/anna/tax.pdf\", \"/home/anna/old.d/tax.pdf\") = 0 <0.1>\n\
                        4711 1.1 openat(AT_FDCWD, \"/home/anna/mail\", O_RDONLY) = 3 <0.1>\n";

    fn anonymised(extensions: Extensions) -> (Vec<Record>, Vec<String>, Vec<Task>) {
        let input = Box::new(Cursor::new(TEXT.as_bytes()));
        let mut hidden = Anonymised::new(crate::read(input, Path::new("r"), Waits::Manual).unwrap(), extensions);
        let records = hidden.by_ref().map(Result::unwrap).collect();
        let files = hidden.names().files().iter().map(ToString::to_string).collect();
        (records, files, hidden.names().tasks().to_vec())
    }

    #[test]
    fn names_are_hidden_and_directories_stay_together() {
        let (records, files, tasks) = anonymised(Extensions::Hidden);
        let all = files.join(" ");
        for word in ["home", "anna", "tax", "pdf", "mail", "old"] {
            assert!(!all.contains(word), "{all}");
        }
        let parts: Vec<Vec<&str>> = files.iter().map(|file| file.split('/').collect()).collect();
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [4, 5, 4]);
        assert_eq!(parts[0][..3], parts[1][..3]);
        assert_eq!(parts[0][3], parts[1][4], "the same name is the same word");
        assert_eq!((records[0].file, records[0].aux, records[1].file), (0, 1, 2));
        assert_eq!(tasks, [Task { process: 1, thread: 1, command: String::new() }]);
    }

    #[test]
    fn short_extensions_stay_and_each_run_uses_different_words() {
        let (_, files, _) = anonymised(Extensions::Kept);
        assert!(files[0].ends_with(".pdf") && files[1].contains(".d/"), "{files:?}");
        assert_ne!(files, anonymised(Extensions::Kept).1);
    }
}
