//! Virtual time: nobody sleeps, time jumps to whoever wakes next.
//!
//! A simulated phase runs on its coordinator's thread, and so does its time. Its workers are coroutines of that thread:
//! who waits hands over to the one who wakes first, and those who wake at the same time go on in the order in which they
//! asked for it. So the code of workers is that of real time, and the same run goes the same way every time.
//!
//! What waits asks here: the worker's [`wait_until`] and [`wait_for_news`], a simulated device's [`sleep_until`]. The
//! coordinator lets its workers run up to a time ([`Workers::run_until`]), or until one rings for it.
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

/// Where time begins: 0 means "not yet" in the words that workers share.
pub(crate) const BEGINNING: Ticks = 1 << 20;

/// Nothing is later, so that sums of times stay within `u64`.
pub(crate) const LATEST: Ticks = (1 << 62) - 1;

/// When who waits for news wakes without any.
const NEVER: Ticks = LATEST + 1;

/// Room for a worker's calls. Pages that are not used take no memory.
const STACK_BYTES: usize = 1 << 20;

/// The number of no worker.
const NOBODY: usize = usize::MAX;

/// Who wakes when; the earliest first, and in order of asking where times are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Waking {
    at: Ticks,
    sequence: u64,
    worker: usize,
}

/// What a worker waits for.
#[derive(Debug, Clone, Copy)]
struct Wait {
    /// Of its entry among the sleepers; any other entry of it is out of date.
    sequence: u64,
    /// Whether news wakes it, too.
    hears: bool,
}

/// The time of a thread, and who has it.
struct Time {
    now: Cell<Ticks>,
    /// Up to where workers may go on without the coordinator.
    limit: Cell<Ticks>,
    /// Whether somebody has rung for the coordinator.
    rung: Cell<bool>,
    /// The worker that runs, or [`NOBODY`].
    running: Cell<usize>,
    /// The way from that worker to the coordinator.
    way_out: Cell<*const Yielder<(), ()>>,
    sequence: Cell<u64>,
}

thread_local! {
    static TIME: Time = const {
        Time {
            now: Cell::new(BEGINNING),
            limit: Cell::new(BEGINNING),
            rung: Cell::new(false),
            running: Cell::new(NOBODY),
            way_out: Cell::new(ptr::null()),
            sequence: Cell::new(0),
        }
    };
    static SLEEPERS: RefCell<BinaryHeap<Reverse<Waking>>> = const { RefCell::new(BinaryHeap::new()) };
    /// By worker.
    static WAITS: RefCell<Vec<Wait>> = const { RefCell::new(Vec::new()) };
    /// Stacks of workers that are over: to map one costs more than to run a short phase on it.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// This many stacks are kept for the next phase.
const KEPT_STACKS: usize = 64;

/// The virtual time of this thread.
#[inline]
pub(crate) fn now() -> Ticks {
    TIME.with(|time| time.now.get())
}

/// Sets the time, while nobody is at work.
pub(crate) fn set(at: Ticks) {
    TIME.with(|time| time.now.set(at.min(LATEST)));
}

/// Whether a worker on virtual time is asking.
pub(crate) fn in_worker() -> bool {
    TIME.with(|time| time.running.get()) != NOBODY
}

/// Puts a worker among the sleepers.
fn fall_asleep(time: &Time, worker: usize, at: Ticks, hears: bool) {
    let sequence = time.sequence.get() + 1;
    time.sequence.set(sequence);
    SLEEPERS.with_borrow_mut(|sleepers| sleepers.push(Reverse(Waking { at, sequence, worker })));
    WAITS.with_borrow_mut(|waits| waits[worker] = Wait { sequence, hears });
}

/// Lets others go on until the worker at hand is woken.
fn wait(time: &Time, at: Ticks, hears: bool) {
    let (worker, way_out) = (time.running.get(), time.way_out.get());
    fall_asleep(time, worker, at, hears);
    // SAFETY: set by the coroutine at hand from the reference that it was given, which is good until it returns; nobody
    // else runs on this thread.
    unsafe { (*way_out).suspend(()) };
    time.running.set(worker);
    time.way_out.set(way_out);
}

/// Whether nobody else is to go on before `at`, so that the worker at hand may without a switch.
fn is_next(time: &Time, at: Ticks) -> bool {
    at <= time.limit.get()
        && SLEEPERS.with_borrow(|sleepers| sleepers.peek().is_none_or(|Reverse(first)| first.at > at))
}

/// Waits until `at`, whatever happens meanwhile: for what cannot be called back, as an op that is with its device. Outside
/// of workers, time passes.
pub(crate) fn sleep_until(at: Ticks) {
    let at = at.min(LATEST);
    TIME.with(|time| {
        if at <= time.now.get() {
            return;
        }
        if time.running.get() == NOBODY || is_next(time, at) {
            time.now.set(at);
        } else {
            wait(time, at, false);
        }
    });
}

/// Waits until `at`, or until there is news. The caller looks which.
pub(crate) fn wait_until(at: Ticks) {
    TIME.with(|time| match time.running.get() {
        NOBODY => time.now.set(time.now.get().max(at.min(LATEST))),
        _ => wait(time, at.min(NEVER), true),
    });
}

/// Waits until there is news.
pub(crate) fn wait_for_news() {
    wait_until(NEVER);
}

/// Wakes the workers that wait for news.
pub(crate) fn tell() {
    TIME.with(|time| {
        let now = time.now.get();
        let hearing = WAITS.with_borrow_mut(|waits| {
            let hearing = (0..waits.len()).filter(|&worker| std::mem::take(&mut waits[worker].hears));
            hearing.collect::<Vec<usize>>()
        });
        hearing.into_iter().for_each(|worker| fall_asleep(time, worker, now, false));
    });
}

/// Rings for the coordinator, who goes on as soon as the worker at hand waits or ends. False outside of such workers.
pub(crate) fn ring() -> bool {
    TIME.with(|time| {
        if time.running.get() == NOBODY {
            return false;
        }
        time.rung.set(true);
        // From here on nobody goes on without a switch.
        time.limit.set(time.now.get());
        true
    })
}

/// The workers of a phase, as coroutines.
pub(crate) struct Workers {
    coroutines: Vec<Coroutine<(), (), ()>>,
}

impl Workers {
    /// Nobody yet. There is one phase at a time on a thread.
    pub(crate) fn new() -> Workers {
        SLEEPERS.with_borrow_mut(BinaryHeap::clear);
        WAITS.with_borrow_mut(Vec::clear);
        TIME.with(|time| time.rung.set(false));
        Workers { coroutines: Vec::new() }
    }

    /// Adds a worker, which begins as soon as the coordinator waits.
    pub(crate) fn start(&mut self, body: impl FnOnce() + 'static) -> io::Result<()> {
        let kept = STACKS.with_borrow_mut(Vec::pop);
        let stack = kept.map_or_else(|| DefaultStack::new(STACK_BYTES), Ok)?;
        let worker = self.coroutines.len();
        self.coroutines.push(Coroutine::with_stack(stack, move |way_out: &Yielder<(), ()>, ()| {
            TIME.with(|time| {
                time.running.set(worker);
                time.way_out.set(way_out);
            });
            body();
        }));
        WAITS.with_borrow_mut(|waits| waits.push(Wait { sequence: 0, hears: false }));
        TIME.with(|time| fall_asleep(time, worker, time.now.get(), false));
        Ok(())
    }

    /// Lets the workers run until a time, and at that time, or until somebody rings.
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

    /// Lets the workers run until none of them is left who will ever wake, however long that takes.
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
            CoroutineResult::Yield(()) | CoroutineResult::Return(()) => time.running.set(NOBODY),
        }
    }
}

