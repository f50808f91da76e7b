//! Finds which of two is faster: interleaved blocks, a verdict per phase and metric, and
//! all differences between the sides.
//!
//! The plan assigns runs to places and times, the comparison_log turns runs into rows, and [`claims`] turns rows into
//! contrasts. Trust's checks of the whole may remove a claim.

pub mod claims;
pub(crate) mod comparison_log;
pub(crate) mod messages;
pub(crate) mod plan;
pub(crate) mod request;
pub mod stored;
pub(crate) mod tails;
pub(crate) mod view;

pub use comparison_log::{ComparedCell, LogRow};
pub use plan::{CompareSide, SidePlot};
pub use request::{CompareRequest, UnknownPhase};

use crate::floors::{Floors, floors, of_request};
use claims::{CellClaim, Rows, Terms, claims, contrast};
use comparison_log::{BlockRuns, ComparisonLog};
use plan::{PlannedBlock, complete, in_complete_blocks, order, pairs, side_index};
use plumb_bench::not_stored::NotStored;
use plumb_bench::{Bench, Parts, Place, Policies, Progress, RunError, RunOutcome, RunRequest, settle};
use plumb_engine::sim::SimRun;
use plumb_result::compare::{COMPARE_SCHEMA, Outlier, Plots};
use plumb_result::{Comparison, Contrast, ContrastVerdict, Finding};
use plumb_stats::stop::{Decision, FurtherBudget, Precision, StopReason, Stopper};
use plumb_stats::verdict::VerdictRule;
use plumb_trust::RunModes;
use plumb_workload_text::named::Scale;
pub(crate) use request::ComparisonEnded;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Method and version of the claims that [`compare`] makes.
pub const METHOD: &str = "blocked-paired-log-t-holm/2";

/// The outcome of a comparison.
pub struct CompareOutcome {
    /// The comparison as stored; `checks` has its findings.
    pub comparison: Comparison,
    /// Every value that the contrasts use.
    pub rows: Rows,
    /// Whether a signal ended it early.
    pub interrupted: bool,
    /// Number of runs rejected by their checks.
    pub rejected: usize,
}

impl CompareOutcome {
    /// Returns the findings about the comparison as a whole, worst first.
    pub fn findings(&self) -> &[Finding] {
        &self.comparison.checks
    }
}

/// The runs of a comparison, with their statistics.
pub(crate) struct Measured {
    pub(crate) comparison_log: ComparisonLog,
    pub(crate) claims: Vec<CellClaim>,
    pub(crate) rule: VerdictRule,
    pub(crate) ended: ComparisonEnded,
}

pub fn compare(
    bench: &mut Bench,
    request: &CompareRequest<'_>,
    progress: &mut dyn Progress,
) -> Result<CompareOutcome, RunError> {
    let measured = measure(bench, request, progress)?;
    Ok(conclude(bench, request, measured))
}

/// Runs blocks until the stop rule, the budget or a signal ends it.
pub(crate) fn measure(
    bench: &mut Bench,
    request: &CompareRequest<'_>,
    progress: &mut dyn Progress,
) -> Result<Measured, RunError> {
    bench.begin_comparison();
    let started = Instant::now();
    let plots = request.plots();
    let (stop, complete) = (in_complete_blocks(request.rule, plots), complete(plots));
    let order = order(request.seed, stop.blocks_max, plots);
    let standard = VerdictRule::default();
    // A user who requests more blocks than a claim needs may claim with fewer if the budget ends it.
    let blocks_min = request.rule.blocks_min.min(standard.blocks_min);
    let rule = VerdictRule { seed: request.seed, blocks_min, ..standard };
    let mut comparison_log = ComparisonLog::new(&request.workloads, request.varying).of_phases(request.phases);
    let mut stopper = Stopper::new(stop);
    let mut done = 0u32;
    let mut simulated = Duration::ZERO;
    let mut found;
    let ended = 'looks: loop {
        let elapsed = started.elapsed();
        // A complete block must fit, at the length of the blocks so far.
        let next = if done == 0 { Duration::ZERO } else { elapsed / done * complete };
        let budget =
            if elapsed + next > request.budget && done > 0 { FurtherBudget::Spent } else { FurtherBudget::Left };
        found = claims(&comparison_log.rows, &rule);
        // If the checks reject every run, more runs will not help.
        if done >= stop.blocks_min && comparison_log.accepted_pairs.is_empty() {
            break ComparisonEnded::NothingAccepted;
        }
        let precisions: Vec<Precision> = found.iter().filter_map(|claim| claim.precision).collect();
        match stopper.decide(done, &precisions, budget) {
            Decision::Stop(reason) => break ComparisonEnded::By(reason),
            Decision::Run { blocks } => {
                for _ in 0..blocks {
                    let is_over = done > 0 && started.elapsed() + next > request.budget;
                    if is_over && done.is_multiple_of(complete) {
                        break 'looks ComparisonEnded::By(StopReason::Budget);
                    }
                    progress.parts(Parts { done, most: stop.blocks_max, budget: Some(request.budget) });
                    progress.block(&format!("block {} (minimum {})", done + 1, stop.blocks_min));
                    let block_end =
                        run_block(bench, request, order[done as usize], done, &mut comparison_log, progress)?;
                    match block_end {
                        BlockEnd::Interrupted => break 'looks ComparisonEnded::Interrupted,
                        BlockEnd::Done { simulated: block } => simulated += block,
                    }
                    done += 1;
                }
            }
        }
    };
    // Blocks may have followed the last look.
    if matches!(ended, ComparisonEnded::Interrupted | ComparisonEnded::By(StopReason::Budget)) {
        found = claims(&comparison_log.rows, &rule);
    }
    let spent = if simulated.is_zero() { started.elapsed() } else { simulated };
    comparison_log.run_seconds = comparison_log.seconds_a_run(spent);
    comparison_log.forget_other_phases();
    Ok(Measured { comparison_log, claims: found, rule, ended })
}

