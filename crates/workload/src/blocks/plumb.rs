//! Plumb's own generator: which offsets, which sizes, which mix.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Block I/O over one range of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Blocks {
    /// Where the next offset comes from.
    #[serde(default)]
    pub pattern: Pattern,
    /// Size of each op.
    #[serde(default)]
    pub block: BlockSize,
    /// Size of writes, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_block: Option<BlockSize>,
    /// Size of trims, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim_block: Option<BlockSize>,
    /// Share of reads, writes and trims.
    #[serde(default)]
    pub mix: Mix,
    /// Start of the range.
    #[serde(default)]
    pub offset: Bytes,
    /// Added to `offset` for each further worker of the group.
    #[serde(default)]
    pub offset_increment: Bytes,
    /// Length of the range; to the end of the target when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Bytes>,
    /// Random offsets are multiples of this; the smallest block size when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
    /// An `fsync` after every N writes; 0 is never.
    #[serde(default)]
    pub fsync_every: u64,
    /// An `fdatasync` after every N writes; 0 is never.
    #[serde(default)]
    pub fdatasync_every: u64,
}

impl Default for Blocks {
    fn default() -> Blocks {
        Blocks {
            pattern: Pattern::default(),
            block: BlockSize::default(),
            write_block: None,
            trim_block: None,
            mix: Mix::default(),
            offset: Bytes(0),
            offset_increment: Bytes(0),
            span: None,
            align: None,
            fsync_every: 0,
            fdatasync_every: 0,
        }
    }
}

/// Where the next offset comes from. "Block" is the smallest block size, or `align` where given.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Pattern {
    /// Upwards, again from the start after the end.
    #[default]
    Sequential,
    /// Downwards from the end.
    Reverse,
    /// Upwards, each op starting `stride` after the start of the one before; passes interleave to cover the range.
    Stride {
        /// Distance between the starts of two ops.
        stride: Bytes,
    },
    /// Uniform, with replacement.
    Random,
    /// Every block exactly once a pass, in random order, in constant memory.
    Permutation,
    /// Zipf's law over blocks, scattered over the range. Source: Gray et al., SIGMOD 1994.
    Zipf {
        /// Exponent, 0 < θ, θ ≠ 1 allowed or not; larger is more skewed.
        theta: f64,
    },
    /// The newest blocks most, by Zipf's law over their age. Writes go to the block behind the newest, which is then the newest;
    /// behind the last block comes the first, so that the oldest is lost. All workers of the group share the newest.
    Latest {
        /// Exponent, as that of `zipf`.
        theta: f64,
    },
    /// Self-similar: a share `h` of accesses goes to a share 1−h of blocks, recursively (Gray et al.).
    Pareto {
        /// Share of accesses to the hot part, 0.5 < h < 1.
        h: f64,
    },
    /// Normal around a centre, clipped to the range by drawing again.
    Normal {
        /// Centre, as a share of the range (0–1).
        #[serde(default = "half")]
        center: f64,
        /// Standard deviation, as a share of the range.
        deviation: f64,
    },
    /// Zones of the range, each with its share of accesses; uniform within a zone.
    Zoned(Vec<Zone>),
    /// Exactly these offsets, again from the first after the last.
    List(Vec<Bytes>),
    /// Walkers that come back to places near the last ones soon and to others late, at every scale: a hierarchical reuse random
    /// walk over blocks of 4 KiB. It needs a range within one file. Source: Daniel & Faith, IISWC 2005.
    ReuseWalk {
        /// How many share the range; each op is of one of them, chosen at random.
        walkers: u32,
    },
    /// Walkers that each go through a part of the range in sequence, and then through another. It needs a range within one file.
    Runs {
        /// How many share the range; each op is of one of them, chosen at random.
        walkers: u32,
        /// Runs begin behind this share of the range, in percent,
        from_percent: f64,
        /// and before this one.
        to_percent: f64,
        /// How long a run is, as a share of the range in percent.
        length_percent: f64,
    },
}

fn half() -> f64 {
    0.5
}

/// One zone of [`Pattern::Zoned`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Zone {
    /// Share of accesses, in percent.
    pub access_percent: f64,
    /// Share of the range, in percent.
    pub span_percent: f64,
}

/// The size of an op.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "BlockSize"))]
pub enum BlockSize {
    /// Always the same.
    Fixed(Bytes),
    /// Uniform over the multiples of `step` from `min` to `max`.
    Range {
        /// Smallest.
        min: Bytes,
        /// Largest.
        max: Bytes,
        /// Granularity; `min` when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<Bytes>,
    },
    /// From a table of sizes with weights.
    Weighted(Vec<WeightedSize>),
}

plumb_document::short_form!(BlockSize, "fixed");

impl Default for BlockSize {
    fn default() -> BlockSize {
        BlockSize::Fixed(Bytes(4096))
    }
}

impl BlockSize {
    /// The smallest size it can yield; 0 for an empty table.
    pub fn min(&self) -> Bytes {
        match self {
            BlockSize::Fixed(size) => *size,
            BlockSize::Range { min, .. } => *min,
            BlockSize::Weighted(table) => table.iter().map(|entry| entry.size).min().unwrap_or_default(),
        }
    }

    /// The largest size it can yield; 0 for an empty table.
    pub fn max(&self) -> Bytes {
        match self {
            BlockSize::Fixed(size) => *size,
            BlockSize::Range { max, .. } => *max,
            BlockSize::Weighted(table) => table.iter().map(|entry| entry.size).max().unwrap_or_default(),
        }
    }
}

/// A size and how often it is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WeightedSize {
    /// The size.
    pub size: Bytes,
    /// Its weight relative to the others of the table.
    pub weight: f64,
}

/// Relative shares of reads, writes and trims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Mix {
    /// Reads.
    #[serde(default)]
    pub read: u32,
    /// Writes.
    #[serde(default)]
    pub write: u32,
    /// Trims (`BLKDISCARD`, or punching a hole in a file).
    #[serde(default)]
    pub trim: u32,
}

impl Default for Mix {
    fn default() -> Mix {
        Mix::READ
    }
}

impl Mix {
    /// Reads only.
    pub const READ: Mix = Mix { read: 100, write: 0, trim: 0 };
    /// Writes only.
    pub const WRITE: Mix = Mix { read: 0, write: 100, trim: 0 };
}
