//! A worker's walk through its share of a file set: the file of each step, and the effect of its op.
//!
//! A share consists of contiguous file numbers that no other worker touches, so that the ops depend only on the seed.
//!
//! Effects: an op's effect (the file exists, it is longer) enters the state when the *next* op is requested. A failure
//! drops it. An op that was yielded but never executed must also be passed to `failed`.
//!
//! Choice of files: `open`, `access`, `chmod`, `copy`, `link` and `symlink` pick among regular files, `readlink`
//! among symbolic links, the others among both. `create`, `rename`, `link` and `symlink` take the name that has been
//! free the longest (at first: the lowest). Opening a handle that is open closes it first, outside the clock. Hard
//! links share a size. `write-whole` writes the size that the tree gives the file's number; `read-whole` reads the
//! file's current size. `write-random` stays within the file, or within the size that the tree gives it while it is
//! empty. Random offsets are multiples of the op's size, and the last op of a file is shorter if the size does not
//! divide the file. `mkdir` creates new directories in the leaves. `rmdir` removes the oldest of them, but first
//! those that exist from the start. `readdir` reads a leaf of the worker's share. `copy` goes to the same number of
//! another set, which no other program uses.

use super::copying::{CopyPlan, CopyStage, Copying};
use super::names::{Among, Name, NameKind};
use super::popularity::Popularity;
use super::state::SetState;
use crate::program::compile::{Choose, Compiled, Direction, Place};
use crate::program::op::{Call, CallOp};
use crate::rng::{Purpose, Rng, StreamId};
use crate::tree::ExtraDirectory;
use plumb_workload::OpKind;

/// Modes between which `chmod` alternates.
const PUBLIC: u64 = 0o644;
const PRIVATE: u64 = 0o600;

/// An open file of the worker.
#[derive(Debug, Clone, Copy)]
struct OpenFile {
    /// The name under which it was opened.
    name: u32,
    /// Its node; meaningless while contents are not tracked.
    node: u32,
}

/// Position of a whole-file step.
#[derive(Debug, Clone, Copy)]
struct Whole {
    offset: u64,
    end: u64,
}

/// State change of the current op, applied once it has succeeded.
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
    CopyMade { name: u32 },
    CopyRemoved { name: u32 },
    DirectoryMade,
    DirectoryRemoved { directory: ExtraDirectory },
}

/// A worker's position in its share.
#[derive(Debug)]
pub(in crate::program) struct SetWalk {
    state: SetState,
    cursors: Vec<u32>,
    zipfs: Vec<Popularity>,
    handles: Vec<Option<OpenFile>>,
    whole: Option<Whole>,
    copying: Option<Copying>,
    last: Option<u32>,
    effect: Effect,
}

/// An op of a whole-file step.
pub(in crate::program) struct WholeFileOp {
    pub(in crate::program) op: CallOp,
    /// Whether more ops of the step follow.
    pub(in crate::program) goes_on: bool,
}

impl SetWalk {
    /// Creates a walk over the state that the previous phase left.
    pub(in crate::program) fn new(program: &Compiled, mut state: SetState, stream: StreamId) -> SetWalk {
        if program.needs_contents {
            state.follow_contents();
        }
        let names = state.names.len();
        if let Some(contents) = &mut state.contents {
            contents.reserve(names as usize + program.handles);
        }
        let mut scatter = stream.rng(Purpose::Layout);
        SetWalk {
            cursors: vec![0; usize::from(program.cursors)],
            zipfs: program.thetas.iter().map(|theta| Popularity::new(*theta, names, scatter.next_u64())).collect(),
            handles: vec![None; program.handles],
            whole: None,
            copying: None,
            last: None,
            effect: Effect::Nothing,
            state,
        }
    }

    /// Returns the state of the share for the next phase. The effect of the last op counts unless it failed. Handles
    /// are closed, as the calls do at the end of a phase.
    pub(in crate::program) fn into_state(mut self) -> SetState {
        self.settle();
        for handle in 0..self.handles.len() {
            self.forget_handle(handle as u16);
        }
        self.state
    }

    /// Handles the current op's failure.
    pub(in crate::program) fn failed(&mut self, op: &CallOp) {
        self.effect = Effect::Nothing;
        // The remains of a failed copy are removed when its file is copied again.
        self.copying = None;
        if op.is_on_copy() {
            return;
        }
        if matches!(op.kind, OpKind::Create | OpKind::Rename | OpKind::Link | OpKind::Symlink) {
            // Use another name next time: a foreign file may be in the way of this one.
            self.state.names.rotate_free();
        }
    }

