//! Counts and events of a copy: the vocabulary shared by the code that copies and the code that reports on it.

/// Amounts that a copy has moved so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyCounts {
    /// Blocks read from the input.
    pub read: CopyBlocks,
    /// Blocks written to the output.
    pub written: CopyBlocks,
    /// Lines cut to the length of a record.
    pub cut_lines: u64,
    /// Bytes written, including those that a sparse output skipped.
    pub written_bytes: u64,
    /// Bytes left over when an odd number was to be swapped in pairs.
    pub odd_swaps: u64,
}

/// Blocks at one end of a copy, whole and short ones counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyBlocks {
    /// Blocks of the full size.
    pub whole: u64,
    /// Blocks shorter than the full size.
    pub short: u64,
}

/// Something that happens during a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyEvent {
    /// Another second of the copy has passed.
    Second,
    /// A signal asked for the progress so far.
    ProgressRequested,
    /// The input ends before the position where reading should begin.
    SkippedPastEnd,
    /// A read was short, and each read counts as a block.
    ShortRead {
        /// Bytes that the read returned.
        bytes: u64,
    },
    /// A step of the copy failed.
    Failed {
        /// The step that failed.
        what: CopyStep,
        /// Error number of the system call.
        errno: i32,
    },
    /// The unreadable part is skipped; follows [`CopyEvent::Failed`].
    PassesOver,
    /// All data is written; syncing it to storage follows.
    Flushes,
    /// The copy is complete, and both ends are closed.
    Ended,
    /// A signal ended the copy.
    Interrupted,
}

/// A step of a copy that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyStep {
    /// Reading the input's metadata.
    LookAtInput,
    /// Reading the output's metadata.
    LookAtOutput,
    /// Skipping the beginning of the input.
    Skip,
    /// Skipping the beginning of the output.
    Seek,
    /// Skipping a part that could not be read.
    PassOver,
    /// Reading from the input.
    Read,
    /// Writing less than a whole output block.
    Write,
    /// Writing a whole output block.
    WriteBlock,
    /// Writing zeros because the output cannot seek.
    WriteZeros,
    /// Setting the length of the output.
    SetLength {
        /// The new length, bytes.
        bytes: u64,
    },
    /// Switching to the page cache for a last block that is too short for direct I/O.
    TurnOffDirect,
    /// Calling `fdatasync` on the output.
    Fdatasync,
    /// Calling `fsync` on the output.
    Fsync,
    /// Dropping the input from the page cache.
    DropInput,
    /// Dropping the output from the page cache.
    DropOutput,
    /// Closing the input file.
    CloseInput,
    /// Closing the output file.
    CloseOutput,
}
