//! Printed numbers and their units.

use plumb_document::{Scalar, read_scalar};
#[cfg(feature = "schema")]
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::fmt;

/// A number with the digits that were printed: `38.0` is more precise than `38`.
#[derive(Debug, Clone, PartialEq)]
pub struct PrintedNumber {
    text: String,
    value: f64,
    decimals: usize,
}

impl PrintedNumber {
    /// Parses a number, and counts the digits after its decimal point.
    pub fn parse(text: &str) -> Option<PrintedNumber> {
        let text = text.trim();
        let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'-');
        let value: f64 = text.parse().ok().filter(|value: &f64| plain && value.is_finite())?;
        let decimals = text.split_once('.').map_or(0, |(_, behind)| behind.len());
        Some(PrintedNumber { text: text.to_owned(), value, decimals })
    }

    pub fn value(&self) -> f64 {
        self.value
    }

    /// Returns one unit of its last printed digit.
    pub(crate) fn last_digit(&self) -> f64 {
        10_f64.powi(-(self.decimals as i32))
    }

    /// Returns `true` if `exact`, rounded or truncated, prints as this number.
    pub fn prints(&self, exact: f64) -> bool {
        // Truncation errs by up to a whole unit, downwards. `hair` covers the rounding of the division itself.
        let off = exact - self.value;
        let unit = self.last_digit();
        let hair = exact.abs() * 1e-9;
        off > -unit / 2.0 - hair && off < unit + hair
    }
}

impl fmt::Display for PrintedNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reads a type from text, or from a number in its shortest form.
pub(crate) fn read_text_or_number<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    expected: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, D::Error> {
    read_scalar(deserializer, expected, |scalar| {
        let text = match scalar {
            Scalar::Text(text) => text.to_owned(),
            Scalar::Integer(value) => value.to_string(),
            Scalar::Float(value) => value.to_string(),
            Scalar::Bool(_) => return Ok(None),
        };
        parse(&text).map(Some).ok_or_else(|| format!("`{text}` is not {expected}"))
    })
}

const EXPECTED: &str = "a number as printed, such as `33.1` or `\"38.0\"`";

impl<'de> Deserialize<'de> for PrintedNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PrintedNumber, D::Error> {
        read_text_or_number(deserializer, EXPECTED, PrintedNumber::parse)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for PrintedNumber {
    fn schema_name() -> Cow<'static, str> {
        "Printed".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number"], "description": EXPECTED })
    }
}

/// Meaning of the prefixes `k`, `M` and `G` of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Base {
    /// Powers of 1000, such as `kB`.
    Decimal,
    /// Powers of 1024, such as `KiB`.
    Binary,
}

impl Base {
    const fn step(self) -> f64 {
        match self {
            Base::Decimal => 1000.0,
            Base::Binary => 1024.0,
        }
    }
}

/// A unit of a printed number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrintedUnit {
    /// Bytes per second, with a prefix of `power` steps. `base` is known if the letters state it (`MiB/s`).
    Bytes {
        /// 0 for B, 1 for k, 2 for M, 3 for G, 4 for T.
        power: u8,
        /// Meaning of a step, if the letters state it.
        base: Option<Base>,
    },
    PerSecond {
        /// 0 for 1, 1 for thousands, 2 for millions.
        power: u8,
    },
    /// A duration: 0 for s, 1 for ms, 2 for µs, 3 for ns.
    Time {
        /// Number of times that a second is divided by 1000.
        thousandths: u8,
    },
}

/// Examples of units for error messages.
pub(crate) const UNIT_EXAMPLES: &str =
    "a unit such as `MB/s`, `MiB/s`, `K/sec`, `Mbytes/sec`, `IOPS`, `/s`, `s` or `ms`";

