//! What a recording is like: found in one pass, in memory that depends on the number of its files and threads, and not on its length.

mod apart;
mod burst;
mod histogram;
mod pipeline;
pub(crate) mod rates;
mod reuse;
mod sheet;

pub use histogram::Histogram;
pub use pipeline::{Shown, characterise, show};
pub use rates::Rates;
pub use sheet::{Difference, METRICS, Metric, Sheet, SheetTable, TABLES, Unit, differences, distances, identifier};

use crate::names::Names;
use crate::record::{ACTS, Record, RecordedAct, UNKNOWN_NS, flag};
use apart::Apart;
use burst::{Burst, WIDTHS_NS};
use reuse::Reuse;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Rows of tables of files, threads and sizes.
const ROWS: usize = 10;

/// Sizes that are counted one by one at most.
const SIZES_MAX: usize = 4096;

/// Ops in flight that are counted at most.
const IN_FLIGHT_MAX: usize = 4096;

/// Of a long recording, ops in flight are counted in an eighth of it: in the first of every eight windows of so many ops, but for
/// the first few, which do not know what was in flight before them.
const IN_FLIGHT_WINDOW: u64 = 4096;
const IN_FLIGHT_WARM_UP: u64 = 256;
const LONG: u64 = 1 << 17;

/// Slots by which sizes are found without a search.
const SIZE_SLOTS: usize = 64;

/// Ends of ops that are remembered, to see streams that continue them.
const STREAMS: usize = 256;

/// The flag of open(2) that makes a file.
const O_CREAT: u64 = 0o100;

/// What is known of a file.
#[derive(Debug, Clone, Copy, Default)]
struct FileState {
    ops: u64,
    /// Those on files of the same name that were removed.
    ops_before: u64,
    bytes_read: u64,
    bytes_written: u64,
    /// Where the last op on it ended.
    end: u64,
    /// How far anything reached.
    size: u64,
    /// Ops in a row that each continued the one before.
    run: u64,
    since_open: u64,
    made_ns: Option<u64>,
    /// Writes that nothing has made durable yet.
    unflushed: u64,
}

impl FileState {
    fn all_ops(&self) -> u64 {
        self.ops_before + self.ops
    }
}

/// What is known of an act.
#[derive(Debug, Default)]
struct ActState {
    count: u64,
    bytes: u64,
    errors: u64,
    took: Histogram,
}

/// Finds out what a recording is like.
#[derive(Default)]
pub struct Character {
    records: u64,
    data: u64,
    acts: [Option<Box<ActState>>; ACTS.len()],
    files: Vec<FileState>,
    threads: Vec<(u64, u64)>,
    first_ns: Option<u64>,
    last_ns: u64,
    out_of_order: u64,
    gaps: Histogram,
    sizes: Histogram,
    by_size: HashMap<u64, [u64; 2]>,
    /// Sizes that were met lately, with counts that are not in `by_size` yet.
    recent_sizes: Vec<(u64, [u64; 2])>,
    /// Squares of gaps, ns², summed up.
    gap_squares: f64,
    burst: Burst,
    rates: Rates,
    sequential: u64,
    streaming: u64,
    streams: Vec<u64>,
    runs: Histogram,
    seeks: Histogram,
    aligned: [u64; 2],
    in_flight: BinaryHeap<Reverse<u64>>,
    depths: Histogram,
    took_ns: f64,
    reuse: Reuse,
    written_since_flush: u64,
    flushes: Histogram,
    durable: u64,
    lifetimes: Histogram,
    closed: Histogram,
    per_open: Histogram,
    unfinished: u64,
    apart: Apart,
}

impl Character {
    /// Nothing yet.
    pub fn new() -> Character {
        Character {
            streams: vec![u64::MAX; STREAMS],
            recent_sizes: vec![(0, [0; 2]); SIZE_SLOTS],
            ..Character::default()
        }
    }

    /// Learns which files there are, before records name them.
    pub fn know(&mut self, names: &Names) {
        self.apart.know(names);
    }

