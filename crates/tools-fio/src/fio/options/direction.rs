//! What is done: reads, writes and trims, where, and in which sizes.

use super::keywords::{Word, words};
use super::kind::{ANY, Kind, Slots, Special, at_least, at_most, between};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;
use crate::fio::value::direction::JobDirection;
use crate::fio::value::distribution::RandomDistribution;
use crate::fio::value::split::SplitShare;
use crate::fio::value::{Between, FileRegion, PerDirection};
use plumb_workload::Bytes;
use plumb_workload::blocks::fio::{Sequencer, SteadyState};

/// What is done: reads, writes and trims, where, and in which sizes.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Direction,
    options: &[
        row("rw", UsageTier::One, Kind::Special(Special::Direction)).or("readwrite").default("read").doc(
            "I/O direction and pattern; `:N` draws a random offset only every N ops, or skips N bytes after each \
             sequential op.",
        ),
        row("rw_sequencer", UsageTier::Two, Kind::Choice(Sequencer::WORDS))
            .default("sequential")
            .doc("What the `:N` of rw does: continue sequentially, or repeat the same offset."),
        row("rwmixread", UsageTier::One, Kind::Whole(Slots::One, at_most(100)))
            .default("50")
            .doc("Percentage of reads in a mixed workload."),
        row("rwmixwrite", UsageTier::One, Kind::Whole(Slots::One, at_most(100)))
            .default("50")
            .doc("Percentage of writes in a mixed workload."),
        row("size", UsageTier::One, Kind::Region)
            .doc("Region of the files the job uses: bytes, a percentage or zones."),
        row("io_size", UsageTier::One, Kind::Region).or("io_limit").doc("Total amount to transfer; defaults to size."),
        row("ramp_size", UsageTier::Two, Kind::Wide(Slots::One, at_least(1)))
            .doc("Amount to transfer before measuring starts."),
        row("offset", UsageTier::One, Kind::Region)
            .or("fileoffset")
            .default("0")
            .doc("Offset in the file at which the job starts."),
        row("offset_align", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("Alignment of an offset given as a percentage."),
        row("offset_increment", UsageTier::Two, Kind::Region)
            .default("0")
            .doc("Added to the offset of each further copy of the job."),
        row("number_ios", UsageTier::One, Kind::Wide(Slots::One, ANY)).default("0").doc("Stop after N ops."),
        row("bs", UsageTier::One, Kind::Wide(Slots::Three, at_least(1)))
            .or("blocksize")
            .default("4096")
            .doc("Block size, for reads, writes and trims."),
        row("ba", UsageTier::Two, Kind::Wide(Slots::Three, at_least(1)))
            .or("blockalign")
            .doc("Alignment of random offsets; defaults to the block size."),
        row("bsrange", UsageTier::One, Kind::Ranges)
            .or("blocksize_range")
            .doc("Range from which block sizes are drawn."),
        row("bssplit", UsageTier::One, Kind::Special(Special::Split))
            .doc("List of block sizes and the percentage of each."),
        row("bs_unaligned", UsageTier::Two, Kind::Flag)
            .or("blocksize_unaligned")
            .doc("Allow any block size within the range, not only multiples of the smallest."),
        row("bs_is_seq_rand", UsageTier::Two, Kind::Switch)
            .default("0")
            .doc("Use the first block size for sequential ops and the second for random ops."),
        row("num_range", UsageTier::Two, Kind::Whole(Slots::One, at_most(256)))
            .default("1")
            .doc("Number of ranges per trim. More than one needs ioengine=io_uring_cmd, as in fio."),
        row("serialize_overlap", UsageTier::Two, Kind::Switch)
            .default("0")
            .doc("Never have overlapping ops in flight."),
        row("atomic", UsageTier::Two, Kind::Switch)
            .default("0")
            .doc("Issue writes that cannot be torn by a crash (RWF_ATOMIC)."),
        row("percentage_random", UsageTier::Two, Kind::Whole(Slots::Three, at_most(100)))
            .default("100,100,100")
            .doc("Percentage of random ops, for reads, writes and trims."),
        row("random_distribution", UsageTier::Two, Kind::Special(Special::Distribution))
            .default("random")
            .doc("Distribution of random offsets over the file."),
        row("random_generator", UsageTier::Two, Kind::Choice(Generator::WORDS))
            .default("tausworthe")
            .doc("Random number generator."),
        row("randseed", UsageTier::One, Kind::Wide(Slots::One, ANY))
            .default("0x89")
            .doc("Seed of the random number generators."),
        row("randrepeat", UsageTier::One, Kind::Switch)
            .or("allrandrepeat")
            .default("1")
            .doc("Use the same seed, and so the same ops, in every run."),
        row("norandommap", UsageTier::One, Kind::Flag)
            .doc("Do not track which blocks were covered; random offsets may repeat."),
        row("softrandommap", UsageTier::Two, Kind::Switch)
            .default("0")
            .doc("Continue without tracking covered blocks if the map does not fit in memory."),
        row("random_sequence_stride", UsageTier::Three, Kind::Switch)
            .default("0")
            .doc("At the end of a listed sequence, continue after it instead of repeating it."),
        row("sprandom", UsageTier::Three, Kind::Switch)
            .default("0")
            .doc("Bring an SSD to the steady state of random writes: write its whole physical capacity once."),
        row("spr_num_regions", UsageTier::Three, Kind::Whole(Slots::One, between(1, SteadyState::REGIONS_MAX as i64)))
            .default("100")
            .doc("Number of regions that sprandom writes one after another."),
        row("spr_op", UsageTier::Three, Kind::Floats { most: 1, bounds: None })
            .default("0.15")
            .doc("Over-provisioning of the SSD for sprandom, above 0 and below 1."),
        row("spr_cs", UsageTier::Three, Kind::Wide(Slots::One, ANY))
            .default("0")
            .doc("Cache of the SSD for sprandom: blocks are written again one region later, and no region is smaller."),
        row("percentage_sequential", UsageTier::Gone, Kind::Flag).never("it was superseded by percentage_random."),
        row("rwmixcycle", UsageTier::Gone, Kind::Flag).never("fio removed it; a mix is drawn op by op."),
    ],
};

