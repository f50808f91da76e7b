//! Parses numbers, bytes and times, both as fio does and as the user meant.

use super::arithmetic::{Flavour, Letter, evaluate};
use super::reading::{Compat, ValueError, ValueReading};
use super::shape::{Bare, Bounds};
use plumb_workload::Nanos;
use std::fmt;

/// A number of bytes or ops, or a percentage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Amount {
    Plain(i128),
    Percent(i128),
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Plain(value) => write!(f, "{value}"),
            Amount::Percent(value) => write!(f, "{value} %"),
        }
    }
}

/// Parses a number with an optional byte suffix.
pub(super) fn amount(text: &str, reading: &mut ValueReading<'_>) -> Result<Amount, ValueError> {
    let fio = fio_amount(text, reading.kb_base);
    let meant = meant_amount(text, reading.kb_base);
    choose(text, fio, meant, reading, Amount::to_string)
}

/// Parses a length of time into nanoseconds.
pub(super) fn nanos(text: &str, bare: Bare, reading: &mut ValueReading<'_>) -> Result<i128, ValueError> {
    let fio = fio_micros(text, bare).map(|micros| i128::from(micros) * 1_000);
    let meant = meant_nanos(text, bare);
    choose(text, fio, meant, reading, |&nanos| shown_time(nanos))
}

/// Returns one of the two readings, and records a doubt if they differ.
fn choose<T: PartialEq>(
    text: &str,
    fio: Option<T>,
    meant: Option<T>,
    reading: &mut ValueReading<'_>,
    shown: impl Fn(&T) -> String,
) -> Result<T, ValueError> {
    let refused = || ValueError::NotANumber { text: text.to_owned() };
    match (reading.compat, fio, meant) {
        (Compat::Strict, fio, _) => fio.ok_or_else(refused),
        (Compat::Meant, None, None) => Err(refused()),
        (Compat::Meant, Some(fio), Some(meant)) if fio == meant => Ok(meant),
        (Compat::Meant, fio, Some(meant)) => {
            let fio = fio.map_or_else(|| "refuses it".to_owned(), |value| format!("reads {}", shown(&value)));
            reading.doubt(text, shown(&meant), fio);
            Ok(meant)
        }
        (Compat::Meant, Some(fio), None) => {
            reading.doubt(text, shown(&fio), "also ignores the rest".to_owned());
            Ok(fio)
        }
    }
}

fn shown_time(nanos: i128) -> String {
    if nanos % 1_000_000_000 == 0 {
        format!("{} s", nanos / 1_000_000_000)
    } else if nanos % 1_000_000 == 0 {
        format!("{} ms", nanos / 1_000_000)
    } else if nanos % 1_000 == 0 {
        format!("{} µs", nanos / 1_000)
    } else {
        format!("{nanos} ns")
    }
}

