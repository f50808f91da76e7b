//! Latencies by the priority of ops. The distributions are in memory shared with the coordinator, and exist only for
//! workers with ops that have their own priority.
#![allow(unsafe_code)]

use crate::recorder::SharedTimes;
use crate::shared::{Shareable, SharedSlice};
use plumb_result::measurement::PriorityMeasurement;
use plumb_workload::OpKind;
use plumb_workload::process::{CommandPriority, IoPriority, OpPriority};
use std::io;

/// Ops of one kind with one priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PriorityClass {
    pub(crate) kind: OpKind,
    /// `None` for the worker's priority.
    pub(crate) priority: Option<IoPriority>,
}

/// Returns all classes of a table. For each kind in the table, ops without their own priority come first.
pub(crate) fn classes(table: &[CommandPriority]) -> Vec<PriorityClass> {
    let mut classes = Vec::new();
    for of in [OpPriority::Read, OpPriority::Write] {
        let kind = kind_of(of);
        // Sorted by size, as in fio's output.
        let mut entries: Vec<&CommandPriority> = table.iter().filter(|entry| entry.of == of).collect();
        entries.sort_by_key(|entry| entry.size);
        let own = (!entries.is_empty()).then_some(None);
        for priority in own.into_iter().chain(entries.iter().map(|entry| Some(entry.priority))) {
            let class = PriorityClass { kind, priority };
            if !classes.contains(&class) {
                classes.push(class);
            }
        }
    }
    classes
}

/// Converts the kind of op in a table.
pub(crate) fn kind_of(of: OpPriority) -> OpKind {
    match of {
        OpPriority::Read => OpKind::Read,
        OpPriority::Write => OpKind::Write,
    }
}

#[repr(C)]
struct ClassTimes {
    service: SharedTimes,
    completion: SharedTimes,
}

// SAFETY: repr(C), only atomics and arrays of them.
unsafe impl Shareable for ClassTimes {}

/// Times of all workers of a phase.
pub(crate) struct PriorityCells {
    times: SharedSlice<ClassTimes>,
    /// By worker: index of its first times, and its classes.
    places: Vec<(usize, Vec<PriorityClass>)>,
}

impl PriorityCells {
    /// Allocates zeroed times for workers with these tables.
    pub(crate) fn new<'a>(tables: impl IntoIterator<Item = &'a [CommandPriority]>) -> io::Result<PriorityCells> {
        let mut count = 0;
        let place = |table: &[CommandPriority]| {
            let classes = classes(table);
            let start = count;
            count += classes.len();
            (start, classes)
        };
        let places = tables.into_iter().map(place).collect();
        Ok(PriorityCells { times: SharedSlice::new(count)?, places })
    }

    fn get(&self, worker: usize) -> Option<(&[ClassTimes], &[PriorityClass])> {
        let (start, classes) = self.places.get(worker)?;
        Some((&self.times[*start..*start + classes.len()], classes))
    }

    /// Returns the writer of one worker; `None` if all of its ops have one class. Only one may exist per worker.
    pub(crate) fn tally(&self, worker: usize) -> Option<PriorityTally<'_>> {
        self.get(worker).filter(|(times, _)| !times.is_empty()).map(|(times, classes)| PriorityTally { times, classes })
    }

    /// Returns the times of a worker's ops of this kind by priority; empty if all have one class.
    pub(crate) fn read(&self, worker: usize, kind: OpKind) -> Vec<PriorityMeasurement> {
        let Some((times, classes)) = self.get(worker) else { return Vec::new() };
        let of_kind = times.iter().zip(classes).filter(|(_, class)| class.kind == kind);
        of_kind
            .map(|(times, class)| {
                let completion = times.completion.read();
                PriorityMeasurement {
                    priority: class.priority,
                    service: times.service.read(),
                    completion: (!completion.is_empty()).then_some(completion),
                }
            })
            .filter(|one| !one.service.is_empty())
            .collect()
    }
}

/// Writer of one worker's times.
#[derive(Clone, Copy)]
pub(crate) struct PriorityTally<'a> {
    times: &'a [ClassTimes],
    classes: &'a [PriorityClass],
}

impl PriorityTally<'_> {
    /// Records a completed op. `completion_ns` counts from the end of its submission, if that is timed. An op of a kind
    /// without classes may have a stale class from its slot; it is ignored.
    pub(crate) fn record(&self, kind: OpKind, class: usize, service_ns: u64, completion_ns: Option<u64>) {
        let (Some(times), true) = (self.times.get(class), self.classes.get(class).is_some_and(|one| one.kind == kind))
        else {
            return;
        };
        times.service.add(service_ns);
        if let Some(completion_ns) = completion_ns {
            times.completion.add(completion_ns);
        }
    }

    /// Resets all times.
    pub(crate) fn forget(&self) {
        for times in self.times {
            times.service.forget();
            times.completion.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::Bytes;

    fn entry(of: OpPriority, size: u64, level: u8) -> CommandPriority {
        let priority = IoPriority { class: 1, level, hint: 0 };
        CommandPriority { of, size: Some(Bytes(size)), percent: 50, priority }
    }

    // Protects the report: each priority appears once, ops without their own priority come first, and times before
    // the measured time are reset.
    #[test]
    fn times_are_by_priority() {
        let table =
            [entry(OpPriority::Read, 8192, 3), entry(OpPriority::Read, 4096, 5), entry(OpPriority::Read, 512, 3)];
        let levels: Vec<Option<u8>> = classes(&table).iter().map(|class| class.priority.map(|one| one.level)).collect();
        assert_eq!(levels, [None, Some(3), Some(5)]);
        let cells = PriorityCells::new([&[][..], &table]).unwrap();
        assert!(cells.tally(0).is_none() && cells.tally(2).is_none());
        let tally = cells.tally(1).unwrap();
        tally.record(OpKind::Read, 1, 9, None);
        tally.forget();
        tally.record(OpKind::Read, 0, 7, Some(5));
        tally.record(OpKind::Fsync, 0, 700, None);
        tally.record(OpKind::Read, 2, 70, Some(50));
        tally.record(OpKind::Read, 2, 71, Some(51));
        let read = cells.read(1, OpKind::Read);
        let found: Vec<(Option<u8>, u64, Option<u64>)> = read
            .iter()
            .map(|one| (one.priority.map(|one| one.level), one.service.count(), one.service.min()))
            .collect();
        assert_eq!(found, [(None, 1, Some(7)), (Some(5), 2, Some(70))]);
        assert_eq!(read[1].completion.as_ref().unwrap().max(), Some(51));
        assert!(cells.read(1, OpKind::Write).is_empty() && cells.read(0, OpKind::Read).is_empty());
    }
}
