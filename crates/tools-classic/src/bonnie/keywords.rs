//! Splits a command line like the C library's getopt, using lexopt.

use super::refusal::Refusal;
use lexopt::{Arg, Parser};
use plumb_tools::options::text;

/// The C library's complaints about an option letter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum WordError {
    #[error("{called}: invalid option -- '{letter}'\n")]
    Unknown { called: String, letter: char },
    #[error("{called}: option requires an argument -- '{letter}'\n")]
    NoValue { called: String, letter: char },
}

/// Options with one letter. Source: getopt(3), with its `:` and `::`.
///
/// The string of letters belongs to the tool and differs between versions, so there is no table of options.
pub(super) struct Options<'a> {
    called: &'a str,
    letters: &'a str,
    parser: Parser,
    operands: Vec<String>,
}

impl<'a> Options<'a> {
    /// Creates a parser for the program named `called`.
    pub(super) fn new(called: &'a str, letters: &'a str, words: &[String]) -> Options<'a> {
        let mut parser = Parser::from_args(words.to_vec());
        parser.set_short_equals(false);
        Options { called, letters, parser, operands: Vec::new() }
    }

    /// Returns the next letter with its value; an error for an unknown letter or a missing value.
    pub(super) fn next(&mut self) -> Option<Result<(char, Option<String>), WordError>> {
        let letter = loop {
            match self.parser.next().ok()?? {
                Arg::Short(letter) => break letter,
                // getopt(3) reads this as the letter `-`.
                Arg::Long(_) => break '-',
                Arg::Value(operand) => self.operands.push(text(operand)),
            }
        };
        let called = self.called;
        let Some(at) = self.letters.find(letter).filter(|_| letter != ':') else {
            return Some(Err(WordError::Unknown { called: called.to_owned(), letter }));
        };
        let colons = self.letters[at + 1..].chars().take_while(|&next| next == ':').count();
        let value = match colons {
            0 => None,
            // An optional value must be attached.
            2 => self.parser.optional_value(),
            _ => match self.parser.value() {
                Ok(value) => Some(value),
                Err(_) => return Some(Err(WordError::NoValue { called: called.to_owned(), letter })),
            },
        };
        Some(Ok((letter, value.map(text))))
    }

    /// Returns the arguments read so far that are not options.
    pub(super) fn operands(&self) -> &[String] {
        &self.operands
    }
}

/// Splits at colons and skips empty pieces; the last of `most` pieces contains the rest. Source: strtok(3).
pub(super) fn fields(text: &str, most: usize) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while found.len() + 1 < most {
        rest = rest.trim_start_matches(':');
        match rest.split_once(':') {
            Some((field, after)) => {
                found.push(field);
                rest = after;
            }
            None => break,
        }
    }
    if !rest.is_empty() {
        found.push(rest);
    }
    found
}

/// Returns the number at the start of the text, if any.
pub(super) fn leading(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(digits.len());
    let digits = &digits[..end];
    // A number with too many digits is limited to the maximum.
    (end > 0).then(|| sign * digits.parse::<i64>().unwrap_or(i64::MAX >> 24).min(i64::MAX >> 24))
}

/// Returns the number at the start of the text, or 0. Source: atoi(3).
pub(super) fn number(text: &str) -> i64 {
    leading(text).unwrap_or(0)
}

/// Parses a number with one of these units after it. Each unit is 1024 times the previous one.
pub(super) fn sized(text: &str, units: &str) -> i64 {
    let last = text.chars().last().map(|last| last.to_ascii_lowercase());
    let unit = last.and_then(|last| units.chars().position(|unit| unit == last));
    let factor = unit.map_or(1, |unit| 1i64 << (10 * (unit + 1)));
    number(text).saturating_mul(factor)
}

/// Removes Plumb's own `--compat=strict|true`; returns whether it is strict, and the other arguments.
pub(super) fn without_compat(words: &[String]) -> Result<(bool, Vec<String>), Refusal> {
    let mut is_exact = false;
    let mut rest = Vec::new();
    for word in words {
        match word.strip_prefix("--compat=") {
            Some("strict") => is_exact = true,
            Some("true") => is_exact = false,
            Some(other) => return Err(Refusal(format!("--compat: unknown value `{other}`; use `strict` or `true`\n"))),
            None => rest.push(word.clone()),
        }
    }
    Ok((is_exact, rest))
}
