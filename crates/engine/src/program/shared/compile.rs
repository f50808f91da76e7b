//! Compiles the programs of a phase over shared file sets: resolves names to numbers, and flattens nested steps.

use super::draw::Drawn;
use super::program_error::ProgramError;
use super::set::SharedSet;
use super::steps::{Board, GroupBoard, StepName};
use super::sync::{Credit, Events, WakeEvent};
use crate::clock::Clock;
use crate::targets::{OpenTarget, OpenTargets};
use plumb_workload::limits::MAX_SET_REQUEST_BYTES;
use plumb_workload::program::{
    Amount, EventUnit, FinishUnit, SharedPick, SharedStep, SharedTransfer, SharedWork, TURN_HANDLES, Together,
    TreeAccess, shared_name,
};
use plumb_workload::{OpKind, Phase, Program, RunAs, Step};
use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Maximum size of a request that transfers the whole file.
pub(super) const WHOLE_BYTES_MAX: u64 = 1 << 20;

/// One instruction. Numbers refer to the program's tables; `after` and `first` refer to instructions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Instruction {
    Step(u32),
    /// Sets a counter to a drawn number; jumps past the loop if it is 0.
    Repeat {
        counter: u16,
        after: u32,
    },
    /// Decrements the counter, and jumps to the loop's first instruction unless the counter is then 0.
    Again {
        counter: u16,
        first: u32,
    },
}

/// A step with all names resolved.
pub(super) struct CompiledStep {
    pub(super) name: String,
    pub(super) kind: Option<OpKind>,
    pub(super) does: StepAction,
    /// Index among the program's sets.
    pub(super) set: Option<usize>,
    pub(super) handle: usize,
    pub(super) pick: PickFrom,
    pub(super) flags: OFlags,
    pub(super) no_read_ahead: bool,
}

/// Rule by which a step picks an entry.
pub(super) enum PickFrom {
    Next,
    Turn,
    Indexed(Drawn),
}

/// Parameters of a read or write.
pub(super) struct Moving {
    pub(super) size: Drawn,
    pub(super) random: bool,
    pub(super) within: u64,
    /// Offsets to draw from, bytes; any offset if empty.
    pub(super) places: Box<[u64]>,
}

/// The action of a step.
pub(super) enum StepAction {
    Open,
    Create,
    Close,
    Remove,
    Stat,
    Read(Moving),
    Write(Moving),
    ReadWhole {
        request: Drawn,
    },
    WriteWhole {
        request: Drawn,
        like: usize,
        bytes: u64,
    },
    Append {
        size: Drawn,
        up_to: bool,
    },
    Fsync,
    FsyncSet,
    MakeDirectory,
    RemoveDirectory,
    List,
    StartWrite(Moving),
    AwaitWrites,
    /// Index of the place to wait at.
    Sleep(usize),
    Wake(usize),
    Take {
        place: usize,
        first: usize,
        credit: Drawn,
    },
    Give {
        place: usize,
        credit: Drawn,
        waits: bool,
    },
    Spin(Drawn),
    Delay(Drawn),
    TakeEvent,
    TakeEvents {
        unit: EventUnit,
        step: Option<usize>,
    },
    Finish {
        after: Drawn,
        unit: FinishUnit,
        step: Option<usize>,
    },
    Note,
    Sample(Drawn),
}

/// The program of a group.
pub(crate) struct SharedProgram {
    pub(super) code: Vec<Instruction>,
    pub(super) steps: Vec<CompiledStep>,
    pub(super) sets: Vec<Arc<SharedSet>>,
    /// Initial value of each counter.
    pub(super) times: Vec<Drawn>,
    pub(super) handles: usize,
    /// Whether a step cycles through handles.
    pub(super) takes_turns: bool,
    /// Bytes of the program's largest read, and of its largest write, in one call.
    pub(super) largest_read: u64,
    pub(super) largest_write: u64,
    /// Bytes of the program's largest asynchronous write.
    pub(super) largest_started: u64,
    /// Memory that reads are spread over, bytes.
    pub(super) spread: u64,
    pub(super) together: Together,
}

/// A step at which several workers wait for or wake each other.
#[derive(Default)]
pub(super) struct Place {
    pub(super) woken: WakeEvent,
    /// One per worker of each group that has the step.
    pub(super) credits: Vec<Credit>,
}

