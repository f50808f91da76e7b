//! Why no number can be had.

/// Why no number can be had from these values.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// Too few values for any estimate of the spread.
    #[error("{found} values are too few (minimum {needed}); run more blocks")]
    TooFew {
        /// The least that works.
        needed: usize,
        /// What was given.
        found: usize,
    },
    /// The log scale has no place for zero, negative numbers, infinities and NaN.
    #[error(
        "value {index} is {value}, but rates and times must be above 0 and finite; leave the run out and record why"
    )]
    NotPositive {
        /// Position in the slice.
        index: usize,
        /// What was found there.
        value: f64,
    },
    /// Ranks and distances have no place for NaN and infinities.
    #[error("value {index} is {value}, not a finite number; leave it out and record why")]
    NotFinite {
        /// Position in the slice.
        index: usize,
        /// What was found there.
        value: f64,
    },
    /// Each block needs both sides.
    #[error("{baseline} baseline and {candidate} candidate values cannot be paired; leave incomplete blocks out")]
    Unpaired {
        /// Values of the baseline.
        baseline: usize,
        /// Values of the candidate.
        candidate: usize,
    },
    /// The analysis is for designs in which all groups are of one size.
    #[error("groups of {least} to {most} values are unbalanced; drop the surplus or complete the plan")]
    Unbalanced {
        /// Values of the smallest group.
        least: usize,
        /// Values of the largest group.
        most: usize,
    },
    /// A setting that no interval or test can have.
    #[error("{name} = {value} is outside {allowed}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
}