impl PrintedUnit {
    /// Parses a unit as tools and papers write it.
    pub fn parse(text: &str) -> Option<PrintedUnit> {
        let text = text.trim();
        let lower = text.to_lowercase();
        let thousandths = match lower.as_str() {
            "s" | "sec" | "seconds" => Some(0),
            "ms" => Some(1),
            "us" | "µs" => Some(2),
            "ns" => Some(3),
            _ => None,
        };
        if let Some(thousandths) = thousandths {
            return Some(PrintedUnit::Time { thousandths });
        }
        if let Some(power) = lower.strip_suffix("iops").and_then(|prefix| thousands(prefix.trim())) {
            return Some(PrintedUnit::PerSecond { power });
        }
        let (what, per) = lower.rsplit_once('/')?;
        if !matches!(per.trim(), "s" | "sec" | "second") {
            return None;
        }
        let what = what.trim();
        if matches!(what, "" | "ops" | "op" | "files" | "file" | "seeks" | "transactions" | "iops") {
            return Some(PrintedUnit::PerSecond { power: 0 });
        }
        let power = match what.chars().next()? {
            'b' => 0,
            'k' => 1,
            'm' => 2,
            'g' => 3,
            't' => 4,
            _ => return None,
        };
        let rest = if power == 0 { what } else { &what[1..] };
        let base = match rest {
            "ib" | "i" | "ibyte" | "ibytes" => Some(Base::Binary),
            "b" | "byte" | "bytes" | "" => None,
            _ => return None,
        };
        Some(PrintedUnit::Bytes { power, base })
    }

    /// Returns the bytes per second of a unit; `None` unless it is a rate of bytes.
    pub fn bytes_per_second(self, base: Base) -> Option<f64> {
        matches!(self, PrintedUnit::Bytes { .. }).then(|| self.factor(base))
    }

    /// Returns the factor to the plain unit: bytes per second, counts per second, or seconds.
    pub fn factor(self, base: Base) -> f64 {
        match self {
            PrintedUnit::Bytes { power, base: stated } => stated.unwrap_or(base).step().powi(i32::from(power)),
            PrintedUnit::PerSecond { power } => 1000_f64.powi(i32::from(power)),
            PrintedUnit::Time { thousandths } => 1000_f64.powi(-i32::from(thousandths)),
        }
    }

    /// Returns `true` if both are rates of bytes, counts per second, or times.
    pub(crate) fn is_same_kind(self, other: PrintedUnit) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    /// Returns the unambiguous spelling: `MiB/s`.
    pub fn clear(self, base: Base) -> &'static str {
        match self {
            PrintedUnit::Bytes { power, base: stated } => {
                const DECIMAL: [&str; 5] = ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"];
                const BINARY: [&str; 5] = ["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s"];
                let names = if stated.unwrap_or(base) == Base::Decimal { DECIMAL } else { BINARY };
                names[usize::from(power.min(4))]
            }
            PrintedUnit::PerSecond { power } => ["/s", "k/s", "M/s"][usize::from(power.min(2))],
            PrintedUnit::Time { thousandths } => ["s", "ms", "µs", "ns"][usize::from(thousandths.min(3))],
        }
    }
}

/// Returns the power of 1000 of a count's prefix.
fn thousands(prefix: &str) -> Option<u8> {
    match prefix {
        "" => Some(0),
        "k" => Some(1),
        "m" => Some(2),
        _ => None,
    }
}

/// Returns the base of a tool's ambiguous prefixes: 1024 for Bonnie++, IOzone and PostMark, 1000 for `dd` and most
/// others. Sources: the tools' own code; IOzone shifts by 10, PostMark's "megabytes" are 2^20.
pub(crate) fn base_of_tool(tool: &str) -> Base {
    match tool.to_lowercase().as_str() {
        "bonnie++" | "bonnie" | "iozone" | "postmark" => Base::Binary,
        _ => Base::Decimal,
    }
}

/// The reading of a unit that explains a printed rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Explanation {
    /// The printed unit, read with this base.
    Base(Base),
    /// The same with a shifted decimal point: the printed number times 10^`digits` is right.
    Moved {
        base: Base,
        /// Digits by which the point is shifted.
        digits: i32,
    },
    /// No reading explains the printed rate.
    Nothing,
}

