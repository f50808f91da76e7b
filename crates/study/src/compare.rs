//! Which of two is faster: interleaved blocks, a verdict per phase and metric, and everything in which the sides differ.

use crate::fit::Policies;
use crate::place::Place;
use crate::run::{Bench, Progress, RunError, RunOutcome, RunRequest};
use plumb_engine::sim::SimRun;
use plumb_result::compare::{COMPARE_SCHEMA, Difference, LeftOut};
use plumb_result::metric::Stat;
use plumb_result::observe::TargetFacts;
use plumb_result::{Better, Comparison, Contrast, ContrastVerdict, Finding, Level, Metric, Quantity, RunVerdict};
use plumb_stats::schedule::{Block, Side, blocked_order};
use plumb_stats::stop::{Budget, Decision, Precision, Statistic, StopReason, StopRule, Stopper};
use plumb_stats::verdict::{Assessment, Rule, Verdict, assess};
use plumb_trust::{ComparisonView, Factor};
use plumb_workload::Workload;
use plumb_workload::named::{NAMED, Named, Scale};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Method and version of the claims that [`compare`] makes.
pub const METHOD: &str = "blocked-paired-log-t/1";

/// One of the two.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareSide {
    /// How it is called: the path as typed.
    pub name: String,
    /// Where it is.
    pub place: Place,
}

/// What to compare.
pub struct CompareRequest<'a> {
    /// What the candidate is held against.
    pub baseline: CompareSide,
    /// What is held against it.
    pub candidate: CompareSide,
    /// For which work.
    pub workloads: Vec<&'a Named>,
    /// Size of a run; `place` is set for each side.
    pub scale: Scale,
    /// How long it may take altogether, preparation included.
    pub budget: Duration,
    /// When to stop.
    pub rule: StopRule,
    /// The only factor that was meant to differ.
    pub varying: Option<&'static Factor>,
    /// Seed of the order and of every op.
    pub seed: u64,
    /// As typed, for the record.
    pub command: String,
}

/// What a comparison came to.
pub struct CompareOutcome {
    /// The comparison, as stored.
    pub comparison: Comparison,
    /// What the checks say of the comparison as a whole.
    pub findings: Vec<Finding>,
    /// A signal ended it early.
    pub interrupted: bool,
    /// Runs that were rejected by their checks.
    pub rejected: usize,
    /// Why the store does not hold it, where it does not.
    pub not_stored: Option<String>,
}

/// One number that is compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Cell {
    workload: &'static str,
    phase: String,
    metric: Metric,
}

/// The two runs of a block, by cell; a run that was rejected has no numbers.
#[derive(Default)]
struct Sample {
    baseline: Vec<f64>,
    candidate: Vec<f64>,
}

/// Why a comparison ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// The stop rule, or the budget.
    By(StopReason),
    /// A signal.
    Interrupted,
    /// No block had two runs that the checks accept.
    NothingAccepted,
}

