//! The answer of a study: verdicts in words, their limits, the sources of the spread, and every planned cell.
//!
//! Pure except for [`StudyEvidence::load`]. The unit of replication is the plot if a factor needs a new plot,
//! otherwise the pair of runs on one plot. Rejected and failed runs are excluded from all numbers, and are reported.

mod cells;
mod conformance;
mod contrasts;
#[cfg(test)]
mod count_tests;
mod counted;
mod declared;
mod devices;
mod effects;
mod emulated;
mod evidence;
mod expected;
#[cfg(test)]
mod expected_tests;
mod factor_levels;
mod judged;
mod messages;
mod pairing;
mod primary;
mod published;
mod question;
mod question_error;
mod sides;
mod spread;
mod systems;
#[cfg(test)]
mod tests;
mod values;

pub use evidence::{StudyEvidence, StudyRun};
pub(crate) use factor_levels::FactorLevels;
use factor_levels::SecondQuestion;
pub use question::{Question, answer_question};
pub use question_error::QuestionError;

use crate::conduct::kind;
use crate::plan::Plan;
use plumb_result::compare::Replicate;
use plumb_result::study::{GatheredFinding, STUDY_SCHEMA, StudyContrast, StudyCounts, StudyReport};
use plumb_result::{Finding, Level, RunResult};
use plumb_store::{StudyPlotState, StudyRunStatus};
use plumb_trust::Running;
use plumb_trust::advice::{CommandContext, Typed, sentences};
use std::collections::{BTreeMap, BTreeSet};

/// Reports on a study in any state.
pub fn answer(evidence: &StudyEvidence) -> StudyReport {
    answer_second(evidence, None)
}

/// Reports on the plan's question, or on a second one, which has replaced it in the plan.
fn answer_second(evidence: &StudyEvidence, second: Option<&SecondQuestion>) -> StudyReport {
    let plan = &evidence.plan;
    let emulated = evidence.is_emulated();
    let numbers = values::numbers(evidence);
    let compared = values::compared(plan, numbers.clone());
    let judged = if emulated { Vec::new() } else { judged::judged(evidence, &compared) };
    let ground = contrasts::Ground { emulated, forbids: judged::forbids(&judged) };
    let contrasts = contrasts::contrasts(evidence, &compared, ground, second);
    let cells = cells::cells(evidence, &numbers);
    let counts = counts(evidence, &cells);
    let undeclared = sides::undeclared(evidence);
    let mut checks = checks(evidence, &counts, emulated);
    checks.extend(sides::finding(&undeclared));
    checks.extend(judged);
    checks.sort_by(|one, other| other.level.cmp(&one.level).then_with(|| one.code.cmp(&other.code)));
    let conformance = conformance::conformance(evidence);
    let mut answer = conformance::answer(plan, &conformance);
    answer.extend(messages::answer(plan, &contrasts, &counts, emulated));
    let expected = expected::expected(evidence);
    answer.extend(expected::words(&expected));
    let mut notes = notes(evidence);
    notes.extend(about_one_provisioning(plan, &contrasts));
    notes.extend(declared::not_compared(evidence, &contrasts, emulated));
    let claims = published::claims(plan, &contrasts);
    StudyReport {
        schema: STUDY_SCHEMA.to_owned(),
        id: evidence.id.clone(),
        name: plan.name.clone(),
        question: plan.question.clone(),
        scale: plan.scale.clone(),
        plan_hash: plan.hash.clone(),
        created_at: evidence.created_at.clone(),
        under_load: plan.under_load,
        answer,
        counts,
        by: plan.compare.by.clone(),
        asked: None,
        correction: plan.compare.correction.name().to_owned(),
        contrasts,
        checks,
        findings: gathered(evidence),
        undeclared,
        spread: spread::spread(evidence, &numbers),
        effects: effects::effects(plan, &numbers),
        cells,
        conformance,
        systems: systems::systems(evidence),
        expected,
        claims,
        published: published::published(evidence, emulated),
        emulated,
        modelled: if emulated { emulated::counted(evidence) } else { Vec::new() },
        notes,
    }
}

fn counts(evidence: &StudyEvidence, cells: &[plumb_result::study::StudyCell]) -> StudyCounts {
    let of = |status: StudyRunStatus| evidence.records.iter().filter(|record| record.status == status).count() as u32;
    StudyCounts {
        plots: evidence.plots.len() as u32,
        plots_failed: evidence.plots.iter().filter(|plot| plot.state == StudyPlotState::Failed).count() as u32,
        runs: evidence.records.len() as u32,
        done: of(StudyRunStatus::Done),
        rejected: of(StudyRunStatus::Rejected),
        made_again: evidence.records.iter().filter(|record| record.rejected_before > 0).count() as u32,
        failed: of(StudyRunStatus::Failed),
        open: of(StudyRunStatus::Planned) + of(StudyRunStatus::Running),
        not_needed: of(StudyRunStatus::Skipped),
        cells: cells.len() as u32,
        cells_with_value: cells.iter().filter(|cell| cell.done > 0).count() as u32,
    }
}

/// Returns the remedy for cells without a value: `--failed` and `--rejected` put different runs back.
pub fn remedy_for_cells(counts: &StudyCounts) -> &'static str {
    match (counts.open > 0, counts.failed > 0, counts.rejected > 0) {
        (true, ..) => "go on with `plumb study resume`",
        (_, true, true) => "see the reasons, and repeat them with `plumb study resume --failed --rejected`",
        (_, _, true) => "see the reasons, remove them, and repeat the runs with `plumb study resume --rejected`",
        (_, true, _) => "see the reasons, and repeat them with `plumb study resume --failed`",
        (_, false, false) => "see the reasons in the table of cells",
    }
}

