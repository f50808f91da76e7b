//! Numbers in fio's notation.

use super::report::{Display, KbBase, UnitBase};
use crate::fio::Compat;

/// The prefixes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    /// k, M, G: powers of 1000.
    Si,
    /// Ki, Mi, Gi: powers of 1024.
    Iec,
}

impl Prefix {
    const SI: [&'static str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    const IEC: [&'static str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

    const fn step(self) -> u64 {
        match self {
            Prefix::Si => 1000,
            Prefix::Iec => 1024,
        }
    }

    const fn names(self) -> [&'static str; 7] {
        match self {
            Prefix::Si => Prefix::SI,
            Prefix::Iec => Prefix::IEC,
        }
    }

    /// Returns the other kind of prefix, which is printed in parentheses.
    pub(super) const fn other(self) -> Prefix {
        match self {
            Prefix::Si => Prefix::Iec,
            Prefix::Iec => Prefix::Si,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberUnit {
    None,
    Bytes,
    BytesPerSecond,
    /// Bytes per second, printed as bits.
    BitsPerSecond,
}

/// Formats a number in at most `digits` digits, scaled by the prefix until it fits: `37.3k`, `146MiB/s`, `1071MiB/s`. A
/// number that fits unscaled has neither prefix nor decimals.
pub(super) fn scaled(number: u64, digits: u8, prefix: Prefix, unit: NumberUnit) -> String {
    scaled_from(number, 0, digits, prefix, unit)
}

/// Like [`scaled`], for a number that is already divided by the prefix's step `power` times.
pub(super) fn scaled_from(number: u64, power: usize, digits: u8, prefix: Prefix, unit: NumberUnit) -> String {
    let digits = usize::from(digits.max(1));
    let (name, mut rest) = match unit {
        NumberUnit::None => ("", u128::from(number)),
        NumberUnit::Bytes => ("B", u128::from(number)),
        NumberUnit::BytesPerSecond => ("B/s", u128::from(number)),
        NumberUnit::BitsPerSecond => ("bit/s", u128::from(number) * 8),
    };
    let (step, names) = (u128::from(prefix.step()), prefix.names());
    let (mut power, mut cut) = (power, None);
    while rest.to_string().len() > digits && power + 1 < names.len() {
        cut = Some(rest % step);
        rest /= step;
        power += 1;
    }
    let Some(cut) = cut else { return format!("{rest}{}{name}", names[power]) };
    let width = rest.to_string().len();
    if width + 1 >= digits {
        let rounded = rest + u128::from(cut >= step / 2);
        return format!("{rounded}{}{name}", names[power]);
    }
    // The decimals are rounded separately, and the carry is added: 62.96 becomes 63.0.
    let decimals = format!("{:.*}", digits - width - 1, cut as f64 / step as f64);
    let rest = rest + u128::from(decimals.starts_with('1'));
    format!("{rest}.{}{}{name}", &decimals[2..], names[power])
}

/// Formats a decimal with six places (C's `%f`).
pub(super) fn float(value: f64) -> String {
    fixed(value, 6)
}

/// Formats a decimal. NaN and infinity become 0, and there is no negative 0.
pub(super) fn fixed(value: f64, places: usize) -> String {
    let value = if value.is_finite() { value + 0.0 } else { 0.0 };
    format!("{value:.places$}")
}

/// Cleans text for a line of fields. Under [`Compat::Meant`], removes line breaks and,
/// if there is a separator, the separator.
pub(super) fn plain(text: &str, separator: Option<char>, compat: Compat) -> String {
    match compat {
        Compat::Strict => text.to_owned(),
        Compat::Meant => text
            .chars()
            .map(|c| match c {
                c if c.is_control() => ' ',
                c if Some(c) == separator => ',',
                c => c,
            })
            .collect(),
    }
}

impl Display {
    /// Returns the prefix of the first number of a pair.
    pub(super) fn prefix(&self) -> Prefix {
        match self.kb_base {
            KbBase::Binary => Prefix::Iec,
            KbBase::Decimal => Prefix::Si,
        }
    }

    pub(super) fn rate_unit(&self) -> NumberUnit {
        match self.unit_base {
            UnitBase::Bytes => NumberUnit::BytesPerSecond,
            UnitBase::Bits => NumberUnit::BitsPerSecond,
        }
    }

    pub(super) fn bytes(&self, bytes: u64) -> String {
        scaled(bytes, self.significant_figures, self.prefix(), NumberUnit::Bytes)
    }

    /// Formats bytes with the other prefix.
    pub(super) fn bytes_other(&self, bytes: u64) -> String {
        scaled(bytes, self.significant_figures, self.prefix().other(), NumberUnit::Bytes)
    }

    pub(super) fn rate(&self, bytes_per_second: u64) -> String {
        scaled(bytes_per_second, self.significant_figures, self.prefix(), self.rate_unit())
    }

    /// Formats bytes per second with the other prefix.
    pub(super) fn rate_other(&self, bytes_per_second: u64) -> String {
        scaled(bytes_per_second, self.significant_figures, self.prefix().other(), self.rate_unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs printed by fio 3.42. A rewrite is most likely to get the carry and the last digit wrong.
    #[test]
    fn numbers_are_scaled_as_fio_scales_them() {
        let iec = |number, unit| scaled(number, 4, Prefix::Iec, unit);
        assert_eq!(scaled(37_306, 4, Prefix::Si, NumberUnit::None), "37.3k");
        assert_eq!(scaled(4_465_100, 6, Prefix::Si, NumberUnit::None), "4465.1k");
        assert_eq!(scaled(17_852_000, 6, Prefix::Si, NumberUnit::None), "17852k", "no room for a decimal");
        assert_eq!(iec(4096, NumberUnit::Bytes), "4096B");
        assert_eq!(iec(65_536, NumberUnit::Bytes), "64.0KiB");
        assert_eq!(iec(1071 << 20, NumberUnit::BytesPerSecond), "1071MiB/s");
        assert_eq!(iec((62 << 20) + 1_006_632, NumberUnit::Bytes), "63.0MiB", "62.96 carries");
        assert_eq!(scaled(1 << 30, 4, Prefix::Iec, NumberUnit::BitsPerSecond), "8192Mibit/s");
        assert_eq!(iec(u64::MAX, NumberUnit::Bytes), "16.0EiB");
    }

    #[test]
    fn nan_and_infinity_are_printed_as_numbers() {
        assert_eq!(float(f64::NAN), "0.000000");
        assert_eq!(float(f64::NEG_INFINITY), "0.000000");
        assert_eq!(fixed(-0.0, 2), "0.00");
    }
}
