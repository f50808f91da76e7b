//! Buffers, CPUs, memory nodes, zones, and what only some engines know.

use super::keywords::{CpuMode, CpuPolicy, StatCall, Transport, Word, ZoneMode};
use super::values::Values;
use crate::fio::value::choice::Memory as MemorySource;
use crate::fio::value::lists::NumaPolicy;
use crate::fio::value::split::PriorityShare;
use crate::fio::value::{ReadWrite, Region};

/// Buffers, CPUs, memory nodes and priorities.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// Where buffers come from.
    pub source: MemorySource,
    /// Buffers begin at multiples of this.
    pub align_bytes: Option<u32>,
    /// Bytes of a huge page.
    pub hugepage_bytes: u32,
    /// Pin so much memory.
    pub lock_bytes: Option<u64>,
    /// The CPUs workers may use; from `cpus_allowed` or `cpumask`.
    pub cpus: Option<Vec<u32>>,
    /// How workers share them.
    pub cpu_policy: CpuPolicy,
    /// Run on the CPUs of these nodes.
    pub numa_cpu_nodes: Option<Vec<u32>>,
    /// Which node buffers come from.
    pub numa_policy: NumaPolicy,
    /// Priority of ops within the class.
    pub prio: Option<u32>,
    /// Priority class.
    pub prio_class: Option<u32>,
}

impl Memory {
    pub(super) fn of(values: &Values) -> Memory {
        Memory {
            source: values.memory("mem").unwrap_or(MemorySource::Malloc),
            align_bytes: values.count_unless_zero("iomem_align"),
            hugepage_bytes: values.count("hugepage-size"),
            lock_bytes: values.wide_unless_zero("lockmem"),
            cpus: values.cpus("cpus_allowed"),
            cpu_policy: CpuPolicy::maybe(values).unwrap_or(CpuPolicy::Shared),
            numa_cpu_nodes: values.cpus("numa_cpu_nodes"),
            numa_policy: values.numa_policy("numa_mem_policy").unwrap_or(NumaPolicy::Default),
            prio: values.maybe_count("prio"),
            prio_class: values.maybe_count("prioclass"),
        }
    }
}

/// Devices and files in zones.
#[derive(Debug, Clone, PartialEq)]
pub struct Zones {
    /// How zones are treated.
    pub mode: ZoneMode,
    /// Bytes of a zone.
    pub size_bytes: Option<u64>,
    /// Bytes from one zone's start to the next.
    pub range_bytes: Option<u64>,
    /// What is passed over after a zone.
    pub skip: Region,
    /// Bytes of a zone that can be used.
    pub capacity_bytes: Option<u64>,
    /// Read what was never written.
    pub read_beyond_wp: bool,
    /// Zones all jobs keep open.
    pub max_open: Option<u32>,
    /// Zones this job keeps open.
    pub job_max_open: Option<u32>,
    /// Do not keep to the device's limit.
    pub ignore_limits: bool,
    /// Reset zones once this share is written.
    pub reset_threshold: Option<f64>,
    /// How often then.
    pub reset_frequency: Option<f64>,
}

impl Zones {
    pub(super) fn of(values: &Values) -> Zones {
        Zones {
            mode: ZoneMode::of(values),
            size_bytes: values.wide_unless_zero("zonesize"),
            range_bytes: values.wide_unless_zero("zonerange"),
            skip: values.region("zoneskip").unwrap_or(Region::Bytes(0)),
            capacity_bytes: values.wide_unless_zero("zonecapacity"),
            read_beyond_wp: values.switch("read_beyond_wp"),
            max_open: values.count_unless_zero("max_open_zones"),
            job_max_open: values.count_unless_zero("job_max_open_zones"),
            ignore_limits: values.switch("ignore_zone_limits"),
            reset_threshold: values.floats("zone_reset_threshold").first().copied(),
            reset_frequency: values.floats("zone_reset_frequency").first().copied(),
        }
    }
}

/// What only some engines know; what the job's engine does not know is at its default.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineOptions {
    /// Poll for completions.
    pub hipri: bool,
    /// Per cent of ops polled for.
    pub hipri_percentage: u32,
    /// Leave nothing in the page cache (RWF_DONTCACHE).
    pub uncached: bool,
    /// Fail instead of blocking (RWF_NOWAIT).
    pub nowait: bool,
    /// Register buffers once.
    pub fixed_buffers: bool,
    /// Register files once.
    pub register_files: bool,
    /// A kernel thread picks ops up.
    pub sqthread_poll: bool,
    /// That thread's CPU.
    pub sqthread_poll_cpu: Option<u32>,
    /// Plain instead of vectored calls; by itself where absent.
    pub nonvectored: Option<bool>,
    /// Every so many-th op is done asynchronously.
    pub force_async: Option<u32>,
    /// Take completions without a system call.
    pub userspace_reap: bool,
    /// Vectored calls of libaio.
    pub libaio_vectored: bool,
    /// Priorities of some of the ops.
    pub priority: PriorityOptions,
    /// Of the engine cpuio.
    pub cpuio: CpuOptions,
    /// Of the engine net.
    pub net: NetOptions,
    /// Of the engines filestat and dirstat.
    pub stat_type: StatCall,
    /// Of the engine exec.
    pub exec: ExecOptions,
}

