//! fio's generator: kinds of op, offsets, sizes and amounts.

use super::ByKind;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Ops drawn by fio's algorithms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Stream {
    /// Percentage of reads in a mix of reads and writes: 100 for reads only, 0 for writes only. Absent for trims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_percent: Option<u8>,
    /// Issue trims. With `read-percent` set, each trim is followed by a write to the same offset.
    #[serde(default)]
    pub trims: bool,
    /// Order of the offsets, sequential or random.
    pub order: AccessOrder,
    /// Meaning of the number after fio's order, as in `rw=randread:8`.
    #[serde(default)]
    pub sequencer: Sequencer,
    /// Bytes per op, for each kind of op.
    pub sizes: ByKind<JobSize>,
    /// Allow drawn sizes that are not multiples of the smallest size.
    #[serde(default)]
    pub unaligned_sizes: bool,
    /// Use `sizes.read` for sequential ops and `sizes.write` for random ops, whatever their kind.
    #[serde(default)]
    pub sizes_by_order: bool,
    /// Alignment of random offsets in bytes.
    pub align: ByKind<Bytes>,
    /// Percentage of ops at a random offset when the order is random; the others are sequential.
    #[serde(default = "all_random")]
    pub random_percent: ByKind<u8>,
    /// Distribution of random offsets over the range.
    #[serde(default, alias = "law")]
    pub distribution: OffsetDistribution,
    /// Whether a random block may repeat before all blocks were accessed.
    #[serde(default)]
    pub coverage: Coverage,
    /// Random number generator for offsets.
    #[serde(default)]
    pub generator: RandomGenerator,
    /// Seed of the job, shared by all its copies.
    #[serde(serialize_with = "wide::write", deserialize_with = "wide::read")]
    pub seed: u64,
    /// Draws that are derived from the seed.
    #[serde(default)]
    pub seeding: Seeding,
    /// Reset all random state at each loop, so that every loop issues the same ops.
    #[serde(default = "yes")]
    pub reseed_each_loop: bool,
    /// Number of this worker among the workers of all jobs, counted from 1. Each worker's draws depend on it.
    pub worker_number: u32,
    /// Range used in each of the target's files. The last entry also applies to all further files.
    pub ranges: Vec<FileRange>,
    /// Selects the file of the next op.
    #[serde(default)]
    pub file_choice: FileChoice,
    /// Maximum number of files open at once; no limit when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u32>,
    /// Bytes to transfer per loop, over all files; defaults to the sum of all ranges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_bytes: Option<Bytes>,
    /// Number of ops after which to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ops: Option<u64>,
    /// Number of passes over the files.
    #[serde(default = "one")]
    pub loops: u64,
    /// Start over at the end, until the group's time is up.
    #[serde(default)]
    pub repeat_until_time: bool,
    /// Write until the device or file system has no space left.
    #[serde(default)]
    pub fill_device: bool,
    /// Number of ranges per trim op.
    #[serde(default = "one_range")]
    pub ranges_per_trim: u32,
    /// Trims of written blocks, mixed into the other ops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim_amid: Option<TrimAmid>,
    /// Work within zones and skip the space between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<ZoneStride>,
    /// Prevent overlap between ops in flight.
    #[serde(default)]
    pub no_overlap_in_flight: bool,
}

impl Stream {
    /// Returns `true` if the job may make more than one pass over its files.
    pub fn repeats(&self) -> bool {
        self.loops > 1 || self.repeat_until_time
    }

    /// Returns reads of one block size over the first `length` bytes of each file, with fio's defaults otherwise.
    pub fn sequential(block: Bytes, length: Bytes) -> Stream {
        Stream {
            read_percent: Some(100),
            trims: false,
            order: AccessOrder::Sequential { skip_bytes: 0 },
            sequencer: Sequencer::default(),
            sizes: ByKind::all(JobSize::Fixed(block)),
            unaligned_sizes: false,
            sizes_by_order: false,
            align: ByKind::all(block),
            random_percent: all_random(),
            distribution: OffsetDistribution::default(),
            coverage: Coverage::default(),
            generator: RandomGenerator::default(),
            seed: 0x89,
            seeding: Seeding::default(),
            reseed_each_loop: yes(),
            worker_number: 1,
            ranges: vec![FileRange { start: Bytes(0), length }],
            file_choice: FileChoice::default(),
            open_files: None,
            io_bytes: None,
            max_ops: None,
            loops: one(),
            repeat_until_time: false,
            fill_device: false,
            ranges_per_trim: one_range(),
            trim_amid: None,
            zones: None,
            no_overlap_in_flight: false,
        }
    }
}

/// Serialization of seeds. A seed has 64 bits but a TOML integer only 63, so larger seeds are written as text.
mod wide {
    use plumb_document::{Scalar, read_scalar};
    use serde::{Deserializer, Serializer};

    // `serialize_with` passes a reference.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub(super) fn write<S: Serializer>(seed: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(*seed) {
            Ok(seed) => serializer.serialize_i64(seed),
            Err(_) => serializer.collect_str(seed),
        }
    }

    pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        read_scalar(deserializer, "a seed of 64 bits", |scalar| {
            Ok(match scalar {
                Scalar::Integer(seed) => u64::try_from(seed).ok(),
                Scalar::Text(text) => text.parse().ok(),
                Scalar::Bool(_) | Scalar::Float(_) => None,
            })
        })
    }
}

