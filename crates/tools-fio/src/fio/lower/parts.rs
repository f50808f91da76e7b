//! The rest of a job: files, flushes, content, memory, processes and errors.
//! Pace and verification have their own modules.

use super::clone::JobClone;
use super::error::JobFault;
use super::facts::Layout;
use super::places::Places;
use crate::fio::options::content::{REFILL_BUFFERS, SCRAMBLE_BUFFERS, ZERO_BUFFERS};
use crate::fio::options::files::Advice;
use crate::fio::options::memory::CpuPolicy;
use crate::fio::options::stop::ContinueOnError;
use crate::fio::value::choice::{ErrorNumber, MemoryKind};
use crate::fio::value::lists::NumaPolicy;
use crate::fio::value::pattern::Piece;
use crate::fio::value::split::PriorityShare;
use plumb_workload::Bytes;
use plumb_workload::content::{BufferContent, DedupeMode, PatternPiece};
use plumb_workload::files::{
    AccessHint, Advices, AtOpen, FileRules, MappingAdvice, NewModes, PrepareFiles, SyncRange, Syncs,
};
use plumb_workload::phase::{Batch, ErrorOrigin, ErrorRules, IgnoredError};
use plumb_workload::process::{
    BufferMemory, BufferRules, CommandPriority, ControlGroup, IoPriority, NodeMemory, OpPriority, ProcessRules,
};
use std::path::PathBuf;

/// Returns the rules for creating, opening and removing files.
pub(super) fn files(copy: &mut JobClone<'_>, layout: &Layout) -> FileRules {
    if copy.engine.has_no_files && !copy.engine.calls_files {
        return FileRules { drop_cached: false, ..FileRules::default() };
    }
    let options = &copy.job.files;
    let mut write = options.layout.overwrite;
    let is_mapped = super::backend::name(copy.job) == "mmap";
    let direct = copy.job.queue.direct && !is_mapped;
    if copy.reads() && !copy.engine.calls_files && !write {
        if layout.fresh > 0 {
            copy.fix("files are laid out in full before the job, because it reads them");
        }
        write = true;
    }
    if copy.job.queue.direct && is_mapped {
        let text = "direct=1 has no effect with ioengine=mmap: a mapping always uses the page cache";
        copy.warnings.push(text.to_owned());
    }
    let mut drop_cached = options.hints.invalidate;
    if options.layout.pre_read && drop_cached {
        copy.fix("invalidate is ignored, because pre_read fills the page cache");
        drop_cached = false;
    }
    let atomic = copy.job.direction.ops.atomic;
    if atomic && !copy.engine.writes_atomically && !copy.is_foreign() {
        let why = "only these can pass RWF_ATOMIC";
        copy.refuse(JobFault::Needs { option: "atomic", needs: "ioengine=pvsync2, libaio or io_uring", why });
    }
    FileRules {
        new: NewModes::default(),
        prepare: PrepareFiles {
            create: options.layout.allow_create,
            write,
            allocation: options.layout.fallocate,
            flush: options.layout.create_fsync,
            one_at_a_time: options.layout.create_serialize,
            later: false,
        },
        direct,
        open_mode: copy.job.durability.sync,
        drop_cached,
        read_first: options.layout.pre_read,
        hint: match options.hints.advice {
            Advice::None => AccessHint::None,
            Advice::ByPattern if copy.replays() => AccessHint::None,
            Advice::ByPattern if copy.is_random() => AccessHint::Random,
            Advice::ByPattern | Advice::Sequential => AccessHint::Sequential,
            Advice::Random => AccessHint::Random,
            Advice::NoReuse => AccessHint::NoReuse,
        },
        advice: Advices { mapping: huge_pages(copy), ..Advices::default() },
        write_life: options.hints.write_hint,
        lock: options.lock,
        record_lock: None,
        create_on_open: options.layout.create_on_open,
        create_only: options.layout.create_only,
        // The ranges begin after the existing data. Only a replay has no ranges.
        append: options.append && copy.replays(),
        allow_mounted: options.layout.allow_mounted_write,
        unlink: options.removal.unlink,
        unlink_each_loop: options.removal.unlink_each_loop,
        atomic_writes: atomic && copy.writes(),
        at_open: AtOpen::default(),
    }
}

/// Returns the flushes between the ops and at the end.
pub(super) fn syncs(copy: &JobClone<'_>) -> Syncs {
    let options = &copy.job.durability;
    Syncs {
        fsync_every: options.fsync.unwrap_or(0),
        fdatasync_every: options.fdatasync.unwrap_or(0),
        range: options.sync_file_range.map(|range| SyncRange {
            every: range.every,
            wait_before: range.wait_before,
            write: range.write,
            wait_after: range.wait_after,
        }),
        at_end: options.end_fsync,
        at_close: options.fsync_on_close,
        file_system_at_end: options.end_syncfs,
    }
}

