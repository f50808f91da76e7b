//! Every platform but Linux: nothing is seen, and that is said.

use super::{ClockPair, XfsGeometry, not_here};
use std::path::Path;

/// Whether `/proc` and `/sys` are expected.
pub(crate) const HAS_PROC: bool = false;

pub(crate) fn mount_id(_path: &Path) -> Option<u64> {
    None
}

pub(crate) fn block_number(_path: &Path) -> Option<String> {
    None
}

pub(crate) fn fs_uuid(_path: &Path) -> Option<String> {
    None
}

pub(crate) fn xfs_geometry(_path: &Path) -> Result<XfsGeometry, String> {
    Err(not_here())
}

pub(crate) fn libc_version() -> String {
    "the system's".to_owned()
}

pub(crate) fn raw_and_real() -> Result<ClockPair, String> {
    Err(not_here())
}

pub(crate) fn ticks_per_second() -> u64 {
    100
}
