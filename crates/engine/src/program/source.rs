//! The ops that a program yields.
//!
//! A step that cannot be made is skipped and counted. Over a file set, this is a step without a candidate: `unlink`
//! with no file, `create` with no free name, or any step on a closed handle. A loop without a mix ends after a complete
//! iteration that yielded nothing, because no later one will yield anything either. A program without a mix ends after
//! a pass that skipped steps and otherwise only waited. With a mix, a later draw may choose a step that can be made, so
//! such a program ends after a million instructions in a row that yielded nothing.
//!
//! Coordination between workers is meant to be added as further instructions. Waiting for and posting to semaphores,
//! and stopping at a count, would yield ops that the worker's loop executes against shared state outside the clock, as
//! it does with [`OpKind::Delay`]. Shared rates belong to the pacer.

use super::compile::{Chance, Choose, Compiled, Instruction};
use super::cursor::{Cursor, TransferPlan};
use super::file_set::{SetState, SetWalk};
use super::op::{Call, CallOp};
use super::postmark::{KeptDraws, PostmarkSource};
use super::trees::{AtWall, InStep, TreeFiles, TreeWalk, WallMark, WallMeeting, check_wall, check_wall_in_step};
use crate::fault::Yielded;
use crate::rng::{Purpose, Rng, StreamId};
use crate::source::Source;
use crate::worker_error::WorkerError;
use plumb_workload::OpKind;
use plumb_workload::program::{TreeStep, Wall};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A program with a mix ends after this many instructions in a row without an op.
const IDLE_INSTRUCTIONS_MAX: u32 = 1 << 20;

#[derive(Debug, Clone, Copy, Default)]
struct Counter {
    left: u64,
    yielded_before: u64,
}

/// A position in the list of files of an `each`.
#[derive(Debug, Clone, Copy)]
struct Within {
    place: usize,
    file: u32,
}

/// Counts of yielded ops; delays do not count as work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct YieldedSoFar {
    yielded: u64,
    worked: u64,
    skipped: u64,
}

/// Yields the ops of a program to one worker.
pub(crate) struct ProgramSource {
    program: Arc<Compiled>,
    /// Number of the worker in its group, which is also its own file.
    worker: u32,
    at: usize,
    cursor: Cursor,
    /// Start of a transfer that repeats for a time.
    rounds_began: Option<Instant>,
    transfers: bool,
    /// Whether the worker, which has ended, still comes to the meetings for which others wait.
    keeps_appointments: bool,
    /// The worker's walk through a file set.
    set: Option<Box<SetWalk>>,
    /// Positions in the file lists of the surrounding `each`.
    places: Vec<Within>,
    /// State of a PostMark step, if there is one.
    postmark: Option<Box<PostmarkSource>>,
    /// The walk of each step over trees.
    walks: Vec<TreeWalk>,
    walls: Walls,
    /// Number of items or records done when a wall was met.
    at_wall: Option<u64>,
    counters: Vec<Counter>,
    draws: StepDraws,
    progress: Progress,
}

/// Random numbers of steps, with one generator per kind of choice.
struct StepDraws {
    picks: Rng,
    sizes: Rng,
    mixes: Rng,
}

/// Progress of a source.
#[derive(Default)]
struct Progress {
    passes_left: Option<u64>,
    transactions: u64,
    yielded: Yielded,
    worked: u64,
    /// Steps skipped because there was no file, name or open handle.
    skipped: u64,
    /// Counts at the beginning of the pass.
    before: YieldedSoFar,
    /// Number of instructions since the last op.
    idle: u32,
    ended: bool,
}

impl Progress {
    fn so_far(&self) -> YieldedSoFar {
        YieldedSoFar { yielded: self.yielded.ops, worked: self.worked, skipped: self.skipped }
    }

    /// Counts a pass. Returns `true` if it did nothing.
    fn end_pass(&mut self) -> bool {
        let now = self.so_far();
        let worked = now.worked > self.before.worked;
        let idle = now.yielded == self.before.yielded || (!worked && now.skipped > self.before.skipped);
        self.transactions += u64::from(worked);
        if let Some(left) = &mut self.passes_left {
            *left -= 1;
        }
        self.before = now;
        idle
    }
}

/// Meetings of a phase's workers, and the results of earlier walls.
#[derive(Default)]
pub(super) struct Walls {
    pub(super) meeting: Option<WallMeeting>,
    pub(super) mark: Arc<WallMark>,
    /// Ranks that pass walls together, record by record.
    pub(super) in_step: Option<InStep>,
}

/// Result of an instruction.
enum StepResult {
    Op(CallOp),
    Nothing,
    End,
}

