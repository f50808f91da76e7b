//! Files that only one user or root can have written: configuration, journals and registers that Plumb acts on.
//!
//! A name proves nothing: the directory above it may belong to another user, who can put a different file in its place. Each
//! component of the path, from `/` on, is therefore opened, and its descriptor is checked: this user or root owns it, and
//! neither its group nor others can write to it. Symbolic links are followed one at a time, and only those that this user or
//! root made. A sticky directory such as `/tmp`, in which users cannot replace each other's entries, is accepted on the way,
//! but not as the directory of a trusted file.

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// Maximum number of symbolic links on the way to one file. Source: `MAXSYMLINKS` of the kernel.
const LINKS_MAX: usize = 40;
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
const PRIVATE_DIRECTORY: Mode = Mode::RWXU;
const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Returns the bits of a mode, whose type differs between systems.
#[allow(clippy::useless_conversion, reason = "it is none on other systems")]
pub(crate) fn mode(found: &Stat) -> u32 {
    u32::from(found.st_mode)
}

/// The reason why a path is not trusted.
#[derive(Debug, thiserror::Error)]
pub enum UntrustedPath {
    /// A component cannot be opened or examined.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the component that failed.
        path: PathBuf,
        /// Error of the failed system call.
        source: io::Error,
    },
    /// Another user owns a component.
    #[error("user {owner} owns {}, and this is user {user}", path.display())]
    Owner {
        /// Path of the component with another owner.
        path: PathBuf,
        /// User id of the component's owner.
        owner: u32,
        /// The user whose files are trusted.
        user: u32,
    },
    /// Others can write to a component.
    #[error("others can write to {0} (`chmod go-w {0}`)", path.display())]
    Writable {
        /// Path of the component that others can write to.
        path: PathBuf,
    },
    /// A component is not of the expected kind.
    #[error("{} is not a {expected}", path.display())]
    Kind {
        /// Path of the component of the wrong kind.
        path: PathBuf,
        /// The expected kind of file.
        expected: &'static str,
    },
    /// The file has further hard links, which may be in any user's directory.
    #[error("{} has {links} names (hard links)", path.display())]
    Links {
        /// Path of the file with several names.
        path: PathBuf,
        /// The number of its names.
        links: u64,
    },
}

impl UntrustedPath {
    fn io(path: &Path, error: Errno) -> UntrustedPath {
        UntrustedPath::Io { path: path.to_owned(), source: error.into() }
    }

    /// Returns the kind of the system's error; `None` where a check failed.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            UntrustedPath::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }
}

/// A directory in which only one user or root can have created entries.
#[derive(Debug)]
pub struct TrustedDir {
    dir: OwnedFd,
    path: PathBuf,
    user: u32,
}

/// Handling of directories that do not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Fails,
    /// They are created, mode 0700.
    Created,
}

impl TrustedDir {
    /// Opens a directory that `user` trusts.
    ///
    /// # Errors
    /// The first component that is missing or that others could have changed.
    pub fn open(path: &Path, user: u32) -> Result<TrustedDir, UntrustedPath> {
        TrustedDir::walk(path, user, Missing::Fails)
    }

    /// Opens a directory that only this process's user can enter. Missing directories are created with mode 0700, regardless of
    /// the umask. The last one gets this mode if others could enter or read it until now.
    ///
    /// # Errors
    /// As [`TrustedDir::open`]; a directory that cannot be created.
    pub fn create_private(path: &Path) -> Result<TrustedDir, UntrustedPath> {
        let dir = TrustedDir::walk(path, rustix::process::geteuid().as_raw(), Missing::Created)?;
        let found = dir.stat()?;
        if found.st_uid == dir.user && mode(&found) & 0o077 != 0 {
            rustix::fs::fchmod(&dir.dir, PRIVATE_DIRECTORY).map_err(|error| UntrustedPath::io(path, error))?;
        }
        Ok(dir)
    }

    fn walk(path: &Path, user: u32, missing: Missing) -> Result<TrustedDir, UntrustedPath> {
        let mut walk = Walk::new(path, user)?;
        while let Some(name) = walk.left.pop_front() {
            walk.enter(&name, missing)?;
        }
        let Walk { dir, path, .. } = walk;
        let dir = TrustedDir { dir: open_directory(&dir, OsStr::new("."), &path, READ)?, path, user };
        let found = dir.stat()?;
        if others_write(&found, user) {
            return Err(UntrustedPath::Writable { path: dir.path });
        }
        Ok(dir)
    }

