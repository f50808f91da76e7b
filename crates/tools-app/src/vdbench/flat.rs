//! `flatfile.html`: the results of all intervals in named columns, for spreadsheets and scripts.

use super::print::{Done, Figures};
use super::print_files::{FilesDone, FlatFigures};
use super::script::{Rate, Run, Script};
use super::storage::Transfers;

/// Values that stand for the requested rate of `max` and of the first run of a curve.
const MAX_RATE: f64 = 9_999_988.0;
const CURVE_RATE: f64 = 9_999_977.0;

/// A column: its name, and its description in the file's header.
type Column = (&'static str, &'static str);

const BLOCKS: [Column; 23] = [
    ("Run", "Name of run from RD="),
    ("Interval", "Reporting interval number"),
    ("reqrate", "Requested i/o rate"),
    ("rate", "Observed i/o rate"),
    ("MB/sec", "Megabytes per second (MB=1024*1024)"),
    ("bytes/io", "Average data transfersize"),
    ("read%", "Observed read percentage"),
    ("resp", "Observed response time"),
    ("read_resp", "Observed read response time"),
    ("write_resp", "Observed write response time"),
    ("resp_max", "Observed maximum response time"),
    ("resp_std", "Standard deviation"),
    ("xfersize", "data transfer size requested"),
    ("threads", "number of threads requested"),
    ("rdpct", "read% requested"),
    ("rhpct", "readhit% requested"),
    ("whpct", "writehit% requested"),
    ("seekpct", "seek% requested"),
    ("lunsize", "Total amount of Gigabytes of all luns (GB= 1024*1024*1024)"),
    ("version", "Vdbench version identifier"),
    ("compratio", "Requested compression ratio"),
    ("dedupratio", "Requested dedup ratio"),
    ("queue_depth", "Vdbench calculated average i/o queue depth"),
];

const FILES: [Column; 13] = [
    ("Run", "Name of run from RD="),
    ("Interval", "Reporting interval number"),
    ("reqrate", "Requested FWD rate"),
    ("rate", "Requested operations per second"),
    ("resp", "Requested operations response time"),
    ("MB/sec", "Megabytes per second (MB=1024*1024)"),
    ("Read_rate", "Reads per second"),
    ("Read_resp", "Read response time"),
    ("Write_rate", "Writes per second"),
    ("Write_resp", "Write response time"),
    ("MB_read", "Megabytes read per second"),
    ("MB_write", "Megabytes written per second"),
    ("Xfersize", "Average transfer size"),
];

/// Operations on files. Each has a column for its rate and one for its response time.
const OPERATIONS: [&str; 11] =
    ["Mkdir", "Rmdir", "Create", "Open", "Close", "Delete", "Getattr", "Setattr", "Access", "Copy", "Move"];

const RATIOS: [Column; 2] = [("compratio", "Requested compression ratio"), ("dedupratio", "Requested dedup ratio")];

/// The last columns of all runs. They are empty here; `plumb show` prints CPU utilization.
const PROCESSOR: [Column; 5] = [
    ("cpu_used", "kstat: cpu% user+sys"),
    ("cpu_user", "kstat: cpu% user"),
    ("cpu_kernel", "kstat: cpu% sys "),
    ("cpu_wait", "kstat: cpu% wait"),
    ("cpu_idle", "kstat: cpu% idle"),
];

/// Time at which a line was written.
#[derive(Debug, Clone)]
pub struct Moment {
    /// Time of day with milliseconds.
    pub time: String,
    /// Date and time such as `02/20/2026-14:17:03-UTC`.
    pub date: String,
}

fn columns(has_files: bool) -> Vec<(String, String)> {
    let own = |columns: &[Column]| {
        columns.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect::<Vec<_>>()
    };
    let mut all = if has_files { own(&FILES) } else { own(&BLOCKS) };
    if has_files {
        for name in OPERATIONS {
            all.push((format!("{name}_rate"), format!("{name} operations per second")));
            all.push((format!("{name}_resp"), format!("{name} response time")));
        }
        all.extend(own(&RATIOS));
    }
    all.extend(own(&PROCESSOR));
    all
}

