//! Lowers the settings to phases: Bonnie++'s calls in its order, before, during and after the timed part.

use super::random::NumberSource;
use super::{BonnieSettings, Links, Test, Version};
use plumb_workload::files::Names;
use plumb_workload::program::{
    Each, FileOrder, FileStep, FileWork, Held, ListedRecord, MissingFile, Moves, OpenStep, Pick, Program,
    ProgramContent, RecordOrder, ScratchTarget, StdioBuffer, Step, Transfer, Via,
};
use plumb_workload::{
    Bytes, ClockScope, End, Flush, Nanos, OpKind, Phase, RunAs, Target, WhenDone, Work, WorkerGroup, Workload,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

const NAME_CHARACTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// Maximum number of random characters in a name.
const EXTRA_CHARACTERS: u64 = 12;
/// Every Nth seek writes its chunk back.
const UPDATE_EVERY: u32 = 10;
/// Wait before the seekers start, in nanoseconds.
const SEEKERS_SETTLE_NS: u64 = 3_000_000_000;
const SEEKERS_SETTLE_103_NS: u64 = 5_000_000_000;

const TARGET: &str = "bonnie";
/// Prefix of the names of the seekers' groups.
pub(super) const SEEKER: &str = "seeker-";
/// The large file, and the directory of the small ones; they never exist at the same time.
const LARGE: u32 = 0;

/// Returns the workload of one run. Random values are taken from `numbers` in the tool's
/// order; `pid` is part of the names.
pub fn lower(settings: &BonnieSettings, pid: u32, numbers: &mut NumberSource) -> Workload {
    let mut names = vec![PathBuf::from(large_name(settings, pid))];
    let mut phases = Vec::new();
    if settings.large.size_mib > 0 {
        large_file(settings, numbers, &mut phases);
    }
    if settings.small.files_ki > 0 {
        small_files(settings, pid, numbers, &mut names, &mut phases);
    }
    // All files are below the run's directory.
    let scratch = ScratchTarget { path: PathBuf::new(), names: Names::Made(names), typed: vec![PathBuf::new()] };
    Workload {
        name: "bonnie".to_owned(),
        description: format!("Bonnie++ {}", settings.version.name()),
        seed: Workload::DEFAULT_SEED,
        target: BTreeMap::from([(TARGET.to_owned(), Target::Scratch(scratch))]),
        phase: phases,
        repeat: None,
    }
}

fn directory_name(pid: u32) -> String {
    format!("Bonnie.{pid}")
}

fn large_name(settings: &BonnieSettings, pid: u32) -> String {
    match settings.version {
        Version::V103 => format!("Bonnie.{pid}.000"),
        _ => directory_name(pid),
    }
}

fn phase(test: Test, workers: Vec<WorkerGroup>) -> Phase {
    Phase {
        // The steps flush explicitly.
        end: End { flush: Flush::None, clock: ClockScope::Inside },
        ..Phase::new(test.phase(), workers)
    }
}

fn alone(test: Test, script: Program) -> Phase {
    phase(test, vec![group(script)])
}

/// Creates a worker. If it fails, later tests lack their input.
fn group(script: Program) -> WorkerGroup {
    let when_done = WhenDone::RunIfFailed;
    WorkerGroup { when_done, ..WorkerGroup::new(TARGET, Work::Program(Box::new(script))) }
}

/// Whether a test of the large file bypasses the page cache.
fn is_direct(settings: &BonnieSettings, test: Test) -> bool {
    let single_bytes = matches!(test, Test::BytesOut | Test::BytesIn);
    settings.direct
        && match (settings.is_exact || settings.version == Version::V103, test) {
            // 1.03 uses the C library's streams.
            (true, Test::BytesOut) => settings.version != Version::V103,
            (true, _) => test == Test::BlocksOut,
            (false, _) => !single_bytes,
        }
}

fn open(settings: &BonnieSettings, test: Test, create: bool) -> Step {
    let stream = settings.version == Version::V103 && matches!(test, Test::BytesOut | Test::BytesIn);
    Step::Open(OpenStep {
        file: Pick::Nth(LARGE),
        read: true,
        write: true,
        create,
        exclusive: create && !stream,
        truncate: create && stream,
        direct: is_direct(settings, test),
        mode: if stream { 0o666 } else { 0o600 },
        stream: stream.then(StdioBuffer::default),
        ..OpenStep::default()
    })
}

fn unlink() -> Step {
    Step::Unlink { file: Pick::Nth(LARGE), missing: MissingFile::Passes }
}

/// Returns the timed steps of closing a file: the flush before it, which 1.03 does only on request, and the close.
fn close(settings: &BonnieSettings, test: Test) -> Vec<Step> {
    let stream = settings.version == Version::V103 && matches!(test, Test::BytesOut | Test::BytesIn);
    let flushes = match settings.version {
        Version::V103 => settings.flushes && !stream,
        _ => true,
    };
    let flush = flushes.then_some(Step::Fsync { handle: 0 });
    flush.into_iter().chain([Step::Close { handle: 0 }]).collect()
}

fn transfer(settings: &BonnieSettings, does: Moves, via: Via, mib: i64) -> Transfer {
    let record = settings.large.chunk_bytes as u64;
    Transfer { via, ..Transfer::forward(does, Bytes(record), (mib as u64) * ((1 << 20) / record)) }
}

fn large_file(settings: &BonnieSettings, numbers: &mut NumberSource, phases: &mut Vec<Phase>) {
    let bytes_via = if settings.version == Version::V103 { Via::Characters } else { Via::Bytes };
    let script = |test: Test, before: Vec<Step>, transfer: Transfer, content: ProgramContent| {
        let steps = [Step::Transfer(transfer)].into_iter().chain(close(settings, test)).collect();
        Program { before, content, ..Program::new(steps) }
    };
    let whole = settings.large.size_mib;
    let bytes_mib = settings.large.per_char_mib;
    let creates = |test: Test| vec![unlink(), open(settings, test, true)];
    // The file is opened for the first test even if that test is skipped.
    let mut before_blocks: Vec<Step> = Vec::new();
    if bytes_mib > 0 {
        let moves = transfer(settings, Moves::Write, bytes_via, bytes_mib);
        let made = script(Test::BytesOut, creates(Test::BytesOut), moves, ProgramContent::Ascending);
        phases.push(alone(Test::BytesOut, made));
    } else {
        before_blocks.extend(creates(Test::BytesOut));
        before_blocks.extend(close(settings, Test::BytesOut));
    }
    before_blocks.extend(creates(Test::BlocksOut));
    let moves = transfer(settings, Moves::Write, Via::Plain, whole);
    phases.push(alone(Test::BlocksOut, script(Test::BlocksOut, before_blocks, moves, ProgramContent::Counted)));

    let again = |test: Test| vec![open(settings, test, false), Step::Seek { handle: 0, to: Bytes(0) }];
    let moves = transfer(settings, Moves::Rewrite, Via::Plain, whole);
    phases.push(alone(Test::Rewrite, script(Test::Rewrite, again(Test::Rewrite), moves, ProgramContent::Counted)));
    if bytes_mib > 0 {
        let moves = transfer(settings, Moves::Read, bytes_via, bytes_mib);
        let before = vec![open(settings, Test::BytesIn, false)];
        phases.push(alone(Test::BytesIn, script(Test::BytesIn, before, moves, ProgramContent::Zeros)));
    }
    let moves = transfer(settings, Moves::Read, Via::Plain, whole);
    phases.push(alone(Test::BlocksIn, script(Test::BlocksIn, again(Test::BlocksIn), moves, ProgramContent::Zeros)));
    phases.push(seeks(settings, numbers));
}

/// Returns the phase of random seeks: several seekers at once, each with its own open file.
fn seeks(settings: &BonnieSettings, numbers: &mut NumberSource) -> Phase {
    let old = settings.version == Version::V103;
    let settle = Nanos(if old { SEEKERS_SETTLE_103_NS } else { SEEKERS_SETTLE_NS });
    let workers = dealt(settings, numbers).into_iter().zip(1u32..).map(|(records, number)| {
        let moves = Transfer {
            order: RecordOrder::Listed(records),
            flushes: settings.flushes,
            ..transfer(settings, Moves::Read, Via::Plain, settings.large.size_mib)
        };
        let mut steps = vec![Step::Transfer(moves)];
        steps.extend(close(settings, Test::Seeks));
        let script = Program {
            before: vec![open(settings, Test::Seeks, false), Step::Delay { time: settle }],
            after: vec![unlink()],
            content: ProgramContent::Counted,
            ..Program::new(steps)
        };
        WorkerGroup {
            name: Some(format!("{SEEKER}{number}")),
            run_as: if old { RunAs::Process } else { RunAs::Thread },
            ..group(script)
        }
    });
    let mut workers: Vec<WorkerGroup> = workers.collect();
    if !old {
        // The process that distributes the tickets has the file open too, and flushes it after the last ticket.
        let script =
            Program { before: vec![open(settings, Test::Seeks, false)], ..Program::new(close(settings, Test::Seeks)) };
        workers.push(WorkerGroup { name: Some("parent".to_owned()), ..group(script) });
    }
    phase(Test::Seeks, workers)
}

/// Returns the chunks that each seeker seeks.
fn dealt(settings: &BonnieSettings, numbers: &mut NumberSource) -> Vec<Vec<ListedRecord>> {
    let chunk = settings.large.chunk_bytes as u64;
    let chunks = settings.large.size_mib as u64 * ((1 << 20) / chunk);
    let seekers = settings.large.seekers as usize;
    let record = |number: u64, updates: bool| ListedRecord {
        offset: Bytes(number % chunks * chunk),
        length: Bytes(chunk),
        pause: Nanos::default(),
        does: updates.then_some(Moves::Rewrite),
    };
    let mut dealt = vec![Vec::new(); seekers];
    if settings.version == Version::V103 {
        // Each child continues with the same numbers and draws one more for the byte that it changes.
        for (seeker, records) in dealt.iter_mut().enumerate() {
            let mut numbers = numbers.clone();
            for number in (seeker as i64..settings.large.seeks).step_by(seekers).zip(0u32..).map(|(_, number)| number) {
                let updates = number.is_multiple_of(UPDATE_EVERY);
                records.push(record(numbers.draw().into(), updates));
                if updates {
                    numbers.draw();
                }
            }
        }
        return dealt;
    }
    for number in 0..settings.large.seeks as usize {
        let ticket = numbers.draw();
        let updates = ticket.is_multiple_of(UPDATE_EVERY) && ticket != 0;
        dealt[number % seekers].push(record(ticket.into(), updates));
    }
    dealt
}

/// Distribution of the small files over directories.
struct Layout {
    /// Numbers of the directories, or of the only one.
    directories: std::ops::Range<u32>,
    per_directory: u32,
    several: bool,
}

impl Layout {
    fn new(settings: &BonnieSettings, main: u32) -> Layout {
        let several = settings.small.directories > 1;
        let count = settings.small.directories.max(1) as u32;
        Layout {
            directories: if several { main + 1..main + 1 + count } else { main..main + 1 },
            // One more than its share, as in the tool.
            per_directory: settings.files() / count + 1,
            several,
        }
    }

    /// Returns the number of files in the directory at this position.
    fn files_in(&self, place: u32, files: u32) -> u32 {
        if !self.several {
            return files;
        }
        files.saturating_sub(place.saturating_mul(self.per_directory)).min(self.per_directory)
    }
}

/// Returns the phases of a run's small files and appends their names.
fn small_files(
    settings: &BonnieSettings,
    pid: u32,
    numbers: &mut NumberSource,
    names: &mut Vec<PathBuf>,
    phases: &mut Vec<Phase>,
) {
    let directory = directory_name(pid);
    // The large file of 1.03 has its own name.
    let main = if names[LARGE as usize].as_os_str() == directory.as_str() { LARGE } else { LARGE + 1 };
    names.truncate(main as usize);
    names.push(PathBuf::from(&directory));
    let layout = Layout::new(settings, main);
    if layout.several {
        let count = layout.directories.end - layout.directories.start;
        names.extend((0..count).map(|number| PathBuf::from(format!("{directory}/{number:05}"))));
    }
    for in_order in [true, false] {
        let files = settings.files();
        let first = names.len() as u32;
        for number in 0..files {
            let name = file_name(settings, &layout, number, in_order, numbers);
            names.push(PathBuf::from(format!("{directory}/{name}")));
        }
        let series = Series { settings, layout: &layout, main, first, files };
        let lengths = lengths(settings, files, numbers);
        if in_order {
            phases.push(series.create(Test::CreateInOrder, lengths));
            phases.push(series.by_listing(Test::StatInOrder, FileWork::Stat));
            phases.push(series.by_listing(Test::DeleteInOrder, FileWork::Remove));
        } else {
            phases.push(series.create(Test::CreateAtRandom, lengths));
            let mut order: Vec<u32> = (first..first + files).collect();
            shuffle(&mut order, numbers);
            phases.push(series.by_order(Test::StatAtRandom, FileWork::Stat, order.clone()));
            shuffle(&mut order, numbers);
            phases.push(series.by_order(Test::DeleteAtRandom, FileWork::Remove, order));
        }
    }
}

fn file_name(
    settings: &BonnieSettings,
    layout: &Layout,
    number: u32,
    in_order: bool,
    numbers: &mut NumberSource,
) -> String {
    let extra: String = (0..numbers.below(EXTRA_CHARACTERS + 1))
        .map(|_| char::from(NAME_CHARACTERS[numbers.below(NAME_CHARACTERS.len() as u64) as usize]))
        .collect();
    let counted = match settings.version {
        Version::V103 => format!("{number:07}"),
        _ => format!("{number:010x}"),
    };
    let directory = match layout.several {
        true => format!("{:05}/", number / layout.per_directory),
        false => String::new(),
    };
    if in_order { format!("{directory}{counted}{extra}") } else { format!("{directory}{extra}{counted}") }
}

/// Returns the lengths of new files, which are drawn when the files are created.
fn lengths(settings: &BonnieSettings, files: u32, numbers: &mut NumberSource) -> Vec<Bytes> {
    if settings.links().is_some() || settings.small.max_bytes == 0 {
        return Vec::new();
    }
    let span = (settings.small.max_bytes - settings.small.min_bytes) as u64;
    if span == 0 {
        return vec![Bytes(settings.small.max_bytes as u64)];
    }
    (0..files).map(|_| Bytes(settings.small.min_bytes as u64 + numbers.below(span + 1))).collect()
}

/// Shuffles as the tool does: each element is swapped with any other.
fn shuffle(order: &mut [u32], numbers: &mut NumberSource) {
    let count = order.len() as u64;
    for place in 0..order.len() {
        order.swap(place, numbers.below(count) as usize);
    }
}

/// One of the two series of small files.
struct Series<'a> {
    settings: &'a BonnieSettings,
    layout: &'a Layout,
    /// Number of the parent directory.
    main: u32,
    /// Number of the first file.
    first: u32,
    files: u32,
}

