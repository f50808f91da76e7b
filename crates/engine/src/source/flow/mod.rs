//! Programs over file sets.
//!
//! A [`Program`] is a flow compiled to a flat list of instructions with counters for its loops. A [`FlowSource`] runs it
//! for one worker, over that worker's [`FlowState`]: its share of the tree, contiguous file numbers that no other worker
//! touches, so that the ops depend on the seed alone.
//!
//! What happens where nothing can be done: a step without a candidate (`unlink` with no file, `create` with no free
//! name, any step on a handle that is closed) is skipped and counted. Loops without a mix end when a whole time through
//! yielded nothing, because then nothing ever will. A flow without a mix ends when a whole pass had steps to skip and
//! nothing to do but wait; one with a mix, where chance may yet choose a step that can be done, when a million
//! instructions in a row yielded nothing.
//!
//! When effects count: an op's effect (the file exists, it is longer) enters the state when the *next* op is asked for.
//! [`Source::failed`] drops it. An op that was yielded and never executed must be given to `failed` too.
//!
//! What each step works on: `open`, `chmod`, `link` and `symlink` pick among regular files, `readlink` among symbolic
//! links, the others among both. `create`, `rename`, `link` and `symlink` take the name that has been free the longest
//! (at first: the lowest). Opening a handle that is open closes it first, outside the clock. Hard links share a size.
//! `write-whole` writes the size that the tree gives the file's number; `read-whole` reads what the file holds.
//! `write-random` stays within the file, or within the size that the tree gives it while it is empty. Random offsets are
//! multiples of the op's size, the last op of a file shorter where that does not divide it. `mkdir` makes directories
//! of its own in the leaves; `rmdir` removes the oldest of them; `readdir` reads a leaf of the worker's share.
//!
//! Coordination between workers is to be further instructions of [`Program`]: waiting for and posting to semaphores,
//! and stopping at a count, yield ops that the worker's loop executes against shared state outside the clock, as it does
//! with [`OpKind::Delay`]; shared rates belong to the pacer.

mod names;
mod op;
mod program;
mod state;
mod zipf;

#[cfg(test)]
mod tests;

pub use crate::tree::FileId;
pub use op::{Access, FileMode, FlowOp};
pub use program::{FlowError, MAX_INSTRUCTIONS, MAX_NESTING, MAX_REQUEST, Program};
pub use state::{Entry, FlowState, MAX_SHARE, ShareError, TreeState};

use super::Source;
use crate::rng::{Purpose, Rng, StreamId};
use crate::tree::ExtraDirectory;
use names::{Among, Kind, Name};
use plumb_workload::OpKind;
use program::{Chance, Choose, Direction, Flush, Instruction, Place};
use std::sync::Arc;
use zipf::Popularity;

/// So many instructions in a row without an op end a flow with a mix.
const IDLE_INSTRUCTIONS_MAX: u32 = 1 << 20;

/// An open file of the worker.
#[derive(Debug, Clone, Copy)]
struct Handle {
    /// The name under which it was opened.
    name: u32,
    /// Its node; meaningless while contents are not followed.
    node: u32,
}

