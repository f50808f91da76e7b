//! Transfers: records of one file, moved in an order.

use super::trees::Wall;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Records of one open file, moved one after another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Transfer {
    /// Number of the handle.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub handle: u16,
    /// What is done to each record.
    pub does: Moves,
    /// Bytes of a record.
    pub record: Bytes,
    /// How many records.
    pub count: u64,
    /// In which order, and with which seeks.
    #[serde(default)]
    pub order: RecordOrder,
    /// By which calls.
    #[serde(default)]
    pub via: Via,
    /// Each record is locked while it is moved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub locks: bool,
    /// `fsync` behind each record that is written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flushes: bool,
    /// Pauses between records, beside those of a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<Pauses>,
    /// At least so long from the start of a record to that of the next, and behind the last one, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Nanos>,
    /// Reads of single bytes elsewhere, which disturb whoever reads ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detours: Option<Detours>,
    /// Stonewall: a time or count at which the transfer ends early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<Wall>,
    /// It begins again behind its last record until so much time has passed since it began. A round that was begun is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats_for: Option<Nanos>,
}

/// Reads of single bytes between records: the place is asked for, each byte is sought and read, and the place is sought
/// again. Of a mapping, too, they are reads of its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Detours {
    /// Ahead of the first of every N records.
    pub every: u64,
    /// Where, in bytes from the beginning of the file.
    pub to: Vec<Bytes>,
}

/// Pauses between records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Pauses {
    /// How long each is.
    pub time: Nanos,
    /// One behind every N records.
    pub every: u64,
}

fn is_zero(number: &u16) -> bool {
    *number == 0
}

impl Transfer {
    /// Records of handle 0 in sequence, by plain calls, with nothing between them.
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

    /// Bytes that it moves; those of a rewrite are counted once.
    pub fn bytes(&self) -> u64 {
        match &self.order {
            RecordOrder::Listed(records) => records.iter().map(|record| record.length.0).fold(0, u64::saturating_add),
            _ => self.record.0.saturating_mul(self.count).saturating_mul(self.records_a_call()),
        }
    }

    /// How many records one call moves.
    pub fn records_a_call(&self) -> u64 {
        match (self.via, &self.order) {
            (Via::Mpi { strided: true, .. }, RecordOrder::Segments(segments)) => segments.count,
            _ => 1,
        }
    }

    /// Distinct bytes that it touches.
    pub fn touched_bytes(&self) -> u64 {
        match &self.order {
            RecordOrder::Same => self.record.0,
            RecordOrder::Listed(_) | RecordOrder::Segments(_) => self.bytes().min(self.end()),
            _ => self.bytes(),
        }
    }

    /// The end of what it reaches of its file, bytes.
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

    /// Bytes of its largest record.
    pub fn largest_bytes(&self) -> u64 {
        match &self.order {
            RecordOrder::Listed(records) => records.iter().map(|record| record.length.0).max().unwrap_or(0),
            _ => self.record.0,
        }
    }

    /// Whether any of its records is read.
    pub fn reads(&self) -> bool {
        self.any(Moves::reads)
    }

    /// Whether any of its records is written.
    pub fn writes(&self) -> bool {
        self.any(Moves::writes)
    }

    /// Whether any of its records is written back to where it was read.
    pub fn rewrites(&self) -> bool {
        self.any(|moves| moves == Moves::Rewrite)
    }

    fn any(&self, moves: fn(Moves) -> bool) -> bool {
        match &self.order {
            RecordOrder::Listed(records) => records.iter().any(|record| moves(record.does.unwrap_or(self.does))),
            _ => moves(self.does),
        }
    }

    /// Time that it pauses altogether.
    pub fn paused(&self) -> Nanos {
        let listed = match &self.order {
            RecordOrder::Listed(records) => records.iter().map(|record| record.pause.0).fold(0, u64::saturating_add),
            _ => 0,
        };
        let between = self.pauses.map_or(0, |pauses| pauses.time.0.saturating_mul(self.count / pauses.every.max(1)));
        Nanos(listed.saturating_add(between))
    }

    /// Whether time passes between its records that no record takes.
    pub fn waits(&self) -> bool {
        !self.paused().is_zero() || self.spacing.is_some()
    }

    /// Whether it reaches every record once, and no other.
    pub fn covers_once(&self) -> bool {
        matches!(self.order, RecordOrder::Forward | RecordOrder::Backward | RecordOrder::Shuffled(_))
    }
}

/// What is done to each record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Moves {
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// It is read, changed in memory, and written back to its place.
    Rewrite,
}

impl Moves {
    /// Whether it reads.
    pub fn reads(self) -> bool {
        self != Moves::Write
    }

