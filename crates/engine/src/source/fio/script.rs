//! The resolved settings of a job: the fixed part of its sources.

use super::parts::Parts;
use super::sizes::Sizes;
use crate::op::{BlockOp, Role};
use crate::rng::fio::{Seeds, Width};
use plumb_workload::OpKind;
use plumb_workload::blocks::ByKind;
use plumb_workload::blocks::fio::{
    AsFio, Curve, FileChoice, Seeding, Sequencer, SteadyState, TrimAmid, Zone, ZoneStride,
};
use plumb_workload::files::SyncRange;
use plumb_workload::units::Bytes;

/// A kind of op that moves data; also its index in arrays of three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read = 0,
    Write = 1,
    Trim = 2,
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::Read, Kind::Write, Kind::Trim];

    pub(super) fn op(self) -> OpKind {
        match self {
            Kind::Read => OpKind::Read,
            Kind::Write => OpKind::Write,
            Kind::Trim => OpKind::Trim,
        }
    }

    /// Converts from an op's kind; `None` if it moves no data.
    pub(super) fn from_op(op: OpKind) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.op() == op)
    }
}

/// Returns the three values of a [`ByKind`], in the order of [`Kind`].
pub(super) fn three<T: Clone>(by_kind: &ByKind<T>) -> [T; 3] {
    [by_kind.read.clone(), by_kind.write.clone(), by_kind.trim.clone()]
}

/// The kinds that a job mixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mix {
    /// A single kind.
    Only(Kind),
    /// Reads and writes, with this percentage of reads.
    ReadWrite(u8),
    /// Trims, each followed by a write to the same place.
    TrimWrite,
}

impl Mix {
    pub(super) fn has(self, kind: Kind) -> bool {
        match self {
            Mix::Only(only) => only == kind,
            Mix::ReadWrite(_) => kind != Kind::Trim,
            Mix::TrimWrite => kind != Kind::Read,
        }
    }
}

/// Order of a job's offsets.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum OffsetOrder {
    /// One after another with `skip` bytes in between. The addition wraps around, so large values go backwards.
    Sequential {
        skip: u64,
    },
    Random(Random),
}

/// Settings of random offsets.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Random {
    /// Ops per draw, at least 1.
    pub(super) ops_per_draw: u32,
    pub(super) sequencer: Sequencer,
    /// Percentage of random offsets, by [`Kind`].
    pub(super) percent: [u8; 3],
    pub(super) distribution: PlannedDistribution,
    pub(super) coverage: PlannedCoverage,
}

/// Distribution of random offsets.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PlannedDistribution {
    Uniform,
    Curved {
        curve: Curve,
        center: Option<f64>,
        as_fio: Option<AsFio>,
    },
    /// By [`Kind`]; uniform if empty.
    Zoned([Box<[Zone<u8>]>; 3]),
    /// By [`Kind`]; uniform if empty.
    ZonedBytes([Box<[Zone<Bytes>]>; 3]),
    Sequence {
        listed: Box<[u64]>,
        /// Added to each block in every further pass through the list.
        step: u64,
    },
    /// Applies to writes; other kinds use the register's next block.
    SteadyState(SteadyState),
}

/// Which blocks may repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlannedCoverage {
    Map,
    Register,
    Again,
}

/// Whether a backend queues ops. In fio, this decides where one loop of an endless draw ends and the next begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handing {
    /// Each op is done when the call returns.
    Inline,
    /// Ops are queued.
    Queued,
}

/// Which writes are read back, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verifying {
    pub(super) read_back: bool,
    /// Whether nothing is written.
    pub(super) only: bool,
    /// Number of writes before a batch of read-backs.
    pub(super) backlog: Option<u64>,
    /// Size of a batch.
    pub(super) batch: u64,
    /// Whether writes are found by redrawing them, regardless of their order.
    pub(super) redraw: bool,
}

/// Intervals of flushes; 0 means none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flushing {
    pub(super) fsync_every: u64,
    pub(super) fdatasync_every: u64,
    pub(super) range_every: u64,
    pub(super) at_end: bool,
    pub(super) at_close: bool,
    pub(super) file_system_at_end: bool,
}

impl Flushing {
    pub(super) fn new(syncs: &plumb_workload::files::Syncs) -> Flushing {
        Flushing {
            fsync_every: syncs.fsync_every.into(),
            fdatasync_every: syncs.fdatasync_every.into(),
            range_every: syncs.range.map_or(0, |SyncRange { every, .. }| every.into()),
            at_end: syncs.at_end,
            at_close: syncs.at_close,
            file_system_at_end: syncs.file_system_at_end,
        }
    }

    pub(super) fn any_between_ops(&self) -> bool {
        self.fsync_every > 0 || self.fdatasync_every > 0 || self.range_every > 0
    }

    pub(super) fn any(&self) -> bool {
        self.any_between_ops() || self.at_end || self.at_close || self.file_system_at_end
    }
}

/// Form in which the source reports that files are opened and closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// Files stay open all the time.
    Before,
    /// Files stay open, and the source yields notes where they would be opened and closed.
    Noted,
    /// The source yields ops that open and close files.
    Yielded,
}

/// Limits that end a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Bytes of all parts together.
    pub(super) size: u64,
    /// Bytes to move, if given.
    pub(super) io_bytes: Option<u64>,
    /// Ops of one loop.
    pub(super) max_ops: Option<u64>,
    pub(super) loops: u64,
    /// Whether it continues until its time is over.
    pub(super) until_time: bool,
}

