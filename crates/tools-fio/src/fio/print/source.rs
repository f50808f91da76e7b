//! Report entries of jobs: names, groups and number formats, from their options.

use super::build::{JobMember, JobSource, KeptLog, Latencies, Windows};
use super::opening::{BlockRange, JobLine, MissingFiles, RunOpening};
use super::report::*;
use crate::fio::job::{FioJob, InputOption};
use crate::fio::options::direction::KindSizes;
use crate::fio::options::stats::{PERCENTILE_LIST, Unified, UnitWord};
use crate::fio::options::stop::ContinueOnError;
use crate::fio::value::choice::{SteadyFigure, SteadyLimit, SteadyTest};
use crate::fio::value::direction::{AccessOrder, Ops};
use crate::fio::{Fio, VERSION};

/// One copy of a job, and its worker group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCopy {
    /// Index in [`Fio::jobs`].
    pub job: usize,
    pub member: JobMember,
}

/// Returns the number of each job's reporting group: `stonewall` and `new_group` begin a new one.
pub fn group_numbers(jobs: &[FioJob]) -> Vec<u32> {
    let mut number = 0;
    let opens = |job: &FioJob| job.identity.stonewall || job.identity.new_group;
    let of = |(place, job): (usize, &FioJob)| {
        number += u32::from(place > 0 && opens(job));
        number
    };
    jobs.iter().enumerate().map(of).collect()
}

/// Whether to apply `group_reporting`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// Copies of a group form one entry if the option is set, and jobs without statistics (`stats=0`) are omitted.
    AsAsked,
    /// Every copy is an entry.
    Apart,
}

/// Returns the entries of a report. Copies come in the order of their jobs.
pub fn sources(fio: &Fio, copies: &[JobCopy], grouping: Grouping) -> Vec<JobSource> {
    let groups = group_numbers(&fio.jobs);
    let mut sources: Vec<JobSource> = Vec::new();
    let asked = grouping == Grouping::AsAsked;
    let reported = |copy: &&JobCopy| fio.jobs.get(copy.job).is_some_and(|job| job.statistics.stats || !asked);
    for copy in copies.iter().filter(reported) {
        let (job, group) = (&fio.jobs[copy.job], groups[copy.job]);
        match sources.last_mut().filter(|last| asked && job.identity.group_reporting && last.job.group == group) {
            Some(last) => {
                last.job.members += 1;
                last.members.push(copy.member.clone());
            }
            None => sources.push(JobSource {
                job: template(job, group),
                members: vec![copy.member.clone()],
                latencies: latencies(job),
                windows: windows(job),
            }),
        }
    }
    sources
}

/// Returns everything known before the run.
pub fn opening_of(fio: &Fio, layouts: Vec<MissingFiles>) -> RunOpening {
    let groups = group_numbers(&fio.jobs);
    let workers = |thread: bool| {
        let copies = fio.jobs.iter().filter(|job| job.identity.thread == thread).map(|job| job.identity.numjobs);
        copies.fold(0, u32::saturating_add)
    };
    RunOpening {
        version: VERSION.to_owned(),
        jobs: fio.jobs.iter().zip(groups).map(|(job, group)| line(job, group)).collect(),
        threads: workers(true),
        processes: workers(false),
        layouts,
        compat: fio.invocation.compat,
    }
}

/// Returns options for printing, by their primary names.
pub fn given(options: &[InputOption]) -> Vec<GivenOption> {
    let one = |given: &InputOption| GivenOption {
        name: given.option.name.to_owned(),
        value: given.text.clone().unwrap_or_default(),
    };
    let mut given: Vec<GivenOption> = Vec::new();
    for option in options.iter().map(one) {
        // Of repeated names, the last one counts.
        given.retain(|before| before.name != option.name);
        given.push(option);
    }
    given
}

fn template(job: &FioJob, group: u32) -> JobReport {
    let io = match job.statistics.unified {
        Unified::None => Io::default(),
        Unified::Mixed => Io::Mixed(Box::default()),
        Unified::Both => Io::Both(Split::default(), Box::default()),
    };
    let ignored = &job.stop.ignore_error;
    let ignores = [&ignored.read, &ignored.write, &ignored.verify].iter().any(|errors| !errors.is_empty());
    let passes_over = job.stop.continue_on_error != ContinueOnError::None || ignores;
    JobReport {
        name: job.name.clone(),
        description: job.identity.description.clone(),
        group,
        members: 1,
        does_no_io: activity(job).is_some(),
        options: given(&job.section.options),
        display: display(job),
        io,
        failures: JobFailures {
            error: None,
            continued: passes_over.then(|| ContinuedErrors {
                total: 0,
                first_code: 0,
                first_text: "Success".to_owned(),
            }),
        },
        latency_target: Some(LatencyTarget {
            depth: job.queue.iodepth,
            target_ns: job.pace.latency.target.map_or(0, |target| target.0),
            window_us: job.pace.latency.window.map_or(0, |window| window.0 / 1000),
            percentile: job.pace.latency.percentile,
        }),
        steady: steady(job),
        ..JobReport::default()
    }
}

/// Returns the windows of `bwavgtime` and `iopsavgtime`.
fn windows(job: &FioJob) -> Windows {
    let ns = |ms: u32| u64::from(ms.max(1)) * 1_000_000;
    Windows { bandwidth_ns: ns(job.statistics.bw_avg_ms), iops_ns: ns(job.statistics.iops_avg_ms) }
}

fn latencies(job: &FioJob) -> Latencies {
    let kept = |measured: bool| if measured { KeptLog::Yes } else { KeptLog::No };
    let statistics = &job.statistics;
    Latencies {
        slat: kept(statistics.measures_slat()),
        clat: kept(statistics.measures_clat()),
        lat: kept(statistics.measures_lat()),
        samples: kept(statistics.measures_bw()),
    }
}

