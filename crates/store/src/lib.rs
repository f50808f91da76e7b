//! Results in one SQLite file: written during the run, read back exactly, and open to any SQL client.
//!
//! `docs/store.md` describes the guarantees and the file format. In short: a run has a row before its first op; a kill loses
//! at most the data since the last heartbeat; missing values are `NULL`; and data that cannot be read is never overwritten.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

mod canonical;
mod conformance;
mod diff;
mod document;
mod error;
mod export;
mod facts;
mod filter;
mod gate;
mod gather;
mod import;
mod keep;
mod listed;
mod mark;
mod network;
mod noise;
mod open;
mod overview;
mod owner;
mod query;
mod queue;
mod queue_directory;
mod read;
mod recover;
mod repeat;
mod result_store;
mod rows;
mod search;
mod series;
mod shared;
mod statement;
mod stored;
mod study;
mod sweep;
mod time;
mod token;
mod write;

pub use diff::FactDifference;
pub use document::{DocumentKind, StoredDocument};
pub use error::StoreError;
pub use export::FurtherColumns;
pub use filter::{Filter, FilterSql, FilterValue, PageEnd, SqlFamily};
pub use gather::GatheredPlots;
pub use import::{Imported, is_same_result};
pub use keep::{KeepError, save_next_to};
pub use listed::{ConformanceRow, GateRow};
pub use noise::{NoiseIn, NoiseWork, StoredFloors, Targets};
pub use open::{BUSY_TIMEOUT, SCHEMA_VERSION, Store};
pub use overview::{MachineRow, OVERVIEW_ROWS_MAX, Overviews, PLACE_RUNS_MAX, PlaceRow, STORAGE_MAX, StorageRow};
pub use query::{QueryCell, QueryLimits, QueryTable};
pub use queue::Queue;
pub use queue_directory::Waiting;
pub use recover::RecoveredRun;
pub use result_store::{ResultStore, ServedStore};
pub use rows::{
    CANDIDATES_MAX, FloorRow, HistogramBlob, HistoryPoint, LaneBlob, LatencyMapBlob, Mark, MarkKind, MetricRow,
    NumberRow, PhaseBlobs, PhaseIntervals, RunNumbers, RunRow, RunStatus, SeriesBlob, retraction,
};
pub use search::{FoundNumber, FoundRun, FoundRuns, KnownValues, PHASES_MAX, PhaseNumbers, RunSearch, VALUES_MAX};
pub use series::BlobError;
pub use shared::{FurtherBlobs, LocalDocument, LocalRun, LocalTable};
pub use stored::{BlobKind, StoredBlob, StoredRun};
pub use study::{
    SharedPlace, SharedStudy, StoredStudy, StudyIn, StudyPlace, StudyPlotRow, StudyPlotState, StudyRow, StudyRunEnd,
    StudyRunRow, StudyRunStatus,
};
pub use time::{rfc3339, unix_ns};
pub use token::{TokenRow, TokenScope, TokenStore, token_hash, token_id};
pub use write::{Partial, RunLog, RunStart, TagChange};
