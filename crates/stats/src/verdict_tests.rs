//! Tests of verdicts on blocks made by hand and on simulated disks.

use super::*;
use crate::estimate::{paired, welch};
use crate::random::SplitMix;
use crate::schedule::{Side, blocked_order};
use proptest::prelude::*;

/// Makes blocks whose ratios are `ratio` times the given wobbles.
fn blocks(ratio: f64, wobbles: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let baseline: Vec<f64> = (0..wobbles.len()).map(|i| 100.0 + i as f64).collect();
    let candidate = baseline.iter().zip(wobbles).map(|(a, wobble)| a * ratio * wobble).collect();
    (baseline, candidate)
}

const CALM: [f64; 8] = [1.005, 0.995, 1.01, 0.99, 1.002, 0.998, 1.006, 0.994];
const WILD_BUT_UP: [f64; 8] = [1.08, 0.94, 1.05, 0.99, 0.97, 1.06, 0.93, 1.0];
const WILD: [f64; 8] = [1.2, 0.85, 1.1, 0.95, 0.9, 1.15, 0.8, 1.1];

fn judge(ratio: f64, wobbles: &[f64]) -> Assessment {
    let (a, b) = blocks(ratio, wobbles);
    assess(&a, &b, Better::Higher, &VerdictRule::default()).unwrap()
}

#[test]
fn a_clear_difference_is_faster_one_way_and_slower_the_other() {
    assert!(matches!(judge(1.2, &CALM).verdict, Verdict::Faster(ratio) if ratio.lo > 1.05));
    assert!(matches!(judge(1.0 / 1.2, &CALM).verdict, Verdict::Slower(ratio) if ratio.hi < 1.0 / 1.05));
    assert_eq!(judge(1.2, &CALM).blocks_needed, None);
}

#[test]
fn a_longer_time_is_slower() {
    let (a, b) = blocks(1.2, &CALM);
    let assessment = assess(&a, &b, Better::Lower, &VerdictRule::default()).unwrap();
    assert!(matches!(assessment.verdict, Verdict::Slower(ratio) if ratio.value < 1.0));
}

#[test]
fn no_difference_in_calm_is_equivalent_and_in_noise_unknown() {
    assert!(matches!(judge(1.0, &CALM).verdict, Verdict::Equivalent(_)));
    let noisy = judge(1.0, &WILD);
    assert!(matches!(noisy.verdict, Verdict::CannotTell { blocks_needed: Some(n) } if n > 8), "{noisy:?}");
    assert_eq!(noisy.note, Note::TooWide);
}

#[test]
fn a_real_difference_within_the_margin_is_equivalent_with_a_note() {
    let assessment = judge(1.02, &CALM);
    assert!(matches!(assessment.verdict, Verdict::Equivalent(_)));
    assert_eq!(assessment.note, Note::RealButSmall);
}

#[test]
fn a_real_difference_across_the_margin_is_faster_and_may_be_small() {
    let assessment = judge(1.055, &CALM);
    assert!(matches!(assessment.verdict, Verdict::Faster(ratio) if ratio.lo < 1.05), "{assessment:?}");
    assert_eq!(assessment.note, Note::RealButPossiblySmall);
    assert_eq!(judge(1.2, &CALM).note, Note::None);
}

#[test]
fn a_ratio_on_the_margin_can_be_settled_as_a_difference() {
    let (a, b) = blocks(1.05, &[1.1, 1.0 / 1.1, 1.1, 1.0 / 1.1, 1.1, 1.0 / 1.1]);
    let assessment = assess(&a, &b, Better::Higher, &VerdictRule::default()).unwrap();
    assert!(matches!(assessment.verdict, Verdict::CannotTell { blocks_needed: Some(n) } if n > 10), "{assessment:?}");
}

