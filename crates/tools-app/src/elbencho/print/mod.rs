//! elbencho's output: its table, CSV and JSON files, live rows and log of ops.

pub mod csv;
pub mod dryrun;
mod format;
pub mod json;
mod latency;
pub mod live;
pub mod ops;
mod report;
mod services;
pub mod table;

pub use format::elapsed;
pub use latency::PhaseLatencies;
pub use report::{Both, EntryCounts, EntryOp, PhaseContext, PhaseReport, Processors, ServiceDone, WorkDone, report};
pub use services::of_services;

#[cfg(test)]
mod tests;
