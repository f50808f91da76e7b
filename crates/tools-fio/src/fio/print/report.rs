//! The data of a report: the numbers that fio keeps of a run, in named units. Unknown values are marked.

pub use super::direction::*;
pub use super::disk::*;
pub use super::display::*;
pub use super::figure::{Figure, NotMeasured};
use super::grid::BucketShares;
pub use super::steady::*;
use crate::fio::Compat;

/// A run as fio reports it.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// fio's version string. Programs split it at the `-`, so it must look like `fio-3.42`.
    pub version: String,
    pub at: ReportTime,
    /// Options of the global section, as given.
    pub global_options: Vec<GivenOption>,
    /// One entry for each job, or for each group under `group_reporting`.
    pub jobs: Vec<JobReport>,
    /// The disks under the files; `None` under `disk_util=0`.
    pub disks: Option<Vec<DiskReport>>,
    pub idleness: Option<Idleness>,
    /// Whether to reproduce fio's own mistakes.
    pub compat: Compat,
}

/// Idle time of the processors, from `--idle-prof`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Idleness {
    /// Mean of all processors, in percent.
    pub system_percent: f64,
    /// Each processor, in percent, if requested.
    pub each_percent: Option<Vec<f64>>,
    pub unit: UnitWork,
}

/// Duration of a unit of work on an idle processor.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct UnitWork {
    /// Mean in microseconds.
    pub mean_us: f64,
    /// Standard deviation in microseconds.
    pub stddev_us: f64,
}

/// A point in time, with its text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReportTime {
    /// Milliseconds since 1970, UTC.
    pub unix_ms: u64,
    /// Formatted like ctime(3), without the line end: `Fri Nov 20 18:46:27 2026`.
    pub text: String,
}

impl ReportTime {
    /// Formats a time in a zone `offset_seconds` east of UTC. The civil date comes from the day count: the proleptic
    /// Gregorian calendar in cycles of 400 years.
    pub fn at_offset(unix_ms: u64, offset_seconds: i32) -> ReportTime {
        const DAY_S: i64 = 86_400;
        const CYCLE_DAYS: i64 = 146_097;
        let local_s = i64::try_from(unix_ms / 1000).unwrap_or(i64::MAX / 2) + i64::from(offset_seconds);
        let (days, second) = (local_s.div_euclid(DAY_S), local_s.rem_euclid(DAY_S));
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][days.rem_euclid(7) as usize];
        // Years begin in March here, so that a leap day is the last day of its year.
        let since_march_0000 = days + 719_468;
        let (cycle, day) = (since_march_0000.div_euclid(CYCLE_DAYS), since_march_0000.rem_euclid(CYCLE_DAYS));
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day_of_year = day - (365 * year + year / 4 - year / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let month_day = day_of_year - (153 * march_month + 2) / 5 + 1;
        let names = ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb"];
        let month = names[march_month as usize];
        let year = cycle * 400 + year + i64::from(march_month >= 10);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        ReportTime {
            unix_ms,
            text: format!("{weekday} {month} {month_day:>2} {hour:02}:{minute:02}:{second:02} {year}"),
        }
    }
}

/// An option as the user gave it. A flag has an empty value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenOption {
    pub name: String,
    /// The uninterpreted value.
    pub value: String,
}

