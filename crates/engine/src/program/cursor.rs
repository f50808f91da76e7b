//! Progress through a transfer: the next record, and its seeks.

use super::op::{Call, CallOp, RecordPart};
use super::shuffle::{shuffled, shuffled_by_seed};
use crate::op::Seek;
use crate::rng::splitmix64;
use plumb_workload::OpKind;
use plumb_workload::program::{
    Detours, ListedRecord, Moves, Pauses, RecordOrder, SegmentOrder, Segments, Transfer, Via, Wall,
};
use std::time::{Duration, Instant};

/// A transfer with its computed order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TransferPlan {
    read: Call,
    write: Call,
    does: Moves,
    /// Template of its ops.
    op: CallOp,
    count: u64,
    order: RecordWalk,
    /// Whether seeks are separate calls; otherwise each op contains its offset.
    seeks: bool,
    /// Whether each record is one op of equal length, with nothing in between.
    is_plain: bool,
    flushes: bool,
    pauses: Option<Pauses>,
    spacing_ns: Option<u64>,
    detours: Option<Detours>,
    wall: Option<Wall>,
    repeats_for: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq)]
enum RecordWalk {
    /// Equal distances between consecutive records.
    Even {
        first: u64,
        step: i64,
        before_first: Seek,
        after: Seek,
    },
    Strided(u64),
    Shuffled(Vec<u32>),
    Listed(Vec<ListedRecord>),
    Segments {
        segments: Segments,
        /// Number of records in a block.
        each: u64,
        /// Order of the records in a block; empty for ascending order.
        shuffled: Vec<u32>,
    },
}

/// Progress of a transfer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cursor {
    done: u64,
    /// The next record of a strided order, and the number of completed rounds.
    strided: u64,
    rounds: u64,
    /// The write of a rewrite, after its read.
    write_back: Option<CallOp>,
    /// The flush after a write.
    flush: Option<CallOp>,
    /// The pause after a record, ns.
    pause_ns: u64,
    /// Start of the current record, if records keep a distance in time.
    began: Option<Instant>,
    /// Completed steps of the current detour.
    detour: usize,
    /// Number of records, once a wall has determined it.
    until: Option<u64>,
}

impl Cursor {
    /// Returns the number of records begun.
    pub(super) fn done(&self) -> u64 {
        self.done
    }

    /// Returns the number of records that a wall allows, once it is known.
    pub(super) fn until(&self) -> Option<u64> {
        self.until
    }

    pub(super) fn ends_at(&mut self, records: u64) {
        self.until = Some(records);
    }

    /// Returns `true` if the current record has ops left.
    pub(super) fn is_within(&self) -> bool {
        self.write_back.is_some() || self.flush.is_some()
    }
}

