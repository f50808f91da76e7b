//! Contrasts between the levels of one factor. They compare plots for a factor that is hard to change. For an easy
//! one they compare pairs of runs, or again plots if the pairs are on several.

use super::evidence::StudyEvidence;
use super::factor_levels::SecondQuestion;
use super::pairing::{ByOthers, Pairing};
use super::values::{CountedValue, WorkNumber, WorkNumbers, some_levels};
use super::{counted, messages, primary};
use crate::compare::claims::{self, ContrastSide, Lacking};
use crate::plan::power::PlannedUnit;
use crate::plan::{Correction, Levels, Plan};
use plumb_result::compare::Capped;
use plumb_result::run::TierName;
use plumb_result::study::StudyContrast;
use plumb_result::{ContrastVerdict, Finding};
use plumb_stats::counts::granularity;
use plumb_stats::geometric_mean;
use plumb_stats::verdict::{Assessment, Compared, Family, VerdictRule, assess_family};
use std::collections::{BTreeMap, BTreeSet};

/// Returns a contrast for each work, phase, metric, combination of the levels within, and level other than the
/// baseline. In a second question, contrasts that the plan declared keep the plan's verdict, and the others are
/// a family of their own.
pub(super) fn contrasts(
    evidence: &StudyEvidence,
    numbers: &WorkNumbers,
    ground: Ground<'_>,
    second: Option<&SecondQuestion>,
) -> Vec<StudyContrast> {
    let plan = &evidence.plan;
    let Some(by) = plan.factors.iter().find(|factor| factor.name == plan.compare.by) else { return Vec::new() };
    let Some((baseline, candidates)) = by.levels.split_first() else { return Vec::new() };
    let unit = planned_unit(plan);
    let mut pairings = Vec::new();
    for (number, values) in numbers {
        for within in contexts(plan, values) {
            if second.is_some_and(|second| !second.asks_for(&within)) {
                continue;
            }
            for candidate in candidates {
                let pairing = pairing(plan, unit, number, values, &within, [baseline, candidate]);
                pairings.push(Pairing { lacking: lacking(evidence, values, &pairing.all), ..pairing });
            }
        }
    }
    pairings.retain(|pairing| pairing.all.iter().all(|values| !values.is_empty()));
    let rule = VerdictRule { margin: plan.compare.equivalence, seed: plan.seed, ..VerdictRule::default() };
    let Ground { emulated, forbids } = ground;
    let cap = Cap { exploratory: plan.exploratory, emulated, forbids };
    let is_count = |pairing: &Pairing| pairing.number.metric.device_count().is_some();
    let declared: &[StudyContrast] = second.map_or(&[], |second| &second.declared);
    let mut found: Vec<Option<StudyContrast>> = pairings
        .iter()
        .map(|pairing| {
            let known = declared.iter().find(|one| is_of(plan, one, pairing, baseline)).cloned();
            let counted = || Some(counted::contrast(plan, pairing, pairing.exact.as_ref()?, baseline));
            known.or_else(counted)
        })
        .collect();
    let is_declared: Vec<bool> =
        found.iter().map(|one| one.as_ref().is_some_and(|one| declared.contains(one))).collect();
    // Times under emulation support no claim, so they do not count among the claims that share the error rate.
    let families: &[fn(bool) -> bool] = if emulated { &[|count| count, |count| !count] } else { &[|_| true] };
    let primaries = primary::numbers(evidence, numbers);
    let is_primary = |pairing: &Pairing| primaries.contains(&pairing.number);
    for is_of_family in families {
        let open: Vec<usize> = (0..pairings.len())
            .filter(|&at| found[at].is_none() && is_primary(&pairings[at]))
            .filter(|&at| is_of_family(is_count(&pairings[at])))
            .collect();
        let family: Vec<&Pairing> = open.iter().map(|&at| &pairings[at]).collect();
        let correction = family_of(plan.compare.correction);
        for (at, assessment) in open.iter().zip(assess(&family, correction, &rule)) {
            found[*at] = Some(contrast(plan, &pairings[*at], &assessment, baseline, &rule, cap));
        }
    }
    for (pairing, found) in pairings.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
        let alone = assess(&[pairing], Family::Uncorrected, &rule);
        *found = alone.first().map(|assessment| {
            without_verdict(plan, pairing, contrast(plan, pairing, assessment, baseline, &rule, cap))
        });
    }
    if second.is_some() {
        for (one, _) in found.iter_mut().zip(is_declared).filter(|(_, is_declared)| !is_declared) {
            one.iter_mut().filter(|one| one.primary).for_each(|one| (one.primary, one.exploratory) = (false, true));
        }
    }
    found.into_iter().flatten().collect()
}

