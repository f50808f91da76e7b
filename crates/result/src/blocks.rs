//! Counters of block devices and processors as the kernel keeps them, and what lies between two looks at them. Source:
//! Documentation/admin-guide/iostats.rst, proc_stat(5).

/// Counters of one device since it came, in the kernel's own units. A sector is 512 bytes, whatever the device says.
/// Times are of 32 bits and wrap around after 49.7 days of work, as the kernel's do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockStat {
    /// Read requests.
    pub reads: BlockOps,
    /// Write requests; flushes that belong to a write are in these.
    pub writes: BlockOps,
    /// Discard requests; none before Linux 4.18.
    pub discards: BlockOps,
    /// Flush requests that the kernel made, of which only number and time are counted; none before Linux 5.5.
    pub flushes: BlockOps,
    /// Requests in flight.
    pub in_flight: u32,
    /// Time with at least one request in flight, ms.
    pub busy_ms: u32,
    /// Time weighted by requests in flight, ms.
    pub weighted_ms: u32,
}

/// Counters of one kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockOps {
    /// Requests completed.
    pub ops: u64,
    /// Requests that were merged into others before they reached the device.
    pub merges: u64,
    /// Sectors moved, of 512 bytes.
    pub sectors: u64,
    /// Time that requests took, added up, ms.
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

    /// Both together; times wrap around.
    pub fn plus(self, other: BlockOps) -> BlockOps {
        BlockOps {
            ops: self.ops.wrapping_add(other.ops),
            merges: self.merges.wrapping_add(other.merges),
            sectors: self.sectors.wrapping_add(other.sectors),
            ms: self.ms.wrapping_add(other.ms),
        }
    }

    /// Mean time of a request, ms; 0 where there was none.
    pub fn mean_ms(&self) -> f64 {
        ratio(u64::from(self.ms), self.ops)
    }

    /// Mean size of a request, sectors; 0 where there was none.
    pub fn mean_sectors(&self) -> f64 {
        ratio(self.sectors, self.ops)
    }

    /// Which share of the requests was merged into others, percent.
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

    /// What was done since an earlier look. Counters of 32 bits may have wrapped around; those that fell for another
    /// reason began anew, and count from there.
    pub fn since(&self, before: &BlockStat) -> BlockStat {
        const HALF: u64 = 1 << 31;
        self.map(before, |now, before| match now.checked_sub(before) {
            Some(more) => more,
            None if (HALF..2 * HALF).contains(&before) && now < HALF => now + 2 * HALF - before,
            None => now,
        })
    }

    /// The difference in 64 bits, of counters of which some may have fallen: a number near 2^64 where one did.
    pub fn difference(&self, before: &BlockStat) -> BlockStat {
        self.map(before, u64::wrapping_sub)
    }

    /// Both together, as of two devices in a group.
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

    /// Reads, writes and discards together.
    pub fn moved(&self) -> BlockOps {
        self.reads.plus(self.writes).plus(self.discards)
    }

    /// Whether nothing was ever asked of the device.
    pub fn is_idle(&self) -> bool {
        self.moved().ops == 0 && self.flushes.ops == 0
    }
}

/// A block device and its counters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlockDevice {
    /// The kernel's name, with `/` as it is: `sda`, `nvme0n1p2`, `cciss/c0d0`.
    pub name: String,
    /// Its number.
    pub number: DeviceNumber,
    /// Whether it is a whole device or a part of one.
    pub extent: BlockExtent,
    /// Its counters.
    pub stat: BlockStat,
}

/// Number of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DeviceNumber {
    /// Of its driver.
    pub major: u32,
    /// Among those of the driver.
    pub minor: u32,
}

/// Whether a device is a whole one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum BlockExtent {
    /// A whole one.
    #[default]
    Whole,
    /// A partition of the device of this name.
    PartOf(String),
}

/// Time of all processors together by class since boot, in ticks. Guests are in `user` and `nice`. Source: proc_stat(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTicks {
    /// Programs.
    pub user: u64,
    /// Programs of low priority.
    pub nice: u64,
    /// The kernel.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Idle while I/O was waited for.
    pub iowait: u64,
    /// Hardware interrupts.
    pub irq: u64,
    /// Software interrupts.
    pub softirq: u64,
    /// What a hypervisor took.
    pub steal: u64,
}

impl CpuTicks {
    /// All of it.
    pub fn total(&self) -> u64 {
        [self.user, self.nice, self.system, self.idle, self.iowait, self.irq, self.softirq, self.steal]
            .iter()
            .fold(0, |sum, ticks| sum.wrapping_add(*ticks))
    }

    /// The kernel, interrupts with it.
    pub fn kernel(&self) -> u64 {
        self.system.wrapping_add(self.irq).wrapping_add(self.softirq)
    }
}

/// One look at all devices and processors.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MachineLook {
    /// `CLOCK_MONOTONIC`, ns.
    pub at_ns: u64,
    /// Time since boot, suspension with it, in hundredths of a second.
    pub uptime_cs: u64,
    /// Processors.
    pub cpu: CpuTicks,
    /// Devices in the kernel's order.
    pub devices: Vec<BlockDevice>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(ops: u64, sectors: u64, ms: u32) -> BlockStat {
        BlockStat { writes: BlockOps { ops, merges: 0, sectors, ms }, ..BlockStat::default() }
    }

    // Protects: what wraps around is a small number and not 2^64, and a device that was replaced counts from its start.
    #[test]
    fn counters_that_fall() {
        let wrapped = writes(5, 7, 10).since(&writes(3, u64::from(u32::MAX) - 2, u32::MAX - 9));
        assert_eq!((wrapped.writes.ops, wrapped.writes.sectors, wrapped.writes.ms), (2, 10, 20));
        let replaced = writes(4, 8, 0).since(&writes(100, 1000, 0));
        assert_eq!((replaced.writes.ops, replaced.writes.sectors), (4, 8));
        let literal = writes(4, 8, 0).difference(&writes(5, 8, 0));
        assert_eq!((literal.writes.ops, literal.writes.sectors), (u64::MAX, 0));
    }

    // Protects: means over nothing are 0 and not NaN.
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
