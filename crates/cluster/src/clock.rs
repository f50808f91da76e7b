//! The monotonic clock of a rank, and its conversion to rank 0's clock.

/// Difference between rank 0's monotonic clock and a rank's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClockOffset {
    /// Nanoseconds to add to the rank's clock to get rank 0's.
    pub ns: i64,
    /// Upper bound of the error, ns: half the shortest round trip of each step up the tree.
    pub within_ns: u64,
}

impl ClockOffset {
    /// Converts a time of rank 0's clock to this rank's own, ns.
    pub fn to_own_ns(self, of_rank_0: u64) -> u64 {
        of_rank_0.saturating_add_signed(self.ns.saturating_neg())
    }

    /// Converts a time of this rank's clock to rank 0's, ns.
    pub fn to_rank_0_ns(self, own: u64) -> u64 {
        own.saturating_add_signed(self.ns)
    }
}

/// Reads `CLOCK_MONOTONIC`, in ns.
pub fn monotonic_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

/// Waits until a time of this rank's own monotonic clock: sleeps, and spins for the last 100 µs. Waits at most one
/// second, so that a wrong clock cannot stop a run.
pub fn wait_until_ns(own_ns: u64) {
    const AWAKE_NS: u64 = 100_000;
    const LONGEST_NS: u64 = 1_000_000_000;
    let left_ns = own_ns.saturating_sub(monotonic_ns()).min(LONGEST_NS);
    let end_ns = monotonic_ns().saturating_add(left_ns);
    if left_ns > AWAKE_NS {
        std::thread::sleep(std::time::Duration::from_nanos(left_ns - AWAKE_NS));
    }
    while monotonic_ns() < end_ns {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_turn_times_there_and_back() {
        for ns in [-5_000_000_000, 0, 7] {
            let offset = ClockOffset { ns, within_ns: 1 };
            assert_eq!(offset.to_own_ns(offset.to_rank_0_ns(9_000_000_000)), 9_000_000_000);
        }
        assert_eq!(ClockOffset { ns: 5, within_ns: 0 }.to_rank_0_ns(10), 15);
    }
}
