//! Workloads that repeat their phases: in rounds until figures are steady, or at each load of a ladder.
//!
//! `plumb run` repeats the workload, with one run per round or load. The engine does not know about it
//! and receives [`Rounds::round`] or [`Ladder::step`].

use crate::blocks::{BlockSize, Mix};
use crate::pace::{Arrival, Pace};
use crate::phase::Phase;
use crate::units::{Bytes, Nanos, PerSecond};
use crate::{WorkerGroup, Workload};
use serde::{Deserialize, Serialize};

/// Rule for repeating the phases of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Repeat {
    /// Repeat until figures are steady.
    Rounds(Box<Rounds>),
    /// Run once at each of several loads.
    Ladder(Box<Ladder>),
}

/// Rounds until figures are steady: over the last `window` rounds, the range and slope of each are within limits.
/// Source of the rule: SNIA SSS PTS.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rounds {
    /// Phases to run only in the first round, before all others, to precondition the storage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first_only: Vec<String>,
    /// Mixes and sizes for each of which every other phase runs once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<Cells>,
    /// Figures that must be steady, all over the same rounds.
    pub steady: Vec<TrackedFigure>,
    /// Number of rounds to judge together.
    #[serde(default = "window")]
    pub window: u32,
    /// Largest allowed (max − min) / mean.
    #[serde(default = "range")]
    pub range: f64,
    /// Largest allowed rise or fall of the fitted line over the window, relative to the mean.
    #[serde(default = "slope")]
    pub slope: f64,
    /// Give up after this many rounds.
    #[serde(default = "max_rounds")]
    pub max_rounds: u32,
    /// Figures to print for every phase, in this order.
    pub show: Vec<Figure>,
}

fn window() -> u32 {
    5
}

fn range() -> f64 {
    0.20
}

fn slope() -> f64 {
    0.10
}

fn max_rounds() -> u32 {
    25
}

/// Mixes and sizes of block I/O, with one phase per pair, named `PHASE-r65-64KiB`. Sizes vary fastest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Cells {
    /// Percentages of reads; the rest are writes.
    pub read: Vec<u32>,
    /// Block sizes of the ops.
    pub block: Vec<Bytes>,
}

/// A figure of one phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TrackedFigure {
    /// Name of the phase or cell.
    pub phase: String,
    /// Figure of that phase to track.
    pub figure: Figure,
}

/// A figure over all reads and writes of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Figure {
    /// Ops per second, reads and writes together.
    Iops,
    /// Bytes per second, reads and writes together.
    Bandwidth,
    /// Mean latency of an op, ns.
    Latency,
    /// Maximum latency of an op, ns.
    LatencyMax,
}

impl Figure {
    /// Returns the name used in workload files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Rounds {
    /// Returns the workload of one round, counted from 1.
    pub fn round(&self, workload: &Workload, number: u32) -> Workload {
        let mut phases = Vec::new();
        for phase in &workload.phase {
            if self.first_only.contains(&phase.name) {
                if number == 1 {
                    phases.push(phase.clone());
                }
                continue;
            }
            match &self.cells {
                Some(cells) => phases.extend(cells.expand(phase)),
                None => phases.push(phase.clone()),
            }
        }
        // Give each round its own random offsets.
        let seed = workload.seed.wrapping_add(u64::from(number.saturating_sub(1))) & i64::MAX.cast_unsigned();
        Workload { phase: phases, repeat: None, seed, ..workload.clone() }
    }
}

impl Cells {
    fn expand<'a>(&'a self, phase: &'a Phase) -> impl Iterator<Item = Phase> + 'a {
        let pairs = self.read.iter().flat_map(|read| self.block.iter().map(move |block| (*read, *block)));
        pairs.map(move |(read, block)| {
            let mut cell = Phase { name: format!("{}-r{read}-{block}", phase.name), ..phase.clone() };
            for blocks in cell.workers.iter_mut().filter_map(|group| group.work.blocks_mut()) {
                blocks.block = BlockSize::Fixed(block);
                blocks.mix = Mix { read, write: 100_u32.saturating_sub(read), trim: 0 };
            }
            cell
        })
    }
}

/// A ladder: the same work at several loads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Ladder {
    /// Meaning of 100 percent.
    #[serde(default)]
    pub of: FullLoad,
    /// Loads in percent, in the order in which they run.
    pub percent: Vec<f64>,
    /// Loads to run again at the end. Each is compared with the previous run at the same load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<f64>,
    /// Largest allowed relative difference in rate and mean response time between the two runs.
    #[serde(default = "default_within")]
    pub within: f64,
    /// Largest allowed mean response time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Nanos>,
}

fn default_within() -> f64 {
    0.05
}

/// The full load of a ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FullLoad {
    /// The rates that the groups of workers ask for.
    #[default]
    #[serde(rename = "asked")]
    Requested,
    /// The highest rate that can be reached, which is measured first.
    Peak,
}

impl Ladder {
    /// Returns the workload at one load: its groups' rates, or `peak` (ops per second of all
    /// workers) as Poisson arrivals, scaled.
    pub fn step(&self, workload: &Workload, percent: f64, peak: Option<f64>) -> Workload {
        let mut step = Workload { repeat: None, ..workload.clone() };
        for phase in &mut step.phase {
            let workers: u32 = phase.workers.iter().map(|group| group.count).sum();
            for group in &mut phase.workers {
                scale(group, percent / 100.0, peak.map(|peak| peak / f64::from(workers.max(1))));
            }
        }
        step
    }
}

fn scale(group: &mut WorkerGroup, share: f64, peak_of_worker: Option<f64>) {
    match (&mut group.pace.open, peak_of_worker) {
        (Some(open), _) => open.rate = PerSecond(open.rate.0 * share),
        (None, Some(peak)) => group.pace = Pace::open(PerSecond(peak * share), Arrival::Poisson, false),
        (None, None) => {}
    }
}
