//! fio command lines: their options as the fio dialect reads them, and the properties that an audit needs.

use super::work::{FieldDifference, WorkFacts};
use crate::form::Durability;
use plumb_result::CellMetric;
use plumb_tools::FileError;
use plumb_tools_fio::fio::lower::{
    Entropy, Found, Places, RecordedFiles, RecordingRequest, has_one_op_in_flight, lower,
};
use plumb_tools_fio::fio::value::FileRegion;
use plumb_tools_fio::fio::value::direction::{AccessOrder, Ops};
use plumb_tools_fio::fio::{self, FioJob};
use plumb_workload::Workload;
use plumb_workload::files::OpenMode;

/// A `fio` command with at least one job.
#[derive(Debug, Clone)]
pub(crate) struct FioCommand {
    words: Vec<String>,
    fio: fio::Fio,
}

impl PartialEq for FioCommand {
    fn eq(&self, other: &FioCommand) -> bool {
        self.words == other.words
    }
}

/// Answers for job files: none is readable, because only the command was published.
struct NoFiles;

impl fio::Files for NoFiles {
    fn read(&mut self, _: &str) -> Result<String, fio::MissingFile> {
        Err(fio::MissingFile { reason: "only the command was published".to_owned() })
    }
}

/// Assumed size of devices and files that a command expects to exist.
const EXISTING_BYTES: u64 = 1 << 40;
/// Commands with more files than this, over all jobs and their copies, are not lowered.
const LOWERED_MAX: u64 = 4096;
/// Options for names, places and outputs, which do not affect the work.
const IDENTITY: [&str; 9] = [
    "name",
    "filename",
    "directory",
    "description",
    "filename_format",
    "opendir",
    "group_reporting",
    "write_bw_log",
    "write_lat_log",
];

/// An unknown machine: only the command was published. Every device exists; files exist only if a job has no size with
/// which fio would create them.
struct Assumed {
    files_exist: bool,
}

impl Places for Assumed {
    fn find(&mut self, path: &str) -> Found {
        match path {
            "/dev/null" | "/dev/zero" => Found::Character,
            path if path.starts_with("/dev/") && !path.starts_with("/dev/shm/") => {
                Found::Block { bytes: EXISTING_BYTES }
            }
            path if path.starts_with('/') && self.files_exist => Found::Regular { bytes: EXISTING_BYTES },
            _ => Found::Absent,
        }
    }

    fn free_bytes(&mut self, _: &str) -> Option<u64> {
        Some(EXISTING_BYTES)
    }

    fn files_below(&mut self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn recording(&mut self, asked: &RecordingRequest) -> Result<RecordedFiles, FileError> {
        let path = asked.parts.first().map(|part| part.path.clone()).unwrap_or_default();
        Err(FileError::NotPublished { path })
    }

    fn device_node(&mut self, _: u32, _: u32) -> Option<String> {
        None
    }

    fn cpus_of_node(&mut self, _: u32) -> Option<Vec<u32>> {
        None
    }
}

impl FioCommand {
    /// Lowers the jobs with fio's dialect, and returns the facts of their work; `None` if they cannot be lowered.
    pub(super) fn work(&self) -> Option<WorkFacts> {
        let jobs = &self.fio.jobs;
        let copies = |job: &FioJob| u64::from(job.identity.numjobs.max(1));
        let files = |job: &FioJob| copies(job).saturating_mul(u64::from(job.files.nrfiles.max(1)));
        if jobs.iter().map(files).fold(0, u64::saturating_add) > LOWERED_MAX {
            return None;
        }
        let files_exist = jobs.iter().any(|job| job.direction.region.size.is_none() && job.files.filesize.is_none());
        // A published command is compared and never run, so this host need not support it.
        let unchecked = |_: &Workload| Vec::new();
        let lowered = lower(&self.fio, &mut Assumed { files_exist }, Entropy(0), unchecked).ok()?;
        let mut facts = WorkFacts::from_workload(&lowered.workload)?;
        let kind = if self.paths().iter().any(|path| path.starts_with("/dev/")) { "a device" } else { "a file" };
        facts.push(&["kind-of-target"], kind.to_owned());
        Some(facts)
    }

    /// Returns the options whose values differ, for commands that cannot be lowered.
    pub(super) fn given_differences(&self, other: &FioCommand) -> Vec<FieldDifference> {
        let given = |fio: &FioCommand, name: &str| -> Vec<String> {
            let options = fio.fio.jobs.iter().flat_map(|job| job.given_options());
            let named = options.filter(|given| given.option.name == name);
            named.map(|given| given.text.clone().unwrap_or_else(|| "set".to_owned())).collect()
        };
        let options = |fio: &FioCommand| -> Vec<&'static str> {
            let jobs = fio.fio.jobs.iter();
            jobs.flat_map(|job| job.given_options().map(|given| given.option.name)).collect()
        };
        let mut names = [options(self), options(other)].concat();
        names.sort_unstable();
        names.dedup();
        let mut found = Vec::new();
        for name in names.into_iter().filter(|name| !IDENTITY.contains(name)) {
            let (mine, theirs) = (given(self, name), given(other, name));
            if mine != theirs {
                let shown = |values: Vec<String>| {
                    if values.is_empty() { "not given".to_owned() } else { values.join(", ") }
                };
                found.push(FieldDifference::new(format!("option {name}"), &[name], shown(mine), shown(theirs)));
            }
        }
        found
    }

