//! What a copy moved, and what happens in it: the words between whoever copies and whoever tells of it.

/// What a copy has moved so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyCounts {
    /// Blocks that were read.
    pub read: CopyBlocks,
    /// Blocks that were written.
    pub written: CopyBlocks,
    /// Lines that were cut to the length of a record.
    pub cut_lines: u64,
    /// Bytes that were written; those that a sparse output passed over are among them.
    pub written_bytes: u64,
    /// The bytes that were left over of an odd number to be swapped in pairs.
    pub odd_swaps: u64,
}

/// Blocks of one end of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyBlocks {
    /// Whole ones.
    pub whole: u64,
    /// Short ones.
    pub short: u64,
}

/// What happens in a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyEvent {
    /// Another second has passed.
    Second,
    /// Somebody asked by a signal how far it is.
    Asked,
    /// The input ends before the place where reading was to begin.
    SkippedPastEnd,
    /// A read of so many bytes was short, and each read counts as a block.
    ShortRead {
        /// What it returned.
        bytes: u64,
    },
    /// Something failed.
    Failed {
        /// What.
        what: CopyStep,
        /// Why.
        errno: i32,
    },
    /// What could not be read is passed over; follows [`CopyEvent::Failed`].
    PassesOver,
    /// All is written; what makes it durable follows.
    Flushes,
    /// It is over, and both ends are closed.
    Ended,
    /// A signal ended it.
    Interrupted,
}

/// What can fail in a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyStep {
    /// Asking about the input.
    LookAtInput,
    /// Asking about the output.
    LookAtOutput,
    /// Passing over the beginning of the input.
    Skip,
    /// Passing over the beginning of the output.
    Seek,
    /// Passing over what could not be read.
    PassOver,
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Writing a whole block of those that are gathered.
    WriteBlock,
    /// Writing zeros where the output cannot be passed over.
    WriteZeros,
    /// Giving the output its length.
    SetLength {
        /// That length.
        bytes: u64,
    },
    /// Going through the page cache with a last block that is too short to go around it.
    TurnOffDirect,
    /// `fdatasync`.
    Fdatasync,
    /// `fsync`.
    Fsync,
    /// Dropping the input from the page cache.
    DropInput,
    /// Dropping the output from the page cache.
    DropOutput,
    /// Closing the input.
    CloseInput,
    /// Closing the output.
    CloseOutput,
}
