//! How ops are handed over and how many are in flight.

use super::kind::{ANY, Kind, Slots, at_least};
use super::{Category, Shelf, Tier, row};

/// How ops are handed over and how many are in flight.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Queue,
    options: &[
        row("ioengine", Tier::One, Kind::Text).default("psync").doc("How ops reach the kernel."),
        row("iodepth", Tier::One, Kind::Whole(Slots::One, at_least(1))).default("1").doc("Ops in flight."),
        row("iodepth_batch", Tier::Two, Kind::Whole(Slots::One, ANY))
            .or("iodepth_batch_submit")
            .default("1")
            .doc("Hand over so many ops at once."),
        row("iodepth_batch_complete_min", Tier::Two, Kind::Whole(Slots::One, ANY))
            .or("iodepth_batch_complete")
            .default("1")
            .doc("Wait for at least so many completions at once."),
        row("iodepth_batch_complete_max", Tier::Two, Kind::Whole(Slots::One, ANY))
            .doc("Take at most so many completions at once."),
        row("iodepth_low", Tier::Two, Kind::Whole(Slots::One, ANY))
            .doc("Once the queue is full, let it drain to this depth before filling it again."),
        row("io_submit_mode", Tier::Two, Kind::Choice(&["inline", "offload"]))
            .default("inline")
            .doc("Hand ops over from the worker itself, or from threads of their own."),
        row("direct", Tier::One, Kind::Switch).default("0").doc("Bypass the page cache (O_DIRECT)."),
        row("buffered", Tier::One, Kind::Switch).default("1").doc("Use the page cache; the opposite of direct."),
        row("ioscheduler", Tier::Three, Kind::Text)
            .never("it changes the scheduler of the device for everybody on the machine; set it beforehand."),
    ],
};
