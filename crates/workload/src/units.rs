//! Quantities with units: bytes, nanoseconds, rates, and sizes relative to the machine.
//!
//! Text forms: `4096`, `4KiB`, `4k` (a bare letter is binary, as in block I/O tools), `4kB` (decimal); `90s`,
//! `1.5ms`, `2m`, `1h`; `1000/s`; `5%`; `ram*2`, `free*10%`.

use plumb_document::{Scalar, read_scalar};
#[cfg(feature = "schema")]
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// Error from parsing a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct UnitError {
    pub text: String,
    /// Expected form, with an example.
    pub expected: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

impl Nanos {
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct PerSecond(pub f64);

/// A share of a whole, `5%` or `0.05`. Without a percent sign it is at most 1, since `5` most likely means `5%`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Share(pub f64);

/// A size that may depend on the machine. [`Size::resolve`] turns it into bytes before a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Size {
    Bytes(Bytes),
    /// Multiple of the memory available to a run (`ram*2`): the smaller of RAM and the cgroup's limit.
    Ram(f64),
    /// Share of the free space on the target's file system (`free*10%`), or of a device's capacity.
    Free(f64),
}

impl Size {
    /// Returns the bytes for this memory and free space. Relative sizes are rounded down to 4 KiB.
    pub fn resolve(self, ram_bytes: u64, free_bytes: u64) -> Bytes {
        let share = |whole: u64, factor: f64| Bytes((whole as f64 * factor) as u64 / 4096 * 4096);
        match self {
            Size::Bytes(bytes) => bytes,
            Size::Ram(factor) => share(ram_bytes, factor),
            Size::Free(factor) => share(free_bytes, factor),
        }
    }

    /// Returns the bytes if they do not depend on the machine.
    pub fn fixed(self) -> Option<Bytes> {
        match self {
            Size::Bytes(bytes) => Some(bytes),
            Size::Ram(_) | Size::Free(_) => None,
        }
    }
}

impl From<Bytes> for Size {
    fn from(bytes: Bytes) -> Size {
        Size::Bytes(bytes)
    }
}

/// Splits `12.5MiB` into its number and suffix.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    Some((number, text[end..].trim()))
}

/// Multiplies without losing precision for integers above 2^53.
fn scaled(text: &str, number: f64, factor: u64) -> Option<u64> {
    let digits: String =
        text.trim().chars().take_while(|c| c.is_ascii_digit() || *c == '_').filter(|c| *c != '_').collect();
    if number.fract() == 0.0 && !text.contains('.') {
        return digits.parse::<u64>().ok()?.checked_mul(factor);
    }
    let product = number * factor as f64;
    (product.is_finite() && product < u64::MAX as f64).then_some(product.round() as u64)
}

const BYTE_UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("B", 1),
    ("k", 1 << 10),
    ("K", 1 << 10),
    ("Ki", 1 << 10),
    ("KiB", 1 << 10),
    ("kB", 1_000),
    ("KB", 1_000),
    ("m", 1 << 20),
    ("M", 1 << 20),
    ("Mi", 1 << 20),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("g", 1 << 30),
    ("G", 1 << 30),
    ("Gi", 1 << 30),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("t", 1 << 40),
    ("T", 1 << 40),
    ("Ti", 1 << 40),
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("p", 1 << 50),
    ("P", 1 << 50),
    ("Pi", 1 << 50),
    ("PiB", 1 << 50),
    ("PB", 1_000_000_000_000_000),
];

const TIME_UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

fn parse_scaled(text: &str, units: &[(&str, u64)], expected: &'static str) -> Result<u64, UnitError> {
    let error = || UnitError { text: text.to_owned(), expected };
    let (number, suffix) = split_number(text).ok_or_else(error)?;
    let (_, factor) = units.iter().find(|(name, _)| *name == suffix).ok_or_else(error)?;
    scaled(text, number, *factor).ok_or_else(error)
}

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_scaled(text, BYTE_UNITS, "a size such as `4096`, `4KiB` (1024 each) or `4kB` (1000 each)").map(Bytes)
    }
}

impl FromStr for Nanos {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_scaled(text, TIME_UNITS, "a time with its unit, such as `30s`, `1.5ms` or `2m`").map(Nanos)
    }
}

impl FromStr for PerSecond {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { text: text.to_owned(), expected: "a rate such as `1000/s` or `50k/s`" };
        let bare = text.trim().strip_suffix("/s").unwrap_or(text.trim());
        let (number, suffix) = split_number(bare).ok_or_else(error)?;
        let factor = match suffix {
            "" => 1.0,
            "k" | "K" => 1e3,
            "M" => 1e6,
            _ => return Err(error()),
        };
        let rate = number * factor;
        if rate > 0.0 && rate.is_finite() { Ok(PerSecond(rate)) } else { Err(error()) }
    }
}