/// Returns `true` if a pairing leads to this contrast.
fn is_of(plan: &Plan, one: &StudyContrast, pairing: &Pairing, baseline: &str) -> bool {
    let StudyContrast { within, contrast, .. } = one;
    let number = &pairing.number;
    let side = |level| messages::side(&plan.compare.by, level);
    contrast.workload.as_deref().unwrap_or_default() == number.workload
        && (&contrast.phase, contrast.metric) == (&number.phase, number.metric)
        && *within == pairing.within
        && (&contrast.baseline, &contrast.candidate) == (&side(baseline), &side(&pairing.candidate))
}

/// Returns the combinations of levels that are reported separately, in the order of the plan's cells.
fn contexts(plan: &Plan, values: &[CountedValue]) -> Vec<Levels> {
    let seen = BTreeSet::from_iter(values.iter().map(|value| value.cell));
    let mut contexts: Vec<Levels> = Vec::new();
    for &cell in &seen {
        let within = plan.context(cell);
        if !contexts.contains(&within) {
            contexts.push(within);
        }
    }
    contexts
}

/// Returns the unit of replication for the compared factor. The values show whether a pair's plot
/// has others next to it.
fn planned_unit(plan: &Plan) -> PlannedUnit {
    if plan.compares_hard() {
        PlannedUnit::Plot
    } else if plan.provisions_anew() {
        PlannedUnit::PairsOnPlot
    } else {
        PlannedUnit::Pair
    }
}

fn pairing(
    plan: &Plan,
    unit: PlannedUnit,
    number: &WorkNumber,
    values: &[CountedValue],
    within: &Levels,
    levels: [&String; 2],
) -> Pairing {
    let by = &plan.compare.by;
    // A factor that is not varied everywhere has no level in some cells; those form their own context.
    let is_within = |value: &&CountedValue| plan.context(value.cell) == *within;
    // Grouped by plot or pair, and within it by the levels of all other factors, to compare only runs that are alike.
    let mut units: BTreeMap<(u32, u32), ByOthers> = BTreeMap::new();
    let mut all: [Vec<CountedValue>; 2] = Default::default();
    for value in values.iter().filter(is_within) {
        let cell = &plan.cells[value.cell as usize];
        let Some(side) = levels.iter().position(|level| cell.levels.get(by) == Some(level)) else { continue };
        let place = if unit == PlannedUnit::Plot { (value.block, 0) } else { (value.plot, value.repeat) };
        let others = some_levels(cell, |name| name != by);
        units.entry(place).or_default().entry(others).or_default()[side].push(value.value);
        all[side].push(*value);
    }
    let by_others: Vec<&ByOthers> = units.values().collect();
    let is_count = number.metric.device_count().is_some();
    let is_determined = all.iter().flatten().all(|value| value.is_determined);
    let exact = if is_count { counted::exact(&by_others, is_determined) } else { None };
    // One group for each plot. Each combination of the other levels in it is a run of a hard factor's plot, or a part
    // of an easy factor's pair.
    let mut groups: BTreeMap<u32, [Vec<f64>; 2]> = BTreeMap::new();
    for ((place, _), cells) in units {
        let whole: Vec<[f64; 2]> = cells.values().filter_map(both).collect();
        if whole.is_empty() {
            continue;
        }
        let group = groups.entry(if unit == PlannedUnit::Pair { 0 } else { place }).or_default();
        for (side, group) in group.iter_mut().enumerate() {
            let of_side: Vec<f64> = whole.iter().map(|sides| sides[side]).collect();
            match unit {
                PlannedUnit::Plot => group.extend(of_side),
                PlannedUnit::PairsOnPlot | PlannedUnit::Pair => group.extend(geometric_mean(&of_side)),
            }
        }
    }
    // Pairs that are all on one plot support conclusions about that plot only.
    let unit = if unit == PlannedUnit::PairsOnPlot && groups.len() < 2 { PlannedUnit::Pair } else { unit };
    let mut sides: [Vec<Vec<f64>>; 2] = Default::default();
    for group in groups.into_values() {
        for (side, group) in sides.iter_mut().zip(group) {
            side.push(group);
        }
    }
    let granularity = if is_count { granularity(all.iter().flatten().map(|value| value.value)) } else { 0.0 };
    let (number, within, candidate) = (number.clone(), within.clone(), levels[1].clone());
    Pairing { number, within, candidate, unit, groups: sides, lacking: 0, granularity, all, exact }
}

/// Counts accepted runs of a contrast's cells without a value. Device counts are observed
/// or not, independent of speed.
fn lacking(evidence: &StudyEvidence, values: &[CountedValue], all: &[Vec<CountedValue>; 2]) -> u32 {
    let cells = BTreeSet::from_iter(all.iter().flatten().map(|value| value.cell));
    let counting = evidence.accepted().filter(|(run, _)| cells.contains(&evidence.plan.runs[*run].cell)).count();
    let having = values.iter().filter(|value| cells.contains(&value.cell)).count();
    counting.saturating_sub(having) as u32
}