/// Parses an integer like C's `strtoll`: blanks, a sign, digits. Returns `None` without digits or on overflow.
fn leading_integer(text: &str) -> Option<i64> {
    let hex = text.contains("0x") || text.contains("0X");
    let trimmed = text.trim_start();
    let (negative, digits) = match trimmed.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    let (digits, radix) = if hex {
        let stripped = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
        (stripped.unwrap_or(digits), 16)
    } else {
        (digits, 10)
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let value = i64::from_str_radix(&digits[..end], radix).ok()?;
    Some(if negative { value.wrapping_neg() } else { value })
}

/// Returns fio's idea of the suffix: everything after the leading digits, if it begins with a letter or `%`.
fn fio_suffix(text: &str) -> Option<&str> {
    if text.len() < 2 {
        return None;
    }
    let mut digit_seen = false;
    let end = text
        .find(|c: char| {
            let goes_on = c.is_ascii_digit() || (matches!(c, '+' | '-') && !digit_seen);
            digit_seen |= c.is_ascii_digit();
            !goes_on
        })
        .unwrap_or(text.len());
    text[end..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '%').then_some(&text[end..])
}

fn fio_amount(text: &str, kb_base: u64) -> Option<Amount> {
    let value = if text.starts_with('(') {
        evaluate(text, Letter::Mebi, Flavour::Fio, 1)?.whole as i64
    } else {
        leading_integer(text)?
    };
    let Some(suffix) = fio_suffix(text) else { return Some(Amount::Plain(i128::from(value))) };
    let end = suffix.find([':', '-', ',', '/']).unwrap_or(suffix.len());
    let suffix = suffix[..end].to_ascii_lowercase();
    if suffix.starts_with('%') {
        return Some(Amount::Percent(i128::from(value)));
    }
    // fio swaps the two families of units: with a base of 1024, kib is 1000.
    let other_base = if kb_base == 1_000 { 1_024 } else { 1_000 };
    let power = suffix.chars().next().and_then(power);
    let base = if suffix.get(1..3) == Some("ib") { other_base } else { kb_base as i64 };
    let unit = power.map_or(1, |power| base.wrapping_pow(power));
    Some(Amount::Plain(i128::from(value.wrapping_mul(unit))))
}

fn power(letter: char) -> Option<u32> {
    match letter {
        'k' => Some(1),
        'm' => Some(2),
        'g' => Some(3),
        't' => Some(4),
        'p' => Some(5),
        _ => None,
    }
}

fn meant_amount(text: &str, kb_base: u64) -> Option<Amount> {
    let text = text.trim();
    if text.starts_with('(') {
        return evaluate(text, Letter::Mebi, Flavour::Meant, 1).map(|sum| Amount::Plain(sum.rounded()));
    }
    let (decimal, suffix) = Decimal::split(text)?;
    let suffix = suffix.trim_start().to_ascii_lowercase();
    if suffix == "%" {
        return Some(Amount::Percent(decimal.times(1)?));
    }
    let mut letters = suffix.chars();
    let unit = match letters.next().map(|letter| (power(letter), letter, letters.as_str())) {
        None => 1,
        Some((None, 'b', "")) => 1,
        Some((Some(power), _, "" | "b")) => i128::from(kb_base).pow(power),
        Some((Some(power), _, "i" | "ib")) => 1_024_i128.pow(power),
        Some(_) => return None,
    };
    Some(Amount::Plain(decimal.times(unit)?))
}

fn fio_micros(text: &str, bare: Bare) -> Option<i64> {
    let bare_micros = match bare {
        Bare::Seconds => 1_000_000,
        Bare::Micros => 1,
    };
    if text.starts_with('(') {
        let sum = evaluate(text, Letter::Minute, Flavour::Fio, bare_micros)?.whole as i64;
        return Some((sum / bare_micros).wrapping_mul(bare_micros));
    }
    let value = leading_integer(text)?;
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '+' | '-')).unwrap_or(text.len());
    let suffix = text[end..].to_ascii_lowercase();
    let unit = match suffix.as_str() {
        word if !word.starts_with(|c: char| c.is_ascii_alphabetic()) => bare_micros,
        word if word.starts_with("us") => 1,
        word if word.starts_with("ms") => 1_000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => 1,
    };
    Some(value.wrapping_mul(unit))
}

fn meant_nanos(text: &str, bare: Bare) -> Option<i128> {
    let mut rest = text.trim();
    let bare_nanos = match bare {
        Bare::Seconds => 1_000_000_000,
        Bare::Micros => 1_000,
    };
    if rest.starts_with('(') {
        let sum = evaluate(rest, Letter::Minute, Flavour::Meant, bare_nanos / 1_000)?;
        return Some(if sum.is_real { (sum.real * 1e3).round() as i128 } else { sum.whole.checked_mul(1_000)? });
    }
    let mut total = 0_i128;
    loop {
        let (decimal, after) = Decimal::split(rest)?;
        let after = after.trim_start();
        let end = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let unit = match after[..end].to_lowercase().as_str() {
            "" if after.is_empty() => i128::from(bare_nanos),
            "ns" | "nsec" => 1,
            "us" | "usec" | "µs" | "μs" => 1_000,
            "ms" | "msec" => 1_000_000,
            "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000_000,
            "m" | "min" | "mins" | "minute" | "minutes" => 60_000_000_000,
            "h" | "hr" | "hour" | "hours" => 3_600_000_000_000,
            "d" | "day" | "days" => 86_400_000_000_000,
            _ => return None,
        };
        total = total.checked_add(decimal.times(unit)?)?;
        rest = after[end..].trim_start();
        if rest.is_empty() {
            return Some(total);
        }
    }
}

