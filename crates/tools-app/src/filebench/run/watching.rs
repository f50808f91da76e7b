//! Output during a script's run and after it.

use super::stamped;
use plumb_bench::Progress;
use plumb_cli::output::{self, error_line};
use plumb_engine::{FileSetStep, PhaseNow};
use plumb_result::PhaseMeasurement;
use plumb_result::measurement::StepMeasurement;
use plumb_tools_app::filebench::{Plan, since, statistics, summary};
use plumb_workload::Target;
use std::collections::BTreeMap;
use std::time::Instant;

/// Interval between checks for messages of flowops, ns.
const POLL_NS: u64 = 100_000_000;

/// Limit of messages that a flowop prints per interval.
const SAID_MAX: u64 = 100;

/// Prints the output of each part as it begins.
pub struct FilebenchProgress<'a> {
    plan: &'a Plan,
    started: Instant,
    /// Number of messages printed so far, by line.
    printed: BTreeMap<usize, u64>,
    snapshots: Snapshots,
}

#[derive(Default)]
struct Snapshots {
    /// Number of snapshots so far.
    count: u64,
    /// Start of the current snapshot, ns.
    from_ns: u64,
    before: Vec<StepMeasurement>,
}

impl<'a> FilebenchProgress<'a> {
    /// Returns the state at the start of a run.
    pub(super) fn new(plan: &'a Plan, started: Instant) -> FilebenchProgress<'a> {
        FilebenchProgress { plan, started, printed: BTreeMap::new(), snapshots: Snapshots::default() }
    }

    fn say(&self, text: &str) {
        output::print(&stamped(self.started, text));
    }

    /// Prints the statistics of an interval of `seconds` seconds.
    fn breakdown(&self, steps: &[StepMeasurement], seconds: f64) {
        self.say("Per-Operation Breakdown");
        output::print(&statistics(self.plan, steps, seconds));
        self.say(&summary(self.plan, steps, seconds));
    }

    /// Prints the output after the run.
    pub(super) fn print_end(&self, phase: &PhaseMeasurement, by_time: bool) {
        let dry = phase.steps.iter().find(|step| step.dry > 0);
        if let Some(step) = dry.filter(|_| by_time) {
            error_line!(
                "filebench: WARNING! Run stopped early: flowop {} could not obtain a file; reduce the run time, increase \
                 the file set's entries (--set nfiles=…), or use another mode (set mode quit firstdone); what was \
                 measured until then is valid",
                step.name
            );
        }
        let since_start = phase.wall_ns as f64 / 1e9;
        self.say(&format!("Run took {since_start:.0} seconds..."));
        match self.plan.period_s {
            Some(period) if period < 0 => {
                let seconds = phase.wall_ns.saturating_sub(self.snapshots.from_ns) as f64 / 1e9;
                self.breakdown(&since(&phase.steps, &self.snapshots.before), seconds);
            }
            _ => self.breakdown(&phase.steps, since_start),
        }
        self.say("Shutting down processes");
    }

    /// Prints the messages of flowops.
    fn messages(&mut self, steps: &[StepMeasurement]) {
        for (number, line) in self.plan.lines.iter().enumerate() {
            let Some(text) = &line.says else { continue };
            let count = line.found_in(steps).map_or(0, |step| step.count);
            let before = self.printed.insert(number, count).unwrap_or(0);
            let from = line.group.replacen('.', ", thread ", 1);
            for _ in 0..count.saturating_sub(before).min(SAID_MAX) {
                self.say(&format!("Message from process {from}: {text}"));
            }
        }
    }
}

impl Progress for FilebenchProgress<'_> {
    fn file_set(&mut self, target: &str, step: FileSetStep<'_>) {
        let name = self.plan.sets.get(target).map_or(target, String::as_str);
        match step {
            FileSetStep::Populated(_) if self.plan.single.iter().any(|single| single == target) => {}
            FileSetStep::Populated(facts) => {
                let width = match self.plan.workload.target.get(target) {
                    Some(Target::SharedTree(tree)) => tree.width.mean().unwrap_or(facts.mean_width),
                    _ => facts.mean_width,
                };
                self.say(&format!(
                    "{name} populated: {} files, avg. dir. width = {width:.0}, avg. dir. depth = {:.1}, {} leafdirs, \
                     {:.3}MB total size",
                    facts.files,
                    facts.mean_depth,
                    facts.leaf_directories,
                    facts.bytes as f64 / 1048576.0
                ));
            }
            FileSetStep::Removing => self.say(&format!("Removing {name} tree (if exists)")),
            FileSetStep::MakingDirectories => self.say(&format!("Pre-allocating directories in {name} tree")),
            FileSetStep::MakingFiles => self.say(&format!("Pre-allocating files in {name} tree")),
        }
    }

    fn phase_begins(&mut self, _phase: &str) {
        self.say("Waiting for pre-allocation to finish (in case of a parallel pre-allocation)");
        self.say("Population and pre-allocation of filesets completed");
        for process in self.plan.processes.iter().rev() {
            self.say(&format!("Starting {} {} instances", process.instances, process.name));
        }
    }

    fn clock_starts(&mut self, _phase: &str) {
        self.say("Running...");
    }

    fn tick_ns(&self) -> Option<u64> {
        let has_messages = self.plan.lines.iter().any(|line| line.says.is_some());
        let period = self.plan.period_s.filter(|period| *period != 0);
        match (has_messages, period) {
            (false, None) => None,
            (false, Some(period)) => Some(period.unsigned_abs().saturating_mul(1_000_000_000)),
            (true, _) => Some(POLL_NS),
        }
    }

    fn tick(&mut self, now: &dyn PhaseNow) {
        let steps = now.steps();
        self.messages(&steps);
        let Some(period) = self.plan.period_s.filter(|period| *period != 0) else { return };
        let period_ns = period.unsigned_abs().saturating_mul(1_000_000_000);
        let elapsed_ns = now.elapsed_ns();
        if elapsed_ns / period_ns <= self.snapshots.count {
            return;
        }
        self.snapshots.count = elapsed_ns / period_ns;
        // A snapshot right before the end is left to the final statistics.
        let time_ns =
            self.plan.workload.phase.first().and_then(|phase| phase.stop.time).map_or(u64::MAX, |time| time.0);
        if elapsed_ns.saturating_add(period_ns / 2) > time_ns {
            return;
        }
        let seconds = (elapsed_ns - self.snapshots.from_ns) as f64 / 1e9;
        self.breakdown(&since(&steps, &self.snapshots.before), seconds);
        if period < 0 {
            (self.snapshots.from_ns, self.snapshots.before) = (elapsed_ns, steps);
        }
    }

    fn phase_ended(&mut self, measured: &PhaseMeasurement) {
        self.messages(&measured.steps);
    }
}
