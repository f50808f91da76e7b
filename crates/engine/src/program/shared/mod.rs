//! Programs over file sets that all workers share: Filebench's work.
//!
//! A [set](set) is laid out as its [shape] says; which of its entries exist is [known to all workers](state) without locks.
//! The programs of a phase are [compiled](compile) together, because their steps mean each other. A [source] goes through
//! the steps of one worker: what waits for others ([sync]) it does itself, and what makes [calls] it yields to the loop
//! that all work shares. Each step has [statistics of its own](steps).

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
