//! Ops of a recording. A separate thread reads them ahead in constant memory, and each is due at its recorded time.
//!
//! The engine knows no format. The caller that runs a workload with recordings passes [`Recordings`], which opens them.

mod error;
mod ops;
mod plan;

pub use error::ReplayError;
pub(crate) use ops::{ReplayFiles, ReplayOps};
pub(crate) use plan::TracePlan;

use crate::clock::{Clock, Ticks};
use crate::op::BlockOp;
use crate::pacer::{Due, PacedOp, Pacer};
use crate::replay::{CallSurvey, LaneTally, RecordedCalls};
use crate::source::Source;
use crossbeam_channel::{Receiver, Sender, bounded};
use plumb_workload::blocks::trace::Recording;
use plumb_workload::{OpKind, Replay as CallReplay};
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// An op of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedOp {
    /// Due time from the start of the replay, ns.
    pub at_ns: u64,
    /// Duration, ns; `u64::MAX` if the recording does not contain it.
    pub took_ns: u64,
    /// Read, write, trim, fsync or fdatasync.
    pub kind: OpKind,
    /// Index among the target's files.
    pub file: u32,
    /// Offset in the file, bytes.
    pub offset: u64,
    /// Length in bytes; at most [`Recording::largest`].
    pub length: u32,
}

/// The ops of a recording, in order.
pub type RecordedOps = Box<dyn Iterator<Item = Result<RecordedOp, ReplayError>> + Send>;

/// Opens recordings.
pub trait Recordings: Sync {
    /// Opens the ops of a recording, scaled, aligned and filtered by its settings.
    ///
    /// # Errors
    /// The recording cannot be read.
    fn open(&self, recording: &Recording) -> Result<RecordedOps, ReplayError>;

    /// Surveys a recording of calls before its replay.
    ///
    /// # Errors
    /// The recording cannot be read.
    fn survey(&self, replay: &CallReplay) -> Result<CallSurvey, ReplayError> {
        Err(ReplayError::NoCalls { path: replay.path.clone() })
    }

    /// Opens the calls of a recording.
    ///
    /// # Errors
    /// The recording cannot be read.
    fn open_calls(&self, replay: &CallReplay) -> Result<RecordedCalls, ReplayError> {
        Err(ReplayError::NoCalls { path: replay.path.clone() })
    }
}

/// Ops per batch that the reading thread hands over.
const BATCH_OPS: usize = 4096;

/// Number of batches that are read ahead.
const BATCHES: usize = 4;

type Batch = Vec<RecordedOp>;

/// The error that ended the reading of a recording during its replay, if any.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadingError(Arc<Mutex<Option<String>>>);

impl ReadingError {
    /// Stores an error.
    pub(crate) fn set(&self, error: &ReplayError) {
        if let Ok(mut slot) = self.0.lock() {
            *slot = Some(error.to_string());
        }
    }

    /// Returns the stored error's message; `None` without an error.
    pub(crate) fn text(&self) -> Option<String> {
        self.0.lock().ok().and_then(|error| error.clone())
    }
}

/// Yields the ops of a recording.
pub(crate) struct ReplaySource {
    full: Receiver<Batch>,
    empty: Sender<Batch>,
    batch: Batch,
    at: usize,
    writes: u32,
    /// The last op yielded, which the pacer reads.
    at_hand: Rc<Cell<Recorded>>,
}

/// A recording that is being read.
pub(crate) struct Replay {
    pub(crate) source: ReplaySource,
    /// Decides when ops are due; `None` if they start immediately.
    pub(crate) pacer: Option<RecordedPacer>,
    /// Receives errors from reading.
    pub(crate) error: ReadingError,
}

/// When the ops of a recording are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeps {
    /// At their recorded times.
    Times,
    /// Immediately.
    Nothing,
    /// While no more ops are in flight than in the recording.
    InFlight,
}

