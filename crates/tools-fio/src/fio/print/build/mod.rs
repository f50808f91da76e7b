//! Builds a [`Report`] from a measurement: every number of a job comes from its workers.
//!
//! Total latency (`lat`) runs from an op's start to its completion. If submission was timed, it has two parts: `slat`,
//! the time of the submission, and `clat`, the time after it. If an op completes within the submitting call, `clat` is
//! `lat`, as in fio, and there is no `slat`.

mod disks;
mod part;
mod queue;
mod series;

use super::grid::BucketShares;
use super::report::*;
use crate::fio::Compat;
use part::Part;
use plumb_result::{Measurement, Observations, WorkerMeasurement};
use plumb_workload::OpKind;
use plumb_workload::process::IoPriority;

/// The parts of a report that are not measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Heading {
    /// As [`Report::version`].
    pub version: String,
    /// As [`Report::at`].
    pub at: ReportTime,
    /// As [`Report::global_options`].
    pub global_options: Vec<GivenOption>,
    /// As [`Report::compat`].
    pub compat: Compat,
    pub disks: DiskStats,
    pub stage: Stage,
    /// Clock start of each phase, in milliseconds since 1970. A phase beyond the end of the
    /// list started at the report's own time.
    pub phase_starts_unix_ms: Vec<u64>,
    /// As [`JobTimes::elapsed_s`].
    pub elapsed_s: u64,
    /// As [`Report::idleness`].
    pub idleness: Option<Idleness>,
}

/// Whether a report is final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stage {
    /// Interim results of a running job.
    SoFar,
    #[default]
    Final,
}

/// Whether the report contains disks (`disk_util`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiskStats {
    #[default]
    Shown,
    Off,
}

/// A fio job, or a group of jobs reported as one, and its location in the measurement.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobSource {
    /// The facts known without measuring: names, options, number formats.
    ///
    /// The variant of `io` gives the grouping of directions, `continued` whether errors are ignored, `steady` the
    /// requested rule; an existing `error` is kept. All other numbers are replaced.
    pub job: JobReport,
    pub members: Vec<JobMember>,
    pub latencies: Latencies,
    /// Window lengths of the reported rates.
    pub windows: Windows,
}

/// A worker group: one copy of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobMember {
    /// Index in [`Measurement::phases`].
    pub phase: usize,
    /// Name of the group. A group without a name is `workers.` and its index in the phase.
    pub group: String,
    /// I/O priority, if the job sets one.
    pub priority: Option<IoPriority>,
}

/// The recorded statistics, as switched by `disable_slat`, `disable_clat`, `disable_lat` and `disable_bw_measurement`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latencies {
    pub slat: KeptLog,
    pub clat: KeptLog,
    pub lat: KeptLog,
    pub samples: KeptLog,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies { slat: KeptLog::Yes, clat: KeptLog::Yes, lat: KeptLog::Yes, samples: KeptLog::Yes }
    }
}

/// `bwavgtime` and `iopsavgtime`. As in fio, a shorter rest at the end of a job has no rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// Window for bandwidth, in nanoseconds.
    pub bandwidth_ns: u64,
    /// Window for ops per second, in nanoseconds.
    pub iops_ns: u64,
}

impl Default for Windows {
    fn default() -> Windows {
        Windows { bandwidth_ns: 500_000_000, iops_ns: 500_000_000 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeptLog {
    #[default]
    Yes,
    No,
}

/// Error from building a report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The run completed, but a job was not measured.
    #[error(
        "job `{job}` should be worker group `{group}` of phase {phase} of the measurement, which does not contain it; the job was lowered to a different workload"
    )]
    NotMeasured { job: String, phase: usize, group: String },
}

/// Builds the report of a run; `observations` provide the disks.
///
/// # Errors
///
/// [`BuildError`] if measurement and jobs do not belong together.
pub fn report_of(
    heading: Heading,
    jobs: Vec<JobSource>,
    measurement: &Measurement,
    observations: Option<&Observations>,
) -> Result<Report, BuildError> {
    let build = |source: JobSource| job_of(source, &heading, measurement);
    let jobs = jobs.into_iter().map(build).collect::<Result<Vec<JobReport>, BuildError>>()?;
    let disks = match heading.disks {
        DiskStats::Shown => Some(observations.map(disks::disks_of).unwrap_or_default()),
        DiskStats::Off => None,
    };
    let Heading { version, at, global_options, compat, idleness, .. } = heading;
    Ok(Report { version, at, global_options, jobs, disks, idleness, compat })
}

/// Returns the measured workers of a job with their phases.
fn workers<'a>(
    source: &JobSource,
    heading: &Heading,
    measurement: &'a Measurement,
) -> Result<Vec<Measured<'a>>, BuildError> {
    let may_be_missing = heading.stage == Stage::SoFar || measurement.interrupted || measurement.error.is_some();
    let mut found = Vec::new();
    for member in &source.members {
        let phase = measurement.phases.get(member.phase);
        let group_of = |one: &WorkerMeasurement| {
            one.name.rsplit_once('/').map_or(one.name == member.group, |(group, _)| group == member.group)
        };
        let before = found.len();
        let of_phase = phase.into_iter().flat_map(|phase| &phase.workers).filter(|one| group_of(one));
        found.extend(of_phase.map(|worker| Measured { phase: member.phase, worker, priority: member.priority }));
        if found.len() == before && !may_be_missing {
            return Err(BuildError::NotMeasured {
                job: source.job.name.clone(),
                phase: member.phase,
                group: member.group.clone(),
            });
        }
    }
    Ok(found)
}