/// One job, or one group of jobs reported as one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobReport {
    pub name: String,
    pub description: Option<String>,
    /// Number of its reporting group, from 0.
    pub group: u32,
    /// Number of jobs in this entry.
    pub members: u32,
    /// Whether the job does no I/O (cpuio, exec). It is reported for its CPU time.
    pub does_no_io: bool,
    /// Process id of the first member.
    pub pid: u32,
    pub times: JobTimes,
    pub failures: JobFailures,
    /// Options of the job's own section, as given.
    pub options: Vec<GivenOption>,
    pub display: Display,
    pub io: Io,
    pub sync: SyncReport,
    /// Total run time of all members, in milliseconds. CPU percentages are relative to it.
    pub runtime_ms: u64,
    /// CPU time of all members.
    pub cpu: CpuReport,
    /// Queue depths, and sizes of submission and completion batches.
    pub depths: Depths,
    /// Completion latency classes.
    pub latency_shares: BucketShares,
    /// Results of `latency_target` and related options; fio reports them for every job.
    pub latency_target: Option<LatencyTarget>,
    pub steady: Option<SteadyReport>,
    /// Zone resets, for `zonemode=zbd`.
    pub zone_resets: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobTimes {
    /// Start time in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Seconds remaining; 0 in a final report.
    pub eta_s: u64,
    /// Seconds since the program started.
    pub elapsed_s: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFailures {
    /// The error that failed the job.
    pub error: Option<JobError>,
    /// Errors that were ignored, under `continue_on_error`.
    pub continued: Option<ContinuedErrors>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobError {
    pub code: i32,
    /// The failed operation and the error text: `file:io_u.c … , func=io_u error, error=Input/output error`.
    pub text: String,
}

/// Errors that did not stop the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContinuedErrors {
    pub total: u64,
    /// Number of the first error; 0 if there was none.
    pub first_code: i32,
    /// Text of the first error.
    pub first_text: String,
}

/// fsync, fdatasync, sync_file_range and syncfs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SyncReport {
    pub count: u64,
    pub latency: Figure<Latency>,
}

/// CPU time and related counters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CpuReport {
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// Voluntary and involuntary context switches.
    pub context_switches: Figure<u64>,
    /// Page faults that read from a device.
    pub major_faults: Figure<u64>,
    /// Page faults that did not read from a device.
    pub minor_faults: Figure<u64>,
}

/// Shares of queue depths and batch sizes, in percent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Depths {
    /// Queue depths 1, 2–3, 4–7, 8–15, 16–31, 32–63, ≥ 64. fio's own shares add up to
    /// more than 100 if flushes are counted.
    pub level: Figure<[f64; 7]>,
    /// Ops per submission: 0, 1–4, 5–8, 9–16, 17–32, 33–64, > 64.
    pub submit: Figure<[f64; 7]>,
    /// Ops per completion call, in the same classes.
    pub complete: Figure<[f64; 7]>,
}

/// Results of `latency_target` and related options.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyTarget {
    /// The depth that was reached, or `iodepth` without a target.
    pub depth: u32,
    /// Target latency in nanoseconds; 0 if none.
    pub target_ns: u64,
    /// Measuring window in microseconds.
    pub window_us: u64,
    /// Share of ops that must meet the target, in percent.
    pub percentile: f64,
}

impl JobReport {
    /// Returns user and system time in percent of the run time.
    pub(super) fn cpu_percent(&self) -> CpuPercent {
        let share = |ns: u64| {
            if self.runtime_ms == 0 { 0.0 } else { ns as f64 / 1e6 * 100.0 / self.runtime_ms as f64 }
        };
        CpuPercent { user: share(self.cpu.user_ns), system: share(self.cpu.system_ns) }
    }

    /// Returns every number that is printed as 0 because it was not measured.
    pub(crate) fn not_measured(&self) -> Vec<NotMeasured> {
        let mut missing = Vec::new();
        let mut note = |name: String, reason: &str| missing.push(NotMeasured { name, reason: reason.to_owned() });
        macro_rules! check {
            ($name:expr, $figure:expr) => {
                if let Figure::Unknown(reason) = &$figure {
                    note($name, reason);
                }
            };
        }
        for (name, one) in self.io.named() {
            check!(format!("{name}.short_ios"), one.short);
            check!(format!("{name}.drop_ios"), one.dropped);
            check!(format!("{name}.slat_ns"), one.slat);
            check!(format!("{name}.clat_ns"), one.clat);
            check!(format!("{name}.lat_ns"), one.lat);
            check!(format!("{name}.bw_samples"), one.bandwidth);
            check!(format!("{name}.iops_samples"), one.iops);
        }
        check!("sync.lat_ns".to_owned(), self.sync.latency);
        check!("ctx".to_owned(), self.cpu.context_switches);
        check!("majf".to_owned(), self.cpu.major_faults);
        check!("minf".to_owned(), self.cpu.minor_faults);
        check!("iodepth_level".to_owned(), self.depths.level);
        check!("iodepth_submit".to_owned(), self.depths.submit);
        check!("iodepth_complete".to_owned(), self.depths.complete);
        missing
    }
}

/// CPU time in percent of the run time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CpuPercent {
    pub user: f64,
    pub system: f64,
}
