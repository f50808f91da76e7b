//! Ways to move the bytes of a stream between the program and its socket.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
use super::socket::{drop_received, send_from, set_number, with_vectors};
use super::socket::{receive, send};
use crate::backend::region::Region;
use crate::backend::{Completion, Errno, completion};
use plumb_workload::net::{NetOp, NetWork, Passing};
use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::RawFd;

/// Bytes per call on a stream at full speed. Smaller calls cost more; larger ones gain nothing.
pub(super) const CALL_BYTES: u32 = 1 << 20;

/// The memory of a socket's blocks.
pub(super) enum Block {
    Heap(Vec<u8>),
    /// Dedicated pages. The kernel may still read them after the socket is closed, so
    /// their addresses must not be reused.
    Lent(Region, usize),
}

impl Block {
    /// Allocates the block for a socket's work.
    pub(super) fn new(work: &NetWork, bytes: usize) -> io::Result<Block> {
        Ok(match (work.passing, work.op) {
            (Passing::Lend | Passing::ZeroCopy, NetOp::Send) => Block::Lent(Region::new(bytes)?, bytes),
            _ => Block::Heap(vec![0; bytes]),
        })
    }
}

impl Deref for Block {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        match self {
            Block::Heap(bytes) => bytes,
            // SAFETY: the region has this many initialized bytes, borrowed for as long as `self` is.
            Block::Lent(region, bytes) => unsafe { std::slice::from_raw_parts(region.pointer(), *bytes) },
        }
    }
}

impl DerefMut for Block {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Block::Heap(bytes) => bytes,
            Block::Lent(region, bytes) => &mut region.as_mut_slice()[..*bytes],
        }
    }
}

/// Moves the bytes of a stream.
pub(super) enum Passer {
    Copy,
    /// Discards received bytes without copying them.
    #[cfg(target_os = "linux")]
    Drop,
    #[cfg(target_os = "linux")]
    Lend(Lender),
    #[cfg(target_os = "linux")]
    ZeroCopy(ZeroCopyReports),
    #[cfg(target_os = "linux")]
    Ring(Box<Ring>),
    /// Sends the start of a file: a file in memory, or one that the user named.
    #[cfg(target_os = "linux")]
    File(File),
}

impl Passer {
    /// Creates the passer for a socket's work; `block` is the content to send.
    pub(super) fn new(fd: RawFd, work: &NetWork, block: &[u8]) -> io::Result<Passer> {
        #[cfg(target_os = "linux")]
        return Ok(match (work.passing, work.op) {
            (Passing::Lend, NetOp::Send) => Passer::Lend(Lender::new()?),
            (Passing::Drop, NetOp::Receive) => Passer::Drop,
            (Passing::ZeroCopy, NetOp::Send) => Passer::ZeroCopy(ZeroCopyReports::enable(fd)?),
            (Passing::SendFile, NetOp::Send) => Passer::File(in_memory(block)?),
            (Passing::IoUring, NetOp::Send | NetOp::Receive) => Passer::Ring(Ring::new()?),
            _ => Passer::Copy,
        });
        #[cfg(not(target_os = "linux"))]
        match (work.passing, fd, block) {
            (Passing::Copy, ..) => Ok(Passer::Copy),
            (passing, ..) => {
                Err(io::Error::new(io::ErrorKind::Unsupported, format!("`{}` exists on Linux only", passing.name())))
            }
        }
    }

    /// Sends bytes of an endlessly repeated block, starting at `from`.
    #[inline]
    pub(super) fn send(&mut self, fd: RawFd, block: &mut [u8], from: usize, length: usize) -> Completion {
        match self {
            Passer::Copy => send(fd, block, from, length),
            #[cfg(target_os = "linux")]
            Passer::Drop => send(fd, block, from, length),
            #[cfg(target_os = "linux")]
            Passer::Lend(lender) => lender.send(fd, block, length),
            #[cfg(target_os = "linux")]
            Passer::ZeroCopy(reports) => reports.send(fd, block, from, length),
            #[cfg(target_os = "linux")]
            Passer::Ring(ring) => {
                with_vectors(block.as_mut_ptr(), block.len(), from, length, |message| ring.transfer(fd, message, true))
            }
            #[cfg(target_os = "linux")]
            Passer::File(file) => send_from(fd, file, from % block.len(), length),
        }
    }

    /// Receives into a block, overwriting it if more arrives.
    #[inline]
    pub(super) fn receive(&mut self, fd: RawFd, block: &mut [u8], length: usize) -> Completion {
        match self {
            #[cfg(target_os = "linux")]
            Passer::Drop => drop_received(fd, 1 << 30),
            #[cfg(target_os = "linux")]
            Passer::Ring(ring) => {
                with_vectors(block.as_mut_ptr(), block.len(), 0, length, |message| ring.transfer(fd, message, false))
            }
            _ => receive(fd, block, length),
        }
    }

