use super::*;
use crate::random::SplitMix;

/// Generates pairs of runs whose logarithms differ by `log` on average and have this spread each.
fn blocks(stream: &mut SplitMix, count: u32, log: f64, spread: f64) -> [Vec<f64>; 2] {
    let mut side = |log: f64| (0..count).map(|_| (log + spread * stream.normal()).exp()).collect::<Vec<f64>>();
    [side(0.0), side(log)]
}

fn evidence([baseline, candidate]: &[Vec<f64>; 2], better: Better) -> GateEvidence {
    GateEvidence::from_sides(Sides::Blocks { baseline, candidate }, better, 1).unwrap()
}

fn verdict(sides: &[Vec<f64>; 2], better: Better) -> GateAssessment {
    assess(&[evidence(sides, better)], 1, &GateRule::default()).unwrap()[0]
}

#[test]
fn the_metric_decides_the_direction() {
    let mut stream = SplitMix::new(3);
    let slower = blocks(&mut stream, 8, -0.15, 0.02);
    assert_eq!(verdict(&slower, Better::Higher).verdict, GateVerdict::Regression);
    assert_eq!(verdict(&slower, Better::Lower).verdict, GateVerdict::Pass, "a shorter time is not a regression");
    let longer = blocks(&mut stream, 8, 0.15, 0.02);
    assert_eq!(verdict(&longer, Better::Lower).verdict, GateVerdict::Regression);
}

// Protects: a small but certain regression does not stop a pipeline with a tolerance of 5 %, and is reported.
#[test]
fn worse_within_the_margin_passes_with_a_note() {
    let found = verdict(&blocks(&mut SplitMix::new(5), 20, -0.01, 0.002), Better::Higher);
    assert_eq!((found.verdict, found.note), (GateVerdict::Pass, GateNote::WorseWithinMargin));
}

#[test]
fn few_blocks_and_wide_intervals_decide_nothing() {
    let few = verdict(&blocks(&mut SplitMix::new(1), 5, -0.5, 0.01), Better::Higher);
    assert_eq!((few.verdict, few.note), (GateVerdict::CannotTell, GateNote::TooFew));
    let wide = verdict(&blocks(&mut SplitMix::new(2), 6, 0.0, 0.3), Better::Higher);
    assert_eq!((wide.verdict, wide.note), (GateVerdict::CannotTell, GateNote::TooWide));
}

#[test]
fn runs_without_any_spread_are_exact() {
    let same = verdict(&[vec![100.0; 6], vec![100.0; 6]], Better::Higher);
    assert_eq!((same.verdict, same.note), (GateVerdict::Pass, GateNote::None));
    let less = verdict(&[vec![100.0; 6], vec![90.0; 6]], Better::Higher);
    assert_eq!(less.verdict, GateVerdict::Regression);
}

#[test]
fn the_interval_agrees_with_the_answer() {
    let mut stream = SplitMix::new(7);
    for trial in 0..300 {
        let log = f64::from(trial % 30) / -200.0;
        let found = verdict(&blocks(&mut stream, 10, log, 0.03), Better::Higher);
        let ratio = found.ratio.unwrap();
        match found.verdict {
            GateVerdict::Pass => assert!(ratio.lo > 1.0 / 1.05, "{found:?}"),
            GateVerdict::Regression => assert!(ratio.hi < 1.0 && ratio.lo <= 1.0 / 1.05, "{found:?}"),
            GateVerdict::Suspected | GateVerdict::CannotTell => assert!(ratio.lo <= 1.0 / 1.05, "{found:?}"),
        }
    }
}

#[test]
fn many_numbers_share_the_level() {
    let mut stream = SplitMix::new(11);
    // p near 0.02: alone it is below the level of 0.03, among twenty it is not.
    let slightly = loop {
        let sides = blocks(&mut stream, 12, -0.03, 0.03);
        let p = evidence(&sides, Better::Higher).p_worse().unwrap();
        if (0.015..0.025).contains(&p) && verdict(&sides, Better::Higher).verdict == GateVerdict::Regression {
            break evidence(&sides, Better::Higher);
        }
    };
    let equal = evidence(&blocks(&mut stream, 12, 0.0, 0.001), Better::Higher);
    let many: Vec<GateEvidence> = std::iter::once(slightly).chain([equal; 19]).collect();
    let found = assess(&many, 1, &GateRule::default()).unwrap();
    assert_eq!((found[0].verdict, found[0].note), (GateVerdict::CannotTell, GateNote::ChanceAmongMany));
}

