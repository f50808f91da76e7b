//! Activity of the disks during the run.

use super::report::{Figure, NotMeasured};

/// Activity of a disk during the run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DiskReport {
    pub name: String,
    pub counters: DiskUse,
    /// Means over its members, for a composite disk (md, dm).
    pub below: Option<DiskUse>,
}

/// Counters of a disk. Source: Documentation/admin-guide/iostats.rst.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DiskUse {
    pub ios: ReadWriteCounts,
    /// Sectors of 512 bytes.
    pub sectors: ReadWriteCounts,
    pub merges: Figure<ReadWriteCounts>,
    /// Total time of the requests, in milliseconds.
    pub ticks_ms: Figure<ReadWriteCounts>,
    /// Time weighted by requests in flight, in milliseconds.
    pub in_queue_ms: u64,
    /// Share of the time with a request in flight, in percent.
    pub util_percent: f64,
}

/// A count of reads and a count of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadWriteCounts {
    pub read: u64,
    pub write: u64,
}

impl DiskUse {
    /// Returns every number that is printed as 0 because it was not measured.
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
