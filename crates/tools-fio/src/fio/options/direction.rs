//! Reads, writes and trims, their offsets and sizes.

use super::keywords::words;
use super::row::{Row, options, row};
use super::spec::UsageTier::{Gone, One, Three, Two};
use crate::fio::value::direction::JobDirection;
use crate::fio::value::distribution::RandomDistribution;
use crate::fio::value::kind::{ANY, at_least, at_most, between};
use crate::fio::value::split::SplitShare;
use crate::fio::value::syntax::{
    Choice, Count, DIRECTION, DISTRIBUTION, FLAG, Floats, Plain, REGION, SPLIT, SWITCH, Wide, Word, choice,
};
use crate::fio::value::{Between, Each, EachRange, EachUnlessZero, FileRegion, Map, Maybe, PerDirection, UnlessZero};
use plumb_workload::Bytes;
use plumb_workload::blocks::fio::{Sequencer, SteadyState};

// Rows that other modules use.
pub(in crate::fio) const RANDOM_GENERATOR: Row<Choice<Generator>> =
    row("random_generator", Two, choice::<Generator>()).default("tausworthe");

/// The row of `randseed`.
pub const RANDSEED: Row<Wide> = row("randseed", One, Wide(ANY)).default("0x89");

pub(in crate::fio) const RANDREPEAT: Row<Plain<bool>> = row("randrepeat", One, SWITCH).or("allrandrepeat").default("1");

pub(in crate::fio) const NORANDOMMAP: Row<Plain<bool>> = row("norandommap", One, FLAG);

pub(in crate::fio) const SIZE: Row<Maybe<Plain<FileRegion>>> = row("size", One, Maybe(REGION));

options! {
    /// Kinds of op, their offsets and sizes.
    pub struct DirectionOptions {
        /// I/O direction and pattern; `:N` draws a random offset only every N ops, or
        /// skips N bytes after each sequential op.
        rw: JobDirection = row("rw", One, DIRECTION).or("readwrite").default("read");
        /// Effect of the `:N` in rw: continue sequentially, or repeat the same offset.
        sequencer: Sequencer = row("rw_sequencer", Two, choice::<Sequencer>()).default("sequential");
        /// Percentage of reads in a mixed workload.
        read_percent: u8 = row("rwmixread", One, Map(Count(at_most(100)), |percent| percent.min(100) as u8)).default("50"),
            or
            /// Percentage of writes in a mixed workload.
            row("rwmixwrite", One, Map(Count(at_most(100)), |percent| 100 - percent.min(100) as u8)).default("50");
    } with {
        /// Place in the files, and amount.
        region: RegionOptions,
        /// Block sizes.
        blocks: BlockOptions,
        /// Rules for single ops.
        ops: OpOptions,
        /// Random offsets: their distribution, generator and seed.
        random: RandomOptions,
        /// Random writes that bring an SSD to its steady state.
        steady_state: SteadyStateOptions,
    }
}

options! {
    /// The part of the files that the job works on, and the amount that it transfers.
    pub struct RegionOptions {
        /// Region of the files the job uses: bytes, a percentage or zones.
        size: Option<FileRegion> = SIZE;
        /// Total amount to transfer; defaults to size.
        io_size: Option<FileRegion> = row("io_size", One, Maybe(REGION)).or("io_limit");
        /// Amount to transfer before measuring starts.
        ramp_size: Option<u64> = row("ramp_size", Two, Maybe(Wide(at_least(1))));
        /// Offset in the file at which the job starts.
        offset: FileRegion = row("offset", One, REGION).or("fileoffset").default("0");
        /// Alignment of an offset given as a percentage.
        offset_align: Option<u32> = row("offset_align", Two, UnlessZero(Count(ANY))).default("0");
        /// Added to the offset of each further copy of the job.
        offset_increment: FileRegion = row("offset_increment", Two, REGION).default("0");
        /// Stop after N ops.
        number_ios: Option<u64> = row("number_ios", One, UnlessZero(Wide(ANY))).default("0");
    }
}

