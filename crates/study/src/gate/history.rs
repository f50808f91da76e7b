//! Gates with a stored baseline: its history shows the spread between sessions, and the candidate is
//! one or more further sessions.

use super::numbers::{NumberContext, direction, number};
use super::places::answer;
use super::sessions::sessions;
use super::{ERROR_RATE, GateOutcome, words};
use crate::compare::ComparedCell;
use crate::compare::comparison_log::LogRow;
use crate::compare::stored::Selected;
use crate::compare::stored::StoredError;
use crate::compare::stored::history::{Apart, apart};
use plumb_result::compare::{Capped, LeftOut};
use plumb_result::gate::{
    GATE_SCHEMA, GateAnswer, GateDesign, GateLooks, GateNeed, GateNumber, GateSide, GateSource, GateUnit, LevelChange,
};
use plumb_result::{Finding, Gate, RunResult};
use plumb_stats::gate::{
    GateAssessment, GateEvidence, GateNote, GateRule, NumberHistory, SESSIONS_MIN, SessionSides, assess, of_histories,
};
use plumb_stats::schedule::Side;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

#[derive(Clone)]
pub struct HistorySide {
    /// As typed.
    pub name: String,
    pub source: GateSource,
    /// The runs, in any order.
    pub results: Vec<RunResult>,
}

/// A gate with a stored baseline.
pub struct HistoryRequest<'a> {
    /// The reference side.
    pub baseline: HistorySide,
    /// The side that is judged: stored, or just measured.
    pub candidate: HistorySide,
    /// The newest kept session, if it was suspected: the candidate's first session, see [`super::suspected`].
    pub suspected: Vec<RunResult>,
    /// Whether the candidate's session is kept for the next gate.
    pub kept: bool,
    /// Numbers by name or by their last parts; if empty, those of a comparison of stored runs.
    pub metrics: &'a [String],
    /// A regression within this factor passes.
    pub margin: f64,
    /// Number of gates that share the error rate of `regression`.
    pub gates: u32,
    /// Runs closer in time than this belong to one session.
    pub session_gap: Duration,
    pub spent: Duration,
    pub seed: u64,
}

/// Judges runs by earlier ones. Runs that both sides select belong to the candidate.
///
/// A session that looks worse is suspected. Together with the next one it is judged as a candidate of
/// two sessions, against the history before both. If they do not agree, the first joins the history,
/// and the second is judged alone.
///
/// # Errors
/// No run has a requested metric.
pub fn gate_history(request: &HistoryRequest<'_>) -> Result<GateOutcome, StoredError> {
    let HistoryRequest { baseline, candidate, suspected, .. } = request;
    let measured = match candidate.source {
        GateSource::Measured => candidate.results.clone(),
        GateSource::Stored | GateSource::File => Vec::new(),
    };
    if !suspected.is_empty() {
        let first = ids(suspected);
        let mut before = baseline.clone();
        before.results.retain(|one| !first.contains(&one.id));
        let mut both = candidate.clone();
        both.results.extend(suspected.iter().filter(|one| !ids(&candidate.results).contains(&one.id)).cloned());
        let gate = judge(before, both, request)?;
        // Runs of the same session are further runs of the suspected one.
        if gate.answer == GateAnswer::Regression || gate.candidate.sessions == Some(1) {
            return Ok(GateOutcome { gate, measured, interrupted: false });
        }
    }
    let gate = judge(baseline.clone(), candidate.clone(), request)?;
    Ok(GateOutcome { gate, measured, interrupted: false })
}

fn ids(results: &[RunResult]) -> BTreeSet<String> {
    BTreeSet::from_iter(results.iter().map(|result| result.id.clone()))
}

