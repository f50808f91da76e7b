//! Reads the machine: its settings, the storage stack under a path, counters before and after a phase, and the
//! activity of other programs. Fills the types of [`plumb_result::observe`], writes nothing and needs no privilege.
//! Facts that it cannot see have a reason, in [`plumb_result::Seen::No`] or a list `unseen`; nothing is guessed.
//!
//! The input is text under `/proc`, `/sys` and `/etc`. Every reader takes a [`Sysroot`], so it can be tested on a
//! tree of files that describes another machine. System calls about the running machine are in one private module per
//! platform, and answer "not on this platform" elsewhere. On FreeBSD, `sysctl` and statfs(2) are used.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

mod background;
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

pub use background::BackgroundRead;
pub use environment::environment;
pub use error::ProbeError;
pub use sysroot::Sysroot;
