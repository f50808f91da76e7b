//! Plans the points of a sweep before any of them runs. Pure.

use super::key::{Axis, POINTS_MAX, SweepArgument, auto_points};
use plumb_result::SweepKey;
use plumb_stats::orders_in_complete_block;
use plumb_workload::PerSecond;
use plumb_workload::units::UnitError;

/// The levels that a sweep goes through.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepSchedule {
    /// One key, two for a grid, or none if only rates are swept that are not known yet.
    pub axes: Vec<Axis>,
    pub load: OfferedLoad,
}

/// Arrival of ops at the points of a sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OfferedLoad {
    /// In the way that the workload sets.
    AsWritten,
    /// At this rate, at random times.
    Rate(PerSecond),
    /// First in the way that the workload sets, then at shares of its largest rate, at random times.
    Auto { points: usize },
}

/// The reason why arguments do not make a sweep.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SweepPlanError {
    /// There is nothing to sweep.
    #[error("nothing to sweep; name a key and its range, such as `depth=1..64`, or `rate=auto`")]
    Nothing,
    /// A surface of three keys cannot be shown or read.
    #[error("{keys}: too many keys; a sweep takes one, or two for a grid")]
    TooManyKeys { keys: String },
    /// A key is given twice.
    #[error("`{key}` is given twice; give each key once, with all its levels")]
    Twice { key: &'static str },
    /// A single level is not a curve.
    #[error("{argument} has only one level; give a range or several levels, or use `plumb run --set`")]
    OneLevel { argument: String },
    /// There are too many points.
    #[error("{points} points are more than {POINTS_MAX}; take fewer with --points, or name levels, such as {example}")]
    TooManyPoints { points: usize, example: String },
    /// `--rate` and `rate=` are both given.
    #[error("`rate` is already swept; leave out --rate")]
    RateTwice,
    /// Shares of the maximum make no sense if the maximum differs between points.
    #[error(
        "`rate=auto` goes with `depth` or `threads` or alone, since the maximum differs with {key}; give the rates themselves, \
         such as `rate=1k/s..50k/s`"
    )]
    AutoWith { key: &'static str },
}

impl SweepSchedule {
    /// Plans a sweep from its arguments: the keys in the order as typed, and the value of `--rate`.
    ///
    /// # Errors
    /// [`SweepPlanError`].
    pub fn new(
        asked: Vec<SweepArgument>,
        rate: Option<RateOption>,
        points: Option<u32>,
    ) -> Result<SweepSchedule, SweepPlanError> {
        let mut axes: Vec<Axis> = Vec::new();
        let mut auto = 0;
        for one in asked {
            match one {
                SweepArgument::RateAuto => auto += 1,
                SweepArgument::Levels(axis) => axes.push(axis),
            }
        }
        for (at, axis) in axes.iter().enumerate() {
            if axes[..at].iter().any(|other| other.key == axis.key) {
                return Err(SweepPlanError::Twice { key: axis.key.name() });
            }
        }
        let sweeps_rate = axes.iter().any(|axis| axis.key == SweepKey::Rate);
        if auto > 1 || (auto == 1 && sweeps_rate) {
            return Err(SweepPlanError::Twice { key: "rate" });
        }
        let load = match rate {
            Some(_) if sweeps_rate || auto == 1 => return Err(SweepPlanError::RateTwice),
            Some(RateOption::At(rate)) => OfferedLoad::Rate(rate),
            Some(RateOption::Auto) => OfferedLoad::Auto { points: auto_points(points) },
            None if auto == 1 => OfferedLoad::Auto { points: auto_points(points) },
            None => OfferedLoad::AsWritten,
        };
        if axes.is_empty() && !matches!(load, OfferedLoad::Auto { .. }) {
            return Err(SweepPlanError::Nothing);
        }
        if axes.len() > 2 {
            let keys: Vec<&str> = axes.iter().map(|axis| axis.key.name()).collect();
            return Err(SweepPlanError::TooManyKeys { keys: keys.join(", ") });
        }
        if let OfferedLoad::Auto { .. } = load {
            let fits = |axis: &Axis| matches!(axis.key, SweepKey::Depth | SweepKey::Threads);
            if let Some(axis) = axes.iter().find(|axis| !fits(axis)).or(axes.get(1)) {
                return Err(SweepPlanError::AutoWith { key: axis.key.name() });
            }
        }
        let count: usize = axes.iter().map(|axis| axis.levels.len()).product();
        if let (1, Some(axis)) = (count, axes.first()) {
            return Err(SweepPlanError::OneLevel {
                argument: format!("{}={}", axis.key.name(), axis.key.text(axis.levels[0])),
            });
        }
        if count > POINTS_MAX {
            let longest = axes.iter().max_by_key(|axis| axis.levels.len());
            let example = longest.map_or(String::new(), |axis| {
                let (first, last) = (axis.levels[0], axis.levels[axis.levels.len() - 1]);
                format!("`{}={}..{}:5`", axis.key.name(), axis.key.text(first), axis.key.text(last))
            });
            return Err(SweepPlanError::TooManyPoints { points: count, example });
        }
        Ok(SweepSchedule { axes, load })
    }

