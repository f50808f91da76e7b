//! The baseline was measured before: its history says what sessions differ by, and the candidate is one more session, or a few.

use super::numbers::{Told, direction, number};
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
use plumb_result::{Gate, RunResult};
use plumb_sorted::{SortedMap, SortedSet, short_list};
use plumb_stats::change::{History, history};
use plumb_stats::gate::{GateEvidence, GateRule, SessionSides, assess};
use plumb_stats::schedule::Side;
use std::time::Duration;

/// Runs of one side.
pub struct HistorySide {
    /// As typed.
    pub name: String,
    /// Where they come from.
    pub source: GateSource,
    /// The runs, in any order.
    pub results: Vec<RunResult>,
}

/// A gate whose baseline was measured before.
pub struct HistoryRequest<'a> {
    /// What the candidate is judged against.
    pub baseline: HistorySide,
    /// What is judged: stored, or measured just now.
    pub candidate: HistorySide,
    /// Numbers by name or by their last parts; without any, those that a comparison of stored runs has.
    pub metrics: &'a [String],
    /// A regression within this factor passes.
    pub margin: f64,
    /// Runs closer in time than this are of one session.
    pub session_gap: Duration,
    /// Time that was spent on measuring.
    pub spent: Duration,
    /// Seed of the runs.
    pub seed: u64,
}

/// Judges runs by earlier ones. Runs of the candidate that the baseline selects too are the candidate's.
///
/// # Errors
/// A metric that no run has.
pub fn gate_history(request: HistoryRequest<'_>) -> Result<GateOutcome, StoredError> {
    let HistoryRequest { baseline, candidate, metrics, margin, session_gap, spent, seed } = request;
    let rule = GateRule { margin, seed, ..GateRule::default() };
    let measured = match candidate.source {
        GateSource::Measured => candidate.results.clone(),
        GateSource::Stored | GateSource::File => Vec::new(),
    };
    let names = [baseline.name.clone(), candidate.name.clone()];
    let (runs, shared) = both(baseline.results, candidate.results);
    let has = |side: Side| runs.iter().any(|run| run.side == side);
    let Apart { rows, one_sided, findings, differences, left_out, run_checks, mut notes } =
        if has(Side::A) && has(Side::B) { apart(&runs, &names, metrics, seed)? } else { Apart::default() };
    if shared > 0 {
        notes.push(format!("{shared} of the baseline's runs are the candidate's, and do not count for the baseline"));
    }
    let sessions = [Side::A, Side::B].map(|side| sessions(&runs, side, session_gap));
    let cells: Vec<(&ComparedCell, CellSessions)> =
        rows.iter().map(|(cell, rows)| (cell, CellSessions::of(rows, &runs, &sessions))).collect();
    let evidence: Vec<GateEvidence> = cells
        .iter()
        .filter_map(|(cell, values)| {
            let sides = SessionSides { baseline: values.since(), candidate: &values.candidate };
            GateEvidence::of_sessions(&sides, direction(cell)).ok()
        })
        .collect();
    let assessments = assess(&evidence, 1, &rule).unwrap_or_default();
    let rejected = rejected(&runs, &left_out);
    let numbers: Vec<GateNumber> = cells
        .iter()
        .zip(&assessments)
        .map(|((cell, values), assessment)| {
            let means = |sessions: &[Vec<f64>]| sessions.iter().map(|runs| geometric_mean(runs)).collect();
            let told = Told {
                values: [means(values.since()), means(&values.candidate)],
                unit: GateUnit::Session,
                floor: None,
                findings: &findings,
                forbids: values.lacking(),
                changes: values.changes.clone(),
            };
            number(cell, assessment, &rule, told)
        })
        .collect();
    let missing: Vec<String> =
        one_sided.iter().map(|cell| format!("{} {}: only one side has it", cell.workload, cell.metric)).collect();
    let answer = answer(&numbers, &missing, rejected);
    let open = numbers.iter().zip(&assessments).filter(|(number, _)| number.answer == GateAnswer::CannotTell);
    let needed: Option<Vec<u32>> = open.map(|(_, assessment)| assessment.units_needed).collect();
    let needed = needed.and_then(|all| all.into_iter().max()).filter(|_| answer == GateAnswer::CannotTell && !rejected);
    let side = |index: usize, side: Side, name: String, source| GateSide {
        name,
        source,
        runs: sessions[index].iter().flatten().count() as u32,
        sessions: Some(
            runs.iter()
                .zip(&sessions[index])
                .filter(|(run, _)| run.side == side)
                .filter_map(|(_, session)| *session)
                .max()
                .map_or(0, |last| last as u32 + 1),
        ),
    };
    let gate = Gate {
        schema: GATE_SCHEMA.to_owned(),
        answer,
        note: String::new(),
        promise: words::promise(rule.margin),
        baseline: side(0, Side::A, baseline.name, baseline.source),
        candidate: side(1, Side::B, candidate.name, candidate.source),
        design: GateDesign::History,
        margin: rule.margin,
        error_rate: ERROR_RATE,
        numbers,
        missing,
        looks: GateLooks { done: 1, planned: 1, level: rule.alpha },
        seconds: spent.as_secs_f64(),
        needed: needed.map(|units| GateNeed { units, seconds: None, options: None }),
        rejected,
        left_out,
        run_checks,
        checks: findings,
        differences,
        notes,
        runs: runs.iter().map(|run| run.result.id.clone()).collect(),
        seed,
        settle: None,
    };
    let gate = Gate { note: words::note(&gate, false), ..gate };
    Ok(GateOutcome { gate, measured, interrupted: false })
}

