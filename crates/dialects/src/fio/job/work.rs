//! What is done, how it is handed over, how fast, and until when.

use super::keywords::{ContinueOnError, ExitWhat, Generator, RateProcess, Sequencer, SubmitMode, ThinkCount, Word};
use super::values::Values;
use super::work_parts::{DEFAULT_BLOCK_BYTES, SteadyStop, read_percent, steady, unless_zero};
use crate::fio::value::choice::ErrorsIgnored;
use crate::fio::value::direction::Direction;
use crate::fio::value::distribution::Distribution;
use crate::fio::value::split::Share;
use crate::fio::value::{Between, PerDirection, Region};
use plumb_workload::Nanos;

/// What is done: reads, writes and trims, where, and in which sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// Which ops, and whether at random.
    pub rw: Direction,
    /// What the number after `rw` means.
    pub sequencer: Sequencer,
    /// Per cent of ops that read, where reads and writes mix; from `rwmixread` or `rwmixwrite`, whichever came last.
    pub read_percent: u8,
    /// How much of the files is covered by the job; all of them where absent.
    pub size: Option<Region>,
    /// How much is transferred; the size where absent.
    pub io_size: Option<Region>,
    /// Bytes transferred before measuring begins.
    pub ramp_size: Option<u64>,
    /// Where in the file it begins.
    pub offset: Region,
    /// Round a relative offset to a multiple of this.
    pub offset_align: Option<u32>,
    /// Each further copy begins so much later.
    pub offset_increment: Region,
    /// Stop after so many ops.
    pub number_ios: Option<u64>,
    /// Bytes of an op, unless drawn from a range or a split; see [`Work::sizes`].
    pub bs: PerDirection<u64>,
    /// Random offsets are multiples of this; the block size where absent.
    pub ba: PerDirection<Option<u64>>,
    /// Bytes of an op, drawn from a range.
    pub bs_range: PerDirection<Option<Between<u64>>>,
    /// Bytes of an op, drawn from a list; empty where there is none.
    pub bs_split: PerDirection<Vec<Share>>,
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
    pub distribution: Distribution,
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

impl Work {
    pub(super) fn of(values: &Values) -> Work {
        Work {
            rw: values.direction("rw").expect("it has a default"),
            sequencer: Sequencer::of(values),
            read_percent: read_percent(values),
            size: values.region("size"),
            io_size: values.region("io_size"),
            ramp_size: values.wide("ramp_size"),
            offset: values.region("offset").unwrap_or(Region::Bytes(0)),
            offset_align: values.count_unless_zero("offset_align"),
            offset_increment: values.region("offset_increment").unwrap_or(Region::Bytes(0)),
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
            distribution: values.distribution("random_distribution").unwrap_or(Distribution::Uniform),
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

/// How ops are handed over and how many are in flight.
#[derive(Debug, Clone, PartialEq)]
pub struct Queue {
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

impl Queue {
    pub(super) fn of(values: &Values) -> Queue {
        Queue {
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

/// How fast: rates, pauses and latency goals.
#[derive(Debug, Clone, PartialEq)]
pub struct Pace {
    /// At most so many bytes per second.
    pub rate: PerDirection<Option<u64>>,
    /// Fail below so many bytes per second.
    pub rate_min: PerDirection<Option<u64>>,
    /// At most so many ops per second.
    pub rate_iops: PerDirection<Option<u32>>,
    /// Fail below so many ops per second.
    pub rate_iops_min: PerDirection<Option<u32>>,
    /// How ops of a limited rate come.
    pub rate_process: RateProcess,
    /// The window for minimum rates.
    pub rate_cycle_ms: u32,
    /// Do not make up for pauses.
    pub rate_ignore_thinktime: bool,
    /// Pause so long.
    pub thinktime: Option<Nanos>,
    /// So much of it busy.
    pub thinktime_spin: Option<Nanos>,
    /// Spin for so many cycles before each pause.
    pub thinkcycles: Option<u32>,
    /// Ops between pauses; 0 where only `thinktime_iotime` counts.
    pub thinktime_blocks: u32,
    /// Which ops count.
    pub thinktime_blocks_type: ThinkCount,
    /// Work between pauses.
    pub thinktime_iotime: Option<Nanos>,
    /// End the job where an op takes longer.
    pub max_latency: PerDirection<Option<Nanos>>,
    /// Find the highest depth that stays below.
    pub latency_target: Option<Nanos>,
    /// How long each depth is tried.
    pub latency_window: Option<Nanos>,
    /// Per cent of ops that must stay below.
    pub latency_percentile: f64,
    /// Keep on adjusting.
    pub latency_run: bool,
    /// Weight in flow control.
    pub flow: Option<u32>,
    /// Which flow control.
    pub flow_id: u32,
    /// Sleep so long when ahead.
    pub flow_sleep_us: u32,
}

impl Pace {
    pub(super) fn of(values: &Values) -> Pace {
        Pace {
            rate: values.wides("rate").unwrap_or_default().map(unless_zero),
            rate_min: values.wides("rate_min").unwrap_or_default().map(unless_zero),
            rate_iops: values.counts("rate_iops").map(|rate| rate.filter(|rate| *rate > 0)),
            rate_iops_min: values.counts("rate_iops_min").map(|rate| rate.filter(|rate| *rate > 0)),
            rate_process: RateProcess::of(values),
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
            thinktime_blocks_type: ThinkCount::of(values),
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

/// When it ends, and what errors do.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// End after this long.
    pub runtime: Option<Nanos>,
    /// Do not end earlier either.
    pub time_based: bool,
    /// Run so long before measuring.
    pub ramp_time: Option<Nanos>,
    /// End the others when this one ends.
    pub exitall: bool,
    /// Whom.
    pub exit_what: ExitWhat,
    /// End the others when this one fails.
    pub exitall_on_error: bool,
    /// Which errors do not end it.
    pub continue_on_error: ContinueOnError,
    /// Which errors are none.
    pub ignore_error: ErrorsIgnored,
    /// Show every failed op.
    pub error_dump: bool,
    /// End when a figure is steady.
    pub steady: Option<SteadyStop>,
}

impl Stop {
    pub(super) fn of(values: &Values) -> Stop {
        Stop {
            runtime: values.time_unless_zero("runtime"),
            time_based: values.switch("time_based"),
            ramp_time: values.time_unless_zero("ramp_time"),
            exitall: values.switch("exitall"),
            exit_what: ExitWhat::of(values),
            exitall_on_error: values.switch("exitall_on_error"),
            continue_on_error: ContinueOnError::of(values),
            ignore_error: values.ignore_error("ignore_error").unwrap_or_default(),
            error_dump: values.switch("error_dump"),
            steady: steady(values),
        }
    }
}