    /// Takes the kernel's reports on zero-copy sends since the last call: the number that it
    /// copied after all, and the total.
    pub(super) fn take_zero_copy_counts(&mut self, fd: RawFd) -> [u64; 2] {
        match self {
            #[cfg(target_os = "linux")]
            Passer::ZeroCopy(reports) => {
                reports.read_all(fd);
                std::mem::take(&mut reports.counts)
            }
            _ => {
                let _ = fd;
                [0; 2]
            }
        }
    }
}

/// Creates a file in memory that repeats a block.
#[cfg(target_os = "linux")]
fn in_memory(block: &[u8]) -> io::Result<File> {
    use std::io::Write;
    let fd = rustix::fs::memfd_create("plumb", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = File::from(fd);
    // Write whole blocks only, so that any of them can be the first.
    for _ in 0..(CALL_BYTES as usize / block.len().max(1)).max(1) {
        file.write_all(block)?;
    }
    Ok(file)
}

/// A pipe that lends pages to a socket. Source: vmsplice(2), splice(2).
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(super) struct Lender {
    pipe: (std::os::fd::OwnedFd, std::os::fd::OwnedFd),
    /// Bytes in the pipe that are not in the socket yet.
    held: usize,
    /// Offset in the block of the next page to lend.
    at: usize,
}

#[cfg(target_os = "linux")]
impl Lender {
    /// Creates a pipe with room for one call.
    pub(super) fn new() -> io::Result<Lender> {
        let pipe = rustix::pipe::pipe()?;
        // Smaller pipes also work.
        let _ = rustix::pipe::fcntl_setpipe_size(&pipe.1, CALL_BYTES as usize);
        Ok(Lender { pipe, held: 0, at: 0 })
    }

    /// Sends bytes of the repeated block. The block never changes, so it does not matter
    /// when the kernel reads the pages.
    pub(super) fn send(&mut self, fd: RawFd, block: &mut [u8], length: usize) -> Completion {
        use std::os::fd::AsRawFd;
        if self.held == 0 {
            let pipe = self.pipe.1.as_raw_fd();
            let lent = with_vectors(block.as_mut_ptr(), block.len(), self.at, length, |message| {
                // SAFETY: the kernel only reads the pages, and their memory is not reused after the block is dropped.
                completion(unsafe { libc::vmsplice(pipe, message.msg_iov, message.msg_iovlen as _, 0) })
            });
            self.held = lent? as usize;
            self.at = (self.at + self.held) % block.len();
        }
        // SAFETY: passes only descriptors and numbers.
        let moved = unsafe {
            libc::splice(
                self.pipe.0.as_raw_fd(),
                std::ptr::null_mut(),
                fd,
                std::ptr::null_mut(),
                self.held.min(length),
                libc::SPLICE_F_MOVE,
            )
        };
        let moved = completion(moved)?;
        self.held -= moved as usize;
        Ok(moved)
    }
}

/// The kernel's reports on zero-copy sends. Source: the kernel's documentation, networking/msg_zerocopy.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(super) struct ZeroCopyReports {
    /// Sends without a report so far.
    open: u32,
    /// Sends that the kernel copied after all, and all reported sends.
    counts: [u64; 2],
}

/// `SO_ZEROCOPY`, `SO_EE_ORIGIN_ZEROCOPY` and `SO_EE_CODE_ZEROCOPY_COPIED`. Sources: asm-generic/socket.h,
/// linux/errqueue.h.
#[cfg(target_os = "linux")]
const SO_ZEROCOPY: i32 = 60;
#[cfg(target_os = "linux")]
const ORIGIN: u8 = 5;
#[cfg(target_os = "linux")]
const CODE_COPIED: u8 = 1;

/// Maximum number of unreported sends before the reports are read.
#[cfg(target_os = "linux")]
const OPEN_MAX: u32 = 16;

#[cfg(target_os = "linux")]
impl ZeroCopyReports {
    fn enable(fd: RawFd) -> io::Result<ZeroCopyReports> {
        set_number(fd, libc::SOL_SOCKET, SO_ZEROCOPY, 1)
            .map_err(|error| io::Error::new(error.kind(), format!("cannot send without a copy: {error}")))?;
        Ok(ZeroCopyReports { open: 0, counts: [0; 2] })
    }

