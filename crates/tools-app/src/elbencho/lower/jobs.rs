//! The share of one thread in one phase.

use super::geometry::{Geometry, PathType};
use super::tree::{CustomTree, ThreadFiles, typed};
use super::{LowerError, PhaseKind, Places, error, names};
use crate::elbencho::hosts::PartThreads;
use crate::elbencho::settings::{ElbenchoSettings, Rwmix};
use plumb_workload::blocks::ByKind;
use plumb_workload::blocks::sweep::{AfterWrite, FilePart, Sweep, SweepDraw, SweepOps, SweepOrder, SweepParts};
use plumb_workload::content::{BufferContent, PatternPiece};
use plumb_workload::files::{Advices, Allocation, AtOpen, FileRules, JobFiles, Names, NewModes, PrepareFiles};
use plumb_workload::pace::WeightedFlow;
use plumb_workload::process::NodeMemory;
use plumb_workload::verify::{Verify, VerifyMethod};
use plumb_workload::{Backend, Bytes, FileCall, Nanos, OpKind, Pace, PerSecond, WorkerGroup};
use std::path::PathBuf;

/// Error numbers of errno(3), the same on all Linux systems.
const ENOENT: i32 = 2;
const EEXIST: i32 = 17;

/// Work of one thread in one phase.
pub(super) struct Share {
    /// `None` if the thread has nothing to do.
    pub(super) work: Option<ShareWork>,
    pub(super) rank_dirs: u32,
    pub(super) entries: u64,
    pub(super) bytes: u64,
    /// Number of the first files that count as entries. `None`: all.
    pub(super) whole_files: Option<u32>,
}

pub(super) struct ShareWork {
    pub(super) target_name: String,
    pub(super) files: JobFiles,
    pub(super) sweep: Sweep,
    pub(super) rules: FileRules,
    pub(super) log_ops: bool,
    pub(super) pace: Pace,
    pub(super) content: Option<BufferContent>,
    pub(super) verify: Option<Verify>,
    pub(super) backend: Backend,
    pub(super) depth: u32,
}

/// Returns the share of a thread, counted from 0 among the threads of this host.
pub(super) fn share(
    settings: &ElbenchoSettings,
    geometry: &Geometry,
    tree: Option<&CustomTree>,
    kind: PhaseKind,
    (thread, part): (u32, PartThreads),
) -> Result<Share, LowerError> {
    let rank = settings.placement.rank_offset.saturating_add(part.first).saturating_add(thread);
    let of = SharedWork { kind, rank, thread, part };
    if let Some(tree) = tree {
        return of_tree(settings, geometry, tree, of);
    }
    Ok(match (geometry.path_type, kind) {
        (PathType::Directory, PhaseKind::MkDirs | PhaseKind::RmDirs) => directories(settings, kind, rank),
        (PathType::Directory, PhaseKind::Stat | PhaseKind::RmFiles) => calls(settings, geometry, kind, rank),
        (PathType::Directory, _) => own_files(settings, geometry, kind, rank, thread),
        (_, PhaseKind::RmFiles) => remove_files(settings, geometry, rank),
        _ => shared_files(settings, geometry, of),
    })
}

/// A thread's place in the work that all threads share.
#[derive(Clone, Copy)]
struct SharedWork {
    kind: PhaseKind,
    rank: u32,
    /// Index of the thread on its host.
    thread: u32,
    part: PartThreads,
}

/// Returns empty work, for a host that only waits for others.
pub(super) fn idle(settings: &ElbenchoSettings, rank: u32) -> ShareWork {
    let names = Names::Given(settings.paths.iter().take(1).map(PathBuf::from).collect());
    let mut work = call_work(settings, names, "nothing".to_owned(), FileCall::Stat, OpKind::Stat, None, rank);
    work.sweep.parts = SweepParts::Listed(Vec::new());
    work.sweep.repeat = false;
    work
}

const NOTHING: Share = Share { work: None, rank_dirs: 0, entries: 0, bytes: 0, whole_files: None };

