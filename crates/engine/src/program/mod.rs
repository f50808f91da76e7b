//! Programs: steps over a file set or over named files.
//!
//! A [`Program`](plumb_workload::Program) is [compiled](compile) to a flat list of instructions; orders are
//! computed and shuffled before the barrier. A [source] runs them for one worker and yields ops. Over a [file
//! set](file_set), it tracks the existing files and draws the next one. [`Calls`](calls::Calls) makes each op's
//! calls; the loop that all work shares times and records them. Steps before and after the clock use the same
//! source and calls, without the loop.

mod aio;
mod calls;
mod command;
mod compile;
mod content;
mod cursor;
mod descriptor;
mod directory;
mod file_set;
mod file_table;
mod files;
mod kernel_aio;
pub(crate) mod load_file;
mod mapping;
mod named_places;
mod null_calls;
mod op;
mod postmark;
mod rules;
mod sequential;
pub(crate) mod shared;
mod shuffle;
mod simulated;
mod source;
mod stream;
mod trees;
mod wait;
mod worker;

pub(crate) use compile::Compiled;
pub(crate) use descriptor::close;
pub(crate) use file_set::{SetState, TreeState};
pub(crate) use files::{NamedRun, ScratchFiles, named_run, open};
pub(crate) use null_calls::NamesOnly;
pub(crate) use rules::Over;
pub(crate) use trees::WallMeeting;
pub(crate) use worker::{FileSetReplay, NamedTarget, ReturnedState, SetRoot, SetWorker, plan};

#[cfg(test)]
mod tests;
