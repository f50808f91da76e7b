//! Trees of directories with numbered items: the order in which a worker visits the items, their paths, the calls for
//! each item, and the stonewall.

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
