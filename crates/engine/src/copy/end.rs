//! One end of a copy, and its calls: on a file of the system, on a simulated device, or on nothing.
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

/// One end, open.
pub(crate) struct End {
    pub(super) file: EndFile,
    /// For messages: a path, or the name of a stream.
    pub(crate) path: PathBuf,
    pub(crate) kind: FileType,
    /// Keeps a device from everybody else.
    pub(crate) held: Option<File>,
    /// The length that it was to begin with and could not be given.
    pub(super) unset_length: Option<UnsetLength>,
}

/// A length that a file could not be given, and why.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnsetLength {
    pub(super) bytes: u64,
    pub(super) errno: Errno,
}

/// What is behind an end.
pub(super) enum EndFile {
    Open(OwnedFd),
    Sim(SimEnd),
    /// Endless zeros for a reader, endless room for a writer.
    Null,
    /// A stream that was closed before the program started: no call knows it.
    Closed,
}

/// An open simulated device: to a copy it is a block device, which holds zeros.
pub(super) struct SimEnd {
    device: SimDevice,
    bytes: u64,
    at: u64,
    direct: bool,
    append: bool,
    /// What each write waits for beside itself.
    flushes: Option<OpKind>,
}

/// Whatever goes around the page cache is made of these, bytes.
const SECTOR_BYTES: u64 = 512;

/// Linux moves no more by one call: read(2), "Notes".
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

    /// How much of a call there is room for.
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
        // Behind the end of a block device there are no places.
        self.at = at.filter(|&at| at <= self.bytes).ok_or(Errno::INVAL)?;
        Ok(self.at)
    }
}

impl End {
    /// A file of the system.
    pub(super) fn open(fd: OwnedFd, path: PathBuf, kind: FileType) -> End {
        End { file: EndFile::Open(fd), path, kind, held: None, unset_length: None }
    }

    /// A simulated device.
    pub(super) fn simulated(sim: SimEnd) -> End {
        let path = sim.device.path();
        End { file: EndFile::Sim(sim), path, kind: FileType::BlockDevice, held: None, unset_length: None }
    }

    /// Nothing.
    pub(super) fn null() -> End {
        End {
            file: EndFile::Null,
            path: PathBuf::from("null"),
            kind: FileType::CharacterDevice,
            held: None,
            unset_length: None,
        }
    }

    /// A stream that was closed before the program started.
    pub(super) fn closed(name: &str) -> End {
        End {
            file: EndFile::Closed,
            path: PathBuf::from(name),
            kind: FileType::Unknown,
            held: None,
            unset_length: None,
        }
    }

    /// The file of the system that it is, where it is one.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.file {
            EndFile::Open(fd) => Some(fd.as_fd()),
            EndFile::Sim(_) | EndFile::Null | EndFile::Closed => None,
        }
    }

    /// The phase has begun, with what its policy left in the page cache.
    pub(super) fn begin(&self) {
        if let EndFile::Sim(SimEnd { device, direct: true, .. }) = &self.file {
            device.set_cache(CachePolicy::Direct);
        }
    }

    /// Whether its calls take no time but virtual time.
    pub(super) fn is_simulated(&self) -> bool {
        matches!(self.file, EndFile::Sim(_))
    }

    fn stat(&self) -> Result<Option<Stat>, Errno> {
        self.fd().map(rustix::fs::fstat).transpose()
    }

    /// The length that the system gives it.
    pub(super) fn length(&self) -> Result<u64, Errno> {
        Ok(self.stat()?.map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or(0)))
    }

    /// Major and minor number of a character device.
    fn character_device(&self) -> Option<(u32, u32)> {
        let stat = self.stat().ok()?.filter(|_| self.kind == FileType::CharacterDevice)?;
        Some((rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev)))
    }

    /// Whether it takes everything and keeps nothing, as `/dev/null` does.
    pub(super) fn is_null(&self) -> bool {
        matches!(self.file, EndFile::Null) || self.character_device() == Some((1, 3))
    }

    /// Whether it is one of the kernel's devices of memory: `/dev/zero`, `/dev/null` and their like. Source:
    /// Documentation/admin-guide/devices.txt, major number 1.
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

    /// Where it stands, if it has places.
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

    /// Makes what was written durable.
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

    /// From here on through the page cache.
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

    /// Takes pages out of the page cache, to the end of the file where no length is said.
    pub(super) fn drop_pages(&self, from: u64, length: Option<NonZeroU64>) -> Result<(), Errno> {
        self.fd().map_or(Ok(()), |fd| rustix::fs::fadvise(fd, from, length, Advice::DontNeed))
    }

    /// Closes it. Source: close(2).
    ///
    /// # Errors
    /// What the system says, such as that earlier writes failed.
    pub(super) fn close(self) -> Result<(), Errno> {
        let fd = match self.file {
            EndFile::Open(fd) => fd,
            EndFile::Sim(_) | EndFile::Null => return Ok(()),
            EndFile::Closed => return Err(Errno::BADF),
        };
        // SAFETY: the descriptor was owned, and nothing owns it any more.
        match unsafe { libc::close(fd.into_raw_fd()) } {
            0 => Ok(()),
            _ => match Errno::from_io_error(&io::Error::last_os_error()) {
                // It is closed all the same.
                Some(Errno::INTR) | None => Ok(()),
                Some(errno) => Err(errno),
            },
        }
    }
}
