//! Estimates the time of a simulated device for requests that another device counted.

use super::media::{Media, Range, Stretch};
use crate::rng::{Purpose, StreamId};
use plumb_workload::SimModel;

/// Requests of one device, from its counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Requests {
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    /// Flushes of the device's cache.
    pub flushes: u64,
}

/// Positions of the requests, which counters do not contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Positions {
    /// Reads are contiguous, and so are writes: the fastest case.
    Contiguous,
    /// Each request is at a random position.
    Scattered,
}

/// Maximum number of requests that are simulated; the time of more is extrapolated.
const SERVED_MAX: u64 = 50_000;

/// Returns the time that a healthy device of this model takes for these requests, ns. Requests come one after
/// another, reads and writes evenly mixed and of their mean size, and everything is on the medium at the end. The
/// same numbers always give the same time.
pub fn busy_ns(model: SimModel, size_bytes: u64, requests: Requests, positions: Positions) -> u64 {
    let total = requests.reads + requests.writes;
    let served = total.min(SERVED_MAX);
    let stream = |worker| StreamId { seed: 0, phase: 0, worker }.rng(Purpose::Device);
    let mut media = Media::new(model, size_bytes, stream(0));
    let mut places = stream(1);
    let plain = Stretch { device: 1.0, jitter: 1.0 };
    let length = |bytes: u64, count: u64| bytes.checked_div(count).unwrap_or(0);
    let (read, write) = (length(requests.read_bytes, requests.reads), length(requests.written_bytes, requests.writes));
    // Returns `true` if request `at` is one of `count` that are spread evenly.
    let is_due = |at: u64, count: u64| {
        let until = |at: u64| u128::from(at) * u128::from(count) / u128::from(total.max(1));
        until(at + 1) > until(at)
    };
    let (mut now, mut read_end, mut write_end) = (0, 0, 0);
    for at in 0..served {
        let is_write = is_due(at, requests.writes);
        let (length, end) = if is_write { (write, &mut write_end) } else { (read, &mut read_end) };
        let offset = match positions {
            Positions::Contiguous => *end,
            Positions::Scattered => places.below(size_bytes.saturating_sub(length).max(1)),
        };
        let range = Range { offset, length };
        *end = offset.saturating_add(length);
        now = if is_write { media.write(now, range, plain) } else { media.read(now, range, 0, plain) };
        if is_due(at, requests.flushes.min(total)) {
            now = media.flush(now, 0.0, plain);
        }
    }
    now = media.flush(now, 0.0, plain);
    if served == 0 { 0 } else { (now as f64 * (total as f64 / served as f64)) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 1 << 30;

    fn hdd(requests: Requests, positions: Positions) -> u64 {
        busy_ns(SimModel::Hdd, SIZE, requests, positions)
    }

    #[test]
    fn a_disk_takes_time_for_positions_and_for_bytes() {
        let reads = Requests { reads: 100, read_bytes: 100 << 12, ..Requests::default() };
        let (near, far) = (hdd(reads, Positions::Contiguous), hdd(reads, Positions::Scattered));
        // A single random read takes half a rotation (4.2 ms) and a seek of a few ms.
        assert!((500_000_000..2_000_000_000).contains(&far), "{far}");
        assert!(near * 50 < far, "{near} {far}");
        let large = Requests { reads: 100, read_bytes: 210_000_000, ..Requests::default() };
        assert!((1_000_000_000..1_100_000_000).contains(&hdd(large, Positions::Contiguous)), "at 210 MB/s");
        assert_eq!(hdd(Requests::default(), Positions::Scattered), 0);
    }

    #[test]
    fn writes_count_until_they_are_on_the_medium_and_many_are_extrapolated() {
        let writes = |count: u64| Requests { writes: count, written_bytes: count << 12, ..Requests::default() };
        let (some, twice) = (hdd(writes(50_000), Positions::Scattered), hdd(writes(100_000), Positions::Scattered));
        assert_eq!(twice, 2 * some);
        let both = Requests { reads: 500, read_bytes: 500 << 12, ..writes(500) };
        assert!(hdd(both, Positions::Scattered) > hdd(writes(500), Positions::Scattered));
    }
}
