//! Splits a command line as the C library's getopt does, over lexopt.

use super::refusal::Refusal;
use lexopt::{Arg, Parser};
use plumb_tools::options::text;

/// What the C library says of a letter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum WordError {
    /// Unknown option letter.
    #[error("{called}: invalid option -- '{letter}'\n")]
    Unknown {
        /// The program.
        called: String,
        /// The letter.
        letter: char,
    },
    /// Its value is missing.
    #[error("{called}: option requires an argument -- '{letter}'\n")]
    NoValue {
        /// The program.
        called: String,
        /// The letter.
        letter: char,
    },
}

/// Options of one letter. Source: getopt(3), with its `:` and `::`.
///
/// The string of letters is the tool's own and differs from version to version, so there is no table of options.
pub(super) struct Options<'a> {
    called: &'a str,
    letters: &'a str,
    parser: Parser,
    operands: Vec<String>,
}

impl<'a> Options<'a> {
    /// For the program named `called`.
    pub(super) fn new(called: &'a str, letters: &'a str, words: &[String]) -> Options<'a> {
        let mut parser = Parser::from_args(words.to_vec());
        parser.set_short_equals(false);
        Options { called, letters, parser, operands: Vec::new() }
    }

    /// The next letter with its value; an error for an unknown letter or a missing value.
    pub(super) fn next(&mut self) -> Option<Result<(char, Option<String>), WordError>> {
        let letter = loop {
            match self.parser.next().ok()?? {
                Arg::Short(letter) => break letter,
                // getopt(3) sees the letter `-`.
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
            // What is optional is attached.
            2 => self.parser.optional_value(),
            _ => match self.parser.value() {
                Ok(value) => Some(value),
                Err(_) => return Some(Err(WordError::NoValue { called: called.to_owned(), letter })),
            },
        };
        Some(Ok((letter, value.map(text))))
    }

    /// Arguments that are not options, as far as read.
    pub(super) fn operands(&self) -> &[String] {
        &self.operands
    }
}

/// What stands between colons, empty pieces left out; the last of `most` is all the rest. Source: strtok(3).
pub(super) fn fields(said: &str, most: usize) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = said;
    while found.len() + 1 < most {
        rest = rest.trim_start_matches(':');
        match rest.split_once(':') {
            Some((field, behind)) => {
                found.push(field);
                rest = behind;
            }
            None => break,
        }
    }
    if !rest.is_empty() {
        found.push(rest);
    }
    found
}

/// The number at the beginning, where there is one.
pub(super) fn leading(said: &str) -> Option<i64> {
    let said = said.trim_start();
    let (sign, digits) = match said.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, said.strip_prefix('+').unwrap_or(said)),
    };
    let end = digits.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(digits.len());
    let digits = &digits[..end];
    // More digits than a number holds are as many as it holds.
    (end > 0).then(|| sign * digits.parse::<i64>().unwrap_or(i64::MAX >> 24).min(i64::MAX >> 24))
}

/// The number at the beginning, 0 if there is none. Source: atoi(3).
pub(super) fn number(said: &str) -> i64 {
    leading(said).unwrap_or(0)
}

/// A number with one of these units after it, each 1024 of the one before.
pub(super) fn sized(said: &str, units: &str) -> i64 {
    let last = said.chars().last().map(|last| last.to_ascii_lowercase());
    let unit = last.and_then(|last| units.chars().position(|unit| unit == last));
    let factor = unit.map_or(1, |unit| 1i64 << (10 * (unit + 1)));
    number(said).saturating_mul(factor)
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