impl EngineOptions {
    pub(super) fn of(values: &Values) -> EngineOptions {
        EngineOptions {
            hipri: values.switch("hipri"),
            hipri_percentage: values.count("hipri_percentage"),
            uncached: values.count("uncached") > 0,
            nowait: values.switch("nowait"),
            fixed_buffers: values.switch("fixedbufs"),
            register_files: values.switch("registerfiles"),
            sqthread_poll: values.switch("sqthread_poll"),
            sqthread_poll_cpu: values.maybe_count("sqthread_poll_cpu"),
            nonvectored: values.maybe_whole("nonvectored").filter(|choice| *choice >= 0).map(|choice| choice > 0),
            force_async: values.count_unless_zero("force_async"),
            userspace_reap: values.switch("userspace_reap"),
            libaio_vectored: values.switch("libaio_vectored"),
            priority: PriorityOptions::of(values),
            cpuio: CpuOptions::of(values),
            net: NetOptions::of(values),
            stat_type: StatCall::of(values),
            exec: ExecOptions::of(values),
        }
    }
}

/// Priorities of some of the ops.
#[derive(Debug, Clone, PartialEq)]
pub struct PriorityOptions {
    /// Per cent of ops that get it.
    pub percentage: ReadWrite<Option<i64>>,
    /// The class they get.
    pub class: ReadWrite<Option<i64>>,
    /// The hint they get.
    pub hint: ReadWrite<Option<i64>>,
    /// The priority they get.
    pub level: ReadWrite<Option<i64>>,
    /// By block size; empty where none is said.
    pub split: ReadWrite<Vec<PriorityShare>>,
}

impl PriorityOptions {
    pub(super) fn of(values: &Values) -> PriorityOptions {
        PriorityOptions {
            percentage: values.pair("cmdprio_percentage").unwrap_or_default(),
            class: values.pair("cmdprio_class").unwrap_or_default(),
            hint: values.pair("cmdprio_hint").unwrap_or_default(),
            level: values.pair("cmdprio").unwrap_or_default(),
            split: values.priority_split("cmdprio_bssplit").unwrap_or_default(),
        }
    }
}

/// Of the engine cpuio.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuOptions {
    /// Per cent of a CPU.
    pub load_percent: Option<u32>,
    /// With what.
    pub mode: CpuMode,
    /// Length of a busy piece.
    pub chunks_us: u32,
    /// End with the jobs that do I/O.
    pub exit_on_io_done: bool,
}

impl CpuOptions {
    pub(super) fn of(values: &Values) -> CpuOptions {
        CpuOptions {
            load_percent: values.count_unless_zero("cpuload"),
            mode: CpuMode::of(values),
            chunks_us: values.count("cpuchunks"),
            exit_on_io_done: values.switch("exit_on_io_done"),
        }
    }
}

/// Of the engine net.
#[derive(Debug, Clone, PartialEq)]
pub struct NetOptions {
    /// The other host.
    pub hostname: Option<String>,
    /// The port.
    pub port: Option<u32>,
    /// How messages travel.
    pub transport: Transport,
    /// Send at once.
    pub nodelay: bool,
    /// Wait for a connection.
    pub listen: bool,
    /// Answer every message.
    pub pingpong: bool,
    /// Bytes of the socket's window.
    pub window_bytes: Option<u32>,
    /// Largest segment.
    pub mss_bytes: Option<u32>,
}

impl NetOptions {
    pub(super) fn of(values: &Values) -> NetOptions {
        NetOptions {
            hostname: values.text("hostname"),
            port: values.count_unless_zero("port"),
            transport: Transport::of(values),
            nodelay: values.switch("nodelay"),
            listen: values.switch("listen"),
            pingpong: values.switch("pingpong"),
            window_bytes: values.count_unless_zero("window_size"),
            mss_bytes: values.count_unless_zero("mss"),
        }
    }
}

/// Of the engine exec.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecOptions {
    /// The program.
    pub program: Option<String>,
    /// Its arguments.
    pub arguments: Option<String>,
    /// Seconds between asking and killing.
    pub grace_time_s: u32,
    /// Send its output to files.
    pub std_redirect: bool,
}

impl ExecOptions {
    pub(super) fn of(values: &Values) -> ExecOptions {
        ExecOptions {
            program: values.text("program"),
            arguments: values.text("arguments"),
            grace_time_s: values.count("grace_time"),
            std_redirect: values.switch("std_redirect"),
        }
    }
}
