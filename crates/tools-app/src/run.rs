//! Tools that stand for applications: Filebench, elbencho, sysbench, fs_mark, dbench, vdbench and IOMeter: runs each tool's command line.
// They end the program where nobody reads: `plumb_cli::output` does not.
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