fn directories(settings: &ElbenchoSettings, kind: PhaseKind, rank: u32) -> Share {
    if settings.dataset.dirs == 0 {
        return NOTHING;
    }
    let (ranks, own) = names::directories(settings, rank);
    let (rank_dirs, entries) = (ranks.len() as u32, own.len() as u64);
    let makes = kind == PhaseKind::MkDirs;
    let (target, paths): (_, Vec<PathBuf>) = if makes {
        (format!("new-directories-of-r{rank}"), ranks.into_iter().chain(own).collect())
    } else {
        (format!("directories-of-r{rank}"), own.into_iter().chain(ranks).collect())
    };
    let call = if makes { FileCall::Mkdir } else { FileCall::Rmdir };
    // Threads that share directories find some of them already created or removed.
    let passes_over = match makes {
        true => Some(EEXIST),
        false => (settings.dataset.dirsharing || settings.calls.no_delete_errors).then_some(ENOENT),
    };
    let op = if makes { OpKind::Mkdir } else { OpKind::Rmdir };
    let mut work = call_work(settings, Names::Made(paths), target, call, op, passes_over, rank);
    // The log distinguishes directories of ranks from the others.
    work.log_ops = true;
    Share { work: Some(work), rank_dirs, entries, ..NOTHING }
}

fn calls(settings: &ElbenchoSettings, geometry: &Geometry, kind: PhaseKind, rank: u32) -> Share {
    let Some(files) = names::files(settings, rank) else { return NOTHING };
    let entries = files.count() as u64;
    let (call, op, passes_over) = match kind {
        PhaseKind::Stat => (FileCall::Stat, OpKind::Stat, None),
        _ => (FileCall::Unlink, OpKind::Unlink, settings.calls.no_delete_errors.then_some(ENOENT)),
    };
    let mut work = call_work(settings, files, format!("files-of-r{rank}"), call, op, passes_over, rank);
    work.files.lengths = vec![Bytes(geometry.file_bytes)];
    Share { work: Some(work), entries, ..NOTHING }
}

/// Every thread removes all files, each starting at a different one.
fn remove_files(settings: &ElbenchoSettings, geometry: &Geometry, rank: u32) -> Share {
    let count = settings.paths.len();
    let names = Names::Given(settings.paths.iter().map(PathBuf::from).collect());
    let mut work = call_work(settings, names, "paths".to_owned(), FileCall::Unlink, OpKind::Unlink, Some(ENOENT), rank);
    work.files.lengths = vec![Bytes(geometry.file_bytes)];
    let part = |at: usize| FilePart { file: ((rank as usize + at) % count) as u32, start: Bytes(0), length: Bytes(0) };
    work.sweep.parts = SweepParts::Listed((0..count).map(part).collect());
    Share { work: Some(work), entries: count as u64, ..NOTHING }
}

fn call_work(
    settings: &ElbenchoSettings,
    names: Names,
    target_name: String,
    call: FileCall,
    kind: OpKind,
    passes_over_errno: Option<i32>,
    rank: u32,
) -> ShareWork {
    let sweep = Sweep {
        does: SweepOps::Call { kind, passes_over_errno, makes_parents: false },
        parts: SweepParts::Files { lengths: vec![Bytes(0)] },
        order: SweepOrder::Forward,
        block: Bytes(512),
        random_bytes: None,
        repeat: settings.schedule.infinite,
        seed: 0,
        worker_number: rank.saturating_add(1),
    };
    ShareWork {
        target_name,
        files: JobFiles { names, lengths: Vec::new(), typed: typed(settings), make_below: None },
        sweep,
        rules: FileRules { prepare: LATER, drop_cached: false, new: NEW, ..FileRules::default() },
        log_ops: settings.output.ops_log.is_some(),
        pace: Pace::default(),
        content: None,
        verify: None,
        backend: Backend::Files(call),
        depth: 1,
    }
}

/// Modes of files that elbencho 3.1-10 creates, as shown by strace.
const NEW: NewModes = NewModes { laid_out: 0o664, opened: 0o664, directory: 0o777 };

/// Files that an earlier phase creates do not exist yet.
const LATER: PrepareFiles = PrepareFiles {
    create: false,
    write: false,
    allocation: Allocation::None,
    flush: false,
    one_at_a_time: true,
    later: true,
};

