//! Provisions systems under test: devices, RAID, file systems, mounts, virtual machines, remote hosts.
//!
//! A [`Step`] is data. A [`Host`] builds steps, runs work on them, and takes everything down again. It may be this
//! machine, a virtual machine, or a machine reached by ssh; all speak the same [`protocol`].

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

pub mod agent;
pub mod build;
mod claim;
mod command;
mod error;
mod far_agent;
pub mod host;
mod journal;
mod leftovers;
mod line;
mod link;
pub mod local;
mod names;
mod policy;
pub mod preflight;
pub mod protocol;
mod recipe;
mod site;
pub mod ssh;
pub mod step;
mod surroundings;
mod system;
mod tool;
pub mod transcript;
mod undo;
pub mod vm;

pub use build::{Builder, Cause, LabError, Left, RecoveredBuild, recover};
pub use command::{CommandError, LineError, check_line, run_line};
pub use far_agent::FarAgent;
pub use host::{Host, HostError};
pub use leftovers::remove_leftovers;
pub use line::missing_programs;
pub use local::Local;
pub use policy::BuildPolicy;
pub use policy::error::PolicyError;
pub use ssh::{FarProgram, Ssh, start_remote};
pub use step::Step;
pub use surroundings::Surroundings;
pub use vm::Vm;
