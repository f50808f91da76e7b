//! How far a replay is: which calls have begun and ended, and who waits for them.

use super::order::WaitFor;
use crate::clock::Ticks;
use crate::virtual_time;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::thread::Thread;
use std::time::Duration;

/// Calls that are read ahead of the first that has not ended. A power of two.
pub(super) const AHEAD_MAX: u64 = 1 << 17;

/// No wait is longer than this without a look whether the worker is to end.
const LONGEST_WAIT: Duration = Duration::from_millis(5);

/// So often a wait looks before it sleeps: to sleep and to be woken takes longer than most calls.
const LOOKS: u32 = 300;

/// The state of one call: of the last one that has this place.
#[derive(Debug, Default)]
struct Place {
    /// Twice its number, and 1 more when it has begun, 2 more when it has ended.
    state: AtomicU64,
    /// When it ended.
    ended_at: AtomicU64,
    /// The lanes that sleep for it, as bits.
    sleepers: AtomicU64,
}

/// How far all lanes of a replay are.
pub(super) struct Progress {
    places: Box<[Place]>,
    /// By lane, once it runs.
    threads: Box<[OnceLock<Thread>]>,
    is_virtual: bool,
    /// Waits on virtual time.
    listeners: AtomicU32,
    /// A lane has ended before its last call: nobody waits for anything any more.
    is_abandoned: AtomicBool,
    in_flight: AtomicU32,
    /// One more than the highest number that has begun.
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

    /// The thread at hand has this lane.
    pub(super) fn runs(&self, lane: u32) {
        let _ = self.threads[lane as usize].set(std::thread::current());
    }

    /// Wakes whoever has this lane.
    pub(super) fn wake(&self, lane: u32) {
        if let Some(thread) = self.threads[lane as usize].get() {
            thread.unpark();
        }
    }

    /// A call begins. Whether one that comes behind it in the recording has begun already.
    pub(super) fn begin(&self, number: u64) -> bool {
        let is_overtaken = self.furthest.fetch_max(number + 1, Relaxed) > number;
        self.reach(number, (number << 1) + 1);
        is_overtaken
    }

    /// A call has ended.
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

    /// Whether a call has ended.
    pub(super) fn has_ended(&self, number: u64) -> bool {
        self.place(number).state.load(Acquire) >= (number << 1) + 2
    }

    /// Whether what is waited for has come.
    pub(super) fn has_come(&self, wait: WaitFor) -> bool {
        let wanted = (wait.number() << 1) + if wait.is_beginning() { 1 } else { 2 };
        self.place(wait.number()).state.load(SeqCst) >= wanted || self.is_abandoned.load(Relaxed)
    }

    /// When a call ended, where its place is still its own.
    pub(super) fn ended_at(&self, number: u64) -> Option<Ticks> {
        let place = self.place(number);
        let at = place.ended_at.load(Relaxed);
        (place.state.load(Acquire) == (number << 1) + 2).then_some(at)
    }

    /// Waits for a while, or until it has come.
    pub(super) fn wait_for(&self, wait: WaitFor, lane: u32) {
        if self.is_virtual {
            return self.listen();
        }
        for _ in 0..LOOKS {
            if self.has_come(wait) {
                return;
            }
            std::hint::spin_loop();
        }
        self.place(wait.number()).sleepers.fetch_or(1 << lane, SeqCst);
        if !self.has_come(wait) {
            std::thread::park_timeout(LONGEST_WAIT);
        }
    }

    /// Waits until something has happened, on virtual time.
    pub(super) fn listen(&self) {
        self.listeners.fetch_add(1, Relaxed);
        virtual_time::wait_for_news();
        self.listeners.fetch_sub(1, Relaxed);
    }

    /// Whether fewer calls are in flight, or as many; if so, one more is.
    pub(super) fn takes_off(&self, most: u32) -> bool {
        self.in_flight.fetch_update(Relaxed, Relaxed, |flying| (flying <= most).then_some(flying + 1)).is_ok()
    }

    /// One call less is in flight.
    pub(super) fn lands(&self) {
        let _ = self.in_flight.fetch_update(Relaxed, Relaxed, |flying| flying.checked_sub(1));
    }

    /// A lane ends, however that comes.
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