fn judge(baseline: HistorySide, candidate: HistorySide, request: &HistoryRequest<'_>) -> Result<Gate, StoredError> {
    let rule =
        GateRule { margin: request.margin, seed: request.seed, gates: request.gates.max(1), ..GateRule::default() };
    let names = [baseline.name.clone(), candidate.name.clone()];
    let (runs, shared) = both(baseline.results, candidate.results);
    let has = |side: Side| runs.iter().any(|run| run.side == side);
    let Apart { rows, one_sided, findings, differences, left_out, run_checks, mut notes } =
        if has(Side::A) && has(Side::B) {
            apart(&runs, &names, request.metrics, request.seed)?
        } else {
            Apart::default()
        };
    if shared > 0 {
        notes.push(format!("{shared} of the baseline's runs are the candidate's, and do not count for the baseline"));
    }
    let sessions = [Side::A, Side::B].map(|side| sessions(&runs, side, request.session_gap));
    notes.extend(recent_regression(&runs, &sessions[0]));
    let cells: Vec<(&ComparedCell, CellSessions)> =
        rows.iter().map(|(cell, rows)| (cell, CellSessions::from_rows(rows, &runs, &sessions))).collect();
    let (numbers, assessments) = numbers(&cells, &runs, &findings, &rule);
    let missing: Vec<String> =
        one_sided.iter().map(|cell| format!("{} {}: only one side has it", cell.workload, cell.metric)).collect();
    let rejected = rejected(&runs, &left_out);
    let answer = answer(&numbers, &missing, rejected);
    let suspected = answer == GateAnswer::CannotTell && !rejected && numbers.iter().any(|number| number.suspected);
    let side = |index: usize, name: String, source| GateSide {
        name,
        source,
        runs: sessions[index].iter().flatten().count() as u32,
        sessions: Some(sessions[index].iter().flatten().max().map_or(0, |last| *last as u32 + 1)),
    };
    let gate = Gate {
        schema: GATE_SCHEMA.to_owned(),
        answer,
        suspected,
        note: String::new(),
        promise: words::promise_of_history(rule.margin),
        baseline: side(0, baseline.name, baseline.source),
        candidate: side(1, candidate.name, candidate.source),
        design: GateDesign::History,
        margin: rule.margin,
        error_rate: ERROR_RATE,
        needed: needed(&numbers, &assessments, suspected).filter(|_| answer == GateAnswer::CannotTell && !rejected),
        numbers,
        missing,
        looks: GateLooks { done: 1, planned: 1, level: rule.alpha },
        seconds: request.spent.as_secs_f64(),
        rejected,
        left_out,
        run_checks,
        checks: findings,
        differences,
        notes,
        runs: runs.iter().map(|run| run.result.id.clone()).collect(),
        settle: None,
        seed: request.seed,
        gates: (rule.gates > 1).then_some(rule.gates),
        rejected_numbers: Vec::new(),
    };
    let second = words::second_session(request.session_gap, request.kept);
    Ok(Gate { note: words::note(&gate, false, &second), ..gate })
}

fn numbers(
    cells: &[(&ComparedCell, CellSessions)],
    runs: &[Selected],
    findings: &[Finding],
    rule: &GateRule,
) -> (Vec<GateNumber>, Vec<GateAssessment>) {
    let histories: Vec<NumberHistory<'_>> = cells
        .iter()
        .map(|(cell, values)| NumberHistory {
            sides: SessionSides { baseline: &values.baseline, candidate: &values.candidate },
            better: direction(cell),
        })
        .collect();
    // Values are above 0 and the rule is its own default, so no error is possible.
    let found = of_histories(&histories, histories.len() * rule.gates as usize).unwrap_or_default();
    let evidence: Vec<GateEvidence> = found.iter().map(|one| one.evidence).collect();
    let assessments = assess(&evidence, 1, rule).unwrap_or_default();
    let numbers = cells.iter().zip(&found).zip(&assessments).map(|(((cell, values), found), assessment)| {
        let means = |sessions: &[Vec<f64>]| sessions.iter().map(|runs| geometric_mean(runs)).collect();
        let changes = found.changes.iter().map(|change| LevelChange {
            at: runs[values.firsts[change.at]].result.started_at.clone(),
            before: change.before,
            after: change.after,
        });
        let context = NumberContext {
            values: [means(&values.baseline[found.since..]), means(&values.candidate)],
            unit: GateUnit::Session,
            floor: None,
            findings,
            forbids: values.lacking(),
            changes: changes.collect(),
        };
        number(cell, assessment, rule, context)
    });
    (numbers.collect(), assessments)
}

/// Returns the number of candidate sessions that should decide: two if one is suspected.
fn needed(numbers: &[GateNumber], assessments: &[GateAssessment], suspected: bool) -> Option<GateNeed> {
    let open = numbers.iter().zip(assessments).filter(|(number, _)| number.answer == GateAnswer::CannotTell);
    // More sessions like these do not answer an objection.
    let needed: Option<Vec<u32>> = open
        .map(|(_, assessment)| match assessment.note {
            GateNote::Objected(_) => None,
            _ => assessment.units_needed,
        })
        .collect();
    let units = if suspected { Some(2) } else { needed.and_then(|all| all.into_iter().max()) };
    units.map(|units| GateNeed { units, seconds: None, options: None })
}

