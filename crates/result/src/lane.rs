//! Activity of devices and the machine in each interval of a phase, shown as lanes below the load's own series.

use crate::measurement::Interval;
use crate::observe::{Counters, CpuTimes, DeviceCounters};
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use strum::VariantArray;

/// One quantity observed in every interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// Device name; empty for the machine as a whole.
    pub of: String,
    /// Quantity that the lane shows, which determines the unit.
    pub measure: LaneMeasure,
    /// Amount in each interval of the phase, in the measure's unit; `None` if it could not be observed.
    pub values: Vec<Option<u64>>,
}

/// The quantity of a lane. Amounts are per interval.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr, VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum LaneMeasure {
    /// Bytes read from the device.
    ReadBytes,
    /// Bytes written to the device.
    WriteBytes,
    /// Time with at least one request in flight, ms.
    BusyMs,
    /// Time weighted by the number of requests in flight, ms.
    WeightedMs,
    /// Share of the machine's processor time used by all programs, in thousandths.
    CpuPermille,
    /// Dirty pages and pages under writeback at the end of the interval, bytes.
    DirtyBytes,
}

impl LaneMeasure {
    /// All measures, in the order of their lanes.
    pub const ALL: &[LaneMeasure] = LaneMeasure::VARIANTS;

    /// Returns the name under which the store keeps the measure.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Error from parsing the name of a measure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown measure of a device `{0}`")]
pub struct UnknownMeasure(String);

impl FromStr for LaneMeasure {
    type Err = UnknownMeasure;

    fn from_str(name: &str) -> Result<LaneMeasure, UnknownMeasure> {
        LaneMeasure::ALL
            .iter()
            .copied()
            .find(|known| known.name() == name)
            .ok_or_else(|| UnknownMeasure(name.to_owned()))
    }
}

/// Collects lanes during a phase. Counters arrive at the start and after each second; only their differences are kept.
#[derive(Debug, Clone, Default)]
pub struct LaneLog {
    last: Option<Counters>,
    /// Measured time at the end of each step, ns.
    ends_ns: Vec<u64>,
    lanes: Vec<Lane>,
}

impl LaneLog {
    /// Starts a log with the counters from the start of measured time.
    pub fn new(start: Counters) -> LaneLog {
        let by_device = start.devices.keys().flat_map(|name| OF_DEVICES.map(|measure| (name.clone(), measure)));
        let of_machine = [LaneMeasure::CpuPermille, LaneMeasure::DirtyBytes].map(|measure| (String::new(), measure));
        let lane = |(of, measure)| Lane { of, measure, values: Vec::new() };
        LaneLog { lanes: by_device.chain(of_machine).map(lane).collect(), last: Some(start), ends_ns: Vec::new() }
    }

    /// Records one second; `elapsed_ns` is the measured time since the start.
    pub fn push(&mut self, elapsed_ns: u64, now: &Counters) {
        let Some(before) = &self.last else { return };
        for lane in &mut self.lanes {
            lane.values.push(step(lane, before, now));
        }
        self.ends_ns.push(elapsed_ns);
        self.last = Some(now.clone());
    }

