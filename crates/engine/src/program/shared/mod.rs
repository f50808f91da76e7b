//! Programs over file sets that all workers share: Filebench's work.
//!
//! A [set](set) is laid out by its [shape]; [all workers know](state) without locks which entries exist. The programs
//! of a phase are [compiled](compile) together, because their steps refer to each other. A [source] goes through the
//! steps of one worker: it waits for others ([sync]) itself, and yields the [calls] to the loop that all work shares.
//! Each step has [its own statistics](steps).

mod calls;
mod compile;
mod draw;
mod memory;
mod program_error;
mod room;
mod set;
mod shape;
mod source;
mod state;
mod steps;
mod sync;
mod worker;

pub(crate) use compile::SharedPhase;
pub(crate) use program_error::ProgramError;
pub(crate) use set::{SharedSet, open_set};
pub use shape::TreeFacts;
pub(crate) use steps::Board;
pub(crate) use worker::SharedWorker;
