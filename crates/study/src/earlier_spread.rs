//! The spread of an earlier study's numbers.

/// The spread between units of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FoundSpread {
    /// Coefficient of variation: the median over the numbers of a study.
    pub cv: f64,
    /// Degrees of freedom of one of the estimates; the smallest.
    pub freedom: u32,
}

/// The spread of an earlier study's numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierSpread {
    pub id: String,
    /// Spread between plots, beyond that of runs.
    pub plots: FoundSpread,
    /// Spread between runs on one plot.
    pub runs: FoundSpread,
    /// Variation of a factor's effect between plots, beyond that of runs. `None` unless an easy factor
    /// was compared on several plots.
    pub effects: Option<FoundSpread>,
}
