//! What development tasks share: packages, kernels, the test suites, releases, and programs that are run.

#![allow(clippy::disallowed_methods)] // a tool of development, on files of this tree

pub mod bpf;
pub mod dist;
pub mod fast;
pub mod kernels;
pub mod packages;
pub mod panics;
pub mod rebuild_share;
pub mod suites;
pub mod tools;
