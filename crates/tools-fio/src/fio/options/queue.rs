//! How ops are submitted and how many are in flight.

use super::keywords::{Word, words};
use super::kind::{ANY, Kind, Slots, at_least};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;

/// How ops are submitted and how many are in flight.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Queue,
    options: &[
        row("ioengine", UsageTier::One, Kind::Text).default("psync").doc("I/O engine (see Engines)."),
        row("iodepth", UsageTier::One, Kind::Whole(Slots::One, at_least(1)))
            .default("1")
            .doc("Queue depth: ops in flight."),
        row("iodepth_batch", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .or("iodepth_batch_submit")
            .default("1")
            .doc("Number of ops to submit at once."),
        row("iodepth_batch_complete_min", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .or("iodepth_batch_complete")
            .default("1")
            .doc("Minimum number of completions to wait for at once."),
        row("iodepth_batch_complete_max", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .doc("Maximum number of completions to reap at once; the minimum by default."),
        row("iodepth_low", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .doc("Queue depth to which a full queue drains before it is refilled."),
        row("io_submit_mode", UsageTier::Two, Kind::Choice(SubmitMode::WORDS))
            .default("inline")
            .doc("Who submits ops. They are always submitted by the worker itself; offload warns."),
        row("direct", UsageTier::One, Kind::Switch).default("0").doc("Bypass the page cache (O_DIRECT)."),
        row("buffered", UsageTier::One, Kind::Switch).default("1").doc("Use the page cache; the opposite of direct."),
        row("ioscheduler", UsageTier::Three, Kind::Text)
            .doc("I/O scheduler of the disks under the files while all jobs run; put back at the end."),
    ],
};

/// How ops are submitted and how many are in flight.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueOptions {
    /// The engine, by fio's name.
    pub ioengine: String,
    /// Ops in flight, for engines that can.
    pub iodepth: u32,
    /// Ops submitted at once; 0 for as many as fit.
    pub batch_submit: u32,
    /// Completions waited for at once; at 0 none are waited for.
    pub batch_complete_min: u32,
    /// Completions reaped at once; the minimum if absent.
    pub batch_complete_max: Option<u32>,
    /// A full queue drains to this depth before it is filled again.
    pub low: Option<u32>,
    /// Who hands ops over.
    pub submit_mode: SubmitMode,
    /// O_DIRECT; from `direct` or `buffered`, whichever came last.
    pub direct: bool,
    /// The I/O scheduler of its disks.
    pub scheduler: Option<String>,
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
            scheduler: values.text("ioscheduler"),
        }
    }
}

words! {
    /// Who hands ops over.
    SubmitMode, "io_submit_mode":
    /// The worker itself.
    Inline = "inline",
    /// Separate threads.
    Offload = "offload",
}
