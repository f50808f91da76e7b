//! Axes: positions of values, ticks at round numbers, and their labels.

use plumb_result::number::{self, Digits};

/// Format in which values are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Bytes per second with decimal prefixes.
    Rate,
    /// Bits per second with decimal prefixes.
    Bits,
    /// Input and output operations per second, as `IOPS`.
    Iops,
    /// Operations per second, as `ops/s`.
    Ops,
    /// Bytes with binary prefixes.
    Bytes,
    /// Durations in ns.
    Time,
    Count,
    /// Ratios, followed by ×.
    Ratio,
    /// Shares, 0–1, as percentages.
    Share,
}

impl Format {
    /// Formats a value with its unit, in three digits.
    pub fn text(self, value: f64) -> String {
        self.set(value, Digits::Three)
    }

    /// Formats a round value with its unit, as an axis shows it.
    fn tick(self, value: f64) -> String {
        match self {
            _ if value == 0.0 => "0".to_owned(),
            Format::Ratio => {
                let text = format!("{value:.3}");
                format!("{}×", text.trim_end_matches('0').trim_end_matches('.'))
            }
            _ => self.set(value, Digits::Spoken),
        }
    }

    fn set(self, value: f64, digits: Digits) -> String {
        match self {
            Format::Rate => number::BYTES_PER_SECOND.set(value, digits),
            Format::Bits => number::BITS_PER_SECOND.set(value, digits),
            Format::Iops => number::IOPS.set(value, digits),
            Format::Ops => number::OPS_PER_SECOND.set(value, digits),
            Format::Bytes => number::BYTES.set(value, digits),
            Format::Time => number::TIME.set(value, digits),
            Format::Count => number::COUNT.set(value, digits),
            Format::Ratio => format!("{}×", number::ratio(value)),
            Format::Share => number::percent(value, digits),
        }
    }

    /// Returns the base whose multiples are ticks.
    const fn base(self) -> f64 {
        match self {
            Format::Bytes => 1024.0,
            _ => 1000.0,
        }
    }
}

/// Distribution of values along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Linear, starting at zero.
    FromZero,
    /// Linear, from the smallest to the largest value.
    Linear,
    Log,
    /// Shares by their number of nines: 90 %, 99 %, 99.9 % at equal distances.
    Nines,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Title of the axis, which names the quantity.
    pub title: String,
    pub format: Format,
    pub scale: Scale,
}

/// An axis between two positions of the drawing.
pub(crate) struct Ruler {
    scale: Scale,
    format: Format,
    lo: f64,
    hi: f64,
    from: f64,
    to: f64,
    ticks: Vec<f64>,
    /// Labels of the ticks if they are names; empty otherwise.
    names: Vec<String>,
}

impl Ruler {
    /// Creates a ruler for names at 0, 1, 2 …, with half a step before the first and after the last.
    pub(crate) fn of_names(names: &[String], from: f64, to: f64) -> Ruler {
        Ruler {
            scale: Scale::Linear,
            format: Format::Count,
            lo: -0.5,
            hi: names.len() as f64 - 0.5,
            from,
            to,
            ticks: (0..names.len()).map(|place| place as f64).collect(),
            names: names.to_vec(),
        }
    }

    /// Creates a ruler for these values, from one position to another, px.
    pub(crate) fn new(axis: &Axis, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Ruler {
        let fits = |value: &f64| value.is_finite() && (axis.scale != Scale::Log || *value > 0.0);
        let mut are_powers_of_two = axis.scale == Scale::Log;
        let (mut lo, mut hi) = values.filter(fits).fold((f64::MAX, f64::MIN), |(lo, hi), x| {
            are_powers_of_two &= x >= 1.0 && x.log2().fract() == 0.0;
            (lo.min(x), hi.max(x))
        });
        if lo > hi {
            (lo, hi) = (1.0, 1.0);
        }
        let ticks = match axis.scale {
            Scale::FromZero | Scale::Linear => {
                let largest = hi;
                if axis.scale == Scale::FromZero {
                    (lo, hi) = (lo.min(0.0), hi.max(0.0));
                }
                if hi <= lo {
                    hi = lo + if lo == 0.0 { 1.0 } else { lo.abs() };
                }
                let ticks = even_ticks(lo, hi, axis.format.base());
                hi = ticks.last().copied().unwrap_or(hi).max(hi);
                // A share cannot exceed 1.
                if axis.format == Format::Share && largest <= 1.0 && hi > 1.0 {
                    hi = 1.0;
                }
                lo = if axis.scale == Scale::FromZero { lo } else { ticks.first().copied().unwrap_or(lo).min(lo) };
                ticks.into_iter().filter(|tick| *tick <= hi * (1.0 + 1e-9)).collect()
            }
            Scale::Log if are_powers_of_two && hi > lo => {
                let step = if axis.format == Format::Bytes && hi / lo > 64.0 { 2 } else { 1 };
                (lo.log2() as i32..=hi.log2() as i32).step_by(step).map(|power| 2f64.powi(power)).collect()
            }
            Scale::Log => {
                if hi < lo * 1.02 {
                    (lo, hi) = (lo / 1.5, hi * 1.5);
                }
                log_ticks(lo, hi, axis.format.base())
            }
            Scale::Nines => {
                hi = hi.min(0.999_999);
                [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999].into_iter().filter(|at| (lo..=hi).contains(at)).collect()
            }
        };
        Ruler { scale: axis.scale, format: axis.format, lo, hi, from, to, ticks, names: Vec::new() }
    }

    fn measure(&self, value: f64) -> f64 {
        match self.scale {
            Scale::FromZero | Scale::Linear => value,
            Scale::Log => value.max(f64::MIN_POSITIVE).ln(),
            Scale::Nines => -(1.0 - value.clamp(0.0, 0.999_999)).ln(),
        }
    }

    /// Returns the position of a value, px; values beyond the ends lie on the ends.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let (lo, hi) = (self.measure(self.lo), self.measure(self.hi));
        let share = if hi > lo { (self.measure(value) - lo) / (hi - lo) } else { 0.5 };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Returns ticks with their labels, at most `most` of them.
    pub(crate) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let step = self.ticks.len().div_ceil(most.max(2)).max(1);
        // Nines have few ticks, all of which are needed.
        let step = if self.scale == Scale::Nines { 1 } else { step };
        let label = |value: f64| match self.scale {
            _ if !self.names.is_empty() => self.names.get(value as usize).cloned().unwrap_or_default(),
            Scale::Nines => nines(value),
            _ => self.format.tick(value),
        };
        self.ticks.iter().step_by(step).map(|value| (self.at(*value), label(*value))).collect()
    }
}