/// Starts reading ahead. With `speed_percent`, recorded times are scaled to that speed. Called in the worker itself,
/// which owns the memory that is read into.
pub(crate) fn replay(
    ops: impl Iterator<Item = Result<RecordedOp, ReplayError>> + Send + 'static,
    clock: &Clock,
    recording: &Recording,
    depth: u32,
    tally: Option<LaneTally>,
) -> Replay {
    let (to_worker, full) = bounded(BATCHES);
    let (empty, from_worker) = bounded(BATCHES + 1);
    for _ in 0..BATCHES {
        // The channel has room for all batches.
        let _ = empty.send(Batch::with_capacity(BATCH_OPS));
    }
    let error = ReadingError::default();
    let error_slot = error.clone();
    std::thread::spawn(move || read_ahead(ops, &to_worker, &from_worker, &error_slot));
    let at_hand = Rc::new(Cell::new(Recorded { at_ns: 0, took_ns: 0 }));
    let keeps = match (recording.speed_percent, recording.in_flight) {
        (Some(_), _) => Keeps::Times,
        (None, true) => Keeps::InFlight,
        (None, false) => Keeps::Nothing,
    };
    let speed_percent = recording.speed_percent.unwrap_or(100).max(1);
    let pacer = (keeps != Keeps::Nothing || tally.is_some()).then(|| RecordedPacer {
        keeps,
        clock: *clock,
        ticks_per_ns: clock.fractional_ticks(1.0) * 100.0 / f64::from(speed_percent),
        started_at: 0,
        at_hand: Rc::clone(&at_hand),
        depth,
        in_flight: 0,
        ends_ns: BinaryHeap::with_capacity(depth as usize),
        has_been_full: false,
        tally,
    });
    Replay { source: ReplaySource { full, empty, batch: Batch::new(), at: 0, writes: 0, at_hand }, pacer, error }
}

fn read_ahead(
    mut ops: impl Iterator<Item = Result<RecordedOp, ReplayError>>,
    to_worker: &Sender<Batch>,
    from_worker: &Receiver<Batch>,
    error: &ReadingError,
) {
    // Ends with the recording, or when the worker is gone.
    while let Ok(mut batch) = from_worker.recv() {
        batch.clear();
        let mut ended = false;
        while batch.len() < BATCH_OPS {
            match ops.next() {
                Some(Ok(op)) => batch.push(op),
                Some(Err(found)) => {
                    error.set(&found);
                    ended = true;
                    break;
                }
                None => {
                    ended = true;
                    break;
                }
            }
        }
        if to_worker.send(batch).is_err() || ended {
            return;
        }
    }
}

impl ReplaySource {
    #[cold]
    fn refill(&mut self) -> Option<()> {
        let next = self.full.recv().ok()?;
        let used = std::mem::replace(&mut self.batch, next);
        self.at = 0;
        if used.capacity() > 0 {
            // The reading thread may already be gone.
            let _ = self.empty.try_send(used);
        }
        (!self.batch.is_empty()).then_some(())
    }
}

impl Source for ReplaySource {
    type Op = BlockOp;

    #[inline]
    fn next(&mut self) -> Option<BlockOp> {
        if self.at == self.batch.len() {
            self.refill()?;
        }
        let RecordedOp { at_ns, took_ns, kind, file, offset, length } = self.batch[self.at];
        self.at += 1;
        self.at_hand.set(Recorded { at_ns, took_ns });
        let number = self.writes;
        if kind == OpKind::Write {
            self.writes = self.writes.wrapping_add(1);
        }
        Some(BlockOp { number, ..BlockOp::load(kind, file, offset, length) })
    }
}

/// Properties of the current op that the pacer needs.
#[derive(Debug, Clone, Copy)]
struct Recorded {
    at_ns: u64,
    took_ns: u64,
}

/// Makes each op due at its recorded time, even if earlier ones are late, or once no more ops are in
/// flight than were in the recording.
pub(crate) struct RecordedPacer {
    keeps: Keeps,
    clock: Clock,
    ticks_per_ns: f64,
    started_at: Ticks,
    at_hand: Rc<Cell<Recorded>>,
    /// Maximum number of ops in flight.
    depth: u32,
    in_flight: u32,
    /// Recorded ends of earlier ops. Those that had ended when the current op began are removed.
    ends_ns: BinaryHeap<Reverse<u64>>,
    /// Whether the queue has been full since the last op began.
    has_been_full: bool,
    tally: Option<LaneTally>,
}

impl Pacer for RecordedPacer {
    fn is_open(&self) -> bool {
        self.keeps == Keeps::Times
    }

    fn start(&mut self, at: Ticks) {
        self.started_at = at;
    }

    #[inline]
    fn due(&mut self, now: Ticks, _op: PacedOp) -> Due {
        let recorded = self.at_hand.get();
        let intended = match self.keeps {
            Keeps::Times => {
                let intended = self.started_at + (recorded.at_ns as f64 * self.ticks_per_ns) as Ticks;
                if now < intended {
                    self.has_been_full = false;
                    return Due::At(intended);
                }
                intended
            }
            Keeps::InFlight => {
                while self.ends_ns.peek().is_some_and(|Reverse(end_ns)| *end_ns <= recorded.at_ns) {
                    self.ends_ns.pop();
                }
                if self.in_flight as usize > self.ends_ns.len() {
                    return Due::AfterNext;
                }
                self.ends_ns.push(Reverse(recorded.at_ns.saturating_add(recorded.took_ns)));
                now
            }
            Keeps::Nothing => now,
        };
        self.in_flight += 1;
        if let Some(tally) = &mut self.tally {
            let began_ns = self.clock.ns_between(self.started_at, now);
            // A delay due to a full queue is not its own.
            let own_lag_ns = if self.has_been_full { 0 } else { self.clock.ns_between(intended, now) };
            tally.begins(recorded.at_ns, began_ns, own_lag_ns, false, self.has_been_full && self.keeps == Keeps::Times);
        }
        self.has_been_full = self.in_flight >= self.depth;
        Due::Now { intended }
    }

