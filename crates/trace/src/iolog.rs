//! fio's recordings, `iolog`, versions 2 and 3. Source: fio(1), "Trace file format"; details missing there were found
//! by writing and replaying recordings.
//!
//! * Version 3: each line begins with a time in **microseconds** from the start. `wait` is not used.
//! * Version 2: lines have no time; `FILE wait N` lines stand between. By the manual, `N` is microseconds since the previous wait; fio itself reads milliseconds since its start. [`Waits`] chooses between them.
//! * Names have no spaces. The offset of `sync` lines has no meaning. `sync_file_range` and `syncfs` lines do not say of what;
//!   as in fio, they are not replayed.

use crate::error::{LineProblem, TraceError};
use crate::record::{FileName, Record, RecordedAct};
use std::collections::HashMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// What the number of a `wait` of version 2 is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waits {
    /// Microseconds after the wait before, as the manual says.
    #[default]
    Manual,
    /// Milliseconds since the start, as fio does.
    Fio,
}

/// The versions of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IologVersion {
    Two,
    Three,
}

/// The version in a first line; `None` if it is not that of an iolog.
pub(crate) fn version(path: &Path, line: &str) -> Option<Result<IologVersion, TraceError>> {
    let number = line.trim_end().strip_prefix("fio version ")?.strip_suffix(" iolog")?;
    Some(match number {
        "2" => Ok(IologVersion::Two),
        "3" => Ok(IologVersion::Three),
        other => Err(TraceError::Version {
            path: path.to_owned(),
            format: "fio's iolog",
            version: other.to_owned(),
            known: "2 and 3",
        }),
    })
}

/// Reads an iolog, line by line.
pub struct Iolog<R> {
    input: R,
    path: PathBuf,
    version: IologVersion,
    waits: Waits,
    waits_seen: u64,
    line: u64,
    /// Where version 2 is by its waits, ns.
    now_ns: u64,
    /// The time of the first line of version 3 that does something, µs.
    first_us: Option<u64>,
    text: String,
    numbers: HashMap<String, u32>,
    files: Vec<FileName>,
}

impl<R: BufRead> Iolog<R> {
    /// Goes on after the first line.
    pub(crate) fn new(input: R, path: &Path, version: IologVersion, waits: Waits) -> Iolog<R> {
        Iolog {
            input,
            path: path.to_owned(),
            version,
            waits,
            waits_seen: 0,
            line: 1,
            now_ns: 0,
            first_us: None,
            text: String::new(),
            numbers: HashMap::new(),
            files: Vec::new(),
        }
    }

    /// The files that were mentioned so far.
    pub(crate) fn files(&self) -> &[FileName] {
        &self.files
    }

    /// Waits of version 2 so far.
    pub(crate) fn waits_seen(&self) -> u64 {
        self.waits_seen
    }

    fn wrong(&self, problem: LineProblem) -> TraceError {
        let text = self.text.trim_end().to_owned();
        TraceError::Line { path: self.path.clone(), line: self.line, text, problem }
    }

    fn file(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.files.len() as u32;
        self.numbers.insert(name.to_owned(), number);
        self.files.push(FileName::Path(name.to_owned()));
        number
    }

    /// The next record; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<Result<Record, TraceError>> {
        loop {
            self.text.clear();
            self.line += 1;
            match self.input.read_line(&mut self.text) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(source) => return Some(Err(TraceError::Io { path: self.path.clone(), source })),
            }
            if self.text.trim().is_empty() {
                continue;
            }
            match self.record() {
                Ok(None) => {}
                Ok(Some(record)) => return Some(Ok(record)),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// What the line says; nothing for a wait.
    fn record(&mut self) -> Result<Option<Record>, TraceError> {
        let line = std::mem::take(&mut self.text);
        let outcome = self.record_of(&line);
        self.text = line;
        // Made here, where the line is in its place again.
        outcome.map_err(|problem| self.wrong(problem))
    }

    fn record_of(&mut self, line: &str) -> Result<Option<Record>, LineProblem> {
        let mut words = line.split_ascii_whitespace();
        let number = |word: Option<&str>, what: &'static str| -> Result<u64, LineProblem> {
            let word = word.ok_or(LineProblem::Missing { what })?;
            word.parse().map_err(|_| LineProblem::NoNumber { word: word.to_owned(), what })
        };
        let at_us = match self.version {
            IologVersion::Two => None,
            IologVersion::Three => Some(number(words.next(), "timestamp in microseconds")?),
        };
        let name = words.next().ok_or(LineProblem::Missing { what: "file name" })?;
        let act = words.next().ok_or(LineProblem::NoAct)?;
        if act == "wait" {
            let amount = number(words.next(), "wait time")?;
            if self.version == IologVersion::Two {
                self.waits_seen += 1;
                self.now_ns = match self.waits {
                    Waits::Manual => self.now_ns.saturating_add(amount.saturating_mul(1_000)),
                    Waits::Fio => amount.saturating_mul(1_000_000),
                };
            }
            return Ok(None);
        }
        let known = match act {
            "add" => RecordedAct::Add,
            "open" => RecordedAct::Open,
            "close" => RecordedAct::Close,
            "read" => RecordedAct::Read,
            "write" => RecordedAct::Write,
            "trim" => RecordedAct::Trim,
            "sync" => RecordedAct::Sync,
            "datasync" => RecordedAct::Datasync,
            // fio logs these without the range or the file system, and passes over them when it replays.
            "sync_file_range" | "syncfs" => return Ok(None),
            other => return Err(LineProblem::UnknownAct { act: other.to_owned() }),
        };
        let moves = matches!(known, RecordedAct::Read | RecordedAct::Write | RecordedAct::Trim);
        let (offset, length) =
            if moves { (number(words.next(), "offset")?, number(words.next(), "length")?) } else { (0, 0) };
        if words.next().is_some() && moves {
            return Err(LineProblem::More);
        }
        let file = self.file(name);
        let at_ns = match at_us {
            None => self.now_ns,
            Some(at_us) => at_us.saturating_sub(*self.first_us.get_or_insert(at_us)).saturating_mul(1_000),
        };
        Ok(Some(Record { at_ns, file, act: known, offset, length }))
    }
}
