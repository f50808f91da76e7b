//! From a run on files to a workload: each workload definition on each of its file systems is a group of workers with files of
//! its own.

use super::definitions::{Run, Transfers};
use super::file_systems::{FileStorage, FileWork, Operation};
use super::lower::{NoWorkload, workload_of};
use plumb_sorted::SortedMap;
use plumb_workload::blocks::WeightedSize;
use plumb_workload::program::{Choice, MissingFile, OpenStep, Pick, Program, Step};
use plumb_workload::{
    Arrival, Bytes, Content, Distribution, Pace, PerSecond, Target, TreeTarget, Work, WorkerGroup, Workload,
};

/// A run as a workload. `rate` is requested operations a second, all together.
pub(super) fn lower(run: &Run, rate: Option<f64>, seed: u64) -> Result<Workload, NoWorkload> {
    let mut target = SortedMap::new();
    let mut groups = Vec::new();
    for storage in &run.file_systems {
        let users: Vec<&FileWork> =
            run.file_works.iter().filter(|work| work.file_systems.contains(&storage.name)).collect();
        let threads: u64 = users.iter().map(|work| threads_on(work, &storage.name)).sum();
        let all = storage.files_in_all().unwrap_or(0);
        for work in users {
            let own_threads = threads_on(work, &storage.name);
            // All threads have equal parts of the files.
            let files = (u128::from(all) * u128::from(own_threads) / u128::from(threads.max(1))) as u64;
            if files < own_threads {
                return Err(NoWorkload::TooFewFiles {
                    work: work.name.clone(),
                    threads: own_threads,
                    storage: storage.name.clone(),
                    files,
                });
            }
            let name = format!("{}.{}", work.name, storage.name);
            target.insert(name.clone(), Target::Tree(tree(storage, work, files, &name)));
            let share = work.skew.unwrap_or(100.0) / 100.0 / work.file_systems.len() as f64;
            let pace = rate.map(|rate| {
                let rate = PerSecond((rate * share * ops_per_requested(work, storage)).max(0.001));
                let arrival = if run.is_poisson() { Arrival::Poisson } else { Arrival::Fixed };
                Pace::open(rate, arrival, true)
            });
            groups.push(WorkerGroup {
                name: Some(name.clone()),
                count: own_threads as u32,
                pace: pace.unwrap_or_default(),
                ..WorkerGroup::new(name, Work::Program(Box::new(Program::new(steps(work, storage)))))
            });
        }
    }
    let mut ways = run.file_works.iter().map(|work| {
        let of = run.file_systems.iter().filter(|one| work.file_systems.contains(&one.name)).any(|one| one.direct);
        of || work.direct
    });
    let direct = ways.next().unwrap_or(false);
    if ways.any(|other| other != direct) {
        return Err(NoWorkload::DirectInPart { run: run.name.clone() });
    }
    Ok(workload_of(run, direct, groups, target, seed))
}

/// The threads of a workload definition are those of all its file systems together.
fn threads_on(work: &FileWork, storage: &str) -> u64 {
    let systems = work.file_systems.len() as u64;
    let place = work.file_systems.iter().position(|name| name == storage).unwrap_or(0) as u64;
    (work.threads / systems + u64::from(place < work.threads % systems)).max(1)
}

fn distribution(sizes: &Transfers) -> Distribution {
    match sizes {
        Transfers::Fixed(bytes) => Distribution::Fixed(Bytes(*bytes)),
        Transfers::Mix(sizes) => {
            let weighted =
                |&(bytes, percent): &(u64, u8)| WeightedSize { size: Bytes(bytes), weight: f64::from(percent) };
            Distribution::Weighted(sizes.iter().map(weighted).collect())
        }
    }
}

fn mean(sizes: &Transfers) -> f64 {
    match sizes {
        Transfers::Fixed(bytes) => *bytes as f64,
        Transfers::Mix(sizes) => sizes.iter().map(|&(bytes, percent)| bytes as f64 * f64::from(percent) / 100.0).sum(),
    }
}

