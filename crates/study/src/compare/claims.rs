//! Turns rows into contrasts: the verdicts of the statistics, and the limits that checks set to them. Pure.

use super::comparison_log::{ComparedCell, LogRow};
use super::plan::side_index;
use plumb_result::compare::{Capped, Floor, RatioWithout, Replicate, UnseenMode};
use plumb_result::metric::Stat;
use plumb_result::run::TierName;
use plumb_result::{Better, Contrast, ContrastVerdict, Finding, Level, Metric, Quantity};
use plumb_stats::estimate::paired;
use plumb_stats::outliers::outliers;
use plumb_stats::schedule::Side;
use plumb_stats::stop::{Precision, Question, Statistic};
use plumb_stats::unseen::undoing_mode;
use plumb_stats::verdict::{Assessment, Compared, Note, ReplicationUnit, Sides, Verdict, VerdictRule, assess_all};
use plumb_trust::{NumberFound, is_below_floor};
use std::collections::BTreeMap;

/// Rows by the number that they belong to.
pub type Rows = BTreeMap<ComparedCell, Vec<LogRow>>;

/// Checks of a comparison that forbid claims if they fail: the numbers of the two sides are not comparable, not
/// measured interleaved, or do not belong to their own side.
const DISQUALIFYING: &[&str] = &["C1", "D6", "D7", "D8", "E11", "E13", "E15"];

/// The check of the numbers of runs and plots: when it warns, no claim is made.
const TOO_FEW: &str = "E1";

/// The assessment of one cell's rows.
#[derive(Debug, Clone, PartialEq)]
pub struct CellClaim {
    pub cell: ComparedCell,
    /// Result of the statistics.
    pub assessment: Assessment,
    /// Whether further runs would help.
    pub(crate) precision: Option<Precision>,
}

/// The values of a cell, in the form that the statistics need.
pub(crate) struct CellValues {
    /// The value of each block, by side.
    pub(crate) blocks: [Vec<f64>; 2],
    /// The runs of each plot, by side.
    pub(crate) plots: [Vec<Vec<f64>>; 2],
}

impl CellValues {
    pub(crate) fn from_rows(rows: &[LogRow]) -> CellValues {
        let mut blocks: [Vec<f64>; 2] = Default::default();
        let mut plots: [BTreeMap<u32, Vec<f64>>; 2] = Default::default();
        for row in rows {
            blocks[side_index(row.side)].push(row.value);
            plots[side_index(row.side)].entry(row.plot).or_default().push(row.value);
        }
        CellValues { blocks, plots: plots.map(|plots| plots.into_values().collect()) }
    }
}

/// Assesses every number, as one family. With several plots on a side the plot is the sample, otherwise the block.
pub fn claims(rows: &Rows, rule: &VerdictRule) -> Vec<CellClaim> {
    let by_plot = rows.values().any(|rows| has_several_plots(rows));
    claims_of(rows, rule, |_| if by_plot { Sample::Plots } else { Sample::Blocks })
}

/// The sampling unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sample {
    /// A block: one run of each side.
    Blocks,
    /// All runs of a plot; if both sides have equally many plots, they are pairs in their order.
    Plots,
    /// All runs of a plot, without pairs.
    Apart,
}

/// Assesses every number like [`claims`], with a sampling unit for each number.
pub(crate) fn claims_of(rows: &Rows, rule: &VerdictRule, sample: impl Fn(&ComparedCell) -> Sample) -> Vec<CellClaim> {
    let values: Vec<(&ComparedCell, CellValues)> =
        rows.iter().map(|(cell, rows)| (cell, CellValues::from_rows(rows))).collect();
    let compared: Vec<Compared<'_>> = values
        .iter()
        .map(|(cell, values)| {
            let [baseline, candidate] = &values.plots;
            let sides = match sample(cell) {
                Sample::Blocks => Sides::Blocks { baseline: &values.blocks[0], candidate: &values.blocks[1] },
                Sample::Plots => Sides::Plots { baseline, candidate },
                Sample::Apart => Sides::Apart { baseline, candidate },
            };
            Compared::measured(sides, better(cell.metric))
        })
        .collect();
    // Values are above 0 and come in pairs, so the only possible errors are those of the rule, which is our own.
    let assessed = assess_all(&compared, rule).unwrap_or_default();
    let claim = |((cell, values), assessment): (&(&ComparedCell, CellValues), Assessment)| {
        let statistic = statistic(cell.metric);
        let precision = Precision::from_assessment(&assessment, statistic);
        let by_plot = sample(cell) == Sample::Plots;
        let precision = if by_plot { precision.map(|one| of_plots(one, values)) } else { precision };
        CellClaim { cell: (*cell).clone(), assessment, precision }
    };
    values.iter().zip(assessed).map(claim).collect()
}

