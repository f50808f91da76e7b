//! Failed verification of a read: expected and found data, with the location.

use super::check::StampDifference;
use super::error::ContentError;
use super::headers::HeaderMismatch;
use super::trailers::TrailerMismatch;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Reason for a failed verification. Returned in a box, because the loops carry the result of each op in registers.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Mismatch {
    /// In a block with Plumb's own header.
    #[error(transparent)]
    Header(#[from] HeaderMismatch),
    /// In a block with fio's stamp, or in a trimmed range.
    #[error(transparent)]
    Stamp(#[from] StampMismatch),
    /// In a block with sysbench's trailer.
    #[error(transparent)]
    Trailer(#[from] TrailerMismatch),
    /// In a word of a program's data.
    #[error("at byte {at}: found {found:016x}, expected {expected:016x}")]
    Word {
        /// Offset of the word in the file.
        at: u64,
        /// The word that was written.
        expected: u64,
        /// The word that was read.
        found: u64,
    },
    /// The data could not be verified, or the state for later verification could not be saved.
    #[error(transparent)]
    Unverified(#[from] ContentError),
}

/// A block whose stamp or content differs from the expected one.
#[derive(Debug)]
pub(crate) struct StampMismatch {
    pub(super) file: FileName,
    /// Offset of the block in the file, in bytes.
    pub(super) offset: u64,
    /// Length of the block in bytes.
    pub(super) length: usize,
    pub(super) difference: StampDifference,
    /// Number of other blocks of the same read that differ.
    pub(super) more: usize,
    /// Result of saving the blocks, if requested.
    pub(super) kept: Option<Result<KeptBlocks, NotKept>>,
}

/// Name of a file in messages.
#[derive(Debug)]
pub(super) enum FileName {
    Path(PathBuf),
    /// Used for a file without a path.
    Number(u32),
}

/// Files with the data of a wrong block.
#[derive(Debug)]
pub(super) struct KeptBlocks {
    /// File with the data read.
    pub(super) received: PathBuf,
    /// Whether the expected data was saved as well, next to it.
    pub(super) with_expected: bool,
}

/// Error from saving a wrong block.
#[derive(Debug)]
pub(super) struct NotKept {
    pub(super) directory: PathBuf,
    pub(super) source: io::Error,
}

impl fmt::Display for StampMismatch {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let StampMismatch { file, offset, length, difference, more, kept } = self;
        match file {
            FileName::Path(path) => write!(f, "{}", path.display())?,
            FileName::Number(number) => write!(f, "file {number}")?,
        }
        write!(f, ", offset {offset}, {length} bytes: {difference}")?;
        if *more > 0 {
            write!(f, "; {more} more blocks of the same read differ")?;
        }
        match kept {
            None => Ok(()),
            Some(Ok(KeptBlocks { received, with_expected })) => {
                let expected = if *with_expected { " and .expected" } else { "" };
                write!(f, "; kept as {}{expected}", received.display())
            }
            Some(Err(NotKept { directory, source })) => {
                write!(f, "; cannot be saved in {}: {source}", directory.display())
            }
        }
    }
}

impl std::error::Error for StampMismatch {}

impl From<HeaderMismatch> for Box<Mismatch> {
    #[cold]
    fn from(mismatch: HeaderMismatch) -> Box<Mismatch> {
        Box::new(mismatch.into())
    }
}

impl From<ContentError> for Box<Mismatch> {
    #[cold]
    fn from(error: ContentError) -> Box<Mismatch> {
        Box::new(error.into())
    }
}
