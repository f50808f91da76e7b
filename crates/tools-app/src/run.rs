//! Runs the command lines of Filebench, elbencho, sysbench, fs_mark, dbench, vdbench and IOMeter. The code that
//! touches the system is in each tool's `run` folder.
// Only `plumb_cli::output` writes to standard output and standard error.
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

#[path = "dbench/run/mod.rs"]
pub mod dbench;
#[path = "elbencho/run/mod.rs"]
pub mod elbencho;
#[path = "filebench/run/mod.rs"]
pub mod filebench;
#[path = "fs_mark/run/mod.rs"]
pub mod fs_mark;
#[path = "iometer/run/mod.rs"]
pub mod iometer;
#[path = "sysbench/run/mod.rs"]
pub mod sysbench;
#[path = "vdbench/run/mod.rs"]
pub mod vdbench;