/// An exact decimal number.
#[derive(Debug, Clone, Copy)]
struct Decimal {
    digits: i128,
    scale: i128,
}

impl Decimal {
    /// Splits a text into its leading number and the rest.
    fn split(text: &str) -> Option<(Decimal, &str)> {
        let (sign, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        if let Some(hex) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
            let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            let digits = i128::from(u64::from_str_radix(&hex[..end], 16).ok()?);
            return Some((Decimal { digits: sign * digits, scale: 1 }, &hex[end..]));
        }
        let whole_end = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
        let (whole, mut rest) = unsigned.split_at(whole_end);
        let mut fraction = "";
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
            fraction = &after[..end];
            if !fraction.is_empty() {
                rest = &after[end..];
            }
        }
        if whole.is_empty() && fraction.is_empty() || whole.len() + fraction.len() > 30 {
            return None;
        }
        let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let scale = 10_i128.pow(fraction.len() as u32);
        Some((Decimal { digits: sign * digits, scale }, rest))
    }

    /// Multiplies by a unit, rounding down.
    fn times(self, unit: i128) -> Option<i128> {
        Some(self.digits.checked_mul(unit)? / self.scale)
    }
}

/// Converts to an unsigned 64-bit number. fio lets a negative one wrap.
pub(super) fn wide(value: i128, compat: Compat) -> Result<u64, ValueError> {
    match (u64::try_from(value), compat) {
        (Ok(value), _) => Ok(value),
        (Err(_), Compat::Strict) => Ok(value as u64),
        (Err(_), Compat::Meant) => {
            Err(ValueError::OutOfBounds { value: value.to_string(), bounds: format!("0 to {}", u64::MAX) })
        }
    }
}

/// Parses an unsigned 64-bit number; percentages are not allowed.
pub(crate) fn plain(text: &str, reading: &mut ValueReading<'_>) -> Result<u64, ValueError> {
    if text.ends_with('z') {
        return Err(ValueError::grammar("a number of zones is not allowed here"));
    }
    match amount(text, reading)? {
        Amount::Plain(value) => wide(value, reading.compat),
        Amount::Percent(_) => Err(ValueError::grammar("a percentage is not allowed here")),
    }
}

/// Checks a number against its bounds.
pub(super) fn check_bounds(value: i128, bounds: Bounds) -> Result<i128, ValueError> {
    // An upper bound alone implies an unsigned number.
    let low = bounds.least.or(bounds.most.map(|_| 0)).map(i128::from);
    let high = bounds.most.map(i128::from);
    if low.is_some_and(|low| value < low) || high.is_some_and(|high| value > high) {
        let bounds = match (bounds.least, bounds.most) {
            (Some(low), Some(high)) => format!("{low} to {high}"),
            (Some(low), None) => format!("{low} or more"),
            (None, Some(high)) => format!("0 to {high}"),
            (None, None) => "all numbers".to_owned(),
        };
        return Err(ValueError::OutOfBounds { value: value.to_string(), bounds });
    }
    Ok(value)
}

pub(crate) fn time(text: &str, bare: Bare, reading: &mut ValueReading<'_>) -> Result<Nanos, ValueError> {
    let value = nanos(text, bare, reading)?;
    let bounds = || format!("0 to {} ns", u64::MAX);
    u64::try_from(value)
        .map(Nanos)
        .map_err(|_| ValueError::OutOfBounds { value: format!("{value} ns"), bounds: bounds() })
}