/// The end of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockEnd {
    Interrupted,
    Done {
        /// Time that its runs took on simulated devices, which have their own clocks.
        simulated: Duration,
    },
}

/// Runs every workload on both sides in the block's order.
pub(crate) fn run_block(
    bench: &mut Bench,
    request: &CompareRequest<'_>,
    planned: PlannedBlock,
    number: u32,
    comparison_log: &mut ComparisonLog,
    progress: &mut dyn Progress,
) -> Result<BlockEnd, RunError> {
    let mut simulated = Duration::ZERO;
    let mut sides = String::new();
    for (work, block) in pairs(planned.block, number, request.workloads.len()) {
        let named = request.workloads[work];
        sides.push_str(block.name());
        let mut outcomes: [Option<RunOutcome>; 2] = [None, None];
        let mut asked = None;
        for (position, side) in block.sides().into_iter().enumerate() {
            let index = side_index(side);
            let plot = &request.sides()[index].plots[planned.plots[index]];
            let scale = Scale { place: plot.place.for_named(), seed: request.seed, ..request.scale.clone() };
            let workload = named.workload(&scale);
            // Run numbers of a simulated device follow the order of runs, so its drift is seen as drift.
            let run_index = number * 2 + position as u32;
            let run = RunRequest {
                workload: &workload,
                policies: Policies::Fitted,
                base: plot.place.base(),
                command: request.command,
                dialect: None,
                sim_run: SimRun { seed: sim_seed(request.seed, plot), run_index, plot_index: plot.number },
            };
            let Some(outcome) = bench.run_of_many(&run, progress)? else { return Ok(BlockEnd::Interrupted) };
            if outcome.result.partial {
                return Ok(BlockEnd::Interrupted);
            }
            if matches!(plot.place, Place::Sim(_)) {
                simulated += outcome.simulated();
            }
            outcomes[index] = Some(outcome);
            asked.get_or_insert(workload);
        }
        let ([Some(baseline), Some(candidate)], Some(asked)) = (outcomes, asked) else { continue };
        let planned = PlannedBlock { block, ..planned };
        let runs = BlockRuns { number, planned, outcomes: [baseline, candidate] };
        comparison_log.note(request.sides(), named, &asked, runs);
    }
    comparison_log.order.push(sides);
    Ok(BlockEnd::Done { simulated })
}

/// Returns the seed of a plot. The two sides are two devices, even under the same name; plots of
/// one number are the same.
fn sim_seed(seed: u64, plot: &SidePlot) -> u64 {
    seed.wrapping_mul(2).wrapping_add(u64::from(plot.number % 2))
}

