//! Tests of the engine's public interface: workloads in the user's syntax go in, measurements come out.
//!
//! All tests are one program, so that it is linked once. None of them asserts a speed. Those that depend on time check
//! for events that must never happen, such as an op ahead of its schedule or a missing end.

#![allow(clippy::disallowed_methods)] // tests write files

mod backends;
mod cache;
mod calls;
mod common;
mod content;
mod deaths;
mod ends;
mod errors;
mod flows;
mod flush;
mod groups;
mod jobs;
mod jobs_guard;
mod kept;
mod mpi_io;
mod pacing;
mod replays;
mod scripts;
mod seeds;
mod series;
mod simulated;
mod stopping;
mod swaps;
mod trees;
mod verification;
