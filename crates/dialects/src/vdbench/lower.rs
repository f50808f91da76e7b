//! From a run to a workload.

use super::definitions::{Rate, Run, Script, Storage, Transfers, Work};
use plumb_sorted::SortedMap;
use plumb_workload::blocks::ByKind;
use plumb_workload::blocks::fio::{AccessOrder, Coverage, FileRange, JobSize, SizeShare, Stream};
use plumb_workload::files::{FileRules, JobFiles, Names, OpenMode, PrepareFiles};
use plumb_workload::pace::WeightedFlow;
use plumb_workload::phase::{ClockScope, End, Flush, Phase, Stop};
use plumb_workload::{
    Arrival, Backend, BlockStream, Bytes, CachePolicy, Nanos, Pace, PerSecond, Target, WorkerGroup, Workload,
};
use std::path::PathBuf;

const SECOND_NS: u64 = 1_000_000_000;

/// Why a run is no workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoWorkload {
    /// A storage definition names what is not there, and says no size.
    #[error("sd={storage}: '{path}' is not there, and has no `size=`")]
    NoSize {
        /// The storage definition.
        storage: String,
        /// What it names.
        path: String,
    },
    /// Files are opened in two ways.
    #[error("rd={run}: some files are opened with o_direct and some without; use it for all file systems, or for none")]
    DirectInPart {
        /// The run.
        run: String,
    },
    /// A thread would have no file.
    #[error("fwd={work}: {threads} threads have only {files} files of fsd={storage}; use more files, or fewer threads")]
    TooFewFiles {
        /// The workload definition.
        work: String,
        /// Its threads.
        threads: u64,
        /// The file system definition.
        storage: String,
        /// Its files.
        files: u64,
    },
    /// A workload definition uses a part that holds no transfer.
    #[error("wd={work}: sd={storage} is smaller than a transfer of {transfer_bytes} bytes")]
    TooSmall {
        /// The workload definition.
        work: String,
        /// The storage definition.
        storage: String,
        /// The largest transfer.
        transfer_bytes: u64,
    },
}

/// A run as a workload. `lengths` are those of what storage definitions name, in their order, where it is there; `rate` is I/Os a
/// second, all together.
///
/// # Errors
/// A storage has no size, or none is left of it.
pub fn lower(
    script: &Script,
    run: &Run,
    lengths: &[Option<u64>],
    rate: Option<f64>,
    seed: u64,
) -> Result<Workload, NoWorkload> {
    if run.has_files() {
        return super::lower_files::lower(run, rate, seed);
    }
    let mut target = SortedMap::new();
    let mut groups = Vec::new();
    // Skews hold at a rate by themselves; without one, workloads wait for each other.
    let waits = rate.is_none() && run.works.len() > 1;
    for work in &run.works {
        let used = script.storage.iter().zip(lengths).filter(|(one, _)| work.storage.contains(&one.name));
        let used: Vec<(&Storage, Option<u64>)> = used.map(|(one, length)| (one, *length)).collect();
        for &(storage, there) in &used {
            let name = storage.name.clone();
            let whole = storage.bytes.or(there);
            let whole =
                whole.ok_or_else(|| NoWorkload::NoSize { storage: name.clone(), path: storage.path.clone() })?;
            target.entry(name.clone()).or_insert_with(|| {
                Target::JobFiles(JobFiles {
                    names: Names::Said(vec![PathBuf::from(&storage.path)]),
                    lengths: storage.bytes.map(Bytes).into_iter().collect(),
                })
            });
            let part =
                |percent: u64| (u128::from(whole - storage.offset.min(whole)) * u128::from(percent) / 100) as u64;
            let (from, to) = work.range;
            let largest = largest(&work.transfers);
            let start = storage.offset + part(from) / largest * largest;
            let length = (storage.offset + part(to)).saturating_sub(start) / largest * largest;
            if length == 0 {
                return Err(NoWorkload::TooSmall { work: work.name.clone(), storage: name, transfer_bytes: largest });
            }
            let number = groups.len() as u32 + 1;
            let share = work.skew.unwrap_or(100.0) / 100.0 / used.len() as f64;
            // All workloads of a storage share its threads.
            let sharing = run.works.iter().filter(|other| other.storage.contains(&storage.name)).count() as u64;
            let threads = (run.threads.unwrap_or(storage.threads) / sharing.max(1)).max(1);
            groups.push(WorkerGroup {
                name: Some(format!("{}.{name}", work.name)),
                depth: threads as u32,
                backend: if threads == 1 { Backend::Psync } else { Backend::Auto },
                pace: pace(run, rate.map(|rate| rate * share), (waits, share)),
                files: FileRules {
                    prepare: PrepareFiles { write: true, ..PrepareFiles::default() },
                    direct: storage.direct,
                    open_mode: if storage.sync { OpenMode::Sync } else { OpenMode::Plain },
                    drop_cached: false,
                    ..FileRules::default()
                },
                ..WorkerGroup::new(name, BlockStream::from(stream(work, (start, length), seed, number)))
            });
        }
    }
    let direct = script.storage.iter().filter(|one| target.contains_key(&one.name)).all(|one| one.direct);
    Ok(workload_of(run, direct, groups, target, seed))
}