/// Concludes a comparison from its runs and stores it.
pub(crate) fn conclude(bench: &mut Bench, request: &CompareRequest<'_>, measured: Measured) -> CompareOutcome {
    let Measured { comparison_log, claims, rule, ended } = measured;
    let environment = bench.environment_of_runs().clone();
    let ranks = bench.partners.ranks.as_ref().map(|ranks| ranks.facts());
    let Floors { floors, notes: floor_notes } = match &bench.results.store {
        Some(store) => floors(store, &of_request(request, &comparison_log, &environment, ranks.as_ref()), &claims),
        None => Floors::default(),
    };
    let sides = view::sides(request, &comparison_log, &environment);
    let judged = view::judge(&bench.command_context, &sides, &comparison_log, &claims, &rule, &floors);
    let terms = Terms {
        baseline: &request.baseline.name,
        candidate: &request.candidate.name,
        rule: &rule,
        floors: &floors,
        findings: &judged.findings,
        samples: "blocks",
        lacking: &|cell| comparison_log.lacking(cell),
    };
    let mut contrasts = contrasts(&comparison_log, &claims, judged.modes, &terms);
    contrasts.extend(rejected_contrasts(&comparison_log, &terms));
    let tails = comparison_log.tails.of_contrasts(&contrasts);
    let rejected = comparison_log.left_out.len();
    let run_checks = comparison_log.run_checks(request.sides().map(|side| side.name.as_str()));
    let mut notes = messages::notes(&request.workloads, request.scale.time_ns, &comparison_log);
    notes.extend(messages::shared_provisionings(request.sides(), &comparison_log));
    notes.extend(floor_notes);
    let settle = bench.series.settling.settled();
    notes.extend(settle::note(settle.as_ref()));
    let under_load = comparison_log.side_loads(request.sides().map(|side| side.name.as_str()));
    let names = |side: &CompareSide| side.plots.iter().map(|plot| plot.name.clone()).collect();
    let plots = request.plots().iter().any(|&plots| plots > 1);
    let comparison = Comparison {
        schema: COMPARE_SCHEMA.to_owned(),
        verdict_note: messages::note(
            request,
            &contrasts,
            &messages::NoteContext {
                confounded: judged.confounded,
                left_out: rejected,
                ended,
                blocks: comparison_log.order.len(),
                run_checks: &run_checks,
                tails: &tails,
                under_load: &under_load,
                command_context: &bench.command_context,
            },
        ),
        contrasts,
        tails,
        differences: judged.differences,
        confounded: judged.confounded,
        seed: request.seed,
        order: comparison_log.order,
        runs: comparison_log.runs,
        left_out: comparison_log.left_out,
        run_checks,
        notes,
        checks: judged.findings,
        varying: request.varying.map(|factor| factor.name.to_owned()),
        plots: plots.then(|| Plots { baseline: names(&request.baseline), candidate: names(&request.candidate) }),
        planned: Some(comparison_log.planned.len() as u32),
        stored: None,
        settle,
        under_load,
    };
    let id = uuid::Uuid::now_v7().to_string();
    if let Some(store) = &mut bench.results.store
        && let Err(error) = store.save_comparison(&id, METHOD, &comparison)
    {
        let kept = NotStored::document(store.path(), error.to_string(), "compare", &id, &comparison);
        NotStored::add(&mut bench.results.not_stored, Some(kept));
    }
    CompareOutcome {
        comparison,
        rows: comparison_log.rows,
        interrupted: ended == ComparisonEnded::Interrupted,
        rejected,
    }
}

/// Returns contrasts of numbers with a rejected run in every block: they are shown without a claim.
fn rejected_contrasts(comparison_log: &ComparisonLog, terms: &Terms<'_>) -> Vec<Contrast> {
    let is_left = |cell: &ComparedCell| comparison_log.rows.contains_key(cell);
    let rows: Rows = BTreeMap::from_iter(
        comparison_log
            .rejected_rows
            .iter()
            .filter(|(cell, _)| !is_left(cell))
            .map(|(cell, rows)| (cell.clone(), rows.clone())),
    );
    let reason = "the checks rejected a run of every block";
    let shown = |claim: &CellClaim| {
        let contrast = contrast(claim, &rows[&claim.cell], terms);
        Contrast {
            verdict: ContrastVerdict::CannotTell,
            rejected: true,
            note: Some(reason.to_owned()),
            capped: None,
            p: None,
            p_adjusted: None,
            p_sign_flip: None,
            blocks_needed: None,
            unseen: None,
            ..contrast
        }
    };
    claims(&rows, terms.rule).iter().map(shown).collect()
}

/// Returns the contrasts with tiers, speeds and outliers of their numbers.
pub(crate) fn contrasts(
    comparison_log: &ComparisonLog,
    claims: &[CellClaim],
    modes: Vec<RunModes>,
    terms: &Terms<'_>,
) -> Vec<Contrast> {
    let names = [terms.baseline, terms.candidate];
    let of_claim = |(claim, modes): (&CellClaim, RunModes)| {
        let rows = &comparison_log.rows[&claim.cell];
        let [baseline_tier, candidate_tier] = comparison_log.tiers.get(&claim.cell).copied().unwrap_or_default();
        let far = claims::far_out(&claim.cell, rows, terms.rule);
        let outlier = |row: &LogRow| Outlier {
            run: comparison_log.runs[row.run as usize].clone(),
            side: names[side_index(row.side)].to_owned(),
            value: row.value,
        };
        Contrast {
            outliers: far.rows.iter().map(outlier).collect(),
            without_outliers: far.without,
            baseline_modes: modes.baseline,
            candidate_modes: modes.candidate,
            baseline_tier,
            candidate_tier,
            ..contrast(claim, rows, terms)
        }
    };
    claims.iter().zip(modes).map(of_claim).collect()
}