impl Limits {
    /// Returns the ops of all loops; `None` if unlimited.
    pub(super) fn most_ops(&self) -> Option<u64> {
        self.max_ops.map(|ops| ops.saturating_mul(self.loops))
    }

    /// Returns the bytes of one loop; `None` if unlimited.
    pub(super) fn bytes(&self) -> Option<u64> {
        match self.io_bytes {
            Some(bytes) => Some(bytes),
            None => (self.size < u64::MAX).then_some(self.size),
        }
    }
}

/// Order in which a job visits its files, and how it opens them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FileHandling {
    pub(super) choice: FileChoice,
    /// Maximum number of open files.
    pub(super) open_files: usize,
    pub(super) opening: Opening,
    /// Whether the source yields notes for a log.
    pub(super) notes: bool,
    /// Whether files are removed between loops.
    pub(super) removes: bool,
    /// Whether cached data is dropped before each loop but the first, when a file starts again, and before read-back.
    pub(super) evicts: bool,
}

/// Seeds of a worker's random number generators.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SeedPlan {
    pub(super) width: Width,
    /// Seeds by generator.
    pub(super) seeds: Seeds,
    /// The seed that all workers share.
    pub(super) seed: u64,
    /// Number among all workers of all jobs, from 1.
    pub(super) worker_number: u32,
    pub(super) scheme: Seeding,
    /// Whether generators restart with each loop.
    pub(super) reseeds: bool,
}

/// The fixed part of a job's sources.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Script {
    pub(super) mix: Mix,
    pub(super) offset_order: OffsetOrder,
    /// Sizes by [`Kind`].
    pub(super) sizes: [Sizes; 3],
    pub(super) sizes_by_order: bool,
    /// Alignment of random offsets, by [`Kind`].
    pub(super) align: [u64; 3],
    pub(super) parts: Parts,
    pub(super) files: FileHandling,
    pub(super) zones: Option<ZoneStride>,
    pub(super) limits: Limits,
    pub(super) flushing: Flushing,
    pub(super) verifying: Option<Verifying>,
    pub(super) amid: Option<TrimAmid>,
    pub(super) handing: Handing,
    pub(super) seeding: SeedPlan,
}

impl Script {
    /// Returns the op, or the note of one, that opens or closes a file. A close waits for all ops on the file.
    pub(super) fn file_op(&self, kind: OpKind, file: usize) -> BlockOp {
        let noted = self.files.opening == Opening::Noted;
        let role = if noted { Role::Note } else { Role::Load };
        BlockOp { role, after_all: kind == OpKind::Close && !noted, ..BlockOp::load(kind, file as u32, 0, 0) }
    }

    pub(super) fn is_random(&self) -> bool {
        matches!(self.offset_order, OffsetOrder::Random(_))
    }

    /// Returns `true` if offsets follow a curve.
    pub(super) fn is_curved(&self) -> bool {
        matches!(
            &self.offset_order,
            OffsetOrder::Random(Random { distribution: PlannedDistribution::Curved { .. }, .. })
        )
    }

    /// Returns the settings for an SSD's steady state, if the job prepares one.
    pub(super) fn steady_state(&self) -> Option<SteadyState> {
        match &self.offset_order {
            OffsetOrder::Random(Random { distribution: PlannedDistribution::SteadyState(steady), .. }) => Some(*steady),
            _ => None,
        }
    }

    pub(super) fn covers(&self) -> PlannedCoverage {
        match &self.offset_order {
            OffsetOrder::Random(random) => random.coverage,
            OffsetOrder::Sequential { .. } => PlannedCoverage::Again,
        }
    }

    /// Returns `true` if a block can repeat within a loop despite a map: by sequential ops between random ones, or
    /// because the map is cleared when full.
    pub(super) fn may_repeat(&self) -> bool {
        match &self.offset_order {
            OffsetOrder::Random(random) => {
                let in_sequence = random.ops_per_draw > 1 || random.percent.iter().any(|&percent| percent < 100);
                in_sequence || self.limits.until_time || self.zones.is_some()
            }
            OffsetOrder::Sequential { .. } => true,
        }
    }

    /// Returns `true` if the job moves more bytes than the parts have, so that it overwrites its own writes.
    pub(super) fn overwrites(&self) -> bool {
        self.mix.has(Kind::Write) && self.limits.io_bytes.is_some_and(|bytes| bytes > self.limits.size)
    }

    /// Returns `true` if no byte is written twice within a loop.
    pub(super) fn writes_once(&self) -> bool {
        let once = match &self.offset_order {
            OffsetOrder::Sequential { skip } => *skip == 0 && !self.limits.until_time && self.zones.is_none(),
            // A register knows where ops begin, but not their length.
            OffsetOrder::Random(random) if random.coverage == PlannedCoverage::Register && !self.is_of_one_size() => {
                false
            }
            OffsetOrder::Random(random) => random.coverage != PlannedCoverage::Again && !self.may_repeat(),
        };
        once && !self.overwrites()
    }

    /// Returns `true` if each op is exactly as long as a drawn block.
    fn is_of_one_size(&self) -> bool {
        let block = self.sizes.iter().map(|sizes| sizes.smallest).min();
        let mut used = Kind::ALL.into_iter().filter(|kind| self.sizes_by_order || self.mix.has(*kind));
        used.all(|kind| Some(self.sizes[kind as usize].largest) == block)
    }

    pub(super) fn largest(&self) -> u64 {
        self.sizes.iter().map(|sizes| sizes.largest).max().unwrap_or_default()
    }
}
