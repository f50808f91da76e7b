//! Validation of workloads. All semantic rules are here, one function per concept.
//!
//! Parsing TOML checks shape and types; [`validate`] checks the rest, for workloads of any origin. It reports all
//! problems at once, each with its position and a fix. It never panics, whatever the numbers are.

mod blocks;
mod checker;
mod companions;
mod copies;
mod names;
mod net;
mod phases;
mod programs;
mod repeat;
mod replays;
mod streams;
mod targets;
#[cfg(test)]
mod tests;

use checker::{Checker, help_for_name};
pub use plumb_workload::Problem;
use plumb_workload::Workload;
use plumb_workload::limits::MAX_OFFSET_BYTES;

/// Returns the problems of a workload in the order of its text, at most 100. A workload without problems can run.
pub fn validate(workload: &Workload) -> Vec<Problem> {
    let mut check = Checker::default();
    check.name(["name"], "the workload", &workload.name);
    if workload.seed > MAX_OFFSET_BYTES {
        check.problem(
            ["seed"],
            format!("the seed {} is too large for the TOML form", workload.seed),
            "use a seed below 2^63",
        );
    }
    targets::check(&mut check, workload);
    phases::check(&mut check, workload);
    repeat::check(&mut check, workload);
    check.problems
}