    /// Applies the effect of the previous op to the state.
    #[inline]
    pub(in crate::program) fn settle(&mut self) {
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
                    if let (NameKind::File, Some(contents)) = (name.kind, &mut self.state.contents) {
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
                if let (Some(NameKind::File), Some(contents)) = (kind, &mut self.state.contents) {
                    contents.release(contents.node_of(name));
                }
                self.state.names.remove(name);
            }
            Effect::CopyMade { name } => self.state.set_copied(name, true),
            Effect::CopyRemoved { name } => self.state.set_copied(name, false),
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
        self.handles[usize::from(handle)] = Some(OpenFile { name, node });
    }

    fn forget_handle(&mut self, handle: u16) {
        if let (Some(old), Some(contents)) = (self.handles[usize::from(handle)].take(), &mut self.state.contents) {
            contents.release(old.node);
        }
    }

    /// Completes the op of a call; `None` if it has nothing to work on.
    #[inline]
    pub(in crate::program) fn call(&mut self, op: CallOp, file: Choose, picks: &mut Rng) -> Option<CallOp> {
        let handle = op.handle;
        match op.kind {
            OpKind::Create => {
                let name = self.state.names.free()?;
                self.forget_handle(handle);
                self.effect = Effect::Created { name, handle };
                Some(self.on(op, name))
            }
            OpKind::Open => {
                let name = self.pick(file, Among::Files, picks)?;
                self.forget_handle(handle);
                self.effect = Effect::Opened { name, handle };
                Some(self.on(op, name))
            }
            OpKind::Close => {
                let open = self.handle(handle)?;
                // The handle is gone even if `close` reports an error, close(2).
                self.forget_handle(handle);
                Some(self.on(op, open.name))
            }
            OpKind::Fsync | OpKind::Fdatasync => {
                let open = self.handle(handle)?;
                Some(self.on(op, open.name))
            }
            OpKind::Stat | OpKind::Utimens => {
                let name = self.pick(file, Among::All, picks)?;
                Some(self.on(op, name))
            }
            // It would follow a link, which may dangle.
            OpKind::Access => {
                let name = self.pick(file, Among::Files, picks)?;
                Some(self.on(op, name))
            }
            OpKind::Chmod => {
                let name = self.pick(file, Among::Files, picks)?;
                let other = if self.state.names.get(name)?.private { PUBLIC } else { PRIVATE };
                self.effect = Effect::Toggled { name };
                Some(CallOp { other, ..self.on(op, name) })
            }
            OpKind::Rename => {
                let (from, to) = self.pick_and_new(file, Among::All, picks)?;
                self.effect = Effect::Renamed { from, to };
                Some(self.on_two(op, from, to))
            }
            OpKind::Link => {
                let (from, to) = self.pick_and_new(file, Among::Files, picks)?;
                self.effect = Effect::Linked { from, to };
                Some(self.on_two(op, from, to))
            }
            OpKind::Symlink => {
                let (from, to) = self.pick_and_new(file, Among::Files, picks)?;
                self.effect = Effect::Symlinked { to };
                Some(self.on_two(op, from, to))
            }
            OpKind::Readlink => {
                // `same` uses the last name of any kind: if that is not a symbolic link, the op fails.
                let among = if file == Choose::Same { Among::All } else { Among::Symlinks };
                let name = self.pick(file, among, picks)?;
                Some(self.on(op, name))
            }
            OpKind::Unlink => {
                let name = self.pick(file, Among::All, picks)?;
                self.effect = Effect::Removed { name };
                Some(self.on(op, name))
            }
            OpKind::Mkdir => {
                let directory = self.state.next_extra()?;
                self.effect = Effect::DirectoryMade;
                Some(CallOp { file: directory.pack().0, ..op })
            }
            OpKind::Rmdir => {
                let directory = self.state.oldest_extra()?;
                self.effect = Effect::DirectoryRemoved { directory };
                Some(CallOp { file: directory.pack().0, ..op })
            }
            OpKind::Readdir => {
                let leaves = self.state.leaves();
                Some(CallOp { file: leaves.start + picks.below(leaves.end - leaves.start), ..op })
            }
            // No other call is compiled for a file set.
            _ => None,
        }
    }

    /// Completes a `truncate` or `fallocate`; `None` if the handle is not open.
    pub(in crate::program) fn sized(&mut self, op: CallOp, draw: impl FnOnce() -> u64) -> Option<CallOp> {
        let open = self.handle(op.handle)?;
        let (length, size) = match op.kind {
            OpKind::Truncate => {
                let size = draw();
                (size, size)
            }
            // fallocate(2) refuses a length of 0.
            _ => {
                let length = draw().max(1);
                (length, self.size(open).max(length))
            }
        };
        self.effect = Effect::Sized { node: open.node, size };
        Some(CallOp { length, ..self.on(op, open.name) })
    }

