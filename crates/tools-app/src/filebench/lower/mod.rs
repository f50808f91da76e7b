//! Lowers the definitions of a script to a workload: file sets become targets, threads become worker groups, and
//! flowops become steps.

mod attributes;
mod flowops;
mod names;
mod sets;
mod threads;
mod work;

use super::FilebenchUsageError;
use super::script::{Attributes, QuitMode};
use super::session::Definitions;
use super::table::WITHOUT_EFFECT;
use super::variables::Locals;
use attributes::ScopedAttributes;
use plumb_result::measurement::StepMeasurement;
use plumb_workload::phase::{ClockScope, End, Flush, Phase, Stop, When};
use plumb_workload::program::{SharedStep, SharedWork, Step};
use plumb_workload::{Nanos, Work, WorkerGroup, Workload};
use std::collections::BTreeMap;

/// Name of the single phase.
pub const PHASE: &str = "run";

/// Default duration of a run, s.
const USUAL_TIME_S: u64 = 60;

/// A line of the statistics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The printed name.
    pub name: String,
    /// Full name of the step: the printed name, with a number if another flowop of the thread has the same name.
    pub step: String,
    /// Name of the worker group.
    pub group: String,
    /// Whether the summary counts it.
    pub in_summary: bool,
    /// Whether it stands for other flowops and counts nothing itself.
    pub is_composite: bool,
    /// Text that it prints on each execution.
    pub says: Option<String>,
}

impl Line {
    /// Returns its measurement.
    pub fn found_in<'a>(&self, steps: &'a [StepMeasurement]) -> Option<&'a StepMeasurement> {
        measured(steps, &self.group, &self.step)
    }
}

/// Returns the measurement of a step of a group.
pub(super) fn measured<'a>(steps: &'a [StepMeasurement], group: &str, name: &str) -> Option<&'a StepMeasurement> {
    steps.iter().find(|step| step.name == name && step.group == group)
}

/// A process that the run starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    pub name: String,
    pub instances: u64,
}

/// A run that is ready to start.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub workload: Workload,
    /// Lines of the statistics, in the order of the script.
    pub lines: Vec<Line>,
    /// Processes, in the order of the script.
    pub processes: Vec<Started>,
    /// Names of file sets, by target.
    pub sets: BTreeMap<String, String>,
    /// Targets of single files, which are not printed.
    pub single: Vec<String>,
    /// Condition that ends the run.
    pub mode: QuitMode,
    /// Seconds between two snapshots. Negative: each snapshot starts again from 0.
    pub period_s: Option<i64>,
    pub histograms: bool,
    /// Remarks about attributes without effect.
    pub remarks: Vec<FilebenchUsageError>,
}

/// Lowers the definitions for a run of `time_s` seconds.
///
/// # Errors
/// The first error, with its place.
pub(super) fn lower(
    definitions: &Definitions,
    time_s: Option<u64>,
    period_s: Option<i64>,
) -> Result<Plan, FilebenchUsageError> {
    let mut lowering = Lowering {
        definitions,
        plan: Plan {
            workload: Workload {
                name: "filebench".to_owned(),
                description: String::new(),
                seed: Workload::DEFAULT_SEED,
                target: BTreeMap::new(),
                phase: Vec::new(),
                repeat: None,
            },
            lines: Vec::new(),
            processes: Vec::new(),
            sets: BTreeMap::new(),
            single: Vec::new(),
            mode: definitions.mode,
            period_s,
            histograms: definitions.histograms,
            remarks: Vec::new(),
        },
        steps: 0,
        called: BTreeMap::new(),
        parties: 0,
    };
    for set in &definitions.sets {
        lowering.set(set).map_err(|error| error.of_file(&set.file))?;
    }
    let mut groups = Vec::new();
    for process in &definitions.processes {
        lowering.process(process, &mut groups).map_err(|error| error.of_file(&process.file))?;
    }
    if groups.is_empty() {
        return Err(FilebenchUsageError::without_place("there is nothing to run")
            .help("define a process with threads above `run`"));
    }
    lowering.meet(&mut groups)?;
    let time = match (definitions.mode, time_s) {
        (QuitMode::Timeout, time) => Some(time.unwrap_or(USUAL_TIME_S)),
        (_, time) => time,
    };
    if time == Some(0) {
        return Err(
            FilebenchUsageError::without_place("a run of 0 seconds measures nothing").help("`run 60` takes a minute")
        );
    }
    let mut plan = lowering.plan;
    plan.workload.phase = vec![Phase {
        stop: Stop {
            time: time.map(|seconds| Nanos(seconds.saturating_mul(1_000_000_000))),
            when: if plan.mode == QuitMode::AllDone { When::AllDone } else { When::FirstDone },
            ..Stop::default()
        },
        end: End { flush: Flush::None, clock: ClockScope::Outside },
        ..Phase::new(PHASE, groups)
    }];
    Ok(plan)
}

