//! Lines of `write_bw_log`, `write_iops_log`, `write_lat_log` and `write_hist_log`.

use super::grid::{LOG_COLUMNS, bins};
use plumb_result::{Histogram, Interval};
use plumb_workload::OpKind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogDirection {
    Read,
    Write,
    Trim,
}

impl LogDirection {
    const fn number(self) -> u8 {
        match self {
            LogDirection::Read => 0,
            LogDirection::Write => 1,
            LogDirection::Trim => 2,
        }
    }

    const fn kind(self) -> OpKind {
        match self {
            LogDirection::Read => OpKind::Read,
            LogDirection::Write => OpKind::Write,
            LogDirection::Trim => OpKind::Trim,
        }
    }
}

/// Value of a line, in KiB/s, ops per second or nanoseconds, depending on the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogValue {
    /// The value of one op, or a window's mean or maximum (`log_window_value`, `log_max_value`).
    One(u64),
    /// A window's mean and maximum (`log_window_value=both`).
    Both { mean: u64, max: u64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogPriority {
    /// 0, or 1 for the real-time class.
    Class {
        /// Whether the op had the real-time class.
        realtime: bool,
    },
    /// Class, hint and level as in the system call (`log_prio=1`).
    Value(u16),
}

impl Default for LogPriority {
    fn default() -> LogPriority {
        LogPriority::Class { realtime: false }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSample {
    /// Milliseconds since the job's start, or since 1970 under `log_unix_epoch`.
    /// Options such as `log_entries_in_us` change the unit.
    pub time: u64,
    pub value: LogValue,
    pub direction: LogDirection,
    /// Size of the op in bytes; 0 for a window.
    pub block_bytes: u64,
    /// Offset in the file under `log_offset`; 0 for a window.
    pub offset: Option<u64>,
    pub priority: LogPriority,
    /// Issue time in nanoseconds under `log_issue_time`; 0 for a window.
    pub issue_ns: Option<u64>,
}

/// Formats the line, with its line end: `time, value, [second value,]
/// direction, block, [offset,] priority[, issue time]`.
pub fn log_line(sample: &LogSample) -> String {
    let value = match sample.value {
        LogValue::One(value) => value.to_string(),
        LogValue::Both { mean, max } => format!("{mean}, {max}"),
    };
    let offset = sample.offset.map(|offset| format!("{offset}, ")).unwrap_or_default();
    let priority = match sample.priority {
        LogPriority::Class { realtime } => u8::from(realtime).to_string(),
        LogPriority::Value(value) => format!("0x{value:04x}"),
    };
    let issue = sample.issue_ns.map(|issue| format!(", {issue}")).unwrap_or_default();
    format!(
        "{}, {value}, {}, {}, {offset}{priority}{issue}\n",
        sample.time,
        sample.direction.number(),
        sample.block_bytes
    )
}

/// fio's flag bits next to the direction, which mark the optional columns of a packed sample. Source: iolog.h of fio
/// 3.42.
const HAS_OFFSET: u32 = 0x8000_0000;
const HAS_PRIORITY: u32 = 0x4000_0000;
const HAS_BOTH: u32 = 0x2000_0000;
const HAS_ISSUE_TIME: u32 = 0x1000_0000;

/// Position of the class in a priority (linux/ioprio.h), and the real-time class.
const CLASS_SHIFT: u32 = 13;
const REALTIME: u16 = 1;

/// Encodes the sample in fio's memory layout. A stored log (`log_store_compressed`) holds these records, compressed:
/// time, two values, direction, priority, two bytes of padding, block, and the optional columns.
pub fn log_record(sample: &LogSample) -> Vec<u8> {
    let (first, second, both) = match sample.value {
        LogValue::One(value) => (value, 0, 0),
        LogValue::Both { mean, max } => (mean, max, HAS_BOTH),
    };
    let (priority, own) = match sample.priority {
        LogPriority::Class { realtime } => (u16::from(realtime) * (REALTIME << CLASS_SHIFT), 0),
        LogPriority::Value(value) => (value, HAS_PRIORITY),
    };
    let offset = sample.offset.map_or(0, |_| HAS_OFFSET);
    let issue = sample.issue_ns.map_or(0, |_| HAS_ISSUE_TIME);
    let direction = u32::from(sample.direction.number()) | both | own | offset | issue;
    let mut record = Vec::with_capacity(56);
    for word in [sample.time, first, second] {
        record.extend_from_slice(&word.to_ne_bytes());
    }
    record.extend_from_slice(&direction.to_ne_bytes());
    record.extend_from_slice(&priority.to_ne_bytes());
    record.extend_from_slice(&[0; 2]);
    record.extend_from_slice(&sample.block_bytes.to_ne_bytes());
    // The issue time is the second of these, and only exists together with an offset.
    for word in [sample.offset, sample.issue_ns].into_iter().flatten() {
        record.extend_from_slice(&word.to_ne_bytes());
    }
    record
}

/// Error from decoding a sample of a stored log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadRecord {
    /// The input ends in the middle of a sample.
    #[error("it ends in the middle of a sample")]
    Cut,
    /// The flags contradict the format.
    #[error("it is not a log of fio 3.42 or of Plumb")]
    Form,
}

/// Decodes the sample at the start of `bytes`, as [`log_record`] encodes it, and returns its length in bytes.
///
/// # Errors
///
/// There is no complete sample.
pub fn read_record(bytes: &[u8]) -> Result<(LogSample, usize), BadRecord> {
    let word = |at: usize| -> Result<u64, BadRecord> {
        let word = bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).ok_or(BadRecord::Cut)?;
        Ok(u64::from_ne_bytes(word))
    };
    let [time, first, second, flags, block_bytes] = [word(0)?, word(8)?, word(16)?, word(24)?, word(32)?];
    let [b0, b1, b2, b3, p0, p1, ..] = flags.to_ne_bytes();
    let (bits, priority) = (u32::from_ne_bytes([b0, b1, b2, b3]), u16::from_ne_bytes([p0, p1]));
    let has = |flag: u32| bits & flag != 0;
    let direction = match bits & !(HAS_OFFSET | HAS_PRIORITY | HAS_BOTH | HAS_ISSUE_TIME) {
        0 => LogDirection::Read,
        1 => LogDirection::Write,
        2 => LogDirection::Trim,
        _ => return Err(BadRecord::Form),
    };
    let mut length = 40;
    let mut next = |there: bool| -> Result<Option<u64>, BadRecord> {
        if !there {
            return Ok(None);
        }
        let value = word(length)?;
        length += 8;
        Ok(Some(value))
    };
    let (offset, issue_ns) = (next(has(HAS_OFFSET))?, next(has(HAS_ISSUE_TIME))?);
    let sample = LogSample {
        time,
        value: if has(HAS_BOTH) { LogValue::Both { mean: first, max: second } } else { LogValue::One(first) },
        direction,
        block_bytes,
        offset,
        priority: match has(HAS_PRIORITY) {
            true => LogPriority::Value(priority),
            false => LogPriority::Class { realtime: priority >> CLASS_SHIFT == REALTIME },
        },
        issue_ns,
    };
    Ok((sample, length))
}

/// Formats a line of a histogram log: the completions in a window, in the buckets of fio's grid, with `2^coarseness`
/// buckets per column. Latencies beyond the end of the grid count in the last column.
pub fn hist_log_line(
    time_ms: u64,
    direction: LogDirection,
    block_bytes: u64,
    window: &Histogram,
    coarseness: u32,
) -> String {
    let stride = 1usize << coarseness.min(LOG_COLUMNS.ilog2());
    let mut columns = vec![0u64; LOG_COLUMNS.div_ceil(stride)];
    for bin in bins(window) {
        columns[bin.bucket.min(LOG_COLUMNS - 1) / stride] += bin.count;
    }
    let columns: Vec<String> = columns.iter().map(u64::to_string).collect();
    format!("{time_ms}, {}, {block_bytes}, {}\n", direction.number(), columns.join(", "))
}

/// The kind of a log made from intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleLog {
    /// `write_bw_log`: KiB/s.
    Bandwidth,
    /// `write_iops_log`.
    Iops,
}

