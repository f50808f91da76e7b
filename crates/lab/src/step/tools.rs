//! The programs that steps need, for virtual machines that must contain them.

use super::{LvmLayout, Mkfs, Step};
use crate::tool::mkfs;

impl Step {
    /// Returns the names of the programs needed to build and undo the step. A user's command may need others
    /// in addition to the shell.
    pub fn tools(&self) -> Vec<&'static str> {
        const MOUNT: [&str; 2] = ["mount", "umount"];
        let mounted = |tool: Option<&'static str>| -> Vec<&'static str> { tool.into_iter().chain(MOUNT).collect() };
        match self {
            Step::Loop(_) => vec!["losetup", "partx"],
            Step::Partition(_) => vec!["sfdisk", "partx"],
            Step::Mdadm(_) | Step::Degrade(_) | Step::Rebuild(_) => vec!["mdadm"],
            Step::Lvm(lvm) if lvm.layout == LvmLayout::Thin => vec!["lvm", "thin_check"],
            Step::Lvm(_) => vec!["lvm"],
            Step::Dm(_) => vec!["dmsetup"],
            Step::Mkfs(Mkfs { fs, .. }) => mounted(mkfs::maker(fs).map(|maker| maker.program)),
            Step::Btrfs(_) => mounted(Some("mkfs.btrfs")),
            Step::Mount(_) | Step::Overlay(_) | Step::Tmpfs(_) => MOUNT.to_vec(),
            Step::Tune(_) => vec!["tune2fs", "e2fsck"],
            Step::Nfs(_) => mounted(Some("exportfs")).into_iter().chain(["mount.nfs"]).collect(),
            Step::Cmd(_) => vec!["sh"],
            Step::Link(_) => vec!["ip"],
            Step::Newfs(_) => mounted(Some("newfs")),
            Step::Gmirror(_) => vec!["gmirror", "gpart", "kldload"],
            Step::Zpool(_) => vec!["zpool"],
            Step::Zram(_)
            | Step::Queue(_)
            | Step::Readahead(_)
            | Step::Sysctl(_)
            | Step::Fill(_)
            | Step::Age(_)
            | Step::Precondition(_) => vec![],
        }
    }
}
