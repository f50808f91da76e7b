//! Distributions of random choices: `random_distribution` and `file_service_type`.

use super::number::plain;
use super::reading::{Compat, ValueError, ValueReading};
use super::shapes::PerDirection;
use super::split::{directions, percent};
use plumb_workload::blocks::fio::{Curve, FileChoice};

/// Keywords of `random_distribution`.
pub const WORDS: &[&str] = &["random", "zipf", "pareto", "normal", "zoned", "zoned_abs", "sequence"];

/// Keywords of `file_service_type`.
pub(crate) const FILE_SERVICE: &[&str] = &["roundrobin", "sequential", "random", "zipf", "pareto", "normal", "gauss"];

/// fio's default exponent of `zipf`.
const ZIPF_THETA: f64 = 1.1;
/// fio's default power of `pareto`.
const PARETO_H: f64 = 0.2;
/// Maximum number of zones in a `zoned` distribution.
const MOST_ZONES: usize = 256;
/// Maximum number of offsets in a `sequence` distribution.
const MOST_STEPS: usize = 64;

/// A part of the file, and its share of the ops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileZone<T> {
    /// Percentage of the ops.
    pub access_percent: u8,
    pub size: T,
}

/// The distribution of random offsets over the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum RandomDistribution {
    #[default]
    Uniform,
    /// A curve with its peak at `center`; without one, hot blocks are scattered all over the file.
    Curved {
        curve: Curve,
        /// From 0, the start of the file, to 1, its end.
        center: Option<f64>,
    },
    /// Zones with sizes in percent of the file.
    Zoned(PerDirection<Vec<FileZone<u8>>>),
    /// Zones with sizes in bytes.
    ZonedBytes(PerDirection<Vec<FileZone<u64>>>),
    /// These block numbers in order, repeated.
    Sequence(Vec<u64>),
}

pub fn read(text: &str, reading: &mut ValueReading<'_>) -> Result<RandomDistribution, ValueError> {
    let (word, rest) = text.split_once(':').unwrap_or((text, ""));
    match word.split(',').next().unwrap_or(word) {
        "random" => Ok(RandomDistribution::Uniform),
        "zoned" => zones(rest, "60/10:40/90", |entry| percent(entry, reading.compat), fill_sizes)
            .map(RandomDistribution::Zoned),
        "zoned_abs" => zones(
            rest,
            "60/10g:40/100g",
            |entry| plain(entry, reading).map(Some),
            |zones| {
                zones
                    .into_iter()
                    .map(|zone| match zone.size {
                        Some(size) => Ok(FileZone { access_percent: zone.access_percent, size }),
                        None => Err(ValueError::grammar("every zone needs a size in bytes")),
                    })
                    .collect()
            },
        )
        .map(RandomDistribution::ZonedBytes),
        "sequence" => sequence(rest),
        word => match curve(word, rest, reading.compat)? {
            Some((curve, center)) => Ok(RandomDistribution::Curved { curve, center }),
            None => Err(ValueError::not_a_choice(word, WORDS)),
        },
    }
}

pub(crate) fn file_service(text: &str) -> Result<FileChoice, ValueError> {
    let (word, rest) = text.split_once(':').unwrap_or((text, ""));
    let ops = || match rest.trim() {
        "" => Ok(1),
        rest => match rest.parse::<u32>() {
            Ok(ops @ 1..) => Ok(ops),
            _ => Err(ValueError::NotANumber { text: rest.to_owned() }),
        },
    };
    match word {
        "roundrobin" => Ok(FileChoice::RoundRobin { ops: ops()? }),
        "random" => Ok(FileChoice::Random { ops: ops()? }),
        "sequential" => Ok(FileChoice::Sequential),
        word => match curve(if word == "gauss" { "normal" } else { word }, rest, Compat::Meant)? {
            Some((curve, center)) => Ok(FileChoice::Curved { curve, center, ops: 1 }),
            None => Err(ValueError::not_a_choice(word, FILE_SERVICE)),
        },
    }
}