/// Formats a log with a line for each measured second. A second without completions gets a line with
/// 0; otherwise a stall would be invisible.
pub fn samples_log(intervals: &[Interval], directions: &[LogDirection], log: SampleLog) -> String {
    let mut text = String::new();
    for interval in intervals.iter().filter(|interval| interval.length_ns > 0) {
        for &direction in directions {
            let done = interval.ops.get(&direction.kind()).copied().unwrap_or_default();
            let amount = match log {
                SampleLog::Bandwidth => done.bytes as f64 / 1024.0,
                SampleLog::Iops => done.count as f64,
            };
            text += &log_line(&LogSample {
                time: (interval.start_ns.saturating_add(interval.length_ns)) / 1_000_000,
                value: LogValue::One((amount * 1e9 / interval.length_ns as f64).round() as u64),
                direction,
                block_bytes: 0,
                offset: None,
                priority: LogPriority::default(),
                issue_ns: None,
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::OpCounts;

    #[test]
    fn a_line_has_the_columns_that_were_asked_for() {
        let mut sample = LogSample {
            time: 500,
            value: LogValue::One(123),
            direction: LogDirection::Write,
            block_bytes: 4096,
            offset: None,
            priority: LogPriority::default(),
            issue_ns: None,
        };
        assert_eq!(log_line(&sample), "500, 123, 1, 4096, 0\n");
        sample.offset = Some(8192);
        sample.priority = LogPriority::Value(0x4001);
        sample.issue_ns = Some(77);
        sample.value = LogValue::Both { mean: 123, max: 200 };
        assert_eq!(log_line(&sample), "500, 123, 200, 1, 4096, 8192, 0x4001, 77\n");
    }

    // Protects: `fio --inflate-log` can read a stored log: 40 bytes per sample, and 8 for each optional column.
    #[test]
    fn a_packed_sample_has_fios_layout() {
        let sample = LogSample {
            time: 7,
            value: LogValue::Both { mean: 123, max: 200 },
            direction: LogDirection::Trim,
            block_bytes: 4096,
            offset: Some(8192),
            priority: LogPriority::Value(0x4001),
            issue_ns: Some(77),
        };
        let record = log_record(&sample);
        let word = |at: usize| u64::from_ne_bytes(record[at..at + 8].try_into().unwrap());
        assert_eq!([word(0), word(8), word(16), word(32), word(40), word(48)], [7, 123, 200, 4096, 8192, 77]);
        assert_eq!(record[24..28], 0xf000_0002u32.to_ne_bytes());
        assert_eq!((&record[28..30], record.len()), (&0x4001u16.to_ne_bytes()[..], 56));
        let plain = LogSample {
            value: LogValue::One(5),
            offset: None,
            priority: LogPriority::Class { realtime: true },
            issue_ns: None,
            ..sample
        };
        assert_eq!(read_record(&record), Ok((sample, 56)), "it is read as it was written");
        assert_eq!(read_record(&record[..55]), Err(BadRecord::Cut));
        let record = log_record(&plain);
        assert_eq!(read_record(&record), Ok((plain, 40)));
        let mut other = record.clone();
        other[24] = 7;
        assert_eq!(read_record(&other), Err(BadRecord::Form));
        assert_eq!((record.len(), record[24], u16::from_ne_bytes([record[28], record[29]])), (40, 2, 1 << 13));
    }

    #[test]
    fn a_histogram_line_has_fios_columns_whatever_the_latency() {
        let mut window = Histogram::new();
        window.record_n(41, 3);
        window.record(3_600_000_000_000);
        let line = hist_log_line(1000, LogDirection::Read, 4096, &window, 0);
        let fields: Vec<&str> = line.trim_end().split(", ").collect();
        assert_eq!(fields.len(), 1859);
        assert_eq!((fields[3 + 41], fields[1858]), ("3", "1"));
        assert_eq!(hist_log_line(0, LogDirection::Read, 0, &window, 3).split(", ").count(), 3 + 232);
    }

    #[test]
    fn a_stall_has_its_lines() {
        let second = |start: u64, count| Interval {
            start_ns: start * 1_000_000_000,
            length_ns: 1_000_000_000,
            ops: [(OpKind::Read, OpCounts { count, bytes: count * 4096, ..OpCounts::default() })].into(),
        };
        let log = samples_log(&[second(0, 256), second(1, 0)], &[LogDirection::Read], SampleLog::Bandwidth);
        assert_eq!(log, "1000, 1024, 0, 0, 0\n2000, 0, 0, 0, 0\n");
    }
}
