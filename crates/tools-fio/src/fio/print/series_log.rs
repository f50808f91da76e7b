//! Logs of a job, written op by op: one file for each quantity.

use super::logs::{LogDirection, LogPriority, LogSample, LogValue, hist_log_line, log_line, log_record};
use crate::fio::options::logs::WindowValue;
use plumb_result::Histogram;
use std::io::{self, Write};

/// An op as logs record it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedIo {
    pub direction: LogDirection,
    /// Issue time in nanoseconds since the job's start.
    pub issue_ns: u64,
    /// Completion time in nanoseconds since the job's start.
    pub complete_ns: u64,
    /// Duration of the submission in nanoseconds, if it was timed.
    pub submission_ns: Option<u64>,
    pub offset: u64,
    pub bytes: u64,
}

impl LoggedIo {
    /// Returns the time from issue to completion in nanoseconds.
    fn lat_ns(&self) -> u64 {
        self.complete_ns.saturating_sub(self.issue_ns)
    }
}

/// The quantity in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogQuantity {
    /// Bandwidth, KiB/s.
    Bandwidth,
    /// Ops per second; 1 for a single op.
    Iops,
    /// Submission latency, ns.
    Slat,
    /// Completion latency, ns.
    Clat,
    /// Total latency, ns.
    Lat,
}

impl LogQuantity {
    /// Returns the suffix for the log's file name.
    pub const fn suffix(self) -> &'static str {
        match self {
            LogQuantity::Bandwidth => "bw",
            LogQuantity::Iops => "iops",
            LogQuantity::Slat => "slat",
            LogQuantity::Clat => "clat",
            LogQuantity::Lat => "lat",
        }
    }

    /// Returns the value of one op, or `None` if it has none.
    fn value(self, op: &LoggedIo) -> Option<u64> {
        let lat_ns = op.lat_ns();
        match self {
            LogQuantity::Bandwidth => {
                // fio's clock for this has a resolution of a microsecond.
                let us = lat_ns / 1000;
                Some(op.bytes.saturating_mul(1_000_000).checked_div(us).unwrap_or(0) / 1024)
            }
            LogQuantity::Iops => Some(1),
            LogQuantity::Slat => op.submission_ns,
            LogQuantity::Clat => Some(lat_ns.saturating_sub(op.submission_ns.unwrap_or(0))),
            LogQuantity::Lat => Some(lat_ns),
        }
    }

    /// Whether lines contain the issue time; in other logs fio 3.42 writes 0.
    const fn has_issue(self) -> bool {
        matches!(self, LogQuantity::Slat | LogQuantity::Clat)
    }

    /// Whether it is a rate, so that an interval without ops has a value.
    const fn is_rate(self) -> bool {
        matches!(self, LogQuantity::Bandwidth | LogQuantity::Iops)
    }
}

/// `log_avg_msec` and related options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Length in milliseconds, at least 1.
    pub length_ms: u64,
    pub value: WindowValue,
    /// Length in milliseconds of the intervals whose maximum rate is reported per window.
    pub piece_ms: u64,
}

/// The columns of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogForm {
    /// Windows; `None` logs single ops.
    pub window: Option<Window>,
    /// Add the offset (`log_offset`).
    pub offset: bool,
    /// Add the issue time (`log_issue_time`).
    pub issue_time: bool,
    /// Priority column for every op.
    pub priority: LogPriority,
    /// Milliseconds added to all times (`log_alternate_epoch`).
    pub epoch_ms: u64,
    pub writing: LogWriting,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogWriting {
    #[default]
    Lines,
    /// In fio's memory layout (`log_store_compressed`).
    Records,
}

impl LogWriting {
    fn bytes(self, sample: &LogSample) -> Vec<u8> {
        match self {
            LogWriting::Lines => log_line(sample).into_bytes(),
            LogWriting::Records => log_record(sample),
        }
    }
}

/// Totals of one direction in a window.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: u64,
    bytes: u64,
    value_sum: u128,
    value_max: u64,
    /// Sum of the current interval, before the maximum of earlier ones.
    piece: u64,
    piece_amount: u64,
    piece_max: u64,
}

