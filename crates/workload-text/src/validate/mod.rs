//! What a workload means must make sense before it runs: every semantic rule is here, one function a concept.
//!
//! Reading TOML checks shape and types; [`validate`] checks the rest, on workloads of any origin. It reports all
//! problems at once, each with its place, the problem and the way out. It never panics, whatever the numbers.

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

/// The problems of a workload, in the order of its text; empty when it can run. At most 100 are reported.
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
