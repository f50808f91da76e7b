//! General path: any job. Adds loops, limits, flushes, read-back and trims to the [`Machine`]'s draws.

use super::history::{AfterTrim, Keeping, Piece, Trim};
use super::machine::{Drawn, Machine};
use super::script::{Handing, Kind, Mix, Opening, PlannedCoverage, Script};
use super::verify_tracking::VerifyTracking;
use crate::op::{BlockOp, Role};
use crate::pacer::KindsDue;
use crate::source::Source;
use plumb_result::measurement::Moved;
use plumb_workload::OpKind;
use std::collections::VecDeque;
use std::sync::Arc;

/// Yields the ops of any job.
#[derive(Debug, Clone)]
pub(crate) struct General {
    script: Arc<Script>,
    machine: Machine,
    stage: Stage,
    /// Ops that come before all others.
    waiting: VecDeque<BlockOp>,
    /// Whether the next op waits for those in flight.
    drains: bool,
    loops_left: u64,
    /// Ops before the first one that the limit of ops counts.
    ops_before: u64,
    /// Maximum number of ops over all loops.
    most_ops: Option<u64>,
    /// Whether this loop has made any op.
    any_in_loop: bool,
    /// Bytes handed over in this loop, for backends that queue ops.
    handed_bytes: u64,
    verify_tracking: VerifyTracking,
    verify_batch: u64,
    trim_batch: u64,
    /// Writes of this loop that failed or were not made.
    failed: Vec<u32>,
    /// Drawn ops that were not made, by [`Kind`].
    dry: [Moved; 3],
    /// Whether each file is open, according to the yielded ops and notes.
    is_open: Box<[bool]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Before a loop.
    Between {
        first: bool,
    },
    Load,
    /// Flushes at the end of a loop.
    Flush {
        file: usize,
    },
    /// Drops cached data, for a loop or for read-back.
    Evict {
        file: usize,
        role: Role,
    },
    ReadBack,
    /// Redraws the writes; `left` draws of the load remain.
    Redraw {
        left: u64,
    },
    Over,
}

enum Step {
    Op(BlockOp),
    Again,
    End,
}

impl General {
    pub(super) fn new(script: &Arc<Script>, kinds: Option<KindsDue>) -> General {
        // Draws that depend on the clock cannot be repeated.
        let draws_again = kinds.is_none();
        let dry = script.verifying.is_some_and(|verifying| verifying.only) && script.mix.has(Kind::Write);
        let machine = Machine::new(script, kinds.filter(|_| !dry));
        let verify_tracking = VerifyTracking::new(script, &machine, draws_again || dry);
        let limits = &script.limits;
        General {
            machine,
            stage: Stage::Between { first: true },
            waiting: VecDeque::with_capacity(8),
            drains: false,
            loops_left: limits.loops,
            ops_before: 0,
            most_ops: limits.most_ops(),
            any_in_loop: false,
            handed_bytes: 0,
            verify_tracking,
            verify_batch: 0,
            trim_batch: 0,
            failed: Vec::new(),
            dry: [Moved::default(); 3],
            is_open: vec![false; script.parts.count()].into(),
            script: Arc::clone(script),
        }
    }

    /// Returns `true` if enough bytes or ops were moved, over all loops.
    fn is_enough(&self) -> bool {
        let limits = &self.script.limits;
        let [read, write, trim] = self.machine.counts.bytes;
        let moved = match self.script.mix {
            Mix::ReadWrite(_) => read + write,
            Mix::Only(Kind::Read) => read,
            Mix::Only(Kind::Write) | Mix::TrimWrite => write,
            Mix::Only(Kind::Trim) => trim,
        };
        limits.bytes().is_some_and(|bytes| moved >= bytes.saturating_mul(limits.loops)) || self.is_enough_ops()
    }

    fn is_enough_ops(&self) -> bool {
        self.most_ops.is_some_and(|most| self.machine.counts.all_ops.saturating_sub(self.ops_before) >= most)
    }

    /// Returns `true` if another loop follows: a requested one, or an extra one to move all requested bytes.
    fn has_next_loop(&mut self) -> bool {
        if self.machine.files.is_steady() {
            return false;
        }
        let limits = &self.script.limits;
        if limits.until_time {
            return true;
        }
        if self.loops_left > 0 {
            self.loops_left -= 1;
            return true;
        }
        let counts = &self.machine.counts;
        limits.bytes().is_some_and(|bytes| {
            !self.is_enough_ops()
                && bytes.saturating_sub(counts.all_bytes) >= self.script.largest().max(1)
                && (limits.io_bytes.is_some() || !self.machine.all_done())
        })
    }

