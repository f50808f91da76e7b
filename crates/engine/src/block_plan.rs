//! Plans a worker of block I/O from its place in the phase. All errors of the plan are
//! found here, before anything starts.

use crate::backend::FileKind;
use crate::bind::{BlockWorker, WorkerFiles};
use crate::bound::BoundBackend;
use crate::content::Writers;
use crate::files::{FileUse, JobTarget, Lengths};
use crate::plan::{DIRECT_ALIGNMENT_BYTES, WorkerPlanError, WorkerSeat};
use crate::replay::ReplayTally;
use crate::rng::StreamId;
use crate::setting::{Setting, content_stream};
use crate::source::accesses::AccessesPlan;
use crate::source::fio::{FioPlan, FioPlanRequest, Handing};
use crate::source::requests::RequestsPlan;
use crate::source::sweep::{SweepPlan, SweepRequest};
use crate::source::trace::{ReplayOps, TracePlan};
use crate::stream_plan::StreamPlan;
use crate::targets::{OpenSim, OpenTarget, OpenTargets};
use crate::terms::Stamping;
use plumb_workload::blocks::fio::FileRange;
use plumb_workload::blocks::sweep::SweepParts;
use plumb_workload::blocks::trace::Recording;
use plumb_workload::files::FileLock;
use plumb_workload::{Backend, BlockStream, Bytes, CachePolicy, Target, Work, WorkerGroup, Workload};
use std::sync::Arc;

/// Maximum number of files of a null target.
const NULL_FILES_MAX: u64 = 1 << 20;

/// Plans the block I/O of a worker on an open target.
pub(crate) fn plan(seat: &WorkerSeat<'_>, seed: u64, target: &OpenTarget) -> Result<StreamPlan, WorkerPlanError> {
    plan_as(seat, &with_appended_ranges(seat.group, target), seed, target)
}

/// Returns the group adapted to its files: if it appends, its ranges begin at their ends.
fn with_appended_ranges(group: &WorkerGroup, target: &OpenTarget) -> WorkerGroup {
    let mut group = group.clone();
    if let (OpenTarget::Job(files), true, Some(stream)) = (target, group.files.append, group.work.fio_mut()) {
        append(&mut stream.ranges, files);
    }
    group
}

fn plan_as(
    seat: &WorkerSeat<'_>,
    group: &WorkerGroup,
    seed: u64,
    target: &OpenTarget,
) -> Result<StreamPlan, WorkerPlanError> {
    let Some(stream) = group.work.stream() else { return Err(no_files(seat)) };
    if let BlockStream::Plumb(blocks) = stream {
        return seat.blocks(blocks, &target.lengths(), seed).map(StreamPlan::Plumb);
    }
    if group.count != 1 && group.work.requests().is_none() {
        return Err(seat.error("this stream supports one worker; use a group for each (`count = 1`)"));
    }
    let (lengths, alignment) = match target {
        OpenTarget::Job(files) => {
            let alignment = if group.files.direct { files.direct_alignment_bytes } else { 1 };
            (reached_lengths(group, files), alignment)
        }
        OpenTarget::Null { .. } | OpenTarget::Sim(_) => (virtual_lengths(seat, group, target)?, 1),
        // On files that Plumb laid out, only recordings run besides Plumb's own generator.
        OpenTarget::Files(files) if matches!(stream, BlockStream::Trace(_)) => {
            let direct = seat.phase.cache == CachePolicy::Direct;
            (Lengths::from_each(files.lengths()), if direct { DIRECT_ALIGNMENT_BYTES } else { 1 })
        }
        OpenTarget::Files(_)
        | OpenTarget::Tree(_)
        | OpenTarget::Shared(_)
        | OpenTarget::Copy { .. }
        | OpenTarget::Scratch(_)
        | OpenTarget::Recorded(_) => {
            return Err(no_files(seat));
        }
    };
    match stream {
        BlockStream::Sweep(sweep) => SweepPlan::new(&SweepRequest {
            sweep,
            opens: group.files.create_on_open,
            verifies: group.verify.is_some(),
            files: lengths.count(),
            alignment_bytes: alignment,
        })
        .map(StreamPlan::Sweep)
        .map_err(|error| seat.error(error)),
        BlockStream::Requests(requests) => RequestsPlan::new(requests, lengths.count(), alignment)
            .map(StreamPlan::Requests)
            .map_err(|error| seat.error(error)),
        BlockStream::Accesses(accesses) => {
            AccessesPlan::new(accesses, alignment).map(StreamPlan::Accesses).map_err(|error| seat.error(error))
        }
        BlockStream::Trace(recording) => TracePlan::new(group, recording, lengths.to_vec(), alignment)
            .map(StreamPlan::Trace)
            .map_err(|reason| seat.error(reason)),
        BlockStream::Fio(stream) => FioPlan::new(&FioPlanRequest {
            stream,
            files: &group.files,
            syncs: &group.syncs,
            verify: group.verify.as_ref(),
            file_lengths: &lengths,
            io_alignment_bytes: alignment,
            handing: handing(&group.backend, group.depth),
            cached: matches!(target, OpenTarget::Job(_)) && caches(&group.backend),
            noted: group.log_ops,
        })
        .map(StreamPlan::Fio)
        .map_err(|error| seat.error(error)),
        BlockStream::Plumb(_) => Err(no_files(seat)),
    }
}

