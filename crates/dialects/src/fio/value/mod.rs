//! What the text of one option means.

pub mod arithmetic;
pub mod choice;
pub mod direction;
pub mod distribution;
pub mod lists;
mod number;
pub mod pattern;
mod slots;
pub mod split;

#[cfg(test)]
mod tests;

use crate::fio::options::OptionSpec;
use crate::fio::options::kind::{Bounds, Kind, Special};
use choice::{ErrorsIgnored, LogName, Memory, Steady, SyncRange};
use direction::Direction;
use distribution::{Distribution, FileService};
use lists::NumaPolicy;
use number::Amount;
use pattern::Piece;
use plumb_workload::Nanos;
pub(crate) use slots::time;
use split::{PriorityShare, Share};

/// Whose way holds where fio silently misreads, or prints something that is wrong or that readers stumble over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compat {
    /// What was meant, with a warning. In print, what is right, in fio's layout: no percentile lies outside the smallest
    /// and largest value, a separator in a name does not shift the fields behind it, and zeros that were not measured are
    /// named.
    #[default]
    Meant,
    /// fio's, without a word, and to the byte what it prints.
    Strict,
}

/// What holds while values are read, and what was noticed.
#[derive(Debug)]
pub struct Reading<'a> {
    /// Whose reading holds.
    pub compat: Compat,
    /// What `k` is: 1024 or 1000.
    pub kb_base: u64,
    /// Where the two readings differed.
    pub doubts: &'a mut Vec<Doubt>,
}

impl Reading<'_> {
    fn doubt(&mut self, written: &str, here: String, fio: String) {
        self.doubts.push(Doubt { written: written.to_owned(), here, fio });
    }
}

/// A text that fio reads otherwise than it was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The text.
    pub written: String,
    /// What it is taken for.
    pub here: String,
    /// What fio does: `reads 5 µs`.
    pub fio: String,
}

/// Why a value cannot be taken.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ValueError {
    /// Nothing is there.
    #[error("a value is needed")]
    Missing,
    /// It is no number.
    #[error("`{text}` is no number")]
    NotANumber {
        /// The text.
        text: String,
    },
    /// It is outside its bounds.
    #[error("{value} is outside {bounds}")]
    OutOfBounds {
        /// The value.
        value: String,
        /// What is allowed.
        bounds: String,
    },
    /// It is no word of the list.
    #[error("`{text}` is not among {allowed}{}", .nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    NotAChoice {
        /// The text.
        text: String,
        /// The words that may be said.
        allowed: String,
        /// The word most like it.
        nearest: Option<&'static str>,
    },
    /// There are too many of them.
    #[error("at most {most} are allowed")]
    TooMany {
        /// So many are allowed.
        most: usize,
    },
    /// It does not follow its grammar.
    #[error("{0}")]
    Grammar(String),
}

impl ValueError {
    fn grammar(reason: impl Into<String>) -> ValueError {
        ValueError::Grammar(reason.into())
    }

    fn not_a_choice(text: &str, words: &'static [&'static str]) -> ValueError {
        let nearest = plumb_workload::suggest::nearest(text, words.iter().copied());
        ValueError::NotAChoice { text: text.to_owned(), allowed: words.join(", "), nearest }
    }
}

/// One value for each of reads, writes and trims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PerDirection<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
    /// For trims.
    pub trim: T,
}

impl<T> PerDirection<T> {
    /// The same for all.
    pub fn all(value: T) -> PerDirection<T>
    where
        T: Clone,
    {
        PerDirection { read: value.clone(), write: value.clone(), trim: value }
    }

    /// Each value changed alike.
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> PerDirection<U> {
        PerDirection { read: change(self.read), write: change(self.write), trim: change(self.trim) }
    }
}

impl<T> PerDirection<Option<T>> {
    /// Each value, or the one of `others` where there is none.
    pub fn or(self, others: PerDirection<T>) -> PerDirection<T> {
        PerDirection {
            read: self.read.unwrap_or(others.read),
            write: self.write.unwrap_or(others.write),
            trim: self.trim.unwrap_or(others.trim),
        }
    }
}

/// A value for reads and one for writes, where an option knows no trims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadWrite<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
}

