use super::*;
use crate::random::SplitMix;
use proptest::prelude::*;

fn assert_close(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() < tolerance, "{found} is not {expected}");
}

#[test]
fn the_dip_agrees_with_the_package_diptest() {
    // Python: diptest.diptest(numpy.array(x)) of diptest 0.12.0; its p comes from a different table,
    // so it agrees only roughly.
    let two = [1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0, 2.5, 11.5];
    assert_close(dip(&two).unwrap().dip, 0.1728395061728395, 1e-12);
    let digits =
        [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7].map(f64::from);
    let found = dip(&digits).unwrap();
    assert_close(found.dip, 0.06666666666666667, 1e-12);
    assert_close(found.p, 0.35626, 0.02);
    let humps: Vec<f64> =
        (0..40).map(f64::from).map(|i| if i % 2.0 == 0.0 { i.sin() + 5.0 } else { (i * 1.7).cos() }).collect();
    let found = dip(&humps).unwrap();
    assert_close(found.dip, 0.15045782133205723, 1e-12);
    let bent: Vec<f64> = (0..25).map(|i| (f64::from(i) * 3.1).sin().exp()).collect();
    let found = dip(&bent).unwrap();
    assert_close(found.dip, 0.02700102590528732, 1e-12);
    assert_close(found.p, 1.0, 0.02);
}

#[test]
fn equal_values_have_the_least_dip_and_no_modes() {
    assert_eq!(dip(&[3.0; 10]).unwrap(), Dip { dip: 0.05, p: 1.0 });
    assert_eq!(modes(&[3.0; 20]), None);
    assert!(dip(&[1.0, 2.0, 3.0]).is_err());
    assert!(dip(&[1.0, 2.0, 3.0, f64::NAN]).is_err());
    assert_eq!(modes(&[1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0]), None);
    assert_eq!(modes(&[0.0; 20]), None);
}

#[test]
fn two_groups_are_split_and_described() {
    let values = [100.0, 75.0, 101.0, 99.0, 100.5, 99.5, 76.0, 100.2, 99.8, 100.0, 74.0, 100.4];
    let found = modes(&values).unwrap();
    assert_eq!(found.low_share, 0.25);
    assert_close(found.ratio, 0.75, 0.01);
    assert_close(found.split, (76.0f64 * 99.0).sqrt(), 1e-9);
    assert!(found.p < 0.001);
    // Two groups without any spread within are the clearest case.
    let exact = [100.0, 100.0, 80.0, 100.0, 100.0, 100.0, 80.0, 100.0];
    assert_eq!(modes(&exact).unwrap().low_share, 0.25);
}

#[test]
fn groups_too_near_to_matter_and_single_wild_runs_are_no_modes() {
    let near = [100.0, 100.01, 99.99, 100.0, 100.02, 99.0, 99.01, 98.99, 99.0, 99.02];
    assert_eq!(modes(&near), None);
    let one = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.1, 100.4, 50.0];
    assert_eq!(modes(&one), None);
}

/// Generates runs of two sides of a disk, each slow by a quarter with the chance `slow`.
fn slow_mode(noise: &mut SplitMix, runs: usize, spread: f64, slow: f64) -> Vec<f64> {
    let run = |noise: &mut SplitMix| {
        let is_slow = ((noise.next() >> 11) as f64 / (1u64 << 53) as f64) < slow;
        (if is_slow { 0.75 } else { 1.0 }) * (spread * noise.normal()).exp()
    };
    let side = |noise: &mut SplitMix, level: f64| (0..runs).map(|_| level * run(noise)).collect::<Vec<f64>>();
    let (a, b) = (side(noise, 100.0), side(noise, 170.0));
    centred(&[&a, &b]).unwrap()
}

#[test]
fn a_slow_mode_in_a_fifth_of_runs_is_found_at_twelve_runs_a_side() {
    let mut noise = SplitMix::new(8);
    for spread in [0.01, 0.02, 0.03] {
        let found = (0..500).filter(|_| modes(&slow_mode(&mut noise, 12, spread, 0.2)).is_some()).count();
        assert!(found >= 435, "{found} of 500 at a spread of {spread}");
    }
}

