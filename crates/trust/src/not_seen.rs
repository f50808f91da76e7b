//! Why something that a check asks for was not seen: what a check says of itself where it is skipped.

/// Why something was not seen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotSeen {
    /// Nobody looked at it.
    #[error("{what}: not looked at")]
    NotLookedAt { what: String },
    /// The machine did not tell.
    #[error("{what}: {reason}")]
    Refused { what: String, reason: String },
    /// Two witnesses, and neither saw it.
    #[error("{0}; {1}")]
    Neither(Box<NotSeen>, Box<NotSeen>),
    /// Nothing beneath the target counts what it moves.
    #[error("no device was found beneath the target")]
    NoDevice,
    /// The I/O is another process's.
    #[error("/proc/self/io: a FUSE file system does its I/O in another process")]
    OtherProcess,
    /// Older kernels do not tell.
    #[error("this kernel does not tell dirty pages of a file (cachestat)")]
    NoDirtyPages,
    /// Workers that were counted together.
    #[error("what each worker did was not recorded")]
    NoWorkers,
    /// A simulated device says what its link carries, or nobody does.
    #[error("the simulated device {device} states no link")]
    LinkNotStated { device: String },
    /// A link that is none.
    #[error("the link to {device} is the hypervisor's invention")]
    InventedLink { device: String },
    /// A link whose speed is not told.
    #[error("the speed of the link to {device} is not known")]
    UnknownLink { device: String },
    /// Addresses that are no places.
    #[error("btrfs tells addresses of its own, not places on the disk")]
    AddressesOfBtrfs,
    /// A file system that does not tell places.
    #[error("the file system does not tell where its files lie")]
    NoPlace,
    /// No device beneath the files.
    #[error("no device was found beneath the files")]
    NoDeviceBeneathFiles,
    /// A file on a file of which the place is not known.
    #[error("the place of a loop device's backing file is not followed")]
    BehindLoop,
    /// A partition whose disk was not seen.
    #[error("the disk of {partition} was not seen")]
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
