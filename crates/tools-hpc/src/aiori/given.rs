//! Reads words as IOR's parser does: a word is split at its first `=`, whose value is that of every flag in a cluster; flags count, and
//! a dash among letters is passed over. No library has these rules, so the reader is not [`Words`](plumb_tools::options).

use super::error::{OptionError, other_back_end};
use super::launched::Launched;
use super::options::key;
use super::size::size;
use plumb_tools::Support;
use plumb_tools::options::{Opt, Table, Takes};
use plumb_workload::program::PacketKind;
use plumb_workload::{Nanos, NullDelays};
use std::collections::BTreeMap;

/// Most ranks of one process: a thread each.
const RANKS_MAX: u32 = 4096;

/// A value that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue {
    /// Of a flag or a number.
    Number(i64),
    /// Text.
    Text(String),
}

/// The options as given, by key; the last word of an option holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GivenOptions {
    values: BTreeMap<String, OptionValue>,
    /// Options that were given and have no effect, with the reason.
    pub ignored: Vec<(String, &'static str)>,
    /// Help was asked for.
    pub help: bool,
}

/// What a command line of mdtest or md-workbench asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked<S> {
    /// The options.
    Help,
    /// A run, with what was said and has no effect.
    Run(Box<S>, Vec<(String, &'static str)>),
}

impl<S> Asked<S> {
    /// Reads words by the rows of a tool; `settings` says what they mean.
    ///
    /// # Errors
    /// The first error in them.
    pub(crate) fn read(
        words: &[String],
        table: Table,
        settings: impl FnOnce(&GivenOptions) -> Result<S, OptionError>,
    ) -> Result<Asked<S>, OptionError> {
        let said = GivenOptions::read(words, table)?;
        if said.help {
            return Ok(Asked::Help);
        }
        let settings = settings(&said)?;
        Ok(Asked::Run(Box::new(settings), said.ignored))
    }
}

impl GivenOptions {
    /// Reads words by the rows of a tool.
    ///
    /// # Errors
    /// The first error in them.
    pub fn read(words: &[String], table: Table) -> Result<GivenOptions, OptionError> {
        let mut said = GivenOptions::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            said.word(word, table, &mut || rest.next().cloned())?;
        }
        Ok(said)
    }

    fn word(&mut self, word: &str, table: Table, next: &mut dyn FnMut() -> Option<String>) -> Result<(), OptionError> {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let Some(name) = name.strip_prefix('-') else { return Err(OptionError::NoOption { word: word.to_owned() }) };
        if name == "h" || name == "-help" {
            self.help = true;
            return Ok(());
        }
        if let Some(long) = name.strip_prefix('-') {
            let Some(row) = table.named(long) else {
                if let Some(backend) = other_back_end(long) {
                    return Err(OptionError::OfBackEnd { word: word.to_owned(), backend });
                }
                let nearest = table.nearest(long).map(|name| format!("--{name}"));
                return Err(OptionError::Unknown { word: word.to_owned(), nearest });
            };
            return self.option(row, table, value.map(str::to_owned), next);
        }
        // The tools pass over a dash among letters: `-z-k` is `-z -k`.
        for (at, letter) in name.char_indices().filter(|(_, letter)| *letter != '-') {
            let Some(row) = table.lettered(letter) else {
                let nearest = table.named(name).map(|row| format!("--{}", row.name));
                return Err(OptionError::Unknown { word: word.to_owned(), nearest });
            };
            if row.takes == Takes::Flag {
                self.option(row, table, value.map(str::to_owned), next)?;
                continue;
            }
            // What follows the letter is its value, else what follows the sign, else the next word.
            let attached = &name[at + letter.len_utf8()..];
            let own = match (value, attached) {
                (Some(value), "") => Some(value.to_owned()),
                (Some(value), attached) => Some(format!("{attached}={value}")),
                (None, "") => None,
                (None, attached) => Some(attached.to_owned()),
            };
            return self.option(row, table, own, next);
        }
        if name.is_empty() { Err(OptionError::NoOption { word: word.to_owned() }) } else { Ok(()) }
    }

    fn option(
        &mut self,
        row: &Opt,
        table: Table,
        value: Option<String>,
        next: &mut dyn FnMut() -> Option<String>,
    ) -> Result<(), OptionError> {
        let option = row.written();
        let value = match row.takes {
            Takes::Flag => value,
            _ => {
                Some(value.or_else(next).filter(|value| !value.is_empty() || is_text(row.takes)).ok_or_else(|| {
                    let what = match row.takes {
                        Takes::Number => "NUMBER",
                        Takes::Size => "SIZE",
                        _ => "TEXT",
                    };
                    OptionError::NoValue { option: option.clone(), what }
                })?)
            }
        };
        if row.takes == Takes::Directives {
            let directives = value.as_deref().unwrap_or_default().split(',').filter(|text| !text.trim().is_empty());
            return directives.into_iter().try_for_each(|text| self.directive(text, table));
        }
        self.set(row, &option, value.as_deref())
    }

    /// Sets one directive: `name=value`, or a long option, in any case.
    ///
    /// # Errors
    /// Its name or value is wrong.
    pub(crate) fn directive(&mut self, text: &str, table: Table) -> Result<(), OptionError> {
        let text = text.trim();
        let (name, value) =
            text.split_once('=').map_or((text, None), |(name, value)| (name.trim_end(), Some(value.trim())));
        let plain = name.trim_start_matches("--");
        // IOR's older name for -C.
        let plain = if plain.eq_ignore_ascii_case("reorderTasks") { "reorderTasksConstant" } else { plain };
        let name = table.names().find(|name| name.eq_ignore_ascii_case(plain));
        let Some(row) = name.and_then(|name| table.named(name)) else {
            if let Some(backend) = other_back_end(plain) {
                return Err(OptionError::OfBackEnd { word: text.to_owned(), backend });
            }
            let nearest = table.nearest(plain).map(str::to_owned);
            return Err(OptionError::Unknown { word: text.to_owned(), nearest });
        };
        if matches!(row.takes, Takes::Directives | Takes::Script) {
            return Err(OptionError::OnCommandLine { option: plain.to_owned() });
        }
        self.set(row, plain, value)
    }

    /// Sets an option, written in its own way, to a text; a flag without one counts up.
    ///
    /// # Errors
    /// The value is invalid, or the option is not supported.
    pub fn set(&mut self, row: &Opt, option: &str, value: Option<&str>) -> Result<(), OptionError> {
        let key = key(row);
        let wrong = |problem: String| OptionError::Value {
            option: option.to_owned(),
            value: value.unwrap_or_default().to_owned(),
            problem,
        };
        let value = match (row.takes, value) {
            (Takes::Flag, None) => OptionValue::Number(self.number(&key).unwrap_or(0) + 1),
            (Takes::Flag, Some(text)) => match text.trim().parse::<i64>() {
                Ok(count) => OptionValue::Number(count.clamp(0, 1 << 16)),
                Err(_) => return Err(wrong("is not a number; use 0 or 1".to_owned())),
            },
            (takes, text) if is_text(takes) => OptionValue::Text(text.unwrap_or_default().to_owned()),
            (takes, text) => {
                // A fraction of a number of 32 bits has no meaning, and is left out, as in the tools.
                let text = text.unwrap_or_default();
                let text = if takes == Takes::Number { text.split('.').next().unwrap_or(text) } else { text };
                let number = size(text).map_err(|error| wrong(error.to_string()))?;
                if takes == Takes::Number && i32::try_from(number).is_err() {
                    return Err(wrong(format!("is {number}, which exceeds 32 bits; use a smaller number")));
                }
                OptionValue::Number(number)
            }
        };
        let given = value != OptionValue::Number(0);
        match row.support {
            Support::Works => {}
            Support::Ignored(why) => self.ignored.push((option.to_owned(), why)),
            Support::NotYet(why) if given => {
                return Err(OptionError::Unsupported { option: option.to_owned(), when: "not yet", why });
            }
            Support::Never(why) if given => {
                return Err(OptionError::Unsupported { option: option.to_owned(), when: "never", why });
            }
            Support::NotYet(_) | Support::Never(_) => {}
        }
        self.values.insert(key, value);
        Ok(())
    }

    /// The number of an option.
    pub fn number(&self, key: &str) -> Option<i64> {
        match self.values.get(key) {
            Some(OptionValue::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// The text of an option.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.values.get(key) {
            Some(OptionValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The text of an option that names something; an empty one names nothing.
    pub fn named(&self, key: &str) -> Option<String> {
        self.text(key).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Whether a flag is set.
    pub fn is_set(&self, key: &str) -> bool {
        self.number(key).is_some_and(|count| count > 0)
    }

    /// Whether an option was given another value than none or 0.
    pub fn is_given(&self, key: &str) -> bool {
        self.number(key).is_some_and(|number| number != 0) || self.named(key).is_some()
    }

    /// A number that cannot be negative, and its default.
    ///
    /// # Errors
    /// It is negative.
    pub fn count(&self, key: &str, default: u64) -> Result<u64, OptionError> {
        let Some(number) = self.number(key) else { return Ok(default) };
        u64::try_from(number).map_err(|_| value_error(key, number.to_string(), "is negative; use 0 or more"))
    }

    /// The same in 32 bits.
    ///
    /// # Errors
    /// It is negative, or too large.
    pub(crate) fn small_count(&self, key: &str, default: u32) -> Result<u32, OptionError> {
        let count = self.count(key, default.into())?;
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// How many ranks there are: `--plumb-ranks`.
    ///
    /// # Errors
    /// None, or too many.
    pub fn ranks(&self, launched: Option<&Launched>) -> Result<u32, OptionError> {
        if let Some(launched) = launched {
            return match self.number("plumb-ranks") {
                None => Ok(launched.ranks),
                Some(asked) => Err(value_error(
                    "plumb-ranks",
                    asked.to_string(),
                    "is for ranks in one process; leave it out under mpirun",
                )),
            };
        }
        let ranks = self.small_count("plumb-ranks", 1)?;
        match (1..=RANKS_MAX).contains(&ranks) {
            true => Ok(ranks),
            false => {
                Err(value_error("plumb-ranks", ranks.to_string(), &format!("is not possible; use 1 to {RANKS_MAX}")))
            }
        }
    }

    /// How long calls of the back end DUMMY take.
    ///
    /// # Errors
    /// A delay is negative.
    pub(crate) fn dummy_delays(&self) -> Result<NullDelays, OptionError> {
        let delay = |call: &str| {
            let us = self.small_count(&format!("dummy.delay-{call}"), 0)?;
            Ok(Nanos(u64::from(us) * 1000))
        };
        Ok(NullDelays {
            create: delay("create")?,
            close: delay("close")?,
            sync: delay("sync")?,
            transfer: delay("xfer")?,
        })
    }

    /// Data packets, by the first letter of their name.
    ///
    /// # Errors
    /// There are none of this name.
    pub fn packets(&self, key: &str) -> Result<PacketKind, OptionError> {
        let word = self.text(key).unwrap_or_default();
        match word.as_bytes().first() {
            None | Some(b't') => Ok(PacketKind::Timestamp),
            Some(b'i') => Ok(PacketKind::Incompressible),
            Some(b'o') => Ok(PacketKind::Offset),
            Some(b'r') => Ok(PacketKind::Random),
            Some(_) => Err(value_error(key, word, "names unknown packets; use o, i, t or r")),
        }
    }
}

/// Whether a value is read as text.
fn is_text(takes: Takes) -> bool {
    matches!(takes, Takes::Text | Takes::Directives | Takes::Script)
}

/// An error in the value of the option with this key.
pub(crate) fn value_error(key: &str, value: impl Into<String>, problem: &str) -> OptionError {
    let option = if key.len() == 1 { format!("-{key}") } else { format!("--{key}") };
    OptionError::Value { option, value: value.into(), problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_tools::options::{both, letter};

    const TABLE: Table = Table(&[&[
        letter('v', Takes::Flag, ""),
        letter('F', Takes::Flag, ""),
        letter('n', Takes::Size, ""),
        letter('i', Takes::Number, ""),
        both('d', "dir", Takes::Text, ""),
        letter('q', Takes::Flag, "").but(Support::NotYet("leave it out")),
    ]]);

    fn read(line: &str) -> Result<GivenOptions, OptionError> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        GivenOptions::read(&words, TABLE)
    }

    // Protects what people type: every way of IOR's parser to attach a value, clusters, and flags that count.
    #[test]
    fn values_are_attached_in_every_way() {
        for line in ["-n 4k", "-n=4k", "-n4k", "-vn4k", "-v -F -n 4096"] {
            assert_eq!(read(line).unwrap().number("n"), Some(4096), "{line}");
        }
        let said = read("-vvv -F=0 -d=a=b").unwrap();
        assert_eq!((said.number("v"), said.is_set("F"), said.text("d")), (Some(3), false, Some("a=b")));
        assert_eq!(read("--dir x").unwrap().text("d"), Some("x"));
        assert!(read("-h").unwrap().help);
    }

    // Protects from numbers that wrap around, and from words that mean nothing.
    #[test]
    fn errors_name_the_option_and_the_way_out() {
        let told = |line: &str| read(line).unwrap_err().to_string();
        assert_eq!(told("-n"), "-n needs a value: -n SIZE");
        assert!(told("-n 99999999999p").contains("exceeds 64 bits"));
        assert!(told("-i 3g").contains("exceeds 32 bits"));
        assert!(told("-n 4x").contains("unknown suffix `x`"));
        assert!(told("-n x").contains("is not a size"));
        assert_eq!(told("--dirr x"), "unknown option `--dirr`; did you mean `--dir`?");
        assert_eq!(told("out"), "unexpected argument `out`; options begin with a dash");
        assert_eq!(told("-q"), "-q is not yet supported: leave it out");
        assert_eq!(read("-q=0").unwrap().ignored, []);
    }
}
