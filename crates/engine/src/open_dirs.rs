//! Directories that a worker keeps open, so that its calls name each file relative to its parent directory.
//!
//! The kernel would resolve a path of several names through any symbolic links that are there at that moment. So
//! each directory is opened once, below the one that the guard admitted and without following links. Calls get
//! its descriptor and one name.

use crate::backend::Errno;
use crate::guard::{Mounts, Roots, open_beneath};
use rustix::fs::{Mode, OFlags};
use rustix::process::Resource;
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// Limit of directories that one worker keeps open.
const SLOTS_MAX: usize = 4096;

/// Limit of user-named directories that one worker keeps open; most runs have one.
const BASES_MAX: usize = 64;

const FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

/// Number of directories that all workers of this process keep open.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Returns the limit for [`OPEN`]: a quarter of the descriptors that this process may have.
fn budget() -> usize {
    static BUDGET: OnceLock<usize> = OnceLock::new();
    *BUDGET.get_or_init(|| {
        let limit = rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        usize::try_from(limit / 4).unwrap_or(usize::MAX)
    })
}

/// Directories that paths are relative to.
enum Bases {
    /// Directories that the user typed, each opened at its first use.
    Roots(Arc<Roots>),
    /// Directories that are already open.
    Given(Vec<OwnedFd>),
}

/// A directory that is kept open.
#[derive(Default)]
struct Slot {
    base: u32,
    /// The directory's path relative to its base.
    path: Vec<u8>,
    fd: Option<OwnedFd>,
}

impl Slot {
    #[inline]
    fn is(&self, base: u32, path: &[u8]) -> bool {
        self.fd.is_some() && self.base == base && self.path == path
    }
}

/// Directories that a worker keeps open.
pub(crate) struct OpenDirs {
    bases: Bases,
    /// The open roots, by number; empty for `Bases::Given`.
    open_bases: Vec<Option<OwnedFd>>,
    bases_open: usize,
    /// Direct-mapped by a hash of base and path.
    slots: Vec<Slot>,
    /// Slot of the directory that was used last.
    last: usize,
}

/// A directory and the name of an entry in it, as the calls that end in `at` take them.
pub(crate) type DirAndName<'a> = (BorrowedFd<'a>, &'a CStr);

/// The directory and the name in it that one call operates on.
pub(crate) struct DirEntry<'a> {
    pub(crate) dir: BorrowedFd<'a>,
    pub(crate) name: &'a CStr,
    /// `true` if an earlier call opened the directory, which may have been removed and recreated since.
    was_open: bool,
}

impl OpenDirs {
    /// Starts at directories that the user typed, with slots for `dirs` directories below them.
    pub(crate) fn below_roots(roots: Arc<Roots>, dirs: u64) -> OpenDirs {
        let open_bases = (0..roots.count()).map(|_| None).collect();
        OpenDirs { bases: Bases::Roots(roots), open_bases, bases_open: 0, slots: slots(dirs), last: 0 }
    }

    /// Starts at open directories, with slots for `dirs` directories below them.
    pub(crate) fn below(bases: Vec<OwnedFd>, dirs: u64) -> OpenDirs {
        OpenDirs { bases: Bases::Given(bases), open_bases: Vec::new(), bases_open: 0, slots: slots(dirs), last: 0 }
    }

