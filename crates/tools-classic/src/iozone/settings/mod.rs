//! The settings of a command line.

mod conclude;
mod number;
pub(super) mod read;
mod take;
mod telemetry;

use super::pass::Test;
use super::sweep::{SizePoint, SizeSweep};
use plumb_workload::Nanos;
use plumb_workload::program::{Advice, ListedRecord, OpenPromise};

/// Largest record, bytes.
const RECORD_MAX_BYTES: u64 = 16 << 20;

/// What is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestMode {
    /// One size.
    Single(SizePoint),
    /// Many sizes.
    Auto(SizeSweep),
    /// Several processes or threads at once.
    Throughput {
        /// How many, one after another.
        counts: Vec<u32>,
        /// Of each; the file is that of all together with `-+k`.
        point: SizePoint,
        /// As threads.
        threads: bool,
    },
}

/// What rates are reported in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rate {
    /// kB of 1024 bytes a second.
    #[default]
    Kb,
    /// Operations a second.
    Ops,
    /// Microseconds an operation.
    Usec,
}

/// What is written, and how much of it is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenContent {
    /// A word of this byte each page.
    Pages(u8),
    /// This byte everywhere.
    Whole(u8),
    /// Words that encode their offsets.
    Told,
    /// Percentages of it that are duplicates and that are compressible.
    Reducible {
        /// Percent.
        compress: u8,
        /// Percent.
        duplicate: u8,
    },
    /// What an existing file holds.
    Theirs,
}

/// Records of a telemetry file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Telemetry {
    /// As given.
    pub path: String,
    /// In its order.
    pub records: Vec<ListedRecord>,
    /// Whether its lines say how long to compute.
    pub has_delays: bool,
}

impl Telemetry {
    /// The end of what it reaches, kB.
    pub fn file_kb(&self) -> u64 {
        self.records.iter().map(|record| record.offset.0.saturating_add(record.length.0)).max().unwrap_or(0) / 1024
    }
}

/// What a command line means.
#[derive(Debug, Clone, PartialEq)]
pub struct IozoneSettings {
    /// Lines that are printed below the banner.
    pub echo: Vec<String>,
    /// Notes about deviations from what IOzone silently does; for standard error.
    pub notes: Vec<String>,
    /// An error reported after the banner.
    pub trouble: Option<Trouble>,
    /// Do and print what IOzone does.
    pub strict: bool,
    /// Where a workbook goes.
    pub xlsx: Option<String>,
    /// Where the spreadsheet of `-b` goes.
    pub biff: Option<String>,
    /// How often all is run.
    pub repeat: u32,
    /// What is run.
    pub mode: TestMode,
    /// Only the tests of `include`.
    pub selects: bool,
    /// Tests that were asked for.
    pub include: Vec<Test>,
    /// The extension tests too.
    pub extended: bool,
    /// The file of a single-process test.
    pub file: String,
    /// Files of children.
    pub files: Vec<String>,
    /// What rates are reported in.
    pub rate: Rate,
    /// The report for spreadsheets.
    pub report: bool,
    /// Bytes of each child.
    pub each_child: bool,
    /// The use of processors.
    pub cpu: bool,
    /// `fsync` counts.
    pub flush: bool,
    /// `close` counts.
    pub close: bool,
    /// Whether writes are synchronous.
    pub promise: OpenPromise,
    /// Reads too.
    pub read_promise: bool,
    /// With direct I/O.
    pub direct: bool,
    /// Through mappings, with this sync per record.
    pub mapped: Option<Option<bool>>,
    /// POSIX async I/O: depth, and whether it copies.
    pub aio: Option<(u32, bool)>,
    /// The hints that the kernel gets about mappings.
    pub advice: Advice,
    /// From one record of the stride test to the next.
    pub stride: u64,
    /// What is written.
    pub content: WrittenContent,
    /// Of the processor's cache.
    pub cache_bytes: u64,
    /// Of a line of it.
    pub line_bytes: u64,
    /// Empty it before each op.
    pub purge: bool,
    /// Several buffers.
    pub many_buffers: bool,
    /// Files stay.
    pub keep: bool,
    /// Existing files are not truncated.
    pub no_truncate: bool,
    /// An existing file is read, and nothing is changed.
    pub existing: bool,
    /// Files are locked.
    pub locks: bool,
    /// Records are locked.
    pub record_locks: bool,
    /// All children use one file.
    pub shared: bool,
    /// No second pass.
    pub no_retest: bool,
    /// All children stop when the first one ends.
    pub stonewall: bool,
    /// First processor of the children.
    pub bind: Option<u32>,
    /// How many processors there are.
    pub processors: u32,
    /// Between the starts of children.
    pub start_delay: Nanos,
    /// Before each op.
    pub compute: Nanos,
    /// It counts.
    pub compute_counts: bool,
    /// Between tests.
    pub rest: Nanos,
    /// Bytes of a burst, and the pause after it.
    pub burst: Option<(u64, Nanos)>,
    /// How many children of the mix read; every other one by default.
    pub mix_readers: Option<MixReaders>,
    /// The mix is sequential.
    pub mix_sequential: bool,
    /// The file size is that of all children.
    pub aggregate: bool,
    /// Offsets and latencies are written to files.
    pub latencies: bool,
    /// Histograms are written to files.
    pub histograms: bool,
    /// Mount point to remount.
    pub remount: Option<String>,
    /// Records of writes.
    pub writes: Option<Telemetry>,
    /// Records of reads.
    pub reads: Option<Telemetry>,
    /// The limits of `-l` and `-u`, for their lines.
    pub limits: Option<(u32, u32)>,
    /// `-J` was said.
    pub says_compute: bool,
    /// Sequential reads include extra reads elsewhere (`-K`).
    pub disturbs: bool,
    /// A page is written by a call before a file is written, mapped or not.
    pub mixes_io: bool,
    /// Records of each child a second.
    pub records_per_second: Option<u32>,
    /// Writers of a sequential mix truncate their files first.
    pub truncates_mix: bool,
    /// `-A`: whatever `-i` says.
    pub only_writes_and_reads: bool,
}