/// If the runs of a plot have less than this share of its variance, they do not limit the interval: more of them
/// would narrow it by less than 5 %.
const RUNS_DO_NOT_LIMIT: f64 = 0.1;

/// Adjusts the precision for plots. More runs on the same plots only narrow the part of an interval that comes from
/// the runs; the spread between plots remains.
fn of_plots(precision: Precision, values: &CellValues) -> Precision {
    let logs = |runs: &[f64]| runs.iter().map(|value| value.ln()).collect::<Vec<f64>>();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let squares = |values: &[f64]| {
        let mean = mean(values);
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let (mut from_runs, mut of_means) = (0.0, 0.0);
    for plots in &values.plots {
        let logs: Vec<Vec<f64>> = plots.iter().map(|runs| logs(runs)).collect();
        let freedom: usize = logs.iter().map(|runs| runs.len().saturating_sub(1)).sum();
        if freedom == 0 || logs.len() < 2 {
            return precision;
        }
        let within = logs.iter().map(|runs| squares(runs)).sum::<f64>() / freedom as f64;
        let runs = logs.iter().map(Vec::len).sum::<usize>() as f64 / logs.len() as f64;
        let means: Vec<f64> = logs.iter().map(|runs| mean(runs)).collect();
        from_runs += within / runs;
        of_means += squares(&means) / (means.len() - 1) as f64;
    }
    if from_runs < RUNS_DO_NOT_LIMIT * of_means {
        return Precision { question: Question::Settled, ..precision };
    }
    precision
}

pub(crate) fn has_several_plots(rows: &[LogRow]) -> bool {
    [Side::A, Side::B].into_iter().any(|side| {
        let mut plots = rows.iter().filter(|row| row.side == side).map(|row| row.plot);
        plots.next().is_some_and(|first| plots.any(|plot| plot != first))
    })
}

pub(crate) fn better(metric: Metric) -> plumb_stats::verdict::Better {
    match metric.better() {
        Better::Higher => plumb_stats::verdict::Better::Higher,
        Better::Lower => plumb_stats::verdict::Better::Lower,
    }
}

fn statistic(metric: Metric) -> Statistic {
    match metric.quantity {
        Quantity::Latency(Stat::P999 | Stat::P9999 | Stat::Max)
        | Quantity::Response(Stat::P999 | Stat::P9999 | Stat::Max) => Statistic::P999,
        Quantity::Latency(Stat::P99) | Quantity::Response(Stat::P99) => Statistic::P99,
        _ => Statistic::Rate,
    }
}

impl CellClaim {
    /// Returns the result in the form that the checks need.
    pub fn found(&self, rule: &VerdictRule) -> NumberFound {
        match self.assessment.verdict {
            Verdict::Faster(ratio) | Verdict::Slower(ratio) => NumberFound::Difference { ratio: ratio.value },
            Verdict::Equivalent(_) => NumberFound::Equal { margin: rule.margin },
            Verdict::CannotTell { .. } | Verdict::Fragile(_) => NumberFound::Nothing,
        }
    }
}

/// Returns the verdict of the statistics alone, before any cap.
pub(crate) fn uncapped_verdict(assessment: &Assessment) -> ContrastVerdict {
    match assessment.verdict {
        Verdict::Faster(_) => ContrastVerdict::Faster,
        Verdict::Slower(_) => ContrastVerdict::Slower,
        Verdict::Equivalent(_) => ContrastVerdict::Equivalent,
        Verdict::CannotTell { .. } => ContrastVerdict::CannotTell,
        Verdict::Fragile(_) => ContrastVerdict::Fragile,
    }
}

/// Returns the sampling unit for readers of the result.
pub(crate) const fn replicate(unit: ReplicationUnit) -> Replicate {
    match unit {
        ReplicationUnit::Block => Replicate::Block,
        ReplicationUnit::Plot => Replicate::Plot,
        ReplicationUnit::Run => Replicate::Run,
    }
}

/// One side of a contrast.
#[derive(Clone, Copy)]
pub(crate) struct ContrastSide<'a> {
    pub(crate) name: &'a str,
    /// The values of all its runs, above 0.
    pub(crate) values: &'a [f64],
    /// Tier that its runs measured.
    pub(crate) tier: Option<TierName>,
}