options! {
    /// Block sizes, fixed or drawn.
    pub struct BlockOptions {
        /// Block size, for reads, writes and trims.
        bs: PerDirection<u64> = row("bs", One, Each(Wide(at_least(1)))).or("blocksize").default("4096");
        /// Alignment of random offsets; defaults to the block size.
        ba: PerDirection<Option<u64>> = row("ba", Two, EachUnlessZero(Wide(at_least(1)))).or("blockalign");
        /// Range from which block sizes are drawn.
        bs_range: PerDirection<Option<Between<u64>>> = row("bsrange", One, EachRange).or("blocksize_range");
        /// List of block sizes and the percentage of each.
        bs_split: PerDirection<Vec<SplitShare>> = row("bssplit", One, SPLIT);
        /// Allow any block size within the range, not only multiples of the smallest.
        bs_unaligned: bool = row("bs_unaligned", Two, FLAG).or("blocksize_unaligned");
        /// Use the first block size for sequential ops and the second for random ops.
        bs_is_seq_rand: bool = row("bs_is_seq_rand", Two, SWITCH).default("0");
    }
}

options! {
    /// Rules for single ops.
    pub struct OpOptions {
        /// Number of ranges per trim. More than one needs ioengine=io_uring_cmd, as in fio.
        num_range: u32 = row("num_range", Two, Map(Count(at_most(256)), |count| count.max(1))).default("1");
        /// Never have overlapping ops in flight.
        serialize_overlap: bool = row("serialize_overlap", Two, SWITCH).default("0");
        /// Issue writes that cannot be torn by a crash (RWF_ATOMIC).
        atomic: bool = row("atomic", Two, SWITCH).default("0");
    }
}

options! {
    /// Random offsets: their distribution, generator and seed.
    pub struct RandomOptions {
        /// Percentage of random ops, for reads, writes and trims.
        percentage_random: PerDirection<u32> = row("percentage_random", Two, Each(Count(at_most(100))))
            .default("100,100,100");
        /// Distribution of random offsets over the file.
        distribution: RandomDistribution = row("random_distribution", Two, DISTRIBUTION).default("random");
        /// Random number generator.
        generator: Generator = RANDOM_GENERATOR;
        /// Seed of the random number generators.
        randseed: u64 = RANDSEED;
        /// Use the same seed, and so the same ops, in every run.
        randrepeat: bool = RANDREPEAT;
        /// Do not track which blocks were covered; random offsets may repeat.
        norandommap: bool = NORANDOMMAP;
        /// Continue without tracking covered blocks if the map does not fit in memory.
        softrandommap: bool = row("softrandommap", Two, SWITCH).default("0");
        /// At the end of a listed sequence, continue after it instead of repeating it.
        sequence_goes_on: bool = row("random_sequence_stride", Three, SWITCH).default("0");
    }
}

/// One number.
const ONE_FLOAT: Floats = Floats { most: 1, bounds: None };

options! {
    /// Random writes that bring an SSD to its steady state.
    pub struct SteadyStateOptions {
        /// Bring an SSD to the steady state of random writes: write its whole physical capacity once.
        is_on: bool = row("sprandom", Three, SWITCH).default("0");
        /// Number of regions that sprandom writes one after another.
        regions: u32 = row("spr_num_regions", Three, Count(between(1, SteadyState::REGIONS_MAX as i64))).default("100");
        /// Over-provisioning of the SSD for sprandom, above 0 and below 1.
        over_provisioning: f64 = row("spr_op", Three, Map(ONE_FLOAT, |shares| shares.first().copied().unwrap_or_default()))
            .default("0.15");
        /// Cache of the SSD for sprandom: blocks are written again one region later, and no region is smaller.
        cache_bytes: u64 = row("spr_cs", Three, Wide(ANY)).default("0");
        _ = row("percentage_sequential", Gone, FLAG).never("it was superseded by percentage_random.");
        _ = row("rwmixcycle", Gone, FLAG).never("fio removed it; a mix is drawn op by op.");
    }
}

impl DirectionOptions {
    /// Returns the effective sizes: a split overrides a range, and a range overrides a size.
    pub fn sizes(&self) -> PerDirection<KindSizes> {
        let one = |bytes: u64, range: Option<Between<u64>>, split: &[SplitShare]| match (split, range) {
            ([], None) => KindSizes::Fixed(bytes),
            ([], Some(range)) if range.low == range.high => KindSizes::Fixed(range.low),
            ([], Some(range)) => KindSizes::Range(range),
            (split, _) => KindSizes::Split(split.to_vec()),
        };
        let BlockOptions { bs, bs_range, bs_split, .. } = &self.blocks;
        PerDirection {
            read: one(bs.read, bs_range.read, &bs_split.read),
            write: one(bs.write, bs_range.write, &bs_split.write),
            trim: one(bs.trim, bs_range.trim, &bs_split.trim),
        }
    }
}

