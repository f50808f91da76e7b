//! What a companion sees of its phase, and how it is run.

use crate::barrier::{Barrier, Passed};
use crate::clock::{Clock, Ticks};
use crate::terms::Ended;
use std::time::Duration;

/// No sleep is longer than this, so that a stop is noticed.
pub(super) const LONGEST_SLEEP: Duration = Duration::from_millis(10);

/// What a companion sees of its phase.
pub(super) struct Context<'a> {
    pub(super) clock: Clock,
    /// Whether it shall end.
    pub(super) stops_at: &'a mut dyn FnMut(Ticks) -> bool,
    /// How many of the phase's workers are done, companions not counted.
    pub(super) io_done: &'a dyn Fn() -> u64,
}

impl Context<'_> {
    /// Sleeps until `at`, or shorter where the companion shall end. True when the time has come.
    pub(super) fn sleep_until(&mut self, at: Ticks) -> bool {
        loop {
            let now = self.clock.now();
            if (self.stops_at)(now) {
                return false;
            }
            if now >= at {
                return true;
            }
            std::thread::sleep(Duration::from_nanos(self.clock.ns_between(now, at)).min(LONGEST_SLEEP));
        }
    }
}

/// Passes the barrier, does `work`, and says to those that wait for the workers only that this one was none.
pub(super) fn run_companion<T>(
    barrier: &Barrier,
    work: impl FnOnce(&mut Context<'_>) -> T,
    conclude: impl FnOnce(&mut Passed<'_>, T) -> Ended,
) -> Ended {
    let Some(mut passed) = barrier.pass() else { return Ended::Stopped };
    let (clock, control) = (passed.context.clock, passed.context.control);
    let worked =
        work(&mut Context { clock, stops_at: &mut |now| passed.context.stops_at(now), io_done: &|| control.io_done() });
    passed.stop_clock();
    let ended = conclude(&mut passed, worked);
    control.beside_done();
    ended
}
