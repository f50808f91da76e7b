//! Directories that a worker keeps open, so that calls on names begin at the directory in which the file lies.
//!
//! A path of several names would be followed by the kernel through whatever links lie on the way at that moment. So the directory is
//! opened once, beneath the one that the guard admitted and through no link, and every call gets its descriptor and one name.

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

/// Directories that one worker keeps open at most.
const SLOTS_MAX: usize = 4096;

/// Directories of the user's that one worker keeps open at most; most runs have one.
const BASES_MAX: usize = 64;

/// How the directories are opened.
const FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

/// Directories that all workers of this process keep open.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// This many of them may be open: a quarter of all descriptors.
fn budget() -> usize {
    static BUDGET: OnceLock<usize> = OnceLock::new();
    *BUDGET.get_or_init(|| {
        let limit = rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        usize::try_from(limit / 4).unwrap_or(usize::MAX)
    })
}

/// Directories from which paths begin.
enum Bases {
    /// At directories that the user typed, opened when they are used first.
    Roots(Arc<Roots>),
    /// At directories that are open.
    Given(Vec<OwnedFd>),
}

/// A directory that is kept open.
#[derive(Default)]
struct Slot {
    base: u32,
    /// From the base on.
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
    /// Of roots: those that are open.
    open_bases: Vec<Option<OwnedFd>>,
    bases_open: usize,
    /// Each directory has one place, by a hash of its path.
    slots: Vec<Slot>,
    /// The place of the last one.
    last: usize,
}

/// A directory and a name in it, for one call.
pub(crate) struct Spot<'a> {
    pub(crate) dir: BorrowedFd<'a>,
    pub(crate) name: &'a CStr,
    /// The directory was open before, and may have been removed and made anew meanwhile.
    was_open: bool,
}

impl OpenDirs {
    /// Starts at directories that the user typed, with room for this many directories below them.
    pub(crate) fn below_roots(roots: Arc<Roots>, dirs: u64) -> OpenDirs {
        let open_bases = (0..roots.count()).map(|_| None).collect();
        OpenDirs { bases: Bases::Roots(roots), open_bases, bases_open: 0, slots: slots(dirs), last: 0 }
    }

    /// Starts at open directories, with room for this many directories below them.
    pub(crate) fn below(bases: Vec<OwnedFd>, dirs: u64) -> OpenDirs {
        OpenDirs { bases: Bases::Given(bases), open_bases: Vec::new(), bases_open: 0, slots: slots(dirs), last: 0 }
    }

    /// Opens a base itself.
    ///
    /// # Errors
    /// The system's; `ESTALE` if another directory is there now.
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

    /// Opens a base where it is not open. Returns whether it was.
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

    /// Finds the directory and the name of a path that begins at a base. Makes no system call if the directory is open.
    ///
    /// # Errors
    /// The system's: `ELOOP` where a symbolic link is on the way, `ESTALE` where the base is another directory now.
    #[inline]
    pub(crate) fn at<'a>(&'a mut self, base: u32, path: &'a CStr) -> Result<Spot<'a>, Errno> {
        let bytes = path.to_bytes_with_nul();
        let Some(cut) = bytes.iter().rposition(|&byte| byte == b'/') else {
            let was_open = self.open_base(base)?;
            return Ok(Spot { dir: self.opened_base(base)?, name: path, was_open });
        };
        let name = CStr::from_bytes_with_nul(&bytes[cut + 1..]).map_err(|_| Errno(libc::EINVAL))?;
        let parent = &bytes[..cut];
        let was_open = if self.slots[self.last].is(base, parent) { true } else { self.find(base, parent)? };
        let dir = self.slots[self.last].fd.as_ref().ok_or(Errno(libc::EBADF))?;
        Ok(Spot { dir: dir.as_fd(), name, was_open })
    }

    /// Makes a directory the last one, and says whether it was open.
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

    /// Forgets a directory that may have got another name, and those in it.
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

    /// Opens the directory of a path before its op is timed. An error shows in the op.
    #[inline]
    pub(crate) fn warm(&mut self, base: u32, path: &CStr) {
        let _ = self.at(base, path);
    }

    /// Makes a call with the directory and the name of a path. A directory that was open and has been removed and made anew is opened once more.
    ///
    /// # Errors
    /// The call's, and those of [`OpenDirs::at`].
    #[inline]
    pub(crate) fn call<T>(
        &mut self,
        base: u32,
        path: &CStr,
        mut call: impl FnMut(BorrowedFd<'_>, &CStr) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        let spot = self.at(base, path)?;
        match call(spot.dir, spot.name) {
            Err(rustix::io::Errno::NOENT) if spot.was_open && is_gone(spot.dir) => {
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
        let spot = self.at(base, path)?;
        Ok(call(spot.dir, spot.name)?)
    }
}

/// Whether an open directory was removed.
#[cold]
fn is_gone(dir: BorrowedFd<'_>) -> bool {
    // Not fstat(2), which tools make themselves: what a recording of calls shows stays theirs.
    #[cfg(target_os = "linux")]
    let links = rustix::fs::statx(dir, c"", rustix::fs::AtFlags::EMPTY_PATH, rustix::fs::StatxFlags::NLINK)
        .map(|found| u64::from(found.stx_nlink));
    #[cfg(not(target_os = "linux"))]
    #[allow(clippy::useless_conversion)]
    let links = rustix::fs::fstat(dir).map(|found| u64::from(found.st_nlink));
    // A file server that has forgotten it answers with an error.
    links.unwrap_or(0) == 0
}

impl Drop for OpenDirs {
    fn drop(&mut self) {
        (0..self.slots.len()).for_each(|slot| self.forget(slot));
    }
}

/// Room for so many directories, a power of two.
fn slots(dirs: u64) -> Vec<Slot> {
    let wanted = usize::try_from(dirs).unwrap_or(SLOTS_MAX).clamp(1, SLOTS_MAX).next_power_of_two();
    (0..wanted).map(|_| Slot::default()).collect()
}

/// FNV-1a, folded: names of neighbours differ in their last digits.
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

    /// Names are found again however often a directory gives its place to another.
    #[test]
    fn each_name_lies_in_its_own_directory() {
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

    /// A directory that was removed and made anew is the one that counts, and no link is followed to another one.
    #[test]
    fn directories_are_opened_anew_but_not_through_links() {
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
        // The open directory has another name now, and is still the one that was meant.
        make(&mut dirs, "d/h").unwrap();
        assert!(at("e/h").exists());
        fs::remove_dir_all(at("e")).unwrap();
        assert_eq!(make(&mut dirs, "d/i"), Err(Errno(libc::ELOOP)));
        assert_eq!(fs::read_dir(at("victim")).unwrap().count(), 0);
        rustix::fs::unlinkat(CWD, at("d"), AtFlags::empty()).unwrap();
        assert_eq!(make(&mut dirs, "d/i"), Err(Errno(libc::ENOENT)));
    }
}
