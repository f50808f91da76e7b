//! Which of several two-level factors matter, and which only together: the sign table of a 2^k · r design.
//!
//! Source: Jain, "The art of computer systems performance analysis", 1991, chapters 17 and 18.

use crate::StatsError;
use crate::estimate::t_two_sided;
use crate::summary::logs;

/// More factors than this make tables that nobody reads.
pub const FACTORS_MAX: u32 = 10;

/// One main effect or interaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// The factors that it is about: bit i for factor i; one bit is a main effect.
    pub factors: u32,
    /// Effect on the logarithm: half the distance between the cells where the product of signs is positive and those where
    /// it is negative (Jain's q).
    pub effect: f64,
    /// What going from the low to the high level multiplies the value by, for a main effect: e^(2q).
    pub ratio: f64,
    /// Its share of the variation, 0 to 1.
    pub share: f64,
    /// Two-sided p that the effect is 0; `None` with one run a cell, where there is no error to hold it against.
    pub p: Option<f64>,
}

/// Outcome of [`two_level`].
#[derive(Debug, Clone, PartialEq)]
pub struct TwoLevel {
    /// Geometric mean of all values.
    pub mean: f64,
    /// All main effects and interactions, the largest share first.
    pub terms: Vec<Term>,
    /// Share of the variation that runs of one cell show, 0 to 1.
    pub error_share: f64,
    /// Standard error of every effect, on the logarithm; `None` with one run a cell.
    pub effect_error: Option<f64>,
}

