//! Compares stored runs without measuring. By their times they are blocks, stretches, or one side after the
//! other, which limits the claims.

mod order;
mod select;

pub use select::SelectionError;

pub(crate) mod history;

use super::claims::{CellClaim, Terms, claims_of};
use super::comparison_log::{ComparedCell, ComparisonLog, LogRow, provisioning, tier};
use super::plan::side_index;
use super::view::{self, JudgedSides};
use super::{contrasts, messages};
use crate::floors::{FloorOf, floors, with_ranks};
use crate::placed::StudyPlaces;
use crate::plan::is_meant;
use jiff::Timestamp;
use order::{Arranged, TimedRun, Times, arrange};
use plumb_result::compare::{COMPARE_SCHEMA, Difference, Replicate, StoredOrder, StoredRuns, StoredSide, StoredWork};
use plumb_result::imported::TimeSource;
use plumb_result::metric::Stat;
use plumb_result::run::TierName;
use plumb_result::{Comparison, Contrast, Finding, Metric, Quantity, RunResult, RunVerdict};
use plumb_stats::schedule::Side;
use plumb_stats::verdict::{Note, VerdictRule};
use plumb_store::{ResultStore, RunRow, StoreError};
use plumb_trust::{
    CommandContext, ComparisonSide, DialectPrint, Factor, Planned, SideRecord, WorkQuestion, work_print,
};
use plumb_workload::Target;
use plumb_workload_text::named::find;
use std::collections::{BTreeMap, BTreeSet};

/// In the order of arrays by side.
const SIDES: [Side; 2] = [Side::A, Side::B];

/// Longer names become letters in tables.
const NAME_MAX: usize = 40;

/// Selects the stored runs to compare.
pub struct StoredRequest<'a> {
    /// Selections of the baseline and of the candidate.
    pub selections: [&'a str; 2],
    /// Metrics by name or by their last parts. If empty: the headline numbers of named workloads; for others byte
    /// rates, rates of ops that move no bytes, and the 99 % latency.
    pub metrics: &'a [String],
    /// The only factor that was meant to differ.
    pub varying: Option<&'static Factor>,
    /// Seed of the tests that sample.
    pub seed: u64,
    /// Largest number of runs of a side, for those who compare on behalf of strangers; `None` has no limit.
    pub runs_max: Option<usize>,
}

/// The reason why stored runs cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A selection is malformed or selects no run.
    #[error(transparent)]
    Selection(SelectionError),
    /// A run is on both sides.
    #[error("run {run} is on both sides{}; select what is on one side only", and_more(*more))]
    Both {
        /// One of these runs.
        run: String,
        /// Number of other such runs.
        more: usize,
    },
    /// No selected run has a result.
    #[error("none of the {runs} runs that `{selection}` selects has a result")]
    NoResult { selection: String, runs: usize },
    /// A selection is larger than [`StoredRequest::runs_max`].
    #[error(
        "`{selection}` selects {runs} runs, and {most} can be compared here; select fewer, or use `plumb compare --from-store`"
    )]
    TooMany { selection: String, runs: usize, most: usize },
    /// No selected run has the metric.
    #[error("--metrics {name}: no selected run has it; measured: {}", known.join(", "))]
    Metric { name: String, known: Vec<String> },
}

fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(", and so are {more} more") }
}

impl From<SelectionError> for StoredError {
    fn from(error: SelectionError) -> StoredError {
        match error {
            SelectionError::Store(error) => StoredError::Store(error),
            other => StoredError::Selection(other),
        }
    }
}

/// A selected run with a result.
pub(crate) struct Selected {
    pub(crate) side: Side,
    pub(crate) at: Timestamp,
    plot: String,
    /// Name of the study that it belongs to.
    study: Option<String>,
    dialect: Option<String>,
    /// Author and reason of a retraction.
    retracted: Option<String>,
    pub(crate) result: RunResult,
}

impl Selected {
    /// Returns `true` if its numbers count, independent of its neighbours.
    pub(crate) fn counts(&self) -> bool {
        self.result.verdict != RunVerdict::Reject && !self.result.partial && self.retracted.is_none()
    }

