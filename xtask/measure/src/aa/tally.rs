//! Finished trials, a line of JSON each, in a file that survives the process.

use super::answer::Ending;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// A `plumb compare`.
    Comparison,
    /// A `plumb study run`.
    Study,
    /// A `plumb gate`.
    Gate,
}

/// A finished trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub kind: Kind,
    /// Index among the trials of its kind.
    pub index: u32,
    /// Seed of its order and its ops.
    pub seed: u64,
    /// Description of the comparison.
    pub about: String,
    pub seconds: f64,
    pub ending: Ending,
}

impl Record {
    pub(super) fn line(&self) -> String {
        let kind = match self.kind {
            Kind::Comparison => "comparison",
            Kind::Study => "study",
            Kind::Gate => "gate",
        };
        let ending = match &self.ending {
            Ending::Judged(verdicts) => verdicts.line(),
            Ending::Failed(why) => format!("FAILED: {why}"),
            Ending::Interrupted => "interrupted".to_owned(),
        };
        format!("{kind} {}: {}: {ending} ({:.0} s, seed {})", self.index, self.about, self.seconds, self.seed)
    }
}

pub(super) struct Tally {
    records: Vec<Record>,
    file: File,
}

impl Tally {
    /// Reads the file. An incomplete line, left by a kill, is ignored.
    pub(super) fn open(path: &Path) -> Result<Tally> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        let records = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let mut file =
            File::options().create(true).append(true).open(path).with_context(|| path.display().to_string())?;
        if !text.is_empty() && !text.ends_with('\n') {
            writeln!(file)?;
        }
        Ok(Tally { records, file })
    }

    /// Whether a trial has ended.
    pub(super) fn has(&self, kind: Kind, index: u32) -> bool {
        self.records.iter().any(|record| record.kind == kind && record.index == index)
    }

    /// Returns every trial that has ended.
    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.iter()
    }

    /// Stores a trial on disk before the next one begins.
    pub(super) fn keep(&mut self, record: Record) -> Result<()> {
        let line = serde_json::to_string(&record)?;
        writeln!(self.file, "{line}").and_then(|()| self.file.sync_data()).context("keeping a trial")?;
        self.records.push(record);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aa::answer::Verdicts;

    // Protects: a kill while a trial is being written loses that trial, and no other.
    #[test]
    fn finished_trials_survive_a_kill() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tally");
        let record = |index| Record {
            kind: Kind::Study,
            index,
            seed: 3,
            about: "ext4".to_owned(),
            seconds: 2.5,
            ending: Ending::Judged(Verdicts { equivalent: 2, ..Verdicts::default() }),
        };
        let mut tally = Tally::open(&path).unwrap();
        tally.keep(record(0)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [whole.as_slice(), &whole[..whole.len() / 2]].concat()).unwrap();
        let mut tally = Tally::open(&path).unwrap();
        assert!(tally.has(Kind::Study, 0) && !tally.has(Kind::Study, 1) && !tally.has(Kind::Comparison, 0));
        tally.keep(record(1)).unwrap();
        let tally = Tally::open(&path).unwrap();
        assert_eq!(tally.records().cloned().collect::<Vec<_>>(), [record(0), record(1)]);
    }
}
