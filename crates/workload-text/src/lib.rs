//! Workloads as users write them: native TOML ([`native`]), validation ([`validate`]),
//! and named workloads ([`named`]).
//!
//! [`validate`] reports problems by path (`phase[0].workers[1].depth`), which [`native`] turns into a line and
//! a caret. The types live in the crate `workload`, so that a changed message here does not rebuild the engine,
//! the checks or most tools.

pub mod named;
pub mod native;
pub mod validate;

pub use validate::Problem;
