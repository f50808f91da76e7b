//! Errors of estimators and tests.

/// The reason why these values give no estimate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// There are too few values for any estimate of the spread.
    #[error("{found} values are too few (minimum {needed}); run more blocks")]
    TooFew { needed: usize, found: usize },
    /// The log scale cannot hold zero, negative numbers, infinities or NaN.
    #[error(
        "value {index} is {value}, but rates and times must be above 0 and finite; leave the run out and record why"
    )]
    NotPositive { index: usize, value: f64 },
    /// NaN and infinities have no ranks or distances.
    #[error("value {index} is {value}, not a finite number; leave it out and record why")]
    NotFinite { index: usize, value: f64 },
    /// Each block needs both sides.
    #[error("{baseline} baseline and {candidate} candidate values cannot be paired; leave incomplete blocks out")]
    Unpaired { baseline: usize, candidate: usize },
    /// The analysis requires groups of equal size.
    #[error("groups of {least} to {most} values are unbalanced; drop the surplus or complete the plan")]
    Unbalanced {
        /// Size of the smallest group.
        least: usize,
        /// Size of the largest group.
        most: usize,
    },
    /// A setting is out of range.
    #[error("{name} = {value} is outside {allowed}")]
    Setting {
        name: &'static str,
        value: f64,
        /// The valid range, in words.
        allowed: &'static str,
    },
}
