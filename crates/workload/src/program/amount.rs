//! Numbers that a step uses, either fixed or drawn at each use.

use serde::{Deserialize, Serialize};

/// A number that a step uses: bytes, ops or seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Amount"))]
pub enum Amount {
    /// The same number at every use.
    Fixed(u64),
    /// Drawn again at each use.
    Drawn(Box<Variable>),
}

plumb_document::short_form!(Amount, "fixed");

impl Amount {
    /// Returns the number if it is fixed.
    pub fn fixed(&self) -> Option<u64> {
        match self {
            Amount::Fixed(number) => Some(*number),
            Amount::Drawn(_) => None,
        }
    }

    /// Returns `true` if this is a fixed number equal to `number`.
    pub fn is(&self, number: u64) -> bool {
        self.fixed() == Some(number)
    }

    /// Returns the mean if it has a closed form, ignoring limits.
    pub fn mean(&self) -> Option<f64> {
        match self {
            Amount::Fixed(number) => Some(*number as f64),
            Amount::Drawn(variable) => variable.draw.mean().map(|mean| variable.plus + variable.times * mean),
        }
    }
}

/// Minimum buffer size for byte counts that are drawn without a limit.
const DRAWN_REQUEST_BYTES: u64 = 16 << 20;

/// Minimum buffer size as a multiple of the mean. One in 10^9 gamma draws of shape 1.5 is larger.
const DRAWN_REQUEST_MEANS: f64 = 16.0;

impl Amount {
    /// Returns the maximum number of bytes that a call moves; larger draws are cut to it.
    ///
    /// For a fixed number this is the number, and for a bounded distribution its maximum. Otherwise it is 16 MiB, or 16 times
    /// the mean if that is more.
    pub fn largest_request(&self) -> u64 {
        match self {
            Amount::Fixed(bytes) => *bytes,
            Amount::Drawn(variable) => match (variable.largest(), self.mean()) {
                (Some(largest), _) => largest.ceil() as u64,
                (None, Some(mean)) => DRAWN_REQUEST_BYTES.max((mean * DRAWN_REQUEST_MEANS) as u64),
                (None, None) => DRAWN_REQUEST_BYTES,
            },
        }
    }
}

impl From<u64> for Amount {
    fn from(number: u64) -> Amount {
        Amount::Fixed(number)
    }
}

/// A random number, `plus + times × draw`, rounded and clipped to limits. Users truncate it to an integer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Variable {
    /// Distribution to draw from.
    pub draw: Draw,
    /// Factor that the draw is multiplied by.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub times: f64,
    /// Summand that is added after the multiplication.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub plus: f64,
    /// Round to the nearest multiple of this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u64>,
    /// Smallest value; smaller draws are raised to it.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub min: f64,
    /// Largest value; larger draws are cut to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

fn one() -> f64 {
    1.0
}

fn is_one(number: &f64) -> bool {
    *number == 1.0
}

fn is_nothing(number: &f64) -> bool {
    *number == 0.0
}

impl Variable {
    /// Returns the draw without scaling or limits.
    pub fn from_draw(draw: Draw) -> Variable {
        Variable { draw, times: 1.0, plus: 0.0, round: None, min: 0.0, max: None }
    }

    /// Returns the largest number that can be drawn, if there is a limit.
    pub fn largest(&self) -> Option<f64> {
        let ends = match &self.draw {
            Draw::Uniform | Draw::Triangular { .. } => Some((0.0, 1.0)),
            Draw::Table(rows) => {
                let low = rows.iter().map(|row| row.low).fold(f64::INFINITY, f64::min);
                let high = rows.iter().map(|row| row.high).fold(f64::NEG_INFINITY, f64::max);
                Some((low, high))
            }
            Draw::Gamma { .. } | Draw::Normal | Draw::LogNormal { .. } | Draw::Weibull { .. } => None,
        };
        let drawn = ends.map(|(low, high)| {
            let largest = (self.plus + self.times * low).max(self.plus + self.times * high);
            // Rounding to the nearest multiple can at most reach the next multiple.
            self.round.map_or(largest, |round| (largest / round as f64).round() * round as f64).max(self.min)
        });
        match (drawn, self.max) {
            (Some(drawn), Some(max)) => Some(drawn.min(max)),
            (drawn, max) => drawn.or(max),
        }
    }
}

/// A distribution to draw numbers from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Draw {
    /// Uniform between 0 and 1.
    Uniform,
    /// Gamma with scale 1: the sum of `shape` exponential variables of mean 1.
    Gamma {
        /// Shape parameter, above 0.
        shape: f64,
    },
    /// Normal with mean 0 and standard deviation 1.
    Normal,
    /// Log-normal: the exponential of a normal variable.
    LogNormal {
        /// Mean of the normal variable.
        mean: f64,
        /// Standard deviation of the normal variable.
        deviation: f64,
    },
    /// Triangular between 0 and 1.
    Triangular {
        /// Most frequent value, between 0 and 1.
        mode: f64,
    },
    /// Weibull with scale 1.
    Weibull {
        /// Shape parameter, above 0.
        shape: f64,
    },
    /// A table row chosen by weight, and a uniform value within it.
    Table(Vec<TableRow>),
}

impl Draw {
    fn mean(&self) -> Option<f64> {
        match self {
            Draw::Uniform => Some(0.5),
            Draw::Gamma { shape } => Some(*shape),
            Draw::Normal => Some(0.0),
            Draw::LogNormal { mean, deviation } => Some((mean + deviation * deviation / 2.0).exp()),
            Draw::Triangular { mode } => Some((1.0 + mode) / 3.0),
            // The mean would need the gamma function.
            Draw::Weibull { .. } => None,
            Draw::Table(rows) => {
                let total: f64 = rows.iter().map(|row| row.weight).sum();
                let sum: f64 = rows.iter().map(|row| row.weight * f64::midpoint(row.low, row.high)).sum();
                (total > 0.0).then(|| sum / total)
            }
        }
    }
}

/// A row of [`Draw::Table`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TableRow {
    /// Weight relative to the other rows.
    pub weight: f64,
    /// Smallest value of the row.
    pub low: f64,
    /// Largest value of the row.
    pub high: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the size of buffers: bounded draws are never cut, and unbounded draws almost never.
    #[test]
    fn buffers_fit_the_draws() {
        let drawn = |variable| Amount::Drawn(Box::new(variable)).largest_request();
        let mib = f64::from(1 << 20);
        let gamma = Variable { times: 64.0 * mib / 1.5, ..Variable::from_draw(Draw::Gamma { shape: 1.5 }) };
        let table = Draw::Table(vec![TableRow { weight: 1.0, low: 1.0, high: 20.0 * mib }]);
        for (variable, bytes) in [
            (Variable { times: 100.0 * mib, plus: 1.0, ..Variable::from_draw(Draw::Uniform) }, (100 << 20) + 1),
            (Variable { times: -8.0, plus: 8.0, ..Variable::from_draw(Draw::Uniform) }, 8),
            (Variable { round: Some(1 << 20), ..Variable::from_draw(table) }, 20 << 20),
            (Variable { max: Some(5000.0), ..gamma.clone() }, 5000),
            (gamma, 1 << 30),
            (Variable { times: 100.0, ..Variable::from_draw(Draw::Weibull { shape: 2.0 }) }, 16 << 20),
        ] {
            assert_eq!(drawn(variable.clone()), bytes, "{variable:?}");
        }
        assert_eq!(Amount::Fixed(7).largest_request(), 7);
    }
}