    /// Returns the descriptor of a base, and opens it if necessary.
    ///
    /// # Errors
    /// System errors; `ESTALE` if another directory has taken its place.
    pub(crate) fn base(&mut self, base: u32) -> Result<BorrowedFd<'_>, Errno> {
        self.open_base(base)?;
        self.opened_base(base)
    }

    fn opened_base(&self, base: u32) -> Result<BorrowedFd<'_>, Errno> {
        let opened = match &self.bases {
            Bases::Given(bases) => bases.get(base as usize),
            Bases::Roots(_) => self.open_bases.get(base as usize).and_then(Option::as_ref),
        };
        opened.map(AsFd::as_fd).ok_or(Errno(libc::ENOENT))
    }

    /// Opens a base if necessary. Returns `true` if it was open already.
    #[inline]
    fn open_base(&mut self, base: u32) -> Result<bool, Errno> {
        let Bases::Roots(roots) = &self.bases else { return Ok(true) };
        if let Some(Some(_)) = self.open_bases.get(base as usize) {
            return Ok(true);
        }
        let opened = roots.open(base as usize)?;
        if self.bases_open >= BASES_MAX {
            self.open_bases.iter_mut().for_each(|open| *open = None);
            self.bases_open = 0;
        }
        *self.open_bases.get_mut(base as usize).ok_or(Errno(libc::ENOENT))? = Some(opened);
        self.bases_open += 1;
        Ok(false)
    }

    /// Returns the parent directory and the last name of a path relative to a base. Makes no
    /// system call if the directory is open.
    ///
    /// # Errors
    /// System errors: `ELOOP` for a symbolic link in the path, `ESTALE` if another directory has taken the base's place.
    #[inline]
    pub(crate) fn at<'a>(&'a mut self, base: u32, path: &'a CStr) -> Result<DirEntry<'a>, Errno> {
        let bytes = path.to_bytes_with_nul();
        let Some(cut) = bytes.iter().rposition(|&byte| byte == b'/') else {
            let was_open = self.open_base(base)?;
            return Ok(DirEntry { dir: self.opened_base(base)?, name: path, was_open });
        };
        let name = CStr::from_bytes_with_nul(&bytes[cut + 1..]).map_err(|_| Errno(libc::EINVAL))?;
        let parent = &bytes[..cut];
        let was_open = if self.slots[self.last].is(base, parent) { true } else { self.find(base, parent)? };
        let dir = self.slots[self.last].fd.as_ref().ok_or(Errno(libc::EBADF))?;
        Ok(DirEntry { dir: dir.as_fd(), name, was_open })
    }

    /// Selects the slot of a directory as the last one, and opens it if necessary. Returns `true` if it was open already.
    #[inline(never)]
    fn find(&mut self, base: u32, path: &[u8]) -> Result<bool, Errno> {
        self.last = hash(base, path) & (self.slots.len() - 1);
        if self.slots[self.last].is(base, path) {
            return Ok(true);
        }
        self.forget(self.last);
        if OPEN.load(Relaxed) >= budget() {
            (0..self.slots.len()).for_each(|slot| self.forget(slot));
        }
        self.open_base(base)?;
        let opened = open_beneath(self.opened_base(base)?, path, FLAGS, Mode::empty(), Mounts::Entered)?;
        let slot = &mut self.slots[self.last];
        slot.base = base;
        slot.path.clear();
        slot.path.extend_from_slice(path);
        slot.fd = Some(opened);
        OPEN.fetch_add(1, Relaxed);
        Ok(false)
    }

    fn forget(&mut self, slot: usize) {
        if self.slots[slot].fd.take().is_some() {
            OPEN.fetch_sub(1, Relaxed);
        }
    }

    /// Closes a directory that may have been renamed, and those below it.
    pub(crate) fn renamed(&mut self, base: u32, path: &CStr) {
        let path = path.to_bytes();
        for number in 0..self.slots.len() {
            let slot = &self.slots[number];
            let is_there =
                slot.path.strip_prefix(path).is_some_and(|rest| rest.first().is_none_or(|&byte| byte == b'/'));
            if slot.base == base && is_there {
                self.forget(number);
            }
        }
    }

    /// Opens the directory of a path before its op is timed. The op itself reports an error.
    #[inline]
    pub(crate) fn warm(&mut self, base: u32, path: &CStr) {
        let _ = self.at(base, path);
    }

    /// Runs `call` on the parent directory and the last name of a path. If the open directory was removed, opens the
    /// path's directory again and repeats the call once.
    ///
    /// # Errors
    /// Errors of `call`, and those of [`OpenDirs::at`].
    #[inline]
    pub(crate) fn call<T>(
        &mut self,
        base: u32,
        path: &CStr,
        mut call: impl FnMut(BorrowedFd<'_>, &CStr) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        let entry = self.at(base, path)?;
        match call(entry.dir, entry.name) {
            Err(rustix::io::Errno::NOENT) if entry.was_open && is_gone(entry.dir) => {
                self.call_again(base, path, &mut call)
            }
            done => Ok(done?),
        }
    }

    #[cold]
    fn call_again<T>(
        &mut self,
        base: u32,
        path: &CStr,
        call: &mut dyn FnMut(BorrowedFd<'_>, &CStr) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        if path.to_bytes().contains(&b'/') {
            self.forget(self.last);
        } else if let Some(open) = self.open_bases.get_mut(base as usize) {
            self.bases_open -= usize::from(open.take().is_some());
        }
        let entry = self.at(base, path)?;
        Ok(call(entry.dir, entry.name)?)
    }
}

