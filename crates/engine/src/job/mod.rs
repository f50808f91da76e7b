//! Jobs: block I/O with the meaning that fio's job language gives it. A [`Job`](plumb_workload::Job) is bound here to its
//! [`files`] and its [`stream`] of ops, and then runs in the same hot loops as everything
//! else.

pub(crate) mod bind;
mod cgroup;
mod epilogue;
pub(crate) mod failed;
pub(crate) mod files;
pub(crate) mod plan;
mod process;
pub mod replay;
pub mod stream;
pub(crate) mod sweep;
