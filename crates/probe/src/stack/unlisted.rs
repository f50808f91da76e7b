//! File systems that `/proc/self/mountinfo` does not list: in a chroot below a mount point, or without `/proc`.

use crate::mounts::Mount;
use crate::platform;
use crate::sysroot::Sysroot;
use std::path::{Path, PathBuf};

/// Types of file systems by the number from statfs(2). Source: `include/uapi/linux/magic.h` and statfs(2).
const KINDS: [(u64, &str); 22] = [
    (0xef53, "ext4"), // ext2 and ext3 have the same number, and ext4's driver serves them
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0xf2f5_2010, "f2fs"),
    (0xca45_1a4e, "bcachefs"),
    (0x2fc1_2fc1, "zfs"),
    (0x4d44, "vfat"),
    (0x2011_bab0, "exfat"),
    (0x7366_746e, "ntfs3"),
    (0x0102_1994, "tmpfs"),
    (0x8584_58f6, "ramfs"),
    (0x9584_58f6, "hugetlbfs"),
    (0x794c_7630, "overlay"),
    (0x6573_5546, "fuse"),
    (0x6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb3"),
    (0x00c3_6400, "ceph"),
    (0x0bd0_0bd0, "lustre"),
    (0x0102_1997, "9p"),
    (0x4750_4653, "gpfs"),
    (0x5346_414f, "afs"),
];

/// Describes the mount of an existing path by stat(2) and statfs(2). It lacks options, and its mount point is the top
/// of the visible part of the file system. `None` if the path cannot be examined.
pub(super) fn mount_of(sys: &Sysroot, path: &Path) -> Option<Mount> {
    let (magic, is_read_only) = platform::statfs_kind(path)?;
    let number = platform::data_number(path)?;
    let source = match sys.follow(format!("/sys/dev/block/{number}")).as_deref().and_then(Path::file_name) {
        Some(name) => format!("/dev/{}", name.to_string_lossy().replace('!', "/")),
        None => "an unlisted mount".to_owned(),
    };
    let mode = if is_read_only { "ro" } else { "rw" };
    Some(Mount {
        id: 0,
        point: highest_directory(path, &number),
        number,
        root: PathBuf::from("/"),
        kind: kind_name(magic),
        source,
        mount_options: vec![mode.to_owned()],
        super_options: Vec::new(),
    })
}

fn kind_name(magic: u64) -> String {
    let known = KINDS.iter().find(|(number, _)| *number == magic);
    known.map_or_else(|| format!("type {magic:#x}"), |(_, name)| (*name).to_owned())
}

/// Returns the highest directory above a path on the same file system.
fn highest_directory(path: &Path, number: &str) -> PathBuf {
    let is_same = |above: &&Path| platform::data_number(above).is_some_and(|found| found == number);
    path.ancestors().take_while(is_same).last().unwrap_or(path).to_owned()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    // Protects: in a chroot without mountinfo, the description matches the mount table outside.
    #[test]
    fn statfs_agrees_with_the_mount_table() {
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        let mounts = crate::mounts::parse(&std::fs::read_to_string("/proc/self/mountinfo").unwrap());
        let listed = crate::mounts::find(&mounts, &here, platform::mount_id(&here)).unwrap();
        let found = mount_of(&Sysroot::real(), &here).unwrap();
        assert!(here.starts_with(&found.point), "{found:?}");
        let is_named = KINDS.iter().any(|(_, name)| *name == listed.kind);
        assert!(found.kind == listed.kind || !is_named || listed.kind.starts_with("ext"), "{found:?} {listed:?}");
        assert_eq!(found.options(), ["rw"]);
        let memory = mount_of(&Sysroot::real(), Path::new("/dev/shm")).unwrap();
        assert_eq!((memory.kind.as_str(), memory.source.as_str()), ("tmpfs", "an unlisted mount"));
        assert_eq!(memory.point, Path::new("/dev/shm"));
        assert_eq!(mount_of(&Sysroot::real(), Path::new("/nowhere/at/all")), None);
    }

    #[test]
    fn an_unknown_type_keeps_its_number() {
        assert_eq!((kind_name(0xef53).as_str(), kind_name(0x1234).as_str()), ("ext4", "type 0x1234"));
    }
}
