//! The meaning of an option's text.

mod any;
pub mod arithmetic;
pub mod choice;
pub mod direction;
pub mod distribution;
pub mod lists;
mod number;
pub mod pattern;
mod reading;
mod shapes;
mod slots;
pub mod split;
#[cfg(test)]
mod tests;

use crate::fio::options::kind::{Kind, Special};
use crate::fio::options::spec::OptionSpec;
pub use any::OptionValue;
use number::{Amount, wide};
pub(crate) use number::{plain, time};
pub use reading::{Compat, Doubt, ValueError, ValueReading};
pub use shapes::{Between, FileRegion, PerDirection, ReadWrite};

/// Reads the text of an option; no text where nothing stood after the name.
pub fn read(
    option: &OptionSpec,
    text: Option<&str>,
    reading: &mut ValueReading<'_>,
) -> Result<OptionValue, ValueError> {
    match option.kind {
        Kind::Flag => return switch(text.filter(|text| !text.is_empty()), u32::MAX),
        Kind::Special(Special::LogName) => return Ok(OptionValue::LogName(choice::log_name(text))),
        // Keys and names that come from variables that are not set; the engine knows what that means.
        Kind::Text if !option.engines.is_empty() && text.is_some_and(|text| text.trim().is_empty()) => {
            return Ok(OptionValue::Text(String::new()));
        }
        _ => {}
    }
    let text = text.map(str::trim).filter(|text| !text.is_empty()).ok_or(ValueError::Missing)?;
    match option.kind {
        Kind::Whole(slots, bounds) => slots::wholes(text, slots, bounds, option.power_of_two, reading),
        Kind::Wide(slots, bounds) => slots::wides(text, slots, bounds, reading),
        Kind::Time(slots, bare) => slots::times(text, slots, bare, reading),
        Kind::Ranges => slots::ranges(text, reading),
        Kind::Region => region(text, reading).map(OptionValue::Region),
        Kind::Switch => switch(Some(text), 1),
        Kind::Flag | Kind::Special(Special::LogName) => Err(ValueError::Missing),
        Kind::Text => Ok(OptionValue::Text(text.to_owned())),
        Kind::Names => Ok(OptionValue::Names(lists::names(text))),
        Kind::Choice(words) => choice::one(text, words, reading).map(OptionValue::Choice),
        Kind::Choices(words) => choice::some(text, words).map(OptionValue::Choices),
        Kind::Floats { most, bounds } => lists::floats(text, most, bounds).map(OptionValue::Floats),
        Kind::Special(special) => self::special(special, text, reading),
    }
}

fn special(special: Special, text: &str, reading: &mut ValueReading<'_>) -> Result<OptionValue, ValueError> {
    Ok(match special {
        Special::Direction => OptionValue::Direction(direction::read(text, reading)?),
        Special::Split => OptionValue::Split(split::shares(text, reading)?),
        Special::Distribution => OptionValue::Distribution(distribution::read(text, reading)?),
        Special::Pattern => OptionValue::Pattern(pattern::read(text)?),
        Special::Cpus => OptionValue::Cpus(lists::cpus(text)?),
        Special::NumaPolicy => OptionValue::NumaPolicy(lists::numa_policy(text)?),
        Special::IgnoreError => OptionValue::IgnoreError(choice::errors_ignored(text)?),
        Special::Steady => OptionValue::Steady(choice::steady(text, reading)?),
        Special::SyncRange => OptionValue::SyncRange(choice::sync_range(text)?),
        Special::FileService => OptionValue::FileService(distribution::file_service(text)?),
        Special::Memory => OptionValue::Memory(choice::memory(text)?),
        Special::LogName => OptionValue::LogName(choice::log_name(Some(text))),
        Special::PrioritySplit => OptionValue::PrioritySplit(split::priorities(text, reading)?),
    })
}

/// `0`, `1`, or nothing, which is 1.
fn switch(text: Option<&str>, most: u32) -> Result<OptionValue, ValueError> {
    let Some(text) = text else { return Ok(OptionValue::Switch(true)) };
    let text = text.trim();
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => text.parse::<u32>(),
    };
    match parsed {
        Ok(number) if number <= most => Ok(OptionValue::Switch(number != 0)),
        Ok(number) => Err(ValueError::OutOfBounds { value: number.to_string(), bounds: format!("0 to {most}") }),
        Err(_) => Err(ValueError::grammar(format!("`{text}` is neither 0 nor 1"))),
    }
}

fn region(text: &str, reading: &mut ValueReading<'_>) -> Result<FileRegion, ValueError> {
    if let Some(count) = text.strip_suffix('z') {
        let zones = count.trim().parse::<u32>();
        return zones.map(FileRegion::Zones).map_err(|_| ValueError::NotANumber { text: text.to_owned() });
    }
    match number::amount(text, reading)? {
        Amount::Percent(percent @ 0..=100) => Ok(FileRegion::Percent(percent as u8)),
        Amount::Percent(percent) => {
            Err(ValueError::OutOfBounds { value: format!("{percent} %"), bounds: "0 to 100 %".to_owned() })
        }
        Amount::Plain(value) => wide(value, reading.compat).map(FileRegion::Bytes),
    }
}
