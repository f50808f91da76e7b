//! How fast: rates, pauses and latency goals.

use super::kind::{ANY, Bare, Kind, Slots, at_most};
use super::{Category, Shelf, Tier, row};

/// How fast: rates, pauses and latency goals.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Pace,
    options: &[
        row("rate", Tier::One, Kind::Wide(Slots::Three, ANY))
            .doc("At most so many bytes per second, for reads, writes and trims."),
        row("rate_min", Tier::Two, Kind::Wide(Slots::Three, ANY))
            .or("ratemin")
            .doc("Fail the job where it falls below so many bytes per second."),
        row("rate_iops", Tier::One, Kind::Whole(Slots::Three, ANY))
            .doc("At most so many ops per second, for reads, writes and trims."),
        row("rate_iops_min", Tier::Two, Kind::Whole(Slots::Three, ANY))
            .doc("Fail the job where it falls below so many ops per second."),
        row("rate_process", Tier::Two, Kind::Choice(&["linear", "poisson"]))
            .default("linear")
            .doc("Ops of a limited rate come evenly, or at random (Poisson)."),
        row("rate_cycle", Tier::Two, Kind::Whole(Slots::One, ANY))
            .or("ratecycle")
            .default("1000")
            .doc("The window, in milliseconds, over which minimum rates are judged."),
        row("rate_ignore_thinktime", Tier::Two, Kind::Switch)
            .doc("Go on at the rate behind a pause, and do not make up for it."),
        row("thinktime", Tier::One, Kind::Time(Slots::One, Bare::Micros))
            .default("0")
            .doc("Pause so long between blocks of ops."),
        row("thinktime_spin", Tier::Two, Kind::Time(Slots::One, Bare::Micros))
            .default("0")
            .doc("Spend so much of the pause busy instead of asleep."),
        row("thinkcycles", Tier::Two, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("Spin for so many cycles before each pause."),
        row("thinktime_blocks", Tier::Two, Kind::Whole(Slots::One, ANY)).default("1").doc("Ops between two pauses."),
        row("thinktime_blocks_type", Tier::Two, Kind::Choice(&["complete", "issue"]))
            .default("complete")
            .doc("Count those ops when they complete, or when they are issued."),
        row("thinktime_iotime", Tier::Two, Kind::Time(Slots::One, Bare::Seconds))
            .default("0")
            .doc("Time of work between two pauses."),
        row("max_latency", Tier::Two, Kind::Time(Slots::Three, Bare::Micros))
            .doc("End the job where an op takes longer than this."),
        row("latency_target", Tier::Two, Kind::Time(Slots::One, Bare::Micros))
            .doc("Find the highest depth that keeps latency below this."),
        row("latency_window", Tier::Two, Kind::Time(Slots::One, Bare::Micros))
            .doc("How long each depth is tried for that."),
        row("latency_percentile", Tier::Two, Kind::Floats { most: 1, bounds: Some((0.0, 100.0)) })
            .default("100")
            .doc("The share of ops that must stay below the target."),
        row("latency_run", Tier::Two, Kind::Switch)
            .default("0")
            .doc("Keep on adjusting the depth instead of stopping at the first answer."),
        row("flow", Tier::Two, Kind::Whole(Slots::One, at_most(1000)))
            .default("0")
            .doc("Weight of this job in shared flow control."),
        row("flow_id", Tier::Two, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("Jobs with the same number control one another's flow."),
        row("flow_sleep", Tier::Two, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("How long a job that is ahead sleeps before it looks again."),
        row("flow_watermark", Tier::Gone, Kind::Flag).ignored("Dropped by fio; flow control needs no threshold."),
    ],
};
