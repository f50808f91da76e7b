//! The parts of a scenario: runs or draws, counted outcomes, and bars.

use super::draw::{Drawn, DrawnCounts, DrawnEffects, Effect};
use super::gates::Pipeline;

/// Named work at a size, with one length per phase.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub work: &'static str,
    /// Maximum length of a phase in virtual nanoseconds.
    pub time_ns: u64,
    /// Size of the range in bytes.
    pub bytes: u64,
    /// Number of files in a file set.
    pub files: u64,
}

/// Two devices to compare, or one with itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub a: &'static str,
    pub b: &'static str,
    /// Factor by which the candidate's ops take longer, as in its `slow` fault.
    pub gap: f64,
    /// Load of both devices.
    pub load: Load,
}

/// A run of one device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Single {
    pub device: &'static str,
    pub load: Load,
}

/// Number of provisionings in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plots {
    One,
    Of(u32),
}

/// A kind of trial. Trials use the entries of a list in turn.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trial {
    Compare {
        pairs: &'static [Pair],
        plots: Plots,
        /// The declared factor.
        varying: Option<&'static str>,
        /// Blocks of every comparison; `None` for the stop rule.
        blocks: Option<u32>,
    },
    /// `Bench::run`.
    Run { singles: &'static [Single] },
    /// Verdicts of a study with drawn numbers.
    Draw { studies: &'static [Drawn] },
    /// Device counts of two equal sides.
    Count { studies: &'static [DrawnCounts] },
    /// `plumb gate --keep`, session after session.
    Gates { pipelines: &'static [Pipeline] },
    /// The table of effects of two factors.
    Effects { designs: &'static [DrawnEffects] },
}

/// The counted outcome of a trial.
#[derive(Debug, Clone, Copy)]
pub(super) enum Counted {
    /// Any contrast says `faster` or `slower`.
    Claim,
    /// Like `Claim`, and the page does not say which unseen slow mode would undo it.
    ClaimOfAllRuns,
    /// Any count is called exactly fewer or more.
    Exact,
    /// The 95 % interval of this effect contains the true one.
    EffectCovered(Effect),
    /// The first headline is called `slower`.
    Slower,
    /// Any contrast says `faster`.
    Faster,
    /// The first headline is called `equivalent`.
    Equivalent,
    /// The 95 % interval of the first headline contains the true ratio, for a candidate slower by this gap.
    Covers(f64),
    /// One of these checks warns or fails.
    Found(&'static [&'static str]),
    /// Like `Found`, for a comparison that ran this many blocks.
    FoundAt {
        codes: &'static [&'static str],
        /// Comparisons with fewer blocks do not count.
        blocks: usize,
    },
    /// Any check warns or fails.
    AnythingFound,
    /// After this many sessions, the next one is a regression, or is suspected and its second one is.
    RegressionAfter(u32),
    /// The same path ends with `cannot tell`.
    CannotTellAfter(u32),
    /// The session after this many is suspected.
    SuspectedAfter(u32),
    /// Any session of the pipeline is a regression.
    AnyRegression,
}

/// The bar for a rate.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bar {
    AtMost(f64),
    /// Minimum share.
    AtLeast(f64),
    /// Range of shares, including both ends.
    Between(f64, f64),
    /// No bar: the rate is only printed.
    Printed,
}

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    /// Description of the counted outcome.
    pub what: &'static str,
    pub counted: Counted,
    pub bar: Bar,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Scenario {
    pub name: &'static str,
    pub about: &'static str,
    pub trial: Trial,
    pub trials: u64,
    /// Trials at small scale; 0 skips it there, with a message.
    pub trials_small: u64,
    pub lines: &'static [Line],
}