    /// Returns one request of a whole-file step.
    pub(in crate::program) fn whole(&mut self, direction: Direction, handle: u16, request: u64) -> Option<WholeFileOp> {
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
        let goes_on = offset < whole.end;
        self.whole = goes_on.then_some(Whole { offset, ..whole });
        Some(WholeFileOp { op: self.transfer(direction, handle, open, whole.offset, length), goes_on })
    }

    /// Returns one call of copying a file into another set.
    pub(in crate::program) fn copy(&mut self, plan: &CopyPlan, picks: &mut Rng) -> Option<WholeFileOp> {
        let mut copying = match self.copying.take() {
            Some(copying) => copying,
            None => {
                let name = self.pick(plan.file, Among::Files, picks)?;
                Copying::new(name, self.state.size(name), self.state.is_copied(name))
            }
        };
        let name = copying.name;
        self.effect = match copying.stage {
            CopyStage::RemoveOld => Effect::CopyRemoved { name },
            CopyStage::Create => Effect::CopyMade { name },
            CopyStage::RemoveFile => Effect::Removed { name },
            _ => Effect::Nothing,
        };
        let op = copying.op(plan, self.handles.len() as u16 - 2);
        let op = self.on(op, name);
        let goes_on = copying.advance(plan);
        self.copying = goes_on.then_some(copying);
        Some(WholeFileOp { op, goes_on })
    }

    /// Returns one read or write of an open file.
    pub(in crate::program) fn block(
        &mut self,
        direction: Direction,
        handle: u16,
        place: Place,
        draw: impl FnOnce() -> u64,
        picks: &mut Rng,
    ) -> Option<CallOp> {
        let open = self.handle(handle)?;
        let length = draw();
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
                let offset = picks.below(extent.div_ceil(step)) * step;
                (offset, length.min(extent - offset))
            }
        };
        Some(self.transfer(direction, handle, open, offset, length))
    }

    fn transfer(&mut self, direction: Direction, handle: u16, open: OpenFile, offset: u64, length: u64) -> CallOp {
        let (kind, call) = match direction {
            Direction::Read => (OpKind::Read, Call::ReadAt),
            Direction::Write => {
                // A write of 0 bytes does not change the size, write(2).
                let end = if length > 0 { offset.saturating_add(length) } else { 0 };
                let size = self.size(open).max(end);
                self.effect = Effect::Sized { node: open.node, size };
                (OpKind::Write, Call::WriteAt)
            }
        };
        self.on(CallOp { handle, offset, length, is_bare: true, ..CallOp::new(kind, call) }, open.name)
    }

    /// Completes an op on a name, which `same` refers to from now on.
    #[inline]
    fn on(&mut self, op: CallOp, name: u32) -> CallOp {
        self.last = Some(name);
        CallOp { file: self.state.id(name).0, ..op }
    }

    /// Completes an op with an old and a new name; `same` refers to the new one from now on.
    fn on_two(&mut self, op: CallOp, from: u32, to: u32) -> CallOp {
        CallOp { file: self.state.id(from).0, other: self.state.id(to).0, ..self.on(op, to) }
    }

    fn handle(&self, handle: u16) -> Option<OpenFile> {
        self.handles[usize::from(handle)]
    }

    fn size(&self, open: OpenFile) -> u64 {
        self.state.contents.as_ref().map_or(0, |contents| contents.size(open.node))
    }

    #[inline]
    fn pick(&mut self, pick: Choose, among: Among, picks: &mut Rng) -> Option<u32> {
        let names = &self.state.names;
        let count = names.count(among);
        if count == 0 {
            return None;
        }
        match pick {
            Choose::Random => Some(names.at(among, picks.below(u64::from(count)) as u32)),
            Choose::Cursor(cursor) => {
                let cursor = &mut self.cursors[usize::from(cursor)];
                let name = names.next(among, *cursor)?;
                *cursor = name + 1;
                Some(name)
            }
            Choose::Zipf(number) => names.next(among, self.zipfs[usize::from(number)].draw(picks)),
            Choose::Same => self.last.filter(|last| match (names.get(*last).map(|name| name.kind), among) {
                (None, _) => false,
                (Some(_), Among::All) => true,
                (Some(kind), Among::Files) => kind == NameKind::File,
                (Some(kind), Among::Symlinks) => kind == NameKind::Symlink,
            }),
            Choose::Own | Choose::Nth(_) | Choose::ByCall => None,
        }
    }

    /// Picks an existing name and a free one.
    fn pick_and_new(&mut self, pick: Choose, among: Among, picks: &mut Rng) -> Option<(u32, u32)> {
        let to = self.state.names.free()?;
        let from = self.pick(pick, among, picks)?;
        Some((from, to))
    }
}
