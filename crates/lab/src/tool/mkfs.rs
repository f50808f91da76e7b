//! The programs that make file systems.

/// The mkfs program of one file system.
#[derive(Debug)]
pub(crate) struct Maker {
    /// Name of the file system, such as `ext4`.
    pub(crate) fs: &'static str,
    pub(crate) program: &'static str,
    /// Options that suppress output and questions.
    pub(crate) quiet: &'static [&'static str],
}

/// All supported file systems.
pub(crate) const MAKERS: &[Maker] = &[
    Maker { fs: "ext2", program: "mkfs.ext2", quiet: &["-q", "-F"] },
    Maker { fs: "ext3", program: "mkfs.ext3", quiet: &["-q", "-F"] },
    Maker { fs: "ext4", program: "mkfs.ext4", quiet: &["-q", "-F"] },
    Maker { fs: "xfs", program: "mkfs.xfs", quiet: &["-q", "-f"] },
    Maker { fs: "btrfs", program: "mkfs.btrfs", quiet: &["-q", "-f"] },
    Maker { fs: "f2fs", program: "mkfs.f2fs", quiet: &["-q", "-f"] },
];

/// Returns the program for this file system.
pub(crate) fn maker(fs: &str) -> Option<&'static Maker> {
    MAKERS.iter().find(|maker| maker.fs == fs)
}
