//! What is done: reads, writes and trims, where, and in which sizes.

use super::keywords::{Word, words};
use super::kind::{ANY, Kind, Slots, Special, at_least, at_most};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;
use crate::fio::value::direction::JobDirection;
use crate::fio::value::distribution::RandomDistribution;
use crate::fio::value::split::SplitShare;
use crate::fio::value::{Between, FileRegion, PerDirection};
use plumb_workload::blocks::fio::Sequencer;

/// What is done: reads, writes and trims, where, and in which sizes.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Direction,
    options: &[
        row("rw", UsageTier::One, Kind::Special(Special::Direction))
            .or("readwrite")
            .default("read")
            .doc("Reads, writes, trims or a mix, in sequence or at random; a number after a colon paces jumps."),
        row("rw_sequencer", UsageTier::Two, Kind::Choice(Sequencer::WORDS))
            .default("sequential")
            .doc("What a number after rw means: jump on, or repeat the same offset."),
        row("rwmixread", UsageTier::One, Kind::Whole(Slots::One, at_most(100)))
            .default("50")
            .doc("Per cent of ops that read, where reads and writes mix."),
        row("rwmixwrite", UsageTier::One, Kind::Whole(Slots::One, at_most(100)))
            .default("50")
            .doc("Per cent of ops that write, where reads and writes mix."),
        row("size", UsageTier::One, Kind::Region)
            .doc("How much of the files this job covers: bytes, per cent or zones."),
        row("io_size", UsageTier::One, Kind::Region)
            .or("io_limit")
            .doc("How much it transfers in all; the size when absent."),
        row("ramp_size", UsageTier::Two, Kind::Wide(Slots::One, at_least(1)))
            .doc("Transfer so much before measuring begins; refused for now, `ramp_time` does it by time."),
        row("offset", UsageTier::One, Kind::Region)
            .or("fileoffset")
            .default("0")
            .doc("Where in the file the job begins."),
        row("offset_align", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("Round a relative offset to a multiple of this."),
        row("offset_increment", UsageTier::Two, Kind::Region)
            .default("0")
            .doc("Each further copy begins so much later."),
        row("number_ios", UsageTier::One, Kind::Wide(Slots::One, ANY)).default("0").doc("Stop after this many ops."),
        row("bs", UsageTier::One, Kind::Wide(Slots::Three, at_least(1)))
            .or("blocksize")
            .default("4096")
            .doc("Bytes of one op, for reads, writes and trims."),
        row("ba", UsageTier::Two, Kind::Wide(Slots::Three, at_least(1)))
            .or("blockalign")
            .doc("Random offsets are multiples of this; the block size when absent."),
        row("bsrange", UsageTier::One, Kind::Ranges).or("blocksize_range").doc("Bytes of one op, drawn from a range."),
        row("bssplit", UsageTier::One, Kind::Special(Special::Split))
            .doc("Bytes of one op, drawn from a list with shares."),
        row("bs_unaligned", UsageTier::Two, Kind::Flag)
            .or("blocksize_unaligned")
            .doc("Allow block sizes that are no multiple of the smallest."),
        row("bs_is_seq_rand", UsageTier::Two, Kind::Switch)
            .default("0")
            .doc("The first block size holds for sequential ops and the second for random ones."),
        row("num_range", UsageTier::Two, Kind::Whole(Slots::One, at_most(256)))
            .default("1")
            .doc("How many ranges one trim names. More than one needs ioengine=io_uring_cmd, as in fio."),
        row("serialize_overlap", UsageTier::Two, Kind::Switch).default("0").doc("Do not let ops in flight overlap."),
        row("atomic", UsageTier::Two, Kind::Switch)
            .default("0")
            .doc("Ask that each write be torn by no crash (RWF_ATOMIC)."),
        row("percentage_random", UsageTier::Two, Kind::Whole(Slots::Three, at_most(100)))
            .default("100,100,100")
            .doc("Per cent of ops that are random, for reads, writes and trims."),
        row("random_distribution", UsageTier::Two, Kind::Special(Special::Distribution))
            .default("random")
            .doc("How random offsets spread over the file."),
        row("random_generator", UsageTier::Two, Kind::Choice(Generator::WORDS))
            .default("tausworthe")
            .doc("Which generator gives random numbers."),
        row("randseed", UsageTier::One, Kind::Wide(Slots::One, ANY))
            .default("0x89")
            .doc("The seed of every random choice."),
        row("randrepeat", UsageTier::One, Kind::Switch)
            .or("allrandrepeat")
            .default("1")
            .doc("The same seed gives the same ops in every run."),
        row("norandommap", UsageTier::One, Kind::Flag)
            .doc("Draw random offsets without remembering which blocks are done."),
        row("softrandommap", UsageTier::Two, Kind::Switch)
            .default("0")
            .doc("Go on without the memory of done blocks where there is no room for it."),
        row("random_sequence_stride", UsageTier::Three, Kind::Switch)
            .default("0")
            .doc("Go on behind a listed sequence of blocks, rather than begin it anew."),
        row("sprandom", UsageTier::Three, Kind::Switch)
            .default("0")
            .not_yet("Preconditioning with sprandom is not translated; `plumb run --precondition` is the native way."),
        row("spr_num_regions", UsageTier::Three, Kind::Whole(Slots::One, ANY))
            .default("100")
            .not_yet("Preconditioning with sprandom is not translated."),
        row("spr_op", UsageTier::Three, Kind::Floats { most: 1, bounds: None })
            .default("0.15")
            .not_yet("Preconditioning with sprandom is not translated."),
        row("spr_cs", UsageTier::Three, Kind::Wide(Slots::One, ANY))
            .default("0")
            .not_yet("Preconditioning with sprandom is not translated."),
        row("percentage_sequential", UsageTier::Gone, Kind::Flag).never("it was superseded by percentage_random."),
        row("rwmixcycle", UsageTier::Gone, Kind::Flag).never("fio dropped it; a mix is drawn op by op."),
    ],
};

/// What is done: reads, writes and trims, where, and in which sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionOptions {
    /// Which ops, and whether at random.
    pub rw: JobDirection,
    /// What the number after `rw` means.
    pub sequencer: Sequencer,
    /// Per cent of ops that read, where reads and writes mix; from `rwmixread` or `rwmixwrite`, whichever came last.
    pub read_percent: u8,
    /// How much of the files is covered by the job; all of them where absent.
    pub size: Option<FileRegion>,
    /// How much is transferred; the size where absent.
    pub io_size: Option<FileRegion>,
    /// Bytes transferred before measuring begins.
    pub ramp_size: Option<u64>,
    /// Where in the file it begins.
    pub offset: FileRegion,
    /// Round a relative offset to a multiple of this.
    pub offset_align: Option<u32>,
    /// Each further copy begins so much later.
    pub offset_increment: FileRegion,
    /// Stop after this many ops.
    pub number_ios: Option<u64>,
    /// Bytes of an op, unless drawn from a range or a split; see [`Work::sizes`].
    pub bs: PerDirection<u64>,
    /// Random offsets are multiples of this; the block size where absent.
    pub ba: PerDirection<Option<u64>>,
    /// Bytes of an op, drawn from a range.
    pub bs_range: PerDirection<Option<Between<u64>>>,
    /// Bytes of an op, drawn from a list; empty where there is none.
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
    /// Per cent of the ops of a random job that are random.
    pub percentage_random: PerDirection<u32>,
    /// How random offsets spread.
    pub distribution: RandomDistribution,
    /// A listed sequence goes on behind itself.
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
    /// Go on without that memory where there is no room for it.
    pub softrandommap: bool,
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

/// fio's block size where none is said.
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
