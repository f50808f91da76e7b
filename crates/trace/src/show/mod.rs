//! Characterises a recording in one pass. Memory depends on the number of files and threads, and not on the length.

mod arrivals;
mod burst;
mod histogram;
mod in_flight;
mod likeness;
mod pipeline;
pub(crate) mod rates;
mod reuse;
mod sequence;
mod sheet;
mod sizes;
mod without_storage;

pub use histogram::Histogram;
pub use likeness::{COMPARED_MIN, Likeness};
pub use pipeline::{Shown, characterise, show};
pub use rates::Rates;
pub use sheet::{Difference, METRICS, Metric, Sheet, SheetTable, TABLES, Unit, differences, distances, identifier};

use crate::names::Names;
use crate::record::{ACTS, Record, RecordedAct, UNKNOWN_NS, flag};
use arrivals::Arrivals;
use in_flight::InFlight;
use reuse::Reuse;
use sequence::Sequence;
use sizes::Sizes;
use std::cmp::Reverse;
use without_storage::WithoutStorage;

/// Maximum rows in the tables of files, threads and sizes.
const ROWS: usize = 10;

/// The flag of open(2) that creates a file.
const O_CREAT: u64 = 0o100;

/// Known state of a file.
#[derive(Debug, Clone, Copy, Default)]
struct FileState {
    ops: u64,
    /// Ops on removed files of the same name.
    ops_before: u64,
    bytes_read: u64,
    bytes_written: u64,
    /// Offset where the last op ended.
    end: u64,
    /// Highest offset that any op reached.
    size: u64,
    /// Consecutive ops that each continued the one before.
    run: u64,
    since_open: u64,
    made_ns: Option<u64>,
    /// Writes that are not durable yet.
    unflushed: u64,
}

impl FileState {
    fn all_ops(&self) -> u64 {
        self.ops_before + self.ops
    }
}

/// Totals of one act.
#[derive(Debug, Default)]
struct ActState {
    count: u64,
    bytes: u64,
    errors: u64,
    took: Histogram,
}

/// Flushes, and the writes that they made durable.
#[derive(Default)]
struct Durability {
    /// Bytes written since the last flush.
    written_since_flush: u64,
    /// Bytes written before each flush.
    flushes: Histogram,
    /// Writes made durable by a flush or by their own flags.
    durable: u64,
}

/// Sizes, use and lifetimes of files.
#[derive(Default)]
struct FileUse {
    /// Time from creation to removal, ns.
    lifetimes: Histogram,
    closed: Histogram,
    /// Bytes moved between an open and its close.
    per_open: Histogram,
}

/// Characterises a recording.
#[derive(Default)]
pub struct Character {
    records: u64,
    /// Reads and writes among the ops.
    data: u64,
    acts: [Option<Box<ActState>>; ACTS.len()],
    files: Vec<FileState>,
    /// Ops and bytes of each thread.
    threads: Vec<(u64, u64)>,
    arrivals: Arrivals,
    in_flight: InFlight,
    sizes: Sizes,
    sequence: Sequence,
    reuse: Reuse,
    durability: Durability,
    file_use: FileUse,
    /// Ops without an end.
    unfinished: u64,
    without_storage: WithoutStorage,
}

impl Character {
    pub fn new() -> Character {
        Character::default()
    }

    /// Learns the names of files before records refer to them.
    pub fn know(&mut self, names: &Names) {
        self.without_storage.add_names(names);
    }

