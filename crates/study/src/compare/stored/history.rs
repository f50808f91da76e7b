//! Runs of two sides from different times, as a gate judges them: without pairs, but with the
//! checks of both sides together.

use super::{Gathered, Pairing, Selected, StoredError, sides};
use crate::compare::claims::{Sample, claims_of};
use crate::compare::comparison_log::{ComparedCell, LogRow, provisioning};
use crate::compare::view;
use jiff::Timestamp;
use plumb_result::compare::{Difference, LeftOut, RunCheck};
use plumb_result::{Finding, RunResult};
use plumb_stats::schedule::Side;
use plumb_stats::verdict::VerdictRule;
use plumb_store::{ResultStore, StoreError};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the results of the runs that a text selects, the oldest first. Runs without a result and retracted ones do not
/// count.
///
/// # Errors
/// The selection is malformed, selects no run, or none with a result.
pub fn results(store: &dyn ResultStore, selection: &str) -> Result<Vec<RunResult>, StoredError> {
    let rows = super::select::select(store, selection)?;
    let mut found = Vec::new();
    for row in rows.iter().filter(|row| row.retraction().is_none()) {
        match store.get(&row.id) {
            Ok(result) => found.push(result),
            Err(StoreError::NoResult { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    match found.is_empty() {
        true => Err(StoredError::NoResult { selection: selection.to_owned(), runs: rows.len() }),
        false => Ok(found),
    }
}

impl Selected {
    /// Creates a run of a side; `None` if its start time is unknown.
    pub(crate) fn of_result(side: Side, result: RunResult) -> Option<Selected> {
        let at = result.started_at.parse::<Timestamp>().ok()?;
        let made = provisioning(&result.target, None).unwrap_or_default();
        let plot = format!("{} {made}", result.environment.hostname);
        Some(Selected { side, at, plot, study: None, dialect: None, retracted: None, result })
    }
}

/// Values and findings of both sides; empty if a side has no runs.
#[derive(Default)]
pub(crate) struct Apart {
    /// The values of each number; [`LogRow::run`] is a position in the runs.
    pub(crate) rows: BTreeMap<ComparedCell, Vec<LogRow>>,
    /// Numbers that only one side has.
    pub(crate) one_sided: Vec<ComparedCell>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) differences: Vec<Difference>,
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) run_checks: Vec<RunCheck>,
    pub(crate) notes: Vec<String>,
}

/// Checks that need pairs of runs, or count runs: sessions replace both.
const OF_PAIRS: &[&str] = &["D8", "E1"];

/// Evaluates runs in time order; both sides must have some.
///
/// # Errors
/// No run has a requested metric.
pub(crate) fn apart(
    runs: &[Selected],
    names: &[String; 2],
    metrics: &[String],
    seed: u64,
) -> Result<Apart, StoredError> {
    let mut gathered = Gathered::new(runs, names, metrics, Pairing::Never)?;
    gathered.take_all();
    let mut notes = gathered.notes();
    let Gathered { mut log, .. } = gathered;
    let rule = VerdictRule { seed, ..VerdictRule::default() };
    let claims = claims_of(&log.rows, &rule, |_| Sample::Apart);
    let judged = view::judge(
        &plumb_trust::CommandContext::default(),
        &sides(None, runs, names, &mut log),
        &log,
        &claims,
        &rule,
        &BTreeMap::new(),
    );
    notes.extend(crate::compare::messages::run_notes(&log));
    let has = |workload: &str, metric| log.rows.keys().any(|cell| cell.workload == workload && cell.metric == metric);
    let one_sided = log.planned.iter().filter(|one| !has(&one.workload, one.metric));
    let one_sided = one_sided.map(|one| ComparedCell {
        workload: one.workload.clone(),
        phase: one.workload.clone(),
        metric: one.metric,
    });
    Ok(Apart {
        one_sided: BTreeSet::from_iter(one_sided).into_iter().collect(),
        findings: judged.findings.into_iter().filter(|one| !OF_PAIRS.contains(&one.code.as_str())).collect(),
        differences: judged.differences,
        run_checks: log.run_checks([&names[0], &names[1]]),
        rows: log.rows,
        left_out: log.left_out,
        notes,
    })
}
