//! Tools of high-performance computing: IOR, mdtest, md-workbench and IO500: options, workload and printed results of each tool. Nothing here touches the system; `run.rs` is the root
//! of the half that runs.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

pub mod aiori;
pub mod io500;
pub mod ior;
pub mod md_workbench;
pub mod mdtest;
