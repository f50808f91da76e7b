//! fio command lines: what the dialect read, and what an audit asks of it.

use crate::form::Durability;
use plumb_dialects::fio::lower::has_one_op_in_flight;
use plumb_dialects::fio::value::FileRegion;
use plumb_dialects::fio::value::direction::{AccessOrder, Ops};
use plumb_dialects::fio::{self, FioJob};
use plumb_result::CellMetric;
use plumb_workload::files::OpenMode;

/// A `fio` command with at least one job.
#[derive(Debug, Clone)]
pub struct FioCommand {
    words: Vec<String>,
    jobs: Vec<FioJob>,
}

impl PartialEq for FioCommand {
    fn eq(&self, other: &FioCommand) -> bool {
        self.words == other.words
    }
}

/// Files of a paper cannot be read.
struct NoFiles;

impl fio::Files for NoFiles {
    fn read(&mut self, _: &str) -> Result<String, fio::MissingFile> {
        Err(fio::MissingFile { reason: "only the command was published".to_owned() })
    }
}

impl FioCommand {
    /// `None` where fio refuses it, or where its jobs are in a file that was not published.
    pub(super) fn read(words: &[String]) -> Option<FioCommand> {
        let read = fio::read(words, &fio::Machine::default(), &mut NoFiles).ok()?;
        (!read.jobs.is_empty()).then(|| FioCommand { words: words.to_vec(), jobs: read.jobs })
    }

    /// Bytes of all files of all jobs and their copies; `None` where a size is not stated in bytes.
    pub fn size_bytes(&self) -> Option<u64> {
        let mut sets: Vec<(&[String], u64)> = Vec::new();
        for job in &self.jobs {
            let (names, bytes) = (job.files.filenames.as_slice(), files_bytes(job)?);
            // Jobs that name the same files have one set.
            match sets.iter_mut().find(|(known, _)| !names.is_empty() && *known == names) {
                Some((_, known)) => *known = bytes.max(*known),
                None => sets.push((names, bytes)),
            }
        }
        sets.iter().try_fold(0_u64, |sum, (_, bytes)| sum.checked_add(*bytes))
    }

    /// Bytes of a block, where all jobs use one size.
    pub fn block_bytes(&self) -> Option<u64> {
        one_of(self.jobs.iter().map(|job| {
            let direction = &job.direction;
            let mixed = direction.bs_range.read.is_some()
                || direction.bs_range.write.is_some()
                || !direction.bs_split.read.is_empty()
                || !direction.bs_split.write.is_empty();
            let (read, write) = (direction.bs.read, direction.bs.write);
            match direction.rw.ops {
                _ if mixed => None,
                Ops::Read => Some(read),
                Ops::Write => Some(write),
                Ops::ReadWrite => (read == write).then_some(read),
                Ops::Trim | Ops::TrimWrite => None,
            }
        }))?
    }

    /// The shortest `runtime` of a job, in seconds. A job without one ends after its size.
    pub fn runtime_seconds(&self) -> Option<f64> {
        let stated = self.jobs.iter().filter_map(|job| job.stop.runtime);
        stated.map(|runtime| runtime.0 as f64 / 1e9).reduce(f64::min)
    }

    /// A queue depth above 1 that its engine cannot keep: depth, engine and why.
    pub fn depth_in_name_only(&self) -> Option<(u32, &str, &'static str)> {
        self.jobs.iter().filter(|job| job.queue.iodepth > 1).find_map(|job| {
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

    /// The most jobs and copies that go over the same blocks one after another, at the same time; 1 where none do.
    pub fn streams_over_the_same_blocks(&self) -> u32 {
        let mut most = 1;
        let mut streams: Vec<(&[String], &FileRegion, u32)> = Vec::new();
        for job in &self.jobs {
            if job.identity.stonewall {
                streams.clear();
            }
            let (files, direction) = (job.files.filenames.as_slice(), &job.direction);
            if files.is_empty() || !matches!(direction.rw.order, AccessOrder::Sequential { .. }) {
                continue;
            }
            let apart = direction.offset_increment != FileRegion::Bytes(0);
            let copies = if apart { 1 } else { job.identity.numjobs.max(1) };
            let place = (files, &direction.offset);
            let known = match streams.iter_mut().find(|(files, offset, _)| (*files, *offset) == place) {
                Some((.., known)) => {
                    *known = known.saturating_add(copies);
                    *known
                }
                None => {
                    streams.push((files, &direction.offset, copies));
                    copies
                }
            };
            most = most.max(known);
        }
        most
    }

    /// How its writes become durable within the time that it prints; `None` where some do and some do not.
    pub fn durability(&self) -> Option<Durability> {
        one_of(self.jobs.iter().map(|job| {
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

    /// Whether the page cache cannot answer its reads: direct I/O, or fio's own `invalidate`, if no block is read twice.
    pub(super) fn reads_cold(&self) -> bool {
        self.jobs.iter().all(|job| {
            let reads_once = !job.stop.time_based && job.identity.loops <= 1 && !job.direction.norandommap;
            job.queue.direct || (job.files.invalidate && reads_once && !job.files.pre_read)
        })
    }

    /// Whether what it writes is zeros.
    pub(super) fn writes_zeros(&self) -> bool {
        self.jobs.iter().any(|job| job.content.zero)
    }

    /// The files and directories that its jobs name.
    pub fn paths(&self) -> Vec<&str> {
        self.jobs
            .iter()
            .flat_map(|job| job.files.filenames.iter().chain(&job.files.directories))
            .map(String::as_str)
            .collect()
    }

    /// Rates that it prints; trims have none here.
    pub fn yields(&self) -> Vec<CellMetric> {
        let mut yields = Vec::new();
        for job in &self.jobs {
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

/// Bytes of the files of a job. Copies of a job share the files that it names, and have others of their own.
fn files_bytes(job: &FioJob) -> Option<u64> {
    let named = job.files.filenames.len() as u64;
    let files = if named > 0 { named } else { u64::from(job.files.nrfiles.max(1)) };
    let bytes = match (&job.direction.size, &job.files.filesize) {
        (Some(FileRegion::Bytes(bytes)), _) if *bytes > 0 => *bytes,
        (_, Some(each)) => each.high.checked_mul(files)?,
        _ => return None,
    };
    let copies = if named > 0 { 1 } else { u64::from(job.identity.numjobs.max(1)) };
    bytes.checked_mul(copies)
}

/// The value that all have, if they agree.
fn one_of<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Option<T> {
    let mut values = values.into_iter();
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}
