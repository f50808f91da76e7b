//! Files as one op each: created, read or removed with all the necessary calls, by their own names or
//! by those found in their directory.

use super::descriptor::{close, errno, write_whole, zero_bytes};
use super::named_places::NamedPlaces;
use super::op::CallOp;
use crate::backend::{Completion, Errno};
use plumb_workload::program::{FileStep, FileWork, Held};
use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Directories that a worker has open.
#[derive(Default)]
pub(super) struct Directories {
    listing: Option<Listing>,
    held: Vec<OwnedFd>,
    rules: Option<Held>,
}

/// A directory that is read entry by entry.
struct Listing {
    directory: OwnedFd,
    entries: Dir,
    /// Number of the directory.
    number: u32,
}

impl Directories {
    /// Opens a directory to be read.
    pub(super) fn list(&mut self, files: &mut NamedPlaces, number: u32) -> Completion {
        let directory = open(files, number)?;
        let entries = Dir::read_from(&directory).map_err(errno)?;
        self.listing = Some(Listing { directory, entries, number });
        Ok(0)
    }

    /// Reads to the end of the listing and closes it. Another entry is an error, because the
    /// directory has more files than expected.
    pub(super) fn end_list(&mut self) -> Completion {
        let Some(mut listing) = self.listing.take() else { return Err(Errno(libc::EBADF)) };
        match next_name(&mut listing.entries)? {
            None => Ok(0),
            Some(_) => Err(Errno(libc::ENOTEMPTY)),
        }
    }

    /// Opens directories that are flushed later.
    pub(super) fn hold(&mut self, files: &mut NamedPlaces, held: &Held) -> Completion {
        self.held.clear();
        for number in held.first..held.first.saturating_add(held.count) {
            self.held.push(open(files, number)?);
        }
        self.rules = Some(*held);
        Ok(0)
    }

    /// Makes the op of one file.
    pub(super) fn of_file(
        &mut self,
        files: &mut NamedPlaces,
        step: &FileStep,
        op: &CallOp,
        memory: &mut [u8],
    ) -> Completion {
        let (file, other) = (op.file as u32, op.other as u32);
        match step.does {
            FileWork::Make => {
                let length = step.lengths.get(op.offset as usize).or(step.lengths.last());
                let moved = self.make(files, file, length.map_or(0, |length| length.0), memory, step.flush)?;
                return Ok(moved);
            }
            FileWork::Link => files.call_two((other, file), |(from, old), (to, new)| {
                rustix::fs::linkat(from, old, to, new, AtFlags::empty())
            })?,
            FileWork::Symlink => files.symlink_in_directory(other, file)?,
            FileWork::Stat | FileWork::Remove if step.listed => return self.listed(step, memory),
            FileWork::Stat => return files.with(file, |directory, name| stat_and_read(directory, name, memory)),
            FileWork::Remove => {
                files.call(op.file, |directory, name| rustix::fs::unlinkat(directory, name, AtFlags::empty()))?
            }
        };
        if step.flush { self.flush(op.file as u32) } else { Ok(0) }
    }

    fn make(&self, files: &mut NamedPlaces, number: u32, length: u64, memory: &mut [u8], flushes: bool) -> Completion {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file =
            files.call(number.into(), |directory, name| crate::raw_open::openat(directory, name, flags, mode))?;
        let done = write_whole(&file, memory, length)?;
        if flushes {
            rustix::fs::fsync(&file).map_err(errno)?;
            self.flush(number)?;
        }
        close(file)?;
        Ok(done)
    }

    /// Makes the op of the next file in the open directory.
    fn listed(&mut self, step: &FileStep, memory: &mut [u8]) -> Completion {
        let listing = self.listing.as_mut().ok_or(Errno(libc::EBADF))?;
        let Some(entry) = next_name(&mut listing.entries)? else { return Err(Errno(libc::ENOENT)) };
        let name = entry.file_name();
        if step.does == FileWork::Stat {
            return stat_and_read(listing.directory.as_fd(), name, memory);
        }
        zero_bytes(rustix::fs::unlinkat(&listing.directory, name, AtFlags::empty()))?;
        let number = listing.number;
        match &self.rules {
            Some(held) if step.flush => self.fsync_held(number.saturating_sub(held.first)),
            _ => Ok(0),
        }
    }

    /// Flushes the directory of a file.
    fn flush(&self, file: u32) -> Completion {
        let held = self.rules.as_ref().ok_or(Errno(libc::EBADF))?;
        self.fsync_held(file.saturating_sub(held.first_file) / held.per_directory.max(1))
    }

    fn fsync_held(&self, place: u32) -> Completion {
        let directory = self.held.get(place as usize).ok_or(Errno(libc::EBADF))?;
        zero_bytes(rustix::fs::fsync(directory))
    }
}

/// Opens a directory of the table, to read or flush it.
fn open(files: &mut NamedPlaces, number: u32) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    files.call(number.into(), |directory, name| crate::raw_open::openat(directory, name, flags, Mode::empty()))
}

/// Returns the next entry whose name does not begin with a dot.
fn next_name(entries: &mut Dir) -> Result<Option<rustix::fs::DirEntry>, Errno> {
    loop {
        match entries.read() {
            None => return Ok(None),
            Some(entry) => {
                let entry = entry.map_err(errno)?;
                if !entry.file_name().to_bytes().starts_with(b".") {
                    return Ok(Some(entry));
                }
            }
        }
    }
}

/// Stats a file, and reads it if it is not empty.
fn stat_and_read(directory: BorrowedFd<'_>, path: &CStr, memory: &mut [u8]) -> Completion {
    let found = rustix::fs::statat(directory, path, AtFlags::empty()).map_err(errno)?;
    let length = found.st_size as u64;
    if length == 0 {
        return Ok(0);
    }
    let file =
        crate::raw_open::openat(directory, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(errno)?;
    let mut done = 0;
    while done < length {
        let piece = (length - done).min(memory.len() as u64) as usize;
        let read = rustix::io::read(&file, &mut memory[..piece]).map_err(errno)?;
        if read < piece {
            return Err(Errno(libc::EIO));
        }
        done += read as u64;
    }
    close(file)?;
    Ok(done)
}
