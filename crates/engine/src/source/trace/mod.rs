//! Ops of a recording: read ahead by a thread of their own, in constant memory, and due when they were recorded.
//!
//! The engine knows no format. Whoever runs a workload with recordings gives it [`Recordings`], which open them.

mod error;
mod ops;
mod plan;

pub use error::ReplayError;
pub(crate) use ops::{ReplayFiles, ReplayOps};
pub(crate) use plan::TracePlan;

use crate::clock::{Clock, Ticks};
use crate::op::BlockOp;
use crate::pacer::{Due, PacedOp, Pacer};
use crate::replay::{CallSurvey, RecordedCalls};
use crate::source::Source;
use plumb_workload::blocks::trace::Recording;
use plumb_workload::{OpKind, Replay as CallReplay};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

/// An op of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedOp {
    /// When it is due, from the start of the replay, ns.
    pub at_ns: u64,
    /// Read, write, trim, fsync or fdatasync.
    pub kind: OpKind,
    /// Which of the target's files.
    pub file: u32,
    /// Where, bytes.
    pub offset: u64,
    /// How much, bytes; at most [`Recording::largest`].
    pub length: u32,
}

/// The ops of a recording, in order.
pub type RecordedOps = Box<dyn Iterator<Item = Result<RecordedOp, ReplayError>> + Send>;

/// Opens recordings.
pub trait Recordings: Sync {
    /// The ops of one, scaled, aligned and left out as it asks for.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn open(&self, recording: &Recording) -> Result<RecordedOps, ReplayError>;

    /// What must be known of a recording of calls before it is replayed.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn survey(&self, replay: &CallReplay) -> Result<CallSurvey, ReplayError>;

    /// The calls of one.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn open_calls(&self, replay: &CallReplay) -> Result<RecordedCalls, ReplayError>;
}

/// Ops that the reading thread hands over at once.
const BATCH_OPS: usize = 4096;

/// Batches that are read ahead.
const BATCHES: usize = 4;

type Batch = Vec<RecordedOp>;

/// What went wrong with a recording in the midst of its replay.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadingError(Arc<Mutex<Option<String>>>);

impl ReadingError {
    /// Something has.
    pub(crate) fn tell(&self, error: &ReplayError) {
        if let Ok(mut slot) = self.0.lock() {
            *slot = Some(error.to_string());
        }
    }

    /// In words, once something has.
    pub(crate) fn text(&self) -> Option<String> {
        self.0.lock().ok().and_then(|error| error.clone())
    }
}

/// Yields the ops of a recording.
pub(crate) struct ReplaySource {
    full: Receiver<Batch>,
    empty: SyncSender<Batch>,
    batch: Batch,
    at: usize,
    writes: u32,
    /// When the op that was yielded last is due; the pacer looks at it.
    due_ns: Rc<Cell<u64>>,
}

/// A recording that is being read.
pub(crate) struct Replay {
    /// Its ops.
    pub(crate) source: ReplaySource,
    /// Their times, where they are kept.
    pub(crate) pacer: Option<Recorded>,
    /// Where errors of reading go.
    pub(crate) error: ReadingError,
}

/// Starts reading; the recorded times are kept at this share of the recorded speed, where one is given. Called in the
/// worker itself: what is read belongs to it.
pub(crate) fn replay(
    ops: impl Iterator<Item = Result<RecordedOp, ReplayError>> + Send + 'static,
    clock: &Clock,
    speed_percent: Option<u32>,
) -> Replay {
    let (to_worker, full) = sync_channel(BATCHES);
    let (empty, from_worker) = sync_channel(BATCHES + 1);
    for _ in 0..BATCHES {
        // There is room for all of them.
        let _ = empty.send(Batch::with_capacity(BATCH_OPS));
    }
    let error = ReadingError::default();
    let told = error.clone();
    std::thread::spawn(move || read_ahead(ops, &to_worker, &from_worker, &told));
    let due_ns = Rc::new(Cell::new(0));
    let pacer = speed_percent.map(|speed_percent| Recorded {
        ticks_per_ns: clock.fractional_ticks(1.0) * 100.0 / f64::from(speed_percent.max(1)),
        started_at: 0,
        due_ns: Rc::clone(&due_ns),
    });
    Replay { source: ReplaySource { full, empty, batch: Batch::new(), at: 0, writes: 0, due_ns }, pacer, error }
}

