//! From a job's place in its phase to its worker: everything that can be wrong is found here, before anything starts.

use super::bind::{JobWorker, WorkerFiles};
use super::files::{FileUse, JobTarget, Lengths};
use super::replay::RecordedPlan;
use super::stream::{Handing, JobPlan, JobPlanRequest};
use super::sweep::{SweepPlan, SweepRequest};
use crate::backend::FileKind;
use crate::bound::BoundBackend;
use crate::content::Writers;
use crate::plan::{WorkerPlanError, WorkerSeat};
use crate::setting::Setting;
use crate::targets::{OpenSim, OpenTarget, OpenTargets};
use plumb_workload::job::{FileLock, FileRange, JobOps, SweepParts};
use plumb_workload::{Backend, Bytes, Job, Target, Work, WorkerGroup, Workload};
use std::sync::Arc;

/// The ops of a job, planned.
#[derive(Debug, Clone)]
pub(crate) enum OpsPlan {
    /// Drawn as fio draws them.
    Drawn(JobPlan),
    /// Part after part.
    Swept(SweepPlan),
    /// Read from a recording.
    Recorded(RecordedPlan),
}

impl OpsPlan {
    /// Bytes of the largest op that moves data: the size of a buffer.
    pub(crate) fn largest_block_bytes(&self) -> u64 {
        match self {
            OpsPlan::Drawn(plan) => plan.largest_block_bytes(),
            OpsPlan::Swept(plan) => plan.block_bytes(),
            OpsPlan::Recorded(plan) => plan.largest_block_bytes(),
        }
    }

    /// Bytes of the smallest op that moves data; what is left at the end of a part may be less.
    pub(crate) fn smallest_block_bytes(&self) -> u64 {
        match self {
            OpsPlan::Drawn(plan) => plan.smallest_block_bytes(),
            OpsPlan::Swept(plan) => plan.block_bytes(),
            OpsPlan::Recorded(plan) => plan.smallest_block_bytes(),
        }
    }

    /// Distinct bytes that its ops can touch.
    pub(crate) fn working_set_bytes(&self) -> u64 {
        match self {
            OpsPlan::Drawn(plan) => plan.working_set_bytes(),
            OpsPlan::Swept(plan) => plan.working_set_bytes(),
            OpsPlan::Recorded(plan) => plan.reached_bytes(),
        }
    }
}

/// Plans a job on an open target. What depends on the files as they are is put into the job: where a job that appends
/// begins.
pub(crate) fn plan(seat: &WorkerSeat<'_>, job: &mut Job, target: &OpenTarget) -> Result<OpsPlan, WorkerPlanError> {
    if seat.group.count != 1 {
        return Err(seat.error("a job is one worker; make a group of each (`count = 1`)"));
    }
    let (lengths, alignment) = match target {
        OpenTarget::Job(files) => {
            if job.files.append {
                append(job, files);
            }
            let alignment = if job.files.direct { files.direct_alignment_bytes } else { 1 };
            (reached_lengths(job, files), alignment)
        }
        OpenTarget::Null { bytes } => (null_lengths(job, *bytes), 1),
        OpenTarget::Sim(sim) => (simulated_lengths(seat, job, sim)?, 1),
        OpenTarget::Files(_) | OpenTarget::Tree(_) | OpenTarget::Copy { .. } | OpenTarget::Scratch(_) => {
            return Err(seat.error(format!("`{}` has no files for a job; use a `job-files` target", seat.group.target)));
        }
    };
    let verifies = seat.group.verify.is_some();
    if let JobOps::Sweep(sweep) = &job.ops {
        let request = SweepRequest { job, sweep, verifies, files: lengths.count(), alignment_bytes: alignment };
        return SweepPlan::new(&request).map(OpsPlan::Swept).map_err(|error| seat.error(error));
    }
    if let JobOps::Recording(recording) = &job.ops {
        return RecordedPlan::new(job, seat.group, recording, lengths.to_vec(), alignment)
            .map(OpsPlan::Recorded)
            .map_err(|reason| seat.error(reason));
    }
    let request = JobPlanRequest {
        job,
        verify: seat.group.verify.as_ref(),
        file_lengths: &lengths,
        io_alignment_bytes: alignment,
        handing: handing(&seat.group.backend, seat.group.depth),
        cached: matches!(target, OpenTarget::Job(_)) && caches(&seat.group.backend),
    };
    JobPlan::new(&request).map(OpsPlan::Drawn).map_err(|error| seat.error(error))
}

