//! Trees of directories and their numbered items: a worker's order through them, their paths, and the calls for each.

mod across;
mod calls;
mod paths;
mod walk;
mod wall;

pub(super) use calls::TreeCalls;
pub(crate) use paths::{TreeFiles, open};
pub(super) use walk::TreeWalk;
pub(super) use wall::{AtWall, InStep, check_wall, check_wall_in_step};
pub(crate) use wall::{WallMark, WallMeeting};
