//! Tracks which write left which bytes, for jobs whose overlapping writes stamps alone cannot explain.

use crate::op::BlockOp;
use std::collections::{BTreeMap, HashMap};

/// The write that each byte of the files belongs to.
#[derive(Debug, Default)]
pub(super) struct Writes {
    files: HashMap<u32, BTreeMap<u64, WrittenExtent>>,
    /// The write in flight in each slot.
    in_flight: Vec<Option<WriteInFlight>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WrittenExtent {
    end: u64,
    owner: ExtentOwner,
}

/// The write that an extent belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExtentOwner {
    /// The write with this number.
    Write(u32),
    /// Unknown: two writes were in flight together, or one failed.
    Unknown,
}

#[derive(Debug, Clone, Copy)]
struct WriteInFlight {
    file: u32,
    start: u64,
    end: u64,
}

impl Writes {
    pub(super) fn new(in_flight_max: usize) -> Writes {
        Writes { files: HashMap::new(), in_flight: vec![None; in_flight_max.max(1)] }
    }

    /// Records a write that is about to be issued in `slot`.
    pub(super) fn issue(&mut self, slot: usize, op: &BlockOp) {
        let flight = WriteInFlight { file: op.file, start: op.offset, end: op.offset + u64::from(op.length) };
        if slot >= self.in_flight.len() {
            self.in_flight.resize(slot + 1, None);
        }
        // The slot is reused, but its last write did not complete: that write failed.
        if let Some(failed) = self.in_flight[slot].take() {
            self.claim(failed, ExtentOwner::Unknown);
        }
        self.claim(flight, ExtentOwner::Write(op.number));
        for other in 0..self.in_flight.len() {
            let Some(other) = self.in_flight[other] else { continue };
            let (start, end) = (other.start.max(flight.start), other.end.min(flight.end));
            if other.file == flight.file && start < end {
                self.claim(WriteInFlight { start, end, ..flight }, ExtentOwner::Unknown);
            }
        }
        self.in_flight[slot] = Some(flight);
    }

    /// Records the completion of the write in `slot`.
    pub(super) fn complete(&mut self, slot: usize) {
        if let Some(flight) = self.in_flight.get_mut(slot) {
            *flight = None;
        }
    }

    /// Forgets the owner of a trimmed range.
    pub(super) fn forget(&mut self, op: &BlockOp) {
        let flight = WriteInFlight { file: op.file, start: op.offset, end: op.offset + u64::from(op.length) };
        self.claim(flight, ExtentOwner::Unknown);
    }

    /// Returns `true` if all of these bytes belong to write `number`.
    pub(super) fn owns(&self, file: u32, start: u64, end: u64, number: u32) -> bool {
        let Some(extents) = self.files.get(&file) else { return false };
        let first = extents.range(..=start).next_back().map(|(at, _)| *at).unwrap_or(start);
        let mut at = start;
        for (from, extent) in extents.range(first..end).filter(|(_, extent)| extent.end > start) {
            if *from > at || extent.owner != ExtentOwner::Write(number) {
                return at >= end;
            }
            at = at.max(extent.end);
        }
        at >= end
    }

    fn claim(&mut self, flight: WriteInFlight, owner: ExtentOwner) {
        let WriteInFlight { file, start, end } = flight;
        if start >= end {
            return;
        }
        let extents = self.files.entry(file).or_default();
        // An extent that begins before the range and reaches into it.
        if let Some((_, before)) = extents.range_mut(..start).next_back()
            && before.end > start
        {
            let rest = *before;
            before.end = start;
            if rest.end > end {
                extents.insert(end, rest);
            }
        }
        while let Some((&from, &extent)) = extents.range(start..end).next() {
            extents.remove(&from);
            if extent.end > end {
                extents.insert(end, extent);
            }
        }
        extents.insert(start, WrittenExtent { end, owner });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::BlockOp;
    use plumb_workload::OpKind;
    use proptest::prelude::*;

    fn write(file: u32, offset: u64, length: u32, number: u32) -> BlockOp {
        BlockOp { number, ..BlockOp::load(OpKind::Write, file, offset, length) }
    }

    fn done(writes: &mut Writes, op: BlockOp) {
        writes.issue(0, &op);
        writes.complete(0);
    }

    #[test]
    fn later_writes_own_exactly_what_they_cover() {
        let mut writes = Writes::new(1);
        done(&mut writes, write(0, 0, 100, 0));
        done(&mut writes, write(0, 40, 20, 1));
        assert!(writes.owns(0, 0, 40, 0) && writes.owns(0, 40, 60, 1) && writes.owns(0, 60, 100, 0));
        assert!(!writes.owns(0, 0, 100, 0) && !writes.owns(0, 0, 41, 0) && !writes.owns(0, 59, 61, 0));
        assert!(!writes.owns(1, 0, 40, 0), "another file");
        done(&mut writes, write(0, 30, 200, 2));
        assert!(writes.owns(0, 30, 230, 2) && !writes.owns(0, 30, 231, 2));
    }

    #[test]
    fn concurrent_writes_leave_an_unknown_owner() {
        let mut writes = Writes::new(2);
        writes.issue(0, &write(0, 0, 100, 0));
        writes.issue(1, &write(0, 50, 100, 1));
        writes.complete(0);
        writes.complete(1);
        assert!(writes.owns(0, 0, 50, 0) && writes.owns(0, 100, 150, 1));
        assert!(!writes.owns(0, 50, 100, 0) && !writes.owns(0, 50, 100, 1));
    }

    #[test]
    fn a_failed_write_leaves_nothing_to_verify() {
        let mut writes = Writes::new(1);
        done(&mut writes, write(0, 0, 100, 0));
        writes.issue(0, &write(0, 0, 50, 1));
        done(&mut writes, write(0, 500, 50, 2));
        assert!(!writes.owns(0, 0, 50, 0) && !writes.owns(0, 0, 50, 1) && writes.owns(0, 50, 100, 0));
    }

    proptest! {
        #[test]
        fn every_byte_belongs_to_its_last_write(ops in prop::collection::vec((0u64..300, 1u32..80), 1..60)) {
            let mut writes = Writes::new(1);
            let mut bytes = [None; 400];
            for (number, &(offset, length)) in ops.iter().enumerate() {
                done(&mut writes, write(0, offset, length, number as u32));
                bytes[offset as usize..][..length as usize].fill(Some(number as u32));
            }
            for (number, &(offset, length)) in ops.iter().enumerate() {
                let range = offset as usize..offset as usize + length as usize;
                let all = bytes[range].iter().all(|owner| *owner == Some(number as u32));
                prop_assert_eq!(writes.owns(0, offset, offset + u64::from(length), number as u32), all);
            }
        }
    }
}