/// The runs so far.
struct Ledger {
    runs: Vec<String>,
    order: Vec<String>,
    left_out: Vec<LeftOut>,
    samples: BTreeMap<Cell, Sample>,
    facts: [Option<RunOutcome>; 2],
    accepted: [u32; 2],
    /// Workloads of which a block had two runs that the checks accept.
    accepted_pairs: BTreeSet<&'static str>,
    not_stored: Option<String>,
    /// What was asked for and not had, by workload, phase and note, with the sides that it is about.
    notes: BTreeMap<(&'static str, String, String), Vec<String>>,
}

/// Compares two places.
pub fn compare(
    bench: &mut Bench,
    request: &CompareRequest<'_>,
    progress: &mut dyn Progress,
) -> Result<CompareOutcome, RunError> {
    let started = Instant::now();
    let order = blocked_order(request.seed, request.rule.blocks_max);
    let mut ledger = Ledger {
        runs: Vec::new(),
        order: Vec::new(),
        left_out: Vec::new(),
        samples: BTreeMap::new(),
        facts: [None, None],
        accepted: [0, 0],
        accepted_pairs: BTreeSet::new(),
        not_stored: None,
        notes: BTreeMap::new(),
    };
    let mut stopper = Stopper::new(request.rule);
    let mut done = 0u32;
    let ended = 'looks: loop {
        let elapsed = started.elapsed();
        // A further step must fit: what is left must last for two blocks of the length so far.
        let block = if done == 0 { Duration::ZERO } else { elapsed / done };
        let budget = if elapsed + block * 2 > request.budget && done > 0 { Budget::Spent } else { Budget::Left };
        let assessments = assessments(request, &ledger)?;
        // Where the checks reject every run, more of them will not help.
        if done >= request.rule.blocks_min && ledger.accepted_pairs.is_empty() {
            break Ended::NothingAccepted;
        }
        match stopper.look(done, &precisions(&assessments), budget) {
            Decision::Stop(reason) => break Ended::By(reason),
            Decision::Run { blocks } => {
                for _ in 0..blocks {
                    let over = started.elapsed() + block > request.budget && done > 0;
                    if over {
                        break 'looks Ended::By(StopReason::Budget);
                    }
                    progress.block(&format!("block {} of at least {}", done + 1, request.rule.blocks_min));
                    let finished = run_block(bench, request, order[done as usize], done, &mut ledger, progress)?;
                    if !finished {
                        break 'looks Ended::Interrupted;
                    }
                    done += 1;
                }
            }
        }
    };
    finish(bench, request, ledger, ended)
}

/// Runs every workload on both sides in the block's order. False when a signal ended it.
fn run_block(
    bench: &mut Bench,
    request: &CompareRequest<'_>,
    block: Block,
    number: u32,
    ledger: &mut Ledger,
    progress: &mut dyn Progress,
) -> Result<bool, RunError> {
    for named in &request.workloads {
        let mut outcomes: [Option<RunOutcome>; 2] = [None, None];
        for (position, side) in block.sides().into_iter().enumerate() {
            let index = side_index(side);
            let place = if index == 0 { &request.baseline.place } else { &request.candidate.place };
            let scale = Scale { place: place.for_named(), seed: request.seed, ..request.scale.clone() };
            let workload: Workload = named.workload(&scale);
            // Each run of a simulated device is a run of its own: run numbers follow real time, so drift is drift.
            let run_index = number * 2 + position as u32;
            let request = RunRequest {
                workload: &workload,
                policies: Policies::Fitted,
                base: place.base(),
                command: &request.command,
                sim_run: SimRun { seed: sim_seed(request.seed, index), run_index, plot_index: index as u32 },
            };
            let outcome = bench.run(&request, progress)?;
            if outcome.result.partial {
                return Ok(false);
            }
            outcomes[index] = Some(outcome);
        }
        let [Some(baseline), Some(candidate)] = outcomes else { continue };
        ledger.note(request, named.name, baseline, candidate);
    }
    ledger.order.push(block.name().to_owned());
    Ok(true)
}

const fn side_index(side: Side) -> usize {
    match side {
        Side::A => 0,
        Side::B => 1,
    }
}

/// The two sides are two devices, even when they are called the same.
fn sim_seed(seed: u64, side: usize) -> u64 {
    seed.wrapping_mul(2).wrapping_add(side as u64)
}

