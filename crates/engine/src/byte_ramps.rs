//! Ramps that last until this many bytes are moved: the coordinator looks, and the workers count nothing for it.

use crate::barrier::PhaseMemory;
use crate::clock::{Clock, Ticks};
use crate::plan::GroupRun;

/// Between two looks.
const LOOK_NS: u64 = 10_000_000;

/// Watches over the ramps of a phase.
pub(crate) struct ByteRamps {
    clock: Clock,
    watches: Vec<RampWatch>,
}

/// The ramp of one group.
struct RampWatch {
    bytes: u64,
    /// It is over then at the latest, after the worker's start; 0 where it has no time.
    time_ns: u64,
    /// Whose bytes count.
    counted: Vec<usize>,
    /// Whose ramp lasts.
    lasts: Vec<usize>,
}

impl ByteRamps {
    /// Of these groups, and workers that belong to them.
    pub(crate) fn new(clock: Clock, groups: &[GroupRun], group_of: &[usize]) -> ByteRamps {
        let of_groups = |wanted: &[usize]| -> Vec<usize> {
            group_of.iter().enumerate().filter(|(_, group)| wanted.contains(group)).map(|(worker, _)| worker).collect()
        };
        let watches = groups.iter().enumerate().filter_map(|(number, group)| {
            let until = group.ramp_until.as_ref()?;
            Some(RampWatch {
                bytes: until.bytes,
                time_ns: group.ramp_ns,
                counted: of_groups(&until.together),
                lasts: of_groups(&[number]),
            })
        });
        ByteRamps { clock, watches: watches.collect() }
    }

    /// When to look again.
    pub(crate) fn next_at(&self, now: Ticks) -> Option<Ticks> {
        let any = self.watches.iter().any(|watch| !watch.lasts.is_empty());
        any.then(|| now + self.clock.ticks(LOOK_NS))
    }

    /// Ends the ramps that are over.
    pub(crate) fn look(&mut self, memory: &PhaseMemory, now: Ticks) {
        for watch in self.watches.iter_mut().filter(|watch| !watch.lasts.is_empty()) {
            let moved =
                watch.counted.iter().fold(0u64, |sum, &worker| sum.saturating_add(memory.cells.ramp_bytes(worker)));
            let enough = moved >= watch.bytes;
            let time = self.clock.ticks(watch.time_ns);
            watch.lasts.retain(|&worker| {
                let in_time = memory.control.go_at(worker).is_some_and(|at| time > 0 && now >= at.saturating_add(time));
                // One that has not begun has its turn later.
                !((enough || in_time) && memory.control.end_ramp(worker))
            });
        }
    }
}