/// A log of one quantity of one job.
pub struct JobLog<W: Write> {
    out: W,
    quantity: LogQuantity,
    form: LogForm,
    /// Directions of the job; rates of all of them are reported in every window.
    directions: Vec<LogDirection>,
    number: u64,
    sums: [Sums; 3],
}

const DIRECTIONS: [LogDirection; 3] = [LogDirection::Read, LogDirection::Write, LogDirection::Trim];

impl<W: Write> JobLog<W> {
    pub fn new(out: W, quantity: LogQuantity, form: LogForm, directions: Vec<LogDirection>) -> JobLog<W> {
        JobLog { out, quantity, form, directions, number: 0, sums: [Sums::default(); 3] }
    }

    /// Logs the next op, in the order of completion.
    ///
    /// # Errors
    ///
    /// The log cannot be written.
    pub fn op(&mut self, op: &LoggedIo) -> io::Result<()> {
        let Some(value) = self.quantity.value(op) else { return Ok(()) };
        let Some(window) = self.form.window else {
            let sample = LogSample {
                time: op.complete_ns / 1_000_000 + self.form.epoch_ms,
                value: LogValue::One(value),
                direction: op.direction,
                block_bytes: op.bytes,
                offset: self.form.offset.then_some(op.offset),
                priority: self.form.priority,
                issue_ns: self.form.issue_time.then_some(if self.quantity.has_issue() { op.issue_ns } else { 0 }),
            };
            return self.out.write_all(&self.form.writing.bytes(&sample));
        };
        let number = op.complete_ns / (window.length_ms * 1_000_000);
        while self.number < number {
            self.close(window, window.length_ms)?;
        }
        let place = op.direction as usize;
        let piece = op.complete_ns / (window.piece_ms.max(1) * 1_000_000);
        let amount = if self.quantity == LogQuantity::Bandwidth { op.bytes } else { 1 };
        let sums = &mut self.sums[place];
        if sums.piece != piece {
            sums.piece_max = sums.piece_max.max(std::mem::take(&mut sums.piece_amount));
            sums.piece = piece;
        }
        sums.piece_amount += amount;
        sums.count += 1;
        sums.bytes += op.bytes;
        sums.value_sum += u128::from(value);
        sums.value_max = sums.value_max.max(value);
        Ok(())
    }

    /// Ends the log at a time since the job's start. An incomplete window is reported if
    /// it is long enough to be meaningful.
    ///
    /// # Errors
    ///
    /// The log cannot be written.
    pub fn end(mut self, end_ns: u64) -> io::Result<W> {
        if let Some(window) = self.form.window {
            let length_ns = window.length_ms * 1_000_000;
            while (self.number + 1) * length_ns <= end_ns {
                self.close(window, window.length_ms)?;
            }
            let rest_ms = end_ns.saturating_sub(self.number * length_ns) / 1_000_000;
            if rest_ms * 20 >= window.length_ms && rest_ms > 0 {
                self.close(window, rest_ms)?;
            }
        }
        self.out.flush()?;
        Ok(self.out)
    }

    /// Writes a window that lasted `lasted_ms`, and begins the next.
    fn close(&mut self, window: Window, lasted_ms: u64) -> io::Result<()> {
        let start_ms = self.number * window.length_ms;
        self.number += 1;
        for direction in DIRECTIONS {
            let sums = std::mem::take(&mut self.sums[direction as usize]);
            let is_told = if self.quantity.is_rate() { self.directions.contains(&direction) } else { sums.count > 0 };
            if !is_told {
                continue;
            }
            let (mean, max) = self.figures(sums, window, lasted_ms);
            let sample = LogSample {
                time: start_ms + lasted_ms + self.form.epoch_ms,
                value: match window.value {
                    WindowValue::Average => LogValue::One(mean),
                    WindowValue::Largest => LogValue::One(max),
                    WindowValue::Both => LogValue::Both { mean, max },
                },
                direction,
                block_bytes: 0,
                offset: self.form.offset.then_some(0),
                priority: self.form.priority,
                issue_ns: self.form.issue_time.then_some(0),
            };
            self.out.write_all(&self.form.writing.bytes(&sample))?;
        }
        Ok(())
    }

