//! The data of a report: what fio keeps of a run, in named units, with unknown values marked as such.

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
    /// fio's version string. Readers cut it at the `-`, so it must look like `fio-3.42`.
    pub version: String,
    /// When the report was made.
    pub at: ReportTime,
    /// Options of the global section, as given.
    pub global_options: Vec<GivenOption>,
    /// One entry for each job, or for each group under `group_reporting`.
    pub jobs: Vec<JobReport>,
    /// The disks under the files; `None` under `disk_util=0`.
    pub disks: Option<Vec<DiskReport>>,
    /// What `--idle-prof` asks for.
    pub idleness: Option<Idleness>,
    /// Whether fio's own slips are kept.
    pub compat: Compat,
}

/// How idle the processors were.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Idleness {
    /// All of them together, percent.
    pub system_percent: f64,
    /// Each of them, percent, where that is asked for.
    pub each_percent: Option<Vec<f64>>,
    /// A piece of work of known size, µs.
    pub unit: UnitWork,
}

/// How long a piece of work takes on an idle processor.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct UnitWork {
    /// Mean, µs.
    pub mean_us: f64,
    /// Standard deviation, µs.
    pub stddev_us: f64,
}

/// A point in time, with its text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReportTime {
    /// Milliseconds since 1970, UTC.
    pub unix_ms: u64,
    /// As ctime(3) writes it, without the line end: `Fri Nov 20 18:46:27 2026`.
    pub text: String,
}

impl ReportTime {
    /// The time, its text in a zone this many seconds east of UTC. Civil date from a day count: the proleptic Gregorian
    /// calendar in cycles of 400 years.
    pub fn at_offset(unix_ms: u64, offset_seconds: i32) -> ReportTime {
        const DAY_S: i64 = 86_400;
        const CYCLE_DAYS: i64 = 146_097;
        let local_s = i64::try_from(unix_ms / 1000).unwrap_or(i64::MAX / 2) + i64::from(offset_seconds);
        let (days, second) = (local_s.div_euclid(DAY_S), local_s.rem_euclid(DAY_S));
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][days.rem_euclid(7) as usize];
        // Years begin in March here, so that a leap day is the last of its year.
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

/// An option as the user wrote it. A flag has an empty value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenOption {
    /// Its name.
    pub name: String,
    /// Its value, not interpreted.
    pub value: String,
}

/// One job, or one group of jobs reported as one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobReport {
    /// Its name.
    pub name: String,
    /// `description`.
    pub description: Option<String>,
    /// Number of its reporting group, from 0.
    pub group: u32,
    /// How many jobs are reported here.
    pub members: u32,
    /// It does no I/O (cpuio, exec), and is reported all the same: its CPU time is what there is.
    pub is_beside: bool,
    /// Process id of the first member.
    pub pid: u32,
    /// Its start and its progress.
    pub times: JobTimes,
    /// Errors of the job.
    pub failures: JobFailures,
    /// Options of the job's own section, as given.
    pub options: Vec<GivenOption>,
    /// How its numbers are shown.
    pub display: Display,
    /// What moved data.
    pub io: Io,
    /// Flushes.
    pub sync: SyncReport,
    /// Total run time of all members, ms. CPU percentages are relative to it.
    pub runtime_ms: u64,
    /// CPU time of all members.
    pub cpu: CpuReport,
    /// How many requests were in flight, and how many went in and came out at a time.
    pub depths: Depths,
    /// Shares of the completion latencies, by class.
    pub latency_shares: BucketShares,
    /// `latency_target` and the like; fio reports them for every job.
    pub latency_target: Option<LatencyTarget>,
    /// `steadystate`.
    pub steady: Option<SteadyReport>,
    /// Zone resets, for `zonemode=zbd`.
    pub zone_resets: Option<u64>,
}

/// Start and progress of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobTimes {
    /// When it started, milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Seconds remaining; 0 in a final report.
    pub eta_s: u64,
    /// Seconds since the program started.
    pub elapsed_s: u64,
}

