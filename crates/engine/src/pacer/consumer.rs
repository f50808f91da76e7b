//! An emulated consumer of what is read: it takes a batch as soon as it is there, and is busy with it for a time. Readers may be some
//! batches ahead of it. Nothing stands for it but a few words that the readers share: when it will be done with all that was read.

use super::due::Due;
use crate::clock::{Clock, Ticks};
use crate::control::ConsumerWords;
use plumb_workload::pace::Consumer;
use std::sync::atomic::Ordering::Relaxed;

/// The wait between two looks, ns, where others read what is missing of a batch.
const LOOK_NS: u64 = 100_000;

/// A reader's view of it.
pub(super) struct Consuming<'a> {
    words: &'a ConsumerWords,
    batch: u64,
    busy: Ticks,
    ahead: u64,
    look: Ticks,
}

impl<'a> Consuming<'a> {
    pub(super) fn new(consumer: &Consumer, words: &'a ConsumerWords, clock: &Clock) -> Consuming<'a> {
        Consuming {
            words,
            batch: consumer.batch.0.max(1),
            busy: clock.ticks(consumer.busy.0).max(1),
            ahead: u64::from(consumer.ahead.max(1)),
            look: clock.ticks(LOOK_NS).max(1),
        }
    }

    /// What keeps an op of this length from starting at `now`; where nothing does, it starts.
    pub(super) fn due(&mut self, now: Ticks, length: u64) -> Option<Due> {
        let words = self.words;
        let read = words.read.load(Relaxed);
        let under_way = words.started.load(Relaxed).saturating_sub(words.completed.load(Relaxed));
        let loading = read.saturating_add(under_way.saturating_mul(length)) / self.batch;
        let free_at = words.free_at.load(Relaxed);
        // Batches that are there and not taken: it is busy with the one before them.
        let waiting = free_at.saturating_sub(now).saturating_sub(1) / self.busy;
        let taken = (read / self.batch).saturating_sub(waiting);
        if loading < taken.saturating_add(self.ahead) {
            words.started.fetch_add(1, Relaxed);
            return None;
        }
        let next_taken_at = free_at.saturating_sub(waiting.saturating_mul(self.busy));
        Some(Due::At(if waiting > 0 { next_taken_at.max(now + 1) } else { now + self.look }))
    }

    /// An op has come to its end and moved so many bytes.
    pub(super) fn completed(&mut self, moved: u64, now: Ticks) {
        let words = self.words;
        words.completed.fetch_add(1, Relaxed);
        let before = words.read.fetch_add(moved, Relaxed);
        for _ in before / self.batch..before.saturating_add(moved) / self.batch {
            let taken = |free_at: Ticks| Some(free_at.max(now).saturating_add(self.busy));
            // It always gives a time, so that this cannot fail.
            let _ = words.free_at.fetch_update(Relaxed, Relaxed, taken);
        }
    }
}
