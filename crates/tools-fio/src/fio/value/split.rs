//! Lists of sizes with shares: `bssplit=4k/60:64k/40,8k` and `cmdprio_bssplit`.

use super::number::plain;
use super::reading::{Compat, ValueError, ValueReading};
use super::shapes::{PerDirection, ReadWrite};

/// Maximum number of entries in a list.
pub(super) const MOST_SHARES: usize = 64;

/// A size and its probability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitShare {
    pub bytes: u64,
    /// Percentage of ops.
    pub percent: u8,
}

/// A block size, and the priority of a share of its ops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriorityShare {
    pub bytes: u64,
    /// Percentage of ops of that size; `None` for an equal part of the remainder.
    pub percent: Option<u8>,
    /// Priority class; `None` for that of `cmdprio_class`.
    pub class: Option<u8>,
    pub level: Option<u8>,
    pub hint: Option<u16>,
}

/// Splits a text for reads, writes and trims: one part applies to all, a second one to writes and trims.
pub(super) fn directions(text: &str) -> Result<PerDirection<&str>, ValueError> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    match *parts.as_slice() {
        [all] => Ok(PerDirection::all(all)),
        [read, write] => Ok(PerDirection { read, write, trim: write }),
        [read, write, trim] => Ok(PerDirection { read, write, trim }),
        _ => Err(ValueError::TooMany { most: 3 }),
    }
}

/// Parses a percentage from 0 to 100; fio reads larger numbers as 100.
pub(super) fn percent(text: &str, compat: Compat) -> Result<Option<u8>, ValueError> {
    let text = text.trim().trim_end_matches('%').trim_end();
    if text.is_empty() {
        return Ok(None);
    }
    match text.parse::<u64>() {
        // fio treats 0 like a missing share.
        Ok(0) if compat == Compat::Strict => Ok(None),
        Ok(value @ 0..=100) => Ok(Some(value as u8)),
        Ok(_) if compat == Compat::Strict => Ok(Some(100)),
        Ok(value) => Err(ValueError::OutOfBounds { value: format!("{value} %"), bounds: "0 to 100 %".to_owned() }),
        Err(_) => Err(ValueError::NotANumber { text: text.to_owned() }),
    }
}

pub fn shares(text: &str, reading: &mut ValueReading<'_>) -> Result<PerDirection<Vec<SplitShare>>, ValueError> {
    let texts = directions(text)?;
    Ok(PerDirection {
        read: one_list(texts.read, reading)?,
        write: one_list(texts.write, reading)?,
        trim: one_list(texts.trim, reading)?,
    })
}

fn one_list(text: &str, reading: &mut ValueReading<'_>) -> Result<Vec<SplitShare>, ValueError> {
    let mut entries: Vec<(u64, Option<u8>)> = Vec::new();
    for entry in text.split(':').map(str::trim).filter(|entry| !entry.is_empty()) {
        let (size, share) = entry.split_once('/').unwrap_or((entry, ""));
        let bytes = plain(size.trim(), reading)?;
        if bytes == 0 {
            return Err(ValueError::OutOfBounds { value: "0".to_owned(), bounds: "1 or more".to_owned() });
        }
        entries.push((bytes, percent(share, reading.compat)?));
    }
    if entries.len() > MOST_SHARES {
        return Err(ValueError::TooMany { most: MOST_SHARES });
    }
    let sum: u32 = entries.iter().filter_map(|(_, percent)| *percent).map(u32::from).sum();
    let open = entries.iter().filter(|(_, percent)| percent.is_none()).count() as u32;
    if sum > 100 {
        return Err(ValueError::grammar(format!("the percentages add up to {sum} %, more than 100 %")));
    }
    let each = (100 - sum).checked_div(open).unwrap_or(0) as u8;
    Ok(entries.into_iter().map(|(bytes, percent)| SplitShare { bytes, percent: percent.unwrap_or(each) }).collect())
}

pub fn priorities(text: &str, reading: &mut ValueReading<'_>) -> Result<ReadWrite<Vec<PriorityShare>>, ValueError> {
    let (read, write) = text.split_once(',').unwrap_or((text, text));
    Ok(ReadWrite { read: priority_list(read, reading)?, write: priority_list(write, reading)? })
}

fn priority_list(text: &str, reading: &mut ValueReading<'_>) -> Result<Vec<PriorityShare>, ValueError> {
    let small = |text: Option<&str>, most: u64| match text.map(str::trim).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => match text.parse::<u64>() {
            Ok(value) if value <= most => Ok(Some(value)),
            Ok(value) => Err(ValueError::OutOfBounds { value: value.to_string(), bounds: format!("0 to {most}") }),
            Err(_) => Err(ValueError::NotANumber { text: text.to_owned() }),
        },
    };
    let entries: Vec<&str> = text.split(':').map(str::trim).filter(|entry| !entry.is_empty()).collect();
    if entries.len() > MOST_SHARES {
        return Err(ValueError::TooMany { most: MOST_SHARES });
    }
    entries
        .into_iter()
        .map(|entry| {
            let mut fields = entry.split('/');
            let bytes = plain(fields.next().unwrap_or_default().trim(), reading)?;
            let percent = percent(fields.next().unwrap_or_default(), reading.compat)?;
            let class = small(fields.next(), 3)?.map(|value| value as u8);
            let level = small(fields.next(), 7)?.map(|value| value as u8);
            let hint = small(fields.next(), 1_023)?.map(|value| value as u16);
            if fields.next().is_some() {
                return Err(ValueError::TooMany { most: 5 });
            }
            Ok(PriorityShare { bytes, percent, class, level, hint })
        })
        .collect()
}