impl TransferPlan {
    pub(super) fn new(transfer: &Transfer, rules: u16) -> TransferPlan {
        let (read, write) = match transfer.via {
            Via::Plain => (Call::Read, Call::Write),
            Via::Positioned => (Call::ReadAt, Call::WriteAt),
            Via::Stdio => (Call::StreamRead, Call::StreamWrite),
            Via::Characters => (Call::GetCharacters, Call::PutCharacters),
            Via::UnlockedCharacters => (Call::GetCharactersUnlocked, Call::PutCharactersUnlocked),
            Via::Bytes => (Call::ReadBytes, Call::WriteBytes),
            Via::Mapped { .. } => (Call::Load, Call::Store),
            Via::PosixAio { .. } => (Call::AioRead, Call::AioWrite),
            Via::KernelAio { .. } => (Call::KernelAioRead, Call::KernelAioWrite),
            Via::Mpi { .. } => (Call::MpiRead, Call::MpiWrite),
        };
        let length = transfer.record.0;
        let distance = length as i64;
        let order = match &transfer.order {
            RecordOrder::Forward => {
                RecordWalk::Even { first: 0, step: distance, before_first: Seek::None, after: Seek::None }
            }
            RecordOrder::Backward => RecordWalk::Even {
                first: transfer.count.saturating_sub(1) * length,
                step: -distance,
                before_first: Seek::FromEnd(-distance),
                after: Seek::By(-2 * distance),
            },
            RecordOrder::Same => RecordWalk::Even { first: 0, step: 0, before_first: Seek::None, after: Seek::To(0) },
            RecordOrder::Strided { records } => RecordWalk::Strided(*records),
            RecordOrder::Shuffled(shuffle) => RecordWalk::Shuffled(shuffled(*shuffle, transfer.count)),
            RecordOrder::Listed(records) => RecordWalk::Listed(records.clone()),
            RecordOrder::Segments(segments) => {
                let each = (segments.block.0 / length.max(1)).max(1);
                let shuffled = match segments.order {
                    SegmentOrder::Shuffled { seed } => shuffled_by_seed(seed, each),
                    _ => Vec::new(),
                };
                RecordWalk::Segments { segments: *segments, each, shuffled }
            }
        };
        let count = if let RecordWalk::Listed(records) = &order { records.len() as u64 } else { transfer.count };
        let (kind, call) = match transfer.does {
            Moves::Read | Moves::Rewrite => (OpKind::Read, read),
            Moves::Write => (OpKind::Write, write),
        };
        let is_bare = matches!(call, Call::Read | Call::Write | Call::ReadAt | Call::WriteAt) && !transfer.locks;
        let comes_between = transfer.pauses.is_some() || transfer.spacing.is_some() || transfer.detours.is_some();
        let is_plain = transfer.does != Moves::Rewrite
            && !(transfer.flushes || comes_between)
            && transfer.wall.is_none()
            && !matches!(order, RecordWalk::Listed(_));
        let op =
            CallOp { handle: transfer.handle, is_bare: is_bare && is_plain, rules, length, ..CallOp::new(kind, call) };
        TransferPlan {
            read,
            write,
            does: transfer.does,
            op,
            count,
            order,
            is_plain,
            seeks: !matches!(
                transfer.via,
                Via::Positioned | Via::Mapped { .. } | Via::PosixAio { .. } | Via::KernelAio { .. } | Via::Mpi { .. }
            ),
            flushes: transfer.flushes,
            pauses: transfer.pauses,
            spacing_ns: transfer.spacing.map(|spacing| spacing.0),
            detours: transfer.detours.clone(),
            wall: transfer.wall,
            repeats_for: transfer.repeats_for.map(|time| Duration::from_nanos(time.0)),
        }
    }

    /// Returns the wall at which all workers stop.
    pub(super) fn wall(&self) -> Option<Wall> {
        self.wall
    }

    /// Returns how long the transfer repeats after its last record.
    #[inline(always)]
    pub(super) fn repeats_for(&self) -> Option<Duration> {
        self.repeats_for
    }

    /// Returns the number of records.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the next step of the detour before the current record; `None` at its end, or without a detour.
    fn detour(&self, cursor: &mut Cursor) -> Option<CallOp> {
        let detours = self.detours.as_ref().filter(|detours| cursor.done.is_multiple_of(detours.every.max(1)))?;
        let handle = self.op.handle;
        let step = cursor.detour;
        cursor.detour += 1;
        if step == 0 {
            return Some(CallOp { handle, ..CallOp::new(OpKind::Seek, Call::Tell) });
        }
        let Some(to) = detours.to.get(step - 1) else {
            cursor.detour = 0;
            return None;
        };
        let is_last = step == detours.to.len();
        // Records of a mapping leave the file's own position at its beginning.
        let place = if self.seeks { cursor.done * self.op.length } else { 0 };
        Some(CallOp {
            handle,
            offset: to.0,
            length: 1,
            seek_before: Seek::To(to.0),
            seek_after: if is_last { Seek::To(place) } else { Seek::None },
            ..CallOp::new(OpKind::Read, Call::Read)
        })
    }

    /// Returns the next op; `None` after the last.
    #[inline]
    pub(super) fn next(&self, cursor: &mut Cursor) -> Option<CallOp> {
        if self.is_plain { self.next_plain(cursor) } else { self.next_part(cursor) }
    }

    /// Returns the next op after the first one, if all ops have the same kind and length and nothing comes in between.
    #[inline(always)]
    pub(super) fn next_alike(&self, cursor: &mut Cursor) -> Option<CallOp> {
        if self.is_plain && cursor.done > 0 { self.next_plain(cursor) } else { None }
    }

    #[inline(always)]
    fn next_plain(&self, cursor: &mut Cursor) -> Option<CallOp> {
        if cursor.done >= self.count {
            return None;
        }
        let place = self.place(cursor);
        cursor.done += 1;
        Some(self.at(place, cursor.done == self.count))
    }

