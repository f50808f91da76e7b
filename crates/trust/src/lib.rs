//! Judges whether a number can be believed. Pure functions: a workload, the engine's measurement and the probe's
//! observations go in; [findings](plumb_result::Finding), a [tier](RateTier) for every rate and a verdict come out.
//!
//! Every check is one row of [`CHECKS`]: its texts, its threshold and its function are in one file of [`checks`], and
//! `plumb explain`, `docs/checks.md` and the tests read the same row. A check that lacks its evidence is `skipped`
//! with the reason, never `pass`.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

pub mod advice;
mod check;
pub mod checks;
mod client;
mod comparison;
mod compressibility;
mod docs;
mod evidence;
mod factors;
mod fidelity;
#[cfg(test)]
mod fixture;
mod host_evidence;
mod hosts;
mod judge;
mod judgement;
mod limiter;
mod link;
mod live;
mod load;
mod load_comparison;
mod metrics;
mod not_seen;
mod passes;
mod plan;
mod same_work;
mod series;
mod shares;
mod stated;
pub mod text;
mod tier;

pub use advice::{CommandContext, Running, Typed, reword};
pub use check::{Check, Found, Judge, Outcome, Scope};
pub use checks::{CHECKS, others_can_matter};
pub use comparison::{
    DialectPrint, LatencyView, NumberFinding as NumberFound, NumberView, Planned, RunValue, Sequence, SideRecord,
    Stated, ToolPrint, number_name,
};
pub use docs::{docs, explain, explanation};
pub use evidence::{ComparisonSide, ComparisonView, Ground, PhaseView, RunView};
pub use factors::{Change, FACTORS, Factor, UnknownFactor, confounded, differences, factor, factor_of_feature};
pub use fidelity::fidelity_of_hosts;
pub use host_evidence::HostEvidence;
pub use hosts::{Measured, judge_hosts, of_ranks};
pub use judge::{
    MIN_PLOTS_TO_CLAIM, MIN_RUNS_TO_CLAIM, RunModes, is_below_floor, judge, judge_comparison, phase_results, run_modes,
};
pub use judgement::{Judgement, verdict};
pub use limiter::limiter;
pub use live::{LiveJudge, PhaseNews};
pub use load::declare_load_of;
pub use metrics::metrics;
pub use same_work::{WorkPrint, WorkQuestion, unlike, work_print};
pub use shares::{CACHE_SHARE, DEVICE_SHARE};
pub use stated::{StatedError, conversion};
pub use tier::{PhaseTiers, RateTier, live_tier, tiers};
