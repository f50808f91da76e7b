//! Output for runs on files: rate and response time of each operation, in two columns.

use super::operation::Operation;
use super::script::{Rate, Run};
use plumb_result::measurement::OpMeasurement;
use plumb_workload::OpKind;
use std::collections::BTreeMap;

const MIB: f64 = 1_048_576.0;

/// A pair of columns for one operation.
struct Column {
    title: &'static str,
    operation: Operation,
    kind: OpKind,
    /// Whether the column is printed only if the run has the operation.
    is_optional: bool,
}

const fn column(title: &'static str, operation: Operation, kind: OpKind) -> Column {
    Column { title, operation, kind, is_optional: false }
}

const fn optional(title: &'static str, operation: Operation, kind: OpKind) -> Column {
    Column { title, operation, kind, is_optional: true }
}

/// Reads and writes, printed before the bytes.
const TRANSFERS: [Column; 2] =
    [column("read", Operation::Read, OpKind::Read), column("write", Operation::Write, OpKind::Write)];

const CALLS: [Column; 11] = [
    column("mkdir", Operation::Mkdir, OpKind::Mkdir),
    column("rmdir", Operation::Rmdir, OpKind::Rmdir),
    column("create", Operation::Create, OpKind::Create),
    column("open", Operation::Open, OpKind::Open),
    column("close", Operation::Close, OpKind::Close),
    column("delete", Operation::Delete, OpKind::Unlink),
    optional("getattr", Operation::Getattr, OpKind::Stat),
    optional("setattr", Operation::Setattr, OpKind::Utimens),
    optional("access", Operation::Access, OpKind::Access),
    // A copy consists of several calls: see `FilesDone::of_column`.
    optional("copy", Operation::Copy, OpKind::Write),
    optional("move", Operation::Move, OpKind::Write),
];

/// The values of an interval in the flat file: rates, each with its response time in milliseconds.
pub(super) struct FlatFigures {
    pub(super) requested: (f64, f64),
    pub(super) transfers: [(f64, f64); 2],
    pub(super) calls: [(f64, f64); 11],
    pub(super) mib_read: f64,
    pub(super) mib_written: f64,
    pub(super) transfer_bytes: u64,
}

/// Totals up to some moment of the run.
#[derive(Debug, Clone, Default)]
pub struct FilesDone {
    /// Count, total time (ns) and bytes of each op kind.
    counts: BTreeMap<OpKind, (u64, u128, u64)>,
    /// Number of files that were copied or moved.
    copies: u64,
}

impl FilesDone {
    /// Sums up ops. `copies` is the number of files that they copied or moved.
    pub fn from_ops(ops: &BTreeMap<OpKind, OpMeasurement>, copies: u64) -> FilesDone {
        let counts = ops.iter().map(|(kind, ops)| (*kind, (ops.count, ops.service.sum(), ops.bytes))).collect();
        FilesDone { counts, copies }
    }

    /// Returns the difference to an earlier moment.
    pub fn since(&self, earlier: &FilesDone) -> FilesDone {
        let less = |kind: &OpKind, now: &(u64, u128, u64)| {
            let (count, sum, bytes) = earlier.counts.get(kind).copied().unwrap_or_default();
            (now.0.saturating_sub(count), now.1.saturating_sub(sum), now.2.saturating_sub(bytes))
        };
        FilesDone {
            counts: self.counts.iter().map(|(kind, now)| (*kind, less(kind, now))).collect(),
            copies: self.copies.saturating_sub(earlier.copies),
        }
    }

    fn of_kind(&self, kind: OpKind) -> (u64, u128, u64) {
        self.counts.get(&kind).copied().unwrap_or_default()
    }

    /// Returns count and total time of a column. A copy includes all calls on its file, because a run
    /// that copies does nothing else.
    fn of_column(&self, column: &Column) -> (u64, u128) {
        if matches!(column.operation, Operation::Copy | Operation::Move) {
            return (self.copies, self.counts.iter().map(|(_, (_, sum, _))| sum).sum());
        }
        let (count, sum, _) = self.of_kind(column.kind);
        (count, sum)
    }

    /// Returns count and total time of the requested operations.
    fn requested(&self, run: &Run) -> (u64, u128) {
        let columns = || TRANSFERS.iter().chain(&CALLS).filter(|column| asks_for(run, column.operation));
        let each = || columns().map(|column| self.of_column(column));
        (each().map(|(count, _)| count).sum(), each().map(|(_, sum)| sum).sum())
    }

    /// Returns the values of the flat file.
    pub(super) fn figures(&self, run: &Run, seconds: f64) -> FlatFigures {
        let pair = |(count, sum): (u64, u128)| {
            let rate = if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
            (rate, if count > 0 { sum as f64 / count as f64 / 1e6 } else { 0.0 })
        };
        // Only in a run that copies do all calls belong to copies.
        let of = |column: &Column| {
            let copies = matches!(column.operation, Operation::Copy | Operation::Move);
            pair(if copies && !asks_for(run, column.operation) { (0, 0) } else { self.of_column(column) })
        };
        let ((reads, _, read_bytes), (writes, _, written)) = (self.of_kind(OpKind::Read), self.of_kind(OpKind::Write));
        let mib = |bytes: u64| if seconds > 0.0 { bytes as f64 / MIB / seconds } else { 0.0 };
        FlatFigures {
            requested: pair(self.requested(run)),
            transfers: TRANSFERS.each_ref().map(of),
            calls: CALLS.each_ref().map(of),
            mib_read: mib(read_bytes),
            mib_written: mib(written),
            transfer_bytes: (read_bytes + written) / (reads + writes).max(1),
        }
    }

