//! The draws of a job, one op after another: file, kind, offset, and length.
//!
//! The machine keeps the same state as fio and changes it in fio's order, because each draw affects the next one.

use super::choice::FileCurve;
use super::files::{Files, Span};
use super::script::{Kind, Mix, Opening, Script};
use crate::op::{BlockOp, Role};
use crate::pacer::KindsDue;
use crate::rng::fio::{Taus, Taus88};
use plumb_workload::OpKind;
use plumb_workload::blocks::fio::FileChoice;
use std::collections::VecDeque;

/// The random number generators of a worker.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draws {
    /// Generators of sizes, by [`Kind`].
    sizes: [Taus; 3],
    mix: Taus88,
    file: Taus,
    file_curve: Option<FileCurve>,
    pub(super) offset: Taus,
    trim: Taus,
    /// Generators of the order, by [`Kind`].
    pub(super) order: [Taus88; 3],
    pub(super) zone: Taus88,
    /// Decides which blocks are rewritten.
    pub(super) again: Taus88,
}

impl Draws {
    /// Creates the generators. Verified writes draw the same sizes as reads; trims that are followed
    /// by writes draw the writes' sizes.
    fn new(script: &Script) -> Draws {
        let seeds = &script.seeding.seeds;
        let [read, mut write, mut trim] = seeds.sizes;
        if script.verifying.is_some() {
            write = read;
        }
        if script.mix == Mix::TrimWrite {
            trim = write;
        }
        let width = script.seeding.width;
        Draws {
            sizes: [read, write, trim].map(|seed| Taus::new(seed, width)),
            mix: Taus88::new(seeds.mix),
            file: Taus::new(seeds.file, width),
            file_curve: match script.files.choice {
                FileChoice::Curved { curve, center, .. } => {
                    Some(FileCurve::new(curve, center, script.parts.count(), seeds.file))
                }
                _ => None,
            },
            offset: Taus::new(seeds.offset, width),
            trim: Taus::new(seeds.trim, width),
            order: [Taus88::new(seeds.order); 3],
            zone: Taus88::new(seeds.zone),
            again: Taus88::new(seeds.again),
        }
    }
}

/// Counts of the ops so far, and state derived from them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    /// Ops by [`Kind`], without read-back.
    pub(super) ops: [u64; 3],
    /// Bytes by [`Kind`], without read-back.
    pub(super) bytes: [u64; 3],
    /// Ops including read-back.
    pub(super) all_ops: u64,
    /// Bytes including read-back.
    pub(super) all_bytes: u64,
    /// Whether the previous op was a flush.
    pub(super) after_flush: bool,
    /// Kind of the last op that moved data.
    pub(super) last: Kind,
    /// Current kind of a mix; it continues until `mix_until` is reached.
    mix_kind: Kind,
    mix_until: u64,
    /// Ops until the next draw of an offset.
    pub(super) until_draw: u32,
    pub(super) zone_bytes: u64,
    next_file: usize,
    current_file: Option<usize>,
    current_left: u32,
    open_files: usize,
    done_files: usize,
}

/// State that is small enough to be saved and restored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    draws: Draws,
    pub(super) counts: Counts,
}

/// Result of a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawn {
    /// An op that moves data.
    Block { kind: Kind, file: usize, offset: u64, length: u64 },
    /// A flush with its range.
    Flush { kind: OpKind, file: usize, offset: u64, length: u64 },
    /// A flush that has nothing to flush.
    NoFlush,
    /// The chosen file is not open, and the limit of open files is reached.
    Busy,
    /// All files are at their end.
    End,
}