#[test]
fn among_many_contrasts_one_that_is_just_significant_is_expected_by_chance() {
    let (a, b) = blocks(1.06, &WILD_BUT_UP);
    let (same_a, same_b) = blocks(1.0, &WILD);
    let one = Compared::measured(Sides::Blocks { baseline: &a, candidate: &b }, Better::Higher);
    let other = Compared::measured(Sides::Blocks { baseline: &same_a, candidate: &same_b }, Better::Higher);
    let rule = VerdictRule::default();
    assert!(matches!(assess_all(&[one], &rule).unwrap()[0].verdict, Verdict::Faster(_)));
    let family = assess_all(&[other, one, other, other], &rule).unwrap();
    assert_eq!(family.len(), 4);
    assert_eq!(family[1].note, Note::ChanceAmongMany, "{:?}", family[1]);
    assert!((family[1].p_adjusted.unwrap() / family[1].p_t.unwrap() - 4.0).abs() < 1e-9);
    assert!(family[1].blocks_needed.is_some());
    // Contrasts that could not claim anything are not tests, and cost the others nothing.
    let (few_a, few_b) = (&same_a[..3], &same_b[..3]);
    let few = Compared::measured(Sides::Blocks { baseline: few_a, candidate: few_b }, Better::Higher);
    assert!(matches!(assess_all(&[few, one, few], &rule).unwrap()[1].verdict, Verdict::Faster(_)));
}

/// Makes plots of two runs each.
fn plots(factor: f64, provisionings: &[f64]) -> Vec<Vec<f64>> {
    provisionings.iter().map(|wobble| vec![100.0 * factor * wobble * 1.002, 100.0 * factor * wobble / 1.002]).collect()
}

#[test]
fn a_single_plot_a_side_never_supports_a_claim() {
    let (one, other) =
        (vec![vec![100.0, 101.0, 99.0, 100.5, 99.5, 100.2]], vec![vec![150.0, 151.0, 149.0, 150.0, 152.0]]);
    let assessment = assess_plots(&one, &other, Better::Higher, &VerdictRule::default()).unwrap();
    assert_eq!(assessment.verdict, Verdict::CannotTell { blocks_needed: Some(1) });
    assert_eq!((assessment.note, assessment.unit, assessment.blocks), (Note::TooFewPlots, ReplicationUnit::Plot, 1));
}

#[test]
fn few_plots_are_judged_by_t_alone_with_a_note() {
    let assessment =
        assess_plots(&plots(1.0, &CALM[..3]), &plots(1.3, &CALM[1..4]), Better::Higher, &VerdictRule::default())
            .unwrap();
    assert!(matches!(assessment.verdict, Verdict::Faster(_)), "{assessment:?}");
    assert_eq!((assessment.note, assessment.p_sign_flip), (Note::WithoutCrossCheck, None));
    let six = assess_plots(&plots(1.0, &CALM[..6]), &plots(1.3, &CALM[2..8]), Better::Higher, &VerdictRule::default())
        .unwrap();
    assert_eq!((six.note, six.p_sign_flip), (Note::None, Some(2.0 / 64.0)));
}

#[test]
fn plots_in_unequal_numbers_are_compared_without_pairs() {
    let (a, b) = (plots(1.0, &CALM[..4]), plots(0.7, &CALM[..7]));
    let assessment = assess_plots(&a, &b, Better::Higher, &VerdictRule::default()).unwrap();
    assert!(matches!(assessment.verdict, Verdict::Slower(_)), "{assessment:?}");
    assert_eq!((assessment.blocks, assessment.p_sign_flip), (4, None));
    assert!(assess_plots(&a, &[vec![], vec![1.0]], Better::Higher, &VerdictRule::default()).is_err());
}