/// Returns `true` if this thread reads in a phase in which others write.
fn reads_instead(settings: &ElbenchoSettings, kind: PhaseKind, thread: u32) -> bool {
    kind == PhaseKind::Write && matches!(settings.mix.rwmix, Rwmix::Threads(threads) if thread < threads)
}

/// Returns the files of one thread, one after another.
fn own_files(settings: &ElbenchoSettings, geometry: &Geometry, kind: PhaseKind, rank: u32, thread: u32) -> Share {
    let Some(files) = names::files(settings, rank) else { return NOTHING };
    let entries = files.count() as u64;
    let parts = SweepParts::Files { lengths: vec![Bytes(geometry.file_bytes)] };
    let lengths = vec![Bytes(geometry.file_bytes)];
    let order = order_in_files(settings, geometry, kind);
    let of = DataWork {
        kind,
        rank,
        thread,
        parts,
        order,
        files: JobFiles { names: files, lengths, typed: typed(settings), make_below: None },
    };
    let work = opened_in_turn(settings, geometry, of);
    Share { work: Some(work), entries, bytes: entries.saturating_mul(geometry.file_bytes), ..NOTHING }
}

fn order_in_files(settings: &ElbenchoSettings, geometry: &Geometry, kind: PhaseKind) -> SweepOrder {
    match (settings.order.rand, settings.order.backward) {
        (true, _) => SweepOrder::Random(draw(settings, geometry, kind)),
        (_, true) => SweepOrder::Backward,
        _ => SweepOrder::Forward,
    }
}

/// Returns work on files that are opened one after another.
fn opened_in_turn(settings: &ElbenchoSettings, geometry: &Geometry, of: DataWork) -> ShareWork {
    let DataWork { kind, rank, thread, .. } = of;
    let mut work = data_work(settings, geometry, of);
    work.target_name = format!("files-of-r{rank}");
    let writes = !matches!(sweep_does(settings, kind, rank, thread), SweepOps::Read);
    work.rules.create_on_open = true;
    work.rules.prepare = PrepareFiles { create: writes, ..LATER };
    // The time of an entry lasts from opening a file to closing it.
    let output = &settings.output;
    work.log_ops |= output.latency || output.histogram || output.percentiles.is_some();
    // The thread distinguishes entries that are read from those that are written.
    work.log_ops |= matches!(settings.mix.rwmix, Rwmix::Threads(_)) && kind == PhaseKind::Write;
    work
}

/// Returns the share of a thread of a tree.
fn of_tree(
    settings: &ElbenchoSettings,
    geometry: &Geometry,
    tree: &CustomTree,
    SharedWork { kind, rank, thread, part }: SharedWork,
) -> Result<Share, LowerError> {
    let threads = u64::from(part.all);
    let counts = tree.counts();
    if matches!(kind, PhaseKind::MkDirs | PhaseKind::RmDirs) {
        let makes = kind == PhaseKind::MkDirs;
        let (target, dirs, call, op, passes_over) = match makes {
            true => ("new-directories", tree.dirs_of(settings, rank, part.all), FileCall::Mkdir, OpKind::Mkdir, EEXIST),
            // Only a single thread is certain to remove a directory's contents before the directory.
            false if rank > 0 => return Ok(NOTHING),
            false => ("directories", tree.dirs_to_remove(settings), FileCall::Rmdir, OpKind::Rmdir, ENOENT),
        };
        if dirs.is_empty() {
            return Ok(NOTHING);
        }
        let target = format!("{target}-of-r{rank}");
        let mut work = call_work(settings, Names::Made(dirs), target, call, op, Some(passes_over), rank);
        if let SweepOps::Call { makes_parents, .. } = &mut work.sweep.does {
            // Threads do not wait for the one that creates the parent.
            *makes_parents = makes;
        }
        return Ok(Share { work: Some(work), entries: counts.dirs as u64 / threads, ..NOTHING });
    }
    let Some(of_thread) = tree.files_of(settings, geometry, rank, part.all)? else { return Ok(NOTHING) };
    let ThreadFiles { files, parts, whole } = of_thread;
    let parts = SweepParts::Listed(parts);
    let mut work = match kind {
        PhaseKind::Stat | PhaseKind::RmFiles => {
            let (call, op, passes_over) = match kind {
                PhaseKind::Stat => (FileCall::Stat, OpKind::Stat, None),
                // Each thread that shares a file tries to remove it.
                _ => (FileCall::Unlink, OpKind::Unlink, Some(ENOENT)),
            };
            let target = format!("files-of-r{rank}");
            let mut work = call_work(settings, files.names, target, call, op, passes_over, rank);
            work.files.lengths = files.lengths;
            work.sweep.parts = parts;
            work
        }
        _ => {
            let order = order_in_files(settings, geometry, kind);
            opened_in_turn(settings, geometry, DataWork { kind, rank, thread, parts, order, files })
        }
    };
    // Parts of files are not entries. Only a log of every op distinguishes them.
    let counts_parts = counts.shared > 0;
    work.log_ops |= counts_parts;
    Ok(Share {
        work: Some(work),
        entries: (counts.alone + counts.shared) as u64 / threads,
        bytes: if kind.moves_data() { tree.bytes() / threads } else { 0 },
        whole_files: counts_parts.then_some(whole),
        ..NOTHING
    })
}

