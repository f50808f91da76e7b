//! elbencho command lines: what the dialect read, and what an audit asks of it.

use super::work::WorkFacts;
use crate::form::Durability;
use plumb_result::CellMetric;
use plumb_tools::FileError;
use plumb_tools_app::elbencho::lower::{Found, Places, lower};
use plumb_tools_app::elbencho::tree::Entry;
use plumb_tools_app::elbencho::{self, Action, ElbenchoSettings};

/// An `elbencho` command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ElbenchoCommand {
    said: ElbenchoSettings,
}

/// A machine of which only the command is known.
struct Assumed {
    are_directories: bool,
    file_bytes: u64,
}

impl Places for Assumed {
    fn look(&mut self, path: &str) -> Found {
        const DEVICE_BYTES: u64 = 1 << 40;
        match path {
            path if path.starts_with("/dev/") => Found::Device { bytes: DEVICE_BYTES },
            _ if self.are_directories => Found::Directory,
            _ => Found::File { bytes: self.file_bytes },
        }
    }

    fn cpus_of_node(&mut self, _: u32) -> Option<Vec<u32>> {
        None
    }

    fn nodes(&mut self) -> Vec<u32> {
        Vec::new()
    }

    fn cpus(&mut self) -> Vec<u32> {
        Vec::new()
    }

    fn tree_file(&mut self, path: &str) -> Result<Vec<u8>, FileError> {
        Err(FileError::NotPublished { path: path.to_owned() })
    }

    fn look_through(&mut self, path: &str) -> Result<Vec<Entry>, FileError> {
        Err(FileError::NotPublished { path: path.to_owned() })
    }

    fn keep_tree(&mut self, _: &str, _: &str) -> Result<(), FileError> {
        Ok(())
    }
}

impl ElbenchoCommand {
    /// Lowers its phases to their work.
    pub(super) fn work(&self) -> Option<WorkFacts> {
        const THREADS_MAX: u32 = 1024;
        const FILES_MAX: u64 = 4096;
        let said = &self.said;
        let files = u64::from(said.dataset.dirs.max(1)).saturating_mul(u64::from(said.dataset.files.max(1)));
        if said.threads > THREADS_MAX
            || said.schedule.iterations > 16
            || files.saturating_mul(said.threads.into()) > FILES_MAX
        {
            return None;
        }
        let mut places = Assumed { are_directories: self.makes_directories(), file_bytes: said.dataset.size };
        WorkFacts::of(&lower(said, &mut places).ok()?.workload)
    }

    /// Whether its paths are directories. What a path is cannot be asked: one with several files, or whose directories
    /// are made or removed, is a directory.
    fn makes_directories(&self) -> bool {
        let ElbenchoSettings { dataset, phases, .. } = &self.said;
        dataset.dirs > 1 || dataset.files > 1 || phases.mkdirs || phases.deldirs
    }

    /// `None` where elbencho refuses it, or runs nothing.
    pub(super) fn read(words: &[String]) -> Option<ElbenchoCommand> {
        let mut not_published = |path: &str| Err(FileError::NotPublished { path: path.to_owned() });
        let said = elbencho::read(words, &mut not_published).ok()?;
        (said.action == Action::Run).then_some(ElbenchoCommand { said })
    }

    /// Bytes of all its files, where the command says how large they are.
    pub(crate) fn size_bytes(&self) -> Option<u64> {
        let ElbenchoSettings { dataset, threads, paths, tree, .. } = &self.said;
        // Threads share the files that are named, and have those of directories for themselves.
        let count = if self.makes_directories() {
            let files = u64::from(dataset.dirs.max(1)).checked_mul(u64::from(dataset.files.max(1)))?;
            u64::from(*threads).checked_mul(files)?
        } else {
            paths.len() as u64
        };
        tree.is_none().then(|| dataset.size.checked_mul(count)).flatten().filter(|bytes| *bytes > 0)
    }

    /// Bytes that each of its phases transfers, where they are fixed.
    pub(crate) fn transfer_bytes(&self) -> Option<u64> {
        let fixed = !self.said.schedule.infinite && self.said.order.rand_amount == 0;
        fixed.then(|| self.size_bytes()).flatten()
    }

    /// Whether a time limit ends its phases.
    pub(crate) fn is_timed(&self) -> bool {
        self.said.schedule.time_limit_s > 0
    }

    /// Whether it writes its files.
    pub(crate) fn writes(&self) -> bool {
        self.said.phases.write
    }

    /// Bytes of an op.
    pub(crate) fn block_bytes(&self) -> Option<u64> {
        Some(self.said.ops.block).filter(|bytes| *bytes > 0)
    }

    /// Its `--sync` is between the phases, beside their time.
    pub(crate) fn durability(&self) -> Durability {
        if self.said.ops.direct { Durability::Direct } else { Durability::None }
    }

    pub(super) fn reads_cold(&self) -> bool {
        let reads_once = !self.said.schedule.infinite && !self.said.order.rand;
        self.said.ops.direct || (self.said.phases.dropcache && reads_once)
    }

    /// What it works on.
    pub(crate) fn paths(&self) -> Vec<&str> {
        self.said.paths.iter().map(String::as_str).collect()
    }

    /// Rates that it prints of its phases.
    pub(crate) fn yields(&self) -> Vec<CellMetric> {
        let ElbenchoSettings { phases, order, .. } = &self.said;
        let (write, read) = if order.rand {
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
