//! fio's generator: which kinds of op, where, in which sizes, for how long.

use super::ByKind;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Ops drawn as fio draws them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Stream {
    /// Per cent of ops that read, in a mix of reads and writes; 100 for reads alone, 0 for writes alone. Absent for trims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_percent: Option<u8>,
    /// Trims, or trims each followed by a write to the same place where `read-percent` is there.
    #[serde(default)]
    pub trims: bool,
    /// Whether offsets follow one another.
    pub order: AccessOrder,
    /// What the number behind the order means.
    #[serde(default)]
    pub sequencer: Sequencer,
    /// Bytes of an op.
    pub sizes: ByKind<JobSize>,
    /// Drawn sizes need not be multiples of the smallest.
    #[serde(default)]
    pub unaligned_sizes: bool,
    /// `sizes.read` is for ops in sequence and `sizes.write` for those at random, whatever they do.
    #[serde(default)]
    pub sizes_by_order: bool,
    /// Random offsets are multiples of this.
    pub align: ByKind<Bytes>,
    /// Per cent of the ops of a random order that are random; the others follow in sequence.
    #[serde(default = "all_random")]
    pub random_percent: ByKind<u8>,
    /// How random offsets spread.
    #[serde(default, alias = "law")]
    pub distribution: OffsetDistribution,
    /// Which random blocks may come again.
    #[serde(default)]
    pub coverage: Coverage,
    /// Which generator gives random offsets.
    #[serde(default)]
    pub generator: RandomGenerator,
    /// The job's seed, that all its copies share.
    #[serde(serialize_with = "wide::write", deserialize_with = "wide::read")]
    pub seed: u64,
    /// Which draws follow from the seed.
    #[serde(default)]
    pub seeding: Seeding,
    /// All draws begin again with each loop, which then does the same ops.
    #[serde(default = "yes")]
    pub reseed_each_loop: bool,
    /// Number of the worker among all workers of all jobs, from 1: what makes its draws its own.
    pub worker_number: u32,
    /// The part of each of the target's files that is used; the last one holds for all further files.
    pub ranges: Vec<FileRange>,
    /// Which file the next op goes to.
    #[serde(default)]
    pub file_choice: FileChoice,
    /// At most this many files are open at once; all where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u32>,
    /// Bytes to move in one loop, of all files together; what the ranges hold where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_bytes: Option<Bytes>,
    /// Stop after this many ops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ops: Option<u64>,
    /// Do it all this many times.
    #[serde(default = "one")]
    pub loops: u64,
    /// Begin again instead of ending, until the group's time is over.
    #[serde(default)]
    pub repeat_until_time: bool,
    /// Write until no space is left.
    #[serde(default)]
    pub fill_device: bool,
    /// Ranges that one trim names.
    #[serde(default = "one_range")]
    pub ranges_per_trim: u32,
    /// Trims of written blocks amid other work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim_amid: Option<TrimAmid>,
    /// Work in zones, and skip what lies between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<ZoneStride>,
    /// Ops in flight must not overlap.
    #[serde(default)]
    pub no_overlap_in_flight: bool,
}

impl Stream {
    /// Whether it may go over its files several times.
    pub fn repeats(&self) -> bool {
        self.loops > 1 || self.repeat_until_time
    }

    /// Reads in blocks of one size, from the beginning of each file over this many bytes of it; all else as where nothing is
    /// said of it.
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

/// Seeds have 64 bits, and TOML's integers 63: a seed that is larger is written as text.
mod wide {
    use plumb_document::{Scalar, read_scalar};
    use serde::{Deserializer, Serializer};

    // `serialize_with` wants a reference.
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
    /// Which kinds of op it yields, verifying left out.
    pub fn moves(&self) -> ByKind<bool> {
        let percent = self.read_percent;
        ByKind {
            read: percent.is_some_and(|percent| percent > 0),
            write: percent.is_some_and(|percent| percent < 100),
            trim: self.trims || self.trim_amid.is_some_and(|amid| amid.percent > 0),
        }
    }
}

/// Whether offsets follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum AccessOrder {
    /// One after another.
    Sequential {
        /// Bytes skipped after each op; backwards where negative.
        #[serde(default)]
        skip_bytes: i64,
    },
    /// At random.
    Random {
        /// Ops for one draw, 1 or more; what they do is the [`Sequencer`]'s.
        #[serde(default = "one_range")]
        ops_per_draw: u32,
    },
}

/// What happens in the ops between two draws of an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sequencer {
    /// They go on in sequence.
    #[default]
    Sequential,
    /// They repeat the offset.
    Identical,
}

/// Bytes of an op of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "JobSize"))]
pub enum JobSize {
    /// Always this.
    Fixed(Bytes),
    /// Drawn from a range, both ends included.
    Range {
        /// Smallest.
        low: Bytes,
        /// Largest.
        high: Bytes,
    },
    /// Drawn from a list.
    Split(Vec<SizeShare>),
}

plumb_document::short_form!(JobSize, "fixed");

impl JobSize {
    /// The smallest size it yields; 0 for an empty list.
    pub fn min(&self) -> Bytes {
        match self {
            JobSize::Fixed(size) => *size,
            JobSize::Range { low, .. } => *low,
            JobSize::Split(shares) => shares.iter().map(|share| share.size).min().unwrap_or_default(),
        }
    }

    /// The largest size it yields; 0 for an empty list.
    pub fn max(&self) -> Bytes {
        match self {
            JobSize::Fixed(size) => *size,
            JobSize::Range { high, .. } => *high,
            JobSize::Split(shares) => shares.iter().map(|share| share.size).max().unwrap_or_default(),
        }
    }
}

/// A size, and how often it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SizeShare {
    /// Bytes.
    pub size: Bytes,
    /// Per cent of ops.
    pub percent: u8,
}

