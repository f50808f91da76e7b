//! Transfers: records of one file, moved in a given order.

use super::trees::Wall;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Records of one open file, moved one after another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Transfer {
    /// Handle of the file; defaults to 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub handle: u16,
    /// Operation on each record.
    pub does: Moves,
    /// Bytes per record.
    pub record: Bytes,
    /// Number of records to move.
    pub count: u64,
    /// Order of the records, including the seeks.
    #[serde(default)]
    pub order: RecordOrder,
    /// System or library calls to use.
    #[serde(default)]
    pub via: Via,
    /// Lock each record while it is moved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub locks: bool,
    /// Call `fsync` after each written record.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flushes: bool,
    /// Pauses between records, in addition to those of a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<Pauses>,
    /// Minimum time from the start of one record to the start of the next, also after the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Nanos>,
    /// Reads of single bytes elsewhere in the file, which disturb read-ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detours: Option<Detours>,
    /// Stonewall: a time or count at which the transfer ends early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<Wall>,
    /// Start over after the last record until this time has passed since the start. A round
    /// that has begun is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats_for: Option<Nanos>,
}

/// Reads of single bytes between records. The file position is saved, each byte is sought and read, and the position
/// is restored. A mapped file is read in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Detours {
    /// Make the detour before the first of every N records.
    pub every: u64,
    /// Offsets in the file, in bytes.
    pub to: Vec<Bytes>,
}

/// Pauses between records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Pauses {
    /// Duration of each pause.
    pub time: Nanos,
    /// Pause after every N records.
    pub every: u64,
}

fn is_zero(number: &u16) -> bool {
    *number == 0
}

impl Transfer {
    /// Returns records of handle 0 in sequence, with plain calls and nothing in between.
    pub fn forward(does: Moves, record: Bytes, count: u64) -> Transfer {
        Transfer {
            handle: 0,
            does,
            record,
            count,
            order: RecordOrder::Forward,
            via: Via::Plain,
            locks: false,
            flushes: false,
            pauses: None,
            spacing: None,
            detours: None,
            wall: None,
            repeats_for: None,
        }
    }

    /// Returns the bytes that the transfer moves; rewritten bytes count once.
    pub fn bytes(&self) -> u64 {
        match &self.order {
            RecordOrder::Listed(records) => records.iter().map(|record| record.length.0).fold(0, u64::saturating_add),
            _ => self.record.0.saturating_mul(self.count).saturating_mul(self.records_a_call()),
        }
    }

    /// Returns the number of records per call.
    pub fn records_a_call(&self) -> u64 {
        match (self.via, &self.order) {
            (Via::Mpi { strided: true, .. }, RecordOrder::Segments(segments)) => segments.count,
            _ => 1,
        }
    }

    /// Returns the number of distinct bytes that are touched.
    pub fn touched_bytes(&self) -> u64 {
        match &self.order {
            RecordOrder::Same => self.record.0,
            RecordOrder::Listed(_) | RecordOrder::Segments(_) => self.bytes().min(self.end()),
            _ => self.bytes(),
        }
    }

    /// Returns the end offset of the touched part of the file, in bytes.
    pub fn end(&self) -> u64 {
        match &self.order {
            RecordOrder::Same => self.record.0,
            RecordOrder::Listed(records) => {
                records.iter().map(|record| record.offset.0.saturating_add(record.length.0)).max().unwrap_or(0)
            }
            RecordOrder::Segments(segments) => segments.end(),
            _ => self.record.0.saturating_mul(self.count),
        }
    }

    /// Returns the size of the largest record in bytes.
    pub fn largest_bytes(&self) -> u64 {
        match &self.order {
            RecordOrder::Listed(records) => records.iter().map(|record| record.length.0).max().unwrap_or(0),
            _ => self.record.0,
        }
    }

    /// Returns `true` if any record is read.
    pub fn reads(&self) -> bool {
        self.any(Moves::reads)
    }

    /// Returns `true` if any record is written.
    pub fn writes(&self) -> bool {
        self.any(Moves::writes)
    }

    /// Returns `true` if any record is written back to where it was read.
    pub fn rewrites(&self) -> bool {
        self.any(|moves| moves == Moves::Rewrite)
    }

    fn any(&self, moves: fn(Moves) -> bool) -> bool {
        match &self.order {
            RecordOrder::Listed(records) => records.iter().any(|record| moves(record.does.unwrap_or(self.does))),
            _ => moves(self.does),
        }
    }

    /// Returns the total time of all pauses.
    pub fn paused(&self) -> Nanos {
        let listed = match &self.order {
            RecordOrder::Listed(records) => records.iter().map(|record| record.pause.0).fold(0, u64::saturating_add),
            _ => 0,
        };
        let between = self.pauses.map_or(0, |pauses| pauses.time.0.saturating_mul(self.count / pauses.every.max(1)));
        Nanos(listed.saturating_add(between))
    }

    /// Returns `true` if there is waiting time between records.
    pub fn waits(&self) -> bool {
        !self.paused().is_zero() || self.spacing.is_some()
    }

    /// Returns `true` if every record is moved exactly once.
    pub fn covers_once(&self) -> bool {
        matches!(self.order, RecordOrder::Forward | RecordOrder::Backward | RecordOrder::Shuffled(_))
    }
}

