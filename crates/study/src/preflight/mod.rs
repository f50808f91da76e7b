//! Finds problems of a study before its first run: it inspects every host, kernel, program, device and file system of
//! its plan. On request it also builds each plot once and takes it down. All problems are reported together.

mod held;
#[cfg(test)]
mod tests;

use crate::conduct::Hosts;
use crate::plan::{HostPlan, Levels, Plan, Plot};
use held::held_bytes;
use plumb_engine::signals::StopFlag;
use plumb_lab::host::Listener;
use plumb_lab::preflight::{Inspection, Objection, ObjectionKind, PlannedBuild, PlannedWork, WorkPlace, trial_of};
use plumb_lab::protocol::HostWork;
use plumb_lab::step::Safety;
use plumb_lab::{Host, HostError, Step};
use plumb_workload::{Target, Workload};
use serde::Serialize;

/// Name of the schema.
pub(crate) const CHECK_SCHEMA: &str = "plumb.study-check/1";

/// Thoroughness of the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Inspects only; builds and boots nothing.
    Inspect,
    /// Builds each plot once and takes it down, unless that touches a machine's own devices; boots virtual machines.
    Build,
}

/// The result of inspecting a host without building anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inspected {
    /// A description for users: `Linux 6.1.0-56-amd64 under KVM`.
    pub what: String,
    /// Problems found.
    pub objections: Vec<Objection>,
    /// Parts that could not be inspected, with the reason.
    pub unchecked: Vec<String>,
    /// Reason why nothing can be built there, if its plots are to be.
    pub not_built: Option<String>,
}

/// The result of checking a study before its first run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Preflight {
    /// Name and version of this format, `plumb.study-check/1`.
    pub schema: String,
    /// Reasons why runs would fail. A study with any does not begin.
    pub problems: Vec<Problem>,
    /// Reasons why runs might fail or be rejected.
    pub warnings: Vec<Problem>,
    /// The hosts that were inspected.
    pub checked: Vec<Checked>,
    /// Parts that were not checked, with the reason.
    pub unchecked: Vec<String>,
}

/// A problem of the study.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    /// The hosts that have the problem.
    pub hosts: Vec<String>,
    /// The problem, and the way out.
    pub text: String,
    /// Severity of the problem.
    pub kind: ProblemKind,
}

/// Severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// Runs will fail.
    Wrong,
    /// The write guard will refuse.
    Refused,
    /// Building needs root.
    NeedsRoot,
    /// Runs may fail, or be rejected.
    Doubtful,
}

impl From<ObjectionKind> for ProblemKind {
    fn from(kind: ObjectionKind) -> ProblemKind {
        match kind {
            ObjectionKind::Wrong => ProblemKind::Wrong,
            ObjectionKind::Refused => ProblemKind::Refused,
            ObjectionKind::NeedsRoot => ProblemKind::NeedsRoot,
            ObjectionKind::Doubtful => ProblemKind::Doubtful,
        }
    }
}

/// A host that was inspected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checked {
    /// Its name in the study.
    pub host: String,
    /// Its description, such as kernel and virtualisation.
    pub what: String,
    /// Number of plots that differ in their steps.
    pub provisionings: usize,
    /// Number of these plots that were built and taken down.
    pub built: usize,
}

impl Preflight {
    /// Returns `true` if the study may begin.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty()
    }

    /// Returns `true` if all problems are refusals of the write guard.
    pub fn is_refused(&self) -> bool {
        !self.is_good() && self.problems.iter().all(|problem| problem.kind == ProblemKind::Refused)
    }

    fn object(&mut self, host: &str, objection: Objection) {
        let kind = ProblemKind::from(objection.kind);
        let list = if kind == ProblemKind::Doubtful { &mut self.warnings } else { &mut self.problems };
        match list.iter_mut().find(|known| known.text == objection.text && known.kind == kind) {
            Some(known) if known.hosts.iter().any(|known| known == host) => {}
            Some(known) => known.hosts.push(host.to_owned()),
            None => list.push(Problem { hosts: vec![host.to_owned()], text: objection.text, kind }),
        }
    }

    fn add_problem(&mut self, host: &str, text: String) {
        self.object(host, Objection { text, kind: ObjectionKind::Wrong });
    }

    /// Reports programs of a command line that this machine lacks. A program of the command after a plot may be
    /// created by the one before it.
    fn missing(&mut self, host: &str, when: &str, line: &str, programs: &[String]) {
        let kind = if when == "on-enter" { ObjectionKind::Wrong } else { ObjectionKind::Doubtful };
        for program in programs {
            let text = format!(
                "{when} `{line}`: this machine has no program `{program}`; install it, or write its path as the shell finds it"
            );
            self.object(host, Objection { text, kind });
        }
    }

    fn unchecked(&mut self, text: String) {
        if !self.unchecked.contains(&text) {
            self.unchecked.push(text);
        }
    }
}