/// Parses a curve with its parameter and the position of its peak. Returns `None` if `word` is not a curve.
fn curve(word: &str, rest: &str, compat: Compat) -> Result<Option<(Curve, Option<f64>)>, ValueError> {
    if !matches!(word, "zipf" | "pareto" | "normal") {
        return Ok(None);
    }
    let (first, center) = rest.split_once(':').unwrap_or((rest, ""));
    let value = match first.trim() {
        "" => None,
        first => Some(float(first)?),
    };
    let outside =
        |value: f64, bounds: &str| Err(ValueError::OutOfBounds { value: value.to_string(), bounds: bounds.to_owned() });
    let center = match center.trim() {
        "" => None,
        center => match float(center)? {
            // fio's marker for "no centre".
            -1.0 if compat == Compat::Strict => None,
            center if (0.0..=1.0).contains(&center) => Some(center),
            center => return outside(center, "0 to 1 (the centre)"),
        },
    };
    let curve = match word {
        "zipf" => match value.unwrap_or(ZIPF_THETA) {
            theta if theta == 1.0 || theta < 0.0 => return outside(theta, "0 or more, except 1"),
            theta => Curve::Zipf { theta },
        },
        "pareto" => match value.unwrap_or(PARETO_H) {
            h if h > 0.0 && h < 1.0 => Curve::Pareto { h },
            h => return outside(h, "more than 0 and less than 1"),
        },
        _ => match value.unwrap_or(0.0) {
            deviation if (0.0..100.0).contains(&deviation) => Curve::Normal { deviation },
            deviation => return outside(deviation, "0 to less than 100"),
        },
    };
    Ok(Some((curve, center)))
}

fn float(text: &str) -> Result<f64, ValueError> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(ValueError::NotANumber { text: text.to_owned() }),
    }
}

/// Parses `60/10:40/90` for each direction.
fn zones<T: Copy, U>(
    text: &str,
    example: &str,
    mut size: impl FnMut(&str) -> Result<Option<T>, ValueError>,
    mut complete: impl FnMut(Vec<FileZone<Option<T>>>) -> Result<Vec<FileZone<U>>, ValueError>,
) -> Result<PerDirection<Vec<FileZone<U>>>, ValueError> {
    if text.trim().is_empty() {
        return Err(ValueError::grammar(format!("zones are required, such as {example}")));
    }
    let texts = directions(text)?;
    let mut one = |text: &str| {
        let mut zones = Vec::new();
        for entry in text.split(':').map(str::trim).filter(|entry| !entry.is_empty()) {
            let (access, rest) = entry.split_once('/').unwrap_or((entry, ""));
            let access_percent = percent(access, Compat::Meant)?
                .ok_or_else(|| ValueError::grammar(format!("`{entry}` has no percentage of the ops")))?;
            let size = if rest.trim().is_empty() { None } else { size(rest.trim())? };
            zones.push(FileZone { access_percent, size });
        }
        if zones.len() > MOST_ZONES {
            return Err(ValueError::TooMany { most: MOST_ZONES });
        }
        let sum: u32 = zones.iter().map(|zone| u32::from(zone.access_percent)).sum();
        if !zones.is_empty() && sum != 100 {
            return Err(ValueError::grammar(format!("the percentages of the ops add up to {sum} %, not 100 %")));
        }
        complete(zones)
    };
    Ok(PerDirection { read: one(texts.read)?, write: one(texts.write)?, trim: one(texts.trim)? })
}

/// Divides the remaining size among zones without a size.
fn fill_sizes(zones: Vec<FileZone<Option<u8>>>) -> Result<Vec<FileZone<u8>>, ValueError> {
    let sum: u32 = zones.iter().filter_map(|zone| zone.size).map(u32::from).sum();
    if sum > 100 {
        return Err(ValueError::grammar(format!("the zones add up to {sum} % of the file, more than 100 %")));
    }
    let open = zones.iter().filter(|zone| zone.size.is_none()).count() as u32;
    let each = (100 - sum).checked_div(open).unwrap_or(0) as u8;
    Ok(zones
        .into_iter()
        .map(|zone| FileZone { access_percent: zone.access_percent, size: zone.size.unwrap_or(each) })
        .collect())
}

fn sequence(text: &str) -> Result<RandomDistribution, ValueError> {
    let steps: Result<Vec<u64>, ValueError> = text
        .split(',')
        .map(str::trim)
        .filter(|step| !step.is_empty())
        .map(|step| step.parse().map_err(|_| ValueError::NotANumber { text: step.to_owned() }))
        .collect();
    match steps? {
        steps if steps.is_empty() => Err(ValueError::grammar("block numbers are required, such as sequence:0,8,16")),
        steps if steps.len() > MOST_STEPS => Err(ValueError::TooMany { most: MOST_STEPS }),
        steps => Ok(RandomDistribution::Sequence(steps)),
    }
}
