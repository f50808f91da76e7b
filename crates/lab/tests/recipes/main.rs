//! Recipes, built for real, and taken down.

#![allow(clippy::disallowed_methods)] // tests write files

mod bench;
mod built;
mod kernel;
// The tests of the program need the same, and say so in the same words.
#[path = "../../../plumb/tests/common/needs.rs"]
mod needs;
mod safety;
mod stacked;
mod taken_down;
