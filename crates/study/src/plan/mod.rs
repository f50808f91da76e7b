//! A study as it will be done: every plot, every run, their order. Pure data, frozen before anything is touched.

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

/// The schema's name.
pub(crate) const PLAN_SCHEMA: &str = "plumb.study-plan/1";

/// The levels of some factors, by the factors' names.
pub type Levels = BTreeMap<String, String>;

/// A study as it will be done. Its hash is that of what is done and asked; [`Plan::hash_of_rest`] says of what not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`PLAN_SCHEMA`].
    pub schema: String,
    /// BLAKE3 of what is done and asked, in hexadecimal digits.
    pub hash: String,
    /// The study's name.
    pub name: String,
    /// What it asks.
    pub question: String,
    /// The scale it was planned for, `full`.
    pub scale: String,
    /// Seed of the order and of the runs.
    pub seed: u64,
    /// Whether fewer plots than a claim needs were asked for.
    pub exploratory: bool,
    /// Whether the load of other programs was declared a part of the set-up: runs under it count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub under_load: bool,
    /// Hosts by name; `local` is this machine.
    pub hosts: BTreeMap<String, HostPlan>,
    /// What may be destroyed.
    pub safety: Safety,
    /// The factors, in the file's order.
    pub factors: Vec<FactorPlan>,
    /// Every combination that is measured, each once.
    pub cells: Vec<PlanCell>,
    /// Every plot, in order.
    pub plots: Vec<Plot>,
    /// Every run, in order; those of a plot lie together.
    pub runs: Vec<PlannedRun>,
    /// What is compared.
    pub compare: ComparePlan,
    /// When optional repetitions end; all of them run where it is absent.
    #[serde(default)]
    pub stop: Option<StopPlan>,
    /// Seconds that it may take altogether: optional repetitions end where they do.
    #[serde(default)]
    pub budget_s: Option<u64>,
    /// Pause before each run of a plot but the first, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle_ns: Option<u64>,
    /// Published numbers to put beside those that are measured.
    #[serde(default)]
    pub imports: Vec<Import>,
    /// Counts that are expected. A plan from before there were any is written without them, so that its hash holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<ExpectedCount>,
    /// Conclusions of the audited imports. Absent in plans from before they were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ImportedClaim>,
    /// What it will cost, as far as can be said.
    pub estimate: PlanEstimate,
    /// What a careful reader would object to.
    #[serde(default)]
    pub warnings: Vec<String>,
}

impl Plan {
    /// BLAKE3 of the plan as compact JSON in the order of the fields, without its hash and without what follows from the
    /// rest: the estimate and the warnings. A Plumb that estimates better plans the same study.
    pub fn hash_of_rest(&self) -> String {
        self.hashed(PlanEstimate::default(), Vec::new())
    }

    /// The hash of a plan frozen when estimate and warnings still counted.
    pub(crate) fn hash_with_estimate(&self) -> String {
        self.hashed(self.estimate.clone(), self.warnings.clone())
    }

    fn hashed(&self, estimate: PlanEstimate, warnings: Vec<String>) -> String {
        let hashed = Plan { hash: String::new(), estimate, warnings, ..self.clone() };
        let json = plumb_document::json::to_vec(&hashed).expect("a plan is plain data");
        blake3::hash(&json).to_hex().to_string()
    }

    /// Repetitions of each cell in each plot that run whatever they show.
    pub fn repeats_least(&self) -> u32 {
        let all = || self.runs.iter().map(|run| run.repeat + 1).max().unwrap_or(0);
        self.stop.as_ref().map_or_else(all, |stop| stop.repeats_min)
    }

    /// Whether something is provisioned: something is built, booted, entered or simulated for it. Where nothing is,
    /// all plots are on the storage that was there before, and are blocks of runs in time.
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

    /// Whether the levels that are compared are of a factor whose change needs a new plot.
    pub(crate) fn compares_hard(&self) -> bool {
        self.factors.iter().any(|factor| factor.hard && factor.name == self.compare.by)
    }

    /// Whether the levels that are compared are of a factor that changes within a plot.
    pub(crate) fn compares_easy(&self) -> bool {
        self.factors.iter().any(|factor| !factor.hard && factor.name == self.compare.by)
    }

    /// The levels of a cell that are told apart in the verdicts.
    pub fn context(&self, cell: u32) -> Levels {
        let levels = &self.cells[cell as usize].levels;
        let told_apart = levels.iter().filter(|(name, _)| self.compare.within.contains(name));
        BTreeMap::from_iter(told_apart.map(|(name, level)| (name.clone(), level.clone())))
    }

    /// Whether the hash is that of the rest: nobody changed the plan.
    pub fn is_intact(&self) -> bool {
        self.hash == self.hash_of_rest() || self.hash == self.hash_with_estimate()
    }
}

/// When optional repetitions end: those from `repeats_min` on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StopPlan {
    /// As soon as this metric …
    pub metric: String,
    /// … has an interval so wide, half of it relative to the value, at 95 %.
    pub half_width: f64,
    /// Repetitions of each cell in each plot that run whatever they show.
    pub repeats_min: u32,
}

/// Published numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Import {
    /// What they are called.
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
    /// The only test of it that is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// The numbers as they stood in the file when the study was planned. A plan from before they were kept has none, and is
    /// written without them, so that its hash holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<PublishedNumber>,
}

impl Import {
    /// Whether it stands for a cell of these levels.
    pub fn stands_for(&self, levels: &Levels) -> bool {
        self.levels.iter().all(|(factor, level)| levels.get(factor) == Some(level))
    }
}

