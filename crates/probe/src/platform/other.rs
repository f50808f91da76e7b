//! All platforms except Linux: everything is unseen, with that reason. FreeBSD has
//! counters of devices and processors.

use super::{ClockPair, XfsGeometry};
use crate::error::ProbeError;
use plumb_result::observe::{CpuTimes, DeviceCounters};
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) fn mount_id(_path: &Path) -> Option<u64> {
    None
}

pub(crate) fn block_number(_path: &Path) -> Option<String> {
    None
}

pub(crate) fn data_number(_path: &Path) -> Option<String> {
    None
}

pub(crate) fn statfs_kind(_path: &Path) -> Option<(u64, bool)> {
    None
}

pub(crate) fn has_no_medium(_path: &Path) -> bool {
    false
}

pub(crate) fn loop_backing_number(_name: &str) -> Option<String> {
    None
}

pub(crate) fn fs_uuid(_path: &Path) -> Option<String> {
    None
}

pub(crate) fn xfs_geometry(_path: &Path) -> Result<XfsGeometry, ProbeError> {
    Err(ProbeError::NotHere)
}

pub(crate) fn libc_version() -> String {
    "the system's".to_owned()
}

pub(crate) fn raw_and_real() -> Result<ClockPair, ProbeError> {
    Err(ProbeError::NotHere)
}

/// Returns the counters of all devices on systems without per-device files.
pub(crate) fn device_counters() -> Option<Result<BTreeMap<String, DeviceCounters>, ProbeError>> {
    #[cfg(target_os = "freebsd")]
    return Some(crate::freebsd::device_counters());
    #[cfg(not(target_os = "freebsd"))]
    None
}

/// Returns the times of all processors on systems without a file for them.
pub(crate) fn cpu_times() -> Option<Result<CpuTimes, ProbeError>> {
    #[cfg(target_os = "freebsd")]
    return Some(crate::freebsd::cpu_times());
    #[cfg(not(target_os = "freebsd"))]
    None
}

pub(crate) fn allowed_processors() -> Option<Vec<u32>> {
    None
}

/// Returns `CLOCK_MONOTONIC` and a clock that advances during suspend: the same one here.
pub(crate) fn monotonic_and_boot() -> (u64, u64) {
    let now = super::monotonic_ns();
    (now, now)
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

pub(crate) fn nvme_health_log(_device: &str) -> Result<[u8; PAGE_BYTES], ProbeError> {
    Err(ProbeError::NotHere)
}

pub(crate) fn ata_page(_device: &str, _wanted: AtaPage) -> Result<[u8; PAGE_BYTES], ProbeError> {
    Err(ProbeError::NotHere)
}

pub(crate) fn ethtool_value(_interface: &str, _command: u32) -> Option<u32> {
    None
}
