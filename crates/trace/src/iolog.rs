//! Reads fio's recordings, `iolog`, versions 2 and 3. Source: fio(1), "Trace file format"; details missing there were
//! found by writing and replaying recordings.
//!
//! * Version 3: each line begins with a time in **microseconds** from the start. `wait` is not used.
//! * Version 2: lines have no time; `FILE wait N` lines stand between. According to the manual, `N` is microseconds
//!   since the previous wait; fio itself reads milliseconds since its start. [`Waits`] chooses between them.
//! * Names have no spaces. The offset of `sync` lines has no meaning. `sync_file_range` and `syncfs` lines lack their
//!   range or file system; as in fio, they are not replayed.

use crate::error::{LineProblem, TraceError};
use crate::lines::{LineParser, Sink};
use crate::record::{Record, RecordedAct};
use std::path::Path;

/// Meaning of the number in a `wait` of version 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waits {
    /// Microseconds after the previous wait, as in the manual.
    #[default]
    Manual,
    /// Milliseconds since the start, as in fio itself.
    Fio,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IologVersion {
    Two,
    Three,
}

/// Returns the version in a first line; `None` if it is not that of an iolog.
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

pub(crate) struct Iolog {
    version: IologVersion,
    waits: Waits,
    waits_seen: u64,
    /// Current time of version 2, from its waits, ns.
    now_ns: u64,
    has_head: bool,
}

impl Iolog {
    pub(crate) fn new(version: IologVersion, waits: Waits) -> Iolog {
        Iolog { version, waits, waits_seen: 0, now_ns: 0, has_head: false }
    }

    /// Parses a line; `None` for a wait.
    fn record(&mut self, line: &str, sink: &mut Sink) -> Result<Option<Record>, LineProblem> {
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
            // fio logs these without the range or the file system, and skips them in a replay.
            "sync_file_range" | "syncfs" => return Ok(None),
            other => return Err(LineProblem::UnknownAct { act: other.to_owned() }),
        };
        let moves = matches!(known, RecordedAct::Read | RecordedAct::Write | RecordedAct::Trim);
        let (offset, length) =
            if moves { (number(words.next(), "offset")?, number(words.next(), "length")?) } else { (0, 0) };
        if words.next().is_some() && moves {
            return Err(LineProblem::More);
        }
        let at_ns = match at_us {
            None => self.now_ns,
            Some(at_us) => sink.since_first(at_us.saturating_mul(1_000)),
        };
        Ok(Some(Record::ranged(at_ns, sink.names.path(name), known, offset, length)))
    }
}

impl LineParser for Iolog {
    fn line(&mut self, line: &str, sink: &mut Sink) -> Result<(), LineProblem> {
        if !std::mem::replace(&mut self.has_head, true) {
            return Ok(());
        }
        if let Some(record) = self.record(line, sink)? {
            sink.pending.whole(record);
        }
        Ok(())
    }

    fn waits(&self) -> u64 {
        self.waits_seen
    }
}
