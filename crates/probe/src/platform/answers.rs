//! Types returned by all platforms.

/// The processor's report of a hypervisor.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hypervisor {
    /// There is no hypervisor.
    Absent,
    /// A hypervisor, by the name that it reports.
    Present(String),
    /// This processor cannot report one.
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
