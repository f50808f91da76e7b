//! Lowers a run on files. Each workload definition on each of its file systems becomes a worker group with its own
//! files.

use super::file_systems::{FileStorage, FileWork};
use super::lower::{NoWorkload, workload_of};
use super::operation::Operation;
use super::script::Run;
use super::storage::Transfers;
use plumb_workload::blocks::WeightedSize;
use plumb_workload::phase::Limit;
use plumb_workload::program::{Choice, CopyStep, MissingFile, OpenStep, Pick, Program, Step};
use plumb_workload::{
    Arrival, Bytes, Content, Distribution, Pace, PerSecond, Target, TreeTarget, Work, WorkerGroup, Workload,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Lowers a run. `rate` is the total of requested operations per second.
pub(super) fn lower(run: &Run, directories: &[PathBuf], rate: Option<f64>, seed: u64) -> Result<Workload, NoWorkload> {
    let mut target = BTreeMap::new();
    let mut groups = Vec::new();
    let place = |storage: &str, name: &str| {
        let number = run.file_systems.iter().position(|one| one.name == storage).unwrap_or(0);
        directories.get(number).map_or_else(|| PathBuf::from(name), |directory| directory.join(name))
    };
    for storage in &run.file_systems {
        let users: Vec<&FileWork> =
            run.file_works.iter().filter(|work| work.file_systems.contains(&storage.name)).collect();
        let all = storage.files_in_all().unwrap_or(0);
        let threads_on = |work: &FileWork| {
            let threads = threads_on(work, &storage.name);
            // The default number of threads may exceed the number of files.
            if work.operation == Operation::Format { threads.min(all) } else { threads }
        };
        let threads: u64 = users.iter().map(|work| threads_on(work)).sum();
        for work in users {
            let own_threads = threads_on(work);
            // All threads have equal shares of the files and directories.
            let part = |all: u64| (u128::from(all) * u128::from(own_threads) / u128::from(threads.max(1))) as u64;
            let files = part(all);
            if files < own_threads {
                return Err(NoWorkload::TooFewFiles {
                    work: work.name.clone(),
                    threads: own_threads,
                    storage: storage.name.clone(),
                    files,
                });
            }
            // If each file is copied once, all threads have the same number of files.
            let each_once = work.operation == Operation::Copy && !work.picks_random;
            let files = if each_once { files / own_threads * own_threads } else { files };
            let directories = part(storage.directories_in_all()).max(own_threads);
            let name = format!("{}.{}", work.name, storage.name);
            let path = place(&storage.name, &name);
            target.insert(name.clone(), Target::Tree(tree(storage, work, (files, directories), path)));
            let mut copies = String::new();
            if let Some(to) = work.target.as_ref().filter(|_| work.copies()) {
                copies = format!("{name}.{to}");
                let path = place(to, &copies);
                let tree = TreeTarget { preallocated_percent: 0, ..tree(storage, work, (files, 0), path) };
                target.insert(copies.clone(), Target::Tree(tree));
            }
            let share = work.skew.unwrap_or(100.0) / 100.0 / work.file_systems.len() as f64;
            let pace = rate.map(|rate| {
                let rate = PerSecond((rate * share * ops_per_requested(work, storage)).max(0.001));
                let arrival = if run.is_poisson() { Arrival::Poisson } else { Arrival::Fixed };
                Pace::open(rate, arrival, true)
            });
            let passes = match work.operation {
                Operation::Mkdir => Some(directories / own_threads),
                Operation::Format => Some(files.div_ceil(own_threads)),
                Operation::Copy if each_once => Some(files / own_threads),
                _ => None,
            };
            let program = Program { count_transactions: work.copies(), ..Program::new(steps(work, storage, &copies)) };
            groups.push(WorkerGroup {
                name: Some(name.clone()),
                count: own_threads as u32,
                pace: pace.unwrap_or_default(),
                limit: Limit { passes, ..Limit::default() },
                ..WorkerGroup::new(name, Work::Program(Box::new(program)))
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
    let mut workload = workload_of(run, direct, groups, target, seed);
    // A run that only creates files has no data limit.
    workload.phase[0].stop.bytes = run.format.is_none().then(|| run.data.bytes(0)).flatten().map(Bytes);
    Ok(workload)
}

/// Returns the threads on one file system. A definition's threads are divided between its file systems.
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

fn tree(storage: &FileStorage, work: &FileWork, (files, directories): (u64, u64), path: PathBuf) -> TreeTarget {
    TreeTarget {
        path,
        files,
        width: storage.width as u32,
        depth: storage.depth as u32,
        size: distribution(&storage.sizes),
        // Workloads that create files start without any, and workloads on directories need none.
        preallocated_percent: match work.operation {
            Operation::Create | Operation::Format | Operation::Mkdir | Operation::Rmdir => 0,
            _ => 100,
        },
        directories: if work.operation == Operation::Rmdir { directories as u32 } else { 0 },
        content: Content::Random,
    }
}

/// Returns the random blocks per file: `stopafter`, or as many as the file has.
fn blocks(work: &FileWork, storage: &FileStorage) -> u64 {
    work.stop_after.unwrap_or_else(|| whole_blocks(work, storage))
}

/// Returns the number of transfers that cover a file.
fn whole_blocks(work: &FileWork, storage: &FileStorage) -> u64 {
    (mean(&storage.sizes) / mean(&work.transfers).max(1.0)).ceil().max(1.0) as u64
}

/// Returns the number of ops per requested operation. A rate applies to requested operations.
fn ops_per_requested(work: &FileWork, storage: &FileStorage) -> f64 {
    match work.operation {
        Operation::Read | Operation::Write => {
            let blocks = blocks(work, storage) as f64;
            (blocks + 2.0) / blocks
        }
        Operation::Create | Operation::Open | Operation::Close => 2.0,
        Operation::Mkdir
        | Operation::Rmdir
        | Operation::Delete
        | Operation::Getattr
        | Operation::Setattr
        | Operation::Access => 1.0,
        Operation::Copy | Operation::Move => {
            let moves = work.operation == Operation::Move;
            4.0 + 2.0 * whole_blocks(work, storage) as f64 + f64::from(u8::from(moves))
        }
        Operation::Format => {
            let blocks = whole_blocks(work, storage) as f64;
            (blocks + 2.0) / blocks
        }
    }
}

/// `copies` is the target to which files are copied.
fn steps(work: &FileWork, storage: &FileStorage, copies: &str) -> Vec<Step> {
    let file = if work.picks_random { Pick::Random } else { Pick::Sequential };
    let close = || Step::Close { handle: 0 };
    match work.operation {
        Operation::Mkdir => vec![Step::Mkdir { file: Pick::Usual, mode: None, may_exist: false }],
        Operation::Create => vec![Step::Create { handle: 0 }, close()],
        Operation::Open | Operation::Close => vec![Step::Open(OpenStep { file, ..OpenStep::default() }), close()],
        Operation::Delete => vec![Step::Unlink { file, missing: MissingFile::default() }],
        Operation::Getattr => vec![Step::Stat { file }],
        Operation::Setattr => vec![Step::Utimens { file }],
        Operation::Access => vec![Step::Access { file }],
        Operation::Rmdir => vec![Step::Rmdir { file: Pick::Usual }],
        Operation::Copy | Operation::Move => by_size(&work.transfers, |request| {
            let (to, moves) = (copies.to_owned(), work.operation == Operation::Move);
            vec![Step::Copy(CopyStep { file, to, request: Bytes(request), moves })]
        }),
        Operation::Format => {
            let written = |request| vec![Step::WriteWhole { handle: 0, request: Bytes(request) }];
            [vec![Step::Create { handle: 0 }], by_size(&work.transfers, written), vec![close()]].concat()
        }
        Operation::Read | Operation::Write => transfers(work, storage, file),
    }
}

/// Returns steps that open, read or write, and close one file after another.
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
    let middle = by_size(&work.transfers, whole);
    [vec![open()], middle, vec![close]].concat()
}

/// Returns steps with transfers of one size, or a mix of sizes by percentage.
fn by_size(sizes: &Transfers, steps: impl Fn(u64) -> Vec<Step>) -> Vec<Step> {
    match sizes {
        Transfers::Fixed(request) => steps(*request),
        Transfers::Mix(sizes) => {
            let choice = |&(request, percent): &(u64, u8)| Choice { weight: f64::from(percent), steps: steps(request) };
            vec![Step::Mix { choices: sizes.iter().filter(|(_, percent)| *percent > 0).map(choice).collect() }]
        }
    }
}

/// Returns a mix of reads and writes.
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