    #[inline]
    fn completed(&mut self, _kind: OpKind, _moved: u64, _service_ns: u64, _now: Ticks) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(number: u64) -> RecordedOp {
        RecordedOp {
            at_ns: number * 1_000,
            took_ns: 0,
            kind: OpKind::Write,
            file: 0,
            offset: number * 512,
            length: 512,
        }
    }

    fn recording(speed_percent: Option<u32>) -> Recording {
        Recording { speed_percent, ..Recording::new("r".into(), plumb_workload::Bytes(512)) }
    }

    /// An op may begin with as many in flight as when it was recorded.
    #[test]
    fn no_more_are_in_flight_than_were_recorded() {
        let taking = |number, took_ns| Ok(RecordedOp { took_ns, ..op(number) });
        let ops = vec![taking(0, 5_000), taking(1, 5_000), taking(7, 1), taking(8, 1)];
        let recording = Recording { in_flight: true, ..recording(None) };
        let Replay { mut source, pacer, .. } = replay(ops.into_iter(), &Clock::best(), &recording, 8, None);
        let mut pacer = pacer.unwrap();
        let next = source.next().unwrap();
        assert_eq!(pacer.due(9, PacedOp::from_op(&next)), Due::Now { intended: 9 });
        let next = source.next().unwrap();
        assert_eq!(
            pacer.due(9, PacedOp::from_op(&next)),
            Due::Now { intended: 9 },
            "one was in flight in the recording"
        );
        let next = source.next().unwrap();
        assert_eq!(
            pacer.due(9, PacedOp::from_op(&next)),
            Due::AfterNext,
            "none was in flight in the recording, two are now"
        );
        pacer.completed(OpKind::Write, 0, 0, 9);
        assert_eq!(pacer.due(9, PacedOp::from_op(&next)), Due::AfterNext);
        pacer.completed(OpKind::Write, 0, 0, 9);
        assert_eq!(pacer.due(9, PacedOp::from_op(&next)), Due::Now { intended: 9 });
    }

    #[test]
    fn a_recording_longer_than_the_read_ahead_is_complete_and_in_order() {
        let many = (BATCH_OPS * (BATCHES + 3) + 7) as u64;
        let Replay { mut source, error, .. } =
            replay((0..many).map(|n| Ok(op(n))), &Clock::best(), &recording(None), 1, None);
        for number in 0..many {
            let next = source.next().unwrap();
            assert_eq!((next.offset, u64::from(next.number)), (number * 512, number));
        }
        assert_eq!(source.next(), None);
        assert_eq!(error.text(), None);
    }

    /// A recording of exactly one batch ends, and is not taken for a longer one.
    #[test]
    fn whole_batches_end_too() {
        let Replay { mut source, .. } =
            replay((0..BATCH_OPS as u64).map(|n| Ok(op(n))), &Clock::best(), &recording(None), 1, None);
        assert_eq!(std::iter::from_fn(|| source.next()).count(), BATCH_OPS);
    }

    #[test]
    fn an_error_within_a_recording_ends_the_replay_and_is_reported() {
        let ops = [Ok(op(0)), Err(ReplayError::Read("line 7: `x` is no offset".into())), Ok(op(1))];
        let Replay { mut source, error, .. } = replay(ops.into_iter(), &Clock::best(), &recording(None), 1, None);
        assert!(source.next().is_some());
        assert_eq!(source.next(), None);
        assert_eq!(error.text().as_deref(), Some("line 7: `x` is no offset"));
    }

    #[test]
    fn ops_are_due_at_their_times_at_the_requested_speed() {
        let clock = Clock::best();
        let due = |speed| {
            let Replay { mut source, pacer, .. } =
                replay([op(1_000)].into_iter().map(Ok), &clock, &recording(Some(speed)), 1, None);
            let mut pacer = pacer.unwrap();
            pacer.start(500);
            let next = source.next().unwrap();
            match pacer.due(500, PacedOp::from_op(&next)) {
                Due::At(at) => clock.ns_between(500, at),
                other => panic!("expected the op to be due in a millisecond, not {other:?}"),
            }
        };
        let near = |found: u64, expected: u64| assert!(found.abs_diff(expected) <= expected / 1_000, "{found}");
        near(due(100), 1_000_000);
        near(due(50), 2_000_000);
        near(due(400), 250_000);
    }
}
