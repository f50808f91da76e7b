//! Formats numbers for people: always with a unit, SI and IEC kept apart, and no more digits than are meaningful.

/// The number of digits to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digits {
    /// Three significant digits, so that a column of numbers can be compared: `4.10 GiB`.
    Three,
    /// Two significant digits, for values that vary more than that between runs: `2.1 ms`, `88 µs`, `180 µs`.
    Two,
    /// As in a sentence: one decimal below 100, dropped if it is zero: `4.1 GiB`, `4 GiB`.
    Spoken,
}

/// Units of one quantity, smallest first; each is `base` times the one before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Units {
    base: f64,
    names: &'static [&'static str],
}

/// Bytes with binary prefixes (KiB).
pub const BYTES: Units = Units { base: 1024.0, names: &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] };
/// Bytes with decimal prefixes (kB).
pub const BYTES_DECIMAL: Units = Units { base: 1000.0, names: &["B", "kB", "MB", "GB", "TB", "PB", "EB"] };
/// Bytes per second with decimal prefixes, as buses and data sheets state them.
pub const BYTES_PER_SECOND: Units = Units { base: 1000.0, names: &["B/s", "kB/s", "MB/s", "GB/s", "TB/s"] };
/// Bytes per second with binary prefixes.
pub const BYTES_PER_SECOND_IEC: Units = Units { base: 1024.0, names: &["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s"] };
/// Things per second, where the context names the thing.
pub const PER_SECOND: Units = Units { base: 1000.0, names: &["/s", "k/s", "M/s", "G/s"] };
/// Operations per second, as `ops/s`.
pub const OPS_PER_SECOND: Units = Units { base: 1000.0, names: &["ops/s", "kops/s", "Mops/s", "Gops/s"] };
/// Input and output operations per second, as `IOPS`.
pub const IOPS: Units = Units { base: 1000.0, names: &["IOPS", "k IOPS", "M IOPS", "G IOPS"] };
/// Plain numbers with decimal prefixes.
pub const COUNT: Units = Units { base: 1000.0, names: &["", "k", "M", "G", "T"] };
/// Bits per second, the unit of network speeds.
pub const BITS_PER_SECOND: Units = Units { base: 1000.0, names: &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"] };
/// Time, from nanoseconds up to seconds.
pub const TIME: Units = Units { base: 1000.0, names: &["ns", "µs", "ms", "s"] };

/// An interval of a ratio whose ends are this many times apart is too wide to use; its ends are cut at [`RATIO_ENDS`].
const RATIO_ENDS_APART: f64 = 1000.0;
/// Lowest and highest end that such an interval shows.
const RATIO_ENDS: [f64; 2] = [0.01, 100.0];

/// Formats a ratio: `1.31`, `12.4`, `317`; small ones with two significant digits: `0.043`.
pub fn ratio(ratio: f64) -> String {
    match ratio {
        r if r <= 0.0 || !r.is_finite() => "–".to_owned(),
        r if r < 0.0005 => "< 0.001".to_owned(),
        r if r < 0.00995 => format!("{r:.4}"),
        r if r < 0.0995 => format!("{r:.3}"),
        r if r < 9.995 => format!("{r:.2}"),
        r if r < 99.95 => format!("{r:.1}"),
        r => format!("{r:.0}"),
    }
}

/// Formats the interval of a ratio: `0.94 – 1.06`. If it is too wide to use, ends beyond 0.01 or 100 are cut: `< 0.01 – 20.4`.
pub fn ratio_interval(lo: f64, hi: f64) -> String {
    let [least, most] = RATIO_ENDS;
    let is_wide = hi > lo * RATIO_ENDS_APART;
    let end = |value: f64| match value {
        value if is_wide && value < least => format!("< {least}"),
        value if is_wide && value > most => format!("> {most}"),
        value => ratio(value),
    };
    format!("{} – {}", end(lo), end(hi))
}

impl Units {
    /// Formats a value given in the smallest unit, choosing a suitable unit.
    pub fn set(&self, value: f64, digits: Digits) -> String {
        let mut value = value;
        let mut unit = 0;
        // A value that rounds to one whole larger unit is printed in that unit.
        while value.abs() >= self.base - self.base / 2000.0 && unit + 1 < self.names.len() {
            value /= self.base;
            unit += 1;
        }
        format!("{} {}", digits.set(value), self.names[unit]).trim_end().to_owned()
    }
}

impl Digits {
    /// Formats a number without a unit.
    pub fn set(self, value: f64) -> String {
        if !value.is_finite() {
            return value.to_string();
        }
        let magnitude = || if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
        let decimals = match self {
            Digits::Three => (2 - magnitude()).clamp(0, 2) as usize,
            Digits::Two => (1 - magnitude()).clamp(0, 2) as usize,
            Digits::Spoken => usize::from(value.abs() < 99.95 && (value - value.round()).abs() >= 0.05),
        };
        format!("{value:.decimals$}")
    }
}

/// Formats a share (0–1): `62 %`, with a decimal below 10 %. A non-zero share never prints as 0 %, and one below
/// 1 never as 100 %.
pub fn percent(share: f64, digits: Digits) -> String {
    let value = share * 100.0;
    let whole = digits == Digits::Spoken && value.fract() == 0.0;
    match value {
        _ if value > 0.0 && value < 0.05 => match digits {
            Digits::Spoken => "less than 0.1 %".to_owned(),
            Digits::Three | Digits::Two => "< 0.1 %".to_owned(),
        },
        _ if value > 99.5 && value < 100.0 => format!("{:.1} %", value.min(99.9)),
        _ if value != 0.0 && value.abs() < 9.95 && !whole => format!("{value:.1} %"),
        _ => format!("{value:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: 999.6 kB/s does not print as "1000 kB/s", zero, negative and infinite values do not panic, and ratios
    // never print as "0.00×" or "0.00 – 678158014878555.25", which is unreadable.
    #[test]
    fn ratios_have_meaningful_digits() {
        for (value, text) in [
            (1.0, "1.00"),
            (0.0432, "0.043"),
            (0.00432, "0.0043"),
            (0.0001, "< 0.001"),
            (12.37, "12.4"),
            (317.2, "317"),
            (0.0, "–"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(ratio(value), text);
        }
        assert_eq!(ratio_interval(0.94, 1.06), "0.94 – 1.06");
        assert_eq!(ratio_interval(1e-15, 678_158_014_878_555.3), "< 0.01 – > 100");
        assert_eq!(ratio_interval(0.0001, 20.4), "< 0.01 – 20.4");
        assert_eq!(ratio_interval(0.05, 22.21), "0.050 – 22.2");
        assert_eq!(ratio_interval(128.4, 139.2), "128 – 139");
    }

    #[test]
    fn units_roll_over_where_rounding_does() {
        assert_eq!(BYTES_PER_SECOND.set(999_600.0, Digits::Three), "1.00 MB/s");
        assert_eq!(BYTES_PER_SECOND.set(999_600.0, Digits::Spoken), "1 MB/s");
        assert_eq!(BYTES.set(1023.9 * 1024.0, Digits::Spoken), "1 MiB");
        assert_eq!(TIME.set(-1500.0, Digits::Three), "-1.50 µs");
        assert_eq!(COUNT.set(0.0, Digits::Three), "0.00");
        assert_eq!(COUNT.set(f64::INFINITY, Digits::Three), "inf T");
    }

    // Protects: a share near 0 or 1 does not round to a stronger claim, in tables and in sentences.
    #[test]
    fn shares_near_0_and_1_are_not_rounded_to_them() {
        assert_eq!(percent(0.0001, Digits::Spoken), "less than 0.1 %");
        assert_eq!(percent(0.0001, Digits::Three), "< 0.1 %");
        assert_eq!(percent(0.9999, Digits::Three), "99.9 %");
        assert_eq!(
            (percent(0.02, Digits::Three), percent(0.02, Digits::Spoken)),
            ("2.0 %".to_owned(), "2 %".to_owned())
        );
        assert_eq!(percent(-0.052, Digits::Three), "-5.2 %");
    }
}
