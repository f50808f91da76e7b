//! Dialects of Filebench, elbencho, sysbench, fs_mark, dbench, vdbench and IOMeter: options, workloads and printed
//! results. Nothing in this crate touches the system; `run.rs` is the root of the crate that does.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

pub mod dbench;
pub mod elbencho;
pub mod filebench;
pub mod fs_mark;
pub mod iometer;
pub mod sysbench;
pub mod vdbench;
