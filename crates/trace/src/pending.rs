//! Ops in flight. They are passed on in the order of their start times, each after its end is known.

use crate::record::{Record, UNKNOWN_NS, flag};
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of records held back. Above it the oldest is passed on without an end, which bounds memory.
const HELD_MAX: usize = 1 << 16;

/// Refers to a waiting record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

/// State of a waiting place.
#[derive(Debug)]
enum Slot {
    /// A record whose end is known, or that needs none.
    Ended(Record),
    /// A record whose end is still to come.
    Begun(Record),
    /// Reserved for an op that has begun.
    Reserved,
    /// The reservation was not used.
    Empty,
}

/// Records ordered by start time.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    queue: VecDeque<Slot>,
    passed_on: u64,
    /// Whether the input has ended: the remaining records are passed on without an end.
    closed: bool,
}

impl Pending {
    fn push(&mut self, slot: Slot) -> Ticket {
        self.queue.push_back(slot);
        Ticket(self.passed_on + self.queue.len() as u64 - 1)
    }

    fn slot(&mut self, ticket: Ticket) -> Option<&mut Slot> {
        let place = usize::try_from(ticket.0.checked_sub(self.passed_on)?).ok()?;
        self.queue.get_mut(place)
    }

    /// Adds a record whose end is known, or that needs none.
    pub(crate) fn whole(&mut self, record: Record) {
        self.push(Slot::Ended(record));
    }

    /// Adds a record whose end is still to come.
    pub(crate) fn begun(&mut self, record: Record) -> Ticket {
        self.push(Slot::Begun(record))
    }

    /// Reserves a place for a record.
    pub(crate) fn reserve(&mut self) -> Ticket {
        self.push(Slot::Reserved)
    }

    /// Fills a reserved place. If it waited too long, the record is appended late.
    pub(crate) fn fill(&mut self, ticket: Ticket, record: Option<Record>) {
        let filled = record.map_or(Slot::Empty, Slot::Ended);
        match self.slot(ticket) {
            Some(slot) => *slot = filled,
            None => drop(self.push(filled)),
        }
    }

    /// Returns the waiting record, to be completed; `None` if it was passed on already.
    pub(crate) fn ended(&mut self, ticket: Ticket) -> Option<&mut Record> {
        let slot = self.slot(ticket)?;
        if let Slot::Begun(record) = slot {
            *slot = Slot::Ended(*record);
        }
        match slot {
            Slot::Ended(record) => Some(record),
            _ => None,
        }
    }

    /// Ends the input: no more ends will come.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// Returns the next record if it is ready.
    pub(crate) fn next(&mut self) -> Option<Record> {
        loop {
            let waits = matches!(self.queue.front()?, Slot::Begun(_) | Slot::Reserved);
            if waits && !self.closed && self.queue.len() <= HELD_MAX {
                return None;
            }
            let slot = self.queue.pop_front()?;
            self.passed_on += 1;
            match slot {
                Slot::Ended(record) => return Some(record),
                Slot::Begun(record) => {
                    return Some(Record { took_ns: UNKNOWN_NS, flags: record.flags | flag::UNFINISHED, ..record });
                }
                Slot::Reserved | Slot::Empty => {}
            }
        }
    }
}

/// Block requests in flight. The block layer merges and splits requests between the queue and the device, so a
/// completion ends every request whose end it reaches.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    /// Requests by device, first sector and sequence.
    requests: BTreeMap<(u32, u64, u64), (u64, Ticket)>,
    count: u64,
}

impl InFlight {
    /// Adds a request of a device for these bytes.
    pub(crate) fn begin(&mut self, device: u32, from: u64, to: u64, ticket: Ticket) {
        // Drop the oldest: a request whose end was lost must not stay forever.
        if self.requests.len() >= HELD_MAX {
            self.requests.pop_first();
        }
        self.requests.insert((device, from, self.count), (to, ticket));
        self.count += 1;
    }

    /// Completes these bytes of a device at this time.
    pub(crate) fn end(&mut self, device: u32, from: u64, to: u64, at_ns: u64, error: i64, pending: &mut Pending) {
        let before = self.requests.range((device, 0, 0)..(device, from, 0)).next_back();
        let first = before.filter(|(_, (end, _))| *end > from).map_or((device, from, 0), |(key, _)| *key);
        let done: Vec<_> = self
            .requests
            .range(first..(device, to, 0))
            .filter(|(_, (end, _))| *end <= to)
            .map(|(key, (_, ticket))| (*key, *ticket))
            .collect();
        for (key, ticket) in done {
            self.requests.remove(&key);
            if let Some(record) = pending.ended(ticket) {
                record.took_ns = at_ns.saturating_sub(record.at_ns);
                if error != 0 {
                    record.result = -error.abs();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RecordedAct;

    fn write(at_ns: u64, offset: u64, length: u64) -> Record {
        Record::ranged(at_ns, 0, RecordedAct::Write, offset, length)
    }

    #[test]
    fn records_are_sorted_by_start_time() {
        let mut pending = Pending::default();
        let first = pending.begun(write(1, 0, 1));
        pending.whole(write(2, 1, 1));
        assert_eq!(pending.next(), None);
        pending.ended(first).unwrap().took_ns = 7;
        assert_eq!(pending.next().map(|record| (record.at_ns, record.took_ns)), Some((1, 7)));
        assert_eq!(pending.next().map(|record| record.at_ns), Some(2));
        assert_eq!(pending.ended(first), None, "it was passed on");
    }

    #[test]
    fn unfinished_records_are_passed_on_and_marked() {
        let mut pending = Pending::default();
        pending.begun(write(1, 0, 1));
        pending.close();
        assert_eq!(pending.next().map(|record| record.flags), Some(flag::UNFINISHED));
        for number in 0..=HELD_MAX as u64 {
            pending.begun(write(number, 0, 1));
        }
        let mut open = Pending { closed: false, ..pending };
        assert!(open.next().is_some() && open.next().is_none(), "memory is limited");
    }

    /// Two requests merged into one, and one split into two.
    #[test]
    fn a_completion_ends_all_requests_that_it_covers() {
        let (mut pending, mut in_flight) = (Pending::default(), InFlight::default());
        for (at_ns, from, to) in [(0, 0, 8), (1, 8, 16), (2, 100, 200)] {
            let ticket = pending.begun(write(at_ns, from, to - from));
            in_flight.begin(7, from, to, ticket);
        }
        in_flight.end(7, 0, 16, 10, 0, &mut pending);
        in_flight.end(7, 100, 150, 20, 0, &mut pending);
        let took = |pending: &mut Pending| pending.next().map(|record| record.took_ns);
        assert_eq!((took(&mut pending), took(&mut pending), took(&mut pending)), (Some(10), Some(9), None));
        in_flight.end(7, 150, 200, 32, 5, &mut pending);
        let last = pending.next().unwrap();
        assert_eq!((last.took_ns, last.result), (30, -5));
        assert!(in_flight.requests.is_empty());
    }
}
