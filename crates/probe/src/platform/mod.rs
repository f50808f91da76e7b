//! What only the running system can answer, one file a platform.

mod cpuid;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(target_os = "linux")]
mod smart;

pub(crate) use cpuid::hypervisor;
#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::*;
#[cfg(target_os = "linux")]
pub(crate) use smart::*;

use crate::error::ProbeError;
use std::path::Path;

/// What the processor says about a hypervisor.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hypervisor {
    /// None.
    Absent,
    /// One, by the name that it gives itself.
    Present(String),
    /// This processor has no way to say.
    Unknown,
}

/// Sizes of a file system, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FsSizes {
    pub(crate) size_bytes: u64,
    pub(crate) free_bytes: u64,
}

/// Two clocks, read together, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockPair {
    pub(crate) raw_ns: i64,
    pub(crate) real_ns: i64,
}

/// Geometry of an XFS file system. Source: `ioctl_xfs_fsgeometry(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct XfsGeometry {
    pub(crate) block_bytes: u32,
    pub(crate) allocation_groups: u32,
    pub(crate) group_blocks: u32,
    pub(crate) sector_bytes: u32,
    pub(crate) inode_bytes: u32,
    pub(crate) log_blocks: u32,
    pub(crate) log_is_internal: bool,
    pub(crate) stripe_unit_blocks: u32,
    pub(crate) stripe_width_blocks: u32,
    pub(crate) flags: u32,
}

/// Size and free space of the file system at a path, on any platform.
pub(crate) fn sizes(path: &Path) -> Result<FsSizes, ProbeError> {
    let stats =
        rustix::fs::statvfs(path).map_err(ProbeError::unanswered(format!("statvfs of {} failed", path.display())))?;
    Ok(FsSizes {
        size_bytes: stats.f_blocks.saturating_mul(stats.f_frsize),
        free_bytes: stats.f_bavail.saturating_mul(stats.f_frsize),
    })
}

/// `CLOCK_MONOTONIC`, ns.
pub(crate) fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    (now.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(now.tv_nsec as u64)
}
