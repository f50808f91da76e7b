//! What a scenario is made of: what runs or is drawn, what is counted, and the bar.

use super::draw::{Drawn, DrawnCounts, DrawnEffects, Effect};
use super::gates::Pipeline;

/// Named work at a size, of one length a phase.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    /// A named workload.
    pub work: &'static str,
    /// Longest time of a phase, virtual ns.
    pub time_ns: u64,
    /// Bytes of the range.
    pub bytes: u64,
    /// Files of a file set.
    pub files: u64,
}

/// Two devices that are compared, or one with itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    /// The baseline.
    pub a: &'static str,
    /// The candidate.
    pub b: &'static str,
    /// By how much the candidate's ops take longer, as its `slow` says.
    pub gap: f64,
    /// What both are asked to do.
    pub load: Load,
}

/// A run of one device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Single {
    /// The device.
    pub device: &'static str,
    /// What it is asked to do.
    pub load: Load,
}

/// How often a comparison provisions anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plots {
    /// Once a side.
    One,
    /// So often a side.
    Of(u32),
}

/// One trial: what runs. Trials take the entries of a list in turn.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trial {
    /// `compare`.
    Compare {
        /// In turn.
        pairs: &'static [Pair],
        /// Provisionings.
        plots: Plots,
        /// The factor that is declared to vary.
        varying: Option<&'static str>,
        /// Blocks of every comparison; those of the stop rule when absent.
        blocks: Option<u32>,
    },
    /// `Bench::run`.
    Run {
        /// In turn.
        singles: &'static [Single],
    },
    /// The verdicts of a study, without its runs.
    Draw {
        /// In turn.
        studies: &'static [Drawn],
    },
    /// Devices' counts of two equal sides.
    Count {
        /// In turn.
        studies: &'static [DrawnCounts],
    },
    /// `plumb gate --keep`, session after session.
    Gates {
        /// In turn.
        pipelines: &'static [Pipeline],
    },
    /// The table of effects of two factors.
    Effects {
        /// In turn.
        designs: &'static [DrawnEffects],
    },
}

/// What of a trial is counted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Counted {
    /// Any contrast says `faster` or `slower`.
    Claim,
    /// The same, and nothing on the page says which unseen slow mode would undo it.
    ClaimOfAllRuns,
    /// Counts are said to be exactly fewer or more.
    Exact,
    /// The 95 % interval of this effect holds the true one.
    EffectCovered(Effect),
    /// The first headline is called `slower`.
    Slower,
    /// Any contrast says `faster`.
    Faster,
    /// The first headline is called `equivalent`.
    Equivalent,
    /// The 95 % interval of the first headline holds the true ratio, where the candidate is slower by this gap.
    Covers(f64),
    /// One of these checks warns or fails.
    Found(&'static [&'static str]),
    /// The same, for a comparison that ran this many blocks.
    FoundAt {
        /// The checks.
        codes: &'static [&'static str],
        /// Comparisons of fewer blocks do not count.
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

/// What a rate is held against.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bar {
    /// At most this share.
    AtMost(f64),
    /// At least this share.
    AtLeast(f64),
    /// From the one to the other.
    Between(f64, f64),
    /// Nothing: the rate is there to be read.
    Printed,
}

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    /// What is counted, in words.
    pub what: &'static str,
    /// What is counted.
    pub counted: Counted,
    /// The bar.
    pub bar: Bar,
}

/// One scenario.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scenario {
    /// For `--only`.
    pub name: &'static str,
    /// In words.
    pub about: &'static str,
    /// What runs.
    pub trial: Trial,
    /// Trials at full scale.
    pub trials: u64,
    /// Trials at small scale; with 0 it is left out there, and the output says so.
    pub trials_small: u64,
    /// What is counted.
    pub lines: &'static [Line],
}
