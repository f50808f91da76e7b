//! `plumb check`: the findings of a run on this storage that need no load.

use plumb_engine::guard::Guard;
use plumb_probe::census::Census;
use plumb_probe::clock::ClockWatch;
use plumb_probe::conditions::ConditionWatch;
use plumb_probe::counters::{self, SampleSet};
use plumb_probe::others::IoWatch;
use plumb_probe::stack;
use plumb_result::observe::{Environment, PhaseObservations, TargetFacts};
use plumb_result::{Finding, Measurement, Observations, PhaseMeasurement};
use plumb_workload::{Blocks, FileTarget, Phase, Target, WorkerGroup, Workload};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time for which the machine is watched.
const WATCHED: Duration = Duration::from_secs(1);

/// Number of samples of changing values during that time.
const SAMPLES: u32 = 4;

/// Checks that work on an idle machine. All others need a load.
const WITHOUT_LOAD: &[&str] = &[
    "A1", "A5", "A7", "A9", "B8", "C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10", "C11", "C12", "C14",
    "D1", "D3",
];

/// Timers due within this many seconds would disturb a measurement that begins now.
const AHEAD_S: u64 = 3600;

/// Observations and findings of `plumb check`.
#[derive(Debug, Clone, Serialize)]
pub struct CheckOutcome {
    pub environment: Environment,
    /// The storage under the path.
    pub target: TargetFacts,
    /// Findings of the checks that need no load, the most serious first.
    pub checks: Vec<Finding>,
    /// The reason why a run that writes here would be refused, and the way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// The reason why nothing could be checked.
#[derive(Debug, thiserror::Error)]
#[error("`{path}`: {}; name an existing file, directory or device", plumb_bench::place::why_not(path, source))]
pub struct CheckError {
    path: PathBuf,
    source: std::io::Error,
}

/// Returns a workload that does nothing, so that the checks see an idle machine.
fn idle(path: &Path) -> Workload {
    let target = FileTarget {
        path: path.to_owned(),
        size: None,
        prepare: plumb_workload::Prepare::Nothing,
        content: Default::default(),
    };
    Workload {
        name: "idle".to_owned(),
        description: String::new(),
        seed: Workload::DEFAULT_SEED,
        target: BTreeMap::from([("data".to_owned(), Target::File(target))]),
        phase: vec![Phase::new("idle", vec![WorkerGroup::new("data", Blocks::default())])],
        repeat: None,
    }
}

/// Watches the machine for a second and examines the storage under a path. `guard` knows what the
/// user allowed to be overwritten.
pub fn inspect(path: &Path, guard: &Guard) -> Result<CheckOutcome, CheckError> {
    std::fs::metadata(path).map_err(|source| CheckError { path: path.to_owned(), source })?;
    let environment = plumb_probe::environment();
    let target = stack::of_path(path);
    let samples = SampleSet::for_targets([&target]);
    let mut watch = ConditionWatch::for_targets([&target]);
    let census = Census::new();
    watch.begin(&census);
    let (others, clock, before) =
        (IoWatch::start_on(&target.leaves, &census), ClockWatch::start(), counters::sample(&samples));
    for _ in 0..SAMPLES {
        watch.tick();
        std::thread::sleep(WATCHED / SAMPLES);
    }
    let after = counters::sample(&samples);
    let census = census.later();
    let mut conditions = watch.finish(&census);
    let seen = others.finish(&[std::process::id()], &census);
    conditions.matters_until_unix_s = conditions.after.at_unix_s.map(|now| now + AHEAD_S);
    let observations = Observations {
        environment: environment.clone(),
        targets: BTreeMap::from([("data".to_owned(), target.clone())]),
        phases: vec![PhaseObservations {
            name: "idle".to_owned(),
            other_io: seen.named,
            hidden_io: seen.hidden,
            clock_step_ns: clock.finish(),
            before,
            after,
            conditions,
            ..PhaseObservations::default()
        }],
    };
    let phase =
        PhaseMeasurement { name: "idle".to_owned(), wall_ns: WATCHED.as_nanos() as u64, ..PhaseMeasurement::default() };
    let measurement = Measurement { phases: vec![phase], ..Measurement::default() };
    let mut checks = plumb_trust::judge(&idle(path), &measurement, &observations).findings;
    checks.retain(|finding| WITHOUT_LOAD.contains(&finding.code.as_str()));
    let refused = guard.foresee(path).map(|refusal| refusal.to_string());
    Ok(CheckOutcome { environment, target, checks, refused })
}