fn tree(storage: &FileStorage, work: &FileWork, files: u64, path: &str) -> TreeTarget {
    TreeTarget {
        path: path.into(),
        files,
        width: storage.width as u32,
        depth: storage.depth as u32,
        size: distribution(&storage.sizes),
        // What creates files begins without.
        preallocated_percent: if work.operation == Operation::Create { 0 } else { 100 },
        directories: 0,
        content: Content::Random,
    }
}

/// Blocks of a file that are read or written at random: `stopafter`, or as many as it has.
fn blocks(work: &FileWork, storage: &FileStorage) -> u64 {
    let whole = (mean(&storage.sizes) / mean(&work.transfers).max(1.0)).ceil().max(1.0) as u64;
    work.stop_after.unwrap_or(whole)
}

/// Calls for each that is counted: a rate holds for those that are counted.
fn ops_per_requested(work: &FileWork, storage: &FileStorage) -> f64 {
    match work.operation {
        Operation::Read | Operation::Write => {
            let blocks = blocks(work, storage) as f64;
            (blocks + 2.0) / blocks
        }
        Operation::Create | Operation::Open | Operation::Close => 2.0,
        Operation::Mkdir | Operation::Delete | Operation::Getattr | Operation::Setattr => 1.0,
    }
}

fn steps(work: &FileWork, storage: &FileStorage) -> Vec<Step> {
    let file = if work.picks_random { Pick::Random } else { Pick::Sequential };
    let close = || Step::Close { handle: 0 };
    match work.operation {
        Operation::Mkdir => vec![Step::Mkdir { file: Pick::Usual, mode: None, may_exist: false }],
        Operation::Create => vec![Step::Create { handle: 0 }, close()],
        Operation::Open | Operation::Close => vec![Step::Open(OpenStep { file, ..OpenStep::default() }), close()],
        Operation::Delete => vec![Step::Unlink { file, missing: MissingFile::default() }],
        Operation::Getattr => vec![Step::Stat { file }],
        Operation::Setattr => vec![Step::Utimens { file }],
        Operation::Read | Operation::Write => transfers(work, storage, file),
    }
}

/// A file after another, opened, read or written, and closed.
fn transfers(work: &FileWork, storage: &FileStorage, file: Pick) -> Vec<Step> {
    let usual = if work.operation == Operation::Read { 100 } else { 0 };
    let read_percent = work.read_percent.unwrap_or(usual);
    let open = || Step::Open(OpenStep { file, write: read_percent < 100, ..OpenStep::default() });
    let size = distribution(&work.transfers);
    let close = Step::Close { handle: 0 };
    if work.is_random {
        let block = either(
            read_percent,
            || vec![Step::ReadRandom { handle: 0, size: size.clone() }],
            || vec![Step::WriteRandom { handle: 0, size: size.clone() }],
        );
        return vec![open(), Step::Loop { times: blocks(work, storage), steps: block }, close];
    }
    let whole = |request: u64| {
        either(
            read_percent,
            || vec![Step::ReadWhole { handle: 0, request: Bytes(request) }],
            || vec![Step::WriteWhole { handle: 0, request: Bytes(request) }],
        )
    };
    let middle = match &work.transfers {
        Transfers::Fixed(request) => whole(*request),
        Transfers::Mix(sizes) => {
            let choice = |&(request, percent): &(u64, u8)| Choice { weight: f64::from(percent), steps: whole(request) };
            vec![Step::Mix { choices: sizes.iter().filter(|(_, percent)| *percent > 0).map(choice).collect() }]
        }
    };
    [vec![open()], middle, vec![close]].concat()
}

/// Reads and writes by their share.
fn either(read_percent: u8, read: impl Fn() -> Vec<Step>, write: impl Fn() -> Vec<Step>) -> Vec<Step> {
    match read_percent {
        0 => write(),
        100.. => read(),
        percent => {
            let choices = vec![
                Choice { weight: f64::from(percent), steps: read() },
                Choice { weight: f64::from(100 - percent), steps: write() },
            ];
            vec![Step::Mix { choices }]
        }
    }
}
