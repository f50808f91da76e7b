//! What was read and does not pass: what was expected, what was found, and where.

use super::check::StampDifference;
use super::error::ContentError;
use super::headers::HeaderMismatch;
use super::trailers::TrailerMismatch;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why what was read does not pass. Boxed where it is returned, because the loops carry the result of each op in registers.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Mismatch {
    /// Of blocks with Plumb's own headers.
    #[error(transparent)]
    Header(#[from] HeaderMismatch),
    /// Of blocks with fio's stamps, and of what was trimmed.
    #[error(transparent)]
    Stamp(#[from] StampMismatch),
    /// Of blocks with sysbench's trailers.
    #[error(transparent)]
    Trailer(#[from] TrailerMismatch),
    /// Of a program's words.
    #[error("at byte {at}: found {found:016x}, expected {expected:016x}")]
    Word {
        /// Where it is in the file.
        at: u64,
        /// What was written.
        expected: u64,
        /// What was read.
        found: u64,
    },
    /// It could not be verified, or what verifying needs later could not be kept.
    #[error(transparent)]
    Unverified(#[from] ContentError),
}

/// A block whose stamp or content is not what was written.
#[derive(Debug)]
pub(crate) struct StampMismatch {
    pub(super) file: FileName,
    /// Where it lies in the file, in bytes.
    pub(super) offset: u64,
    /// Its length, in bytes.
    pub(super) length: usize,
    pub(super) difference: StampDifference,
    /// Blocks of the same read that differ, too.
    pub(super) more: usize,
    /// What became of the blocks, where they should be kept.
    pub(super) kept: Option<Result<KeptBlocks, NotKept>>,
}

/// What a file is called in messages.
#[derive(Debug)]
pub(super) enum FileName {
    Path(PathBuf),
    /// It has no path.
    Number(u32),
}

/// A block that differs, kept in a file.
#[derive(Debug)]
pub(super) struct KeptBlocks {
    /// What was read.
    pub(super) received: PathBuf,
    /// What should have been read is kept beside it.
    pub(super) with_expected: bool,
}

/// A block that differs and could not be kept.
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
                write!(f, "; cannot be kept in {}: {source}", directory.display())
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
