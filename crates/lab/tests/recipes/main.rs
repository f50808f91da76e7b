//! Builds recipes for real and takes them down.

#![allow(clippy::disallowed_methods)] // tests write files

mod bench;
mod built;
mod kernel;
// The program's tests share these requirements and their wording.
#[path = "../../../plumb/tests/common/needs.rs"]
mod needs;
mod safety;
mod stacked;
mod taken_down;
