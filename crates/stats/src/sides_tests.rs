//! Tests of the replication unit of each kind of contrast: it prevents false claims.

use super::*;
use crate::random::SplitMix;
use crate::verdict::{Assessment, Family, Note, Verdict, VerdictRule, assess_family};
use proptest::prelude::*;

fn judge(sides: Sides<'_>) -> Assessment {
    let found = assess_family(&[Compared::measured(sides, Better::Higher)], &VerdictRule::default(), Family::Holm);
    found.unwrap()[0]
}

/// Generates both sides of an easy factor as pairs on plots. The candidate is `ratio` times as fast, runs vary by 3
/// %, and the effect varies from plot to plot by `interaction`.
fn pairs(random: &mut SplitMix, ratio: f64, plots: usize, interaction: f64) -> [Vec<Vec<f64>>; 2] {
    const PAIRS: usize = 5;
    let mut sides: [Vec<Vec<f64>>; 2] = Default::default();
    for _ in 0..plots {
        let effect = ratio.ln() + interaction * random.normal();
        let level = 0.2 * random.normal();
        let mut runs = |shift: f64| (0..PAIRS).map(|_| (level + shift + 0.03 * random.normal()).exp()).collect();
        sides[0].push(runs(0.0));
        sides[1].push(runs(effect));
    }
    sides
}

/// Returns the shares of 1000 studies that claim a difference: with the plot as the unit, and with all pairs pooled.
fn claims(ratio: f64, plots: usize, interaction: f64) -> [f64; 2] {
    let mut random = SplitMix::new(plots as u64);
    let mut counts = [0.0; 2];
    for _ in 0..1000 {
        let [baseline, candidate] = pairs(&mut random, ratio, plots, interaction);
        let by_plots = Sides::PairsOnPlots { baseline: &baseline, candidate: &candidate };
        let (one, other) = (baseline.concat(), candidate.concat());
        let pooled = Sides::Blocks { baseline: &one, candidate: &other };
        for (count, sides) in counts.iter_mut().zip([by_plots, pooled]) {
            *count += f64::from(u8::from(matches!(judge(sides).verdict, Verdict::Faster(_) | Verdict::Slower(_))));
        }
    }
    counts.map(|count| count / 1000.0)
}

// Protects: an effect that differs between plots is not claimed in general, even with many pairs on each plot.
#[test]
fn an_effect_on_few_plots_is_not_claimed_in_general() {
    for plots in [2, 3, 5] {
        for interaction in [0.0, 0.03, 0.10] {
            let [by_plots, _] = claims(1.0, plots, interaction);
            assert!(by_plots <= 0.05, "{plots} plots, {interaction}: {by_plots}");
        }
    }
    let [_, pooled] = claims(1.0, 2, 0.03);
    assert!(pooled > 0.10, "pooled pairs must claim too often in this case: {pooled}");
    // Without interaction, five plots find 10 % nearly always.
    assert!(claims(1.10, 5, 0.0)[0] > 0.95);
}

#[test]
fn a_difference_on_these_plots_alone_is_noted_but_not_claimed() {
    let baseline = vec![vec![100.0, 101.0, 99.0], vec![80.0, 81.0, 79.5]];
    let candidate = vec![vec![150.0, 152.0, 149.0], vec![96.0, 97.0, 95.0]];
    let found = judge(Sides::PairsOnPlots { baseline: &baseline, candidate: &candidate });
    assert!(matches!(found.verdict, Verdict::CannotTell { blocks_needed: Some(_) }), "{found:?}");
    assert_eq!((found.note, found.unit, found.blocks), (Note::OnTheseProvisionings, ReplicationUnit::Plot, 2));
    // The plots' own ratios alone do not show it.
    let plain = judge(Sides::Plots { baseline: &baseline, candidate: &candidate });
    assert_eq!(plain.note, Note::TooWide);
    assert_eq!((plain.ratio, plain.p_t), (found.ratio, found.p_t));
}

#[test]
fn the_error_on_these_plots_agrees_with_an_analysis_of_variance() {
    let baseline = vec![vec![1.0; 3], vec![1.0; 3]];
    let candidate: Vec<Vec<f64>> = [[0.1, 0.2, 0.3], [0.5, 0.5, 0.8]].map(|logs| logs.map(f64::exp).to_vec()).to_vec();
    let found = estimate_within_plots(&baseline, &candidate, Better::Higher).unwrap().unwrap();
    // R: d <- c(.1, .2, .3, .5, .5, .8); p <- gl(2, 3); summary(lm(d ~ p)) has a residual mean square of 0.02 on 4 degrees of freedom
    assert!((found.log_mean - 0.4).abs() < 1e-12 && (found.log_error - (0.02f64 / 6.0).sqrt()).abs() < 1e-12);
    assert_eq!(found.freedom, 4.0);
    let lower = estimate_within_plots(&baseline, &candidate, Better::Lower).unwrap().unwrap();
    assert_eq!(lower.log_mean, -found.log_mean);
}

