//! The interface of each format's reader, and its input.

use crate::error::TraceError;
use crate::names::Names;
use crate::own::{Facts, Loss};
use crate::record::Record;
use std::io::BufRead;

/// Anything that a recording can be read from.
pub type Input = Box<dyn BufRead + Send>;

/// Reader of one format.
pub(crate) trait FormatReader: Send {
    /// Returns the next record; `None` at the end.
    fn next(&mut self) -> Option<Result<Record, TraceError>>;

    /// Returns the files and threads seen so far.
    fn names(&self) -> &Names;

    /// Returns the number of waits of fio's version 2 so far.
    fn waits(&self) -> u64 {
        0
    }

    /// Returns the metadata in the file, if the format has any.
    fn facts(&self) -> Option<&Facts> {
        None
    }

    /// Returns the parts that could not be read so far.
    fn losses(&self) -> &[Loss] {
        &[]
    }
}
