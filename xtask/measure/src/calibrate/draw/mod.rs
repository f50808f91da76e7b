//! Studies with drawn numbers: thousands of them in seconds, while whole ones would take days. The rule and the
//! correction are those of real studies.

mod counts;
mod effects;
mod noise;
mod verdicts;

pub(super) use counts::{DrawnCounts, Varying};
pub(super) use effects::{DrawnEffects, Effect};
pub(super) use noise::Noise;
pub(super) use verdicts::{Design, Drawn, Truth};

pub(super) use counts::count;
pub(super) use effects::cover;
pub(super) use verdicts::{run, study};
