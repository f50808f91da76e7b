//! Named files, and the directories in which they are opened.

use super::file_table::FileTable;
use crate::backend::Errno;
use crate::open_dirs::{DirAndName, OpenDirs};
use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// Maximum number of open directories of a worker whose named files are in subdirectories of those that the user typed.
const DIRECTORIES: u64 = 256;

/// Named files, and their open directories.
pub(super) struct NamedPlaces {
    pub(super) table: Arc<FileTable>,
    pub(super) dirs: OpenDirs,
    /// Open directories for the second name of an op.
    pub(super) others: OpenDirs,
    /// Memory for the path of a numbered file.
    text: Vec<u8>,
}

impl NamedPlaces {
    pub(super) fn new(table: Arc<FileTable>) -> NamedPlaces {
        let dirs = |most| OpenDirs::below_roots(Arc::clone(table.roots()), most);
        let (dirs, others) = (dirs(if table.has_directories() { DIRECTORIES } else { 1 }), dirs(1));
        NamedPlaces { table, dirs, others, text: Vec::new() }
    }

    /// Runs `call` on the directory and the name of a file.
    #[inline]
    pub(super) fn call<T>(
        &mut self,
        file: u64,
        call: impl FnMut(BorrowedFd<'_>, &CStr) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        let (root, path) = self.table.locate(file, &mut self.text).ok_or(Errno(libc::ENOENT))?;
        self.dirs.call(root, path, call)
    }

    /// Runs `does` once on the directory and the name of a listed file.
    pub(super) fn with<T>(
        &mut self,
        number: u32,
        does: impl FnOnce(BorrowedFd<'_>, &CStr) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let (root, path) = self.table.directory_and_path(number).ok_or(Errno(libc::ENOENT))?;
        let place = self.dirs.at(root, path)?;
        does(place.dir, place.name)
    }

    /// Creates a symbolic link to a file in the same directory.
    pub(super) fn symlink_in_directory(&mut self, number: u32, link: u32) -> Result<(), Errno> {
        let NamedPlaces { table, others, .. } = self;
        let (_, path) = table.directory_and_path(number).ok_or(Errno(libc::ENOENT))?;
        let path = path.to_bytes_with_nul();
        let last = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let content = CStr::from_bytes_with_nul(&path[last..]).map_err(|_| Errno(libc::EINVAL))?;
        let (root, path) = table.directory_and_path(link).ok_or(Errno(libc::ENOENT))?;
        others.call(root, path, |dir, name| rustix::fs::symlinkat(content, dir, name))
    }

    /// Runs `call` on the directories and the names of two files.
    pub(super) fn call_two<T>(
        &mut self,
        (number, other): (u32, u32),
        call: impl Fn(DirAndName<'_>, DirAndName<'_>) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        let NamedPlaces { table, dirs, others, .. } = self;
        let (root, path) = table.directory_and_path(number).ok_or(Errno(libc::ENOENT))?;
        let (other_root, other) = table.directory_and_path(other).ok_or(Errno(libc::ENOENT))?;
        dirs.call(root, path, |dir, name| match others.at(other_root, other) {
            Ok(place) => call((dir, name), (place.dir, place.name)),
            Err(error) => Err(rustix::io::Errno::from_raw_os_error(error.0)),
        })
    }
}
