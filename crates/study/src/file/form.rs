//! The parts of a study file as written. Parts that may contain `${factor}` (steps, target, workloads) stay a tree
//! until the levels are known.

pub use super::level_form::{Binds, LevelForm, OneOrMany, WhenLevels};
use crate::plan::Correction;
use plumb_document::{Scalar, read_scalar};
use plumb_lab::step::Safety;
use plumb_lab::vm::VmSpec;
use plumb_workload::Nanos;
#[cfg(feature = "schema")]
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// A study file.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "some parts are read from the text again, once levels are resolved")]
pub(crate) struct StudyForm {
    /// Another study file, relative to this one, that provides all parts missing here.
    #[serde(default)]
    pub extends: Option<String>,
    /// Name, question and budget of the study.
    pub experiment: Experiment,
    /// Machines by name. This machine is `local`, and is used where none is named.
    #[serde(default)]
    pub hosts: BTreeMap<String, HostForm>,
    /// Devices and data that may be destroyed.
    #[serde(default)]
    pub safety: Safety,
    /// The varied factors.
    #[serde(default)]
    pub factor: Vec<FactorForm>,
    /// Steps that build every plot, in order.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<super::step_schema::ProvisionSchema>"))]
    pub provision: LaterPart,
    /// Where the work runs.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "super::target::TargetForm"))]
    pub target: LaterPart,
    /// The work: one workload, or several by name.
    #[cfg_attr(feature = "schema", schemars(with = "super::step_schema::WorkloadsSchema"))]
    pub workload: LaterPart,
    /// The order of runs, and their number.
    #[serde(default)]
    pub design: DesignForm,
    /// When optional repetitions end.
    #[serde(default)]
    pub stop: Option<StopForm>,
    /// The comparisons that the study reports.
    #[serde(default)]
    pub compare: CompareForm,
    /// A further easy factor, along which the answer may flip.
    #[serde(default)]
    pub sweep: Option<SweepForm>,
    /// Published numbers to show next to the measured ones, by label.
    #[serde(default)]
    pub import: BTreeMap<String, ImportForm>,
    /// Theoretical counts of devices, checked in every run.
    #[serde(default)]
    pub expect: Vec<ExpectForm>,
    /// Other sizes of the same study, by name: `--scale NAME` overrides other parts with these, given as tables or
    /// as paths (`"design.plots" = 2`).
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, BTreeMap<String, serde_json::Value>>"))]
    pub scale: LaterPart,
}

/// A part that is read later, level by level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LaterPart;

impl<'de> Deserialize<'de> for LaterPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LaterPart, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|IgnoredAny| LaterPart)
    }
}

/// Name, question and budget of a study.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Experiment {
    /// A short name; it labels results.
    pub name: String,
    /// The question of the study, one sentence.
    #[serde(default)]
    pub question: String,
    /// Time for the whole study: optional repetitions end when it is used up.
    #[serde(default)]
    pub budget: Option<Nanos>,
    /// Seed of the order and of every random choice; made from the name when absent.
    #[serde(default)]
    pub seed: Option<u64>,
}

/// A machine: reached by ssh, or booted by the lab; or several with agents, which only measure.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct HostForm {
    /// Destination for the user's own ssh, `root@box`.
    #[serde(default)]
    pub ssh: Option<String>,
    /// Command that boots it into this system, run on the system that is up at that time.
    #[serde(default)]
    pub boot: Option<String>,
    /// The kernel that must run there, reached by ssh: a release such as `6.1`, or the beginning
    /// of one. Any when absent.
    #[serde(default)]
    pub kernel: Option<String>,
    /// Absolute path on this machine of the Plumb to copy there, built for that system. When absent, this Plumb, or
    /// the one that PLUMB_AGENT names.
    #[serde(default)]
    pub agent: Option<PathBuf>,
    /// A virtual machine, booted again for every plot.
    #[serde(default)]
    pub vm: Option<VmSpec>,
    /// Several hosts at once, in the form of `plumb run --hosts`: all of them make each run together,
    /// and nothing is built there.
    #[serde(default)]
    pub agents: Option<Vec<String>>,
}