/// Operation on each record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Moves {
    /// Read each record into memory.
    Read,
    /// Write each record from memory.
    Write,
    /// Read the record, change it in memory, and write it back.
    Rewrite,
}

impl Moves {
    /// Returns `true` if the record is read.
    pub fn reads(self) -> bool {
        self != Moves::Write
    }

    /// Returns `true` if the record is written.
    pub fn writes(self) -> bool {
        self != Moves::Read
    }
}

/// Order of the records, including the seeks. A seek is part of the op that follows or precedes it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum RecordOrder {
    /// From the current file position, without seeks.
    #[default]
    Forward,
    /// Backward from the end: seek back one record before the first, and two records after each.
    Backward,
    /// Every Nth record from the beginning. When the next one would lie after the second-to-last record, the next
    /// round begins one record later than the previous one. Seeks after each record.
    Strided {
        /// Distance from one record to the next, in records.
        records: u64,
    },
    /// Each record once in shuffled order, with a seek before each.
    Shuffled(Shuffle),
    /// The first record repeatedly, with a seek back after each.
    Same,
    /// The listed records, each with a seek before and a pause after it; `record` and `count` are ignored.
    Listed(Vec<ListedRecord>),
    /// One block of records in each segment of the file, with a seek before each record. `count`
    /// may not exceed the total.
    Segments(Segments),
}

/// Blocks of one worker in a file that many write: one block per segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Segments {
    /// Offset of the worker's first block.
    pub first: Bytes,
    /// Bytes per block.
    pub block: Bytes,
    /// Distance from one of the worker's blocks to its next.
    pub stride: Bytes,
    /// Number of segments.
    pub count: u64,
    /// Order in which records are moved.
    #[serde(default)]
    pub order: SegmentOrder,
}

impl Segments {
    /// Returns the end offset of the blocks, in bytes.
    pub fn end(&self) -> u64 {
        match self.order {
            SegmentOrder::Anywhere { blocks, .. } => blocks.saturating_mul(self.block.0),
            _ => {
                let last = self.count.saturating_sub(1).saturating_mul(self.stride.0);
                self.first.0.saturating_add(last).saturating_add(self.block.0)
            }
        }
    }
}

/// Order of records in segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum SegmentOrder {
    /// From the first record to the last.
    #[default]
    Forward,
    /// A random order of records, the same in each block.
    Shuffled {
        /// Seed of the random order.
        seed: u64,
    },
    /// A random block of the whole file each time, from its beginning.
    Anywhere {
        /// Seed of the random draws.
        seed: u64,
        /// Number of blocks in the file.
        blocks: u64,
    },
}

/// A shuffled order that is the same on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Shuffle {
    /// IOzone's order: from the last record down, each is swapped with one drawn by MT19937-64. The seed is
    /// `init_by_array64` of {0x12345, 0x23456, 0x34567, 0x45678}.
    Iozone,
}

/// One record of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ListedRecord {
    /// Offset in the file, in bytes.
    pub offset: Bytes,
    /// Bytes of the record.
    pub length: Bytes,
    /// Pause after the record.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub pause: Nanos,
    /// Operation on this record; defaults to the transfer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub does: Option<Moves>,
}

/// Calls that move records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Via {
    /// `read`/`write`, with `lseek` as the order requires.
    #[default]
    Plain,
    /// `pread`/`pwrite`, without seeks.
    Positioned,
    /// `fread`/`fwrite`, with `fseek` as the order requires.
    Stdio,
    /// `getc`/`putc` byte by byte. One op is a whole record.
    Characters,
    /// `getc_unlocked`/`putc_unlocked` byte by byte. One op is a whole record.
    UnlockedCharacters,
    /// `read`/`write` of one byte each. One op is a whole record.
    Bytes,
    /// Loads and stores through the handle's mapping.
    Mapped {
        /// Call `msync` on each record, with `MS_SYNC` if true and `MS_ASYNC` if false; no call when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sync: Option<bool>,
    },
    /// `aio_read`/`aio_write` of the C library. Up to this many writes are in flight, and reads are issued ahead.
    PosixAio {
        /// Maximum ops in flight.
        depth: u32,
        /// Copy data to and from separate buffers instead of using it in place.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        copies: bool,
    },
    /// `io_submit` and `io_getevents` of the kernel. Each record uses memory of its own, and its op is over once the
    /// request is prepared. Flushing or closing any of the worker's files waits for all requests, and so does each
    /// read whose data is checked.
    KernelAio {
        /// Maximum requests prepared or in flight. When reached, the worker waits for a batch of them.
        depth: u32,
        /// Requests that are submitted together and waited for together.
        batch: u32,
    },
    /// `MPI_File_read_at`/`MPI_File_write_at` on a file opened with MPI-IO.
    Mpi {
        /// Use the collective `MPI_File_read_at_all`/`MPI_File_write_at_all`, for all ranks that opened the file.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        together: bool,
        /// Let one call move a record of every block of `segments`; `count` may not exceed the records of a block. A
        /// write puts the same data into each block, and a read keeps one of the records. All ranks that opened the
        /// file set its view before each call (`MPI_File_set_view`).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        strided: bool,
    },
}

impl Via {
    /// Returns `true` if each record is moved collectively, by all ranks that opened the file.
    pub fn is_together(self) -> bool {
        matches!(self, Via::Mpi { together: true, .. } | Via::Mpi { strided: true, .. })
    }
}
