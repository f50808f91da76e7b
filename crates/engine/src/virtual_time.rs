//! Virtual time: nothing sleeps, and time jumps to the next wake-up.
//!
//! A simulated phase runs on its coordinator's thread, and so does its time. Its workers are coroutines of that thread.
//! A worker that waits yields to the one that wakes first. Workers that wake at the same time continue in the order of
//! their requests. So workers run the same code as in real time, and a repeated run is identical.
//!
//! All waits go through this module: a worker's [`wait_until`] and [`wait_for_news`], and a simulated
//! device's [`sleep_until`]. The coordinator lets its workers run up to a time ([`Workers::run_until`]), or
//! until one rings its bell.
#![allow(unsafe_code)]

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::ptr;

/// Nanoseconds of virtual time.
type Ticks = u64;

/// Start of virtual time. In shared words of workers, 0 means "not yet".
pub(crate) const BEGINNING: Ticks = 1 << 20;

/// The latest valid time, so that sums of times fit `u64`.
pub(crate) const LATEST: Ticks = (1 << 62) - 1;

/// Wake-up time of a worker that waits only for news.
const NEVER: Ticks = LATEST + 1;

/// Stack size of a worker. Unused pages take no memory.
const STACK_BYTES: usize = 1 << 20;

/// Value of `running` when no worker runs.
const NO_WORKER: usize = usize::MAX;

/// A scheduled wake-up. Sorted by time, then by order of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Waking {
    at: Ticks,
    sequence: u64,
    worker: usize,
}

/// The wait of a worker.
#[derive(Debug, Clone, Copy)]
struct Wait {
    /// Sequence of its current wake-up; any other wake-up of the worker is stale.
    sequence: u64,
    /// Whether news wakes it, too.
    wakes_on_news: bool,
}

/// Virtual time of a thread, and the state of its workers.
struct Time {
    now: Cell<Ticks>,
    /// Time up to which workers may run without the coordinator.
    limit: Cell<Ticks>,
    /// Whether a worker has rung the coordinator's bell.
    rung: Cell<bool>,
    /// The running worker, or [`NO_WORKER`].
    running: Cell<usize>,
    /// Yields from the running worker to the coordinator.
    yielder: Cell<*const Yielder<(), ()>>,
    sequence: Cell<u64>,
}

