//! Network tools: iperf3, iperf2 and netperf: options, workload and printed results of each tool. Nothing here touches the system; `run.rs` is the root
//! of the half that runs.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

pub mod iperf2;
pub mod iperf3;
pub mod netperf;
