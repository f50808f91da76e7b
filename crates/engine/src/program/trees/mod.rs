//! Trees of directories and their numbered items: in which order a worker goes through them, where they lie, and the calls
//! that are made of each.

mod calls;
mod paths;
mod wall;
mod way;

pub(super) use calls::make;
pub(super) use paths::TreePaths;
pub(crate) use paths::{TreeFiles, open};
pub(super) use wall::{AtWall, look};
pub(crate) use wall::{WallMark, WallMeeting};
pub(super) use way::TreeWay;
