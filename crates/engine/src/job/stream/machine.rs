//! The draws of a job, one op after another: which file, which kind, where, how long.
//!
//! It keeps the state that fio keeps, and changes it in fio's order, since each draw decides what the next one sees.

use super::choice::FileCurve;
use super::cover::{Map, Register};
use super::curve::Peaked;
use super::draws::{Taus, Taus88};
use super::script::{Kind, Mix, Opening, Part, PlannedCover, Script};
use crate::job::pace::KindsDue;
use crate::op::BlockOp;
use plumb_workload::OpKind;
use plumb_workload::job::FileChoice;
use std::collections::VecDeque;

/// The random numbers of a worker.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draws {
    /// By [`Kind`].
    sizes: [Taus; 3],
    mix: Taus88,
    file: Taus,
    file_curve: Option<FileCurve>,
    pub(super) offset: Taus,
    trim: Taus,
    /// By [`Kind`].
    pub(super) order: [Taus88; 3],
    pub(super) zone: Taus88,
}

impl Draws {
    /// Writes that are verified draw the same sizes as reads; trims that are followed by writes, as those.
    fn new(script: &Script) -> Draws {
        let seeds = &script.seeds;
        let [read, mut write, mut trim] = seeds.sizes;
        if script.verifying.is_some() {
            write = read;
        }
        if script.mix == Mix::TrimWrite {
            trim = write;
        }
        let width = script.width;
        Draws {
            sizes: [read, write, trim].map(|seed| Taus::new(seed, width)),
            mix: Taus88::new(seeds.mix),
            file: Taus::new(seeds.file, width),
            file_curve: match script.choice {
                FileChoice::Curved { curve, center, .. } => {
                    Some(FileCurve::new(curve, center, script.parts.len(), seeds.file))
                }
                _ => None,
            },
            offset: Taus::new(seeds.offset, width),
            trim: Taus::new(seeds.trim, width),
            order: [Taus88::new(seeds.order); 3],
            zone: Taus88::new(seeds.zone),
        }
    }
}

/// What was done so far, and what follows from it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    /// Ops by [`Kind`], read-back left out.
    pub(super) ops: [u64; 3],
    /// Bytes by [`Kind`], read-back left out.
    pub(super) bytes: [u64; 3],
    /// Ops with read-back.
    pub(super) all_ops: u64,
    /// Bytes with read-back.
    pub(super) all_bytes: u64,
    /// The op before was a flush.
    after_flush: bool,
    /// The last op that moved data.
    pub(super) last: Kind,
    /// The kind of a mix that goes on until so many of it were done.
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

/// State that is small enough to be remembered, and gone back to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    draws: Draws,
    pub(super) counts: Counts,
}

/// Which blocks of a file were used.
#[derive(Debug, Clone)]
pub(super) enum Cover {
    Map(Map),
    Register(Register),
    Again,
}

/// Bytes of a file from one place to another.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: u64,
    to: u64,
}

/// A file and where its ops are.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) part: Part,
    /// First byte now; zones move it.
    pub(super) start: u64,
    /// Ends of the last ops, by [`Kind`].
    pub(super) ends: [u64; 3],
    /// Starts of the last ops, by [`Kind`].
    pub(super) starts: [Option<u64>; 3],
    open: bool,
    done: bool,
    pub(super) cover: Cover,
    /// Places along a curve.
    pub(super) curve: Option<Peaked>,
    /// What was written since the last flush.
    written: Option<Span>,
}

impl File {
    /// As it is after it was opened.
    pub(super) fn reset(&mut self) {
        self.ends = [self.start; 3];
        self.starts = [None; 3];
        match &mut self.cover {
            Cover::Map(map) => map.clear(),
            Cover::Register(register) => register.reset(),
            Cover::Again => {}
        }
    }
}

/// What was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawn {
    /// An op that moves data.
    Block { kind: Kind, file: usize, offset: u64, length: u64 },
    /// A flush, with the range that it is for.
    Flush { kind: OpKind, file: usize, offset: u64, length: u64 },
    /// A flush of nothing.
    NoFlush,
    /// The file that was chosen is not open, and no more may be.
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

/// Where an op starts.
pub(super) struct Start {
    /// From the start of the file's part.
    pub(super) at: u64,
    pub(super) by: Drawing,
    /// The block may have been used before, and is not marked.
    pub(super) may_repeat: bool,
}