    /// Returns the requested operations per second.
    pub fn rate(&self, run: &Run, seconds: f64) -> f64 {
        if seconds > 0.0 { self.requested(run).0 as f64 / seconds } else { 0.0 }
    }
}

fn asks_for(run: &Run, operation: Operation) -> bool {
    run.file_works.iter().any(|work| work.counts().contains(&operation))
}

/// Formats the text before a run. `now` is a time of day with milliseconds.
pub fn starting(run: &Run, rate: Option<f64>, now: &str, simulates: bool) -> String {
    let verb = if simulates { "Simulating" } else { "Starting" };
    if run.format.is_some() {
        return format!("{now} {verb} RD={}\n", run.name);
    }
    let warmup = if run.warmup_s > 0 { format!(" warmup={}", run.warmup_s) } else { String::new() };
    let rate = match (run.rate, rate) {
        (Rate::Max, _) => "max. ".to_owned(),
        (Rate::CurveMax, _) => "curve. ".to_owned(),
        (_, Some(rate)) => format!("{rate:.0}; "),
        (Rate::CurvePercent(percent), None) => format!("{percent}% of the curve's largest; "),
        (Rate::PerSecond(rate), None) => format!("{rate}; "),
    };
    format!("{now} {verb} RD={}; elapsed={}{warmup}; fwdrate={rate}For loops: {}\n", run.name, run.elapsed_s, run.loops)
}

/// Centers a word between dots.
fn dotted(word: &str, width: usize) -> String {
    let dots = width.saturating_sub(word.len());
    format!(" {}{word}{}", ".".repeat(dots / 2), ".".repeat(dots - dots / 2))
}

fn calls(run: &Run) -> impl Iterator<Item = &'static Column> {
    CALLS.iter().filter(move |column| !column.is_optional || asks_for(run, column.operation))
}

/// Widths of rate and response time.
const WIDE: (usize, usize) = (6, 6);
const NARROW: (usize, usize) = (5, 6);

fn pair_above(word: &str, (rate, response): (usize, usize)) -> String {
    dotted(word, rate + response + 1)
}

fn pair_below((rate, response): (usize, usize)) -> String {
    format!(" {:>rate$} {:>response$}", "rate", "resp")
}

/// Formats the two header lines. `today` is a date such as `Feb 20, 2026`.
pub fn header(run: &Run, today: &str) -> String {
    let mut above = [dotted("Interval", 10), pair_above("ReqstdOps.", WIDE), dotted(" read", 5)].concat();
    let mut below = [format!(" {:>10}", ""), pair_below(WIDE), format!(" {:>5}", "pct")].concat();
    for column in &TRANSFERS {
        above.push_str(&pair_above(column.title, WIDE));
        below.push_str(&pair_below(WIDE));
    }
    above.push_str(&[dotted("mb/sec", 11), dotted("mb/sec", 6), dotted("xfer", 7)].concat());
    below.push_str(&format!(" {:>5} {:>5} {:>6} {:>7}", "read", "write", "total", "size"));
    let mut add = |word: &str| {
        above.push_str(&pair_above(word, NARROW));
        below.push_str(&pair_below(NARROW));
    };
    for column in calls(run) {
        add(column.title);
    }
    format!("\n{today}{above}\n            {below}\n")
}

/// Formats a number so that it fits its column, with fewer decimals if necessary.
fn fit(value: f64, width: usize, digits: usize) -> String {
    let texts = (0..=digits).rev().map(|digits| format!("{value:.digits$}"));
    let text = texts.into_iter().find(|text| text.len() <= width);
    format!(" {:>width$}", text.unwrap_or_else(|| format!("{value:.0}")))
}

fn pair(count: u64, sum: u128, seconds: f64, (rate, response): (usize, usize)) -> String {
    let per_second = if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let mean_ms = if count > 0 { sum as f64 / count as f64 / 1e6 } else { 0.0 };
    fit(per_second, rate, 1) + &fit(mean_ms, response, 3)
}

/// Formats the line of an interval, or of the mean of several, with this title.
pub fn line(run: &Run, now: &str, title: &str, done: &FilesDone, seconds: f64) -> String {
    let (requested, sum) = done.requested(run);
    let ((reads, _, read_bytes), (writes, _, written)) = (done.of_kind(OpKind::Read), done.of_kind(OpKind::Write));
    let all = reads + writes;
    let mib = |bytes: u64| if seconds > 0.0 { bytes as f64 / MIB / seconds } else { 0.0 };
    let percent = if all > 0 { reads as f64 * 100.0 / all as f64 } else { 0.0 };
    let mut line = format!("{now} {title:>10}{}{}", pair(requested, sum, seconds, WIDE), fit(percent, 5, 1));
    for column in &TRANSFERS {
        let (count, sum, _) = done.of_kind(column.kind);
        line.push_str(&pair(count, sum, seconds, WIDE));
    }
    line.push_str(&(fit(mib(read_bytes), 5, 2) + &fit(mib(written), 5, 2) + &fit(mib(read_bytes + written), 6, 2)));
    line.push_str(&fit(((read_bytes + written) / all.max(1)) as f64, 7, 0));
    for column in calls(run) {
        let (count, sum) = done.of_column(column);
        line.push_str(&pair(count, sum, seconds, NARROW));
    }
    format!("{line}\n")
}