// Protects: if runs of one side fail their checks, the remaining ones are a biased selection, and do
// not count as a pass.
#[test]
fn rejections_of_one_side_are_distinguished_from_those_of_both() {
    // R: binom.test(5, 5)$p.value is 0.0625, binom.test(6, 6)$p.value 0.03125, binom.test(9, 10)$p.value 0.0215.
    for (rejected, one_sided) in [([0, 0], false), ([0, 5], false), ([0, 6], true), ([9, 1], true), ([20, 24], false)] {
        assert_eq!(is_one_sided(rejected), one_sided, "{rejected:?}");
    }
}

// Protects: gates that share the error rate are one family.
#[test]
fn gates_side_by_side_share_the_level() {
    let mut stream = SplitMix::new(11);
    let sides = loop {
        let sides = blocks(&mut stream, 12, -0.03, 0.03);
        if verdict(&sides, Better::Higher).verdict == GateVerdict::Regression {
            break sides;
        }
    };
    let alone = evidence(&sides, Better::Higher);
    let of = |gates: u32| assess(&[alone], 1, &GateRule { gates, ..GateRule::default() }).unwrap()[0];
    assert_eq!(of(1).verdict, GateVerdict::Regression);
    assert_eq!((of(1000).verdict, of(1000).note), (GateVerdict::CannotTell, GateNote::ChanceAmongMany));
}

#[test]
fn a_rule_out_of_range_is_an_error() {
    for rule in [GateRule { margin: 0.0, ..GateRule::default() }, GateRule { alpha: f64::NAN, ..GateRule::default() }] {
        assert!(assess(&[], 1, &rule).is_err());
    }
}

/// Runs a gate of blocks to its end: it looks until it is decided or its blocks are used up.
fn gate(stream: &mut SplitMix, log: f64, spread: f64, most: u32) -> GateAssessment {
    let rule = GateRule::default();
    let looks = Looks::within(rule.blocks_min, most);
    let [mut baseline, mut candidate] = blocks(stream, 0, 0.0, 0.0);
    let mut done = 0;
    loop {
        let next = looks.after(done).expect("a gate ends at its last look");
        let [more_a, more_b] = blocks(stream, next - done, log, spread);
        baseline.extend(more_a);
        candidate.extend(more_b);
        done = next;
        let sides = [std::mem::take(&mut baseline), std::mem::take(&mut candidate)];
        let found = assess(&[evidence(&sides, Better::Higher)], looks.count(), &rule).unwrap()[0];
        [baseline, candidate] = sides;
        if found.verdict != GateVerdict::CannotTell || looks.after(done).is_none() {
            return found;
        }
    }
}

/// Returns the shares of 500 gates that pass and that find a regression.
fn shares(log: f64, spread: f64, most: u32) -> (f64, f64) {
    let mut stream = SplitMix::new((spread * 1e6) as u64 + u64::from(most));
    let all: Vec<GateVerdict> = (0..500).map(|_| gate(&mut stream, log, spread, most).verdict).collect();
    let share = |verdict| all.iter().filter(|one| **one == verdict).count() as f64 / 500.0;
    (share(GateVerdict::Pass), share(GateVerdict::Regression))
}

// Protects the error rates, however long gates go on: at most 5 % of gates find a regression in an unchanged system,
// and at most 5 % pass a system that is worse by the margin.
#[test]
fn looking_again_and_again_keeps_the_error_rates() {
    for spread in [0.01, 0.05, 0.15] {
        for most in [6, 16, 120] {
            let (_, regressions) = shares(0.0, spread, most);
            assert!(regressions <= 0.05, "{spread} {most}: {regressions}");
            let (passes, _) = shares(-(1.05f64.ln()), spread, most);
            assert!(passes <= 0.05, "{spread} {most}: {passes}");
        }
    }
}

#[test]
fn ten_per_cent_are_found_at_three_per_cent_spread() {
    let (passes, regressions) = shares(0.9f64.ln(), 0.03, 30);
    assert!(regressions > 0.95 && passes < 0.01, "{regressions} {passes}");
}

// Protects: after measuring as much longer as advised, a gate decides.
#[test]
fn the_needed_blocks_decide() {
    let mut stream = SplitMix::new(17);
    for (log, spread) in [(0.0, 0.06), (0.0, 0.12), (0.9f64.ln(), 0.12), (0.95f64.ln(), 0.1)] {
        let (mut asked, mut decided) = (0, 0);
        for _ in 0..150 {
            let first = gate(&mut stream, log, spread, 8);
            let Some(blocks) = first.units_needed else { continue };
            asked += 1;
            decided += u32::from(gate(&mut stream, log, spread, blocks).verdict != GateVerdict::CannotTell);
        }
        assert!(asked > 20 && f64::from(decided) >= 0.7 * f64::from(asked), "{log} {spread}: {decided} of {asked}");
    }
}