enum Chosen {
    File(usize),
    Busy,
    None,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawing {
    Sequential,
    Random,
}

/// Start of an op.
pub(super) struct Start {
    /// Relative to the start of the file's part.
    pub(super) at: u64,
    pub(super) by: Drawing,
    /// Whether the block may have been used before, so that it is not marked.
    pub(super) may_repeat: bool,
}

/// Draws the ops of a job.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    pub(super) draws: Draws,
    pub(super) counts: Counts,
    pub(super) files: Files,
    /// Which kind of a mix is due, if rates decide.
    kinds: Option<KindsDue>,
    /// Whether no file ops are queued, because the current draws repeat earlier ones.
    pub(super) muted: bool,
    /// Queue of opens, closes and other ops on files that come before the next op.
    pub(super) file_ops: VecDeque<BlockOp>,
}

impl Machine {
    pub(super) fn new(script: &Script, kinds: Option<KindsDue>) -> Machine {
        Machine {
            draws: Draws::new(script),
            counts: Counts {
                ops: [0; 3],
                bytes: [0; 3],
                all_ops: 0,
                all_bytes: 0,
                after_flush: false,
                last: Kind::Read,
                mix_kind: Kind::Read,
                mix_until: 0,
                until_draw: 1,
                zone_bytes: 0,
                next_file: 0,
                current_file: None,
                current_left: 0,
                open_files: 0,
                done_files: 0,
            },
            files: Files::new(script),
            kinds: kinds.filter(|_| matches!(script.mix, Mix::ReadWrite(percent) if (1..100).contains(&percent))),
            muted: false,
            file_ops: VecDeque::new(),
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { draws: self.draws, counts: self.counts }
    }

    /// Restores a mark that was set when all files were closed.
    pub(super) fn go_back(&mut self, mark: &Mark) {
        self.draws = mark.draws;
        self.counts = mark.counts;
    }

    pub(super) fn all_done(&self) -> bool {
        self.counts.done_files >= self.files.count()
    }

    /// Closes all files, and restarts the random numbers if loops repeat them.
    pub(super) fn begin_again(&mut self, script: &Script) {
        self.counts.zone_bytes = 0;
        self.counts.mix_until = 0;
        self.counts.done_files = 0;
        for file in 0..self.files.count() {
            if self.files.is_open(file) {
                self.close(script, file);
            }
        }
        self.files.begin_again(script);
        if script.seeding.reseeds {
            self.draws = Draws::new(script);
        }
    }

    fn open(&mut self, script: &Script, file: usize) {
        self.files.reset(script, file);
        self.files.set_open(file, true);
        self.counts.open_files += 1;
        self.queue_file_op(script, OpKind::Open, file);
    }

    fn close(&mut self, script: &Script, file: usize) {
        self.files.set_open(file, false);
        self.counts.open_files -= 1;
        self.queue_file_op(script, OpKind::Close, file);
    }

    fn queue_file_op(&mut self, script: &Script, kind: OpKind, file: usize) {
        if script.files.opening != Opening::Before && !self.muted {
            self.file_ops.push_back(script.file_op(kind, file));
        }
    }

    /// Queues an op that drops the cached data of a file whose offsets start over.
    #[cold]
    pub(super) fn evict(&mut self, script: &Script, file: usize) {
        if script.files.evicts && !self.muted {
            self.file_ops.push_back(BlockOp::load(OpKind::Evict, file as u32, 0, 0));
        }
    }

    /// Draws the next op of the load, without counting it.
    #[inline]
    pub(super) fn draw(&mut self, script: &Script) -> Drawn {
        loop {
            let file = match self.choose(script) {
                Chosen::File(file) => file,
                Chosen::Busy => return Drawn::Busy,
                Chosen::None => return Drawn::End,
            };
            if let Some(drawn) = self.fill(script, file) {
                return drawn;
            }
            if script.flushing.at_close && self.flushes(script) && !self.muted {
                let flush = BlockOp::load(OpKind::EndFsync, file as u32, 0, 0);
                self.file_ops.push_back(BlockOp { role: Role::AtClose, after_all: true, ..flush });
            }
            self.close(script, file);
            if matches!(script.files.choice, FileChoice::Curved { .. }) {
                self.files.reset(script, file);
            } else {
                self.files.set_done(file);
                self.counts.done_files += 1;
            }
        }
    }

    /// Counts an op of the load.
    pub(super) fn count(&mut self, kind: Kind, file: usize, offset: u64, length: u64) {
        self.counts.ops[kind as usize] += 1;
        self.counts.bytes[kind as usize] += length;
        self.count_any(kind, length);
        if kind == Kind::Write {
            self.files.wrote(file, offset, length);
        }
    }

    /// Counts an op that may not belong to the load.
    pub(super) fn count_any(&mut self, kind: Kind, length: u64) {
        self.counts.all_ops += 1;
        self.counts.all_bytes += length;
        self.counts.after_flush = false;
        self.counts.last = kind;
    }

    pub(super) fn count_flush(&mut self, file: usize) {
        self.counts.after_flush = true;
        self.files.flushed(file);
    }

    /// Draws whether this write is one of those that are trimmed later.
    pub(super) fn trims_later(&mut self, percent: u8) -> bool {
        let draw = self.draws.trim.next();
        draw <= self.draws.trim.largest() / 100 * u64::from(percent)
    }

    /// Returns `true` if flushes are possible now.
    pub(super) fn flushes(&self, script: &Script) -> bool {
        !self.counts.after_flush && script.mix.has(Kind::Write)
    }

    fn choose(&mut self, script: &Script) -> Chosen {
        if self.all_done() {
            return Chosen::None;
        }
        if let Some(file) = self.counts.current_file
            && self.files.is_open(file)
        {
            if script.files.choice == FileChoice::Sequential {
                return Chosen::File(file);
            }
            if self.counts.current_left > 0 {
                self.counts.current_left -= 1;
                return Chosen::File(file);
            }
        }
        let (chosen, ops) = match script.files.choice {
            FileChoice::RoundRobin { ops } => (self.choose_in_turn(script), ops),
            FileChoice::Sequential => (self.choose_in_turn(script), 1),
            FileChoice::Random { ops } | FileChoice::Curved { ops, .. } => (self.choose_at_random(script), ops),
        };
        if let Chosen::File(file) = chosen {
            self.counts.current_file = Some(file);
            self.counts.current_left = ops.saturating_sub(1);
        }
        chosen
    }

    fn choose_in_turn(&mut self, script: &Script) -> Chosen {
        for _ in 0..self.files.count() {
            let file = self.counts.next_file;
            self.counts.next_file = if file + 1 == self.files.count() { 0 } else { file + 1 };
            if !self.files.is_done(file) {
                return self.opened(script, file);
            }
        }
        Chosen::None
    }

    fn choose_at_random(&mut self, script: &Script) -> Chosen {
        loop {
            let file = match &mut self.draws.file_curve {
                Some(curve) => curve.next(),
                None => (self.files.count() as f64 * self.draws.file.share()) as usize,
            };
            let file = file.min(self.files.count() - 1);
            if !self.files.is_done(file) {
                return self.opened(script, file);
            }
        }
    }

    fn opened(&mut self, script: &Script, file: usize) -> Chosen {
        if !self.files.is_open(file) {
            if self.counts.open_files >= script.files.open_files {
                return Chosen::Busy;
            }
            self.open(script, file);
        }
        Chosen::File(file)
    }

    /// Draws an op on this file; `None` if it is at its end.
    #[inline]
    fn fill(&mut self, script: &Script, file: usize) -> Option<Drawn> {
        let kind = match self.kind(script, file) {
            Ok(kind) => kind,
            Err(flush) => return Some(self.flush(script, flush, file)),
        };
        self.change_zone(script, file, kind);
        let Start { at, by, may_repeat } = self.start(script, file, kind)?;
        let part = script.parts.get(file);
        let offset = self.files.first(script, file).wrapping_add(at);
        if at >= part.length || offset >= part.file_length {
            return None;
        }
        let pairs = script.mix == Mix::TrimWrite && script.is_random();
        if pairs && kind == Kind::Trim && self.files.start(file, Kind::Trim) == Some(offset) {
            // The same position again: its write must differ from the previous one.
            self.files.forget_start(file, Kind::Write);
        }
        let mut length = if pairs && kind == Kind::Write {
            self.files.start(file, Kind::Trim).map_or(0, |trim| self.files.end(file, Kind::Trim) - trim)
        } else {
            let of = match (script.sizes_by_order, by) {
                (false, _) => kind,
                (true, Drawing::Sequential) => Kind::Read,
                (true, Drawing::Random) => Kind::Write,
            };
            let room = part.start.saturating_add(part.length).saturating_sub(offset);
            script.sizes[of as usize].next(&mut self.draws.sizes[of as usize], room)?
        };
        if length == 0 || offset.saturating_add(length) > part.file_length {
            return None;
        }
        let block = script.sizes[kind as usize].smallest;
        if !may_repeat && let Some(free) = self.files.mark_run(file, at / block, length.div_ceil(block)) {
            length = length.min(free.max(1) * block);
        }
        self.counts.zone_bytes += length;
        self.files.set_last(file, kind, offset, offset + length);
        Some(Drawn::Block { kind, file, offset, length })
    }

    fn flush(&mut self, script: &Script, kind: OpKind, file: usize) -> Drawn {
        let (offset, length) = match (kind, self.files.written(file)) {
            (OpKind::SyncRange, None) => {
                self.count_flush(file);
                // fio makes no call either, but logs it.
                if script.files.notes && !self.muted {
                    self.file_ops.push_back(BlockOp { role: Role::Note, ..BlockOp::load(kind, file as u32, 0, 0) });
                }
                return Drawn::NoFlush;
            }
            (OpKind::SyncRange, Some(Span { from, to })) => (from, to - from),
            _ => (0, 0),
        };
        Drawn::Flush { kind, file, offset, length }
    }

    /// Returns the kind of the next op, or the flush that comes before it.
    #[inline]
    fn kind(&mut self, script: &Script, file: usize) -> Result<Kind, OpKind> {
        if script.mix == Mix::TrimWrite {
            let [write, trim] = [Kind::Write, Kind::Trim].map(|kind| self.files.start(file, kind));
            return Ok(if write == trim { Kind::Trim } else { Kind::Write });
        }
        let writes = self.counts.ops[Kind::Write as usize];
        let after_write = self.counts.last == Kind::Write && self.flushes(script);
        if script.flushing.any_between_ops() && writes > 0 && after_write {
            let flushing = &script.flushing;
            for (every, kind) in [
                (flushing.fsync_every, OpKind::Fsync),
                (flushing.fdatasync_every, OpKind::Fdatasync),
                (flushing.range_every, OpKind::SyncRange),
            ] {
                if every > 0 && writes.is_multiple_of(every) {
                    return Err(kind);
                }
            }
        }
        Ok(match script.mix {
            Mix::ReadWrite(percent) => self.mixed(percent),
            Mix::Only(kind) => kind,
            Mix::TrimWrite => Kind::Trim,
        })
    }

    /// Chooses a read or a write. After a change, the new kind continues until it has its share.
    fn mixed(&mut self, read_percent: u8) -> Kind {
        let counts = &mut self.counts;
        if counts.ops[counts.mix_kind as usize] >= counts.mix_until {
            let drawn = if self.draws.mix.percent() <= read_percent { Kind::Read } else { Kind::Write };
            if drawn != counts.mix_kind {
                let others = match counts.mix_kind {
                    Kind::Read => 100 - u64::from(read_percent),
                    _ => u64::from(read_percent),
                };
                counts.mix_until = counts.ops[counts.mix_kind as usize].wrapping_mul(others) / 100;
            }
            counts.mix_kind = drawn;
        }
        if let Some(kinds) = &self.kinds {
            let due = match counts.mix_kind {
                Kind::Read => kinds.choose(OpKind::Read, OpKind::Write),
                _ => kinds.choose(OpKind::Write, OpKind::Read),
            };
            counts.mix_kind = if due == OpKind::Read { Kind::Read } else { Kind::Write };
        }
        counts.mix_kind
    }
}
