//! Scripts: exactly these calls, in this order.
//!
//! A [`Script`](plumb_workload::Script) is compiled to a [`Program`](program::Program): orders are reckoned and shuffled
//! before the gate. A [`ScriptSource`](program::ScriptSource) yields its ops, [`Calls`](calls::Calls) makes each of them,
//! and the loop that all work shares times and records them. Steps before and behind the clock are made by the same two,
//! without the loop.

mod aio;
mod calls;
mod content;
mod cursor;
mod descriptor;
mod directory;
mod files;
mod library_stream;
mod mapping;
mod op;
mod postmark;
mod program;
mod sequential;
mod shuffle;
mod stream;
mod worker;

pub(crate) use files::{ScratchFiles, open};
pub(crate) use worker::plan;

#[cfg(test)]
mod tests;