    /// Takes a record.
    pub fn add(&mut self, record: &Record) {
        if self.apart.takes(record) {
            return;
        }
        let act = self.acts[record.act as usize].get_or_insert_default();
        if record.act == RecordedAct::Add {
            act.count += 1;
            return;
        }
        self.records += 1;
        act.count += 1;
        act.errors += u64::from(record.result < 0);
        if record.flags & flag::UNFINISHED != 0 {
            self.unfinished += 1;
        }
        if record.took_ns != UNKNOWN_NS {
            act.took.add(record.took_ns);
            self.took_ns += record.took_ns as f64;
            self.depth(record);
        }
        let before_ns = if self.first_ns.is_none() { record.at_ns } else { self.last_ns };
        self.first_ns.get_or_insert(record.at_ns);
        match record.at_ns.checked_sub(before_ns) {
            Some(gap) => {
                if self.records > 1 {
                    self.gaps.add(gap);
                    self.gap_squares += gap as f64 * gap as f64;
                }
                self.last_ns = record.at_ns;
                self.burst.add(record.at_ns);
                self.rates.add(record.at_ns - self.first_ns.unwrap_or(0), record.act);
            }
            None => self.out_of_order += 1,
        }
        let thread = record.task as usize;
        if thread >= self.threads.len() {
            self.threads.resize(thread + 1, (0, 0));
        }
        self.threads[thread].0 += 1;
        let file = record.file as usize;
        if file >= self.files.len() {
            self.files.resize(file + 1, FileState::default());
        }
        self.files[file].ops += 1;
        if record.act.moves_data() {
            self.moved(record);
        } else {
            self.named(record);
        }
    }

    /// Ops in flight when this one begins, itself included.
    fn depth(&mut self, record: &Record) {
        let in_window = self.records % IN_FLIGHT_WINDOW;
        if self.records >= LONG {
            if !(self.records / IN_FLIGHT_WINDOW).is_multiple_of(8) {
                return;
            }
            if in_window == 0 {
                self.in_flight.clear();
            }
        }
        while self.in_flight.peek().is_some_and(|Reverse(end_ns)| *end_ns <= record.at_ns) {
            self.in_flight.pop();
        }
        if self.in_flight.len() < IN_FLIGHT_MAX {
            self.in_flight.push(Reverse(record.at_ns.saturating_add(record.took_ns)));
        }
        if self.records < LONG || in_window >= IN_FLIGHT_WARM_UP {
            self.depths.add(self.in_flight.len() as u64);
        }
    }