/// Returns a warning if one of the baseline's newest sessions was judged a regression, because its level is
/// about to become the reference.
fn recent_regression(runs: &[Selected], sessions: &[Option<usize>]) -> Option<String> {
    let newest = sessions.iter().flatten().max()?;
    let is_recent = |session: usize| session + SESSIONS_MIN as usize > *newest;
    let is_regression = |run: &Selected| run.result.gated.is_some_and(|gated| gated.answer == GateAnswer::Regression);
    let found =
        runs.iter().zip(sessions).find(|(run, session)| session.is_some_and(is_recent) && is_regression(run))?;
    let at = &found.0.result.started_at;
    Some(format!(
        "The session of {} was a regression. It is part of the history: once {SESSIONS_MIN} sessions are at its level, that level \
         is the baseline.",
        at.get(..16).unwrap_or(at).replace('T', " ")
    ))
}

/// Returns the runs of both sides in time order, and the number of runs that both sides select.
fn both(baseline: Vec<RunResult>, candidate: Vec<RunResult>) -> (Vec<Selected>, usize) {
    let of_candidate = BTreeSet::from_iter(candidate.iter().map(|result| result.id.clone()));
    let all = baseline.len();
    let baseline: Vec<RunResult> = baseline.into_iter().filter(|one| !of_candidate.contains(&one.id)).collect();
    let shared = all - baseline.len();
    let of = |side: Side| move |result| Selected::of_result(side, result);
    let mut runs: Vec<Selected> =
        baseline.into_iter().filter_map(of(Side::A)).chain(candidate.into_iter().filter_map(of(Side::B))).collect();
    runs.sort_by(|one, other| (one.at, &one.result.id).cmp(&(other.at, &other.result.id)));
    (runs, shared)
}

/// Returns `true` if more of the candidate's runs were rejected than are left. Rejected runs of a history
/// do not affect today's gate.
fn rejected(runs: &[Selected], left_out: &[LeftOut]) -> bool {
    let of_candidate: Vec<&str> =
        runs.iter().filter(|run| run.side == Side::B).map(|run| run.result.id.as_str()).collect();
    let rejected = left_out.iter().filter(|one| of_candidate.contains(&one.run.as_str())).count();
    2 * rejected > of_candidate.len()
}

fn geometric_mean(values: &[f64]) -> f64 {
    plumb_stats::summary::geometric_mean(values).unwrap_or(f64::NAN)
}

/// The values of a number by session.
struct CellSessions {
    baseline: Vec<Vec<f64>>,
    candidate: Vec<Vec<f64>>,
    /// The first run of each of the baseline's sessions.
    firsts: Vec<usize>,
    /// Numbers of accepted runs without a value, and with one.
    lacking: (u32, u32),
}

impl CellSessions {
    fn from_rows(rows: &[LogRow], runs: &[Selected], sessions: &[Vec<Option<usize>>; 2]) -> CellSessions {
        let by_session = |side: Side, sessions: &[Option<usize>]| {
            let mut found: BTreeMap<usize, (usize, Vec<f64>)> = BTreeMap::new();
            for row in rows.iter().filter(|row| row.side == side) {
                if let Some(session) = sessions[row.run as usize] {
                    found.entry(session).or_insert_with(|| (row.run as usize, Vec::new())).1.push(row.value);
                }
            }
            found.into_values().collect::<Vec<(usize, Vec<f64>)>>()
        };
        let (firsts, baseline) = by_session(Side::A, &sessions[0]).into_iter().unzip();
        let candidate = by_session(Side::B, &sessions[1]).into_iter().map(|(_, runs)| runs).collect();
        let work = rows.first().map(|row| runs[row.run as usize].result.workload.name.as_str());
        let counted = runs.iter().filter(|run| run.counts() && Some(run.result.workload.name.as_str()) == work).count();
        let lacking = (counted.saturating_sub(rows.len()) as u32, rows.len() as u32);
        CellSessions { baseline, candidate, firsts, lacking }
    }

    /// Returns a cap if runs lack a percentile for want of samples, because slow runs are the first to lack it.
    fn lacking(&self) -> Option<Capped> {
        use crate::compare::claims::Lacking;
        let (units, of) = self.lacking;
        Lacking { units, of, what: "runs" }.cap(plumb_result::ContrastVerdict::Equivalent)
    }
}