    /// Whether it writes.
    pub fn writes(self) -> bool {
        self != Moves::Read
    }
}

/// In which order records are moved. Which seeks are made is part of it; a seek belongs to the op behind or before it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum RecordOrder {
    /// From where the file stands, without any seek.
    #[default]
    Forward,
    /// From the end: one record back from there before the first, and two back after each.
    Backward,
    /// Every Nth record, from the beginning. Where the next would lie behind the last but one, the next round
    /// begins one record later than the one before. A seek after each.
    Strided {
        /// From one record to the next, in records.
        records: u64,
    },
    /// Each once, in a shuffled order. A seek before each.
    Shuffled(Shuffle),
    /// The first one over and over, with a seek back to it after each.
    Same,
    /// These, each with a seek before and a pause behind; `record` and `count` say nothing then.
    Listed(Vec<ListedRecord>),
    /// Blocks of records, one of each segment of the file. A seek before each record; `count` is at most all of them.
    Segments(Segments),
}

/// A worker's blocks in a file that many write: one in each segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Segments {
    /// Where the worker's first block lies.
    pub first: Bytes,
    /// Length of a block.
    pub block: Bytes,
    /// From a block to the worker's next one.
    pub stride: Bytes,
    /// How many segments.
    pub count: u64,
    /// The order of records.
    #[serde(default)]
    pub order: SegmentOrder,
}

impl Segments {
    /// The end of what they reach, bytes.
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

/// The order of records in segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum SegmentOrder {
    /// From the first to the last.
    #[default]
    Forward,
    /// Those of a block in a random order, the same in each block.
    Shuffled {
        /// Its seed.
        seed: u64,
    },
    /// Each block, from its beginning, is a random one of the file's.
    Anywhere {
        /// Its seed.
        seed: u64,
        /// Blocks of the file.
        blocks: u64,
    },
}

/// A shuffled order that is the same on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Shuffle {
    /// IOzone's: from the last record down, each changes places with one that MT19937-64 draws, seeded by
    /// `init_by_array64` of {0x12345, 0x23456, 0x34567, 0x45678}.
    Iozone,
}

/// One record of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ListedRecord {
    /// Where in the file.
    pub offset: Bytes,
    /// How much.
    pub length: Bytes,
    /// The pause behind it.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub pause: Nanos,
    /// What is done to it, where that is not what the transfer does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub does: Option<Moves>,
}

/// By which calls records are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Via {
    /// `read`/`write`, with `lseek` as the order says.
    #[default]
    Plain,
    /// `pread`/`pwrite`.
    Positioned,
    /// `fread`/`fwrite`, with `fseek` as the order says.
    Stdio,
    /// `getc`/`putc`, byte by byte; an op is a record of them.
    Characters,
    /// `getc_unlocked`/`putc_unlocked`, byte by byte; an op is a record of them.
    UnlockedCharacters,
    /// `read`/`write` of one byte each; an op is a record of them.
    Bytes,
    /// Loads and stores through the handle's mapping.
    Mapped {
        /// `msync` of each record, `MS_SYNC` when true and `MS_ASYNC` when false.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sync: Option<bool>,
    },
    /// `aio_read`/`aio_write` of the C library: writes go on while up to this many are in flight, reads are made ahead.
    PosixAio {
        /// Ops in flight.
        depth: u32,
        /// Copied to and from memory of their own, rather than moved to and from where they are used.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        copies: bool,
    },
    /// `io_submit` and `io_getevents` of the kernel. A record is moved to or from memory of its own, and its op is over once
    /// the request is prepared; a flush and a close of any of the worker's files wait for all requests, and so does each read
    /// whose data is checked.
    KernelAio {
        /// Requests that are prepared or in flight at most. Where there are so many, a batch of them is waited for.
        depth: u32,
        /// Requests that are handed over together, and waited for together.
        batch: u32,
    },
    /// `MPI_File_read_at`/`MPI_File_write_at` of a file that MPI-IO opened.
    Mpi {
        /// `MPI_File_read_at_all`/`MPI_File_write_at_all`, in which all ranks take part that opened it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        together: bool,
        /// One call moves a record of every block of `segments`, and `count` is at most the records of a block. A write puts the
        /// same data into each block, and a read keeps one of the records. All ranks that opened the file set its view before
        /// each call (`MPI_File_set_view`).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        strided: bool,
    },
}

impl Via {
    /// Whether ranks move each record only together with the others that opened the file.
    pub fn is_together(self) -> bool {
        matches!(self, Via::Mpi { together: true, .. } | Via::Mpi { strided: true, .. })
    }
}
