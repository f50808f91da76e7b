//! Splits a command line into options as getopt(3) does, and parses their values.

use super::settings::{NetperfUsageError, Pair};
use plumb_tools::Support;
use plumb_tools::options::{Grammar, Word, Words};

/// One of the two parts of a command line.
pub(super) struct Part<'a> {
    /// Letters with their values; empty if there is none.
    pub(super) options: Vec<(char, String)>,
    /// Options without effect, each with the reason.
    pub(super) ignored: Vec<(char, &'static str)>,
    /// The unread arguments after `--`.
    pub(super) rest: &'a [String],
}

/// Parses the arguments up to `--`, as getopt(3) does.
pub(super) fn getopt(grammar: Grammar, words: &[String]) -> Result<Part<'_>, NetperfUsageError> {
    let mut part = Part { options: Vec::new(), ignored: Vec::new(), rest: &[] };
    let mut reader = Words::new(grammar, words);
    for word in reader.by_ref() {
        let (row, value) = match word {
            Ok(Word::Option(row, value)) => (row, value),
            Ok(Word::Operand(word)) => return Err(NetperfUsageError::Word(word)),
            Err(unknown) => return Err(NetperfUsageError::Unknown(unknown.letter)),
        };
        let letter = row.letter.unwrap_or_default();
        match row.support {
            Support::Works => {}
            Support::Ignored(why) => part.ignored.push((letter, why)),
            Support::NotYet(why) | Support::Never(why) => return Err(NetperfUsageError::NotYet { letter, why }),
        }
        if value.is_none() && row.takes.needs_value() {
            return Err(NetperfUsageError::Lacks(letter));
        }
        part.options.push((letter, value.unwrap_or_default()));
    }
    part.rest = &words[words.len() - reader.remaining()..];
    Ok(part)
}

/// Splits two values: `x` is both, `,x` the second, `x,` the first.
pub(super) fn pair(text: &str) -> Pair<Option<&str>> {
    let some = |text: &'_ str| -> bool { !text.is_empty() };
    match text.split_once(',') {
        None => Pair { local: Some(text).filter(|text| some(text)), remote: Some(text).filter(|text| some(text)) },
        Some((one, other)) => {
            Pair { local: Some(one).filter(|text| some(text)), remote: Some(other).filter(|text| some(text)) }
        }
    }
}

/// The letter and value of one option, for errors.
pub(super) struct Value<'a>(pub(super) char, pub(super) &'a str);

impl Value<'_> {
    /// Creates an error for an invalid value.
    pub(super) fn invalid(&self, expected: &'static str) -> NetperfUsageError {
        NetperfUsageError::Value { letter: self.0, given: self.1.to_owned(), expected }
    }

    pub(super) fn whole(&self, text: &str) -> Result<i64, NetperfUsageError> {
        text.trim().parse().map_err(|_| self.invalid("a whole number"))
    }

    /// Parses a whole number within the range of a type.
    pub(super) fn small<T: TryFrom<i64>>(&self, text: &str, expected: &'static str) -> Result<T, NetperfUsageError> {
        T::try_from(self.whole(text)?).map_err(|_| self.invalid(expected))
    }

    /// Parses a time, s.
    pub(super) fn seconds(&self, text: &str) -> Result<f64, NetperfUsageError> {
        let seconds = text.trim().parse::<f64>().ok().filter(|seconds| seconds.is_finite() && seconds.abs() < 1e9);
        seconds.ok_or_else(|| self.invalid("seconds"))
    }

    /// Parses bytes: K, M, G are powers of 1024; k, m, g of 1000.
    pub(super) fn bytes(&self, text: &str) -> Result<u32, NetperfUsageError> {
        let (digits, unit) = match text.chars().last() {
            Some('K') => (&text[..text.len() - 1], 1 << 10),
            Some('M') => (&text[..text.len() - 1], 1 << 20),
            Some('G') => (&text[..text.len() - 1], 1 << 30),
            Some('k') => (&text[..text.len() - 1], 1_000),
            Some('m') => (&text[..text.len() - 1], 1_000_000),
            Some('g') => (&text[..text.len() - 1], 1_000_000_000),
            _ => (text, 1u64),
        };
        let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
        let bytes = bytes.filter(|&bytes| bytes > 0).and_then(|bytes| i32::try_from(bytes).ok());
        bytes.map(|bytes| bytes as u32).ok_or_else(|| self.invalid("bytes below 2 GiB"))
    }

    /// Parses the bytes of both ends.
    pub(super) fn byte_pair(&self) -> Result<Pair<Option<u32>>, NetperfUsageError> {
        let Pair { local, remote } = pair(self.1);
        let of = |text: Option<&str>| text.map(|text| self.bytes(text)).transpose();
        Ok(Pair { local: of(local)?, remote: of(remote)? })
    }

    /// Parses a host, and its address family.
    pub(super) fn host(&self, v6: &mut Option<bool>) -> Result<Option<String>, NetperfUsageError> {
        let (host, family) = self.1.split_once(',').unwrap_or((self.1, ""));
        match family {
            "" => {}
            "4" | "inet" => *v6 = Some(false),
            "6" | "inet6" => *v6 = Some(true),
            _ => return Err(self.invalid("HOST, HOST,4 or HOST,6")),
        }
        Ok(Some(host).filter(|host| !host.is_empty()).map(str::to_owned))
    }

    /// Parses a byte in base 10, 8 or 16.
    pub(super) fn service(&self, text: &str) -> Result<u8, NetperfUsageError> {
        let number = match (text.strip_prefix("0x"), text.strip_prefix('0')) {
            (Some(hex), _) => u8::from_str_radix(hex, 16),
            (None, Some(octal)) if !octal.is_empty() => u8::from_str_radix(octal, 8),
            _ => text.parse(),
        };
        number.map_err(|_| self.invalid("a number from 0 to 255, such as 0x10"))
    }
}