    fn begin_loop(&mut self, first: bool) {
        if !self.has_next_loop() {
            self.machine.begin_again(&self.script);
            self.stage = Stage::Over;
            return;
        }
        if !first {
            self.machine.begin_again(&self.script);
            self.drains = true;
            if self.script.files.removes {
                self.take_file_ops();
                let removals = (0..self.is_open.len() as u32).map(|file| BlockOp::load(OpKind::Unlink, file, 0, 0));
                self.waiting.extend(removals.map(|removal| BlockOp { after_all: true, ..removal }));
            }
        }
        self.failed.clear();
        match &mut self.verify_tracking {
            VerifyTracking::Nothing => {}
            VerifyTracking::Draws(mark) => **mark = self.machine.mark(),
            VerifyTracking::Pieces(history) => history.clear(),
        }
        if self.script.mix == Mix::TrimWrite {
            self.most_ops = self.most_ops.map(|most| most.saturating_mul(2));
        }
        self.any_in_loop = false;
        self.handed_bytes = 0;
        self.stage = match !first && self.evicts() {
            true => Stage::Evict { file: 0, role: Role::Load },
            false => Stage::Load,
        };
    }

    /// Returns `true` if all files' cached data is dropped at once. Files opened in turn drop theirs on opening.
    fn evicts(&self) -> bool {
        self.script.files.evicts && self.script.files.opening != Opening::Yielded && !self.is_dry()
    }

    /// Drops the cached data of a file, with nothing else in flight.
    fn evict(&mut self, file: usize, role: Role) -> Option<BlockOp> {
        self.drains |= file == 0;
        if file < self.script.parts.count() {
            self.stage = Stage::Evict { file: file + 1, role };
            return Some(BlockOp { role, ..BlockOp::load(OpKind::Evict, file as u32, 0, 0) });
        }
        self.drains = true;
        match role {
            Role::Load => self.stage = Stage::Load,
            Role::LoadVerified | Role::ReadBack | Role::ReadTrimmed | Role::AtClose | Role::Note => {
                self.begin_read_back()
            }
        }
        None
    }

    /// Returns the bytes after which a loop ends if ops are queued.
    fn loop_bytes(&self) -> u64 {
        let script = &*self.script;
        let limits = &script.limits;
        let mut bytes = limits.size;
        let writes = script.mix.has(Kind::Write);
        // Sequential writes wrap around to the start of their file. With verification, one read-back follows them all.
        if writes && script.covers() == PlannedCoverage::Again {
            bytes = bytes.max(limits.io_bytes.unwrap_or_default());
        }
        if writes && script.verifying.is_some_and(|verifying| verifying.backlog.is_some()) {
            bytes = bytes.saturating_add(limits.size);
        }
        if script.mix == Mix::TrimWrite {
            bytes = bytes.saturating_add(limits.bytes().unwrap_or(u64::MAX).saturating_mul(limits.loops));
        }
        bytes
    }

    fn is_dry(&self) -> bool {
        self.script.verifying.is_some_and(|verifying| verifying.only) && self.script.mix.has(Kind::Write)
    }

    fn load(&mut self) -> Step {
        if self.machine.files.is_steady() {
            return Step::End;
        }
        let dry = self.is_dry();
        let trims_waiting = matches!(&self.verify_tracking, VerifyTracking::Pieces(history) if history.trims_waiting());
        if !trims_waiting && (dry || !self.script.limits.until_time) && self.is_enough() {
            return Step::End;
        }
        let by_bytes = !self.script.limits.until_time || self.script.verifying.is_some();
        if self.script.handing == Handing::Queued && by_bytes && self.handed_bytes >= self.loop_bytes() {
            return Step::End;
        }
        if let Some(op) = self.read_back_or_trim(dry) {
            return if dry { Step::Again } else { Step::Op(op) };
        }
        match self.machine.draw(&self.script) {
            Drawn::End => Step::End,
            Drawn::Busy | Drawn::NoFlush => Step::Again,
            Drawn::Flush { kind, file, offset, length } => {
                self.machine.count_flush(file);
                // A range that is too long for an op extends to the end of the file, for which
                // sync_file_range(2) takes a length of 0.
                let length = u32::try_from(length).unwrap_or(0);
                let op = BlockOp::load(kind, file as u32, offset, length);
                if dry { Step::Again } else { Step::Op(op) }
            }
            Drawn::Block { kind, file, offset, length } => {
                let op = self.count_load(kind, file, offset, length);
                self.any_in_loop = true;
                if !dry {
                    return Step::Op(op);
                }
                let done = &mut self.dry[kind as usize];
                *done = Moved { count: done.count + 1, bytes: done.bytes + length };
                Step::Again
            }
        }
    }

