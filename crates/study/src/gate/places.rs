//! Gates that measure both sides: interleaved blocks, until there is a decision or the budget is used up.

use super::numbers::{NumberContext, direction, number, unit_of};
use super::{ERROR_RATE, GateOutcome, words};
use crate::compare::claims::{CellValues, Lacking, Rows, claims};
use crate::compare::comparison_log::ComparisonLog;
use crate::compare::plan::{CompareSide, complete, order};
use crate::compare::{
    BlockEnd, CompareRequest, ComparedCell, ComparisonEnded, Measured, conclude, messages, run_block,
};
use plumb_bench::{Bench, Parts, Progress, RunError};
use plumb_result::gate::{
    GATE_SCHEMA, GateAnswer, GateDesign, GateLooks, GateNeed, GateNumber, GateSide, GateSource, GateUnit,
};
use plumb_result::{Comparison, Contrast, ContrastVerdict, Gate};
use plumb_stats::gate::{
    GateAssessment, GateEvidence, GateNote, GateRule, GateVerdict, Looks, assess, is_one_sided, overall,
};
use plumb_stats::stop::{StopReason, StopRule};
use plumb_stats::verdict::{BLOCKS_NEEDED_MAX, Sides, VerdictRule};
use plumb_trust::Planned;
use plumb_workload::Nanos;
use plumb_workload_text::named::{NamedWorkload, Scale};
use std::time::{Duration, Instant};

/// A gate that measures both sides.
pub struct PlacesRequest<'a> {
    /// The reference side.
    pub baseline: CompareSide,
    /// The side that is judged.
    pub candidate: CompareSide,
    pub workloads: Vec<&'static NamedWorkload>,
    /// The numbers that are judged, see [`super::planned`].
    pub planned: Vec<Planned>,
    /// Size of a run; `place` is set for each side.
    pub scale: Scale,
    /// Total time limit; on simulated devices, in their own time.
    pub budget: Duration,
    /// A regression within this factor passes.
    pub margin: f64,
    /// Number of gates that share the error rate of `regression`.
    pub gates: u32,
    /// Seed of the order and of every op.
    pub seed: u64,
    /// As typed, for the record.
    pub command: &'a str,
    /// Returns the options for another gate with this budget and with runs like this one's: the value of `--budget`.
    pub options: &'a dyn Fn(Duration) -> String,
}

impl PlacesRequest<'_> {
    /// Returns the two sides as a comparison.
    pub fn compared(&self) -> CompareRequest<'_> {
        CompareRequest {
            baseline: self.baseline.clone(),
            candidate: self.candidate.clone(),
            workloads: self.workloads.clone(),
            scale: self.scale.clone(),
            budget: self.budget,
            rule: StopRule { blocks_max: BLOCKS_NEEDED_MAX, ..StopRule::default() },
            varying: None,
            seed: self.seed,
            command: self.command,
            phases: &[],
        }
    }
}

/// The results of the last look.
#[derive(Default)]
struct LastLook {
    cells: Vec<ComparedCell>,
    assessments: Vec<GateAssessment>,
    done: u32,
    planned: u32,
}

