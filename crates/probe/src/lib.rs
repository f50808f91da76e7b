//! Reads the machine: its settings, the storage stack under a path, counters before and after, what others did
//! meanwhile. It fills the types of [`plumb_result::observe`], writes nothing, needs no privilege, and says what it could
//! not see and why: [`plumb_result::Seen::No`] or a list `unseen`, never a guess.
//!
//! What is read is text under `/proc`, `/sys` and `/etc`; every reader takes a [`Sysroot`], so that each can be tried on a
//! tree of files that describes another machine. System calls that only the running machine can answer are in one
//! private module per platform, and elsewhere answer "not on this platform". FreeBSD answers by `sysctl` and statfs(2).

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

mod beside;
pub mod blocks;
pub mod census;
mod cgroup;
mod client;
pub mod clock;
pub mod conditions;
pub mod counters;
pub mod environment;
mod error;
pub mod extents;
#[cfg(any(test, target_os = "freebsd"))]
mod freebsd;
pub mod idle;
pub mod kernel_log;
pub mod link;
mod mounts;
pub mod others;
pub mod pauses;
mod platform;
mod process_stat;
pub mod processors;
pub mod read_only;
pub mod residency;
pub mod stack;
pub mod streams;
mod sysroot;
#[cfg(test)]
mod testtree;
pub mod throttle;
mod uuid;

pub use beside::Beside;
pub use environment::environment;
pub use error::ProbeError;
pub use sysroot::Sysroot;
