//! How much the numbers of an earlier study spread.

/// How much something varied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FoundSpread {
    /// As a coefficient of variation: the median over the numbers of a study.
    pub cv: f64,
    /// Degrees of freedom of one of them; the fewest.
    pub freedom: u32,
}

/// How much the numbers of an earlier study spread.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierSpread {
    /// The study.
    pub id: String,
    /// From one plot to the next, beyond what runs vary by.
    pub plots: FoundSpread,
    /// From one run to the next on one plot.
    pub runs: FoundSpread,
    /// Variation of a factor's effect from one plot to the next, beyond that of runs. Present where an easy factor was compared on several plots.
    pub effects: Option<FoundSpread>,
}
