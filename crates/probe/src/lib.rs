//! Placeholder.

pub mod extents;
pub mod residency;