/// A count of devices that theory gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExpectedCount {
    /// Name of the metric that counts it.
    pub metric: String,
    /// The smallest value that meets it.
    pub least: f64,
    /// The largest; none where it has no upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
    /// The levels of the cells that it stands for; of a factor that is not named, all.
    pub levels: BTreeMap<String, Vec<String>>,
    /// The reason, in the study's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
}

impl ExpectedCount {
    /// Whether it stands for a cell of these levels.
    pub fn stands_for(&self, levels: &Levels) -> bool {
        self.levels.iter().all(|(factor, meant)| levels.get(factor).is_some_and(|level| meant.contains(level)))
    }
}

/// A published conclusion, with the part of this study that asks the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportedClaim {
    /// The claim in the authors' words.
    pub text: String,
    /// The file of the audit, relative to the study.
    pub file: String,
    /// The kinds of number that it is about; of any kind when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<CellMetric>,
    /// Levels that all imported numbers of the claim stand for, other than those that are compared and those that no cell of this scale
    /// has. Absent if no number of the claim is imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<Levels>,
}

/// One factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FactorPlan {
    /// Its name.
    pub name: String,
    /// Its levels, as text.
    pub levels: Vec<String>,
    /// Whether a change of it needs a new plot.
    pub hard: bool,
}

/// One combination of levels, with one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanCell {
    /// The level of every factor.
    pub levels: Levels,
    /// The name of the workload.
    pub workload: String,
}

/// A system that is provisioned once, with the runs that are made on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// The block it belongs to; every block has every combination of hard levels once.
    pub block: u32,
    /// Levels of the hard factors.
    pub levels: Levels,
    /// The name of its host.
    pub host: String,
    /// What the user runs on this machine before, the factor's `on-enter`.
    pub on_enter: Vec<String>,
    /// What is built on the host.
    pub steps: Vec<Step>,
    /// What the user runs on this machine behind, the factor's `on-leave`.
    pub on_leave: Vec<String>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedRun {
    /// Its plot, as an index.
    pub plot: u32,
    /// Its cell, as an index.
    pub cell: u32,
    /// Which repetition within its plot, from 0.
    pub repeat: u32,
    /// What it runs, all levels put in.
    pub work: HostWork,
    /// The directory it runs in.
    pub dir: String,
    /// Seed of its random choices: the same for all cells of a block and repetition.
    pub seed: u64,
    /// Seconds until it is killed and counts as failed.
    pub timeout_s: u64,
}

impl PlannedRun {
    /// Whether it runs on simulated devices, in their time.
    pub fn is_simulated(&self) -> bool {
        match &self.work {
            HostWork::Native { toml } => plumb_workload_text::native::parse("plan", toml)
                .is_ok_and(|workload| workload.target.values().any(|target| matches!(target, Target::Sim(_)))),
            HostWork::Dialect { .. } | HostWork::Conformance(_) => false,
        }
    }
}

/// What is compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparePlan {
    /// The factor whose levels are compared; the first level is the baseline.
    pub by: String,
    /// Factors whose levels are told apart: a contrast for each of their combinations. The workload always is.
    pub within: Vec<String>,
    /// Metrics by name, or their last parts: `bw` is `read.bw` and `write.bw`. When empty: byte rates, rates of ops that move
    /// no bytes, and the 99 % latency.
    pub metrics: Vec<String>,
    /// Metrics whose contrasts are claims, named like `metrics`; the others are shown without verdicts. When empty: all of
    /// `metrics`, or where that is empty, too, one number of each workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub primary: Vec<String>,
    /// Ratios this near to 1 are equivalent, 0.05.
    pub equivalence: f64,
    /// How many claims are corrected.
    pub correction: Correction,
    /// Factors of the table of effects.
    pub effects: Vec<String>,
}

/// How claims are corrected for their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Correction {
    /// Holm's.
    Holm,
    /// Benjamini and Hochberg's.
    BenjaminiHochberg,
    /// None.
    None,
}

impl Correction {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Correction::Holm => "holm",
            Correction::BenjaminiHochberg => "benjamini-hochberg",
            Correction::None => "none",
        }
    }
}

/// What a host is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostPlan {
    /// This machine.
    Local,
    /// Reached by the user's own ssh.
    Ssh {
        /// `root@box`.
        destination: String,
        /// What boots it into this system, on the host that runs then.
        boot: Option<String>,
        /// The kernel that must run there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kernel: Option<String>,
        /// The Plumb that is copied there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<PathBuf>,
    },
    /// A virtual machine that the lab boots, anew for every plot.
    Vm(plumb_lab::vm::VmSpec),
    /// Several at once, whose agents make each run together; nothing is built there.
    Agents(Vec<String>),
}

/// What a study will cost. `None` where nothing can be said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanEstimate {
    /// Seconds that the runs and plots take.
    pub seconds: Option<f64>,
    /// Bytes that the runs write.
    pub written_bytes: Option<u64>,
    /// The smallest true ratio that has a fair chance (80 %) of being claimed at a spread of 5 %, as `1.08`.
    pub detectable_ratio: Option<f64>,
    /// The verdicts among which chance is shared; 0 in a plan from before they were counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub verdicts: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Whether a metric is meant by a wish: its name, or the last parts of it, such as `bw` of `read.bw`.
pub fn is_meant(wish: &str, metric: plumb_result::Metric) -> bool {
    let name = metric.to_string();
    name == wish || name.strip_suffix(wish).is_some_and(|subject| subject.ends_with('.'))
}
