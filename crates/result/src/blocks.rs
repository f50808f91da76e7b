//! Kernel counters of block devices and processors, and their differences between readings. Source:
//! Documentation/admin-guide/iostats.rst, proc_stat(5).

/// Counters of one device since it appeared, in the kernel's units. A sector is 512 bytes, regardless of the device's
/// sector size. Times have 32 bits, as in the kernel, and wrap around after 49.7 days of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockStat {
    /// Read requests since the device appeared.
    pub reads: BlockOps,
    /// Write requests, including flushes that belong to a write.
    pub writes: BlockOps,
    /// Discard requests; 0 before Linux 4.18.
    pub discards: BlockOps,
    /// Flush requests issued by the kernel; 0 before Linux 5.5. Only their number and time are counted.
    pub flushes: BlockOps,
    /// Number of requests currently in flight.
    pub in_flight: u32,
    /// Time with at least one request in flight, ms.
    pub busy_ms: u32,
    /// Time weighted by the number of requests in flight, ms.
    pub weighted_ms: u32,
}

/// Counters of one kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockOps {
    /// Number of requests that completed.
    pub ops: u64,
    /// Number of requests merged into others before they reached the device.
    pub merges: u64,
    /// Sectors moved, of 512 bytes each.
    pub sectors: u64,
    /// Total time of the requests, ms.
    pub ms: u32,
}

impl BlockOps {
    fn map(self, before: BlockOps, count: impl Fn(u64, u64) -> u64) -> BlockOps {
        BlockOps {
            ops: count(self.ops, before.ops),
            merges: count(self.merges, before.merges),
            sectors: count(self.sectors, before.sectors),
            ms: self.ms.wrapping_sub(before.ms),
        }
    }

    /// Adds two counters; all of them wrap around.
    pub fn plus(self, other: BlockOps) -> BlockOps {
        BlockOps {
            ops: self.ops.wrapping_add(other.ops),
            merges: self.merges.wrapping_add(other.merges),
            sectors: self.sectors.wrapping_add(other.sectors),
            ms: self.ms.wrapping_add(other.ms),
        }
    }

    /// Returns the mean time of a request, ms; 0 if there was none.
    pub fn mean_ms(&self) -> f64 {
        ratio(u64::from(self.ms), self.ops)
    }

    /// Returns the mean size of a request in sectors; 0 if there was none.
    pub fn mean_sectors(&self) -> f64 {
        ratio(self.sectors, self.ops)
    }

    /// Returns the share of requests that were merged into others, percent.
    pub fn merged_percent(&self) -> f64 {
        ratio(self.merges, self.merges.wrapping_add(self.ops)) * 100.0
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl BlockStat {
    fn map(&self, before: &BlockStat, count: impl Fn(u64, u64) -> u64 + Copy) -> BlockStat {
        BlockStat {
            reads: self.reads.map(before.reads, count),
            writes: self.writes.map(before.writes, count),
            discards: self.discards.map(before.discards, count),
            flushes: self.flushes.map(before.flushes, count),
            in_flight: self.in_flight,
            busy_ms: self.busy_ms.wrapping_sub(before.busy_ms),
            weighted_ms: self.weighted_ms.wrapping_sub(before.weighted_ms),
        }
    }

    /// Returns the difference to an earlier reading. 32-bit counters may have wrapped around. A counter that fell for
    /// another reason was reset and counts from 0.
    pub fn since(&self, before: &BlockStat) -> BlockStat {
        const HALF: u64 = 1 << 31;
        self.map(before, |now, before| match now.checked_sub(before) {
            Some(more) => more,
            None if (HALF..2 * HALF).contains(&before) && now < HALF => now + 2 * HALF - before,
            None => now,
        })
    }

    /// Returns the wrapping 64-bit difference: close to 2^64 for each counter that fell.
    pub fn difference(&self, before: &BlockStat) -> BlockStat {
        self.map(before, u64::wrapping_sub)
    }

    /// Returns the sum of two devices' counters.
    pub fn plus(&self, other: &BlockStat) -> BlockStat {
        BlockStat {
            reads: self.reads.plus(other.reads),
            writes: self.writes.plus(other.writes),
            discards: self.discards.plus(other.discards),
            flushes: self.flushes.plus(other.flushes),
            in_flight: self.in_flight.wrapping_add(other.in_flight),
            busy_ms: self.busy_ms.wrapping_add(other.busy_ms),
            weighted_ms: self.weighted_ms.wrapping_add(other.weighted_ms),
        }
    }

    /// Returns reads, writes and discards together.
    pub fn moved(&self) -> BlockOps {
        self.reads.plus(self.writes).plus(self.discards)
    }

    /// Returns `true` if the device never had a request.
    pub fn is_idle(&self) -> bool {
        self.moved().ops == 0 && self.flushes.ops == 0
    }
}

/// A block device and its counters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlockDevice {
    /// Kernel name, with `/` unchanged: `sda`, `nvme0n1p2`, `cciss/c0d0`.
    pub name: String,
    /// Major and minor number of the device.
    pub number: DeviceNumber,
    /// Whether it is a whole device or a partition.
    pub extent: BlockExtent,
    /// Request counters of the device.
    pub stat: BlockStat,
}

/// Major and minor number of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DeviceNumber {
    /// Major number, which identifies the driver.
    pub major: u32,
    /// Minor number, which identifies the device within the driver.
    pub minor: u32,
}