/// How random offsets spread over a range.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum OffsetDistribution {
    /// Evenly.
    #[default]
    Uniform,
    /// Along a curve.
    Curved {
        /// Which.
        curve: Curve,
        /// Where its peak lies, as a share of the range; scattered over all of it where absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        center: Option<f64>,
        /// When it is drawn and scattered as fio does it; never where absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        as_fio: Option<AsFio>,
    },
    /// In zones, each with a share of the range in per cent.
    Zoned(ByKind<Vec<Zone<u8>>>),
    /// In zones, each of this many bytes.
    ZonedBytes(ByKind<Vec<Zone<Bytes>>>),
    /// These blocks, one after another, again and again.
    Sequence(Vec<u64>),
    /// These blocks, one after another, and then again behind as many blocks as they are: block numbers grow by the
    /// length of the list each time. Ends at the end of the range.
    SequenceOnward(Vec<u64>),
    /// Each block once, and some of them again, so that the valid pages of an SSD spread as they do after a long time of
    /// random writes. Writes only; ends when the capacity that the SSD hides is written too.
    SteadyState(SteadyState),
}

/// How an SSD is brought to the steady state of random writes with about one pass. Source: fio's sprandom, after
/// Desnoyers, "Analytic Models of SSD Write Performance" (2012).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SteadyState {
    /// Hidden capacity of the SSD, as a share of the range; above 0 and below 1.
    pub over_provisioning: f64,
    /// Parts that the capacity is written in, each with a share of blocks that are written again.
    pub regions: u32,
    /// The SSD's cache: writes to the same block are at least a region apart, and a region is no smaller than this. 0 where
    /// it is to be left out of account.
    #[serde(default)]
    pub cache: Bytes,
}

impl SteadyState {
    /// More regions than this would each be too small to have a share.
    pub const REGIONS_MAX: u32 = 1 << 20;

    /// Bytes that are written for a range of this many: those of the range and of what the SSD hides, in whole blocks.
    pub fn physical_bytes(&self, range_bytes: u64, block_bytes: u64) -> u64 {
        let hidden = (range_bytes as f64 * self.over_provisioning).ceil() as u64;
        let physical = range_bytes.saturating_add(hidden);
        physical - physical % block_bytes.max(1)
    }

    /// What is wrong with it, whatever the range.
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

    /// What is wrong with it for a range of this many bytes.
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

/// Draws along a curve as fio makes them: it scatters blocks by a hash that is a bijection only for a power of two of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AsFio {
    /// When.
    pub when: AsFioWhen,
    /// Hashes of the files' names, from which draws begin; the last one holds for all further files.
    pub name_hashes: Vec<u32>,
}

/// When draws along a curve are fio's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AsFioWhen {
    /// Where they follow the same law and leave no block out: Zipf's and Pareto's, without a centre, over a power of two
    /// of blocks.
    EveryBlockReached,
    /// Wherever fio can draw at all.
    Always,
}

/// A curve over a range of places.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Curve {
    /// Zipf's law.
    Zipf {
        /// Its exponent.
        theta: f64,
    },
    /// Pareto's, self-similar.
    Pareto {
        /// Its power, between 0 and 1.
        h: f64,
    },
    /// Normal.
    Normal {
        /// Its deviation, in per cent of the range.
        deviation: f64,
    },
}

/// A zone, and how many of the ops go to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Zone<T> {
    /// Per cent of the ops.
    pub access_percent: u8,
    /// How large it is.
    pub size: T,
}

/// Which random blocks may come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Coverage {
    /// Each block comes once before any comes again: remembered, a bit a block.
    #[default]
    Once,
    /// The same by a shift register, with nothing remembered.
    OnceByRegister,
    /// Draws are independent.
    Again,
}

/// Which generator gives random offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RandomGenerator {
    /// Tausworthe's, 32 bits; 64 where a file has more blocks than that.
    #[default]
    Taus88,
    /// Tausworthe's, 32 bits, however many blocks a file has: most of more than that are never drawn.
    Taus88Only,
    /// Tausworthe's, 64 bits.
    Taus258,
}

/// Which draws follow from a job's seed. The others follow from the worker's number alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Seeding {
    /// All but random offsets.
    #[default]
    AllButOffsets,
    /// All.
    All,
    /// None.
    None,
}

/// The part of a file that a job uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FileRange {
    /// Its first byte.
    pub start: Bytes,
    /// Its bytes.
    pub length: Bytes,
}

/// Which file the next op goes to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum FileChoice {
    /// Each file in turn.
    RoundRobin {
        /// Ops before the next file.
        ops: u32,
    },
    /// One file after another is finished.
    Sequential,
    /// A file at random.
    Random {
        /// Ops before the next file.
        ops: u32,
    },
    /// A file along a curve.
    Curved {
        /// Which.
        curve: Curve,
        /// Where its peak lies, as a share of the files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        center: Option<f64>,
        /// Ops before the next file.
        ops: u32,
    },
}

impl Default for FileChoice {
    fn default() -> FileChoice {
        FileChoice::RoundRobin { ops: 1 }
    }
}

/// Trims of written blocks amid other work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TrimAmid {
    /// Per cent of written blocks that are trimmed later.
    pub percent: u8,
    /// After this many written blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<u64>,
    /// This many at a time; the backlog where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    /// Expect zeros there when verifying.
    #[serde(default)]
    pub expects_zeros: bool,
}

/// Work in zones of a plain file or device, and skip what lies between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ZoneStride {
    /// Bytes of a zone that are worked through before the next zone.
    pub size: Bytes,
    /// Bytes from which offsets of one zone are taken.
    pub range: Bytes,
    /// Bytes between the end of one zone and the start of the next.
    pub skip: Bytes,
}
