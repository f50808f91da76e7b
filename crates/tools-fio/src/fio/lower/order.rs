//! Copies, groups, phases and waits: how jobs depend on each other.

use super::backend;
use super::clone::JobClone;
use super::error::{JobFault, LowerError, LowerErrors};
use super::facts::Layout;
use super::foreseen::{Foreseen, LaidOut};
use super::names::{self, Labels};
use super::places::Places;
use super::plan::{self, PlannedJob};
use super::{Check, Entropy, Lowered, LoweredJob, PhaseMember, Unrunnable, pace, parts, replay, sizes, stream, verify};
use crate::fio::Fio;
use crate::fio::job::FioJob;
use crate::fio::options::direction::{Generator, NORANDOMMAP, RANDOM_GENERATOR, RANDREPEAT, RANDSEED};
use crate::fio::options::engine::CpuMode;
use crate::fio::options::files::{FILES_MAX, NRFILES};
use crate::fio::options::job::{JOBS_MAX, NUMJOBS};
use crate::fio::options::queue::{IODEPTH, SubmitMode};
use crate::fio::options::stop::ExitWhat;
use crate::fio::value::distribution::RandomDistribution;
use plumb_workload::files::{JobFiles, Names};
use plumb_workload::limits::QUEUE_DEPTH_MAX;
use plumb_workload::phase::{Limit, OnError, RampUntil, RunAs};
use plumb_workload::{
    Activity, Busy, Bytes, ClockScope, Companion, End, Exec, Flush, Nanos, NullTarget, Phase, Start, Target, WhenDone,
    WorkerGroup, Workload,
};
use std::collections::BTreeMap;

struct Lowering<'a> {
    fio: &'a Fio,
    places: &'a mut dyn Places,
    entropy: Entropy,
    check: Check,
    labels: Labels,
    target_labels: Labels,
    workload: Workload,
    jobs: Vec<LoweredJob>,
    plan: Vec<PlannedJob>,
    warnings: Vec<String>,
    unrunnable: Vec<Unrunnable>,
    errors: Vec<LowerError>,
    /// Names of targets by identity, so that jobs on the same files share one.
    targets: BTreeMap<String, String>,
    laid_out: LaidOut,
}

pub(super) fn lower(
    fio: &Fio,
    places: &mut dyn Places,
    entropy: Entropy,
    check: Check,
) -> Result<Lowered, LowerErrors> {
    let name = fio.jobs.first().map_or("fio", |job| job.name.as_str());
    let mut lowering = Lowering {
        fio,
        places,
        entropy,
        check,
        labels: Labels::default(),
        target_labels: Labels::default(),
        workload: Workload {
            name: names::plain(name),
            description: String::new(),
            seed: Workload::DEFAULT_SEED,
            target: BTreeMap::new(),
            phase: Vec::new(),
            repeat: None,
        },
        jobs: Vec::new(),
        plan: Vec::new(),
        warnings: Vec::new(),
        unrunnable: Vec::new(),
        errors: Vec::new(),
        targets: BTreeMap::new(),
        laid_out: LaidOut::new(),
    };
    lowering.counts()?;
    lowering.all();
    lowering.waits();
    lowering.ends();
    lowering.steady_together();
    lowering.finish()
}

/// Applies fio's rules for `sprandom`.
fn steady_state(copy: &mut JobClone<'_>) {
    let work = &copy.job.direction;
    let why = "it writes every block once by a shift register, and some of them again";
    if copy.replays() || !copy.writes() || !copy.is_random() {
        copy.refuse(JobFault::Needs { option: "sprandom", needs: "rw=randwrite", why });
    } else if copy.is_given(&RANDOM_GENERATOR) && work.random.generator != Generator::Lfsr {
        copy.refuse(JobFault::Needs { option: "sprandom", needs: "random_generator=lfsr", why });
    } else if copy.is_given(&NORANDOMMAP) && !work.random.norandommap {
        copy.refuse(JobFault::Needs { option: "sprandom", needs: "norandommap=1", why });
    } else if work.random.distribution != RandomDistribution::Uniform {
        let (first, second) = ("sprandom", "random_distribution");
        copy.refuse(JobFault::Contradiction { first, second, why: "it spreads its writes itself" });
    } else if copy.names.count() > 1 {
        let why = "several files are not one SSD";
        copy.refuse(JobFault::Contradiction { first: "sprandom", second: "more than one file", why });
    }
}