impl FromStr for Share {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let share = match text.trim().strip_suffix('%') {
            Some(percent) => percent.trim_end().parse::<f64>().ok().map(|percent| percent / 100.0),
            None => text.trim().parse::<f64>().ok().filter(|share| *share <= 1.0),
        };
        share.filter(|share| *share >= 0.0 && share.is_finite()).map(Share).ok_or_else(|| UnitError {
            text: text.to_owned(),
            expected: "a share such as `5%` or `0.05`; a value above 1 needs the percent sign",
        })
    }
}

impl FromStr for Size {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { text: text.to_owned(), expected: "a size such as `4GiB`, `ram*2` or `free*10%`" };
        let trimmed = text.trim();
        for (word, make) in [("ram", Size::Ram as fn(f64) -> Size), ("free", Size::Free as fn(f64) -> Size)] {
            let Some(rest) = trimmed.strip_prefix(word) else { continue };
            if rest.is_empty() {
                return Ok(make(1.0));
            }
            let factor = rest.trim().strip_prefix('*').ok_or_else(error)?.trim();
            let factor = match factor.strip_suffix('%') {
                Some(percent) => percent.trim().parse::<f64>().map(|value| value / 100.0),
                None => factor.parse::<f64>(),
            };
            return match factor {
                Ok(factor) if factor > 0.0 && factor.is_finite() => Ok(make(factor)),
                _ => Err(error()),
            };
        }
        trimmed.parse::<Bytes>().map(Size::Bytes).map_err(|_| error())
    }
}

fn write_scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)], zero: &str) -> fmt::Result {
    if value == 0 {
        return f.write_str(zero);
    }
    let (name, factor) =
        units.iter().rev().find(|(_, factor)| value.is_multiple_of(*factor)).copied().unwrap_or(("", 1));
    write!(f, "{}{}", value / factor, name)
}

/// Prints the shortest exact form. Parsing it gives the same value.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const EXACT: &[(&str, u64)] =
            &[("", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40), ("PiB", 1 << 50)];
        write_scaled(f, self.0, EXACT, "0")
    }
}

/// Prints the shortest exact form. Parsing it gives the same value.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const EXACT: &[(&str, u64)] = &[
            ("ns", 1),
            ("us", 1_000),
            ("ms", 1_000_000),
            ("s", 1_000_000_000),
            ("min", 60_000_000_000),
            ("h", 3_600_000_000_000),
        ];
        write_scaled(f, self.0, EXACT, "0s")
    }
}

impl fmt::Display for PerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Bytes(bytes) => bytes.fmt(f),
            Size::Ram(factor) => write!(f, "ram*{factor}"),
            Size::Free(factor) => write!(f, "free*{factor}"),
        }
    }
}

macro_rules! text_or_number {
    ($type:ident, $expecting:literal, $number:expr) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let make: fn(u64) -> Option<$type> = $number;
                read_scalar(deserializer, $expecting, |scalar| match scalar {
                    Scalar::Text(text) => text.parse().map(Some).map_err(|error| format!("{error}")),
                    Scalar::Integer(number) => Ok(u64::try_from(number).ok().and_then(make)),
                    Scalar::Bool(_) | Scalar::Float(_) => Ok(None),
                })
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": ["string", "integer"], "description": $expecting })
            }
        }
    };
}

text_or_number!(Bytes, "a size such as `4096`, `4KiB` (1024 each) or `4kB` (1000 each)", |value| Some(Bytes(value)));
text_or_number!(Nanos, "a time with its unit, such as `30s`, `1.5ms` or `2m`", |value| (value == 0)
    .then_some(Nanos(0)));
text_or_number!(PerSecond, "a rate such as `1000/s` or `50k/s`", |value| (value > 0)
    .then_some(PerSecond(value as f64)));