/// The sizes of one kind of op.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KindSizes {
    Fixed(u64),
    Range(Between<u64>),
    Split(Vec<SplitShare>),
}

impl SteadyStateOptions {
    /// Returns the plan of `sprandom`, or `None` if it is off.
    pub fn wanted(&self) -> Option<SteadyState> {
        self.is_on.then_some(SteadyState {
            over_provisioning: self.over_provisioning,
            regions: self.regions,
            cache: Bytes(self.cache_bytes),
        })
    }
}

words! {
    for Sequencer:
    Sequential = "sequential",
    Identical = "identical",
}

words! {
    /// The generator of random offsets.
    Generator:
    /// Tausworthe, 32 bits.
    Tausworthe = "tausworthe",
    /// A shift register that visits every block once.
    Lfsr = "lfsr",
    /// Tausworthe, 64 bits.
    Tausworthe64 = "tausworthe64",
}

#[cfg(test)]
mod tests {
    use super::super::Category;
    use super::super::tests::{assert_each_sets, each};
    use super::*;
    use crate::fio::value::direction::{AccessOrder, Ops};

    // Protects: each option sets its own field to the value of its text.
    #[test]
    fn each_option_sets_its_field() {
        assert_each_sets(
            Category::Direction,
            &[
                ("rw=randwrite:8", |job| {
                    job.direction.rw == JobDirection { ops: Ops::Write, order: AccessOrder::Random { ops_per_draw: 8 } }
                }),
                ("rw_sequencer=identical", |job| job.direction.sequencer == Sequencer::Identical),
                ("rwmixread=70", |job| job.direction.read_percent == 70),
                ("rwmixwrite=70", |job| job.direction.read_percent == 30),
                ("size=50%", |job| job.direction.region.size == Some(FileRegion::Percent(50))),
                ("io_size=4z", |job| job.direction.region.io_size == Some(FileRegion::Zones(4))),
                ("ramp_size=2k", |job| job.direction.region.ramp_size == Some(2 << 10)),
                ("offset=1m", |job| job.direction.region.offset == FileRegion::Bytes(1 << 20)),
                ("offset_align=7", |job| job.direction.region.offset_align == Some(7)),
                ("offset_increment=1m", |job| job.direction.region.offset_increment == FileRegion::Bytes(1 << 20)),
                ("number_ios=7k", |job| job.direction.region.number_ios == Some(7 << 10)),
                ("bs=8k,16k", |job| job.direction.blocks.bs == each(8_192, 16_384, 16_384)),
                ("ba=8k,,512", |job| job.direction.blocks.ba == each(Some(8_192), None, Some(512))),
                ("bsrange=4k-8k,", |job| {
                    job.direction.blocks.bs_range.read == Some(Between { low: 4_096, high: 8_192 })
                }),
                ("bssplit=4k/60:64k/40", |job| {
                    job.direction.blocks.bs_split.write
                        == [SplitShare { bytes: 4_096, percent: 60 }, SplitShare { bytes: 65_536, percent: 40 }]
                }),
                ("bs_unaligned", |job| job.direction.blocks.bs_unaligned),
                ("bs_is_seq_rand=1", |job| job.direction.blocks.bs_is_seq_rand),
                ("num_range=7", |job| job.direction.ops.num_range == 7),
                ("serialize_overlap=1", |job| job.direction.ops.serialize_overlap),
                ("atomic=1", |job| job.direction.ops.atomic),
                ("percentage_random=10,20,30", |job| job.direction.random.percentage_random == each(10, 20, 30)),
                ("random_distribution=sequence:1,2", |job| {
                    job.direction.random.distribution == RandomDistribution::Sequence(vec![1, 2])
                }),
                ("random_generator=lfsr", |job| job.direction.random.generator == Generator::Lfsr),
                ("randseed=7", |job| job.direction.random.randseed == 7),
                ("randrepeat=0", |job| !job.direction.random.randrepeat),
                ("norandommap", |job| job.direction.random.norandommap),
                ("softrandommap=1", |job| job.direction.random.softrandommap),
                ("random_sequence_stride=1", |job| job.direction.random.sequence_goes_on),
                ("sprandom=1", |job| job.direction.steady_state.is_on),
                ("spr_num_regions=7", |job| job.direction.steady_state.regions == 7),
                ("spr_op=0.25", |job| job.direction.steady_state.over_provisioning == 0.25),
                ("spr_cs=7", |job| job.direction.steady_state.cache_bytes == 7),
            ],
        );
    }
}