    /// Returns `true` if its start time is known. For an imported run, perhaps only the time of its file is.
    pub(crate) fn has_time(&self) -> bool {
        self.result.imported.as_ref().is_none_or(|imported| imported.time == TimeSource::Tool)
    }

    /// Returns the duration of the run; on a simulated device that is not real time.
    pub(crate) fn wall_ns(&self) -> u64 {
        let is_simulated = self.result.workload.target.values().any(|target| matches!(target, Target::Sim(_)));
        if is_simulated { 0 } else { self.result.phases.iter().map(|phase| phase.wall_ns).sum() }
    }
}

/// Compares stored runs. Measures and stores nothing.
///
/// # Errors
/// A selection is malformed or selects no run, a run is on both sides, no run has a metric, or the store fails.
pub fn compare_stored(store: &dyn ResultStore, request: &StoredRequest<'_>) -> Result<Comparison, StoredError> {
    let rows = request.selections.map(|text| select::select(store, text));
    let [baseline, candidate] = rows;
    let rows = [baseline?, candidate?];
    for (selection, rows) in request.selections.iter().zip(&rows) {
        if let Some(most) = request.runs_max.filter(|most| rows.len() > *most) {
            return Err(StoredError::TooMany { selection: (*selection).to_owned(), runs: rows.len(), most });
        }
    }
    refuse_both(&rows)?;
    let names = names(request.selections);
    let mut notes = Vec::new();
    let mut runs = Vec::new();
    for ((side, rows), name) in SIDES.into_iter().zip(&rows).zip(&names) {
        let (with, without) = load(store, side, rows, request.varying)?;
        if with.is_empty() {
            let selection = request.selections[side_index(side)].to_owned();
            return Err(StoredError::NoResult { selection, runs: rows.len() });
        }
        runs.extend(with);
        if without > 0 {
            notes.push(format!("{name}: {without} of {} selected runs have no result, and do not count", rows.len()));
        }
    }
    runs.sort_by(|one, other| (one.at, &one.result.id).cmp(&(other.at, &other.result.id)));
    let mut gathered = Gathered::new(&runs, &names, request.metrics, Pairing::AsTheyLie)?;
    gathered.take_all();
    notes.extend(gathered.notes());
    Ok(conclude(store, request, &names, &rows, gathered, notes))
}

fn refuse_both(rows: &[Vec<RunRow>; 2]) -> Result<(), StoredError> {
    let ids = BTreeSet::from_iter(rows[0].iter().map(|row| row.id.as_str()));
    let both: Vec<&RunRow> = rows[1].iter().filter(|row| ids.contains(row.id.as_str())).collect();
    match both.first() {
        Some(first) => Err(StoredError::Both { run: first.id.clone(), more: both.len() - 1 }),
        None => Ok(()),
    }
}

/// Returns the selections as typed, or letters if they are long.
fn names(selections: [&str; 2]) -> [String; 2] {
    let is_long = selections.iter().any(|text| text.chars().count() > NAME_MAX || select::is_statement(text));
    if is_long { ["A".to_owned(), "B".to_owned()] } else { selections.map(str::to_owned) }
}