fn draw(settings: &ElbenchoSettings, geometry: &Geometry, kind: PhaseKind) -> SweepDraw {
    match kind {
        _ if geometry.unaligned => SweepDraw::Unaligned,
        PhaseKind::Write if !settings.order.rand_algo_given => SweepDraw::Once,
        _ => SweepDraw::Again,
    }
}

/// Divides the blocks of all files, as one sequence, between the threads.
fn shared_files(
    settings: &ElbenchoSettings,
    geometry: &Geometry,
    SharedWork { kind, rank, thread, part }: SharedWork,
) -> Share {
    let Geometry { file_bytes, block_bytes, .. } = *geometry;
    let threads = u64::from(part.all);
    let share = u64::from(part.first) + u64::from(thread);
    let count = settings.paths.len() as u64;
    let blocks_per_file = file_bytes.div_ceil(block_bytes.max(1));
    let blocks = blocks_per_file.saturating_mul(count);
    let each = blocks / threads;
    let (parts, order, bytes) = if settings.order.strided {
        let whole = |file| FilePart { file, start: Bytes(0), length: Bytes(file_bytes) };
        let order = SweepOrder::Strided { first: share, step: threads };
        ((0..settings.paths.len() as u32).map(whole).collect(), order, each.saturating_mul(block_bytes))
    } else {
        // The last thread also does the remainder.
        let last = if share + 1 == threads && !settings.order.rand { blocks } else { (share + 1) * each };
        let parts = parts_of(share * each, last, blocks_per_file, geometry);
        let bytes = parts.iter().fold(0, |sum: u64, part| sum.saturating_add(part.length.0));
        match (settings.order.rand, settings.order.backward) {
            (true, _) => {
                let draw = draw(settings, geometry, kind);
                (parts, SweepOrder::Random(draw), geometry.random_bytes / threads)
            }
            (_, true) => (parts, SweepOrder::Backward, bytes),
            _ => (parts, SweepOrder::Forward, bytes),
        }
    };
    let files = JobFiles {
        names: Names::Given(settings.paths.iter().map(PathBuf::from).collect()),
        lengths: if geometry.path_type == PathType::File { vec![Bytes(file_bytes)] } else { Vec::new() },
        typed: Vec::new(),
        make_below: None,
    };
    let of = DataWork { kind, rank, thread, parts: SweepParts::Listed(parts), order, files };
    let mut work = data_work(settings, geometry, of);
    if settings.order.rand {
        work.sweep.random_bytes = Some(Bytes(bytes));
    }
    work.target_name = "paths".to_owned();
    work.rules.prepare = PrepareFiles {
        create: settings.phases.write,
        later: false,
        allocation: if settings.order.rand && settings.phases.write { Allocation::Truncate } else { Allocation::None },
        ..LATER
    };
    Share { work: Some(work), bytes, ..NOTHING }
}

