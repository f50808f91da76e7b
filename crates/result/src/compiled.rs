//! The writer of results, compiled in this crate: see [`plumb_workload::compiled`]. The [`reader`](crate::reader) is compiled
//! here anyway.

use crate::run::RunResult;
use plumb_document::{Node, WriteError};

/// Writes a result as a document.
pub static WRITER: fn(&RunResult) -> Result<Node, WriteError> = plumb_document::write;
