//! A [`Report`] of what Plumb measured.
//!
//! What fio calls completion latency is here the whole time of an op, from its start to its completion: the engine does
//! not part submission from it, and for ops that complete inside the submitting call, buffered ones above all, only the
//! whole means anything. `slat` is then [unknown](Figure::Unknown), so that `slat` and `clat` still add up to `lat`.

use super::grid::BucketShares;
use super::report::*;
use crate::fio::Compat;
use plumb_result::{
    Histogram, Interval, Measurement, Observations, OpMeasurement, PhaseMeasurement, WorkerMeasurement,
};
use plumb_workload::OpKind;

/// What a report says apart from what was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Heading {
    /// As [`Report::version`].
    pub version: String,
    /// As [`Report::at`].
    pub at: Moment,
    /// As [`Report::global_options`].
    pub global_options: Vec<GivenOption>,
    /// As [`Report::compat`].
    pub compat: Compat,
    /// `disk_util`.
    pub disks: DiskStats,
}

/// `disk_util`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiskStats {
    /// Shown.
    #[default]
    Shown,
    /// Not shown.
    Off,
}

/// A fio job, or a group of them that is reported as one, and where in the measurement its numbers are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobSource {
    /// All that is known without measuring: names, options, how numbers are shown. The variant of `io` says how
    /// directions are grouped, `continued` whether errors are passed over, `steady` which rule was asked for; an `error`
    /// that is there stays. All other numbers are replaced.
    pub job: Job,
    /// Its phase in [`Measurement::phases`].
    pub phase: usize,
    /// Its part of that phase.
    pub share: Share,
    /// Which latencies are kept.
    pub latencies: Latencies,
}

/// Which part of a phase a job is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Share {
    /// All of it.
    #[default]
    Whole,
    /// The worker groups of these names; a group without a name is `workers.` and its place in the phase's list.
    Groups(Vec<String>),
}

/// `disable_slat`, `disable_clat`, `disable_lat`, `disable_bw_measurement`: what is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latencies {
    /// Submission latency.
    pub slat: Kept,
    /// Completion latency.
    pub clat: Kept,
    /// Total latency.
    pub lat: Kept,
    /// Samples of rates.
    pub samples: Kept,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies { slat: Kept::Yes, clat: Kept::Yes, lat: Kept::Yes, samples: Kept::Yes }
    }
}

/// Whether something is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kept {
    /// It is.
    #[default]
    Yes,
    /// Switched off.
    No,
}

/// Why there is no report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A job's phase was not measured although the run came to its end.
    #[error(
        "job `{job}` should be phase {phase} of the measurement, which has {phases} phases; the job was lowered to another workload than the one that ran"
    )]
    NoPhase {
        /// The job.
        job: String,
        /// Its phase.
        phase: usize,
        /// How many there are.
        phases: usize,
    },
    /// Jobs ran at once and did several kinds of ops, which the engine counts together.
    #[error(
        "the numbers of job `{job}` cannot be told apart: phase `{phase}` ran other jobs at the same time, and the engine counts {kinds} of all of them together; report them as one with group_reporting, or part them with stonewall"
    )]
    Together {
        /// The job.
        job: String,
        /// Its phase's name.
        phase: String,
        /// What was done in it.
        kinds: String,
    },
}

/// The report of a run. `observations` yield the disks.
pub fn report_of(
    heading: Heading,
    jobs: Vec<JobSource>,
    measurement: &Measurement,
    observations: Option<&Observations>,
) -> Result<Report, BuildError> {
    let jobs = jobs.into_iter().map(|source| job_of(source, measurement)).collect::<Result<Vec<Job>, BuildError>>()?;
    let disks = match heading.disks {
        DiskStats::Shown => Some(observations.map(super::build_disks::disks_of).unwrap_or_default()),
        DiskStats::Off => None,
    };
    let Heading { version, at, global_options, compat, .. } = heading;
    Ok(Report { version, at, global_options, jobs, disks, compat })
}

