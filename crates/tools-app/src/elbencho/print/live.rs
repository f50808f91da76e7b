//! Progress of a running phase: CSV rows and a status line.

use super::format::elapsed;
use super::report::WorkDone;

/// Header row of the CSV.
pub const LABELS: &str = "ISO Date,Label,Phase,RuntimeMS,Rank,MixType,Done%,DoneBytes,MiB/s,IOPS,Entries,Entries/s,\
                          Lat Ent us,Lat IO us,Active,CPU,Service,\n";

/// A phase at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LiveMoment {
    /// Local time, formatted.
    pub date: String,
    pub label: String,
    pub phase: String,
    /// Time since the phase began.
    pub runtime_ms: u64,
    /// Totals of all threads; without the reads of a mix.
    pub total: LiveSide,
    /// Reads of a mix.
    pub mixed: Option<LiveSide>,
    /// Number of threads that are still working.
    pub active: usize,
    /// Utilization of all CPUs, percent.
    pub cpu: u32,
    /// Each thread, with `--livecsvex`; otherwise empty.
    pub threads: Vec<LiveThread>,
}

/// Progress of writes, or of the reads of a mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiveSide {
    /// Work done since the phase began.
    pub done: WorkDone,
    /// Rates per second since the previous moment.
    pub rates: WorkDone,
    /// Percentage of the work that is done.
    pub percent: u64,
    /// Mean latency of entries since the previous moment, µs.
    pub entry_us: u64,
    /// Mean latency of reads or writes since the previous moment, µs.
    pub io_us: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiveThread {
    /// Work done since the phase began.
    pub done: WorkDone,
    /// Reads of a mix; `None` without a mix.
    pub mixed: Option<WorkDone>,
    /// Percentage of the thread's work that is done.
    pub percent: u64,
}

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

impl LiveSide {
    /// Returns the rates of the work since this moment, over `us` microseconds.
    pub fn rates_until(&self, done: WorkDone, us: u64) -> WorkDone {
        let since = WorkDone {
            entries: done.entries.saturating_sub(self.done.entries),
            ios: done.ios.saturating_sub(self.done.ios),
            bytes: done.bytes.saturating_sub(self.done.bytes),
        };
        since.per_second(us)
    }
}

pub fn line(moment: &LiveMoment) -> String {
    let head = format!("{}: {}%", moment.phase, moment.total.percent.min(100));
    progress(moment, head, "threads")
}

/// Formats the progress of real services, which do not say how much work they have.
pub fn services_line(moment: &LiveMoment) -> String {
    progress(moment, moment.phase.clone(), "services")
}

fn progress(moment: &LiveMoment, head: String, units: &str) -> String {
    let LiveSide { done, rates, .. } = moment.total;
    let mut text = head;
    if rates.bytes > 0 {
        text.push_str(&format!("; {} IOPS; {} MiB/s", rates.ios, rates.bytes >> 20));
    }
    if let Some(mixed) = moment.mixed {
        text.push_str(&format!("; rd: {} IOPS; {} MiB/s", mixed.rates.ios, mixed.rates.bytes >> 20));
    }
    if rates.entries > 0 || done.entries > 0 {
        text.push_str(&format!("; {} entries/s; {} entries", rates.entries, done.entries));
    }
    text.push_str(&format!("; {} {units}; {}% CPU; {}", moment.active, moment.cpu, elapsed(moment.runtime_ms)));
    text
}