    /// A read or write.
    fn moved(&mut self, record: &Record) {
        let is_write = record.act == RecordedAct::Write;
        let moved = record.moved();
        self.data += 1;
        if let Some(act) = &mut self.acts[record.act as usize] {
            act.bytes += moved;
        }
        self.threads[record.task as usize].1 += moved;
        self.size(record.length, is_write);
        if is_write {
            self.written_since_flush += moved;
            let is_durable = record.flags & flag::SYNC != 0;
            self.durable += u64::from(is_durable);
            self.files[record.file as usize].unflushed += u64::from(!is_durable);
        }
        let edges = record.offset | record.length;
        self.aligned[0] += u64::from(edges.is_multiple_of(512));
        self.aligned[1] += u64::from(edges.is_multiple_of(4096));
        let end = record.offset.saturating_add(moved);
        let salt = u64::from(record.file).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let stream = |place: u64| (place ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = |key: u64| (key >> 56) as usize;
        let (wanted, next) = (stream(record.offset), stream(end));
        let file = &mut self.files[record.file as usize];
        let is_first = file.bytes_read + file.bytes_written == 0 && file.end == 0;
        if record.offset == file.end && !is_first {
            self.sequential += 1;
            file.run += 1;
        } else if !is_first {
            self.seeks.add(record.offset.abs_diff(file.end));
            self.runs.add(file.run);
            file.run = 1;
        } else {
            file.run = 1;
        }
        self.streaming += u64::from(self.streams[slot(wanted)] == wanted && !is_first);
        self.streams[slot(next)] = next;
        file.end = end;
        file.size = file.size.max(end);
        file.since_open += moved;
        if is_write {
            file.bytes_written += moved;
        } else {
            file.bytes_read += moved;
        }
        if record.length > 0 {
            self.reuse.add(record.file, record.offset, record.length, is_write);
        }
    }

    fn size(&mut self, length: u64, is_write: bool) {
        self.sizes.add(length);
        let slot = (length.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize;
        if self.recent_sizes[slot].0 != length {
            self.keep_size(slot);
            self.recent_sizes[slot].0 = length;
        }
        self.recent_sizes[slot].1[usize::from(is_write)] += 1;
    }

    /// Moves the counts of a slot to those of all sizes.
    fn keep_size(&mut self, slot: usize) {
        let (length, counts) = self.recent_sizes[slot];
        self.recent_sizes[slot].1 = [0; 2];
        if counts != [0; 2] && (self.by_size.len() < SIZES_MAX || self.by_size.contains_key(&length)) {
            let all = self.by_size.entry(length).or_default();
            all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
        }
    }

    /// Anything but a read or write.
    fn named(&mut self, record: &Record) {
        let succeeded = record.result >= 0;
        let file = &mut self.files[record.file as usize];
        match record.act {
            RecordedAct::Sync | RecordedAct::Datasync | RecordedAct::SyncAll | RecordedAct::SyncRange => {
                self.flushes.add(std::mem::take(&mut self.written_since_flush));
                match record.act {
                    RecordedAct::Sync | RecordedAct::Datasync if succeeded => {
                        self.durable += std::mem::take(&mut file.unflushed);
                    }
                    RecordedAct::SyncAll if succeeded => {
                        self.durable +=
                            self.files.iter_mut().map(|file| std::mem::take(&mut file.unflushed)).sum::<u64>();
                    }
                    // sync_file_range(2) makes nothing durable.
                    _ => {}
                }
            }
            RecordedAct::Open if succeeded => {
                file.since_open = 0;
                if record.aux & O_CREAT != 0 && file.ops == 1 {
                    file.made_ns = Some(record.at_ns);
                }
            }
            RecordedAct::Close if succeeded && file.bytes_read + file.bytes_written > 0 => {
                self.closed.add(file.size);
                self.per_open.add(file.since_open);
            }
            RecordedAct::Truncate if succeeded => file.size = record.length,
            RecordedAct::Unlink if succeeded => {
                if let Some(made_ns) = file.made_ns.take() {
                    self.lifetimes.add(record.at_ns.saturating_sub(made_ns));
                }
                // A file of the same name is another one.
                *file = FileState {
                    ops_before: file.ops_before + file.ops,
                    bytes_read: file.bytes_read,
                    bytes_written: file.bytes_written,
                    ..FileState::default()
                };
            }
            RecordedAct::Trim => {
                if let Some(act) = &mut self.acts[record.act as usize] {
                    act.bytes += record.length;
                }
            }
            _ => {}
        }
    }

    /// What was found out.
    pub fn finish(mut self, names: &Names) -> Sheet {
        (0..SIZE_SLOTS).for_each(|slot| self.keep_size(slot));
        let mut sheet = Sheet::default();
        let span_ns = self.last_ns.saturating_sub(self.first_ns.unwrap_or(0)) as f64;
        let per_second = |count: f64| if span_ns > 0.0 { count / (span_ns / 1e9) } else { 0.0 };
        let act =
            |act: RecordedAct| self.acts[act as usize].as_deref().map_or((0, 0), |state| (state.count, state.bytes));
        let (reads, writes) = (act(RecordedAct::Read), act(RecordedAct::Write));
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let used = self.files.iter().filter(|file| file.ops > 0 || file.bytes_read + file.bytes_written > 0).count();
        let threads = self.threads.iter().filter(|(ops, _)| *ops > 0).count();

        let section = "mix";
        sheet.put(section, "ops", self.records as f64);
        sheet.put(section, "length", span_ns);
        sheet.put(section, "files", used as f64);
        sheet.put(section, "threads", threads as f64);
        sheet.put(section, "reads of data ops", share(reads.0, self.data));
        sheet.put(section, "read", reads.1 as f64);
        sheet.put(section, "written", writes.1 as f64);
        sheet.put(section, "durable writes", share(self.durable, writes.0));
        let errors: u64 = self.acts.iter().flatten().map(|state| state.errors).sum();
        sheet.put(section, "errors", errors as f64);

        let section = "arrivals";
        if span_ns > 0.0 {
            sheet.put(section, "ops", per_second(self.records as f64));
            sheet.put(section, "data", per_second((reads.1 + writes.1) as f64));
            sheet.put(section, "mean gap", self.gaps.mean());
            sheet.put(section, "gap p50", self.gaps.quantile(0.5) as f64);
            sheet.put(section, "gap p99", self.gaps.quantile(0.99) as f64);
            let mean = self.gaps.mean();
            let squares = self.gap_squares / self.gaps.total().max(1) as f64;
            let variation = if mean > 0.0 { (squares / (mean * mean) - 1.0).max(0.0) } else { 0.0 };
            sheet.put(section, "squared variation of gaps", variation);
            let peak = self.burst.peak(3) as f64 / per_second(self.records as f64).max(1e-9);
            if span_ns > 2e9 {
                sheet.put(section, "busiest second by mean", peak);
            }
            const NAMES: [&str; WIDTHS_NS.len()] = [
                "dispersion at 1 ms",
                "dispersion at 10 ms",
                "dispersion at 100 ms",
                "dispersion at 1 s",
                "dispersion at 10 s",
            ];
            for (name, value) in NAMES.into_iter().zip(self.burst.dispersion()) {
                if let Some(value) = value {
                    sheet.put(section, name, value);
                }
            }
            if let Some(hurst) = self.burst.hurst() {
                sheet.put(section, "Hurst exponent", hurst);
            }
        }
        if self.depths.total() > 0 {
            if span_ns > 0.0 {
                sheet.put(section, "mean in flight", self.took_ns / span_ns);
            }
            sheet.put(section, "in flight p99", self.depths.quantile(0.99) as f64);
        }

        if self.data > 0 {
            let section = "data ops";
            sheet.put(section, "mean size", self.sizes.mean());
            sheet.put(section, "size p50", self.sizes.quantile(0.5) as f64);
            sheet.put(section, "size p99", self.sizes.quantile(0.99) as f64);
            sheet.put(section, "multiples of 512 B", share(self.aligned[0], self.data));
            sheet.put(section, "multiples of 4 KiB", share(self.aligned[1], self.data));
            sheet.put(section, "sequential in their file", share(self.sequential, self.data));
            sheet.put(section, "continue a recent op", share(self.streaming, self.data));
            if self.runs.total() > 0 {
                sheet.put(section, "mean run", self.runs.mean());
                sheet.put(section, "seek p50", self.seeks.quantile(0.5) as f64);
            }
            if self.flushes.total() > 0 {
                sheet.put(section, "written per flush, mean", self.flushes.mean());
            }
            let section = "locality";
            let [read_only, write_only, both] = self.reuse.working_set();
            sheet.put(section, "working set", read_only + write_only + both);
            sheet.put(section, "only read", read_only);
            sheet.put(section, "only written", write_only);
            sheet.put(section, "read and written", both);
            sheet.put(section, "first use of a block", self.reuse.cold_share());
            if let Some(([one, ten, twenty], zipf)) = self.reuse.concentration() {
                sheet.put(section, "uses of the hottest 1 %", one);
                sheet.put(section, "uses of the hottest 10 %", ten);
                sheet.put(section, "uses of the hottest 20 %", twenty);
                if let Some(zipf) = zipf {
                    sheet.put(section, "Zipf exponent", zipf);
                }
            }
        }
        let (opens, unlinks) = (act(RecordedAct::Open).0, act(RecordedAct::Unlink).0);
        if opens + unlinks > 0 {
            let section = "files";
            sheet.put(section, "opens", opens as f64);
            sheet.put(section, "unlinks", unlinks as f64);
            if self.closed.total() > 0 {
                sheet.put(section, "size at close p50", self.closed.quantile(0.5) as f64);
                sheet.put(section, "moved per open p50", self.per_open.quantile(0.5) as f64);
            }
            if self.lifetimes.total() > 0 {
                sheet.put(section, "lifetime p50", self.lifetimes.quantile(0.5) as f64);
                sheet.put(section, "made and removed", self.lifetimes.total() as f64);
            }
        }
        self.tables(&mut sheet, names);
        self.notes(&mut sheet);
        sheet.rates = self.rates;
        sheet.distributions =
            vec![("gaps", self.gaps), ("sizes", self.sizes), ("seeks", self.seeks), ("in flight", self.depths)];
        for (state, (_, name)) in self.acts.into_iter().zip(ACTS) {
            sheet.distributions.extend(state.filter(|state| state.took.total() > 0).map(|state| (name, state.took)));
        }
        sheet
    }

    fn tables(&self, sheet: &mut Sheet, names: &Names) {
        let known = |histogram: &Histogram, share: f64| match histogram.total() {
            0 => f64::NAN,
            _ => histogram.quantile(share) as f64,
        };
        let mut rows: Vec<(String, Vec<f64>)> = self
            .acts
            .iter()
            .zip(ACTS)
            .filter_map(|(state, (_, name))| Some((name, state.as_deref()?)))
            .map(|(name, state)| {
                let share = state.count as f64 / self.records.max(1) as f64;
                let took = [0.5, 0.99].map(|share| known(&state.took, share));
                (
                    name.to_owned(),
                    vec![state.count as f64, share, state.bytes as f64, took[0], took[1], state.errors as f64],
                )
            })
            .collect();
        rows.retain(|(name, _)| name != RecordedAct::Add.name());
        rows.sort_by(|one, other| other.1[0].total_cmp(&one.1[0]));
        sheet.table_of("ops", rows);

        let mut sizes: Vec<(u64, [u64; 2])> = self.by_size.iter().map(|(size, counts)| (*size, *counts)).collect();
        sizes.sort_by_key(|(size, [reads, writes])| (Reverse(reads + writes), *size));
        let size_row = |(size, [reads, writes]): &(u64, [u64; 2])| {
            let share = (reads + writes) as f64 / self.data.max(1) as f64;
            (size.to_string(), vec![*size as f64, share, *reads as f64, *writes as f64])
        };
        let rows = sizes.iter().take(ROWS).map(size_row).collect();
        sheet.table_of("sizes", rows);

        let ratios = self.reuse.miss_ratios();
        let rows = ratios.iter().map(|(size, ratio)| ((*size as u64 >> 20).to_string(), vec![*ratio])).collect();
        sheet.table_of("miss ratios", rows);

        let mut files: Vec<(usize, &FileState)> =
            self.files.iter().enumerate().filter(|(_, file)| file.all_ops() > 0).collect();
        files.sort_by_key(|(_, file)| Reverse(file.all_ops()));
        let file_row = |(number, file): &(usize, &FileState)| {
            let name = names.files().get(*number).map(ToString::to_string).unwrap_or_default();
            let share = file.all_ops() as f64 / self.records.max(1) as f64;
            (name, vec![file.all_ops() as f64, share, file.bytes_read as f64, file.bytes_written as f64])
        };
        let rows = files.iter().take(ROWS).map(file_row).collect();
        sheet.table_of("busiest files", rows);

        let mut threads: Vec<(usize, &(u64, u64))> =
            self.threads.iter().enumerate().filter(|(_, (ops, _))| *ops > 0).collect();
        threads.sort_by_key(|(_, (ops, _))| Reverse(*ops));
        let thread_row = |(number, (ops, bytes)): &(usize, &(u64, u64))| {
            let name =
                names.tasks().get(*number).map_or(String::new(), |task| format!("{} {}", task.thread, task.command));
            (name.trim().to_owned(), vec![*ops as f64, *bytes as f64])
        };
        let rows = threads.iter().take(ROWS).map(thread_row).collect();
        sheet.table_of("busiest threads", rows);
    }

    fn notes(&self, sheet: &mut Sheet) {
        sheet.notes.extend(self.apart.note());
        let mut note = |is_so: bool, text: String| {
            if is_so {
                sheet.notes.push(text);
            }
        };
        note(
            self.depths.total() == 0 && self.records > 0,
            "No durations: the recording does not have them.".to_owned(),
        );
        note(self.unfinished > 0, format!("{} ops have no end in the recording.", self.unfinished));
        note(
            self.out_of_order > 0,
            format!(
                "{} ops begin before the one that stands before them; they do not count as arrivals.",
                self.out_of_order
            ),
        );
        note(
            self.data > 0 && !self.reuse.is_exact(),
            "Working set, hot blocks and miss ratios are from a sample of blocks (SHARDS).".to_owned(),
        );
        note(
            self.acts[RecordedAct::Map as usize].is_some(),
            "Files were mapped into memory: what was read and written through maps is not in the recording.".to_owned(),
        );
    }
}
