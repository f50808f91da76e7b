//! The way through a transfer: which record is next, and with which seeks.

use super::op::{Call, CallOp, Part, Seek};
use super::shuffle::shuffled;
use plumb_workload::OpKind;
use plumb_workload::script::{Detours, ListedRecord, Moves, Pauses, RecordOrder, Transfer, Via};
use std::time::Instant;

/// A transfer with its order reckoned.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TransferPlan {
    read: Call,
    write: Call,
    does: Moves,
    handle: u8,
    rules: u16,
    record_bytes: u64,
    count: u64,
    order: Order,
    /// Seeks are calls of their own; else each op says where it goes.
    seeks: bool,
    flushes: bool,
    pauses: Option<Pauses>,
    spacing_ns: Option<u64>,
    detours: Option<Detours>,
}

#[derive(Debug, Clone, PartialEq)]
enum Order {
    Forward,
    Backward,
    Strided(u64),
    Shuffled(Vec<u32>),
    Same,
    Listed(Vec<ListedRecord>),
}

/// How far a transfer has come.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cursor {
    done: u64,
    /// The next record of a strided order, and how often it went round.
    strided: u64,
    rounds: u64,
    /// The other half of a rewrite.
    write_back: Option<CallOp>,
    /// The flush of what was written.
    flush: Option<CallOp>,
    /// The pause behind what was done, ns.
    pause_ns: u64,
    /// When the record at hand began, where records keep a distance.
    began: Option<Instant>,
    /// Steps made of the detour at hand.
    detour: usize,
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
        };
        let order = match &transfer.order {
            RecordOrder::Forward => Order::Forward,
            RecordOrder::Backward => Order::Backward,
            RecordOrder::Strided { records } => Order::Strided(*records),
            RecordOrder::Shuffled(shuffle) => Order::Shuffled(shuffled(*shuffle, transfer.count)),
            RecordOrder::Same => Order::Same,
            RecordOrder::Listed(records) => Order::Listed(records.clone()),
        };
        let count = if let Order::Listed(records) = &order { records.len() as u64 } else { transfer.count };
        TransferPlan {
            read,
            write,
            does: transfer.does,
            handle: transfer.handle,
            rules,
            record_bytes: transfer.record.0,
            count,
            order,
            seeks: !matches!(transfer.via, Via::Positioned | Via::Mapped { .. } | Via::PosixAio { .. }),
            flushes: transfer.flushes,
            pauses: transfer.pauses,
            spacing_ns: transfer.spacing.map(|spacing| spacing.0),
            detours: transfer.detours.clone(),
        }
    }

    /// The next step of the detour ahead of the record at hand; `None` where it is over, or where there is none.
    #[inline]
    fn detour(&self, cursor: &mut Cursor) -> Option<CallOp> {
        let detours = self.detours.as_ref().filter(|detours| cursor.done.is_multiple_of(detours.every.max(1)))?;
        let step = cursor.detour;
        cursor.detour += 1;
        if step == 0 {
            return Some(CallOp { handle: self.handle, ..CallOp::of(OpKind::Seek, Call::Tell) });
        }
        let Some(to) = detours.to.get(step - 1) else {
            cursor.detour = 0;
            return None;
        };
        let is_last = step == detours.to.len();
        Some(CallOp {
            handle: self.handle,
            offset: to.0,
            length: 1,
            seek_before: Seek::To(to.0),
            seek_after: if is_last { Seek::To(cursor.done * self.record_bytes) } else { Seek::None },
            ..CallOp::of(OpKind::Read, self.read)
        })
    }

    /// The next op; `None` behind the last.
    #[inline]
    pub(super) fn next(&self, cursor: &mut Cursor) -> Option<CallOp> {
        if let Some(op) = cursor.write_back.take().or_else(|| cursor.flush.take()) {
            return Some(op);
        }
        if let (Some(spacing_ns), Some(began)) = (self.spacing_ns, cursor.began.take()) {
            cursor.pause_ns += spacing_ns.saturating_sub(began.elapsed().as_nanos() as u64);
        }
        if cursor.pause_ns > 0 {
            let length = std::mem::take(&mut cursor.pause_ns);
            return Some(CallOp { length, ..CallOp::of(OpKind::Delay, Call::Pause) });
        }
        if cursor.done >= self.count {
            return None;
        }
        if let Some(op) = self.detour(cursor) {
            return Some(op);
        }
        let place = self.place(cursor);
        cursor.done += 1;
        cursor.began = self.spacing_ns.map(|_| Instant::now());
        if let Some(pauses) = self.pauses
            && cursor.done.is_multiple_of(pauses.every.max(1))
        {
            cursor.pause_ns += pauses.time.0;
        }
        let is_last = cursor.done == self.count;
        let (before, after) = if self.seeks { (place.before, place.after) } else { (Seek::None, Seek::None) };
        let does = place.does;
        let (kind, call) = match does {
            Moves::Read | Moves::Rewrite => (OpKind::Read, self.read),
            Moves::Write => (OpKind::Write, self.write),
        };
        let op = CallOp {
            kind,
            call,
            handle: self.handle,
            is_last,
            rules: self.rules,
            file: 0,
            other: 0,
            offset: place.offset,
            length: place.length,
            seek_before: before,
            seek_after: after,
            part: Part::Whole,
        };
        let flushes = self.flushes && does.writes();
        if flushes {
            cursor.flush =
                Some(CallOp { handle: self.handle, part: Part::Last, ..CallOp::of(OpKind::Fsync, Call::Fsync) });
        }
        if does != Moves::Rewrite {
            return Some(CallOp { part: if flushes { Part::First } else { Part::Whole }, ..op });
        }
        let back = match (&self.order, self.seeks) {
            (_, false) => Seek::None,
            (Order::Forward | Order::Backward, true) => Seek::By(-(place.length as i64)),
            (_, true) => Seek::To(place.offset),
        };
        let part = if flushes { Part::Inner } else { Part::Last };
        cursor.write_back = Some(CallOp { kind: OpKind::Write, call: self.write, seek_before: back, part, ..op });
        Some(CallOp { seek_after: Seek::None, is_last: false, part: Part::First, ..op })
    }

    #[inline]
    fn place(&self, cursor: &mut Cursor) -> Place {
        let (number, length) = (cursor.done, self.record_bytes);
        let at = |offset: u64| Place { offset, length, before: Seek::None, after: Seek::None, does: self.does };
        match &self.order {
            Order::Forward => at(number * length),
            Order::Backward => Place {
                before: if number == 0 { Seek::FromEnd(-(length as i64)) } else { Seek::None },
                after: Seek::By(-2 * length as i64),
                ..at((self.count - 1 - number) * length)
            },
            Order::Strided(records) => {
                let here = cursor.strided;
                cursor.strided = if here + 1 + records >= self.count.saturating_sub(1) {
                    cursor.rounds += 1;
                    if self.count <= *records { 0 } else { cursor.rounds % self.count }
                } else {
                    here + records
                };
                Place { after: Seek::To(cursor.strided * length), ..at(here * length) }
            }
            Order::Shuffled(order) => {
                let offset = u64::from(order[number as usize]) * length;
                Place { before: Seek::To(offset), ..at(offset) }
            }
            Order::Same => Place { after: Seek::To(0), ..at(0) },
            Order::Listed(records) => {
                let record = records[number as usize];
                cursor.pause_ns = record.pause.0;
                let does = record.does.unwrap_or(self.does);
                Place { length: record.length.0, before: Seek::To(record.offset.0), does, ..at(record.offset.0) }
            }
        }
    }
}

/// Where a record lies.
#[derive(Debug, Clone, Copy)]
struct Place {
    offset: u64,
    length: u64,
    before: Seek,
    after: Seek,
    does: Moves,
}
