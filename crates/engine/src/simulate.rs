//! Runs a workload on simulated devices.

use crate::engine_error::{EngineError, keep_finished};
use crate::observer::Live;
use crate::observer::{Observer, TargetView};
use crate::op::BlockOp;
use crate::plan::{WorkerSeat, seats};
use crate::program::{CallOp, Compiled, Over, ProgramSource, ReturnedState, SetState, TreeState};
use crate::rng::Purpose;
use crate::setting::Setting;
use crate::sim::worker::WorkerPlace;
use crate::sim::{Either, EitherOp, PhaseEnd, SimPhaseOutcome, SimWorker, Simulation};
use crate::source::Source;
use crate::source::blocks::BlockSource;
use crate::tree::TreeShape;
use plumb_result::{Interval, Measurement};
use plumb_workload::{Bytes, Distribution, Phase, SimTarget, Target, TreeTarget, Work, Workload};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A block source: virtual time does not see the cost of dynamic dispatch.
struct AnyBlocks(BlockSource);

impl Source for AnyBlocks {
    type Op = BlockOp;
    fn next(&mut self) -> Option<BlockOp> {
        self.0.table().next()
    }
    fn failed(&mut self, op: &BlockOp) {
        self.0.table().failed(op);
    }
}

/// A program that keeps its state where the next phase finds it.
struct KeptProgram {
    source: Option<ProgramSource>,
    returned: ReturnedState,
}

impl Source for KeptProgram {
    type Op = CallOp;
    fn next(&mut self) -> Option<CallOp> {
        self.source.as_mut()?.next()
    }
    fn failed(&mut self, op: &CallOp) {
        if let Some(source) = &mut self.source {
            source.failed(op);
        }
    }
    fn transactions(&self) -> Option<u64> {
        self.source.as_ref()?.transactions()
    }
}

impl Drop for KeptProgram {
    fn drop(&mut self) {
        if let (Some(source), Ok(mut returned)) = (self.source.take(), self.returned.lock()) {
            *returned = source.into_state();
        }
    }
}

type AnySource = Either<AnyBlocks, KeptProgram>;

fn file_number(op: &EitherOp<BlockOp, CallOp>) -> u64 {
    match op {
        EitherOp::Left(op) => u64::from(op.file),
        EitherOp::Right(op) => op.file,
    }
}

/// Runs every phase on the virtual clock.
pub(crate) fn run(
    workload: &Workload,
    setting: &Setting<'_>,
    observer: &mut dyn Observer,
) -> Result<Measurement, EngineError> {
    let sims: Vec<(&str, &SimTarget)> = workload
        .target
        .iter()
        .filter_map(|(name, target)| match target {
            Target::Sim(sim) => Some((name.as_str(), sim)),
            _ => None,
        })
        .collect();
    let views: Vec<TargetView<'_>> = sims
        .iter()
        .map(|(name, _)| TargetView { name, path: Path::new("sim"), files: Vec::new(), file_count: 0 })
        .collect();
    observer.targets_ready(&views);
    let mut simulation = Simulation::new(sims.iter().copied(), setting.sim_run);
    let mut trees: BTreeMap<&str, TreeState> = BTreeMap::new();
    for (name, sim) in &sims {
        if let Some(files) = sim.files {
            let shape = TreeShape::new(&file_set(sim, files), workload.seed).map_err(EngineError::plan)?;
            trees.insert(name, TreeState::new(Arc::new(shape)));
        }
    }
    let mut measurement = Measurement::default();
    for (number, phase) in workload.phase.iter().enumerate() {
        if setting.stop.requested() {
            measurement.interrupted = true;
            break;
        }
        let outcome = match run_one(workload, phase, number as u32, setting, &mut simulation, &mut trees, observer) {
            Ok(outcome) => outcome,
            Err(error) => return keep_finished(measurement, error),
        };
        observer.simulated(outcome.observations);
        observer.phase_ended(&outcome.measurement);
        measurement.phases.push(outcome.measurement);
        if outcome.end == PhaseEnd::Interrupted {
            measurement.interrupted = true;
            break;
        }
    }
    Ok(measurement)
}

