//! Numbers in elbencho's formats.

/// Formats milliseconds: `6ms`, `2.000s`, `1m2.003s`, `1h2m3s`.
pub fn elapsed(ms: u64) -> String {
    let (hours, minutes, seconds, rest) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000);
    match (hours, minutes, seconds) {
        (0, 0, 0) => format!("{rest}ms"),
        (0, 0, _) => format!("{seconds}.{rest:03}s"),
        (0, _, _) => format!("{minutes}m{seconds}.{rest:03}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// Formats a latency in microseconds with about three digits: `5us`, `3.58ms`, `137ms`, `1.20s`.
pub(super) fn latency(us: u64) -> String {
    let value = us as f64;
    match us {
        0..1_000 => format!("{us}us"),
        1_000..10_000 => format!("{:.2}ms", value / 1e3),
        10_000..100_000 => format!("{:.1}ms", value / 1e3),
        100_000..1_000_000 => format!("{:.0}ms", value / 1e3),
        1_000_000..10_000_000 => format!("{:.2}s", value / 1e6),
        10_000_000..100_000_000 => format!("{:.1}s", value / 1e6),
        _ => format!("{:.0}s", value / 1e6),
    }
}

/// Formats the edge of a bucket, with one decimal below 10.
pub(super) fn edge(us: f64) -> String {
    if us < 10.0 { format!("{us:.1}") } else { format!("{us:.0}") }
}

/// Returns `amount` per second; 0 if no time passed.
pub(super) fn per_second(amount: u64, us: u64) -> u64 {
    match us {
        0 => 0,
        us => u64::try_from(u128::from(amount) * 1_000_000 / u128::from(us)).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_elbenchos_format() {
        let texts = [0, 6, 2_000, 62_003, 3_723_004].map(elapsed);
        assert_eq!(texts, ["0ms", "6ms", "2.000s", "1m2.003s", "1h2m3s"]);
        let texts = [6, 1_079, 3_575, 25_249, 137_000, 1_204_000].map(latency);
        assert_eq!(texts, ["6us", "1.08ms", "3.58ms", "25.2ms", "137ms", "1.20s"]);
        assert_eq!(per_second(200, 4827), 41_433);
    }
}