fn display(job: &FioJob) -> Display {
    let statistics = &job.statistics;
    let decimals = |text: &str| text.trim().split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let list = job.given_options().rfind(|given| PERCENTILE_LIST.is(given.option));
    let precision = list.and_then(|given| given.text.as_ref()).map(|text| {
        let longest = text.split([':', ',']).map(decimals).max().unwrap_or(0);
        u8::try_from(longest).unwrap_or(u8::MAX)
    });
    let defaults = Display::default();
    Display {
        significant_figures: u8::try_from(statistics.significant_figures).unwrap_or(defaults.significant_figures),
        kb_base: if statistics.kb_base == 1000 { KbBase::Decimal } else { KbBase::Binary },
        unit_base: if statistics.unit_base == UnitWord::Bits { UnitBase::Bits } else { UnitBase::Bytes },
        percentiles: if statistics.percentiles.is_empty() {
            defaults.percentiles
        } else {
            statistics.percentiles.clone()
        },
        percentile_precision: precision.unwrap_or(defaults.percentile_precision),
        percentiles_of: PercentilesOf {
            slat: statistics.slat_percentiles,
            clat: statistics.clat_percentiles,
            lat: statistics.lat_percentiles,
        },
    }
}

fn steady(job: &FioJob) -> Option<SteadyReport> {
    let stop = &job.stop.steady;
    let (criterion, duration) = stop.judged()?;
    let (limit, scale) = match criterion.limit {
        SteadyLimit::Percent(limit) => (limit, SteadyScale::Percent),
        SteadyLimit::Iops(limit) => (limit, SteadyScale::Absolute),
        SteadyLimit::BytesPerSecond(limit) => (limit as f64, SteadyScale::Absolute),
        SteadyLimit::Time(limit) => (limit.0 as f64, SteadyScale::Absolute),
    };
    Some(SteadyReport {
        of: match criterion.figure {
            SteadyFigure::Iops => SteadyOf::Iops,
            SteadyFigure::Bandwidth => SteadyOf::Bandwidth,
            SteadyFigure::Latency => SteadyOf::Latency,
        },
        by: match criterion.test {
            SteadyTest::Deviation => SteadyBy::MeanDeviation,
            SteadyTest::Slope => SteadyBy::Slope,
        },
        limit,
        scale,
        duration_s: duration.0 / 1_000_000_000,
        intervals: intervals(duration.0, stop.check_interval.0),
        attained: false,
        criterion: 0.0,
        max_deviation: 0.0,
        slope: 0.0,
        bytes_per_second: Vec::new(),
        iops: Vec::new(),
        latency_ns: Vec::new(),
    })
}

/// Returns the number of intervals in a duration, limited to what can be printed.
fn intervals(duration_ns: u64, interval_ns: u64) -> usize {
    const MOST: u64 = 1 << 16;
    (duration_ns / interval_ns.max(1)).min(MOST) as usize
}

fn line(job: &FioJob, group: u32) -> JobLine {
    let range = |sizes: &KindSizes| {
        let (min_bytes, max_bytes) = match sizes {
            KindSizes::Fixed(bytes) => (*bytes, *bytes),
            KindSizes::Range(range) => (range.low, range.high),
            KindSizes::Split(shares) => {
                let bytes = || shares.iter().map(|share| share.bytes);
                (bytes().min().unwrap_or(0), bytes().max().unwrap_or(0))
            }
        };
        BlockRange { min_bytes, max_bytes }
    };
    let sizes = job.direction.sizes();
    JobLine {
        name: job.name.clone(),
        group,
        rw: rw(job.direction.rw.ops, job.direction.rw.order).to_owned(),
        blocks: [range(&sizes.read), range(&sizes.write), range(&sizes.trim)],
        blocks_are_seq_rand: job.direction.blocks.bs_is_seq_rand,
        engine: job.queue.ioengine.clone(),
        depth: job.queue.iodepth,
        copies: job.identity.numjobs,
        display: display(job),
        activity: activity(job),
    }
}

/// Returns the activity of a cpuio or exec job in fio's format.
fn activity(job: &FioJob) -> Option<String> {
    match job.queue.ioengine.as_str() {
        "cpuio" => {
            let cpu = &job.engine.cpuio;
            let load = cpu.load_percent.unwrap_or(0);
            Some(format!("ioengine=cpuio, cpuload={load}, cpucycle={}", cpu.chunks_us))
        }
        "exec" => {
            let exec = &job.engine.exec;
            let text = |value: &Option<String>| value.clone().unwrap_or_default();
            Some(format!("ioengine=exec, program={}, arguments={}", text(&exec.program), text(&exec.arguments)))
        }
        _ => None,
    }
}

/// Returns the name that fio prints for `rw`.
fn rw(ops: Ops, order: AccessOrder) -> &'static str {
    match (ops, order) {
        (Ops::Read, AccessOrder::Sequential { .. }) => "read",
        (Ops::Write, AccessOrder::Sequential { .. }) => "write",
        (Ops::Trim, AccessOrder::Sequential { .. }) => "trim",
        (Ops::ReadWrite, AccessOrder::Sequential { .. }) => "rw",
        (Ops::TrimWrite, AccessOrder::Sequential { .. }) => "trimwrite",
        (Ops::Read, AccessOrder::Random { .. }) => "randread",
        (Ops::Write, AccessOrder::Random { .. }) => "randwrite",
        (Ops::Trim, AccessOrder::Random { .. }) => "randtrim",
        (Ops::ReadWrite, AccessOrder::Random { .. }) => "randrw",
        (Ops::TrimWrite, AccessOrder::Random { .. }) => "randtrimwrite",
    }
}