thread_local! {
    static TIME: Time = const {
        Time {
            now: Cell::new(BEGINNING),
            limit: Cell::new(BEGINNING),
            rung: Cell::new(false),
            running: Cell::new(NO_WORKER),
            yielder: Cell::new(ptr::null()),
            sequence: Cell::new(0),
        }
    };
    static SLEEPERS: RefCell<BinaryHeap<Reverse<Waking>>> = const { RefCell::new(BinaryHeap::new()) };
    /// Current wait of each worker.
    static WAITS: RefCell<Vec<Wait>> = const { RefCell::new(Vec::new()) };
    /// Stacks of finished workers: mapping a new stack costs more than a short phase.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// Maximum number of stacks kept for the next phase.
const KEPT_STACKS: usize = 64;

/// Returns the virtual time of this thread.
#[inline]
pub(crate) fn now() -> Ticks {
    TIME.with(|time| time.now.get())
}

/// Sets the time. Call it only while no worker runs.
pub(crate) fn set(at: Ticks) {
    TIME.with(|time| time.now.set(at.min(LATEST)));
}

/// Returns `true` inside a worker on virtual time.
pub(crate) fn in_worker() -> bool {
    TIME.with(|time| time.running.get()) != NO_WORKER
}

/// Schedules a worker's wake-up.
fn schedule(time: &Time, worker: usize, at: Ticks, wakes_on_news: bool) {
    let sequence = time.sequence.get() + 1;
    time.sequence.set(sequence);
    SLEEPERS.with_borrow_mut(|sleepers| sleepers.push(Reverse(Waking { at, sequence, worker })));
    WAITS.with_borrow_mut(|waits| waits[worker] = Wait { sequence, wakes_on_news });
}

/// Suspends the running worker until it is woken.
fn wait(time: &Time, at: Ticks, wakes_on_news: bool) {
    let (worker, yielder) = (time.running.get(), time.yielder.get());
    schedule(time, worker, at, wakes_on_news);
    // SAFETY: the running coroutine set the pointer from the reference that it got, which is valid until it returns.
    // Nothing else runs on this thread.
    unsafe { (*yielder).suspend(()) };
    time.running.set(worker);
    time.yielder.set(yielder);
}

/// Returns `true` if nothing else is scheduled before `at`, so that the running worker can continue without a switch.
fn is_next(time: &Time, at: Ticks) -> bool {
    at <= time.limit.get()
        && SLEEPERS.with_borrow(|sleepers| sleepers.peek().is_none_or(|Reverse(first)| first.at > at))
}

/// Waits until `at`, and ignores news: for ops that cannot be cancelled, such as one in a device. Outside
/// of workers, advances the time.
pub(crate) fn sleep_until(at: Ticks) {
    let at = at.min(LATEST);
    TIME.with(|time| {
        if at <= time.now.get() {
            return;
        }
        if time.running.get() == NO_WORKER || is_next(time, at) {
            time.now.set(at);
        } else {
            wait(time, at, false);
        }
    });
}

/// Waits until `at`, or until there is news. The caller checks which.
pub(crate) fn wait_until(at: Ticks) {
    TIME.with(|time| match time.running.get() {
        NO_WORKER => time.now.set(time.now.get().max(at.min(LATEST))),
        _ => wait(time, at.min(NEVER), true),
    });
}

pub(crate) fn wait_for_news() {
    wait_until(NEVER);
}

/// Wakes the workers that wait for news.
pub(crate) fn tell() {
    TIME.with(|time| {
        let now = time.now.get();
        let woken = WAITS.with_borrow_mut(|waits| {
            let woken = (0..waits.len()).filter(|&worker| std::mem::take(&mut waits[worker].wakes_on_news));
            woken.collect::<Vec<usize>>()
        });
        woken.into_iter().for_each(|worker| schedule(time, worker, now, false));
    });
}

/// Rings the coordinator's bell, so that it continues once the running worker waits or ends. Returns
/// `false` outside of a worker.
pub(crate) fn ring() -> bool {
    TIME.with(|time| {
        if time.running.get() == NO_WORKER {
            return false;
        }
        time.rung.set(true);
        // From here on no worker may continue without a switch.
        time.limit.set(time.now.get());
        true
    })
}

/// The workers of a phase, as coroutines.
pub(crate) struct Workers {
    coroutines: Vec<Coroutine<(), (), ()>>,
}

impl Workers {
    /// Starts without workers. A thread runs one phase at a time.
    pub(crate) fn new() -> Workers {
        SLEEPERS.with_borrow_mut(BinaryHeap::clear);
        WAITS.with_borrow_mut(Vec::clear);
        TIME.with(|time| time.rung.set(false));
        Workers { coroutines: Vec::new() }
    }

    /// Adds a worker. It begins when the coordinator waits.
    pub(crate) fn start(&mut self, body: impl FnOnce() + 'static) -> io::Result<()> {
        let kept = STACKS.with_borrow_mut(Vec::pop);
        let stack = kept.map_or_else(|| DefaultStack::new(STACK_BYTES), Ok)?;
        let worker = self.coroutines.len();
        self.coroutines.push(Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            TIME.with(|time| {
                time.running.set(worker);
                time.yielder.set(yielder);
            });
            body();
        }));
        WAITS.with_borrow_mut(|waits| waits.push(Wait { sequence: 0, wakes_on_news: false }));
        TIME.with(|time| schedule(time, worker, time.now.get(), false));
        Ok(())
    }

    /// Lets the workers run up to and including `limit`, or until one rings the bell.
    pub(crate) fn run_until(&mut self, limit: Ticks) {
        TIME.with(|time| {
            let limit = limit.min(LATEST);
            while !time.rung.replace(false) {
                time.limit.set(limit);
                match next_waking(limit) {
                    Some(waking) => self.resume(time, waking),
                    None => {
                        time.now.set(time.now.get().max(limit));
                        return;
                    }
                }
            }
        });
    }

    /// Lets the workers run until none of them will wake again, however long that takes.
    pub(crate) fn run_to_end(&mut self) {
        TIME.with(|time| {
            while let Some(waking) = next_waking(LATEST) {
                time.limit.set(LATEST);
                self.resume(time, waking);
            }
            time.rung.set(false);
        });
    }

    fn resume(&mut self, time: &Time, waking: Waking) {
        time.now.set(waking.at.max(time.now.get()));
        match self.coroutines[waking.worker].resume(()) {
            CoroutineResult::Yield(()) | CoroutineResult::Return(()) => time.running.set(NO_WORKER),
        }
    }
}

