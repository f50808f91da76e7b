//! Per-second progress of hosts, which the coordinator adds up and shows.

use plumb_document::json;
use plumb_engine::Live;
use plumb_result::{Histogram, Interval};
use plumb_workload::OpKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct HostSecond {
    phase: String,
    elapsed_ns: u64,
    time_ns: Option<u64>,
    interval: Interval,
    service: BTreeMap<OpKind, Histogram>,
    in_flight: f64,
    interval_fault_count: u64,
    fault_count: u64,
    short_count: u64,
    working_set_bytes: Option<u64>,
    depth_asked: u32,
}

/// Encodes a second for sending.
pub(super) fn bytes(live: &Live) -> Vec<u8> {
    let second = HostSecond {
        phase: live.phase.clone(),
        elapsed_ns: live.elapsed_ns,
        time_ns: live.time_ns,
        interval: live.interval.clone(),
        service: live.service.clone(),
        in_flight: live.in_flight,
        interval_fault_count: live.interval_fault_count,
        fault_count: live.fault_count,
        short_count: live.short_count,
        working_set_bytes: live.working_set_bytes,
        depth_asked: live.depth_asked,
    };
    json::to_vec(&second).unwrap_or_default()
}

impl From<HostSecond> for Live {
    fn from(second: HostSecond) -> Live {
        Live {
            phase: second.phase,
            elapsed_ns: second.elapsed_ns,
            time_ns: second.time_ns,
            interval: second.interval,
            service: second.service,
            in_flight: second.in_flight,
            interval_fault_count: second.interval_fault_count,
            fault_count: second.fault_count,
            faults: Vec::new(),
            short_count: second.short_count,
            working_set_bytes: second.working_set_bytes,
            depth_asked: second.depth_asked,
        }
    }
}

/// Adds the numbers of another host to those of the same second.
fn add(all: &mut Live, other: Live) {
    all.elapsed_ns = all.elapsed_ns.max(other.elapsed_ns);
    all.time_ns = all.time_ns.max(other.time_ns);
    all.interval.length_ns = all.interval.length_ns.max(other.interval.length_ns);
    for (kind, ops) in other.interval.ops {
        let sum = all.interval.ops.entry(kind).or_default();
        sum.count += ops.count;
        sum.bytes += ops.bytes;
        sum.max_ns = sum.max_ns.max(ops.max_ns);
        // Percentiles of two hosts cannot be added; they are computed from the distributions.
        (sum.p50_ns, sum.p99_ns) = (None, None);
    }
    for (kind, times) in &other.service {
        all.service.entry(*kind).or_default().merge(times);
    }
    all.in_flight += other.in_flight;
    all.interval_fault_count += other.interval_fault_count;
    all.fault_count += other.fault_count;
    all.short_count += other.short_count;
    all.working_set_bytes = all.working_set_bytes.zip(other.working_set_bytes).map(|(mine, theirs)| mine + theirs);
    all.depth_asked += other.depth_asked;
}

/// Seconds received from hosts and not shown yet, one for each host.
pub(super) struct ReceivedSeconds<'a> {
    hosts: u32,
    phase: &'a str,
    waiting: BTreeMap<u32, Live>,
}

impl ReceivedSeconds<'_> {
    pub(super) fn new(hosts: u32, phase: &str) -> ReceivedSeconds<'_> {
        ReceivedSeconds { hosts, phase, waiting: BTreeMap::new() }
    }

    /// Takes in new seconds, and returns those that can be shown now. When a host's next second arrives first, the
    /// current one is shown without the missing hosts.
    pub(super) fn add_received(&mut self, received: Vec<(u32, Vec<u8>)>) -> Vec<Live> {
        let mut shown = Vec::new();
        for (rank, second) in received {
            // An unreadable second is not shown.
            let Ok(second) = json::from_slice::<HostSecond>(&second) else { continue };
            if second.phase != self.phase {
                continue;
            }
            if self.waiting.contains_key(&rank) {
                shown.extend(self.take());
            }
            self.waiting.insert(rank, second.into());
            if self.waiting.len() as u32 >= self.hosts {
                shown.extend(self.take());
            }
        }
        shown
    }

    /// Returns the sum of the waiting seconds.
    fn take(&mut self) -> Option<Live> {
        let mut seconds = std::mem::take(&mut self.waiting).into_values();
        let mut all = seconds.next()?;
        seconds.for_each(|other| add(&mut all, other));
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::OpCounts;

    fn live(phase: &str, second: u64, count: u64) -> Live {
        let ops = OpCounts { count, bytes: count * 10, p50_ns: Some(1), p99_ns: Some(count), max_ns: Some(count) };
        let mut times = Histogram::default();
        times.record(count);
        Live {
            phase: phase.to_owned(),
            elapsed_ns: second * 1_000_000_000,
            time_ns: Some(5_000_000_000),
            interval: Interval { start_ns: 0, length_ns: 1_000_000_000, ops: [(OpKind::Read, ops)].into() },
            service: [(OpKind::Read, times)].into(),
            in_flight: 1.5,
            interval_fault_count: 1,
            fault_count: 2,
            faults: Vec::new(),
            short_count: 0,
            working_set_bytes: Some(7),
            depth_asked: 4,
        }
    }

    // Protects the live line of hosts: it shows their sum and each second once, a lost host delays nothing, and
    // malformed data from a hostile agent is ignored.
    #[test]
    fn a_second_is_the_sum_of_all_hosts() {
        let mut seconds = ReceivedSeconds::new(2, "p");
        let second_of = |rank, second, count| (rank, bytes(&live("p", second, count)));
        assert!(seconds.add_received(vec![second_of(1, 1, 100)]).is_empty());
        let shown = seconds.add_received(vec![(2, b"{".to_vec()), (2, bytes(&live("q", 1, 9))), second_of(2, 1, 50)]);
        let [both] = shown.as_slice() else { panic!("{shown:?}") };
        let reads = both.interval.ops[&OpKind::Read];
        assert_eq!((reads.count, reads.bytes, reads.p99_ns, reads.max_ns), (150, 1500, None, Some(100)));
        assert_eq!((both.in_flight, both.depth_asked, both.working_set_bytes), (3.0, 8, Some(14)));
        assert_eq!((both.service[&OpKind::Read].count(), both.interval_fault_count), (2, 2));
        // The second host is gone.
        let shown = seconds.add_received(vec![second_of(1, 2, 100), second_of(1, 3, 70)]);
        assert_eq!(shown.iter().map(|live| live.interval.ops[&OpKind::Read].count).collect::<Vec<_>>(), [100]);
    }
}
