//! A worker of a program over shared file sets.

use super::calls::{SharedCalls, Writes};
use super::compile::{SharedPhase, SharedProgram};
use super::memory::{ReadMemory, WriteMemory};
use super::source::{Bookkeeper, Outcome, SharedSource, WorkerContext};
use crate::barrier::{Barrier, Body};
use crate::bind::run_to_end;
use crate::files::open::OTHER_DESCRIPTORS;
use crate::process;
use crate::rng::{Purpose, StreamId};
use crate::terms::Ended;
use crate::worker_error::WorkerError;
use plumb_workload::process::ProcessRules;
use plumb_workload::program::TURN_HANDLES;
use std::cell::RefCell;
use std::sync::Arc;

/// All workers together spread their reads over at most this fraction of the machine's memory, as a divisor.
const SPREAD_PART: u64 = 4;

/// A planned worker.
pub(crate) struct SharedWorker {
    pub(crate) phase: Arc<SharedPhase>,
    pub(crate) program: Arc<SharedProgram>,
    pub(crate) group: usize,
    /// Number of the worker in its group.
    pub(crate) number: u32,
    /// Number of workers in all groups.
    pub(crate) workers: u32,
    pub(crate) stream: StreamId,
    pub(crate) content_stream: StreamId,
    pub(crate) rules: ProcessRules,
}

impl SharedWorker {
    /// Returns the function that the worker runs.
    pub(crate) fn body(self) -> Body {
        Box::new(move |barrier: &Barrier| self.run(barrier))
    }

    fn run(self, barrier: &Barrier) -> Result<Ended, WorkerError> {
        process::apply(&self.rules)?;
        let program = &*self.program;
        barrier.report().backend.write(b"psync");
        let together = program.together;
        let party = together.first_party + self.number / together.members.max(1);
        let spread = program.spread.min(crate::os::ram_bytes() / SPREAD_PART / u64::from(self.workers.max(1)));
        // The validator has checked that all sets have the same content.
        let content = program.sets.first().map(|set| set.content).unwrap_or_default();
        let reads = ReadMemory::new(program.largest_read, spread)?;
        let written = WriteMemory::new(program.largest_write, content, self.content_stream)?;
        let (outcome, writes) = (Outcome::default(), RefCell::new(Writes::default()));
        let number = self.number as usize;
        let context = WorkerContext {
            program,
            phase: &self.phase,
            row: self.phase.board().row(self.group, number),
            party: &self.phase.parties[party as usize],
            outcome: &outcome,
            writes: &writes,
        };
        let mut source =
            SharedSource::new(context, *barrier.clock(), barrier.control(), number, self.stream.rng(Purpose::Mix));
        let (turn_handles, limit) = self.turn_handles();
        if program.takes_turns && turn_handles < usize::from(TURN_HANDLES) {
            let note = format!(
                "each thread keeps {turn_handles} files open, where Filebench keeps {TURN_HANDLES}: {limit} may be open \
                 (`ulimit -n`)"
            );
            barrier.report().fallbacks.write(note.as_bytes());
        }
        let mut calls = SharedCalls::new(context, self.stream.rng(Purpose::Offset), reads, written, turn_handles);
        Ok(run_to_end(barrier, &mut source, &mut calls, &mut Bookkeeper { context }))
    }
    /// Returns the number of open files that a step with a turn cycles through, and the limit of open files. All
    /// threads share the limit, while each of Filebench's processes has its own.
    fn turn_handles(&self) -> (usize, u64) {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
        let held: usize = self.program.sets.iter().map(|set| set.held_directories()).sum();
        let left = limit.saturating_sub(held as u64 + OTHER_DESCRIPTORS);
        let share = (left / u64::from(self.workers.max(1))).clamp(1, TURN_HANDLES.into());
        (share as usize, limit)
    }
}