fn one() -> u64 {
    1
}

fn one_range() -> u32 {
    1
}

fn yes() -> bool {
    true
}

fn all_random() -> ByKind<u8> {
    ByKind::all(100)
}

impl Stream {
    /// Returns the kinds of op that the stream issues, not counting reads for verification.
    pub fn moves(&self) -> ByKind<bool> {
        let percent = self.read_percent;
        ByKind {
            read: percent.is_some_and(|percent| percent > 0),
            write: percent.is_some_and(|percent| percent < 100),
            trim: self.trims || self.trim_amid.is_some_and(|amid| amid.percent > 0),
        }
    }
}

/// Order of a stream's offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum AccessOrder {
    /// Each op starts where the previous one ended.
    Sequential {
        /// Bytes skipped after each op; negative values go backwards.
        #[serde(default)]
        skip_bytes: i64,
    },
    /// Offsets drawn by the distribution.
    Random {
        /// Ops per drawn offset, at least 1. The [`Sequencer`] chooses the offsets in between.
        #[serde(default = "one_range")]
        ops_per_draw: u32,
    },
}

/// Offsets of the ops between two draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sequencer {
    /// Each op continues after the previous one.
    #[default]
    Sequential,
    /// Each op repeats the drawn offset.
    Identical,
}

/// Bytes per op of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "JobSize"))]
pub enum JobSize {
    /// The same size for every op.
    Fixed(Bytes),
    /// Drawn from a range, including both ends.
    Range {
        /// Smallest size that can be drawn.
        low: Bytes,
        /// Largest size that can be drawn.
        high: Bytes,
    },
    /// Drawn from a list of sizes, each with a percentage.
    Split(Vec<SizeShare>),
}

plumb_document::short_form!(JobSize, "fixed");

impl JobSize {
    /// Returns the smallest possible size; 0 for an empty list.
    pub fn min(&self) -> Bytes {
        match self {
            JobSize::Fixed(size) => *size,
            JobSize::Range { low, .. } => *low,
            JobSize::Split(shares) => shares.iter().map(|share| share.size).min().unwrap_or_default(),
        }
    }

    /// Returns the largest possible size; 0 for an empty list.
    pub fn max(&self) -> Bytes {
        match self {
            JobSize::Fixed(size) => *size,
            JobSize::Range { high, .. } => *high,
            JobSize::Split(shares) => shares.iter().map(|share| share.size).max().unwrap_or_default(),
        }
    }
}

/// A size and its share of the ops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SizeShare {
    /// Bytes per op of this size.
    pub size: Bytes,
    /// Percentage of ops that use this size.
    pub percent: u8,
}

/// Distribution of random offsets over a range.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum OffsetDistribution {
    /// Uniform: every block is equally likely.
    #[default]
    Uniform,
    /// Skewed along a curve, such as Zipf's.
    Curved {
        /// Shape of the distribution.
        curve: Curve,
        /// Position of the peak as a share of the range; the hot blocks are scattered over the range when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        center: Option<f64>,
        /// When to draw and scatter exactly as fio does; never when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        as_fio: Option<AsFio>,
    },
    /// Zones, each sized as a percentage of the range.
    Zoned(ByKind<Vec<Zone<u8>>>),
    /// Zones, each sized in bytes.
    ZonedBytes(ByKind<Vec<Zone<Bytes>>>),
    /// The listed block numbers in order, repeated forever.
    Sequence(Vec<u64>),
    /// The listed block numbers in order, then again shifted by the length of the list, and so on. Ends at
    /// the end of the range.
    SequenceOnward(Vec<u64>),
    /// Writes each block once and rewrites some of them, so that an SSD's valid pages spread as they do after long
    /// random writes. Supports writes only; ends after the SSD's hidden capacity is written too.
    SteadyState(SteadyState),
}

/// Brings an SSD to its steady state for random writes in about one pass. Source: fio's sprandom, after Desnoyers,
/// "Analytic Models of SSD Write Performance" (2012).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SteadyState {
    /// Hidden capacity of the SSD as a share of the range, between 0 and 1 (exclusive).
    pub over_provisioning: f64,
    /// Number of parts that the capacity is split into. Each part rewrites its own share of blocks.
    pub regions: u32,
    /// Size of the SSD's cache. Writes to one block are at least a region apart, and a region is at least this
    /// large. 0 ignores the cache.
    #[serde(default)]
    pub cache: Bytes,
}

impl SteadyState {
    /// Maximum number of regions; with more, a region would be too small to have a share.
    pub const REGIONS_MAX: u32 = 1 << 20;

    /// Returns the bytes written for a range: its own plus the SSD's hidden capacity, in whole blocks.
    pub fn physical_bytes(&self, range_bytes: u64, block_bytes: u64) -> u64 {
        let hidden = (range_bytes as f64 * self.over_provisioning).ceil() as u64;
        let physical = range_bytes.saturating_add(hidden);
        physical - physical % block_bytes.max(1)
    }