impl Ledger {
    fn note(
        &mut self,
        request: &CompareRequest<'_>,
        workload: &'static str,
        baseline: RunOutcome,
        candidate: RunOutcome,
    ) {
        let sides = [(&request.baseline, &baseline), (&request.candidate, &candidate)];
        let mut rejected = false;
        for (index, (side, outcome)) in sides.into_iter().enumerate() {
            self.runs.push(outcome.result.id.clone());
            if self.not_stored.is_none() {
                self.not_stored.clone_from(&outcome.not_stored);
            }
            for phase in &outcome.result.phases {
                for note in &phase.notes {
                    let sides = self.notes.entry((workload, phase.name.clone(), note.clone())).or_default();
                    if !sides.contains(&side.name) {
                        sides.push(side.name.clone());
                    }
                }
            }
            if outcome.result.verdict == RunVerdict::Reject {
                rejected = true;
                self.left_out.push(LeftOut {
                    run: outcome.result.id.clone(),
                    side: side.name.clone(),
                    reason: why(outcome),
                });
            } else {
                self.accepted[index] += 1;
            }
        }
        if !rejected {
            self.accepted_pairs.insert(workload);
            for (cell, a) in numbers(workload, &baseline) {
                let b = numbers(workload, &candidate).into_iter().find(|(other, _)| *other == cell);
                if let Some((_, b)) = b {
                    let sample = self.samples.entry(cell).or_default();
                    sample.baseline.push(a);
                    sample.candidate.push(b);
                }
            }
        }
        self.facts[0].get_or_insert(baseline);
        self.facts[1].get_or_insert(candidate);
    }
}

/// The failed checks of a run, in one line; each check once, with the first of its phases.
fn why(outcome: &RunOutcome) -> String {
    let mut codes: Vec<&str> = Vec::new();
    let mut reasons: Vec<String> = Vec::new();
    for finding in outcome.result.checks.iter().filter(|finding| finding.level == Level::Fail) {
        if !codes.contains(&finding.code.as_str()) {
            codes.push(&finding.code);
            reasons.push(format!("{} {}", finding.code, finding.message));
        }
    }
    reasons.join(" ")
}

/// The headline numbers of a run. A zero or a missing value is no number on a log scale, and is left out.
fn numbers(workload: &'static str, outcome: &RunOutcome) -> Vec<(Cell, f64)> {
    let headlines = NAMED.iter().find(|named| named.name == workload).map_or(&[][..], |named| named.headline);
    let mut numbers = Vec::new();
    for phase in &outcome.result.phases {
        for (&metric, value) in &phase.metrics {
            let is_headline = headlines.iter().any(|name| metric.to_string() == *name);
            if let (true, Some(value)) = (is_headline, value.value.filter(|&value| value > 0.0)) {
                numbers.push((Cell { workload, phase: phase.name.clone(), metric }, value));
            }
        }
    }
    numbers
}

fn better(metric: Metric) -> plumb_stats::verdict::Better {
    match metric.better() {
        Better::Higher => plumb_stats::verdict::Better::Higher,
        Better::Lower => plumb_stats::verdict::Better::Lower,
    }
}

struct Assessed {
    cell: Cell,
    assessment: Assessment,
    precision: Option<Precision>,
}

fn statistic(metric: Metric) -> Statistic {
    match metric.quantity {
        Quantity::Latency(Stat::P999 | Stat::P9999 | Stat::Max)
        | Quantity::Response(Stat::P999 | Stat::P9999 | Stat::Max) => Statistic::P999,
        Quantity::Latency(Stat::P99) | Quantity::Response(Stat::P99) => Statistic::P99,
        _ => Statistic::Rate,
    }
}

fn assessments(request: &CompareRequest<'_>, ledger: &Ledger) -> Result<Vec<Assessed>, RunError> {
    let rule = Rule { seed: request.seed, blocks_min: request.rule.blocks_min, ..Rule::default() };
    let assess_cell = |(cell, sample): (&Cell, &Sample)| {
        let assessment = assess(&sample.baseline, &sample.candidate, better(cell.metric), &rule).ok()?;
        let precision = plumb_stats::estimate::paired(&sample.baseline, &sample.candidate)
            .and_then(|estimate| Precision::of(&estimate, rule.confidence, statistic(cell.metric)))
            .ok();
        Some(Assessed { cell: cell.clone(), assessment, precision })
    };
    Ok(ledger.samples.iter().filter_map(assess_cell).collect())
}