/// Splits a contiguous range of the block sequence into parts of files.
fn parts_of(first: u64, end: u64, blocks_per_file: u64, geometry: &Geometry) -> Vec<FilePart> {
    let Geometry { file_bytes, block_bytes, .. } = *geometry;
    let mut parts = Vec::new();
    let mut block = first;
    while block < end {
        let file = block / blocks_per_file;
        let within = block % blocks_per_file;
        let blocks = (end - block).min(blocks_per_file - within);
        let start = within * block_bytes;
        let length = blocks.saturating_mul(block_bytes).min(file_bytes - start);
        parts.push(FilePart { file: file as u32, start: Bytes(start), length: Bytes(length) });
        block += blocks;
    }
    parts
}

fn sweep_does(settings: &ElbenchoSettings, kind: PhaseKind, rank: u32, thread: u32) -> SweepOps {
    if kind == PhaseKind::Read || reads_instead(settings, kind, thread) {
        return SweepOps::Read;
    }
    match settings.mix.rwmix {
        Rwmix::Percent(100..) => SweepOps::Read,
        Rwmix::Percent(read_percent) => SweepOps::Mix { read_percent, first: rank % 100 },
        _ if settings.content.verify_direct || settings.content.read_inline => {
            SweepOps::Write { then: AfterWrite::ReadBack }
        }
        _ => SweepOps::Write { then: AfterWrite::Nothing },
    }
}

/// The share of one thread in a phase that moves data.
struct DataWork {
    kind: PhaseKind,
    rank: u32,
    /// Index of the thread on its host.
    thread: u32,
    parts: SweepParts,
    order: SweepOrder,
    files: JobFiles,
}

fn data_work(settings: &ElbenchoSettings, geometry: &Geometry, work: DataWork) -> ShareWork {
    let DataWork { kind, rank, thread, parts, order, files } = work;
    let does = sweep_does(settings, kind, rank, thread);
    let writes = !matches!(does, SweepOps::Read);
    let sweep = Sweep {
        does,
        parts,
        order,
        block: Bytes(geometry.block_bytes.max(1)),
        random_bytes: None,
        repeat: settings.schedule.infinite,
        seed: plumb_workload::Workload::DEFAULT_SEED ^ u64::from(kind == PhaseKind::Read) << 32,
        worker_number: rank.saturating_add(1),
    };
    let rules = FileRules {
        direct: settings.ops.direct,
        drop_cached: false,
        record_lock: settings.calls.lock,
        advice: Advices {
            file: settings.calls.file_advice.clone(),
            mapping: if settings.ops.mmap { settings.calls.mapping_advice.clone() } else { Vec::new() },
        },
        at_open: AtOpen {
            empty: settings.calls.trunc && writes,
            // A write through a mapping cannot extend the file.
            to_length: (settings.calls.trunc_to_size || settings.ops.mmap && geometry.path_type == PathType::Directory)
                && writes,
            allocate: settings.calls.preallocate && writes,
            stat: settings.calls.stat_inline && geometry.path_type == PathType::Directory,
        },
        new: NEW,
        ..FileRules::default()
    };
    let pace = Pace {
        bytes_per_second: limits(settings, kind, thread, does),
        reads_count_as_writes: matches!(does, SweepOps::Mix { .. }) && settings.mix.limit_write > 0,
        flow: balance(settings, kind, thread),
        ..Pace::default()
    };
    let refill = settings.content.new_percent > 0 && settings.content.verify == 0;
    let content = BufferContent {
        refill,
        refill_percent: if refill { settings.content.new_percent } else { 100 },
        scramble: false,
        ..BufferContent::default()
    };
    let verify =
        (settings.content.verify > 0 && (writes || kind == PhaseKind::Read)).then(|| salted(settings.content.verify));
    let backend = match (settings.ops.mmap, settings.ops.iodepth) {
        (true, _) => Backend::Mmap,
        (_, 2..) => Backend::Libaio { userspace_reap: false, vectored: false, nowait: false },
        _ => Backend::Psync,
    };
    ShareWork {
        target_name: String::new(),
        files,
        sweep,
        rules,
        log_ops: settings.output.ops_log.is_some(),
        pace,
        content: Some(content),
        verify,
        backend,
        depth: settings.ops.iodepth,
    }
}