impl ProgramSource {
    /// Creates a worker's source at the start of the program. `set` is the state that the previous phase left of
    /// a file set. `passes` is the number of passes through the steps; `None` runs until the phase ends or
    /// nothing can be done any more.
    pub(crate) fn new(
        program: &Arc<Compiled>,
        worker: u32,
        set: Option<SetState>,
        stream: StreamId,
        passes: Option<u64>,
    ) -> ProgramSource {
        ProgramSource {
            worker,
            at: 0,
            cursor: Cursor::default(),
            rounds_began: None,
            transfers: true,
            keeps_appointments: false,
            set: set.map(|state| Box::new(SetWalk::new(program, state, stream))),
            places: Vec::new(),
            postmark: None,
            walks: Vec::new(),
            walls: Walls::default(),
            at_wall: None,
            counters: vec![Counter::default(); usize::from(program.counters)],
            draws: StepDraws {
                picks: stream.rng(Purpose::Offset),
                sizes: stream.rng(Purpose::Size),
                mixes: stream.rng(Purpose::Mix),
            },
            progress: Progress { passes_left: passes, ..Progress::default() },
            program: Arc::clone(program),
        }
    }

    /// Continues after the draws of earlier phases, if the program is a run of PostMark.
    pub(super) fn after_draws(self, kept: &Arc<KeptDraws>) -> ProgramSource {
        let part = self.program.postmark.as_ref();
        let postmark = part.map(|part| Box::new(PostmarkSource::new(&part.0, part.1, self.worker, kept)));
        ProgramSource { postmark, ..self }
    }

    /// Walks over these trees, if there are any; workers meet at `walls`. Orders of items are shuffled here.
    ///
    /// # Errors
    /// An order does not fit into memory.
    pub(super) fn over_trees(self, trees: Option<&Arc<TreeFiles>>, walls: Walls) -> Result<ProgramSource, WorkerError> {
        let walks = match trees {
            None => Vec::new(),
            Some(trees) => {
                let walk =
                    |(step, rules): &(TreeStep, u16)| TreeWalk::new(trees, step, *rules, self.worker, &walls.mark);
                self.program.trees.iter().map(walk).collect::<Result<_, _>>()?
            }
        };
        Ok(ProgramSource { walks, walls, ..self })
    }

    /// Returns the number of items or records done when the phase's wall was met.
    pub(super) fn at_wall(&self) -> Option<u64> {
        self.at_wall
    }

    /// Returns the next op of a step over trees.
    fn next_of_trees(&mut self, number: u32) -> Option<CallOp> {
        let walk = self.walks.get_mut(number as usize)?;
        let op = walk.next(self.walls.meeting.as_ref(), &self.walls.mark, &mut self.at_wall);
        if op.is_none() {
            walk.start_over();
        }
        op
    }

    /// Returns the next op of a transfer that restarts until `time` is over.
    fn next_in_rounds(&mut self, number: u32, time: Duration) -> Option<CallOp> {
        let plan = self.program.transfers.get(number as usize)?;
        let began = *self.rounds_began.get_or_insert_with(Instant::now);
        let mut op = plan.next(&mut self.cursor);
        if op.is_none() && self.transfers && began.elapsed() < time {
            self.cursor = Cursor::default();
            op = plan.next(&mut self.cursor);
        }
        if op.is_none() {
            self.rounds_began = None;
        }
        op
    }

    /// Returns the next op of a transfer that ends at a wall.
    fn next_before_wall(&mut self, number: u32) -> Option<CallOp> {
        let plan = self.program.transfers.get(number as usize)?;
        if let Some(wall) = plan.wall()
            && self.cursor.until().is_none()
            && !self.cursor.is_within()
        {
            let (done, all) = (self.cursor.done(), plan.count());
            let Walls { meeting, mark, in_step } = &self.walls;
            let at_wall = match in_step {
                None => check_wall(wall, meeting.as_ref(), mark, done, all),
                Some(in_step) => {
                    check_wall_in_step(in_step, wall, (meeting.as_ref(), mark), (done, all), self.keeps_appointments)
                }
            };
            match at_wall {
                AtWall::GoOn => {}
                AtWall::Until(records) => self.cursor.ends_at(records),
                AtWall::Met(records) => {
                    self.at_wall = Some(done);
                    self.cursor.ends_at(records);
                }
            }
        }
        plan.next(&mut self.cursor)
    }

    /// Omits transfers and the work of a PostMark step from now on.
    pub(super) fn leave_out_transfers(&mut self) {
        self.transfers = false;
    }

    /// Continues a worker that has ended early, but only with the steps that others wait for: meetings, and collective
    /// calls. `with_transfers` says whether transfers are included.
    pub(super) fn take_part_only(&mut self, with_transfers: bool) {
        self.transfers = with_transfers;
        self.keeps_appointments = true;
    }