    /// Counts an op of the load, and tracks it for verification.
    fn count_load(&mut self, kind: Kind, file: usize, offset: u64, length: u64) -> BlockOp {
        let number = self.machine.counts.ops[kind as usize] as u32;
        let verified = self.script.verifying.is_some();
        let verified_read = verified && kind == Kind::Read && !self.script.mix.has(Kind::Write);
        if kind == Kind::Write
            && let VerifyTracking::Pieces(history) = &mut self.verify_tracking
        {
            let percent = self.script.amid.map_or(0, |amid| amid.percent);
            let later = percent > 0 && self.machine.trims_later(percent);
            let trim = if later { Trim::Waiting } else { Trim::No };
            history.add(Piece { file: file as u32, length: length as u32, offset, number, trim });
        }
        self.machine.count(kind, file, offset, length);
        self.handed_bytes = self.handed_bytes.saturating_add(length);
        BlockOp {
            kind: kind.op(),
            file: file as u32,
            offset,
            length: length as u32,
            role: if verified_read { Role::ReadBack } else { Role::Load },
            after_all: false,
            number: if verified_read || (verified && kind == Kind::Write) { number } else { 0 },
        }
    }

    /// Returns a read-back or trim that is due during the load.
    fn read_back_or_trim(&mut self, dry: bool) -> Option<BlockOp> {
        let VerifyTracking::Pieces(history) = &mut self.verify_tracking else { return None };
        let verifying = self.script.verifying?;
        let counts = &mut self.machine.counts;
        if let Some(backlog) = verifying.backlog
            && !dry
            && history.len() > 0
        {
            let begins = self.verify_batch == 0 && history.len().is_multiple_of(backlog) && counts.last != Kind::Read;
            if begins {
                self.verify_batch = verifying.batch;
            }
            if self.verify_batch > 0
                && let Some(piece) = history.next()
            {
                self.verify_batch -= 1;
                // The data to read may still be in flight, and later ops may overwrite it.
                self.drains |= begins;
                let op = self.read_back(&piece);
                self.any_in_loop = true;
                self.handed_bytes = self.handed_bytes.saturating_add(u64::from(piece.length));
                if (self.verify_batch == 0 || self.history_is_empty()) && self.overlaps() {
                    return Some(self.drained_after(op));
                }
                return Some(op);
            }
        }
        let amid = self.script.amid?;
        let backlog = amid.backlog?;
        if !history.trims_waiting() {
            self.trim_batch = 0;
            return None;
        }
        if self.trim_batch == 0 {
            if !history.len().is_multiple_of(backlog) || counts.last == Kind::Trim {
                return None;
            }
            self.trim_batch = amid.batch.map_or(backlog, u64::from);
            self.drains = true;
        }
        self.trim_batch -= 1;
        let afterwards = if amid.expects_zeros { AfterTrim::ExpectZeros } else { AfterTrim::Forget };
        let piece = history.next_trim(afterwards)?;
        self.machine.count(Kind::Trim, piece.file as usize, piece.offset, piece.length.into());
        self.any_in_loop = true;
        let op = self.take_drain(BlockOp::load(OpKind::Trim, piece.file, piece.offset, piece.length));
        self.drains |= self.overlaps();
        Some(op)
    }

    fn overlaps(&self) -> bool {
        matches!(&self.verify_tracking, VerifyTracking::Pieces(history) if history.keeping() == Keeping::Sorted)
    }

    fn history_is_empty(&self) -> bool {
        matches!(&self.verify_tracking, VerifyTracking::Pieces(history) if history.len() == 0)
    }

    fn take_drain(&mut self, op: BlockOp) -> BlockOp {
        BlockOp { after_all: op.after_all | std::mem::take(&mut self.drains), ..op }
    }

    fn drained_after(&mut self, op: BlockOp) -> BlockOp {
        let op = self.take_drain(op);
        self.drains = true;
        op
    }