/// Totals over the workers of a party.
#[derive(Default)]
pub(super) struct Party {
    pub(super) ops: AtomicU64,
    pub(super) transfers: AtomicU64,
    pub(super) bytes: AtomicU64,
}

/// State shared by the workers of a phase over shared file sets.
pub(crate) struct SharedPhase {
    programs: Vec<Option<Arc<SharedProgram>>>,
    pub(super) places: Vec<Place>,
    pub(super) events: Events,
    pub(super) parties: Vec<Party>,
    /// Number of workers in all groups.
    pub(super) workers: u32,
    /// Whether any step depends on a party's totals.
    pub(super) counts_parties: bool,
    board: Arc<Board>,
}

impl SharedPhase {
    /// Returns the statistics of the phase's steps.
    pub(crate) fn board(&self) -> &Arc<Board> {
        &self.board
    }

    /// Returns the program of a group.
    pub(crate) fn program(&self, group: usize) -> Option<&Arc<SharedProgram>> {
        self.programs.get(group)?.as_ref()
    }

    /// Compiles the programs of a phase.
    ///
    /// # Errors
    /// Errors that the validator should have found.
    pub(crate) fn new(phase: &Phase, targets: &OpenTargets) -> Result<SharedPhase, ProgramError> {
        if phase.workers.iter().any(|group| group.run_as == RunAs::Process) {
            return Err(ProgramError::Processes);
        }
        let programs: Vec<Option<&Program>> = phase
            .workers
            .iter()
            .map(|group| group.work.program().filter(|program| program.is_over_shared_sets()))
            .collect();
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        let mut places: Vec<Place> = Vec::new();
        for (group, program) in phase.workers.iter().zip(&programs) {
            for (name, step) in program.iter().flat_map(|program| program.shared_names()) {
                let ahead = match &step.does {
                    SharedWork::Sleep => None,
                    SharedWork::Take { ahead, .. } => Some(*ahead),
                    _ => continue,
                };
                let place = *names.entry(name).or_insert_with(|| {
                    places.push(Place::default());
                    places.len() - 1
                });
                if let Some(ahead) = ahead {
                    places[place].credits.extend((0..group.count).map(|_| Credit::new(ahead)));
                }
            }
        }
        let mut given: BTreeMap<usize, usize> = BTreeMap::new();
        let mut compiled = Vec::new();
        let mut boards = Vec::new();
        let (mut per_second, mut parties) = (0, 1);
        for (number, (group, program)) in phase.workers.iter().zip(&programs).enumerate() {
            let Some(program) = program else {
                compiled.push(None);
                boards.push(GroupBoard::new(Vec::new(), 0));
                continue;
            };
            let mut compiler = Compiler {
                program: SharedProgram {
                    code: Vec::new(),
                    steps: Vec::new(),
                    sets: Vec::new(),
                    times: Vec::new(),
                    handles: 1,
                    takes_turns: false,
                    largest_read: 0,
                    largest_write: 0,
                    largest_started: 0,
                    spread: program.memory.spread.map_or(0, |spread| spread.0),
                    together: program.together.unwrap_or_default(),
                },
                numbers: numbers(program),
                names: &names,
                given: &mut given,
                workers: group.count as usize,
                targets,
            };
            for step in &program.steps {
                match step {
                    Step::Shared(step) => compiler.step(step, "")?,
                    _ => return Err(ProgramError::OtherStep),
                }
            }
            let program = compiler.program;
            let together = program.together;
            per_second = per_second.max(together.events_per_second.unwrap_or(0));
            parties = parties.max(together.first_party + group.count.div_ceil(together.members.max(1)));
            let group_name = group.name.clone().unwrap_or_else(|| format!("workers.{number}"));
            let steps = program.steps.iter().map(|step| StepName {
                name: step.name.clone(),
                group: group_name.clone(),
                kind: step.kind,
            });
            boards.push(GroupBoard::new(steps.collect(), group.count));
            compiled.push(Some(Arc::new(program)));
        }
        let counts_parties = compiled.iter().flatten().flat_map(|program| &program.steps).any(|step| {
            matches!(step.does, StepAction::TakeEvents { step: None, .. } | StepAction::Finish { step: None, .. })
        });
        Ok(SharedPhase {
            programs: compiled,
            places,
            events: Events::new(per_second, &Clock::best()),
            parties: (0..parties).map(|_| Party::default()).collect(),
            workers: phase.workers.iter().fold(0, |sum, group| sum.saturating_add(group.count)),
            counts_parties,
            board: Arc::new(Board::new(boards)),
        })
    }
}

