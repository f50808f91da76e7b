//! A mounted file system: its kind, options, sizes, identity and features.

use super::{btrfs, ext, xfs};
use crate::mounts::Mount;
use crate::platform;
use crate::sysroot::Sysroot;
use plumb_result::Seen;
use plumb_result::observe::FileSystem;
use std::path::Path;

/// File systems that keep their data in memory.
const IN_MEMORY: [&str; 6] = ["tmpfs", "ramfs", "rootfs", "devtmpfs", "hugetlbfs", "shm"];
/// File systems with remote storage: on another machine, or on the host of this one.
const REMOTE: [&str; 25] = [
    "nfs",
    "nfs3",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "ceph",
    "glusterfs",
    "lustre",
    "beegfs",
    "beegfs_nodev",
    "gpfs",
    "afs",
    "orangefs",
    "pvfs2",
    "coda",
    "ncpfs",
    "9p",
    "virtiofs",
    "vboxsf",
    "vmhgfs",
    "prl_fs",
    "panfs",
    "wekafs",
    "drvfs",
];

/// FUSE programs whose storage is on another machine.
const REMOTE_FUSE: [&str; 21] = [
    "sshfs",
    "glusterfs",
    "ceph",
    "ceph-fuse",
    "s3fs",
    "goofys",
    "mount-s3",
    "mountpoint-s3",
    "gcsfuse",
    "blobfuse",
    "blobfuse2",
    "rclone",
    "juicefs",
    "davfs",
    "curlftpfs",
    "seaweedfs",
    "hdfs",
    "fuse_dfs",
    "moosefs",
    "mfs",
    "lizardfs",
];

/// Whether a file system of this kind is known to have its storage on another machine.
fn is_remote(kind: &str) -> bool {
    REMOTE.contains(&kind) || kind.strip_prefix("fuse.").is_some_and(|program| REMOTE_FUSE.contains(&program))
}

/// Whether a file system of this kind keeps its data in memory.
pub(super) fn is_in_memory(kind: &str) -> bool {
    IN_MEMORY.contains(&kind)
}

/// Describes a file system by its mount alone.
pub(super) fn describe(sys: &Sysroot, mount: &Mount, path: &Path, unseen: &mut Vec<String>) -> FileSystem {
    let mut found = FileSystem {
        kind: mount.kind.clone(),
        mount_point: mount.point.display().to_string(),
        source: mount.source.clone(),
        options: mount.options(),
        in_memory: is_in_memory(&mount.kind),
        remote: is_remote(&mount.kind),
        uuid: Seen::no("no device, no UUID"),
        ..FileSystem::default()
    };
    if mount.root != Path::new("/") {
        found.features.insert("mounted_root".to_owned(), mount.root.display().to_string());
    }
    if sys.is_real() {
        match platform::sizes(path) {
            Ok(sizes) => (found.size_bytes, found.free_bytes) = (sizes.size_bytes, sizes.free_bytes),
            Err(error) => unseen.push(error.to_string()),
        }
    }
    found
}

/// Adds facts that depend on the devices under it.
pub(super) fn describe_on(
    sys: &Sysroot,
    mount: &Mount,
    path: &Path,
    tops: &[String],
    found: &mut FileSystem,
    unseen: &mut Vec<String>,
) {
    if found.in_memory || found.remote || mount.kind == "overlay" {
        return;
    }
    let Some(top) = tops.first() else { return };
    found.uuid = uuid(sys, path, top);
    let features = &mut found.features;
    match mount.kind.as_str() {
        "ext2" | "ext3" | "ext4" => ext::features(sys, top, features, &mut found.uuid, unseen),
        "xfs" => xfs::features(sys, path, features, unseen),
        "btrfs" => btrfs::features(sys, mount, top, features, &mut found.uuid, unseen),
        other => {
            unseen.push(format!("the features of {other}: only those of ext2, ext3, ext4, xfs and btrfs are known"))
        }
    }
}

/// From the kernel, from udev's links, or from udev's database.
fn uuid(sys: &Sysroot, path: &Path, top: &str) -> Seen<String> {
    const NIL: &str = "00000000-0000-0000-0000-000000000000";
    let of_kernel = if sys.is_real() { platform::fs_uuid(path) } else { None };
    match of_kernel {
        Some(nil) if nil == NIL => return Seen::no("the file system has none (all zeros)"),
        Some(uuid) => return Seen::Yes(uuid),
        None => {}
    }
    const LINKS: &str = "/dev/disk/by-uuid";
    let device = Path::new("/dev").join(top);
    for name in sys.names(LINKS) {
        if sys.resolve(Path::new(LINKS).join(&name)).is_some_and(|node| node == device) {
            return Seen::Yes(name);
        }
    }
    let number = sys.line(format!("/sys/class/block/{}/dev", top.replace('/', "!"))).unwrap_or_default();
    let notes = sys.read(format!("/run/udev/data/b{number}")).unwrap_or_default();
    match notes.lines().find_map(|line| line.strip_prefix("E:ID_FS_UUID=")) {
        Some(uuid) => Seen::Yes(uuid.to_owned()),
        None => Seen::no("neither the kernel (before Linux 6.9) nor udev reports it"),
    }
}
