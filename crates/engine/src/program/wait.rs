//! A wait after each op, as a share of the op's own time.

use crate::backend::Completion;
use crate::clock::Clock;
use crate::pacer::wait_out;

/// Length of the pending wait, ns.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WaitAfterOp {
    ns: u64,
}

impl WaitAfterOp {
    /// Makes an op, and computes the wait after it: this many millionths of its time.
    #[cold]
    pub(super) fn timed(&mut self, ppm: u64, clock: &Clock, make: impl FnOnce() -> Completion) -> Completion {
        let began = clock.now();
        let made = make();
        let took_ns = clock.ns_between(began, clock.now());
        self.ns = u64::try_from(u128::from(took_ns) * u128::from(ppm) / 1_000_000).unwrap_or(u64::MAX);
        made
    }

    #[inline]
    pub(super) fn wait(self, clock: &Clock) {
        if self.ns > 0 {
            wait_out(clock, self.ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    // Protects md-workbench's -t: the wait after an op is at least its share of the op's own time.
    #[test]
    fn waits_are_a_share_of_the_ops_time() {
        let clock = Clock::monotonic();
        let mut wait = WaitAfterOp::default();
        let made = wait.timed(500_000, &clock, || {
            clock.sleep(2_000_000);
            Ok(7)
        });
        assert_eq!(made, Ok(7));
        assert!(wait.ns >= 1_000_000, "{wait:?}");
        let began = Instant::now();
        wait.wait(&clock);
        assert!(began.elapsed() >= Duration::from_nanos(wait.ns));
        assert_eq!(WaitAfterOp::default().ns, 0);
    }
}
