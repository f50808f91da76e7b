//! One end of a copy and its calls, on a system file, a simulated device, or nothing.
#![allow(unsafe_code)]

use crate::op::BlockOp;
use crate::sim::run::SimDevice;
use plumb_workload::copy::CopyFlags;
use plumb_workload::{CachePolicy, OpKind};
use rustix::fs::{Advice, FileType, OFlags, SeekFrom, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::path::PathBuf;

pub(crate) struct End {
    pub(super) file: EndFile,
    /// A path, or the name of a stream, for messages.
    pub(crate) path: PathBuf,
    pub(crate) kind: FileType,
    /// Keeps exclusive access to a device.
    pub(crate) held: Option<File>,
    /// The initial length, if it could not be set.
    pub(super) unset_length: Option<UnsetLength>,
}

/// An initial length that could not be set, with the error.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnsetLength {
    pub(super) bytes: u64,
    pub(super) errno: Errno,
}

/// The object that an end reads or writes.
pub(super) enum EndFile {
    Open(OwnedFd),
    Sim(SimEnd),
    /// Endless zeros for a reader, endless room for a writer.
    Null,
    /// A stream that was closed before the program started: every call fails.
    Closed,
}

/// An open simulated device. A copy sees a block device full of zeros.
pub(super) struct SimEnd {
    device: SimDevice,
    bytes: u64,
    at: u64,
    direct: bool,
    append: bool,
    /// The flush after each write.
    flushes: Option<OpKind>,
}

/// Alignment of direct I/O, in bytes.
const SECTOR_BYTES: u64 = 512;

/// Linux moves at most this many bytes per call: read(2), "Notes".
const CALL_BYTES_MAX: u64 = 0x7fff_f000;

impl SimEnd {
    pub(super) fn new(device: SimDevice, bytes: u64, flags: CopyFlags) -> SimEnd {
        let flushes = match flags {
            CopyFlags { sync: true, .. } => Some(OpKind::Fsync),
            CopyFlags { dsync: true, .. } => Some(OpKind::Fdatasync),
            _ => None,
        };
        SimEnd { device, bytes, at: 0, direct: flags.direct, append: flags.append, flushes }
    }

    fn serve(&self, kind: OpKind, length: u64) -> Result<u64, Errno> {
        let op = BlockOp::load(kind, 0, self.at, length as u32);
        self.device.serve(&op, 0).map_err(|errno| Errno::from_raw_os_error(errno.0))
    }

    /// Returns how many bytes of a call fit.
    fn fits(&self, asked: usize) -> Result<u64, Errno> {
        let asked = (asked as u64).min(CALL_BYTES_MAX);
        if self.direct && !(asked.is_multiple_of(SECTOR_BYTES) && self.at.is_multiple_of(SECTOR_BYTES)) {
            return Err(Errno::INVAL);
        }
        Ok(asked.min(self.bytes.saturating_sub(self.at)))
    }

    fn read(&mut self, block: &mut [u8]) -> Result<usize, Errno> {
        let length = self.fits(block.len())?;
        if length == 0 {
            return Ok(0);
        }
        let moved = self.serve(OpKind::Read, length)?;
        block[..moved as usize].fill(0);
        self.at += moved;
        Ok(moved as usize)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        if self.append {
            self.at = self.bytes;
        }
        let length = self.fits(bytes.len())?;
        if length == 0 {
            return Err(Errno::NOSPC);
        }
        let moved = self.serve(OpKind::Write, length)?;
        if let Some(flush) = self.flushes {
            self.serve(flush, 0)?;
        }
        self.at += moved;
        Ok(moved as usize)
    }

    fn seek(&mut self, to: SeekFrom) -> Result<u64, Errno> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(distance) => self.at.checked_add_signed(distance),
            SeekFrom::End(distance) => self.bytes.checked_add_signed(distance),
            _ => None,
        };
        // A block device has no offsets past its end.
        self.at = at.filter(|&at| at <= self.bytes).ok_or(Errno::INVAL)?;
        Ok(self.at)
    }
}

impl End {
    pub(super) fn open(fd: OwnedFd, path: PathBuf, kind: FileType) -> End {
        End { file: EndFile::Open(fd), path, kind, held: None, unset_length: None }
    }

    pub(super) fn simulated(sim: SimEnd) -> End {
        let path = sim.device.path();
        End { file: EndFile::Sim(sim), path, kind: FileType::BlockDevice, held: None, unset_length: None }
    }

    /// Creates an end that reads zeros and discards writes.
    pub(super) fn null() -> End {
        End {
            file: EndFile::Null,
            path: PathBuf::from("null"),
            kind: FileType::CharacterDevice,
            held: None,
            unset_length: None,
        }
    }

    /// Creates an end for a stream that was closed before the program started.
    pub(super) fn closed(name: &str) -> End {
        End {
            file: EndFile::Closed,
            path: PathBuf::from(name),
            kind: FileType::Unknown,
            held: None,
            unset_length: None,
        }
    }

