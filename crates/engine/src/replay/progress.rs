//! Progress of a replay: the calls that have begun and ended, and the lanes that wait for them.

use super::order::WaitFor;
use crate::clock::Ticks;
use crate::virtual_time;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::thread::Thread;
use std::time::Duration;

/// Maximum number of calls dealt ahead of the first one that has not ended. A power of two.
pub(super) const AHEAD_MAX: u64 = 1 << 17;

/// Longest wait without a check for shutdown.
const LONGEST_WAIT: Duration = Duration::from_millis(5);

/// Number of polls before a waiting lane sleeps: sleeping and waking up takes longer than most calls.
const SPINS: u32 = 300;

/// State of the last call that uses this place.
#[derive(Debug, Default)]
struct Place {
    /// Twice the call's number, plus 1 once it has begun, or plus 2 once it has ended.
    state: AtomicU64,
    /// Time at which the call ended.
    ended_at: AtomicU64,
    /// Bit set of the lanes that sleep until this call changes.
    sleepers: AtomicU64,
}

/// Progress of all lanes of a replay.
pub(super) struct Progress {
    places: Box<[Place]>,
    /// Threads by lane, set once they run.
    threads: Box<[OnceLock<Thread>]>,
    is_virtual: bool,
    /// Number of waits on virtual time.
    listeners: AtomicU32,
    /// Whether a lane has ended before its last call. Nothing waits any more after that.
    is_abandoned: AtomicBool,
    in_flight: AtomicU32,
    /// Highest number that has begun, plus one.
    furthest: AtomicU64,
}

impl Progress {
    pub(super) fn new(lanes: usize, is_virtual: bool) -> Progress {
        Progress {
            places: (0..AHEAD_MAX).map(|_| Place::default()).collect(),
            threads: (0..lanes).map(|_| OnceLock::new()).collect(),
            is_virtual,
            listeners: AtomicU32::new(0),
            is_abandoned: AtomicBool::new(false),
            in_flight: AtomicU32::new(0),
            furthest: AtomicU64::new(0),
        }
    }

    fn place(&self, number: u64) -> &Place {
        &self.places[(number & (AHEAD_MAX - 1)) as usize]
    }

    /// Registers the current thread as this lane's.
    pub(super) fn register(&self, lane: u32) {
        let _ = self.threads[lane as usize].set(std::thread::current());
    }

    /// Wakes the thread of this lane.
    pub(super) fn wake(&self, lane: u32) {
        if let Some(thread) = self.threads[lane as usize].get() {
            thread.unpark();
        }
    }

    /// Marks a call as begun. Returns `true` if a later call of the recording has already begun.
    pub(super) fn begin(&self, number: u64) -> bool {
        let is_overtaken = self.furthest.fetch_max(number + 1, Relaxed) > number;
        self.reach(number, (number << 1) + 1);
        is_overtaken
    }

    /// Marks a call as ended.
    pub(super) fn end(&self, number: u64, at: Ticks) {
        self.place(number).ended_at.store(at, Relaxed);
        self.reach(number, (number << 1) + 2);
    }

    fn reach(&self, number: u64, state: u64) {
        let place = self.place(number);
        place.state.store(state, SeqCst);
        if self.is_virtual {
            if self.listeners.load(Relaxed) > 0 {
                virtual_time::tell();
            }
            return;
        }
        if place.sleepers.load(SeqCst) == 0 {
            return;
        }
        let mut sleepers = place.sleepers.swap(0, SeqCst);
        while sleepers != 0 {
            self.wake(sleepers.trailing_zeros());
            sleepers &= sleepers - 1;
        }
    }

    pub(super) fn has_ended(&self, number: u64) -> bool {
        self.place(number).state.load(Acquire) >= (number << 1) + 2
    }

    /// Returns `true` if the dependency is met.
    pub(super) fn is_met(&self, wait: WaitFor) -> bool {
        let wanted = (wait.number() << 1) + if wait.is_beginning() { 1 } else { 2 };
        self.place(wait.number()).state.load(SeqCst) >= wanted || self.is_abandoned.load(Relaxed)
    }

    /// Returns the end time of a call; `None` if it has not ended or a later call reuses its place.
    pub(super) fn ended_at(&self, number: u64) -> Option<Ticks> {
        let place = self.place(number);
        let at = place.ended_at.load(Relaxed);
        (place.state.load(Acquire) == (number << 1) + 2).then_some(at)
    }

    /// Waits until the dependency is met, or for a while.
    pub(super) fn wait_for(&self, wait: WaitFor, lane: u32) {
        if self.is_virtual {
            return self.wait_for_event();
        }
        for _ in 0..SPINS {
            if self.is_met(wait) {
                return;
            }
            std::hint::spin_loop();
        }
        self.place(wait.number()).sleepers.fetch_or(1 << lane, SeqCst);
        if !self.is_met(wait) {
            std::thread::park_timeout(LONGEST_WAIT);
        }
    }

    /// Waits for the next event on virtual time.
    pub(super) fn wait_for_event(&self) {
        self.listeners.fetch_add(1, Relaxed);
        virtual_time::wait_for_news();
        self.listeners.fetch_sub(1, Relaxed);
    }

    /// Counts one more call in flight, unless more than `most` are. Returns `true` if it did.
    pub(super) fn try_begin(&self, most: u32) -> bool {
        self.in_flight.fetch_update(Relaxed, Relaxed, |flying| (flying <= most).then_some(flying + 1)).is_ok()
    }

    /// Counts one call less in flight.
    pub(super) fn end_one(&self) {
        let _ = self.in_flight.fetch_update(Relaxed, Relaxed, |flying| flying.checked_sub(1));
    }

    /// Marks the replay as abandoned because a lane has ended, for any reason.
    pub(super) fn abandon(&self) {
        self.is_abandoned.store(true, SeqCst);
        if self.is_virtual {
            virtual_time::tell();
        }
        (0..self.threads.len() as u32).for_each(|lane| self.wake(lane));
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.is_abandoned.load(Relaxed)
    }
}