    /// Comes to the wall of an omitted transfer if others wait there.
    fn join_others_at_wall(&mut self, number: u32) {
        let waits = |plan: &TransferPlan| matches!(plan.wall(), Some(Wall::After(_)));
        if self.keeps_appointments
            && self.program.transfers.get(number as usize).is_some_and(waits)
            && let Some(meeting) = &self.walls.meeting
        {
            meeting.join_others_at_wall();
        }
    }

    /// Returns the progress, so that another process can repeat the same ops.
    pub(crate) fn yielded(&self) -> &Yielded {
        &self.progress.yielded
    }

    /// Returns the number of steps skipped because there was no file, name or open handle.
    #[cfg(test)]
    pub(crate) fn skipped(&self) -> u64 {
        self.progress.skipped
    }

    /// Returns the state of a worker's share of a file set, for the next phase.
    pub(crate) fn into_state(self) -> Option<SetState> {
        self.set.map(|set| set.into_state())
    }

    /// Ends a pass after the last instruction. Returns `false` at the end of the source.
    fn end_pass(&mut self) -> bool {
        let idle = self.progress.end_pass();
        self.at = 0;
        self.progress.passes_left != Some(0) && !(idle && self.program.chance == Chance::Fixed)
    }

    /// Executes the current instruction.
    #[inline]
    fn step(&mut self) -> StepResult {
        if self.progress.ended || self.progress.idle > IDLE_INSTRUCTIONS_MAX {
            return StepResult::End;
        }
        let Some(&instruction) = self.program.code.get(self.at) else {
            return if self.end_pass() { StepResult::Nothing } else { StepResult::End };
        };
        self.progress.idle += 1;
        self.at += 1;
        let op = match instruction {
            Instruction::Repeat { counter, times, after } => {
                match times {
                    0 => self.at = after as usize,
                    _ => {
                        self.counters[usize::from(counter)] =
                            Counter { left: times, yielded_before: self.progress.yielded.ops };
                    }
                }
                return StepResult::Nothing;
            }
            Instruction::Again { counter, first, chance } => {
                let counter = &mut self.counters[usize::from(counter)];
                let futile = chance == Chance::Fixed && self.progress.yielded.ops == counter.yielded_before;
                counter.left -= 1;
                counter.yielded_before = self.progress.yielded.ops;
                if counter.left > 0 && !futile {
                    self.at = first as usize;
                }
                return StepResult::Nothing;
            }
            Instruction::Each { list, after } => {
                match self.program.lists[list as usize].first() {
                    Some(&file) => self.places.push(Within { place: 0, file }),
                    None => self.at = after as usize,
                }
                return StepResult::Nothing;
            }
            Instruction::NextFile { list, first } => {
                if let Some(within) = self.places.last_mut() {
                    within.place += 1;
                    match self.program.lists[list as usize].get(within.place) {
                        Some(&file) => {
                            within.file = file;
                            self.at = first as usize;
                        }
                        None => _ = self.places.pop(),
                    }
                }
                return StepResult::Nothing;
            }
            Instruction::Choose { first, count } => {
                let point = self.draws.mixes.unit();
                let branches = &self.program.branches[first as usize..(first + count) as usize];
                let branch = branches.iter().find(|branch| point < branch.below).or(branches.last());
                self.at = branch.expect("a mix has a choice").to as usize;
                return StepResult::Nothing;
            }
            Instruction::Jump { to } => {
                self.at = to as usize;
                return StepResult::Nothing;
            }
            Instruction::Delay { time_ns } => {
                return StepResult::Op(CallOp { length: time_ns, ..CallOp::new(OpKind::Delay, Call::Pause) });
            }
            // Yielded by `next`.
            Instruction::Transfer(_)
            | Instruction::TransferToWall(_)
            | Instruction::Trees(_)
            | Instruction::Postmark => return StepResult::Nothing,
            Instruction::Meet => {
                match self.walls.meeting.as_mut() {
                    Some(meeting) if self.keeps_appointments => meeting.join_others_at_step(),
                    Some(meeting) if self.transfers => meeting.meet_at_step(),
                    _ => {}
                }
                return StepResult::Nothing;
            }
            Instruction::EndIfWrong => {
                // A stopped worker knows nothing of the others.
                let has_mismatch = !self.transfers || self.has_any_mismatch();
                return if has_mismatch { StepResult::End } else { StepResult::Nothing };
            }
            Instruction::Call { call, file, other } => {
                let op = self.program.calls[call as usize];
                match &mut self.set {
                    Some(set) => set.call(op, file, &mut self.draws.picks),
                    None => Some(self.named(op, file, other)),
                }
            }
            Instruction::Sized { call, size } => {
                let op = self.program.calls[call as usize];
                let mut draw = || self.program.sizes[size as usize].draw(&mut self.draws.sizes);
                match &mut self.set {
                    Some(set) => set.sized(op, draw),
                    None => {
                        let length = draw();
                        Some(CallOp { length, ..self.named(op, Choose::Own, Choose::Own) })
                    }
                }
            }
            Instruction::Whole { direction, handle, request } => {
                let piece = self.set.as_mut().and_then(|set| set.whole(direction, handle, request));
                if piece.as_ref().is_some_and(|piece| piece.goes_on) {
                    // Stay at this step until its last request.
                    self.at -= 1;
                }
                piece.map(|piece| piece.op)
            }
            Instruction::Copy(number) => {
                let plan = self.program.copies[number as usize];
                let piece = self.set.as_mut().and_then(|set| set.copy(&plan, &mut self.draws.picks));
                if piece.as_ref().is_some_and(|piece| piece.goes_on) {
                    self.at -= 1;
                }
                piece.map(|piece| piece.op)
            }
            Instruction::Block { direction, handle, place, size } => {
                let draw = || self.program.sizes[size as usize].draw(&mut self.draws.sizes);
                self.set.as_mut().and_then(|set| set.block(direction, handle, place, draw, &mut self.draws.picks))
            }
        };
        match op {
            Some(op) => {
                self.progress.worked += 1;
                StepResult::Op(op)
            }
            None => {
                self.progress.skipped += 1;
                StepResult::Nothing
            }
        }
    }

