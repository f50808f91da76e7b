//! The engine through its door: workloads as users write them go in, measurements come out.
//!
//! One program for all of them, so that it is linked once. None of the tests asserts a speed; what depends on time is
//! tested for what may never happen (an op ahead of its schedule, an end that does not come).

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
