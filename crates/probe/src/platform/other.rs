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

/// Length of a page of a health log.
pub(crate) const PAGE_BYTES: usize = 512;

/// A page of an ATA device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtaPage {
    /// SMART READ DATA: the table of attributes.
    SmartData,
    /// A page of a general purpose log.
    Log { address: u8, page: u8 },
}

pub(crate) fn nvme_health_log(_device: &str) -> Result<[u8; PAGE_BYTES], String> {
    Err(not_here())
}

pub(crate) fn ata_page(_device: &str, _wanted: AtaPage) -> Result<[u8; PAGE_BYTES], String> {
    Err(not_here())
}
