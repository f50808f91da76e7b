//! The cost of a plan, as far as it is known before anything is touched. The rates are
//! assumed, and reported as assumptions.

use super::power::PlannedVerdicts;
use super::{HostPlan, Plan, PlanEstimate};
use plumb_lab::vm::VmSpec;
use plumb_workload::{Bytes, Pattern, Phase, Prepare, Size, Target, Workload};

/// Bytes per second of large ops: a disk.
pub(crate) const ASSUMED_BYTES_PER_S: f64 = 100e6;
/// Random ops per second, with one op in flight.
pub(crate) const ASSUMED_OPS_PER_S: f64 = 1000.0;
/// Seconds of a build step.
pub(crate) const ASSUMED_STEP_S: f64 = 10.0;
/// Seconds of a virtual machine's boot.
pub(crate) const ASSUMED_VM_BOOT_S: f64 = 10.0;
/// Seconds of a machine's boot.
pub(crate) const ASSUMED_BOOT_S: f64 = 120.0;

/// A run is killed after this many times its expected length …
const TIMEOUT_FACTOR: f64 = 20.0;
/// … but not before this, in seconds,
const TIMEOUT_MIN_S: f64 = 900.0;
/// or this, if its length is unknown.
const TIMEOUT_UNKNOWN_S: u64 = 3600;

/// The cost of a run; `None` is unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunCost {
    pub seconds: Option<f64>,
    pub written_bytes: Option<u64>,
}

impl RunCost {
    pub(crate) const UNKNOWN: RunCost = RunCost { seconds: None, written_bytes: None };
}

/// The cost of the rules of `plumb posix`, on a file system of this machine's own.
pub(crate) const OF_CONFORMANCE: RunCost = RunCost { seconds: Some(5.0), written_bytes: Some(32 << 20) };

/// Returns the cost of a tool that moves this many bytes.
pub fn of_bytes(read: u64, written: u64) -> RunCost {
    let seconds = read.saturating_add(written) as f64 / ASSUMED_BYTES_PER_S;
    RunCost { seconds: Some(seconds), written_bytes: Some(written) }
}

/// Returns the memory of a virtual machine, if configured.
pub fn ram_bytes(vm: Option<&VmSpec>) -> Option<u64> {
    vm.and_then(|vm| vm.memory.as_ref()).and_then(|text| text.parse::<Bytes>().ok()).map(|bytes| bytes.0)
}

/// Returns the cost of a workload, on a host with this much memory.
pub(crate) fn of_workload(workload: &Workload, ram: Option<u64>) -> RunCost {
    if !workload.target.is_empty() && workload.target.values().all(|target| matches!(target, Target::Sim(_))) {
        // On a virtual clock.
        return RunCost { seconds: Some(0.1), written_bytes: Some(0) };
    }
    let mut cost = RunCost { seconds: Some(0.0), written_bytes: Some(0) };
    let mut add = |seconds: Option<f64>, bytes: Option<u64>| {
        cost.seconds = cost.seconds.zip(seconds).map(|(a, b)| a + b);
        cost.written_bytes = cost.written_bytes.zip(bytes).map(|(a, b)| a.saturating_add(b));
    };
    for target in workload.target.values() {
        let prepared = match target {
            Target::File(file) if file.prepare != Prepare::Write => Some(0),
            Target::Files(files) if files.prepare != Prepare::Write => Some(0),
            Target::Tree(tree) => tree_bytes(tree).map(|bytes| bytes / 100 * u64::from(tree.preallocated_percent)),
            Target::SharedTree(tree) => {
                shared_bytes(tree).map(|bytes| bytes / 100 * u64::from(tree.preallocated_percent))
            }
            Target::Device(_) | Target::Null(_) | Target::Sim(_) => Some(0),
            target => target_bytes(target, ram),
        };
        add(prepared.map(|bytes| bytes as f64 / ASSUMED_BYTES_PER_S), prepared);
    }
    for phase in &workload.phase {
        let (seconds, bytes) = of_phase(phase, workload, ram);
        add(seconds, bytes);
    }
    cost
}

fn tree_bytes(tree: &plumb_workload::TreeTarget) -> Option<u64> {
    use plumb_workload::Distribution;
    let mean = match &tree.size {
        Distribution::Fixed(size) => size.0,
        Distribution::Uniform { min, max } => u64::midpoint(min.0, max.0),
        Distribution::Gamma { mean, .. } => mean.0,
        Distribution::Weighted(_) => return None,
    };
    tree.files.checked_mul(mean)
}

fn shared_bytes(tree: &plumb_workload::SharedTree) -> Option<u64> {
    Some((tree.size.mean()? * tree.files as f64) as u64)
}

fn size_bytes(size: Size, ram: Option<u64>) -> Option<u64> {
    match (size, ram) {
        (Size::Bytes(bytes), _) => Some(bytes.0),
        (Size::Ram(_), Some(ram)) => Some(size.resolve(ram, 0).0),
        (Size::Ram(_), None) | (Size::Free(_), _) => None,
    }
}

