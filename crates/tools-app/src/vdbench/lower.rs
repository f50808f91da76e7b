//! Lowers a run to a workload.

use super::script::{Rate, Run, Script};
use super::storage::{Storage, Transfers, Work};
use plumb_workload::blocks::ByKind;
use plumb_workload::blocks::fio::{
    AccessOrder, Coverage, FileRange, JobSize, OffsetDistribution, SizeShare, Stream, Zone,
};
use plumb_workload::files::{FileRules, JobFiles, Names, OpenMode, PrepareFiles};
use plumb_workload::pace::WeightedFlow;
use plumb_workload::phase::{ClockScope, End, Flush, Phase, Stop};
use plumb_workload::{
    Arrival, Backend, BlockStream, Bytes, CachePolicy, Nanos, Pace, PerSecond, Target, WorkerGroup, Workload,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

const SECOND_NS: u64 = 1_000_000_000;

/// Error from lowering a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoWorkload {
    /// Storage does not exist, and has no `size=`.
    #[error("sd={storage}: '{path}' does not exist and has no `size=`")]
    NoSize {
        /// Name of the storage definition.
        storage: String,
        path: String,
    },
    /// Only some of the files are opened with `o_direct`.
    #[error("rd={run}: some files are opened with o_direct and some without; use it for all file systems, or for none")]
    DirectInPart { run: String },
    /// There are more threads than files.
    #[error("fwd={work}: {threads} threads have only {files} files of fsd={storage}; use more files, or fewer threads")]
    TooFewFiles {
        /// Name of the workload definition.
        work: String,
        threads: u64,
        /// Name of the file system definition.
        storage: String,
        files: u64,
    },
    /// The hit area is too small for hits, or leaves no room for misses.
    #[error(
        "wd={work}: the hit area of sd={storage}, {hit_area} bytes, must be twice the largest transfer, and smaller than the \
         storage; set its `hitarea=`"
    )]
    HitArea {
        /// Name of the workload definition.
        work: String,
        /// Name of the storage definition.
        storage: String,
        /// Size of the hit area, bytes.
        hit_area: u64,
    },
    /// The used part of the storage is smaller than a transfer.
    #[error("wd={work}: sd={storage} is smaller than a transfer of {transfer_bytes} bytes")]
    TooSmall {
        /// Name of the workload definition.
        work: String,
        /// Name of the storage definition.
        storage: String,
        /// Size of the largest transfer, bytes.
        transfer_bytes: u64,
    },
}

/// Facts about the host on which a script runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Places<'a> {
    /// Length of each storage, in the order of the definitions; `None` if it does not exist.
    pub lengths: &'a [Option<u64>],
    /// Directory for each file system of the run, in their order. If empty, all files go to the run's directory.
    pub directories: &'a [PathBuf],
}

/// Lowers a run. `rate` is the total of I/Os per second.
///
/// # Errors
/// Storage has no size, or too little is left of it.
pub fn lower(
    script: &Script,
    run: &Run,
    places: Places<'_>,
    rate: Option<f64>,
    seed: u64,
) -> Result<Workload, NoWorkload> {
    if run.has_files() {
        return super::lower_files::lower(run, places.directories, rate, seed);
    }
    let mut target = BTreeMap::new();
    let mut groups = Vec::new();
    // With a rate, each workload's pace gives its skew. Without one, workloads have to wait for each other.
    let waits = rate.is_none() && run.works.iter().filter(|work| work.rate.is_none()).count() > 1;
    let mut is_direct = true;
    let mut used_bytes: BTreeMap<String, u64> = BTreeMap::new();
    for work in &run.works {
        let used = script.storage.iter().zip(places.lengths).filter(|(one, _)| work.storage.contains(&one.name));
        let used: Vec<(&Storage, Option<u64>)> = used.map(|(one, length)| (one, *length)).collect();
        for &(storage, there) in &used {
            let name = storage.name.clone();
            let whole = storage.bytes.or(there);
            let whole =
                whole.ok_or_else(|| NoWorkload::NoSize { storage: name.clone(), path: storage.path.clone() })?;
            target.entry(name.clone()).or_insert_with(|| {
                Target::JobFiles(JobFiles {
                    names: Names::Given(vec![PathBuf::from(&storage.path)]),
                    lengths: storage.bytes.map(Bytes).into_iter().collect(),
                    typed: Vec::new(),
                    make_below: None,
                })
            });
            used_bytes.insert(name.clone(), whole);
            let part =
                |percent: u64| (u128::from(whole - storage.offset.min(whole)) * u128::from(percent) / 100) as u64;
            let (from, to) = work.range.unwrap_or(storage.range);
            let largest = largest(&work.transfers);
            let start = storage.offset + part(from) / largest * largest;
            let length = (storage.offset + part(to)).saturating_sub(start) / largest * largest;
            if length == 0 {
                return Err(NoWorkload::TooSmall { work: work.name.clone(), storage: name, transfer_bytes: largest });
            }
            let has_hits = work.hits != (0, 0);
            // vdbench demands this: hits need more than one block, and misses need room.
            if has_hits && (storage.hit_area < 2 * largest || storage.hit_area.saturating_add(largest) > length) {
                return Err(NoWorkload::HitArea { work: work.name.clone(), storage: name, hit_area: storage.hit_area });
            }
            let number = groups.len() as u32 + 1;
            let share = work.skew.unwrap_or(100.0) / 100.0 / used.len() as f64;
            let own = work.rate.map(|rate| rate as f64 / used.len() as f64);
            // All workloads on a storage share its threads.
            let sharing = run.works.iter().filter(|other| other.storage.contains(&storage.name)).count() as u64;
            let threads = (run.threads.or(work.threads).unwrap_or(storage.threads) / sharing.max(1)).max(1);
            let opened = work.opened.unwrap_or(storage.opened);
            is_direct &= opened.direct;
            groups.push(WorkerGroup {
                name: Some(format!("{}.{name}", work.name)),
                depth: threads as u32,
                backend: if threads == 1 { Backend::Psync } else { Backend::Auto },
                pace: pace(run, own.or(rate.map(|rate| rate * share)), (waits && own.is_none(), share)),
                files: FileRules {
                    prepare: PrepareFiles { write: true, ..PrepareFiles::default() },
                    direct: opened.direct,
                    open_mode: if opened.sync { OpenMode::Sync } else { OpenMode::Plain },
                    drop_cached: false,
                    ..FileRules::default()
                },
                ..WorkerGroup::new(name, BlockStream::from(stream(work, storage, (start, length), seed, number)))
            });
        }
    }
    let mut workload = workload_of(run, is_direct, groups, target, seed);
    workload.phase[0].stop.bytes = run.data.bytes(used_bytes.values().sum()).map(Bytes);
    Ok(workload)
}

