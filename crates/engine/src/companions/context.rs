//! A companion's view of its phase, and the function that runs companions.

use crate::barrier::{Barrier, Passed};
use crate::clock::{Clock, Ticks};
use crate::terms::Ended;
use std::time::Duration;

/// Maximum length of a sleep, so that a stop is noticed in time.
pub(super) const LONGEST_SLEEP: Duration = Duration::from_millis(10);

/// A companion's view of its phase.
pub(super) struct Context<'a> {
    pub(super) clock: Clock,
    /// Returns `true` if the companion must stop.
    pub(super) stops_at: &'a mut dyn FnMut(Ticks) -> bool,
    /// Returns the number of workers that are done, without companions.
    pub(super) io_done: &'a dyn Fn() -> u64,
}

impl Context<'_> {
    /// Sleeps until `at`. Returns `false` if the companion must stop earlier.
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

/// Passes the barrier and runs `work`. Its end does not count toward the number of workers that are done.
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
    control.companion_done();
    ended
}
