//! The plan of a study: every plot, every run, their order. Pure data, frozen before anything is touched.

pub mod estimate;
pub mod order;
pub mod power;
pub mod words;

use plumb_lab::Step;
use plumb_lab::protocol::HostWork;
use plumb_lab::step::Safety;
use plumb_result::{CellMetric, PublishedNumber};
use plumb_workload::Target;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub(crate) const PLAN_SCHEMA: &str = "plumb.study-plan/1";

/// The levels of some factors, by the factors' names.
pub type Levels = BTreeMap<String, String>;

/// The plan of a study. Its hash covers the work and the question; [`Plan::hash_of_rest`] lists the exceptions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`PLAN_SCHEMA`].
    pub schema: String,
    /// BLAKE3 of the work and the question, in hexadecimal digits.
    pub hash: String,
    pub name: String,
    pub question: String,
    /// The scale it was planned for, such as `full`.
    pub scale: String,
    /// Seed of the order and of the runs.
    pub seed: u64,
    /// Whether the user allowed fewer plots than a claim needs.
    pub exploratory: bool,
    /// Whether the load of other programs was declared a part of the set-up: runs under it count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub under_load: bool,
    /// Hosts by name; `local` is this machine.
    pub hosts: BTreeMap<String, HostPlan>,
    /// Devices and data that may be destroyed.
    pub safety: Safety,
    /// In the file's order.
    pub factors: Vec<FactorPlan>,
    /// Every combination that is measured, each once.
    pub cells: Vec<PlanCell>,
    pub plots: Vec<Plot>,
    /// In order; runs of a plot are contiguous.
    pub runs: Vec<PlannedRun>,
    /// The comparisons that the study reports.
    pub compare: ComparePlan,
    /// When optional repetitions end; if `None`, all of them run.
    #[serde(default)]
    pub stop: Option<StopPlan>,
    /// Seconds for the whole study: optional repetitions end when they are used up.
    #[serde(default)]
    pub budget_s: Option<u64>,
    /// Pause before each run of a plot but the first, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle_ns: Option<u64>,
    /// Published numbers to show next to the measured ones.
    #[serde(default)]
    pub imports: Vec<Import>,
    /// Expected counts. A plan from before they existed is written without them, so that its hash holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<ExpectedCount>,
    /// Conclusions of the audited imports. Empty in plans from before they were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ImportedClaim>,
    pub estimate: PlanEstimate,
    /// Objections of a careful reader.
    #[serde(default)]
    pub warnings: Vec<String>,
}

impl Plan {
    /// Returns BLAKE3 of the plan as compact JSON in field order, without its hash and without the parts that follow
    /// from the rest: the estimate and the warnings. A Plumb with better estimates plans the same study.
    pub fn hash_of_rest(&self) -> String {
        self.hashed(PlanEstimate::default(), Vec::new())
    }

    /// Returns the hash of a plan frozen when estimate and warnings still counted.
    pub(crate) fn hash_with_estimate(&self) -> String {
        self.hashed(self.estimate.clone(), self.warnings.clone())
    }

    fn hashed(&self, estimate: PlanEstimate, warnings: Vec<String>) -> String {
        let hashed = Plan { hash: String::new(), estimate, warnings, ..self.clone() };
        let json = plumb_document::json::to_vec(&hashed).expect("a plan is plain data");
        blake3::hash(&json).to_hex().to_string()
    }

    /// Returns the number of repetitions of each cell in each plot that run unconditionally.
    pub fn repeats_least(&self) -> u32 {
        let all = || self.runs.iter().map(|run| run.repeat + 1).max().unwrap_or(0);
        self.stop.as_ref().map_or_else(all, |stop| stop.repeats_min)
    }