/// Builds the contrast of a number (workload, phase, metric) from an assessment: its verdict, or
/// `cannot-tell` if it is capped.
pub(crate) fn of_assessment(
    assessment: &Assessment,
    [baseline, candidate]: [ContrastSide<'_>; 2],
    (workload, phase, metric): (&str, &str, Metric),
    rule: &VerdictRule,
    capped: Option<Capped>,
) -> Contrast {
    let mean = |values: &[f64]| plumb_stats::summary::geometric_mean(values).ok();
    let cv = |values: &[f64]| plumb_stats::summary::coefficient_of_variation(values).ok();
    let verdict = if capped.is_some() { ContrastVerdict::CannotTell } else { uncapped_verdict(assessment) };
    // Equivalence is decided by the narrower interval, so show that one with it.
    let ratio = if verdict == ContrastVerdict::Equivalent { assessment.narrow } else { assessment.ratio };
    let note = match (&capped, assessment.note) {
        (Some(capped), _) => Some(capped.reason.clone()),
        (None, Note::None) => None,
        (None, note) => Some(note.text().to_owned()),
    };
    Contrast {
        metric,
        phase: phase.to_owned(),
        baseline: baseline.name.to_owned(),
        candidate: candidate.name.to_owned(),
        baseline_value: mean(baseline.values),
        candidate_value: mean(candidate.values),
        baseline_cv: cv(baseline.values),
        candidate_cv: cv(candidate.values),
        ratio: ratio.map(|ratio| ratio.value),
        lo: ratio.map(|ratio| ratio.lo),
        hi: ratio.map(|ratio| ratio.hi),
        confidence: ratio.map_or(rule.confidence, |ratio| ratio.confidence),
        p: assessment.p_t,
        p_adjusted: assessment.p_adjusted,
        p_sign_flip: assessment.p_sign_flip,
        verdict,
        blocks: assessment.blocks,
        blocks_needed: assessment.blocks_needed,
        workload: Some(workload.to_owned()).filter(|workload| !workload.is_empty()),
        unit: replicate(assessment.unit),
        note,
        capped,
        floor: None,
        baseline_tier: baseline.tier,
        candidate_tier: candidate.tier,
        baseline_modes: Vec::new(),
        candidate_modes: Vec::new(),
        outliers: Vec::new(),
        without_outliers: None,
        rejected: false,
        unseen: unseen(verdict, assessment, [baseline.values, candidate.values], metric, rule),
    }
}

/// Returns the slow mode that would undo a claim. Device counts have no speeds.
fn unseen(
    verdict: ContrastVerdict,
    assessment: &Assessment,
    [baseline, candidate]: [&[f64]; 2],
    metric: Metric,
    rule: &VerdictRule,
) -> Option<UnseenMode> {
    let from_equal = assessment.ratio?.value.ln().abs();
    let distance = match verdict {
        ContrastVerdict::Faster | ContrastVerdict::Slower => from_equal,
        ContrastVerdict::Equivalent => rule.margin.ln_1p() - from_equal,
        ContrastVerdict::CannotTell | ContrastVerdict::Fragile => return None,
    };
    let runs = baseline.len().min(candidate.len()) as u32;
    let mode = undoing_mode(distance, runs);
    metric.device_count().is_none().then_some(UnseenMode { runs, share: mode.share, slower: mode.slower })
}

/// The parts of a contrast that do not depend on its claim.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    pub baseline: &'a str,
    pub candidate: &'a str,
    /// The rule of the claims.
    pub rule: &'a VerdictRule,
    pub floors: &'a BTreeMap<ComparedCell, Floor>,
    /// Findings about the comparison as a whole.
    pub findings: &'a [Finding],
    /// Name of the sampling unit, such as `blocks`.
    pub samples: &'static str,
    /// Returns the number of samples whose runs are accepted but lack a number.
    pub lacking: &'a dyn Fn(&ComparedCell) -> u32,
}

