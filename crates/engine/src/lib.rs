//! Generates load: sources, backends, pacers, recorders, barriers, the write guard, the simulated device.
//!
//! [`run`] is the door. Inside, a workload becomes open [`targets`], each phase is [staffed](staff) with workers whose
//! types ([`source`] × [`backend`] × [`pacer`]) are chosen once ([`bind`]), a coordinator ([`phase`]) releases them
//! together and watches, and each runs one of two hot loops ([`worker`]). An [`Observer`] looks on.

mod backend;
mod bind;
mod bind_flow;
mod byte_ramps;
pub mod clock;
pub mod content;
mod control;
pub mod copy;
mod course;
mod crew;
mod fault;
mod first_done;
mod gate;
pub mod guard;
mod job;
pub mod math;
mod observer;
pub mod op;
mod oplog;
mod own_files;
mod pacer;
mod phase;
mod plan;
pub mod prepare;
mod queue_cells;
mod recorder;
pub mod rng;
mod rounds;
mod run;
mod samples;
mod script;
pub mod semaphore;
mod shared;
pub mod signals;
pub mod sim;
mod simulate;
pub mod source;
mod staff;
mod steady_groups;
mod summary;
mod targets;
pub mod testdir;
pub mod tree;
mod worker;

pub use backend::Errno;
pub use job::failed::Unopened;
pub use job::files::JobFilesError;
pub use job::replay;
pub use observer::{Nobody, Observer, PhaseNow, TargetView, WorkerNow, WorkerState};
pub use oplog::LoggedOp;
pub use phase::{INTERVAL_NS, Live, PhaseError};
pub use plan::WorkerPlanError;
pub use prepare::DropCaches;
pub use run::{EngineError, Setting, run};
pub use staff::null_ceiling_ops;
