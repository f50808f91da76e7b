//! Tests whether runs depend on the run before them.
//!
//! The logarithm of each value is regressed on its side, on the side of the run before, and on time. An F test asks
//! whether the side before explains more than chance. In orders that are balanced for carry-over ([`crate::orders`]),
//! neither of the two sides hides the effect of the other. Source of the model: Williams 1949; Jones and Kenward,
//! "Design and Analysis of Cross-Over Trials".

use crate::StatsError;
use crate::estimate::f_above;

/// With fewer residual degrees of freedom, nothing is tested.
const FREEDOM_MIN: usize = 4;

/// A column whose remaining length falls below this share is a sum of the columns before it.
const DEPENDENT: f64 = 1e-9;

/// One run with its predecessor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CarryRun {
    /// Number of its side, or of its plot, from 0.
    pub own: usize,
    /// Number of the side that ran before it, from 0. Leave out runs without a predecessor.
    pub previous: usize,
    /// Position in time, in runs.
    pub at: f64,
    /// Must be above 0.
    pub value: f64,
}

/// The effect of the run before.
#[derive(Debug, Clone, PartialEq)]
pub struct CarryOver {
    /// Probability of an effect this large if nothing is carried over.
    pub p: f64,
    /// Value after a run of each `previous` over the value after a run of the first of them, so
    /// the first factor is 1.
    pub factors: Vec<f64>,
    /// Number of runs in the test.
    pub runs: usize,
}

impl CarryOver {
    /// Returns the largest factor between the values after two different predecessors; at least 1.
    pub fn spread(&self) -> f64 {
        let largest = self.factors.iter().copied().fold(f64::MIN, f64::max);
        let smallest = self.factors.iter().copied().fold(f64::MAX, f64::min);
        largest / smallest
    }
}

/// Tests for carry-over. Returns `None` with too few runs, or if the effect of the run before cannot be separated
/// from that of the run itself.
///
/// # Errors
/// A value is not positive, or a position in time is not finite.
pub fn carry_over(runs: &[CarryRun]) -> Result<Option<CarryOver>, StatsError> {
    for (index, run) in runs.iter().enumerate() {
        if !(run.value > 0.0 && run.value.is_finite()) {
            return Err(StatsError::NotPositive { index, value: run.value });
        }
        if !run.at.is_finite() {
            return Err(StatsError::NotFinite { index, value: run.at });
        }
    }
    let count = |level: &dyn Fn(&CarryRun) -> usize| runs.iter().map(|run| level(run) + 1).max().unwrap_or(0);
    let (owns, previous) = (count(&|run| run.own), count(&|run| run.previous));
    let indicator = |is: &dyn Fn(&CarryRun) -> bool| -> Vec<f64> {
        runs.iter().map(|run| if is(run) { 1.0 } else { 0.0 }).collect()
    };
    let mut fit = Fit::new(runs.iter().map(|run| run.value.ln()).collect());
    for own in 0..owns {
        fit.add(indicator(&|run| run.own == own));
    }
    fit.add(runs.iter().map(|run| run.at).collect());
    let (without, columns_without) = (fit.residual_squares(), fit.columns());
    let coefficients: Vec<Option<usize>> =
        (1..previous).map(|level| fit.add(indicator(&|run| run.previous == level))).collect();
    let (with, columns) = (fit.residual_squares(), fit.columns());
    let explained = columns - columns_without;
    let Some(freedom) = runs.len().checked_sub(columns).filter(|&freedom| freedom >= FREEDOM_MIN) else {
        return Ok(None);
    };
    if explained == 0 || coefficients.contains(&None) {
        return Ok(None);
    }
    // A residual of the size of rounding errors: the model explains all values.
    let rounding = 1e-20 * fit.squares.max(1.0) * runs.len() as f64;
    let p = match (with > rounding, without - with > rounding) {
        (true, _) => {
            let (explained, freedom) = (explained as f64, freedom as f64);
            f_above((without - with).max(0.0) / explained, with / freedom, explained, freedom)
        }
        (false, true) => 0.0,
        (false, false) => 1.0,
    };
    let solved = fit.solve();
    let factor = |column: &Option<usize>| column.map_or(1.0, |column| solved[column].exp());
    let factors = std::iter::once(1.0).chain(coefficients.iter().map(factor)).collect();
    Ok(Some(CarryOver { p, factors, runs: runs.len() }))
}