/// Judges a place by another one.
///
/// # Errors
/// A run cannot be made.
pub fn gate_places(
    bench: &mut Bench,
    request: &PlacesRequest<'_>,
    progress: &mut dyn Progress,
) -> Result<GateOutcome, RunError> {
    let compared = request.compared();
    let rule =
        GateRule { margin: request.margin, seed: request.seed, gates: request.gates.max(1), ..GateRule::default() };
    let mut log = ComparisonLog::new(&request.workloads, None);
    log.planned.clone_from(&request.planned);
    let mut clock = Clock { started: Instant::now(), simulated: Duration::ZERO };
    let (last, ended) = measure(bench, &compared, &rule, &mut log, &mut clock, progress)?;
    let spent = clock.elapsed();
    log.run_seconds = log.seconds_a_run(spent);

    let verdict_rule = VerdictRule { seed: request.seed, ..VerdictRule::default() };
    let missing: Vec<String> = request.workloads.iter().flat_map(|named| missing(named, request, &log)).collect();
    let rows = log.rows.clone();
    let blocks = log.order.len() as u32;
    let lacking: Vec<u32> = last.cells.iter().map(|cell| log.lacking(cell)).collect();
    let measured = Measured { claims: claims(&rows, &verdict_rule), comparison_log: log, rule: verdict_rule, ended };
    let outcome = conclude(bench, &compared, measured);
    let left_out_of =
        |side: &CompareSide| outcome.comparison.left_out.iter().filter(|run| run.side == side.name).count() as u32;
    let rejected = is_one_sided([left_out_of(&request.baseline), left_out_of(&request.candidate)])
        || outcome.rejected > 0 && last.assessments.iter().all(|one| one.note == GateNote::TooFew);
    let unit = unit_of(&rows);
    let numbers: Vec<GateNumber> = last
        .cells
        .iter()
        .zip(&last.assessments)
        .zip(lacking)
        .map(|((cell, assessment), lacking)| {
            let has = rows[cell].len() as u32 / 2;
            let uncapped = if assessment.verdict == GateVerdict::CannotTell {
                ContrastVerdict::CannotTell
            } else {
                ContrastVerdict::Equivalent
            };
            let context = NumberContext {
                values: CellValues::from_rows(&rows[cell]).blocks,
                unit,
                floor: floor(&outcome.comparison, cell),
                findings: &outcome.comparison.checks,
                forbids: Lacking { units: lacking, of: has, what: "blocks" }.cap(uncapped),
                changes: Vec::new(),
            };
            number(cell, assessment, &rule, context)
        })
        .collect();
    let answer = answer(&numbers, &missing, rejected);
    let is_open = answer == GateAnswer::CannotTell;
    let interrupted = outcome.interrupted;
    let needed = (is_open && !rejected && missing.is_empty())
        .then(|| need(&numbers, &last.assessments, spent, blocks, request))
        .flatten();
    let Comparison { left_out, run_checks, checks, differences, notes, runs, settle, contrasts, under_load, .. } =
        outcome.comparison;
    let why = if rejected { format!(" {}", messages::why_rejected(&run_checks, &under_load)) } else { String::new() };
    let rejected_numbers: Vec<Contrast> = contrasts.into_iter().filter(|contrast| contrast.rejected).collect();
    let side = |side: &CompareSide| GateSide {
        name: side.name.clone(),
        source: GateSource::Measured,
        runs: (runs.len() / 2) as u32 - left_out.iter().filter(|run| run.side == side.name).count() as u32,
        sessions: None,
    };
    let gate = Gate {
        schema: GATE_SCHEMA.to_owned(),
        answer,
        suspected: false,
        note: String::new(),
        promise: words::promise(rule.margin),
        baseline: side(&request.baseline),
        candidate: side(&request.candidate),
        design: GateDesign::Interleaved,
        margin: rule.margin,
        error_rate: ERROR_RATE,
        numbers,
        missing,
        looks: GateLooks { done: last.done, planned: last.planned, level: rule.alpha / f64::from(last.planned.max(1)) },
        seconds: spent.as_secs_f64(),
        needed,
        rejected,
        left_out,
        run_checks,
        checks,
        differences,
        notes,
        runs,
        seed: request.seed,
        settle,
        gates: (rule.gates > 1).then_some(rule.gates),
        rejected_numbers,
    };
    // Four times the length halves the spread, if it is that of a mean over time.
    let longer = format!("`--time {}`", Nanos(request.scale.time_ns.saturating_mul(4)));
    let gate = Gate { note: words::note(&gate, interrupted, &longer) + &why, ..gate };
    Ok(GateOutcome { gate, measured: Vec::new(), interrupted })
}

/// If the checks have rejected every run for this long, the cause is not temporary noise, and
/// more runs will not help.
const HOPELESS_AFTER: Duration = Duration::from_secs(30);

/// Elapsed time for a budget.
struct Clock {
    started: Instant,
    /// Time on simulated devices.
    simulated: Duration,
}

impl Clock {
    fn elapsed(&self) -> Duration {
        self.started.elapsed() + self.simulated
    }
}

/// Runs blocks and looks at them. The number of looks depends on the time of the first blocks, not on their values.
fn measure(
    bench: &mut Bench,
    request: &CompareRequest<'_>,
    rule: &GateRule,
    log: &mut ComparisonLog,
    clock: &mut Clock,
    progress: &mut dyn Progress,
) -> Result<(LastLook, ComparisonEnded), RunError> {
    bench.begin_comparison();
    let complete = complete(request.plots());
    let order = order(request.seed, BLOCKS_NEEDED_MAX.next_multiple_of(complete), request.plots());
    let mut looks: Option<Looks> = None;
    let mut last = LastLook::default();
    let mut done = 0u32;
    let mut blocks_assessed = 0;
    loop {
        let next = match &looks {
            None => Some(rule.blocks_min),
            Some(looks) => looks.after(done),
        };
        let Some(next) = next.map(|next| next.next_multiple_of(complete).min(order.len() as u32)) else {
            return Ok((last, ComparisonEnded::By(StopReason::Budget)));
        };
        let mut ended = None;
        while done < next {
            let next = clock.elapsed() / done.max(1) * complete;
            if done > 0 && done.is_multiple_of(complete) && clock.elapsed() + next > request.budget {
                ended = Some(ComparisonEnded::By(StopReason::Budget));
                break;
            }
            progress.parts(Parts { done, most: order.len() as u32, budget: Some(request.budget) });
            progress.block(&format!("block {}", done + 1));
            match run_block(bench, request, order[done as usize], done, log, progress)? {
                BlockEnd::Interrupted => {
                    ended = Some(ComparisonEnded::Interrupted);
                    break;
                }
                BlockEnd::Done { simulated } => clock.simulated += simulated,
            }
            done += 1;
        }
        let looks = looks.get_or_insert_with(|| {
            let block = clock.elapsed().as_secs_f64() / f64::from(done.max(1));
            let fit = (request.budget.as_secs_f64() / block.max(1e-9)) as u32;
            Looks::within(rule.blocks_min, fit.min(BLOCKS_NEEDED_MAX))
        });
        if done > blocks_assessed {
            blocks_assessed = done;
            last = assess_rows(&log.rows, looks.count(), last.done, rule);
        }
        if let Some(ended) = ended {
            return Ok((last, ended));
        }
        if log.accepted_pairs.is_empty() && clock.elapsed() >= HOPELESS_AFTER {
            return Ok((last, ComparisonEnded::NothingAccepted));
        }
        let whole = log.planned.len() <= last.cells.len();
        if whole && overall(last.assessments.iter().map(|one| one.verdict)) != GateVerdict::CannotTell {
            return Ok((last, ComparisonEnded::By(StopReason::Precise)));
        }
    }
}

