//! Statistics of results, as both tools print them.

use plumb_result::histogram::Histogram;

/// By what a sum of squares is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Divisor {
    /// By the count: IOR's deviation.
    Count,
    /// By one less: mdtest's, which is that of a sample.
    CountLessOne,
}

/// Max, min, mean and standard deviation of results; 0 of none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The largest.
    pub max: f64,
    /// The smallest.
    pub min: f64,
    /// Their mean.
    pub mean: f64,
    /// Their deviation; of a single one it is 0.
    pub deviation: f64,
}

impl Spread {
    /// Of these results, none of them negative.
    pub fn of(values: &[f64], divisor: Divisor) -> Spread {
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

/// Median, 90, 99 and 99.9 per cent, and the maximum, ms; 0 of nothing.
pub fn percentiles_ms(latency: &Histogram) -> [f64; 5] {
    let at = |quantile: f64| latency.quantile(quantile);
    let ns = [at(0.5), at(0.9), at(0.99), at(0.999), latency.max()];
    ns.map(|ns| ns.unwrap_or(0) as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects what both tables print: each tool divides in its own way, and no result is no division by 0.
    #[test]
    fn deviations_are_those_of_the_tools() {
        assert_eq!(Spread::of(&[1.0, 3.0], Divisor::Count).deviation, 1.0);
        assert_eq!(Spread::of(&[1.0, 3.0], Divisor::CountLessOne).deviation, 2f64.sqrt());
        for divisor in [Divisor::Count, Divisor::CountLessOne] {
            let none = Spread { max: 0.0, min: 0.0, mean: 0.0, deviation: 0.0 };
            assert_eq!(Spread::of(&[], divisor), none);
            assert_eq!(Spread::of(&[5.0], divisor), Spread { max: 5.0, min: 5.0, mean: 5.0, ..none });
        }
    }
}