/// Least squares, one column at a time: modified Gram-Schmidt, with each column orthogonalized twice.
struct Fit {
    /// Orthogonal columns of length 1.
    basis: Vec<Vec<f64>>,
    /// Coefficients of each column on the columns of the basis up to its own.
    made_of: Vec<Vec<f64>>,
    residual: Vec<f64>,
    /// Coefficients of the values on the basis.
    projections: Vec<f64>,
    /// Sum of squares of the values.
    squares: f64,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn subtract(from: &mut [f64], factor: f64, what: &[f64]) {
    for (from, what) in from.iter_mut().zip(what) {
        *from -= factor * what;
    }
}

impl Fit {
    fn new(values: Vec<f64>) -> Fit {
        let squares = dot(&values, &values);
        Fit { basis: Vec::new(), made_of: Vec::new(), residual: values, projections: Vec::new(), squares }
    }

    /// Adds a column and returns its number; `None` if it depends on the columns before it.
    fn add(&mut self, mut column: Vec<f64>) -> Option<usize> {
        let length = dot(&column, &column).sqrt();
        let mut made_of = vec![0.0; self.basis.len()];
        for _ in 0..2 {
            for (known, part) in self.basis.iter().zip(&mut made_of) {
                let factor = dot(&column, known);
                subtract(&mut column, factor, known);
                *part += factor;
            }
        }
        let left = dot(&column, &column).sqrt();
        if left <= DEPENDENT * length {
            return None;
        }
        column.iter_mut().for_each(|value| *value /= left);
        made_of.push(left);
        let projection = dot(&self.residual, &column);
        subtract(&mut self.residual, projection, &column);
        self.basis.push(column);
        self.made_of.push(made_of);
        self.projections.push(projection);
        Some(self.basis.len() - 1)
    }

    fn columns(&self) -> usize {
        self.basis.len()
    }

    fn residual_squares(&self) -> f64 {
        dot(&self.residual, &self.residual)
    }

