//! Shared parts of development tasks: packages, kernels, the test suites, releases, and running programs.

#![allow(clippy::disallowed_methods)] // a tool of development, on files of this tree

pub mod bpf;
pub mod dist;
pub mod fast;
pub mod kernels;
pub mod packages;
pub mod panics;
pub mod python;
pub mod rebuild_share;
pub mod suites;
pub mod tools;
