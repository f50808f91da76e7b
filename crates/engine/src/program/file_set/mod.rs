//! File sets as programs use them: what a worker knows of its share, its way through it, and where it lies.

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