/// A worker and its phase.
#[derive(Debug, Clone, Copy)]
struct Measured<'a> {
    phase: usize,
    worker: &'a WorkerMeasurement,
    priority: Option<IoPriority>,
}

fn job_of(source: JobSource, heading: &Heading, measurement: &Measurement) -> Result<JobReport, BuildError> {
    let found = workers(&source, heading, measurement)?;
    let JobSource { mut job, latencies, windows, .. } = source;
    job.times.elapsed_s = heading.elapsed_s;
    job.times.started_unix_ms = heading.at.unix_ms;
    let Some(first) = found.first() else {
        if let Some(error) = &measurement.error {
            job.failures.error.get_or_insert(JobError { code: ECANCELED, text: format!("not started: {error}") });
        }
        return Ok(job);
    };
    let phase_start_ms = heading.phase_starts_unix_ms.get(first.phase).copied();
    let since_ns = measurement.phases[first.phase].searched_ns + first.worker.started_ns;
    job.times.started_unix_ms = phase_start_ms.map_or(heading.at.unix_ms, |ms| ms + since_ns / 1_000_000);
    let part = Part {
        workers: found.iter().map(|one| one.worker).collect(),
        priorities: found.iter().map(|one| one.priority).collect(),
        latencies,
        windows,
    };
    let read = part.direction(&[OpKind::Read]);
    let write = part.direction(&[OpKind::Write]);
    let trim = part.direction(&[OpKind::Trim]);
    let shapes = [&read, &write, &trim].map(|one| one.clat.value().cloned());
    let ios = read.ios + write.ios + trim.ios;
    let split = Split { read, write, trim };
    let mixed = || Box::new(part.direction(&[OpKind::Read, OpKind::Write, OpKind::Trim]));
    job.io = match job.io {
        Io::Separate(_) => Io::Separate(split),
        Io::Mixed(_) => Io::Mixed(mixed()),
        Io::Both(..) => Io::Both(split, mixed()),
    };
    job.latency_shares = match latencies.clat {
        KeptLog::Yes => {
            BucketShares::from_histograms(shapes.iter().flatten().filter_map(|one| one.histogram.as_ref()), ios)
        }
        KeptLog::No => BucketShares::default(),
    };
    job.sync = part.sync();
    job.runtime_ms = part.workers.iter().map(|one| part::whole_ms(one.wall_ns)).sum();
    job.pid = part.workers.iter().find_map(|one| one.pid).unwrap_or(0);
    job.cpu = part.cpu();
    job.depths = queue::depths(&part.workers);
    errors(&mut job, &part.workers);
    if let Some(state) = &mut job.steady
        && let Some(outcome) = part.workers.iter().find_map(|one| one.steady.as_ref())
    {
        state.take(outcome);
    }
    if let Some(target) = &mut job.latency_target
        && let Some(search) = part.workers.iter().find_map(|one| one.depth_search)
    {
        target.depth = search.depth;
    }
    Ok(job)
}

/// Error number of a job that never started.
const ECANCELED: i32 = 125;
/// fio's error number for failed verification.
const EILSEQ: i32 = 84;
/// Error number of a worker that failed without one.
const EIO: i32 = 5;

/// Error text of a worker killed by a signal.
const INTERRUPTED: &str = "interrupted";

/// Returns the system's text for an error, without its number.
fn name_of(errno: i32) -> String {
    let name = std::io::Error::from_raw_os_error(errno).to_string();
    name.split(" (os error").next().unwrap_or_default().to_owned()
}

fn errors(job: &mut JobReport, workers: &[&WorkerMeasurement]) {
    let first = workers.iter().find_map(|one| one.faults.first());
    let code = first.map_or(EIO, |fault| fault.errno.unwrap_or(EILSEQ));
    let text_of_first = first.map(|fault| {
        // The reason why a file cannot be opened may be long; the error number has a short text.
        let error = fault.errno.filter(|_| fault.op == OpKind::Open).map_or_else(|| fault.message.clone(), name_of);
        format!("file:{}, func={}, error={error}", fault.path.display(), fault.op.name())
    });
    let count: u64 = workers.iter().map(|one| one.fault_count).sum();
    let ended = workers.iter().filter_map(|one| one.ended_by.as_ref()).find(|reason| *reason != INTERRUPTED);
    if let Some(continued) = &mut job.failures.continued {
        continued.total = count;
        continued.first_code = if count > 0 { code } else { 0 };
        continued.first_text = text_of_first.clone().unwrap_or_default();
    }
    // Ignored errors do not fail a job.
    let failed = ended.is_some() || (count > 0 && job.failures.continued.is_none());
    if failed && job.failures.error.is_none() {
        let text = text_of_first.or_else(|| ended.cloned()).unwrap_or_else(|| "failed".to_owned());
        job.failures.error = Some(JobError { code, text });
    }
}
