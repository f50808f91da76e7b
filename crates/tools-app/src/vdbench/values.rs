//! Values of parameters that several definitions have, and their limits.

use super::parse::{Parameter, size};
use super::storage::{Opened, Transfers};
use super::usage_error::Reason;

/// Limit of threads on a storage.
pub(super) const THREADS_MAX: u64 = 4096;

/// Limit of definitions by one `count=`.
const DEFINITIONS_MAX: u64 = 10_000;

/// Divides the rest of 100 % between workloads without a skew. The error is the sum of the skews.
pub(super) fn share(mut skews: Vec<&mut Option<f64>>) -> Result<(), f64> {
    let sum: f64 = skews.iter().filter_map(|skew| **skew).sum();
    let without = skews.iter().filter(|skew| skew.is_none()).count();
    let is_right = if without == 0 { (sum - 100.0).abs() < 0.01 } else { sum < 100.0 };
    if !is_right && !skews.is_empty() {
        return Err(sum);
    }
    for skew in &mut skews {
        **skew = Some(skew.unwrap_or((100.0 - sum) / without.max(1) as f64));
    }
    Ok(())
}

/// Parses a number, or `(NUMBER,PARTS)`, the quotient of both.
pub(super) fn divided(parameter: &Parameter) -> Option<u64> {
    match parameter.values.as_slice() {
        [number] => size(number),
        [number, parts] => size(number)?.checked_div(size(parts)?),
        _ => None,
    }
}

pub(super) fn at_least_one(parameter: &Parameter, number: Option<u64>) -> Result<u64, Reason> {
    number.filter(|number| *number > 0).ok_or_else(|| parameter.value("a number above 0"))
}

pub(super) fn threads(parameter: &Parameter) -> Result<u64, Reason> {
    let count = at_least_one(parameter, divided(parameter))?;
    check_limits(parameter, count, (1, THREADS_MAX))
}

/// Parses `(START,COUNT)` for numbered definitions.
pub(super) fn count_of(parameter: &Parameter) -> Result<(u64, u64), Reason> {
    let numbers: Option<Vec<u64>> = parameter.values.iter().map(|value| size(value)).collect();
    match numbers.as_deref() {
        Some(&[start, count]) if start <= DEFINITIONS_MAX && (1..=DEFINITIONS_MAX).contains(&count) => {
            Ok((start, count))
        }
        _ => Err(parameter.value("(START,COUNT), from 1 to 10000 definitions,")),
    }
}

/// Checks that a number is within limits.
pub(super) fn check_limits(parameter: &Parameter, value: u64, (least, most): (u64, u64)) -> Result<u64, Reason> {
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(Reason::Limits { key: parameter.key.clone(), value, least, most })
}

pub(super) fn percent(parameter: &Parameter, text: &str) -> Result<u8, Reason> {
    let number = size(text).and_then(|number| u8::try_from(number).ok()).filter(|number| *number <= 100);
    number.ok_or_else(|| Reason::value(&parameter.key, text, "a percentage from 0 to 100"))
}

/// Parses a share of the rate. Returns `None` for the default 0: such workloads share the rest.
pub(super) fn skew(parameter: &Parameter) -> Result<Option<f64>, Reason> {
    let skew = parameter.values[0].parse::<f64>().ok().filter(|skew| (0.0..=100.0).contains(skew));
    let skew = skew.ok_or_else(|| parameter.value("a percentage from 0 to 100"))?;
    Ok((skew > 0.0).then_some(skew))
}

/// Parses a part of a storage, in percent.
pub(super) fn range(parameter: &Parameter) -> Result<(u64, u64), Reason> {
    let ends: Option<Vec<u64>> = parameter.values.iter().map(|value| value.parse().ok()).collect();
    match ends.as_deref() {
        Some(&[from, to]) if from < to && to <= 100 => Ok((from, to)),
        _ => Err(parameter.value("(FROM,TO), percent of the storage,")),
    }
}

/// Parses the flags with which files or devices are opened.
pub(super) fn open_flags(parameter: &Parameter) -> Result<Opened, Reason> {
    let mut opened = Opened::default();
    for flag in &parameter.values {
        match flag.to_ascii_lowercase().as_str() {
            "o_direct" | "directio" => opened.direct = true,
            "o_sync" | "o_dsync" | "o_rsync" => opened.sync = true,
            _ => return Err(Reason::not_supported(&parameter.key, flag, "use o_direct, directio, o_sync or o_dsync")),
        }
    }
    Ok(opened)
}

pub(super) fn transfers(parameter: &Parameter) -> Result<Transfers, Reason> {
    by_share(parameter, "a size from 1 to 1g, or (SIZE,PERCENT,…)", |text| {
        size(text).filter(|bytes| (1..=1 << 30).contains(bytes))
    })
}

/// Parses a size, or sizes with percentages.
pub(super) fn by_share(
    parameter: &Parameter,
    expected: &'static str,
    read: fn(&str) -> Option<u64>,
) -> Result<Transfers, Reason> {
    let bytes = |text: &str| read(text).ok_or_else(|| Reason::value(&parameter.key, text, expected));
    match parameter.values.as_slice() {
        [one] => bytes(one).map(Transfers::Fixed),
        pairs if pairs.len() % 2 == 0 => {
            let pairs = pairs.chunks(2).map(|pair| Ok((bytes(&pair[0])?, percent(parameter, &pair[1])?)));
            let pairs = pairs.collect::<Result<Vec<_>, Reason>>()?;
            match pairs.iter().map(|(_, percent)| u32::from(*percent)).sum::<u32>() {
                100 => Ok(Transfers::Mix(pairs)),
                sum => Err(Reason::Shares { key: parameter.key.clone(), sum }),
            }
        }
        _ => Err(parameter.value(expected)),
    }
}