/// Returns the bytes of a target, on a host with this much memory.
pub(crate) fn target_bytes(target: &Target, ram: Option<u64>) -> Option<u64> {
    match target {
        Target::File(file) => size_bytes(file.size?, ram),
        Target::Files(files) => size_bytes(files.size, ram)?.checked_mul(u64::from(files.count)),
        Target::Tree(tree) => tree_bytes(tree),
        Target::Device(device) => size_bytes(device.size?, ram),
        Target::Null(null) => Some(null.size.0),
        Target::Sim(sim) => Some(sim.size.0),
        Target::SharedTree(tree) => shared_bytes(tree),
        Target::JobFiles(_) | Target::Scratch(_) | Target::Recorded(_) | Target::Host(_) => None,
    }
}

/// Returns seconds, and bytes written. Groups run at the same time.
fn of_phase(phase: &Phase, workload: &Workload, ram: Option<u64>) -> (Option<f64>, Option<u64>) {
    let (mut longest, mut written) = (Some(0.0f64), Some(0u64));
    for group in &phase.workers {
        let Some(blocks) = group.work.blocks() else {
            longest = longest.zip(phase.stop.time.map(|time| time.0 as f64 / 1e9)).map(|(a, b)| a.max(b));
            written = None;
            continue;
        };
        let rate = match blocks.pattern {
            Pattern::Sequential | Pattern::Reverse => ASSUMED_BYTES_PER_S,
            _ => (ASSUMED_OPS_PER_S * f64::from(group.depth.clamp(1, 32)) * blocks.block.max().0 as f64)
                .min(ASSUMED_BYTES_PER_S),
        };
        let range = match blocks.span {
            Some(span) => Some(span.0.saturating_mul(u64::from(group.count))),
            None => workload.target.get(&group.target).and_then(|target| target_bytes(target, ram)),
        };
        let timed = phase.stop.time.map(|time| rate * time.0 as f64 / 1e9);
        let once = range.map(|bytes| bytes.saturating_mul(group.limit.passes.unwrap_or(1)) as f64);
        let most = group.limit.passes.and(once).unwrap_or(f64::INFINITY);
        let bytes = match (phase.stop.bytes, timed) {
            (Some(Bytes(bytes)), Some(timed)) => Some(timed.min(bytes as f64)),
            (Some(Bytes(bytes)), None) => Some(bytes as f64),
            (None, Some(timed)) => Some(timed),
            (None, None) => once,
        };
        let bytes = bytes.map(|bytes| bytes.min(most));
        let seconds = bytes.map(|bytes| bytes / rate);
        longest = longest.zip(seconds).map(|(a, b)| a.max(b));
        let mix = blocks.mix;
        let all = f64::from(mix.read + mix.write + mix.trim).max(1.0);
        let share = f64::from(mix.write) / all;
        let here = if mix.write == 0 { Some(0) } else { bytes.map(|bytes| (bytes * share) as u64) };
        written = written.zip(here).map(|(a, b)| a.saturating_add(b));
    }
    (longest, written)
}

/// Returns the number of seconds after which a run is killed.
pub fn timeout_s(cost: RunCost) -> u64 {
    cost.seconds.map_or(TIMEOUT_UNKNOWN_S, |seconds| (seconds * TIMEOUT_FACTOR).max(TIMEOUT_MIN_S).ceil() as u64)
}

/// Estimates all runs and plots of a plan; `costs` are those of its runs.
pub fn all(costs: &[RunCost], plan: &Plan) -> PlanEstimate {
    let runs: Option<f64> = costs.iter().map(|cost| cost.seconds).sum();
    let building: f64 = plan
        .plots
        .iter()
        .map(|plot| {
            let boot = match plan.hosts.get(&plot.host) {
                Some(HostPlan::Vm(_)) => ASSUMED_VM_BOOT_S,
                Some(HostPlan::Ssh { boot: Some(_), .. }) => ASSUMED_BOOT_S,
                _ => 0.0,
            };
            let entering = if plot.on_enter.is_empty() { 0.0 } else { ASSUMED_BOOT_S };
            boot + entering + ASSUMED_STEP_S * plot.steps.len() as f64
        })
        .sum();
    let written = costs.iter().try_fold(0u64, |sum, cost| Some(sum.saturating_add(cost.written_bytes?)));
    let pauses = plan.runs.len().saturating_sub(plan.plots.len()) as f64 * plan.settle_ns.unwrap_or(0) as f64 / 1e9;
    let verdicts = PlannedVerdicts::of_plan(plan);
    PlanEstimate {
        seconds: runs.map(|runs| runs + building + pauses),
        written_bytes: written,
        detectable_ratio: verdicts.claimable_ratio(verdicts.assumed(), plan.compare.equivalence),
        verdicts: verdicts.count,
    }
}
