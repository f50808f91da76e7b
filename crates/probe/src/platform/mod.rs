//! Queries that only the running system can answer, one file per platform.

mod answers;
mod continues;
mod cpuid;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(target_os = "linux")]
mod smart;
#[cfg(target_os = "freebsd")]
mod sysctl;

use crate::error::ProbeError;
pub(crate) use answers::{ClockPair, FsSizes, Hypervisor, XfsGeometry};
pub(crate) use continues::continues;
pub(crate) use cpuid::hypervisor;
#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::*;
#[cfg(target_os = "linux")]
pub(crate) use smart::*;
use std::path::Path;
#[cfg(target_os = "freebsd")]
pub(crate) use sysctl::sysctl;

/// Returns size and free space of the file system at a path, on any platform.
pub(crate) fn sizes(path: &Path) -> Result<FsSizes, ProbeError> {
    let stats =
        rustix::fs::statvfs(path).map_err(ProbeError::unanswered(format!("statvfs of {} failed", path.display())))?;
    Ok(FsSizes {
        size_bytes: stats.f_blocks.saturating_mul(stats.f_frsize),
        free_bytes: stats.f_bavail.saturating_mul(stats.f_frsize),
    })
}

/// Reads `CLOCK_MONOTONIC`, in ns.
pub(crate) fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    (now.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(now.tv_nsec as u64)
}