fn job_of(source: JobSource, measurement: &Measurement) -> Result<Job, BuildError> {
    let JobSource { mut job, phase: number, share, latencies } = source;
    let Some(phase) = measurement.phases.get(number) else {
        return match (&measurement.error, measurement.interrupted) {
            (Some(error), _) => {
                job.error.get_or_insert(JobError { code: ECANCELED, text: format!("not started: {error}") });
                Ok(job)
            }
            (None, true) => Ok(job),
            (None, false) => {
                Err(BuildError::NoPhase { job: job.name, phase: number, phases: measurement.phases.len() })
            }
        };
    };
    let part = part_of(&job, phase, &share)?;
    let read = part.direction(OpKind::Read, latencies);
    let write = part.direction(OpKind::Write, latencies);
    let trim = part.direction(OpKind::Trim, latencies);
    let shapes = [&read, &write, &trim].map(|one| one.lat.value().or(one.clat.value()).cloned());
    let ios = read.ios + write.ios + trim.ios;
    let split = Split { read, write, trim };
    job.io = match job.io {
        Io::Separate(_) => Io::Separate(split),
        Io::Mixed(_) => Io::Mixed(Box::new(part.mixed(latencies))),
        Io::Both(..) => Io::Both(split, Box::new(part.mixed(latencies))),
    };
    job.latency_shares = match latencies.clat {
        Kept::Yes => BucketShares::of(shapes.iter().flatten().filter_map(|one| one.histogram.as_ref()), ios),
        Kept::No => BucketShares::default(),
    };
    job.sync = part.sync();
    job.runtime_ms = match part.workers.is_empty() {
        true => part.runtime_ms(),
        false => part.workers.iter().map(|one| whole_ms(one.wall_ns)).sum(),
    };
    job.cpu = part.cpu();
    job.depths = part.depths();
    errors(&mut job, phase, &part);
    if let Some(state) = &mut job.steady {
        let kept = usize::try_from(state.duration_s).unwrap_or(usize::MAX);
        let seconds = &part.intervals[part.intervals.len().saturating_sub(kept)..];
        let moved = |one: &Interval| {
            one.ops.values().map(|op| (op.bytes, op.count)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
        };
        let rate = |amount: u64, one: &Interval| (amount as f64 * 1e9 / one.length_ns.max(1) as f64).round() as u64;
        state.bytes_per_second = seconds.iter().map(|one| rate(moved(one).0, one)).collect();
        state.iops = seconds.iter().map(|one| rate(moved(one).1, one)).collect();
        state.attained = phase.steady.unwrap_or(false);
        state.look();
    }
    Ok(job)
}

/// The error number of a job that was never started.
const ECANCELED: i32 = 125;
/// The error number that fio gives to data that is not what was written (EILSEQ).
const EILSEQ: i32 = 84;
/// The error number of a worker that ended for a reason without one (EIO).
const EIO: i32 = 5;

fn errors(job: &mut Job, phase: &PhaseMeasurement, part: &Part) {
    let first = phase.faults.first();
    let code = first.map_or(EIO, |fault| fault.errno.unwrap_or(EILSEQ));
    let ended = part.workers.iter().filter_map(|one| one.ended_by.as_ref()).find(|reason| *reason != "interrupted");
    // Of jobs that ran at once, only what ended a worker of its own is known to be the job's.
    let failed = ended.is_some() || (part.whole && phase.fault_count > 0);
    let told = first.map(|fault| format!("{} of {}: {}", fault.op.name(), fault.path.display(), fault.message));
    if let Some(continued) = job.continued.as_mut().filter(|_| part.whole) {
        continued.total = phase.fault_count;
        continued.first_code = if phase.fault_count > 0 { code } else { 0 };
        continued.first_text = told.clone().unwrap_or_default();
    }
    if failed && job.error.is_none() {
        let text = told.or_else(|| ended.cloned()).unwrap_or_else(|| "failed".to_owned());
        job.error = Some(JobError { code, text });
    }
}

/// A job's part of a phase.
struct Part<'a> {
    phase: &'a PhaseMeasurement,
    workers: Vec<&'a WorkerMeasurement>,
    /// The only thing that a part of a phase can be known to have done.
    only: Option<OpKind>,
    whole: bool,
    intervals: &'a [Interval],
}