/// Effects and shares of variation of a full design of factors with two levels each. `cells[c]` holds the runs of the cell
/// in which factor i is at its high level where bit i of c is set: 2^k cells for k factors, with equal numbers of runs.
/// On logarithms, so that effects multiply.
///
/// Errors: a number of cells that is no power of 2 from 2 on, unequal numbers of runs, a value not above 0.
pub fn two_level(cells: &[Vec<f64>]) -> Result<TwoLevel, StatsError> {
    let count = cells.len();
    if count < 2 || !count.is_power_of_two() || count > 1 << FACTORS_MAX {
        let allowed = "the powers of 2 from 2 to 1024: one cell for each combination of levels";
        return Err(StatsError::Setting { name: "cells", value: count as f64, allowed });
    }
    let logs: Vec<Vec<f64>> = cells.iter().map(|runs| logs(runs)).collect::<Result<_, _>>()?;
    let (least, most) = logs.iter().map(Vec::len).fold((usize::MAX, 0), |(a, b), n| (a.min(n), b.max(n)));
    if least == 0 {
        return Err(StatsError::TooFew { needed: 1, found: 0 });
    }
    if least != most {
        return Err(StatsError::Unbalanced { least, most });
    }
    let runs = least as f64;
    let means: Vec<f64> = logs.iter().map(|cell| cell.iter().sum::<f64>() / runs).collect();
    let effect = |factors: usize| {
        // The sign of a cell: minus for each of these factors that is at its low level.
        let signed = |(cell, mean): (usize, &f64)| {
            if (factors & !cell).count_ones() % 2 == 1 { -mean } else { *mean }
        };
        means.iter().enumerate().map(signed).sum::<f64>() / count as f64
    };
    let error: f64 =
        logs.iter().zip(&means).flat_map(|(cell, mean)| cell.iter().map(move |log| (log - mean).powi(2))).sum();
    let effects: Vec<(usize, f64)> = (1..count).map(|factors| (factors, effect(factors))).collect();
    let explained = |effect: f64| count as f64 * runs * effect * effect;
    let total = error + effects.iter().map(|(_, effect)| explained(*effect)).sum::<f64>();
    let share = |part: f64| if total > 0.0 { part / total } else { 0.0 };
    let freedom = count as f64 * (runs - 1.0);
    let effect_error = (freedom > 0.0).then(|| (error / freedom / (count as f64 * runs)).sqrt());
    let p = |effect: f64| {
        effect_error.map(|error| match (error == 0.0, effect == 0.0) {
            (false, _) => t_two_sided(effect / error, freedom),
            (true, true) => 1.0,
            (true, false) => 0.0,
        })
    };
    let mut terms: Vec<Term> = effects
        .iter()
        .map(|&(factors, effect)| Term {
            factors: factors as u32,
            effect,
            ratio: (2.0 * effect).exp(),
            share: share(explained(effect)),
            p: p(effect),
        })
        .collect();
    terms.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.factors.cmp(&b.factors)));
    Ok(TwoLevel { mean: effect(0).exp(), terms, error_share: share(error), effect_error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found} is not {expected}");
    }

    fn term(table: &TwoLevel, factors: u32) -> Term {
        *table.terms.iter().find(|term| term.factors == factors).unwrap()
    }

    #[test]
    fn the_sign_table_is_that_of_jain() {
        // Jain, example 18.1–18.5: memory (A) and cache (B), three runs; the logarithms here are his values over 10.
        let cells: Vec<Vec<f64>> = [[15.0, 18.0, 12.0], [25.0, 28.0, 19.0], [45.0, 48.0, 51.0], [75.0, 75.0, 81.0]]
            .iter()
            .map(|runs| runs.iter().map(|value: &f64| (value / 10.0).exp()).collect())
            .collect();
        let table = two_level(&cells).unwrap();
        // His A is the factor of the larger effect: 21.5 in his cells is bit 1 here.
        assert_close(table.mean.ln() * 10.0, 41.0);
        for (factors, effect, squares) in [(2, 21.5, 5547.0), (1, 9.5, 1083.0), (3, 5.0, 300.0)] {
            let term = term(&table, factors);
            assert_close(term.effect * 10.0, effect);
            assert_close(term.share, squares / 7032.0);
        }
        assert_close(table.error_share, 102.0 / 7032.0);
        // His standard deviation of effects, 1.03 = √(102 / 8 / 12).
        assert_close(table.effect_error.unwrap() * 10.0, (102.0f64 / 8.0 / 12.0).sqrt());
        assert_eq!(table.terms.iter().map(|term| term.factors).collect::<Vec<_>>(), [2, 1, 3]);
        // 2 * pt(-9.5 / sqrt(102 / 96), 8) in R
        assert_close(term(&table, 1).p.unwrap(), 1.5556600125413703e-05);
    }

    #[test]
    fn an_interaction_is_told_from_main_effects() {
        // Fast only where both factors are high.
        let cells = [vec![100.0, 101.0], vec![100.0, 99.0], vec![101.0, 100.0], vec![400.0, 404.0]];
        let table = two_level(&cells).unwrap();
        assert!(table.terms.iter().all(|term| (0.30..0.36).contains(&term.share)), "{table:?}");
        assert!(table.error_share < 0.001);
    }

    #[test]
    fn one_run_a_cell_has_effects_and_no_p_and_bad_designs_are_refused() {
        let table = two_level(&[vec![100.0], vec![200.0]]).unwrap();
        assert_close(table.terms[0].ratio, 2.0);
        assert_eq!((table.terms[0].p, table.effect_error), (None, None));
        assert!(two_level(&[vec![1.0], vec![1.0], vec![1.0]]).is_err());
        assert!(matches!(two_level(&[vec![1.0, 2.0], vec![1.0]]), Err(StatsError::Unbalanced { least: 1, most: 2 })));
        assert!(two_level(&[vec![], vec![]]).is_err());
        assert_eq!(two_level(&[vec![3.0, 3.0], vec![3.0, 3.0]]).unwrap().terms[0].p, Some(1.0));
    }

    proptest! {
        #[test]
        fn shares_sum_to_1_and_know_no_unit(values in prop::collection::vec(1.0..3.0f64, 16), scale in 1e-3..1e6f64) {
            let cells: Vec<Vec<f64>> = values.chunks(2).map(<[f64]>::to_vec).collect();
            let table = two_level(&cells).unwrap();
            prop_assert!((table.terms.iter().map(|term| term.share).sum::<f64>() + table.error_share - 1.0).abs() < 1e-9);
            let scaled: Vec<Vec<f64>> = cells.iter().map(|cell| cell.iter().map(|value| value * scale).collect()).collect();
            let other = two_level(&scaled).unwrap();
            for term in &table.terms {
                let same = other.terms.iter().find(|same| same.factors == term.factors).unwrap();
                prop_assert!((same.effect - term.effect).abs() < 1e-9);
            }
        }
    }
}