/// A host with the builds that are planned on it.
struct PlannedHost<'a> {
    name: &'a str,
    plan: &'a HostPlan,
    /// Different lists of steps, with the plots that have them.
    builds: Vec<(&'a [Step], Vec<u32>)>,
    /// Whether a command brings it up before each of its plots.
    is_brought_up: bool,
}

/// Inspects everything needed by the plots for which `is_open` returns `true`.
pub fn preflight(
    plan: &Plan,
    is_open: impl Fn(u32) -> bool,
    hosts: &mut dyn Hosts,
    depth: Depth,
    stop: StopFlag,
    listener: Listener<'_>,
) -> Preflight {
    let mut found = Preflight { schema: CHECK_SCHEMA.to_owned(), ..Preflight::default() };
    for host in planned_hosts(plan, is_open, &mut found) {
        if stop.requested() {
            break;
        }
        let of = |ram_bytes: u64| Inspection {
            builds: host.builds.iter().map(|(steps, plots)| planned_build(plan, steps, plots, ram_bytes)).collect(),
            safety: plan.safety.clone(),
        };
        let before = found.problems.len();
        let mut checked =
            Checked { host: host.name.to_owned(), what: String::new(), provisionings: host.builds.len(), built: 0 };
        match hosts.inspect(host.name, host.plan, &of, listener) {
            Ok(inspected) => {
                checked.what = inspected.what;
                inspected.objections.into_iter().for_each(|objection| found.object(host.name, objection));
                inspected.unchecked.into_iter().for_each(|text| found.unchecked(format!("{}: {text}", host.name)));
                if let Some(reason) = inspected.not_built {
                    found.add_problem(host.name, format!("{}{reason}", built_factors(plan, host.name)));
                }
            }
            // It may be off until then.
            Err(HostError::Lost(_)) if host.is_brought_up => {
                found.unchecked(format!("{}: not reached before its `on-enter`", host.name));
                continue;
            }
            Err(HostError::Failed { reason, .. } | HostError::Lost(reason)) => found.add_problem(host.name, reason),
        }
        if depth == Depth::Build && found.problems.len() == before {
            checked.built = build_once(plan, &host, hosts, &mut found, listener);
        }
        found.checked.push(checked);
    }
    found
}

fn planned_hosts<'a>(plan: &'a Plan, is_open: impl Fn(u32) -> bool, found: &mut Preflight) -> Vec<PlannedHost<'a>> {
    let mut hosts: Vec<PlannedHost<'a>> = Vec::new();
    for (number, plot) in plan.plots.iter().enumerate().map(|(number, plot)| (number as u32, plot)) {
        if !is_open(number) {
            continue;
        }
        for (when, line) in plot
            .on_enter
            .iter()
            .map(|line| ("on-enter", line))
            .chain(plot.on_leave.iter().map(|line| ("on-leave", line)))
        {
            match plumb_lab::check_line(line).and_then(|()| plumb_lab::missing_programs(line)) {
                Ok(missing) => found.missing(&plot.host, when, line, &missing),
                Err(error) => {
                    found.add_problem(&plot.host, format!("{when} `{line}`: the shell does not take it: {error}"))
                }
            }
        }
        let index = match hosts.iter().position(|host| host.name == plot.host) {
            Some(index) => index,
            None => {
                let Some(host) = plan.hosts.get(&plot.host) else {
                    found.add_problem(&plot.host, "the plan has no such host".to_owned());
                    continue;
                };
                hosts.push(PlannedHost { name: &plot.host, plan: host, builds: Vec::new(), is_brought_up: false });
                hosts.len() - 1
            }
        };
        let host = &mut hosts[index];
        host.is_brought_up |= !plot.on_enter.is_empty();
        match host.builds.iter_mut().find(|(steps, _)| *steps == plot.steps.as_slice()) {
            Some((_, plots)) => plots.push(number),
            None => host.builds.push((&plot.steps, vec![number])),
        }
    }
    hosts
}

fn planned_build(plan: &Plan, steps: &[Step], plots: &[u32], ram_bytes: u64) -> PlannedBuild {
    let mut work: Vec<PlannedWork> = Vec::new();
    for run in plan.runs.iter().filter(|run| plots.contains(&run.plot)) {
        let (place, bytes) = match &run.work {
            HostWork::Native { toml } => match plumb_workload_text::native::parse("plan", toml) {
                Ok(workload) => (place_of(&workload, &run.dir), held_bytes(&run.work, Some(&workload), ram_bytes)),
                Err(_) => (WorkPlace::Directory(run.dir.clone()), None),
            },
            HostWork::Dialect { .. } | HostWork::Conformance(_) => {
                (WorkPlace::Directory(run.dir.clone()), held_bytes(&run.work, None, ram_bytes))
            }
        };
        let name = format!("workload `{}`", plan.cells[run.cell as usize].workload);
        // Among the levels of a workload, the one with most data stands for all.
        match work.iter_mut().find(|known| known.name == name && known.place == place) {
            Some(known) => known.bytes = known.bytes.max(bytes),
            None => work.push(PlannedWork { name, place, bytes }),
        }
    }
    PlannedBuild { steps: steps.to_vec(), work }
}