/// Loads the runs that have a result, and counts those that have none.
fn load(
    store: &dyn ResultStore,
    side: Side,
    rows: &[RunRow],
    varying: Option<&Factor>,
) -> Result<(Vec<Selected>, usize), StoredError> {
    let mut places = StudyPlaces::default();
    let mut found = Vec::new();
    for row in rows {
        let result = match store.get(&row.id) {
            Ok(result) => result,
            Err(StoreError::NoResult { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        let time = |text: &str| text.parse::<Timestamp>().ok();
        let Some(at) = time(&result.started_at).or_else(|| time(&row.started_at)) else { continue };
        let (plot, study) = match places.find(store, &row.id)? {
            Some(place) => (format!("study {} plot {}", place.study, place.plot), Some(place.name)),
            None => {
                let made = provisioning(&result.target, varying).unwrap_or_default();
                (format!("{} {made}", result.environment.hostname), None)
            }
        };
        let retracted = row.retraction().map(|mark| format!("it was retracted by {}: {}", mark.author, mark.reason));
        found.push(Selected { side, at, plot, study, dialect: row.dialect.clone(), retracted, result });
    }
    let without = rows.len() - found.len();
    Ok((found, without))
}

/// Treatment of neighbours in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pairing {
    /// As pairs or stretches, if their order allows it.
    AsTheyLie,
    /// Never as counterparts.
    Never,
}

/// The runs by work, in the form of a comparison.
struct Gathered<'a> {
    runs: &'a [Selected],
    names: &'a [String; 2],
    wanted: Vec<String>,
    log: ComparisonLog,
    /// Whether runs that alternate in time are pairs.
    pairing: Pairing,
    arranged: BTreeMap<String, Arranged>,
    /// Number of samples that lack a number because a run of theirs has no value of it.
    lacking: BTreeMap<ComparedCell, u32>,
}

impl<'a> Gathered<'a> {
    fn new(
        runs: &'a [Selected],
        names: &'a [String; 2],
        metrics: &[String],
        pairing: Pairing,
    ) -> Result<Gathered<'a>, StoredError> {
        let phases = || runs.iter().flat_map(|run| &run.result.phases);
        let known = BTreeSet::from_iter(phases().flat_map(|phase| phase.metrics.keys().copied()));
        let wanted: Vec<String> = metrics.iter().map(|name| crate::file::known_metric(name.trim())).collect();
        if let Some(name) = wanted.iter().find(|name| !known.iter().any(|&metric| is_meant(name, metric))) {
            let known = known.iter().map(Metric::to_string).collect();
            return Err(StoredError::Metric { name: name.clone(), known });
        }
        Ok(Gathered {
            runs,
            names,
            wanted,
            log: ComparisonLog::default(),
            pairing,
            arranged: BTreeMap::new(),
            lacking: BTreeMap::new(),
        })
    }

    /// Returns `true` if a number of a work is compared.
    fn is_wanted(&self, workload: &str, metric: Metric) -> bool {
        if !self.wanted.is_empty() {
            return self.wanted.iter().any(|wish| is_meant(wish, metric));
        }
        match find(workload) {
            Some(named) => named.headline.iter().any(|headline| metric.to_string() == *headline),
            None => match metric.quantity {
                Quantity::Bandwidth => true,
                Quantity::Rate => !metric.to_string().ends_with(".iops"),
                Quantity::Latency(stat) => stat == Stat::P99,
                _ => false,
            },
        }
    }

    fn take_all(&mut self) {
        for run in self.runs {
            self.log.runs.push(run.result.id.clone());
            self.note(run);
        }
        let runs = self.runs;
        let works = BTreeSet::from_iter(runs.iter().map(|run| run.result.workload.name.as_str()));
        for workload in works {
            let counted: Vec<usize> =
                (0..runs.len()).filter(|&at| runs[at].counts() && runs[at].result.workload.name == workload).collect();
            self.take_work(workload, &counted);
        }
    }

    /// Adds the properties of a run other than its numbers.
    fn note(&mut self, run: &Selected) {
        let index = side_index(run.side);
        let (name, workload) = (&self.names[index], &run.result.workload);
        let dialect = run
            .dialect
            .as_ref()
            .map(|name| DialectPrint { name: name.clone(), semantics: DialectPrint::FIRST_SEMANTICS });
        self.log.note_run(name, index, workload, &run.result, dialect);
        let early = "it ended early, so that its numbers are of a part of the work";
        let reason = run.retracted.clone().or_else(|| run.result.partial.then(|| early.to_owned()));
        if let Some(reason) = reason.filter(|_| run.result.verdict != RunVerdict::Reject) {
            self.log.leave_out(index, name, &run.result, reason);
        }
    }

    /// Assigns the runs of a work to its samples.
    fn take_work(&mut self, workload: &str, counted: &[usize]) {
        let timed = |&at: &usize| {
            let run = &self.runs[at];
            TimedRun { side: run.side, at: run.at.as_nanosecond() as i64, plot: run.plot.clone() }
        };
        let is_known = self.pairing == Pairing::AsTheyLie && counted.iter().all(|&at| self.runs[at].has_time());
        let times = if is_known { Times::Known } else { Times::Unknown };
        let arranged = arrange(&counted.iter().map(timed).collect::<Vec<_>>(), times);
        let mut cells: BTreeMap<ComparedCell, Vec<LogRow>> = BTreeMap::new();
        for (&at, place) in counted.iter().zip(&arranged.places) {
            let run = &self.runs[at];
            let Some(place) = place else {
                let index = side_index(run.side);
                let reason = "no run of the other side is next to it in time".to_owned();
                self.log.leave_out(index, &self.names[index], &run.result, reason);
                continue;
            };
            self.log.tails.add(side_index(run.side), &run.result);
            for phase in &run.result.phases {
                let wanted: Vec<Metric> =
                    phase.metrics.keys().copied().filter(|metric| self.is_wanted(workload, *metric)).collect();
                for metric in wanted {
                    let value = phase.metrics[&metric].value.filter(|value| *value > 0.0 && value.is_finite());
                    let Some(value) = value else { continue };
                    let cell = ComparedCell { workload: workload.to_owned(), phase: phase.name.clone(), metric };
                    let row = LogRow { block: place.block, plot: place.plot, side: run.side, run: at as u32, value };
                    note_tier(&mut self.log, &cell, side_index(run.side), tier(phase, metric));
                    cells.entry(cell).or_default().push(row);
                }
            }
        }
        for (cell, rows) in cells {
            self.log.planned.push(Planned { workload: workload.to_owned(), metric: cell.metric });
            let placed = arranged.places.iter().flatten().count();
            let having = rows.len();
            let rows = if arranged.paired { in_pairs(rows) } else { rows };
            let lacking =
                if arranged.paired { placed.saturating_sub(rows.len()) / 2 } else { placed.saturating_sub(having) };
            self.lacking.insert(cell.clone(), lacking as u32);
            let has = |side: Side| rows.iter().any(|row| row.side == side);
            if SIDES.into_iter().all(has) {
                self.log.rows.insert(cell, rows);
            }
        }
        self.log.order.extend(arranged.letters.iter().cloned());
        self.arranged.insert(workload.to_owned(), arranged);
    }

    /// Returns notes about the order of the runs in time.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (workload, arranged) in &self.arranged {
            let [a, b] = self.names;
            match arranged.baseline_first {
                Some((first, pairs)) if pairs > 2 && (first == 0 || first == pairs) => {
                    let early = if first == 0 { b } else { a };
                    notes.push(format!(
                        "{workload}: in every pair the run of {early} came first; what a first run leaves behind is part of the \
                         difference"
                    ));
                }
                _ => {}
            }
        }
        let of = |side: Side| {
            let runs = self.runs.iter().filter(move |run| run.side == side);
            BTreeSet::from_iter(runs.filter_map(|run| run.study.as_deref()))
        };
        for study in of(Side::A).intersection(&of(Side::B)) {
            notes.push(format!(
                "both sides are runs of {study}: what that study claims is in `plumb study report {study}`"
            ));
        }
        let overlapping = self
            .runs
            .windows(2)
            .filter(|pair| {
                let [one, other] = pair else { return false };
                let same_host = one.result.environment.hostname == other.result.environment.hostname;
                let apart_ns = other.at.as_nanosecond() - one.at.as_nanosecond();
                let is_known = one.has_time() && other.has_time() && !one.result.environment.hostname.is_empty();
                same_host && is_known && one.counts() && other.counts() && apart_ns < i128::from(one.wall_ns())
            })
            .count();
        let imported = self.runs.iter().filter(|run| run.result.imported.is_some()).count();
        if imported > 0 && self.log.rows.is_empty() {
            notes.push(
                "no metric was measured on both sides; numbers of imported runs that have no metric, such as the time of a whole \
                 command, are in `plumb show --json`"
                    .to_owned(),
            );
        }
        if imported > 0 {
            let untimed = self.runs.iter().filter(|run| !run.has_time()).count();
            let when = match untimed {
                0 => String::new(),
                _ => format!("; of {untimed} it is not known when they were made, so that they are no pairs"),
            };
            notes.push(format!(
                "{imported} of the runs are imported: nothing recorded shows what else differed{when}. Exploratory only"
            ));
        }
        if overlapping > 0 {
            notes.push(format!(
                "{overlapping} of the runs began before another one on the same machine had ended: they may have disturbed each \
                 other"
            ));
        }
        notes
    }
}

