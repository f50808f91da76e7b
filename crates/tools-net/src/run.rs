//! Runs the command lines of iperf3, iperf2 and netperf. The code that touches the system is in each tool's `run`
//! folder.
// Only `plumb_cli::output` writes to standard output and standard error.
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

#[path = "iperf2/run/mod.rs"]
pub mod iperf2;
#[path = "iperf3/run/mod.rs"]
pub mod iperf3;
#[path = "netperf/run/mod.rs"]
pub mod netperf;
#[path = "run/protocol.rs"]
pub mod protocol;