/// Errors of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFailures {
    /// The error that made it fail.
    pub error: Option<JobError>,
    /// Errors that were ignored, under `continue_on_error`.
    pub continued: Option<ContinuedErrors>,
}

/// Why a job failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobError {
    /// The system's error number.
    pub code: i32,
    /// What was tried, and the error text: `file:io_u.c … , func=io_u error, error=Input/output error`.
    pub text: String,
}

/// Errors that did not stop the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContinuedErrors {
    /// How many.
    pub total: u64,
    /// The first one's number; 0 where there was none.
    pub first_code: i32,
    /// The text of the first one.
    pub first_text: String,
}

/// fsync, fdatasync, sync_file_range and syncfs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SyncReport {
    /// How many.
    pub count: u64,
    /// How long they took.
    pub latency: Figure<Latency>,
}

/// CPU time and the like.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CpuReport {
    /// In user mode, ns.
    pub user_ns: u64,
    /// In the kernel, ns.
    pub system_ns: u64,
    /// Context switches, voluntary and not.
    pub context_switches: Figure<u64>,
    /// Page faults that read from a device.
    pub major_faults: Figure<u64>,
    /// Page faults that did not.
    pub minor_faults: Figure<u64>,
}

/// Shares of requests in flight and of batches, in percent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Depths {
    /// In flight at 1, 2–3, 4–7, 8–15, 16–31, 32–63, ≥ 64. fio's own add up to more than 100 where flushes are counted.
    pub level: Figure<[f64; 7]>,
    /// Submitted at a time: 0, 1–4, 5–8, 9–16, 17–32, 33–64, > 64.
    pub submit: Figure<[f64; 7]>,
    /// Completed at a time, in the same classes.
    pub complete: Figure<[f64; 7]>,
}

/// `latency_target` and the like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyTarget {
    /// The depth that was reached, or `iodepth` without a target.
    pub depth: u32,
    /// The target, ns; 0 is none.
    pub target_ns: u64,
    /// The window, µs.
    pub window_us: u64,
    /// The share that must meet it, percent.
    pub percentile: f64,
}

impl JobReport {
    /// Processor shares in percent of the run time, user and system.
    pub(super) fn cpu_percent(&self) -> CpuPercent {
        let share = |ns: u64| {
            if self.runtime_ms == 0 { 0.0 } else { ns as f64 / 1e6 * 100.0 / self.runtime_ms as f64 }
        };
        CpuPercent { user: share(self.cpu.user_ns), system: share(self.cpu.system_ns) }
    }

    /// Every number that is printed as 0 because it was not measured.
    pub(crate) fn not_measured(&self) -> Vec<NotMeasured> {
        let mut missing = Vec::new();
        let mut note = |name: String, reason: &str| missing.push(NotMeasured { name, reason: reason.to_owned() });
        macro_rules! look {
            ($name:expr, $figure:expr) => {
                if let Figure::Unknown(reason) = &$figure {
                    note($name, reason);
                }
            };
        }
        for (name, one) in self.io.named() {
            look!(format!("{name}.short_ios"), one.short);
            look!(format!("{name}.drop_ios"), one.dropped);
            look!(format!("{name}.slat_ns"), one.slat);
            look!(format!("{name}.clat_ns"), one.clat);
            look!(format!("{name}.lat_ns"), one.lat);
            look!(format!("{name}.bw_samples"), one.bandwidth);
            look!(format!("{name}.iops_samples"), one.iops);
        }
        look!("sync.lat_ns".to_owned(), self.sync.latency);
        look!("ctx".to_owned(), self.cpu.context_switches);
        look!("majf".to_owned(), self.cpu.major_faults);
        look!("minf".to_owned(), self.cpu.minor_faults);
        look!("iodepth_level".to_owned(), self.depths.level);
        look!("iodepth_submit".to_owned(), self.depths.submit);
        look!("iodepth_complete".to_owned(), self.depths.complete);
        missing
    }
}

/// Processor shares, percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CpuPercent {
    /// In user mode.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
}
