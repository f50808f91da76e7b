//! Runs the command lines of IOR, mdtest, md-workbench and IO500. The code that touches the system is in each tool's
//! `run` folder.
// Only `plumb_cli::output` writes to standard output and standard error.
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

#[path = "io500/run/mod.rs"]
pub mod io500;
#[path = "ior/run/mod.rs"]
pub mod ior;
#[path = "run/machine.rs"]
mod machine;
#[path = "md_workbench/run/mod.rs"]
pub mod md_workbench;
#[path = "mdtest/run/mod.rs"]
pub mod mdtest;
