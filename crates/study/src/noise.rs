//! The smallest difference that a set-up can show: a place compared with itself, in the design of a comparison.

use crate::compare::comparison_log::{ComparedCell, ComparisonLog, LogRow};
use crate::compare::{CompareRequest, CompareSide, ComparisonEnded, Measured, claims, measure, messages, view};
use crate::floors::with_ranks;
use jiff::Timestamp;
use plumb_bench::not_stored::NotStored;
use plumb_bench::{Bench, Progress, RunError};
use plumb_result::{NOISE_SCHEMA, Noise, NoiseFloor, RejectedNumber, Remedy};
use plumb_stats::stop::{StopReason, StopRule};
use plumb_stats::verdict::{Note, Verdict};
use plumb_store::{NoiseIn, NoiseWork};
use plumb_trust::MIN_RUNS_TO_CLAIM;
use plumb_trust::advice::{CommandContext, sentences};
use plumb_workload_text::named::{NamedWorkload, Scale};
use std::collections::BTreeMap;
use std::time::Duration;

pub struct NoiseRequest<'a> {
    /// The place, as typed.
    pub place: String,
    /// The place twice: the same plots for a floor of runs, plots of two numbers for a floor of plots.
    pub sides: [CompareSide; 2],
    pub workloads: Vec<&'static NamedWorkload>,
    /// Size of a run; `place` is set.
    pub scale: Scale,
    /// Total time limit, preparation included.
    pub budget: Duration,
    /// When to stop: the rule of the comparisons that the floor is for.
    pub rule: StopRule,
    /// Seed of the order and of every op.
    pub seed: u64,
    /// As typed, for the record.
    pub command: &'a str,
}

impl NoiseRequest<'_> {
    /// Returns the comparison of the place with itself.
    pub fn compared(&self) -> CompareRequest<'_> {
        let [baseline, candidate] = self.sides.clone();
        CompareRequest {
            baseline,
            candidate,
            workloads: self.workloads.clone(),
            scale: self.scale.clone(),
            budget: self.budget,
            rule: self.rule,
            varying: None,
            seed: self.seed,
            command: self.command,
            phases: &[],
        }
    }
}

/// The outcome of a noise measurement.
pub struct NoiseOutcome {
    /// The floors, as stored.
    pub noise: Noise,
    /// Whether a signal ended it early; then nothing is stored for later comparisons.
    pub interrupted: bool,
    /// Number of runs rejected by their checks.
    pub rejected: usize,
}

/// Checks of a comparison that are meaningful for a place compared with itself.
const RELEVANT: &[&str] = &["E1", "E4", "E5", "E10"];

/// Measures and stores the noise floor of a place.
pub fn noise(
    bench: &mut Bench,
    request: &NoiseRequest<'_>,
    progress: &mut dyn Progress,
) -> Result<NoiseOutcome, RunError> {
    let compared = request.compared();
    let measured_at = Timestamp::now().to_string();
    let measured = measure(bench, &compared, progress)?;
    let environment = bench.environment_of_runs().clone();
    let Measured { comparison_log, claims, rule, ended } = &measured;
    let sides = view::sides(&compared, comparison_log, &environment);
    let judged = view::judge(&bench.command_context, &sides, comparison_log, claims, rule, &BTreeMap::new());
    let floors: Vec<NoiseFloor> = claims
        .iter()
        .zip(judged.modes)
        // Both sides are one place, so either shows its speeds.
        .map(|(claim, modes)| (claim, if modes.baseline.is_empty() { modes.candidate } else { modes.baseline }))
        .filter_map(|(claim, modes)| Some(NoiseFloor { modes, ..floor(claim, &measured)? }))
        .collect();
    let differing: Vec<String> = claims
        .iter()
        .filter(|claim| matches!(claim.assessment.verdict, Verdict::Faster(_) | Verdict::Slower(_)))
        .map(|claim| format!("{}: {}", claim.cell.workload, claim.cell.metric))
        .collect();
    let mut notes = messages::notes(&request.workloads, request.scale.time_ns, comparison_log);
    notes.extend(messages::shared_provisionings(compared.sides(), comparison_log));
    notes.dedup();
    let noise = Noise {
        schema: NOISE_SCHEMA.to_owned(),
        note: note(&request.place, &floors, &differing, comparison_log, (*ended, &bench.command_context)),
        place: request.place.clone(),
        measured_at,
        rejected: rejected(comparison_log),
        floors,
        planned: comparison_log.planned.len() as u32,
        seed: request.seed,
        order: comparison_log.order.clone(),
        plots: request.sides[0].plots.len() as u32,
        runs: comparison_log.runs.clone(),
        left_out: comparison_log.left_out.clone(),
        notes,
        checks: judged.findings.into_iter().filter(|one| RELEVANT.contains(&one.code.as_str())).collect(),
    };
    let interrupted = *ended == ComparisonEnded::Interrupted;
    if let Some(store) = bench.results.store.as_mut().filter(|_| !interrupted && !noise.floors.is_empty()) {
        let works = BTreeMap::from_iter(request.workloads.iter().filter_map(|named| {
            let print = comparison_log.floor_print(0, named.name)?;
            let targets = comparison_log.by_side[0].targets.values().find_map(|works| works.get(named.name))?.clone();
            Some((named.name.to_owned(), NoiseWork { print, targets }))
        }));
        let id = uuid::Uuid::now_v7().to_string();
        let place =
            with_ranks(request.sides[0].key(), bench.partners.ranks.as_ref().map(|ranks| ranks.facts()).as_ref());
        let kept = NoiseIn { id: &id, place: &place, noise: &noise, environment: &environment, works: &works };
        if let Err(error) = store.save_noise(&kept) {
            let kept = NotStored::document(store.path(), error.to_string(), "noise", &id, &noise);
            NotStored::add(&mut bench.results.not_stored, Some(kept));
        }
    }
    Ok(NoiseOutcome { rejected: noise.left_out.len(), noise, interrupted })
}