    /// Returns the coefficients of the added columns.
    fn solve(&self) -> Vec<f64> {
        let mut solved = vec![0.0; self.basis.len()];
        for row in (0..self.basis.len()).rev() {
            let later: f64 = (row + 1..self.basis.len()).map(|column| self.made_of[column][row] * solved[column]).sum();
            solved[row] = (self.projections[row] - later) / self.made_of[row][row];
        }
        solved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orders::{balanced_orders, orders_in_complete_block};
    use crate::random::SplitMix;
    use proptest::prelude::*;

    /// Makes runs in balanced orders: level `1` is `ratio` times the others, and leaves a debt that each run halves.
    fn runs(seed: u64, levels: usize, orders: usize, spread: f64, ratio: f64, carry: f64, drift: f64) -> Vec<CarryRun> {
        let mut noise = SplitMix::new(seed.wrapping_mul(77));
        let order = balanced_orders(seed, levels, orders).concat();
        let mut debt = 0.0;
        let mut runs = Vec::new();
        for (at, &own) in order.iter().enumerate() {
            let level = if own == 1 { ratio } else { 1.0 };
            let log = spread * noise.normal() - drift * at as f64;
            let value = 1000.0 * level * log.exp() / (1.0 + debt);
            debt = debt / 2.0 + if own == 1 { carry } else { 0.0 };
            if at > 0 {
                runs.push(CarryRun { own, previous: order[at - 1], at: at as f64, value });
            }
        }
        runs
    }

    fn flagged(draws: u64, mut runs: impl FnMut(u64) -> Vec<CarryRun>) -> f64 {
        let is_flagged = |seed: &u64| carry_over(&runs(*seed)).unwrap().is_some_and(|found| found.p < 0.01);
        (0..draws).filter(is_flagged).count() as f64 / draws as f64
    }

    #[test]
    fn clean_runs_are_flagged_as_rarely_as_promised_for_any_difference_of_sides() {
        for (ratio, drift) in [(1.0, 0.0), (1.3, 0.0), (1.0, 0.005)] {
            let share = flagged(2000, |seed| runs(seed, 2, 12, 0.02, ratio, 0.0, drift));
            assert!((0.004..=0.017).contains(&share), "{share} at a ratio of {ratio}, drift {drift}");
        }
        let share = flagged(1000, |seed| runs(seed, 4, 8, 0.02, 1.0, 0.0, 0.0));
        assert!(share <= 0.02, "{share} of four levels");
    }

    #[test]
    fn debts_are_flagged() {
        let of = |carry: f64, orders: usize| flagged(600, |seed| runs(seed, 2, orders, 0.02, 1.0, carry, 0.0));
        let shares = [of(0.10, 12), of(0.10, 8), of(0.05, 12)];
        assert!(shares[0] > 0.99 && shares[1] > 0.97 && shares[2] > 0.85, "{shares:?}");
    }

    #[test]
    fn the_factor_belongs_to_the_run_before() {
        let found = carry_over(&runs(1, 2, 40, 1e-4, 1.2, 0.0, 0.001)).unwrap().unwrap();
        assert!((found.factors[1] - 1.0).abs() < 1e-3, "{found:?}");
        // A debt that only the next run pays.
        let mut paid = runs(1, 2, 40, 1e-4, 1.2, 0.0, 0.001);
        paid.iter_mut().filter(|run| run.previous == 1).for_each(|run| run.value /= 1.1);
        let found = carry_over(&paid).unwrap().unwrap();
        assert!((found.factors[1] - 1.0 / 1.1).abs() < 1e-3 && found.p < 1e-6, "{found:?}");
        assert!((found.spread() - 1.1).abs() < 1e-3);
    }

    #[test]
    fn inseparable_effects_are_not_tested() {
        let alternating: Vec<CarryRun> = (1..24)
            .map(|at| CarryRun { own: at % 2, previous: (at + 1) % 2, at: at as f64, value: 100.0 + (at % 5) as f64 })
            .collect();
        assert_eq!(carry_over(&alternating).unwrap(), None, "A always follows B");
        assert_eq!(carry_over(&runs(1, 2, 3, 0.02, 1.0, 0.1, 0.0)).unwrap(), None, "five runs");
        assert_eq!(carry_over(&[]).unwrap(), None);
        let zero = CarryRun { own: 0, previous: 0, at: 0.0, value: 0.0 };
        assert!(carry_over(&[zero]).is_err());
        assert!(carry_over(&[CarryRun { value: 1.0, at: f64::NAN, ..zero }]).is_err());
    }

    #[test]
    fn values_without_any_spread_carry_nothing_over() {
        let same: Vec<CarryRun> =
            runs(1, 2, 8, 0.0, 1.5, 0.0, 0.0).into_iter().map(|run| CarryRun { value: 7.5, ..run }).collect();
        assert_eq!(carry_over(&same).unwrap().unwrap().p, 1.0);
    }

    proptest! {
        /// The test does not depend on units, on the names of sides, or on the start of time.
        #[test]
        fn nothing_depends_on_units_or_names(seed: u64, orders in 4..14usize, carry in 0.0..0.3f64, scale in 1e-6..1e6f64) {
            let plain = runs(seed, 2, orders, 0.02, 1.1, carry, 0.0);
            let other: Vec<CarryRun> = plain
                .iter()
                .map(|run| CarryRun { own: 1 - run.own, previous: 1 - run.previous, at: run.at + 100.0, value: run.value * scale })
                .collect();
            if let (Some(a), Some(b)) = (carry_over(&plain).unwrap(), carry_over(&other).unwrap()) {
                prop_assert!((a.p - b.p).abs() < 1e-6, "{} {}", a.p, b.p);
                prop_assert!((a.factors[1] * b.factors[1] - 1.0).abs() < 1e-6);
            }
        }

        #[test]
        fn any_values_give_a_chance(values in prop::collection::vec(1e-300..1e300f64, 0..40), levels in 1..5usize, seed: u64) {
            let order = balanced_orders(seed, levels, orders_in_complete_block(levels) * 5).concat();
            let runs: Vec<CarryRun> = values
                .iter()
                .zip(order.windows(2))
                .zip(0..)
                .map(|((&value, pair), at)| CarryRun { own: pair[1], previous: pair[0], at: f64::from(at), value })
                .collect();
            if let Some(found) = carry_over(&runs).unwrap() {
                prop_assert!((0.0..=1.0).contains(&found.p), "{:?}", found);
                prop_assert!(found.factors.len() <= levels && found.spread() >= 1.0);
            }
        }
    }
}
