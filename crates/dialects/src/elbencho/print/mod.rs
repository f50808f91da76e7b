//! What elbencho's readers expect: its table, its CSV and JSON files, its live rows, its log of ops.

pub mod csv;
pub mod dryrun;
mod format;
pub mod json;
mod latency;
pub mod live;
pub mod ops;
mod report;
pub mod table;

pub use format::elapsed;
pub use latency::PhaseLatencies;
pub use report::{Both, EntryCounts, EntryOp, PhaseReport, Processors, SeenBeside, WorkDone, report};

#[cfg(test)]
mod tests;