/// Returns the batch sizes of submissions and completions that fio uses at this depth.
pub(super) fn batch(copy: &mut JobClone<'_>) -> Batch {
    let depth = copy.depth();
    let options = &copy.job.queue;
    // 0, or more than the depth, means the depth.
    let submit = if options.batch_submit == 0 || options.batch_submit > depth { depth } else { options.batch_submit };
    let complete = options.batch_complete_min.clamp(1, depth);
    Batch {
        submit,
        complete,
        refill_at: options.low.filter(|low| *low < depth),
        most_completions: most_completions(copy, complete),
    }
}

/// Returns the maximum number of completions per call: the number waited for, unless more are asked for, so that the
/// queue stays full. The calls of vsync complete together. Source: `fixup_options` in fio's `init.c`, `engines/sync.c`.
fn most_completions(copy: &JobClone<'_>, complete: u32) -> Option<u32> {
    let options = &copy.job.queue;
    match options.batch_complete_max {
        Some(most) => Some(most.max(complete)),
        None if options.batch_complete_min == 0 || super::backend::name(copy.job) == "vsync" => None,
        None => Some(complete),
    }
}

pub(super) fn content(copy: &mut JobClone<'_>) -> BufferContent {
    let options = copy.job.content.clone();
    let mut compress = options.compress_percentage.unwrap_or(0).min(100) as u8;
    let mut zero = options.zero;
    let mut refill = options.refill;
    if compress == 100 {
        copy.fix("zeros are written, because only zeros compress by 100 %");
        zero = true;
        compress = 0;
    } else if compress > 0 && !refill && !copy.is_given(&REFILL_BUFFERS) {
        copy.fix("refill_buffers is set, because buffers are to be compressible");
        refill = true;
    }
    let verifies = copy.job.verify.method.is_some();
    if verifies && !refill && !copy.is_given(&REFILL_BUFFERS) {
        copy.fix("refill_buffers is set, because writes are verified");
        refill = true;
    }
    let dedupe = options.dedupe_percentage.unwrap_or(0).min(100) as u8;
    let mode = options.dedupe_mode;
    if dedupe > 0 && mode == DedupeMode::WorkingSet {
        if copy.job.direction.region.size.is_none() {
            let why = "the working set is a percentage of it";
            copy.refuse(JobFault::Needs { option: "dedupe_mode=working_set", needs: "size", why });
        } else if copy.names.count() != 1 {
            let why = "the working set belongs to one file; use nrfiles=1 and more jobs";
            copy.refuse(JobFault::Contradiction { first: "dedupe_mode=working_set", second: "several files", why });
        } else if options.dedupe_working_set_percentage + u32::from(dedupe) > 100 {
            copy.refuse(JobFault::Contradiction {
                first: "dedupe_percentage",
                second: "dedupe_working_set_percentage",
                why: "together they exceed 100 %",
            });
        }
    }
    BufferContent {
        zero,
        refill,
        refill_percent: 100,
        // Requested zeros stay zeros, unless scrambling was requested as well.
        scramble: options.scramble
            && (!(options.zero && copy.is_given(&ZERO_BUFFERS)) || copy.is_given(&SCRAMBLE_BUFFERS)),
        pattern: pattern(&options.pattern),
        compress_percent: compress,
        compress_chunk: Bytes(options.compress_chunk_bytes.into()),
        dedupe_percent: dedupe,
        dedupe_mode: mode,
        dedupe_set_percent: options.dedupe_working_set_percentage.min(100) as u8,
        dedupe_globally: options.dedupe_global,
    }
}

/// Converts a pattern; bytes become hexadecimal digits.
pub(super) fn pattern(pieces: &[Piece]) -> Vec<PatternPiece> {
    use std::fmt::Write;
    let hex = |bytes: &[u8]| {
        bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    };
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Bytes(bytes) => PatternPiece::Hex(hex(bytes)),
            Piece::File(path) => PatternPiece::File(PathBuf::from(path)),
            Piece::Offset => PatternPiece::Offset,
        })
        .collect()
}