/// Returns numbers with a rejected run in every block.
fn rejected(log: &ComparisonLog) -> Vec<RejectedNumber> {
    let number = |(cell, rows): (&ComparedCell, &Vec<LogRow>)| {
        let values: Vec<f64> = rows.iter().map(|row| row.value).collect();
        Some(RejectedNumber {
            workload: cell.workload.to_owned(),
            phase: cell.phase.clone(),
            metric: cell.metric,
            value: plumb_stats::summary::geometric_mean(&values).ok()?,
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(0.0, f64::max),
            runs: values.len() as u32,
        })
    };
    log.rejected_rows.iter().filter(|(cell, _)| !log.rows.contains_key(cell)).filter_map(number).collect()
}

/// Returns the floor of one number; `None` with too few blocks or plots for any claim.
fn floor(claim: &crate::compare::claims::CellClaim, measured: &Measured) -> Option<NoiseFloor> {
    let assessment = &claim.assessment;
    if matches!(assessment.note, Note::TooFewBlocks | Note::TooFewPlots) {
        return None;
    }
    let ratio = assessment.ratio?;
    let (log_ratio, log_half_width) = (ratio.value.ln(), (ratio.hi / ratio.value).ln());
    let values: Vec<f64> = measured.comparison_log.rows[&claim.cell].iter().map(|row| row.value).collect();
    Some(NoiseFloor {
        workload: claim.cell.workload.to_owned(),
        phase: claim.cell.phase.clone(),
        metric: claim.cell.metric,
        value: plumb_stats::summary::geometric_mean(&values).ok(),
        cv: plumb_stats::summary::coefficient_of_variation(&values).ok(),
        floor: NoiseFloor::compute(log_ratio, log_half_width),
        log_ratio,
        log_half_width,
        blocks: assessment.blocks,
        unit: claims::replicate(assessment.unit),
        modes: Vec::new(),
    })
}

fn note(
    place: &str,
    floors: &[NoiseFloor],
    differing: &[String],
    log: &ComparisonLog,
    (ended, context): (ComparisonEnded, &CommandContext),
) -> String {
    let left_out = log.left_out.len();
    let largest = floors.iter().map(|floor| floor.floor).fold(0.0, f64::max);
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let mut text = match floors {
        [] if left_out > 0 => {
            let why = messages::why_rejected(&log.run_checks([place, place]), &log.side_loads([place, place]));
            format!("{why} No noise floor for {place}: the checks rejected too many runs.")
        }
        [] => format!("No noise floor for {place}: too few runs."),
        [only] => format!("Noise floor (A/A) of {place}: differences below {} cannot be claimed.", percent(only.floor)),
        _ => format!(
            "Noise floor (A/A) of {place}: at most {}. Smaller differences than in the table cannot be claimed.",
            percent(largest)
        ),
    };
    if !differing.is_empty() {
        text.push_str(&format!(
            " The two equal sides differ significantly in {}: find out what favours one of them before comparing anything.",
            differing.join(", ")
        ));
    }
    if left_out > 0 {
        let runs = if left_out == 1 { "run was" } else { "runs were" };
        text.push_str(&format!(" {left_out} {runs} rejected by checks and left out."));
    }
    match ended {
        ComparisonEnded::Interrupted => text.push_str(" Interrupted: not stored for later comparisons."),
        ComparisonEnded::By(StopReason::Budget) if floors.is_empty() => {
            let runs = log.runs.len().max(1) as f64;
            let blocks = log.order.len().max(1) as f64;
            let needed = log.run_seconds.map(|seconds| seconds * runs * f64::from(MIN_RUNS_TO_CLAIM + 1) / blocks);
            let remedy = Remedy::LargerBudget { at_least_ns: needed.map(|seconds| (seconds * 1e9) as u64) };
            text.push_str(&format!(" The time budget is spent. {}", sentences(&[remedy], context)));
        }
        ComparisonEnded::By(_) | ComparisonEnded::NothingAccepted => {}
    }
    text
}
