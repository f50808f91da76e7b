//! The progress line of `--eta`.

use super::number::{NumberUnit, Prefix, fixed, scaled};
use super::report::Display;

/// Progress of a run at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Eta {
    pub running: u32,
    pub files_open: u32,
    /// Sums of `rate`, `rate_iops` and their minima over all jobs.
    pub limit: Option<RateLimit>,
    /// One character per job, with runs of equal ones condensed: `R(2),_(1)`.
    pub states: String,
    pub remaining: Remaining,
    /// Bytes per second of reads, writes and trims.
    pub bytes_per_second: [u64; 3],
    /// Ops per second of reads, writes and trims.
    pub iops: [u64; 3],
    pub display: Display,
}

/// A rate limit with its minimum and maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimit {
    Bytes {
        /// `rate_min`.
        min: u64,
        /// `rate`.
        max: u64,
    },
    Iops {
        /// `rate_iops_min`.
        min: u64,
        /// `rate_iops`.
        max: u64,
    },
}

/// Progress and remaining time of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Remaining {
    #[default]
    Unknown,
    /// All jobs are in their ramp time.
    Ramp { left_s: u64 },
    Known {
        /// Seconds since the start.
        elapsed_s: u64,
        left_s: u64,
    },
}

/// Formats the line, without the leading carriage return and without padding to the length of the previous line.
pub fn eta_line(eta: &Eta) -> String {
    let mut text = format!("Jobs: {} (f={})", eta.running, eta.files_open);
    match eta.limit {
        None => {}
        Some(RateLimit::Bytes { min, max }) => {
            let show =
                |rate| scaled(rate, eta.display.significant_figures, eta.display.prefix(), NumberUnit::BytesPerSecond);
            text += &format!(", {}-{}", show(min), show(max));
        }
        Some(RateLimit::Iops { min, max }) => text += &format!(", {min}-{max} IOPS"),
    }
    let (done, left_s) = match eta.remaining {
        Remaining::Unknown => return text,
        Remaining::Ramp { left_s } => ("-.-%".to_owned(), left_s),
        Remaining::Known { elapsed_s, left_s } => {
            let whole = (elapsed_s + left_s).max(1);
            (format!("{}%", fixed(elapsed_s as f64 / whole as f64 * 100.0, 1)), left_s)
        }
    };
    if eta.running == 0 {
        return text;
    }
    text += &format!(": [{}][{done}]", eta.states);
    let used: Vec<usize> = (0..3).filter(|&place| eta.bytes_per_second[place] > 0 || eta.iops[place] > 0).collect();
    if !used.is_empty() {
        let row = |show: &dyn Fn(usize) -> String| {
            let cells: Vec<String> =
                used.iter().map(|&place| format!("{}={}", ["r", "w", "t"][place], show(place))).collect();
            cells.join(",")
        };
        let rate = |place: usize| scaled(eta.bytes_per_second[place], 4, eta.display.prefix(), eta.display.rate_unit());
        let iops = |place: usize| scaled(eta.iops[place], 4, Prefix::Si, NumberUnit::None);
        text += &format!("[{}][{} IOPS]", row(&rate), row(&iops));
    }
    text + &format!("[eta {}]", clock(left_s))
}

/// Formats a duration: `01d:02h:03m:04s`, without leading zero units.
fn clock(seconds: u64) -> String {
    let (days, hours, minutes, left) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let mut text = String::new();
    if days > 0 {
        text += &format!("{days:02}d:");
    }
    if days > 0 || hours > 0 {
        text += &format!("{hours:02}h:");
    }
    text + &format!("{minutes:02}m:{left:02}s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_fios() {
        let eta = Eta {
            running: 2,
            files_open: 2,
            states: "R(1),m(1)".to_owned(),
            remaining: Remaining::Known { elapsed_s: 3, left_s: 7 },
            bytes_per_second: [153_092_096, 65_000_000, 0],
            iops: [37_306, 15_900, 0],
            ..Eta::default()
        };
        assert_eq!(
            eta_line(&eta),
            "Jobs: 2 (f=2): [R(1),m(1)][30.0%][r=146MiB/s,w=62.0MiB/s][r=37.3k,w=15.9k IOPS][eta 00m:07s]"
        );
        assert_eq!(eta_line(&Eta { remaining: Remaining::Unknown, ..eta.clone() }), "Jobs: 2 (f=2)");
        let ramp = Eta { remaining: Remaining::Ramp { left_s: 90_061 }, bytes_per_second: [0; 3], iops: [0; 3], ..eta };
        assert_eq!(eta_line(&ramp), "Jobs: 2 (f=2): [R(1),m(1)][-.-%][eta 01d:01h:01m:01s]");
    }
}
