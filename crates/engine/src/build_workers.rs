//! Builds the workers of a phase: every worker's body, from its plan and the open targets.

use crate::barrier::{Body, WorkerSpec};
use crate::block_plan;
use crate::companions::{BuiltCompanion, companions, refuse_on_virtual_time};
use crate::engine_error::EngineError;
use crate::fault::Yielded;
use crate::net::NetGroup;
use crate::plan::{Verifiable, WorkerPlanError, WorkerRules, WorkerSeat, group_runs, seats, seats_of};
use crate::program::load_file::{LoadGroup, LoadWorker};
use crate::program::shared::{Board, ProgramError, SharedPhase, SharedWorker};
use crate::program::{
    Compiled, FileSetReplay, NamedTarget, Over, ReturnedState, SetRoot, SetState, SetWorker, TreeState,
};
use crate::replay::{ReplayGroup, ReplayTally, ReplayWorker};
use crate::rng::StreamId;
use crate::setting::{Setting, content_stream};
use crate::source::plumb::draw::Newest;
use crate::source::requests::RequestQueue;
use crate::stream_plan::StreamPlan;
use crate::targets::{OpenSim, OpenTarget, OpenTargets};
use crate::tree::TreeShape;
use plumb_workload::net::NetLoad;
use plumb_workload::phase::{ErrorOrigin, IgnoredError};
use plumb_workload::{BlockStream, Phase, Program, Replay, RunAs, Target, Work, WorkerGroup, Workload};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A phase with its workers and companions.
#[derive(Default)]
pub(crate) struct BuiltPhase {
    /// Workers in the order of their groups, then companions.
    pub(crate) workers: Vec<WorkerSpec>,
    pub(crate) run_as: Vec<RunAs>,
    /// Number of distinct bytes that the phase can touch; `None` if a program over a file set is among its workers.
    pub(crate) working_set_bytes: Option<u64>,
    /// Names of the targets that it writes to.
    pub(crate) written: Vec<String>,
    pub(crate) flows: Vec<SetGroup>,
    /// Notes about requested features that are unavailable.
    pub(crate) notes: Vec<String>,
    pub(crate) board: Option<Arc<Board>>,
    /// Counters of replayed recordings.
    pub(crate) replay: Option<Arc<ReplayTally>>,
    pub(crate) net: Vec<NetGroup>,
}

/// A group of workers that changes a file set, with the means to determine the file set afterwards.
pub(crate) struct SetGroup {
    pub(crate) target: String,
    shape: Arc<TreeShape>,
    members: Vec<SetMember>,
}

enum SetMember {
    /// A thread returns its state here.
    Thread(ReturnedState),
    /// The state of a process is reconstructed by replaying its steps. `worker` is its number in the phase.
    Process { replay: Box<FileSetReplay>, worker: usize },
}

impl SetGroup {
    /// Returns the file set after the phase; `None` if a worker did not return, or a process had too many errors.
    pub(crate) fn after(self, yielded: &[Option<Yielded>]) -> Option<TreeState> {
        let states: Option<Vec<SetState>> = self
            .members
            .into_iter()
            .map(|member| match member {
                SetMember::Thread(returned) => returned.lock().ok()?.take(),
                SetMember::Process { replay, worker } => replay.after(yielded.get(worker)?.as_ref()?),
            })
            .collect();
        Some(TreeState::join(self.shape, states?))
    }
}