/// Where a whole-file step stands.
#[derive(Debug, Clone, Copy)]
struct Whole {
    offset: u64,
    end: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counter {
    left: u64,
    yielded_before: u64,
}

/// What the op at hand changes once it has succeeded.
#[derive(Debug, Clone, Copy)]
enum Effect {
    Nothing,
    Created { name: u32, handle: u16 },
    Opened { name: u32, handle: u16 },
    Sized { node: u32, size: u64 },
    Toggled { name: u32 },
    Renamed { from: u32, to: u32 },
    Linked { from: u32, to: u32 },
    Symlinked { to: u32 },
    Removed { name: u32 },
    DirectoryMade,
    DirectoryRemoved { directory: ExtraDirectory },
}

/// Runs a [`Program`] for one worker.
#[derive(Debug)]
pub struct FlowSource {
    program: Arc<Program>,
    state: FlowState,
    picks: Rng,
    sizes: Rng,
    mixes: Rng,
    at: u32,
    counters: Vec<Counter>,
    cursors: Vec<u32>,
    zipfs: Vec<Popularity>,
    handles: Vec<Option<Handle>>,
    whole: Option<Whole>,
    last: Option<u32>,
    effect: Effect,
    passes_left: Option<u64>,
    transactions: u64,
    skipped: u64,
    /// Ops so far; of these, other than delays.
    yielded: u64,
    worked: u64,
    /// Those numbers when the pass began.
    yielded_before: u64,
    worked_before: u64,
    skipped_before: u64,
    /// Instructions since the last op.
    idle: u32,
    ended: bool,
}

impl FlowSource {
    /// A worker's source: the program from its start, over the state that the phase before left. `passes` is how often
    /// the steps run through; without it, they run until the phase ends or nothing can be done any more.
    pub fn new(program: &Arc<Program>, mut state: FlowState, stream: StreamId, passes: Option<u64>) -> FlowSource {
        if program.needs_contents {
            state.follow_contents();
        }
        let names = state.names.len();
        if let Some(contents) = &mut state.contents {
            contents.reserve(names as usize + program.handles());
        }
        let mut scatter = stream.rng(Purpose::Layout);
        FlowSource {
            picks: stream.rng(Purpose::Offset),
            sizes: stream.rng(Purpose::Size),
            mixes: stream.rng(Purpose::Mix),
            at: 0,
            counters: vec![Counter::default(); usize::from(program.counters)],
            cursors: vec![0; usize::from(program.cursors)],
            zipfs: program.thetas.iter().map(|theta| Popularity::new(*theta, names, scatter.next_u64())).collect(),
            handles: vec![None; program.handles()],
            whole: None,
            last: None,
            effect: Effect::Nothing,
            passes_left: passes,
            transactions: 0,
            skipped: 0,
            yielded: 0,
            worked: 0,
            yielded_before: 0,
            worked_before: 0,
            skipped_before: 0,
            idle: 0,
            ended: false,
            program: program.clone(),
            state,
        }
    }

    /// Steps that were skipped for want of a file, a name or an open handle.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// What is left of the share, for the next phase. The effect of the last op counts unless it was given to
    /// [`Source::failed`]; handles are closed, as the backend does at the end of a phase.
    pub fn into_state(mut self) -> FlowState {
        self.settle();
        for handle in 0..self.handles.len() {
            self.forget_handle(handle as u16);
        }
        self.state
    }

    /// The effect of the op before enters the state.
    #[inline]
    fn settle(&mut self) {
        match std::mem::replace(&mut self.effect, Effect::Nothing) {
            Effect::Nothing => {}
            Effect::Created { name, handle } => {
                self.state.names.make(name, Name::NEW_FILE);
                if let Some(contents) = &mut self.state.contents {
                    contents.add_file(name, 0);
                }
                self.hold_handle(handle, name);
            }
            Effect::Opened { name, handle } => self.hold_handle(handle, name),
            Effect::Sized { node, size } => {
                if let Some(contents) = &mut self.state.contents {
                    contents.set_size(node, size);
                }
            }
            Effect::Toggled { name } => self.state.names.toggle_private(name),
            Effect::Renamed { from, to } => {
                if let Some(name) = self.state.names.get(from) {
                    self.state.names.make(to, name);
                    if let (Kind::File, Some(contents)) = (name.kind, &mut self.state.contents) {
                        contents.rename(from, to);
                    }
                    self.state.names.remove(from);
                }
            }
            Effect::Linked { from, to } => {
                if let Some(name) = self.state.names.get(from) {
                    self.state.names.make(to, name);
                    if let Some(contents) = &mut self.state.contents {
                        contents.add_name(to, contents.node_of(from));
                    }
                }
            }
            Effect::Symlinked { to } => self.state.names.make(to, Name::SYMLINK),
            Effect::Removed { name } => {
                let kind = self.state.names.get(name).map(|name| name.kind);
                if let (Some(Kind::File), Some(contents)) = (kind, &mut self.state.contents) {
                    contents.release(contents.node_of(name));
                }
                self.state.names.remove(name);
            }
            Effect::DirectoryMade => self.state.extra_made(),
            Effect::DirectoryRemoved { directory } => self.state.extra_removed(directory),
        }
    }

    fn hold_handle(&mut self, handle: u16, name: u32) {
        let node = match &mut self.state.contents {
            Some(contents) => {
                let node = contents.node_of(name);
                contents.hold(node);
                node
            }
            None => 0,
        };
        self.handles[usize::from(handle)] = Some(Handle { name, node });
    }

