//! Parses a configuration: sections, keys with values, and comments after `#` and `;`.

use super::error::{ConfigError, Problem};
use super::hash::Hash;
use super::table::{Key, SECTIONS, Takes, key_at, section_at};
use crate::aiori::size;
use plumb_tools::support::Support;
use plumb_workload::suggest::nearest;
use std::collections::BTreeMap;

/// Limit of a value's length, bytes: Linux's limit for paths.
const VALUE_BYTES_MAX: usize = 4096;
/// Number of a line's characters that an error shows.
const SHOWN_CHARS: usize = 60;

/// A parsed configuration. The last value of a key counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// Values, by the indexes of section and key in the table.
    values: BTreeMap<(usize, usize), String>,
    /// Line numbers of the values.
    lines: BTreeMap<(usize, usize), usize>,
    name: String,
}

impl Config {
    /// Parses a text. Errors call it `name`.
    ///
    /// # Errors
    /// The first error.
    pub fn parse(name: &str, text: &str) -> Result<Config, ConfigError> {
        let mut config = Config { name: name.to_owned(), ..Config::default() };
        let mut section = None;
        for (line, text) in (1..).zip(text.split('\n')) {
            config.line(text, line, &mut section).map_err(|problem| ConfigError {
                name: name.to_owned(),
                line,
                problem,
            })?;
        }
        Ok(config)
    }

    fn line(&mut self, text: &str, line: usize, section: &mut Option<usize>) -> Result<(), Problem> {
        let unclear = || Problem::Text { text: text.trim().chars().take(SHOWN_CHARS).collect() };
        let content = without_comment(text).trim();
        if content.is_empty() {
            return Ok(());
        }
        if let Some(inside) = content.strip_prefix('[') {
            let name = inside.strip_suffix(']').map(str::trim).filter(|name| is_name(name)).ok_or_else(unclear)?;
            *section = Some(section_at(name).ok_or_else(|| Problem::Section {
                section: name.to_owned(),
                nearest: nearest(name, SECTIONS.iter().map(|section| section.name)),
            })?);
            return Ok(());
        }
        let (key, value) = content.split_once('=').ok_or_else(unclear)?;
        let (key, value) = (key.trim_end(), value.trim());
        if !is_name(key) || value.contains(['#', ';']) || value.contains(char::is_control) {
            return Err(unclear());
        }
        let Some(section) = *section else { return Err(Problem::Outside { key: key.to_owned() }) };
        let Some(at) = key_at(section, key) else {
            let keys = SECTIONS[section].keys.iter().map(|key| key.name);
            return Err(Problem::Key {
                key: key.to_owned(),
                section: SECTIONS[section].name,
                nearest: nearest(key, keys),
            });
        };
        // A key without a value has no effect.
        if !value.is_empty() {
            let value = meant(&SECTIONS[section].keys[at], value)?;
            self.values.insert((section, at), value);
            self.lines.insert((section, at), line);
        }
        Ok(())
    }

    /// Returns the name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn place(section: &str, key: &str) -> Option<(usize, usize)> {
        let section = section_at(section)?;
        Some((section, key_at(section, key)?))
    }

    /// Returns the value of a key, or its default.
    pub fn text(&self, section: &str, key: &str) -> Option<&str> {
        let place = Config::place(section, key)?;
        let value = self.values.get(&place).map(String::as_str);
        value.or(SECTIONS[place.0].keys[place.1].default).filter(|text| !text.is_empty())
    }

    /// Returns `true` if the value of a key is TRUE.
    pub(crate) fn is_true(&self, section: &str, key: &str) -> bool {
        self.text(section, key) == Some("TRUE")
    }

    /// Returns a number that is not negative.
    pub fn number(&self, section: &str, key: &str) -> Option<u64> {
        self.text(section, key)?.parse().ok()
    }

    /// Creates an error for the value of a key.
    pub(super) fn invalid(&self, section: &str, key: &str, problem: &str) -> ConfigError {
        let place = Config::place(section, key);
        let line = place.and_then(|place| self.lines.get(&place)).copied().unwrap_or(0);
        let value = self.text(section, key).unwrap_or_default().to_owned();
        let key = place.map_or("", |(section, key)| SECTIONS[section].keys[key].name);
        let problem = Problem::Value { key, value, problem: problem.to_owned() };
        ConfigError { name: self.name.clone(), line, problem }
    }

    /// Returns the keys without effect in a mode, each with the reason.
    pub fn ignored(&self, is_extended: bool) -> Vec<(String, &'static str)> {
        let of = |(&(section, key), value): (&(usize, usize), &String)| {
            let (section, key) = (&SECTIONS[section], &SECTIONS[section].keys[key]);
            let why = match key.support {
                _ if section.is_extended && !is_extended => "it belongs to the extended mode, --mode=extended",
                Support::Ignored(why) => why,
                _ => return None,
            };
            (key.default != Some(value)).then(|| (format!("[{}] {}", section.name, key.name), why))
        };
        self.values.iter().filter_map(of).collect()
    }

    /// Returns all keys with their values or defaults.
    fn all(&self) -> impl Iterator<Item = (&'static str, &Key, Option<&str>)> {
        (0..).zip(SECTIONS).flat_map(move |(place, section)| {
            (0..).zip(section.keys).map(move |(at, key)| {
                let value = self.values.get(&(place, at)).map(String::as_str);
                (section.name, key, value.or(key.default))
            })
        })
    }

    /// Returns the hash of all values.
    pub fn hash(&self) -> Hash {
        let values = self.all().filter_map(|(_, key, value)| Some((key.name, value?)));
        values.fold(Hash::default(), |hash, (name, value)| hash.with(name, value))
    }

    /// Formats the whole configuration with all defaults, as in `config.ini`.
    pub fn text_of_all(&self) -> String {
        let mut text = String::new();
        for section in SECTIONS {
            text.push_str(&format!("[{}]\n", section.name));
            for (_, key, value) in self.all().filter(|(name, ..)| *name == section.name) {
                text.push_str(&format!("{} = {}\n", key.name, value.unwrap_or_default()));
            }
            text.push('\n');
        }
        text
    }
}

