//! The runs of a comparison so far, as rows.

use super::plan::{CompareSide, PlannedBlock, SidePlot, side_index};
use super::tails::TailLog;
use plumb_bench::run::{failed, rejected_because};
use plumb_bench::{Place, RunOutcome};
use plumb_result::compare::{LeftOut, RunCheck, SideLoad};
use plumb_result::metric::Subject;
use plumb_result::observe::TargetFacts;
use plumb_result::run::TierName;
use plumb_result::{Finding, Histogram, Level, Metric, PhaseResult, RunResult, RunVerdict, UnderLoad};
use plumb_stats::schedule::Side;
use plumb_trust::{DialectPrint, Factor, Planned, SideRecord, ToolPrint, WorkPrint, WorkQuestion, work_print};
use plumb_workload::Workload;
use plumb_workload_text::named::NamedWorkload;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ComparedCell {
    pub workload: String,
    pub phase: String,
    pub metric: Metric,
}

/// One value of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogRow {
    pub block: u32,
    /// Number of the plot on its side: places on one plot have the number of the first of them.
    pub plot: u32,
    pub side: Side,
    /// Position of the run in the order of all runs, and so in [`ComparisonLog::runs`].
    pub run: u32,
    pub value: f64,
}

/// Times of single ops of one kind, all runs of each side merged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OpKey {
    pub(crate) workload: String,
    pub(crate) phase: String,
    pub(crate) op: &'static str,
}

#[derive(Default)]
pub(crate) struct ComparisonLog {
    pub(crate) planned: Vec<Planned>,
    varying: Option<&'static Factor>,
    /// Phases whose numbers are compared; empty for all.
    phases: Vec<String>,
    /// Baseline and candidate.
    pub(crate) by_side: [SideLog; 2],
    pub(crate) runs: Vec<String>,
    /// The side of each run, in the order of `runs`.
    pub(crate) run_sides: Vec<Side>,
    /// Whether no other runs came between these.
    pub(crate) is_sequence: bool,
    /// Mean time of a run including its preparation and cleanup, in seconds.
    pub(crate) run_seconds: Option<f64>,
    /// The blocks in run order, `AB` or `BA`.
    pub(crate) order: Vec<String>,
    pub(crate) left_out: Vec<LeftOut>,
    /// Two rows per block; a block with a rejected run has none.
    pub(crate) rows: BTreeMap<ComparedCell, Vec<LogRow>>,
    /// Tier that each number measured, by side; `mixed` if runs differ.
    pub(crate) tiers: BTreeMap<ComparedCell, [Option<TierName>; 2]>,
    /// Rows of blocks with a rejected run: shown for a number that has no others.
    pub(crate) rejected_rows: BTreeMap<ComparedCell, Vec<LogRow>>,
    pub(crate) latencies: BTreeMap<OpKey, [Histogram; 2]>,
    /// The slowest ops of the accepted runs.
    pub(crate) tails: TailLog,
    /// Number of blocks both of whose runs the checks accept, by work; only works that have some.
    pub(crate) accepted_pairs: BTreeMap<String, u32>,
    /// Notes about requests that could not be met, by workload, phase and note, with the names of the sides.
    pub(crate) notes: BTreeMap<(String, String, String), Vec<String>>,
}

/// The runs of one side.
#[derive(Default)]
pub(crate) struct SideLog {
    pub(crate) provisionings: Provisionings,
    /// The load of other processes in each run.
    pub(crate) loads: Vec<Option<UnderLoad>>,
    /// The storage under each plot, as observed by its first run, by work.
    pub(crate) targets: BTreeMap<usize, Grounds>,
    pub(crate) record: SideRecord,
    /// Resolved workloads, so that each distinct one is fingerprinted only once.
    resolved: Vec<Workload>,
    /// Number of accepted runs, by work.
    pub(crate) accepted: BTreeMap<String, u32>,
    runs: u32,
    /// Warnings and rejections of runs, by check: the worst one, the first of equal ones, with the number
    /// of runs that have one.
    warned: BTreeMap<String, (Finding, u32)>,
}

/// The storage under the targets of each work.
pub(crate) type Grounds = BTreeMap<String, BTreeMap<String, TargetFacts>>;

/// Maps the places of a side to plots.
#[derive(Default)]
pub(crate) struct Provisionings {
    pub(crate) by_place: BTreeMap<usize, u32>,
    by_identity: BTreeMap<String, u32>,
}

