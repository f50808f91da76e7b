//! elbencho command lines: the settings that the dialect read, and the properties that an audit needs.

use super::work::WorkFacts;
use crate::form::Durability;
use plumb_result::CellMetric;
use plumb_tools::FileError;
use plumb_tools_app::elbencho::lower::{Found, Places, lower};
use plumb_tools_app::elbencho::tree::Entry;
use plumb_tools_app::elbencho::{self, Action, ElbenchoSettings};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ElbenchoCommand {
    options: ElbenchoSettings,
}

/// A machine of which only the command is known.
struct Assumed {
    are_directories: bool,
    file_bytes: u64,
}

impl Places for Assumed {
    fn find(&mut self, path: &str) -> Found {
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
    /// Lowers elbencho's phases to their work.
    pub(super) fn work(&self) -> Option<WorkFacts> {
        const THREADS_MAX: u32 = 1024;
        const FILES_MAX: u64 = 4096;
        let options = &self.options;
        let files = u64::from(options.dataset.dirs.max(1)).saturating_mul(u64::from(options.dataset.files.max(1)));
        if options.threads > THREADS_MAX
            || options.schedule.iterations > 16
            || files.saturating_mul(options.threads.into()) > FILES_MAX
        {
            return None;
        }
        let mut places = Assumed { are_directories: self.makes_directories(), file_bytes: options.dataset.size };
        WorkFacts::from_workload(&lower(options, &mut places).ok()?.workload)
    }

    /// Returns `true` if the command's paths are directories. The audit cannot look at a path, so it assumes a directory for
    /// several files, and for commands that make or remove directories.
    fn makes_directories(&self) -> bool {
        let ElbenchoSettings { dataset, phases, .. } = &self.options;
        dataset.dirs > 1 || dataset.files > 1 || phases.mkdirs || phases.deldirs
    }

    /// Returns `None` if elbencho refuses the command or would run nothing.
    pub(super) fn read(words: &[String]) -> Option<ElbenchoCommand> {
        let mut not_published = |path: &str| Err(FileError::NotPublished { path: path.to_owned() });
        let options = elbencho::read(words, &mut not_published).ok()?;
        (options.action == Action::Run).then_some(ElbenchoCommand { options })
    }

    /// Returns the bytes of all files if the command states their size.
    pub(crate) fn size_bytes(&self) -> Option<u64> {
        let ElbenchoSettings { dataset, threads, paths, tree, .. } = &self.options;
        // Threads share files given by path, and each has its own files in directories.
        let count = if self.makes_directories() {
            let files = u64::from(dataset.dirs.max(1)).checked_mul(u64::from(dataset.files.max(1)))?;
            u64::from(*threads).checked_mul(files)?
        } else {
            paths.len() as u64
        };
        tree.is_none().then(|| dataset.size.checked_mul(count)).flatten().filter(|bytes| *bytes > 0)
    }

    /// Returns the bytes that each phase transfers, if they are fixed.
    pub(crate) fn transfer_bytes(&self) -> Option<u64> {
        let fixed = !self.options.schedule.infinite && self.options.order.rand_amount == 0;
        fixed.then(|| self.size_bytes()).flatten()
    }

    /// Returns `true` if a time limit ends the phases.
    pub(crate) fn is_timed(&self) -> bool {
        self.options.schedule.time_limit_s > 0
    }

    pub(crate) fn writes(&self) -> bool {
        self.options.phases.write
    }

    /// Returns the bytes of an op; `None` if unstated.
    pub(crate) fn block_bytes(&self) -> Option<u64> {
        Some(self.options.ops.block).filter(|bytes| *bytes > 0)
    }

    /// Returns the durability of the writes. `--sync` runs between the phases, outside their measured time.
    pub(crate) fn durability(&self) -> Durability {
        if self.options.ops.direct { Durability::Direct } else { Durability::None }
    }

    pub(super) fn reads_cold(&self) -> bool {
        let reads_once = !self.options.schedule.infinite && !self.options.order.rand;
        self.options.ops.direct || (self.options.phases.dropcache && reads_once)
    }

    pub(crate) fn paths(&self) -> Vec<&str> {
        self.options.paths.iter().map(String::as_str).collect()
    }

    /// Returns the rates that elbencho prints for the phases.
    pub(crate) fn yields(&self) -> Vec<CellMetric> {
        let ElbenchoSettings { phases, order, .. } = &self.options;
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