/// What is done: reads, writes and trims, where, and in which sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionOptions {
    /// Which ops, and whether at random.
    pub rw: JobDirection,
    /// What the number after `rw` means.
    pub sequencer: Sequencer,
    /// Percentage of ops that read, where reads and writes mix; from `rwmixread` or `rwmixwrite`, whichever came last.
    pub read_percent: u8,
    /// The region of the files that the job uses; all of them if absent.
    pub size: Option<FileRegion>,
    /// The amount to transfer; `size` if absent.
    pub io_size: Option<FileRegion>,
    /// Bytes transferred before measuring begins.
    pub ramp_size: Option<u64>,
    /// Where in the file it begins.
    pub offset: FileRegion,
    /// Alignment of an offset given as a percentage.
    pub offset_align: Option<u32>,
    /// Added to the offset of each further copy of the job.
    pub offset_increment: FileRegion,
    /// Stop after N ops.
    pub number_ios: Option<u64>,
    /// Bytes of an op, unless drawn from a range or a split; see [`Work::sizes`].
    pub bs: PerDirection<u64>,
    /// Random offsets are multiples of this; the block size if absent.
    pub ba: PerDirection<Option<u64>>,
    /// Bytes of an op, drawn from a range.
    pub bs_range: PerDirection<Option<Between<u64>>>,
    /// Bytes of an op, drawn from a list; empty if there is none.
    pub bs_split: PerDirection<Vec<SplitShare>>,
    /// Sizes need not be multiples of the smallest.
    pub bs_unaligned: bool,
    /// The first size is for sequential ops, the second for random ones.
    pub bs_is_seq_rand: bool,
    /// Ranges one trim names.
    pub num_range: u32,
    /// Ops in flight do not overlap.
    pub serialize_overlap: bool,
    /// Writes are torn by no crash (RWF_ATOMIC).
    pub atomic: bool,
    /// Percentage of the ops of a random job that are random.
    pub percentage_random: PerDirection<u32>,
    /// How random offsets spread.
    pub distribution: RandomDistribution,
    /// After a listed sequence, continue instead of repeating it.
    pub sequence_goes_on: bool,
    /// Which generator gives random offsets.
    pub generator: Generator,
    /// The seed.
    pub randseed: u64,
    /// The same ops in every run; a seed that was said holds all the same.
    pub randrepeat: bool,
    /// Whether the seed was said.
    pub seed_is_said: bool,
    /// Do not remember which blocks are done.
    pub norandommap: bool,
    /// Continue without the map if it does not fit in memory.
    pub softrandommap: bool,
    /// Write so that an SSD comes to its steady state.
    pub steady_state: Option<SteadyState>,
}