// Protects: unpaired runs are not paired because the sides happen to have equal numbers of them.
#[test]
fn runs_apart_are_compared_without_pairs() {
    let runs = |factor: f64, wobbles: &[f64]| wobbles.iter().map(|w| vec![100.0 * factor * w]).collect::<Vec<_>>();
    let judged = |baseline: &[Vec<f64>], candidate: &[Vec<f64>]| {
        let compared = Compared::measured(Sides::Apart { baseline, candidate }, Better::Higher);
        assess_all(&[compared], &VerdictRule::default()).unwrap()[0]
    };
    let (a, b) = (runs(1.0, &CALM[..6]), runs(1.3, &CALM[2..8]));
    let assessment = judged(&a, &b);
    assert!(matches!(assessment.verdict, Verdict::Faster(_)), "{assessment:?}");
    assert_eq!((assessment.unit, assessment.blocks), (ReplicationUnit::Run, 6));
    assert_eq!((assessment.note, assessment.p_sign_flip), (Note::None, None));
    // The order of one side's runs does not matter.
    let turned: Vec<Vec<f64>> = b.iter().rev().cloned().collect();
    assert!((judged(&a, &turned).p_t.unwrap() / assessment.p_t.unwrap() - 1.0).abs() < 1e-9);
    assert_eq!(judged(&a[..5], &b).note, Note::TooFewRuns);
}

#[test]
fn the_effect_of_a_provisioning_is_not_a_difference() {
    // Provisionings vary by 6 %, runs by 2 %: five runs on each of five plots a side, of equal set-ups.
    let mut noise = SplitMix::new(99);
    let claims = share(1000, |_| {
        let mut side = || -> Vec<Vec<f64>> {
            (0..5)
                .map(|_| {
                    let plot = 0.06 * noise.normal();
                    (0..5).map(|_| (plot + 0.02 * noise.normal()).exp()).collect()
                })
                .collect()
        };
        let verdict = assess_plots(&side(), &side(), Better::Higher, &VerdictRule::default()).unwrap().verdict;
        matches!(verdict, Verdict::Faster(_) | Verdict::Slower(_))
    });
    assert!(claims <= 0.06, "{claims}");
}

#[test]
fn five_blocks_decide_nothing_however_clear() {
    let assessment = judge(2.0, &CALM[..5]);
    assert_eq!(assessment.verdict, Verdict::CannotTell { blocks_needed: Some(2) });
    assert_eq!(assessment.note, Note::TooFewBlocks);
    assert!(assessment.ratio.is_some());
}

#[test]
fn one_run_each_is_neither_a_comparison_nor_an_error() {
    let one = assess(&[100.0], &[120.0], Better::Higher, &VerdictRule::default()).unwrap();
    assert_eq!(one.verdict, Verdict::CannotTell { blocks_needed: Some(6) });
    assert_eq!((one.ratio, one.p_sign_flip), (None, None));
    assert_eq!(assess(&[], &[], Better::Higher, &VerdictRule::default()).unwrap().blocks, 0);
}

#[test]
fn one_wild_block_among_unanimous_ones_is_fragile() {
    // Every block is faster, so the sign-flip test is as certain as it can be. One block is so extreme that t is not.
    let assessment = judge(1.1, &[1.0, 1.01, 0.99, 1.0, 1.01, 0.99, 1.0, 12.0]);
    assert!(matches!(assessment.verdict, Verdict::Fragile(_)), "{assessment:?}");
    assert_eq!(assessment.note, Note::OnlySignFlip);
}

#[test]
fn an_interval_without_the_permutation_test_is_fragile() {
    // Six blocks, one of them the other way: p = 4/64, whatever t gives.
    let assessment = judge(1.1, &[1.0, 1.02, 0.98, 1.01, 0.99, 0.905]);
    assert!(matches!(assessment.verdict, Verdict::Fragile(_)), "{assessment:?}");
    assert_eq!((assessment.note, assessment.p_sign_flip), (Note::OnlyInterval, Some(4.0 / 64.0)));
    assert!(assessment.blocks_needed.is_some());
}

#[test]
fn a_device_without_any_spread_gets_its_verdict_without_nan() {
    let steady = |value: f64| vec![value; 6];
    let rule = VerdictRule::default();
    let faster = assess(&steady(100.0), &steady(120.0), Better::Higher, &rule).unwrap();
    assert!(matches!(faster.verdict, Verdict::Faster(_)));
    let same = assess(&steady(100.0), &steady(100.0), Better::Higher, &rule).unwrap();
    assert!(matches!(same.verdict, Verdict::Equivalent(_)));
    let few = assess(&[100.0; 3], &[120.0; 3], Better::Higher, &rule).unwrap();
    assert_eq!(few.verdict, Verdict::CannotTell { blocks_needed: Some(4) });
}

