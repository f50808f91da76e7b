//! Plumb's own generator: offsets, sizes and the mix of ops.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Block I/O over one range of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Blocks {
    /// Pattern of the offsets.
    #[serde(default)]
    pub pattern: Pattern,
    /// Bytes per op, or a distribution of sizes.
    #[serde(default)]
    pub block: BlockSize,
    /// Size of writes if it differs from `block`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_block: Option<BlockSize>,
    /// Size of trims if it differs from `block`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim_block: Option<BlockSize>,
    /// Relative shares of reads, writes and trims.
    #[serde(default)]
    pub mix: Mix,
    /// Offset of the range's first byte.
    #[serde(default)]
    pub offset: Bytes,
    /// Added to `offset` for each further worker of the group.
    #[serde(default)]
    pub offset_increment: Bytes,
    /// Length of the range; defaults to the rest of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Bytes>,
    /// Alignment of random offsets; defaults to the smallest block size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
    /// Call `fsync` after every N writes; 0 means never.
    #[serde(default)]
    pub fsync_every: u64,
    /// Call `fdatasync` after every N writes; 0 means never.
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

/// Pattern of the offsets. "Block" means the smallest block size, or `align` where given.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Pattern {
    /// Ascending offsets, starting over after the end.
    #[default]
    Sequential,
    /// Descending offsets, starting from the end.
    Reverse,
    /// Ascending offsets, `stride` bytes apart. Passes interleave to cover the whole range.
    Stride {
        /// Bytes from the start of one op to the start of the next.
        stride: Bytes,
    },
    /// Uniformly random blocks, with replacement.
    Random,
    /// Every block exactly once per pass, in random order and constant memory.
    Permutation,
    /// Zipf's law over blocks, with the hot blocks scattered over the range. Source: Gray et al., SIGMOD 1994.
    Zipf {
        /// Exponent θ > 0, including 1; larger values are more skewed.
        theta: f64,
    },
    /// Favours the newest blocks: Zipf's law over block age. Each write goes to the block after the newest and
    /// becomes the newest. The block after the last is the first, so the oldest block is overwritten. All workers of
    /// the group share the newest block.
    Latest {
        /// Exponent, as for `zipf`; larger values are more skewed.
        theta: f64,
    },
    /// Self-similar: a share `h` of accesses goes to a share 1−h of blocks, recursively. Source:
    /// Gray et al., SIGMOD 1994.
    Pareto {
        /// Share of accesses to the hot part, 0.5 < h < 1.
        h: f64,
    },
    /// Normal around a centre. Draws outside the range are repeated.
    Normal {
        /// Centre as a share of the range, 0–1.
        #[serde(default = "half")]
        center: f64,
        /// Standard deviation as a share of the range.
        deviation: f64,
    },
    /// Zones of the range, each with its share of accesses. Uniform within a zone.
    Zoned(Vec<Zone>),
    /// The listed offsets in order, starting over after the last.
    List(Vec<Bytes>),
    /// Walkers that return to recent offsets soon and to older ones late, at every scale: a hierarchical reuse random
    /// walk over 4 KiB blocks. The range must lie within one file. Source: Daniel & Faith, IISWC 2005.
    ReuseWalk {
        /// Number of walkers. Each op belongs to a walker chosen at random.
        walkers: u32,
    },
    /// Walkers that each read one part of the range sequentially, then another. The range must lie within one file.
    Runs {
        /// Number of walkers. Each op belongs to a walker chosen at random.
        walkers: u32,
        /// Lower bound of the starts of runs, as a percentage of the range.
        from_percent: f64,
        /// Upper bound of the starts of runs, as a percentage of the range.
        to_percent: f64,
        /// Length of a run, as a percentage of the range.
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
    /// Percentage of accesses that go to this zone.
    pub access_percent: f64,
    /// Size of the zone as a percentage of the range.
    pub span_percent: f64,
}

/// Size of an op, fixed or drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "BlockSize"))]
pub enum BlockSize {
    /// The same size for every op.
    Fixed(Bytes),
    /// Uniform over the multiples of `step` from `min` to `max`.
    Range {
        /// Smallest size that can be drawn.
        min: Bytes,
        /// Largest size that can be drawn.
        max: Bytes,
        /// Granularity of the sizes; defaults to `min`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<Bytes>,
    },
    /// Drawn from a table of sizes with weights.
    Weighted(Vec<WeightedSize>),
}

plumb_document::short_form!(BlockSize, "fixed");

impl Default for BlockSize {
    fn default() -> BlockSize {
        BlockSize::Fixed(Bytes(4096))
    }
}

impl BlockSize {
    /// Returns the smallest possible size; 0 for an empty table.
    pub fn min(&self) -> Bytes {
        match self {
            BlockSize::Fixed(size) => *size,
            BlockSize::Range { min, .. } => *min,
            BlockSize::Weighted(table) => table.iter().map(|entry| entry.size).min().unwrap_or_default(),
        }
    }

    /// Returns the largest possible size; 0 for an empty table.
    pub fn max(&self) -> Bytes {
        match self {
            BlockSize::Fixed(size) => *size,
            BlockSize::Range { max, .. } => *max,
            BlockSize::Weighted(table) => table.iter().map(|entry| entry.size).max().unwrap_or_default(),
        }
    }
}

/// A size and its weight.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WeightedSize {
    /// Bytes per op of this size.
    pub size: Bytes,
    /// Weight relative to the other entries of the table.
    pub weight: f64,
}

/// Relative shares of reads, writes and trims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Mix {
    /// Share of reads, relative to the other two.
    #[serde(default)]
    pub read: u32,
    /// Share of writes, relative to the other two.
    #[serde(default)]
    pub write: u32,
    /// Share of trims: `BLKDISCARD` on a device, a punched hole in a file.
    #[serde(default)]
    pub trim: u32,
}

impl Default for Mix {
    fn default() -> Mix {
        Mix::READ
    }
}

impl Mix {
    pub const READ: Mix = Mix { read: 100, write: 0, trim: 0 };
    pub const WRITE: Mix = Mix { read: 0, write: 100, trim: 0 };
}
