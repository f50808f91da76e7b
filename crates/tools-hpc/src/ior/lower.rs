//! Lowers one repetition to a workload: a worker for each rank, and phases of open, transfers and close.

use super::result::AccessKind;
use super::settings::{AioOptions, Api, Hog, Random, Reorder, Test};
use plumb_workload::files::Names;
use plumb_workload::library_random::LibraryRandom;
use plumb_workload::phase::ErrorRules;
use plumb_workload::program::{
    Advice, MapStep, MissingFile, Moves, MpiOpen, MpiView, OpenStep, Packets, Pauses, Pick, Program, ProgramContent,
    RecordOrder, ScratchTarget, SegmentOrder, Segments, Step, Transfer, Via, Wall,
};
use plumb_workload::{
    Bytes, ClockScope, End, Flush, Nanos, NullFiles, NullTarget, Phase, Size, Target, Work, WorkerGroup, Workload,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

const TARGET: &str = "files";
/// Mode of a new file, before the umask. Source: strace of IOR.
const MODE: u32 = 0o664;
/// Mode of a new directory, before the umask.
const DIRECTORY_MODE: u32 = 0o700;
/// Name of the phase that fills files before random writes.
const PREFILL: &str = "prefill";
/// Byte that fills the files. Source: IOR.
const PREFILL_BYTE: u8 = 0xff;
/// Name of the phase that removes files.
pub const REMOVE: &str = "remove";
/// Prefix of worker names, before the rank.
pub const RANK_PREFIX: &str = "rank-";
/// Handle of a rank's only open file.
const HANDLE: u16 = 0;

/// Facts that the test does not contain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// Index of the repetition, from 0.
    pub repetition: u32,
    /// Seed of the data and of random orders, if the test has none.
    pub seed: i32,
    /// Ranks per node; 0 means all. Set by IOR's own `IOR_FAKE_TASK_PER_NODES`.
    pub ranks_per_node: u32,
    /// Transfers of each rank before an earlier run's stonewall.
    pub transfers_at_wall: Option<u64>,
    /// Length of the file to read, bytes; `None` if it does not exist.
    pub file_bytes: Option<u64>,
    /// Hints to MPI-IO, by name.
    pub hints: BTreeMap<String, String>,
    /// Ranks whose directory has to be created: indexes of [`directories`].
    pub missing_directories: BTreeSet<u32>,
}

/// A repetition of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct Lowered {
    pub workload: Workload,
    /// Index of the repetition, from 0.
    pub repetition: u32,
}

pub fn lower(test: &Test, facts: &Facts) -> Lowered {
    let lowering = Lowering { test, facts };
    let names: Vec<String> = lowering.directories().into_iter().chain(lowering.files()).collect();
    let mut phases = Vec::new();
    if test.phases.writes && test.files.prefill_bytes.is_some() {
        phases.push(lowering.prefill());
    }
    if test.phases.writes {
        phases.push(lowering.phase(AccessKind::Write));
    }
    if test.phases.checks_write {
        phases.push(lowering.phase(AccessKind::WriteCheck));
    }
    if test.phases.reads {
        phases.push(lowering.phase(AccessKind::Read));
    }
    if !test.files.keeps {
        phases.push(lowering.removal());
    }
    if let Some(hog) = test.caching.hog {
        let pressure = match hog {
            Hog::Process(bytes) => Size::Bytes(Bytes(bytes)),
            Hog::ShareOfNode(share) => Size::Ram(share),
        };
        phases.iter_mut().for_each(|phase| phase.memory_pressure = Some(pressure));
    }
    let names = Names::Given(names.iter().map(PathBuf::from).collect());
    let target = match test.calls() {
        Api::Posix | Api::Aio(_) | Api::Mmap | Api::MpiIo(_) => {
            Target::Scratch(ScratchTarget { path: PathBuf::new(), names, typed: Vec::new() })
        }
        Api::Dummy(delays) => Target::Null(NullTarget {
            size: Bytes(test.all_bytes()),
            files: Some(Box::new(NullFiles { names, delays })),
        }),
    };
    let workload = Workload {
        name: "ior".to_owned(),
        description: String::new(),
        seed: Workload::DEFAULT_SEED,
        target: BTreeMap::from([(TARGET.to_owned(), target)]),
        phase: phases,
        repeat: None,
    };
    Lowered { workload, repetition: facts.repetition }
}