    /// Reads a piece back.
    fn read_back(&mut self, piece: &Piece) -> BlockOp {
        self.machine.count_any(Kind::Read, piece.length.into());
        let role = if piece.trim == Trim::Done { Role::ReadTrimmed } else { Role::ReadBack };
        let Piece { file, offset, length, number, .. } = *piece;
        BlockOp { kind: OpKind::Read, file, offset, length, role, after_all: false, number }
    }

    fn end_load(&mut self) {
        let never_any = self.machine.counts.bytes == [0; 3];
        if never_any {
            self.loops_left = 0;
        }
        let flushing = &self.script.flushing;
        let flushes = (flushing.at_end || flushing.at_close || flushing.file_system_at_end)
            && self.machine.flushes(&self.script)
            && !self.is_dry();
        if flushes {
            self.stage = Stage::Flush { file: 0 };
        } else {
            self.after_load();
        }
    }

    fn flush(&mut self, file: usize) {
        if file == self.is_open.len() {
            self.machine.count_flush(file - 1);
            return self.after_load();
        }
        let kind = if self.script.flushing.file_system_at_end { OpKind::Syncfs } else { OpKind::EndFsync };
        let yields = self.script.files.opening != Opening::Before && !self.is_open[file];
        if yields {
            self.waiting.push_back(self.script.file_op(OpKind::Open, file));
        }
        let flush = BlockOp::load(kind, file as u32, 0, 0);
        self.waiting.push_back(BlockOp { after_all: file == 0, ..flush });
        if yields {
            self.waiting.push_back(self.script.file_op(OpKind::Close, file));
        }
        self.stage = Stage::Flush { file: file + 1 };
    }

    fn after_load(&mut self) {
        if !self.any_in_loop {
            self.machine.begin_again(&self.script);
            self.stage = Stage::Over;
            return;
        }
        match &self.verify_tracking {
            VerifyTracking::Nothing => self.stage = Stage::Between { first: false },
            _ if self.evicts() => self.stage = Stage::Evict { file: 0, role: Role::ReadBack },
            _ => self.begin_read_back(),
        }
    }

    fn begin_read_back(&mut self) {
        self.stage = match &self.verify_tracking {
            VerifyTracking::Nothing => Stage::Between { first: false },
            VerifyTracking::Pieces(_) => {
                self.machine.begin_again(&self.script);
                self.drains = true;
                Stage::ReadBack
            }
            VerifyTracking::Draws(mark) => {
                let sum = |counts: [u64; 3]| counts.iter().sum::<u64>();
                let left = sum(self.machine.counts.ops) - sum(mark.counts.ops);
                self.machine.begin_again(&self.script);
                self.drains = true;
                self.machine.muted = true;
                let mark = **mark;
                if let VerifyTracking::Draws(end) = &mut self.verify_tracking {
                    **end = self.machine.mark();
                }
                self.machine.go_back(&mark);
                Stage::Redraw { left }
            }
        };
    }

    /// Repeats one earlier draw; the saved mark holds the state after the load.
    fn redraw(&mut self, left: u64) -> Option<BlockOp> {
        if left == 0 {
            self.machine.begin_again(&self.script);
            self.machine.muted = false;
            if let VerifyTracking::Draws(end) = &self.verify_tracking {
                self.machine.go_back(end);
            }
            self.close_opened();
            self.stage = Stage::Between { first: false };
            return None;
        }
        let (kind, file, offset, length) = match self.machine.draw(&self.script) {
            Drawn::Block { kind, file, offset, length } => (kind, file, offset, length),
            Drawn::Flush { file, .. } => {
                self.machine.count_flush(file);
                return None;
            }
            Drawn::Busy | Drawn::NoFlush => return None,
            // Unreachable, because all of these ops were drawn before.
            Drawn::End => {
                self.stage = Stage::Redraw { left: 0 };
                return None;
            }
        };
        self.stage = Stage::Redraw { left: left - 1 };
        let number = self.machine.counts.ops[kind as usize] as u32;
        self.machine.count(kind, file, offset, length);
        let trim = match kind {
            Kind::Read => return None,
            Kind::Write if self.failed.contains(&number) => return None,
            Kind::Write => Trim::No,
            // Each trim is followed by a write to the same place.
            Kind::Trim if self.script.mix == Mix::TrimWrite => return None,
            Kind::Trim => Trim::Done,
        };
        let op = BlockOp {
            kind: OpKind::Read,
            file: file as u32,
            offset,
            length: length as u32,
            role: if trim == Trim::Done { Role::ReadTrimmed } else { Role::ReadBack },
            after_all: false,
            number,
        };
        if let VerifyTracking::Draws(end) = &mut self.verify_tracking {
            end.counts.all_ops += 1;
            end.counts.all_bytes += length;
            end.counts.last = Kind::Read;
            end.counts.after_flush = false;
        }
        Some(op)
    }

