//! Progress of a running phase: CSV rows, and a status line.

use super::format::elapsed;
use super::report::WorkDone;

/// The line of labels.
pub const LABELS: &str = "ISO Date,Label,Phase,RuntimeMS,Rank,MixType,Done%,DoneBytes,MiB/s,IOPS,Entries,Entries/s,\
                          Lat Ent us,Lat IO us,Active,CPU,Service,\n";

/// A phase at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LiveMoment {
    /// Local time.
    pub date: String,
    /// A label for the results.
    pub label: String,
    /// The phase.
    pub phase: String,
    /// Since it began.
    pub runtime_ms: u64,
    /// All threads.
    pub total: LiveSide,
    /// Reads of a mix.
    pub mixed: Option<LiveSide>,
    /// Threads that are not done.
    pub active: usize,
    /// All processors, percent.
    pub cpu: u32,
    /// Each thread, where that is asked for.
    pub threads: Vec<LiveThread>,
}

/// One side of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiveSide {
    /// So far.
    pub done: WorkDone,
    /// A second, since the last moment.
    pub rates: WorkDone,
    /// Percentage of what there is to do.
    pub percent: u64,
    /// Mean latency of entries since the last moment, µs.
    pub entry_us: u64,
    /// Mean latency of reads or writes since then, µs.
    pub io_us: u64,
}

/// One thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiveThread {
    /// So far.
    pub done: WorkDone,
    /// Reads of a mix, where there is one.
    pub mixed: Option<WorkDone>,
    /// Percentage of what it has to do.
    pub percent: u64,
}

/// Rows of CSV.
pub fn rows(moment: &LiveMoment) -> String {
    let mut text = String::new();
    let begin = format!("{},{},{},{}", moment.date, moment.label.replace(',', " "), moment.phase, moment.runtime_ms);
    let is_mixed = moment.mixed.is_some();
    let sides = [(if is_mixed { "Write" } else { "" }, Some(moment.total)), ("Read", moment.mixed)];
    for (kind, side) in sides {
        let Some(LiveSide { done, rates, percent, entry_us, io_us }) = side else { continue };
        text.push_str(&format!(
            "{begin},Total,{kind},{},{},{},{},{},{},{entry_us},{io_us},{},{},,\n",
            percent.min(100),
            done.bytes,
            rates.bytes >> 20,
            rates.ios,
            done.entries,
            rates.entries,
            moment.active,
            moment.cpu,
        ));
    }
    for (number, thread) in moment.threads.iter().enumerate() {
        let sides = [(if is_mixed { "Write" } else { "" }, Some(thread.done)), ("Read", thread.mixed)];
        for (kind, done) in sides {
            let Some(done) = done else { continue };
            let percent = thread.percent.min(100);
            text.push_str(&format!("{begin},{number},{kind},{percent},{},,,{},,,,,,,\n", done.bytes, done.entries));
        }
    }
    text
}

/// A line for human readers.
pub fn line(moment: &LiveMoment) -> String {
    let LiveSide { done, rates, percent, .. } = moment.total;
    let mut text = format!("{}: {}%", moment.phase, percent.min(100));
    if rates.bytes > 0 {
        text.push_str(&format!("; {} IOPS; {} MiB/s", rates.ios, rates.bytes >> 20));
    }
    if let Some(mixed) = moment.mixed {
        text.push_str(&format!("; rd: {} IOPS; {} MiB/s", mixed.rates.ios, mixed.rates.bytes >> 20));
    }
    if rates.entries > 0 || done.entries > 0 {
        text.push_str(&format!("; {} entries/s; {} entries", rates.entries, done.entries));
    }
    text.push_str(&format!("; {} threads; {}% CPU; {}", moment.active, moment.cpu, elapsed(moment.runtime_ms)));
    text
}
