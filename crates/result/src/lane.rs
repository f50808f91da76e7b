//! What devices and the machine did in each interval of a phase: the lanes below a load's own series.

use crate::measurement::Interval;
use crate::observe::{Counters, CpuTimes, DeviceCounters};
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use strum::VariantArray;

/// One thing that was seen once an interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// The device's name; empty for the machine as a whole.
    pub of: String,
    /// What was seen.
    pub measure: LaneMeasure,
    /// An amount for each interval of the phase, in the measure's unit; `None` where it could not be seen.
    pub values: Vec<Option<u64>>,
}

/// What a lane measures. Amounts are those of one interval.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr, VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum LaneMeasure {
    /// Bytes read from a device.
    ReadBytes,
    /// Bytes written to it.
    WriteBytes,
    /// Time in which it had at least one request in flight, ms.
    BusyMs,
    /// That time weighted by requests in flight, ms.
    WeightedMs,
    /// Share of the machine's processor time that was used by anybody, in thousandths.
    CpuPermille,
    /// Dirty pages and pages under writeback at the end of the interval, bytes.
    DirtyBytes,
}

impl LaneMeasure {
    /// All.
    pub const ALL: &[LaneMeasure] = LaneMeasure::VARIANTS;

    /// As stored.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// No measure has this name.
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

/// Lanes under way: counters come in at the start and at the end of each second, and only their differences are kept.
#[derive(Debug, Clone, Default)]
pub struct LaneLog {
    last: Option<Counters>,
    /// Measured time at the end of each step, ns.
    ends_ns: Vec<u64>,
    lanes: Vec<Lane>,
}

impl LaneLog {
    /// With the counters as measured time begins.
    pub fn new(start: Counters) -> LaneLog {
        let by_device = start.devices.keys().flat_map(|name| OF_DEVICES.map(|measure| (name.clone(), measure)));
        let of_machine = [LaneMeasure::CpuPermille, LaneMeasure::DirtyBytes].map(|measure| (String::new(), measure));
        let lane = |(of, measure)| Lane { of, measure, values: Vec::new() };
        LaneLog { lanes: by_device.chain(of_machine).map(lane).collect(), last: Some(start), ends_ns: Vec::new() }
    }

    /// A second has ended, so much measured time since the start.
    pub fn push(&mut self, elapsed_ns: u64, now: &Counters) {
        let Some(before) = &self.last else { return };
        for lane in &mut self.lanes {
            lane.values.push(step(lane, before, now));
        }
        self.ends_ns.push(elapsed_ns);
        self.last = Some(now.clone());
    }

    /// The lanes of a phase's intervals. `searched_ns` is time before the first of them. A shorter last interval has no values: when the
    /// counters are read again, the flush at the end is in them. What never moves has no lane.
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
            // A counter that went back is of a device that was taken away and came again.
            of_device(after)?.checked_sub(of_device(before)?)
        }
    }
}

/// What is seen of each device.
const OF_DEVICES: [LaneMeasure; 4] =
    [LaneMeasure::ReadBytes, LaneMeasure::WriteBytes, LaneMeasure::BusyMs, LaneMeasure::WeightedMs];

/// The counter whose differences a measure is.
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

    // Protects: each interval has what the device did in it; a second in which the device could not be seen is missing together with
    // the one behind it, and never 0, as is the rest behind the last second; what did nothing has no lane.
    #[test]
    fn each_interval_has_its_own_difference() {
        let log = log(Some(100), &[Some(150), None, Some(400), Some(450)]);
        let intervals = intervals(&[SECOND, SECOND, SECOND, SECOND, SECOND / 2]);
        let lanes = log.finish(&intervals, 0);
        assert_eq!(lanes.len(), 1, "{lanes:?}");
        assert_eq!((lanes[0].of.as_str(), lanes[0].measure), ("sda", LaneMeasure::ReadBytes));
        assert_eq!(lanes[0].values, [Some(50), None, None, Some(50), None]);
    }

    // Protects: where the first seconds were a search, lanes begin with what is measured.
    #[test]
    fn what_was_searched_is_in_no_lane() {
        let log = log(Some(0), &[Some(1000), Some(1010), Some(1030)]);
        let lanes = log.finish(&intervals(&[SECOND, SECOND]), SECOND);
        assert_eq!(lanes[0].values, [Some(10), Some(20)]);
        assert!(LaneLog::default().finish(&intervals(&[SECOND]), 0).is_empty(), "nobody watched");
    }

    #[test]
    fn every_measure_is_known_by_its_name() {
        assert!(LaneMeasure::ALL.iter().all(|measure| measure.name().parse() == Ok(*measure)));
        assert!("reads".parse::<LaneMeasure>().is_err());
    }
}
