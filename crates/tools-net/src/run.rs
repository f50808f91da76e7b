//! Network tools: iperf3, iperf2 and netperf: runs each tool's command line.
// They end the program where nobody reads: `plumb_cli::output` does not.
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