/// Returns the identity of a plot: the file system, or the disks if those are varied.
pub(crate) fn provisioning(targets: &BTreeMap<String, TargetFacts>, varying: Option<&Factor>) -> Option<String> {
    let facts = targets.values().next()?;
    if varying.is_some_and(|factor| factor.name == "device") && !facts.leaves.is_empty() {
        return Some(facts.leaves.join(","));
    }
    let filesystem = facts.filesystem.value()?;
    // A subvolume or a bind mount has its own mount point and the same UUID.
    Some(filesystem.uuid.value().cloned().unwrap_or_else(|| filesystem.mount_point.clone()))
}

/// The runs of a block for one work: in run order, by side.
pub(crate) struct BlockRuns {
    pub(crate) number: u32,
    pub(crate) planned: PlannedBlock,
    pub(crate) outcomes: [RunOutcome; 2],
}

impl ComparisonLog {
    /// Creates an empty log for these works.
    pub(crate) fn new(workloads: &[&'static NamedWorkload], varying: Option<&'static Factor>) -> ComparisonLog {
        ComparisonLog { planned: planned(workloads), varying, is_sequence: true, ..ComparisonLog::default() }
    }

    /// Restricts the log to these phases.
    pub(crate) fn of_phases(self, phases: &[String]) -> ComparisonLog {
        ComparisonLog { phases: phases.to_vec(), ..self }
    }

    /// Removes numbers of other phases from the plan, so that they do not count as missing.
    pub(crate) fn forget_other_phases(&mut self) {
        if self.phases.is_empty() {
            return;
        }
        let cells: Vec<&ComparedCell> = self.rows.keys().chain(self.rejected_rows.keys()).collect();
        self.planned.retain(|one| cells.iter().any(|cell| cell.workload == one.workload && cell.metric == one.metric));
    }

    /// Returns the plot that a place belongs to. Two directories of one file system belong to
    /// one mkfs, whatever their names.
    fn plot_of(&mut self, index: usize, place: usize, plot: &SidePlot, targets: &BTreeMap<String, TargetFacts>) -> u32 {
        let known = &mut self.by_side[index].provisionings;
        if let Some(&number) = known.by_place.get(&place) {
            return number;
        }
        let identity = match &plot.place {
            Place::Sim(_) => format!("sim {}", plot.number),
            Place::Directory(path) => provisioning(targets, self.varying).unwrap_or_else(|| path.display().to_string()),
        };
        let number = *known.by_identity.entry(identity).or_insert(place as u32);
        known.by_place.insert(place, number);
        number
    }

    /// Adds the two runs of a block. If one of them was rejected, the block adds no rows, because the
    /// other run has no counterpart.
    pub(crate) fn note(
        &mut self,
        sides: [&CompareSide; 2],
        named: &'static NamedWorkload,
        asked: &Workload,
        block: BlockRuns,
    ) {
        let first = self.runs.len() as u32;
        let mut place = [0u32; 2];
        let mut is_rejected = false;
        for (position, side) in block.planned.block.sides().into_iter().enumerate() {
            let index = side_index(side);
            let outcome = &block.outcomes[index];
            place[index] = first + position as u32;
            self.runs.push(outcome.result.id.clone());
            self.run_sides.push(side);
            self.note_run(&sides[index].name, index, asked, &outcome.result, None);
            is_rejected |= outcome.result.verdict == RunVerdict::Reject;
            self.by_side[index]
                .targets
                .entry(block.planned.plots[index])
                .or_default()
                .entry(named.name.to_owned())
                .or_insert_with(|| outcome.observations.targets.clone());
            let phases = &mut self.by_side[index].record.phases;
            if phases.is_empty() {
                phases.clone_from(&outcome.observations.phases);
            }
        }
        if !is_rejected {
            *self.accepted_pairs.entry(named.name.to_owned()).or_default() += 1;
        }
        let plots = [0, 1].map(|index| {
            let place = block.planned.plots[index];
            self.plot_of(index, place, &sides[index].plots[place], &block.outcomes[index].observations.targets)
        });
        let [baseline, candidate] = &block.outcomes;
        let others = numbers(named, &self.planned, candidate);
        for HeadlineNumber { cell, value: a, tier } in numbers(named, &self.planned, baseline) {
            let Some(other) = others.iter().find(|other| other.cell == cell) else { continue };
            if !self.phases.is_empty() && !self.phases.contains(&cell.phase) {
                continue;
            }
            let row = |side: Side, value: f64| LogRow {
                block: block.number,
                plot: plots[side_index(side)],
                side,
                run: place[side_index(side)],
                value,
            };
            let rows = [row(Side::A, a), row(Side::B, other.value)];
            if is_rejected {
                self.rejected_rows.entry(cell).or_default().extend(rows);
                continue;
            }
            let known = self.tiers.entry(cell.clone()).or_insert([tier, other.tier]);
            for (known, new) in known.iter_mut().zip([tier, other.tier]) {
                if *known != new {
                    *known = Some(TierName::Mixed);
                }
            }
            self.rows.entry(cell).or_default().extend(rows);
        }
        if is_rejected {
            return;
        }
        for (index, outcome) in block.outcomes.iter().enumerate() {
            self.tails.add(index, &outcome.result);
            for phase in &outcome.measurement.phases {
                for (kind, op) in phase.ops.iter().filter(|(_, op)| !op.service.is_empty()) {
                    let key = OpKey { workload: named.name.to_owned(), phase: phase.name.clone(), op: kind.name() };
                    self.latencies.entry(key).or_default()[index].merge(&op.service);
                }
            }
        }
    }

    /// Adds the properties of a run other than its numbers: unmet requests, findings, and the program that ran it.
    pub(crate) fn note_run(
        &mut self,
        side: &str,
        index: usize,
        asked: &Workload,
        result: &RunResult,
        dialect: Option<DialectPrint>,
    ) {
        let workload = &result.workload.name;
        for phase in &result.phases {
            for note in &phase.notes {
                let key = (workload.clone(), phase.name.clone(), note.clone());
                let sides = self.notes.entry(key).or_default();
                if !sides.iter().any(|known| known == side) {
                    sides.push(side.to_owned());
                }
            }
        }
        let log = &mut self.by_side[index];
        log.runs += 1;
        log.loads.push(result.under_load.as_deref().cloned());
        let mut codes: Vec<&str> = Vec::new();
        for finding in result.checks.iter().filter(|finding| finding.level >= Level::Warn) {
            if !codes.contains(&finding.code.as_str()) {
                codes.push(&finding.code);
                let (first, runs) = log.warned.entry(finding.code.clone()).or_insert_with(|| (finding.clone(), 0));
                // A finding that rejected a run matters more than a warning of another one.
                if finding.level > first.level {
                    *first = finding.clone();
                }
                *runs += 1;
            }
        }
        let record = &mut log.record;
        if result.verdict == RunVerdict::Reject {
            record.rejected += 1;
            for code in failed(result).map(|finding| &finding.code) {
                if !record.rejected_by.contains(code) {
                    record.rejected_by.push(code.clone());
                }
            }
            let reason = rejected_because(result);
            self.left_out.push(LeftOut { run: result.id.clone(), side: side.to_owned(), reason });
        } else {
            *log.accepted.entry(workload.clone()).or_default() += 1;
            record.loads.push(result.under_load.as_deref().cloned());
        }
        let tool = ToolPrint { name: result.tool.name.clone(), version: result.tool.version.clone(), dialect };
        if !record.tools.contains(&tool) {
            record.tools.push(tool);
        }
        if let Some(imported) = &result.imported {
            // Settings that the imported file omits are not known to be equal.
            let mut settings = serde_json::Map::new();
            for (name, value) in imported.work() {
                settings.insert(name.clone(), value.as_str().into());
            }
            let print = serde_json::json!({ "settings": settings });
            let known = WorkPrint { name: workload.clone(), asked: print.clone(), run: print };
            if !settings.is_empty() && !record.works.contains(&known) {
                record.works.push(known);
            }
        } else if !log.resolved.contains(&result.workload) {
            log.resolved.push(result.workload.clone());
            record.works.push(WorkPrint {
                name: workload.clone(),
                asked: work_print(asked, WorkQuestion::Sides),
                run: work_print(&result.workload, WorkQuestion::Sides),
            });
        }
    }

    /// Removes an accepted run from the counts after all.
    pub(crate) fn leave_out(&mut self, index: usize, side: &str, result: &RunResult, reason: String) {
        if let Some(accepted) = self.by_side[index].accepted.get_mut(&result.workload.name) {
            *accepted = accepted.saturating_sub(1);
        }
        self.left_out.push(LeftOut { run: result.id.clone(), side: side.to_owned(), reason });
    }

    /// Returns the fingerprint of the work on one side, for a noise floor.
    pub(crate) fn floor_print(&self, index: usize, workload: &str) -> Option<serde_json::Value> {
        let ran = self.by_side[index].resolved.iter().find(|one| one.name == workload)?;
        Some(work_print(ran, WorkQuestion::Floor))
    }

    /// Returns the checks that warned of runs or rejected them, by side: the worst first, then the most frequent.
    pub(crate) fn run_checks(&self, sides: [&str; 2]) -> Vec<RunCheck> {
        let of_side = |(log, side): (&SideLog, &str)| {
            let check = |(finding, runs): &(Finding, u32)| RunCheck {
                side: side.to_owned(),
                runs: *runs,
                of: log.runs,
                finding: finding.clone(),
            };
            log.warned.values().map(check).collect::<Vec<_>>()
        };
        let mut all: Vec<RunCheck> = self.by_side.iter().zip(sides).flat_map(of_side).collect();
        all.sort_by_key(|check| (std::cmp::Reverse(check.finding.level), u32::MAX - check.runs));
        all
    }

    /// Returns the load of other processes on each side with such load: the median over its runs.
    pub(crate) fn side_loads(&self, sides: [&str; 2]) -> Vec<SideLoad> {
        let of_side = |(log, side): (&SideLog, &str)| {
            let mut loads: Vec<&UnderLoad> = log.loads.iter().flatten().collect();
            loads.sort_by(|one, other| one.device_share.total_cmp(&other.device_share));
            let median = *loads.get(loads.len() / 2)?;
            Some(SideLoad { side: side.to_owned(), runs: loads.len() as u32, of: log.runs, load: median.clone() })
        };
        self.by_side.iter().zip(sides).filter_map(of_side).collect()
    }

    /// Returns the mean time of a run in seconds, from the total time of all runs.
    pub(crate) fn seconds_a_run(&self, spent: Duration) -> Option<f64> {
        (!self.runs.is_empty()).then(|| spent.as_secs_f64() / self.runs.len() as f64)
    }

    /// Returns the side of the run before each, if no other runs came between.
    pub(crate) fn previous(&self) -> Vec<Option<Side>> {
        match self.is_sequence {
            true => std::iter::once(None).chain(self.run_sides.iter().copied().map(Some)).collect(),
            false => Vec::new(),
        }
    }

    /// Returns the number of accepted blocks in which a run lacks a value of this number.
    pub(crate) fn lacking(&self, cell: &ComparedCell) -> u32 {
        let with = self.rows.get(cell).map_or(0, Vec::len) as u32 / 2;
        self.accepted_pairs.get(&cell.workload).copied().unwrap_or(0).saturating_sub(with)
    }

    /// Returns the accepted runs of the work that has fewest.
    pub(crate) fn runs_of<'w>(&self, index: usize, workloads: impl Iterator<Item = &'w str>) -> u32 {
        let of = |workload: &str| self.by_side[index].accepted.get(workload).copied().unwrap_or(0);
        workloads.map(of).min().unwrap_or(0)
    }
}

