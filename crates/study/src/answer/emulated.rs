//! Results of emulated machines: what the devices did for each op, and how long a model of a
//! device would take for it.

use super::evidence::{StudyEvidence, StudyRun};
use super::{cells, devices, messages};
use plumb_engine::sim::estimate::{Positions, Requests, busy_ns};
use plumb_lab::protocol::DeviceCounts;
use plumb_result::RunResult;
use plumb_result::number::{BYTES, Digits};
use plumb_workload::{OpKind, SimModel};
use std::collections::BTreeMap;

/// A device with this many times its fair share of the writes, or more, is named.
const UNEVEN: f64 = 1.2;

/// The model for time estimates: the device that published studies of RAID and file systems used.
const MODEL: SimModel = SimModel::Hdd;

/// Printed above the estimates.
const ASSUMPTIONS: &str = "These are estimates of a model, no measurements: each disk is a `sim:hdd` (7200 rpm, 210 MB/s) that serves \
     the counted requests one by one; all disks work at once, so the busiest decides; processors cost nothing. Counters do not say \
     where requests lie: the first time is for contiguous ones, the second for scattered ones.";

/// Returns a line for each cell; none if the work of the devices is unknown.
pub(super) fn counted(evidence: &StudyEvidence) -> Vec<String> {
    let plan = &evidence.plan;
    let mut lines = Vec::new();
    for (index, cell) in plan.cells.iter().enumerate() {
        let of_cell = plan.runs.iter().zip(&evidence.records).filter(|(run, _)| run.cell as usize == index);
        let runs: Vec<(u32, &StudyRun)> = of_cell.map(|(run, record)| (run.plot, record)).collect();
        let seen = cells::accepted(&runs).filter_map(|(_, record, result)| OneRun::from_record(record, result));
        let mut sum = OneRun::default();
        seen.for_each(|one| sum.add(&one));
        if let Some(line) = sum.words() {
            let levels = messages::levels(&cell.levels);
            let of = if levels.is_empty() { String::new() } else { format!(" ({levels})") };
            lines.push(format!("{}{of}: {line}", cell.workload));
        }
    }
    if !lines.is_empty() {
        lines.insert(0, ASSUMPTIONS.to_owned());
    }
    lines
}

/// The work of one run, or the sum of several.
#[derive(Default)]
struct OneRun {
    runs: u64,
    /// Reads and writes of the work: ops and bytes.
    done: BTreeMap<OpKind, (u64, u64)>,
    /// Leaves by their name in the recipe: their counts, and their size in bytes.
    leaves: BTreeMap<String, (DeviceCounts, u64)>,
}

impl OneRun {
    fn from_record(record: &StudyRun, result: &RunResult) -> Option<OneRun> {
        let size = |name: &str| {
            let layers = result.target.values().flat_map(|facts| &facts.stack);
            layers.filter(|layer| layer.name == name).map(|layer| layer.size_bytes).max().unwrap_or(0)
        };
        let leaves = devices::leaves(record, result)?
            .into_iter()
            .map(|(name, one)| (one.role.as_deref().unwrap_or(name).to_owned(), (one.counts, size(name))));
        let mut done: BTreeMap<OpKind, (u64, u64)> = BTreeMap::new();
        for kind in [OpKind::Read, OpKind::Write] {
            for ops in result.phases.iter().filter_map(|phase| phase.done.get(&kind)) {
                let known = done.entry(kind).or_default();
                *known = (known.0 + ops.ops, known.1 + ops.bytes);
            }
        }
        Some(OneRun { runs: 1, done, leaves: BTreeMap::from_iter(leaves) })
    }

    fn add(&mut self, other: &OneRun) {
        self.runs += other.runs;
        for (kind, (ops, bytes)) in &other.done {
            let known = self.done.entry(*kind).or_default();
            *known = (known.0 + ops, known.1 + bytes);
        }
        for (name, (one, size)) in &other.leaves {
            let (all, known_size) = self.leaves.entry(name.clone()).or_default();
            all.reads += one.reads;
            all.read_bytes += one.read_bytes;
            all.writes += one.writes;
            all.written_bytes += one.written_bytes;
            all.flushes += one.flushes;
            *known_size = (*known_size).max(*size);
        }
    }

    fn words(&self) -> Option<String> {
        if self.leaves.is_empty() {
            return None;
        }
        let total = |of: fn(&DeviceCounts) -> u64| self.leaves.values().map(|(one, _)| of(one)).sum::<u64>() as f64;
        let (reads, writes, flushes) = (total(|one| one.reads), total(|one| one.writes), total(|one| one.flushes));
        let done: Vec<(OpKind, (u64, u64))> =
            self.done.iter().map(|(kind, done)| (*kind, *done)).filter(|(_, (ops, _))| *ops > 0).collect();
        let (unit, units) = match done.as_slice() {
            [(kind, (ops, bytes))] => {
                let size = BYTES.set(*bytes as f64 / *ops as f64, Digits::Three);
                let kind = if *kind == OpKind::Read { "read" } else { "write" };
                (format!("each {kind} of {size} makes"), *ops as f64)
            }
            [] => ("each run makes".to_owned(), self.runs as f64),
            _ => ("each op makes".to_owned(), done.iter().map(|(_, (ops, _))| *ops as f64).sum()),
        };
        let share = self.uneven(writes, units);
        Some(format!(
            "{unit} {:.2} reads, {:.2} writes and {:.2} flushes of {}{share}. {}",
            reads / units,
            writes / units,
            flushes / units,
            if self.leaves.len() == 1 {
                "the disk".to_owned()
            } else {
                format!("{} disks together", self.leaves.len())
            },
            self.modelled(),
        ))
    }

    /// Names the disk that is written more than the others, such as one that holds all parity.
    fn uneven(&self, writes: f64, units: f64) -> String {
        let count = self.leaves.len() as f64;
        let busiest = self.leaves.iter().max_by_key(|(_, (one, _))| one.writes);
        let Some((name, (one, _))) = busiest.filter(|_| count > 1.0 && writes > 0.0) else { return String::new() };
        let own = one.writes as f64;
        if own < UNEVEN * writes / count {
            return ", the writes evenly on all of them".to_owned();
        }
        format!(
            ", {:.2} of the writes on {name} and {:.2} on each other",
            own / units,
            (writes - own) / (count - 1.0) / units
        )
    }

    /// Returns the modelled time of the busiest disk for one run.
    fn modelled(&self) -> String {
        let busiest = |positions| {
            let times = self.leaves.iter().map(|(name, (one, size))| {
                let requests = Requests {
                    reads: one.reads / self.runs,
                    read_bytes: one.read_bytes / self.runs,
                    writes: one.writes / self.runs,
                    written_bytes: one.written_bytes / self.runs,
                    flushes: one.flushes / self.runs,
                };
                (busy_ns(MODEL, *size, requests, positions), name)
            });
            times.max().map_or((0, ""), |(time, name)| (time, name.as_str()))
        };
        let ((near, _), (far, name)) = (busiest(Positions::Contiguous), busiest(Positions::Scattered));
        let seconds = |ns: u64| ns as f64 / 1e9;
        format!("Model `sim:hdd`: {:.3} to {:.3} s a run, decided by {name}", seconds(near), seconds(far))
    }
}
