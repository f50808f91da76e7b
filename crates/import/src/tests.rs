//! Tests of all readers: goldens written by real tools, samples in the format of tools that are not installed here, and
//! hostile inputs.

use crate::{ForeignFile, ImportError, TOOLS, read};
use plumb_result::imported::{RawEncoding, TimeSource};
use plumb_result::metric::Better;
use plumb_result::{Metric, RunResult, RunVerdict};
use proptest::prelude::*;

const MIB: f64 = 1_048_576.0;
const KIB: f64 = 1024.0;

mod formats;
mod goldens;
mod hostile;
mod pasted;
mod printers;

fn file<'a>(name: &'a str, bytes: &'a [u8]) -> ForeignFile<'a> {
    ForeignFile { name, bytes, changed_at: "2026-11-20T12:00:00Z".parse().unwrap() }
}

/// Reads a file that is recognised by its content, and checks that each run is of this tool.
fn runs(tool: &str, name: &str, bytes: &[u8]) -> Vec<RunResult> {
    let runs = read(&file(name, bytes), None).unwrap_or_else(|error| panic!("{tool}, {name}: {error}"));
    for run in &runs {
        assert_eq!((run.tool.name.as_str(), run.verdict), (tool, RunVerdict::Unknown), "{name}");
        assert!(run.imported.is_some() && run.workload.phase.is_empty());
    }
    runs
}

fn one(tool: &str, name: &str, bytes: &[u8]) -> RunResult {
    let runs = runs(tool, name, bytes);
    assert_eq!(runs.len(), 1, "{name}");
    runs.into_iter().next().unwrap()
}

/// Returns the value of a phase's metric after checking its unit; `None` if the value was not measured.
fn metric(run: &RunResult, phase: &str, name: &str) -> Option<f64> {
    let metric: Metric = name.parse().unwrap();
    let phase_result = run.phases.iter().find(|one| one.name == phase).unwrap_or_else(|| {
        panic!("no phase {phase}: {:?}", run.phases.iter().map(|phase| &phase.name).collect::<Vec<_>>())
    });
    let value = phase_result
        .metrics
        .get(&metric)
        .unwrap_or_else(|| panic!("{phase} has no {name}: {:?}", phase_result.metrics.keys().collect::<Vec<_>>()));
    assert_eq!(value.unit, metric.unit());
    value.value
}

fn has(run: &RunResult, phase: &str, name: &str) -> bool {
    run.phases.iter().any(|one| one.name == phase && one.metrics.contains_key(&name.parse().unwrap()))
}

/// Returns the value, unit and direction of a number that belongs to no metric.
fn number(run: &RunResult, phase: &str, name: &str) -> (Option<f64>, String, Option<Better>) {
    let numbers = &run.imported.as_ref().unwrap().numbers;
    let number = numbers.iter().find(|one| one.phase == phase && one.name == name);
    let number = number.unwrap_or_else(|| panic!("no {name} of {phase}: {numbers:?}"));
    (number.value, number.unit.clone(), number.better)
}

#[track_caller]
fn close(found: Option<f64>, expected: f64) {
    let found = found.expect("the value should have been measured");
    assert!((found - expected).abs() <= expected.abs() * 1e-9, "{found} is not {expected}");
}