/// Whether a backend's ops go through the page cache.
fn caches(backend: &Backend) -> bool {
    FileUse::of(backend) == FileUse::Opened && !matches!(backend, Backend::Fallocate | Backend::Truncate)
}

/// The worker of a job.
pub(crate) fn worker(
    workload: &Workload,
    seat: &WorkerSeat<'_>,
    job: &Job,
    targets: &OpenTargets,
    setting: &Setting<'_>,
    notes: &mut Vec<String>,
) -> Result<JobWorker, WorkerPlanError> {
    let group = seat.group;
    let Some(target) = targets.get(&group.target) else {
        return Err(seat.error(format!("`{}` has no files for a job; use a `job-files` target", group.target)));
    };
    let mut job = Box::new(job.clone());
    let plan = plan(seat, &mut job, target)?;
    let (files, backend, note) = match (target, workload.target.get(&group.target)) {
        (OpenTarget::Job(open), Some(Target::JobFiles(files))) => {
            refuse_torn(seat, &job)?;
            let (backend, note) = BoundBackend::of(&group.backend, group.depth).map_err(|error| seat.error(error))?;
            (WorkerFiles::Of { target: Arc::clone(open), files: files.clone() }, backend, note)
        }
        (OpenTarget::Null { bytes }, _) => {
            // A socket needs no files; everything else has nothing to go to.
            let (backend, note) = match FileUse::of(&group.backend) {
                FileUse::Unused => BoundBackend::of(&group.backend, group.depth).map_err(|error| seat.error(error))?,
                _ => (BoundBackend::Null, None),
            };
            (WorkerFiles::Nothing { lengths: null_lengths(&job, *bytes) }, backend, note)
        }
        (OpenTarget::Sim(sim), _) => {
            let lengths = simulated_lengths(seat, &job, sim)?;
            (WorkerFiles::Nothing { lengths }, BoundBackend::Sim(sim.device.clone()), None)
        }
        _ => return Err(seat.error(format!("`{}` has no files for a job; use a `job-files` target", group.target))),
    };
    let recordings = match (&plan, setting.recordings) {
        (OpsPlan::Recorded(plan), None) => {
            let path = plan.recording.path.display();
            return Err(seat.error(format!("{path}: nobody here reads recordings; use the `plumb` command")));
        }
        (_, recordings) => recordings,
    };
    notes.extend(note.filter(|note| !notes.contains(note)));
    Ok(JobWorker {
        name: seat.group_name(),
        group: group.clone(),
        plan,
        files,
        backend,
        queue: seat.queue(),
        base: setting.base.to_owned(),
        content_seed: workload.seed ^ setting.content_seed,
        pacing: seat.pacing(),
        writers: writers(seat),
        recordings,
        job,
    })
}

/// Whether other groups of the phase write to the same target.
fn writers(seat: &WorkerSeat<'_>) -> Writers {
    let others = seat.phase.workers.iter().enumerate().filter(|(number, _)| *number != seat.group_number);
    let mut same = others.filter(|(_, group)| group.target == seat.group.target);
    let write = |group: &WorkerGroup| matches!(&group.work, Work::Job(job) if job.moves().write || job.moves().trim);
    if same.any(|(_, group)| write(group)) { Writers::Several } else { Writers::One }
}

/// Begins where each file ends.
fn append(job: &mut Job, files: &JobTarget) {
    let JobOps::Stream(stream) = &mut job.ops else { return };
    let behind = |range: &FileRange, length: u64| FileRange {
        start: Bytes(range.start.0.saturating_add(length)),
        length: range.length,
    };
    let ranges = std::mem::take(&mut stream.ranges);
    stream.ranges = match (&files.lengths, ranges.as_slice()) {
        (Lengths::Same { bytes, .. }, ranges) => ranges.iter().map(|range| behind(range, *bytes)).collect(),
        (Lengths::Each(_), []) => Vec::new(),
        (Lengths::Each(each), [.., last]) => each
            .iter()
            .enumerate()
            .map(|(number, &length)| behind(ranges.get(number).unwrap_or(last), length))
            .collect(),
    };
}

