//! Generates load: sources, backends, pacers, recorders, barriers, the simulated device.
//!
//! [`run`] is the entry point. A workload becomes open [`targets`], and each phase gets [workers](build_workers). Each
//! worker is [bound](bind) to a [`source`], a [`backend`](bound) and a [`pacer`]. A coordinator ([`phase`]) starts them
//! together and watches them. Each worker runs one of two hot loops ([`worker`]); [`instances`] lists the ones with
//! their own compiled instance. An [`Observer`] receives the results as they come.
// On other systems, code for Linux-only I/O calls is unused.
#![cfg_attr(not(target_os = "linux"), allow(dead_code, unused_imports))]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

mod backend;
mod barrier;
mod bell;
mod bind;
mod block_plan;
mod bound;
mod build_workers;
mod byte_ramps;
pub mod clock;
mod companions;
pub mod content;
mod control;
pub mod copy;
mod engine_error;
mod fault;
mod files;
mod first_finisher;
mod group_scheduler;
mod instances;
mod kept_files;
pub mod math;
mod mpi_io;
pub mod net;
mod null_ceiling;
mod observer;
pub mod op;
mod open_dirs;
mod oplog;
mod os;
mod others;
mod pacer;
pub mod panics;
mod phase;
mod phase_error;
mod plan;
pub mod prepare;
mod priority_cells;
pub mod private_directory;
mod process;
mod program;
mod queue_cells;
mod raw_open;
mod recorder;
pub mod replay;
pub mod rng;
mod rounds;
mod run;
mod run_queue;
mod samples;
pub mod semaphore;
mod setting;
mod shared;
pub mod signals;
pub mod sim;
mod simulate;
pub mod source;
mod steady_groups;
mod stream_plan;
mod summary;
mod syscall;
mod targets;
mod terms;
pub mod tree;
mod unshare_fds;
mod virtual_time;
mod worker;
mod worker_error;
mod worker_pool;

pub use backend::Errno;
pub use engine_error::EngineError;
pub use files::JobFilesError;
pub use files::failed::Unopened;
pub use kept_files::KeptFiles;
pub use mpi_io::{MpiFile, MpiIo, MpiIoError};
pub use null_ceiling::null_ceiling_ops;
pub use observer::{FileSetStep, INTERVAL_NS, Live, Nobody, Observer, PhaseNow, TargetView, WorkerNow, WorkerState};
pub use oplog::LoggedOp;
pub use os::{ram_bytes, sync_file_system};
pub use others::OtherProcesses;
pub use phase_error::PhaseError;
pub use plan::{Part, Process, WorkerPlanError};
pub use plumb_guard as guard;
pub use plumb_guard::testdir;
pub use prepare::DropCaches;
pub use process::cgroup::control_group_directory;
pub use process::shell;
pub use program::shared::TreeFacts;
pub use run::{run, write_guard};
pub use setting::Setting;
pub use source::trace;