/// Finds errors that would make a later phase impossible, before the first one runs.
pub(crate) fn check(workload: &Workload, targets: &OpenTargets) -> Result<(), EngineError> {
    for (number, phase) in workload.phase.iter().enumerate() {
        group_runs(phase)?;
        if targets.is_simulated() {
            refuse_on_virtual_time(phase)?;
        }
        // Checks all programs over shared sets of the phase together.
        let is_over_shared_sets =
            |seat: &WorkerSeat<'_>| seat.group.work.program().is_some_and(|program| program.is_over_shared_sets());
        if let Some(seat) = seats(phase, number as u32).find(is_over_shared_sets) {
            shared_phase(&seat, phase, targets)?;
        }
        let mut verifiable = phase.workers.iter().any(|group| group.verify.is_some()).then(Verifiable::default);
        for seat in seats(phase, number as u32) {
            match (&seat.group.work, targets.get(&seat.group.target)) {
                (Work::Blocks(stream), Some(target)) if targets.fault_of(&seat).is_none() => {
                    let plan = block_plan::plan(&seat, workload.seed, target)?;
                    // A simulated device returns exactly the written data.
                    if let (StreamPlan::Plumb(plan), BlockStream::Plumb(blocks), Some(verifiable), false) =
                        (&plan, &**stream, &mut verifiable, matches!(target, OpenTarget::Sim(_)))
                    {
                        verifiable.add(&seat, blocks, plan)?;
                    }
                }
                // Such a file is read when its phase begins.
                (Work::Program(program), _) if program.load_file().is_some() => {}
                (Work::Program(program), Some(OpenTarget::Scratch(files))) if seat.number == 0 => {
                    let stream = seat.stream(workload.seed);
                    crate::program::plan(&seat, program, NamedTarget::Files(files), stream, stream)?;
                }
                (Work::Program(program), Some(OpenTarget::Null { files: Some(files), .. })) if seat.number == 0 => {
                    let stream = seat.stream(workload.seed);
                    crate::program::plan(&seat, program, NamedTarget::Nothing(files), stream, stream)?;
                }
                (Work::Program(program), Some(OpenTarget::Sim(sim))) if !program.is_over_file_set() => {
                    let stream = seat.stream(workload.seed);
                    crate::program::plan(&seat, program, sim.named(), stream, stream)?;
                }
                (
                    Work::Program(program),
                    Some(OpenTarget::Tree(_) | OpenTarget::Sim(OpenSim { files: Some(_), .. })),
                ) if seat.number == 0 => {
                    compiled(&seat, program)?;
                }
                (Work::Program(program), _) if seat.number == 0 && !program.is_over_shared_sets() => {
                    return Err(no_files(&seat).into());
                }
                _ => {}
            }
        }
        if let Some(verifiable) = verifiable {
            verifiable.check(phase)?;
        }
        targets.refuse_never_cold(phase)?;
    }
    Ok(())
}

/// Builds the workers of a phase.
pub(crate) fn build_workers(
    workload: &Workload,
    phase: &Phase,
    number: u32,
    targets: &mut OpenTargets,
    setting: &Setting<'_>,
) -> Result<BuiltPhase, EngineError> {
    let mut builder = PhaseBuilder::new(workload, phase, targets, setting);
    for seat in seats_of(phase, number, setting.part) {
        let body = builder.body(&seat)?;
        builder.note_written(&seat);
        builder.built.run_as.push(seat.group.run_as);
        builder.built.workers.push(WorkerSpec {
            name: seat.name(),
            group: seat.group_number,
            depth: seat.group.depth,
            cpu: seat.cpu(),
            rules: rules(&seat),
            body,
        });
    }
    let PhaseBuilder { mut built, working_sets, .. } = builder;
    for BuiltCompanion { spec, run_as } in companions(phase) {
        built.run_as.push(run_as);
        built.workers.push(spec);
    }
    built.working_set_bytes = working_sets.total();
    Ok(built)
}

/// State shared by a group's workers while they are built, with the number of the group.
type PerGroup<T> = Option<(usize, T)>;

/// Builds workers seat by seat. The seats of a group are consecutive.
struct PhaseBuilder<'a, 's> {
    workload: &'a Workload,
    phase: &'a Phase,
    targets: &'a mut OpenTargets,
    setting: &'a Setting<'s>,
    built: BuiltPhase,
    working_sets: WorkingSets,
    /// Bytes that the phase still has to move.
    bytes_left: Arc<AtomicU64>,
    /// All programs over shared sets of the phase.
    shared: Option<Arc<SharedPhase>>,
    replay: PerGroup<ReplayGroup>,
    load: PerGroup<LoadGroup>,
    queue: PerGroup<Arc<RequestQueue>>,
    newest: PerGroup<Newest>,
    /// States for the current group, last worker first.
    states: Vec<SetState>,
}

impl<'a, 's> PhaseBuilder<'a, 's> {
    fn new(
        workload: &'a Workload,
        phase: &'a Phase,
        targets: &'a mut OpenTargets,
        setting: &'a Setting<'s>,
    ) -> PhaseBuilder<'a, 's> {
        PhaseBuilder {
            workload,
            phase,
            targets,
            setting,
            built: BuiltPhase::default(),
            working_sets: WorkingSets::default(),
            bytes_left: Arc::new(AtomicU64::new(phase.stop.bytes.map_or(u64::MAX, |bytes| bytes.0))),
            shared: None,
            replay: None,
            load: None,
            queue: None,
            newest: None,
            states: Vec::new(),
        }
    }