impl DirectionOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> DirectionOptions {
        DirectionOptions {
            rw: values.direction("rw").expect("it has a default"),
            sequencer: Sequencer::of(values),
            read_percent: read_percent(values),
            size: values.region("size"),
            io_size: values.region("io_size"),
            ramp_size: values.wide("ramp_size"),
            offset: values.region("offset").unwrap_or(FileRegion::Bytes(0)),
            offset_align: values.count_unless_zero("offset_align"),
            offset_increment: values.region("offset_increment").unwrap_or(FileRegion::Bytes(0)),
            number_ios: values.wide_unless_zero("number_ios"),
            bs: values.wides("bs").unwrap_or_default().or(PerDirection::all(DEFAULT_BLOCK_BYTES)),
            ba: values.wides("ba").unwrap_or_default(),
            bs_range: values.ranges("bsrange").unwrap_or_default(),
            bs_split: values.split("bssplit").unwrap_or_default(),
            bs_unaligned: values.switch("bs_unaligned"),
            bs_is_seq_rand: values.switch("bs_is_seq_rand"),
            num_range: values.count("num_range").max(1),
            serialize_overlap: values.switch("serialize_overlap"),
            atomic: values.switch("atomic"),
            percentage_random: values.counts("percentage_random").or(PerDirection::all(100)),
            distribution: values.distribution("random_distribution").unwrap_or(RandomDistribution::Uniform),
            sequence_goes_on: values.switch("random_sequence_stride"),
            generator: Generator::of(values),
            randseed: values.wide("randseed").unwrap_or(0),
            randrepeat: values.switch("randrepeat"),
            seed_is_said: values.is_said("randseed"),
            norandommap: values.switch("norandommap"),
            softrandommap: values.switch("softrandommap"),
            steady_state: values.switch("sprandom").then(|| SteadyState {
                over_provisioning: values.floats("spr_op").first().copied().unwrap_or_default(),
                regions: values.count("spr_num_regions"),
                cache: Bytes(values.wide("spr_cs").unwrap_or_default()),
            }),
        }
    }
}

impl DirectionOptions {
    /// The sizes that hold: a split over a range over a size.
    pub fn sizes(&self) -> PerDirection<KindSizes> {
        let one = |bytes: u64, range: Option<Between<u64>>, split: &[SplitShare]| match (split, range) {
            ([], None) => KindSizes::Fixed(bytes),
            ([], Some(range)) if range.low == range.high => KindSizes::Fixed(range.low),
            ([], Some(range)) => KindSizes::Range(range),
            (split, _) => KindSizes::Split(split.to_vec()),
        };
        PerDirection {
            read: one(self.bs.read, self.bs_range.read, &self.bs_split.read),
            write: one(self.bs.write, self.bs_range.write, &self.bs_split.write),
            trim: one(self.bs.trim, self.bs_range.trim, &self.bs_split.trim),
        }
    }
}

/// The sizes of one kind of op.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KindSizes {
    /// Always this.
    Fixed(u64),
    /// Drawn from a range.
    Range(Between<u64>),
    /// Drawn from a list.
    Split(Vec<SplitShare>),
}

/// fio's block size if none is given.
const DEFAULT_BLOCK_BYTES: u64 = 4_096;

/// Whichever of the two shares was said last has taken the other back.
fn read_percent(values: &OptionValues) -> u8 {
    let read = if values.is_said("rwmixwrite") {
        100_u32.saturating_sub(values.count("rwmixwrite"))
    } else {
        values.count("rwmixread")
    };
    read.min(100) as u8
}

words! {
    for Sequencer, "rw_sequencer":
    Sequential = "sequential",
    Identical = "identical",
}

words! {
    /// Which generator gives random offsets.
    Generator, "random_generator":
    /// Tausworthe, 32 bits.
    Tausworthe = "tausworthe",
    /// A shift register that visits every block once.
    Lfsr = "lfsr",
    /// Tausworthe, 64 bits.
    Tausworthe64 = "tausworthe64",
}
