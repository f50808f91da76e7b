//! Splits a command line as the C library's getopt does.

use super::refusal::Refusal;

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
pub(super) struct Options<'a> {
    called: &'a str,
    letters: &'a str,
    words: std::slice::Iter<'a, String>,
    /// What is left of a word of several letters.
    rest: &'a str,
    operands: Vec<&'a str>,
}

impl<'a> Options<'a> {
    /// For the program named `called`.
    pub(super) fn new(called: &'a str, letters: &'a str, words: &'a [String]) -> Options<'a> {
        Options { called, letters, words: words.iter(), rest: "", operands: Vec::new() }
    }

    /// The next letter with its value; an error for an unknown letter or a missing value.
    pub(super) fn next(&mut self) -> Option<Result<(char, Option<&'a str>), WordError>> {
        while self.rest.is_empty() {
            let word = self.words.next()?.as_str();
            match word.strip_prefix('-') {
                Some("-") => {
                    self.operands.extend(self.words.by_ref().map(String::as_str));
                    return None;
                }
                Some(rest) if !rest.is_empty() => self.rest = rest,
                _ => self.operands.push(word),
            }
        }
        let letter = self.rest.chars().next()?;
        self.rest = &self.rest[letter.len_utf8()..];
        let called = self.called;
        let Some(at) = self.letters.find(letter).filter(|_| letter != ':') else {
            return Some(Err(WordError::Unknown { called: called.to_owned(), letter }));
        };
        let colons = self.letters[at + 1..].chars().take_while(|&next| next == ':').count();
        let value = match colons {
            0 => None,
            // What is optional is attached.
            2 => Some(std::mem::take(&mut self.rest)).filter(|value| !value.is_empty()),
            _ if !self.rest.is_empty() => Some(std::mem::take(&mut self.rest)),
            _ => match self.words.next() {
                Some(next) => Some(next.as_str()),
                None => return Some(Err(WordError::NoValue { called: called.to_owned(), letter })),
            },
        };
        Some(Ok((letter, value)))
    }

    /// Arguments that are not options, as far as read.
    pub(super) fn operands(&self) -> &[&'a str] {
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
