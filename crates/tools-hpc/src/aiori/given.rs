//! Parses arguments like IOR's parser. An argument is split at its first `=`, and the value is that of every flag in
//! the cluster. Flags count, and a dash among letters is ignored. No library has these rules, so the parser is not
//! [`Words`](plumb_tools::options).

use super::error::{OptionError, other_back_end};
use super::launched::Launched;
use super::options::key;
use super::size::size;
use plumb_tools::Support;
use plumb_tools::options::{Opt, Table, Takes};
use plumb_workload::program::PacketKind;
use plumb_workload::{Nanos, NullDelays};
use std::collections::BTreeMap;

/// Limit of ranks in one process. Each is a thread.
const RANKS_MAX: u32 = 4096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue {
    /// Value of a flag or a number.
    Number(i64),
    Text(String),
}

/// Options as given, by key. The last occurrence of an option counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GivenOptions {
    values: BTreeMap<String, OptionValue>,
    /// Options without effect, each with the reason.
    pub ignored: Vec<(String, &'static str)>,
    pub help: bool,
}

/// Request of a command line of mdtest or md-workbench.
#[derive(Debug, Clone, PartialEq)]
pub enum Invocation<S> {
    Help,
    /// A run, with the options that have no effect.
    Run(Box<S>, Vec<(String, &'static str)>),
}

impl<S> Invocation<S> {
    /// Parses arguments by a tool's table. `settings` converts them.
    ///
    /// # Errors
    /// The first invalid argument.
    pub(crate) fn read(
        words: &[String],
        table: Table,
        settings: impl FnOnce(&GivenOptions) -> Result<S, OptionError>,
    ) -> Result<Invocation<S>, OptionError> {
        let given = GivenOptions::read(words, table)?;
        if given.help {
            return Ok(Invocation::Help);
        }
        let settings = settings(&given)?;
        Ok(Invocation::Run(Box::new(settings), given.ignored))
    }
}

impl GivenOptions {
    /// Parses arguments by a tool's table.
    ///
    /// # Errors
    /// The first invalid argument.
    pub fn read(words: &[String], table: Table) -> Result<GivenOptions, OptionError> {
        let mut given = GivenOptions::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            given.word(word, table, &mut || rest.next().cloned())?;
        }
        Ok(given)
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
        // The tools ignore a dash among letters: `-z-k` means `-z -k`.
        for (at, letter) in name.char_indices().filter(|(_, letter)| *letter != '-') {
            let Some(row) = table.lettered(letter) else {
                let nearest = table.named(name).map(|row| format!("--{}", row.name));
                return Err(OptionError::Unknown { word: word.to_owned(), nearest });
            };
            if row.takes == Takes::Flag {
                self.option(row, table, value.map(str::to_owned), next)?;
                continue;
            }
            // The value is attached to the letter, or follows the sign, or is the next argument.
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
    /// The name or the value is invalid.
    pub(crate) fn directive(&mut self, text: &str, table: Table) -> Result<(), OptionError> {
        let text = text.trim();
        let (name, value) =
            text.split_once('=').map_or((text, None), |(name, value)| (name.trim_end(), Some(value.trim())));
        let plain = name.trim_start_matches("--");
        // An older name of IOR's -C.
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

    /// Sets an option to a value. A flag without a value counts up. Errors call it `option`.
    ///
    /// # Errors
    /// The value is invalid, or the option is not supported.
    pub fn set(&mut self, row: &Opt, option: &str, value: Option<&str>) -> Result<(), OptionError> {
        let key = key(row);
        let invalid = |problem: String| OptionError::Value {
            option: option.to_owned(),
            value: value.unwrap_or_default().to_owned(),
            problem,
        };
        let value = match (row.takes, value) {
            (Takes::Flag, None) => OptionValue::Number(self.number(&key).unwrap_or(0) + 1),
            (Takes::Flag, Some(text)) => match text.trim().parse::<i64>() {
                Ok(count) => OptionValue::Number(count.clamp(0, 1 << 16)),
                Err(_) => return Err(invalid("is not a number; use 0 or 1".to_owned())),
            },
            (takes, text) if is_text(takes) => OptionValue::Text(text.unwrap_or_default().to_owned()),
            (takes, text) => {
                // Like the tools, ignore the fraction of a 32-bit number.
                let text = text.unwrap_or_default();
                let text = if takes == Takes::Number { text.split('.').next().unwrap_or(text) } else { text };
                let number = size(text).map_err(|error| invalid(error.to_string()))?;
                if takes == Takes::Number && i32::try_from(number).is_err() {
                    return Err(invalid(format!("is {number}, which exceeds 32 bits; use a smaller number")));
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

    /// Returns the number of an option.
    pub fn number(&self, key: &str) -> Option<i64> {
        match self.values.get(key) {
            Some(OptionValue::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// Returns the text of an option.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.values.get(key) {
            Some(OptionValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the text of an option that names something; `None` if it is empty.
    pub fn named(&self, key: &str) -> Option<String> {
        self.text(key).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Returns `true` if a flag is set.
    pub fn is_set(&self, key: &str) -> bool {
        self.number(key).is_some_and(|count| count > 0)
    }

    /// Returns `true` if an option has a value other than 0 or the empty text.
    pub fn is_given(&self, key: &str) -> bool {
        self.number(key).is_some_and(|number| number != 0) || self.named(key).is_some()
    }

    /// Returns a number that must not be negative.
    ///
    /// # Errors
    /// The number is negative.
    pub fn count(&self, key: &str, default: u64) -> Result<u64, OptionError> {
        let Some(number) = self.number(key) else { return Ok(default) };
        u64::try_from(number).map_err(|_| value_error(key, number.to_string(), "is negative; use 0 or more"))
    }

    /// Returns a number that must not be negative and fits 32 bits.
    ///
    /// # Errors
    /// The number is negative or too large.
    pub(crate) fn small_count(&self, key: &str, default: u32) -> Result<u32, OptionError> {
        let count = self.count(key, default.into())?;
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Returns the number of ranks: `--plumb-ranks`.
    ///
    /// # Errors
    /// There are no ranks, or too many.
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

    /// Returns the delays of calls in the back end DUMMY.
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

    /// Returns the kind of data packets, from the first letter of its name.
    ///
    /// # Errors
    /// The name is unknown.
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

/// Returns `true` if the value is text.
fn is_text(takes: Takes) -> bool {
    matches!(takes, Takes::Text | Takes::Directives | Takes::Script)
}

/// Creates an error for the value of an option, by key.
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

    // Protects typical command lines: every way in which IOR's parser accepts a value, clusters, and flags that
    // count.
    #[test]
    fn values_are_attached_in_every_way() {
        for line in ["-n 4k", "-n=4k", "-n4k", "-vn4k", "-v -F -n 4096"] {
            assert_eq!(read(line).unwrap().number("n"), Some(4096), "{line}");
        }
        let given = read("-vvv -F=0 -d=a=b").unwrap();
        assert_eq!((given.number("v"), given.is_set("F"), given.text("d")), (Some(3), false, Some("a=b")));
        assert_eq!(read("--dir x").unwrap().text("d"), Some("x"));
        assert!(read("-h").unwrap().help);
    }

    // Protects against numbers that wrap around, and against unknown arguments.
    #[test]
    fn errors_name_the_option_and_contain_a_hint() {
        let error_of = |line: &str| read(line).unwrap_err().to_string();
        assert_eq!(error_of("-n"), "-n needs a value: -n SIZE");
        assert!(error_of("-n 99999999999p").contains("exceeds 64 bits"));
        assert!(error_of("-i 3g").contains("exceeds 32 bits"));
        assert!(error_of("-n 4x").contains("unknown suffix `x`"));
        assert!(error_of("-n x").contains("is not a size"));
        assert_eq!(error_of("--dirr x"), "unknown option `--dirr`; did you mean `--dir`?");
        assert_eq!(error_of("out"), "unexpected argument `out`; options begin with a dash");
        assert_eq!(error_of("-q"), "-q is not yet supported: leave it out");
        assert_eq!(read("-q=0").unwrap().ignored, []);
    }
}