/// Formats a share as a percentile: `p99.9`.
fn nines(share: f64) -> String {
    let text = format!("{:.4}", share * 100.0);
    format!("p{}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Returns three to seven round values from below the smallest to above the largest.
fn even_ticks(lo: f64, hi: f64, base: f64) -> Vec<f64> {
    // Round within a unit of the format: 256 MiB and not 250 MiB.
    let unit = if base == 1024.0 && hi >= base { base.powf(hi.log(base).floor()) } else { 1.0 };
    let (lo, hi) = (lo / unit, hi / unit);
    let rough = (hi - lo) / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|step| step * power).find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    let first = (lo / step).floor();
    let last = (hi / step).ceil();
    (0..=(last - first).min(20.0) as i64).map(|index| (first + index as f64) * step * unit).collect()
}

/// Returns powers, with round values between them if there are few.
fn log_ticks(lo: f64, hi: f64, base: f64) -> Vec<f64> {
    let radix: f64 = if base == 1024.0 { 4.0 } else { 10.0 };
    let steps: &[f64] = match hi / lo {
        _ if base == 1024.0 => &[1.0],
        wide if wide > 2000.0 => &[1.0],
        wide if wide > 30.0 => &[1.0, 3.0],
        wide if wide > 4.0 => &[1.0, 2.0, 5.0],
        wide if wide > 1.7 => &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0],
        _ => return even_ticks(lo, hi, base).into_iter().filter(|tick| (lo..=hi).contains(tick)).collect(),
    };
    let first = lo.log(radix).floor() as i32;
    let last = hi.log(radix).ceil() as i32;
    (first..=last)
        .flat_map(|power| steps.iter().map(move |step| step * radix.powi(power)))
        .filter(|tick| (lo * 0.999..=hi * 1.001).contains(tick))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale, format: Format) -> Axis {
        Axis { title: String::new(), format, scale }
    }

    fn labels(scale: Scale, format: Format, values: [f64; 2]) -> Vec<String> {
        let ruler = Ruler::new(&axis(scale, format), values.into_iter(), 0.0, 100.0);
        ruler.ticks(8).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_numbers_in_their_units() {
        assert_eq!(
            labels(Scale::FromZero, Format::Rate, [3.1e8, 4.12e8]),
            ["0", "100 MB/s", "200 MB/s", "300 MB/s", "400 MB/s", "500 MB/s"]
        );
        assert_eq!(
            labels(Scale::Log, Format::Time, [2e4, 3e7]),
            ["30 µs", "100 µs", "300 µs", "1 ms", "3 ms", "10 ms", "30 ms"]
        );
        assert_eq!(
            labels(Scale::Log, Format::Bytes, [4096.0, 1048576.0]),
            ["4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB"]
        );
        assert_eq!(labels(Scale::Nines, Format::Share, [0.0, 0.9995]), ["p50", "p90", "p99", "p99.9"]);
    }

    // Protects: a missing, single, zero, infinite or negative value has a position, and does not cause a panic.
    #[test]
    fn unusual_values_have_a_position() {
        for scale in [Scale::FromZero, Scale::Linear, Scale::Log, Scale::Nines] {
            for values in
                [vec![], vec![0.0], vec![5.0, 5.0], vec![f64::NAN, f64::INFINITY], vec![-3.0, 1e300], vec![1e-300]]
            {
                let ruler = Ruler::new(&axis(scale, Format::Count), values.iter().copied(), 0.0, 100.0);
                for value in values.into_iter().chain([0.0, -1.0, f64::INFINITY]) {
                    let at = ruler.at(value);
                    assert!((0.0..=100.0).contains(&at) || at.is_nan() && value.is_nan(), "{scale:?} {value} at {at}");
                }
                assert!(ruler.ticks(6).len() <= 21);
            }
        }
    }

    #[test]
    fn a_log_axis_spaces_equal_ratios_equally() {
        let ruler = Ruler::new(&axis(Scale::Log, Format::Ratio), [0.5, 2.0].into_iter(), 0.0, 100.0);
        assert!((ruler.at(1.0) - 50.0).abs() < 1e-9);
    }
}
