//! The result of a run, as stored and as printed by `--json` (`plumb.result/1`).

use crate::caches::CachePreparation;
use crate::finding::{Finding, RunVerdict, Tier};
use crate::gate::SessionAnswer;
use crate::imported::Imported;
use crate::limiter::Limiter;
use crate::measurement::StepMeasurement;
use crate::metric::{Metric, Unit};
use crate::network::Network;
use crate::observe::{Environment, TargetFacts};
use crate::ranks::{RankSpread, Ranks};
use crate::replay::{FidelityLine, ReplayMeasurement};
use crate::under_load::UnderLoad;
use plumb_workload::{OpKind, Workload};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of the JSON form of a result.
pub const RESULT_SCHEMA: &str = "plumb.result/1";

/// One execution of a workload, with the evidence needed to trust or reject its numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunResult {
    /// Name and version of this form: `plumb.result/1`.
    pub schema: String,
    /// Id of the run, a UUIDv7.
    pub id: String,
    /// Start of the run, RFC 3339, UTC.
    pub started_at: String,
    /// Name and version of the program that made the result.
    pub tool: Tool,
    /// The workload that ran, with all defaults resolved.
    pub workload: Workload,
    /// The machine that ran the workload, and its settings.
    pub environment: Environment,
    /// The storage under each target, keyed by target name.
    pub target: BTreeMap<String, TargetFacts>,
    /// Whether the numbers can be trusted.
    pub verdict: RunVerdict,
    /// Whether a signal or an error ended the run early.
    pub partial: bool,
    /// The error that ended the run early; the numbers were measured before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Findings of the checks, worst first.
    pub checks: Vec<Finding>,
    /// Measured numbers, phase by phase.
    pub phases: Vec<PhaseResult>,
    /// The processes that measured together; absent for a single process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Box<Ranks>>,
    /// Source of the result, if another tool measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Box<Imported>>,
    /// The gate's answer about the run's session, if `plumb gate --keep` stored it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gated: Option<SessionAnswer>,
    /// Load of other processes on the devices, if it affected the numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_load: Option<Box<UnderLoad>>,
}

/// The program that made a result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// Name of the program: `plumb`, or for an imported result the tool that measured it, such as `fio`.
    pub name: String,
    /// Version of the program; empty if an imported file does not record it.
    pub version: String,
}

/// Measured numbers of one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseResult {
    /// Name of the measured phase.
    pub name: String,
    /// Wall time of the phase without its ramp, ns; 0 if an imported file does not record it.
    pub wall_ns: u64,
    /// Values by metric. A metric that was not measured is absent, or `null` with the reason in a finding.
    pub metrics: BTreeMap<Metric, MetricValue>,
    /// Completed work by kind of op; absent in results of versions that did not record it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub done: BTreeMap<OpKind, OpsDone>,
    /// Numbers of program steps that have statistics of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepMeasurement>,
    /// Differences between a replay and its recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Box<ReplayMeasurement>>,
    /// Judgement of the replay, one line for each property.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fidelity: Vec<FidelityLine>,
    /// Numbers of the phase's connections to other hosts from both ends, and of its probe.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<Network>,
    /// Work of all workers together until the first one finished; absent for a single worker. After that moment, the
    /// load was a different one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_done: Option<FirstDone>,
    /// Spread between the ranks; absent for a single process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Box<RankSpread>>,
    /// Requests that could not be met, each with the reason and the substitute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Preparation of caches before the phase; absent if no cache was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caches: Option<Box<CachePreparation>>,
    /// The limit that the phase ran into; absent in results of versions that did not determine it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limiter: Option<Limiter>,
}

/// Number of ops of one kind in a phase. A rate may cover less than the phase's wall time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpsDone {
    /// Ops that completed without error.
    pub ops: u64,
    /// Bytes moved by these ops.
    pub bytes: u64,
}

/// Rates of a phase until its first worker finished.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirstDone {
    /// Time when the first worker finished, from the phase's start without the ramp, ns.
    pub at_ns: u64,
    /// Byte rates and op rates until that time, over all workers together.
    pub metrics: BTreeMap<Metric, MetricValue>,
}

/// The value of one metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricValue {
    /// The value; `null` means not measured and is never written as 0.
    pub value: Option<f64>,
    /// Unit of the value, which the metric determines.
    pub unit: Unit,
    /// Origin of the bytes, for byte rates and rates of ops that move bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<TierName>,
    /// Share of the bytes that the device moved or that went to the server of a network file system, 0–1; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_share: Option<f64>,
}

/// Names of the tiers without the share, as the JSON form has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum TierName {
    /// The device moved the bytes.
    Device,
    /// The server of a network file system moved the bytes. Clients cannot distinguish its memory from its storage.
    Server,
    /// This machine's memory served or absorbed the bytes.
    Cache,
    /// Both memory and the device or server moved bytes.
    Mixed,
    /// The origin could not be observed.
    Unknown,
}

impl From<Tier> for TierName {
    fn from(tier: Tier) -> TierName {
        match tier {
            Tier::Device => TierName::Device,
            Tier::Server => TierName::Server,
            Tier::Cache => TierName::Cache,
            Tier::Mixed { .. } => TierName::Mixed,
            Tier::Unknown => TierName::Unknown,
        }
    }
}

impl TierName {
    /// Returns the name that reports print.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
