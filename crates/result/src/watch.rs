//! Contents of the live view, once per interval: devices, processors, and processes doing I/O.

use crate::blocks::{BlockOps, BlockStat, CpuTicks};
use crate::observe::{Counters, DeviceCounters, ProcessIo};
use crate::seen::Seen;
use serde::{Deserialize, Serialize};

/// Name and version of this form.
pub const WATCH_SCHEMA: &str = "plumb.watch/1";

/// Activity of the machine during one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Watched {
    /// Name and version of this form: `plumb.watch/1`.
    pub schema: String,
    /// End of the interval, RFC 3339.
    pub at: String,
    /// Length of the interval, ns.
    pub interval_ns: u64,
    /// Processor use of the machine.
    pub cpu: CpuUse,
    /// Devices in the kernel's order.
    pub devices: Vec<DeviceUse>,
    /// Processes that did I/O, most bytes first; kernel threads in brackets.
    pub processes: Vec<ProcessRate>,
    /// Number of processes whose I/O counters are readable.
    pub processes_readable: usize,
    /// Number of processes whose I/O counters this user may not read.
    pub processes_closed: usize,
    /// Whether the user is root, who can read the counters of most processes.
    pub is_root: bool,
}

/// Shares of the time of all processors together, 0–1.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuUse {
    /// Time that programs ran in user mode.
    pub user: f64,
    /// Time in the kernel, including interrupts.
    pub kernel: f64,
    /// Idle time while I/O was pending.
    pub iowait: f64,
    /// Time that the hypervisor took from this machine.
    pub steal: f64,
    /// Idle time without pending I/O.
    pub idle: f64,
}

impl CpuUse {
    /// Returns the shares between two readings.
    pub fn between(before: &CpuTicks, now: &CpuTicks) -> CpuUse {
        let ticks = now.total().saturating_sub(before.total()).max(1) as f64;
        let share = |now: u64, before: u64| now.saturating_sub(before) as f64 / ticks;
        CpuUse {
            user: share(now.user, before.user) + share(now.nice, before.nice),
            kernel: share(now.kernel(), before.kernel()),
            iowait: share(now.iowait, before.iowait),
            steal: share(now.steal, before.steal),
            idle: share(now.idle, before.idle),
        }
    }
}

/// Activity of one device during an interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceUse {
    /// Kernel name of the device, such as `sda`.
    pub name: String,
    /// Read requests of the interval.
    pub read: OpUse,
    /// Write requests of the interval.
    pub write: OpUse,
    /// Discard requests of the interval.
    pub discard: OpUse,
    /// Flushes per second, ops/s.
    pub flushes_per_s: f64,
    /// Mean time of a read, write or discard, ns; absent if none completed.
    pub latency_ns: Option<f64>,
    /// Mean number of requests in flight.
    pub queue_depth: f64,
    /// Requests in flight at the end of the interval.
    pub in_flight: u32,
    /// Share of the time with at least one request in flight, 0–1. This is busy time, not saturation.
    pub busy: f64,
}

/// Rates of one kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpUse {
    /// Bytes per second of this kind.
    pub bytes_per_s: f64,
    /// Requests per second, ops/s.
    pub ops_per_s: f64,
    /// Mean time of a request, ns; absent if none completed.
    pub latency_ns: Option<f64>,
}

impl OpUse {
    fn from_ops(ops: &BlockOps, seconds: f64) -> OpUse {
        OpUse {
            bytes_per_s: ops.sectors as f64 * 512.0 / seconds,
            ops_per_s: ops.ops as f64 / seconds,
            latency_ns: latency_ns(ops),
        }
    }
}

/// Returns the mean time of a request, ns. The kernel counts whole milliseconds.
fn latency_ns(ops: &BlockOps) -> Option<f64> {
    (ops.ops > 0).then(|| ops.mean_ms() * 1e6)
}

impl DeviceUse {
    /// Computes the rates from the counters of an interval of `seconds`.
    pub fn from_counters(name: &str, work: &BlockStat, seconds: f64) -> DeviceUse {
        let seconds = if seconds > 0.0 { seconds } else { f64::MIN_POSITIVE };
        DeviceUse {
            name: name.to_owned(),
            read: OpUse::from_ops(&work.reads, seconds),
            write: OpUse::from_ops(&work.writes, seconds),
            discard: OpUse::from_ops(&work.discards, seconds),
            flushes_per_s: work.flushes.ops as f64 / seconds,
            latency_ns: latency_ns(&work.moved()),
            queue_depth: f64::from(work.weighted_ms) / 1000.0 / seconds,
            in_flight: work.in_flight,
            // The kernel's milliseconds and this clock's interval do not end at the same time.
            busy: (f64::from(work.busy_ms) / 1000.0 / seconds).min(1.0),
        }
    }