const TOGETHER: &str = "the engine keeps one distribution for all jobs that run at once";

fn part_of<'a>(job: &Job, phase: &'a PhaseMeasurement, share: &Share) -> Result<Part<'a>, BuildError> {
    let of_group = |one: &WorkerMeasurement, group: &String| {
        one.name.rsplit_once('/').map_or(one.name.as_str(), |(group, _)| group) == group
    };
    let workers: Vec<&WorkerMeasurement> = match share {
        Share::Whole => phase.workers.iter().collect(),
        Share::Groups(groups) => {
            phase.workers.iter().filter(|one| groups.iter().any(|group| of_group(one, group))).collect()
        }
    };
    let whole = workers.len() == phase.workers.len();
    let done: Vec<OpKind> = phase.ops.iter().filter(|(_, op)| op.count > 0).map(|(kind, _)| *kind).collect();
    match (whole, done.as_slice()) {
        (true, _) => Ok(Part { phase, workers, only: None, whole, intervals: &phase.intervals }),
        (false, []) => Ok(Part { phase, workers, only: None, whole, intervals: &[] }),
        (false, [only]) => Ok(Part { phase, workers, only: Some(*only), whole, intervals: &[] }),
        (false, kinds) => Err(BuildError::Together {
            job: job.name.clone(),
            phase: phase.name.clone(),
            kinds: kinds.iter().map(|kind| kind.name()).collect::<Vec<&str>>().join(" and "),
        }),
    }
}

fn whole_ms(ns: u64) -> u64 {
    ns.saturating_add(500_000) / 1_000_000
}

