//! Workers of a simulated phase, and the intended starts of an open load.

use super::run::SimRunError;
use crate::rng::Rng;
use crate::source::Source;
use plumb_workload::{Arrival, Limit, OnError, Pace, WorkerGroup};

/// A worker: a source, a depth and a pace, on one of the simulation's devices.
#[derive(Debug, Clone)]
pub struct SimWorker<S: Source> {
    /// Group and number, `workers.0/3`.
    pub name: String,
    /// Number of its group within the phase. The workers of a group whose pace is shared take turns at one rate.
    pub group: usize,
    /// Number of its device within the simulation.
    pub device: usize,
    /// Ops in flight at most.
    pub depth: u32,
    /// When the next op may start.
    pub pace: Pace,
    /// When it has done enough, counted from the phase's start, ramp included. Passes are the source's business.
    pub limit: Limit,
    /// What an op's error means.
    pub on_error: OnError,
    /// Draws of Poisson arrivals: the stream of [`Purpose::Arrival`](crate::rng::Purpose). A shared pace draws from that
    /// of the group's first worker.
    pub arrivals: Rng,
    /// Number of the file that an op is on; where the target has files, they lie one after another on the device.
    pub file: fn(&S::Op) -> u64,
    /// Yields its ops.
    pub source: S,
}

impl<S: Source> SimWorker<S> {
    /// Worker `number` of a group.
    pub fn of_group(
        group: &WorkerGroup,
        place: WorkerPlace,
        device: usize,
        arrivals: Rng,
        file: fn(&S::Op) -> u64,
        source: S,
    ) -> SimWorker<S> {
        let group_name = group.name.clone().unwrap_or_else(|| format!("workers.{}", place.group));
        SimWorker {
            name: format!("{group_name}/{}", place.number),
            group: place.group,
            device,
            depth: group.depth,
            pace: group.pace,
            limit: group.limit,
            on_error: group.on_error,
            arrivals,
            file,
            source,
        }
    }
}

/// Which worker of which group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerPlace {
    /// Number of the group within the phase.
    pub group: usize,
    /// Number of the worker within the group.
    pub number: u32,
}

/// Intended starts of an open load, ns from the phase's start. They are kept as sums of exact gaps, never as a gap
/// rounded to the clock, so that the mean rate is exact at any rate.
#[derive(Debug, Clone)]
pub(super) struct Arrivals {
    gap_ns: f64,
    arrival: Arrival,
    rng: Rng,
    count: u64,
    last_ns: f64,
}

impl Arrivals {
    /// At so many a second, which must be positive.
    pub(super) fn new(rate: f64, arrival: Arrival, rng: Rng, worker: &str) -> Result<Arrivals, SimRunError> {
        if rate > 0.0 && rate.is_finite() {
            Ok(Arrivals { gap_ns: 1e9 / rate, arrival, rng, count: 0, last_ns: 0.0 })
        } else {
            Err(SimRunError::Rate { worker: worker.to_owned(), rate })
        }
    }

    /// The next intended start.
    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        match self.arrival {
            Arrival::Fixed => self.last_ns = self.gap_ns * self.count as f64,
            Arrival::Poisson => self.last_ns += self.gap_ns * self.rng.exponential(),
        }
        self.count += 1;
        self.last_ns as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_arrivals_keep_their_mean_rate_at_300_000_a_second() {
        let mut arrivals = Arrivals::new(300_000.0, Arrival::Poisson, Rng::new(5), "w").unwrap();
        let last_ns = (0..3_000_000).map(|_| arrivals.next()).last().unwrap();
        let rate = 3_000_000.0 * 1e9 / last_ns as f64;
        // Three standard deviations of the sum of 3 million exponential gaps are 0.17 %.
        assert!((rate / 300_000.0 - 1.0).abs() < 0.0018, "{rate}");
    }

    #[test]
    fn fixed_arrivals_do_not_drift() {
        let mut arrivals = Arrivals::new(300_000.0, Arrival::Fixed, Rng::new(5), "w").unwrap();
        assert_eq!((0..=300_000).map(|_| arrivals.next()).last(), Some(1_000_000_000));
    }

    #[test]
    fn a_rate_of_nothing_is_an_error_that_names_the_worker() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = Arrivals::new(rate, Arrival::Fixed, Rng::new(5), "load/0").unwrap_err().to_string();
            assert!(error.contains("load/0"), "{error}");
        }
    }
}
