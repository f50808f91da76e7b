//! Replays of recorded calls on files: opened, read, renamed and removed again, by several threads, at the recorded times and in
//! an order that the recording allows.
//!
//! A [`dealer`](deal) reads the recording ahead of the replay, gives each call to a lane, and says what it waits for
//! ([`order`]). A lane is a worker of the engine: its [source and pacer](lane) are bound to what was [dealt](progress), and the
//! loop is that of all other work. [Calls](calls) are made below one directory ([`beneath`]), and what became of them is
//! compared with the recording ([`tally`]).

mod call;
mod calls;
mod deal;
mod lane;
mod order;
mod paths;
mod progress;
mod simulated;
mod tally;
#[cfg(test)]
mod tests;
mod tree;
mod worker;

pub use call::{CallAct, CallSurvey, InitialFile, InitialFileKind, RecordedCall, RecordedCalls};
pub(crate) use tally::{LaneTally, ReplayTally};
pub(crate) use tree::{OpenRecorded, open_recorded};
pub(crate) use worker::{ReplayGroup, ReplayWorker};