    /// Returns `true` if plots are provisioned: something is built, booted, entered or simulated for them. Otherwise
    /// all plots are on existing storage, and are blocks of runs in time.
    pub(crate) fn provisions_anew(&self) -> bool {
        let is_made = |plot: &Plot| {
            let boots = match self.hosts.get(&plot.host) {
                Some(HostPlan::Vm(_)) => true,
                Some(HostPlan::Ssh { boot, .. }) => boot.is_some(),
                Some(HostPlan::Local | HostPlan::Agents(_)) | None => false,
            };
            boots || !plot.steps.is_empty() || !plot.on_enter.is_empty()
        };
        let mut of_first_plot = self.runs.iter().filter(|run| run.plot == 0 && run.repeat == 0);
        self.plots.iter().any(is_made) || of_first_plot.any(PlannedRun::is_simulated)
    }

    /// Returns `true` if the compared levels belong to a factor whose change needs a new plot.
    pub(crate) fn compares_hard(&self) -> bool {
        self.factors.iter().any(|factor| factor.hard && factor.name == self.compare.by)
    }

    /// Returns `true` if the compared levels belong to a factor that changes within a plot.
    pub(crate) fn compares_easy(&self) -> bool {
        self.factors.iter().any(|factor| !factor.hard && factor.name == self.compare.by)
    }

    /// Returns the levels of a cell that verdicts report separately.
    pub fn context(&self, cell: u32) -> Levels {
        let levels = &self.cells[cell as usize].levels;
        let told_apart = levels.iter().filter(|(name, _)| self.compare.within.contains(name));
        BTreeMap::from_iter(told_apart.map(|(name, level)| (name.clone(), level.clone())))
    }

    /// Returns `true` if the hash matches the content, so the plan is unmodified.
    pub fn is_intact(&self) -> bool {
        self.hash == self.hash_of_rest() || self.hash == self.hash_with_estimate()
    }
}

/// When optional repetitions end: those from `repeats_min` on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StopPlan {
    /// They end as soon as this metric …
    pub metric: String,
    /// … has an interval this narrow: half of it relative to the value, at 95 %.
    pub half_width: f64,
    /// Number of repetitions of each cell in each plot that run unconditionally.
    pub repeats_min: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Import {
    /// Their label in reports.
    pub label: String,
    /// The file, relative to the study.
    pub file: String,
    /// The tool that wrote it.
    pub dialect: String,
    /// The levels that they stand for, of some factors.
    pub levels: Levels,
    /// The side of an audited study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<String>,
    /// The only test of it to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// The numbers in the file when the study was planned. A plan from before they were kept has none, and is written
    /// without them, so that its hash holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<PublishedNumber>,
}

impl Import {
    /// Returns `true` if it stands for a cell of these levels.
    pub fn stands_for(&self, levels: &Levels) -> bool {
        self.levels.iter().all(|(factor, level)| levels.get(factor) == Some(level))
    }
}

/// A theoretical count of devices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExpectedCount {
    /// Name of the metric that counts it.
    pub metric: String,
    /// The smallest correct value.
    pub least: f64,
    /// The largest correct value; `None` without an upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
    /// The levels of the cells that it applies to; factors that are not named may have any level.
    pub levels: BTreeMap<String, Vec<String>>,
    /// The reason, as written in the study.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
}

impl ExpectedCount {
    /// Returns `true` if it applies to a cell of these levels.
    pub fn stands_for(&self, levels: &Levels) -> bool {
        self.levels.iter().all(|(factor, meant)| levels.get(factor).is_some_and(|level| meant.contains(level)))
    }
}

/// A published conclusion, with the part of this study that tests it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportedClaim {
    /// The claim in the authors' words.
    pub text: String,
    /// The file of the audit, relative to the study.
    pub file: String,
    /// The kinds of number that it is about; any kind when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<CellMetric>,
    /// Levels that all imported numbers of the claim stand for, without the compared levels and those that no cell of
    /// this scale has. `None` if no number of the claim is imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<Levels>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FactorPlan {
    pub name: String,
    pub levels: Vec<String>,
    /// Whether a change of it needs a new plot.
    pub hard: bool,
}

/// One combination of levels, with one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanCell {
    /// The level of every factor.
    pub levels: Levels,
    pub workload: String,
}