/// Draws ops.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    pub(super) draws: Draws,
    pub(super) counts: Counts,
    pub(super) files: Box<[File]>,
    opening: Opening,
    /// Which kind of a mix is due, where rates decide over it.
    kinds: Option<KindsDue>,
    /// Nothing is told: what is drawn was done before.
    pub(super) muted: bool,
    /// Files opened and closed since this was last emptied.
    pub(super) told: VecDeque<BlockOp>,
}

impl Machine {
    pub(super) fn new(script: &Script, kinds: Option<KindsDue>) -> Machine {
        let files = script.parts.iter().enumerate().map(|(number, part)| File {
            part: *part,
            start: part.start,
            ends: [part.start; 3],
            starts: [None; 3],
            open: false,
            done: false,
            cover: match script.covers() {
                PlannedCover::Map => Cover::Map(Map::new(part.mapped)),
                // A plan with a register that cannot be made does not come to be.
                PlannedCover::Register => {
                    Register::new(part.mapped, script.seeds.offset).map_or(Cover::Again, Cover::Register)
                }
                PlannedCover::Again => Cover::Again,
            },
            curve: Peaked::of(script, part, number),
            written: None,
        });
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
            files: files.collect(),
            opening: script.opening,
            kinds: kinds.filter(|_| matches!(script.mix, Mix::ReadWrite(percent) if (1..100).contains(&percent))),
            muted: false,
            told: VecDeque::new(),
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { draws: self.draws, counts: self.counts }
    }

    /// Back to a mark that was set when all files were closed.
    pub(super) fn go_back(&mut self, mark: &Mark) {
        self.draws = mark.draws;
        self.counts = mark.counts;
    }

    pub(super) fn all_done(&self) -> bool {
        self.counts.done_files >= self.files.len()
    }

    /// Closes all files, and begins the draws again where they are to be repeated.
    pub(super) fn begin_again(&mut self, script: &Script) {
        self.counts.zone_bytes = 0;
        self.counts.after_flush = false;
        self.counts.mix_until = 0;
        self.counts.done_files = 0;
        for file in 0..self.files.len() {
            if self.files[file].open {
                self.close(file);
            }
            let file = &mut self.files[file];
            file.done = false;
            file.start = file.part.start;
        }
        if script.reseeds {
            self.draws = Draws::new(script);
        }
    }

    fn open(&mut self, file: usize) {
        self.files[file].reset();
        self.files[file].open = true;
        self.counts.open_files += 1;
        self.tell(OpKind::Open, file);
    }

    fn close(&mut self, file: usize) {
        self.files[file].open = false;
        self.counts.open_files -= 1;
        self.tell(OpKind::Close, file);
    }

    fn tell(&mut self, kind: OpKind, file: usize) {
        if self.opening == Opening::Told && !self.muted {
            let after_all = kind == OpKind::Close;
            self.told.push_back(BlockOp { after_all, ..BlockOp::load(kind, file as u32, 0, 0) });
        }
    }