fn precisions(assessed: &[Assessed]) -> Vec<Precision> {
    assessed.iter().filter_map(|assessed| assessed.precision).collect()
}

fn contrast(request: &CompareRequest<'_>, assessed: &Assessed, sample: &Sample) -> Contrast {
    let Assessed { cell, assessment, .. } = assessed;
    let verdict = match assessment.verdict {
        Verdict::Faster(_) => ContrastVerdict::Faster,
        Verdict::Slower(_) => ContrastVerdict::Slower,
        Verdict::Equivalent(_) => ContrastVerdict::Equivalent,
        Verdict::CannotTell { .. } => ContrastVerdict::CannotTell,
        Verdict::Fragile(_) => ContrastVerdict::Fragile,
    };
    let mean = |values: &[f64]| plumb_stats::summary::geometric_mean(values).ok();
    let cv = |values: &[f64]| plumb_stats::summary::coefficient_of_variation(values).ok();
    // Equivalence is read from the narrower interval, so that one is shown with it.
    let (ratio, confidence) = match verdict {
        ContrastVerdict::Equivalent => (assessment.narrow, 0.90),
        _ => (assessment.ratio, 0.95),
    };
    Contrast {
        metric: cell.metric,
        phase: cell.phase.clone(),
        baseline: request.baseline.name.clone(),
        candidate: request.candidate.name.clone(),
        baseline_value: mean(&sample.baseline),
        candidate_value: mean(&sample.candidate),
        baseline_cv: cv(&sample.baseline),
        candidate_cv: cv(&sample.candidate),
        ratio: ratio.map(|ratio| ratio.value),
        lo: ratio.map(|ratio| ratio.lo),
        hi: ratio.map(|ratio| ratio.hi),
        confidence,
        p_sign_flip: assessment.p_sign_flip,
        verdict,
        blocks: assessment.blocks,
        blocks_needed: assessment.blocks_needed,
    }
}

/// Words for the whole: what was found, and what limits it.
fn note(
    request: &CompareRequest<'_>,
    contrasts: &[Contrast],
    confounded: bool,
    left_out: usize,
    ended: Ended,
) -> String {
    let count = |verdict| contrasts.iter().filter(|contrast| contrast.verdict == verdict).count();
    let (a, b) = (&request.baseline.name, &request.candidate.name);
    let (faster, slower) = (count(ContrastVerdict::Faster), count(ContrastVerdict::Slower));
    let (equivalent, total) = (count(ContrastVerdict::Equivalent), contrasts.len());
    let one = |contrast: &Contrast| contrast.ratio.map_or(String::new(), |ratio| format!(" ({ratio:.2}×)"));
    let mut said = match contrasts {
        [] if left_out > 0 => format!("Nothing can be said about {a} and {b}: no run of both sides could be used."),
        [] => format!("Nothing can be said about {a} and {b}: no number was measured on both sides."),
        [only] if faster == 1 => format!("{b} is faster than {a}{}.", one(only)),
        [only] if slower == 1 => format!("{b} is slower than {a}{}.", one(only)),
        _ if equivalent == total => format!("{a} and {b} are equivalent, within 5 %."),
        _ if faster == total => format!("{b} is faster than {a} in everything that was measured."),
        _ if slower == total => format!("{b} is slower than {a} in everything that was measured."),
        _ if faster + slower + equivalent == 0 => format!("Cannot tell {a} and {b} apart, nor call them equal."),
        _ => format!(
            "{b} against {a}: faster in {faster}, slower in {slower}, equivalent in {equivalent} of {total}; the rest is open."
        ),
    };
    if confounded {
        said.push_str(
            " Confounded: more than the declared factor differs, so none of this is about that factor alone.",
        );
    }
    if left_out > 0 {
        let runs = if left_out == 1 { "run was" } else { "runs were" };
        said.push_str(&format!(" {left_out} {runs} rejected by checks and left out."));
    }
    let open = contrasts.iter().any(|contrast| contrast.verdict == ContrastVerdict::CannotTell);
    match ended {
        Ended::Interrupted => said.push_str(" It was interrupted; this is what was measured before."),
        Ended::By(StopReason::Budget) if open => {
            said.push_str(" The time budget ended it; a larger `--budget` may settle what is open.");
        }
        Ended::By(_) | Ended::NothingAccepted => {}
    }
    said
}

