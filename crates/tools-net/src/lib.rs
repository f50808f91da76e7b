//! Dialects of iperf3, iperf2 and netperf: options, workloads and printed results. Nothing in this crate touches the
//! system; `run.rs` is the root of the crate that does.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

pub mod iperf2;
pub mod iperf3;
pub mod netperf;
