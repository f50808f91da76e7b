//! Dialects of IOR, mdtest, md-workbench and IO500: options, workloads and printed results. Nothing in this crate
//! touches the system; `run.rs` is the root of the crate that does.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

pub mod aiori;
pub mod io500;
pub mod ior;
pub mod md_workbench;
pub mod mdtest;
