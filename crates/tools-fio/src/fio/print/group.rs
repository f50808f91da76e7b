//! Run status groups: totals of the jobs in a reporting group.

use super::direction::rate;
use super::report::{DirectionReport, Display, Io, JobReport, Report};

/// Totals of one direction in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Together {
    /// Bytes of all jobs.
    pub bytes: u64,
    /// Bytes per second: all bytes over the longest run time.
    pub rate: u64,
    /// Bytes per second of the slowest job.
    pub rate_min: u64,
    pub rate_max: u64,
    /// Shortest run time in milliseconds.
    pub runtime_min_ms: u64,
    /// Longest run time in milliseconds; 0 if nothing was done.
    pub runtime_max_ms: u64,
}

impl Together {
    /// Combines the directions that did something.
    pub(super) fn from_directions<'a>(directions: impl IntoIterator<Item = &'a DirectionReport>) -> Together {
        let mut sum: Option<Together> = None;
        for one in directions.into_iter().filter(|one| one.runtime_ms > 0) {
            let own = one.bytes_per_second();
            let alone = Together {
                bytes: 0,
                rate: 0,
                rate_min: own,
                rate_max: own,
                runtime_min_ms: one.runtime_ms,
                runtime_max_ms: one.runtime_ms,
            };
            let before = sum.unwrap_or(alone);
            sum = Some(Together {
                bytes: before.bytes.saturating_add(one.bytes),
                rate: 0,
                rate_min: before.rate_min.min(own),
                rate_max: before.rate_max.max(own),
                runtime_min_ms: before.runtime_min_ms.min(one.runtime_ms),
                runtime_max_ms: before.runtime_max_ms.max(one.runtime_ms),
            });
        }
        let sum = sum.unwrap_or_default();
        Together { rate: rate(sum.bytes, sum.runtime_max_ms), ..sum }
    }

    /// Combines all directions as `unified_rw_reporting=both` prints them: rates add up.
    fn all(parts: &[Together]) -> Together {
        let used = || parts.iter().filter(|part| part.runtime_max_ms > 0);
        Together {
            bytes: used().map(|part| part.bytes).fold(0, u64::saturating_add),
            rate: used().map(|part| part.rate).fold(0, u64::saturating_add),
            rate_min: used().map(|part| part.rate_min).min().unwrap_or(0),
            rate_max: used().map(|part| part.rate_max).max().unwrap_or(0),
            runtime_min_ms: used().map(|part| part.runtime_min_ms).min().unwrap_or(0),
            runtime_max_ms: used().map(|part| part.runtime_max_ms).max().unwrap_or(0),
        }
    }

    fn line(&self, name: &str, display: &Display) -> String {
        format!(
            "{name:>7}: bw={} ({}), {}-{} ({}-{}), io={} ({}), run={}-{}msec\n",
            display.rate(self.rate),
            display.rate_other(self.rate),
            display.rate(self.rate_min),
            display.rate(self.rate_max),
            display.rate_other(self.rate_min),
            display.rate_other(self.rate_max),
            display.bytes(self.bytes),
            display.bytes_other(self.bytes),
            self.runtime_min_ms,
            self.runtime_max_ms,
        )
    }
}

/// Returns the block of a job with this name.
fn block<'a>(io: &'a Io, name: &str) -> Option<&'a DirectionReport> {
    io.named().into_iter().find(|(own, _)| *own == name).map(|(_, one)| one)
}

/// Returns the group's totals in the direction of this name, the base of the job's share.
pub(super) fn together(report: &Report, job: &JobReport, name: &str) -> Together {
    Together::from_directions(
        report.jobs.iter().filter(|other| other.group == job.group).filter_map(|other| block(&other.io, name)),
    )
}

/// Returns a job's mean rate as a percentage of the group's rate, at most 100.
pub(super) fn share_of_group(mean_kib: f64, group: Together) -> f64 {
    if group.rate <= 1024 { 100.0 } else { (mean_kib * 100.0 / (group.rate as f64 / 1024.0)).min(100.0) }
}

/// Returns the numbers of the groups, from 0 to the largest.
fn numbers(report: &Report) -> Vec<u32> {
    let mut numbers: Vec<u32> = report.jobs.iter().map(|job| job.group).collect();
    numbers.sort();
    numbers.dedup();
    numbers
}

/// Formats the block `Run status group` of every group.
pub(super) fn status(report: &Report) -> String {
    let mut text = String::new();
    for number in numbers(report) {
        let jobs: Vec<&JobReport> = report.jobs.iter().filter(|job| job.group == number).collect();
        let Some(display) = jobs.last().map(|job| &job.display) else { continue };
        text += &format!("\nRun status group {number} (all jobs):\n");
        let sum = |name| Together::from_directions(jobs.iter().filter_map(|job| block(&job.io, name)));
        let apart = [("READ", sum("read")), ("WRITE", sum("write")), ("TRIM", sum("trim"))];
        for (name, part) in apart.iter().filter(|(_, part)| part.runtime_max_ms > 0) {
            text += &part.line(name, display);
        }
        let mixed = if jobs.iter().any(|job| matches!(job.io, Io::Both(..))) {
            Together::all(&apart.map(|(_, part)| part))
        } else {
            sum("mixed")
        };
        if mixed.runtime_max_ms > 0 {
            text += &mixed.line("MIXED", display);
        }
    }
    text
}
