//! Objections of the checks to the runs of a sweep, and the load of other processes.

use plumb_result::compare::RunCheck;
use plumb_result::{Level, RunResult, UnderLoad};

/// Separates the points of one entry.
const BETWEEN: &str = "; ";

/// Each check that warned or failed, once, with its points and its worst finding.
#[derive(Default)]
pub(super) struct Objections {
    checks: Vec<RunCheck>,
    under_load: Option<Box<UnderLoad>>,
}

impl Objections {
    /// Adds a run of a point.
    pub(super) fn add(&mut self, point: &str, result: &RunResult) {
        let mut codes: Vec<&str> = Vec::new();
        for finding in result.checks.iter().filter(|finding| finding.level >= Level::Warn) {
            if codes.contains(&finding.code.as_str()) {
                continue;
            }
            codes.push(&finding.code);
            let Some(known) = self.checks.iter_mut().find(|known| known.finding.code == finding.code) else {
                self.checks.push(RunCheck { side: point.to_owned(), runs: 1, of: 0, finding: finding.clone() });
                continue;
            };
            known.runs += 1;
            if !known.side.split(BETWEEN).any(|side| side == point) {
                known.side.push_str(&format!("{BETWEEN}{point}"));
            }
            if finding.level > known.finding.level {
                known.finding = finding.clone();
            }
        }
        if let Some(load) = &result.under_load
            && self.under_load.as_ref().is_none_or(|known| known.device_share < load.device_share)
        {
            self.under_load = Some(load.clone());
        }
    }

    /// Returns the checks, the worst first, and the largest load; `runs` is the number of all runs.
    pub(super) fn into_checks(mut self, runs: u32) -> (Vec<RunCheck>, Option<Box<UnderLoad>>) {
        self.checks.iter_mut().for_each(|check| check.of = runs);
        let order = |check: &RunCheck| (std::cmp::Reverse(check.finding.level), std::cmp::Reverse(check.runs));
        self.checks.sort_by_key(order);
        (self.checks, self.under_load)
    }
}