/// Builds the contrast of a claim: its verdict, or `cannot-tell` if a check forbids it.
pub fn contrast(claim: &CellClaim, rows: &[LogRow], terms: &Terms<'_>) -> Contrast {
    let CellClaim { cell, assessment, .. } = claim;
    let side = |side: Side| rows.iter().filter(|row| row.side == side).map(|row| row.value).collect::<Vec<f64>>();
    let (baseline, candidate) = (side(Side::A), side(Side::B));
    let floor = terms.floors.get(cell);
    let lacking = Lacking { units: (terms.lacking)(cell), of: rows.len() as u32 / 2, what: terms.samples };
    let capped = cap(uncapped_verdict(assessment), claim.found(terms.rule), floor, terms.findings)
        .or_else(|| lacking.cap(uncapped_verdict(assessment)));
    // More blocks do not lift a check's ban, unless it is about the number of blocks.
    let lifts = assessment.note == Note::TooFewBlocks || !terms.findings.iter().any(forbids) && capped.is_none();
    let sides = [
        ContrastSide { name: terms.baseline, values: &baseline, tier: None },
        ContrastSide { name: terms.candidate, values: &candidate, tier: None },
    ];
    let contrast = of_assessment(assessment, sides, (&cell.workload, &cell.phase, cell.metric), terms.rule, capped);
    Contrast { blocks_needed: contrast.blocks_needed.filter(|_| lifts), floor: floor.cloned(), ..contrast }
}

/// Runs of a number that are far from the others of their side.
pub(crate) struct FarOut {
    pub(crate) rows: Vec<LogRow>,
    /// The ratio without their blocks.
    pub(crate) without: Option<RatioWithout>,
}

/// Finds outliers among the runs. They stay in the contrast. If the block is the sample, the ratio without them is
/// reported too; a plot is judged by all of its runs.
pub(crate) fn far_out(cell: &ComparedCell, rows: &[LogRow], rule: &VerdictRule) -> FarOut {
    let far_of = |side: Side| {
        let of_side: Vec<&LogRow> = rows.iter().filter(|row| row.side == side).collect();
        let values: Vec<f64> = of_side.iter().map(|row| row.value).collect();
        let found = outliers(&values).unwrap_or_default();
        found.into_iter().map(|outlier| *of_side[outlier.index]).collect::<Vec<LogRow>>()
    };
    let far: Vec<LogRow> = [Side::A, Side::B].into_iter().flat_map(far_of).collect();
    if far.is_empty() || has_several_plots(rows) {
        return FarOut { rows: far, without: None };
    }
    let is_left = |row: &&LogRow| far.iter().all(|far| far.block != row.block);
    let left: Vec<LogRow> = rows.iter().filter(is_left).copied().collect();
    let [baseline, candidate] = CellValues::from_rows(&left).blocks;
    let (worse, better) = match better(cell.metric) {
        plumb_stats::verdict::Better::Higher => (baseline, candidate),
        plumb_stats::verdict::Better::Lower => (candidate, baseline),
    };
    let ratio = paired(&worse, &better).and_then(|estimate| estimate.interval(rule.confidence)).ok();
    let without = ratio.map(|ratio| RatioWithout {
        ratio: ratio.value,
        lo: ratio.lo,
        hi: ratio.hi,
        confidence: ratio.confidence,
    });
    FarOut { rows: far, without }
}

/// Counts units that lack a number because some of their runs have no value of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lacking {
    /// Units that lack the number.
    pub(crate) units: u32,
    /// Units that have the number.
    pub(crate) of: u32,
    /// Name of the unit, such as `blocks`.
    pub(crate) what: &'static str,
}

impl Lacking {
    /// Caps a claim about a number that some units lack. Slow runs are the first to lack a percentile for want of
    /// samples, so the others do not represent all.
    pub(crate) fn cap(self, uncapped: ContrastVerdict) -> Option<Capped> {
        let Lacking { units, of, what } = self;
        let reason = format!("{units} of {} {what} lack it, and slow runs are the first to lack it", units + of);
        (units > 0 && uncapped != ContrastVerdict::CannotTell).then(|| Capped {
            verdict: uncapped,
            code: "E6".to_owned(),
            reason,
        })
    }
}

/// Returns `true` if a finding forbids all claims.
fn forbids(finding: &Finding) -> bool {
    match finding.level {
        Level::Fail => DISQUALIFYING.contains(&finding.code.as_str()),
        Level::Warn => finding.code == TOO_FEW,
        _ => false,
    }
}