/// Whether a block device is whole or a partition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum BlockExtent {
    /// A whole device rather than a partition.
    #[default]
    Whole,
    /// A partition of the device with this name.
    PartOf(String),
}

/// Time of all processors by class since boot, in ticks. `user` and `nice` include guests. Source: proc_stat(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTicks {
    /// Time in programs of normal priority.
    pub user: u64,
    /// Time in programs of low priority.
    pub nice: u64,
    /// Time in the kernel, without interrupts.
    pub system: u64,
    /// Idle time without pending I/O.
    pub idle: u64,
    /// Idle time while I/O was pending.
    pub iowait: u64,
    /// Time in hardware interrupt handlers.
    pub irq: u64,
    /// Time in software interrupt handlers.
    pub softirq: u64,
    /// Time that the hypervisor took.
    pub steal: u64,
}

impl CpuTicks {
    /// Returns the time of all classes together.
    pub fn total(&self) -> u64 {
        [self.user, self.nice, self.system, self.idle, self.iowait, self.irq, self.softirq, self.steal]
            .iter()
            .fold(0, |sum, ticks| sum.wrapping_add(*ticks))
    }

    /// Returns the time in the kernel, including interrupts.
    pub fn kernel(&self) -> u64 {
        self.system.wrapping_add(self.irq).wrapping_add(self.softirq)
    }
}

/// One reading of all device and processor counters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MachineReading {
    /// `CLOCK_MONOTONIC` at the reading, ns.
    pub at_ns: u64,
    /// Time since boot, including suspension, in hundredths of a second.
    pub uptime_cs: u64,
    /// Processor time of the machine by class.
    pub cpu: CpuTicks,
    /// Block devices in the kernel's order.
    pub devices: Vec<BlockDevice>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(ops: u64, sectors: u64, ms: u32) -> BlockStat {
        BlockStat { writes: BlockOps { ops, merges: 0, sectors, ms }, ..BlockStat::default() }
    }

    // Protects: a counter that wraps around gives a small difference and not 2^64, and a replaced
    // device counts from its start.
    #[test]
    fn counters_that_fall() {
        let wrapped = writes(5, 7, 10).since(&writes(3, u64::from(u32::MAX) - 2, u32::MAX - 9));
        assert_eq!((wrapped.writes.ops, wrapped.writes.sectors, wrapped.writes.ms), (2, 10, 20));
        let replaced = writes(4, 8, 0).since(&writes(100, 1000, 0));
        assert_eq!((replaced.writes.ops, replaced.writes.sectors), (4, 8));
        let literal = writes(4, 8, 0).difference(&writes(5, 8, 0));
        assert_eq!((literal.writes.ops, literal.writes.sectors), (u64::MAX, 0));
    }

    // Protects: means without requests are 0 and not NaN.
    #[test]
    fn means() {
        let one = BlockOps { ops: 4, merges: 12, sectors: 64, ms: 6 };
        assert_eq!((one.mean_ms(), one.mean_sectors(), one.merged_percent()), (1.5, 16.0, 75.0));
        let none = BlockOps::default();
        assert_eq!((none.mean_ms(), none.mean_sectors(), none.merged_percent()), (0.0, 0.0, 0.0));
        assert!(BlockStat::default().is_idle() && !writes(1, 0, 0).is_idle());
        assert_eq!(writes(1, 2, 3).plus(&writes(1, 2, 3)), writes(2, 4, 6));
    }
}
