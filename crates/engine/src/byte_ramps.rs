//! Ramps that end once a number of bytes was moved. The coordinator checks them, so they cost the workers nothing.

use crate::barrier::PhaseMemory;
use crate::clock::{Clock, Ticks};
use crate::plan::GroupRun;

/// Interval between two checks.
const CHECK_NS: u64 = 10_000_000;

/// Tracks the byte-limited ramps of a phase.
pub(crate) struct ByteRamps {
    clock: Clock,
    watches: Vec<RampWatch>,
}

/// The byte-limited ramp of one group.
struct RampWatch {
    bytes: u64,
    /// Maximum length after the worker's start; 0 for no limit.
    time_ns: u64,
    /// Workers whose bytes count.
    counted: Vec<usize>,
    /// Workers whose ramp has not ended.
    ramping: Vec<usize>,
}

impl ByteRamps {
    /// Creates the ramps of these groups. `group_of` maps workers to groups.
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
                ramping: of_groups(&[number]),
            })
        });
        ByteRamps { clock, watches: watches.collect() }
    }

    /// Returns the time of the next check; `None` if all ramps are over.
    pub(crate) fn next_at(&self, now: Ticks) -> Option<Ticks> {
        let any = self.watches.iter().any(|watch| !watch.ramping.is_empty());
        any.then(|| now + self.clock.ticks(CHECK_NS))
    }

    /// Ends the ramps that are over.
    pub(crate) fn update(&mut self, memory: &PhaseMemory, now: Ticks) {
        for watch in self.watches.iter_mut().filter(|watch| !watch.ramping.is_empty()) {
            let moved =
                watch.counted.iter().fold(0u64, |sum, &worker| sum.saturating_add(memory.cells.ramp_bytes(worker)));
            let enough = moved >= watch.bytes;
            let time = self.clock.ticks(watch.time_ns);
            watch.ramping.retain(|&worker| {
                let in_time = memory.control.go_at(worker).is_some_and(|at| time > 0 && now >= at.saturating_add(time));
                // A worker that has not begun is checked again later.
                !((enough || in_time) && memory.control.end_ramp(worker))
            });
        }
    }
}
