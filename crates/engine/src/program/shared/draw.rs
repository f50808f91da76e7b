//! Draws the numbers that steps use.

use crate::math::{exp, ln, normal};
use crate::rng::Rng;
use crate::tree::gamma;
use plumb_workload::program::{Amount, Draw, TableRow, Variable};

/// A number that a step uses, ready to draw.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Drawn {
    Fixed(u64),
    Variable(Box<DrawnVariable>),
}

/// A variable with the sums of its table's weights.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DrawnVariable {
    variable: Variable,
    /// For a table: cumulative weights of its rows, as shares of the total.
    below: Vec<f64>,
}

impl Drawn {
    pub(super) fn from_amount(amount: &Amount) -> Drawn {
        match amount {
            Amount::Fixed(number) => Drawn::Fixed(*number),
            Amount::Drawn(variable) => {
                let below = match &variable.draw {
                    Draw::Table(rows) => sums(rows),
                    _ => Vec::new(),
                };
                Drawn::Variable(Box::new(DrawnVariable { variable: Variable::clone(variable), below }))
            }
        }
    }

    /// Returns the number if it is constant.
    pub(super) fn fixed(&self) -> Option<u64> {
        match self {
            Drawn::Fixed(number) => Some(*number),
            Drawn::Variable(_) => None,
        }
    }

    /// Draws the next number, rounded down.
    #[inline(always)]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Drawn::Fixed(number) => *number,
            Drawn::Variable(drawn) => drawn.draw(rng),
        }
    }

    /// Like [`Drawn::draw`], limited to the size of a buffer.
    #[inline(always)]
    pub(super) fn bytes(&self, rng: &mut Rng, most: u64) -> u64 {
        self.draw(rng).min(most)
    }
}

fn sums(rows: &[TableRow]) -> Vec<f64> {
    let total: f64 = rows.iter().map(|row| row.weight).sum();
    let mut sum = 0.0;
    let below = rows.iter().map(|row| {
        sum += row.weight;
        sum / total
    });
    below.collect()
}

impl DrawnVariable {
    fn draw(&self, rng: &mut Rng) -> u64 {
        let variable = &self.variable;
        let drawn = match &variable.draw {
            Draw::Uniform => rng.unit(),
            Draw::Gamma { shape } => gamma(*shape, rng),
            Draw::Normal => normal(rng),
            Draw::LogNormal { mean, deviation } => exp(mean + deviation * normal(rng)),
            Draw::Triangular { mode } => triangular(*mode, rng.unit()),
            // The inverse of its distribution function; 1 - unit() is above 0.
            Draw::Weibull { shape } => exp(ln(-ln(1.0 - rng.unit())) / shape),
            Draw::Table(rows) => {
                let point = rng.unit();
                let row = self.below.iter().position(|below| point < *below).unwrap_or(rows.len().saturating_sub(1));
                rows.get(row).map_or(0.0, |row| row.low + rng.unit() * (row.high - row.low))
            }
        };
        let mut number = variable.plus + variable.times * drawn;
        if let Some(step) = variable.round {
            number = (number / step as f64).round() * step as f64;
        }
        // The conversion to an integer saturates, and turns NaN into 0.
        number.max(variable.min).min(variable.max.unwrap_or(f64::MAX)) as u64
    }
}

/// Returns the inverse of the triangular distribution function on 0 to 1.
fn triangular(mode: f64, unit: f64) -> f64 {
    if unit < mode { (unit * mode).sqrt() } else { 1.0 - ((1.0 - unit) * (1.0 - mode)).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_of(variable: Variable) -> f64 {
        let drawn = Drawn::from_amount(&Amount::Drawn(Box::new(variable)));
        let mut rng = Rng::new(7);
        (0..100_000).map(|_| drawn.draw(&mut rng) as f64).sum::<f64>() / 100_000.0
    }

    fn scaled(draw: Draw, times: f64, plus: f64) -> Variable {
        Variable { times, plus, ..Variable::from_draw(draw) }
    }

    /// Protects: every distribution has the mean of its formula, which is also the
    /// mean that validation and reports use.
    #[test]
    fn distributions_have_their_means() {
        let table = vec![
            TableRow { weight: 80.0, low: 1000.0, high: 3000.0 },
            TableRow { weight: 20.0, low: 10_000.0, high: 20_000.0 },
        ];
        for (variable, mean) in [
            (scaled(Draw::Uniform, 2000.0, 1000.0), 2000.0),
            (scaled(Draw::Gamma { shape: 1.5 }, 16384.0 / 1.5, 0.0), 16384.0),
            (scaled(Draw::Gamma { shape: 0.1 }, 10_000.0, 0.0), 1000.0),
            (scaled(Draw::Normal, 100.0, 10_000.0), 10_000.0),
            (scaled(Draw::LogNormal { mean: 0.0, deviation: 0.5 }, 10_000.0, 0.0), 11_331.5),
            (scaled(Draw::Triangular { mode: 0.25 }, 12_000.0, 0.0), 5000.0),
            (scaled(Draw::Weibull { shape: 1.0 }, 5000.0, 0.0), 5000.0),
            (Variable::from_draw(Draw::Table(table)), 4600.0),
        ] {
            let reckoned = Amount::Drawn(Box::new(variable.clone())).mean();
            assert!(reckoned.is_none_or(|reckoned| (reckoned / mean - 1.0).abs() < 1e-4), "{variable:?} {reckoned:?}");
            let found = mean_of(variable.clone());
            assert!((found / mean - 1.0).abs() < 0.03, "{variable:?}: mean {found}");
        }
    }

    /// Protects: rounded numbers are multiples, and limited numbers stay within their limits.
    #[test]
    fn rounding_and_limits_hold() {
        let variable =
            Variable { round: Some(1024), min: 4096.0, max: Some(65536.0), ..scaled(Draw::Normal, 100_000.0, 8192.0) };
        let drawn = Drawn::from_amount(&Amount::Drawn(Box::new(variable)));
        let mut rng = Rng::new(1);
        let numbers: Vec<u64> = (0..1000).map(|_| drawn.draw(&mut rng)).collect();
        assert!(numbers.iter().all(|number| number % 1024 == 0 && (4096..=65536).contains(number)), "{numbers:?}");
        assert!(numbers.contains(&4096) && numbers.contains(&65536));
        let below_nothing = Variable::from_draw(Draw::Normal);
        assert!(mean_of(below_nothing) < 1.0, "negative values become 0");
    }
}
