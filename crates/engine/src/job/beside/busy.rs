//! Processor time that is used up beside other work.

use super::{run_beside, sleep_until};
use crate::gate::{Body, Gate};
use crate::rng::Rng;
use crate::worker::Ended;
use plumb_workload::Busy;
use std::hint::{black_box, spin_loop};

/// A worker that uses up a share of a processor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BusyWorker {
    /// How much of it, and how.
    pub(crate) busy: Busy,
    /// How many workers of its phase do I/O: those that do jobs, block work or flows.
    pub(crate) io_workers: u64,
}

/// Numbers that are sorted at a time, 1 MiB of them: more than a processor's nearest caches hold.
const SORTED_NUMBERS: usize = 256 << 10;

/// The numbers are the same in every run.
const SORTED_SEED: u64 = 1;

impl BusyWorker {
    /// The worker's body.
    pub(crate) fn body(self) -> Body {
        Box::new(move |gate: &Gate| self.run(gate))
    }

    fn run(self, gate: &Gate) -> Result<Ended, String> {
        let mut numbers = if self.busy.sorts { random_numbers() } else { Vec::new() };
        run_beside(gate, |passed| {
            let (clock, control) = (passed.desk.clock, passed.desk.control);
            let piece = clock.ticks(self.busy.piece.0);
            loop {
                let began = clock.now();
                if control.stops_at(began) {
                    return Ok(Ended::Stopped);
                }
                if self.busy.ends_with_others && control.io_done() >= self.io_workers {
                    return Ok(Ended::Done);
                }
                if self.busy.sorts {
                    sort_to_and_fro(&mut numbers);
                } else {
                    while clock.now() - began < piece && !control.stops_at(clock.now()) {
                        spin_loop();
                    }
                }
                // By the time that it really took: a piece of sorting has no length of its own.
                let now = clock.now();
                let idle =
                    (now - began) as f64 * f64::from(100 - self.busy.percent.min(100)) / f64::from(self.busy.percent);
                if !sleep_until(&clock, control, now + idle as u64) {
                    return Ok(Ended::Stopped);
                }
            }
        })
    }
}

fn random_numbers() -> Vec<u32> {
    let mut rng = Rng::new(SORTED_SEED);
    (0..SORTED_NUMBERS).map(|_| rng.next_u64() as u32).collect()
}

/// Four sortings that each leave the numbers in an order that the next one has work with.
fn sort_to_and_fro(numbers: &mut [u32]) {
    numbers.sort_unstable();
    black_box(&mut *numbers).sort_unstable_by(|a, b| b.cmp(a));
    // The bits turned about: neighbours are scattered again.
    black_box(&mut *numbers).sort_unstable_by_key(|number| number.reverse_bits());
    black_box(&mut *numbers).sort_unstable_by_key(|number| number.wrapping_mul(0x9e37_79b9));
    black_box(numbers);
}