/// The runs of both sides in the order of time, and how many the baseline shares with the candidate.
fn both(baseline: Vec<RunResult>, candidate: Vec<RunResult>) -> (Vec<Selected>, usize) {
    let of_candidate = SortedSet::from_iter(candidate.iter().map(|result| result.id.clone()));
    let all = baseline.len();
    let baseline: Vec<RunResult> = baseline.into_iter().filter(|one| !of_candidate.contains(&one.id)).collect();
    let shared = all - baseline.len();
    let of = |side: Side| move |result| Selected::of_result(side, result);
    let mut runs: Vec<Selected> =
        baseline.into_iter().filter_map(of(Side::A)).chain(candidate.into_iter().filter_map(of(Side::B))).collect();
    short_list::sort_by(&mut runs, |one, other| (one.at, &one.result.id).cmp(&(other.at, &other.result.id)));
    (runs, shared)
}

/// Whether more of the candidate's runs were rejected than are left. What was rejected of a history says nothing of today.
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
    /// The first of the baseline's sessions that counts.
    since: usize,
    changes: Vec<LevelChange>,
    /// Runs that count and have no value, and those that have one.
    lacking: (u32, u32),
}

impl CellSessions {
    fn of(rows: &[LogRow], runs: &[Selected], sessions: &[Vec<Option<usize>>; 2]) -> CellSessions {
        let by_session = |side: Side, sessions: &[Option<usize>]| {
            let mut found: SortedMap<usize, (usize, Vec<f64>)> = SortedMap::new();
            for row in rows.iter().filter(|row| row.side == side) {
                if let Some(session) = sessions[row.run as usize] {
                    found.entry(session).or_insert_with(|| (row.run as usize, Vec::new())).1.push(row.value);
                }
            }
            found.into_values().collect::<Vec<(usize, Vec<f64>)>>()
        };
        let baseline = by_session(Side::A, &sessions[0]);
        let (firsts, baseline): (Vec<usize>, Vec<Vec<f64>>) = baseline.into_iter().unzip();
        let candidate: Vec<Vec<f64>> = by_session(Side::B, &sessions[1]).into_iter().map(|(_, runs)| runs).collect();
        let means: Vec<f64> = baseline.iter().map(|runs| geometric_mean(runs)).collect();
        // Values are above 0 and the rule is its own default, so that there is no error.
        let found = history(&means, &History::default()).unwrap_or_default();
        let since = found.last().map_or(0, |change| change.at);
        let changes = found.iter().map(|change| LevelChange {
            at: runs[firsts[change.at]].result.started_at.clone(),
            before: change.before,
            after: change.after,
        });
        let work = rows.first().map(|row| runs[row.run as usize].result.workload.name.as_str());
        let counted = runs.iter().filter(|run| run.counts() && Some(run.result.workload.name.as_str()) == work).count();
        CellSessions {
            changes: changes.collect(),
            baseline,
            candidate,
            since,
            lacking: (counted.saturating_sub(rows.len()) as u32, rows.len() as u32),
        }
    }

    /// The baseline's sessions since the last change of level.
    fn since(&self) -> &[Vec<f64>] {
        &self.baseline[self.since..]
    }

    /// A percentile that runs lack for want of samples is lacked by slow runs first.
    fn lacking(&self) -> Option<Capped> {
        use crate::compare::claims::Lacking;
        let (units, of) = self.lacking;
        Lacking { units, of, what: "runs" }.cap(plumb_result::ContrastVerdict::Equivalent)
    }
}