/// Lengths of files as far as the job may go: those that it writes to without reading grow with it.
fn reached_lengths(job: &Job, files: &JobTarget) -> Lengths {
    let JobOps::Stream(stream) = &job.ops else { return files.lengths.clone() };
    let moves = job.moves();
    if files.kind == FileKind::Regular && moves.write && !moves.trim && (!moves.read || stream.fill_device) {
        files
            .lengths
            .with_ranges(&stream.ranges, |length, range| length.max(range.start.0.saturating_add(range.length.0)))
    } else {
        files.lengths.clone()
    }
}

/// Lengths of files that are not there: as far as the job's ranges go.
fn null_lengths(job: &Job, bytes: u64) -> Lengths {
    Lengths::from_each(match &job.ops {
        JobOps::Stream(stream) if !stream.ranges.is_empty() => {
            stream.ranges.iter().map(|range| range.start.0.saturating_add(range.length.0)).collect()
        }
        JobOps::Sweep(sweep) => {
            let files = match &sweep.parts {
                SweepParts::Files { lengths } => lengths.len(),
                SweepParts::Said(parts) => parts.iter().map(|part| part.file as usize + 1).max().unwrap_or(1),
            };
            sweep.ends(files)
        }
        _ => vec![bytes],
    })
}

/// Lengths of the files of a simulated device: equal parts of it, one after another.
fn simulated_lengths(seat: &WorkerSeat<'_>, job: &Job, sim: &OpenSim) -> Result<Lengths, WorkerPlanError> {
    let files = sim.file_count();
    let most = sim.bytes / files.max(1);
    let lengths = match &job.ops {
        JobOps::Stream(stream) => match stream.ranges.as_slice() {
            [] => Lengths::from_each(vec![most; files as usize]),
            ranges @ [.., last] => {
                let of = |number: usize| ranges.get(number).unwrap_or(last);
                let end = |number: usize| of(number).start.0.saturating_add(of(number).length.0);
                Lengths::from_each((0..files as usize).map(end).collect())
            }
        },
        JobOps::Sweep(sweep) => Lengths::from_each(sweep.ends(files as usize)),
        JobOps::Recording(_) => Lengths::from_each(vec![most; files as usize]),
    };
    let longest = lengths.to_vec().into_iter().max().unwrap_or(0);
    if lengths.count() as u64 > files || longest > most {
        return Err(seat.error(format!(
            "it goes up to byte {longest} of {} files, and the simulated device has {files} of {most} bytes; give it a \
             larger `size` or more `files`",
            lengths.count()
        )));
    }
    if job.files.lock != FileLock::None || job.files.record_lock.is_some() {
        return Err(seat.error("a simulated device has no files to lock; leave its locks out"));
    }
    Ok(lengths)
}

/// How a backend takes ops.
fn handing(backend: &Backend, depth: u32) -> Handing {
    match backend {
        Backend::IoUring { .. } | Backend::Libaio { .. } | Backend::PosixAio | Backend::SeekVectored => Handing::Queued,
        Backend::Auto | Backend::Null | Backend::Sim if depth > 1 => Handing::Queued,
        _ => Handing::Inline,
    }
}

/// Whether the backend has atomic writes, where they are asked for.
fn refuse_torn(seat: &WorkerSeat<'_>, job: &Job) -> Result<(), WorkerPlanError> {
    match &seat.group.backend {
        Backend::Preadv2 { .. } | Backend::IoUring { .. } | Backend::Libaio { .. } => Ok(()),
        _ if !job.files.atomic_writes => Ok(()),
        other => Err(seat.error(format!(
            "the backend `{}` has no atomic writes; use preadv2 (fio's pvsync2), libaio or io-uring, or leave \
             `atomic-writes` (fio's atomic) out",
            other.name()
        ))),
    }
}
