//! Recordings of I/O, read as streams of records in constant memory, whatever their length.
//!
//! [`open`] detects the format of a file and reads it: fio's [`iolog`] of versions 2 and 3, and the binary [`blktrace`]
//! of versions 7 and 8 in either byte order. [`merge`] merges several into one stream. This crate knows nothing of
//! replays.

pub mod blktrace;
mod error;
pub mod iolog;
pub mod merge;
mod merged;
mod open;
mod outline;
mod record;
mod write;

pub use error::{LineProblem, TraceError};
pub use merged::{MergedPart, MergedRecording};
pub use open::{Format, RecordingReader, Records, open, read};
pub use outline::{FileOutline, Outline, Recorded, outline};
pub use record::{FileName, Record, RecordedAct};
pub use write::write;