    /// Returns the descriptor of a system file; `None` for other ends.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.file {
            EndFile::Open(fd) => Some(fd.as_fd()),
            EndFile::Sim(_) | EndFile::Null | EndFile::Closed => None,
        }
    }

    /// Starts the phase, with the page cache that its policy left.
    pub(super) fn begin(&self) {
        if let EndFile::Sim(SimEnd { device, direct: true, .. }) = &self.file {
            device.set_cache(CachePolicy::Direct);
        }
    }

    /// Returns `true` if its calls take only virtual time.
    pub(super) fn is_simulated(&self) -> bool {
        matches!(self.file, EndFile::Sim(_))
    }

    fn stat(&self) -> Result<Option<Stat>, Errno> {
        self.fd().map(rustix::fs::fstat).transpose()
    }

    /// Returns the file length that the system reports.
    pub(super) fn length(&self) -> Result<u64, Errno> {
        Ok(self.stat()?.map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or(0)))
    }

    /// Returns the major and minor number of a character device.
    fn character_device(&self) -> Option<(u32, u32)> {
        let stat = self.stat().ok()?.filter(|_| self.kind == FileType::CharacterDevice)?;
        Some((rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev)))
    }

    /// Returns `true` if it discards all writes, like `/dev/null`.
    pub(super) fn is_null(&self) -> bool {
        matches!(self.file, EndFile::Null) || self.character_device() == Some((1, 3))
    }

    /// Returns `true` for the kernel's memory devices, such as `/dev/zero` and `/dev/null`.
    /// Source: Documentation/admin-guide/devices.txt, major number 1.
    pub(super) fn is_memory(&self) -> bool {
        self.character_device().is_some_and(|(major, _)| major == 1)
    }

    #[inline(always)]
    pub(super) fn read(&mut self, block: &mut [u8]) -> Result<usize, Errno> {
        match &mut self.file {
            EndFile::Open(fd) => rustix::io::read(fd, block),
            EndFile::Sim(sim) => sim.read(block),
            EndFile::Null => {
                block.fill(0);
                Ok(block.len())
            }
            EndFile::Closed => Err(Errno::BADF),
        }
    }

    #[inline(always)]
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        match &mut self.file {
            EndFile::Open(fd) => rustix::io::write(fd, bytes),
            EndFile::Sim(sim) => sim.write(bytes),
            EndFile::Null => Ok(bytes.len()),
            EndFile::Closed => Err(Errno::BADF),
        }
    }

    /// Returns the current offset; an error if it cannot seek.
    pub(super) fn at(&self) -> Result<u64, Errno> {
        match &self.file {
            EndFile::Open(fd) => rustix::fs::seek(fd, SeekFrom::Current(0)),
            EndFile::Sim(sim) => Ok(sim.at),
            EndFile::Null => Ok(0),
            EndFile::Closed => Err(Errno::BADF),
        }
    }

    pub(super) fn seek(&mut self, to: SeekFrom) -> Result<u64, Errno> {
        match &mut self.file {
            EndFile::Open(fd) => rustix::fs::seek(fd, to),
            EndFile::Sim(sim) => sim.seek(to),
            EndFile::Null => Ok(0),
            EndFile::Closed => Err(Errno::BADF),
        }
    }

    /// Makes the written data durable.
    pub(super) fn sync(&self, kind: OpKind) -> Result<(), Errno> {
        match (&self.file, kind) {
            (EndFile::Open(fd), OpKind::Fdatasync) => rustix::fs::fdatasync(fd),
            (EndFile::Open(fd), _) => rustix::fs::fsync(fd),
            (EndFile::Sim(sim), kind) => sim.serve(kind, 0).map(drop),
            (EndFile::Null, _) => Err(Errno::INVAL),
            (EndFile::Closed, _) => Err(Errno::BADF),
        }
    }

    pub(super) fn set_length(&self, bytes: u64) -> Result<(), Errno> {
        self.fd().map_or(Err(Errno::INVAL), |fd| rustix::fs::ftruncate(fd, bytes))
    }

    /// Switches to buffered I/O.
    pub(super) fn turn_off_direct(&mut self) -> Result<(), Errno> {
        match &mut self.file {
            EndFile::Open(fd) => {
                let flags = rustix::fs::fcntl_getfl(&*fd)?;
                rustix::fs::fcntl_setfl(fd, flags - OFlags::DIRECT)
            }
            EndFile::Sim(sim) => {
                sim.direct = false;
                sim.device.set_cache(CachePolicy::AsIs);
                Ok(())
            }
            EndFile::Null => Ok(()),
            EndFile::Closed => Err(Errno::BADF),
        }
    }

    /// Drops pages from the page cache, up to the end of the file if `length` is `None`.
    pub(super) fn drop_pages(&self, from: u64, length: Option<NonZeroU64>) -> Result<(), Errno> {
        self.fd().map_or(Ok(()), |fd| rustix::fs::fadvise(fd, from, length, Advice::DontNeed))
    }

    /// Closes the file. Source: close(2).
    ///
    /// # Errors
    /// Any error of close(2), for example about earlier writes.
    pub(super) fn close(self) -> Result<(), Errno> {
        let fd = match self.file {
            EndFile::Open(fd) => fd,
            EndFile::Sim(_) | EndFile::Null => return Ok(()),
            EndFile::Closed => return Err(Errno::BADF),
        };
        // SAFETY: the descriptor was owned, and nothing else owns it.
        match unsafe { libc::close(fd.into_raw_fd()) } {
            0 => Ok(()),
            _ => match Errno::from_io_error(&io::Error::last_os_error()) {
                // The descriptor is closed despite the error.
                Some(Errno::INTR) | None => Ok(()),
                Some(errno) => Err(errno),
            },
        }
    }
}