#[test]
fn settings_out_of_range_and_runs_without_a_rate_are_refused() {
    let rule = VerdictRule::default();
    assert!(assess(&[1.0; 6], &[1.0; 6], Better::Higher, &VerdictRule { margin: 0.0, ..rule }).is_err());
    assert!(assess(&[1.0; 6], &[1.0; 6], Better::Higher, &VerdictRule { confidence: 0.4, ..rule }).is_err());
    assert_eq!(
        assess(&[1.0, 1.0], &[1.0, 0.0], Better::Higher, &rule),
        Err(StatsError::NotPositive { index: 1, value: 0.0 })
    );
}

/// A simulated disk: log-normal runs with a spread, and drift by the position in the schedule.
struct Disk {
    noise: SplitMix,
    spread: f64,
    drift_per_run: f64,
    runs: u32,
}

impl Disk {
    fn run(&mut self, factor: f64) -> f64 {
        let drift = self.drift_per_run * f64::from(self.runs);
        self.runs += 1;
        1e8 * factor * (drift + self.spread * self.noise.normal()).exp()
    }

    /// Runs a blocked schedule with a candidate `factor` times as fast.
    fn compare(&mut self, seed: u64, blocks: u32, factor: f64) -> (Vec<f64>, Vec<f64>) {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for side in blocked_order(seed, blocks).into_iter().flat_map(|block| block.sides()) {
            match side {
                Side::A => a.push(self.run(1.0)),
                Side::B => b.push(self.run(factor)),
            }
        }
        (a, b)
    }
}

fn share(draws: u64, mut event: impl FnMut(u64) -> bool) -> f64 {
    (0..draws).filter(|&draw| event(draw)).count() as f64 / draws as f64
}

fn disk(seed: u64, spread: f64, drift_per_run: f64) -> Disk {
    Disk { noise: SplitMix::new(seed), spread, drift_per_run, runs: 0 }
}

#[test]
fn equal_disks_are_called_different_as_rarely_as_promised() {
    let differs = share(1000, |draw| {
        let (a, b) = disk(draw, 0.05, 0.0).compare(draw, 8, 1.0);
        !paired(&a, &b).unwrap().interval(0.95).unwrap().contains(1.0)
    });
    assert!((0.03..=0.07).contains(&differs), "95 % intervals miss in {differs}");
    let claims = share(1000, |draw| {
        let (a, b) = disk(draw, 0.05, 0.0).compare(draw, 8, 1.0);
        let verdict = assess(&a, &b, Better::Higher, &VerdictRule::default()).unwrap().verdict;
        matches!(verdict, Verdict::Faster(_) | Verdict::Slower(_))
    });
    assert!(claims <= 0.06, "{claims}");
}

#[test]
fn a_disk_on_the_margin_is_called_equivalent_as_rarely_as_promised() {
    let equivalent = share(1000, |draw| {
        let (a, b) = disk(draw, 0.02, 0.0).compare(draw, 8, 1.05);
        matches!(assess(&a, &b, Better::Higher, &VerdictRule::default()).unwrap().verdict, Verdict::Equivalent(_))
    });
    assert!(equivalent < 0.07, "{equivalent}");
}

#[test]
fn drift_biases_all_of_a_before_all_of_b_but_not_blocks() {
    let (spread, drift) = (0.01, 0.005);
    let blocked = share(500, |draw| {
        let (a, b) = disk(draw, spread, drift).compare(draw, 10, 1.0);
        !paired(&a, &b).unwrap().interval(0.95).unwrap().contains(1.0)
    });
    let in_turn = share(500, |draw| {
        let mut disk = disk(draw, spread, drift);
        let a: Vec<f64> = (0..10).map(|_| disk.run(1.0)).collect();
        let b: Vec<f64> = (0..10).map(|_| disk.run(1.0)).collect();
        !welch(&a, &b).unwrap().interval(0.95).unwrap().contains(1.0)
    });
    assert!(blocked <= 0.07, "blocks: {blocked}");
    assert!(in_turn > 0.9, "in turn: {in_turn}");
}