impl Part<'_> {
    fn runtime_ms(&self) -> u64 {
        let longest = self.workers.iter().map(|one| one.wall_ns).max().unwrap_or(self.phase.wall_ns);
        whole_ms(longest).max(1)
    }

    fn direction(&self, kind: OpKind, latencies: Latencies) -> Direction {
        self.over(&[kind], latencies)
    }

    fn mixed(&self, latencies: Latencies) -> Direction {
        self.over(&[OpKind::Read, OpKind::Write, OpKind::Trim], latencies)
    }

    fn over(&self, kinds: &[OpKind], latencies: Latencies) -> Direction {
        let ops: Vec<&OpMeasurement> = kinds.iter().filter_map(|kind| self.phase.ops.get(kind)).collect();
        let mine = |kind: OpKind| kinds.contains(&kind);
        let (ios, bytes) = match (self.whole, self.only) {
            (true, _) => (ops.iter().map(|op| op.count).sum(), ops.iter().map(|op| op.bytes).sum()),
            (false, Some(only)) if mine(only) => {
                (self.workers.iter().map(|one| one.count).sum(), self.workers.iter().map(|one| one.bytes).sum())
            }
            (false, _) => (0, 0),
        };
        if ios == 0 {
            return Direction { short: Figure::Is(0), dropped: Figure::Is(0), ..Direction::default() };
        }
        let kept = |kept: Kept| -> Figure<Latency> {
            match (kept, self.whole) {
                (Kept::No, _) => Figure::Off,
                (Kept::Yes, false) => Figure::Unknown(TOGETHER.to_owned()),
                (Kept::Yes, true) => Figure::Is(Latency::of(&merged(&ops))),
            }
        };
        let movers = self.phase.ops.iter().filter(|(kind, op)| kind.moves_bytes() && op.count > 0);
        let alone = self.whole && movers.filter(|(kind, _)| !mine(**kind)).count() == 0;
        Direction {
            bytes,
            ios,
            short: match (self.phase.short_count, alone) {
                (0, _) => Figure::Is(0),
                (short, true) => Figure::Is(short),
                (_, false) => Figure::Unknown("short transfers are counted for all ops of a phase together".to_owned()),
            },
            // Plumb never gives an op up: it completes, or it fails.
            dropped: Figure::Is(0),
            runtime_ms: self.runtime_ms(),
            slat: match (latencies.slat, self.at_once()) {
                (Kept::No, _) => Figure::Off,
                // A call that returns when the op is done has no submission of its own; fio keeps none either.
                (Kept::Yes, true) => Figure::Off,
                (Kept::Yes, false) => {
                    Figure::Unknown("an op is timed as a whole; its submission is part of clat_ns".to_owned())
                }
            },
            clat: kept(latencies.clat),
            lat: kept(latencies.lat),
            bandwidth: self.samples(latencies.samples, |one| {
                kinds.iter().filter_map(|kind| one.ops.get(kind)).map(|op| op.bytes as f64 / 1024.0).sum()
            }),
            iops: self.samples(latencies.samples, |one| {
                kinds.iter().filter_map(|kind| one.ops.get(kind)).map(|op| op.count as f64).sum()
            }),
        }
    }

    /// Rates by interval, those without an op among them. The rest of a second at the end is left out: its rate says more
    /// about the clock than about the disk.
    fn samples(&self, kept: Kept, amount: impl Fn(&Interval) -> f64) -> Figure<Samples> {
        if kept == Kept::No {
            return Figure::Off;
        }
        if !self.whole {
            return Figure::Unknown("intervals are of all jobs that run at once".to_owned());
        }
        let longest = self.intervals.iter().map(|one| one.length_ns).max().unwrap_or(0);
        let rates: Vec<f64> = self
            .intervals
            .iter()
            .filter(|one| one.length_ns > 0 && one.length_ns >= longest / 2)
            .map(|one| amount(one) * 1e9 / one.length_ns as f64)
            .collect();
        Samples::of(&rates).map_or(Figure::Off, Figure::Is)
    }

    /// Whether every worker had one op in flight at most, so that depths and batches are known.
    fn at_once(&self) -> bool {
        !self.workers.is_empty() && self.workers.iter().all(|one| one.depth_asked <= 1)
    }

    fn sync(&self) -> Sync {
        let kinds = [OpKind::Fsync, OpKind::Fdatasync];
        match (self.whole, self.only) {
            (false, Some(only)) if kinds.contains(&only) => Sync {
                count: self.workers.iter().map(|one| one.count).sum(),
                latency: Figure::Unknown(TOGETHER.to_owned()),
            },
            (false, _) => Sync::default(),
            (true, _) => {
                let ops: Vec<&OpMeasurement> = kinds.iter().filter_map(|kind| self.phase.ops.get(kind)).collect();
                match ops.iter().map(|op| op.count).sum() {
                    0 => Sync::default(),
                    count => Sync { count, latency: Figure::Is(Latency::of(&merged(&ops))) },
                }
            }
        }
    }

    fn cpu(&self) -> Cpu {
        let faults = || Figure::Unknown("page faults are not counted".to_owned());
        Cpu {
            user_ns: self.workers.iter().map(|one| one.cpu_user_ns).sum(),
            system_ns: self.workers.iter().map(|one| one.cpu_system_ns).sum(),
            context_switches: Figure::Unknown("only a worker's own waits are counted, not its preemptions".to_owned()),
            major_faults: faults(),
            minor_faults: faults(),
        }
    }

    fn depths(&self) -> Depths {
        let done = self.workers.iter().any(|one| one.count > 0);
        if !done {
            return Depths::default();
        }
        if self.at_once() {
            let batches = || Figure::Is([0.0, 100.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
            let level = Figure::Is([100.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
            return Depths { level, submit: batches(), complete: batches() };
        }
        let unknown = |what: &str| Figure::Unknown(what.to_owned());
        Depths {
            level: unknown("only the mean number of ops in flight is measured"),
            submit: unknown("sizes of submitted batches are not counted"),
            complete: unknown("sizes of completed batches are not counted"),
        }
    }
}

fn merged(ops: &[&OpMeasurement]) -> Histogram {
    let mut all = Histogram::new();
    for op in ops {
        all.merge(&op.service);
    }
    all
}