#[test]
fn false_alarms_occur_in_one_of_a_hundred_samples() {
    let mut noise = SplitMix::new(9);
    for runs in [6, 10, 15, 30] {
        let found = (0..1500).filter(|_| modes(&slow_mode(&mut noise, runs, 0.05, 0.0)).is_some()).count();
        assert!(found <= 20, "{found} of 1500 samples of 2 × {runs} runs");
    }
}

proptest! {
    #[test]
    fn a_dip_lies_within_its_bounds_and_ignores_order(values in prop::collection::vec(-100..100i32, 4..60)) {
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        let n = values.len() as f64;
        let found = dip(&values).unwrap();
        prop_assert!(found.dip >= 0.5 / n - 1e-12 && found.dip <= 0.25 + 1e-12, "{found:?}");
        prop_assert!(found.p > 0.0 && found.p <= 1.0);
        let other: Vec<f64> = values.iter().rev().map(|value| -3.0 * value + 8.0).collect();
        prop_assert!((dip(&other).unwrap().dip - found.dip).abs() < 1e-9);
    }

    #[test]
    fn modes_ignore_unit_and_order(values in prop::collection::vec(1.0..3.0f64, 8..40), scale in 1e-3..1e6f64) {
        let other: Vec<f64> = values.iter().rev().map(|value| value * scale).collect();
        match (modes(&values), modes(&other)) {
            (Some(a), Some(b)) => {
                prop_assert!((a.ratio - b.ratio).abs() < 1e-9 && (a.split * scale / b.split - 1.0).abs() < 1e-9);
                prop_assert!(a.ratio < 1.0 && a.low_share > 0.0 && a.low_share < 1.0);
            }
            (None, None) => {}
            other => prop_assert!(false, "{other:?}"),
        }
    }
}

/// Protects the promise of E4: with few runs a plot, centring alone makes gaps (2 to 5 % false
/// alarms by the tables alone).
#[test]
fn plots_of_few_runs_make_no_modes_by_being_centred() {
    let mut random = SplitMix::new(43);
    for (plots, runs) in [(8, 2), (6, 3), (6, 4), (12, 2), (10, 3), (4, 5)] {
        let (mut by_tables, mut alarms) = (0, 0);
        for _ in 0..SCENES {
            let sides: Vec<Vec<f64>> =
                (0..plots).map(|_| (0..runs).map(|_| (0.03 * random.normal()).exp()).collect()).collect();
            let sides: Vec<&[f64]> = sides.iter().map(Vec::as_slice).collect();
            by_tables += u32::from(modes(&centred(&sides).unwrap()).is_some_and(|found| found.p < 0.01));
            alarms += u32::from(modes_of_sides(&sides, 0.01).unwrap().is_some());
        }
        println!("{plots} plots of {runs}: {by_tables} alarms by the tables, {alarms} of {SCENES}");
        // 1 % of 400 is 4, and 13 of them would have a chance of one in 3000.
        assert!(alarms <= 12, "{plots} plots of {runs}: {alarms} of {SCENES}");
    }
}

const SCENES: usize = 400;

/// Protects: a slow mode is still found if plots have few runs.
#[test]
fn a_slow_mode_is_found_in_small_plots() {
    let mut random = SplitMix::new(7);
    for (plots, runs, least) in [(6, 4, 25), (8, 3, 10), (4, 6, 25), (4, 12, 70)] {
        let mut found = 0;
        for _ in 0..100 {
            let sides: Vec<Vec<f64>> = (0..plots)
                .map(|_| {
                    (0..runs)
                        .map(|_| (0.02 * random.normal()).exp() * if random.unit() < 0.2 { 0.75 } else { 1.0 })
                        .collect()
                })
                .collect();
            let sides: Vec<&[f64]> = sides.iter().map(Vec::as_slice).collect();
            found += u32::from(modes_of_sides(&sides, 0.01).unwrap().is_some());
        }
        println!("{plots} plots of {runs}: found in {found} of 100");
        assert!(found >= least, "{plots} plots of {runs}: {found}");
    }
}
