//! Numbers as findings say them.

/// `4.1 GiB`; below 1 KiB `17 bytes`.
pub(crate) fn bytes(value: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if value < 1024 {
        return if value == 1 { "1 byte".to_owned() } else { format!("{value} bytes") };
    }
    let mut scaled = value as f64 / 1024.0;
    let mut unit = 0;
    while scaled >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{} {}", short(scaled), UNITS[unit])
}

/// `342 MB/s`: rates are decimal, as buses and data sheets state them.
pub(crate) fn rate(bytes_per_second: f64) -> String {
    format!("{}B/s", decimal(bytes_per_second))
}

/// `996 k` ops, `12.4 M` …
fn decimal(value: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match UNITS.iter().find(|(factor, _)| value >= *factor) {
        Some((factor, unit)) => format!("{} {unit}", short(value / factor)),
        None => format!("{} ", short(value)),
    }
}

/// `996 kops/s`.
pub(crate) fn ops_rate(ops_per_second: f64) -> String {
    format!("{}ops/s", decimal(ops_per_second))
}

/// `62 %`, with a decimal below 10 %. Something is never shown as nothing, and not quite all never as all.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value {
        _ if value > 0.0 && value < 0.05 => "less than 0.1 %".to_owned(),
        _ if value > 99.5 && value < 100.0 => format!("{:.1} %", value.min(99.9)),
        _ if value < 9.95 && value.fract() != 0.0 => format!("{value:.1} %"),
        _ => format!("{value:.0} %"),
    }
}

/// `412 µs`.
pub(crate) fn nanos(value: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    match UNITS.iter().find(|(factor, _)| value.abs() >= *factor) {
        Some((factor, unit)) => format!("{} {unit}", short(value / factor)),
        None => format!("{} ns", short(value)),
    }
}

/// One decimal below 100 where there is one.
pub(crate) fn short(value: f64) -> String {
    if value.abs() < 99.95 && (value - value.round()).abs() >= 0.05 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// `1 run`, `3 runs`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(128 << 20), "128 MiB");
        assert_eq!(bytes((4 << 30) + (100 << 20)), "4.1 GiB");
        assert_eq!(rate(342e6), "342 MB/s");
        assert_eq!(ops_rate(996_000.0), "996 kops/s");
        assert_eq!(nanos(412_000.0), "412 µs");
        assert_eq!(percent(0.62), "62 %");
        assert_eq!(percent(0.021), "2.1 %");
    }

    /// A share that is nearly nothing or nearly all must not round to a claim.
    #[test]
    fn nearly_nothing_is_not_nothing_and_nearly_all_is_not_all() {
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.0001), "less than 0.1 %");
        assert_eq!(percent(0.9999), "99.9 %");
        assert_eq!(percent(1.0), "100 %");
    }
}