fn assess_rows(rows: &Rows, planned: u32, done: u32, rule: &GateRule) -> LastLook {
    let by_plot = unit_of(rows) == GateUnit::Plot;
    let evidence = rows.iter().filter_map(|(cell, rows)| {
        let values = CellValues::from_rows(rows);
        let ([baseline, candidate], [plots_a, plots_b]) = (&values.blocks, &values.plots);
        let sides = match by_plot {
            true => Sides::Plots { baseline: plots_a, candidate: plots_b },
            false => Sides::Blocks { baseline, candidate },
        };
        // Values are above 0 and come in pairs, so no error is possible.
        Some((cell.clone(), GateEvidence::from_sides(sides, direction(cell), rule.seed).ok()?))
    });
    let (cells, evidence): (Vec<ComparedCell>, Vec<GateEvidence>) = evidence.unzip();
    let assessments = assess(&evidence, planned, rule).unwrap_or_default();
    LastLook { cells, assessments, done: done + 1, planned }
}

/// Lists planned numbers that were not measured in every block.
fn missing(named: &'static NamedWorkload, request: &PlacesRequest<'_>, log: &ComparisonLog) -> Vec<String> {
    if !log.accepted_pairs.contains_key(named.name) {
        return vec![format!("{}: the checks rejected a run of every block", named.name)];
    }
    let missing = messages::missing(named, request.scale.time_ns, log);
    missing.into_iter().map(|(metric, why)| format!("{} {metric}: {why}", named.name)).collect()
}

fn floor(comparison: &Comparison, cell: &ComparedCell) -> Option<plumb_result::compare::Floor> {
    let is_of = |one: &&plumb_result::Contrast| {
        one.metric == cell.metric && one.phase == cell.phase && one.workload.as_ref() == Some(&cell.workload)
    };
    comparison.contrasts.iter().find(is_of)?.floor.clone()
}

/// Returns the answer over all numbers. A missing number prevents a pass, and too many
/// rejected runs prevent any answer.
pub(super) fn answer(numbers: &[GateNumber], missing: &[String], rejected: bool) -> GateAnswer {
    let is = |answer: GateAnswer| numbers.iter().any(|number| number.answer == answer);
    if rejected || numbers.is_empty() {
        GateAnswer::CannotTell
    } else if is(GateAnswer::Regression) {
        GateAnswer::Regression
    } else if is(GateAnswer::CannotTell) || !missing.is_empty() {
        GateAnswer::CannotTell
    } else {
        GateAnswer::Pass
    }
}

/// Blocks vary in time, and the last one must fit.
const TIME_SLACK: f64 = 1.05;

/// Returns the time in which a new gate has enough blocks for every number.
fn need(
    numbers: &[GateNumber],
    assessments: &[GateAssessment],
    spent: Duration,
    blocks: u32,
    request: &PlacesRequest<'_>,
) -> Option<GateNeed> {
    let open = numbers.iter().zip(assessments).filter(|(number, _)| number.answer == GateAnswer::CannotTell);
    // A number that a check forbids needs no blocks, and a number without an estimate of blocks has no time.
    let needed: Option<Vec<u32>> = open.map(|(_, assessment)| assessment.units_needed).collect();
    let units = needed?.into_iter().max()?;
    let seconds = spent.as_secs_f64() / f64::from(blocks.max(1)) * f64::from(units) * TIME_SLACK;
    let options = (request.options)(Duration::from_secs_f64(seconds));
    Some(GateNeed { units, seconds: Some(seconds), options: Some(options) })
}