/// Removes a comment, which begins a line or follows a blank.
fn without_comment(text: &str) -> &str {
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        if matches!(character, '#' | ';') && before.is_ascii_whitespace() {
            return &text[..at];
        }
        before = character;
    }
    text
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

/// Returns the normalized value of a key.
fn meant(key: &Key, value: &str) -> Result<String, Problem> {
    let invalid = |problem: &str| Problem::Value { key: key.name, value: shown(value), problem: problem.to_owned() };
    if value.len() > VALUE_BYTES_MAX {
        return Err(Problem::Long { key: key.name, most: VALUE_BYTES_MAX });
    }
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // IO500 itself reads at most 63 bits of these.
    let whole = |least: i64| match value.parse::<i64>() {
        Ok(number) if number >= least => Ok(()),
        Ok(_) => Err(invalid(if least > 0 { "is too small; use 1 or more" } else { "is negative; use 0 or more" })),
        Err(_) if digits(value) => Err(invalid("exceeds 64 bits; use a smaller number")),
        Err(_) => Err(invalid("is not a whole number; use one such as 300")),
    };
    match key.takes {
        Takes::Text => {}
        Takes::Bool => return truth(key, value, invalid),
        Takes::Positive => whole(1)?,
        Takes::Count => whole(0)?,
        Takes::Int => whole(i64::MIN)?,
        Takes::Float => match value.parse::<f64>() {
            Ok(number) if number.is_finite() => {}
            _ => return Err(invalid("is not a number; use one such as 0.5")),
        },
        Takes::Size if value.contains(char::is_whitespace) => {
            return Err(invalid("holds a blank; use a size such as 2m"));
        }
        Takes::Size => match size(value) {
            Ok(bytes) if bytes > 0 => {}
            Ok(_) => return Err(invalid("is too small; use a size such as 2m")),
            Err(error) => return Err(invalid(&error.to_string())),
        },
        Takes::Api => api(value, invalid)?,
        Takes::Packets => {
            if !["timestamp", "offset", "incompressible", "random", "t", "o", "i", "r"].contains(&value) {
                return Err(invalid("names unknown packets; use timestamp, offset, incompressible or random"));
            }
        }
    }
    supported(key, value)?;
    Ok(value.to_owned())
}

fn truth(key: &Key, value: &str, invalid: impl Fn(&str) -> Problem) -> Result<String, Problem> {
    let value = match value {
        yes if yes == "1" || yes.eq_ignore_ascii_case("true") => "TRUE",
        no if no == "0" || no.eq_ignore_ascii_case("false") => "FALSE",
        _ => return Err(invalid("is neither TRUE nor FALSE; use one of them")),
    };
    if value == "TRUE" {
        supported(key, value)?;
    }
    Ok(value.to_owned())
}

/// Rejects unsupported values. The default is always supported.
fn supported(key: &Key, value: &str) -> Result<(), Problem> {
    let (when, why) = match key.support {
        Support::NotYet(why) => (" yet", why),
        Support::Never(why) => ("", why),
        Support::Works | Support::Ignored(_) => return Ok(()),
    };
    if key.default == Some(value) {
        return Ok(());
    }
    Err(Problem::Unsupported { key: key.name, value: shown(value), when, why })
}

/// Accepts the name of a back end and its own options, so that no other options reach the tool.
fn api(value: &str, invalid: impl Fn(&str) -> Problem) -> Result<(), Problem> {
    let mut words = value.split_whitespace();
    let name = words.next().unwrap_or_default().to_ascii_lowercase();
    match words.find(|word| !word.to_ascii_lowercase().starts_with(&format!("--{name}."))) {
        None => Ok(()),
        Some(other) => Err(invalid(&format!(
            "holds `{}`, which is not an option of {name}; use --{name}.NAME=VALUE",
            shown(other)
        ))),
    }
}

fn shown(value: &str) -> String {
    value.chars().take(SHOWN_CHARS).collect()
}