/// Returns the source of the memory for the ops.
pub(super) fn buffers(copy: &mut JobClone<'_>) -> BufferRules {
    let options = &copy.job.memory;
    let path = |path: &Option<String>| path.as_ref().map(PathBuf::from);
    let memory = match &options.source {
        MemoryKind::Malloc => BufferMemory::Private,
        MemoryKind::Shm => BufferMemory::SystemV,
        MemoryKind::ShmHuge => BufferMemory::SystemVHuge,
        MemoryKind::Mmap(file) => path(file).map_or(BufferMemory::Private, BufferMemory::File),
        MemoryKind::MmapHuge(file) => BufferMemory::Huge(path(file)),
        MemoryKind::MmapShared(file) => BufferMemory::Shared(path(file)),
        MemoryKind::Cuda => {
            if !copy.is_foreign() {
                copy.unsupported("mem=cudamalloc", "it needs a GPU vendor's library; use another `mem`");
            }
            BufferMemory::Private
        }
    };
    let options = &copy.job.memory;
    let is_huge = matches!(memory, BufferMemory::SystemVHuge | BufferMemory::Huge(_));
    BufferRules {
        memory,
        align: options.align_bytes.map(|bytes| Bytes(bytes.into())),
        huge_page: is_huge.then_some(Bytes(options.hugepage_bytes.into())),
        lock: options.lock_bytes.map(Bytes),
    }
}

/// Returns the CPU that the worker is pinned to, if each worker has its own.
pub(super) fn own_cpu(copy: &JobClone<'_>) -> Vec<u32> {
    match &copy.job.memory.cpus {
        Some(cpus) if copy.job.memory.cpu_policy == CpuPolicy::Split && !cpus.is_empty() => {
            let number = copy.thread_number.saturating_sub(1) as usize % cpus.len();
            vec![cpus[number]]
        }
        _ => Vec::new(),
    }
}

/// Returns the user, CPUs and control group of the worker.
pub(super) fn process(copy: &mut JobClone<'_>, places: &mut dyn Places) -> ProcessRules {
    let identity = &copy.job.identity;
    let memory = &copy.job.memory;
    let mut any_of_cpus = match &memory.cpus {
        Some(cpus) if memory.cpu_policy == CpuPolicy::Shared => cpus.clone(),
        _ => Vec::new(),
    };
    let mut missing = Vec::new();
    for node in memory.numa_cpu_nodes.iter().flatten() {
        match places.cpus_of_node(*node) {
            Some(cpus) => any_of_cpus.extend(cpus),
            None => missing.push(*node),
        }
    }
    any_of_cpus.sort();
    any_of_cpus.dedup();
    let has_priority = memory.prio.is_some() || memory.prio_class.is_some();
    let rules = ProcessRules {
        name: identity.comm.clone(),
        nice: Some(identity.nice).filter(|nice| *nice != 0),
        uid: identity.uid,
        gid: identity.gid,
        io_priority: has_priority.then(|| IoPriority {
            class: class_of(memory.prio_class),
            level: memory.prio.unwrap_or(0).min(7) as u8,
            hint: 0,
        }),
        command_priorities: command_priorities(copy),
        any_of_cpus,
        memory_nodes: match &memory.numa_policy {
            NumaPolicy::Default => None,
            NumaPolicy::Prefer(node) => Some(NodeMemory::Prefer(*node)),
            NumaPolicy::Bind(nodes) => Some(NodeMemory::Bind(nodes.clone())),
            NumaPolicy::Interleave(nodes) => Some(NodeMemory::Interleave(nodes.clone())),
            NumaPolicy::Local => Some(NodeMemory::Local),
        },
        cgroup: identity.cgroup.clone().map(|name| ControlGroup {
            name,
            weight: identity.cgroup_weight,
            stays: identity.cgroup_nodelete,
        }),
        run_before: identity.exec_prerun.clone(),
        run_after: identity.exec_postrun.clone(),
        // As in fio, all copies of a job write to the same file.
        run_name: (identity.exec_prerun.is_some() || identity.exec_postrun.is_some())
            .then(|| copy.job.section.name.clone()),
    };
    for node in missing {
        copy.unsupported("numa_cpu_nodes", format!("there is no NUMA node {node}; `lscpu` lists them"));
    }
    rules
}

/// Returns the mapping advice of `thp`, an option of a single engine.
fn huge_pages(copy: &JobClone<'_>) -> Vec<MappingAdvice> {
    let asked = copy.job.engine.huge_pages && super::backend::name(copy.job) == "mmap";
    asked.then_some(MappingAdvice::HugePage).into_iter().collect()
}

/// Returns the priority class; best effort by default. Source: ioprio_set(2).
fn class_of(class: Option<u32>) -> u8 {
    const BEST_EFFORT: u8 = 2;
    class.and_then(|class| u8::try_from(class).ok()).filter(|class| (1..=3).contains(class)).unwrap_or(BEST_EFFORT)
}