/// A system that is provisioned once, with the runs that are made on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// The block it belongs to; every block has every combination of hard levels once.
    pub block: u32,
    /// Levels of the hard factors.
    pub levels: Levels,
    pub host: String,
    /// Commands run on this machine before it, the factor's `on-enter`.
    pub on_enter: Vec<String>,
    /// Steps that build it on the host.
    pub steps: Vec<Step>,
    /// Commands run on this machine after it, the factor's `on-leave`.
    pub on_leave: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedRun {
    /// Index of its plot in [`Plan::plots`].
    pub plot: u32,
    /// Index of its cell in [`Plan::cells`].
    pub cell: u32,
    /// Repetition within its plot, from 0.
    pub repeat: u32,
    /// Its work, with all levels substituted.
    pub work: HostWork,
    /// The directory it runs in.
    pub dir: String,
    /// Seed of its random choices: the same for all cells of a block and repetition.
    pub seed: u64,
    /// Seconds until it is killed and counts as failed.
    pub timeout_s: u64,
}

impl PlannedRun {
    /// Returns `true` if it runs on simulated devices, in their time.
    pub fn is_simulated(&self) -> bool {
        match &self.work {
            HostWork::Native { toml } => plumb_workload_text::native::parse("plan", toml)
                .is_ok_and(|workload| workload.target.values().any(|target| matches!(target, Target::Sim(_)))),
            HostWork::Dialect { .. } | HostWork::Conformance(_) => false,
        }
    }
}

/// The comparisons that the study reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparePlan {
    /// The factor whose levels are compared; the first level is the baseline.
    pub by: String,
    /// Factors whose levels are reported separately: a contrast for each of their
    /// combinations. The workload always is.
    pub within: Vec<String>,
    /// Metrics by name, or their last parts: `bw` is `read.bw` and `write.bw`. When empty: byte rates, rates of ops
    /// that move no bytes, and the 99 % latency.
    pub metrics: Vec<String>,
    /// Metrics whose contrasts are claims, named like `metrics`; the others are shown without verdicts. When empty:
    /// all of `metrics`; if that is empty too, one number of each workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub primary: Vec<String>,
    /// Ratios this near to 1 are equivalent, such as 0.05.
    pub equivalence: f64,
    /// Correction of claims for their number.
    pub correction: Correction,
    /// Factors of the table of effects.
    pub effects: Vec<String>,
}

/// The correction of claims for their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Correction {
    Holm,
    BenjaminiHochberg,
    None,
}

impl Correction {
    /// Returns the name in study files.
    pub const fn name(self) -> &'static str {
        match self {
            Correction::Holm => "holm",
            Correction::BenjaminiHochberg => "benjamini-hochberg",
            Correction::None => "none",
        }
    }
}

/// A host of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostPlan {
    /// This machine.
    Local,
    /// Reached by the user's own ssh.
    Ssh {
        /// Such as `root@box`.
        destination: String,
        /// Command that boots it into this system, run on the system that is up at that time.
        boot: Option<String>,
        /// The kernel that must run there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kernel: Option<String>,
        /// Path of the Plumb to copy there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<PathBuf>,
    },
    /// A virtual machine that the lab boots for every plot.
    Vm(plumb_lab::vm::VmSpec),
    /// Several hosts at once, whose agents make each run together, and build the same system.
    Agents(Vec<String>),
}

/// The estimated cost of a study. `None` is unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanEstimate {
    /// Seconds of all runs and plots.
    pub seconds: Option<f64>,
    /// Bytes that the runs write.
    pub written_bytes: Option<u64>,
    /// The smallest true ratio that has a fair chance (80 %) of being claimed at a spread of 5 %, such as `1.08`.
    pub detectable_ratio: Option<f64>,
    /// Number of verdicts that share the error rate; 0 in a plan from before they were counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub verdicts: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Returns `true` if a wish matches a metric: by its name, or by its last parts, such as `bw` for `read.bw`.
pub fn is_meant(wish: &str, metric: plumb_result::Metric) -> bool {
    let name = metric.to_string();
    name == wish || name.strip_suffix(wish).is_some_and(|subject| subject.ends_with('.'))
}