fn note_tier(log: &mut ComparisonLog, cell: &ComparedCell, index: usize, tier: Option<TierName>) {
    let known = log.tiers.entry(cell.clone()).or_default();
    known[index] = match known[index] {
        None => tier,
        Some(known) if tier.is_none_or(|tier| tier == known) => Some(known),
        Some(_) => Some(TierName::Mixed),
    };
}

/// Keeps only samples that both sides have; for single runs, the baseline's and the candidate's in the same order.
fn in_pairs(mut rows: Vec<LogRow>) -> Vec<LogRow> {
    let of =
        |side: Side| BTreeSet::from_iter(rows.iter().filter(|row| row.side == side).map(|row| (row.plot, row.block)));
    let sides = SIDES.map(of);
    rows.retain(|row| sides.iter().all(|side| side.contains(&(row.plot, row.block))));
    rows.sort_by_key(|row| (row.block, side_index(row.side)));
    rows
}

fn conclude(
    store: &dyn ResultStore,
    request: &StoredRequest<'_>,
    names: &[String; 2],
    rows: &[Vec<RunRow>; 2],
    gathered: Gathered<'_>,
    mut notes: Vec<String>,
) -> Comparison {
    let Gathered { runs, mut log, arranged, lacking, .. } = gathered;
    let rule = VerdictRule { seed: request.seed, ..VerdictRule::default() };
    let claims = claims_of(&log.rows, &rule, |cell| arranged[&cell.workload].sample);
    let works = floor_works(runs, names);
    let found_floors = floors(store, &works, &claims);
    notes.extend(found_floors.notes);
    let sides = sides(request.varying, runs, names, &mut log);
    let judged = view::judge(&CommandContext::default(), &sides, &log, &claims, &rule, &found_floors.floors);
    let terms = Terms {
        baseline: &names[0],
        candidate: &names[1],
        rule: &rule,
        floors: &found_floors.floors,
        findings: &judged.findings,
        samples: "samples",
        lacking: &|cell| lacking.get(cell).copied().unwrap_or(0),
    };
    // Separate sides in one work do not remove a claim about another.
    let others: Vec<Finding> = judged.findings.iter().filter(|finding| finding.code != APART).cloned().collect();
    let in_turns = contrasts(&log, &claims, judged.modes.clone(), &Terms { findings: &others, ..terms });
    let all = contrasts(&log, &claims, judged.modes, &terms).into_iter().zip(in_turns).zip(&claims);
    let contrasts: Vec<Contrast> = all
        .map(|((apart, in_turns), claim)| {
            let arranged = &arranged[&claim.cell.workload];
            let contrast = if arranged.order == StoredOrder::Apart { apart } else { in_turns };
            of_unit(contrast, claim, arranged.unit)
        })
        .collect();
    notes.extend(messages::run_notes(&log));
    let run_checks = log.run_checks([&names[0], &names[1]]);
    let stored = StoredRuns {
        baseline: side(request.selections[0], &rows[0]),
        candidate: side(request.selections[1], &rows[1]),
        works: arranged
            .iter()
            .map(|(workload, one)| StoredWork { workload: workload.clone(), interleaving: one.order })
            .collect(),
        imported: runs.iter().filter(|run| run.result.imported.is_some()).count() as u32,
    };
    let tails = log.tails.of_contrasts(&contrasts);
    let context = messages::StoredNoteContext {
        tails: &tails,
        confounded: judged.confounded,
        left_out: log.left_out.len(),
        run_checks: &run_checks,
        works: &stored.works,
    };
    Comparison {
        schema: COMPARE_SCHEMA.to_owned(),
        verdict_note: messages::stored_note([&names[0], &names[1]], &contrasts, &context),
        contrasts,
        tails,
        differences: judged.differences,
        confounded: judged.confounded,
        seed: request.seed,
        order: log.order,
        runs: log.runs,
        left_out: log.left_out,
        run_checks,
        notes,
        checks: judged.findings,
        varying: request.varying.map(|factor| factor.name.to_owned()),
        plots: None,
        planned: Some(log.planned.len() as u32),
        stored: Some(stored),
        settle: None,
        under_load: Vec::new(),
    }
}