/// Explains a printed rate by the exact bytes per second. Tries the tool's usual base first.
pub(crate) fn explain(
    printed: &PrintedNumber,
    unit: PrintedUnit,
    usual: Base,
    exact_bytes_per_second: f64,
) -> Explanation {
    let other = if usual == Base::Decimal { Base::Binary } else { Base::Decimal };
    let bases = [usual, other];
    for base in bases {
        if unit.bytes_per_second(base).is_some_and(|factor| printed.prints(exact_bytes_per_second / factor)) {
            return Explanation::Base(base);
        }
    }
    for digits in [-3, 3, -1, 1, -2, 2] {
        for base in bases {
            let moved = unit.bytes_per_second(base).map(|factor| factor * 10_f64.powi(digits));
            // Needs at least two digits: with one, chance can explain anything.
            let says_something = printed.value().abs() >= 10.0 * printed.last_digit();
            if says_something && moved.is_some_and(|factor| printed.prints(exact_bytes_per_second / factor)) {
                return Explanation::Moved { base, digits };
            }
        }
    }
    Explanation::Nothing
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn printed(text: &str) -> PrintedNumber {
        PrintedNumber::parse(text).unwrap()
    }

    /// Covers GNU dd's own line, and a rate of FreeBSD's that was divided by 2^20.
    #[test]
    fn the_unit_that_explains_a_rate_is_found() {
        let unit = PrintedUnit::parse("MB/s").unwrap();
        let gnu = 1_073_741_824.0 / 32.4498;
        assert_eq!(explain(&printed("33.1"), unit, Base::Decimal, gnu), Explanation::Base(Base::Decimal));
        let bsd = 1_073_741_824.0 / 20.888121;
        assert_eq!(explain(&printed("49.02"), unit, Base::Decimal, bsd), Explanation::Base(Base::Binary));
        assert_eq!(explain(&printed("35.0"), unit, Base::Decimal, 1_073_741_824.0 / 28.2238), Explanation::Nothing);
        let moved = explain(&printed("69.002"), unit, Base::Binary, 69_002.0 * 1024.0);
        assert_eq!(moved, Explanation::Nothing, "thousands of 1024 fit neither base");
        assert_eq!(
            explain(&printed("331"), unit, Base::Decimal, gnu),
            Explanation::Moved { base: Base::Decimal, digits: -1 }
        );
    }

    #[test]
    fn units_are_read_as_papers_write_them() {
        for (text, clear) in [
            ("MB/s", "MB/s"),
            ("Mbytes/sec", "MB/s"),
            ("MiB/s", "MiB/s"),
            ("K/sec", "kB/s"),
            ("KB/s", "kB/s"),
            ("B/s", "B/s"),
            ("/s", "/s"),
            ("files/sec", "/s"),
            ("IOPS", "/s"),
            ("kIOPS", "k/s"),
            ("M IOPS", "M/s"),
            ("ms", "ms"),
        ] {
            assert_eq!(PrintedUnit::parse(text).map(|unit| unit.clear(Base::Decimal)), Some(clear), "{text}");
        }
        for text in ["", "MB", "parsecs", "MB/h", "/", "b/s/s", "mx/s"] {
            assert_eq!(PrintedUnit::parse(text), None, "{text}");
        }
    }

    #[test]
    fn digits_are_kept() {
        assert_eq!(printed("38.0").last_digit(), 0.1);
        assert!(printed("38.0").prints(38.04) && !printed("38.0").prints(38.2));
        assert!(printed("348.51").prints(348.518), "cut off");
        for text in ["", "1e5", "nan", "inf", "1,5", "0x1", "1 2", "--1", "."] {
            assert_eq!(PrintedNumber::parse(text), None, "{text}");
        }
    }

    proptest! {
        /// Protects: a printed rate of any precision is explained by its exact value, in its own unit.
        #[test]
        fn a_printed_rate_is_explained(bytes in 1_u64..1 << 44, seconds in 0.001_f64..100_000.0, decimals in 0_usize..4,
                                       power in 0_u8..4, binary: bool) {
            let base = if binary { Base::Binary } else { Base::Decimal };
            let unit = PrintedUnit::Bytes { power, base: None };
            let exact = bytes as f64 / seconds;
            let text = format!("{:.decimals$}", exact / unit.bytes_per_second(base).unwrap());
            prop_assert_eq!(explain(&printed(&text), unit, base, exact), Explanation::Base(base));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,16}", number in "[0-9.eE+-]{0,30}") {
            let _ = PrintedUnit::parse(&text);
            let _ = PrintedNumber::parse(&text);
            let _ = PrintedNumber::parse(&number);
        }
    }
}