    fn stat(&self) -> Result<Stat, UntrustedPath> {
        rustix::fs::fstat(&self.dir).map_err(|error| UntrustedPath::io(&self.path, error))
    }

    /// Returns the path with all links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a second descriptor of the same directory.
    ///
    /// # Errors
    /// The error of dup(2), such as too many open files.
    pub fn try_clone(&self) -> io::Result<TrustedDir> {
        Ok(TrustedDir { dir: self.dir.try_clone()?, path: self.path.clone(), user: self.user })
    }

    /// Lists the directory's entries, sorted by name.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.dir)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        names.sort();
        Ok(names)
    }

    /// Opens a subdirectory that this user or root owns and others cannot write to. A link is not followed.
    ///
    /// # Errors
    /// It does not exist, is not a directory, or others could have changed it.
    pub fn open_dir(&self, name: &OsStr) -> Result<TrustedDir, UntrustedPath> {
        let path = self.path.join(name);
        let dir = open_directory(&self.dir, name, &path, READ)?;
        let found = rustix::fs::fstat(&dir).map_err(|error| UntrustedPath::io(&path, error))?;
        check_owner(&path, &found, self.user)?;
        if others_write(&found, self.user) {
            return Err(UntrustedPath::Writable { path });
        }
        Ok(TrustedDir { dir, path, user: self.user })
    }

    /// Opens a regular file of this user's own for reading and appending. A link is not followed. The mode becomes 0600 if
    /// others could read the file; a file that they could write to, or that has a second name, is refused.
    ///
    /// # Errors
    /// It does not exist, or others could have written it.
    pub fn open_private_file(&self, name: &OsStr) -> Result<File, UntrustedPath> {
        let path = self.path.join(name);
        // A FIFO must not block this process.
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = crate::raw_open::openat(&self.dir, name, flags, Mode::empty()).map_err(|error| match error {
            Errno::LOOP | Errno::MLINK | Errno::NXIO | Errno::ISDIR => {
                UntrustedPath::Kind { path: path.clone(), expected: "regular file" }
            }
            error => UntrustedPath::io(&path, error),
        })?;
        let found = rustix::fs::fstat(&file).map_err(|error| UntrustedPath::io(&path, error))?;
        if found.st_uid != self.user {
            return Err(UntrustedPath::Owner { path, owner: found.st_uid, user: self.user });
        }
        check_file(&path, &found, self.user)?;
        #[allow(clippy::useless_conversion, reason = "the type differs between systems")]
        let links = u64::from(found.st_nlink);
        if links > 1 {
            return Err(UntrustedPath::Links { path, links });
        }
        if mode(&found) & 0o777 != 0o600 {
            rustix::fs::fchmod(&file, PRIVATE_FILE).map_err(|error| UntrustedPath::io(&path, error))?;
        }
        Ok(File::from(file))
    }

    /// Creates a file for reading and appending with mode 0600, regardless of the umask.
    ///
    /// # Errors
    /// The name exists, or the file cannot be created.
    pub fn create_private_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = crate::raw_open::openat(&self.dir, name, flags, PRIVATE_FILE)?;
        rustix::fs::fchmod(&file, PRIVATE_FILE)?;
        Ok(File::from(file))
    }

    /// Removes a file from the directory.
    ///
    /// # Errors
    /// The error of unlinkat(2), such as `ENOENT`.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.dir, name, AtFlags::empty())?)
    }

    /// Flushes the directory's entries to disk.
    ///
    /// # Errors
    /// The error of fsync(2), such as `EIO`.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.dir)?)
    }
}