    /// Returns the activity of each device between two readings, without devices whose counters could not be read.
    pub fn between(before: &Counters, after: &Counters) -> Vec<DeviceUse> {
        let seconds = after.at_ns.saturating_sub(before.at_ns) as f64 / 1e9;
        let one = |(name, after): (&String, &Seen<DeviceCounters>)| {
            let before = before.devices.get(name)?.value()?;
            let done = BlockStat::from(after.value()?).since(&BlockStat::from(before));
            let mut seen = DeviceUse::from_counters(name, &done, seconds);
            // Simulated devices count the time of all requests together, but not for each kind.
            if done.moved().ms == 0 && done.weighted_ms > 1 {
                for latency_ns in [&mut seen.read.latency_ns, &mut seen.write.latency_ns, &mut seen.discard.latency_ns]
                {
                    *latency_ns = None;
                }
                seen.latency_ns = None;
            }
            Some(seen)
        };
        after.devices.iter().filter_map(one).collect()
    }

    /// Returns reads, writes and discards per second, ops/s.
    pub fn ops_per_s(&self) -> f64 {
        self.read.ops_per_s + self.write.ops_per_s + self.discard.ops_per_s
    }

    /// Returns `true` if the device had no requests.
    pub fn is_idle(&self) -> bool {
        self.ops_per_s() == 0.0 && self.flushes_per_s == 0.0 && self.in_flight == 0 && self.busy == 0.0
    }
}

/// I/O of one process over all devices; the kernel does not count it for each device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessRate {
    /// Process id in the kernel.
    pub pid: u32,
    /// Command name of the process.
    pub command: String,
    /// Bytes per second fetched from storage on behalf of the process.
    pub read_bytes_per_s: f64,
    /// Bytes per second that the process dirtied in memory or wrote directly.
    pub write_bytes_per_s: f64,
}

impl ProcessRate {
    /// Computes the rates from the counters of an interval of `seconds`.
    pub fn from_counters(io: &ProcessIo, seconds: f64) -> ProcessRate {
        let rate = |bytes: u64| if seconds > 0.0 { bytes as f64 / seconds } else { 0.0 };
        ProcessRate {
            pid: io.pid,
            command: io.command.clone(),
            read_bytes_per_s: rate(io.read_bytes),
            write_bytes_per_s: rate(io.write_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: units are right, and a mean without requests is absent rather than 0.
    #[test]
    fn rates_of_a_device() {
        let work = BlockStat {
            writes: BlockOps { ops: 10, merges: 5, sectors: 80, ms: 25 },
            in_flight: 2,
            busy_ms: 2001,
            weighted_ms: 3000,
            ..BlockStat::default()
        };
        let seen = DeviceUse::from_counters("sda", &work, 2.0);
        assert_eq!(seen.write, OpUse { bytes_per_s: 20480.0, ops_per_s: 5.0, latency_ns: Some(2.5e6) });
        assert_eq!((seen.read.latency_ns, seen.latency_ns), (None, Some(2.5e6)));
        assert_eq!((seen.queue_depth, seen.busy, seen.in_flight), (1.5, 1.0, 2));
        assert!(!seen.is_idle() && DeviceUse::from_counters("sdb", &BlockStat::default(), 0.0).is_idle());
    }

    // Protects: differences between two readings have the units of `plumb watch`, and a device without a reading is left out.
    #[test]
    fn between_two_readings() {
        let at = |seconds: u64, reads: u64| {
            let sda =
                DeviceCounters { reads, read_bytes: reads * 4096, read_ms: reads * 2, ..DeviceCounters::default() };
            let devices = [("sda".to_owned(), Seen::Yes(sda)), ("sdb".to_owned(), Seen::no("EPERM"))];
            Counters { at_ns: seconds * 1_000_000_000, devices: devices.into(), ..Counters::default() }
        };
        let seen = DeviceUse::between(&at(1, 10), &at(3, 30));
        let [sda] = seen.as_slice() else { panic!("{seen:?}") };
        assert_eq!(sda.read, OpUse { bytes_per_s: 40960.0, ops_per_s: 10.0, latency_ns: Some(2e6) });
        assert_eq!((sda.name.as_str(), sda.discard.ops_per_s), ("sda", 0.0));
        let simulated = |seconds: u64, reads: u64| {
            let sim0 = DeviceCounters { reads, weighted_ms: reads * 3, ..DeviceCounters::default() };
            let devices = [("sim0".to_owned(), Seen::Yes(sim0))].into();
            Counters { at_ns: seconds * 1_000_000_000, devices, ..Counters::default() }
        };
        let seen = DeviceUse::between(&simulated(0, 0), &simulated(1, 10));
        assert_eq!((seen[0].read.ops_per_s, seen[0].read.latency_ns, seen[0].latency_ns), (10.0, None, None));
    }

    // Protects: shares add up to 1, and counters that decrease do no harm.
    #[test]
    fn shares_of_processors() {
        let before = CpuTicks { user: 10, idle: 100, ..CpuTicks::default() };
        let now = CpuTicks { user: 20, nice: 10, system: 5, softirq: 5, iowait: 10, idle: 160, ..CpuTicks::default() };
        let seen = CpuUse::between(&before, &now);
        assert_eq!((seen.user, seen.kernel, seen.iowait, seen.idle), (0.2, 0.1, 0.1, 0.6));
        assert_eq!(CpuUse::between(&now, &before).user, 0.0);
    }
}
