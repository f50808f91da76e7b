//! What the reader of each format offers, and from where it reads.

use crate::error::TraceError;
use crate::names::Names;
use crate::own::{Facts, Loss};
use crate::record::Record;
use std::io::BufRead;

/// Anything that a recording can be read from.
pub type Input = Box<dyn BufRead + Send>;

/// How a form is read.
pub(crate) trait FormatReader: Send {
    /// The next record; `None` at the end.
    fn next(&mut self) -> Option<Result<Record, TraceError>>;

    /// Files and threads so far.
    fn names(&self) -> &Names;

    /// Waits of fio's version 2 so far.
    fn waits(&self) -> u64 {
        0
    }

    /// What the file says about itself.
    fn facts(&self) -> Option<&Facts> {
        None
    }

    /// What could not be read so far.
    fn losses(&self) -> &[Loss] {
        &[]
    }
}
