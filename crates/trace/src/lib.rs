//! Recordings of I/O, read as streams of records in constant memory, regardless of their length.
//!
//! [`open`] detects the format of a file and reads it: Plumb's [own], fio's [`iolog`], blktrace, and the output of
//! strace, perf, blkparse and others. Published traces are [tables](table::PRESETS). [`merge`] merges several
//! recordings into one stream. [`write()`] writes. This crate does not depend on replays.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

mod anonymise;
mod binary;
mod blktrace;
mod blocks;
mod calls;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod capture;
mod elbencho;
mod error;
mod events;
mod format_reader;
pub mod iolog;
mod lines;
pub mod merge;
mod merged;
pub mod model;
mod names;
mod open;
mod outline;
pub mod own;
mod pending;
mod processors;
mod record;
pub mod show;
mod strace;
pub mod survey;
pub mod table;
mod world;
mod write;
mod write_blktrace;

pub use anonymise::{Anonymised, Extensions};
pub use error::{LineProblem, TraceError};
pub use format_reader::Input;
pub use merged::{MergedPart, MergedRecording, Renames};
pub use names::Names;
pub use open::{Format, RecordingReader, Records, open, open_as, read, read_as};
pub use outline::{FileOutline, Outline, Recorded, outline};
pub use own::{Facts, Loss, OwnWriter};
pub use record::{ACTS, FileName, Record, RecordedAct, Task, UNKNOWN_NS, flag};
pub use write::{OutputFormat, Written, convert, write};