/// Returns the weight of a thread if readers and writers are balanced.
fn balance(settings: &ElbenchoSettings, kind: PhaseKind, thread: u32) -> Option<WeightedFlow> {
    let Rwmix::Threads(readers) = settings.mix.rwmix else { return None };
    let percent = u32::from(settings.mix.balance.filter(|_| kind == PhaseKind::Write)?);
    let writers = settings.threads.checked_sub(readers).filter(|writers| *writers > 0 && readers > 0)?;
    // All readers together weigh `percent * writers * readers`, all writers `(100 - percent) * readers * writers`.
    let weight = match reads_instead(settings, kind, thread) {
        true => percent.saturating_mul(writers),
        false => (100 - percent).saturating_mul(readers),
    };
    Some(WeightedFlow { flow: 0, weight, sleep: Nanos(0) })
}

/// Returns the rate limits. `--limitwrite` applies to the write phase, including its mixed reads, but not
/// to threads that only read.
fn limits(settings: &ElbenchoSettings, kind: PhaseKind, thread: u32, does: SweepOps) -> ByKind<Option<PerSecond>> {
    let reads = kind == PhaseKind::Read || reads_instead(settings, kind, thread);
    let bytes = if reads { settings.mix.limit_read } else { settings.mix.limit_write };
    let limit = (bytes > 0).then_some(PerSecond(bytes as f64));
    match does {
        SweepOps::Read => ByKind { read: limit, ..ByKind::default() },
        _ => ByKind { write: limit, ..ByKind::default() },
    }
}

/// Returns verification by words of 8 bytes, each its offset plus the salt.
fn salted(salt: u64) -> Verify {
    Verify {
        read_back: false,
        pattern: vec![PatternPiece::OffsetPlus(salt)],
        pattern_interval: Some(Bytes(8)),
        fatal: true,
        expects_number: false,
        expects_seed: false,
        ..Verify::new(VerifyMethod::Pattern)
    }
}

pub(super) struct Bindings {
    cores: Vec<u32>,
    /// NUMA nodes, each with its CPUs.
    zones: Vec<(u32, Vec<u32>)>,
}

impl Bindings {
    pub(super) fn bind(&self, thread: u32, group: &mut WorkerGroup) {
        if !self.cores.is_empty() {
            group.cpus = vec![self.cores[thread as usize % self.cores.len()]];
        } else if !self.zones.is_empty() {
            let (node, cpus) = &self.zones[thread as usize % self.zones.len()];
            group.process.any_of_cpus.clone_from(cpus);
            group.process.memory_nodes = Some(NodeMemory::Bind(vec![*node]));
        }
    }
}

impl Bindings {
    /// Returns all CPUs that threads may run on; empty if they are not bound.
    pub(super) fn all_cpus(&self) -> Vec<u32> {
        let of_zones = self.zones.iter().flat_map(|(_, cpus)| cpus.iter().copied());
        self.cores.iter().copied().chain(of_zones).collect()
    }
}

pub(super) fn bindings(settings: &ElbenchoSettings, places: &mut dyn Places) -> Result<Bindings, LowerError> {
    let list = |name: &str, text: &str| -> Result<Vec<u32>, LowerError> {
        let numbers = text.split(',').filter(|number| !number.trim().is_empty());
        numbers
            .map(|number| {
                number.trim().parse().map_err(|_| {
                    LowerError(format!(
                        "--{name}: `{number}` is not a number; use a comma-separated list of numbers, or all"
                    ))
                })
            })
            .collect()
    };
    let cores = match settings.placement.cores.as_deref() {
        None => Vec::new(),
        Some("all") => places.cpus(),
        Some(text) => list("cores", text)?,
    };
    let nodes = match settings.placement.zones.as_deref() {
        None => Vec::new(),
        Some("all") => places.nodes(),
        Some(text) => list("zones", text)?,
    };
    let mut zones = Vec::new();
    for node in nodes {
        match places.cpus_of_node(node) {
            Some(cpus) => zones.push((node, cpus)),
            None => return error(format!("--zones: there is no NUMA node {node}")),
        }
    }
    Ok(Bindings { cores, zones })
}