impl Series<'_> {
    fn step(&self, does: FileWork) -> FileStep {
        FileStep {
            does,
            file: Pick::Own,
            listed: false,
            to: matches!(does, FileWork::Link | FileWork::Symlink).then_some(self.first),
            record: Bytes(self.settings.small.chunk_bytes as u64),
            lengths: Vec::new(),
            flush: self.settings.flushes && does != FileWork::Stat,
        }
    }

    fn each(&self, first: u32, count: u32, order: FileOrder, step: FileStep) -> Step {
        Step::Each(Each { first, count, order, steps: vec![Step::OfFile(step)] })
    }

    fn held(&self) -> Option<Step> {
        let directories = &self.layout.directories;
        let held = Held {
            first: directories.start,
            count: directories.end - directories.start,
            first_file: self.first,
            per_directory: if self.layout.several { self.layout.per_directory } else { self.files },
        };
        self.settings.flushes.then_some(Step::HoldDirectories(held))
    }

    fn create(&self, test: Test, lengths: Vec<Bytes>) -> Phase {
        let mkdir = |number: u32| Step::Mkdir { file: Pick::Nth(number), mode: Some(0o700), may_exist: false };
        let mut before = vec![mkdir(self.main)];
        if self.layout.several {
            before.extend(self.layout.directories.clone().map(mkdir));
        }
        before.extend(self.held());
        let mut steps = Vec::new();
        match self.settings.links() {
            None => {
                let step = FileStep { lengths, ..self.step(FileWork::Make) };
                steps.push(self.each(self.first, self.files, FileOrder::Forward, step));
            }
            Some(links) => {
                let work = if links == Links::Hard { FileWork::Link } else { FileWork::Symlink };
                steps.push(self.each(self.first, 1, FileOrder::Forward, self.step(FileWork::Make)));
                steps.push(self.each(self.first + 1, self.files - 1, FileOrder::Forward, self.step(work)));
            }
        }
        steps.push(Step::Sync {});
        alone(test, Program { before, ..Program::new(steps) })
    }

    /// Returns a phase that works through the directories, in the order in which each lists its files.
    fn by_listing(&self, test: Test, does: FileWork) -> Phase {
        let removes = does == FileWork::Remove;
        let mut steps = Vec::new();
        for (number, place) in self.layout.directories.clone().zip(0u32..) {
            let count = self.layout.files_in(place, self.files);
            steps.push(Step::List { file: Pick::Nth(number) });
            if count > 0 {
                let step = FileStep { listed: true, ..self.step(does) };
                steps.push(self.each(self.first, count, FileOrder::Forward, step));
            }
            steps.push(Step::EndList {});
            if removes && self.layout.several {
                steps.push(Step::Rmdir { file: Pick::Nth(number) });
            }
        }
        if removes {
            steps.push(Step::Rmdir { file: Pick::Nth(self.main) });
            steps.push(Step::Sync {});
        }
        let before = self.held().filter(|_| removes).into_iter().collect();
        alone(test, Program { before, ..Program::new(steps) })
    }

    fn by_order(&self, test: Test, does: FileWork, order: Vec<u32>) -> Phase {
        let removes = does == FileWork::Remove;
        let mut steps = vec![self.each(self.first, self.files, FileOrder::Listed(order), self.step(does))];
        if removes {
            if self.layout.several {
                let rmdir = |number: u32| Step::Rmdir { file: Pick::Nth(number) };
                steps.extend(self.layout.directories.clone().map(rmdir));
            }
            steps.push(Step::Rmdir { file: Pick::Nth(self.main) });
            steps.push(Step::Sync {});
        }
        let before = self.held().filter(|_| removes).into_iter().collect();
        alone(test, Program { before, ..Program::new(steps) })
    }
}

/// Returns the kinds of op that determine a test's latency (their maximum); opening, flushing and closing do not.
pub(crate) fn own_kinds(test: Test) -> &'static [OpKind] {
    match test {
        Test::BytesOut | Test::BlocksOut => &[OpKind::Write],
        Test::Rewrite | Test::Seeks => &[OpKind::Read, OpKind::Write],
        Test::BytesIn | Test::BlocksIn => &[OpKind::Read],
        Test::CreateInOrder | Test::CreateAtRandom => &[OpKind::Create, OpKind::Link, OpKind::Symlink],
        Test::StatInOrder | Test::StatAtRandom => &[OpKind::Stat],
        Test::DeleteInOrder | Test::DeleteAtRandom => &[OpKind::Unlink],
    }
}
