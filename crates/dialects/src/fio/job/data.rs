//! What is written, whether it lasts, and whether it comes back.

use super::keywords::{DedupeMode, SyncOpen, VerifyMethod, Word};
use super::values::Values;
use crate::fio::value::choice::SyncRange;
use crate::fio::value::pattern::Piece;

/// When data is made to last.
#[derive(Debug, Clone, PartialEq)]
pub struct Durability {
    /// fsync after every so many writes.
    pub fsync: Option<u32>,
    /// fdatasync after every so many writes.
    pub fdatasync: Option<u32>,
    /// sync_file_range after every so many writes.
    pub sync_file_range: Option<SyncRange>,
    /// With which flags files are opened.
    pub sync: SyncOpen,
    /// Sync files in the end.
    pub end_fsync: bool,
    /// Sync whenever a file is closed.
    pub fsync_on_close: bool,
    /// Sync the file system in the end.
    pub end_syncfs: bool,
}

impl Durability {
    pub(super) fn of(values: &Values) -> Durability {
        Durability {
            fsync: values.count_unless_zero("fsync"),
            fdatasync: values.count_unless_zero("fdatasync"),
            sync_file_range: values.sync_range("sync_file_range"),
            sync: SyncOpen::of(values),
            end_fsync: values.switch("end_fsync"),
            fsync_on_close: values.switch("fsync_on_close"),
            end_syncfs: values.switch("end_syncfs"),
        }
    }
}

/// Is what comes back what was written?
#[derive(Debug, Clone, PartialEq)]
pub struct Verify {
    /// How blocks are stamped.
    pub method: VerifyMethod,
    /// Read back and check after writing.
    pub do_verify: bool,
    /// Write nothing; check what is there.
    pub only: bool,
    /// Only writes that were synced are expected to be there.
    pub after_fsync: bool,
    /// Bytes one stamp covers; the smallest block where absent.
    pub interval: Option<u32>,
    /// Where in the block the stamp lies.
    pub offset: u32,
    /// The content; empty where none is said.
    pub pattern: Vec<Piece>,
    /// The pattern starts anew every so many bytes.
    pub pattern_interval: Option<u32>,
    /// End at the first wrong block.
    pub fatal: bool,
    /// Save blocks that differ.
    pub dump: bool,
    /// Check in so many threads of their own.
    pub async_threads: u32,
    /// The CPUs of those threads.
    pub async_cpus: Option<Vec<u32>>,
    /// Check after every so many writes.
    pub backlog: Option<u64>,
    /// Check so many blocks at a time.
    pub backlog_batch: Option<u32>,
    /// Find the blocks by repeating the draws.
    pub experimental: bool,
    /// Begin with a saved state.
    pub state_load: bool,
    /// Save the state in the end.
    pub state_save: bool,
    /// Check sequence numbers.
    pub write_sequence: bool,
    /// Check seeds.
    pub header_seed: bool,
}

impl Verify {
    pub(super) fn of(values: &Values) -> Verify {
        Verify {
            method: VerifyMethod::of(values),
            do_verify: values.switch("do_verify"),
            only: values.switch("verify_only"),
            after_fsync: values.maybe_choices("verify_policy").is_some_and(|words| words.contains(&"fsynced")),
            interval: values.maybe_count("verify_interval"),
            offset: values.count("verify_offset"),
            pattern: values.pattern("verify_pattern").unwrap_or_default(),
            pattern_interval: values.count_unless_zero("verify_pattern_interval"),
            fatal: values.switch("verify_fatal"),
            dump: values.switch("verify_dump"),
            async_threads: values.count("verify_async"),
            async_cpus: values.cpus("verify_async_cpus"),
            backlog: values.wide_unless_zero("verify_backlog"),
            backlog_batch: values.count_unless_zero("verify_backlog_batch"),
            experimental: values.switch("experimental_verify"),
            state_load: values.switch("verify_state_load"),
            state_save: values.switch("verify_state_save"),
            write_sequence: values.switch("verify_write_sequence"),
            header_seed: values.switch("verify_header_seed"),
        }
    }
}

