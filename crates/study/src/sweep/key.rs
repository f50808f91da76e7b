//! Parses axes of a sweep: `depth=1..256`, `size=64MiB..4GiB:7`, `block=4k,64k,1M`, `rate=auto`.

use plumb_result::SweepKey;
use plumb_workload::suggest::nearest;
use plumb_workload::{Bytes, PerSecond, Size};

/// A key with its levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    pub key: SweepKey,
    /// Its levels, rising.
    pub levels: Vec<f64>,
}

/// The meaning of an argument.
#[derive(Debug, Clone, PartialEq)]
pub enum SweepArgument {
    Levels(Axis),
    /// Rates as shares of the closed-loop maximum.
    RateAuto,
}

/// Largest number of points in a sweep: beyond it a sweep takes hours, and a curve does not miss one more point.
pub const POINTS_MAX: usize = 64;

/// Largest number of doublings in a range whose steps are still factors of two.
const DOUBLINGS_MAX: u32 = 11;

/// Default number of points in a range of rates, and of shares.
const POINTS_OF_RATE: u32 = 8;
const POINTS_OF_SHARE: u32 = 5;

/// Shares of the closed-loop maximum, in percent, that `rate=auto` goes through.
const AUTO_FROM_PERCENT: f64 = 10.0;
const AUTO_TO_PERCENT: f64 = 120.0;
const AUTO_POINTS: u32 = 12;

/// The reason why an argument is not an axis.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AxisError {
    /// The key does not exist.
    #[error("`{key}` cannot be swept; {help}")]
    Key {
        key: String,
        /// The nearest key, or all keys.
        help: String,
    },
    /// A value is malformed.
    #[error("{key}: `{text}` is not {expected}")]
    Value {
        key: &'static str,
        text: String,
        /// Description of a correct value.
        expected: &'static str,
    },
    /// The range goes from the larger to the smaller value.
    #[error("{key}={text}: the range must rise; write the smaller end first")]
    Falling { key: &'static str, text: String },
    /// The levels are not a range, a list, or a number of points.
    #[error("{key}={text}: {reason}; write {key}=A..B, {key}=A..B:POINTS or {key}=A,B,C")]
    Form { key: &'static str, text: String, reason: &'static str },
}

/// Returns `true` if an argument looks like `KEY=…`. A place does not, unless it is named `a=b`;
/// then write it as `./a=b`.
pub fn looks_like_axis(argument: &str) -> bool {
    argument.split_once('=').is_some_and(|(key, _)| {
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    })
}

/// Parses `KEY=LEVELS`. `points` is the number of points in a range that sets none; `ram_bytes`
/// is the memory for `ram*2`.
///
/// # Errors
/// [`AxisError`].
pub fn parse(argument: &str, points: Option<u32>, ram_bytes: u64) -> Result<SweepArgument, AxisError> {
    let (word, text) = argument.split_once('=').unwrap_or((argument, ""));
    let key = key(word)?;
    let text = text.trim();
    if key == SweepKey::Rate && text == "auto" {
        return Ok(SweepArgument::RateAuto);
    }
    let form = |reason| AxisError::Form { key: key.name(), text: text.to_owned(), reason };
    let value = |text: &str| value(key, text.trim(), ram_bytes);
    let mut levels = match text.split_once("..") {
        None if text.contains(',') => text.split(',').map(value).collect::<Result<Vec<_>, _>>()?,
        None if text.is_empty() => return Err(form("there are no levels")),
        None => vec![value(text)?],
        Some((from, rest)) => {
            let (to, points) = match rest.split_once(':') {
                None => (rest, points),
                Some((to, number)) => match number.trim().parse::<u32>() {
                    Ok(number) => (to, Some(number)),
                    Err(_) => return Err(form("the number of points is not a number")),
                },
            };
            if points.is_some_and(|points| points < 2 || points as usize > POINTS_MAX) {
                return Err(form("a range has 2 to 64 points"));
            }
            let (from, to) = (value(from)?, value(to)?);
            if from >= to {
                return Err(AxisError::Falling { key: key.name(), text: text.to_owned() });
            }
            match key {
                SweepKey::Read => linear(from, to, points.unwrap_or(POINTS_OF_SHARE)),
                SweepKey::Rate => geometric(from, to, points.unwrap_or(POINTS_OF_RATE)),
                _ => match points {
                    Some(points) => geometric(from, to, points),
                    None => doublings(from, to),
                },
            }
        }
    };
    for level in &mut levels {
        *level = rounded(key, *level);
    }
    levels.sort_unstable_by(f64::total_cmp);
    levels.dedup();
    Ok(SweepArgument::Levels(Axis { key, levels }))
}

