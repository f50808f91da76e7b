//! Formats numbers for columns, like [`plumb_result::number`] with three significant digits.

use plumb_result::number::{self, Digits};
use plumb_result::{Metric, Unit};

/// Formats bytes per second with decimal prefixes: `412 MB/s`.
pub fn rate_si(bytes_per_second: f64) -> String {
    number::BYTES_PER_SECOND.set(bytes_per_second, Digits::Three)
}

/// Formats bytes with binary prefixes: `4.00 GiB`.
pub fn bytes_iec(bytes: f64) -> String {
    number::BYTES.set(bytes, Digits::Three)
}

/// Formats a number per second: `10.4 k/s`.
pub fn per_second(rate: f64) -> String {
    number::PER_SECOND.set(rate, Digits::Three)
}

/// Formats I/O operations per second: `10.4 k IOPS`.
pub fn iops(rate: f64) -> String {
    number::IOPS.set(rate, Digits::Three)
}

/// Formats bytes with binary prefixes, without zero decimals: `4 KiB`, `1.5 GiB`.
pub fn bytes_brief(bytes: f64) -> String {
    number::BYTES.set(bytes, Digits::Spoken)
}

/// Formats seconds for a column: `0.4`, `7.4`, `25`.
pub fn seconds(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    if seconds < 0.05 {
        return "<0.1".to_owned();
    }
    if seconds < 9.95 { format!("{seconds:.1}") } else { format!("{seconds:.0}") }
}

/// Formats a duration with two digits: `2.1 ms`, `88 µs`.
pub fn time_brief(ns: f64) -> String {
    if ns >= 60e9 { time(ns) } else { number::TIME.set(ns, Digits::Two) }
}

/// Formats a count: `10.4 k`.
pub fn count(value: f64) -> String {
    number::COUNT.set(value, Digits::Three)
}

/// Formats a duration: `412 µs`.
pub fn time(ns: f64) -> String {
    if ns >= 60e9 {
        let seconds = (ns / 1e9).round() as u64;
        return match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
            (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
            (hours, minutes, _) => format!("{hours} h {minutes:02} min"),
        };
    }
    number::TIME.set(ns, Digits::Three)
}

/// Formats a ratio: `1.31`, `12.4`, `1708`.
pub fn ratio(ratio: f64) -> String {
    number::ratio(ratio)
}

/// Formats an interval of a ratio: `0.94 – 1.06`.
pub fn interval(lo: f64, hi: f64) -> String {
    number::ratio_interval(lo, hi)
}

/// Formats a ratio near 1: `1.003`.
pub(crate) fn fine_ratio(ratio: f64) -> String {
    format!("{ratio:.3}")
}

/// Formats a share: `62 %`.
pub fn percent(share: f64) -> String {
    number::percent(share, Digits::Three)
}

/// Formats a probability: `0.012`, `< 0.001`.
pub fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

/// Formats a metric's value with its unit.
pub fn value(value: f64, unit: Unit) -> String {
    match unit {
        Unit::BytesPerSecond => rate_si(value),
        Unit::OpsPerSecond => per_second(value),
        Unit::Nanoseconds => time(value),
        Unit::Cpus => format!("{} CPUs", Digits::Three.set(value)),
        // Counts are exact, so they are not rounded.
        Unit::Ops if value.fract() == 0.0 => format!("{value:.0}"),
        Unit::Ops => format!("{value:.1}"),
        Unit::Bytes => bytes_iec(value),
        Unit::BytesPerOp => format!("{}/op", bytes_iec(value)),
        Unit::BytesPerByte => format!("{value:.3} B/B"),
    }
}

/// Formats a metric's value with its unit; block reads and writes per second are IOPS.
pub fn metric(of: f64, metric: Metric) -> String {
    let is_iops = metric.unit() == Unit::OpsPerSecond && metric.to_string().ends_with(".iops");
    let text = value(of, metric.unit());
    match text.strip_suffix("/s").filter(|_| is_iops) {
        Some(number) => format!("{} IOPS", number.trim_end()),
        None => text,
    }
}

/// Returns a line of bars. The highest value has full height, and a missing value leaves a gap.
pub fn sparkline(values: impl IntoIterator<Item = Option<f64>> + Clone) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let top = values.clone().into_iter().flatten().fold(0.0, f64::max);
    let bar = |value: f64| match top > 0.0 {
        true => BARS[((value / top) * 7.0).round().clamp(0.0, 7.0) as usize],
        false => BARS[0],
    };
    values.into_iter().map(|value| value.map_or(' ', bar)).collect()
}

/// Printed for a missing value, which is never printed as 0.
pub const MISSING: &str = "–";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_significant_digits_and_the_right_unit() {
        assert_eq!(rate_si(412_345_678.0), "412 MB/s");
        assert_eq!(rate_si(999_600.0), "1.00 MB/s");
        assert_eq!(bytes_iec(4294967296.0), "4.00 GiB");
        assert_eq!(per_second(10_432.0), "10.4 k/s");
        assert_eq!(time(412.0), "412 ns");
        assert_eq!(time(1_500_000.0), "1.50 ms");
        assert_eq!(time(3_725e9), "1 h 02 min");
        assert_eq!(time(61e9), "1 min 01 s");
        assert_eq!(percent(0.624), "62 %");
        assert_eq!(percent(0.015), "1.5 %");
        assert_eq!(count(999.0), "999");
        assert_eq!(sparkline([Some(0.0), Some(5.0), None, Some(10.0)]), "▁▅ █");
        assert_eq!(sparkline([Some(0.0), None]), "▁ ");
        assert_eq!([0.4, 1.311, 9.999, 12.44, 1708.05].map(ratio), ["0.40", "1.31", "10.0", "12.4", "1708"]);
    }
}
