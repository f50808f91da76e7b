//! Reasons why evidence is missing: the text of a skipped check.

/// The reason why a piece of evidence is missing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotSeen {
    /// It was not read.
    #[error("{what}: not read")]
    NotRead { what: String },
    /// The machine refused to provide it.
    #[error("{what}: {reason}")]
    Refused { what: String, reason: String },
    /// There are two sources, and neither has it.
    #[error("{0}; {1}")]
    Neither(Box<NotSeen>, Box<NotSeen>),
    /// The client of this network file system does not count its traffic.
    #[error(
        "what a {kind} client sends to its server is not counted, or not where Plumb looks (it knows NFS and Lustre)"
    )]
    UnknownClient { kind: String },
    /// There is no network file system below the target.
    #[error("no client of a network file system was found below the target")]
    NoClient,
    /// Others used the same mount.
    #[error(
        "others on this machine used the same mount ({}), so what Plumb's own ops got from the server cannot be told",
        crate::text::bytes(*others_bytes)
    )]
    SharedMount { others_bytes: u64 },
    /// No layer below the target counts its traffic.
    #[error("no device was found below the target")]
    NoDevice,
    /// Another process does the I/O.
    #[error("/proc/self/io: a FUSE file system does its I/O in another process")]
    OtherProcess,
    /// Older kernels do not report it.
    #[error("this kernel does not report a file's dirty pages (cachestat)")]
    NoDirtyPages,
    /// Workers were only counted together.
    #[error("per-worker counts were not recorded")]
    NoWorkers,
    /// A simulated device has no link speed.
    #[error("the simulated device {device} has no link speed")]
    LinkNotStated { device: String },
    /// The link does not exist.
    #[error("the link to {device} is emulated by the hypervisor")]
    InventedLink { device: String },
    /// The speed of the link is unknown.
    #[error("the speed of the link to {device} is not known")]
    UnknownLink { device: String },
    /// The addresses are not disk offsets.
    #[error("btrfs reports logical addresses, not places on the disk")]
    AddressesOfBtrfs,
    /// The file system does not report offsets.
    #[error("the file system does not report where its files are")]
    NoPlace,
    /// No device was found below the files.
    #[error("no device was found below the files")]
    NoDeviceBelowFiles,
    /// The offsets of a loop device's backing file are unknown.
    #[error("the place of a loop device's backing file is not known")]
    BehindLoop,
    /// The disk of a partition is unknown.
    #[error("the disk of {partition} is not known")]
    NoDisk { partition: String },
    /// The size of a device is unknown.
    #[error("the size of {device} is not known")]
    UnknownSize { device: String },
    /// The length of a range is unknown.
    #[error("the range of `{target}` is not known")]
    UnknownRange { target: String },
}

impl From<NotSeen> for String {
    fn from(reason: NotSeen) -> String {
        reason.to_string()
    }
}