#[test]
fn pairs_that_lack_a_side_are_refused() {
    let of = |baseline: &[Vec<f64>], candidate: &[Vec<f64>]| {
        ContrastEvidence::from_compared(
            &Compared::measured(Sides::PairsOnPlots { baseline, candidate }, Better::Higher),
            0,
        )
        .err()
    };
    let uneven = of(&[vec![1.0, 2.0], vec![1.0]], &[vec![1.0], vec![1.0, 2.0]]);
    assert_eq!(uneven, Some(StatsError::Unpaired { baseline: 3, candidate: 3 }));
    assert!(of(&[vec![1.0], vec![]], &[vec![1.0], vec![]]).is_some());
}

#[test]
fn a_step_widens_only_an_interval_without_spread() {
    let (baseline, candidate) = ([8.0; 6], [9.0; 6]);
    let sides = Sides::Blocks { baseline: &baseline, candidate: &candidate };
    let error = |granularity| {
        let compared = Compared { granularity, ..Compared::measured(sides, Better::Lower) };
        ContrastEvidence::from_compared(&compared, 0).unwrap().estimate.unwrap().log_error
    };
    assert_eq!(error(0.0), 0.0);
    let expected = ((1.0 / 64.0 + 1.0 / 81.0) / 12.0 / 6.0f64).sqrt();
    assert!((error(1.0) - expected).abs() < 1e-12);
    let wild = [80.0, 120.0, 95.0, 140.0, 70.0, 100.0];
    let (wild, other) = (Sides::Blocks { baseline: &wild, candidate: &[100.0; 6] }, Better::Higher);
    let of = |granularity| {
        ContrastEvidence::from_compared(&Compared { granularity, ..Compared::measured(wild, other) }, 0)
            .unwrap()
            .estimate
    };
    assert_eq!(of(1.0), of(0.0));
}

proptest! {
    // The level that all runs of a plot share, on both sides, does not affect an easy factor.
    #[test]
    fn the_level_of_a_plot_cancels(
        logs in prop::collection::vec((-1.0..1.0f64, -1.0..1.0f64), 6..7), levels in prop::collection::vec(-3.0..3.0f64, 3..4)
    ) {
        let plots = |levels: &[f64]| -> [Vec<Vec<f64>>; 2] {
            let side = |of: fn(&(f64, f64)) -> f64| {
                let runs = |(plot, pairs): (usize, &[(f64, f64)])| {
                    pairs.iter().map(|pair| (of(pair) + levels[plot]).exp()).collect::<Vec<f64>>()
                };
                logs.chunks(2).enumerate().map(runs).collect()
            };
            [side(|pair| pair.0), side(|pair| pair.1)]
        };
        let of = |levels: &[f64]| {
            let [baseline, candidate] = plots(levels);
            judge(Sides::PairsOnPlots { baseline: &baseline, candidate: &candidate }).ratio.unwrap()
        };
        let (plain, moved) = (of(&[0.0; 3]), of(&levels));
        prop_assert!((plain.value / moved.value - 1.0).abs() < 1e-9);
        prop_assert!((plain.lo / moved.lo - 1.0).abs() < 1e-6 && (plain.hi / moved.hi - 1.0).abs() < 1e-6);
    }

    #[test]
    fn swapping_the_sides_of_pairs_mirrors_the_verdict(
        runs in prop::collection::vec((1.0..2.0f64, 1.0..2.0f64), 8..9)
    ) {
        let side = |of: fn(&(f64, f64)) -> f64| runs.chunks(2).map(|pairs| pairs.iter().map(of).collect()).collect();
        let (one, other): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (side(|pair| pair.0), side(|pair| pair.1));
        let there = judge(Sides::PairsOnPlots { baseline: &one, candidate: &other });
        let back = judge(Sides::PairsOnPlots { baseline: &other, candidate: &one });
        prop_assert_eq!(there.note, back.note);
        prop_assert!((there.ratio.unwrap().value * back.ratio.unwrap().value - 1.0).abs() < 1e-9);
    }
}