impl AsFd for TrustedDir {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

/// Opens a regular file for reading. `user` or root must own it, others must not be able to write to it, and only they can have
/// put it there. Links are followed, including the last one.
///
/// # Errors
/// It does not exist, or others could have written it.
pub fn open_trusted_file(path: &Path, user: u32) -> Result<File, UntrustedPath> {
    let mut walk = Walk::new(path, user)?;
    while let Some(name) = walk.left.pop_front() {
        if !walk.left.is_empty() {
            walk.enter(&name, Missing::Fails)?;
            continue;
        }
        let path = walk.path.join(&name);
        let dir = rustix::fs::fstat(&walk.dir).map_err(|error| UntrustedPath::io(&walk.path, error))?;
        if others_write(&dir, user) {
            return Err(UntrustedPath::Writable { path: walk.path });
        }
        if walk.follow(&name)? {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = crate::raw_open::openat(&walk.dir, &name, flags, Mode::empty())
            .map_err(|error| UntrustedPath::io(&path, error))?;
        let found = rustix::fs::fstat(&file).map_err(|error| UntrustedPath::io(&path, error))?;
        check_file(&path, &found, user)?;
        return Ok(File::from(file));
    }
    Err(UntrustedPath::Kind { path: path.to_owned(), expected: "regular file" })
}

/// A path whose first components have been opened and checked.
struct Walk {
    dir: OwnedFd,
    path: PathBuf,
    user: u32,
    left: VecDeque<OsString>,
    links: usize,
}

impl Walk {
    fn new(path: &Path, user: u32) -> Result<Walk, UntrustedPath> {
        let absolute =
            std::path::absolute(path).map_err(|source| UntrustedPath::Io { path: path.to_owned(), source })?;
        let mut left = VecDeque::new();
        push_front(&mut left, &absolute);
        Ok(Walk { dir: root()?, path: PathBuf::from("/"), user, left, links: 0 })
    }

    /// Queues the components of a symbolic link's target. Returns `false` if the name is not a link.
    fn follow(&mut self, name: &OsStr) -> Result<bool, UntrustedPath> {
        let path = self.path.join(name);
        let failed = |error| UntrustedPath::io(&path, error);
        let found = rustix::fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Symlink {
            return Ok(false);
        }
        check_owner(&path, &found, self.user)?;
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(failed(Errno::LOOP));
        }
        let target = rustix::fs::readlinkat(&self.dir, name, Vec::new()).map_err(failed)?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        if target.is_absolute() {
            self.dir = root()?;
            self.path = PathBuf::from("/");
        }
        push_front(&mut self.left, &target);
        Ok(true)
    }

    /// Opens the next component, which is a directory or a link to one.
    fn enter(&mut self, name: &OsStr, missing: Missing) -> Result<(), UntrustedPath> {
        let path =
            if name == ".." { self.path.parent().unwrap_or(Path::new("/")).to_owned() } else { self.path.join(name) };
        let is_link = match self.follow(name) {
            Err(error) if error.io_kind() == Some(io::ErrorKind::NotFound) && missing == Missing::Created => {
                self.create(name, &path)?;
                false
            }
            found => found?,
        };
        if is_link {
            return Ok(());
        }
        let dir = open_directory(&self.dir, name, &path, PASS)?;
        let found = rustix::fs::fstat(&dir).map_err(|error| UntrustedPath::io(&path, error))?;
        check_owner(&path, &found, self.user)?;
        let is_sticky = mode(&found) & 0o1000 != 0;
        if others_write(&found, self.user) && !is_sticky {
            return Err(UntrustedPath::Writable { path });
        }
        (self.dir, self.path) = (dir, path);
        Ok(())
    }

    /// Creates a directory with mode 0700, in a directory that others cannot write to.
    fn create(&self, name: &OsStr, path: &Path) -> Result<(), UntrustedPath> {
        let failed = |error| UntrustedPath::io(path, error);
        match rustix::fs::mkdirat(&self.dir, name, PRIVATE_DIRECTORY) {
            // Another process has just created it; its owner is checked next.
            Err(Errno::EXIST) => return Ok(()),
            made => made.map_err(failed)?,
        }
        let dir = open_directory(&self.dir, name, path, READ)?;
        let found = rustix::fs::fstat(&dir).map_err(failed)?;
        check_owner(path, &found, self.user)?;
        rustix::fs::fchmod(&dir, PRIVATE_DIRECTORY).map_err(failed)
    }
}

fn root() -> Result<OwnedFd, UntrustedPath> {
    let root = Path::new("/");
    crate::raw_open::open(root, PASS | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| UntrustedPath::io(root, error))
}

/// Access to directories on the way: a home may be below one that its user can only search.
#[cfg(target_os = "linux")]
const PASS: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PASS: OFlags = OFlags::RDONLY;
const READ: OFlags = OFlags::RDONLY;

fn open_directory(parent: &OwnedFd, name: &OsStr, path: &Path, access: OFlags) -> Result<OwnedFd, UntrustedPath> {
    let flags = access | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    crate::raw_open::openat(parent, name, flags, Mode::empty()).map_err(|error| match error {
        Errno::NOTDIR | Errno::LOOP | Errno::MLINK => {
            UntrustedPath::Kind { path: path.to_owned(), expected: "directory" }
        }
        error => UntrustedPath::io(path, error),
    })
}

/// Prepends the components of a path to those that are left.
fn push_front(left: &mut VecDeque<OsString>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => left.push_front(name.to_owned()),
            Component::ParentDir => left.push_front("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
}

/// Returns `true` if anyone but `user` can write to a file or directory. Many systems give each user a group with the same
/// number and a umask that lets it write; that group has no other member. Root's group may have other members.
pub fn others_write(found: &Stat, user: u32) -> bool {
    let is_own_group = user != 0 && found.st_gid == user;
    let others = if is_own_group { OTHERS_WRITE } else { GROUP_WRITES | OTHERS_WRITE };
    mode(found) & others != 0
}

fn check_owner(path: &Path, found: &Stat, user: u32) -> Result<(), UntrustedPath> {
    match found.st_uid {
        0 => Ok(()),
        owner if owner == user => Ok(()),
        owner => Err(UntrustedPath::Owner { path: path.to_owned(), owner, user }),
    }
}

fn check_file(path: &Path, found: &Stat, user: u32) -> Result<(), UntrustedPath> {
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(UntrustedPath::Kind { path: path.to_owned(), expected: "regular file" });
    }
    check_owner(path, found, user)?;
    match others_write(found, user) {
        false => Ok(()),
        true => Err(UntrustedPath::Writable { path: path.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::io::Read;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn me() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn mode_of(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    // Protects: a directory on the way that others can write to is refused, and so is a sticky one at the end.
    #[test]
    fn others_cannot_write_anywhere_in_the_path() {
        let dir = tempfile::tempdir().unwrap();
        let last = dir.path().join("a/b/c");
        fs::create_dir_all(&last).unwrap();
        for way in ["a", "a/b", "a/b/c"] {
            set_mode(&dir.path().join(way), 0o755);
        }
        assert!(TrustedDir::open(&last, me()).is_ok());
        // The group with the user's own number may write, except root's.
        let modes: &[u32] = if me() == 0 { &[0o775, 0o757] } else { &[0o757] };
        for way in ["a", "a/b", "a/b/c"] {
            for &mode in modes {
                set_mode(&dir.path().join(way), mode);
                let error = TrustedDir::open(&last, me()).unwrap_err();
                assert!(matches!(&error, UntrustedPath::Writable { path } if path.ends_with(way)), "{way}: {error}");
                set_mode(&dir.path().join(way), 0o755);
            }
        }
        set_mode(&dir.path().join("a/b"), 0o1777);
        assert!(TrustedDir::open(&last, me()).is_ok(), "entries of a sticky directory stay their owners'");
        set_mode(&last, 0o1777);
        assert!(matches!(TrustedDir::open(&last, me()), Err(UntrustedPath::Writable { .. })));
        assert!(matches!(TrustedDir::create_private(&last), Err(UntrustedPath::Writable { .. })));
    }

    // Protects: directories and files are private regardless of the umask; those of an earlier
    // version become private, and lose nothing.
    #[test]
    fn new_files_are_private_and_readable_ones_become_private() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("x/state");
        let made = TrustedDir::create_private(&state).unwrap();
        made.create_private_file("new".as_ref()).unwrap();
        for path in ["x", "x/state"] {
            assert_eq!(mode_of(&dir.path().join(path)), 0o700);
        }
        assert_eq!(mode_of(&state.join("new")), 0o600);
        assert!(made.create_private_file("new".as_ref()).is_err(), "it is not overwritten");
        fs::write(state.join("old"), "kept").unwrap();
        set_mode(&state, 0o755);
        set_mode(&state.join("old"), 0o644);
        let again = TrustedDir::create_private(&state).unwrap();
        let mut text = String::new();
        again.open_private_file("old".as_ref()).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), mode_of(&state), mode_of(&state.join("old"))), ("kept", 0o700, 0o600));
        assert_eq!(again.names().unwrap(), ["new", "old"]);
    }

    // Protects users whose umask lets their own group write: their directories are trusted. Other groups count as other users.
    #[test]
    fn a_group_with_the_users_own_number_is_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let mut found = rustix::fs::stat(dir.path()).unwrap();
        for (mode, group, user, expected) in [
            (0o755, 1000, 1000, false),
            (0o775, 1000, 1000, false),
            (0o775, 100, 1000, true),
            (0o757, 1000, 1000, true),
            (0o775, 0, 0, true),
            (0o755, 0, 0, false),
        ] {
            found.st_mode = (found.st_mode & !0o777) | mode;
            found.st_gid = group;
            assert_eq!(others_write(&found, user), expected, "{mode:o}, group {group}, user {user}");
        }
    }

