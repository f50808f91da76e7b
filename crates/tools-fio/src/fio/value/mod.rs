//! Parses the text of options into values.

pub mod arithmetic;
pub mod choice;
pub mod direction;
pub mod distribution;
pub mod kind;
pub mod lists;
mod number;
pub mod pattern;
mod reading;
mod setter;
pub mod shape;
mod shapes;
mod slots;
pub mod split;
pub mod syntax;
#[cfg(test)]
mod tests;

use number::{Amount, wide};
pub(crate) use number::{plain, time};
pub use reading::{Compat, Doubt, ValueError, ValueReading};
pub use setter::{Each, EachRange, EachUnlessZero, Map, Maybe, Pair, Setter, UnlessZero, ValueOf};
pub use shapes::{Between, FileRegion, PerDirection, ReadWrite};

/// Parses `0` or `1`; no text means 1.
fn switch(text: Option<&str>, most: u32) -> Result<bool, ValueError> {
    let Some(text) = text else { return Ok(true) };
    let text = text.trim();
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => text.parse::<u32>(),
    };
    match parsed {
        Ok(number) if number <= most => Ok(number != 0),
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