    /// Yields an open before the read-back op of a file that is not open, if opens are yielded.
    fn with_open(&mut self, op: BlockOp) -> BlockOp {
        let file = op.file as usize;
        if self.script.files.opening != Opening::Before && !self.is_open[file] {
            self.is_open[file] = true;
            let opens = self.script.file_op(OpKind::Open, file);
            // A note does not wait for anything, so the op itself must wait.
            let op = if self.drains && opens.role == Role::Note { self.take_drain(op) } else { op };
            self.waiting.push_back(op);
            return opens;
        }
        op
    }

    fn close_opened(&mut self) {
        for (file, open) in self.is_open.iter_mut().enumerate() {
            if std::mem::take(open) {
                self.waiting.push_back(self.script.file_op(OpKind::Close, file));
            }
        }
    }

    /// Moves the machine's queued file ops in front of the next op.
    fn take_file_ops(&mut self) {
        while let Some(op) = self.machine.file_ops.pop_front() {
            match op.kind {
                OpKind::Open => self.is_open[op.file as usize] = true,
                OpKind::Close => self.is_open[op.file as usize] = false,
                _ => {}
            }
            self.waiting.push_back(op);
        }
    }
}

impl Source for General {
    type Op = BlockOp;

    #[inline]
    fn next(&mut self) -> Option<BlockOp> {
        loop {
            if let Some(op) = self.waiting.pop_front() {
                return Some(op);
            }
            let op = match self.stage {
                Stage::Load => match self.load() {
                    Step::Op(op) => Some(op),
                    Step::Again => None,
                    Step::End => {
                        self.end_load();
                        None
                    }
                },
                Stage::Between { first } => {
                    self.begin_loop(first);
                    None
                }
                Stage::Flush { file } => {
                    self.flush(file);
                    None
                }
                Stage::Evict { file, role } => self.evict(file, role),
                Stage::ReadBack => {
                    let piece = match &mut self.verify_tracking {
                        VerifyTracking::Pieces(history) => history.next(),
                        _ => None,
                    };
                    match piece {
                        Some(piece) => {
                            let op = self.read_back(&piece);
                            Some(self.with_open(op))
                        }
                        None => {
                            self.close_opened();
                            self.stage = Stage::Between { first: false };
                            None
                        }
                    }
                }
                Stage::Redraw { left } => self.redraw(left).map(|op| self.with_open(op)),
                Stage::Over => {
                    self.take_file_ops();
                    return self.waiting.pop_front();
                }
            };
            let op = op.map(|op| if self.drains { self.take_drain(op) } else { op });
            if !self.machine.file_ops.is_empty() {
                self.take_file_ops();
                if let Some(op) = op {
                    self.waiting.push_back(op);
                }
            } else if op.is_some() {
                return op;
            }
        }
    }

    fn restarts(&mut self, at_hand: Option<&BlockOp>) {
        let counts = match (self.stage, &self.verify_tracking) {
            // The machine's own counts are those at the start of the redraw.
            (Stage::Redraw { .. }, VerifyTracking::Draws(end)) => &end.counts,
            _ => &self.machine.counts,
        };
        let at_hand = at_hand.is_some_and(|op| Kind::from_op(op.kind).is_some());
        self.ops_before = counts.all_ops.saturating_sub(u64::from(at_hand));
    }

    fn dry(&self) -> Vec<(OpKind, Moved)> {
        let each = Kind::ALL.map(|kind| (kind.op(), self.dry[kind as usize]));
        each.into_iter().filter(|(_, moved)| moved.count > 0).collect()
    }

    fn failed(&mut self, op: &BlockOp) {
        if op.kind != OpKind::Write || op.role != Role::Load {
            return;
        }
        match &mut self.verify_tracking {
            VerifyTracking::Nothing => {}
            VerifyTracking::Draws(_) => self.failed.push(op.number),
            VerifyTracking::Pieces(history) => {
                let BlockOp { file, offset, length, number, .. } = *op;
                history.forget(&Piece { file, length, offset, number, trim: Trim::No });
            }
        }
    }
}