    /// Returns the error in the settings that does not depend on the range, if any.
    pub fn problem(&self) -> Option<String> {
        if !(self.over_provisioning > 0.0 && self.over_provisioning < 1.0) {
            return Some(format!(
                "the over-provisioning {} is not between 0 and 1; 0.07 to 0.3 are usual",
                self.over_provisioning
            ));
        }
        if self.regions == 0 || self.regions > Self::REGIONS_MAX {
            return Some(format!("{} regions are not possible; use 1 to {}", self.regions, Self::REGIONS_MAX));
        }
        None
    }

    /// Returns the error in the settings for a range of this many bytes, if any.
    pub fn problem_in(&self, range_bytes: u64, block_bytes: u64) -> Option<String> {
        if let Some(problem) = self.problem() {
            return Some(problem);
        }
        let physical = self.physical_bytes(range_bytes, block_bytes);
        let region = physical / u64::from(self.regions);
        (self.cache.0 > region).then(|| {
            format!(
                "the cache of {} is larger than a region of {region} bytes; use at most {} regions",
                self.cache,
                physical / self.cache.0
            )
        })
    }
}

/// Draws and scatters along a curve as fio does. fio scatters blocks with a hash that is a bijection only if their
/// number is a power of two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AsFio {
    /// Condition for using fio's draws.
    pub when: AsFioWhen,
    /// Hashes of the file names, which seed the draws. The last entry also applies to all further files.
    pub name_hashes: Vec<u32>,
}

/// Condition for using fio's draws along a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AsFioWhen {
    /// Only if they follow the same distribution and reach every block: Zipf and Pareto without a centre, over a
    /// power of two of blocks.
    EveryBlockReached,
    /// Whenever fio supports the distribution.
    Always,
}

/// A skewed distribution over a range of positions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Curve {
    /// Zipf's law over the blocks.
    Zipf {
        /// Exponent; larger values are more skewed.
        theta: f64,
    },
    /// Pareto's distribution, which is self-similar.
    Pareto {
        /// Power of the distribution, between 0 and 1.
        h: f64,
    },
    /// Normal distribution around the centre.
    Normal {
        /// Standard deviation as a percentage of the range.
        deviation: f64,
    },
}

/// A zone and its share of the ops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Zone<T> {
    /// Percentage of ops that go to this zone.
    pub access_percent: u8,
    /// Size of the zone, as a percentage or in bytes.
    pub size: T,
}

/// Whether a random block may repeat before all blocks were accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Coverage {
    /// Access each block once before any repeats. Uses a bitmap of one bit per block.
    #[default]
    Once,
    /// Access each block once before any repeats, by a shift register that needs no bitmap.
    OnceByRegister,
    /// Draw independently, so that blocks may repeat.
    Again,
}

/// Random number generator for offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RandomGenerator {
    /// 32-bit Tausworthe; 64-bit for files with more blocks than 32 bits can number.
    #[default]
    Taus88,
    /// 32-bit Tausworthe for files of any size. In larger files, most blocks are never drawn.
    Taus88Only,
    /// 64-bit Tausworthe for files of any size.
    Taus258,
}

/// Draws that are derived from the job's seed. The other draws depend on the worker's number alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Seeding {
    /// All draws except random offsets.
    #[default]
    AllButOffsets,
    /// All draws, including random offsets.
    All,
    /// No draws use the seed.
    None,
}

/// The part of a file that a job uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FileRange {
    /// Offset of the first byte.
    pub start: Bytes,
    /// Length of the range in bytes.
    pub length: Bytes,
}

/// Selects the file of the next op.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum FileChoice {
    /// Cycles through the files in order.
    RoundRobin {
        /// Ops per file before moving on.
        ops: u32,
    },
    /// Finishes one file before starting the next.
    Sequential,
    /// Draws a file uniformly at random.
    Random {
        /// Ops per file before the next draw.
        ops: u32,
    },
    /// Draws a file along a curve.
    Curved {
        /// Shape of the distribution.
        curve: Curve,
        /// Position of the peak as a share of the files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        center: Option<f64>,
        /// Ops per file before the next draw.
        ops: u32,
    },
}

impl Default for FileChoice {
    fn default() -> FileChoice {
        FileChoice::RoundRobin { ops: 1 }
    }
}

/// Trims of written blocks, mixed into the other ops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TrimAmid {
    /// Percentage of written blocks to trim later.
    pub percent: u8,
    /// Written blocks to collect before trimming starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<u64>,
    /// Blocks to trim at a time; defaults to the backlog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    /// Expect trimmed blocks to read as zeros when verifying.
    #[serde(default)]
    pub expects_zeros: bool,
}

/// Work within zones of a regular file or device and skip the space between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ZoneStride {
    /// Bytes to transfer in a zone before moving to the next.
    pub size: Bytes,
    /// Length of the range within a zone that offsets are drawn from.
    pub range: Bytes,
    /// Gap in bytes between the end of one zone and the start of the next.
    pub skip: Bytes,
}
