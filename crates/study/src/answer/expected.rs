//! Checks the counts that the study expects against those of every run that counts.

use super::evidence::StudyEvidence;
use super::{messages, values};
use plumb_result::Metric;
use plumb_result::study::StudyExpectation;

/// Tolerance for the rounding of divided byte counts.
const ROUNDING: f64 = 1e-9;

/// Returns every expected count, for each cell that it applies to.
pub(super) fn expected(evidence: &StudyEvidence) -> Vec<StudyExpectation> {
    let plan = &evidence.plan;
    let mut found = Vec::new();
    for count in &plan.expect {
        let Ok(metric) = count.metric.parse::<Metric>() else { continue };
        let numbers = values::numbers_of(evidence, |known| known == metric);
        for (index, cell) in plan.cells.iter().enumerate().filter(|(_, cell)| count.stands_for(&cell.levels)) {
            let of_cell = numbers.values().flatten().filter(|value| value.cell as usize == index);
            let values: Vec<f64> = of_cell.map(|value| value.value).collect();
            let least = values.iter().copied().reduce(f64::min);
            let most = values.iter().copied().reduce(f64::max);
            let is_within =
                |value: f64| value >= count.least - ROUNDING && count.most.is_none_or(|most| value <= most + ROUNDING);
            found.push(StudyExpectation {
                metric,
                workload: cell.workload.clone(),
                levels: cell.levels.clone(),
                at_least: count.least,
                at_most: count.most,
                because: count.because.clone(),
                runs: values.len() as u32,
                found_least: least,
                found_most: most,
                met: least.zip(most).map(|(least, most)| is_within(least) && is_within(most)),
            });
        }
    }
    found
}

/// Returns sentences for the answer; none if the study states no count.
pub(super) fn words(expected: &[StudyExpectation]) -> Vec<String> {
    let count = |met: Option<bool>| expected.iter().filter(|one| one.met == met).count();
    let (met, missed, open) = (count(Some(true)), count(Some(false)), count(None));
    if expected.is_empty() || met + missed == 0 {
        return Vec::new();
    }
    let mut text = format!("Expected counts: {met} of {} met", expected.len());
    if missed > 0 {
        text.push_str(&format!(", {missed} missed"));
    }
    if open > 0 {
        text.push_str(&format!(", {open} not counted"));
    }
    let misses = expected.iter().filter(|one| one.met == Some(false)).map(|one| {
        let levels = messages::levels(&one.levels);
        let of = if levels.is_empty() { String::new() } else { format!(" ({levels})") };
        format!("{} of {}{of} is {} instead of {}", one.metric, one.workload, one.found(), one.wanted())
    });
    let misses: Vec<String> = misses.collect();
    if misses.is_empty() { vec![format!("{text}.")] } else { vec![format!("{text}: {}.", misses.join("; "))] }
}