struct Lowering<'a> {
    definitions: &'a Definitions,
    plan: Plan,
    steps: usize,
    /// Full names of the current thread's steps, each with the number of flowops that have it.
    called: BTreeMap<String, u32>,
    /// Number of process instances so far.
    parties: u32,
}

impl Lowering<'_> {
    fn seen<'s>(&'s self, attributes: &'s Attributes, locals: &'s Locals) -> ScopedAttributes<'s> {
        ScopedAttributes { attributes, variables: &self.definitions.variables, locals }
    }

    fn remark_idle(&mut self, attributes: &Attributes, file: &str) {
        for attribute in &attributes.all {
            let message = format!("`{}` has no effect", attribute.name);
            let is_known = self.plan.remarks.iter().any(|remark| remark.message == message);
            if WITHOUT_EFFECT.contains(&attribute.name.as_str()) && !is_known {
                self.plan.remarks.push(FilebenchUsageError::at(attribute.place, message).of_file(file));
            }
        }
    }

    /// Sets the file of remarks that do not have one yet.
    fn remarks_are_of(&mut self, file: &str) {
        for remark in self.plan.remarks.iter_mut().filter(|remark| remark.file.is_empty()) {
            file.clone_into(&mut remark.file);
        }
    }

    /// Resolves the names of target steps to full names. Steps of the same thread come first.
    fn meet(&self, groups: &mut [WorkerGroup]) -> Result<(), FilebenchUsageError> {
        let lines = &self.plan.lines;
        let is_meant = |line: &Line, name: &str| {
            let inner = line.name.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('.'));
            inner && !line.is_composite
        };
        let find = |name: &str, group: Option<&str>| {
            let own = lines.iter().filter(|line| group.is_none_or(|group| line.group == group));
            own.into_iter().find(|line| is_meant(line, name)).map(|line| line.step.clone())
        };
        for group in groups {
            let own = group.name.clone();
            let Work::Program(program) = &mut group.work else { continue };
            for step in &mut program.steps {
                if let Step::Shared(step) = step {
                    resolve(step, &mut |target, in_own| {
                        let found = find(target, if in_own { own.as_deref() } else { None });
                        *target = found.ok_or_else(|| {
                            let where_ = if in_own { " of its thread" } else { "" };
                            FilebenchUsageError::without_place(format!(
                                "`target={target}`: no flowop{where_} has this name"
                            ))
                        })?;
                        Ok(())
                    })?;
                }
            }
        }
        Ok(())
    }
}

/// Resolves the names of other steps in a step and its inner steps. `look_up` also gets whether
/// only the own thread counts.
fn resolve(
    step: &mut SharedStep,
    look_up: &mut dyn FnMut(&mut String, bool) -> Result<(), FilebenchUsageError>,
) -> Result<(), FilebenchUsageError> {
    match &mut step.does {
        SharedWork::Steps(steps) => steps.iter_mut().try_for_each(|step| resolve(step, look_up)),
        SharedWork::Wake { step } | SharedWork::Give { step, .. } => look_up(step, false),
        SharedWork::TakeEvents { step: Some(step), .. } | SharedWork::Finish { step: Some(step), .. } => {
            look_up(step, true)
        }
        _ => Ok(()),
    }
}
