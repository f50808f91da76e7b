//! Statistics of results, as the tools print them.

use plumb_result::histogram::Histogram;

/// Divisor of the sum of squares in a standard deviation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Divisor {
    /// The count: IOR's deviation.
    Count,
    /// The count less one: mdtest's deviation, which is that of a sample.
    CountLessOne,
}

/// Maximum, minimum, mean and standard deviation of results; 0 without results.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub max: f64,
    pub min: f64,
    pub mean: f64,
    /// Standard deviation; 0 for a single result.
    pub deviation: f64,
}

impl Spread {
    /// Computes the statistics of results, none of them negative.
    pub fn from_values(values: &[f64], divisor: Divisor) -> Spread {
        let count = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let divisor = if divisor == Divisor::Count { count } else { (count - 1.0).max(1.0) };
        Spread {
            max: values.iter().copied().fold(0.0, f64::max),
            min: values.iter().copied().reduce(f64::min).unwrap_or(0.0),
            mean,
            deviation: (squares / divisor).sqrt(),
        }
    }
}

/// Returns the median, the percentiles 90, 99 and 99.9, and the maximum, ms; 0 without latencies.
pub fn percentiles_ms(latency: &Histogram) -> [f64; 5] {
    let at = |quantile: f64| latency.quantile(quantile);
    let ns = [at(0.5), at(0.9), at(0.99), at(0.999), latency.max()];
    ns.map(|ns| ns.unwrap_or(0) as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects the tables of both tools: each has its own divisor, and an empty list does not divide by 0.
    #[test]
    fn deviations_equal_those_of_the_tools() {
        assert_eq!(Spread::from_values(&[1.0, 3.0], Divisor::Count).deviation, 1.0);
        assert_eq!(Spread::from_values(&[1.0, 3.0], Divisor::CountLessOne).deviation, 2f64.sqrt());
        for divisor in [Divisor::Count, Divisor::CountLessOne] {
            let none = Spread { max: 0.0, min: 0.0, mean: 0.0, deviation: 0.0 };
            assert_eq!(Spread::from_values(&[], divisor), none);
            assert_eq!(Spread::from_values(&[5.0], divisor), Spread { max: 5.0, min: 5.0, mean: 5.0, ..none });
        }
    }
}
