//! Runs the command lines of fio. A tool's half that touches the system is in its folder `run`.
// Only `plumb_cli::output` writes to standard output and standard error.
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

#[path = "fio/run/mod.rs"]
pub mod fio;
