//! Shared by all commands: options, output, exit codes, terminal, progress, result store, hosts and agents.
//!
//! The crates of tools and commands depend on this one, so that a change of one of them does not rebuild the others.
// Only `output` writes to standard output and standard error.
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

pub mod agent;
pub mod background;
pub mod builder;
pub mod common;
pub mod config;
pub mod exit;
pub mod hosts;
mod k8s;
pub mod live_output;
pub mod live_screen;
pub mod location;
pub mod output;
pub mod pending;
pub mod progress;
pub mod ranks;
pub mod recordings;
pub mod serve;
pub mod session;
pub mod slurm;
pub mod space_budget;
pub mod stream;
pub mod terminal;
pub mod unauthenticated;
