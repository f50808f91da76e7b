//! How ops are handed over and how many are in flight.

use super::keywords::{Word, words};
use super::kind::{ANY, Kind, Slots, at_least};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;

/// How ops are handed over and how many are in flight.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Queue,
    options: &[
        row("ioengine", UsageTier::One, Kind::Text).default("psync").doc("How ops reach the kernel."),
        row("iodepth", UsageTier::One, Kind::Whole(Slots::One, at_least(1))).default("1").doc("Ops in flight."),
        row("iodepth_batch", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .or("iodepth_batch_submit")
            .default("1")
            .doc("Submit this many ops at once."),
        row("iodepth_batch_complete_min", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .or("iodepth_batch_complete")
            .default("1")
            .doc("Wait for at least this many completions at once."),
        row("iodepth_batch_complete_max", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .doc("Take at most this many completions at once."),
        row("iodepth_low", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .doc("Once the queue is full, let it drain to this depth before filling it again."),
        row("io_submit_mode", UsageTier::Two, Kind::Choice(SubmitMode::WORDS))
            .default("inline")
            .doc("Hand ops over from the worker itself, or from threads of their own."),
        row("direct", UsageTier::One, Kind::Switch).default("0").doc("Bypass the page cache (O_DIRECT)."),
        row("buffered", UsageTier::One, Kind::Switch).default("1").doc("Use the page cache; the opposite of direct."),
        row("ioscheduler", UsageTier::Three, Kind::Text)
            .never("it changes the scheduler of the device for everybody on the machine; set it beforehand."),
    ],
};

/// How ops are handed over and how many are in flight.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueOptions {
    /// The engine, by fio's name.
    pub ioengine: String,
    /// Ops in flight, for engines that can.
    pub iodepth: u32,
    /// Ops handed over at once; as many as there is room for at 0.
    pub batch_submit: u32,
    /// Completions waited for at once; at 0 none are waited for.
    pub batch_complete_min: u32,
    /// Completions taken at once; as many as are waited for where absent.
    pub batch_complete_max: Option<u32>,
    /// A full queue drains to this depth before it is filled again.
    pub low: Option<u32>,
    /// Who hands ops over.
    pub submit_mode: SubmitMode,
    /// O_DIRECT; from `direct` or `buffered`, whichever came last.
    pub direct: bool,
}

impl QueueOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> QueueOptions {
        QueueOptions {
            ioengine: values.text("ioengine").unwrap_or_default(),
            iodepth: values.count("iodepth"),
            batch_submit: values.count("iodepth_batch"),
            batch_complete_min: values.count("iodepth_batch_complete_min"),
            batch_complete_max: values.count_unless_zero("iodepth_batch_complete_max"),
            low: values.count_unless_zero("iodepth_low"),
            submit_mode: SubmitMode::of(values),
            direct: values.switch("direct"),
        }
    }
}

words! {
    /// Who hands ops over.
    SubmitMode, "io_submit_mode":
    /// The worker itself.
    Inline = "inline",
    /// Threads of their own.
    Offload = "offload",
}
