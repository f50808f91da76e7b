//! Numbers in dd's syntax: GNU's suffixes and those of the BSDs.

/// A parsed number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    pub value: u64,
    /// Whether it ends in GNU's `B`, and counts bytes instead of blocks.
    pub counts_bytes: bool,
    /// Whether it starts with `0x`, which GNU reads as zero times a number.
    pub is_zero_multiplier: bool,
}

/// Error from parsing a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotNumber {
    Invalid,
    /// Without digits, in BSD syntax.
    NoDigits,
    TooLarge,
}

/// Maximum, because offsets are signed.
const MOST: u128 = i64::MAX as u128;

/// Parses a number by GNU's rules: digits; one of `c w b k K M G T P E Z Y`, where a `B` after it makes it a power of
/// 1000 and `iB` one of 1024; `B` for bytes; numbers multiplied by `x`. A suffix without digits means one of it.
pub fn gnu(text: &str) -> Result<Number, NotNumber> {
    let value = match gnu_product(text)? {
        value if value > MOST => return Err(NotNumber::TooLarge),
        value => value as u64,
    };
    let is_zero_multiplier = value == 0 && text.starts_with("0x");
    Ok(Number { value, counts_bytes: text.contains('B'), is_zero_multiplier })
}

fn gnu_product(text: &str) -> Result<u128, NotNumber> {
    let Parsed { value, rest } = gnu_factor(text)?;
    let rest = match rest.strip_prefix('B') {
        // Bytes, except for the `B` of a suffix.
        Some(behind) if !text[..text.len() - rest.len()].ends_with('B') => behind,
        _ => rest,
    };
    match rest.strip_prefix('x') {
        None if rest.is_empty() => Ok(value),
        None => Err(NotNumber::Invalid),
        Some(more) => Ok(value.saturating_mul(gnu_product(more)?)),
    }
}

struct Parsed<'t> {
    value: u128,
    rest: &'t str,
}

fn gnu_factor(text: &str) -> Result<Parsed<'_>, NotNumber> {
    let spaceless = text.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    if spaceless.starts_with('-') {
        return Err(NotNumber::Invalid);
    }
    let unsigned = spaceless.strip_prefix('+').unwrap_or(spaceless);
    let digits = unsigned.len() - unsigned.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (value, rest) = match digits {
        // Without digits, the number is expected at the very beginning.
        0 => (1, text),
        _ => (decimal(&unsigned[..digits]), &unsigned[digits..]),
    };
    let mut letters = rest.chars();
    let Some(letter) = letters.next() else {
        return if digits == 0 { Err(NotNumber::Invalid) } else { Ok(Parsed { value, rest }) };
    };
    let power = match letter {
        'c' => return Ok(Parsed { value, rest: &rest[1..] }),
        'w' => return Ok(Parsed { value: value.saturating_mul(2), rest: &rest[1..] }),
        'b' => return Ok(Parsed { value: value.saturating_mul(512), rest: &rest[1..] }),
        'k' | 'K' => 1,
        'M' => 2,
        'G' => 3,
        'T' => 4,
        'P' => 5,
        'E' => 6,
        'Z' => 7,
        'Y' => 8,
        _ if digits == 0 => return Err(NotNumber::Invalid),
        _ => return Ok(Parsed { value, rest }),
    };
    let behind = &rest[1..];
    let (base, behind): (u128, &str) = match behind.as_bytes() {
        [b'i', b'B', ..] => (1024, &behind[2..]),
        [b'B' | b'D', ..] => (1000, &behind[1..]),
        _ => (1024, behind),
    };
    let value = (0..power).fold(value, |value, _| value.saturating_mul(base));
    Ok(Parsed { value, rest: behind })
}

/// Parses digits; an overflow stays an overflow.
fn decimal(digits: &str) -> u128 {
    digits.bytes().fold(0u128, |value, digit| value.saturating_mul(10).saturating_add(u128::from(digit - b'0')))
}

/// Parses a number by the BSDs' rules: decimal, octal (`0…`) or hexadecimal (`0x…`); one of `b k m g t p w` in either
/// case; numbers multiplied by `x` or `*`. Source: FreeBSD, dd(1) and bin/dd/args.c.
pub fn bsd(text: &str) -> Result<Number, NotNumber> {
    match bsd_product(text)? {
        value if value > MOST => Err(NotNumber::TooLarge),
        value => Ok(Number { value: value as u64, counts_bytes: false, is_zero_multiplier: false }),
    }
}

fn bsd_product(text: &str) -> Result<u128, NotNumber> {
    let (radix, body) = match text.as_bytes() {
        [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit() => (16, &text[2..]),
        [b'0', ..] => (8, text),
        _ => (10, text),
    };
    let digits = body.len() - body.trim_start_matches(|c: char| c.is_digit(radix)).len();
    if digits == 0 {
        return Err(NotNumber::NoDigits);
    }
    let value = body[..digits]
        .chars()
        .filter_map(|c| c.to_digit(radix))
        .fold(0u128, |value, digit| value.saturating_mul(radix.into()).saturating_add(digit.into()));
    let rest = &body[digits..];
    let multiple: Option<u128> = rest.chars().next().and_then(|letter| match letter.to_ascii_lowercase() {
        'b' => Some(512),
        'k' => Some(1 << 10),
        'm' => Some(1 << 20),
        'g' => Some(1 << 30),
        't' => Some(1 << 40),
        'p' => Some(1 << 50),
        'w' => Some(4),
        _ => None,
    });
    let (value, rest) = match multiple {
        Some(multiple) => (value.saturating_mul(multiple), &rest[1..]),
        None => (value, rest),
    };
    match rest.chars().next() {
        None => Ok(value),
        Some('x' | 'X' | '*') => Ok(value.saturating_mul(bsd_product(&rest[1..])?)),
        Some(_) => Err(NotNumber::Invalid),
    }
}