fn no_files(seat: &WorkerSeat<'_>) -> WorkerPlanError {
    let Work::Blocks(stream) = &seat.group.work else { return seat.error("this is not block I/O") };
    let target = &seat.group.target;
    seat.error(match stream.is_plumb() {
        true => format!("`{target}` has no files for block I/O"),
        false => format!("`{target}` has no files for this stream; use a `job-files` target"),
    })
}

/// Returns `true` if a backend's ops go through the page cache.
fn caches(backend: &Backend) -> bool {
    let moves_no_bytes = matches!(backend, Backend::Fallocate | Backend::Truncate | Backend::MoveExtents { .. });
    FileUse::for_backend(backend) == FileUse::Opened && !moves_no_bytes
}

/// Builds a worker of block I/O.
pub(crate) fn worker(
    workload: &Workload,
    seat: &WorkerSeat<'_>,
    targets: &OpenTargets,
    setting: &Setting<'_>,
    notes: &mut Vec<String>,
) -> Result<BlockWorker, WorkerPlanError> {
    let Some(target) = targets.get(&seat.group.target) else { return Err(no_files(seat)) };
    let group = with_appended_ranges(seat.group, target);
    let plan = plan_as(seat, &group, workload.seed, target)?;
    let bound = || BoundBackend::resolve(&group.backend, group.depth).map_err(|error| seat.error(error));
    let (files, (backend, note)) = match (target, workload.target.get(&group.target)) {
        (OpenTarget::Files(open), _) => {
            let users = seat.phase.workers.iter().filter(|other| other.target == group.target);
            let alone = users.map(|other| other.count).sum::<u32>() == 1;
            let files =
                if alone { open.block_files() } else { open.own_block_files().map_err(|error| seat.error(error))? };
            (WorkerFiles::Held(files), bound()?)
        }
        (OpenTarget::Job(open), Some(Target::JobFiles(files))) => {
            check_atomic_writes(seat, &group)?;
            (WorkerFiles::Named { target: Arc::clone(open), files: files.clone() }, bound()?)
        }
        (OpenTarget::Null { .. } | OpenTarget::Sim(_), _) => {
            let lengths = virtual_lengths(seat, &group, target)?;
            let backend = match target {
                OpenTarget::Sim(sim) => (BoundBackend::Sim(sim.device.clone()), None),
                // A socket needs no files. Without files, every other backend becomes the null backend.
                _ if FileUse::for_backend(&group.backend) == FileUse::Unused => bound()?,
                _ => (BoundBackend::Null, None),
            };
            (WorkerFiles::Nothing { lengths }, backend)
        }
        _ => return Err(no_files(seat)),
    };
    if let (BoundBackend::IoUring(_), WorkerFiles::Held(files), true) = (&backend, &files, group.work.moves().trim)
        && !crate::backend::io_uring::can_trim(files.kind)
    {
        return Err(seat.error("io_uring cannot discard on a block device; use the psync backend"));
    }
    if let (StreamPlan::Trace(plan), None) = (&plan, setting.recordings) {
        let path = plan.recording.path.display();
        return Err(seat.error(format!("{path}: recordings cannot be read here; use the `plumb` command")));
    }
    notes.extend(note.filter(|note| !notes.contains(note)));
    // Each worker's writes have their own sequences; those of later phases are higher.
    let first_sequence = (u64::from(seat.phase_number) + 1) << 48 | u64::from(seat.worker) << 32;
    let (content, stamping) = match target {
        OpenTarget::Files(open) => (open.content, open.stamping),
        _ => (Default::default(), None),
    };
    let content_stream = content_stream(workload, setting, seat.phase_number, seat.worker);
    Ok(BlockWorker {
        name: seat.group_name(),
        stream: draw_stream(seat, &group, workload.seed, content_stream),
        content_stream,
        plan,
        files,
        backend,
        queue: seat.queue(),
        pacing: seat.pacing(),
        content,
        stamping: stamping.map(|stamping| Stamping { first_sequence, ..stamping }),
        writers: writers(seat),
        base: setting.base.to_owned(),
        tally: tally(seat, &group, setting)?,
        recordings: setting.recordings,
        group,
    })
}