    /// Returns the mean and the maximum of a window.
    fn figures(&self, sums: Sums, window: Window, lasted_ms: u64) -> (u64, u64) {
        let rate = |amount: u64, ms: u64| {
            let unit = if self.quantity == LogQuantity::Bandwidth { 1024.0 } else { 1.0 };
            (amount as f64 / unit * 1000.0 / ms.max(1) as f64).round() as u64
        };
        if !self.quantity.is_rate() {
            let mean = sums.value_sum / u128::from(sums.count.max(1));
            return (u64::try_from(mean).unwrap_or(u64::MAX), sums.value_max);
        }
        let amount = if self.quantity == LogQuantity::Bandwidth { sums.bytes } else { sums.count };
        let mean = rate(amount, lasted_ms);
        let piece_ms = window.piece_ms.clamp(1, lasted_ms.max(1));
        (mean, rate(sums.piece_max.max(sums.piece_amount), piece_ms).max(mean))
    }
}

/// The `write_hist_log` of one job.
pub struct HistLog<W: Write> {
    out: W,
    window_ms: u64,
    coarseness: u32,
    epoch_ms: u64,
    number: u64,
    windows: [HistWindow; 3],
}

/// Completions of one direction in a window.
#[derive(Default)]
struct HistWindow {
    times: Histogram,
    /// The block size, if all ops had the same.
    block_bytes: Option<u64>,
    is_mixed: bool,
}

impl<W: Write> HistLog<W> {
    /// Creates an empty log. It gets a line every `window_ms` (at least 1) for each direction with completions.
    pub fn new(out: W, window_ms: u64, coarseness: u32, epoch_ms: u64) -> HistLog<W> {
        let windows = std::array::from_fn(|_| HistWindow::default());
        HistLog { out, window_ms: window_ms.max(1), coarseness, epoch_ms, number: 0, windows }
    }

    /// Logs the next op, in the order of completion.
    ///
    /// # Errors
    ///
    /// The log cannot be written.
    pub fn op(&mut self, op: &LoggedIo) -> io::Result<()> {
        let number = op.complete_ns / (self.window_ms * 1_000_000);
        while self.number < number {
            self.close(self.window_ms)?;
        }
        let window = &mut self.windows[op.direction as usize];
        window.times.record(op.lat_ns().saturating_sub(op.submission_ns.unwrap_or(0)));
        window.is_mixed |= window.block_bytes.is_some_and(|bytes| bytes != op.bytes);
        window.block_bytes = Some(op.bytes);
        Ok(())
    }