    /// Sends bytes of the block. The block never changes, so there is no need to wait until the pages are free.
    fn send(&mut self, fd: RawFd, block: &mut [u8], from: usize, length: usize) -> Completion {
        if self.open >= OPEN_MAX {
            self.read_all(fd);
        }
        let flags = libc::MSG_NOSIGNAL | libc::MSG_ZEROCOPY;
        let sent = with_vectors(block.as_mut_ptr(), block.len(), from, length, |message| {
            // SAFETY: the kernel only reads the pages, and their memory is not reused after the block is dropped.
            completion(unsafe { libc::sendmsg(fd, message, flags) })
        });
        match sent {
            Ok(_) => self.open += 1,
            // Too many pages are lent: reading the reports releases some.
            Err(Errno(libc::ENOBUFS)) => {
                self.read_all(fd);
                std::thread::yield_now();
            }
            Err(_) => {}
        }
        sent
    }

    /// Reads all reports that are available now.
    fn read_all(&mut self, fd: RawFd) {
        loop {
            let mut control = [0u64; 16];
            // SAFETY: plain data, valid when zeroed.
            let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&control) as _;
            // SAFETY: writes into the control memory only.
            let got = unsafe { libc::recvmsg(fd, &raw mut message, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) };
            if got < 0 {
                return;
            }
            // After length, level and type: errno (4 bytes), origin, type, code, padding, then
            // the first and the last call.
            let [kind, numbers] = [control[2].to_ne_bytes(), control[3].to_ne_bytes()];
            let word = |at: usize| u32::from_ne_bytes([numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]]);
            if kind[4] != ORIGIN {
                continue;
            }
            let calls = word(4).wrapping_sub(word(0)).wrapping_add(1);
            self.open = self.open.saturating_sub(calls);
            self.counts[1] += u64::from(calls);
            if kind[6] & CODE_COPIED != 0 {
                self.counts[0] += u64::from(calls);
            }
        }
    }
}

/// An io_uring queue with one call in flight, since the calls of a stream are ordered.
#[cfg(target_os = "linux")]
pub(super) struct Ring {
    ring: io_uring::IoUring,
}

/// Poll interval of a waiting call, ns. A socket's own timeouts do not apply here.
#[cfg(target_os = "linux")]
const POLL_NS: u32 = 50_000_000;

/// User data that distinguishes the entries of the ring.
#[cfg(target_os = "linux")]
const TRANSFER: u64 = 1;
#[cfg(target_os = "linux")]
const CANCEL: u64 = 2;

#[cfg(target_os = "linux")]
impl Ring {
    fn new() -> io::Result<Box<Ring>> {
        let ring = io_uring::IoUring::new(4)
            .map_err(|error| io::Error::new(error.kind(), format!("cannot use io_uring: {error}")))?;
        Ok(Box::new(Ring { ring }))
    }

    /// Sends or receives a message. A call that takes too long is cancelled and returns `EAGAIN`.
    fn transfer(&mut self, fd: RawFd, message: &mut libc::msghdr, sends: bool) -> Completion {
        use io_uring::{opcode, types};
        let target = types::Fd(fd);
        let entry = match sends {
            true => opcode::SendMsg::new(target, message).flags(libc::MSG_NOSIGNAL as u32).build(),
            false => opcode::RecvMsg::new(target, message).build(),
        };
        self.push(entry.user_data(TRANSFER))?;
        let mut is_cancelled = false;
        loop {
            let timeout = types::Timespec::new().nsec(POLL_NS);
            let arguments = types::SubmitArgs::new().timespec(&timeout);
            match self.ring.submitter().submit_with_args(1, &arguments) {
                Ok(_) => {}
                Err(error) if matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EAGAIN)) => {}
                // The worker ends with this error, and drops its ring before its memory.
                Err(error) => return Err(Errno(error.raw_os_error().unwrap_or(libc::EIO))),
            }
            while let Some(done) = self.ring.completion().next() {
                if done.user_data() == TRANSFER {
                    return match done.result() {
                        result if result >= 0 => Ok(result as u64),
                        result if -result == libc::ECANCELED => Err(Errno(libc::EAGAIN)),
                        result => Err(Errno(-result)),
                    };
                }
            }
            if !is_cancelled {
                is_cancelled = true;
                self.push(opcode::AsyncCancel::new(TRANSFER).build().user_data(CANCEL))?;
            }
        }
    }

    fn push(&mut self, entry: io_uring::squeue::Entry) -> Result<(), Errno> {
        // SAFETY: the kernel copies the message and its vectors when it consumes the entry, in the call that follows.
        // The bytes that they refer to belong to the socket, which drops its ring before them.
        unsafe { self.ring.submission().push(&entry) }.map_err(|_| Errno(libc::ENOBUFS))
    }
}