/// Returns every number that these works should produce.
fn planned(workloads: &[&'static NamedWorkload]) -> Vec<Planned> {
    let metrics = workloads.iter().flat_map(|named| named.headline.iter().map(move |headline| (named.name, headline)));
    metrics
        .filter_map(|(workload, headline)| {
            Some(Planned { workload: workload.to_owned(), metric: headline.parse().ok()? })
        })
        .collect()
}

/// A headline number of a run.
struct HeadlineNumber {
    cell: ComparedCell,
    value: f64,
    tier: Option<TierName>,
}

/// Returns the headline numbers of a run. A zero has no logarithm, and is omitted like a missing value.
fn numbers(named: &'static NamedWorkload, planned: &[Planned], outcome: &RunOutcome) -> Vec<HeadlineNumber> {
    let is_planned = |metric: Metric| planned.iter().any(|one| one.metric == metric && one.workload == named.name);
    let mut numbers = Vec::new();
    for phase in &outcome.result.phases {
        for (&metric, value) in phase.metrics.iter().filter(|(metric, _)| is_planned(**metric)) {
            if let Some(value) = value.value.filter(|&value| value > 0.0) {
                let cell = ComparedCell { workload: named.name.to_owned(), phase: phase.name.clone(), metric };
                numbers.push(HeadlineNumber { cell, value, tier: tier(phase, metric) });
            }
        }
    }
    numbers
}

/// Returns the tier of a number: its own, or for a time that of its op's rate.
pub(crate) fn tier(phase: &PhaseResult, metric: Metric) -> Option<TierName> {
    let of = |metric: Metric| phase.metrics.get(&metric)?.tier;
    of(metric).or_else(|| match metric.subject {
        Subject::Op(kind) => of(Metric::rate(kind)),
        _ => None,
    })
}
