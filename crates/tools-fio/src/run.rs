//! fio: runs each tool's command line.
// They end the program where nobody reads: `plumb_cli::output` does not.
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

#[path = "fio/run/mod.rs"]
pub mod fio;
