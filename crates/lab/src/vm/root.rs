//! A machine's own userland: a directory packed into a read-only image, or an existing image. Neither is ever written
//! to: the machine lays a file system in memory over it.

use super::error::VmError;
use super::image::in_path;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Serial of the disk with the userland.
pub(crate) const ROOT_SERIAL: &str = "plumb-root";

/// Word on the kernel's command line that passes this serial to the first process.
pub(crate) const ROOT_VARIABLE: &str = "PLUMB_ROOT";

/// Number of packed directories kept: as many as a study compares, and those before a change or two.
const KEPT_ROOTS: usize = 6;

/// Program that packs a directory.
const PACKER: &str = "mkfs.ext4";

const ROOT_END: &str = ".ext4";

/// Minimum bytes that ext4 uses per file: an inode, and the rest of its last block.
const BYTES_PER_FILE: u64 = 256 + 4096;

/// Space for the file system's own tables and for rounding.
const RESERVE_BYTES: u64 = 32 << 20;

/// Format of a disk's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RootFormat {
    /// Made here, and shared read-only by several machines.
    Packed,
    /// The user's image. A machine's writes go to a temporary file.
    Raw,
    /// The user's image in QEMU's own format.
    Qcow2,
}

/// The disk with a machine's userland.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RootDisk {
    pub(super) path: PathBuf,
    pub(super) format: RootFormat,
}

/// Checks that a path can be a root. For an image, returns its disk.
///
/// # Errors
/// Returns an error if it does not exist, holds no system, or cannot be packed here; with a hint
/// on how to create one.
pub(super) fn check(root: &Path) -> Result<Option<RootDisk>, VmError> {
    let facts = root.metadata().map_err(|source| VmError::NoRoot { path: root.to_owned(), source })?;
    if !facts.is_dir() {
        let mut head = [0; 4];
        let read = std::fs::File::open(root).and_then(|mut file| file.read_exact(&mut head));
        read.map_err(|source| VmError::Read { path: root.to_owned(), source })?;
        // QEMU's docs/interop/qcow2.txt.
        let format = if &head == b"QFI\xfb" { RootFormat::Qcow2 } else { RootFormat::Raw };
        return Ok(Some(RootDisk { path: root.to_owned(), format }));
    }
    let release = ["etc/os-release", "usr/lib/os-release"];
    let shell = ["bin/sh", "usr/bin/sh"];
    for (any, what) in [(release, "etc/os-release"), (shell, "bin/sh")] {
        // Seen from here, a link in it may lead outside.
        if !any.iter().any(|name| root.join(name).symlink_metadata().is_ok()) {
            return Err(VmError::NotRoot { path: root.to_owned(), missing: what });
        }
    }
    if in_path(PACKER).is_none() {
        return Err(VmError::NoPacker);
    }
    Ok(None)
}

/// Returns the disk for a root. A directory is packed once, and again when a file in it changes.
///
/// # Errors
/// Returns the errors of [`check`], or an error if it cannot be packed.
pub(super) fn provide(root: &Path, cache: &Path) -> Result<RootDisk, VmError> {
    if let Some(image) = check(root)? {
        return Ok(image);
    }
    let tree = RootTree::read(root)?;
    let path = cache.join(format!("root-{}{ROOT_END}", &tree.identity.to_hex()[..16]));
    if !path.is_file() {
        pack(root, &tree, &path, cache)?;
    }
    Ok(RootDisk { path, format: RootFormat::Packed })
}

/// Identity and size of a directory tree.
struct RootTree {
    identity: blake3::Hash,
    files: u64,
    bytes: u64,
}

impl RootTree {
    /// Hashes names, kinds, owners, sizes and change times, but not the content: a root has 200 MB.
    fn read(root: &Path) -> Result<RootTree, VmError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| VmError::RootPart { path, source }
        };
        let mut hash = blake3::Hasher::new();
        hash.update(root.as_os_str().as_bytes());
        let (mut files, mut bytes) = (0, 0);
        let device = root.metadata().map_err(failed(root))?.dev();
        let mut waiting = vec![root.to_owned()];
        while let Some(dir) = waiting.pop() {
            let entries = std::fs::read_dir(&dir).and_then(Iterator::collect::<io::Result<Vec<_>>>);
            let mut entries = entries.map_err(failed(&dir))?;
            entries.sort_by_key(std::fs::DirEntry::file_name);
            for entry in entries {
                let facts = entry.metadata().map_err(failed(&dir))?;
                add(&mut hash, entry.path().as_os_str(), &facts);
                files += 1;
                if facts.is_file() {
                    bytes += facts.len();
                }
                // Skip mounts inside it, such as /proc of a chroot.
                if facts.is_dir() && facts.dev() == device {
                    waiting.push(entry.path());
                }
            }
        }
        Ok(RootTree { identity: hash.finalize(), files, bytes })
    }

    fn image_bytes(&self) -> u64 {
        let needed = self.bytes + self.files * BYTES_PER_FILE + RESERVE_BYTES;
        (needed + needed / 8).next_multiple_of(1 << 20)
    }
}

