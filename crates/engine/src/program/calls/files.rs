//! Where the files of a worker lie.

use crate::backend::Errno;
use crate::open_dirs::OpenDirs;
use crate::program::file_set::SetPlace;
use crate::program::files::FileTable;
use crate::program::trees::TreeCalls;
use rustix::fs::AtFlags;
use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// Directories of named files that a worker keeps open, where they lie in any below those of the user's.
const DIRECTORIES: u64 = 256;

/// Where the files of a worker lie.
pub(in crate::program) enum Files {
    Names(NamedPlaces),
    Set(Box<SetPlace>),
    Trees(Box<TreeCalls>),
}

/// Files by their names, and the directories that are open.
pub(in crate::program) struct NamedPlaces {
    pub(super) table: Arc<FileTable>,
    dirs: OpenDirs,
    /// For the second name of an op.
    others: OpenDirs,
}

impl NamedPlaces {
    pub(in crate::program) fn new(table: Arc<FileTable>) -> NamedPlaces {
        let dirs = |most| OpenDirs::below_roots(Arc::clone(table.roots()), most);
        let (dirs, others) = (dirs(if table.has_directories() { DIRECTORIES } else { 1 }), dirs(1));
        NamedPlaces { table, dirs, others }
    }

    /// Makes a call with the directory and the name of a file.
    #[inline]
    pub(in crate::program) fn call<T>(
        &mut self,
        number: u32,
        call: impl FnMut(BorrowedFd<'_>, &CStr) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        let (root, path) = self.table.beneath(number).ok_or(Errno(libc::ENOENT))?;
        self.dirs.call(root, path, call)
    }

    /// Does something with the directory and the name of a file.
    pub(in crate::program) fn with<T>(
        &mut self,
        number: u32,
        does: impl FnOnce(BorrowedFd<'_>, &CStr) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let (root, path) = self.table.beneath(number).ok_or(Errno(libc::ENOENT))?;
        let spot = self.dirs.at(root, path)?;
        does(spot.dir, spot.name)
    }

    /// Makes a symbolic link that names the file next to it.
    pub(in crate::program) fn symlink_beside(&mut self, number: u32, link: u32) -> Result<(), Errno> {
        let NamedPlaces { table, others, .. } = self;
        let (_, path) = table.beneath(number).ok_or(Errno(libc::ENOENT))?;
        let path = path.to_bytes_with_nul();
        let last = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let content = CStr::from_bytes_with_nul(&path[last..]).map_err(|_| Errno(libc::EINVAL))?;
        let (root, path) = table.beneath(link).ok_or(Errno(libc::ENOENT))?;
        others.call(root, path, |dir, name| rustix::fs::symlinkat(content, dir, name))
    }

    /// Makes a call with those of two files.
    pub(in crate::program) fn call_two<T>(
        &mut self,
        (number, other): (u32, u32),
        call: impl Fn(Spot<'_>, Spot<'_>) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        let NamedPlaces { table, dirs, others } = self;
        let (root, path) = table.beneath(number).ok_or(Errno(libc::ENOENT))?;
        let (other_root, other) = table.beneath(other).ok_or(Errno(libc::ENOENT))?;
        dirs.call(root, path, |dir, name| match others.at(other_root, other) {
            Ok(spot) => call((dir, name), (spot.dir, spot.name)),
            Err(error) => Err(rustix::io::Errno::from_raw_os_error(error.0)),
        })
    }
}

/// A directory, and a name in it.
pub(in crate::program) type Spot<'a> = (BorrowedFd<'a>, &'a CStr);

impl Files {
    /// Opens the directory of the first file, so that it is not opened in the time of the first op.
    pub(in crate::program) fn prepare(&mut self) {
        if let Files::Names(NamedPlaces { table, dirs, .. }) = self
            && let Some((root, _)) = table.beneath(0)
        {
            // An error shows in the first op.
            let _ = dirs.base(root);
        }
    }

    /// Makes a call with the directory and the name of the file of this number; of a set, that of the op at hand.
    #[inline]
    pub(super) fn call<T>(
        &mut self,
        number: u64,
        call: impl FnMut(BorrowedFd<'_>, &CStr) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        match self {
            Files::Names(names) => names.call(number as u32, call),
            Files::Set(set) => set.call(call),
            Files::Trees(trees) => trees.paths.call(call),
        }
    }

    /// Makes a symbolic link whose content leads to the file of a number.
    pub(super) fn symlink(&mut self, number: u64, link: u64) -> Result<(), Errno> {
        match self {
            Files::Names(NamedPlaces { table, others, .. }) => {
                let content = table.name(number as u32).ok_or(Errno(libc::ENOENT))?;
                let (root, path) = table.beneath(link as u32).ok_or(Errno(libc::ENOENT))?;
                others.call(root, path, |dir, name| rustix::fs::symlinkat(content, dir, name))
            }
            Files::Set(set) => set.symlink(),
            Files::Trees(_) => Err(Errno(libc::EINVAL)),
        }
    }

    /// Makes a call with both names of an op.
    pub(super) fn call_two<T>(
        &mut self,
        numbers: (u64, u64),
        call: impl Fn(Spot<'_>, Spot<'_>) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        match self {
            Files::Names(names) => names.call_two((numbers.0 as u32, numbers.1 as u32), call),
            Files::Set(set) => set.call_two(call),
            Files::Trees(trees) => trees.paths.call_two(call),
        }
    }

    /// Whether calls that only look follow a link that they are given: in a set it is what they are about.
    pub(super) fn follow(&self) -> AtFlags {
        match self {
            Files::Names(_) | Files::Trees(_) => AtFlags::empty(),
            Files::Set(_) => AtFlags::SYMLINK_NOFOLLOW,
        }
    }

    pub(super) fn named(&mut self) -> Result<&mut NamedPlaces, Errno> {
        match self {
            Files::Names(names) => Ok(names),
            Files::Set(_) | Files::Trees(_) => Err(Errno(libc::EINVAL)),
        }
    }

    pub(super) fn set(&mut self) -> Result<&mut SetPlace, Errno> {
        match self {
            Files::Names(_) | Files::Trees(_) => Err(Errno(libc::EINVAL)),
            Files::Set(set) => Ok(set),
        }
    }
}