#[test]
fn the_recommended_blocks_settle_it_in_four_of_five_cases() {
    // With a known ratio and spread, a fresh comparison of this many blocks settles it about as often as the formula
    // says: 80 %, less the few cases in which the two tests disagree.
    let spread = 0.06;
    for true_ratio in [1.12, 1.0] {
        let log_error = spread * 2f64.sqrt() / 8f64.sqrt();
        let known = Estimate { log_mean: f64::ln(true_ratio), log_error, freedom: 7.0 };
        let all = 8 + even(more_blocks(&known, 8, 6, 1, &VerdictRule::default()).unwrap());
        let settled = share(200, |draw| {
            let (a, b) = disk(draw, spread, 0.0).compare(draw, all, true_ratio);
            let verdict = assess(&a, &b, Better::Higher, &VerdictRule::default()).unwrap().verdict;
            !matches!(verdict, Verdict::CannotTell { .. } | Verdict::Fragile(_))
        });
        assert!((0.72..=0.92).contains(&settled), "{settled} of comparisons of {all} blocks at {true_ratio}");
    }
}

proptest! {
    #[test]
    fn swapping_sides_or_direction_mirrors_the_verdict(
        pairs in prop::collection::vec((1.0..2.0f64, 1.0..2.0f64), 2..14)
    ) {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let rule = VerdictRule::default();
        let there = assess(&a, &b, Better::Higher, &rule).unwrap();
        let back = assess(&b, &a, Better::Higher, &rule).unwrap();
        let mirrored = match (there.verdict, back.verdict) {
            (Verdict::Faster(x), Verdict::Slower(y)) | (Verdict::Slower(x), Verdict::Faster(y)) => {
                (x.value * y.value - 1.0).abs() < 1e-9
            }
            (Verdict::Equivalent(_), Verdict::Equivalent(_)) | (Verdict::Fragile(_), Verdict::Fragile(_)) => true,
            (Verdict::CannotTell { .. }, Verdict::CannotTell { .. }) => there.blocks_needed == back.blocks_needed,
            _ => false,
        };
        prop_assert!(mirrored, "{there:?} {back:?}");
        prop_assert_eq!(assess(&b, &a, Better::Lower, &rule).unwrap(), there);
    }

    #[test]
    fn below_six_blocks_nothing_is_claimed(
        pairs in prop::collection::vec((1.0..1e6f64, 1.0..1e6f64), 0..6)
    ) {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let verdict = assess(&a, &b, Better::Higher, &VerdictRule::default()).unwrap().verdict;
        prop_assert!(matches!(verdict, Verdict::CannotTell { .. }), "{:?}", verdict);
    }
}

/// Protects: the requested correction is the one that is applied.
#[test]
fn a_family_gets_the_requested_correction() {
    let baseline: Vec<f64> = vec![100.0, 101.0, 99.0, 100.5, 99.5, 100.2];
    let candidates: Vec<Vec<f64>> = (1..=4)
        .map(|i| {
            baseline.iter().enumerate().map(|(j, b)| b * (1.0 + 0.002 * f64::from(i) * (1.0 + j as f64))).collect()
        })
        .collect();
    let contrasts: Vec<Compared<'_>> = candidates
        .iter()
        .map(|candidate| Compared::measured(Sides::Blocks { baseline: &baseline, candidate }, Better::Higher))
        .collect();
    let p = |family: Family| -> Vec<f64> {
        let all = assess_family(&contrasts, &VerdictRule::default(), family).unwrap();
        all.iter().map(|one| one.p_adjusted.unwrap()).collect()
    };
    let raw = p(Family::Uncorrected);
    assert_eq!(p(Family::Holm), crate::correct::holm(&raw).unwrap());
    assert_eq!(p(Family::BenjaminiHochberg), crate::correct::benjamini_hochberg(&raw).unwrap());
    assert_eq!(
        assess_all(&contrasts, &VerdictRule::default()).unwrap(),
        assess_family(&contrasts, &VerdictRule::default(), Family::Holm).unwrap()
    );
}