/// The workload of a run: one phase.
pub(super) fn workload_of(
    run: &Run,
    direct: bool,
    groups: Vec<WorkerGroup>,
    target: SortedMap<String, Target>,
    seed: u64,
) -> Workload {
    let phase = Phase {
        cache: if direct { CachePolicy::Direct } else { CachePolicy::AsIs },
        ramp: Nanos(run.warmup_s * SECOND_NS),
        stop: Stop { time: Some(Nanos(run.elapsed_s * SECOND_NS)), ..Stop::default() },
        end: End { flush: Flush::None, clock: ClockScope::Inside },
        ..Phase::new(run.name.clone(), groups)
    };
    let description = "A run of a vdbench parameter file.".to_owned();
    Workload { name: "vdbench".to_owned(), description, seed, target, phase: vec![phase], repeat: None }
}

fn largest(transfers: &Transfers) -> u64 {
    match transfers {
        Transfers::Fixed(bytes) => *bytes,
        Transfers::Mix(sizes) => sizes.iter().map(|(bytes, _)| *bytes).max().unwrap_or(1),
    }
}

fn pace(run: &Run, rate: Option<f64>, (waits, share): (bool, f64)) -> Pace {
    let arrival = if run.poisson { Arrival::Poisson } else { Arrival::Fixed };
    Pace {
        ops_per_second: ByKind { write: rate.map(|rate| PerSecond(rate.max(0.001))), ..ByKind::default() },
        reads_count_as_writes: rate.is_some(),
        arrival: if rate.is_some() { arrival } else { Arrival::Fixed },
        flow: waits.then(|| WeightedFlow { flow: 1, weight: (share * 10_000.0).max(1.0) as u32, sleep: Nanos(0) }),
        ..Pace::default()
    }
}

fn stream(work: &Work, (start, length): (u64, u64), seed: u64, number: u32) -> Stream {
    let (smallest, sizes) = match &work.transfers {
        Transfers::Fixed(bytes) => (*bytes, JobSize::Fixed(Bytes(*bytes))),
        Transfers::Mix(sizes) => {
            let share = |&(bytes, percent): &(u64, u8)| SizeShare { size: Bytes(bytes), percent };
            let smallest = sizes.iter().map(|(bytes, _)| *bytes).min().unwrap_or(1);
            (smallest, JobSize::Split(sizes.iter().map(share).collect()))
        }
    };
    let order = match work.random_percent {
        0 => AccessOrder::Sequential { skip_bytes: 0 },
        _ => AccessOrder::Random { ops_per_draw: 1 },
    };
    Stream {
        read_percent: Some(work.read_percent),
        order,
        sizes: ByKind::all(sizes),
        random_percent: ByKind::all(if work.random_percent == 0 { 100 } else { work.random_percent }),
        coverage: Coverage::Again,
        seed,
        worker_number: number,
        ranges: vec![FileRange { start: Bytes(start), length: Bytes(length) }],
        repeat_until_time: !work.ends_at_end,
        ..Stream::sequential(Bytes(smallest), Bytes(length))
    }
}

/// The rate of a run, where one is asked for; `largest` is what the first run of its curve did.
pub(super) fn rate(run: &Run, largest: f64) -> Option<f64> {
    match run.rate {
        Rate::Max | Rate::CurveMax => None,
        Rate::PerSecond(rate) => Some(rate as f64),
        Rate::CurvePercent(percent) => {
            let rate = largest * percent as f64 / 100.0;
            // As the tool has it: to the next hundred.
            Some(if rate > 1000.0 { (rate / 100.0).ceil() * 100.0 } else { rate.max(1.0) })
        }
    }
}
