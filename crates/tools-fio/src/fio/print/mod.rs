//! fio's output, printed from a [`Report`]: pure functions from data to text, one module per format.
//!
//! | fio's name | function |
//! |---|---|
//! | `normal` | [`opening()`], then [`normal()`] |
//! | `terse`, `minimal`, `csv` (three names of one format) | [`terse()`] |
//! | `json`, `json+` | [`json()`] |
//! | `write_bw_log` and the other logs | [`log_line()`], [`hist_log_line()`], [`samples_log()`] |
//! | `--profile=act` | [`act_table()`] |
//! | `--eta` | [`eta_line()`] |
//! | `write_iolog` | [`iolog_header()`], [`iolog_line()`] |
//!
//! [`print()`] prints several of them.
//!
//! Machine formats are always valid: a missing number is 0, as in fio, and the job's `not_measured` lists these zeros
//! with their reasons. Layouts are those of fio 3.42; they were checked byte for byte against its outputs.
//! [`report_of()`] makes a [`Report`] from Plumb's measurements.

mod act;
mod build;
mod clients;
mod direction;
mod disk;
mod display;
mod eta;
mod figure;
mod format;
mod grid;
mod group;
mod iolog;
mod json;
mod json_text;
mod logs;
mod normal;
mod number;
mod opening;
mod report;
mod series_log;
mod source;
mod steady;
mod terse;
#[cfg(test)]
mod tests;

pub use act::{ActSlice, act_table};
pub use build::{BuildError, DiskStats, Heading, JobMember, JobSource, KeptLog, Latencies, Stage, Windows, report_of};
pub use clients::{HostReport, clients};
pub use eta::{Eta, RateLimit, Remaining, eta_line};
pub use format::{Format, print};
pub use grid::{BucketShares, LOG_COLUMNS};
pub use iolog::{IologAction, LoggedExtent, UsedBuffers, iolog_header, iolog_line};
pub use json::{JsonFormat, json};
pub use logs::{
    BadRecord, LogDirection, LogPriority, LogSample, LogValue, SampleLog, hist_log_line, log_line, log_record,
    read_record, samples_log,
};
pub use normal::{normal, unit_work};
pub use opening::{BlockRange, JobLine, MissingFiles, RunOpening, opening};
pub use report::*;
pub use series_log::{HistLog, JobLog, LogForm, LogQuantity, LogWriting, LoggedIo, Window};
pub use source::{Grouping, JobCopy, given, group_numbers, opening_of, sources};
pub use terse::{TerseVersion, terse};
