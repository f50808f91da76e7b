//! elbencho command lines: what the dialect read, and what an audit asks of it.

use crate::form::Durability;
use plumb_dialects::FileError;
use plumb_dialects::elbencho::{self, Action, Settings};
use plumb_result::CellMetric;

/// An `elbencho` command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElbenchoCommand {
    said: Settings,
}

impl ElbenchoCommand {
    /// `None` where elbencho refuses it, or runs nothing.
    pub(super) fn read(words: &[String]) -> Option<ElbenchoCommand> {
        let mut not_published = |path: &str| Err(FileError::NotPublished { path: path.to_owned() });
        let said = elbencho::read(words, &mut not_published).ok()?;
        (said.action == Action::Run).then_some(ElbenchoCommand { said })
    }

    /// Bytes of all its files, where the command says how large they are.
    pub fn size_bytes(&self) -> Option<u64> {
        let Settings { size, threads, dirs, files, paths, tree, phases, .. } = &self.said;
        // Threads share the files that are named, and have those of directories for themselves. Which of them a path is
        // cannot be asked: one with several files, or whose directories are made or removed, is a directory.
        let count = if *dirs > 1 || *files > 1 || phases.mkdirs || phases.deldirs {
            u64::from(*threads).checked_mul(u64::from((*dirs).max(1)))?.checked_mul(u64::from((*files).max(1)))?
        } else {
            paths.len() as u64
        };
        tree.is_none().then(|| size.checked_mul(count)).flatten().filter(|bytes| *bytes > 0)
    }

    /// Bytes of an op.
    pub fn block_bytes(&self) -> Option<u64> {
        Some(self.said.block).filter(|bytes| *bytes > 0)
    }

    /// Its `--sync` is between the phases, beside their time.
    pub fn durability(&self) -> Durability {
        if self.said.direct { Durability::Direct } else { Durability::None }
    }

    pub(super) fn reads_cold(&self) -> bool {
        let reads_once = !self.said.infinite && !self.said.rand;
        self.said.direct || (self.said.phases.dropcache && reads_once)
    }

    /// What it works on.
    pub fn paths(&self) -> Vec<&str> {
        self.said.paths.iter().map(String::as_str).collect()
    }

    /// Rates that it prints of its phases.
    pub fn yields(&self) -> Vec<CellMetric> {
        let Settings { phases, rand, .. } = &self.said;
        let (write, read) = if *rand {
            (CellMetric::RandomWrite, CellMetric::RandomRead)
        } else {
            (CellMetric::Write, CellMetric::Read)
        };
        let all = [
            (phases.write, write),
            (phases.stat, CellMetric::Stat),
            (phases.read, read),
            (phases.delfiles, CellMetric::Delete),
        ];
        all.into_iter().filter_map(|(is_done, metric)| is_done.then_some(metric)).collect()
    }
}