    /// Returns `None` if fio refuses the command, or if its jobs are in an unpublished file.
    pub(super) fn read(words: &[String]) -> Option<FioCommand> {
        let read = fio::read(words, &fio::Machine::default(), &mut NoFiles).ok()?;
        (!read.jobs.is_empty()).then(|| FioCommand { words: words.to_vec(), fio: read })
    }

    /// Returns the bytes of all files of all jobs and their copies; `None` if a size is missing or not in bytes.
    pub(crate) fn size_bytes(&self) -> Option<u64> {
        let mut sets: Vec<(&[String], u64)> = Vec::new();
        for job in &self.fio.jobs {
            let (names, bytes) = (job.files.names.filenames.as_slice(), files_bytes(job)?);
            // Jobs that name the same files share them.
            match sets.iter_mut().find(|(known, _)| !names.is_empty() && *known == names) {
                Some((_, known)) => *known = bytes.max(*known),
                None => sets.push((names, bytes)),
            }
        }
        sets.iter().try_fold(0_u64, |sum, (_, bytes)| sum.checked_add(*bytes))
    }

    /// Returns the bytes of a block if all jobs use one size.
    pub(crate) fn block_bytes(&self) -> Option<u64> {
        one_of(self.fio.jobs.iter().map(|job| {
            let direction = &job.direction;
            let mixed = direction.blocks.bs_range.read.is_some()
                || direction.blocks.bs_range.write.is_some()
                || !direction.blocks.bs_split.read.is_empty()
                || !direction.blocks.bs_split.write.is_empty();
            let (read, write) = (direction.blocks.bs.read, direction.blocks.bs.write);
            match direction.rw.ops {
                _ if mixed => None,
                Ops::Read => Some(read),
                Ops::Write => Some(write),
                Ops::ReadWrite => (read == write).then_some(read),
                Ops::Trim | Ops::TrimWrite => None,
            }
        }))?
    }

    /// Returns the shortest `runtime` of a job, in seconds. A job without one ends once it has transferred its size.
    pub(crate) fn runtime_seconds(&self) -> Option<f64> {
        let stated = self.fio.jobs.iter().filter_map(|job| job.stop.runtime);
        stated.map(|runtime| runtime.0 as f64 / 1e9).reduce(f64::min)
    }

    /// Returns a queue depth above 1 that the engine cannot reach: depth, engine and reason.
    pub(crate) fn ineffective_depth(&self) -> Option<(u32, &str, &'static str)> {
        self.fio.jobs.iter().filter(|job| job.queue.iodepth > 1).find_map(|job| {
            let engine = job.queue.ioengine.as_str();
            let why = if has_one_op_in_flight(engine) {
                "it waits for each op before the next"
            } else if engine == "libaio" && !job.queue.direct {
                "without direct=1 its ops complete while they are submitted"
            } else {
                return None;
            };
            Some((job.queue.iodepth, engine, why))
        })
    }

    /// Returns the largest number of jobs and copies that read or write the same blocks sequentially at the
    /// same time; 1 if none do.
    pub(crate) fn streams_over_the_same_blocks(&self) -> u32 {
        let mut most = 1;
        let mut streams: Vec<(&[String], &FileRegion, u32)> = Vec::new();
        for job in &self.fio.jobs {
            if job.identity.stonewall {
                streams.clear();
            }
            let (files, direction) = (job.files.names.filenames.as_slice(), &job.direction);
            if files.is_empty() || !matches!(direction.rw.order, AccessOrder::Sequential { .. }) {
                continue;
            }
            let apart = direction.region.offset_increment != FileRegion::Bytes(0);
            let copies = if apart { 1 } else { job.identity.numjobs.max(1) };
            let place = (files, &direction.region.offset);
            let known = match streams.iter_mut().find(|(files, offset, _)| (*files, *offset) == place) {
                Some((.., known)) => {
                    *known = known.saturating_add(copies);
                    *known
                }
                None => {
                    streams.push((files, &direction.region.offset, copies));
                    copies
                }
            };
            most = most.max(known);
        }
        most
    }

    /// Returns how the writes become durable within the measured time; `None` if that differs between jobs, or if a
    /// buffered job flushes only every few ops.
    pub(crate) fn durability(&self) -> Option<Durability> {
        one_of(self.fio.jobs.iter().map(|job| {
            let rules = &job.durability;
            let each = |ops: Option<u32>| ops == Some(1);
            let now_and_then = |ops: Option<u32>| ops.is_some_and(|ops| ops > 1);
            if rules.sync != OpenMode::Plain || each(rules.fsync) || each(rules.fdatasync) {
                Some(Durability::FlushEach)
            } else if rules.end_fsync || rules.fsync_on_close || rules.end_syncfs {
                Some(Durability::FlushAtEnd)
            } else if job.queue.direct {
                Some(Durability::Direct)
            } else if now_and_then(rules.fsync) || now_and_then(rules.fdatasync) {
                None
            } else {
                Some(Durability::None)
            }
        }))?
    }