/// Returns the numbers of steps by name, in the order of compilation.
fn numbers(program: &Program) -> BTreeMap<String, usize> {
    let single = program.shared_names().into_iter().filter(|(_, step)| !matches!(step.does, SharedWork::Steps(_)));
    BTreeMap::from_iter(single.enumerate().map(|(number, (name, _))| (name, number)))
}

struct Compiler<'a> {
    program: SharedProgram,
    /// The program's steps by name.
    numbers: BTreeMap<String, usize>,
    /// Indices of places by the names of their steps.
    names: &'a BTreeMap<String, usize>,
    /// Number of each place's credits that are already assigned to groups.
    given: &'a mut BTreeMap<usize, usize>,
    workers: usize,
    targets: &'a OpenTargets,
}

impl Compiler<'_> {
    fn step(&mut self, step: &SharedStep, outer: &str) -> Result<(), ProgramError> {
        let name = shared_name(outer, &step.name);
        let repeat = if step.times.is(1) {
            None
        } else {
            let counter = u16::try_from(self.program.times.len()).map_err(|_| ProgramError::TooManySteps)?;
            self.program.times.push(Drawn::from_amount(&step.times));
            self.program.code.push(Instruction::Repeat { counter, after: 0 });
            Some((counter, self.program.code.len() - 1))
        };
        if let SharedWork::Steps(steps) = &step.does {
            for step in steps {
                self.step(step, &name)?;
            }
        } else {
            let compiled = self.compiled(step, name)?;
            self.program.code.push(Instruction::Step(self.program.steps.len() as u32));
            self.program.steps.push(compiled);
        }
        if let Some((counter, start)) = repeat {
            self.program.code.push(Instruction::Again { counter, first: start as u32 + 1 });
            let after = self.program.code.len() as u32;
            self.program.code[start] = Instruction::Repeat { counter, after };
        }
        Ok(())
    }

    fn set(&mut self, name: &str) -> Result<usize, ProgramError> {
        let Some(OpenTarget::Shared(set)) = self.targets.get(name) else {
            return Err(ProgramError::NotShared(name.to_owned()));
        };
        let there = self.program.sets.iter().position(|known| Arc::ptr_eq(known, set));
        Ok(there.unwrap_or_else(|| {
            self.program.sets.push(Arc::clone(set));
            self.program.sets.len() - 1
        }))
    }

    fn place(&self, name: &str) -> Result<usize, ProgramError> {
        self.names.get(name).copied().ok_or_else(|| ProgramError::NobodyWaits(name.to_owned()))
    }

    fn compiled(&mut self, step: &SharedStep, name: String) -> Result<CompiledStep, ProgramError> {
        let file = &step.file;
        let set = file.set.as_deref().map(|set| self.set(set)).transpose()?;
        let pick = match &file.pick {
            SharedPick::Next => PickFrom::Next,
            SharedPick::Turn => PickFrom::Turn,
            SharedPick::Indexed(index) => PickFrom::Indexed(Drawn::from_amount(index)),
        };
        let handles = if matches!(pick, PickFrom::Turn) { TURN_HANDLES } else { file.handle + 1 };
        self.program.handles = self.program.handles.max(handles.into());
        self.program.takes_turns |= matches!(pick, PickFrom::Turn);
        let access = match set.map_or(TreeAccess::ReadWrite, |set| self.program.sets[set].access) {
            TreeAccess::ReadWrite => OFlags::RDWR,
            TreeAccess::Read => OFlags::RDONLY,
            TreeAccess::Write => OFlags::WRONLY,
        };
        let wanted = [(file.direct, OFlags::DIRECT), (file.sync, OFlags::SYNC)];
        let wanted = wanted.into_iter().filter(|(wanted, _)| *wanted).map(|(_, flag)| flag);
        let flags = wanted.fold(access | OFlags::NOFOLLOW | OFlags::CLOEXEC, |flags, flag| flags | flag);
        let does = self.compile_action(step, &name)?;
        Ok(CompiledStep {
            kind: step.does.kind(),
            name,
            does,
            set,
            handle: file.handle.into(),
            pick,
            flags,
            no_read_ahead: file.no_read_ahead,
        })
    }

    /// Returns the bytes that a call moves, and their maximum for the buffers.
    fn request(&self, amount: &Amount) -> (Drawn, u64) {
        let request = Drawn::from_amount(amount);
        let most = match request.fixed() {
            Some(0) => WHOLE_BYTES_MAX,
            _ => amount.largest_request(),
        };
        (request, most.min(MAX_SET_REQUEST_BYTES))
    }

    fn moving(&self, transfer: &SharedTransfer) -> (Moving, u64) {
        let (size, most) = self.request(&transfer.size);
        let places = transfer.places.iter().map(|place| place.0).collect();
        (Moving { size, random: transfer.random, within: transfer.within, places }, most)
    }

    fn compile_action(&mut self, step: &SharedStep, name: &str) -> Result<StepAction, ProgramError> {
        let reads = |program: &mut SharedProgram, most: u64| program.largest_read = program.largest_read.max(most);
        let writes = |program: &mut SharedProgram, most: u64| program.largest_write = program.largest_write.max(most);
        let counted = |step: &Option<String>| {
            let number =
                |name: &String| self.numbers.get(name).copied().ok_or_else(|| ProgramError::NotCounted(name.clone()));
            step.as_ref().map(number).transpose()
        };
        Ok(match &step.does {
            SharedWork::Steps(_) => return Err(ProgramError::OtherStep),
            SharedWork::Open => StepAction::Open,
            SharedWork::Create => StepAction::Create,
            SharedWork::Close => StepAction::Close,
            SharedWork::Remove => StepAction::Remove,
            SharedWork::Stat => StepAction::Stat,
            SharedWork::Read(transfer) => {
                let (moving, most) = self.moving(transfer);
                reads(&mut self.program, most);
                StepAction::Read(moving)
            }
            SharedWork::Write(transfer) => {
                let (moving, most) = self.moving(transfer);
                writes(&mut self.program, most);
                StepAction::Write(moving)
            }
            SharedWork::ReadWhole { request } => {
                let (request, most) = self.request(request);
                reads(&mut self.program, most);
                StepAction::ReadWhole { request }
            }
            SharedWork::WriteWhole { request, like, bytes } => {
                let (request, most) = self.request(request);
                writes(&mut self.program, most);
                self.program.handles = self.program.handles.max(usize::from(*like) + 1);
                StepAction::WriteWhole { request, like: (*like).into(), bytes: *bytes }
            }
            SharedWork::Append { size, up_to } => {
                let (size, most) = self.request(size);
                writes(&mut self.program, most);
                StepAction::Append { size, up_to: *up_to }
            }
            SharedWork::Fsync => StepAction::Fsync,
            SharedWork::FsyncSet => StepAction::FsyncSet,
            SharedWork::MakeDirectory => StepAction::MakeDirectory,
            SharedWork::RemoveDirectory => StepAction::RemoveDirectory,
            SharedWork::List => StepAction::List,
            SharedWork::StartWrite(transfer) => {
                let (moving, most) = self.moving(transfer);
                writes(&mut self.program, most);
                self.program.largest_started = self.program.largest_started.max(most);
                StepAction::StartWrite(moving)
            }
            SharedWork::AwaitWrites => StepAction::AwaitWrites,
            SharedWork::Sleep => StepAction::Sleep(self.place(name)?),
            SharedWork::Wake { step } => StepAction::Wake(self.place(step)?),
            SharedWork::Take { credit, .. } => {
                let place = self.place(name)?;
                let first = self.given.entry(place).or_default();
                let own = *first;
                *first += self.workers;
                StepAction::Take { place, first: own, credit: Drawn::from_amount(credit) }
            }
            SharedWork::Give { step, credit, waits } => {
                StepAction::Give { place: self.place(step)?, credit: Drawn::from_amount(credit), waits: *waits }
            }
            SharedWork::Spin { times } => StepAction::Spin(Drawn::from_amount(times)),
            SharedWork::Delay { seconds } => StepAction::Delay(Drawn::from_amount(seconds)),
            SharedWork::TakeEvent => StepAction::TakeEvent,
            SharedWork::TakeEvents { unit, step } => StepAction::TakeEvents { unit: *unit, step: counted(step)? },
            SharedWork::Finish { after, unit, step } => {
                StepAction::Finish { after: Drawn::from_amount(after), unit: *unit, step: counted(step)? }
            }
            SharedWork::Note { .. } => StepAction::Note,
            SharedWork::Sample { value } => StepAction::Sample(Drawn::from_amount(value)),
        })
    }
}