/// Returns the rates of `rate=auto`: 10 % to 120 % of the closed-loop maximum, in even steps.
pub(crate) fn auto_rates(maximum: f64, points: Option<u32>) -> Axis {
    let shares = linear(AUTO_FROM_PERCENT, AUTO_TO_PERCENT, auto_points(points) as u32);
    Axis { key: SweepKey::Rate, levels: shares.into_iter().map(|percent| maximum * percent / 100.0).collect() }
}

/// Returns the number of points of `rate=auto`.
pub(crate) fn auto_points(points: Option<u32>) -> usize {
    points.unwrap_or(AUTO_POINTS).clamp(2, POINTS_MAX as u32) as usize
}

fn key(word: &str) -> Result<SweepKey, AxisError> {
    let names: Vec<&str> = SweepKey::ALL.iter().map(|key| key.name()).collect();
    SweepKey::ALL.iter().copied().find(|key| key.name() == word).ok_or_else(|| AxisError::Key {
        key: word.to_owned(),
        help: match nearest(word, names.iter().copied()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("there are {}; a directory of that name is written `./{word}=…`", names.join(", ")),
        },
    })
}

fn value(key: SweepKey, text: &str, ram_bytes: u64) -> Result<f64, AxisError> {
    let malformed = |expected| AxisError::Value { key: key.name(), text: text.to_owned(), expected };
    let whole = |most: u32, expected| match text.parse::<u32>() {
        Ok(number) if (1..=most).contains(&number) => Ok(f64::from(number)),
        _ => Err(malformed(expected)),
    };
    match key {
        SweepKey::Depth => whole(32_768, "a number of ops in flight, 1 to 32768"),
        SweepKey::Threads => whole(65_536, "a number of workers, 1 to 65536"),
        SweepKey::Block => match text.parse::<Bytes>() {
            Ok(Bytes(bytes)) if bytes >= 1 => Ok(bytes as f64),
            _ => Err(malformed("a size such as `4k` or `1MiB`")),
        },
        SweepKey::Size => match text.parse::<Size>() {
            Ok(size @ (Size::Bytes(_) | Size::Ram(_))) if size.resolve(ram_bytes, 0).0 >= 4096 => {
                Ok(size.resolve(ram_bytes, 0).0 as f64)
            }
            _ => Err(malformed("a size of at least 4 KiB, such as `64MiB` or `ram*2`")),
        },
        SweepKey::Rate => text
            .parse::<PerSecond>()
            .map(|rate| rate.0)
            .map_err(|_| malformed("a rate such as `1000/s` or `50k/s`; a range of one needs both ends, or `auto`")),
        SweepKey::Read => match text.trim_end_matches('%').trim_end().parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
            _ => Err(malformed("a share of reads in percent, 0 to 100")),
        },
    }
}

fn linear(from: f64, to: f64, points: u32) -> Vec<f64> {
    let step = (to - from) / f64::from(points - 1);
    (0..points).map(|number| if number + 1 == points { to } else { from + step * f64::from(number) }).collect()
}

fn geometric(from: f64, to: f64, points: u32) -> Vec<f64> {
    let step = (to / from).ln() / f64::from(points - 1);
    (0..points).map(|number| if number + 1 == points { to } else { from * (step * f64::from(number)).exp() }).collect()
}

/// Returns levels that double (or quadruple, if doubling would give many) up to the last one, which stays as given.
fn doublings(from: f64, to: f64) -> Vec<f64> {
    let doublings = (to / from).log2().ceil().max(1.0) as u32;
    let factor = 2f64.powi(doublings.div_ceil(DOUBLINGS_MAX) as i32);
    let mut levels = vec![from];
    while let Some(next) = levels.last().map(|last| last * factor).filter(|next| *next < to) {
        levels.push(next);
    }
    levels.push(to);
    levels
}