/// A varied factor.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "`exclusive` always holds")]
pub(crate) struct FactorForm {
    /// Its name; `${name}` stands for its level.
    pub name: String,
    /// Its levels, the baseline first.
    pub levels: Vec<LevelForm>,
    /// Whether a change of it needs a new plot; `easy` when absent, `hard` if it binds hosts.
    #[serde(default)]
    pub change: Option<FactorChange>,
    /// Kind of object that its levels name, if they are not plain values.
    #[serde(default)]
    pub binds: Option<Binds>,
    /// Declares that only one of its levels can be up at a time. Plots run one after another, so this always holds.
    #[serde(default)]
    pub exclusive: bool,
    /// Commands run on this machine before a plot with each level.
    #[serde(default)]
    pub on_enter: OneOrMany<String>,
    /// Commands run on this machine after it.
    #[serde(default)]
    pub on_leave: OneOrMany<String>,
    /// Levels of other factors with which it is varied; elsewhere it has none.
    #[serde(default)]
    pub when: WhenLevels,
}

/// Whether a change needs a new plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FactorChange {
    /// It changes from run to run.
    Easy,
    /// It changes from plot to plot, and the plot is the unit of replication.
    Hard,
}

/// The order of runs, and their number.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct DesignForm {
    /// The order of plots, and of runs within them.
    #[serde(default)]
    pub order: OrderForm,
    /// Plots for each combination of hard levels; 3 when absent.
    #[serde(default)]
    pub plots: Option<u32>,
    /// Runs of each cell within a plot; 2 when absent.
    #[serde(default)]
    pub repeat: Option<RepeatForm>,
    /// Allows fewer plots than a claim needs: every verdict is then `cannot-tell`.
    #[serde(default)]
    pub exploratory: bool,
    /// Declares the load of other programs a part of the set-up: runs under it count.
    #[serde(default)]
    pub under_load: bool,
    /// Combinations that are left out.
    #[serde(default)]
    pub exclude: Vec<WhenLevels>,
    /// A run that takes longer is killed and counts as failed.
    #[serde(default)]
    pub timeout: Option<Nanos>,
    /// Pause before each run of a plot but the first, so that leftover work of the run before does
    /// not slow it down (E15).
    #[serde(default)]
    pub settle: Option<Nanos>,
}

/// The order of plots, and of runs within them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) enum OrderForm {
    /// Every block has everything once, in orders in which each thing runs after each other
    /// one equally often; drift cancels.
    #[default]
    #[serde(rename = "randomized-blocks")]
    RandomizedBlocks,
    /// As listed, then in reverse, and so on.
    #[serde(rename = "ABBA")]
    Abba,
    /// As listed, every time: drift then looks like an effect.
    #[serde(rename = "listed")]
    Listed,
}

/// Number of runs of a cell within a plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "`repeat` is a number of runs (3), or { min = 2, max = 5 }; both are whole numbers of at least 1"
)]
pub(crate) enum RepeatForm {
    /// A fixed number of runs.
    Fixed(u32),
    /// A range; optional repetitions end by `[stop]`.
    Range(RepeatRange),
}

/// Smallest and largest number of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RepeatRange {
    /// Smallest number of runs.
    pub min: u32,
    /// Largest number of runs.
    pub max: u32,
}

/// When optional repetitions end.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct StopForm {
    /// They end as soon as this metric …
    pub metric: String,
    /// … is this precise: half of its 95 % interval, relative to its value.
    pub half_width: ShareForm,
}

/// A theoretical count of devices.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ExpectForm {
    /// The metric, such as `device.written-per-byte`.
    pub metric: String,
    /// The theoretical value.
    #[serde(default)]
    pub value: Option<f64>,
    /// Allowed distance from `value`; exact when absent.
    #[serde(default)]
    pub within: Option<ShareForm>,
    /// Instead of `value`: the smallest correct count.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// Instead of `value`: the largest correct count.
    #[serde(default)]
    pub at_most: Option<f64>,
    /// The levels for which it is expected; all when absent.
    #[serde(default)]
    pub when: WhenLevels,
    /// The reason, printed in the report.
    #[serde(default)]
    pub because: String,
}