    /// Returns `true` if any worker of the phase, here or elsewhere, has read data that was not written.
    fn has_any_mismatch(&mut self) -> bool {
        let has_mismatch = self.walls.mark.has_mismatch();
        match self.walls.meeting.as_mut() {
            Some(meeting) => meeting.meet_with(has_mismatch.into()) > 0,
            None => has_mismatch,
        }
    }

    /// Completes an op on named files.
    fn named(&self, op: CallOp, file: Choose, other: Choose) -> CallOp {
        let within = self.places.last();
        let number = |choose: Choose| match choose {
            Choose::Nth(number) => u64::from(number),
            _ => u64::from(within.map_or(self.worker, |within| within.file)),
        };
        let other = if matches!(op.call, Call::Mkdir | Call::MkdirIfMissing) { op.other } else { number(other) };
        // If lengths are listed, each file of the list has its own.
        let offset = if op.call == Call::OfFile { within.map_or(0, |within| within.place as u64) } else { op.offset };
        CallOp { file: number(file), other, offset, ..op }
    }
}

impl Source for ProgramSource {
    type Op = CallOp;

    #[inline(always)]
    fn next_alike(&mut self) -> Option<CallOp> {
        match self.program.code.get(self.at)? {
            Instruction::Transfer(number) => self.program.transfers.get(*number as usize)?.next_alike(&mut self.cursor),
            _ => None,
        }
    }

    #[inline]
    fn next(&mut self) -> Option<CallOp> {
        if let Some(set) = &mut self.set {
            set.settle();
        }
        loop {
            let moved = match self.program.code.get(self.at) {
                _ if self.progress.ended => None,
                Some(&Instruction::Transfer(number)) => {
                    let plan = &self.program.transfers[number as usize];
                    match plan.repeats_for() {
                        None => Some(plan.next(&mut self.cursor)),
                        Some(time) => Some(self.next_in_rounds(number, time)),
                    }
                }
                Some(&Instruction::TransferToWall(number)) if self.transfers => Some(self.next_before_wall(number)),
                Some(&Instruction::Trees(number)) if self.transfers => Some(self.next_of_trees(number)),
                Some(&Instruction::TransferToWall(number)) => {
                    self.join_others_at_wall(number);
                    Some(None)
                }
                Some(Instruction::Trees(_)) => Some(None),
                Some(Instruction::Postmark) => Some(self.postmark.as_mut().and_then(|postmark| postmark.next())),
                _ => None,
            };
            let op = match moved {
                Some(Some(op)) if self.transfers => {
                    self.progress.worked += 1;
                    op
                }
                Some(_) => {
                    self.cursor = Cursor::default();
                    self.at += 1;
                    continue;
                }
                None => match self.step() {
                    StepResult::Op(op) => op,
                    StepResult::Nothing => continue,
                    StepResult::End => {
                        self.progress.ended = true;
                        return None;
                    }
                },
            };
            self.progress.yielded.count();
            self.progress.idle = 0;
            return Some(op);
        }
    }

    fn failed(&mut self, op: &CallOp) {
        if let Some(set) = &mut self.set {
            self.progress.yielded.last_is_undone();
            set.failed(op);
        } else if let Some(&Instruction::Trees(number)) = self.program.code.get(self.at)
            && let Some(walk) = self.walks.get_mut(number as usize)
        {
            walk.failed(op);
        }
    }

    fn transactions(&self) -> Option<u64> {
        self.program.count_transactions.then_some(self.progress.transactions)
    }
}
