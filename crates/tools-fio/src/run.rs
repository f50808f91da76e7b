//! The half of the crate that touches the system: runs fio's command lines. Each tool's running half is in its folder
//! `run`.
// Only `plumb_cli::output` writes to standard output and standard error.
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

#[path = "fio/run/mod.rs"]
pub mod fio;
