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

/// One execution of a workload, with everything that is needed to believe or disbelieve it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunResult {
    /// [`RESULT_SCHEMA`].
    pub schema: String,
    /// UUIDv7.
    pub id: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// What made it.
    pub tool: Tool,
    /// What was run, resolved.
    pub workload: Workload,
    /// Where it was run.
    pub environment: Environment,
    /// The storage under each target, by the target's name.
    pub target: BTreeMap<String, TargetFacts>,
    /// Whether it can be believed.
    pub verdict: RunVerdict,
    /// True where a signal or an error ended it early.
    pub partial: bool,
    /// The error that ended it early, where one did. What is here was measured before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the checks say, worst first.
    pub checks: Vec<Finding>,
    /// What was measured.
    pub phases: Vec<PhaseResult>,
    /// The processes that measured it, where there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Box<Ranks>>,
    /// Where it comes from, if another tool measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Box<Imported>>,
    /// The gate's answer about the run's session, if `plumb gate --keep` kept it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gated: Option<SessionAnswer>,
    /// The load of other processes on the devices, where it was a part of the numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_load: Option<Box<UnderLoad>>,
}

/// The program that made a result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// `plumb`; of an imported result the tool that measured it, `fio`.
    pub name: String,
    /// Its version; empty where an imported file does not say it.
    pub version: String,
}

/// The numbers of one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseResult {
    /// The phase's name.
    pub name: String,
    /// Its wall time, the ramp left out; 0 in an imported result whose file does not say it.
    pub wall_ns: u64,
    /// By metric. A metric that was not measured is absent, or has a `null` value with the reason in a finding.
    pub metrics: BTreeMap<Metric, MetricValue>,
    /// What was done, by kind of op; absent in results of versions that did not keep it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub done: BTreeMap<OpKind, OpsDone>,
    /// What single steps of programs did that have statistics of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepMeasurement>,
    /// What a replay kept of its recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Box<ReplayMeasurement>>,
    /// The same, judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fidelity: Vec<FidelityLine>,
    /// What both ends know of its connections to other hosts, and its probe.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<Network>,
    /// What all workers together did until the first of them was done, where there were several. From then on the load
    /// was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_done: Option<FirstDone>,
    /// How far apart the ranks were, where there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Box<RankSpread>>,
    /// What was asked for and not had, each with the reason and with what was done instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Preparation of caches before it; absent where nothing was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caches: Option<Box<CachePreparation>>,
    /// What bounded it; absent in results of versions that did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limiter: Option<Limiter>,
}

/// Ops of one kind in a phase, counted: a rate may be over less than the phase's wall time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpsDone {
    /// Ops that completed without error.
    pub ops: u64,
    /// Bytes that they moved.
    pub bytes: u64,
}

/// The rates of a phase until the first of its workers was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirstDone {
    /// When that was, from the phase's start, the ramp left out.
    pub at_ns: u64,
    /// Byte rates and rates of ops up to then, of all workers together.
    pub metrics: BTreeMap<Metric, MetricValue>,
}

/// One number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricValue {
    /// The value; `null` is not measured, never 0.
    pub value: Option<f64>,
    /// The metric's unit.
    pub unit: Unit,
    /// What it measured; on byte rates and rates of ops that move bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<TierName>,
    /// Share of the bytes that the device moved, or that went to the server of a network file system, where known, 0–1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_share: Option<f64>,
}

/// The words of [`Tier`], without the share: the form of the JSON contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum TierName {
    /// The device moved the bytes.
    Device,
    /// The server of a network file system did: from its memory or its storage, which a client cannot tell apart.
    Server,
    /// This machine's memory did.
    Cache,
    /// Both.
    Mixed,
    /// It could not be seen.
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
    /// As printed.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
