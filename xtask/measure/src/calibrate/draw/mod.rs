//! Studies whose numbers are drawn: thousands of them in seconds, where whole ones would take days. The rule and the correction
//! are those that judge real studies.

mod counts;
mod effects;
mod noise;
mod verdicts;

pub use counts::{DrawnCounts, Varying};
pub use effects::{DrawnEffects, Effect};
pub use noise::Noise;
pub use verdicts::{Design, Drawn, Truth};

pub(super) use counts::count;
pub(super) use effects::cover;
pub(super) use verdicts::{run, study};