/// Runs one phase on the virtual clock, and puts its trees back for the next.
fn run_one<'a>(
    workload: &'a Workload,
    phase: &'a Phase,
    number: u32,
    setting: &Setting<'_>,
    simulation: &mut Simulation,
    trees: &mut BTreeMap<&'a str, TreeState>,
    observer: &mut dyn Observer,
) -> Result<SimPhaseOutcome, EngineError> {
    let planned = plan_phase(workload, phase, number, simulation, trees)?;
    let mut intervals = 0;
    let outcome = simulation
        .run_phase(phase, planned.workers, Some(planned.working_set_bytes), &mut |interval| {
            intervals += 1;
            observer.interval(&live(phase, interval, intervals));
            if setting.stop.requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .map_err(EngineError::plan)?;
    for (target, shape, returned) in planned.returned {
        let states: Option<Vec<SetState>> =
            returned.iter().map(|slot| slot.lock().ok().and_then(|mut slot| slot.take())).collect();
        let states = states.ok_or_else(|| EngineError::plan("a simulated program lost its state"))?;
        trees.insert(target, TreeState::join(shape, states));
    }
    Ok(outcome)
}

/// The file set that a simulated target stands for: its size, in equal files of one directory.
fn file_set(sim: &SimTarget, files: u64) -> TreeTarget {
    TreeTarget {
        path: PathBuf::from("sim"),
        files,
        width: 1,
        depth: 0,
        size: Distribution::Fixed(Bytes((sim.size.0 / files.max(1)).max(1))),
        preallocated_percent: sim.preallocated_percent,
        content: Default::default(),
    }
}

struct PlannedPhase<'a> {
    workers: Vec<SimWorker<AnySource>>,
    working_set_bytes: u64,
    returned: Vec<(&'a str, Arc<TreeShape>, Vec<ReturnedState>)>,
}

fn plan_phase<'a>(
    workload: &'a Workload,
    phase: &'a Phase,
    number: u32,
    simulation: &Simulation,
    trees: &mut BTreeMap<&'a str, TreeState>,
) -> Result<PlannedPhase<'a>, EngineError> {
    let mut planned = PlannedPhase { workers: Vec::new(), working_set_bytes: 0, returned: Vec::new() };
    let mut states: Vec<SetState> = Vec::new();
    for seat in seats(phase, number) {
        let target = seat.group.target.as_str();
        let (Some(device), Some(Target::Sim(sim))) = (simulation.device_of(target), workload.target.get(target)) else {
            return Err(seat.error("simulated and real targets cannot be mixed in one workload").into());
        };
        let source = match &seat.group.work {
            Work::Blocks(blocks) => {
                let plan = seat.blocks(blocks, &[sim.size.0], workload.seed)?;
                let own = plan.working_set_bytes();
                planned.working_set_bytes = planned.working_set_bytes.saturating_add(own).min(sim.size.0);
                Either::Left(AnyBlocks(BlockSource::new(&plan)))
            }
            Work::Program(program) => {
                let compiled = Compiled::new(&program.steps, Over::FileSet, program.count_transactions);
                let program = Arc::new(compiled.map_err(|error| seat.error(error))?);
                if seat.number == 0 {
                    let tree = trees.remove(target).ok_or_else(|| {
                        seat.error("a program needs a target with `files`, and one group of a phase each")
                    })?;
                    let shape = Arc::clone(tree.shape());
                    states = tree.split(seat.group.count).map_err(|error| seat.error(error))?;
                    states.reverse();
                    planned.returned.push((target, shape, Vec::new()));
                }
                let state = states.pop().ok_or_else(|| seat.error("more workers than shares"))?;
                let returned = ReturnedState::default();
                if let Some((_, _, slots)) = planned.returned.last_mut() {
                    slots.push(Arc::clone(&returned));
                }
                let stream = seat.stream(workload.seed);
                let source = ProgramSource::new(&program, seat.number, Some(state), stream, seat.passes());
                Either::Right(KeptProgram { source: Some(source), returned })
            }
            Work::Job(_) | Work::Copy(_) | Work::Busy(_) | Work::Exec(_) => {
                return Err(seat
                    .error("a simulated device takes `work.blocks` and `work.program`, no jobs and no copies")
                    .into());
            }
        };
        planned.workers.push(sim_worker(seat, device, workload.seed, source));
    }
    Ok(planned)
}

fn sim_worker(seat: WorkerSeat<'_>, device: usize, seed: u64, source: AnySource) -> SimWorker<AnySource> {
    let place = WorkerPlace { group: seat.group_number, number: seat.number };
    let arrivals = seat.stream(seed).rng(Purpose::Arrival);
    SimWorker::of_group(seat.group, place, device, arrivals, file_number, source)
}

fn live(phase: &Phase, interval: &Interval, intervals: u64) -> Live {
    Live {
        phase: phase.name.clone(),
        elapsed_ns: intervals * crate::observer::INTERVAL_NS,
        time_ns: phase.stop.time.map(|time| time.0),
        interval: interval.clone(),
        in_flight: 0.0,
        fault_count: 0,
        faults: Vec::new(),
        short_count: 0,
        working_set_bytes: None,
        depth_asked: 0,
    }
}
