//! Results of a run as pure data. The engine writes [`Measurement`]s and the probe writes [`Observations`]. Trust
//! turns both into [`Finding`]s, a [`Tier`] for every rate and a [`RunVerdict`]. Together they form a [`RunResult`],
//! which the store keeps and reports and dialects print. Nothing in this crate touches the system.

#![warn(missing_docs)] // these docs become the descriptions in the JSON schema

pub mod anonymise;
pub mod assertion;
pub mod audit;
pub mod blocks;
pub mod caches;
pub mod client;
pub mod compare;
pub mod conditions;
pub mod copy;
pub mod facts;
pub mod finding;
pub mod fit_for;
pub mod gate;
pub mod histogram;
pub mod imported;
pub mod lane;
pub mod latency_map;
pub mod limiter;
pub mod limits;
pub mod measurement;
pub mod medians;
pub mod merge;
pub mod metric;
#[cfg(test)]
mod names;
pub mod network;
pub mod noise;
pub mod number;
pub mod observe;
mod path_text;
pub mod posix;
pub mod processors;
pub mod published;
pub mod ranks;
pub mod reader;
pub mod remedy;
pub mod repeat;
pub mod replay;
pub mod run;
pub mod seen;
pub mod settle;
pub mod stream;
pub mod study;
pub mod sweep;
pub mod tails;
pub mod tidy;
pub mod under_load;
pub mod utilisation;
pub mod verdict;
pub mod watch;

pub use anonymise::{AnonymiseError, Anonymiser};
pub use audit::{Audit, AuditFinding, AuditedClaim, ClaimVerdict};
pub use compare::{Comparison, Contrast, ContrastVerdict};
pub use finding::{Finding, Level, RunVerdict, Tier};
pub use fit_for::{FIT_FOR_SCHEMA, FitAnswer, FitFor, FitLimit, FitNumber};
pub use gate::{Gate, GateAnswer};
pub use histogram::{Histogram, MIN_SAMPLES_BEYOND};
pub use imported::{Imported, ImportedNumber};
pub use lane::{Lane, LaneLog, LaneMeasure};
pub use latency_map::{BucketCount, LatencyColumn, LatencyMap};
pub use limiter::{Bound, Limiter};
pub use limits::{CpuQuota, LimitsSeen, NetworkLink};
pub use measurement::{
    DepthSearched, EndMeasurement, Fault, Interval, Measurement, OpCounts, OpMeasurement, PhaseMeasurement,
    SteadyOutcome, SteadySample, WorkerMeasurement,
};
pub use metric::{Better, Metric, Quantity, Unit};
pub use network::{Datagrams, NET_SCHEMA, Network, RoundTrips, Throughput};
pub use noise::{NOISE_SCHEMA, Noise, NoiseFloor, RejectedNumber};
pub use observe::{Observations, PhaseObservations};
pub use path_text::path_text;
pub use posix::{Conformance, POSIX_SCHEMA, PosixCase, PosixOutcome};
pub use processors::{Pause, PauseCause, ProcessCpu, ProcessorUse, ProcessorsSeen, RunQueue};
pub use published::{CellMetric, PublishedNumber};
pub use ranks::{RankDone, RankHost, RankSpread, Ranks};
pub use remedy::Remedy;
pub use repeat::{LADDER_SCHEMA, LadderResult, ROUNDS_SCHEMA, RoundsResult};
pub use replay::{
    DifferentOutcome, FidelityLine, FidelityUnit, FidelityVerdict, ReplayCounts, ReplayMeasurement, ReplayedSum,
};
pub use run::{FirstDone, MetricValue, PhaseResult, RunResult, Tool};
pub use seen::Seen;
pub use study::{STUDY_SCHEMA, StudyReport};
pub use sweep::{Sweep, SweepKey};
pub use tails::{Tail, TailSide};
pub use under_load::{LoadDeclared, LoadProcess, UnderLoad};
pub use utilisation::Utilisation;
pub use verdict::VerdictEvidence;
