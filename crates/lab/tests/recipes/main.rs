//! Recipes, built for real, and taken down.

mod bench;
mod built;
mod kernel;
mod needs;
mod safety;
mod stacked;
mod taken_down;
