//! File sets for programs: a worker's knowledge of its share, its walk through it, and the share's location.

mod contents;
mod copying;
mod names;
mod place;
mod popularity;
mod state;
mod walk;

pub(super) use copying::CopyPlan;
pub(super) use place::SetPlace;
#[cfg(test)]
pub(super) use state::{MAX_SHARE, SetEntry};
pub(crate) use state::{SetState, TreeState};
pub(super) use walk::SetWalk;