/// The check for sides that do not alternate.
const APART: &str = "D8";

/// Sets the name of the sampling unit.
fn of_unit(contrast: Contrast, claim: &CellClaim, unit: Replicate) -> Contrast {
    let note = match (claim.assessment.note, unit) {
        (Note::WithoutCrossCheck, Replicate::Stretch) if contrast.capped.is_none() => {
            Some("fewer than six stretches a side: no cross-check by a permutation test".to_owned())
        }
        _ => contrast.note,
    };
    Contrast { unit, note, ..contrast }
}

fn side(selection: &str, rows: &[RunRow]) -> StoredSide {
    let at = |row: Option<&RunRow>| row.map_or(String::new(), |row| row.started_at.clone());
    StoredSide {
        selection: selection.to_owned(),
        runs: rows.len() as u32,
        first_at: at(rows.first()),
        last_at: at(rows.last()),
    }
}

/// Returns each work of each side, as its first accepted run had it.
fn floor_works<'a>(runs: &'a [Selected], names: &'a [String; 2]) -> Vec<FloorOf<'a>> {
    let mut seen: BTreeSet<(usize, &str)> = BTreeSet::new();
    let of_run = |run: &'a Selected| {
        let (index, result) = (side_index(run.side), &run.result);
        let place = with_ranks(result.target.values().next()?.path.clone(), result.ranks.as_deref());
        seen.insert((index, &result.workload.name)).then(|| FloorOf {
            side: &names[index],
            place,
            workload: &result.workload.name,
            print: work_print(&result.workload, WorkQuestion::Floor),
            environment: &result.environment,
            targets: Some(&result.target),
        })
    };
    runs.iter().filter(|run| run.counts()).filter_map(of_run).collect()
}

