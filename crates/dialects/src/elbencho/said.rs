//! Splits the command line by the rules of boost's `program_options`: long names can be abbreviated, letters combined,
//! and values joined or separate.

use super::Wrong;
use super::options::{OPTIONS, Opt, Support, Takes, lettered, named};
use crate::FileError;
use plumb_workload::suggest::nearest;
use std::collections::BTreeMap;

/// The options as said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// By name; a switch has no text.
    given: BTreeMap<&'static str, String>,
    /// What is not an option.
    pub(super) paths: Vec<String>,
}

/// A switch that is on.
const ON: &str = "true";

impl Said {
    pub(super) fn read(
        words: &[String],
        file: &mut dyn FnMut(&str) -> Result<String, FileError>,
    ) -> Result<Said, Wrong> {
        let mut said = Said::default();
        // What was switched off holds against a file of options.
        let mut off: Vec<&'static str> = Vec::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == "--" {
                said.paths.extend(words.by_ref().cloned());
            } else if let Some(long) = word.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (long, None),
                };
                let option = find(name)?;
                said.take(option, value.map(str::to_owned), &mut words, &mut off)?;
            } else if word.len() > 1 && word.starts_with('-') {
                said.letters(&word[1..], &mut words, &mut off)?;
            } else {
                said.paths.push(word.clone());
            }
        }
        if let Some(path) = said.given.get("configfile").cloned() {
            let text = file(&path).map_err(|error| Wrong::ConfigFile(error.to_string()))?;
            said.config(&path, &text, &off)?;
        }
        if let Some(path) = said.given.get("path") {
            said.paths.push(path.clone());
        }
        Ok(said)
    }

    fn letters<'w>(
        &mut self,
        letters: &str,
        words: &mut impl Iterator<Item = &'w String>,
        off: &mut Vec<&'static str>,
    ) -> Result<(), Wrong> {
        for (at, letter) in letters.char_indices() {
            let unknown = || Wrong::Unknown { given: format!("-{letter}"), nearest: None };
            let option = lettered(letter).ok_or_else(unknown)?;
            let rest = &letters[at + letter.len_utf8()..];
            if option.takes == Takes::Nothing && !rest.starts_with('=') {
                self.take(option, None, words, off)?;
                continue;
            }
            let value = rest.strip_prefix('=').unwrap_or(rest);
            let value = (!rest.is_empty()).then(|| value.to_owned());
            return self.take(option, value, words, off);
        }
        Ok(())
    }

    fn take<'w>(
        &mut self,
        option: &'static Opt,
        value: Option<String>,
        words: &mut impl Iterator<Item = &'w String>,
        off: &mut Vec<&'static str>,
    ) -> Result<(), Wrong> {
        let value = match (option.takes, value) {
            (Takes::Nothing, None) => ON.to_owned(),
            (Takes::Nothing, Some(value)) => match switch(&value) {
                Some(true) => ON.to_owned(),
                Some(false) => {
                    off.push(option.name);
                    return Ok(());
                }
                None => return Err(Wrong::NoSuchSwitch { name: option.name, value }),
            },
            (_, Some(value)) => value,
            (_, None) => words.next().cloned().ok_or(Wrong::NoValue { name: option.name })?,
        };
        let again = self.given.insert(option.name, value).is_some();
        if again && option.takes != Takes::Nothing {
            return Err(Wrong::Twice { name: option.name });
        }
        Ok(())
    }

    /// A file of options: lines of `NAME=VALUE`. What the command line says comes first.
    fn config(&mut self, path: &str, text: &str, off: &[&'static str]) -> Result<(), Wrong> {
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let place = || format!("{path}:{}", number + 1);
            let Some((name, value)) = line.split_once('=') else {
                return Err(Wrong::ConfigFile(format!("{}: `{line}` is not NAME=VALUE", place())));
            };
            let (name, value) = (name.trim(), value.trim());
            let option =
                named(name).ok_or_else(|| Wrong::ConfigFile(format!("{}: unknown option `{name}`", place())))?;
            if off.contains(&option.name) || self.given.contains_key(option.name) {
                continue;
            }
            if option.takes == Takes::Nothing {
                match switch(value) {
                    Some(true) => self.given.insert(option.name, ON.to_owned()),
                    Some(false) => continue,
                    None => return Err(Wrong::NoSuchSwitch { name: option.name, value: value.to_owned() }),
                };
            } else {
                self.given.insert(option.name, value.to_owned());
            }
        }
        Ok(())
    }

    /// Refuses what cannot be used.
    pub(super) fn refusals(&self) -> impl Iterator<Item = Wrong> + '_ {
        self.given.keys().filter_map(|name| {
            let option = named(name)?;
            match option.support {
                Support::Works | Support::Ignored(_) => None,
                Support::NotYet(why) => Some(Wrong::NotYet { name: option.name, why }),
                Support::Never(why) => Some(Wrong::Never { name: option.name, why }),
            }
        })
    }

    pub(super) fn is_on(&self, name: &'static str) -> bool {
        debug_assert!(named(name).is_some_and(|option| option.takes == Takes::Nothing), "{name}");
        self.given.contains_key(name)
    }

    /// As given; `None` if it was not.
    pub(super) fn text(&self, name: &'static str) -> Option<&str> {
        debug_assert!(named(name).is_some_and(|option| option.takes != Takes::Nothing), "{name}");
        self.given.get(name).map(String::as_str)
    }

    /// As given, or the table's default.
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

/// The option that a long name stands for: its own, or the only one that begins so.
fn find(given: &str) -> Result<&'static Opt, Wrong> {
    if let Some(option) = named(given) {
        return Ok(option);
    }
    let begin: Vec<&Opt> =
        OPTIONS.iter().filter(|option| option.name.starts_with(given) && !given.is_empty()).collect();
    match begin.as_slice() {
        [one] => Ok(one),
        [] => Err(Wrong::Unknown {
            given: format!("--{given}"),
            nearest: nearest(given, OPTIONS.iter().map(|option| option.name)),
        }),
        several => {
            let names: Vec<String> = several.iter().map(|option| format!("--{}", option.name)).collect();
            Err(Wrong::Ambiguous { given: format!("--{given}"), candidates: names.join(", ") })
        }
    }
}
