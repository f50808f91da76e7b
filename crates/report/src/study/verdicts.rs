//! Verdicts on the contrasts.

use super::{correction, levels, number, shown, without_empty};
use crate::document::{ColumnHead, Item, ReportPart, ReportTable};
use crate::format::{self, MISSING};
use crate::style::Ink;
use crate::table::Align;
use plumb_result::ContrastVerdict;
use plumb_result::compare::Replicate;
use plumb_result::study::{StudyContrast, StudyReport};
use std::collections::BTreeMap;

/// Returns the verdicts, one sentence each.
pub(super) fn verdicts(report: &StudyReport) -> Vec<ReportPart> {
    let judged: Vec<&StudyContrast> = report.contrasts.iter().filter(|one| one.is_judged()).collect();
    if judged.is_empty() {
        return Vec::new();
    }
    vec![ReportPart::Heading("Verdicts".to_owned()), ReportPart::List(sentences(&judged))]
}

/// Returns the word of a verdict. Secondary numbers have none, and answers to later questions are marked.
pub(super) fn word(one: &StudyContrast) -> String {
    match (one.primary, one.exploratory) {
        (_, true) => format!("{} (exploratory)", one.contrast.word()),
        (true, false) => one.contrast.word().to_owned(),
        (false, false) => "secondary".to_owned(),
    }
}

/// Returns `true` if all verdicts answer questions that were asked afterwards.
pub(super) fn is_all_exploratory(report: &StudyReport) -> bool {
    report.contrasts.iter().filter(|one| one.is_judged()).all(|one| one.exploratory)
}

/// Returns the ratio as the sentences state it: how many times as many for counts, how many times better for everything else.
pub(super) fn ratio(one: &StudyContrast) -> Option<f64> {
    one.contrast.ratio.map(|ratio| reader_ratio(one, ratio))
}

fn reader_ratio(one: &StudyContrast, ratio: f64) -> f64 {
    if one.contrast.metric.device_count().is_some() { 1.0 / ratio } else { ratio }
}

/// Returns the interval of that ratio.
pub(super) fn interval(one: &StudyContrast) -> Option<String> {
    let [lo, hi] = [one.contrast.lo?, one.contrast.hi?].map(|end| reader_ratio(one, end));
    Some(format::interval(lo.min(hi), lo.max(hi)))
}

/// Returns every contrast with its evidence, one line each.
pub(super) fn every_contrast(report: &StudyReport) -> Vec<ReportPart> {
    if report.contrasts.is_empty() {
        return Vec::new();
    }
    let row = |one: &StudyContrast| {
        let contrast = &one.contrast;
        let value = |value: Option<f64>| {
            value.map_or(MISSING.to_owned(), |value| shown(value, contrast.metric, report.emulated))
        };
        let unit = if contrast.unit == Replicate::Block { "pair" } else { contrast.unit.name() };
        vec![
            word(one),
            contrast.workload.clone().unwrap_or_default(),
            levels(&one.within),
            number(&contrast.phase, contrast.metric),
            contrast.baseline.clone(),
            value(contrast.baseline_value),
            contrast.candidate.clone(),
            value(contrast.candidate_value),
            ratio(one).map_or(MISSING.to_owned(), format::ratio),
            interval(one).unwrap_or(MISSING.to_owned()),
            contrast.p_adjusted.map_or(MISSING.to_owned(), format::probability),
            format!("{} {unit}{}", contrast.blocks, if contrast.blocks == 1 { "" } else { "s" }),
        ]
    };
    let (left, right) = (Align::Left, Align::Right);
    let mut table = ReportTable {
        columns: vec![
            ColumnHead::new("verdict", left, None),
            ColumnHead::new("work", left, Some(3)),
            ColumnHead::new("within", left, None),
            ColumnHead::new("number", left, None),
            ColumnHead::new("baseline", left, Some(2)),
            ColumnHead::new("", right, Some(5)),
            ColumnHead::new("candidate", left, None),
            ColumnHead::new("", right, Some(5)),
            ColumnHead::new("ratio", right, None),
            ColumnHead::new("interval", left, Some(6)),
            ColumnHead::new("p", right, Some(1)),
            ColumnHead::new("over", right, Some(4)),
        ],
        rows: report.contrasts.iter().map(row).collect(),
    };
    without_empty(&mut table);
    let legend = format!("{}; counts that never vary have none.", correction(report));
    vec![
        ReportPart::Heading("Every contrast".to_owned()),
        ReportPart::Table(table),
        ReportPart::Text(Ink::Faint, legend),
    ]
}

/// Largest number of equal sentences that are printed individually.
const SAID_EACH_MAX: usize = 2;

/// Returns a sentence for each number. If many numbers are undecided for the same reason, they share one sentence,
/// because the table has all of them.
pub(super) fn sentences(contrasts: &[&StudyContrast]) -> Vec<Item> {
    let about = |one: &StudyContrast| {
        let untold = one.contrast.verdict == ContrastVerdict::CannotTell;
        one.words.split_once(": ").filter(|_| untold).map(|(_, about)| about.to_owned())
    };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for about in contrasts.iter().copied().filter_map(about) {
        *counts.entry(about).or_default() += 1;
    }
    let mut items = Vec::new();
    for one in contrasts {
        let text = match about(one).map(|about| (counts.get(&about).copied(), about)) {
            // The shared sentence has been printed.
            Some((None, _)) => continue,
            Some((Some(count), about)) if count > SAID_EACH_MAX => {
                counts.remove(&about);
                format!("{count} numbers of the table: {about}")
            }
            _ => one.words.clone(),
        };
        items.push(Item { ink: Ink::Strong, head: String::new(), text });
    }
    items
}
