//! Detects jumps of the clock.

use crate::error::ProbeError;
use crate::platform::{self, ClockPair};
use plumb_result::Seen;

/// Watches `CLOCK_REALTIME` against `CLOCK_MONOTONIC_RAW`, which is never adjusted. The difference drifts by at most
/// 500 ns/ms while NTP slews the clock. It jumps if the time is set or a virtual machine was stopped.
#[derive(Debug, Clone)]
pub struct ClockWatch {
    state: Result<Watch, ProbeError>,
}

#[derive(Debug, Clone, Copy)]
struct Watch {
    last_offset_ns: i64,
    largest_ns: i64,
}

impl ClockWatch {
    /// Starts watching the clocks.
    pub fn start() -> ClockWatch {
        ClockWatch { state: platform::raw_and_real().map(Watch::start) }
    }

    /// Reads the clocks. Frequent calls distinguish a step from a slew better; once a second is enough.
    pub fn tick(&mut self) {
        if let Ok(watch) = &mut self.state {
            match platform::raw_and_real() {
                Ok(pair) => watch.see(pair),
                Err(reason) => self.state = Err(reason),
            }
        }
    }

    /// Reads the clocks a last time. Returns the largest change between two readings in ns, signed.
    pub fn finish(mut self) -> Seen<i64> {
        self.tick();
        self.state.map(|watch| watch.largest_ns).into()
    }
}

impl Watch {
    fn start(pair: ClockPair) -> Watch {
        Watch { last_offset_ns: offset_ns(pair), largest_ns: 0 }
    }

    fn see(&mut self, pair: ClockPair) {
        let step = offset_ns(pair).saturating_sub(self.last_offset_ns);
        if step.unsigned_abs() > self.largest_ns.unsigned_abs() {
            self.largest_ns = step;
        }
        self.last_offset_ns = offset_ns(pair);
    }
}

fn offset_ns(pair: ClockPair) -> i64 {
    pair.real_ns.saturating_sub(pair.raw_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a step back counts as much as one forward, and a later return does not hide it.
    #[test]
    fn the_largest_step_stays() {
        let at = |raw_ns, real_ns| ClockPair { raw_ns, real_ns };
        let mut watch = Watch::start(at(0, 1_000));
        watch.see(at(100, 1_101));
        assert_eq!(watch.largest_ns, 1);
        watch.see(at(200, 701));
        assert_eq!(watch.largest_ns, -500);
        watch.see(at(300, 1_101));
        assert_eq!(watch.largest_ns, -500);
    }

    // Protects: the clocks can be read on this machine.
    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine() {
        let mut watch = ClockWatch::start();
        watch.tick();
        assert!(watch.finish().value().is_some());
    }
}
