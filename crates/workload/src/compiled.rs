//! The reader and the writer of workloads, compiled in this crate.
//!
//! rustc compiles a generic function in the first crate that uses it for a type. Crates that depend on that one link its copy,
//! if both have `opt-level = 1`. Nothing reads these statics: without them, five crates would compile copies of their own,
//! 1.6 MB of code in a release build.

use crate::Workload;
use plumb_document::{Node, ReadError, WriteError};

/// Reads a workload from a document.
pub static READER: fn(&Node) -> Result<Workload, ReadError> = plumb_document::read;

/// Writes a workload as a document.
pub static WRITER: fn(&Workload) -> Result<Node, WriteError> = plumb_document::write;
