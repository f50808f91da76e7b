//! The programs that make file systems.

/// What makes one kind of file system.
#[derive(Debug)]
pub(crate) struct Maker {
    /// The file system, `ext4`.
    pub(crate) fs: &'static str,
    /// The program.
    pub(crate) program: &'static str,
    /// Options that keep it from talking and from asking.
    pub(crate) quiet: &'static [&'static str],
}

/// All that are known.
pub(crate) const MAKERS: &[Maker] = &[
    Maker { fs: "ext2", program: "mkfs.ext2", quiet: &["-q", "-F"] },
    Maker { fs: "ext3", program: "mkfs.ext3", quiet: &["-q", "-F"] },
    Maker { fs: "ext4", program: "mkfs.ext4", quiet: &["-q", "-F"] },
    Maker { fs: "xfs", program: "mkfs.xfs", quiet: &["-q", "-f"] },
    Maker { fs: "btrfs", program: "mkfs.btrfs", quiet: &["-q", "-f"] },
    Maker { fs: "f2fs", program: "mkfs.f2fs", quiet: &["-q", "-f"] },
];

/// What makes this file system.
pub(crate) fn maker(fs: &str) -> Option<&'static Maker> {
    MAKERS.iter().find(|maker| maker.fs == fs)
}
