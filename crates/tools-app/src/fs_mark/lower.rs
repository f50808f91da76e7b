//! Lowers settings to a workload.

use super::settings::{Directories, FsMarkSettings, SyncMethod};
use plumb_workload::files::Names;
use plumb_workload::phase::{ClockScope, End, Flush, Phase};
use plumb_workload::program::{
    Each, FileOrder, Moves, OpenStep, Pick, Program, ProgramContent, ScratchTarget, Step, Transfer,
};
use plumb_workload::{Bytes, RunAs, Target, Work, WorkerGroup, Workload};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// Name of the timed phase.
pub(super) const WRITE: &str = "write";

const LETTERS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Random numbers for names: Marsaglia's xorshift64*, which suffices to keep names distinct.
struct Draws(u64);

impl Draws {
    fn letter(&mut self) -> char {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        char::from(LETTERS[drawn as usize % LETTERS.len()])
    }
}

/// Names of a thread's directories, followed by its files.
struct Places {
    names: Vec<PathBuf>,
    /// For each run of files: its directory, and the number of files.
    runs: Vec<(u32, u32)>,
    directories: u32,
}

/// Returns the names of an iteration that starts at `second`.
fn places(settings: &FsMarkSettings, thread: usize, second: u64, seed: u64) -> Places {
    let place = PathBuf::from(&settings.threads[thread]);
    let subdirectories = settings.directories.count();
    let mut names = vec![place.clone()];
    names.extend((0..subdirectories).map(|number| place.join(format!("{number:02x}"))));
    let first = if subdirectories > 0 { (second % u64::from(subdirectories)) as u32 } else { 0 };
    let runs = match settings.directories {
        Directories::None => vec![(0, settings.files)],
        Directories::InTurn { count, files: each @ 1.. } => {
            let run = |at: u32| ((first + at) % count + 1, each.min(settings.files - at * each));
            (0..settings.files.div_ceil(each)).map(run).collect()
        }
        Directories::ByTime(_) | Directories::InTurn { .. } => vec![(first + 1, settings.files)],
    };
    let ordered = settings.name_bytes - settings.random_bytes;
    let time = format!("{second:x}");
    let time = format!("{:~<ordered$}", &time[time.len().saturating_sub(ordered)..]);
    // The lowest bit is set, because a state of 0 would stay 0.
    let mut draws = Draws(seed.wrapping_add((thread as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)) | 1);
    let directories = names.len() as u32;
    names.reserve_exact(settings.files as usize);
    let mut random = String::with_capacity(settings.random_bytes);
    for &(directory, count) in &runs {
        let before = names[directory as usize].join(&time).into_os_string();
        for _ in 0..count {
            let mut name = OsString::with_capacity(before.len() + settings.random_bytes);
            name.push(&before);
            random.clear();
            random.extend((0..settings.random_bytes).map(|_| draws.letter()));
            name.push(&random);
            names.push(PathBuf::from(name));
        }
    }
    Places { names, runs, directories }
}

/// Lowers an iteration that starts at `second`, in seconds since 1970.
pub fn lower(settings: &FsMarkSettings, second: u64, seed: u64) -> Workload {
    let mut target = BTreeMap::new();
    let mut writers = Vec::new();
    let mut removers = Vec::new();
    for thread in 0..settings.threads.len() {
        let places = places(settings, thread, second, seed);
        let name = format!("thread-{thread}");
        let group = |program: Program| WorkerGroup {
            name: Some(name.clone()),
            run_as: RunAs::Process,
            ..WorkerGroup::new(name.clone(), Work::Program(Box::new(program)))
        };
        let all = |order, steps| Step::Each(Each { first: places.directories, count: settings.files, order, steps });
        writers.push(group(writes(settings, &places)));
        removers.push(group(Program::new(vec![all(
            FileOrder::Forward,
            vec![Step::Unlink { file: Pick::Own, missing: Default::default() }],
        )])));
        let typed = vec![PathBuf::from(&settings.threads[thread])];
        let names = Names::Made(places.names);
        target.insert(name, Target::Scratch(ScratchTarget { path: PathBuf::new(), names, typed }));
    }
    let end = End { flush: Flush::None, clock: ClockScope::Inside };
    let mut phase = vec![Phase { end, ..Phase::new(WRITE, writers) }];
    if !settings.keeps {
        phase.push(Phase { end, ..Phase::new("unlink", removers) });
    }
    let description = "fs_mark's files.".to_owned();
    Workload { name: "fs_mark".to_owned(), description, seed, target, phase, repeat: None }
}

/// Returns the steps of a thread until its clock stops.
fn writes(settings: &FsMarkSettings, places: &Places) -> Program {
    let make = |directory: u32| Step::Mkdir { file: Pick::Nth(directory), mode: Some(0o777), may_exist: true };
    let mut steps = Vec::new();
    let mut first = places.directories;
    for &(directory, count) in &places.runs {
        let mut of_file = vec![
            make(directory),
            Step::Open(OpenStep {
                file: Pick::Own,
                read: true,
                write: true,
                create: true,
                truncate: true,
                ..OpenStep::default()
            }),
        ];
        let (whole, rest) = (settings.bytes / settings.write_bytes, settings.bytes % settings.write_bytes);
        for (bytes, count) in [(settings.write_bytes, whole), (rest, 1)] {
            if bytes > 0 && count > 0 {
                of_file.push(Step::Transfer(Transfer::forward(Moves::Write, Bytes(bytes), count)));
            }
        }
        if settings.sync == SyncMethod::Each {
            of_file.push(Step::Fsync { handle: 0 });
        }
        of_file.push(Step::Close { handle: 0 });
        steps.push(Step::Each(Each { first, count, order: FileOrder::Forward, steps: of_file }));
        first += count;
    }
    if matches!(settings.sync, SyncMethod::First | SyncMethod::SyncBackward | SyncMethod::SyncForward) {
        steps.push(Step::Sync {});
    }
    let flush = |count: u32, order| {
        let open = Step::Open(OpenStep { file: Pick::Own, read: true, ..OpenStep::default() });
        let steps = vec![open, Step::Fsync { handle: 0 }, Step::Close { handle: 0 }];
        Step::Each(Each { first: places.directories, count, order, steps })
    };
    steps.extend(match settings.sync {
        SyncMethod::None | SyncMethod::Each => None,
        SyncMethod::First => Some(flush(1, FileOrder::Forward)),
        SyncMethod::Backward | SyncMethod::SyncBackward => Some(flush(settings.files, FileOrder::Backward)),
        SyncMethod::Forward | SyncMethod::SyncForward => Some(flush(settings.files, FileOrder::Forward)),
    });
    Program { before: vec![make(0)], content: ProgramContent::Zeros, ..Program::new(steps) }
}
