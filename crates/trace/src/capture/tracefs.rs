//! Access to the kernel's tracefs, mounted or not.
//!
//! Many machines do not mount tracefs until it is first used. This process then creates a detached mount: it has no
//! path, other processes do not see it, and it ends with its last descriptor.

use super::kernel;
use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, UnmountFlags, fsconfig_create,
    fsmount, fsopen, mount, mount_change, unmount,
};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;

/// Usual mount points; the second is for kernels before 4.1.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Type of the file system in statfs(2). Source: linux/magic.h, TRACEFS_MAGIC.
const MAGIC: i128 = 0x7472_6163;

/// The root directory of tracefs. All paths are relative to it.
pub(super) struct Tracefs {
    root: OwnedFd,
}

impl Tracefs {
    /// Opens the mounted tracefs, or else creates a mount that only this process has.
    ///
    /// # Errors
    /// The system's, if tracefs is not mounted and this process may not mount it.
    pub(super) fn open() -> io::Result<Tracefs> {
        let root = match PLACES.iter().find_map(|place| mounted(Path::new(place))) {
            Some(root) => root,
            None => detached().or_else(|_| private()).map_err(|error| {
                io::Error::new(error.kind(), format!("it is not mounted, and this process may not mount it: {error}"))
            })?,
        };
        Ok(Tracefs { root })
    }

    /// Opens a file or directory.
    pub(super) fn file(&self, path: &str, flags: OFlags) -> io::Result<File> {
        Ok(File::from(rustix::fs::openat(&self.root, path, flags | OFlags::CLOEXEC, Mode::empty())?))
    }

    pub(super) fn read(&self, path: &str) -> io::Result<String> {
        let mut text = String::new();
        self.file(path, OFlags::RDONLY)?.read_to_string(&mut text)?;
        Ok(text)
    }

    /// Writes to a file. Opening it with `O_TRUNC` clears the lists that some files hold.
    pub(super) fn write(&self, path: &str, text: &str) -> io::Result<()> {
        self.file(path, OFlags::WRONLY | OFlags::TRUNC)?.write_all(text.as_bytes())
    }

    /// Lists the names in a directory.
    pub(super) fn names(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::new(OwnedFd::from(self.file(path, OFlags::RDONLY | OFlags::DIRECTORY)?))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    pub(super) fn make_directory(&self, path: &str) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.root, path, Mode::RWXU)?)
    }

    /// Removes a directory. It need not be empty: rmdir(2) removes the files that tracefs provides in it.
    pub(super) fn remove_directory(&self, path: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.root, path, AtFlags::REMOVEDIR)?)
    }
}

/// Opens a mount point of tracefs; `None` if it is not mounted there. Missing read permission is reported by later calls.
fn mounted(place: &Path) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(place, flags, Mode::empty()).ok()?;
    let found = rustix::fs::fstatfs(&root).ok()?;
    (i128::from(found.f_type) == MAGIC).then_some(root)
}

/// Creates a mount that is not attached to any namespace. Linux 5.2 and later.
fn detached() -> io::Result<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let attributes =
        MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    Ok(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// The same for older kernels: mounts tracefs in the mount namespace of a short-lived
/// thread. The descriptor keeps the mount alive.
fn private() -> io::Result<OwnedFd> {
    // Any existing directory works, since only this thread sees it covered. Recording needs /proc anyway.
    const COVERED: &str = "/proc";
    let mounted = thread::spawn(|| {
        kernel::leave_mount_namespace()?;
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("tracefs", COVERED, "tracefs", flags, None)?;
        let root = rustix::fs::open(COVERED, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        unmount(COVERED, UnmountFlags::DETACH)?;
        Ok(root)
    });
    mounted.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects: `trace record` as root works without a mounted tracefs, and its own mount is invisible. Tests both
    /// kinds of mount, even if this machine has tracefs mounted.
    #[test]
    fn tracefs_needs_no_mount_that_others_see() {
        let mounts = || std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let before = mounts();
        for (way, root) in [("detached", detached()), ("private", private())] {
            let root = match root {
                Ok(root) => root,
                Err(error) => {
                    assert!(std::env::var_os("CI").is_none(), "under CI nothing may be skipped: {way}: {error}");
                    eprintln!("SKIPPED: only root may mount tracefs: {way}: {error}");
                    continue;
                }
            };
            let tracefs = Tracefs { root };
            let id = tracefs.read("events/sched/sched_process_fork/id").unwrap();
            assert!(id.trim().parse::<u64>().is_ok(), "{way}: {id}");
            let name = format!("instances/plumb-test-{way}-{}", std::process::id());
            tracefs.make_directory(&name).unwrap();
            tracefs.write(&format!("{name}/trace_clock"), "mono").unwrap();
            assert!(tracefs.read(&format!("{name}/trace_clock")).unwrap().contains("[mono]"), "{way}");
            tracefs.remove_directory(&name).unwrap();
            assert_eq!(mounts(), before, "{way}");
        }
    }
}