/// From one value to another, both included; the same twice where nothing is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Between<T> {
    /// The lower end.
    pub low: T,
    /// The upper end.
    pub high: T,
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    /// So many bytes.
    Bytes(u64),
    /// So many per cent of the file or device, 0 to 100.
    Percent(u8),
    /// So many zones of a zoned device.
    Zones(u32),
}

/// What the text of an option means; the variant follows from the option's [`Kind`].
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// [`Kind::Whole`] with one slot.
    Whole(i64),
    /// [`Kind::Whole`] with two slots.
    WholePair(ReadWrite<Option<i64>>),
    /// [`Kind::Whole`] with three slots.
    Wholes(PerDirection<Option<i64>>),
    /// [`Kind::Wide`] with one slot.
    Wide(u64),
    /// [`Kind::Wide`] with two slots.
    WideBetween(Between<u64>),
    /// [`Kind::Wide`] with three slots.
    Wides(PerDirection<Option<u64>>),
    /// [`Kind::Time`] with one slot.
    Time(Nanos),
    /// [`Kind::Time`] with two slots.
    TimeBetween(Between<Nanos>),
    /// [`Kind::Time`] with three slots.
    Times(PerDirection<Option<Nanos>>),
    /// [`Kind::Region`].
    Region(Region),
    /// [`Kind::Switch`] and [`Kind::Flag`].
    Switch(bool),
    /// [`Kind::Text`].
    Text(String),
    /// [`Kind::Names`].
    Names(Vec<String>),
    /// [`Kind::Choice`].
    Choice(&'static str),
    /// [`Kind::Choices`].
    Choices(Vec<&'static str>),
    /// [`Kind::Floats`].
    Floats(Vec<f64>),
    /// [`Kind::Ranges`].
    Ranges(PerDirection<Option<Between<u64>>>),
    /// [`Special::Direction`].
    Direction(Direction),
    /// [`Special::Split`].
    Split(PerDirection<Vec<Share>>),
    /// [`Special::Distribution`].
    Distribution(Distribution),
    /// [`Special::Pattern`].
    Pattern(Vec<Piece>),
    /// [`Special::Cpus`].
    Cpus(Vec<u32>),
    /// [`Special::NumaPolicy`].
    NumaPolicy(NumaPolicy),
    /// [`Special::IgnoreError`].
    IgnoreError(ErrorsIgnored),
    /// [`Special::Steady`].
    Steady(Steady),
    /// [`Special::SyncRange`].
    SyncRange(SyncRange),
    /// [`Special::FileService`].
    FileService(FileService),
    /// [`Special::Memory`].
    Memory(Memory),
    /// [`Special::LogName`].
    LogName(LogName),
    /// [`Special::PrioritySplit`].
    PrioritySplit(ReadWrite<Vec<PriorityShare>>),
}

/// Reads the text of an option; no text where nothing stood after the name.
pub fn read(option: &OptionSpec, text: Option<&str>, reading: &mut Reading<'_>) -> Result<Value, ValueError> {
    match option.kind {
        Kind::Flag => return switch(text.filter(|text| !text.is_empty()), u32::MAX),
        Kind::Special(Special::LogName) => return Ok(Value::LogName(choice::log_name(text))),
        // Keys and names that come from variables that are not set; the engine knows what that means.
        Kind::Text if !option.engines.is_empty() && text.is_some_and(|text| text.trim().is_empty()) => {
            return Ok(Value::Text(String::new()));
        }
        _ => {}
    }
    let text = text.map(str::trim).filter(|text| !text.is_empty()).ok_or(ValueError::Missing)?;
    match option.kind {
        Kind::Whole(slots, bounds) => slots::wholes(text, slots, bounds, option.power_of_two, reading),
        Kind::Wide(slots, bounds) => slots::wides(text, slots, bounds, reading),
        Kind::Time(slots, bare) => slots::times(text, slots, bare, reading),
        Kind::Ranges => slots::ranges(text, reading),
        Kind::Region => region(text, reading).map(Value::Region),
        Kind::Switch => switch(Some(text), 1),
        Kind::Flag | Kind::Special(Special::LogName) => Err(ValueError::Missing),
        Kind::Text => Ok(Value::Text(text.to_owned())),
        Kind::Names => Ok(Value::Names(lists::names(text))),
        Kind::Choice(words) => choice::one(text, words, reading).map(Value::Choice),
        Kind::Choices(words) => choice::some(text, words).map(Value::Choices),
        Kind::Floats { most, bounds } => lists::floats(text, most, bounds).map(Value::Floats),
        Kind::Special(special) => self::special(special, text, reading),
    }
}

fn special(special: Special, text: &str, reading: &mut Reading<'_>) -> Result<Value, ValueError> {
    Ok(match special {
        Special::Direction => Value::Direction(direction::read(text, reading)?),
        Special::Split => Value::Split(split::shares(text, reading)?),
        Special::Distribution => Value::Distribution(distribution::read(text, reading)?),
        Special::Pattern => Value::Pattern(pattern::read(text)?),
        Special::Cpus => Value::Cpus(lists::cpus(text)?),
        Special::NumaPolicy => Value::NumaPolicy(lists::numa_policy(text)?),
        Special::IgnoreError => Value::IgnoreError(choice::errors_ignored(text)?),
        Special::Steady => Value::Steady(choice::steady(text, reading)?),
        Special::SyncRange => Value::SyncRange(choice::sync_range(text)?),
        Special::FileService => Value::FileService(distribution::file_service(text)?),
        Special::Memory => Value::Memory(choice::memory(text)?),
        Special::LogName => Value::LogName(choice::log_name(Some(text))),
        Special::PrioritySplit => Value::PrioritySplit(split::priorities(text, reading)?),
    })
}

/// `0`, `1`, or nothing, which is 1.
fn switch(text: Option<&str>, most: u32) -> Result<Value, ValueError> {
    let Some(text) = text else { return Ok(Value::Switch(true)) };
    let text = text.trim();
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => text.parse::<u32>(),
    };
    match parsed {
        Ok(number) if number <= most => Ok(Value::Switch(number != 0)),
        Ok(number) => Err(ValueError::OutOfBounds { value: number.to_string(), bounds: format!("0 to {most}") }),
        Err(_) => Err(ValueError::grammar(format!("`{text}` is neither 0 nor 1"))),
    }
}