fn read_ahead(
    mut ops: impl Iterator<Item = Result<RecordedOp, ReplayError>>,
    to_worker: &SyncSender<Batch>,
    from_worker: &Receiver<Batch>,
    error: &ReadingError,
) {
    // Ends when the recording does, or when the worker is gone.
    while let Ok(mut batch) = from_worker.recv() {
        batch.clear();
        let mut ended = false;
        while batch.len() < BATCH_OPS {
            match ops.next() {
                Some(Ok(op)) => batch.push(op),
                Some(Err(found)) => {
                    error.tell(&found);
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
            // The reader may be gone already.
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
        let RecordedOp { at_ns, kind, file, offset, length } = self.batch[self.at];
        self.at += 1;
        self.due_ns.set(at_ns);
        let number = self.writes;
        if kind == OpKind::Write {
            self.writes = self.writes.wrapping_add(1);
        }
        Some(BlockOp { number, ..BlockOp::load(kind, file, offset, length) })
    }
}

/// Each op is due when it was recorded, whether or not earlier ones are late.
pub(crate) struct Recorded {
    ticks_per_ns: f64,
    started_at: Ticks,
    due_ns: Rc<Cell<u64>>,
}

impl Pacer for Recorded {
    fn is_open(&self) -> bool {
        true
    }

    fn start(&mut self, at: Ticks) {
        self.started_at = at;
    }

    #[inline]
    fn due(&mut self, now: Ticks, _op: PacedOp) -> Due {
        let intended = self.started_at + (self.due_ns.get() as f64 * self.ticks_per_ns) as Ticks;
        if now < intended { Due::At(intended) } else { Due::Now { intended } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(number: u64) -> RecordedOp {
        RecordedOp { at_ns: number * 1_000, kind: OpKind::Write, file: 0, offset: number * 512, length: 512 }
    }

    #[test]
    fn a_recording_longer_than_what_is_read_ahead_comes_whole_and_in_order() {
        let many = (BATCH_OPS * (BATCHES + 3) + 7) as u64;
        let Replay { mut source, error, .. } = replay((0..many).map(|n| Ok(op(n))), &Clock::best(), None);
        for number in 0..many {
            let next = source.next().unwrap();
            assert_eq!((next.offset, u64::from(next.number)), (number * 512, number));
        }
        assert_eq!(source.next(), None);
        assert_eq!(error.text(), None);
    }

    /// A recording of exactly one batch ends, and is not taken for one that goes on.
    #[test]
    fn whole_batches_end_too() {
        let Replay { mut source, .. } = replay((0..BATCH_OPS as u64).map(|n| Ok(op(n))), &Clock::best(), None);
        assert_eq!(std::iter::from_fn(|| source.next()).count(), BATCH_OPS);
    }

    #[test]
    fn what_is_wrong_in_the_midst_ends_the_replay_and_is_told() {
        let ops = [Ok(op(0)), Err(ReplayError::Read("line 7: `x` is no offset".into())), Ok(op(1))];
        let Replay { mut source, error, .. } = replay(ops.into_iter(), &Clock::best(), None);
        assert!(source.next().is_some());
        assert_eq!(source.next(), None);
        assert_eq!(error.text().as_deref(), Some("line 7: `x` is no offset"));
    }

    #[test]
    fn ops_are_due_at_their_times_at_the_asked_speed() {
        let clock = Clock::best();
        let due = |speed| {
            let Replay { mut source, pacer, .. } = replay([op(1_000)].into_iter().map(Ok), &clock, Some(speed));
            let mut pacer = pacer.unwrap();
            pacer.start(500);
            let next = source.next().unwrap();
            match pacer.due(500, PacedOp::of(&next)) {
                Due::At(at) => clock.ns_between(500, at),
                other => panic!("it is due in a millisecond, not {other:?}"),
            }
        };
        let near = |found: u64, expected: u64| assert!(found.abs_diff(expected) <= expected / 1_000, "{found}");
        near(due(100), 1_000_000);
        near(due(50), 2_000_000);
        near(due(400), 250_000);
    }
}