/// What was asked for and not had: in the runs, and numbers that could not be compared for want of a value.
fn notes(request: &CompareRequest<'_>, ledger: &Ledger) -> Vec<String> {
    let mut notes: Vec<String> =
        ledger.notes.iter().map(|((workload, phase, note), sides)| said_note(workload, phase, note, sides)).collect();
    for named in &request.workloads {
        if !ledger.accepted_pairs.contains(named.name) {
            // Where that is so of all, it is the verdict; and why is said with the runs.
            if !ledger.accepted_pairs.is_empty() {
                notes.push(format!("{}: nothing to compare; the checks rejected a run of every block", named.name));
            }
            continue;
        }
        let compared = |name: &str| {
            ledger.samples.keys().any(|cell| cell.workload == named.name && cell.metric.to_string() == name)
        };
        let missing: Vec<&str> = named.headline.iter().copied().filter(|name| !compared(name)).collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            notes.push(format!(
                "{}: {missing}: too little happened in a run to tell; give each run more `--time`",
                named.name
            ));
        }
    }
    notes
}

/// `small-files/read on A and B: …`; workload and phase of one name are one word.
fn said_note(workload: &str, phase: &str, note: &str, sides: &[String]) -> String {
    let place = if workload == phase { workload.to_owned() } else { format!("{workload}/{phase}") };
    format!("{place} on {}: {note}", sides.join(" and "))
}

fn finish(
    bench: &mut Bench,
    request: &CompareRequest<'_>,
    ledger: Ledger,
    ended: Ended,
) -> Result<CompareOutcome, RunError> {
    let assessed = assessments(request, &ledger)?;
    let contrasts: Vec<Contrast> =
        assessed.iter().map(|assessed| contrast(request, assessed, &ledger.samples[&assessed.cell])).collect();
    let empty = BTreeMap::new();
    let facts = |index: usize| -> &BTreeMap<String, TargetFacts> {
        ledger.facts[index].as_ref().map_or(&empty, |outcome| &outcome.observations.targets)
    };
    let environment = bench.environment().clone();
    let side = |index: usize| plumb_trust::Side {
        name: if index == 0 { &request.baseline.name } else { &request.candidate.name },
        environment: &environment,
        targets: facts(index),
        phases: ledger.facts[index].as_ref().map_or(&[], |outcome| &outcome.observations.phases),
        runs: ledger.accepted[index],
    };
    let (baseline, candidate) = (side(0), side(1));
    let differences: Vec<Difference> = plumb_trust::differences(&baseline, &candidate);
    let view = ComparisonView { baseline, candidate, varying: request.varying };
    let findings = plumb_trust::judge_comparison(&view);
    let confounded = plumb_trust::confounded(&differences, request.varying);
    let rejected = ledger.left_out.len();
    let notes = notes(request, &ledger);
    let comparison = Comparison {
        schema: COMPARE_SCHEMA.to_owned(),
        verdict_note: note(request, &contrasts, confounded, rejected, ended),
        contrasts,
        differences,
        confounded,
        seed: request.seed,
        order: ledger.order,
        runs: ledger.runs,
        left_out: ledger.left_out,
        notes,
    };
    let mut not_stored = ledger.not_stored;
    if let Some(store) = &mut bench.store
        && let Err(error) = store.save_comparison(&uuid::Uuid::now_v7().to_string(), METHOD, &comparison)
    {
        not_stored.get_or_insert(error.to_string());
    }
    Ok(CompareOutcome { comparison, findings, interrupted: ended == Ended::Interrupted, rejected, not_stored })
}
