//! A command line taken apart: options as getopt(3) reads them, and their values.

use super::options::Opt;
use super::settings::{Pair, Wrong};
use crate::Support;

/// An option with its value.
pub(super) type Said = (&'static Opt, String);

/// Words up to `--`, as getopt(3) reads them; what is left stands behind it.
pub(super) fn getopt<'a>(table: &'static [Opt], words: &'a [String]) -> Result<(Vec<Said>, &'a [String]), Wrong> {
    let mut said = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        if word == "--" {
            return Ok((said, &words[at..]));
        }
        let Some(mut letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
            return Err(Wrong::Word(word.clone()));
        };
        while let Some(letter) = letters.chars().next() {
            letters = &letters[letter.len_utf8()..];
            let row = table.iter().find(|row| row.letter == letter).ok_or(Wrong::Unknown(letter))?;
            if let Support::NotYet(why) | Support::Never(why) = row.support {
                return Err(Wrong::NotYet { letter, why });
            }
            let mut value = String::new();
            if !row.value.is_empty() {
                value = std::mem::take(&mut letters).to_owned();
                // Where it may be left out, a word that is another option is none.
                let optional = row.value.starts_with('[');
                let next = words.get(at).filter(|next| !optional || (takes_word(row) && !next.starts_with('-')));
                match next.filter(|_| value.is_empty()) {
                    Some(next) => {
                        value.clone_from(next);
                        at += 1;
                    }
                    None if value.is_empty() && !optional => return Err(Wrong::Lacks(letter)),
                    None => {}
                }
            }
            said.push((row, value));
        }
    }
    Ok((said, &[]))
}

/// Options whose value may be left out and may be a word of its own.
fn takes_word(row: &Opt) -> bool {
    row.value == "[LIST]" || row.letter == 'D'
}

/// Two values: `x` is both, `,x` the second, `x,` the first.
pub(super) fn pair(text: &str) -> Pair<Option<&str>> {
    let some = |text: &'_ str| -> bool { !text.is_empty() };
    match text.split_once(',') {
        None => Pair { local: Some(text).filter(|text| some(text)), remote: Some(text).filter(|text| some(text)) },
        Some((one, other)) => {
            Pair { local: Some(one).filter(|text| some(text)), remote: Some(other).filter(|text| some(text)) }
        }
    }
}

/// The value of one option, for errors.
pub(super) struct Value<'a>(pub(super) char, pub(super) &'a str);

impl Value<'_> {
    /// It is not what was expected.
    pub(super) fn wrong(&self, expected: &'static str) -> Wrong {
        Wrong::Value { letter: self.0, given: self.1.to_owned(), expected }
    }

    /// A whole number.
    pub(super) fn whole(&self, text: &str) -> Result<i64, Wrong> {
        text.trim().parse().map_err(|_| self.wrong("a whole number"))
    }

    /// A whole number in the range of a type.
    pub(super) fn small<T: TryFrom<i64>>(&self, text: &str, expected: &'static str) -> Result<T, Wrong> {
        T::try_from(self.whole(text)?).map_err(|_| self.wrong(expected))
    }

    /// A time, s.
    pub(super) fn seconds(&self, text: &str) -> Result<f64, Wrong> {
        let seconds = text.trim().parse::<f64>().ok().filter(|seconds| seconds.is_finite() && seconds.abs() < 1e9);
        seconds.ok_or_else(|| self.wrong("seconds"))
    }

    /// Bytes: K, M, G are powers of 1024, k, m, g of 1000.
    pub(super) fn bytes(&self, text: &str) -> Result<u32, Wrong> {
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
        bytes.map(|bytes| bytes as u32).ok_or_else(|| self.wrong("bytes below 2 GiB"))
    }

    /// Bytes of both ends.
    pub(super) fn byte_pair(&self) -> Result<Pair<Option<u32>>, Wrong> {
        let Pair { local, remote } = pair(self.1);
        let of = |text: Option<&str>| text.map(|text| self.bytes(text)).transpose();
        Ok(Pair { local: of(local)?, remote: of(remote)? })
    }

    /// A host, and its family.
    pub(super) fn host(&self, v6: &mut Option<bool>) -> Result<Option<String>, Wrong> {
        let (host, family) = self.1.split_once(',').unwrap_or((self.1, ""));
        match family {
            "" => {}
            "4" | "inet" => *v6 = Some(false),
            "6" | "inet6" => *v6 = Some(true),
            _ => return Err(self.wrong("HOST, HOST,4 or HOST,6")),
        }
        Ok(Some(host).filter(|host| !host.is_empty()).map(str::to_owned))
    }

    /// A byte in base 10, 8 or 16.
    pub(super) fn service(&self, text: &str) -> Result<u8, Wrong> {
        let number = match (text.strip_prefix("0x"), text.strip_prefix('0')) {
            (Some(hex), _) => u8::from_str_radix(hex, 16),
            (None, Some(octal)) if !octal.is_empty() => u8::from_str_radix(octal, 8),
            _ => text.parse(),
        };
        number.map_err(|_| self.wrong("a number from 0 to 255, such as 0x10"))
    }
}

/// What has no effect, and why.
pub(super) fn ignored(said: &[Said]) -> Vec<(char, &'static str)> {
    let why = |(row, _): &Said| match row.support {
        Support::Ignored(why) => Some((row.letter, why)),
        _ => None,
    };
    said.iter().filter_map(why).collect()
}