/// The comparisons that the study reports.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct CompareForm {
    /// The factor whose levels are compared; when absent, the first hard factor, or else the first.
    pub by: Option<String>,
    /// Factors whose levels are reported separately.
    pub within: Vec<String>,
    /// Metrics, or their last parts: `bw` is `read.bw` and `write.bw`. When absent: byte rates, rates of ops that
    /// move no bytes, and the 99 % latency.
    pub metrics: Vec<String>,
    /// Metrics that the study decides on, named like `metrics`; the others are shown without verdicts. When absent:
    /// all of `metrics`; without `metrics`, one number of each workload.
    pub primary: Vec<String>,
    /// Ratios this near to 1 are equivalent.
    pub equivalence: ShareForm,
    /// Correction of claims for their number.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub correction: Correction,
    /// Factors of the table of effects, `a * b`.
    pub effects: Option<OneOrMany<String>>,
}

impl Default for CompareForm {
    fn default() -> CompareForm {
        CompareForm {
            by: None,
            within: Vec::new(),
            metrics: Vec::new(),
            primary: Vec::new(),
            equivalence: ShareForm(0.05),
            correction: Correction::Holm,
            effects: None,
        }
    }
}

/// A further easy factor.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct SweepForm {
    /// Its name. `working-set`, if no workload uses `${working-set}`, is the size of each workload's data.
    pub factor: String,
    /// Its levels.
    pub levels: Vec<LevelForm>,
}

/// Published numbers.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ImportForm {
    /// The file, relative to the study.
    pub file: String,
    /// Its format: `audit` (a study for `plumb audit`), `iozone` or `bonnie++`.
    pub dialect: String,
    /// The side of an audited study that the numbers belong to.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub side: Option<String>,
    /// The only test of an audited study to use; all of them when absent.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub test: Option<String>,
    /// The levels that the numbers stand for, by factor.
    #[cfg_attr(feature = "schema", schemars(flatten))]
    pub levels: BTreeMap<String, LevelForm>,
}

/// Not derived: serde's `flatten` copies the levels into a form without positions.
impl<'de> Deserialize<'de> for ImportForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ImportForm, D::Error> {
        deserializer.deserialize_map(ImportVisitor)
    }
}

struct ImportVisitor;

impl<'de> Visitor<'de> for ImportVisitor {
    type Value = ImportForm;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(plumb_document::TABLE)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<ImportForm, A::Error> {
        let (mut file, mut dialect, mut side, mut test, mut levels) = (None, None, None, None, BTreeMap::new());
        while let Some(key) = entries.next_key::<String>()? {
            match key.as_str() {
                "file" => file = Some(entries.next_value()?),
                "dialect" => dialect = Some(entries.next_value()?),
                "side" => side = entries.next_value()?,
                "test" => test = entries.next_value()?,
                _ => drop(levels.insert(key, entries.next_value()?)),
            }
        }
        let file = file.ok_or_else(|| A::Error::missing_field("file"))?;
        let dialect = dialect.ok_or_else(|| A::Error::missing_field("dialect"))?;
        Ok(ImportForm { file, dialect, side, test, levels })
    }
}

/// A share, `"5%"` or `0.05`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ShareForm(pub f64);

impl<'de> Deserialize<'de> for ShareForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ShareForm, D::Error> {
        let percent = |text: &str| text.trim().strip_suffix('%')?.trim().parse::<f64>().ok();
        read_scalar(deserializer, "a share such as `5%` or 0.05", |scalar| {
            let share = match scalar {
                Scalar::Text(text) => percent(text).map(|percent| percent / 100.0),
                Scalar::Float(share) => Some(share),
                Scalar::Integer(share) => Some(share as f64),
                Scalar::Bool(_) => None,
            };
            match share {
                Some(share) if !(share > 0.0 && share < 1.0) => {
                    Err(format!("expected a share above 0 and below 100 %, found {scalar}"))
                }
                share => Ok(share.map(ShareForm)),
            }
        })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ShareForm {
    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number"], "description": "a share, `\"5%\"` or `0.05`" })
    }
}