text_or_number!(Size, "a size such as `4GiB`, `ram*2` or `free*10%`", |value| Some(Size::Bytes(Bytes(value))));

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_parse_as_in_block_tools() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("4k", 4096),
            ("4K", 4096),
            ("4Ki", 4096),
            ("4 KiB", 4096),
            ("4kB", 4000),
            ("4KB", 4000),
            ("1.5MiB", 3 << 19),
            ("1_000", 1000),
            ("2T", 2 << 40),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse::<Bytes>(), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn times_need_a_unit() {
        for (text, nanos) in [
            ("30s", 30_000_000_000),
            ("1.5ms", 1_500_000),
            ("2m", 120_000_000_000),
            ("2min", 120_000_000_000),
            ("7us", 7_000),
            ("7µs", 7_000),
            ("1h", 3_600_000_000_000),
            ("0s", 0),
        ] {
            assert_eq!(text.parse::<Nanos>(), Ok(Nanos(nanos)), "{text}");
        }
        assert!("30".parse::<Nanos>().unwrap_err().to_string().contains("30s"), "the message shows a valid example");
    }

    #[test]
    fn rates_and_relative_sizes() {
        assert_eq!("1000/s".parse(), Ok(PerSecond(1000.0)));
        assert_eq!("50k/s".parse(), Ok(PerSecond(50_000.0)));
        assert_eq!("0.5".parse(), Ok(PerSecond(0.5)));
        assert_eq!(["5%", "0.05", " 5 % "].map(|text| text.parse().ok()), [Some(Share(0.05)); 3]);
        assert_eq!("150%".parse(), Ok(Share(1.5)));
        for text in ["5", "-1%", "nan", "inf%", "%", ""] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
        assert_eq!("ram".parse(), Ok(Size::Ram(1.0)));
        assert_eq!("ram * 2".parse(), Ok(Size::Ram(2.0)));
        assert_eq!("free*10%".parse(), Ok(Size::Free(0.1)));
        assert_eq!("4GiB".parse(), Ok(Size::Bytes(Bytes(4 << 30))));
    }

    #[test]
    fn relative_sizes_resolve_to_whole_pages() {
        assert_eq!(Size::Ram(0.5).resolve(10_000, 0), Bytes(4096));
        assert_eq!(Size::Free(2.0).resolve(0, 4096), Bytes(8192));
        assert_eq!(Size::Bytes(Bytes(5)).resolve(1 << 30, 1 << 30), Bytes(5));
        assert_eq!(Size::Bytes(Bytes(5)).fixed(), Some(Bytes(5)));
        assert_eq!(Size::Ram(1.0).fixed(), None);
    }

    #[test]
    fn errors_show_the_text_and_a_valid_example() {
        for text in ["", "-1", "4 parsecs", "1.2.3", "k", "99999999999P", "18446744073709551616", "1e9", "4KiB4"] {
            let error = text.parse::<Bytes>().unwrap_err();
            assert_eq!(error.text, text);
            assert!(error.to_string().contains("`4KiB`"), "{error}");
        }
        for text in ["0/s", "-1/s", "fast", "inf/s", "1/m"] {
            assert!(text.parse::<PerSecond>().is_err(), "{text}");
        }
        for text in ["ram*0", "ram*-1", "ram*nan", "ram*inf", "ramdisk", "free*x", "half"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn prints_the_shortest_exact_form() {
        assert_eq!(Bytes(4096).to_string(), "4KiB");
        assert_eq!(Bytes(4097).to_string(), "4097");
        assert_eq!(Bytes(0).to_string(), "0");
        assert_eq!(Nanos(1_500_000).to_string(), "1500us");
        assert_eq!(Nanos(120_000_000_000).to_string(), "2min");
        assert_eq!(Nanos(0).to_string(), "0s");
        assert_eq!(PerSecond(0.1).to_string(), "0.1/s");
        assert_eq!(Size::Free(0.1).to_string(), "free*0.1");
    }

    /// Protects against guessed units: integers are sizes, but a time without a unit is ambiguous.
    #[test]
    fn bare_numbers_are_sizes_but_not_times() {
        assert_eq!(plumb_document::json::from_str::<Bytes>("4096").unwrap(), Bytes(4096));
        assert_eq!(plumb_document::json::from_str::<Size>("4096").unwrap(), Size::Bytes(Bytes(4096)));
        assert_eq!(plumb_document::json::from_str::<PerSecond>("10").unwrap(), PerSecond(10.0));
        assert_eq!(plumb_document::json::from_str::<Nanos>("0").unwrap(), Nanos(0));
        assert!(plumb_document::json::from_str::<Nanos>("30").unwrap_err().to_string().contains("unit"));
        assert!(plumb_document::json::from_str::<Bytes>("-1").is_err());
    }

    proptest! {
        #[test]
        fn bytes_round_trip(value: u64) {
            prop_assert_eq!(Bytes(value).to_string().parse(), Ok(Bytes(value)));
        }

        #[test]
        fn nanos_round_trip(value: u64) {
            prop_assert_eq!(Nanos(value).to_string().parse(), Ok(Nanos(value)));
        }

        #[test]
        fn factors_round_trip(value in 1e-12_f64..1e15) {
            prop_assert_eq!(PerSecond(value).to_string().parse(), Ok(PerSecond(value)));
            prop_assert_eq!(Size::Ram(value).to_string().parse(), Ok(Size::Ram(value)));
            prop_assert_eq!(Size::Free(value).to_string().parse(), Ok(Size::Free(value)));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,24}", number in "[0-9._]{0,24}", unit in "[a-zA-Zµ/*% ]{0,5}") {
            for text in [text.as_str(), &format!("{number}{unit}"), &format!("ram*{number}{unit}")] {
                let _ = text.parse::<Bytes>();
                let _ = text.parse::<Nanos>();
                let _ = text.parse::<PerSecond>();
                let _ = text.parse::<Size>();
            }
        }
    }
}
