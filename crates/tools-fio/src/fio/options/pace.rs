//! Rate limits, pauses and latency targets.

use super::keywords::words;
use super::row::{Row, options, row};
use super::spec::UsageTier::{Gone, One, Two};
use crate::fio::value::kind::{ANY, Bare, at_most};
use crate::fio::value::syntax::{Count, FLAG, Floats, SWITCH, Time, Wide, Word, choice};
use crate::fio::value::{EachUnlessZero, Map, PerDirection, UnlessZero};
use plumb_workload::pace::ThinkBasis;
use plumb_workload::{Arrival, Nanos};

// Rows that other modules use.
pub(in crate::fio) const THINKTIME_BLOCKS: Row<Map<Count, u32>> =
    row("thinktime_blocks", Two, Map(Count(ANY), |ops| ops.max(1))).default("1");

/// Rate limits, pauses and latency targets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PaceOptions {
    /// Limits and floors of rates.
    pub rate: RateOptions,
    /// Pauses between ops.
    pub think: ThinkOptions,
    /// Limits of latency.
    pub latency: LatencyOptions,
    /// Flow control between jobs.
    pub flow: FlowOptions,
}

options! {
    /// Limits and floors of rates.
    pub struct RateOptions {
        /// Bandwidth limit in bytes per second, for reads, writes and trims.
        limit: PerDirection<Option<u64>> = row("rate", One, EachUnlessZero(Wide(ANY)));
        /// Minimum bandwidth in bytes per second; the job fails below it.
        floor: PerDirection<Option<u64>> = row("rate_min", Two, EachUnlessZero(Wide(ANY))).or("ratemin");
        /// IOPS limit, for reads, writes and trims.
        iops: PerDirection<Option<u32>> = row("rate_iops", One, EachUnlessZero(Count(ANY)));
        /// Minimum IOPS; the job fails below it.
        iops_floor: PerDirection<Option<u32>> = row("rate_iops_min", Two, EachUnlessZero(Count(ANY)));
        /// Arrival process under a rate limit: evenly spaced, or Poisson.
        process: Arrival = row("rate_process", Two, choice::<Arrival>()).default("linear");
        /// Averaging window for minimum rates, in milliseconds.
        cycle_ms: u32 = row("rate_cycle", Two, Count(ANY)).or("ratecycle").default("1000");
        /// Do not catch up after a thinktime pause; continue at the set rate.
        ignore_thinktime: bool = row("rate_ignore_thinktime", Two, SWITCH);
    }
}

options! {
    /// Pauses between ops.
    pub struct ThinkOptions {
        /// Length of the pause between blocks of ops.
        pause: Option<Nanos> = row("thinktime", One, UnlessZero(Time(Bare::Micros))).default("0");
        /// Part of the pause spent spinning instead of sleeping.
        spin: Option<Nanos> = row("thinktime_spin", Two, UnlessZero(Time(Bare::Micros))).default("0");
        /// CPU cycles to spin before each pause.
        cycles: Option<u32> = row("thinkcycles", Two, UnlessZero(Count(ANY))).default("0");
        /// Number of ops between pauses.
        blocks: u32 = THINKTIME_BLOCKS;
        /// Count those ops at completion or at issue.
        blocks_type: ThinkBasis = row("thinktime_blocks_type", Two, choice::<ThinkBasis>()).default("complete");
        /// Time between pauses.
        io_time: Option<Nanos> = row("thinktime_iotime", Two, UnlessZero(Time(Bare::Seconds))).default("0");
    }
}

/// One percentile.
const PERCENTILE: Floats = Floats { most: 1, bounds: Some((0.0, 100.0)) };