    /// Returns the number of points of all curves.
    pub fn points(&self) -> usize {
        let levels = if self.axes.is_empty() { 0 } else { self.axes.iter().map(|axis| axis.levels.len()).product() };
        levels + if let OfferedLoad::Auto { points } = self.load { points } else { 0 }
    }

    /// Returns `true` if a key is swept.
    pub fn sweeps(&self, key: SweepKey) -> bool {
        self.axes.iter().any(|axis| axis.key == key)
    }
}

/// The value of `--rate`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateOption {
    /// Shares of the closed-loop maximum.
    Auto,
    At(PerSecond),
}

/// The reason why a text is not a rate of a sweep.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}, nor `auto`")]
pub struct RateError(UnitError);

impl std::str::FromStr for RateOption {
    type Err = RateError;
    fn from_str(text: &str) -> Result<RateOption, RateError> {
        match text {
            "auto" => Ok(RateOption::Auto),
            text => Ok(RateOption::At(text.parse().map_err(RateError)?)),
        }
    }
}

/// Returns the number of repeats: as many as requested, plus one of several if that makes a complete block of orders,
/// in which every point follows every other one equally often.
pub(crate) fn in_complete_block(repeats: u32, points: usize) -> u32 {
    let whole = repeats.max(1).next_multiple_of(orders_in_complete_block(points) as u32);
    if repeats > 1 && whole <= repeats.saturating_add(1) { whole } else { repeats }
}

/// Returns `true` if a sweep may end after `done` repeats: if it makes complete blocks, only after one of them.
pub(crate) fn may_end_after(done: u32, repeats: u32, points: usize) -> bool {
    let complete = orders_in_complete_block(points) as u32;
    !repeats.is_multiple_of(complete) || done.is_multiple_of(complete)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::key::parse;

    fn plan(arguments: &[&str], rate: Option<&str>) -> Result<SweepSchedule, SweepPlanError> {
        let asked = arguments.iter().map(|argument| parse(argument, None, 1 << 30).unwrap()).collect();
        SweepSchedule::new(asked, rate.map(|rate| rate.parse().unwrap()), None)
    }

    #[test]
    fn one_key_two_keys_and_rates() {
        assert_eq!(plan(&["depth=1..256"], None).unwrap().points(), 9);
        assert_eq!(plan(&["depth=1..8", "block=4k,64k"], None).unwrap().points(), 8);
        assert_eq!(plan(&["rate=auto"], None).unwrap().points(), 12);
        assert_eq!(plan(&["depth=1..256"], Some("auto")).unwrap().points(), 21);
        assert_eq!(plan(&["depth=1..256"], Some("5k/s")).unwrap().load, OfferedLoad::Rate(PerSecond(5000.0)));
        assert_eq!(plan(&["depth=8", "block=4k,8k"], None).unwrap().points(), 2);
    }

    #[test]
    fn invalid_sweeps_are_refused_with_the_way_out() {
        let error = |arguments: &[&str], rate| plan(arguments, rate).unwrap_err().to_string();
        assert!(error(&[], None).contains("depth=1..64"));
        assert!(error(&["depth=8"], None).contains("plumb run --set"));
        assert!(error(&["depth=1..256", "size=4k..4G"], None).contains("more than 64"));
        assert!(error(&["depth=1..4", "depth=8..16"], None).contains("twice"));
        assert!(error(&["depth=1..4", "block=4k,8k", "read=0..100"], None).contains("two for a grid"));
        assert!(error(&["rate=1..10"], Some("auto")).contains("leave out --rate"));
        assert!(error(&["rate=auto", "block=4k,8k"], None).contains("differs with block"));
        assert!("fast".parse::<RateOption>().unwrap_err().to_string().contains("nor `auto`"));
    }

    #[test]
    fn repeats_make_complete_blocks_if_that_costs_at_most_one_repeat() {
        let cases = [(1, 2, 1), (2, 2, 2), (3, 2, 4), (3, 4, 4), (5, 3, 6), (3, 3, 3), (3, 9, 3), (7, 8, 8), (3, 1, 3)];
        for (asked, points, repeats) in cases {
            assert_eq!(in_complete_block(asked, points), repeats, "{asked} of {points} points");
        }
        assert!(may_end_after(2, 4, 2) && !may_end_after(3, 4, 2));
        assert!(may_end_after(1, 3, 9), "too few for a complete block: every repeat is a block of its own");
    }
}