/// Returns the workload of a run, which has one phase.
pub(super) fn workload_of(
    run: &Run,
    direct: bool,
    groups: Vec<WorkerGroup>,
    target: BTreeMap<String, Target>,
    seed: u64,
) -> Workload {
    // A run that only creates files lasts until they are created.
    let is_timed = run.format.is_none_or(|format| format.limited);
    let phase = Phase {
        cache: if direct { CachePolicy::Direct } else { CachePolicy::AsIs },
        ramp: Nanos(if is_timed { run.warmup_s * SECOND_NS } else { 0 }),
        stop: Stop { time: is_timed.then_some(Nanos(run.elapsed_s * SECOND_NS)), ..Stop::default() },
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

/// Returns the distribution of random offsets: hits go to the beginning of the range, misses after it.
fn distribution(work: &Work, storage: &Storage, length: u64) -> OffsetDistribution {
    if work.hits == (0, 0) {
        return OffsetDistribution::default();
    }
    let zones = |percent: u8| {
        let zone = |access_percent: u8, bytes: u64| Zone { access_percent, size: Bytes(bytes) };
        vec![zone(percent, storage.hit_area), zone(100 - percent, length - storage.hit_area)]
    };
    let (read, write) = work.hits;
    OffsetDistribution::ZonedBytes(ByKind { read: zones(read), write: zones(write), trim: zones(0) })
}

fn stream(work: &Work, storage: &Storage, (start, length): (u64, u64), seed: u64, number: u32) -> Stream {
    let (smallest, sizes) = match &work.transfers {
        Transfers::Fixed(bytes) => (*bytes, JobSize::Fixed(Bytes(*bytes))),
        Transfers::Mix(sizes) => {
            let share = |&(bytes, percent): &(u64, u8)| SizeShare { size: Bytes(bytes), percent };
            let smallest = sizes.iter().map(|(bytes, _)| *bytes).min().unwrap_or(1);
            (smallest, JobSize::Split(sizes.iter().map(share).collect()))
        }
    };
    let order = match (work.stride, work.random_percent) {
        (Some(stride), _) => AccessOrder::Sequential { skip_bytes: stride as i64 },
        (None, 0) => AccessOrder::Sequential { skip_bytes: 0 },
        (None, _) => AccessOrder::Random { ops_per_draw: 1 },
    };
    Stream {
        read_percent: Some(work.read_percent),
        order,
        sizes: ByKind::all(sizes),
        random_percent: ByKind::all(if work.random_percent == 0 { 100 } else { work.random_percent }),
        distribution: distribution(work, storage, length),
        align: ByKind::all(Bytes(storage.align.unwrap_or(smallest))),
        coverage: Coverage::Again,
        seed,
        worker_number: number,
        ranges: vec![FileRange { start: Bytes(start), length: Bytes(length) }],
        repeat_until_time: !work.ends_at_end,
        ..Stream::sequential(Bytes(smallest), Bytes(length))
    }
}

/// Returns the rate of a run, if it has one. `largest` is the rate of the first run of its curve.
pub(super) fn rate(run: &Run, largest: f64) -> Option<f64> {
    match run.rate {
        Rate::Max | Rate::CurveMax => None,
        Rate::PerSecond(rate) => Some(rate as f64),
        Rate::CurvePercent(percent) => {
            let rate = largest * percent as f64 / 100.0;
            // As in vdbench: rounded up to the next hundred.
            Some(if rate > 1000.0 { (rate / 100.0).ceil() * 100.0 } else { rate.max(1.0) })
        }
    }
}
