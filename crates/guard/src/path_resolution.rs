//! Opens files and directories below a directory and never outside it. Symbolic links are not followed, `..` is
//! refused, and mounts are entered only if the caller allows it. Uses `openat2(2)` if the kernel has it (Linux 5.6),
//! otherwise one `openat(2)` per component.

use crate::Refusal;
use crate::refusal::NotBelow;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Maximum number of attempts. `openat2` fails with `EAGAIN` after a concurrent rename; so many of
/// them are not an accident.
#[cfg(target_os = "linux")]
const ATTEMPTS_MAX: u32 = 100;

/// Identity of a file, independent of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Device number, `st_dev`.
    pub device: u64,
    /// Inode number, `st_ino`.
    pub inode: u64,
}

impl Identity {
    // The types of the fields differ between architectures.
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    pub(crate) fn from_stat(stat: &Stat) -> Identity {
        Identity { device: stat.st_dev as u64, inode: stat.st_ino as u64 }
    }

    pub(crate) fn from_metadata(metadata: &Metadata) -> Identity {
        Identity { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// Splits a relative path into its components.
///
/// # Errors
/// Fails for a path that leaves its starting directory.
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

/// Opens the entry `name` of a directory. A symbolic link fails with `ELOOP`, a mount point with `EXDEV`.
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

/// Opens the entry on systems without `openat2`.
#[cfg(not(target_os = "linux"))]
pub(crate) fn open_entry(dir: BorrowedFd<'_>, name: &OsStr, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    open_entry_by_steps(dir, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode)
}

/// Opens the entry without `openat2`. FreeBSD's error for a symbolic link is `EMLINK`.
fn open_entry_by_steps(dir: BorrowedFd<'_>, name: &OsStr, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    let (fd, stat) = open_unlinked(dir, name, flags, mode)?;
    let parent = rustix::fs::fstat(dir)?;
    if Identity::from_stat(&stat).device != Identity::from_stat(&parent).device || mount_id(fd.as_fd()) != mount_id(dir)
    {
        return Err(Errno::XDEV);
    }
    Ok(fd)
}

/// Opens an entry, even one that is a mount point. A symbolic link fails with `ELOOP`.
fn open_unlinked(dir: BorrowedFd<'_>, name: &OsStr, flags: OFlags, mode: Mode) -> rustix::io::Result<(OwnedFd, Stat)> {
    let fd = match crate::raw_open::openat(dir, name, flags, mode) {
        Err(Errno::NOTDIR | Errno::MLINK) if is_symlink(dir, name) => return Err(Errno::LOOP),
        done => done?,
    };
    // With O_PATH, the link itself is opened.
    let stat = rustix::fs::fstat(&fd)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink { Err(Errno::LOOP) } else { Ok((fd, stat)) }
}

/// Whether [`open_beneath`] enters mounts below the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mounts {
    /// Mounts are entered: mounting needs more rights than swapping names.
    Entered,
    /// A mount on the way fails with `EXDEV`.
    Refused,
}

/// Opens a path of one or more components below a directory. A symbolic link in any component fails with `ELOOP`, a path that
/// leads out of the directory with `EXDEV`. The empty path opens the directory itself.
///
/// # Errors
/// `ELOOP` and `EXDEV` as above; otherwise the error of `openat2(2)`.
#[cfg(target_os = "linux")]
pub fn open_beneath(
    dir: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    mode: Mode,
    mounts: Mounts,
) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;
    /// Set once `openat2` has failed with `ENOSYS`.
    static IS_MISSING: AtomicBool = AtomicBool::new(false);
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let path = if path.is_empty() { b"." } else { path };
    if IS_MISSING.load(Relaxed) {
        return open_beneath_by_steps(dir, path, flags, mode, mounts);
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let resolve = if mounts == Mounts::Refused { resolve | ResolveFlags::NO_XDEV } else { resolve };
    // With O_NOFOLLOW, a link in place of a directory fails with ENOTDIR; RESOLVE_NO_SYMLINKS suffices and gives ELOOP.
    let alone = flags.difference(OFlags::NOFOLLOW);
    let mut attempts = 0;
    loop {
        match crate::raw_open::openat2(dir, path, alone, mode, resolve) {
            Err(Errno::AGAIN) if attempts < ATTEMPTS_MAX => attempts += 1,
            Err(Errno::NOSYS) => {
                IS_MISSING.store(true, Relaxed);
                return open_beneath_by_steps(dir, path, flags, mode, mounts);
            }
            // A seccomp filter may reject the call with EPERM. If EPERM has another cause, the fallback fails with it too.
            Err(Errno::PERM) => return open_beneath_by_steps(dir, path, flags, mode, mounts),
            done => return done,
        }
    }
}

/// Opens a path below a directory on systems without `openat2`, one component at a time.
///
/// # Errors
/// `ELOOP` for a symbolic link, `EXDEV` for a path that leads out; otherwise the error of `openat(2)`.
#[cfg(not(target_os = "linux"))]
pub fn open_beneath(
    dir: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    mode: Mode,
    mounts: Mounts,
) -> rustix::io::Result<OwnedFd> {
    open_beneath_by_steps(dir, path, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode, mounts)
}

/// Opens one component after the other, without following links.
fn open_beneath_by_steps(
    dir: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    mode: Mode,
    mounts: Mounts,
) -> rustix::io::Result<OwnedFd> {
    if path.first() == Some(&b'/') {
        return Err(Errno::XDEV);
    }
    let names: Vec<&[u8]> = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty() && *name != b".").collect();
    if names.contains(&b"..".as_slice()) {
        return Err(Errno::XDEV);
    }
    let Some((last, above)) = names.split_last() else {
        return crate::raw_open::openat(dir, ".", flags, mode);
    };
    let step = |from: BorrowedFd<'_>, name: &[u8], flags: OFlags, mode: Mode| {
        let name = OsStr::from_bytes(name);
        match mounts {
            Mounts::Refused => open_entry_by_steps(from, name, flags, mode),
            Mounts::Entered => open_unlinked(from, name, flags, mode).map(|(fd, _)| fd),
        }
    };
    let mut here: Option<OwnedFd> = None;
    for name in above {
        let from = here.as_ref().map_or(dir, AsFd::as_fd);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        here = Some(step(from, name, flags, Mode::empty())?);
    }
    step(here.as_ref().map_or(dir, AsFd::as_fd), last, flags, mode)
}