/// Takes the first one to wake from the sleepers, where that is no later than `limit`.
fn next_waking(limit: Ticks) -> Option<Waking> {
    SLEEPERS.with_borrow_mut(|sleepers| {
        WAITS.with_borrow_mut(|waits| {
            while let Some(&Reverse(first)) = sleepers.peek() {
                let wait = &mut waits[first.worker];
                if wait.sequence == first.sequence {
                    if first.at > limit {
                        return None;
                    }
                    wait.hears = false;
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
                // SAFETY: what lies on its stack is never used again; what it owns is lost, as with a thread that hangs.
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

    // Protects: who wakes first goes first, in order of asking at the same time, and never twice.
    #[test]
    fn time_goes_to_whoever_wakes_first() {
        set(BEGINNING);
        let told: Rc<RefCell<Vec<(usize, Ticks)>>> = Rc::default();
        let mut workers = Workers::new();
        for (number, times) in [vec![30, 40, 90], vec![10, 40, 50], vec![40]].into_iter().enumerate() {
            let told = Rc::clone(&told);
            let body = move || {
                for at in times {
                    sleep_until(BEGINNING + at);
                    told.borrow_mut().push((number, now() - BEGINNING));
                }
            };
            workers.start(body).unwrap();
        }
        workers.run_until(BEGINNING + 40);
        assert_eq!(*told.borrow(), [(1, 10), (0, 30), (2, 40), (1, 40), (0, 40)]);
        assert_eq!(now(), BEGINNING + 40);
        workers.run_until(BEGINNING + 80);
        assert_eq!((told.borrow().last().copied(), now()), (Some((1, 50)), BEGINNING + 80));
        workers.run_to_end();
        assert_eq!((told.borrow().len(), now()), (7, BEGINNING + 90));
    }

    // Protects: news wakes who waits for it and nobody who waits for a device, and a ring stops time.
    #[test]
    fn news_and_rings_are_heard_at_once() {
        set(BEGINNING);
        let told: Rc<RefCell<Vec<(&str, Ticks)>>> = Rc::default();
        let mut workers = Workers::new();
        let say = |what: &'static str| {
            let told = Rc::clone(&told);
            move || told.borrow_mut().push((what, now() - BEGINNING))
        };
        let (patient, deaf, heard) = (say("patient"), say("deaf"), say("news"));
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
        assert_eq!((told.borrow().as_slice(), now()), ([].as_slice(), BEGINNING + 100));
        workers.run_until(BEGINNING + 10_000);
        assert_eq!(*told.borrow(), [("patient", 200), ("deaf", 500)]);
        tell();
        workers.run_until(BEGINNING + 10_000);
        assert_eq!(told.borrow().last(), Some(&("news", 10_000)));
        assert!(!ring(), "the coordinator rings for nobody");
    }

    // Protects: a phase that is given up leaves nothing behind that could still run.
    #[test]
    fn who_never_wakes_is_left_behind() {
        set(BEGINNING);
        let mut workers = Workers::new();
        workers.start(wait_for_news).unwrap();
        workers.start(|| panic!("it was never to begin")).unwrap();
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