    fn forget_handle(&mut self, handle: u16) {
        if let (Some(old), Some(contents)) = (self.handles[usize::from(handle)].take(), &mut self.state.contents) {
            contents.release(old.node);
        }
    }

    /// After the last instruction. False ends the source.
    fn end_pass(&mut self) -> bool {
        let worked = self.worked > self.worked_before;
        let yielded = self.yielded > self.yielded_before;
        let skipped = self.skipped > self.skipped_before;
        self.transactions += u64::from(worked);
        if let Some(left) = &mut self.passes_left {
            *left -= 1;
        }
        self.worked_before = self.worked;
        self.yielded_before = self.yielded;
        self.skipped_before = self.skipped;
        self.at = 0;
        let idle = !yielded || (!worked && skipped);
        !(idle && self.program.chance == Chance::Fixed)
    }

    /// Executes the instruction at hand; an op, unless it only moves on or is skipped.
    #[inline]
    fn step(&mut self) -> Option<FlowOp> {
        let instruction = self.program.code[self.at as usize];
        self.at += 1;
        match instruction {
            Instruction::Repeat { counter, times, behind } => {
                match times {
                    0 => self.at = behind,
                    _ => self.counters[usize::from(counter)] = Counter { left: times, yielded_before: self.yielded },
                }
                return None;
            }
            Instruction::Again { counter, first, chance } => {
                let counter = &mut self.counters[usize::from(counter)];
                let futile = chance == Chance::Fixed && self.yielded == counter.yielded_before;
                counter.left -= 1;
                counter.yielded_before = self.yielded;
                if counter.left > 0 && !futile {
                    self.at = first;
                }
                return None;
            }
            Instruction::Choose { first, count } => {
                let point = self.mixes.unit();
                let branches = &self.program.branches[first as usize..(first + count) as usize];
                let branch = branches.iter().find(|branch| point < branch.below).or(branches.last());
                self.at = branch.expect("a mix has a choice").to;
                return None;
            }
            Instruction::Jump { to } => {
                self.at = to;
                return None;
            }
            Instruction::Delay { time_ns } => {
                return Some(FlowOp { length: time_ns, ..FlowOp::new(OpKind::Delay, FileId(0)) });
            }
            _ => {}
        }
        let op = self.act(instruction);
        match op {
            Some(_) => self.worked += 1,
            None => self.skipped += 1,
        }
        op
    }

