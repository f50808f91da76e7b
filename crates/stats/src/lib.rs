//! Estimators, tests, schedules and stop rules: pure functions over slices of numbers.
//!
//! A value here is one number of one *run* (or of one plot, for a factor that is hard to change). Per-second samples
//! and ops are not replicates, and no function in this crate can detect the difference. Rates and times are handled
//! on the log scale, so that "twice as fast" and "half as fast" are the same distance from 1. `docs/statistics.md`
//! explains the choice of each method and its limits.

pub mod bootstrap;
pub mod carry_over;
pub mod change;
pub mod components;
pub mod correct;
pub mod correlate;
pub mod counts;
pub mod effects;
pub mod equivalence;
mod error;
pub mod estimate;
pub mod gate;
pub mod modes;
pub mod orders;
pub mod outliers;
pub mod permutation;
pub mod power;
pub mod quantiles;
pub mod random;
pub mod schedule;
mod sides;
pub mod steady;
pub mod stop;
pub mod summary;
pub mod trend;
pub mod unseen;
pub mod verdict;
pub mod warmup;

pub use correct::{benjamini_hochberg, holm};
pub use error::StatsError;
pub use estimate::{ConfidenceInterval, Estimate, Ratio, paired, sample, welch};
pub use orders::{balanced_orders, orders_in_complete_block};
pub use permutation::{SignFlip, sign_flip};
pub use schedule::{Block, Interleaving, Side, blocked_order, interleaving};
pub use stop::{Decision, FurtherBudget, Precision, Statistic, StopReason, StopRule, Stopper};
pub use summary::{coefficient_of_variation, geometric_mean, median, median_absolute_deviation};
pub use verdict::{
    Assessment, Better, Compared, Family, Note, ReplicationUnit, Sides, Verdict, VerdictRule, assess, assess_all,
    assess_family, assess_plots,
};