/// Removes the first wake-up, if it is not after `limit`.
fn next_waking(limit: Ticks) -> Option<Waking> {
    SLEEPERS.with_borrow_mut(|sleepers| {
        WAITS.with_borrow_mut(|waits| {
            while let Some(&Reverse(first)) = sleepers.peek() {
                let wait = &mut waits[first.worker];
                if wait.sequence == first.sequence {
                    if first.at > limit {
                        return None;
                    }
                    wait.wakes_on_news = false;
                    sleepers.pop();
                    return Some(first);
                }
                sleepers.pop();
            }
            None
        })
    })
}

impl Drop for Workers {
    fn drop(&mut self) {
        for mut coroutine in self.coroutines.drain(..) {
            if coroutine.started() && !coroutine.done() {
                // SAFETY: the data on its stack is never used again. It is leaked, as with a thread that hangs.
                unsafe { coroutine.force_reset() };
            }
            if coroutine.done() {
                let stack = coroutine.into_stack();
                STACKS.with_borrow_mut(|stacks| {
                    if stacks.len() < KEPT_STACKS {
                        stacks.push(stack);
                    }
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    // Protects the order: the earliest wake-up runs first, equal times run in order of request, and none runs twice.
    #[test]
    fn the_earliest_wake_up_runs_first() {
        set(BEGINNING);
        let log: Rc<RefCell<Vec<(usize, Ticks)>>> = Rc::default();
        let mut workers = Workers::new();
        for (number, times) in [vec![30, 40, 90], vec![10, 40, 50], vec![40]].into_iter().enumerate() {
            let log = Rc::clone(&log);
            let body = move || {
                for at in times {
                    sleep_until(BEGINNING + at);
                    log.borrow_mut().push((number, now() - BEGINNING));
                }
            };
            workers.start(body).unwrap();
        }
        workers.run_until(BEGINNING + 40);
        assert_eq!(*log.borrow(), [(1, 10), (0, 30), (2, 40), (1, 40), (0, 40)]);
        assert_eq!(now(), BEGINNING + 40);
        workers.run_until(BEGINNING + 80);
        assert_eq!((log.borrow().last().copied(), now()), (Some((1, 50)), BEGINNING + 80));
        workers.run_to_end();
        assert_eq!((log.borrow().len(), now()), (7, BEGINNING + 90));
    }

    // Protects wake-ups: news wakes workers that wait for it but not those that wait for a device,
    // and a ring stops time.
    #[test]
    fn news_and_rings_take_effect_at_once() {
        set(BEGINNING);
        let log: Rc<RefCell<Vec<(&str, Ticks)>>> = Rc::default();
        let mut workers = Workers::new();
        let record = |what: &'static str| {
            let log = Rc::clone(&log);
            move || log.borrow_mut().push((what, now() - BEGINNING))
        };
        let (patient, deaf, heard) = (record("patient"), record("deaf"), record("news"));
        let waits = move || {
            wait_until(BEGINNING + 1_000);
            patient();
            wait_for_news();
            heard();
        };
        workers.start(waits).unwrap();
        let sleeps = move || {
            sleep_until(BEGINNING + 500);
            deaf();
        };
        workers.start(sleeps).unwrap();
        let rings = || {
            sleep_until(BEGINNING + 100);
            assert!(ring());
            sleep_until(BEGINNING + 200);
            tell();
        };
        workers.start(rings).unwrap();
        workers.run_until(BEGINNING + 10_000);
        assert_eq!((log.borrow().as_slice(), now()), ([].as_slice(), BEGINNING + 100));
        workers.run_until(BEGINNING + 10_000);
        assert_eq!(*log.borrow(), [("patient", 200), ("deaf", 500)]);
        tell();
        workers.run_until(BEGINNING + 10_000);
        assert_eq!(log.borrow().last(), Some(&("news", 10_000)));
        assert!(!ring(), "the coordinator has no bell to ring");
    }

    // Protects later phases: an abandoned phase leaves nothing that could still run.
    #[test]
    fn a_worker_that_never_wakes_is_dropped() {
        set(BEGINNING);
        let mut workers = Workers::new();
        workers.start(wait_for_news).unwrap();
        workers.start(|| panic!("it must never begin")).unwrap();
        drop(workers);
        let mut workers = Workers::new();
        workers.start(wait_for_news).unwrap();
        workers.run_until(BEGINNING + 7);
        workers.run_to_end();
        drop(workers);
        assert!(!in_worker());
        assert_eq!(now(), BEGINNING + 7);
    }
}
