//! What the disks did meanwhile.

use super::report::{Figure, NotMeasured};

/// What a disk did meanwhile.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DiskReport {
    /// Kernel's name.
    pub name: String,
    /// Its counters.
    pub counters: DiskUse,
    /// Means over the disks below it, where it is made of several (md, dm).
    pub below: Option<DiskUse>,
}

/// Counters of a disk. Source: Documentation/admin-guide/iostats.rst.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DiskUse {
    /// Requests.
    pub ios: ReadWriteCounts,
    /// Sectors of 512 bytes.
    pub sectors: ReadWriteCounts,
    /// Requests merged into others.
    pub merges: Figure<ReadWriteCounts>,
    /// Time that requests took, ms.
    pub ticks_ms: Figure<ReadWriteCounts>,
    /// Time weighted by requests in flight, ms.
    pub in_queue_ms: u64,
    /// Share of the time with a request in flight, percent.
    pub util_percent: f64,
}

/// A count of reads and one of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadWriteCounts {
    /// Reads.
    pub read: u64,
    /// Writes.
    pub write: u64,
}

impl DiskUse {
    /// Every number that is printed as 0 because it was not measured.
    pub(crate) fn not_measured(&self) -> Vec<NotMeasured> {
        [("merges", &self.merges), ("ticks", &self.ticks_ms)]
            .into_iter()
            .filter_map(|(name, figure)| match figure {
                Figure::Unknown(reason) => Some(NotMeasured { name: name.to_owned(), reason: reason.clone() }),
                Figure::Is(_) | Figure::Off => None,
            })
            .collect()
    }
}