    pub fn add(&mut self, record: &Record) {
        if self.without_storage.count(record) {
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
            self.in_flight.add(record, self.records);
        }
        self.arrivals.add(record);
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

    /// Adds a read or write.
    fn moved(&mut self, record: &Record) {
        let is_write = record.act == RecordedAct::Write;
        let moved = record.moved();
        self.data += 1;
        if let Some(act) = &mut self.acts[record.act as usize] {
            act.bytes += moved;
        }
        self.threads[record.task as usize].1 += moved;
        self.sizes.add(record.length, is_write);
        let file = &mut self.files[record.file as usize];
        if is_write {
            self.durability.written_since_flush += moved;
            let is_durable = record.flags & flag::SYNC != 0;
            self.durability.durable += u64::from(is_durable);
            file.unflushed += u64::from(!is_durable);
        }
        self.sequence.add(record, file);
        file.size = file.size.max(file.end);
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

    /// Adds any op other than a read or write.
    fn named(&mut self, record: &Record) {
        let succeeded = record.result >= 0;
        let file = &mut self.files[record.file as usize];
        match record.act {
            RecordedAct::Sync | RecordedAct::Datasync | RecordedAct::SyncAll | RecordedAct::SyncRange => {
                self.durability.flushes.add(std::mem::take(&mut self.durability.written_since_flush));
                match record.act {
                    RecordedAct::Sync | RecordedAct::Datasync if succeeded => {
                        self.durability.durable += std::mem::take(&mut file.unflushed);
                    }
                    RecordedAct::SyncAll if succeeded => {
                        self.durability.durable +=
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
                self.file_use.closed.add(file.size);
                self.file_use.per_open.add(file.since_open);
            }
            RecordedAct::Truncate if succeeded => file.size = record.length,
            RecordedAct::Unlink if succeeded => {
                if let Some(made_ns) = file.made_ns.take() {
                    self.file_use.lifetimes.add(record.at_ns.saturating_sub(made_ns));
                }
                // A later file of the same name is a different one.
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

    pub fn finish(mut self, names: &Names) -> Sheet {
        self.sizes.finish();
        let mut sheet = Sheet::default();
        let span_ns = self.arrivals.span_ns();
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
        sheet.put(section, "durable writes", share(self.durability.durable, writes.0));
        let errors: u64 = self.acts.iter().flatten().map(|state| state.errors).sum();
        sheet.put(section, "errors", errors as f64);

        self.arrivals.put(&mut sheet, self.records, reads.1 + writes.1);
        self.in_flight.put(&mut sheet, "arrivals", span_ns);

        if self.data > 0 {
            let section = "data ops";
            sheet.put(section, "mean size", self.sizes.all.mean());
            sheet.put(section, "size p50", self.sizes.all.quantile(0.5) as f64);
            sheet.put(section, "size p99", self.sizes.all.quantile(0.99) as f64);
            self.sequence.put(&mut sheet, section, self.data);
            if self.durability.flushes.total() > 0 {
                sheet.put(section, "written per flush, mean", self.durability.flushes.mean());
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
            if self.file_use.closed.total() > 0 {
                sheet.put(section, "size at close p50", self.file_use.closed.quantile(0.5) as f64);
                sheet.put(section, "moved per open p50", self.file_use.per_open.quantile(0.5) as f64);
            }
            if self.file_use.lifetimes.total() > 0 {
                sheet.put(section, "lifetime p50", self.file_use.lifetimes.quantile(0.5) as f64);
                sheet.put(section, "made and removed", self.file_use.lifetimes.total() as f64);
            }
        }
        self.tables(&mut sheet, names);
        self.notes(&mut sheet);
        sheet.rates = self.arrivals.rates;
        sheet.distributions = vec![
            ("gaps", self.arrivals.gaps),
            ("sizes", self.sizes.all),
            ("seeks", self.sequence.seeks),
            ("in flight", self.in_flight.depths),
        ];
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

        let size_row = |(size, [reads, writes]): &(u64, [u64; 2])| {
            let share = (reads + writes) as f64 / self.data.max(1) as f64;
            (size.to_string(), vec![*size as f64, share, *reads as f64, *writes as f64])
        };
        let rows = self.sizes.most_frequent(ROWS).iter().map(size_row).collect();
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
        sheet.notes.extend(self.without_storage.note());
        let mut note = |is_so: bool, text: String| {
            if is_so {
                sheet.notes.push(text);
            }
        };
        note(
            self.in_flight.depths.total() == 0 && self.records > 0,
            "No durations: the recording does not have them.".to_owned(),
        );
        note(self.unfinished > 0, format!("{} ops have no end in the recording.", self.unfinished));
        note(
            self.arrivals.out_of_order > 0,
            format!(
                "{} ops begin before their predecessor in the recording; they do not count as arrivals.",
                self.arrivals.out_of_order
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