    /// The op of a step, or `None` where it has nothing to work on.
    #[inline]
    fn act(&mut self, instruction: Instruction) -> Option<FlowOp> {
        match instruction {
            Instruction::Create { handle } => {
                let name = self.state.names.free()?;
                self.forget_handle(handle);
                self.last = Some(name);
                self.effect = Effect::Created { name, handle };
                Some(FlowOp { handle, access: Access::ReadWrite, ..self.on(OpKind::Create, name) })
            }
            Instruction::Open { pick, handle, access } => {
                let name = self.pick(pick, Among::Files)?;
                self.forget_handle(handle);
                self.effect = Effect::Opened { name, handle };
                Some(FlowOp { handle, access, ..self.on(OpKind::Open, name) })
            }
            Instruction::Close { handle } => {
                let open = self.handle(handle)?;
                // The handle is gone even where `close` reports an error, close(2).
                self.forget_handle(handle);
                Some(FlowOp { handle, ..self.on(OpKind::Close, open.name) })
            }
            Instruction::Whole { direction, handle, request } => self.whole(direction, handle, request),
            Instruction::Block { direction, handle, place, size } => self.block(direction, handle, place, size),
            Instruction::Flush { handle, flush } => {
                let open = self.handle(handle)?;
                let kind = match flush {
                    Flush::All => OpKind::Fsync,
                    Flush::Data => OpKind::Fdatasync,
                };
                Some(FlowOp { handle, ..self.on(kind, open.name) })
            }
            Instruction::Truncate { handle, size } => {
                let open = self.handle(handle)?;
                let size = self.draw(size);
                self.effect = Effect::Sized { node: open.node, size };
                Some(FlowOp { handle, length: size, ..self.on(OpKind::Truncate, open.name) })
            }
            Instruction::Fallocate { handle, size } => {
                let open = self.handle(handle)?;
                // fallocate(2) refuses a length of 0.
                let length = self.draw(size).max(1);
                self.effect = Effect::Sized { node: open.node, size: self.size(open).max(length) };
                Some(FlowOp { handle, length, ..self.on(OpKind::Fallocate, open.name) })
            }
            Instruction::Stat { pick } => {
                let name = self.pick(pick, Among::All)?;
                Some(self.on(OpKind::Stat, name))
            }
            Instruction::Utimens { pick } => {
                let name = self.pick(pick, Among::All)?;
                Some(self.on(OpKind::Utimens, name))
            }
            Instruction::Chmod { pick } => {
                let name = self.pick(pick, Among::Files)?;
                let mode = match self.state.names.get(name)?.private {
                    true => FileMode::Public,
                    false => FileMode::Private,
                };
                self.effect = Effect::Toggled { name };
                Some(FlowOp { mode, ..self.on(OpKind::Chmod, name) })
            }
            Instruction::Rename { pick } => {
                let (from, to) = self.pick_and_new(pick, Among::All)?;
                self.effect = Effect::Renamed { from, to };
                Some(self.on_two(OpKind::Rename, from, to))
            }
            Instruction::Link { pick } => {
                let (from, to) = self.pick_and_new(pick, Among::Files)?;
                self.effect = Effect::Linked { from, to };
                Some(self.on_two(OpKind::Link, from, to))
            }
            Instruction::Symlink { pick } => {
                let (from, to) = self.pick_and_new(pick, Among::Files)?;
                self.effect = Effect::Symlinked { to };
                Some(self.on_two(OpKind::Symlink, from, to))
            }
            Instruction::Readlink { pick: Choose::Same } => {
                // Whatever it is: a file that is no symbolic link is an error of the op.
                let name = self.pick(Choose::Same, Among::All)?;
                Some(self.on(OpKind::Readlink, name))
            }
            Instruction::Readlink { pick } => {
                let name = self.pick(pick, Among::Symlinks)?;
                Some(self.on(OpKind::Readlink, name))
            }
            Instruction::Unlink { pick } => {
                let name = self.pick(pick, Among::All)?;
                self.effect = Effect::Removed { name };
                Some(self.on(OpKind::Unlink, name))
            }
            Instruction::Mkdir => {
                let directory = self.state.next_extra()?;
                self.effect = Effect::DirectoryMade;
                Some(FlowOp::new(OpKind::Mkdir, directory.pack()))
            }
            Instruction::Rmdir => {
                let directory = self.state.oldest_extra()?;
                self.effect = Effect::DirectoryRemoved { directory };
                Some(FlowOp::new(OpKind::Rmdir, directory.pack()))
            }
            Instruction::Readdir => {
                let leaves = self.state.leaves();
                let leaf = leaves.start + self.picks.below(leaves.end - leaves.start);
                Some(FlowOp::new(OpKind::Readdir, FileId(leaf)))
            }
            Instruction::Repeat { .. }
            | Instruction::Again { .. }
            | Instruction::Choose { .. }
            | Instruction::Jump { .. }
            | Instruction::Delay { .. } => unreachable!("handled by `step`"),
        }
    }

    /// One request of a whole-file step, which stays the step at hand until its last.
    fn whole(&mut self, direction: Direction, handle: u16, request: u64) -> Option<FlowOp> {
        let open = self.handle(handle)?;
        let whole = match self.whole.take() {
            Some(whole) => whole,
            None => {
                let end = match direction {
                    Direction::Read => self.size(open),
                    Direction::Write => self.state.shape.size_of(self.state.id(open.name)),
                };
                (end > 0).then_some(Whole { offset: 0, end })?
            }
        };
        let length = request.min(whole.end - whole.offset);
        let offset = whole.offset + length;
        if offset < whole.end {
            self.whole = Some(Whole { offset, ..whole });
            self.at -= 1;
        }
        Some(self.transfer(direction, handle, open, whole.offset, length))
    }

