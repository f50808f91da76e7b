//! Jobs: block I/O with the meaning that fio's job language gives it. Its [`files`] and its [`stream`] of ops are here; [`auxiliary`] is what runs beside jobs without any I/O.

pub(crate) mod auxiliary;
pub(crate) mod cgroup;
pub(crate) mod epilogue;
pub(crate) mod failed;
pub(crate) mod files;
pub(crate) mod process;
pub mod replay;
pub mod stream;
pub(crate) mod sweep;
