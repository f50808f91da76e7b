//! Lists published numbers next to measured ones of the same kind, without any claim.

use super::evidence::StudyEvidence;
use super::{cells, values};
use crate::plan::{Import, ImportedClaim, Levels, Plan, PlanCell};
use plumb_result::study::{CellValue, ClaimBeside, OurNumber, Published, PublishedBeside, StudyContrast};
use plumb_result::{CellMetric, ContrastVerdict, Metric, PublishedNumber};
use plumb_tools_classic::{bonnie, iozone};
use std::collections::BTreeSet;

/// Returns the numbers of every import that has some, each next to ours.
pub(super) fn published(evidence: &StudyEvidence, emulated: bool) -> Vec<Published> {
    let plan = &evidence.plan;
    let wanted: BTreeSet<Metric> =
        plan.imports.iter().flat_map(|import| &import.numbers).filter_map(PublishedNumber::metric).collect();
    // A published metric need not be one that the plan compares.
    let numbers = values::numbers_of(evidence, |metric| wanted.contains(&metric));
    let of_cells: Vec<Vec<CellValue>> =
        (0..plan.cells.len()).map(|cell| cells::values(&numbers, cell as u32)).collect();
    let beside = |import: &Import, number: &PublishedNumber| PublishedBeside {
        metric: number.metric(),
        ours: ours(evidence, import, number, &of_cells, emulated),
        number: number.clone(),
    };
    plan.imports
        .iter()
        .filter(|import| !import.numbers.is_empty())
        .map(|import| Published {
            label: import.label.clone(),
            file: import.file.clone(),
            dialect: import.dialect.clone(),
            levels: import.levels.clone(),
            numbers: import.numbers.iter().map(|number| beside(import, number)).collect(),
        })
        .collect()
}

/// Largest number of our verdicts next to a published claim.
const OURS_MAX: usize = 4;

/// Returns the conclusions of audited studies, next to our verdicts on the same levels and numbers.
pub(super) fn claims(plan: &Plan, contrasts: &[StudyContrast]) -> Vec<ClaimBeside> {
    let beside = |claim: &ImportedClaim| ClaimBeside {
        text: claim.text.clone(),
        file: claim.file.clone(),
        levels: claim.levels.clone(),
        ours: claim.levels.as_ref().map_or_else(Vec::new, |levels| verdicts(plan, contrasts, levels, &claim.kinds)),
    };
    plan.claims.iter().map(beside).collect()
}

/// Returns the sentences of the contrasts about these levels and kinds of number.
fn verdicts(plan: &Plan, contrasts: &[StudyContrast], levels: &Levels, kinds: &[CellMetric]) -> Vec<String> {
    let agrees =
        |one: &Levels, other: &Levels| one.iter().all(|(factor, level)| other.get(factor).is_none_or(|it| it == level));
    let is_of_cell = |one: &StudyContrast, cell: &PlanCell| {
        let is_work = one.contrast.workload.as_ref().is_none_or(|workload| *workload == cell.workload);
        is_work && agrees(levels, &cell.levels) && agrees(&one.within, &cell.levels)
    };
    let is_of_kind = |one: &StudyContrast| {
        kinds.is_empty() || kinds.iter().any(|kind| is_number_of(*kind, one.contrast.metric, &one.contrast.phase))
    };
    let about: Vec<&StudyContrast> =
        contrasts.iter().filter(|one| is_of_kind(one) && plan.cells.iter().any(|cell| is_of_cell(one, cell))).collect();
    let has_verdict = about.iter().any(|one| one.is_judged());
    let is_open = |one: &&StudyContrast| one.contrast.verdict == ContrastVerdict::CannotTell;
    if about.len() > 1 && about.iter().all(is_open) {
        return vec![without_verdict(&about)];
    }
    let mut words: Vec<String> = Vec::new();
    for one in about.into_iter().filter(|one| one.is_judged() || !has_verdict) {
        if !words.contains(&one.words) {
            words.push(one.words.clone());
        }
    }
    let more = words.len().saturating_sub(OURS_MAX);
    words.truncate(OURS_MAX);
    words.extend((more > 0).then(|| format!("{more} more")));
    words
}