    /// Ends the log at a time since the job's start.
    ///
    /// # Errors
    ///
    /// The log cannot be written.
    pub fn end(mut self, end_ns: u64) -> io::Result<W> {
        let rest_ms = (end_ns / 1_000_000).saturating_sub(self.number * self.window_ms).min(self.window_ms);
        self.close(rest_ms)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn close(&mut self, lasted_ms: u64) -> io::Result<()> {
        let time_ms = self.number * self.window_ms + lasted_ms + self.epoch_ms;
        self.number += 1;
        for direction in DIRECTIONS {
            let window = std::mem::take(&mut self.windows[direction as usize]);
            if !window.times.is_empty() {
                let block = if window.is_mixed { 0 } else { window.block_bytes.unwrap_or(0) };
                let line = hist_log_line(time_ms, direction, block, &window.times, self.coarseness);
                self.out.write_all(line.as_bytes())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(complete_ms: u64, lat_us: u64) -> LoggedIo {
        LoggedIo {
            direction: LogDirection::Read,
            issue_ns: complete_ms * 1_000_000 - lat_us * 1000,
            complete_ns: complete_ms * 1_000_000,
            submission_ns: None,
            offset: 8192,
            bytes: 4096,
        }
    }

    fn log(quantity: LogQuantity, form: LogForm, ops: &[LoggedIo], end_ms: u64) -> String {
        let mut log = JobLog::new(Vec::new(), quantity, form, vec![LogDirection::Read]);
        ops.iter().for_each(|one| log.op(one).unwrap());
        String::from_utf8(log.end(end_ms * 1_000_000).unwrap()).unwrap()
    }

    /// Lines of fio 3.33 with its columns; 4 KiB in 20 µs are 200000 KiB/s.
    #[test]
    fn single_ops_have_a_line_each() {
        let ops = [op(3, 20), LoggedIo { submission_ns: Some(5_000), ..op(7, 40) }];
        let form = LogForm { offset: true, ..LogForm::default() };
        assert_eq!(
            log(LogQuantity::Bandwidth, form, &ops, 10),
            "3, 200000, 0, 4096, 8192, 0\n7, 100000, 0, 4096, 8192, 0\n"
        );
        assert_eq!(log(LogQuantity::Iops, LogForm::default(), &ops, 10), "3, 1, 0, 4096, 0\n7, 1, 0, 4096, 0\n");
        let epoch = LogForm { epoch_ms: 1_000_000, issue_time: true, ..LogForm::default() };
        assert_eq!(log(LogQuantity::Clat, epoch, &ops[1..], 10), "1000007, 35000, 0, 4096, 0, 6960000\n");
        assert_eq!(log(LogQuantity::Lat, LogForm::default(), &ops[1..], 10), "7, 40000, 0, 4096, 0\n");
        for (quantity, issue) in [(LogQuantity::Slat, 6960000), (LogQuantity::Lat, 0), (LogQuantity::Iops, 0)] {
            let lines = log(quantity, LogForm { issue_time: true, ..LogForm::default() }, &ops[1..], 10);
            assert!(lines.ends_with(&format!(", 0, {issue}\n")), "{quantity:?}: {lines}");
        }
        assert_eq!(
            log(LogQuantity::Slat, LogForm::default(), &ops, 10),
            "7, 5000, 0, 4096, 0\n",
            "submission was timed"
        );
    }

    /// fio omits windows without an op, and the last one. Here a stall is visible.
    #[test]
    fn windows_contain_means_and_stalls() {
        let window =
            |value| LogForm { window: Some(Window { length_ms: 500, value, piece_ms: 250 }), ..LogForm::default() };
        let ops = [op(10, 10), op(20, 30), op(1_400, 50)];
        let iops = log(LogQuantity::Iops, window(WindowValue::Average), &ops, 1_600);
        assert_eq!(iops, "500, 4, 0, 0, 0\n1000, 0, 0, 0, 0\n1500, 2, 0, 0, 0\n1600, 0, 0, 0, 0\n");
        let both = log(LogQuantity::Iops, window(WindowValue::Both), &ops[..2], 500);
        assert_eq!(both, "500, 4, 8, 0, 0, 0\n", "two in a quarter of a second are eight a second");
        let lat = log(LogQuantity::Lat, window(WindowValue::Both), &ops, 1_600);
        assert_eq!(lat, "500, 20000, 30000, 0, 0, 0\n1500, 50000, 50000, 0, 0, 0\n", "no op, no latency");
    }

    #[test]
    fn histograms_are_of_a_window() {
        let mut log = HistLog::new(Vec::new(), 500, 6, 0);
        for one in [op(10, 10), op(20, 30), op(1_400, 50)] {
            log.op(&one).unwrap();
        }
        let text = String::from_utf8(log.end(1_600_000_000).unwrap()).unwrap();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(", ").collect()).collect();
        let heads: Vec<&[&str]> = lines.iter().map(|line| &line[..3]).collect();
        assert_eq!(heads, [["500", "0", "4096"], ["1500", "0", "4096"]]);
        let sum = |line: &[&str]| line[3..].iter().map(|cell| cell.parse::<u64>().unwrap()).sum::<u64>();
        assert_eq!((sum(&lines[0]), sum(&lines[1])), (2, 1));
    }
}
