//! Opening what lies below a directory, and nothing else: no symbolic link is followed, no mount is entered, `..` does
//! not exist. By `openat2(2)` where the kernel has it (Linux 5.6), else step by step.

use crate::refusal::NotBelow;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

/// `openat2` asks to be called again when something was renamed meanwhile; after this many times it is no accident.
#[cfg(target_os = "linux")]
const ATTEMPTS_MAX: u32 = 100;

/// Which file it is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
}

impl Identity {
    // Their types differ between architectures.
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    pub(crate) fn of(stat: &Stat) -> Identity {
        Identity { device: stat.st_dev as u64, inode: stat.st_ino as u64 }
    }

    pub(crate) fn of_metadata(metadata: &Metadata) -> Identity {
        Identity { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// The names along a relative path.
///
/// # Errors
/// A path that does not stay below its start.
pub(crate) fn steps(path: &Path) -> Result<Vec<&OsStr>, NotBelow> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            Component::ParentDir => return Err(NotBelow::Parent),
            Component::RootDir | Component::Prefix(_) => return Err(NotBelow::Absolute),
        }
    }
    if names.is_empty() { Err(NotBelow::Nothing) } else { Ok(names) }
}

/// Opens the entry `name` of a directory. A symbolic link is `ELOOP`, something mounted there `EXDEV`.
#[cfg(target_os = "linux")]
pub(crate) fn open_entry(dir: BorrowedFd<'_>, name: &OsStr, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve =
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    let mut attempts = 0;
    loop {
        match crate::raw_open::openat2(dir, name, flags, mode, resolve) {
            Err(Errno::AGAIN) if attempts < ATTEMPTS_MAX => attempts += 1,
            // EPERM: a seccomp filter that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => return open_entry_by_steps(dir, name, flags, mode),
            // O_DIRECTORY on a symbolic link.
            Err(Errno::NOTDIR) if is_symlink(dir, name) => return Err(Errno::LOOP),
            done => return done,
        }
    }
}

/// The same where there is no `openat2`.
#[cfg(not(target_os = "linux"))]
pub(crate) fn open_entry(dir: BorrowedFd<'_>, name: &OsStr, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    open_entry_by_steps(dir, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode)
}

/// The same without `openat2`. FreeBSD's word for a symbolic link is `EMLINK`.
fn open_entry_by_steps(dir: BorrowedFd<'_>, name: &OsStr, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    let fd = match crate::raw_open::openat(dir, name, flags, mode) {
        Err(Errno::NOTDIR | Errno::MLINK) if is_symlink(dir, name) => return Err(Errno::LOOP),
        done => done?,
    };
    let stat = rustix::fs::fstat(&fd)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        return Err(Errno::LOOP);
    }
    let parent = rustix::fs::fstat(dir)?;
    if Identity::of(&stat).device != Identity::of(&parent).device || mount_id(fd.as_fd()) != mount_id(dir) {
        return Err(Errno::XDEV);
    }
    Ok(fd)
}

fn is_symlink(dir: BorrowedFd<'_>, name: &OsStr) -> bool {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// Which mount a descriptor lies on, as far as /proc tells: bind mounts have the device of what they show.
pub(super) fn mount_id(fd: BorrowedFd<'_>) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_raw_fd())).ok()?;
    text.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()
}

/// Opens the directory at the end of `names`, making what is missing with mode 0700.
pub(crate) fn make_dirs(dir: BorrowedFd<'_>, names: &[&OsStr]) -> rustix::io::Result<OwnedFd> {
    let mut here = dir.try_clone_to_owned().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::MFILE))?;
    for name in names {
        match rustix::fs::mkdirat(&here, *name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        here = open_entry(here.as_fd(), name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
    }
    Ok(here)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    type Opener = fn(BorrowedFd<'_>, &OsStr, OFlags, Mode) -> rustix::io::Result<OwnedFd>;

    const OPENERS: [Opener; 2] =
        [open_entry, |dir, name, flags, mode| open_entry_by_steps(dir, name, flags | OFlags::NOFOLLOW, mode)];

    #[test]
    fn only_paths_that_stay_below_are_steps() {
        assert_eq!(steps(Path::new("a/./b")).unwrap(), ["a", "b"]);
        for bad in ["/a", "a/../b", "..", "", "."] {
            assert!(steps(Path::new(bad)).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn symbolic_links_are_not_followed_with_openat2_or_without() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "x").unwrap();
        fs::create_dir(dir.path().join("dir")).unwrap();
        symlink("file", dir.path().join("to-file")).unwrap();
        symlink("dir", dir.path().join("to-dir")).unwrap();
        let root = File::open(dir.path()).unwrap();
        for open in OPENERS {
            let open = |name: &str, flags| open(root.as_fd(), OsStr::new(name), flags, Mode::empty()).map(drop);
            assert_eq!(open("file", OFlags::RDONLY), Ok(()));
            assert_eq!(open("dir", OFlags::RDONLY | OFlags::DIRECTORY), Ok(()));
            assert_eq!(open("to-file", OFlags::RDWR), Err(Errno::LOOP));
            assert_eq!(open("to-dir", OFlags::RDONLY | OFlags::DIRECTORY), Err(Errno::LOOP));
            assert_eq!(open("absent", OFlags::RDONLY), Err(Errno::NOENT));
        }
    }

    #[test]
    fn root_mounts_are_not_entered_even_of_the_same_device() {
        if !rustix::process::geteuid().is_root() {
            assert!(std::env::var_os("CI").is_none(), "not root");
            eprintln!("SKIPPED: a bind mount needs root");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        for name in ["inside", "outside"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let run = |program: &str, arguments: &[&str]| {
            let status = std::process::Command::new(program).args(arguments).current_dir(dir.path()).status().unwrap();
            assert!(status.success(), "{program}");
        };
        run("mount", &["--bind", "outside", "inside"]);
        let root = File::open(dir.path()).unwrap();
        let results = OPENERS.map(|open| {
            open(root.as_fd(), OsStr::new("inside"), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).map(drop)
        });
        run("umount", &["inside"]);
        assert_eq!(results, [Err(Errno::XDEV), Err(Errno::XDEV)]);
    }

    #[test]
    fn directories_are_made_but_not_through_links() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), dir.path().join("link")).unwrap();
        let root = File::open(dir.path()).unwrap();
        let make = |path: &str| make_dirs(root.as_fd(), &steps(Path::new(path)).unwrap()).map(drop);
        assert_eq!(make("a/b/c"), Ok(()));
        assert!(dir.path().join("a/b/c").is_dir());
        assert_eq!(make("link/x"), Err(Errno::LOOP));
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}