/// Returns the sides in the form that the checks need. The set-up of a side is that of its first run; differences
/// between its runs are reported.
fn sides<'a>(
    varying: Option<&'static Factor>,
    runs: &'a [Selected],
    names: &'a [String; 2],
    log: &mut ComparisonLog,
) -> JudgedSides<'a> {
    let of = |side: Side| runs.iter().filter(move |run| run.side == side && run.counts());
    // Without an accepted run there is no contrast either; show the facts of the others.
    let first = |side: Side| of(side).next().or_else(|| runs.iter().find(|run| run.side == side));
    let known = SIDES.map(|side| &first(side).expect("a side without results is refused").result);
    let works = || log.rows.keys().map(|cell| cell.workload.as_str());
    let fewest = SIDES.map(|side| log.runs_of(side_index(side), works()));
    let records = SIDES.map(|side| SideRecord {
        plots: BTreeSet::from_iter(of(side).map(|run| run.plot.as_str())).len().max(1) as u32,
        unlike_plots: unlike(of(side).map(|run| &run.result)),
        ..log.by_side[side_index(side)].record.clone()
    });
    JudgedSides {
        names: [&names[0], &names[1]],
        environments: known.map(|result| &result.environment),
        targets: known.map(|result| &result.target),
        runs: fewest,
        records,
        varying,
    }
}

/// Returns the facts in which the runs of a side differ from the first of them, each once.
fn unlike<'a>(mut results: impl Iterator<Item = &'a RunResult>) -> Vec<Difference> {
    let Some(first) = results.next() else { return Vec::new() };
    let record = SideRecord::default();
    let side = |result: &'a RunResult| ComparisonSide {
        name: "",
        environment: &result.environment,
        targets: &result.target,
        runs: 1,
        record: &record,
    };
    let mut found: Vec<Difference> = Vec::new();
    for other in results {
        for difference in plumb_trust::differences(&side(first), &side(other)) {
            if !found.iter().any(|known| known.fact == difference.fact) {
                found.push(difference);
            }
        }
    }
    found
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