fn is_symlink(dir: BorrowedFd<'_>, name: &OsStr) -> bool {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// Returns the number of the mount that a descriptor is on, if /proc shows it. Bind mounts share the
/// device number of their source.
pub(super) fn mount_id(fd: BorrowedFd<'_>) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_raw_fd())).ok()?;
    text.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()
}

/// Creates the missing directories of `path` below `base`, with mode 0700. `base` must exist; empty or `.` means the
/// working directory. Does nothing if `path` is not below it. Links below `base` are not followed.
///
/// # Errors
/// [`Refusal::Symlink`] for a link below `base`, [`Refusal::Io`].
pub fn make_parents_below(base: &Path, path: &Path) -> Result<(), Refusal> {
    let Some(parent) = path.parent() else { return Ok(()) };
    let base = match (base.as_os_str().as_bytes(), path.is_absolute()) {
        (b"" | b".", true) => std::env::current_dir().map_err(|error| Refusal::Io {
            path: path.to_owned(),
            action: "find the working directory",
            source: error,
        })?,
        (b"" | b".", false) => PathBuf::new(),
        _ => base.to_owned(),
    };
    let Ok(rest) = parent.strip_prefix(&base) else { return Ok(()) };
    if parent.exists() {
        return Ok(());
    }
    // Opening the file will report the error in such a path, or the missing base.
    let Ok(names) = steps(rest) else { return Ok(()) };
    let base = if base.as_os_str().is_empty() { Path::new(".") } else { base.as_path() };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(root) = crate::raw_open::open(base, flags, Mode::empty()) else { return Ok(()) };
    match make_dirs(root.as_fd(), &names) {
        Ok(_) => Ok(()),
        Err(Errno::LOOP | Errno::MLINK) => Err(Refusal::Symlink { path: parent.to_owned() }),
        Err(error) => Err(Refusal::io(path, "make its directory")(error)),
    }
}

/// Opens the directory at the end of `names`, creating missing ones with mode 0700.
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
    use std::os::unix::fs::{PermissionsExt, symlink};

    // Protects directories outside the named one: a job's missing directories are created only below
    // it, and not through links.
    #[test]
    fn missing_directories_are_made_below_a_base_only() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("base/there")).unwrap();
        fs::create_dir(at("victim")).unwrap();
        symlink("../victim", at("base/link")).unwrap();
        let make = |path: &str| make_parents_below(&at("base"), &at(path));
        make("base/a/b/file").unwrap();
        make("base/there/file").unwrap();
        assert!(at("base/a/b").is_dir() && !at("base/a/b/file").exists());
        assert_eq!(fs::metadata(at("base/a")).unwrap().permissions().mode() & 0o077, 0);
        for outside in ["other/file", "base/../other/file", "base/there/../../other/file"] {
            make(outside).unwrap();
            assert!(!at("other").exists(), "{outside}");
        }
        assert!(matches!(make("base/link/new/file"), Err(Refusal::Symlink { .. })));
        assert!(!at("victim/new").exists());
        fs::write(at("base/plain"), "x").unwrap();
        make("base/plain/file").unwrap();
        assert!(matches!(make("base/plain/new/file"), Err(Refusal::Io { .. })), "a file is not a directory");
        // The working directory of a test does not contain this place.
        make_parents_below(Path::new("."), &at("elsewhere/file")).unwrap();
        assert!(!at("elsewhere").exists());
        make_parents_below(&at("missing"), &at("missing/a/file")).unwrap();
        assert!(!at("missing").exists(), "the base itself is not created");
    }

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

    type BeneathOpener = fn(BorrowedFd<'_>, &[u8], OFlags, Mode, Mounts) -> rustix::io::Result<OwnedFd>;

    const BENEATH_OPENERS: [BeneathOpener; 2] = [open_beneath, |dir, path, flags, mode, mounts| {
        open_beneath_by_steps(dir, path, flags | OFlags::NOFOLLOW, mode, mounts)
    }];

    /// Protects everything outside: with and without `openat2`, no link in a path is followed, and no path leads out.
    #[test]
    fn paths_stay_below_the_root_with_openat2_or_without() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("root/a/b")).unwrap();
        fs::write(dir.path().join("root/a/b/file"), "x").unwrap();
        fs::write(dir.path().join("outside"), "x").unwrap();
        symlink("a", dir.path().join("root/link")).unwrap();
        symlink("..", dir.path().join("root/a/up")).unwrap();
        let root = File::open(dir.path().join("root")).unwrap();
        for open in BENEATH_OPENERS {
            for mounts in [Mounts::Entered, Mounts::Refused] {
                let open =
                    |path: &str, flags| open(root.as_fd(), path.as_bytes(), flags, Mode::empty(), mounts).map(drop);
                let place = OFlags::PATH | OFlags::DIRECTORY;
                assert_eq!(open("a/b/file", OFlags::RDWR), Ok(()));
                assert_eq!(open("a/b", place), Ok(()));
                assert_eq!(open("", place), Ok(()));
                assert_eq!(open("link/b/file", OFlags::RDWR), Err(Errno::LOOP));
                assert_eq!(open("link", place), Err(Errno::LOOP));
                assert_eq!(open("a/up/a", place), Err(Errno::LOOP));
                assert_eq!(open("a/none/c", place), Err(Errno::NOENT));
                for out in ["../outside", "a/../../outside", "/etc/passwd"] {
                    assert_eq!(open(out, OFlags::RDONLY), Err(Errno::XDEV), "{out}");
                }
            }
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