    /// Returns `true` if the page cache cannot serve the reads: every job uses direct I/O, or fio's `invalidate`
    /// without reading a block twice.
    pub(super) fn reads_cold(&self) -> bool {
        self.fio.jobs.iter().all(|job| {
            let reads_once = !job.stop.time_based && job.identity.loops <= 1 && !job.direction.random.norandommap;
            job.queue.direct || (job.files.hints.invalidate && reads_once && !job.files.layout.pre_read)
        })
    }

    /// Returns `true` if the written data is zeros or compresses to almost nothing.
    pub(super) fn writes_zeros(&self) -> bool {
        /// Share of data that a compressing or deduplicating file system does not store, percent.
        const NEARLY_ALL: u32 = 90;
        let nearly_all = |percent: Option<u32>| percent.is_some_and(|percent| percent >= NEARLY_ALL);
        self.fio.jobs.iter().any(|job| {
            let content = &job.content;
            let shrinks = nearly_all(content.compress_percentage) || nearly_all(content.dedupe_percentage);
            content.zero || shrinks || !content.pattern.is_empty()
        })
    }

    /// Returns the bytes that a single job and its copies transfer over all loops; `None` if its sizes do not fix them.
    pub(crate) fn transfer_bytes(&self) -> Option<u64> {
        let [job] = self.fio.jobs.as_slice() else { return None };
        if job.stop.time_based
            || job.direction.region.number_ios.is_some()
            || matches!(job.direction.rw.ops, Ops::ReadWrite)
        {
            return None;
        }
        let each = match (&job.direction.region.io_size, &job.direction.region.size, &job.files.filesize) {
            (Some(FileRegion::Bytes(bytes)), ..) if *bytes > 0 => *bytes,
            (None, Some(FileRegion::Bytes(bytes)), _) if *bytes > 0 => *bytes,
            (None, None, Some(each)) => each.high.checked_mul(job.files.nrfiles.max(1).into())?,
            _ => return None,
        };
        each.checked_mul(job.identity.numjobs.max(1).into())?.checked_mul(job.identity.loops.max(1).into())
    }

    /// Returns the files, by given or generated name, of the jobs that only read, or else of all other jobs. Lists at
    /// most 64 copies of a job.
    pub(crate) fn files(&self, only_read: bool) -> Vec<String> {
        const COPIES_LISTED: u32 = 64;
        let is_meant = |job: &&FioJob| matches!(job.direction.rw.ops, Ops::Read) == only_read;
        let mut found = Vec::new();
        for job in self.fio.jobs.iter().filter(is_meant) {
            let directory = job.files.names.directories.first().map_or("", String::as_str).trim_end_matches('/');
            let place = |name: &str| if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") };
            if job.files.names.filenames.is_empty() {
                let copies = job.identity.numjobs.clamp(1, COPIES_LISTED);
                found.extend((0..copies).map(|copy| place(&format!("{}.{copy}.0", job.name))));
            } else {
                found.extend(job.files.names.filenames.iter().map(|name| place(name)));
            }
        }
        found
    }

    /// Returns the files and directories that the jobs name.
    pub(crate) fn paths(&self) -> Vec<&str> {
        self.fio
            .jobs
            .iter()
            .flat_map(|job| job.files.names.filenames.iter().chain(&job.files.names.directories))
            .map(String::as_str)
            .collect()
    }

    /// Returns the metrics that fio prints; trims have none here.
    pub(crate) fn yields(&self) -> Vec<CellMetric> {
        let mut yields = Vec::new();
        for job in &self.fio.jobs {
            let random = matches!(job.direction.rw.order, AccessOrder::Random { .. });
            let read = if random { CellMetric::RandomRead } else { CellMetric::Read };
            let write = if random { CellMetric::RandomWrite } else { CellMetric::Write };
            let printed: &[CellMetric] = match job.direction.rw.ops {
                Ops::Read => &[read],
                Ops::Write | Ops::TrimWrite => &[write],
                Ops::ReadWrite => &[read, write],
                Ops::Trim => &[],
            };
            for metric in printed {
                if !yields.contains(metric) {
                    yields.push(*metric);
                }
            }
        }
        yields
    }
}

/// Returns the bytes of the files of a job. Copies of a job share files given by name, and have separate generated ones.
fn files_bytes(job: &FioJob) -> Option<u64> {
    let named = job.files.names.filenames.len() as u64;
    let files = if named > 0 { named } else { u64::from(job.files.nrfiles.max(1)) };
    let bytes = match (&job.direction.region.size, &job.files.filesize) {
        (Some(FileRegion::Bytes(bytes)), _) if *bytes > 0 => *bytes,
        (_, Some(each)) => each.high.checked_mul(files)?,
        _ => return None,
    };
    let copies = if named > 0 { 1 } else { u64::from(job.identity.numjobs.max(1)) };
    bytes.checked_mul(copies)
}

/// Returns the common value, if all values are equal.
fn one_of<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Option<T> {
    let mut values = values.into_iter();
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}
