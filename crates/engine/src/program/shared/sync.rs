//! Synchronization of workers: events, credit, and wake-ups.

use crate::clock::{Clock, Ticks};
use crate::control::WorkerControl;
use crate::pacer::{Waited, wait_until};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Longest wait without a check for shutdown.
const LONGEST_WAIT: Duration = Duration::from_millis(250);

/// Unused events accumulate for at most this many seconds.
const KEPT_SECONDS: u64 = 5;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // These locks protect a number, which a panic of another worker cannot leave half written.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits on a condition variable until `ready` returns `true`, or the worker should end.
fn wait_for<T>(
    mutex: &Mutex<T>,
    bell: &Condvar,
    clock: &Clock,
    control: WorkerControl<'_>,
    mut ready: impl FnMut(&mut T) -> bool,
) -> Waited {
    let mut held = locked(mutex);
    loop {
        if ready(&mut held) {
            return Waited::Until(clock.now());
        }
        let now = clock.now();
        if control.stops_at(now) {
            return Waited::Stopped;
        }
        let left = Duration::from_nanos(clock.ns_between(now, control.own_deadline()));
        let waited = bell.wait_timeout(held, left.min(LONGEST_WAIT));
        held = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Credit that some workers give and others take.
#[derive(Default)]
struct Semaphore {
    credit: Mutex<i64>,
    bell: Condvar,
}

impl Semaphore {
    fn give(&self, credit: u64) {
        let mut held = locked(&self.credit);
        *held = held.saturating_add(credit.min(i64::MAX as u64) as i64);
        drop(held);
        self.bell.notify_all();
    }

    fn take(&self, credit: u64, clock: &Clock, control: WorkerControl<'_>) -> Waited {
        let credit = credit.min(i64::MAX as u64) as i64;
        wait_for(&self.credit, &self.bell, clock, control, |held| {
            let enough = *held >= credit;
            *held -= if enough { credit } else { 0 };
            enough
        })
    }
}

/// Credit of one worker at one step: the amount given to it, and how far its givers may run ahead.
#[derive(Default)]
pub(super) struct Credit {
    given: Semaphore,
    room: Semaphore,
}

impl Credit {
    /// Creates credit whose givers may run this far ahead.
    pub(super) fn new(ahead: u64) -> Credit {
        let credit = Credit::default();
        credit.room.give(ahead);
        credit
    }

    /// Makes room for this much credit, and waits until it was given.
    pub(super) fn take(&self, credit: u64, clock: &Clock, control: WorkerControl<'_>) -> Waited {
        self.room.give(credit);
        self.given.take(credit, clock, control)
    }

    pub(super) fn give(&self, credit: u64) {
        self.given.give(credit);
    }

    /// Waits until there is room for this much credit.
    pub(super) fn await_room(&self, credit: u64, clock: &Clock, control: WorkerControl<'_>) -> Waited {
        self.room.take(credit, clock, control)
    }
}

/// Wakes workers that sleep at a step.
#[derive(Default)]
pub(super) struct WakeEvent {
    woken: Mutex<u64>,
    bell: Condvar,
}

impl WakeEvent {
    /// Waits until the number of wake-ups exceeds `seen`, and updates it.
    pub(super) fn sleep(&self, seen: &mut u64, clock: &Clock, control: WorkerControl<'_>) -> Waited {
        wait_for(&self.woken, &self.bell, clock, control, |woken| {
            let is_new = *woken > *seen;
            *seen = *woken;
            is_new
        })
    }

    pub(super) fn wake(&self) {
        *locked(&self.woken) += 1;
        self.bell.notify_all();
    }
}

/// Events at a rate, taken by the first worker that asks.
pub(super) struct Events {
    /// Time between two events.
    gap_ticks: f64,
    kept_ticks: Ticks,
    per_second: u64,
    /// Due time of the last event taken, in ticks from the first call.
    last_due: AtomicU64,
    /// Time of the first call, in ticks; 0 before.
    begins: AtomicU64,
}

impl Events {
    pub(super) fn new(per_second: u64, clock: &Clock) -> Events {
        let second = clock.fractional_ticks(1e9);
        Events {
            gap_ticks: second / per_second.max(1) as f64,
            kept_ticks: (second * KEPT_SECONDS as f64) as Ticks,
            per_second,
            last_due: AtomicU64::new(0),
            begins: AtomicU64::new(0),
        }
    }

    /// Takes this many events, and waits until they are due.
    pub(super) fn take(&self, events: u64, clock: &Clock, control: WorkerControl<'_>) -> Waited {
        let now = clock.now();
        if events == 0 || self.per_second == 0 {
            return if control.stops_at(now) { Waited::Stopped } else { Waited::Until(now) };
        }
        // Time starts with the first call, so that no events are due for the time before.
        let _ = self.begins.compare_exchange(0, now.max(1), Relaxed, Relaxed);
        let since = now.saturating_sub(self.begins.load(Relaxed));
        let gap = (self.gap_ticks * events as f64) as Ticks;
        let earliest = since.saturating_sub(self.kept_ticks);
        let taken = self.last_due.fetch_update(Relaxed, Relaxed, |last| Some(last.max(earliest).saturating_add(gap)));
        let due = taken.unwrap_or(0).max(earliest).saturating_add(gap);
        wait_until(clock, control, self.begins.load(Relaxed).saturating_add(due))
    }
}