    #[test]
    fn files_that_others_could_have_written_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let trusted = TrustedDir::open(dir.path(), me()).unwrap();
        let open = |name: &str| trusted.open_private_file(name.as_ref());
        fs::write(path("file"), "").unwrap();
        set_mode(&path("file"), 0o602);
        assert!(matches!(open("file"), Err(UntrustedPath::Writable { .. })));
        assert_eq!(mode_of(&path("file")), 0o602, "its mode is unchanged");
        set_mode(&path("file"), 0o600);
        symlink(path("file"), path("link")).unwrap();
        assert!(matches!(open("link"), Err(UntrustedPath::Kind { .. })));
        fs::hard_link(path("file"), path("second")).unwrap();
        assert!(matches!(open("file"), Err(UntrustedPath::Links { links: 2, .. })));
        rustix::fs::mknodat(rustix::fs::CWD, path("fifo"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        assert!(matches!(open("fifo"), Err(UntrustedPath::Kind { .. })));
        assert_eq!(open("none").unwrap_err().io_kind(), Some(io::ErrorKind::NotFound));
    }

    // Protects: a link is trusted only if its maker and the directories that it leads through are.
    #[test]
    fn links_are_followed_where_only_this_user_made_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir_all(path("open/inner")).unwrap();
        fs::create_dir(path("home")).unwrap();
        fs::write(path("open/inner/file"), "text").unwrap();
        symlink("../open/inner", path("home/relative")).unwrap();
        symlink(path("open/inner/file"), path("home/file")).unwrap();
        symlink("loop", path("home/loop")).unwrap();
        for way in ["open", "open/inner", "home"] {
            set_mode(&path(way), 0o755);
        }
        set_mode(&path("open/inner/file"), 0o644);
        assert_eq!(
            TrustedDir::open(&path("home/relative"), me()).unwrap().path(),
            path("open/inner").canonicalize().unwrap()
        );
        assert!(open_trusted_file(&path("home/file"), me()).is_ok());
        assert!(open_trusted_file(&path("home/relative/file"), me()).is_ok());
        assert!(TrustedDir::open(&path("home/loop"), me()).is_err());
        set_mode(&path("open"), 0o777);
        assert!(matches!(open_trusted_file(&path("home/file"), me()), Err(UntrustedPath::Writable { .. })));
        assert!(matches!(TrustedDir::open(&path("home/relative"), me()), Err(UntrustedPath::Writable { .. })));
    }

