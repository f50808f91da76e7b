//! Values for reads, writes and trims: `4k,8k,16k`.
//!
//! The last value applies to the remaining slots, unless a comma ends the text. An empty slot keeps the default.
//! Without commas, a colon or a dash also separates values.

use super::kind::Kind;
use super::number::{Amount, amount, check_bounds, plain};
use super::reading::{Compat, Doubt, ValueError, ValueReading};
use super::shape::{Bounds, Slots};
use super::shapes::{Between, PerDirection};

/// A value that can stand alone, in a range, or in a slot for reads, writes or trims.
pub trait Scalar: Copy + Send + Sync + 'static {
    type Value: Copy + Default + PartialEq + Send + Sync + 'static;

    /// Returns the kind of value, for the help.
    fn kind(&self, slots: Slots) -> Kind;

    /// Parses one value; the text has no surrounding space.
    fn one(&self, text: &str, reading: &mut ValueReading<'_>) -> Result<Self::Value, ValueError>;
}

pub(super) type Slot<T> = Option<T>;

/// Splits at commas. With `dashes`, the rest after the last comma is also split at colons or dashes.
fn parts(text: &str, dashes: bool) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let mut cut = outside_parentheses(rest, ',', 0);
        if dashes && cut.is_none() {
            cut = outside_parentheses(rest, ':', 0);
            // A dash at the very beginning is a sign.
            cut = cut.or_else(|| outside_parentheses(rest, '-', 1));
        }
        let Some(cut) = cut else { break };
        parts.push(rest[..cut].trim());
        rest = &rest[cut + 1..];
    }
    parts.push(rest.trim());
    parts
}

fn outside_parentheses(text: &str, sign: char, from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (c == sign && depth == 0 && at >= from).then_some(at)
    })
}

/// Parses up to three values.
pub(super) fn three<T: Copy>(
    text: &str,
    dashes: bool,
    reading: &mut ValueReading<'_>,
    mut one: impl FnMut(&str, &mut ValueReading<'_>) -> Result<T, ValueError>,
) -> Result<PerDirection<Slot<T>>, ValueError> {
    let parts = parts(text, dashes);
    if parts.iter().all(|part| part.is_empty()) {
        return Err(ValueError::Missing);
    }
    // fio parses further values and discards them.
    if reading.compat == Compat::Meant && parts.iter().skip(3).any(|part| !part.is_empty()) {
        return Err(ValueError::TooMany { most: 3 });
    }
    let mut slots = [None; 3];
    for (slot, part) in slots.iter_mut().zip(&parts) {
        if !part.is_empty() {
            *slot = Some(one(part, reading)?);
        }
    }
    let last = parts.len().min(3) - 1;
    if !parts[last].is_empty() {
        let value = slots[last];
        slots[last..].fill(value);
    }
    Ok(PerDirection { read: slots[0], write: slots[1], trim: slots[2] })
}

/// Parses one value, or two separated by a dash.
pub(super) fn two<T: Copy>(
    text: &str,
    reading: &mut ValueReading<'_>,
    mut one: impl FnMut(&str, &mut ValueReading<'_>) -> Result<T, ValueError>,
) -> Result<Between<T>, ValueError> {
    let parts = parts(text, true);
    let low = one(parts[0], reading)?;
    match parts.as_slice() {
        [_] => Ok(Between { low, high: low }),
        [_, high] => Ok(Between { low, high: one(high, reading)? }),
        _ => Err(ValueError::TooMany { most: 2 }),
    }
}

/// Parses a 32-bit integer, like an `int` or an `unsigned int` of C.
pub(super) fn whole(text: &str, bounds: Bounds, reading: &mut ValueReading<'_>) -> Result<i64, ValueError> {
    if text.ends_with('z') {
        return Err(ValueError::grammar("a number of zones is not allowed here"));
    }
    let value = match amount(text, reading)? {
        Amount::Plain(value) => value,
        // fio reads `50%` as a negative number, which no user means.
        Amount::Percent(percent) if reading.compat == Compat::Meant && bounds.most == Some(100) => {
            let doubt = Doubt {
                written: text.to_owned(),
                here: percent.to_string(),
                fio: "reads it as a negative number".to_owned(),
            };
            reading.doubts.push(doubt);
            percent
        }
        Amount::Percent(_) => return Err(ValueError::grammar("a percentage is not allowed here")),
    };
    let fits = i128::from(i32::MIN)..=i128::from(u32::MAX);
    let value = match (fits.contains(&value), reading.compat) {
        (true, _) => value,
        (false, Compat::Strict) => i128::from(value as u32),
        (false, Compat::Meant) => {
            return Err(ValueError::OutOfBounds { value: value.to_string(), bounds: "32 bits".to_owned() });
        }
    };
    check_bounds(value, bounds).map(|value| value as i64)
}

/// Parses up to three ranges of bytes.
pub(super) fn ranges(
    text: &str,
    reading: &mut ValueReading<'_>,
) -> Result<PerDirection<Slot<Between<u64>>>, ValueError> {
    let one = |part: &str, reading: &mut ValueReading<'_>| {
        let cut = outside_parentheses(part, '-', 0).or_else(|| outside_parentheses(part, ':', 0));
        let cut = cut.ok_or_else(|| ValueError::grammar(format!("`{part}` is not a range such as 4k-64k")))?;
        let first = plain(part[..cut].trim(), reading)?;
        let second = plain(part[cut + 1..].trim(), reading)?;
        let (low, high) = (first.min(second), first.max(second));
        if low == 0 {
            return Err(ValueError::OutOfBounds { value: "0".to_owned(), bounds: "1 or more".to_owned() });
        }
        Ok(Between { low, high })
    };
    three(text, false, reading, one)
}