    /// Returns the next op of a transfer whose records may take several ops.
    fn next_part(&self, cursor: &mut Cursor) -> Option<CallOp> {
        if let Some(op) = cursor.write_back.take().or_else(|| cursor.flush.take()) {
            return Some(op);
        }
        if let (Some(spacing_ns), Some(began)) = (self.spacing_ns, cursor.began.take()) {
            cursor.pause_ns += spacing_ns.saturating_sub(began.elapsed().as_nanos() as u64);
        }
        if cursor.pause_ns > 0 {
            let length = std::mem::take(&mut cursor.pause_ns);
            return Some(CallOp { length, ..CallOp::new(OpKind::Delay, Call::Pause) });
        }
        if cursor.done >= cursor.until.unwrap_or(self.count) {
            return None;
        }
        if let Some(op) = self.detour(cursor) {
            return Some(op);
        }
        let place = self.place(cursor);
        let (length, does) = match &self.order {
            RecordWalk::Listed(records) => {
                let record = records[cursor.done as usize];
                cursor.pause_ns = record.pause.0;
                (record.length.0, record.does.unwrap_or(self.does))
            }
            _ => (self.op.length, self.does),
        };
        cursor.done += 1;
        cursor.began = self.spacing_ns.map(|_| Instant::now());
        if let Some(pauses) = self.pauses
            && cursor.done.is_multiple_of(pauses.every.max(1))
        {
            cursor.pause_ns += pauses.time.0;
        }
        let (kind, call) = match does {
            Moves::Read | Moves::Rewrite => (OpKind::Read, self.read),
            Moves::Write => (OpKind::Write, self.write),
        };
        let op = CallOp { kind, call, length, ..self.at(place, cursor.done == self.count) };
        let flushes = self.flushes && does.writes();
        if flushes {
            let fsync = CallOp::new(OpKind::Fsync, Call::Fsync);
            cursor.flush = Some(CallOp { handle: op.handle, part: RecordPart::Last, ..fsync });
        }
        if does != Moves::Rewrite {
            return Some(CallOp { part: if flushes { RecordPart::First } else { RecordPart::Whole }, ..op });
        }
        let back = match (&self.order, self.seeks) {
            (_, false) => Seek::None,
            (RecordWalk::Even { step, .. }, true) if *step != 0 => Seek::By(-(length as i64)),
            (_, true) => Seek::To(op.offset),
        };
        let part = if flushes { RecordPart::Inner } else { RecordPart::Last };
        cursor.write_back = Some(CallOp { kind: OpKind::Write, call: self.write, seek_before: back, part, ..op });
        Some(CallOp { seek_after: Seek::None, is_last: false, part: RecordPart::First, ..op })
    }

    /// Returns the op of the record at a place.
    #[inline(always)]
    fn at(&self, place: Place, is_last: bool) -> CallOp {
        let (seek_before, seek_after) = if self.seeks { (place.before, place.after) } else { (Seek::None, Seek::None) };
        CallOp { offset: place.offset, is_last, seek_before, seek_after, ..self.op }
    }

    /// Returns the place of the current record, and the seeks around it.
    #[inline(always)]
    fn place(&self, cursor: &mut Cursor) -> Place {
        let (number, length) = (cursor.done, self.op.length);
        let at = |offset: u64| Place { offset, before: Seek::None, after: Seek::None };
        match &self.order {
            RecordWalk::Even { first, step, before_first, after } => {
                let offset = first.wrapping_add_signed(step.wrapping_mul(number as i64));
                Place { offset, before: if number == 0 { *before_first } else { Seek::None }, after: *after }
            }
            RecordWalk::Strided(records) => {
                let here = cursor.strided;
                cursor.strided = if here + 1 + records >= self.count.saturating_sub(1) {
                    cursor.rounds += 1;
                    if self.count <= *records { 0 } else { cursor.rounds % self.count }
                } else {
                    here + records
                };
                Place { after: Seek::To(cursor.strided * length), ..at(here * length) }
            }
            RecordWalk::Shuffled(order) => {
                let offset = u64::from(order[number as usize]) * length;
                Place { before: Seek::To(offset), ..at(offset) }
            }
            RecordWalk::Segments { segments, each, shuffled } => {
                let (segment, within) = (number / each, number % each);
                let within = shuffled.get(within as usize).map_or(within, |&record| record.into());
                let begins = match segments.order {
                    SegmentOrder::Anywhere { seed, blocks } => {
                        splitmix64(seed.wrapping_add(segment)) % blocks.max(1) * segments.block.0
                    }
                    _ => segments.first.0 + segment * segments.stride.0,
                };
                let offset = begins + within * length;
                Place { before: Seek::To(offset), ..at(offset) }
            }
            RecordWalk::Listed(records) => {
                let offset = records[number as usize].offset.0;
                Place { before: Seek::To(offset), ..at(offset) }
            }
        }
    }
}

/// Position of a record.
#[derive(Debug, Clone, Copy)]
struct Place {
    offset: u64,
    before: Seek,
    after: Seek,
}