/// Trims amid other work.
#[derive(Debug, Clone, PartialEq)]
pub struct Trim {
    /// Per cent of written blocks that are trimmed later.
    pub percentage: u32,
    /// Expect zeros where a block was trimmed.
    pub verify_zero: bool,
    /// Trim after so many written blocks.
    pub backlog: Option<u64>,
    /// Trim so many at a time.
    pub backlog_batch: Option<u32>,
}

impl Trim {
    pub(super) fn of(values: &Values) -> Trim {
        Trim {
            percentage: values.count("trim_percentage"),
            verify_zero: values.switch("trim_verify_zero"),
            backlog: values.wide_unless_zero("trim_backlog"),
            backlog_batch: values.count_unless_zero("trim_backlog_batch"),
        }
    }
}

/// Ops from a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// Record every op here.
    pub write_iolog: Option<String>,
    /// Repeat this recording.
    pub read_iolog: Option<String>,
    /// Read it piece by piece.
    pub chunked: bool,
    /// As fast as possible.
    pub no_stall: bool,
    /// Send all ops here.
    pub redirect: Option<String>,
    /// Divide offsets by this.
    pub scale: u32,
    /// Round offsets to a multiple of this.
    pub align: Option<u32>,
    /// Per cent of the recorded speed.
    pub time_scale_percent: u32,
    /// Kinds of op left out: read, write, trim, sync.
    pub skip: Vec<&'static str>,
    /// Merge recordings into this file first.
    pub merge_file: Option<String>,
    /// Stretch each by these per cents.
    pub merge_scalars: Vec<f64>,
    /// Repeat each so often.
    pub merge_iters: Vec<f64>,
}

impl Replay {
    pub(super) fn of(values: &Values) -> Replay {
        Replay {
            write_iolog: values.text("write_iolog"),
            read_iolog: values.text("read_iolog"),
            chunked: values.switch("read_iolog_chunked"),
            no_stall: values.switch("replay_no_stall"),
            redirect: values.text("replay_redirect"),
            scale: values.count("replay_scale").max(1),
            align: values.count_unless_zero("replay_align"),
            time_scale_percent: values.count("replay_time_scale"),
            skip: values.maybe_choices("replay_skip").unwrap_or_default(),
            merge_file: values.text("merge_blktrace_file"),
            merge_scalars: values.floats("merge_blktrace_scalars"),
            merge_iters: values.floats("merge_blktrace_iters"),
        }
    }
}

/// What is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Content {
    /// Zeros.
    pub zero: bool,
    /// New random data for every write.
    pub refill: bool,
    /// A little change in each buffer.
    pub scramble: bool,
    /// This pattern; empty where none is said.
    pub pattern: Vec<Piece>,
    /// Per cent each buffer can be compressed by.
    pub compress_percentage: Option<u32>,
    /// Within so many bytes.
    pub compress_chunk_bytes: u32,
    /// Per cent of buffers that repeat.
    pub dedupe_percentage: Option<u32>,
    /// Which ones.
    pub dedupe_mode: DedupeMode,
    /// Size of the set, in per cent of the job.
    pub dedupe_working_set_percentage: u32,
    /// Share the set among all jobs.
    pub dedupe_global: bool,
}

impl Content {
    pub(super) fn of(values: &Values) -> Content {
        Content {
            zero: values.switch("zero_buffers"),
            refill: values.switch("refill_buffers"),
            scramble: values.switch("scramble_buffers"),
            pattern: values.pattern("buffer_pattern").unwrap_or_default(),
            compress_percentage: values.maybe_count("buffer_compress_percentage"),
            compress_chunk_bytes: values.count("buffer_compress_chunk"),
            dedupe_percentage: values.maybe_count("dedupe_percentage"),
            dedupe_mode: DedupeMode::of(values),
            dedupe_working_set_percentage: values.count("dedupe_working_set_percentage"),
            dedupe_global: values.switch("dedupe_global"),
        }
    }
}