/// Lists the reasons for missing verdicts on several numbers, each once: `No verdict on 12 numbers:
/// under emulation, … (8); …`.
fn without_verdict(about: &[&StudyContrast]) -> String {
    let mut reasons: Vec<(&str, u32)> = Vec::new();
    for one in about {
        // The sentence begins with the number and may end with its ratio.
        let reason = one.words.split_once(": ").map_or(one.words.as_str(), |(_, reason)| reason);
        let reason = reason.split(';').next().unwrap_or(reason);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => reasons.push((reason, 1)),
        }
    }
    let parts: Vec<String> = reasons.iter().map(|(reason, count)| format!("{reason} ({count})")).collect();
    format!("no verdict on {} numbers: {}", about.len(), parts.join("; "))
}

/// Returns `true` if a metric of a phase is a number of this kind.
fn is_number_of(kind: CellMetric, metric: Metric, phase: &str) -> bool {
    let is_pattern = kind_of_phase(phase).is_none_or(|found| pattern(found) == pattern(kind));
    is_pattern && kind.metric(metric.unit()) == Some(metric)
}

/// Returns our values of a number's kind, from the cells that its import stands for. A phase with the name of another
/// test does not match: reading in sequence is not seeking. If a cell has a phase with the number's own name, its
/// other phases do not match either: a rewrite is not a write.
fn ours(
    evidence: &StudyEvidence,
    import: &Import,
    number: &PublishedNumber,
    of_cells: &[Vec<CellValue>],
    emulated: bool,
) -> Vec<OurNumber> {
    let Some(metric) = number.metric() else { return Vec::new() };
    let mut found = Vec::new();
    for (cell, values) in evidence.plan.cells.iter().zip(of_cells) {
        if !import.stands_for(&cell.levels) {
            continue;
        }
        let is_other = |value: &CellValue| {
            let kind = kind_of_phase(&value.phase).filter(|kind| kind.metric(number.unit) == Some(metric));
            kind.is_some_and(|kind| pattern(kind) != pattern(number.kind))
        };
        let same: Vec<&CellValue> = values.iter().filter(|value| value.metric == metric && !is_other(value)).collect();
        let is_own = |value: &&CellValue| kind_of_phase(&value.phase) == Some(number.kind);
        let has_own = same.iter().any(is_own);
        found.extend(same.iter().filter(|value| !has_own || is_own(value)).map(|value| OurNumber {
            levels: cell.levels.clone(),
            workload: cell.workload.clone(),
            phase: value.phase.clone(),
            value: (!emulated).then_some(value.value),
            ratio: (!emulated).then_some(value.value / number.value),
        }));
    }
    found
}

/// Returns the kind that represents all kinds with the same order of bytes and calls of the same size.
fn pattern(kind: CellMetric) -> CellMetric {
    use CellMetric::*;
    match kind {
        Write | Rewrite | Fwrite | Frewrite | Pwrite | Repwrite => Write,
        Read | Reread | Fread | Freread | Pread | Repread => Read,
        RandomRead | Seeks => RandomRead,
        other => other,
    }
}

/// Returns the kind of number that a phase is named after: its own name, or a tool's test.
fn kind_of_phase(phase: &str) -> Option<CellMetric> {
    let by_name = CellMetric::ALL.iter().find(|kind| kind.name() == phase).copied();
    by_name
        .or_else(|| bonnie::Test::of_phase(phase).map(bonnie::Test::kind))
        .or_else(|| iozone::Pass::of_phase(phase).map(iozone::Pass::kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: the name of a phase decides which of several numbers of one op is meant.
    #[test]
    fn phases_are_recognised_by_the_names_of_tools() {
        for (phase, kind) in [
            ("write", Some(CellMetric::Write)),
            ("random-read", Some(CellMetric::RandomRead)),
            ("put-block", Some(CellMetric::Write)),
            ("seq-create", Some(CellMetric::Create)),
            ("rewrite-524288k-32k", Some(CellMetric::Rewrite)),
            ("refread-64k-4k-x2", Some(CellMetric::Freread)),
            ("read-ahead", None),
            ("fill", None),
        ] {
            assert_eq!(kind_of_phase(phase), kind, "{phase}");
        }
    }
}