    /// The next op of the load; it is not counted yet.
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
                let flush = BlockOp { after_all: true, ..BlockOp::load(OpKind::Fsync, file as u32, 0, 0) };
                self.told.push_back(flush);
            }
            self.close(file);
            if matches!(script.choice, FileChoice::Curved { .. }) {
                self.files[file].reset();
            } else {
                self.files[file].done = true;
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
            let span = &mut self.files[file].written;
            let end = offset + length;
            *span = Some(match *span {
                Some(Span { from, to }) => Span { from: from.min(offset), to: to.max(end) },
                None => Span { from: offset, to: end },
            });
        }
    }

    /// Counts an op that may be no part of the load.
    pub(super) fn count_any(&mut self, kind: Kind, length: u64) {
        self.counts.all_ops += 1;
        self.counts.all_bytes += length;
        self.counts.after_flush = false;
        self.counts.last = kind;
    }

    pub(super) fn count_flush(&mut self, file: usize) {
        self.counts.after_flush = true;
        self.files[file].written = None;
    }

    /// Whether this write is one of those that are trimmed later.
    pub(super) fn trims_later(&mut self, percent: u8) -> bool {
        let draw = self.draws.trim.next();
        draw <= self.draws.trim.largest() / 100 * u64::from(percent)
    }

    /// Whether there may be flushes now.
    pub(super) fn flushes(&self, script: &Script) -> bool {
        !self.counts.after_flush && script.mix.has(Kind::Write)
    }

    fn choose(&mut self, script: &Script) -> Chosen {
        if self.all_done() {
            return Chosen::None;
        }
        if let Some(file) = self.counts.current_file
            && self.files[file].open
        {
            if script.choice == FileChoice::Sequential {
                return Chosen::File(file);
            }
            if self.counts.current_left > 0 {
                self.counts.current_left -= 1;
                return Chosen::File(file);
            }
        }
        let (chosen, ops) = match script.choice {
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
        for _ in 0..self.files.len() {
            let file = self.counts.next_file;
            self.counts.next_file = if file + 1 == self.files.len() { 0 } else { file + 1 };
            if !self.files[file].done {
                return self.opened(script, file);
            }
        }
        Chosen::None
    }

    fn choose_at_random(&mut self, script: &Script) -> Chosen {
        loop {
            let file = match &mut self.draws.file_curve {
                Some(curve) => curve.next(),
                None => (self.files.len() as f64 * self.draws.file.share()) as usize,
            };
            let file = file.min(self.files.len() - 1);
            if !self.files[file].done {
                return self.opened(script, file);
            }
        }
    }

    fn opened(&mut self, script: &Script, file: usize) -> Chosen {
        if !self.files[file].open {
            if self.counts.open_files >= script.open_files {
                return Chosen::Busy;
            }
            self.open(file);
        }
        Chosen::File(file)
    }

    /// An op on this file; `None` where it is at its end.
    #[inline]
    fn fill(&mut self, script: &Script, file: usize) -> Option<Drawn> {
        let kind = match self.kind(script, file) {
            Ok(kind) => kind,
            Err(flush) => return Some(self.flush(flush, file)),
        };
        self.change_zone(script, file, kind);
        let Start { at, by, may_repeat } = self.start(script, file, kind)?;
        let part = script.parts[file];
        let start = self.files[file].start;
        let offset = start.wrapping_add(at);
        if at >= part.length || offset >= part.file_length {
            return None;
        }
        let pairs = script.mix == Mix::TrimWrite && script.is_random();
        let starts = &mut self.files[file].starts;
        if pairs && kind == Kind::Trim && starts[Kind::Trim as usize] == Some(offset) {
            // The same place again: its write is to be told from the one before.
            starts[Kind::Write as usize] = starts[Kind::Write as usize].map(|start| start.wrapping_sub(1));
        }
        let mut length = if pairs && kind == Kind::Write {
            let file = &self.files[file];
            file.starts[Kind::Trim as usize].map_or(0, |trim| file.ends[Kind::Trim as usize] - trim)
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
        if let Cover::Map(map) = &mut self.files[file].cover
            && !may_repeat
        {
            let block = script.sizes[kind as usize].smallest;
            let free = map.mark_run(at / block, length.div_ceil(block)).max(1);
            length = length.min(free * block);
        }
        self.counts.zone_bytes += length;
        let file_state = &mut self.files[file];
        file_state.starts[kind as usize] = Some(offset);
        file_state.ends[kind as usize] = offset + length;
        Some(Drawn::Block { kind, file, offset, length })
    }

    fn flush(&mut self, kind: OpKind, file: usize) -> Drawn {
        let (offset, length) = match (kind, self.files[file].written) {
            (OpKind::SyncRange, None) => {
                self.count_flush(file);
                return Drawn::NoFlush;
            }
            (OpKind::SyncRange, Some(Span { from, to })) => (from, to - from),
            _ => (0, 0),
        };
        Drawn::Flush { kind, file, offset, length }
    }

    /// The kind of the next op, or the flush that comes before it.
    #[inline]
    fn kind(&mut self, script: &Script, file: usize) -> Result<Kind, OpKind> {
        if script.mix == Mix::TrimWrite {
            let [_, write, trim] = self.files[file].starts;
            return Ok(if write == trim { Kind::Trim } else { Kind::Write });
        }
        let writes = self.counts.ops[Kind::Write as usize];
        if script.flushing.amid() && writes > 0 && self.flushes(script) {
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

    /// A read or a write. After a change, the new kind goes on until it has had its share.
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