/// Runs the checks of the study as a whole.
fn checks(evidence: &StudyEvidence, counts: &StudyCounts, emulated: bool) -> Vec<Finding> {
    let finding = |code: &str, level, observed: String, threshold: &str, message: String, remedy: &str| Finding {
        code: code.to_owned(),
        level,
        phase: None,
        at_ns: None,
        observed,
        threshold: threshold.to_owned(),
        message,
        remedy: remedy.to_owned(),
        remedies: Vec::new(),
    };
    let mut found = Vec::new();
    if evidence.plan.exploratory {
        found.push(finding(
            "E1",
            Level::Warn,
            "an exploratory plan".to_owned(),
            "2 plots of each level",
            "The study was planned as exploratory: it makes no claims.".to_owned(),
            "leave `--exploratory` out, and let `plots` be 3 or more",
        ));
    }
    if counts.cells_with_value < counts.cells {
        let left = counts.cells - counts.cells_with_value;
        found.push(finding(
            "E10",
            Level::Warn,
            format!("{} of {} cells have a value", counts.cells_with_value, counts.cells),
            "all that were planned",
            format!(
                "{left} of {} planned cells {} no value; the table shows which, and why.",
                counts.cells,
                if left == 1 { "has" } else { "have" }
            ),
            remedy_for_cells(counts),
        ));
    }
    if emulated {
        found.push(finding(
            "C14",
            Level::Warn,
            "QEMU's translator runs the machines".to_owned(),
            "a processor of their own",
            "Runs were made under emulation: times and rates mean nothing, and nothing is claimed of them; what the \
             devices counted is exact."
                .to_owned(),
            "read the counts per op and the model's times in the answer, or run where there is KVM",
        ));
    }
    found
}

/// Collects the findings of all runs with a result, rejected ones included, each check once.
fn gathered(evidence: &StudyEvidence) -> Vec<GatheredFinding> {
    let results: Vec<&RunResult> = evidence.records.iter().filter_map(|record| record.result.as_ref()).collect();
    let mut worst: BTreeMap<&str, (Level, BTreeSet<usize>, &Finding)> = BTreeMap::new();
    for (index, result) in results.iter().enumerate() {
        for finding in result.checks.iter().filter(|finding| finding.level >= Level::Note) {
            let entry = worst.entry(&finding.code).or_insert_with(|| (finding.level, BTreeSet::new(), finding));
            if finding.level > entry.0 {
                *entry = (finding.level, BTreeSet::new(), finding);
            }
            if finding.level == entry.0 {
                entry.1.insert(index);
            }
        }
    }
    let mut all: Vec<GatheredFinding> = worst
        .into_iter()
        .map(|(code, (level, runs, first))| GatheredFinding {
            code: code.to_owned(),
            level,
            runs: runs.len() as u32,
            of: results.len() as u32,
            message: first.message.clone(),
            // The runs were made by `plumb run`, whose options a study does not have.
            remedy: match first.remedies.as_slice() {
                [] => first.remedy.clone(),
                remedies => {
                    let under_load = if evidence.plan.under_load { Typed::Yes } else { Typed::No };
                    sentences(remedies, &CommandContext { under_load, ..CommandContext::for_command(Running::Study) })
                }
            },
        })
        .collect();
    all.sort_by(|one, other| other.level.cmp(&one.level).then(other.runs.cmp(&one.runs)));
    all
}

/// An effect may differ from one plot to the next, which pairs on a single plot cannot show.
fn about_one_provisioning(plan: &Plan, contrasts: &[StudyContrast]) -> Option<String> {
    let by = &plan.compare.by;
    let by_pairs = contrasts.iter().any(|one| one.contrast.unit == Replicate::Block);
    if plan.compares_hard() || !by_pairs {
        None
    } else if plan.provisions_anew() {
        Some(format!(
            "verdicts on `{by}` are about the one plot that they were measured on; on others it may do more or less, \
             which `plots = 3` shows"
        ))
    } else {
        Some(format!("nothing was provisioned again: verdicts on `{by}` are about this storage as it is"))
    }
}

fn notes(evidence: &StudyEvidence) -> Vec<String> {
    let mut notes = Vec::new();
    for plot in evidence.plots.iter().filter(|plot| plot.builds > 1) {
        let why = plot.reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
        notes.push(format!(
            "plot {} was built {} times{why}; what was measured before is kept, and its runs count as one plot",
            plot.seq + 1,
            plot.builds
        ));
    }
    // Report one cause once, with all plots that it affects.
    let mut failed: Vec<(&str, Vec<String>)> = Vec::new();
    for plot in evidence.plots.iter().filter(|plot| plot.state == StudyPlotState::Failed) {
        let why = plot.reason.as_deref().unwrap_or("for no reason that was kept");
        let number = (plot.seq + 1).to_string();
        match failed.iter_mut().find(|(known, _)| kind(known) == kind(why)) {
            Some((_, plots)) => plots.push(number),
            None => failed.push((why, vec![number])),
        }
    }
    notes.extend(failed.into_iter().map(|(why, plots)| match plots.as_slice() {
        [one] => format!("plot {one} could not be built: {why}"),
        all => format!("plots {} could not be built: {why}", all.join(", ")),
    }));
    notes.extend(evidence.plan.warnings.iter().cloned());
    notes
}