/// Creates the counter for a replay, if its recording asks for a sheet.
fn tally(
    seat: &WorkerSeat<'_>,
    group: &WorkerGroup,
    setting: &Setting<'_>,
) -> Result<Option<Arc<ReplayTally>>, WorkerPlanError> {
    let Some((recording, recordings)) = group.work.trace().filter(|recording| recording.sheet).zip(setting.recordings)
    else {
        return Ok(None);
    };
    // The sheet describes one pass of the recording, even if the replay repeats it.
    let once = Recording { repeat_until_time: false, ..recording.clone() };
    let ops = ReplayOps::open(recordings, &once, None).map_err(|error| seat.error(error))?;
    ReplayTally::of_ops(recording, ops).map(|tally| Some(Arc::new(tally))).map_err(|error| seat.error(error))
}

/// Returns the random stream for choices outside of the op stream.
fn draw_stream(seat: &WorkerSeat<'_>, group: &WorkerGroup, seed: u64, content_stream: StreamId) -> StreamId {
    match group.work.stream() {
        Some(BlockStream::Fio(stream)) => StreamId { seed: stream.seed, phase: 0, worker: stream.worker_number },
        Some(BlockStream::Sweep(sweep)) => StreamId { seed: sweep.seed, phase: 0, worker: sweep.worker_number },
        Some(BlockStream::Trace(_)) => StreamId { seed: content_stream.seed, phase: 0, worker: 0 },
        Some(BlockStream::Plumb(_) | BlockStream::Requests(_) | BlockStream::Accesses(_)) | None => seat.stream(seed),
    }
}

/// Returns whether other groups of the phase write to the same target.
fn writers(seat: &WorkerSeat<'_>) -> Writers {
    if seat.group.work.blocks().is_some() {
        return Writers::Several;
    }
    let others = seat.phase.workers.iter().enumerate().filter(|(number, _)| *number != seat.group_number);
    let mut same = others.filter(|(_, group)| group.target == seat.group.target).map(|(_, group)| group.work.moves());
    if same.any(|moves| moves.write || moves.trim) { Writers::Several } else { Writers::One }
}

/// Moves the ranges to the end of each file.
fn append(ranges: &mut Vec<FileRange>, files: &JobTarget) {
    let after_end = |range: &FileRange, length: u64| FileRange {
        start: Bytes(range.start.0.saturating_add(length)),
        length: range.length,
    };
    let planned = std::mem::take(ranges);
    *ranges = match (&files.lengths, planned.as_slice()) {
        (Lengths::Same { bytes, .. }, ranges) => ranges.iter().map(|range| after_end(range, *bytes)).collect(),
        (Lengths::Each(_), []) => Vec::new(),
        (Lengths::Each(each), [.., last]) => each
            .iter()
            .enumerate()
            .map(|(number, &length)| after_end(ranges.get(number).unwrap_or(last), length))
            .collect(),
    };
}

/// Returns the file lengths that the group may reach: files that it only writes to grow with it.
fn reached_lengths(group: &WorkerGroup, files: &JobTarget) -> Lengths {
    let Some(stream) = group.work.fio() else { return files.lengths.clone() };
    let moves = stream.moves();
    if files.kind == FileKind::Regular && moves.write && !moves.trim && (!moves.read || stream.fill_device) {
        files
            .lengths
            .with_ranges(&stream.ranges, |length, range| length.max(range.start.0.saturating_add(range.length.0)))
    } else {
        files.lengths.clone()
    }
}