/// Returns the directories of ranks; empty unless each rank has one.
pub fn directories(test: &Test) -> Vec<String> {
    Lowering { test, facts: &Facts::default() }.directories()
}

/// Returns the name of a repetition's first file.
pub fn first_file(test: &Test, repetition: u32) -> String {
    Lowering { test, facts: &Facts { repetition, ..Facts::default() } }.files().swap_remove(0)
}

/// Returns, by rank, the number of ranks that read its data in a repetition.
pub fn readers(test: &Test, facts: &Facts) -> Vec<u32> {
    let lowering = Lowering { test, facts };
    let mut readers = vec![0; test.tasks as usize];
    for rank in 0..test.tasks {
        let of = (u64::from(rank) + u64::from(lowering.distance(AccessKind::Read, rank))) % u64::from(test.tasks);
        readers[of as usize] += 1;
    }
    readers
}

struct Lowering<'a> {
    test: &'a Test,
    facts: &'a Facts,
}

impl Lowering<'_> {
    /// Returns the files: one per rank, or one for all.
    fn files(&self) -> Vec<String> {
        let test = self.test;
        let repetition = if test.files.multi_file { format!(".{}", self.facts.repetition) } else { String::new() };
        let name = |rank: u32| {
            test.files.names.get(rank as usize % test.files.names.len().max(1)).cloned().unwrap_or_default()
        };
        match test.files.file_per_rank {
            true if test.files.unique_dirs => {
                let file = self.split_name().1;
                let of_rank = |(rank, directory)| format!("{directory}/{file}.{rank:08}{repetition}");
                (0..test.tasks).zip(self.directories()).map(of_rank).collect()
            }
            true => (0..test.tasks).map(|rank| format!("{}.{rank:08}{repetition}", name(rank))).collect(),
            false => vec![format!("{}{repetition}", name(0))],
        }
    }

    /// Splits the file's name into the part up to the last slash, and the rest.
    fn split_name(&self) -> (&str, &str) {
        let name = self.test.files.names.first().map_or("", String::as_str);
        name.rsplit_once('/').map_or(("", name), |(_, file)| (&name[..name.len() - file.len()], file))
    }

    /// Returns a directory per rank, next to the file; empty unless each rank has one.
    fn directories(&self) -> Vec<String> {
        let before = self.split_name().0;
        let ranks = if self.test.files.unique_dirs { self.test.tasks } else { 0 };
        (0..ranks).map(|rank| format!("{before}{rank}")).collect()
    }

    /// Returns a rank's file among the names of the target, where directories come first.
    fn file_of(&self, rank: u32) -> Pick {
        let test = self.test;
        let file = if test.files.file_per_rank { rank } else { 0 };
        Pick::Nth(file + if test.files.unique_dirs { test.tasks } else { 0 })
    }

    fn ranks_per_node(&self) -> u32 {
        if self.facts.ranks_per_node == 0 { self.test.tasks } else { self.facts.ranks_per_node }
    }

    /// Returns the distance in ranks to the rank whose data this rank reads.
    fn distance(&self, kind: AccessKind, rank: u32) -> u32 {
        let test = self.test;
        let (tasks, per_node) = (u64::from(test.tasks.max(1)), u64::from(self.ranks_per_node()));
        let nodes = |count: u32| ((u64::from(count) * per_node) % tasks) as u32;
        match (kind, test.order.reorder) {
            (AccessKind::Write, _) | (_, Reorder::No) => 0,
            // Two nodes away from the writer.
            (AccessKind::WriteCheck, Reorder::Constant) => nodes(test.order.node_distance.saturating_add(1)),
            (AccessKind::WriteCheck, _) => 0,
            (AccessKind::Read, Reorder::Constant) => nodes(test.order.node_distance),
            (AccessKind::Read, Reorder::Random) => self.random_distance(rank),
            (AccessKind::Read, Reorder::Permuted) => self.permuted_distance(rank),
        }
    }

    fn reorder_seed(&self) -> u32 {
        let seed = self.test.order.reorder_seed;
        if seed < 0 { seed.unsigned_abs().wrapping_add(self.facts.repetition) } else { seed.unsigned_abs() }
    }

    /// Draws as IOR does, until the distance in nodes is large enough.
    fn random_distance(&self, rank: u32) -> u32 {
        let tasks = self.test.tasks.max(1);
        let nodes = tasks.div_ceil(self.ranks_per_node().max(1));
        let least = u64::from(self.test.order.node_distance.min(nodes - 1)) * u64::from(self.ranks_per_node());
        let mut numbers = LibraryRandom::seeded(rank.wrapping_add(self.reorder_seed()));
        loop {
            let distance = numbers.draw() % tasks;
            if u64::from(distance) >= least.min(u64::from(tasks - 1)) {
                return distance;
            }
        }
    }

    /// Shuffles as IOR does: the data of each rank is read once.
    fn permuted_distance(&self, rank: u32) -> u32 {
        let tasks = self.test.tasks.max(1);
        let mut numbers = LibraryRandom::seeded(self.reorder_seed());
        let mut order: Vec<u32> = (0..tasks).collect();
        for place in 0..tasks {
            let with = place + numbers.draw() % (tasks - place);
            order.swap(place as usize, with as usize);
        }
        (order.get(rank as usize).copied().unwrap_or(rank) + tasks - rank) % tasks
    }

    fn unlink(&self, rank: u32) -> Option<Step> {
        // Rank 0 removes a shared file.
        let removes = self.test.files.file_per_rank || rank == 0;
        removes.then_some(Step::Unlink { file: self.file_of(rank), missing: MissingFile::Passes })
    }

    fn phase(&self, kind: AccessKind) -> Phase {
        self.barrier(kind.phase(), (0..self.test.tasks).map(|rank| self.rank(kind, rank)).collect())
    }

    /// Returns the removal, after a barrier: no file is removed while another rank still reads it.
    fn removal(&self) -> Phase {
        let group = |rank: u32| {
            // If files may stay, every rank reports the result of its reads.
            let asks = self.test.files.keeps_wrong.then_some(Step::EndIfWrong {});
            let steps: Vec<Step> = asks.into_iter().chain(self.unlink(rank)).collect();
            (!steps.is_empty()).then(|| self.group(rank, Program::new(steps)))
        };
        self.barrier(REMOVE, (0..self.test.tasks).filter_map(group).collect())
    }

    /// Returns the steps of a rank before its clock starts.
    fn before(&self, rank: u32, makes: bool) -> Vec<Step> {
        let test = self.test;
        let mut before = Vec::new();
        if test.repetition.delay_s > 0 {
            before.push(Step::Delay { time: Nanos(u64::from(test.repetition.delay_s) * 1_000_000_000) });
        }
        if makes && self.facts.missing_directories.contains(&rank) {
            before.push(Step::Mkdir { file: Pick::Nth(rank), mode: Some(DIRECTORY_MODE), may_exist: false });
        }
        if makes && !test.files.uses_existing {
            before.extend(self.unlink(rank));
        }
        before
    }

    fn group(&self, rank: u32, program: Program) -> WorkerGroup {
        WorkerGroup {
            name: Some(format!("{RANK_PREFIX}{rank}")),
            errors: ErrorRules { go_on_after_verify: true, ..ErrorRules::default() },
            ..WorkerGroup::new(TARGET, Work::Program(Box::new(program)))
        }
    }

    /// Fills the blocks of each rank before random writes.
    fn prefill(&self) -> Phase {
        let group = |rank: u32| {
            let bytes = self.test.files.prefill_bytes.unwrap_or(self.test.size.transfer_bytes);
            let Transfer { order, via, .. } = self.transfer(AccessKind::Write, rank);
            let order = match order {
                RecordOrder::Segments(segments) => {
                    RecordOrder::Segments(Segments { order: SegmentOrder::Forward, ..segments })
                }
                order => order,
            };
            let count = (self.test.size.block_bytes / bytes).saturating_mul(self.test.size.segments);
            let fills = Transfer { order, via, ..Transfer::forward(Moves::Write, Bytes(bytes), count) };
            let steps = self.opened(rank, true).into_iter().chain([Step::Transfer(fills)]);
            let program = Program {
                before: self.before(rank, true),
                content: ProgramContent::Words { byte: PREFILL_BYTE, every: Bytes(8) },
                ..Program::new(steps.chain(self.closed()).collect())
            };
            self.group(rank, program)
        };
        self.barrier(PREFILL, (0..self.test.tasks).map(group).collect())
    }

    /// Opens a rank's file, and maps it if the back end does.
    fn opened(&self, of: u32, writes: bool) -> Vec<Step> {
        let test = self.test;
        let mut steps = vec![Step::Open(OpenStep {
            file: self.file_of(of),
            handle: HANDLE,
            // A mapping for stores needs read access too, and IOR always opens for both.
            read: true,
            write: writes,
            create: writes,
            direct: test.caching.direct,
            mode: MODE,
            mpi: self.mpi_open(writes, of).map(Box::new),
            ..OpenStep::default()
        })];
        if test.calls() == Api::Mmap {
            let length = if test.files.file_per_rank { test.file_bytes().unwrap_or(0) } else { test.all_bytes() };
            let advice = match (test.caching.advises_dont_need, test.caching.advises_pattern, test.order.random) {
                (true, _, _) => Advice::DontNeed,
                (false, true, Random::No) => Advice::Sequential,
                (false, true, _) => Advice::Random,
                (false, false, _) => Advice::None,
            };
            steps.push(Step::Map(MapStep { handle: HANDLE, length: Bytes(length), write: writes, advice }));
        }
        steps
    }

    fn closed(&self) -> Vec<Step> {
        let unmap = (self.test.calls() == Api::Mmap).then_some(Step::Unmap { handle: HANDLE });
        unmap.into_iter().chain([Step::Close { handle: HANDLE }]).collect()
    }

    fn barrier(&self, name: &str, workers: Vec<WorkerGroup>) -> Phase {
        Phase { end: End { flush: Flush::None, clock: ClockScope::Outside }, ..Phase::new(name, workers) }
    }

    fn rank(&self, kind: AccessKind, rank: u32) -> WorkerGroup {
        let test = self.test;
        let tasks = test.tasks.max(1);
        let of = (rank + self.distance(kind, rank)) % tasks;
        let writes = kind == AccessKind::Write;
        // A file that was filled keeps its contents.
        let before = match writes && test.files.prefill_bytes.is_some() {
            true => Vec::new(),
            false => self.before(rank, writes),
        };
        let mut steps = self.opened(of, writes);
        let meets = |steps: &mut Vec<Step>| steps.extend(test.phases.barriers.then_some(Step::Meet {}));
        meets(&mut steps);
        steps.push(Step::Transfer(self.transfer(kind, of)));
        if writes && test.caching.flushes {
            steps.push(if test.calls() == Api::Mmap {
                Step::Msync { handle: HANDLE }
            } else {
                Step::Fsync { handle: HANDLE }
            });
        }
        meets(&mut steps);
        steps.extend(self.closed());
        let packets = Packets { kind: test.data.packets, seed: test.data.seed.unwrap_or(self.facts.seed), worker: of };
        let program = Program {
            before,
            content: ProgramContent::Packets(packets),
            // A dry run has no data to check.
            checks: !test.phases.dry
                && (kind == AccessKind::WriteCheck || (kind == AccessKind::Read && test.phases.checks_read)),
            log_ops: test.output.op_csv.is_some(),
            ..Program::new(steps)
        };
        self.group(rank, program)
    }

    /// Returns the options of MPI-IO for opening a rank's file.
    fn mpi_open(&self, writes: bool, of: u32) -> Option<MpiOpen> {
        let test = self.test;
        let Api::MpiIo(options) = test.calls() else { return None };
        let (first, stride) = self.blocks(of);
        // IOR counts the data of all ranks, even for a file of one rank.
        let preallocate = if options.preallocates && writes { test.all_bytes() } else { 0 };
        Some(MpiOpen {
            ranks: if test.files.file_per_rank { 1 } else { test.tasks },
            hints: self.facts.hints.clone(),
            preallocate: Bytes(preallocate),
            view: (options.view && !options.strided).then_some(MpiView {
                first: Bytes(first),
                record: Bytes(test.size.transfer_bytes),
                block: Bytes(test.size.block_bytes),
                stride: Bytes(stride),
            }),
        })
    }

    /// Returns the offset of a rank's first block, and the distance to its next block.
    fn blocks(&self, of: u32) -> (u64, u64) {
        let test = self.test;
        match test.files.file_per_rank {
            true => (0, test.size.block_bytes),
            false => (
                u64::from(of) * test.size.block_bytes,
                u64::from(test.tasks.max(1)).saturating_mul(test.size.block_bytes),
            ),
        }
    }

    fn transfer(&self, kind: AccessKind, of: u32) -> Transfer {
        let (test, facts) = (self.test, self.facts);
        let (first, stride) = self.blocks(of);
        // Each rank has its own order, the same in every phase.
        let seed = u64::from(test.order.random_seed.unwrap_or(facts.seed).cast_unsigned()) << 32 | u64::from(of);
        let order = match test.order.random {
            Random::No => SegmentOrder::Forward,
            Random::InBlock => SegmentOrder::Shuffled { seed },
            Random::Anywhere => {
                let all = if test.files.file_per_rank { test.file_bytes().unwrap_or(0) } else { test.all_bytes() };
                SegmentOrder::Anywhere {
                    seed,
                    blocks: (facts.file_bytes.unwrap_or(all) / test.size.block_bytes).max(1),
                }
            }
        };
        let segments = Segments {
            first: Bytes(first),
            block: Bytes(test.size.block_bytes),
            stride: Bytes(stride),
            count: test.size.segments,
            order,
        };
        let most = [Some(test.limits.transfers_max).filter(|&most| most > 0), facts.transfers_at_wall];
        let count = most.into_iter().flatten().fold(test.transfers() / test.transfers_a_call(), u64::min).max(1);
        let wall_time = Nanos(u64::from(test.limits.wall_s) * 1_000_000_000);
        let does = if kind == AccessKind::Write { Moves::Write } else { Moves::Read };
        Transfer {
            order: RecordOrder::Segments(segments),
            via: match test.calls() {
                Api::Mmap => Via::Mapped { sync: test.caching.flushes_each.then_some(true) },
                Api::MpiIo(options) => Via::Mpi { together: test.phases.collective, strided: options.strided },
                Api::Aio(AioOptions { max_pending: depth, granularity: batch }) => Via::KernelAio { depth, batch },
                Api::Posix | Api::Dummy(_) => Via::Plain,
            },
            flushes: test.caching.flushes_each && does == Moves::Write && test.calls() != Api::Mmap,
            pauses: (test.repetition.transfer_delay_us > 0)
                .then_some(Pauses { time: Nanos(u64::from(test.repetition.transfer_delay_us) * 1000), every: 1 }),
            wall: match (test.limits.wall_s, does) {
                (0, _) => None,
                // Data that was not written cannot be read.
                (_, Moves::Read) if test.phases.writes => Some(Wall::AsFar),
                _ if test.limits.wear_out => Some(Wall::After(wall_time)),
                _ => Some(Wall::Ends(wall_time)),
            },
            repeats_for: (test.limits.time_min_s > 0)
                .then_some(Nanos(u64::from(test.limits.time_min_s) * 1_000_000_000)),
            ..Transfer::forward(does, Bytes(test.size.transfer_bytes), count)
        }
    }
}