/// Returns `true` if an open directory was removed.
#[cold]
fn is_gone(dir: BorrowedFd<'_>) -> bool {
    // Not fstat(2): the tools call it themselves, and a recorded run must show only their calls.
    #[cfg(target_os = "linux")]
    let links = rustix::fs::statx(dir, c"", rustix::fs::AtFlags::EMPTY_PATH, rustix::fs::StatxFlags::NLINK)
        .map(|found| u64::from(found.stx_nlink));
    #[cfg(not(target_os = "linux"))]
    #[allow(clippy::useless_conversion)]
    let links = rustix::fs::fstat(dir).map(|found| u64::from(found.st_nlink));
    // A file server that no longer knows the directory returns an error.
    links.unwrap_or(0) == 0
}

impl Drop for OpenDirs {
    fn drop(&mut self) {
        (0..self.slots.len()).for_each(|slot| self.forget(slot));
    }
}

/// Allocates slots for `dirs` directories, rounded up to a power of two.
fn slots(dirs: u64) -> Vec<Slot> {
    let wanted = usize::try_from(dirs).unwrap_or(SLOTS_MAX).clamp(1, SLOTS_MAX).next_power_of_two();
    (0..wanted).map(|_| Slot::default()).collect()
}

/// FNV-1a, folded because neighbouring names differ only in their last digits.
#[inline]
fn hash(base: u32, path: &[u8]) -> usize {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ u64::from(base);
    for &byte in path {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    (hash ^ (hash >> 32)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Pinning;
    use rustix::fs::{AtFlags, CWD, RenameFlags};
    use std::ffi::CString;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    fn dirs(place: &Path) -> OpenDirs {
        let roots = Roots::new(&[place.to_owned()], [], Pinning::Pinned);
        OpenDirs::below_roots(Arc::new(roots), 4)
    }

    fn make(dirs: &mut OpenDirs, path: &str) -> Result<(), Errno> {
        let path = CString::new(path).unwrap();
        dirs.call(0, &path, |dir, name| {
            rustix::fs::openat(dir, name, OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW, Mode::RUSR).map(drop)
        })
    }

    /// Protects path resolution when directories evict each other from the four slots.
    #[test]
    fn each_name_resolves_in_its_own_directory() {
        let place = tempfile::tempdir().unwrap();
        let mut dirs = dirs(place.path());
        for number in 0..20 {
            fs::create_dir_all(place.path().join(format!("a{number}/b"))).unwrap();
        }
        for round in 0..3 {
            for number in 0..20 {
                make(&mut dirs, &format!("a{number}/b/f{round}.{number}")).unwrap();
            }
        }
        make(&mut dirs, "top").unwrap();
        for number in 0..20 {
            assert_eq!(fs::read_dir(place.path().join(format!("a{number}/b"))).unwrap().count(), 3);
        }
        assert!(place.path().join("top").exists());
        assert_eq!(make(&mut dirs, "none/f"), Err(Errno(libc::ENOENT)));
    }

    /// Protects the guard's decision: a recreated directory is opened again, but a link in its place is not followed.
    #[test]
    fn directories_are_reopened_but_not_through_links() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let mut dirs = dirs(place.path());
        fs::create_dir(at("d")).unwrap();
        make(&mut dirs, "d/f").unwrap();
        fs::remove_dir_all(at("d")).unwrap();
        fs::create_dir(at("d")).unwrap();
        make(&mut dirs, "d/g").unwrap();
        assert!(at("d/g").exists());
        fs::create_dir(at("victim")).unwrap();
        symlink("victim", at("e")).unwrap();
        rustix::fs::renameat_with(CWD, at("d"), CWD, at("e"), RenameFlags::EXCHANGE).unwrap();
        // The open directory was renamed, but calls still go to it.
        make(&mut dirs, "d/h").unwrap();
        assert!(at("e/h").exists());
        fs::remove_dir_all(at("e")).unwrap();
        assert_eq!(make(&mut dirs, "d/i"), Err(Errno(libc::ELOOP)));
        assert_eq!(fs::read_dir(at("victim")).unwrap().count(), 0);
        rustix::fs::unlinkat(CWD, at("d"), AtFlags::empty()).unwrap();
        assert_eq!(make(&mut dirs, "d/i"), Err(Errno(libc::ENOENT)));
    }
}