    fn block(&mut self, direction: Direction, handle: u16, place: Place, size: u32) -> Option<FlowOp> {
        let open = self.handle(handle)?;
        let length = self.draw(size);
        let (offset, length) = match place {
            Place::At(offset) => (offset, length),
            Place::End => (self.size(open), length),
            Place::Random => {
                let extent = match (self.size(open), direction) {
                    (0, Direction::Write) => self.state.shape.size_of(self.state.id(open.name)),
                    (size, _) => size,
                };
                if extent == 0 {
                    return None;
                }
                let step = length.max(1);
                let offset = self.picks.below(extent.div_ceil(step)) * step;
                (offset, length.min(extent - offset))
            }
        };
        Some(self.transfer(direction, handle, open, offset, length))
    }

    fn transfer(&mut self, direction: Direction, handle: u16, open: Handle, offset: u64, length: u64) -> FlowOp {
        let kind = match direction {
            Direction::Read => OpKind::Read,
            Direction::Write => {
                // A write of nothing leaves the size alone, write(2).
                let end = if length > 0 { offset.saturating_add(length) } else { 0 };
                let size = self.size(open).max(end);
                self.effect = Effect::Sized { node: open.node, size };
                OpKind::Write
            }
        };
        FlowOp { handle, offset, length, ..self.on(kind, open.name) }
    }

    /// An op on a name, which becomes the one that `same` means.
    #[inline]
    fn on(&mut self, kind: OpKind, name: u32) -> FlowOp {
        self.last = Some(name);
        FlowOp::new(kind, self.state.id(name))
    }

    /// An op with an old and a new name; the new one becomes the one that `same` means.
    fn on_two(&mut self, kind: OpKind, from: u32, to: u32) -> FlowOp {
        FlowOp { file: self.state.id(from), other: self.state.id(to), ..self.on(kind, to) }
    }

    fn handle(&self, handle: u16) -> Option<Handle> {
        self.handles[usize::from(handle)]
    }

    fn size(&self, open: Handle) -> u64 {
        self.state.contents.as_ref().map_or(0, |contents| contents.size(open.node))
    }

    fn draw(&mut self, sizes: u32) -> u64 {
        self.program.sizes[sizes as usize].draw(&mut self.sizes)
    }

    #[inline]
    fn pick(&mut self, pick: Choose, among: Among) -> Option<u32> {
        let names = &self.state.names;
        let count = names.count(among);
        if count == 0 {
            return None;
        }
        match pick {
            Choose::Random => Some(names.at(among, self.picks.below(u64::from(count)) as u32)),
            Choose::Cursor(cursor) => {
                let cursor = &mut self.cursors[usize::from(cursor)];
                let name = names.next(among, *cursor)?;
                *cursor = name + 1;
                Some(name)
            }
            Choose::Zipf(number) => names.next(among, self.zipfs[usize::from(number)].draw(&mut self.picks)),
            Choose::Same => self.last.filter(|last| match (names.get(*last).map(|name| name.kind), among) {
                (None, _) => false,
                (Some(_), Among::All) => true,
                (Some(kind), Among::Files) => kind == Kind::File,
                (Some(kind), Among::Symlinks) => kind == Kind::Symlink,
            }),
        }
    }

    /// An existing name, and a free one.
    fn pick_and_new(&mut self, pick: Choose, among: Among) -> Option<(u32, u32)> {
        let to = self.state.names.free()?;
        let from = self.pick(pick, among)?;
        Some((from, to))
    }
}

impl Source for FlowSource {
    type Op = FlowOp;

    #[inline]
    fn next(&mut self) -> Option<FlowOp> {
        self.settle();
        while !self.ended {
            if self.passes_left == Some(0) {
                break;
            }
            if self.at as usize == self.program.code.len() {
                if !self.end_pass() {
                    break;
                }
                continue;
            }
            match self.step() {
                Some(op) => {
                    self.yielded += 1;
                    self.idle = 0;
                    return Some(op);
                }
                None => self.idle += 1,
            }
            if self.idle > IDLE_INSTRUCTIONS_MAX {
                break;
            }
        }
        self.ended = true;
        None
    }

    fn failed(&mut self, op: &FlowOp) {
        self.effect = Effect::Nothing;
        if matches!(op.kind, OpKind::Create | OpKind::Rename | OpKind::Link | OpKind::Symlink) {
            // Another name next time: something foreign may be in the way of this one.
            self.state.names.rotate_free();
        }
    }

    fn transactions(&self) -> Option<u64> {
        self.program.count_transactions.then_some(self.transactions)
    }
}
