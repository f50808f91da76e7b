//! Why something that a check needs is not known: what a skipped check says.

/// Why something is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotSeen {
    /// It was not read.
    #[error("{what}: not read")]
    NotLookedAt { what: String },
    /// The machine did not answer.
    #[error("{what}: {reason}")]
    Refused { what: String, reason: String },
    /// Two sources, and neither has it.
    #[error("{0}; {1}")]
    Neither(Box<NotSeen>, Box<NotSeen>),
    /// The client of this network file system does not say what it sent.
    #[error(
        "what a {kind} client sends to its server is not counted, or not where Plumb looks (it knows NFS and Lustre)"
    )]
    UnknownClient { kind: String },
    /// No network file system below the target.
    #[error("no client of a network file system was found below the target")]
    NoClient,
    /// Others used the same mount.
    #[error(
        "others on this machine used the same mount ({}), so what Plumb's own ops got from the server cannot be told",
        crate::text::bytes(*others_bytes)
    )]
    SharedMount { others_bytes: u64 },
    /// Nothing below the target counts what it moves.
    #[error("no device was found below the target")]
    NoDevice,
    /// The I/O is another process's.
    #[error("/proc/self/io: a FUSE file system does its I/O in another process")]
    OtherProcess,
    /// Older kernels do not report it.
    #[error("this kernel does not report a file's dirty pages (cachestat)")]
    NoDirtyPages,
    /// Workers that were counted together.
    #[error("per-worker counts were not recorded")]
    NoWorkers,
    /// A simulated device without a link speed.
    #[error("the simulated device {device} has no link speed")]
    LinkNotStated { device: String },
    /// A link that does not exist.
    #[error("the link to {device} is emulated by the hypervisor")]
    InventedLink { device: String },
    /// A link of unknown speed.
    #[error("the speed of the link to {device} is not known")]
    UnknownLink { device: String },
    /// Addresses that are no places.
    #[error("btrfs reports logical addresses, not places on the disk")]
    AddressesOfBtrfs,
    /// A file system that does not report places.
    #[error("the file system does not report where its files are")]
    NoPlace,
    /// No device below the files.
    #[error("no device was found below the files")]
    NoDeviceBeneathFiles,
    /// A file in a file whose place is not known.
    #[error("the place of a loop device's backing file is not known")]
    BehindLoop,
    /// A partition of an unknown disk.
    #[error("the disk of {partition} is not known")]
    NoDisk { partition: String },
    /// A device of unknown size.
    #[error("the size of {device} is not known")]
    UnknownSize { device: String },
    /// A range of unknown length.
    #[error("the range of `{target}` is not known")]
    UnknownRange { target: String },
}

impl From<NotSeen> for String {
    fn from(reason: NotSeen) -> String {
        reason.to_string()
    }
}