    // Protects root: another user's file, directory or link is not trusted anywhere in the path.
    #[test]
    fn another_users_entries_are_refused() {
        if me() != 0 {
            eprintln!("SKIPPED: only root can give files to somebody else");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir_all(path("theirs/state")).unwrap();
        fs::write(path("theirs/state/file"), "").unwrap();
        let is_theirs = |found: Result<_, UntrustedPath>| match found {
            Err(UntrustedPath::Owner { owner, user, .. }) => (owner, user) == (65534, 0),
            Err(error) => panic!("{error}"),
            Ok(()) => false,
        };
        chown(path("theirs"), Some(65534), None).unwrap();
        assert!(is_theirs(TrustedDir::open(&path("theirs/state"), 0).map(drop)));
        assert!(is_theirs(TrustedDir::create_private(&path("theirs/new")).map(drop)));
        assert!(!path("theirs/new").exists());
        assert!(is_theirs(open_trusted_file(&path("theirs/state/file"), 0).map(drop)));
        chown(path("theirs"), Some(0), None).unwrap();
        let state = TrustedDir::open(&path("theirs/state"), 0).unwrap();
        chown(path("theirs/state/file"), Some(65534), None).unwrap();
        assert!(is_theirs(state.open_private_file("file".as_ref()).map(drop)));
        symlink(path("theirs/state"), path("link")).unwrap();
        assert!(TrustedDir::open(&path("link"), 0).is_ok());
        std::os::unix::fs::lchown(path("link"), Some(65534), None).unwrap();
        assert!(is_theirs(TrustedDir::open(&path("link"), 0).map(drop)));
    }
}