    /// Returns the lanes for a phase's intervals. `searched_ns` is the time before the first interval. A shorter last
    /// interval has no values, because the next reading of the counters includes the final flush. A measure that
    /// never changed has no lane.
    pub fn finish(mut self, intervals: &[Interval], searched_ns: u64) -> Vec<Lane> {
        let ends_ns = intervals.iter().map(|one| one.start_ns + one.length_ns + searched_ns);
        let at: Vec<Option<usize>> = ends_ns.map(|end_ns| self.ends_ns.binary_search(&end_ns).ok()).collect();
        for lane in &mut self.lanes {
            lane.values = at.iter().map(|at| at.and_then(|at| lane.values.get(at).copied().flatten())).collect();
        }
        self.lanes.retain(|lane| lane.values.iter().any(|value| value.is_some_and(|value| value > 0)));
        self.lanes
    }
}

fn step(lane: &Lane, before: &Counters, after: &Counters) -> Option<u64> {
    match lane.measure {
        LaneMeasure::CpuPermille => busy_permille(before.cpu.value()?, after.cpu.value()?),
        LaneMeasure::DirtyBytes => after.memory.value().map(|memory| memory.dirty_bytes + memory.writeback_bytes),
        measure => {
            let of_device = |counters: &Counters| counter(measure, counters.devices.get(&lane.of)?.value()?);
            // A counter that decreased belongs to a device that was removed and added again.
            of_device(after)?.checked_sub(of_device(before)?)
        }
    }
}

/// Measures that are observed for each device.
const OF_DEVICES: [LaneMeasure; 4] =
    [LaneMeasure::ReadBytes, LaneMeasure::WriteBytes, LaneMeasure::BusyMs, LaneMeasure::WeightedMs];

/// Returns the counter whose differences a measure shows.
const fn counter(measure: LaneMeasure, counters: &DeviceCounters) -> Option<u64> {
    match measure {
        LaneMeasure::ReadBytes => Some(counters.read_bytes),
        LaneMeasure::WriteBytes => Some(counters.write_bytes),
        LaneMeasure::BusyMs => Some(counters.busy_ms),
        LaneMeasure::WeightedMs => Some(counters.weighted_ms),
        LaneMeasure::CpuPermille | LaneMeasure::DirtyBytes => None,
    }
}

fn busy_permille(before: &CpuTimes, after: &CpuTimes) -> Option<u64> {
    let total = after.total_s - before.total_s;
    let idle = after.idle_s - before.idle_s;
    (total > 0.0).then(|| ((1.0 - idle / total).clamp(0.0, 1.0) * 1000.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::Seen;

    const SECOND: u64 = 1_000_000_000;

    fn counters(read_bytes: Option<u64>) -> Counters {
        let seen = read_bytes.map_or(Seen::no("gone"), |read_bytes| {
            Seen::Yes(DeviceCounters { read_bytes, ..DeviceCounters::default() })
        });
        Counters { devices: [("sda".to_owned(), seen)].into(), ..Counters::default() }
    }

    fn intervals(lengths: &[u64]) -> Vec<Interval> {
        let mut start_ns = 0;
        let one = |length_ns: &u64| {
            start_ns += length_ns;
            Interval { start_ns: start_ns - length_ns, length_ns: *length_ns, ..Interval::default() }
        };
        lengths.iter().map(one).collect()
    }

    fn log(start: Option<u64>, seconds: &[Option<u64>]) -> LaneLog {
        let mut log = LaneLog::new(counters(start));
        for (second, read_bytes) in (1..).zip(seconds) {
            log.push(second * SECOND, &counters(*read_bytes));
        }
        log
    }

    // Protects: each interval has the device's activity in it. A second without a reading is missing together with the
    // next one and is never 0, as is the partial interval after the last second. A device without activity has no lane.
    #[test]
    fn each_interval_has_its_own_difference() {
        let log = log(Some(100), &[Some(150), None, Some(400), Some(450)]);
        let intervals = intervals(&[SECOND, SECOND, SECOND, SECOND, SECOND / 2]);
        let lanes = log.finish(&intervals, 0);
        assert_eq!(lanes.len(), 1, "{lanes:?}");
        assert_eq!((lanes[0].of.as_str(), lanes[0].measure), ("sda", LaneMeasure::ReadBytes));
        assert_eq!(lanes[0].values, [Some(50), None, None, Some(50), None]);
    }

    // Protects: if the first seconds were a search, lanes begin with the measured time.
    #[test]
    fn the_search_is_not_part_of_lanes() {
        let log = log(Some(0), &[Some(1000), Some(1010), Some(1030)]);
        let lanes = log.finish(&intervals(&[SECOND, SECOND]), SECOND);
        assert_eq!(lanes[0].values, [Some(10), Some(20)]);
        assert!(LaneLog::default().finish(&intervals(&[SECOND]), 0).is_empty(), "no counters were recorded");
    }

    #[test]
    fn every_measure_parses_from_its_name() {
        assert!(LaneMeasure::ALL.iter().all(|measure| measure.name().parse() == Ok(*measure)));
        assert!("reads".parse::<LaneMeasure>().is_err());
    }
}