fn place_of(workload: &Workload, dir: &str) -> WorkPlace {
    let all = || workload.target.values();
    if workload.target.is_empty() || all().all(|target| matches!(target, Target::Sim(_) | Target::Null(_))) {
        return WorkPlace::Simulated;
    }
    let made = all().find_map(|target| match target {
        Target::Device(device) => device.path.to_str()?.strip_prefix("/${made.")?.strip_suffix('}'),
        _ => None,
    });
    made.map_or_else(|| WorkPlace::Directory(dir.to_owned()), |name| WorkPlace::Device(name.to_owned()))
}

/// Names the factors whose levels are built on a host: ``factor `fs` is built, and ``. Their levels alone change the steps.
fn built_factors(plan: &Plan, host: &str) -> String {
    let plots: Vec<&Plot> = plan.plots.iter().filter(|plot| plot.host == host).collect();
    let without = |plot: &Plot, name: &str| -> Levels {
        plot.levels
            .iter()
            .filter(|(other, _)| *other != name)
            .map(|(name, level)| (name.clone(), level.clone()))
            .collect()
    };
    let is_built = |name: &str| {
        plots
            .iter()
            .any(|one| plots.iter().any(|other| one.steps != other.steps && without(one, name) == without(other, name)))
    };
    let named: Vec<String> = plan
        .factors
        .iter()
        .filter(|factor| is_built(&factor.name))
        .map(|factor| format!("`{}`", factor.name))
        .collect();
    let step = plots.iter().find_map(|plot| plot.steps.first()).map_or("", Step::kind);
    match named.as_slice() {
        [] => format!("the plots are built (step `{step}`), and "),
        [only] => format!("factor {only} is built (step `{step}`), and "),
        several => format!("factors {} are built (step `{step}`), and ", several.join(", ")),
    }
}

/// Builds each plot of a host once, takes it down, and returns the number of builds.
fn build_once(
    plan: &Plan,
    host: &PlannedHost<'_>,
    hosts: &mut dyn Hosts,
    found: &mut Preflight,
    listener: Listener<'_>,
) -> usize {
    let disposable = match host.plan {
        HostPlan::Vm(_) => true,
        HostPlan::Local => false,
        // Opening it would boot it.
        HostPlan::Ssh { boot: Some(_), .. } => return 0,
        HostPlan::Ssh { .. } | HostPlan::Agents(_) => false,
    };
    let mut trials = Vec::new();
    for (steps, plots) in &host.builds {
        match trial_of(steps, disposable) {
            Ok(trial) => trials.push((trial, plots)),
            Err(why) => found.unchecked(format!("{}: a plot was not built, because {why}", host.name)),
        }
    }
    // A virtual machine is booted even without steps, to test that it boots.
    let is_empty = trials.iter().all(|(trial, _)| trial.steps.is_empty());
    if trials.is_empty() || (is_empty && !disposable) {
        return 0;
    }
    let mut opened = match hosts.open(host.name, host.plan, listener) {
        Ok(opened) => opened,
        Err(HostError::Failed { reason, .. } | HostError::Lost(reason)) => {
            found.add_problem(host.name, reason);
            return 0;
        }
    };
    let ram_bytes = opened.facts().ram_bytes;
    let mut built = 0;
    for (number, (trial, plots)) in trials.iter().enumerate() {
        let work = planned_build(plan, &[], plots, ram_bytes).work;
        let tag = format!("check of {}/{number}", plan.name);
        listener(&format!("{}: building plot {} of {}", host.name, number + 1, trials.len()));
        match build(opened.as_mut(), &tag, &trial.steps, &plan.safety, &work, listener) {
            Ok(objections) => {
                built += 1;
                objections.into_iter().for_each(|objection| found.object(host.name, objection));
            }
            Err(HostError::Failed { reason, refused }) => {
                let kind = if refused { ObjectionKind::Refused } else { ObjectionKind::Wrong };
                found.object(host.name, Objection { text: reason, kind });
            }
            Err(HostError::Lost(reason)) => {
                found.add_problem(host.name, reason);
                return built;
            }
        }
        for kind in &trial.left_out {
            found.unchecked(format!("{}: `{kind}` was left out, because it writes much", host.name));
        }
    }
    if let Err(error) = opened.close() {
        found.add_problem(host.name, error.to_string());
    }
    built
}

fn build(
    host: &mut dyn Host,
    tag: &str,
    steps: &[Step],
    safety: &Safety,
    work: &[PlannedWork],
    listener: Listener<'_>,
) -> Result<Vec<Objection>, HostError> {
    host.build(tag, steps, safety, listener)?;
    let objections = host.fits(work);
    host.undo(listener)?;
    objections
}
