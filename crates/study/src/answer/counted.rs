//! Device counts without anything to estimate: every run of a side counted the same, or some counted 0.

use super::messages::{self, Counts};
use super::pairing::{ByOthers, Exact, Pairing};
use crate::plan::power::PlannedUnit;
use crate::plan::{Levels, Plan};
use plumb_result::compare::{Capped, Replicate};
use plumb_result::study::StudyContrast;
use plumb_result::{Contrast, ContrastVerdict};
use plumb_stats::counts::{CountedBy, EqualCounts, equal_counts};
use plumb_stats::geometric_mean;
use std::collections::BTreeMap;

/// Returns the result that follows from the counts of all units alone; `None` if their spread has to be judged.
/// `is_determined`: only the work determines them.
pub(super) fn exact(units: &[&ByOthers], is_determined: bool) -> Option<Exact> {
    let mut merged: BTreeMap<&Levels, [Vec<f64>; 2]> = BTreeMap::new();
    let mut count = 0;
    for unit in units {
        let whole = unit.iter().filter(|(_, sides)| sides.iter().all(|runs| !runs.is_empty()));
        let mut is_whole = false;
        for (others, sides) in whole {
            is_whole = true;
            let known = merged.entry(others).or_default();
            for (known, runs) in known.iter_mut().zip(sides) {
                known.extend(runs);
            }
        }
        count += u32::from(is_whole);
    }
    let sides = || merged.values().flatten();
    let counted_by = if is_determined { CountedBy::Work } else { CountedBy::Timers };
    match equal_counts(sides().map(Vec::as_slice), count, counted_by) {
        EqualCounts::TooFew { needed } => {
            let are_equal = merged.values().all(|[one, other]| one.first() == other.first());
            Some(Exact::TooFew { units: count, needed, are_equal })
        }
        EqualCounts::Vary => sides().flatten().any(|value| *value == 0.0).then_some(Exact::Zeros { units: count }),
        EqualCounts::Exact => {
            let of = |side: usize| merged.values().map(move |sides| sides[side][0]);
            let ratios: Vec<f64> = of(1).zip(of(0)).map(|(candidate, baseline)| candidate / baseline).collect();
            let sums: [f64; 2] = [of(0).sum(), of(1).sum()];
            // 0 against 0 has no ratio, and a positive count against 0 an infinite one: neither has a mean.
            Some(Exact::Same { sums, ratio: geometric_mean(&ratios).ok(), units: count })
        }
    }
}

/// Builds the contrast of an exact count.
pub(super) fn contrast(plan: &Plan, pairing: &Pairing, exact: &Exact, baseline: &str) -> StudyContrast {
    let by = &plan.compare.by;
    let number = &pairing.number;
    let mean = |side: usize| {
        let values = &pairing.all[side];
        Some(values.iter().map(|value| value.value).sum::<f64>() / values.len() as f64)
    };
    let (uncapped, ratio, units, note) = match exact {
        Exact::Same { sums, ratio, units } => (of_sums(*sums, *ratio, plan.compare.equivalence), *ratio, *units, None),
        Exact::Zeros { units } => {
            (ContrastVerdict::CannotTell, None, *units, Some("some runs counted 0, so there is no ratio".to_owned()))
        }
        Exact::TooFew { units, needed, are_equal } => {
            let unit = if plan.compares_hard() { "plot" } else { "pair" };
            let several = if *units == 1 { format!("1 {unit}") } else { format!("{units} {unit}s") };
            let note = if *are_equal {
                format!("both counted the same in every run of {several}; a verdict needs {needed}")
            } else {
                format!("each counted the same in all its runs, in {several}; a verdict needs {needed}")
            };
            (ContrastVerdict::CannotTell, None, *units, Some(note))
        }
    };
    let capped = (plan.exploratory && uncapped != ContrastVerdict::CannotTell).then(|| Capped {
        verdict: uncapped,
        code: "E1".to_owned(),
        reason: "an exploratory study makes no claims".to_owned(),
    });
    // Above 1 is better for the candidate, and less is better.
    let turned = ratio.map(|ratio| 1.0 / ratio);
    let contrast = Contrast {
        metric: number.metric,
        phase: number.phase.clone(),
        baseline: messages::side(by, baseline),
        candidate: messages::side(by, &pairing.candidate),
        baseline_value: mean(0),
        candidate_value: mean(1),
        baseline_cv: ratio.map(|_| 0.0),
        candidate_cv: ratio.map(|_| 0.0),
        ratio: turned,
        lo: turned,
        hi: turned,
        confidence: 1.0,
        p: None,
        p_adjusted: None,
        p_sign_flip: None,
        verdict: if capped.is_some() { ContrastVerdict::CannotTell } else { uncapped },
        blocks: units,
        blocks_needed: None,
        workload: Some(number.workload.clone()).filter(|workload| !workload.is_empty()),
        unit: if plan.compares_hard() { Replicate::Plot } else { Replicate::Block },
        note: capped.as_ref().map(|capped| capped.reason.clone()).or(note),
        capped,
        floor: None,
        baseline_tier: None,
        candidate_tier: None,
        baseline_modes: Vec::new(),
        candidate_modes: Vec::new(),
        outliers: Vec::new(),
        without_outliers: None,
        unseen: None,
        rejected: false,
    };
    StudyContrast {
        words: messages::counted(
            &contrast,
            &pairing.within,
            plan.compare.equivalence,
            if plan.compares_hard() { PlannedUnit::Plot } else { PlannedUnit::Pair },
            if matches!(exact, Exact::Same { .. }) { Counts::Exact } else { Counts::Judged },
        ),
        within: pairing.within.clone(),
        primary: true,
        exploratory: false,
        contrast,
    }
}