/// Returns the means of the runs of both sides, if both have some above 0.
fn both(sides: &[Vec<f64>; 2]) -> Option<[f64; 2]> {
    Some([geometric_mean(&sides[0]).ok()?, geometric_mean(&sides[1]).ok()?])
}

/// Turns a contrast into a secondary number: its interval is shown, without a verdict.
fn without_verdict(plan: &Plan, pairing: &Pairing, mut secondary: StudyContrast) -> StudyContrast {
    secondary.primary = false;
    let contrast = &mut secondary.contrast;
    contrast.verdict = ContrastVerdict::CannotTell;
    contrast.note = Some("secondary: shown without a verdict".to_owned());
    (contrast.capped, contrast.p_adjusted, contrast.blocks_needed) = (None, None, None);
    contrast.unseen = None;
    secondary.words =
        messages::contrast(&secondary.contrast, &secondary.within, plan.compare.equivalence, pairing.unit);
    secondary
}

const fn family_of(correction: Correction) -> Family {
    match correction {
        Correction::Holm => Family::Holm,
        Correction::BenjaminiHochberg => Family::BenjaminiHochberg,
        Correction::None => Family::Uncorrected,
    }
}

fn assess(pairings: &[&Pairing], family: Family, rule: &VerdictRule) -> Vec<Assessment> {
    let compared: Vec<Compared<'_>> = pairings
        .iter()
        .map(|pairing| Compared {
            sides: pairing.sides(),
            better: claims::better(pairing.number.metric),
            granularity: pairing.granularity,
        })
        .collect();
    // Values are above 0 and come in pairs: the only possible errors concern the margin, which the study file checks.
    assess_family(&compared, rule, family).unwrap_or_default()
}

/// Facts about all runs together.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) emulated: bool,
    /// A check that forbids claims about measured numbers.
    pub(super) forbids: Option<&'a Finding>,
}

/// The checks that can forbid every claim.
#[derive(Clone, Copy)]
struct Cap<'a> {
    exploratory: bool,
    emulated: bool,
    forbids: Option<&'a Finding>,
}

impl Cap<'_> {
    fn apply(self, uncapped: ContrastVerdict, is_count: bool) -> Option<Capped> {
        let capped = |code: &str, reason: &str| {
            Some(Capped { verdict: uncapped, code: code.to_owned(), reason: reason.to_owned() })
        };
        match (uncapped, self) {
            (_, Cap { emulated: true, .. }) if !is_count => {
                capped("C14", "under emulation, times and rates mean nothing")
            }
            (ContrastVerdict::CannotTell, _) => None,
            (_, Cap { exploratory: true, .. }) => capped("E1", "an exploratory study makes no claims"),
            (_, Cap { forbids: Some(finding), .. }) if !is_count => capped(&finding.code, claims::head(finding)),
            _ => None,
        }
    }
}

fn contrast(
    plan: &Plan,
    pairing: &Pairing,
    assessment: &Assessment,
    baseline: &str,
    rule: &VerdictRule,
    cap: Cap<'_>,
) -> StudyContrast {
    let values = |side: usize| pairing.all[side].iter().map(|value| value.value).collect::<Vec<f64>>();
    let (baseline_values, candidate_values) = (values(0), values(1));
    let by = &plan.compare.by;
    let (baseline, candidate) = (messages::side(by, baseline), messages::side(by, &pairing.candidate));
    let is_count = pairing.number.metric.device_count().is_some();
    let uncapped = claims::uncapped_verdict(assessment);
    let lacking =
        Lacking { units: pairing.lacking, of: pairing.all.iter().map(Vec::len).sum::<usize>() as u32, what: "runs" };
    let capped = cap.apply(uncapped, is_count).or_else(|| lacking.cap(uncapped).filter(|_| !is_count));
    let sides = [
        ContrastSide { name: &baseline, values: &baseline_values, tier: tier(&pairing.all[0]) },
        ContrastSide { name: &candidate, values: &candidate_values, tier: tier(&pairing.all[1]) },
    ];
    let number = &pairing.number;
    let mut contrast =
        claims::of_assessment(assessment, sides, (&number.workload, &number.phase, number.metric), rule, capped);
    // More plots do not lift a check's ban.
    if contrast.capped.is_some() {
        contrast.blocks_needed = None;
    }
    StudyContrast {
        words: messages::contrast(&contrast, &pairing.within, plan.compare.equivalence, pairing.unit),
        within: pairing.within.clone(),
        primary: true,
        exploratory: false,
        contrast,
    }
}

/// Returns the tier of all values; `mixed` if they differ.
pub(super) fn tier(values: &[CountedValue]) -> Option<TierName> {
    let mut tiers = values.iter().filter_map(|value| value.tier);
    let first = tiers.next()?;
    Some(if tiers.all(|tier| tier == first) { first } else { TierName::Mixed })
}