/// Returns the reason in a finding. The part after its first colon repeats the verdict.
pub(crate) fn head(finding: &Finding) -> &str {
    finding.message.split(": ").next().unwrap_or_default().trim_end_matches('.')
}

/// Returns the cap on a claim, if any. `cannot-tell` claims nothing.
pub(crate) fn cap(
    uncapped: ContrastVerdict,
    found: NumberFound,
    floor: Option<&Floor>,
    findings: &[Finding],
) -> Option<Capped> {
    if uncapped == ContrastVerdict::CannotTell {
        return None;
    }
    let capped = |code: &str, reason: String| Some(Capped { verdict: uncapped, code: code.to_owned(), reason });
    if let Some(finding) = findings.iter().find(|finding| forbids(finding)) {
        return capped(&finding.code, head(finding).to_owned());
    }
    match floor {
        Some(floor) if is_below_floor(found, floor.share) => {
            capped("E14", format!("below the noise floor of this set-up, {:.1} %", floor.share * 100.0))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::OpKind;

    fn cell() -> ComparedCell {
        ComparedCell {
            workload: "random-read".to_owned(),
            phase: "random-read".to_owned(),
            metric: Metric::rate(OpKind::Read),
        }
    }

    /// Makes blocks in which the candidate is `ratio` times as fast, with a spread of about 1 %, over
    /// plots that differ by `plot_spread`.
    fn rows(ratio: f64, blocks: u32, plots: u32, plot_spread: f64) -> Rows {
        const PLOTS: [[f64; 3]; 2] = [[0.8, -0.9, 0.3], [-0.6, 0.7, 0.1]];
        const NOISE: [f64; 8] = [0.4, -0.9, 1.1, -0.3, 0.7, -1.2, 0.1, 0.5];
        let row = |block: u32, side: Side, value: f64| {
            let number = 2 * block + u32::from(side == Side::B);
            let plot = block % plots;
            let level = 1.0 + plot_spread * PLOTS[side_index(side)][plot as usize];
            LogRow { block, plot, side, run: number, value: value * level * (1.0 + NOISE[number as usize % 8] / 100.0) }
        };
        let of = |block: u32| [row(block, Side::A, 100.0), row(block, Side::B, 100.0 * ratio)];
        Rows::from([(cell(), (0..blocks).flat_map(of).collect())])
    }

    fn contrast_of(rows: &Rows, floor: Option<f64>, findings: &[Finding]) -> Contrast {
        let rule = VerdictRule::default();
        let mut floors = BTreeMap::new();
        if let Some(share) = floor {
            let at = "2024-05-01T12:00:00Z".to_owned();
            floors.insert(cell(), Floor { share, measured_at: at, place: "x".to_owned() });
        }
        let claims = claims(rows, &rule);
        let terms = Terms {
            baseline: "A",
            candidate: "B",
            rule: &rule,
            floors: &floors,
            findings,
            samples: "blocks",
            lacking: &|_| 0,
        };
        contrast(&claims[0], &rows[&cell()], &terms)
    }

    fn finding(code: &str, level: Level) -> Finding {
        Finding {
            code: code.to_owned(),
            level,
            phase: None,
            at_ns: None,
            observed: String::new(),
            threshold: String::new(),
            message: "One thing: and what follows.".to_owned(),
            remedy: String::new(),
            remedies: Vec::new(),
        }
    }

    #[test]
    fn the_numbers_decide_the_verdict() {
        for (ratio, verdict) in
            [(1.2, ContrastVerdict::Faster), (0.8, ContrastVerdict::Slower), (1.0, ContrastVerdict::Equivalent)]
        {
            let contrast = contrast_of(&rows(ratio, 8, 1, 0.0), None, &[]);
            assert_eq!((contrast.verdict, contrast.unit, contrast.blocks), (verdict, Replicate::Block, 8));
            assert_eq!(contrast.p, contrast.p_adjusted, "one contrast needs no correction");
        }
    }

    /// Ten runs on one plot are one sample.
    #[test]
    fn with_plots_the_plot_is_the_sample() {
        let contrast = contrast_of(&rows(1.03, 30, 3, 0.06), None, &[]);
        assert_eq!((contrast.unit, contrast.blocks), (Replicate::Plot, 3));
        assert!(!matches!(contrast.verdict, ContrastVerdict::Faster | ContrastVerdict::Slower), "{contrast:?}");
        let plain = contrast_of(&rows(1.5, 30, 3, 0.01), None, &[]);
        assert_eq!(plain.verdict, ContrastVerdict::Faster);
        assert!(plain.note.unwrap().contains("plots"), "the note says that t decides alone");
    }

    #[test]
    fn a_failed_check_of_comparability_forbids_every_claim() {
        for code in ["D6", "D7", "D8", "E11", "E13", "E15"] {
            for ratio in [1.2, 1.0] {
                let contrast = contrast_of(&rows(ratio, 8, 1, 0.0), None, &[finding(code, Level::Fail)]);
                assert_eq!(contrast.verdict, ContrastVerdict::CannotTell);
                assert_eq!((contrast.note.as_deref(), contrast.blocks_needed), (Some("One thing"), None));
                assert_eq!(contrast.capped.unwrap().code, code);
            }
        }
        let few = contrast_of(&rows(1.2, 8, 1, 0.0), None, &[finding("E1", Level::Warn)]);
        assert_eq!(few.capped.unwrap().verdict, ContrastVerdict::Faster);
    }

    /// A warning is for the reader to weigh; it does not remove a verdict.
    #[test]
    fn other_findings_forbid_nothing() {
        let findings = [finding("D5", Level::Warn), finding("D6", Level::Note), finding("E5", Level::Warn)];
        assert_eq!(contrast_of(&rows(1.2, 8, 1, 0.0), None, &findings).verdict, ContrastVerdict::Faster);
    }

    #[test]
    fn below_the_floor_nothing_is_claimed() {
        let at = |ratio: f64, floor: f64| contrast_of(&rows(ratio, 8, 1, 0.0), Some(floor), &[]);
        assert_eq!(at(1.2, 0.1).verdict, ContrastVerdict::Faster);
        let below = at(1.2, 0.3);
        assert_eq!((below.verdict, below.capped.unwrap().code.as_str()), (ContrastVerdict::CannotTell, "E14"));
        assert_eq!(at(1.0, 0.08).verdict, ContrastVerdict::CannotTell, "equal within 5 % cannot be seen either");
        assert_eq!(at(1.0, 0.01).verdict, ContrastVerdict::Equivalent);
    }

    #[test]
    fn a_family_is_corrected_as_one() {
        let mut family = rows(1.2, 8, 1, 0.0);
        let other = ComparedCell { metric: Metric::bandwidth(OpKind::Read), ..cell() };
        family.insert(other, family[&cell()].clone());
        let claims = claims(&family, &VerdictRule::default());
        for claim in &claims {
            let (p, adjusted) = (claim.assessment.p_t.unwrap(), claim.assessment.p_adjusted.unwrap());
            assert!((adjusted / p - 2.0).abs() < 1e-9, "{p} {adjusted}");
        }
    }

    /// More runs do not reduce the difference between provisionings.
    #[test]
    fn runs_that_do_not_limit_the_interval_are_not_requested() {
        let met = |rows: &Rows| claims(rows, &VerdictRule::default())[0].precision.unwrap().is_met();
        assert!(met(&rows(1.0, 12, 3, 0.10)));
        let alike = rows(1.0, 6, 3, 0.0);
        let precision = claims(&alike, &VerdictRule::default())[0].precision.unwrap();
        assert!(precision.question == Question::Open || precision.half_width < 0.05, "{precision:?}");
    }

    /// A stall must neither be overlooked nor removed from the numbers.
    #[test]
    fn an_outlier_is_reported_and_counted_and_the_ratio_without_it_is_shown() {
        let mut rows = rows(1.0, 8, 1, 0.0);
        let calm = far_out(&cell(), &rows[&cell()], &VerdictRule::default());
        assert!(calm.rows.is_empty() && calm.without.is_none());
        let candidate = rows.get_mut(&cell()).unwrap().iter_mut().find(|row| row.block == 3 && row.side == Side::B);
        candidate.unwrap().value /= 10.0;
        let far = far_out(&cell(), &rows[&cell()], &VerdictRule::default());
        assert_eq!(far.rows.iter().map(|row| (row.block, row.side)).collect::<Vec<_>>(), [(3, Side::B)]);
        let (with, without) = (contrast_of(&rows, None, &[]), far.without.unwrap());
        assert_eq!(with.blocks, 8);
        assert!(with.ratio.unwrap() < 0.8 && (without.ratio - 1.0).abs() < 0.02, "{with:?} {without:?}");
    }
}