/// Which children of the mix read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MixReaders {
    /// Percentage of them.
    Percent(u32),
    /// This many.
    Count(u32),
}

/// An error and the output before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// On standard output.
    pub message: String,
    /// On standard error.
    pub error: String,
    /// The exit code.
    pub code: u8,
    /// The head of the table comes before it.
    pub behind_table: bool,
}

impl IozoneSettings {
    fn new() -> IozoneSettings {
        IozoneSettings {
            echo: Vec::new(),
            notes: Vec::new(),
            trouble: None,
            strict: false,
            xlsx: None,
            biff: None,
            repeat: 1,
            mode: TestMode::Single(SizePoint { file_kb: 512, record_bytes: 4096 }),
            selects: false,
            include: Vec::new(),
            extended: false,
            file: "iozone.tmp".to_owned(),
            files: Vec::new(),
            rate: Rate::Kb,
            report: false,
            each_child: false,
            cpu: false,
            flush: false,
            close: false,
            promise: OpenPromise::Plain,
            read_promise: false,
            direct: false,
            mapped: None,
            aio: None,
            advice: Advice::None,
            stride: 17,
            // What 3.489 writes; other versions write others.
            content: WrittenContent::Pages(0x5f),
            cache_bytes: 1 << 20,
            line_bytes: 32,
            purge: false,
            many_buffers: false,
            keep: false,
            no_truncate: false,
            existing: false,
            locks: false,
            record_locks: false,
            shared: false,
            no_retest: false,
            stonewall: true,
            bind: None,
            processors: 1,
            start_delay: Nanos(0),
            compute: Nanos(0),
            compute_counts: false,
            rest: Nanos(0),
            burst: None,
            mix_readers: None,
            mix_sequential: false,
            aggregate: false,
            latencies: false,
            histograms: false,
            remount: None,
            writes: None,
            reads: None,
            limits: None,
            says_compute: false,
            disturbs: false,
            mixes_io: false,
            records_per_second: None,
            truncates_mix: false,
            only_writes_and_reads: false,
        }
    }

    /// The largest size of all files together, kB.
    pub fn file_kb_max(&self) -> u64 {
        match &self.mode {
            TestMode::Single(point) => point.file_kb,
            TestMode::Auto(sweep) => sweep.points().map(|point| point.file_kb).max().unwrap_or(0),
            TestMode::Throughput { point, .. } if self.aggregate || self.shared => point.file_kb,
            TestMode::Throughput { counts, point, .. } => {
                point.file_kb.saturating_mul(counts.iter().copied().max().unwrap_or(1).into())
            }
        }
    }

    /// Whether a test runs.
    pub fn includes(&self, test: Test) -> bool {
        !self.selects || self.include.contains(&test)
    }

    /// The single-process tests with a column in the table.
    pub fn table(&self) -> &'static [Test] {
        if self.only_writes_and_reads {
            return &Test::ALL[..2];
        }
        // IOzone has no streams and no positioned calls with mappings and async I/O.
        if self.mapped.is_some() || self.aio.is_some() { &Test::ALL[..6] } else { self.reported() }
    }

    /// The tests with a report, which has 0 for those that `-A`, mappings and async I/O leave out.
    pub fn reported(&self) -> &'static [Test] {
        if self.extended { Test::ALL } else { &Test::ALL[..9] }
    }
}

/// What is known only once all arguments are read.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) auto: bool,
    pub(super) no_crossover: bool,
    pub(super) files_kb: Vec<u64>,
    pub(super) records: Vec<u64>,
    pub(super) min_file_kb: Option<u64>,
    pub(super) max_file_kb: Option<u64>,
    pub(super) min_record: Option<u64>,
    pub(super) max_record: Option<u64>,
    pub(super) times: u64,
    pub(super) children: Vec<u32>,
    pub(super) lower: Option<u32>,
    pub(super) upper: Option<u32>,
    pub(super) throughput: bool,
    pub(super) threads: bool,
    pub(super) file: bool,
    pub(super) named_files: bool,
    pub(super) stride: bool,
    pub(super) mapped: bool,
    pub(super) mapped_sync: Option<bool>,
    pub(super) copies: bool,
    pub(super) no_copies: bool,
    pub(super) usec: bool,
    pub(super) missing: Vec<&'static str>,
    pub(super) duplicate: Option<u8>,
    pub(super) compress: Option<u8>,
    pub(super) diagnostic: bool,
}