/// Returns the lengths of files that do not exist, on simulated and null targets.
fn virtual_lengths(
    seat: &WorkerSeat<'_>,
    group: &WorkerGroup,
    target: &OpenTarget,
) -> Result<Lengths, WorkerPlanError> {
    match (target, group.work.stream()) {
        (OpenTarget::Sim(sim), Some(stream)) if !stream.is_plumb() => simulated_lengths(seat, group, stream, sim),
        (OpenTarget::Null { bytes, .. }, Some(stream)) => Ok(null_lengths(stream, *bytes)),
        (target, _) => Ok(Lengths::from_each(target.lengths())),
    }
}

/// Returns lengths that cover the ranges of a stream.
fn null_lengths(stream: &BlockStream, bytes: u64) -> Lengths {
    Lengths::from_each(match stream {
        BlockStream::Fio(stream) if !stream.ranges.is_empty() => {
            stream.ranges.iter().map(|range| range.start.0.saturating_add(range.length.0)).collect()
        }
        BlockStream::Sweep(sweep) => {
            let files = match &sweep.parts {
                SweepParts::Files { lengths } => lengths.len(),
                SweepParts::Listed(parts) => parts.iter().map(|part| part.file as usize + 1).max().unwrap_or(1),
            };
            sweep.ends(files)
        }
        BlockStream::Accesses(accesses) => vec![accesses.start.0.saturating_add(accesses.length.0)],
        BlockStream::Requests(requests) => {
            let each = requests.file_bytes.0;
            vec![each; bytes.div_ceil(each.max(1)).clamp(1, NULL_FILES_MAX) as usize]
        }
        BlockStream::Plumb(_) | BlockStream::Fio(_) | BlockStream::Trace(_) => vec![bytes],
    })
}

/// Returns the file lengths on a simulated device: equal, consecutive parts of it.
fn simulated_lengths(
    seat: &WorkerSeat<'_>,
    group: &WorkerGroup,
    stream: &BlockStream,
    sim: &OpenSim,
) -> Result<Lengths, WorkerPlanError> {
    let files = sim.file_count();
    let most = sim.bytes / files.max(1);
    let lengths = match stream {
        BlockStream::Fio(stream) if !stream.ranges.is_empty() => {
            let of = |number: usize| stream.ranges.get(number).or(stream.ranges.last());
            let end = |range: &FileRange| range.start.0.saturating_add(range.length.0);
            Lengths::from_each((0..files as usize).map(|number| of(number).map_or(most, end)).collect())
        }
        BlockStream::Sweep(sweep) => Lengths::from_each(sweep.ends(files as usize)),
        BlockStream::Requests(requests) => Lengths::from_each(vec![requests.file_bytes.0; files as usize]),
        BlockStream::Accesses(accesses) => {
            Lengths::from_each(vec![accesses.start.0.saturating_add(accesses.length.0); files as usize])
        }
        BlockStream::Plumb(_) | BlockStream::Fio(_) | BlockStream::Trace(_) => {
            Lengths::from_each(vec![most; files as usize])
        }
    };
    let longest = lengths.to_vec().into_iter().max().unwrap_or(0);
    if lengths.count() as u64 > files || longest > most {
        return Err(seat.error(format!(
            "it reaches byte {longest} of {} files, but the simulated device has {files} of {most} bytes; give it a \
             larger `size` or more `files`",
            lengths.count()
        )));
    }
    if group.files.lock != FileLock::None || group.files.record_lock.is_some() {
        return Err(seat.error("a simulated device has no files to lock; remove the locks"));
    }
    Ok(lengths)
}

/// Returns how a backend takes ops.
fn handing(backend: &Backend, depth: u32) -> Handing {
    match backend {
        Backend::IoUring { .. } | Backend::Libaio { .. } | Backend::PosixAio | Backend::SeekVectored => Handing::Queued,
        Backend::Auto | Backend::Null | Backend::Sim if depth > 1 => Handing::Queued,
        _ => Handing::Inline,
    }
}

/// Rejects a group that asks for atomic writes from a backend without them.
fn check_atomic_writes(seat: &WorkerSeat<'_>, group: &WorkerGroup) -> Result<(), WorkerPlanError> {
    match &group.backend {
        Backend::Preadv2 { .. } | Backend::IoUring { .. } | Backend::Libaio { .. } => Ok(()),
        _ if !group.files.atomic_writes => Ok(()),
        other => Err(seat.error(format!(
            "the backend `{}` does not support atomic writes; use preadv2 (fio's pvsync2), libaio or io-uring, or leave \
             `atomic-writes` (fio's atomic) out",
            other.name()
        ))),
    }
}