impl<'a> Lowering<'a> {
    /// Rejects counts that would exhaust memory, before anything is allocated.
    fn counts(&self) -> Result<(), LowerErrors> {
        let (mut jobs, mut files) = (0_u64, 0_u64);
        for job in &self.fio.jobs {
            let copies = u64::from(job.identity.numjobs.max(1));
            jobs += copies;
            if jobs > JOBS_MAX {
                let fault =
                    JobFault::TooMany { option: NUMJOBS.name(), count: jobs, of: "jobs of this run", most: JOBS_MAX };
                return Err(LowerErrors(vec![LowerError::from_fault(job, fault)]));
            }
            files = files.saturating_add(copies * u64::from(job.files.nrfiles));
            if files > FILES_MAX {
                let fault = JobFault::TooMany {
                    option: NRFILES.name(),
                    count: files,
                    of: "files of all its jobs",
                    most: FILES_MAX,
                };
                return Err(LowerErrors(vec![LowerError::from_fault(job, fault)]));
            }
        }
        Ok(())
    }

    fn all(&mut self) {
        let fio = self.fio;
        let mut group_id = 0;
        let mut jobs_of_group = 0;
        let mut thread_number = 0;
        for (index, job) in fio.jobs.iter().enumerate() {
            if self.workload.phase.is_empty() || job.identity.stonewall {
                self.phase(job);
            }
            if (job.identity.stonewall || job.identity.new_group) && jobs_of_group > 0 {
                group_id += 1;
                jobs_of_group = 0;
            }
            let copies = job.identity.numjobs.max(1);
            jobs_of_group += copies;
            // fio creates the first copy, then the last one, and then counts down to the second.
            for copy in std::iter::once(0).chain((1..copies).rev()) {
                thread_number += 1;
                self.copy(index, job, copy, thread_number, group_id);
            }
        }
    }

    fn phase(&mut self, job: &FioJob) {
        let name = format!("{}-{}", self.workload.phase.len() + 1, names::plain(&job.name));
        self.workload.phase.push(Phase {
            // Each job sets its own flush at the end.
            end: End { flush: Flush::None, clock: ClockScope::Outside },
            ..Phase::new(name, Vec::new())
        });
    }

    fn copy(&mut self, index: usize, job: &'a FioJob, number: u32, thread_number: u32, group_id: u32) {
        let mut copy = self.job_clone(job, number, thread_number);
        if let (Some(why), 0) = (&copy.refusal, number) {
            let what = format!("the engine `{}`", backend::name(job));
            let what = if copy.is_zoned() && !backend::is_refused(job) { "zonemode=zbd".to_owned() } else { what };
            self.unrunnable.push(Unrunnable { job: index, what, why: why.clone() });
        }
        self.check(&mut copy);
        let layout = sizes::layout(&mut copy, &mut Foreseen { places: self.places, laid_out: &self.laid_out });
        self.foresee(&copy, &layout);
        let label = match (job.identity.numjobs, number) {
            (..=1, _) => job.name.clone(),
            _ => format!("{}.{number}", names::plain(&job.name)),
        };
        let name = self.labels.fresh(&label);
        let phase = self.workload.phase.len() - 1;
        let (member, target) = match activity(&mut copy) {
            Some(does) => {
                let companions = &mut self.workload.phase[phase].companions;
                companions.push(companion(&copy, name.clone(), does));
                (PhaseMember::Companion(companions.len() - 1), None)
            }
            None => {
                let target = self.target(&copy, &layout);
                let group = group(&mut copy, &layout, name.clone(), target.clone(), self.places);
                let workers = &mut self.workload.phase[phase].workers;
                workers.push(group);
                (PhaseMember::Workers(workers.len() - 1), Some(target))
            }
        };
        let lowered = LoweredJob {
            job: index,
            copy: number,
            thread_number,
            group_id,
            phase,
            member,
            group_name: name,
            target,
            fresh_files: layout.fresh,
            names: copy.names.clone(),
            seed: copy.seed,
        };
        self.plan.push(plan::plan_copy(&copy, &lowered, &layout, &self.workload));
        self.jobs.push(lowered);
        self.report(job, copy);
    }