options! {
    /// Limits of latency, and the search for the queue depth that keeps one.
    pub struct LatencyOptions {
        /// Maximum latency of an op; the job ends when one exceeds it.
        longest: PerDirection<Option<Nanos>> = row("max_latency", Two, EachUnlessZero(Time(Bare::Micros)));
        /// Find the highest queue depth that keeps latency below this.
        target: Option<Nanos> = row("latency_target", Two, UnlessZero(Time(Bare::Micros)));
        /// Time spent at each queue depth during that search.
        window: Option<Nanos> = row("latency_window", Two, UnlessZero(Time(Bare::Micros)));
        /// Percentage of ops that must stay below the latency target.
        percentile: f64 = row("latency_percentile", Two, Map(PERCENTILE, |percents| percents.first().copied().unwrap_or(100.0)))
            .default("100");
        /// Keep adjusting the queue depth instead of stopping at the first result.
        keep_on: bool = row("latency_run", Two, SWITCH).default("0");
    }
}

options! {
    /// Flow control between jobs.
    pub struct FlowOptions {
        /// Weight of this job in its flow-control group.
        weight: Option<u32> = row("flow", Two, UnlessZero(Count(at_most(1000)))).default("0");
        /// Flow-control group of this job.
        group: u32 = row("flow_id", Two, Count(ANY)).default("0");
        /// Time that a job that is ahead of its group sleeps before it tries again.
        sleep_us: u32 = row("flow_sleep", Two, Count(ANY)).default("0");
        _ = row("flow_watermark", Gone, FLAG).ignored("fio removed it; flow control needs no threshold.");
    }
}

words! {
    for Arrival:
    Fixed = "linear",
    Poisson = "poisson",
}

words! {
    for ThinkBasis:
    Completed = "complete",
    Started = "issue",
}

#[cfg(test)]
mod tests {
    use super::super::Category;
    use super::super::tests::{assert_each_sets, each};
    use super::*;

    // Protects: each option sets its own field to the value of its text.
    #[test]
    fn each_option_sets_its_field() {
        assert_each_sets(
            Category::Pace,
            &[
                ("rate=1m,0,512", |job| job.pace.rate.limit == each(Some(1 << 20), None, Some(512))),
                ("rate_min=1m,,512", |job| job.pace.rate.floor == each(Some(1 << 20), None, Some(512))),
                ("rate_iops=100,,300", |job| job.pace.rate.iops == each(Some(100), None, Some(300))),
                ("rate_iops_min=100,,300", |job| job.pace.rate.iops_floor == each(Some(100), None, Some(300))),
                ("rate_process=poisson", |job| job.pace.rate.process == Arrival::Poisson),
                ("rate_cycle=7", |job| job.pace.rate.cycle_ms == 7),
                ("rate_ignore_thinktime=1", |job| job.pace.rate.ignore_thinktime),
                ("thinktime=3s", |job| job.pace.think.pause == Some(Nanos(3_000_000_000))),
                ("thinktime_spin=3s", |job| job.pace.think.spin == Some(Nanos(3_000_000_000))),
                ("thinkcycles=7", |job| job.pace.think.cycles == Some(7)),
                ("thinktime_blocks=7", |job| job.pace.think.blocks == 7),
                ("thinktime_blocks_type=issue", |job| job.pace.think.blocks_type == ThinkBasis::Started),
                ("thinktime_iotime=3s", |job| job.pace.think.io_time == Some(Nanos(3_000_000_000))),
                ("max_latency=2ms,,3", |job| {
                    job.pace.latency.longest == each(Some(Nanos(2_000_000)), None, Some(Nanos(3_000)))
                }),
                ("latency_target=3s", |job| job.pace.latency.target == Some(Nanos(3_000_000_000))),
                ("latency_window=3s", |job| job.pace.latency.window == Some(Nanos(3_000_000_000))),
                ("latency_percentile=99.5", |job| job.pace.latency.percentile == 99.5),
                ("latency_run=1", |job| job.pace.latency.keep_on),
                ("flow=7", |job| job.pace.flow.weight == Some(7)),
                ("flow_id=7", |job| job.pace.flow.group == 7),
                ("flow_sleep=7", |job| job.pace.flow.sleep_us == 7),
            ],
        );
    }
}
