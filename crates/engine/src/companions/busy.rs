//! A companion that uses CPU time.

use super::{Context, run_companion};
use crate::barrier::{Barrier, Body};
use crate::rng::Rng;
use crate::terms::Ended;
use plumb_workload::Busy;
use std::cmp::Ordering;
use std::hint::{black_box, spin_loop};

/// A companion that keeps one CPU busy for a share of the time.
#[derive(Debug, Clone, Copy)]
pub(super) struct BusyCompanion {
    /// Share of the CPU, and the kind of work.
    pub(super) busy: Busy,
    /// Number of workers in the phase.
    pub(super) workers: u64,
}

/// Numbers to sort at a time. They take 1 MiB, more than a CPU's L1 and L2 caches hold.
const SORTED_NUMBERS: usize = 256 << 10;

/// Fixed seed: every run sorts the same numbers.
const SORTED_SEED: u64 = 1;

impl BusyCompanion {
    /// Returns the body of the companion's thread.
    pub(super) fn body(self) -> Body {
        Box::new(move |barrier: &Barrier| {
            let mut numbers = if self.busy.sorts { random_numbers() } else { Vec::new() };
            Ok(run_companion(barrier, |context| self.run(context, &mut numbers), |_, ended| ended))
        })
    }

    /// Alternates between busy pieces and sleeps.
    pub(super) fn run(self, context: &mut Context<'_>, numbers: &mut [u32]) -> Ended {
        let clock = context.clock;
        let piece = clock.ticks(self.busy.piece.0);
        loop {
            let began = clock.now();
            if (context.stops_at)(began) {
                return Ended::Stopped;
            }
            if self.busy.ends_with_others && (context.io_done)() >= self.workers {
                return Ended::Done;
            }
            if self.busy.sorts {
                sort_in_four_orders(numbers);
            } else {
                while clock.now() - began < piece && !(context.stops_at)(clock.now()) {
                    spin_loop();
                }
            }
            // Based on the measured time: sorting has no fixed duration.
            let now = clock.now();
            let share = f64::from(self.busy.percent.clamp(1, 100)) / 100.0;
            let idle = (now - began) as f64 * (1.0 - share) / share;
            if !context.sleep_until(now + idle as u64) {
                return Ended::Stopped;
            }
        }
    }
}

/// Returns the numbers to sort.
pub(super) fn random_numbers() -> Vec<u32> {
    let mut rng = Rng::new(SORTED_SEED);
    (0..SORTED_NUMBERS).map(|_| rng.next_u64() as u32).collect()
}

/// Sorts four times. Each order leaves the numbers unsorted for the next one.
fn sort_in_four_orders(numbers: &mut [u32]) {
    // One sort with the order as an argument: four monomorphized sorts would take 25 KB.
    let orders: [fn(&u32, &u32) -> Ordering; 4] = [
        Ord::cmp,
        |a, b| b.cmp(a),
        |a, b| a.reverse_bits().cmp(&b.reverse_bits()),
        |a, b| a.wrapping_mul(0x9e37_79b9).cmp(&b.wrapping_mul(0x9e37_79b9)),
    ];
    for order in orders {
        black_box(&mut *numbers).sort_unstable_by(black_box(order));
    }
    black_box(numbers);
}