fn add(hash: &mut blake3::Hasher, path: &OsStr, facts: &Metadata) {
    hash.update(path.as_bytes());
    for number in [facts.mode().into(), facts.uid().into(), facts.gid().into(), facts.len()] {
        let number: u64 = number;
        hash.update(&number.to_le_bytes());
    }
    // A change of content sets both times; `cp -p` resets the first one.
    for number in [facts.mtime(), facts.mtime_nsec(), facts.ctime(), facts.ctime_nsec()] {
        hash.update(&number.to_le_bytes());
    }
}

/// Packs the directory into ext4, which every kernel mounts. Source: mke2fs(8), `-d`.
fn pack(root: &Path, tree: &RootTree, path: &Path, cache: &Path) -> Result<(), VmError> {
    let mkfs = in_path(PACKER).ok_or(VmError::NoPacker)?;
    let write = |source| VmError::Write { path: path.to_owned(), source };
    std::fs::create_dir_all(cache).map_err(write)?;
    super::image::forget_old(cache, ROOT_END, KEPT_ROOTS);
    // Rename atomically: other processes may create the same image.
    let file = tempfile::NamedTempFile::new_in(cache).map_err(write)?;
    file.as_file().set_len(tree.image_bytes()).map_err(write)?;
    let mut command = Command::new(mkfs);
    command.args(["-q", "-F", "-b", "4096", "-I", "256", "-m", "0", "-O", "^has_journal,^resize_inode"]);
    command.args(["-E", "lazy_itable_init=0,root_owner=0:0", "-N", &(tree.files + 64).to_string()]);
    let output = command.arg("-d").arg(root).arg(file.path()).output().map_err(write)?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(VmError::Pack { path: root.to_owned(), reason });
    }
    file.persist(path).map_err(|error| write(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(dir: &Path) -> PathBuf {
        let root = dir.join("root");
        std::fs::create_dir_all(root.join("etc")).unwrap();
        std::fs::create_dir_all(root.join("bin")).unwrap();
        std::fs::write(root.join("etc/os-release"), "ID=test\n").unwrap();
        std::fs::write(root.join("bin/sh"), "").unwrap();
        root
    }

    // Protects: a root is a system, or the error names the missing part and a way to create one.
    #[test]
    fn a_root_without_a_system_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("cache");
        let message = provide(&dir.path().join("none"), &cache).unwrap_err().to_string();
        assert!(message.contains("none: ") && message.contains("mmdebstrap --variant=minbase"), "{message}");
        let root = root(dir.path());
        std::fs::remove_file(root.join("bin/sh")).unwrap();
        let message = provide(&root, &cache).unwrap_err().to_string();
        assert!(message.contains("has no bin/sh") && message.contains("mmdebstrap"), "{message}");
    }

    #[test]
    fn images_are_used_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let image = dir.path().join("disk");
        std::fs::write(&image, b"QFI\xfb and more").unwrap();
        let format = || provide(&image, dir.path()).unwrap().format;
        assert_eq!(format(), RootFormat::Qcow2);
        std::fs::write(&image, [0; 512]).unwrap();
        assert_eq!(format(), RootFormat::Raw);
    }

    // Protects: a change in the directory reaches the machine, and an unchanged directory is not packed again.
    #[test]
    fn a_directory_is_packed_once_for_each_state_of_it() {
        if in_path("mkfs.ext4").is_none() {
            eprintln!("skipped: needs mkfs.ext4, of Debian's package e2fsprogs");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (cache, root) = (dir.path().join("cache"), root(dir.path()));
        let first = provide(&root, &cache).unwrap();
        assert_eq!(first.format, RootFormat::Packed);
        let made = first.path.metadata().unwrap().ino();
        assert_eq!(provide(&root, &cache).unwrap().path.metadata().unwrap().ino(), made);
        std::fs::write(root.join("etc/more"), vec![7; 100_000]).unwrap();
        let second = provide(&root, &cache).unwrap();
        assert_ne!(second.path, first.path);
        // The magic number of ext4, and the content.
        let bytes = std::fs::read(&second.path).unwrap();
        assert_eq!(bytes[0x438..0x43a], [0x53, 0xef]);
        assert!(bytes.windows(4096).any(|block| block == [7; 4096]));
    }
}
