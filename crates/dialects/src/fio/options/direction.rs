//! What is done: reads, writes and trims, where, and in which sizes.

use super::kind::{ANY, Kind, Slots, Special, at_least, at_most};
use super::{Category, Shelf, Tier, row};

/// What is done: reads, writes and trims, where, and in which sizes.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Direction,
    options: &[
        row("rw", Tier::One, Kind::Special(Special::Direction))
            .or("readwrite")
            .default("read")
            .doc("Reads, writes, trims or a mix, in sequence or at random; a number after a colon paces jumps."),
        row("rw_sequencer", Tier::Two, Kind::Choice(&["sequential", "identical"]))
            .default("sequential")
            .doc("What a number after rw means: jump on, or repeat the same offset."),
        row("rwmixread", Tier::One, Kind::Whole(Slots::One, at_most(100)))
            .default("50")
            .doc("Per cent of ops that read, where reads and writes mix."),
        row("rwmixwrite", Tier::One, Kind::Whole(Slots::One, at_most(100)))
            .default("50")
            .doc("Per cent of ops that write, where reads and writes mix."),
        row("size", Tier::One, Kind::Region).doc("How much of the files this job covers: bytes, per cent or zones."),
        row("io_size", Tier::One, Kind::Region)
            .or("io_limit")
            .doc("How much it transfers in all; the size when absent."),
        row("ramp_size", Tier::Two, Kind::Wide(Slots::One, at_least(1)))
            .doc("Transfer so much before measuring begins; refused for now, `ramp_time` does it by time."),
        row("offset", Tier::One, Kind::Region).or("fileoffset").default("0").doc("Where in the file the job begins."),
        row("offset_align", Tier::Two, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("Round a relative offset to a multiple of this."),
        row("offset_increment", Tier::Two, Kind::Region).default("0").doc("Each further copy begins so much later."),
        row("number_ios", Tier::One, Kind::Wide(Slots::One, ANY)).default("0").doc("Stop after so many ops."),
        row("bs", Tier::One, Kind::Wide(Slots::Three, at_least(1)))
            .or("blocksize")
            .default("4096")
            .doc("Bytes of one op, for reads, writes and trims."),
        row("ba", Tier::Two, Kind::Wide(Slots::Three, at_least(1)))
            .or("blockalign")
            .doc("Random offsets are multiples of this; the block size when absent."),
        row("bsrange", Tier::One, Kind::Ranges).or("blocksize_range").doc("Bytes of one op, drawn from a range."),
        row("bssplit", Tier::One, Kind::Special(Special::Split)).doc("Bytes of one op, drawn from a list with shares."),
        row("bs_unaligned", Tier::Two, Kind::Flag)
            .or("blocksize_unaligned")
            .doc("Allow block sizes that are no multiple of the smallest."),
        row("bs_is_seq_rand", Tier::Two, Kind::Switch)
            .default("0")
            .doc("The first block size holds for sequential ops and the second for random ones."),
        row("num_range", Tier::Two, Kind::Whole(Slots::One, at_most(256)))
            .default("1")
            .doc("How many ranges one trim names. More than one needs ioengine=io_uring_cmd, as in fio."),
        row("serialize_overlap", Tier::Two, Kind::Switch).default("0").doc("Do not let ops in flight overlap."),
        row("atomic", Tier::Two, Kind::Switch)
            .default("0")
            .doc("Ask that each write be torn by no crash (RWF_ATOMIC)."),
        row("percentage_random", Tier::Two, Kind::Whole(Slots::Three, at_most(100)))
            .default("100,100,100")
            .doc("Per cent of ops that are random, for reads, writes and trims."),
        row("random_distribution", Tier::Two, Kind::Special(Special::Distribution))
            .default("random")
            .doc("How random offsets spread over the file."),
        row("random_generator", Tier::Two, Kind::Choice(&["tausworthe", "lfsr", "tausworthe64"]))
            .default("tausworthe")
            .doc("Which generator gives random numbers."),
        row("randseed", Tier::One, Kind::Wide(Slots::One, ANY)).default("0x89").doc("The seed of every random choice."),
        row("randrepeat", Tier::One, Kind::Switch)
            .or("allrandrepeat")
            .default("1")
            .doc("The same seed gives the same ops in every run."),
        row("norandommap", Tier::One, Kind::Flag).doc("Draw random offsets without remembering which blocks are done."),
        row("softrandommap", Tier::Two, Kind::Switch)
            .default("0")
            .doc("Go on without the memory of done blocks where there is no room for it."),
        row("random_sequence_stride", Tier::Three, Kind::Switch)
            .default("0")
            .doc("Go on behind a listed sequence of blocks, rather than begin it anew."),
        row("sprandom", Tier::Three, Kind::Switch)
            .default("0")
            .not_yet("Preconditioning with sprandom is not translated; `plumb run --precondition` is the native way."),
        row("spr_num_regions", Tier::Three, Kind::Whole(Slots::One, ANY))
            .default("100")
            .not_yet("Preconditioning with sprandom is not translated."),
        row("spr_op", Tier::Three, Kind::Floats { most: 1, bounds: None })
            .default("0.15")
            .not_yet("Preconditioning with sprandom is not translated."),
        row("spr_cs", Tier::Three, Kind::Wide(Slots::One, ANY))
            .default("0")
            .not_yet("Preconditioning with sprandom is not translated."),
        row("percentage_sequential", Tier::Gone, Kind::Flag).never("it was superseded by percentage_random."),
        row("rwmixcycle", Tier::Gone, Kind::Flag).never("fio dropped it; a mix is drawn op by op."),
    ],
};
