//! Parts of [`super::work`] that take more than one option.

use super::values::Values;
use super::work::Work;
use crate::fio::value::choice::Steady;
use crate::fio::value::split::Share;
use crate::fio::value::{Between, PerDirection};
use plumb_workload::Nanos;

/// fio's block size where none is said.
pub(super) const DEFAULT_BLOCK_BYTES: u64 = 4_096;

/// The sizes of one kind of op.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sizes {
    /// Always this.
    Fixed(u64),
    /// Drawn from a range.
    Range(Between<u64>),
    /// Drawn from a list.
    Split(Vec<Share>),
}

impl Work {
    /// The sizes that hold: a split over a range over a size.
    pub fn sizes(&self) -> PerDirection<Sizes> {
        let one = |bytes: u64, range: Option<Between<u64>>, split: &[Share]| match (split, range) {
            ([], None) => Sizes::Fixed(bytes),
            ([], Some(range)) if range.low == range.high => Sizes::Fixed(range.low),
            ([], Some(range)) => Sizes::Range(range),
            (split, _) => Sizes::Split(split.to_vec()),
        };
        PerDirection {
            read: one(self.bs.read, self.bs_range.read, &self.bs_split.read),
            write: one(self.bs.write, self.bs_range.write, &self.bs_split.write),
            trim: one(self.bs.trim, self.bs_range.trim, &self.bs_split.trim),
        }
    }
}

/// End when a figure is steady.
#[derive(Debug, Clone, PartialEq)]
pub struct SteadyStop {
    /// Which figure, how judged, and how far it may be off.
    pub criterion: Steady,
    /// The window that must be steady.
    pub duration: Nanos,
    /// So much of the beginning is ignored.
    pub ramp_time: Nanos,
    /// How often it is judged.
    pub check_interval: Nanos,
}

/// fio judges steadiness only where a window is given.
pub(super) fn steady(values: &Values) -> Option<SteadyStop> {
    let duration = values.time_unless_zero("steadystate_duration")?;
    Some(SteadyStop {
        criterion: values.steady("steadystate")?,
        duration,
        ramp_time: values.time("steadystate_ramp_time").unwrap_or(Nanos(0)),
        check_interval: values.time("steadystate_check_interval").unwrap_or(Nanos(1_000_000_000)),
    })
}

/// Whichever of the two shares was said last has taken the other back.
pub(super) fn read_percent(values: &Values) -> u8 {
    let read = if values.is_said("rwmixwrite") {
        100_u32.saturating_sub(values.count("rwmixwrite"))
    } else {
        values.count("rwmixread")
    };
    read.min(100) as u8
}

pub(super) fn unless_zero(value: Option<u64>) -> Option<u64> {
    value.filter(|value| *value > 0)
}
