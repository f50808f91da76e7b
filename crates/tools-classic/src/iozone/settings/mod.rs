//! The settings of a command line.

mod buffers;
mod calls;
mod children;
mod conclude;
mod files;
mod number;
mod pace;
mod pattern;
pub(super) mod read;
mod reports;
mod selection;
mod sizes;
mod take;
mod telemetry;

pub(crate) use buffers::BufferOptions;
pub(crate) use calls::CallOptions;
pub(crate) use children::ChildOptions;
pub(crate) use files::TestFiles;
pub(crate) use pace::{PaceOptions, TimingOptions};
pub(crate) use pattern::{MixReaders, PatternOptions};
pub(crate) use reports::{Messages, Reports};
pub(crate) use selection::TestSelection;
pub(crate) use telemetry::{Telemetry, TelemetryFiles};

use super::pass::Test;
use super::sweep::{SizePoint, SizeSweep};
use buffers::ContentSeen;
use calls::CallsSeen;
use children::ChildrenSeen;
use files::FilesSeen;
use plumb_workload::Nanos;
use plumb_workload::program::{Advice, OpenPromise};
use sizes::SizesSeen;
use take::Given;

/// Maximum record size in bytes.
const RECORD_MAX_BYTES: u64 = 16 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestMode {
    Single(SizePoint),
    Auto(SizeSweep),
    /// Several processes or threads at once.
    Throughput {
        /// Numbers of processes, in order of the runs.
        counts: Vec<u32>,
        /// Sizes for each process; with `-+k`, the file size is the total.
        point: SizePoint,
        threads: bool,
    },
}

/// Unit of reported rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rate {
    /// kB of 1024 bytes per second.
    #[default]
    Kb,
    Ops,
    /// Microseconds per operation.
    Usec,
}

/// The written data, and the checked part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenContent {
    /// This byte in a word of each page.
    Pages(u8),
    /// This byte in the whole buffer.
    Whole(u8),
    /// Words that encode their offsets.
    UniqueWords,
    /// Data with percentages of compressible and of duplicate bytes.
    Reducible { compress: u8, duplicate: u8 },
    /// The contents of an existing file.
    Theirs,
}

/// The settings of a command line.
#[derive(Debug, Clone, PartialEq)]
pub struct IozoneSettings {
    pub messages: Messages,
    /// `--compat=strict`: whether output equals that of IOzone even if it is wrong.
    pub strict: bool,
    pub reports: Reports,
    /// `--repeat`: number of runs.
    pub repeat: u32,
    /// The test mode with the sizes of one run.
    pub mode: TestMode,
    pub tests: TestSelection,
    pub files: TestFiles,
    pub children: ChildOptions,
    pub timing: TimingOptions,
    pub calls: CallOptions,
    pub pattern: PatternOptions,
    pub buffers: BufferOptions,
    pub pace: PaceOptions,
    pub telemetry: TelemetryFiles,
}

/// An error and the output before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    pub message: String,
    pub error: String,
    pub code: u8,
    /// Whether the table's header is printed before it.
    pub after_table_head: bool,
}

impl IozoneSettings {
    fn new() -> IozoneSettings {
        IozoneSettings {
            messages: Messages { echo: Vec::new(), notes: Vec::new(), trouble: None },
            strict: false,
            reports: Reports {
                xlsx: None,
                biff: None,
                rate: Rate::Kb,
                report: false,
                cpu: false,
                latencies: false,
                histograms: false,
            },
            repeat: 1,
            mode: TestMode::Single(SizePoint { file_kb: 512, record_bytes: 4096 }),
            tests: TestSelection {
                selects: false,
                include: Vec::new(),
                extended: false,
                no_retest: false,
                only_writes_and_reads: false,
            },
            files: TestFiles {
                file: "iozone.tmp".to_owned(),
                files: Vec::new(),
                keep: false,
                no_truncate: false,
                existing: false,
                shared: false,
                aggregate: false,
                remount: None,
            },
            children: ChildOptions {
                each_child: false,
                stonewall: true,
                bind: None,
                processors: 1,
                start_delay: Nanos(0),
                limits: None,
            },
            timing: TimingOptions { flush: false, close: false, compute_counts: false },
            calls: CallOptions {
                promise: OpenPromise::Plain,
                read_promise: false,
                direct: false,
                mapped: None,
                aio: None,
                advice: Advice::None,
                locks: false,
                record_locks: false,
                mixes_io: false,
            },
            pattern: PatternOptions {
                stride: 17,
                mix_readers: None,
                mix_sequential: false,
                disturbs: false,
                truncates_mix: false,
            },
            buffers: BufferOptions {
                // The byte that 3.489 writes; other versions write other bytes.
                content: WrittenContent::Pages(0x5f),
                cache_bytes: 1 << 20,
                line_bytes: 32,
                purge: false,
                many_buffers: false,
            },
            pace: PaceOptions {
                compute: Nanos(0),
                rest: Nanos(0),
                burst: None,
                has_compute: false,
                records_per_second: None,
            },
            telemetry: TelemetryFiles { writes: None, reads: None },
        }
    }

    /// Returns the maximum total size of all files in kB.
    pub fn file_kb_max(&self) -> u64 {
        match &self.mode {
            TestMode::Single(point) => point.file_kb,
            TestMode::Auto(sweep) => sweep.points().map(|point| point.file_kb).max().unwrap_or(0),
            TestMode::Throughput { point, .. } if self.files.aggregate || self.files.shared => point.file_kb,
            TestMode::Throughput { counts, point, .. } => {
                point.file_kb.saturating_mul(counts.iter().copied().max().unwrap_or(1).into())
            }
        }
    }

    pub fn includes(&self, test: Test) -> bool {
        !self.tests.selects || self.tests.include.contains(&test)
    }

    /// Returns the single-process tests with a column in the table.
    pub fn table(&self) -> &'static [Test] {
        if self.tests.only_writes_and_reads {
            return &Test::ALL[..2];
        }
        // IOzone supports no streams and no positioned calls with mappings or async I/O.
        if self.calls.mapped.is_some() || self.calls.aio.is_some() { &Test::ALL[..6] } else { self.reported() }
    }

    /// Returns the tests with a report. It contains 0 for those that `-A`, mappings and async I/O skip.
    pub fn reported(&self) -> &'static [Test] {
        if self.tests.extended { Test::ALL } else { &Test::ALL[..9] }
    }
}

/// Facts that are complete only after all arguments have been read.
#[derive(Default)]
struct Seen {
    sizes: SizesSeen,
    children: ChildrenSeen,
    files: FilesSeen,
    stride: bool,
    calls: CallsSeen,
    usec: bool,
    missing: Vec<&'static str>,
    content: ContentSeen,
}