/// Rounds a level to possible values: whole ops and workers; blocks in whole sectors, or pages; sizes
/// in whole pages, or MiB.
fn rounded(key: SweepKey, level: f64) -> f64 {
    let to = |unit: f64| ((level / unit).round() * unit).max(unit);
    const PAGE: f64 = 4096.0;
    const MIB: f64 = (1 << 20) as f64;
    match key {
        SweepKey::Depth | SweepKey::Threads => to(1.0),
        SweepKey::Block if level >= PAGE => to(PAGE),
        SweepKey::Block if level >= 512.0 => to(512.0),
        SweepKey::Block => to(1.0),
        SweepKey::Size if level >= MIB => to(MIB),
        SweepKey::Size => to(PAGE),
        SweepKey::Read => to(1.0).min(100.0) * f64::from(level >= 0.5),
        SweepKey::Rate => level,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn levels(text: &str) -> Vec<f64> {
        match parse(text, None, 1 << 30).unwrap() {
            SweepArgument::Levels(axis) => axis.levels,
            SweepArgument::RateAuto => panic!("{text} is auto"),
        }
    }

    #[test]
    fn ranges_double_and_lists_are_taken_as_they_are() {
        assert_eq!(levels("depth=1..256"), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]);
        assert_eq!(levels("depth=1..20"), [1.0, 2.0, 4.0, 8.0, 16.0, 20.0]);
        assert_eq!(levels("depth=1..100:3"), [1.0, 10.0, 100.0]);
        assert_eq!(levels("block=4k,64k,1M"), [4096.0, 65536.0, 1048576.0]);
        assert_eq!(levels("threads=3,1,2,2"), [1.0, 2.0, 3.0]);
        assert_eq!(levels("read=0..100"), [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(levels("read=70%"), [70.0]);
        assert_eq!(levels("size=ram*0.5..ram*2"), [0.5, 1.0, 2.0].map(|factor| factor * (1u64 << 30) as f64));
        assert_eq!(levels("rate=1k/s..100k/s:3").iter().map(|rate| rate.round()).collect::<Vec<_>>(), [1e3, 1e4, 1e5]);
        assert_eq!(parse("rate=auto", None, 0), Ok(SweepArgument::RateAuto));
        let auto = auto_rates(1000.0, None).levels;
        assert_eq!((auto.len(), auto[0], auto[11]), (12, 100.0, 1200.0));
    }

    /// A range over many powers of two gives a curve that can still be measured.
    #[test]
    fn wide_ranges_take_larger_steps() {
        let wide = levels("size=4k..1T");
        assert!(wide.len() <= 13 && wide.windows(2).all(|pair| pair[0] < pair[1]), "{wide:?}");
    }

    #[test]
    fn errors_show_the_way_out() {
        let error = |text: &str| parse(text, None, 1 << 30).unwrap_err().to_string();
        assert_eq!(error("dpeth=1..2"), "`dpeth` cannot be swept; did you mean `depth`?");
        assert!(error("colour=1..2").contains("there are depth, rate, block, size, threads, read"));
        assert!(error("depth=0..4").contains("1 to 32768"));
        assert!(error("depth=8..2").contains("smaller end first"));
        assert!(error("depth=").contains("no levels") && error("depth=1..4:x").contains("not a number"));
        assert!(error("depth=1..4:1").contains("2 to 64 points"));
        assert!(error("depth=1..4:4000000000").contains("2 to 64 points"));
        assert!(error("read=0..101").contains("0 to 100"));
        assert!(error("rate=1..auto").contains("auto"));
        assert!(error("size=free*2").contains("ram*2"));
    }

    #[test]
    fn places_are_not_taken_for_keys() {
        for place in ["sim:hdd?slow=5%", "./a=b", "/mnt/x=1", "data", "."] {
            assert!(!looks_like_axis(place), "{place}");
        }
        assert!(looks_like_axis("depth=1..4") && looks_like_axis("dpeth=1"));
    }

    proptest! {
        #[test]
        fn levels_rise_and_keep_their_ends(from in 1u32..1000, more in 1u32..100_000, points in 2u32..30) {
            let to = (from + more).min(32_768);
            let text = format!("depth={from}..{to}:{points}");
            if let SweepArgument::Levels(Axis { levels, .. }) = parse(&text, None, 1 << 30).unwrap() {
                prop_assert_eq!((levels[0], levels[levels.len() - 1]), (f64::from(from), f64::from(to)));
                prop_assert!(levels.windows(2).all(|pair| pair[0] < pair[1]));
                prop_assert!(levels.len() <= points as usize);
            }
        }

        /// Any text gives a result or an error, and no panic.
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,30}", key in "(depth|rate|block|size|threads|read)") {
            let _ = parse(&text, None, 1 << 30);
            let _ = parse(&format!("{key}={text}"), Some(5), 1 << 30);
        }
    }
}
