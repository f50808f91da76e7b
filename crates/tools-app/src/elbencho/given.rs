//! Options as given on the command line and in an options file.

use super::ElbenchoUsageError;
use super::options::{WORDS, named};
use plumb_tools::FileError;
use plumb_tools::Support;
use plumb_tools::options::{Opt, Takes, UnknownOption, Word, Words};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct GivenOptions {
    /// Values by option name. A flag has the value [`ON`].
    given: BTreeMap<&'static str, String>,
    /// Arguments that are not options.
    pub(super) paths: Vec<String>,
}

/// Value of a flag that is on.
const ON: &str = "true";

impl GivenOptions {
    pub(super) fn read(
        words: &[String],
        file: &mut dyn FnMut(&str) -> Result<String, FileError>,
    ) -> Result<GivenOptions, ElbenchoUsageError> {
        let mut options = GivenOptions::default();
        // Flags that the command line turned off, which an options file cannot turn on.
        let mut off: Vec<&'static str> = Vec::new();
        for word in Words::new(WORDS, words) {
            match word? {
                Word::Option(option, value) => options.take(option, value, &mut off)?,
                Word::Operand(path) => options.paths.push(path),
            }
        }
        if let Some(path) = options.given.get("configfile").cloned() {
            let text = file(&path).map_err(|error| ElbenchoUsageError::ConfigFile(error.to_string()))?;
            options.config(&path, &text, &off)?;
        }
        if let Some(path) = options.given.get("path") {
            options.paths.push(path.clone());
        }
        Ok(options)
    }

    fn take(
        &mut self,
        option: &'static Opt,
        value: Option<String>,
        off: &mut Vec<&'static str>,
    ) -> Result<(), ElbenchoUsageError> {
        let value = match (option.takes, value) {
            (Takes::Flag, None) => ON.to_owned(),
            (Takes::Flag, Some(value)) => match switch(&value) {
                Some(true) => ON.to_owned(),
                Some(false) => {
                    off.push(option.name);
                    return Ok(());
                }
                None => return Err(ElbenchoUsageError::NoSuchSwitch { name: option.name, value }),
            },
            (_, value) => value.ok_or(ElbenchoUsageError::NoValue { name: option.name })?,
        };
        let again = self.given.insert(option.name, value).is_some();
        if again && option.takes != Takes::Flag {
            return Err(ElbenchoUsageError::Twice { name: option.name });
        }
        Ok(())
    }

    /// Reads an options file with lines of `NAME=VALUE`. The command line takes precedence.
    fn config(&mut self, path: &str, text: &str, off: &[&'static str]) -> Result<(), ElbenchoUsageError> {
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let place = || format!("{path}:{}", number + 1);
            let Some((name, value)) = line.split_once('=') else {
                return Err(ElbenchoUsageError::ConfigFile(format!("{}: `{line}` is not NAME=VALUE", place())));
            };
            let (name, value) = (name.trim(), value.trim());
            let option = named(name)
                .ok_or_else(|| ElbenchoUsageError::ConfigFile(format!("{}: unknown option `{name}`", place())))?;
            if off.contains(&option.name) || self.given.contains_key(option.name) {
                continue;
            }
            if option.takes == Takes::Flag {
                match switch(value) {
                    Some(true) => self.given.insert(option.name, ON.to_owned()),
                    Some(false) => continue,
                    None => {
                        return Err(ElbenchoUsageError::NoSuchSwitch { name: option.name, value: value.to_owned() });
                    }
                };
            } else {
                self.given.insert(option.name, value.to_owned());
            }
        }
        Ok(())
    }

    /// Returns an error for each option that Plumb does not support.
    pub(super) fn refusals(&self) -> impl Iterator<Item = ElbenchoUsageError> + '_ {
        self.given.keys().filter_map(|name| {
            let option = named(name)?;
            match option.support {
                Support::Works | Support::Ignored(_) => None,
                Support::NotYet(why) => Some(ElbenchoUsageError::NotYet { name: option.name, why }),
                Support::Never(why) => Some(ElbenchoUsageError::Never { name: option.name, why }),
            }
        })
    }

    pub(super) fn is_on(&self, name: &'static str) -> bool {
        debug_assert!(named(name).is_some_and(|option| option.takes == Takes::Flag), "{name}");
        self.given.contains_key(name)
    }

    /// Returns the value as given, or `None`.
    pub(super) fn text(&self, name: &'static str) -> Option<&str> {
        debug_assert!(named(name).is_some_and(|option| option.takes != Takes::Flag), "{name}");
        self.given.get(name).map(String::as_str)
    }

    /// Returns the value as given, or the table's default.
    pub(super) fn value(&self, name: &'static str) -> &str {
        self.text(name).unwrap_or_else(|| named(name).map_or("", |option| option.default))
    }
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

impl From<UnknownOption> for ElbenchoUsageError {
    fn from(unknown: UnknownOption) -> ElbenchoUsageError {
        let Some(name) = unknown.name else {
            return ElbenchoUsageError::Unknown { given: format!("-{}", unknown.letter), nearest: None };
        };
        let given = format!("--{name}");
        if unknown.candidates.is_empty() {
            return ElbenchoUsageError::Unknown { given, nearest: WORDS.table.nearest(&name) };
        }
        let candidates: Vec<String> = unknown.candidates.iter().map(|option| format!("--{}", option.name)).collect();
        ElbenchoUsageError::Ambiguous { given, candidates: candidates.join(", ") }
    }
}
