//! Rate limits, pauses and latency targets.

use super::keywords::{Word, words};
use super::kind::{ANY, Bare, Kind, Slots, at_most};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;
use crate::fio::value::PerDirection;
use plumb_workload::Arrival;
use plumb_workload::Nanos;
use plumb_workload::pace::ThinkBasis;

/// Rate limits, pauses and latency targets.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Pace,
    options: &[
        row("rate", UsageTier::One, Kind::Wide(Slots::Three, ANY))
            .doc("Bandwidth limit in bytes per second, for reads, writes and trims."),
        row("rate_min", UsageTier::Two, Kind::Wide(Slots::Three, ANY))
            .or("ratemin")
            .doc("Minimum bandwidth in bytes per second; the job fails below it."),
        row("rate_iops", UsageTier::One, Kind::Whole(Slots::Three, ANY))
            .doc("IOPS limit, for reads, writes and trims."),
        row("rate_iops_min", UsageTier::Two, Kind::Whole(Slots::Three, ANY))
            .doc("Minimum IOPS; the job fails below it."),
        row("rate_process", UsageTier::Two, Kind::Choice(Arrival::WORDS))
            .default("linear")
            .doc("Arrival process under a rate limit: evenly spaced, or Poisson."),
        row("rate_cycle", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .or("ratecycle")
            .default("1000")
            .doc("Averaging window for minimum rates, in milliseconds."),
        row("rate_ignore_thinktime", UsageTier::Two, Kind::Switch)
            .doc("Do not catch up after a thinktime pause; continue at the set rate."),
        row("thinktime", UsageTier::One, Kind::Time(Slots::One, Bare::Micros))
            .default("0")
            .doc("Length of the pause between blocks of ops."),
        row("thinktime_spin", UsageTier::Two, Kind::Time(Slots::One, Bare::Micros))
            .default("0")
            .doc("Part of the pause spent spinning instead of sleeping."),
        row("thinkcycles", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("CPU cycles to spin before each pause."),
        row("thinktime_blocks", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .default("1")
            .doc("Number of ops between pauses."),
        row("thinktime_blocks_type", UsageTier::Two, Kind::Choice(ThinkBasis::WORDS))
            .default("complete")
            .doc("Count those ops at completion or at issue."),
        row("thinktime_iotime", UsageTier::Two, Kind::Time(Slots::One, Bare::Seconds))
            .default("0")
            .doc("Time between pauses."),
        row("max_latency", UsageTier::Two, Kind::Time(Slots::Three, Bare::Micros))
            .doc("Maximum latency of an op; the job ends when one exceeds it."),
        row("latency_target", UsageTier::Two, Kind::Time(Slots::One, Bare::Micros))
            .doc("Find the highest queue depth that keeps latency below this."),
        row("latency_window", UsageTier::Two, Kind::Time(Slots::One, Bare::Micros))
            .doc("Time spent at each queue depth during that search."),
        row("latency_percentile", UsageTier::Two, Kind::Floats { most: 1, bounds: Some((0.0, 100.0)) })
            .default("100")
            .doc("Percentage of ops that must stay below the latency target."),
        row("latency_run", UsageTier::Two, Kind::Switch)
            .default("0")
            .doc("Keep adjusting the queue depth instead of stopping at the first result."),
        row("flow", UsageTier::Two, Kind::Whole(Slots::One, at_most(1000)))
            .default("0")
            .doc("Weight of this job in its flow-control group."),
        row("flow_id", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("Flow-control group of this job."),
        row("flow_sleep", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("Time that a job that is ahead of its group sleeps before it tries again."),
        row("flow_watermark", UsageTier::Gone, Kind::Flag).ignored("fio removed it; flow control needs no threshold."),
    ],
};

/// Rate limits, pauses and latency targets.
#[derive(Debug, Clone, PartialEq)]
pub struct PaceOptions {
    /// At most this many bytes per second.
    pub rate: PerDirection<Option<u64>>,
    /// Fail below this many bytes per second.
    pub rate_min: PerDirection<Option<u64>>,
    /// At most this many ops per second.
    pub rate_iops: PerDirection<Option<u32>>,
    /// Fail below this many ops per second.
    pub rate_iops_min: PerDirection<Option<u32>>,
    /// How ops of a limited rate come.
    pub rate_process: Arrival,
    /// The window for minimum rates.
    pub rate_cycle_ms: u32,
    /// Do not make up for pauses.
    pub rate_ignore_thinktime: bool,
    /// Length of a pause.
    pub thinktime: Option<Nanos>,
    /// Part of it spent spinning.
    pub thinktime_spin: Option<Nanos>,
    /// CPU cycles to spin before each pause.
    pub thinkcycles: Option<u32>,
    /// Ops between pauses; 0 where only `thinktime_iotime` counts.
    pub thinktime_blocks: u32,
    /// Which ops count.
    pub thinktime_blocks_type: ThinkBasis,
    /// Work between pauses.
    pub thinktime_iotime: Option<Nanos>,
    /// End the job where an op takes longer.
    pub max_latency: PerDirection<Option<Nanos>>,
    /// Find the highest depth that stays below.
    pub latency_target: Option<Nanos>,
    /// How long each depth is tried.
    pub latency_window: Option<Nanos>,
    /// Percentage of ops that must stay below.
    pub latency_percentile: f64,
    /// Keep on adjusting.
    pub latency_run: bool,
    /// Weight in flow control.
    pub flow: Option<u32>,
    /// Which flow control.
    pub flow_id: u32,
    /// Length of a sleep when ahead.
    pub flow_sleep_us: u32,
}

impl PaceOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> PaceOptions {
        PaceOptions {
            rate: values.wides("rate").unwrap_or_default().map(unless_zero),
            rate_min: values.wides("rate_min").unwrap_or_default().map(unless_zero),
            rate_iops: values.counts("rate_iops").map(|rate| rate.filter(|rate| *rate > 0)),
            rate_iops_min: values.counts("rate_iops_min").map(|rate| rate.filter(|rate| *rate > 0)),
            rate_process: Arrival::of(values),
            rate_cycle_ms: values.count("rate_cycle"),
            rate_ignore_thinktime: values.switch("rate_ignore_thinktime"),
            thinktime: values.time_unless_zero("thinktime"),
            thinktime_spin: values.time_unless_zero("thinktime_spin"),
            thinkcycles: values.count_unless_zero("thinkcycles"),
            thinktime_blocks: match values.time_unless_zero("thinktime_iotime") {
                // Where only time is said, the default of one op does not count.
                Some(_) if !values.is_said("thinktime_blocks") => 0,
                _ => values.count("thinktime_blocks").max(1),
            },
            thinktime_blocks_type: ThinkBasis::of(values),
            thinktime_iotime: values.time_unless_zero("thinktime_iotime"),
            max_latency: values.times("max_latency").unwrap_or_default().map(|time| time.filter(|time| time.0 > 0)),
            latency_target: values.time_unless_zero("latency_target"),
            latency_window: values.time_unless_zero("latency_window"),
            latency_percentile: values.floats("latency_percentile").first().copied().unwrap_or(100.0),
            latency_run: values.switch("latency_run"),
            flow: values.count_unless_zero("flow"),
            flow_id: values.count("flow_id"),
            flow_sleep_us: values.count("flow_sleep"),
        }
    }
}

fn unless_zero(value: Option<u64>) -> Option<u64> {
    value.filter(|value| *value > 0)
}

words! {
    for Arrival, "rate_process":
    Fixed = "linear",
    Poisson = "poisson",
}

words! {
    for ThinkBasis, "thinktime_blocks_type":
    Completed = "complete",
    Started = "issue",
}