    /// Makes a copy of a job, with its seed, its files and its recording.
    fn job_clone(&mut self, job: &'a FioJob, number: u32, thread_number: u32) -> JobClone<'a> {
        let seed = if job.direction.random.randrepeat || job.is_given(&RANDSEED) {
            job.direction.random.randseed
        } else {
            self.entropy.0
        };
        let compat = self.fio.invocation.compat;
        let mut faults = Vec::new();
        let recorded = replay::recorded(job, number, compat, self.places).unwrap_or_else(|fault| {
            faults.push(fault);
            None
        });
        let names = match &recorded {
            Some(recorded) => replay::names(job, number, recorded, self.places).unwrap_or_else(|fault| {
                faults.push(fault);
                Names::Given(Vec::new())
            }),
            None => names::files(job, number, self.places),
        };
        JobClone {
            job,
            number,
            thread_number,
            seed,
            compat,
            logs_ops: self.fio.invocation.debug.io,
            engine: backend::traits(backend::name(job)),
            refusal: backend::refusal(job),
            names,
            recorded,
            aux_path: self.fio.invocation.aux_path.as_deref(),
            fixes: Vec::new(),
            warnings: Vec::new(),
            faults,
        }
    }

    /// Reports the warnings and errors of a copy, once per job.
    fn report(&mut self, job: &FioJob, copy: JobClone<'_>) {
        for warning in copy.warnings {
            let text = format!("{}: {}: {warning}", job.place, job.name);
            if !self.warnings.contains(&text) {
                self.warnings.push(text);
            }
        }
        for fault in copy.faults {
            let error = LowerError::from_fault(job, fault);
            if !self.errors.contains(&error) {
                self.errors.push(error);
            }
        }
    }

    /// Applies fio's own checks of a job, which come before all others.
    fn check(&self, copy: &mut JobClone<'_>) {
        let job = copy.job;
        copy.faults.extend(names::empty_count(job));
        let changes_trims = job.trim.percentage > 0 && job.trim.backlog.is_some();
        let reads_only = !(copy.writes() || copy.trims() || changes_trims) || copy.replays();
        if self.fio.invocation.read_only && !reads_only && !copy.engine.does_no_io {
            copy.refuse(JobFault::ReadOnly);
        }
        if job.direction.ops.num_range > 1 {
            let two = matches!(job.direction.rw.ops, crate::fio::value::direction::Ops::TrimWrite);
            if two {
                let why = "each write goes to the range of one trim";
                copy.refuse(JobFault::Contradiction { first: "num_range", second: "rw=trimwrite", why });
            } else if copy.trims() && !copy.engine.trims_ranges {
                let why = "other trims take one range";
                copy.refuse(JobFault::Needs { option: "num_range", needs: "ioengine=io_uring_cmd", why });
            }
        }
        if job.direction.steady_state.is_on {
            steady_state(copy);
        }
        if !copy.is_foreign() {
            copy.faults.extend(backend::engine_fault(job));
        }
        if job.stop.time_based && job.stop.runtime.is_none() {
            copy.warnings.push("time_based has no effect without `runtime`".to_owned());
        }
        if job.files.removal.unlink_each_loop && !copy.writes() && (job.identity.loops > 1 || job.stop.time_based) {
            let why = "deleted files cannot be read again";
            copy.refuse(JobFault::Contradiction { first: "unlink_each_loop", second: "several loops of reads", why });
        }
        if job.logs.issue_time && !(job.logs.offset && job.logs.lat.is_some()) {
            let why = "the issue time is a column of the latency log, after the offset";
            copy.refuse(JobFault::Needs { option: "log_issue_time", needs: "write_lat_log and log_offset", why });
        }
        if copy.depth() > QUEUE_DEPTH_MAX {
            let (count, most) = (copy.depth().into(), QUEUE_DEPTH_MAX.into());
            copy.refuse(JobFault::TooMany { option: IODEPTH.name(), count, of: "ops in flight", most });
        }
        if job.direction.random.softrandommap {
            copy.fix("softrandommap has no effect: the block map is always allocated, or the run fails");
        }
        if job.queue.submit_mode == SubmitMode::Offload && !copy.engine.does_no_io {
            copy.warnings.push("io_submit_mode=offload has no effect: each worker submits its ops itself".to_owned());
        }
        if job.stop.error_dump {
            copy.warnings.push("error_dump has no effect: the first failed ops are always printed".to_owned());
        }
        let unused = copy.engine.one_at_a_time && job.queue.iodepth > 1 && copy.depth() == 1;
        if unused && !copy.engine.does_no_io {
            copy.fix(format!(
                "iodepth is 1 instead of {}, because the engine {} is synchronous",
                job.queue.iodepth,
                backend::name(job)
            ));
        }
        if job.direction.random.randrepeat && job.is_given(&RANDSEED) && copy.is_given(&RANDREPEAT) {
            copy.fix("randrepeat has no effect, because randseed is set");
        }
    }

    /// Records the lengths of the copy's files for the jobs after it.
    fn foresee(&mut self, copy: &JobClone<'_>, layout: &Layout) {
        let later = copy.job.files.layout.create_on_open || copy.engine.has_no_files || copy.engine.calls_files;
        let is_only_one = self.fio.jobs.len() == 1 && copy.job.identity.numjobs <= 1;
        if later || is_only_one {
            return;
        }
        for number in 0..copy.names.count() {
            let bytes = layout.lengths.get(number).or(layout.lengths.last()).map_or(0, |length| length.0);
            if bytes > 0 {
                let length = self.laid_out.entry(sizes::path(copy, number)).or_default();
                *length = (*length).max(bytes);
            }
        }
    }

    /// Returns the name of the copy's target, shared by copies on the same files.
    fn target(&mut self, copy: &JobClone<'_>, layout: &Layout) -> String {
        let on_nothing = !copy.is_foreign() && matches!(backend::name(copy.job), "null" | "net" | "page_fault");
        let (target, name) = if on_nothing {
            let end = |range: &plumb_workload::blocks::fio::FileRange| range.start.0.saturating_add(range.length.0);
            let size = layout.ranges.iter().map(end).max().unwrap_or(0).max(1);
            (Target::Null(NullTarget::with_size(Bytes(size))), "null".to_owned())
        } else {
            let files = JobFiles {
                names: copy.names.clone(),
                lengths: layout.lengths.clone(),
                typed: Vec::new(),
                make_below: names::makes_below(copy.job, copy.number, &copy.names, self.places),
            };
            let name = match (copy.job.identity.numjobs, copy.job.files.names.filenames.is_empty()) {
                (2.., true) => format!("{}.{}", names::plain(&copy.job.name), copy.number),
                _ => copy.job.name.clone(),
            };
            (Target::JobFiles(files), name)
        };
        let what = format!("{target:?}");
        if let Some(known) = self.targets.get(&what) {
            return known.clone();
        }
        let label = self.target_labels.fresh(&name);
        self.targets.insert(what, label.clone());
        self.workload.target.insert(label.clone(), target);
        label
    }

    /// Resolves `wait_for` to groups of the same phase. Earlier phases have ended by then.
    fn waits(&mut self) {
        let fio = self.fio;
        for (index, job) in fio.jobs.iter().enumerate() {
            let Some(wanted) = &job.identity.wait_for else { continue };
            let earlier = fio.jobs[..index].iter().filter(|other| other.name == *wanted).count();
            let fault = match earlier {
                _ if job.name == *wanted => Some(JobFault::WaitsForItself(wanted.clone())),
                0 => Some(JobFault::WaitsForUnknown(wanted.clone())),
                1 => None,
                _ => Some(JobFault::WaitsForSeveral(wanted.clone())),
            };
            if let Some(fault) = fault {
                self.errors.push(LowerError { name: job.name.clone(), place: job.place.clone(), fault });
                continue;
            }
            let copies: Vec<&LoweredJob> = self.jobs.iter().filter(|copy| copy.job == index).collect();
            let Some(phase) = copies.first().map(|copy| copy.phase) else { continue };
            let after: Vec<String> = self
                .jobs
                .iter()
                .filter(|other| other.phase == phase && fio.jobs[other.job].name == *wanted && other.job < index)
                .map(|other| other.group_name.clone())
                .collect();
            for copy in copies {
                let phase = &mut self.workload.phase[copy.phase];
                let start = match copy.member {
                    PhaseMember::Workers(at) => &mut phase.workers[at].start,
                    PhaseMember::Companion(at) => &mut phase.companions[at].start,
                };
                start.after.clone_from(&after);
            }
        }
    }

    /// `exitall` of one job applies to all; `exitall_on_error` applies to its own job.
    fn ends(&mut self) {
        let exit_all = self.fio.jobs.iter().any(|job| job.stop.exitall);
        for copy in &self.jobs {
            let stop = &self.fio.jobs[copy.job].stop;
            if !exit_all && !stop.exitall_on_error {
                continue;
            }
            let ends = match (stop.exit_what, exit_all) {
                (ExitWhat::All, true) => WhenDone::Run,
                (ExitWhat::All, false) => WhenDone::RunIfFailed,
                (ExitWhat::Stonewall, true) => WhenDone::Phase,
                (ExitWhat::Stonewall, false) => WhenDone::PhaseIfFailed,
                (ExitWhat::Group, whatever) => {
                    let groups = self.groups_of(copy);
                    let phase = &self.workload.phase[copy.phase];
                    let is_whole = groups.len() == phase.workers.len() + phase.companions.len();
                    match (is_whole, whatever) {
                        (true, true) => WhenDone::Phase,
                        (true, false) => WhenDone::PhaseIfFailed,
                        (false, true) => WhenDone::Groups(groups),
                        (false, false) => WhenDone::GroupsIfFailed(groups),
                    }
                }
            };
            let phase = &mut self.workload.phase[copy.phase];
            match copy.member {
                PhaseMember::Workers(at) => phase.workers[at].when_done = ends,
                PhaseMember::Companion(at) => phase.companions[at].when_done = ends,
            }
        }
    }

    /// Returns the groups and companions that fio reports together with this copy, all in one phase.
    fn groups_of(&self, copy: &LoweredJob) -> Vec<String> {
        let same = |other: &&LoweredJob| other.group_id == copy.group_id && other.phase == copy.phase;
        self.jobs.iter().filter(same).map(|other| other.group_name.clone()).collect()
    }

    /// Lets jobs that are reported together reach a steady state together and share one ramp.
    fn steady_together(&mut self) {
        for copy in self.jobs.clone() {
            let PhaseMember::Workers(at) = copy.member else { continue };
            if !self.fio.jobs[copy.job].identity.group_reporting {
                continue;
            }
            let together = self.groups_of(&copy);
            let group = &mut self.workload.phase[copy.phase].workers[at];
            if let Some(until) = group.ramp_until.as_mut().filter(|_| together.len() > 1) {
                until.together.clone_from(&together);
            }
            if let Some(steady) = &mut group.steady
                && together.len() > 1
            {
                steady.together = together;
            }
        }
    }

    fn finish(mut self) -> Result<Lowered, LowerErrors> {
        if self.errors.is_empty() {
            for problem in (self.check)(&self.workload) {
                let copy = self.jobs.iter().find(|copy| {
                    let path = problem.path.to_string();
                    let (list, at) = match copy.member {
                        PhaseMember::Workers(at) => ("workers", at),
                        PhaseMember::Companion(at) => ("companions", at),
                    };
                    path.starts_with(&format!("phase[{}].{list}[{at}].", copy.phase))
                        || copy.target.as_ref().is_some_and(|target| path.starts_with(&format!("target.{target}")))
                });
                let Some(job) = copy.or(self.jobs.first()).map(|copy| &self.fio.jobs[copy.job]) else { continue };
                let fault = JobFault::Invalid(format!("{} ({})", problem.message, problem.help));
                let error = LowerError { name: job.name.clone(), place: job.place.clone(), fault };
                if !self.errors.contains(&error) {
                    self.errors.push(error);
                }
            }
        }
        if !self.errors.is_empty() {
            let mut errors = std::mem::take(&mut self.errors);
            errors.sort_by_key(|error| {
                self.fio.jobs.iter().position(|job| job.place == error.place && job.name == error.name)
            });
            return Err(LowerErrors(errors));
        }
        plan::add_order(&mut self.plan, &self.jobs, &self.workload);
        Ok(Lowered {
            workload: self.workload,
            jobs: self.jobs,
            plan: self.plan,
            warnings: self.warnings,
            unrunnable: self.unrunnable,
        })
    }
}

fn group(
    copy: &mut JobClone<'_>,
    layout: &Layout,
    name: String,
    target: String,
    places: &mut dyn Places,
) -> WorkerGroup {
    let job = copy.job;
    let mut group = WorkerGroup::new(target, stream::ops(copy, layout));
    group.files = parts::files(copy, layout);
    group.syncs = parts::syncs(copy);
    group.buffers = parts::buffers(copy);
    group.process = parts::process(copy, places);
    let logs = &job.logs;
    group.log_ops = job.replay.write_iolog.is_some()
        || logs.bw.is_some()
        || logs.lat.is_some()
        || logs.iops.is_some()
        || logs.hist.is_some()
        || copy.logs_ops;
    group.time_submission = job.statistics.measures_slat() && !copy.engine.one_at_a_time;
    group.name = Some(name);
    group.run_as = run_as(copy);
    group.backend = backend::backend(job, copy.number);
    group.on_error = OnError::Leave;
    group.cpus = parts::own_cpu(copy);
    group.start = start(copy);
    group.ramp = job.stop.ramp_time.unwrap_or_default();
    let ramp_bytes = job.direction.region.ramp_size.filter(|bytes| *bytes > 0);
    group.ramp_until = ramp_bytes.map(|bytes| RampUntil { bytes: Bytes(bytes), together: Vec::new() });
    group.limit = Limit { time: job.stop.runtime, ..Limit::default() };
    group.depth = copy.depth();
    group.batch = parts::batch(copy);
    group.errors = parts::errors(copy);
    group.pace = pace::pace(copy);
    group.content = Some(parts::content(copy));
    group.verify = verify::rules(copy, layout);
    group.steady = pace::steady(copy);
    let statistics = &job.statistics;
    let window_ms = piece_ms(statistics.bw_avg_ms.max(1), statistics.iops_avg_ms.max(1));
    group.sample = statistics.measures_bw().then(|| Nanos(u64::from(window_ms) * 1_000_000));
    group
}

/// Returns the companion for a copy whose engine does no I/O.
fn companion(copy: &JobClone<'_>, name: String, does: Activity) -> Companion {
    Companion {
        run_as: run_as(copy),
        start: start(copy),
        ramp: copy.job.stop.ramp_time.unwrap_or_default(),
        time: copy.job.stop.runtime,
        cpus: parts::own_cpu(copy),
        on_error: OnError::Leave,
        ..Companion::new(name, does)
    }
}

fn run_as(copy: &JobClone<'_>) -> RunAs {
    if copy.job.identity.thread { RunAs::Thread } else { RunAs::Process }
}

fn start(copy: &JobClone<'_>) -> Start {
    Start { delay: pace::start_delay(copy), after: Vec::new() }
}

/// Returns the sampling interval that divides both windows: their greatest common divisor, unless
/// that is too short to sample at.
fn piece_ms(bandwidth_ms: u32, iops_ms: u32) -> u32 {
    const SHORTEST_MS: u32 = 10;
    let (mut common, mut rest) = (bandwidth_ms.max(iops_ms), bandwidth_ms.min(iops_ms));
    while rest > 0 {
        (common, rest) = (rest, common % rest);
    }
    if common >= SHORTEST_MS { common } else { bandwidth_ms.min(iops_ms) }
}

/// Returns the activity of a copy whose engine does no I/O.
fn activity(copy: &mut JobClone<'_>) -> Option<Activity> {
    let job = copy.job;
    match backend::name(job) {
        "cpuio" => {
            let cpu = &job.engine.cpuio;
            if cpu.load_percent.is_none() {
                copy.refuse(JobFault::Needs { option: "ioengine=cpuio", needs: "cpuload", why: "it sets the load" });
            }
            Some(Activity::Busy(Busy {
                percent: cpu.load_percent.unwrap_or(100).clamp(1, 100) as u8,
                piece: Nanos(u64::from(cpu.chunks_us) * 1_000),
                sorts: cpu.mode == CpuMode::Qsort,
                ends_with_others: cpu.exit_on_io_done,
            }))
        }
        "exec" => {
            let exec = &job.engine.exec;
            if exec.program.is_none() {
                copy.refuse(JobFault::Needs {
                    option: "ioengine=exec",
                    needs: "program",
                    why: "it names the program to run",
                });
            }
            Some(Activity::Exec(Exec {
                program: exec.program.clone().unwrap_or_default(),
                arguments: exec.arguments.clone().unwrap_or_default(),
                grace: Nanos(u64::from(exec.grace_time_s) * 1_000_000_000),
                keeps_output: exec.std_redirect,
            }))
        }
        _ => None,
    }
}