fn command_priorities(copy: &JobClone<'_>) -> Vec<CommandPriority> {
    /// Class of prioritised ops if none is given: real time.
    const REAL_TIME: i64 = 1;
    let options = &copy.job.engine.priority;
    let small = |value: Option<i64>, or: i64| u8::try_from(value.unwrap_or(or)).unwrap_or(0);
    let hint = |value: Option<i64>| u16::try_from(value.unwrap_or(0)).unwrap_or(0);
    let mut all = Vec::new();
    for (of, percent, class, level, hint_said, split) in [
        (
            OpPriority::Read,
            options.percentage.read,
            options.class.read,
            options.level.read,
            options.hint.read,
            &options.split.read,
        ),
        (
            OpPriority::Write,
            options.percentage.write,
            options.class.write,
            options.level.write,
            options.hint.write,
            &options.split.write,
        ),
    ] {
        let usual = IoPriority { class: small(class, REAL_TIME), level: small(level, 0), hint: hint(hint_said) };
        let of_share = |share: &PriorityShare| CommandPriority {
            of,
            size: Some(Bytes(share.bytes)),
            percent: share.percent.unwrap_or(100),
            priority: IoPriority {
                class: share.class.unwrap_or(usual.class),
                level: share.level.unwrap_or(usual.level),
                hint: share.hint.unwrap_or(usual.hint),
            },
        };
        all.extend(split.iter().map(of_share));
        if let Some(percent) = percent.filter(|percent| *percent > 0) {
            all.push(CommandPriority { of, size: None, percent: small(Some(percent), 0).min(100), priority: usual });
        }
    }
    all
}

/// Errors that `continue_on_error` ignores unless `ignore_error` lists others. Source: observed in fio 3.42.
const PASSED_OVER: [i32; 2] = [EIO, EILSEQ];
const EIO: i32 = 5;
const EILSEQ: i32 = 84;

/// Returns the errors to ignore: the listed ones, or the defaults for the directions that continue.
pub(super) fn errors(copy: &mut JobClone<'_>) -> ErrorRules {
    let stop = &copy.job.stop;
    let passes = |also: &[ContinueOnError]| {
        stop.continue_on_error == ContinueOnError::All || also.contains(&stop.continue_on_error)
    };
    let mut rules = ErrorRules::default();
    let mut unknown = Vec::new();
    for (at, goes_on, errors) in [
        (ErrorOrigin::Read, passes(&[ContinueOnError::Read, ContinueOnError::Io]), &stop.ignore_error.read),
        (ErrorOrigin::Write, passes(&[ContinueOnError::Write, ContinueOnError::Io]), &stop.ignore_error.write),
        (ErrorOrigin::Verify, passes(&[ContinueOnError::Verify]), &stop.ignore_error.verify),
    ] {
        let mut numbers = Vec::new();
        for error in errors {
            let errno = match error {
                ErrorNumber::Number(number) => i32::try_from(*number).ok(),
                ErrorNumber::Name(name) => errno(name),
            };
            match errno {
                Some(errno) => numbers.push(errno),
                None => unknown.push(error.clone()),
            }
        }
        if goes_on && errors.is_empty() {
            numbers.extend(PASSED_OVER);
        }
        rules.ignore.extend(numbers.into_iter().map(|errno| IgnoredError { at, errno }));
    }
    for error in unknown {
        let text = match error {
            ErrorNumber::Name(name) => name,
            ErrorNumber::Number(number) => number.to_string(),
        };
        copy.unsupported("ignore_error", format!("unknown error name `{text}`; use its number"));
    }
    rules
}

/// Returns the number of a Linux error. Source: errno(3), include/uapi/asm-generic/errno-base.h and errno.h.
fn errno(name: &str) -> Option<i32> {
    const FIRST: &[&str] = &[
        "EPERM", "ENOENT", "ESRCH", "EINTR", "EIO", "ENXIO", "E2BIG", "ENOEXEC", "EBADF", "ECHILD", "EAGAIN", "ENOMEM",
        "EACCES", "EFAULT", "ENOTBLK", "EBUSY", "EEXIST", "EXDEV", "ENODEV", "ENOTDIR", "EISDIR", "EINVAL", "ENFILE",
        "EMFILE", "ENOTTY", "ETXTBSY", "EFBIG", "ENOSPC", "ESPIPE", "EROFS", "EMLINK", "EPIPE", "EDOM", "ERANGE",
    ];
    let first = FIRST.iter().position(|known| *known == name).and_then(|index| i32::try_from(index + 1).ok());
    first.or(match name {
        "ENODATA" => Some(61),
        "ETIME" => Some(62),
        "EILSEQ" => Some(84),
        "EOPNOTSUPP" => Some(95),
        "ETIMEDOUT" => Some(110),
        "ESTALE" => Some(116),
        "EREMOTEIO" => Some(121),
        "EDQUOT" => Some(122),
        _ => None,
    })
}