    fn body(&mut self, seat: &WorkerSeat<'_>) -> Result<Body, EngineError> {
        match &seat.group.work {
            Work::Blocks(_) => self.blocks(seat),
            Work::Program(program) if program.is_over_shared_sets() => self.shared_sets(seat),
            Work::Program(program) if program.load_file().is_some() => self.load_file(seat, program),
            Work::Program(program) => self.program(seat, program),
            Work::Replay(replay) => self.replay(seat, replay),
            Work::Net(load) => self.net(seat, load),
            Work::Copy(copy) => {
                self.working_sets.unbounded = true;
                Ok(crate::copy::plan::worker(copy, self.targets, self.setting)?.body())
            }
        }
    }

    /// Returns the named files of a program; `None` for a program over a file set.
    fn named_target(&self, seat: &WorkerSeat<'_>, program: &Program) -> Option<NamedTarget<'_>> {
        match self.targets.get(&seat.group.target)? {
            OpenTarget::Scratch(files) => Some(NamedTarget::Files(files)),
            OpenTarget::Null { files: Some(files), .. } => Some(NamedTarget::Nothing(files)),
            OpenTarget::Sim(sim) if !program.is_over_file_set() => Some(sim.named()),
            _ => None,
        }
    }

    /// Returns the random stream of a worker's content.
    fn content_stream(&self, seat: &WorkerSeat<'_>) -> StreamId {
        content_stream(self.workload, self.setting, seat.phase_number, seat.worker)
    }

    fn blocks(&mut self, seat: &WorkerSeat<'_>) -> Result<Body, EngineError> {
        if let Some(fault) = self.targets.fault_of(seat) {
            return Ok(fault.clone().body());
        }
        let notes = &mut self.built.notes;
        let mut worker = block_plan::worker(self.workload, seat, self.targets, self.setting, notes)?;
        match &mut worker.plan {
            StreamPlan::Plumb(plan) => plan.share_newest(&mut self.newest, seat.group_number),
            StreamPlan::Requests(plan) => match &self.queue {
                Some((group, queue)) if *group == seat.group_number => plan.queue = Arc::clone(queue),
                _ => self.queue = Some((seat.group_number, Arc::clone(&plan.queue))),
            },
            _ => {}
        }
        let target_bytes = worker.files.total_bytes();
        self.working_sets.add(&seat.group.target, worker.plan.working_set_bytes(), target_bytes);
        if let Some(tally) = &worker.tally {
            self.built.replay = Some(Arc::clone(tally));
        }
        Ok(worker.body())
    }

    fn shared_sets(&mut self, seat: &WorkerSeat<'_>) -> Result<Body, EngineError> {
        self.working_sets.unbounded = true;
        let shared = match &self.shared {
            Some(shared) => Arc::clone(shared),
            None => Arc::clone(self.shared.insert(Arc::new(shared_phase(seat, self.phase, self.targets)?))),
        };
        self.built.board = Some(Arc::clone(shared.board()));
        let program = shared.program(seat.group_number);
        let program = Arc::clone(program.ok_or_else(|| seat.error("its program was not compiled"))?);
        let worker = SharedWorker {
            program,
            phase: shared,
            group: seat.group_number,
            number: seat.number,
            workers: self.phase.workers.iter().fold(0, |sum: u32, group| sum.saturating_add(group.count)),
            stream: seat.stream(self.workload.seed),
            content_stream: self.content_stream(seat),
            rules: seat.group.process.clone(),
        };
        Ok(worker.body())
    }

    fn load_file(&mut self, seat: &WorkerSeat<'_>, program: &Program) -> Result<Body, EngineError> {
        self.working_sets.unbounded = true;
        let group = match self.load.take() {
            Some((number, group)) if number == seat.group_number => group,
            _ => load_group(seat, program, self.targets, self.setting)?,
        };
        self.load = Some((seat.group_number, group.clone()));
        Ok(LoadWorker { group, client: seat.number }.body())
    }

    /// Builds a program over named files, or over its share of a file set.
    fn program(&mut self, seat: &WorkerSeat<'_>, program: &Program) -> Result<Body, EngineError> {
        let stream = seat.stream(self.workload.seed);
        if let Some(target) = self.named_target(seat, program) {
            let content_stream = match target {
                NamedTarget::Files(_) => self.content_stream(seat),
                _ => stream,
            };
            let worker = crate::program::plan(seat, program, target, stream, content_stream)?;
            self.working_sets.add(&seat.group.target, worker.working_set_bytes, worker.target_bytes);
            return Ok(worker.body());
        }
        self.working_sets.unbounded = true;
        if seat.number == 0 {
            self.states = take_states(seat, self.targets, &mut self.built.flows)?;
        }
        let state = self.states.pop().ok_or_else(|| seat.error("the file set has fewer shares than workers"))?;
        Ok(set_worker(self.workload, seat, program, state, self.targets, self.setting, &mut self.built)?.body())
    }

    fn replay(&mut self, seat: &WorkerSeat<'_>, replay: &Replay) -> Result<Body, EngineError> {
        self.working_sets.unbounded = true;
        let group = match self.replay.take() {
            Some((number, group)) if number == seat.group_number => group,
            _ => replay_group(seat, replay, self.targets, self.setting)?,
        };
        self.built.replay = Some(Arc::clone(&group.tally));
        self.replay = Some((seat.group_number, group.clone()));
        Ok(ReplayWorker { group, lane: seat.number, content_stream: self.content_stream(seat) }.body())
    }

    fn net(&mut self, seat: &WorkerSeat<'_>, load: &NetLoad) -> Result<Body, EngineError> {
        self.working_sets.unbounded = true;
        if seat.number == 0 {
            let protocol = self.setting.net.ok_or_else(|| seat.error("this command does no network work"))?;
            let Some(Target::Host(host)) = self.workload.target.get(&seat.group.target) else {
                return Err(seat.error("its target is not a host").into());
            };
            self.built.net.push(NetGroup::connect(seat, load, &host.address, protocol, self.setting.stop)?);
        }
        let group = self.built.net.last().ok_or_else(|| seat.error("it has no connections"))?;
        Ok(group.worker(seat, load.kind(), self.workload.seed, &self.bytes_left)?)
    }

    /// Records the targets that a worker writes to, including targets of copies.
    fn note_written(&mut self, seat: &WorkerSeat<'_>) {
        let target = self.targets.get(&seat.group.target);
        let is_null = matches!(target, Some(OpenTarget::Null { .. } | OpenTarget::Sim(_)));
        if is_null || !writes(seat.group, self.targets) {
            return;
        }
        let copies = seat.group.work.program().and_then(|program| program.copies().next()).map(|copy| &copy.to);
        for target in std::iter::once(&seat.group.target).chain(copies) {
            if !self.built.written.contains(target) {
                self.built.written.push(target.clone());
            }
        }
    }
}

/// Returns the worker's rules. For network loads, a request without a response counts as lost, and
/// the next one is sent.
fn rules(seat: &WorkerSeat<'_>) -> WorkerRules {
    let mut rules = seat.rules();
    if seat.group.work.net().is_some() {
        rules.errors.ignore.push(IgnoredError { at: ErrorOrigin::Write, errno: libc::ETIMEDOUT });
    }
    rules
}

fn shared_phase(seat: &WorkerSeat<'_>, phase: &Phase, targets: &OpenTargets) -> Result<SharedPhase, WorkerPlanError> {
    SharedPhase::new(phase, targets).map_err(|error: ProgramError| seat.error(error))
}

fn no_files(seat: &WorkerSeat<'_>) -> WorkerPlanError {
    let target = &seat.group.target;
    seat.error(format!("`{target}` has no files for a program; use a `tree` or a `scratch` target"))
}

/// Prepares the state shared by the clients of a group.
fn load_group(
    seat: &WorkerSeat<'_>,
    program: &Program,
    targets: &OpenTargets,
    setting: &Setting<'_>,
) -> Result<LoadGroup, WorkerPlanError> {
    match (program.load_file(), targets.get(&seat.group.target)) {
        (Some(step), Some(OpenTarget::Scratch(files))) => {
            LoadGroup::new(step, files.directory(), files.roots(), setting.base).map_err(|error| seat.error(error))
        }
        _ => Err(seat.error("a load file needs a directory; use a `scratch` target")),
    }
}

/// Prepares the state shared by the workers of a replay.
fn replay_group(
    seat: &WorkerSeat<'_>,
    replay: &Replay,
    targets: &OpenTargets,
    setting: &Setting<'_>,
) -> Result<ReplayGroup, WorkerPlanError> {
    match targets.get(&seat.group.target) {
        Some(OpenTarget::Recorded(files)) => ReplayGroup::on_files(seat, replay, files, setting),
        Some(OpenTarget::Sim(sim)) => ReplayGroup::on_device(seat, replay, &sim.device, sim.bytes, setting),
        _ => Err(seat.error(format!(
            "`{}` has no room for the files of a recording; use a `recorded` target",
            seat.group.target
        ))),
    }
}

fn compiled(seat: &WorkerSeat<'_>, program: &Program) -> Result<Arc<Compiled>, WorkerPlanError> {
    let compiled = Compiled::new(&program.steps, Over::FileSet, program.count_transactions);
    compiled.map(Arc::new).map_err(|error| seat.error(error))
}

/// Returns `true` if the engine must flush after a group.
fn writes(group: &WorkerGroup, targets: &OpenTargets) -> bool {
    match &group.work {
        Work::Blocks(stream) => stream.is_plumb() && stream.moves().write,
        Work::Program(_) => matches!(targets.get(&group.target), Some(OpenTarget::Tree(_))),
        // Copies, programs over named files and streams of other generators flush as they are asked to. A replay
        // flushes where its recording does.
        Work::Copy(_) | Work::Replay(_) | Work::Net(_) => false,
    }
}

/// Takes the file set's state for a group: one share per worker, last worker first.
fn take_states(
    seat: &WorkerSeat<'_>,
    targets: &mut OpenTargets,
    flows: &mut Vec<SetGroup>,
) -> Result<Vec<SetState>, EngineError> {
    let target = &seat.group.target;
    let files = targets.file_set(target).ok_or_else(|| seat.error(format!("`{target}` is not a file set")))?;
    let shape = Arc::clone(&files.shape);
    let state = files.take_state().ok_or_else(|| {
        seat.error(format!(
            "the state of file set `{target}` is unknown: another group of this phase uses it, or ops of an earlier \
             phase failed in a worker process"
        ))
    })?;
    let mut states = state.split(seat.group.count).map_err(|error| seat.error(error))?;
    states.reverse();
    flows.push(SetGroup { target: target.clone(), shape, members: Vec::new() });
    Ok(states)
}

fn set_worker(
    workload: &Workload,
    seat: &WorkerSeat<'_>,
    program: &Program,
    state: SetState,
    targets: &OpenTargets,
    setting: &Setting<'_>,
    built: &mut BuiltPhase,
) -> Result<SetWorker, EngineError> {
    let copies = program.copies().next().and_then(|copy| targets.get(&copy.to));
    let (root, files, content) = match targets.get(&seat.group.target) {
        Some(OpenTarget::Tree(tree)) => {
            let copies = match copies {
                Some(OpenTarget::Tree(to)) => Some((to.root()?, to.path().to_owned())),
                _ => None,
            };
            let root = SetRoot::Directory { root: tree.root()?, place: tree.path().to_owned(), copies };
            (root, &tree.files, tree.content)
        }
        Some(OpenTarget::Sim(OpenSim { device, files: Some(files), .. })) => {
            let copies = match copies {
                Some(OpenTarget::Sim(to)) => Some(to.device.clone()),
                _ => None,
            };
            (SetRoot::Sim(device.clone(), copies), files, Default::default())
        }
        _ => return Err(seat.error(format!("`{}` is not a file set", seat.group.target)).into()),
    };
    let program = compiled(seat, program)?;
    let stream = seat.stream(workload.seed);
    let returned = ReturnedState::default();
    let member = match seat.group.run_as {
        RunAs::Thread => SetMember::Thread(Arc::clone(&returned)),
        RunAs::Process => SetMember::Process {
            replay: Box::new(FileSetReplay {
                program: Arc::clone(&program),
                state: state.clone(),
                stream,
                passes: seat.passes(),
            }),
            worker: seat.worker as usize,
        },
    };
    if let Some(group) = built.flows.last_mut() {
        group.members.push(member);
    }
    Ok(SetWorker {
        program,
        state,
        shape: Arc::clone(&files.shape),
        root,
        content,
        pacing: seat.pacing(),
        number: seat.number,
        stream,
        content_stream: content_stream(workload, setting, seat.phase_number, seat.worker),
        passes: seat.passes(),
        returned,
    })
}

/// Working sets by target. Workers of one target may share bytes, so its length limits their sum.
#[derive(Default)]
struct WorkingSets {
    by_target: BTreeMap<String, u64>,
    unbounded: bool,
}

impl WorkingSets {
    fn add(&mut self, target: &str, bytes: u64, target_bytes: u64) {
        let sum = self.by_target.entry(target.to_owned()).or_default();
        *sum = sum.saturating_add(bytes).min(target_bytes);
    }

    fn total(&self) -> Option<u64> {
        (!self.unbounded).then(|| self.by_target.values().sum())
    }
}
