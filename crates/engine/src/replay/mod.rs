//! Replays recorded calls on files. Several threads open, read, rename and remove files at the recorded times, in
//! an order that the recording allows.
//!
//! A [`dealer`](deal) reads the recording ahead of the replay, assigns each call to a lane, and computes its
//! dependencies ([`order`]). A lane is a worker of the engine: its [source and pacer](lane) use the [dealt
//! calls](progress), and its loop is the usual one. [Calls](calls) are made below one directory ([`beneath`]), and
//! their results are compared with the recording ([`tally`]).

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
