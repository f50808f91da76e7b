//! System calls as data: a number and its arguments. One function makes all of them, so that each can be recorded
//! exactly as it was made.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::CString;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Result of a system call: a number, or its errno.
pub(crate) type R = Result<i64, i32>;

/// A system call: its name and its number.
#[derive(Clone, Copy)]
pub(crate) struct Nr(pub &'static str, pub libc::c_long);

/// Expands `nr!(openat)` to `Nr("openat", SYS_openat)` by a table: macros cannot join names.
macro_rules! numbers {
    ($($name:ident = $number:ident),* $(,)?) => {
        macro_rules! nr { $(($name) => { $crate::sys::Nr(stringify!($name), libc::$number) };)* }
        pub(crate) use nr;
    };
}
numbers! {
    openat = SYS_openat, close = SYS_close, read = SYS_read, write = SYS_write, pread64 = SYS_pread64,
    pwrite64 = SYS_pwrite64, lseek = SYS_lseek, ftruncate = SYS_ftruncate, truncate = SYS_truncate,
    fallocate = SYS_fallocate, fchmod = SYS_fchmod, fchmodat = SYS_fchmodat, fchown = SYS_fchown,
    fchownat = SYS_fchownat, faccessat = SYS_faccessat, mkdirat = SYS_mkdirat, mknodat = SYS_mknodat,
    unlinkat = SYS_unlinkat, symlinkat = SYS_symlinkat, linkat = SYS_linkat, renameat2 = SYS_renameat2,
    readlinkat = SYS_readlinkat, utimensat = SYS_utimensat, statx = SYS_statx, statfs = SYS_statfs,
    setxattr = SYS_setxattr, getxattr = SYS_getxattr, listxattr = SYS_listxattr, removexattr = SYS_removexattr,
    lsetxattr = SYS_lsetxattr, lgetxattr = SYS_lgetxattr, fsetxattr = SYS_fsetxattr,
    chdir = SYS_chdir, fchdir = SYS_fchdir, execve = SYS_execve, bind = SYS_bind, socket = SYS_socket,
    inotify_init1 = SYS_inotify_init1, inotify_add_watch = SYS_inotify_add_watch, fcntl = SYS_fcntl,
    flock = SYS_flock, ioctl = SYS_ioctl, fsync = SYS_fsync, fdatasync = SYS_fdatasync,
    copy_file_range = SYS_copy_file_range, getdents64 = SYS_getdents64, umask = SYS_umask, mmap = SYS_mmap,
    munmap = SYS_munmap, msync = SYS_msync, mount = SYS_mount, umount2 = SYS_umount2, unshare = SYS_unshare,
    setresuid = SYS_setresuid, setresgid = SYS_setresgid, setgroups = SYS_setgroups, close_range = SYS_close_range,
    memfd_create = SYS_memfd_create, quotactl = SYS_quotactl, quotactl_fd = SYS_quotactl_fd, sync_file_range = SYS_sync_file_range,
}

/// An argument of a system call.
#[derive(Clone, Copy)]
pub(crate) enum V<'a> {
    /// A string of valid UTF-8.
    P(&'a str),
    /// A string that need not be UTF-8.
    S(&'a [u8]),
    N(i64),
    /// A number in octal, for modes.
    O(u32),
    /// A constant by its name in C.
    C(&'static str, i64),
    Fd(i32),
    /// Bytes that the kernel reads.
    B(&'a [u8]),
    /// Bytes that the kernel writes.
    W(&'a [Cell<u8>]),
    /// An address where nothing is mapped.
    Bad,
    Null,
}

/// The working directory, as a directory argument.
pub(crate) const AT: V<'static> = V::C("AT_FDCWD", libc::AT_FDCWD as i64);

/// Makes a system call. A string that contains a zero byte gives `EINVAL`.
pub(crate) fn call(nr: Nr, args: &[V<'_>]) -> R {
    let mut words = [0 as libc::c_long; 6];
    let mut strings: [Option<CString>; 6] = Default::default();
    for (at, arg) in args.iter().take(6).enumerate() {
        words[at] = match *arg {
            V::N(n) | V::C(_, n) => n as libc::c_long,
            V::O(n) => n as libc::c_long,
            V::Fd(fd) => fd as libc::c_long,
            V::B(bytes) => bytes.as_ptr() as libc::c_long,
            V::W(bytes) => bytes.as_ptr() as libc::c_long,
            V::Bad => 1,
            V::Null => 0,
            V::P(text) => keep(&mut strings[at], text.as_bytes())?,
            V::S(text) => keep(&mut strings[at], text)?,
        };
    }
    // SAFETY: every pointer refers to a live buffer of at least the length passed with it. The invalid address is in
    // the first page, where nothing is mapped and the kernel returns EFAULT.
    let result = unsafe { libc::syscall(nr.1, words[0], words[1], words[2], words[3], words[4], words[5]) };
    if result == -1 { Err(errno()) } else { Ok(result as i64) }
}

fn keep(slot: &mut Option<CString>, text: &[u8]) -> Result<libc::c_long, i32> {
    let text = CString::new(text).map_err(|_| libc::EINVAL)?;
    let pointer = text.as_ptr() as libc::c_long;
    *slot = Some(text);
    Ok(pointer)
}

/// Returns the errno of this thread's last call.
pub(crate) fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Formats a system call as C.
pub(crate) fn c_text(nr: Nr, args: &[V<'_>]) -> String {
    let mut text = format!("syscall(SYS_{}", nr.0);
    for arg in args {
        text.push_str(", ");
        let _ = match *arg {
            // An int would not be extended to the register.
            V::N(n) => write!(text, "{n}L"),
            V::O(n) => write!(text, "0{n:o}"),
            V::C(name, _) => write!(text, "{name}"),
            V::Fd(fd) => write!(text, "fd[{fd}]"),
            V::P(value) => write!(text, "{}", c_string(value.as_bytes())),
            V::S(bytes) | V::B(bytes) => write!(text, "{}", c_string(bytes)),
            V::W(_) => write!(text, "buffer"),
            V::Bad => write!(text, "(void *)1"),
            V::Null => write!(text, "NULL"),
        };
    }
    text.push(')');
    text
}

/// Maximum length of a string that is printed.
const SHOWN_MAX: usize = 4200;

fn c_string(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in bytes.iter().take(SHOWN_MAX) {
        match byte {
            b'"' | b'\\' => text.extend(['\\', *byte as char]),
            b' '..=b'~' => text.push(*byte as char),
            // Three digits, so that a following digit does not belong to the escape.
            _ => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    text.push('"');
    text
}

/// Seconds and nanoseconds.
pub(crate) type Time = (i64, u32);

/// Attributes of a file from `statx`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stat {
    /// Bits of the filled fields: `STATX_*`.
    pub mask: u32,
    /// Set bits of `STATX_ATTR_*`.
    pub attributes: u64,
    pub ino: u64,
    pub dev: u64,
    /// Type and permissions.
    pub mode: u32,
    pub nlink: u32,
    pub uid: u32,
    pub gid: u32,
    /// Size in bytes.
    pub size: u64,
    /// Blocks of 512 bytes.
    pub blocks: u64,
    /// Preferred length of I/O, bytes.
    pub blksize: u32,
    /// Device number of a device file.
    pub rdev: (u32, u32),
    /// Last access.
    pub atime: Time,
    /// Last change of the data.
    pub mtime: Time,
    /// Last change of the inode.
    pub ctime: Time,
    /// Creation (birth) time.
    pub btime: Time,
    /// Alignment of memory and offset for O_DIRECT, bytes; zero if unknown.
    pub dio: (u32, u32),
    pub mount: u64,
}

const STATX_LENGTH: usize = 256;

/// Calls `statx` for a path relative to `dir`. Source of the layout: linux/stat.h, which is ABI.
pub(crate) fn statx(dir: V<'_>, path: V<'_>, flags: i64) -> Result<Stat, i32> {
    let mut bytes = [0u8; STATX_LENGTH];
    // STATX_BASIC_STATS, STATX_BTIME, STATX_MNT_ID, STATX_DIOALIGN.
    let mask = 0xfff | 0x3000;
    call(nr!(statx), &[dir, path, V::N(flags), V::N(mask), V::W(cells(&mut bytes))])?;
    let u16_at = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
    let u32_at = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
    let u64_at = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
    let time = |at: usize| (u64_at(at) as i64, u32_at(at + 8));
    Ok(Stat {
        mask: u32_at(0),
        blksize: u32_at(4),
        attributes: u64_at(8),
        nlink: u32_at(16),
        uid: u32_at(20),
        gid: u32_at(24),
        mode: u32::from(u16_at(28)),
        ino: u64_at(32),
        size: u64_at(40),
        blocks: u64_at(48),
        atime: time(64),
        btime: time(80),
        ctime: time(96),
        mtime: time(112),
        rdev: (u32_at(128), u32_at(132)),
        dev: u64::from(u32_at(136)) << 32 | u64::from(u32_at(140)),
        mount: u64_at(144),
        dio: (u32_at(152), u32_at(156)),
    })
}

/// Returns a buffer that the kernel can write to.
pub(crate) fn cells(bytes: &mut [u8]) -> &[Cell<u8>] {
    Cell::from_mut(bytes).as_slice_of_cells()
}

/// Encodes seconds and nanoseconds for `utimensat`, for [`V::B`].
pub(crate) fn two_times(access: (i64, i64), change: (i64, i64)) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (at, number) in [access.0, access.1, change.0, change.1].into_iter().enumerate() {
        bytes[at * 8..at * 8 + 8].copy_from_slice(&number.to_ne_bytes());
    }
    bytes
}

/// Forks. The child runs `body` and exits with its result. Returns the child's ID at once.
///
/// # Errors
/// Returns the errno of fork.
pub(crate) fn spawn(body: &mut dyn FnMut() -> i32) -> R {
    // SAFETY: the child exits by `_exit`, so it neither runs the parent's destructors nor flushes its buffers. The C
    // libraries and the allocator keep the heap usable in the child.
    match unsafe { libc::fork() } {
        -1 => Err(errno()),
        0 => {
            // The child must not continue the parent's code, even after a panic.
            let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(101);
            // SAFETY: as above.
            unsafe { libc::_exit(code) }
        }
        pid => Ok(i64::from(pid)),
    }
}

/// End of a child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

/// Waits for a child; `None` if it still runs after `limit`.
pub(crate) fn wait(pid: i64, limit: Duration) -> Option<Ended> {
    let until = Instant::now() + limit;
    let mut pause = Duration::from_micros(20);
    loop {
        let mut status = 0;
        // SAFETY: `status` is a live integer.
        let got = unsafe { libc::waitpid(pid as libc::pid_t, &mut status, libc::WNOHANG) };
        if got == pid as libc::pid_t {
            return Some(match libc::WIFEXITED(status) {
                true => Ended::Code(libc::WEXITSTATUS(status)),
                false => Ended::Signal(libc::WTERMSIG(status)),
            });
        }
        if got < 0 && errno() != libc::EINTR || Instant::now() >= until {
            return None;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(2));
    }
}

/// Kills a process, and its group if it leads one. Waits a moment for it.
pub(crate) fn kill(pid: i64) {
    // SAFETY: takes no pointer. The process is a child that has not been waited for, so its ID is still valid.
    unsafe {
        libc::kill(-(pid as libc::pid_t), libc::SIGKILL);
        libc::kill(pid as libc::pid_t, libc::SIGKILL);
    }
    wait(pid, Duration::from_millis(500));
}

/// Makes this process the leader of its own group, which dies with its parent.
pub(crate) fn lead_group() {
    // SAFETY: take no pointers.
    unsafe {
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
}

/// Creates a pair of connected sockets that preserve message boundaries.
///
/// # Errors
/// Returns the errno of socketpair.
pub(crate) fn channel() -> Result<[i32; 2], i32> {
    let mut fds = [0; 2];
    // SAFETY: the array is live and has two elements.
    let made =
        unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0, fds.as_mut_ptr()) };
    if made == 0 { Ok(fds) } else { Err(errno()) }
}

/// Returns the descriptors that become readable, or whose other end is closed, within `limit`.
pub(crate) fn readable(fds: &[i32], limit: Duration) -> Vec<i32> {
    let mut polls: Vec<libc::pollfd> =
        fds.iter().map(|fd| libc::pollfd { fd: *fd, events: libc::POLLIN, revents: 0 }).collect();
    // SAFETY: the array is live and as long as stated.
    let count = unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, limit.as_millis() as i32) };
    if count <= 0 {
        return Vec::new();
    }
    polls.iter().filter(|poll| poll.revents != 0).map(|poll| poll.fd).collect()
}

pub(crate) fn close(fd: i32) {
    let _ = call(nr!(close), &[V::Fd(fd)]);
}

/// Returns the effective user and group.
pub(crate) fn user_and_group() -> (u32, u32) {
    // SAFETY: these calls take no pointers and cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Encodes a list of groups, for [`V::B`].
pub(crate) fn group_bytes(groups: &[u32]) -> Vec<u8> {
    groups.iter().flat_map(|group| group.to_ne_bytes()).collect()
}

/// A shared mapping of a file, or an anonymous one if `fd` is -1.
pub(crate) struct Map {
    start: *mut u8,
    length: usize,
}

impl Map {
    /// Maps `length` bytes from `offset` on for reading and writing; `MAP_SHARED`.
    ///
    /// # Errors
    /// Returns the errno of mmap.
    pub(crate) fn shared(fd: i32, offset: i64, length: usize) -> Result<Map, i32> {
        let anonymous = if fd < 0 { libc::MAP_ANONYMOUS } else { 0 };
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | anonymous);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, fd, offset) };
        if start == libc::MAP_FAILED { Err(errno()) } else { Ok(Map { start: start.cast(), length }) }
    }

    /// Reads the byte at an offset.
    pub(crate) fn get(&self, at: usize) -> u8 {
        assert!(at < self.length);
        // SAFETY: inside the mapping. Volatile, because other processes write to it. Reading beyond the file's end
        // raises SIGBUS, which kills the worker and fails its case.
        unsafe { self.start.add(at).read_volatile() }
    }

    /// Writes the byte at an offset.
    pub(crate) fn set(&self, at: usize, byte: u8) {
        assert!(at < self.length);
        // SAFETY: as `get`.
        unsafe { self.start.add(at).write_volatile(byte) }
    }

    /// Stores a value at its start.
    pub(crate) fn put<T: Copy>(&self, value: T) {
        assert!(size_of::<T>() <= self.length);
        // SAFETY: it fits, and a mapping is page-aligned.
        unsafe { self.start.cast::<T>().write_volatile(value) }
    }

    /// Returns the value that [`Map::put`] stored, which must have the same type.
    pub(crate) fn take<T: Copy>(&self) -> T {
        assert!(size_of::<T>() <= self.length);
        // SAFETY: as `put`, which was called by a process that has ended since.
        unsafe { self.start.cast::<T>().read_volatile() }
    }

    /// Writes changes back: `msync(MS_SYNC)`.
    pub(crate) fn sync(&self) -> R {
        let arguments = [V::N(self.start as i64), V::N(self.length as i64), V::C("MS_SYNC", i64::from(libc::MS_SYNC))];
        call(nr!(msync), &arguments)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and no reference into it outlives this value.
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}

/// Memory aligned to 4 KiB, for O_DIRECT. `shift` bytes of it are skipped.
pub(crate) struct Aligned(Vec<u8>, usize);

impl Aligned {
    /// Allocates `length` bytes, each set to `byte`.
    pub(crate) fn new(length: usize, byte: u8, shift: usize) -> Aligned {
        let memory = vec![byte; length + 8192];
        let skip = memory.as_ptr().align_offset(4096) + shift;
        Aligned(memory, skip)
    }

    /// Returns the first `length` bytes.
    pub(crate) fn bytes(&mut self, length: usize) -> &mut [u8] {
        &mut self.0[self.1..self.1 + length]
    }
}