/// Returns the verdict of two counts: less is better.
fn of_sums([baseline, candidate]: [f64; 2], ratio: Option<f64>, margin: f64) -> ContrastVerdict {
    let is_near = ratio.is_some_and(|ratio| ratio.ln().abs() <= margin.ln_1p());
    if is_near || baseline == candidate {
        ContrastVerdict::Equivalent
    } else if candidate < baseline {
        ContrastVerdict::Faster
    } else {
        ContrastVerdict::Slower
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(baseline: &[f64], candidate: &[f64]) -> ByOthers {
        [(Levels::new(), [baseline.to_vec(), candidate.to_vec()])].into()
    }

    fn determined(units: &[ByOthers]) -> Option<Exact> {
        exact(&units.iter().collect::<Vec<_>>(), true)
    }

    #[test]
    fn equal_counts_are_exact_and_one_different_run_ends_that() {
        let one = unit(&[512.0], &[768.0]);
        let same = [unit(&[512.0, 512.0], &[768.0, 768.0]), one.clone(), one];
        assert_eq!(determined(&same), Some(Exact::Same { sums: [512.0, 768.0], ratio: Some(1.5), units: 3 }));
        assert_eq!(determined(&[unit(&[512.0, 512.0], &[768.0]), unit(&[512.0, 513.0], &[768.0])]), None);
        assert_eq!(determined(&same[..2]), Some(Exact::TooFew { units: 2, needed: 3, are_equal: false }));
        let alike = [unit(&[512.0], &[512.0]), unit(&[512.0], &[512.0])];
        assert_eq!(determined(&alike), Some(Exact::TooFew { units: 2, needed: 3, are_equal: true }));
    }

    // Protects: in the review's A/A studies, 8 flushes on one side and 9 on the other, on two
    // plots, were called exactly more.
    #[test]
    fn equal_counts_that_the_work_does_not_determine_need_more_units() {
        let flushes = vec![unit(&[8.0, 8.0], &[9.0, 9.0]); 6];
        let of = |units: usize| exact(&flushes[..units].iter().collect::<Vec<_>>(), false);
        assert_eq!(of(2), Some(Exact::TooFew { units: 2, needed: 6, are_equal: false }));
        assert_eq!(of(5), Some(Exact::TooFew { units: 5, needed: 6, are_equal: false }));
        assert!(matches!(of(6), Some(Exact::Same { units: 6, .. })));
    }

    #[test]
    fn zero_has_a_direction_but_no_ratio() {
        let none = unit(&[0.0], &[512.0]);
        let all = [none.clone(), none.clone(), none];
        assert_eq!(determined(&all), Some(Exact::Same { sums: [0.0, 512.0], ratio: None, units: 3 }));
        assert_eq!(of_sums([0.0, 512.0], None, 0.05), ContrastVerdict::Slower);
        assert_eq!(of_sums([512.0, 0.0], None, 0.05), ContrastVerdict::Faster);
        assert_eq!(of_sums([0.0, 0.0], None, 0.05), ContrastVerdict::Equivalent);
        assert_eq!(of_sums([100.0, 104.0], Some(1.04), 0.05), ContrastVerdict::Equivalent);
        assert_eq!(
            determined(&[unit(&[0.0], &[512.0]), unit(&[3.0], &[512.0])]),
            Some(Exact::Zeros { units: 2 }),
            "the logarithm of 0 would spoil every contrast of the family"
        );
    }
}