fn region(text: &str, reading: &mut Reading<'_>) -> Result<Region, ValueError> {
    if let Some(count) = text.strip_suffix('z') {
        let zones = count.trim().parse::<u32>();
        return zones.map(Region::Zones).map_err(|_| ValueError::NotANumber { text: text.to_owned() });
    }
    match number::amount(text, reading)? {
        Amount::Percent(percent @ 0..=100) => Ok(Region::Percent(percent as u8)),
        Amount::Percent(percent) => {
            Err(ValueError::OutOfBounds { value: format!("{percent} %"), bounds: "0 to 100 %".to_owned() })
        }
        Amount::Plain(value) => wide(value, reading.compat).map(Region::Bytes),
    }
}

/// A number of 64 bits without a sign; fio lets a negative one wrap.
fn wide(value: i128, compat: Compat) -> Result<u64, ValueError> {
    match (u64::try_from(value), compat) {
        (Ok(value), _) => Ok(value),
        (Err(_), Compat::Strict) => Ok(value as u64),
        (Err(_), Compat::Meant) => {
            Err(ValueError::OutOfBounds { value: value.to_string(), bounds: format!("0 to {}", u64::MAX) })
        }
    }
}

/// A number of 64 bits, without per cent.
fn plain(text: &str, reading: &mut Reading<'_>) -> Result<u64, ValueError> {
    if text.ends_with('z') {
        return Err(ValueError::grammar("zones are not allowed here"));
    }
    match number::amount(text, reading)? {
        Amount::Plain(value) => wide(value, reading.compat),
        Amount::Percent(_) => Err(ValueError::grammar("per cent are not allowed here")),
    }
}

/// Checks a number against its bounds.
fn within(value: i128, bounds: Bounds) -> Result<i128, ValueError> {
    // An upper bound alone belongs to a number without a sign.
    let low = bounds.least.or(bounds.most.map(|_| 0)).map(i128::from);
    let high = bounds.most.map(i128::from);
    if low.is_some_and(|low| value < low) || high.is_some_and(|high| value > high) {
        let bounds = match (bounds.least, bounds.most) {
            (Some(low), Some(high)) => format!("{low} to {high}"),
            (Some(low), None) => format!("{low} and more"),
            (None, Some(high)) => format!("0 to {high}"),
            (None, None) => "all numbers".to_owned(),
        };
        return Err(ValueError::OutOfBounds { value: value.to_string(), bounds });
    }
    Ok(value)
}
