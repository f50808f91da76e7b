//! Numbers that a step uses: fixed ones, and ones that are drawn at each use.

use serde::{Deserialize, Serialize};

/// A number that a step uses: bytes, ops, seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Amount"))]
pub enum Amount {
    /// Always the same.
    Fixed(u64),
    /// Drawn at each use.
    Drawn(Box<Variable>),
}

plumb_document::short_form!(Amount, "fixed");

impl Amount {
    /// The number, where it is always the same.
    pub fn fixed(&self) -> Option<u64> {
        match self {
            Amount::Fixed(number) => Some(*number),
            Amount::Drawn(_) => None,
        }
    }

    /// Whether it is always this number.
    pub fn is(&self, number: u64) -> bool {
        self.fixed() == Some(number)
    }

    /// The mean, where a fixed number or the distribution has one in closed form; limits are left out of account.
    pub fn mean(&self) -> Option<f64> {
        match self {
            Amount::Fixed(number) => Some(*number as f64),
            Amount::Drawn(variable) => variable.draw.mean().map(|mean| variable.plus + variable.times * mean),
        }
    }
}

/// Buffers for numbers of bytes that are drawn without a limit hold at least this many.
const DRAWN_REQUEST_BYTES: u64 = 16 << 20;

/// And at least this many times their mean: of a gamma variable of shape 1.5, one in 10^9 is larger.
const DRAWN_REQUEST_MEANS: f64 = 16.0;

impl Amount {
    /// The most bytes that a call moves: what is drawn above it is cut to it. The number itself where it is fixed, and the
    /// largest that can be drawn where that has a limit; else 16 MiB, or 16 times the mean where that is more.
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

/// A random number: `plus + times × draw`, rounded, and kept within limits. Whoever uses it takes the whole part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Variable {
    /// Where it is drawn from.
    pub draw: Draw,
    /// What a draw is multiplied by.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub times: f64,
    /// What is added then.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub plus: f64,
    /// To the nearest multiple of this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u64>,
    /// No smaller than this.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub min: f64,
    /// No larger than this.
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
    /// A draw as it is.
    pub fn of(draw: Draw) -> Variable {
        Variable { draw, times: 1.0, plus: 0.0, round: None, min: 0.0, max: None }
    }

    /// The largest number that can be drawn, where there is a limit.
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
            // To the nearest multiple: at most the next one.
            self.round.map_or(largest, |round| (largest / round as f64).round() * round as f64).max(self.min)
        });
        match (drawn, self.max) {
            (Some(drawn), Some(max)) => Some(drawn.min(max)),
            (drawn, max) => drawn.or(max),
        }
    }
}

/// A distribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Draw {
    /// Uniform from 0 to 1.
    Uniform,
    /// Gamma of scale 1: a sum of this many exponential variables of mean 1.
    Gamma {
        /// Shape, above 0.
        shape: f64,
    },
    /// Normal with mean 0 and standard deviation 1.
    Normal,
    /// The exponential of a normal variable.
    LogNormal {
        /// Its mean.
        mean: f64,
        /// Its standard deviation.
        deviation: f64,
    },
    /// Triangular from 0 to 1.
    Triangular {
        /// The most frequent value, 0 to 1.
        mode: f64,
    },
    /// Weibull of scale 1.
    Weibull {
        /// Shape, above 0.
        shape: f64,
    },
    /// A row by weight, and uniform within it.
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
            // It needs the gamma function.
            Draw::Weibull { .. } => None,
            Draw::Table(rows) => {
                let total: f64 = rows.iter().map(|row| row.weight).sum();
                let sum: f64 = rows.iter().map(|row| row.weight * f64::midpoint(row.low, row.high)).sum();
                (total > 0.0).then(|| sum / total)
            }
        }
    }
}

/// A row of a table of [`Draw::Table`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TableRow {
    /// Relative to the other rows.
    pub weight: f64,
    /// The smallest value.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing that a limit allows is cut, and where there is none, next to nothing.
    #[test]
    fn requests_are_as_large_as_what_is_drawn() {
        let drawn = |variable| Amount::Drawn(Box::new(variable)).largest_request();
        let mib = f64::from(1 << 20);
        let gamma = Variable { times: 64.0 * mib / 1.5, ..Variable::of(Draw::Gamma { shape: 1.5 }) };
        let table = Draw::Table(vec![TableRow { weight: 1.0, low: 1.0, high: 20.0 * mib }]);
        for (variable, bytes) in [
            (Variable { times: 100.0 * mib, plus: 1.0, ..Variable::of(Draw::Uniform) }, (100 << 20) + 1),
            (Variable { times: -8.0, plus: 8.0, ..Variable::of(Draw::Uniform) }, 8),
            (Variable { round: Some(1 << 20), ..Variable::of(table) }, 20 << 20),
            (Variable { max: Some(5000.0), ..gamma.clone() }, 5000),
            (gamma, 1 << 30),
            (Variable { times: 100.0, ..Variable::of(Draw::Weibull { shape: 2.0 }) }, 16 << 20),
        ] {
            assert_eq!(drawn(variable.clone()), bytes, "{variable:?}");
        }
        assert_eq!(Amount::Fixed(7).largest_request(), 7);
    }
}