/// Returns the header: a description of each column, and the names. Readers recognise the line of
/// names by its leading blank.
pub fn header(has_files: bool) -> String {
    let columns = columns(has_files);
    let mut text = "*\n* 'flatfile.html' contains the results of each interval in columns.\n*\n".to_owned();
    for (name, what) in &columns {
        text.push_str(&format!("* {name:<16}: {what}\n"));
    }
    text.push_str("* 'n/a'           : Data not available, or conflicting data. eg. multiple different xfersize parameters used.\n* \n");
    let names: String = columns.iter().map(|(name, _)| format!("{name:>10} ")).collect();
    text + &format!("{:>12} {:>23} {names}\n", "tod", "timestamp")
}

fn number(value: f64) -> String {
    format!("{value:.4}")
}

/// Returns the common value, or `None`.
fn common<T: PartialEq + Copy>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

fn requested(run: &Run, rate: Option<f64>) -> String {
    number(match run.rate {
        Rate::Max => MAX_RATE,
        Rate::CurveMax => CURVE_RATE,
        _ => rate.unwrap_or(0.0),
    })
}

fn line(moment: &Moment, values: &[Option<String>]) -> String {
    let values = values.iter().map(|value| format!("{:>10} ", value.as_deref().unwrap_or("n/a")));
    format!("{:>12} {:>24} {}\n", moment.time, moment.date, values.collect::<String>())
}

/// Formats the line of an interval, or of the mean of several. `lengths` are those of existing storage;
/// `rate` is the requested rate.
pub fn of_blocks(
    (script, run, lengths): (&Script, &Run, &[Option<u64>]),
    rate: Option<f64>,
    moment: &Moment,
    title: &str,
    (done, seconds): (&Done, f64),
) -> String {
    let figures = Figures::new(done, seconds);
    let used = |name: &String| run.works.iter().any(|work| work.storage.contains(name));
    let active = || script.storage.iter().zip(lengths).filter(|(one, _)| used(&one.name));
    let threads = run.threads.or_else(|| common(active().map(|(one, _)| one.threads)));
    let bytes: u64 = active().filter_map(|(one, length)| one.bytes.or(*length)).sum();
    let transfer = common(run.works.iter().map(|work| match &work.transfers {
        Transfers::Fixed(bytes) => *bytes,
        Transfers::Mix(sizes) => sizes.first().map_or(0, |(bytes, _)| *bytes),
    }));
    let percent = |of: fn(&super::storage::Work) -> u8| common(run.works.iter().map(of)).map(|it| number(it.into()));
    let mut values = vec![
        Some(run.name.clone()),
        Some(title.to_owned()),
        Some(requested(run, rate)),
        Some(number(figures.rate)),
        Some(number(figures.mib_per_second)),
        Some(figures.bytes.to_string()),
        Some(number(figures.read_percent)),
        Some(number(figures.mean)),
        Some(number(figures.read_mean)),
        Some(number(figures.write_mean)),
        Some(number(figures.largest)),
        Some(number(figures.deviation)),
        transfer.map(|bytes| bytes.to_string()),
        Some(threads.map_or_else(|| "-1".to_owned(), |threads| threads.to_string())),
        percent(|work| work.read_percent),
        percent(|work| work.hits.0),
        percent(|work| work.hits.1),
        percent(|work| work.random_percent),
        Some(number(bytes as f64 / (1u64 << 30) as f64)),
        None,
        None,
        None,
        Some(number(figures.depth)),
    ];
    values.extend(PROCESSOR.map(|_| None));
    line(moment, &values)
}

/// Formats the same line for a run on files.
pub fn of_files(
    run: &Run,
    rate: Option<f64>,
    moment: &Moment,
    title: &str,
    (done, seconds): (&FilesDone, f64),
) -> String {
    let figures: FlatFigures = done.figures(run, seconds);
    let pair = |(rate, response): (f64, f64)| [Some(number(rate)), Some(number(response))];
    let mut values = vec![Some(run.name.clone()), Some(title.to_owned()), Some(requested(run, rate))];
    values.extend(pair(figures.requested));
    values.push(Some(number(figures.mib_read + figures.mib_written)));
    values.extend(pair(figures.transfers[0]));
    values.extend(pair(figures.transfers[1]));
    values.extend([Some(number(figures.mib_read)), Some(number(figures.mib_written))]);
    values.push(Some(figures.transfer_bytes.to_string()));
    values.extend(figures.calls.iter().flat_map(|call| pair(*call)));
    values.extend(RATIOS.map(|_| None));
    values.extend(PROCESSOR.map(|_| None));
    line(moment, &values)
}
