//! Start delay, rates and steady state of a job.

use super::clone::JobClone;
use super::error::JobFault;
use super::facts::by_kind;
use super::random::{Draws, StreamOf};
use crate::fio::options::pace::{PaceOptions, THINKTIME_BLOCKS};
use crate::fio::value::PerDirection;
use crate::fio::value::choice::{SteadyFigure as Figure, SteadyLimit, SteadyTest};
use plumb_workload::pace::{LatencyGoal, MinimumRate, SteadyFigure, SteadyJudged, SteadyRule, ThinkTime, WeightedFlow};
use plumb_workload::{Nanos, Pace, PerSecond};

const MICRO: u64 = 1_000;
const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// Returns the delay before the start. A range is drawn in whole microseconds.
pub(super) fn start_delay(copy: &JobClone<'_>) -> Nanos {
    let delay = copy.job.identity.start_delay;
    if delay.high.0 <= delay.low.0 {
        return delay.low;
    }
    let mut draws = Draws::new(copy.seed, copy.thread_number, StreamOf::StartDelay, copy.width());
    Nanos(draws.between(delay.low.0 / MICRO, delay.high.0 / MICRO).saturating_mul(MICRO))
}

/// Returns rates, pauses and latency targets.
pub(super) fn pace(copy: &mut JobClone<'_>) -> Pace {
    contradictions(copy);
    let PaceOptions { rate, think, latency, flow } = &*copy.job.pace;
    let bytes = |rate: PerDirection<Option<u64>>| by_kind(rate.map(|rate| rate.map(|rate| PerSecond(rate as f64))));
    let ops = |rate: PerDirection<Option<u32>>| by_kind(rate.map(|rate| rate.map(|rate| PerSecond(rate.into()))));
    let any = |rate: &plumb_workload::blocks::ByKind<Option<PerSecond>>| {
        rate.read.is_some() || rate.write.is_some() || rate.trim.is_some()
    };
    let minimum = MinimumRate {
        bytes_per_second: bytes(rate.floor),
        ops_per_second: ops(rate.iops_floor),
        window: Nanos(u64::from(rate.cycle_ms) * MILLI),
    };
    let pace = Pace {
        open: None,
        bytes_per_second: bytes(rate.limit),
        ops_per_second: ops(rate.iops),
        reads_count_as_writes: false,
        arrival: rate.process,
        minimum: (any(&minimum.bytes_per_second) || any(&minimum.ops_per_second)).then_some(minimum),
        catch_up_thinking: think.pause.is_some() && !rate.ignore_thinktime,
        think: think.pause.map(|pause| ThinkTime {
            pause,
            at_once: false,
            busy: think.spin.unwrap_or_default().min(pause),
            busy_cycles: think.cycles.unwrap_or(0),
            // If only a time is given, the default of one op does not apply.
            every: if think.io_time.is_some() && !copy.is_given(&THINKTIME_BLOCKS) { 0 } else { think.blocks.into() },
            counts: think.blocks_type,
            work: think.io_time,
        }),
        longest_op: by_kind(latency.longest),
        latency_goal: latency.target.map(|target| LatencyGoal {
            latency: target,
            // By default fio checks after every op.
            window: latency.window.unwrap_or_default(),
            percent: latency.percentile,
            keep_on: latency.keep_on,
        }),
        consumer: None,
        flow: flow.weight.map(|weight| WeightedFlow {
            flow: flow.group,
            weight,
            sleep: Nanos(u64::from(flow.sleep_us) * MICRO),
        }),
    };
    if copy.is_poisson() && !any(&pace.bytes_per_second) && !any(&pace.ops_per_second) {
        copy.warnings.push("rate_process=poisson has no effect without `rate` or `rate_iops`".to_owned());
    }
    pace
}

fn contradictions(copy: &mut JobClone<'_>) {
    let rate = &copy.job.pace.rate;
    let any_bytes =
        |rate: PerDirection<Option<u64>>| rate.read.is_some() || rate.write.is_some() || rate.trim.is_some();
    let any_ops = |rate: PerDirection<Option<u32>>| rate.read.is_some() || rate.write.is_some() || rate.trim.is_some();
    let why = "a job has one kind of rate limit; remove one";
    let mut faults = Vec::new();
    if any_bytes(rate.limit) && any_ops(rate.iops) {
        faults.push(JobFault::Contradiction { first: "rate", second: "rate_iops", why });
    }
    if any_bytes(rate.floor) && any_ops(rate.iops_floor) {
        faults.push(JobFault::Contradiction { first: "rate_min", second: "rate_iops_min", why });
    }
    let above =
        |rate: Option<u64>, least: Option<u64>| matches!((rate, least), (Some(rate), Some(least)) if rate < least);
    let why = "the minimum rate exceeds the rate limit; swap them";
    let wide = |rate: Option<u32>| rate.map(u64::from);
    if above(rate.limit.read, rate.floor.read)
        || above(rate.limit.write, rate.floor.write)
        || above(rate.limit.trim, rate.floor.trim)
    {
        faults.push(JobFault::Contradiction { first: "rate_min", second: "rate", why });
    }
    if above(wide(rate.iops.read), wide(rate.iops_floor.read))
        || above(wide(rate.iops.write), wide(rate.iops_floor.write))
        || above(wide(rate.iops.trim), wide(rate.iops_floor.trim))
    {
        faults.push(JobFault::Contradiction { first: "rate_iops_min", second: "rate_iops", why });
    }
    copy.faults.extend(faults);
}

/// Returns the steady-state rule, which also ends the job.
pub(super) fn steady(copy: &mut JobClone<'_>) -> Option<SteadyRule> {
    let options = &copy.job.stop.steady;
    let (criterion, duration) = options.judged()?;
    let (limit, limit_is_percent) = match criterion.limit {
        SteadyLimit::Percent(percent) => (percent, true),
        SteadyLimit::Iops(ops) => (ops, false),
        SteadyLimit::BytesPerSecond(bytes) => (bytes as f64, false),
        SteadyLimit::Time(time) => (time.0 as f64, false),
    };
    if options.check_interval.0 < SECOND {
        let why = "the check runs at most once a second";
        copy.refuse(JobFault::Contradiction { first: "steadystate_check_interval", second: "a time below 1 s", why });
    } else if duration.0 <= options.check_interval.0 || duration.0 % options.check_interval.0 != 0 {
        let why = "the window must be a multiple of the interval and longer than it";
        copy.refuse(JobFault::Contradiction {
            first: "steadystate_duration",
            second: "steadystate_check_interval",
            why,
        });
    }
    Some(SteadyRule {
        figure: match criterion.figure {
            Figure::Iops => SteadyFigure::Ops,
            Figure::Bandwidth => SteadyFigure::Bytes,
            Figure::Latency => SteadyFigure::Latency,
        },
        judged: match criterion.test {
            SteadyTest::Deviation => SteadyJudged::Deviation,
            SteadyTest::Slope => SteadyJudged::Slope,
        },
        limit,
        limit_is_percent,
        window: duration,
        check_every: options.check_interval,
        ramp: options.ramp_time,
        together: Vec::new(),
    })
}
