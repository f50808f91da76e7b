//! An emulated consumer of the data read. It takes a batch as soon as it is complete, and is then busy for a fixed
//! time. Readers may run some batches ahead. The consumer is only a few words that the readers share: the time at which
//! it will be done with everything read so far.

use super::due::Due;
use crate::clock::{Clock, Ticks};
use crate::control::ConsumerWords;
use plumb_workload::pace::Consumer;
use std::sync::atomic::Ordering::Relaxed;

/// Poll interval while other readers complete a batch, ns.
const POLL_NS: u64 = 100_000;

/// A reader's view of the consumer.
pub(super) struct Consuming<'a> {
    words: &'a ConsumerWords,
    batch: u64,
    busy: Ticks,
    ahead: u64,
    poll: Ticks,
}

impl<'a> Consuming<'a> {
    pub(super) fn new(consumer: &Consumer, words: &'a ConsumerWords, clock: &Clock) -> Consuming<'a> {
        Consuming {
            words,
            batch: consumer.batch.0.max(1),
            busy: clock.ticks(consumer.busy.0).max(1),
            ahead: u64::from(consumer.ahead.max(1)),
            poll: clock.ticks(POLL_NS).max(1),
        }
    }

    /// Returns the reason why an op of this length may not start at `now`; with `None`, it starts.
    pub(super) fn due(&mut self, now: Ticks, length: u64) -> Option<Due> {
        let words = self.words;
        let read = words.read.load(Relaxed);
        let under_way = words.started.load(Relaxed).saturating_sub(words.completed.load(Relaxed));
        let loading = read.saturating_add(under_way.saturating_mul(length)) / self.batch;
        let free_at = words.free_at.load(Relaxed);
        // Complete batches that wait because the consumer is busy with the one before them.
        let waiting = free_at.saturating_sub(now).saturating_sub(1) / self.busy;
        let taken = (read / self.batch).saturating_sub(waiting);
        if loading < taken.saturating_add(self.ahead) {
            words.started.fetch_add(1, Relaxed);
            return None;
        }
        let next_taken_at = free_at.saturating_sub(waiting.saturating_mul(self.busy));
        Some(Due::At(if waiting > 0 { next_taken_at.max(now + 1) } else { now + self.poll }))
    }

    /// Counts a completed op that moved this many bytes.
    pub(super) fn completed(&mut self, moved: u64, now: Ticks) {
        let words = self.words;
        words.completed.fetch_add(1, Relaxed);
        let before = words.read.fetch_add(moved, Relaxed);
        for _ in before / self.batch..before.saturating_add(moved) / self.batch {
            let taken = |free_at: Ticks| Some(free_at.max(now).saturating_add(self.busy));
            // The closure always returns a value, so this cannot fail.
            let _ = words.free_at.fetch_update(Relaxed, Relaxed, taken);
        }
    }
}
