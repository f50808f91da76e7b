//! Values of parameters that several definitions have, and their limits.

use super::definitions::{Rate, Transfers};
use super::parse::{Parameter, size};

/// Most threads of a storage definition.
pub(super) const THREADS_MAX: u64 = 4096;

/// Workloads without a skew share what is left, so that all is 100.
pub(super) fn share(mut skews: Vec<&mut Option<f64>>) -> Result<(), String> {
    let said: f64 = skews.iter().filter_map(|skew| **skew).sum();
    let without = skews.iter().filter(|skew| skew.is_none()).count();
    let is_right = if without == 0 { (said - 100.0).abs() < 0.01 } else { said < 100.0 };
    if !is_right {
        return Err(format!("the skews of its workloads add up to {said}; they must be 100"));
    }
    for skew in &mut skews {
        **skew = Some(skew.unwrap_or((100.0 - said) / without.max(1) as f64));
    }
    Ok(())
}

pub(super) fn at_least_one(parameter: &Parameter, number: Option<u64>) -> Result<u64, String> {
    number.filter(|number| *number > 0).ok_or_else(|| format!("`{}` is no `{}`", parameter.values[0], parameter.key))
}

pub(super) fn threads(parameter: &Parameter, value: &str) -> Result<u64, String> {
    let count = at_least_one(parameter, value.parse().ok())?;
    if count > THREADS_MAX { Err(format!("{count} threads are more than {THREADS_MAX}")) } else { Ok(count) }
}

pub(super) fn percent(text: &str) -> Result<u8, String> {
    let number = text.parse::<u8>().ok().filter(|number| *number <= 100);
    number.ok_or_else(|| format!("`{text}` is no per cent from 0 to 100"))
}

pub(super) fn transfers(parameter: &Parameter) -> Result<Transfers, String> {
    by_share(parameter, |text| {
        let bytes = size(text).filter(|bytes| (1..=1 << 30).contains(bytes));
        bytes.ok_or_else(|| format!("a transfer of `{text}`: 1 byte to 1g expected"))
    })
}

/// A size, or sizes with their per cent.
pub(super) fn by_share(parameter: &Parameter, bytes: fn(&str) -> Result<u64, String>) -> Result<Transfers, String> {
    let key = &parameter.key;
    match parameter.values.as_slice() {
        [one] => bytes(one).map(Transfers::Fixed),
        pairs if pairs.len() % 2 == 0 => {
            let pairs = pairs.chunks(2).map(|pair| Ok((bytes(&pair[0])?, percent(&pair[1])?)));
            let pairs = pairs.collect::<Result<Vec<_>, String>>()?;
            match pairs.iter().map(|(_, percent)| u32::from(*percent)).sum::<u32>() {
                100 => Ok(Transfers::Mix(pairs)),
                sum => Err(format!("the shares of `{key}` add up to {sum}; they must be 100")),
            }
        }
        _ => Err(format!("`{key}` must be a size, or (SIZE,PERCENT,…)")),
    }
}

/// The run as fast as it goes, then the points.
pub(super) fn curve(points: &[u64]) -> Vec<Rate> {
    std::iter::once(Rate::CurveMax).chain(points.iter().map(|&point| Rate::CurvePercent(point))).collect()
}
