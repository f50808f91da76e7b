//! Page cache residency of a file: `cachestat(2)`, or `mincore(2)` on kernels without `cachestat`.
//!
//! The query has no side effects: no page is read, written or marked as used.
#![allow(unsafe_code)]

use crate::error::ProbeError;
use plumb_result::Seen;
use plumb_result::observe::Residency;
use rustix::fs::{Access, FileType, SeekFrom};
use rustix::io::Errno;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Number of the system call, the same on every architecture that Plumb runs on. Source: cachestat(2), Linux 6.5.
#[cfg(target_os = "linux")]
const SYS_CACHESTAT: libc::c_long = 451;

/// Maximum bytes mapped at a time for `mincore`: this keeps the result vector at 256 KiB for 4 KiB pages.
const WINDOW_BYTES: u64 = 1 << 30;

/// `struct cachestat_range`. Source: include/uapi/linux/mman.h.
#[cfg(target_os = "linux")]
#[repr(C)]
struct CachestatRange {
    off: u64,
    len: u64,
}

/// `struct cachestat`, all in pages. Source: include/uapi/linux/mman.h.
#[repr(C)]
#[derive(Default)]
struct Cachestat {
    nr_cache: u64,
    nr_dirty: u64,
    nr_writeback: u64,
    nr_evicted: u64,
    nr_recently_evicted: u64,
}

/// Returns how much of a regular file or block device is in the page cache, in bytes of whole
/// pages, at most its length.
///
/// Returns [`Seen::No`] if the kernel hides it: since Linux 5.2 (`mincore`) and 6.14 (`cachestat`) only the owner,
/// root, and users who may write the file can query it.
pub fn of_fd(fd: BorrowedFd<'_>) -> Seen<Residency> {
    read(fd, AllowedCalls::Best).into()
}

/// Sums several files. `Seen::No` if any of them is; `dirty_known` only if it is for all.
pub fn sum(parts: impl IntoIterator<Item = Seen<Residency>>) -> Seen<Residency> {
    let mut total = Residency { dirty_known: true, ..Residency::default() };
    for part in parts {
        match part {
            Seen::No(reason) => return Seen::No(reason),
            Seen::Yes(part) => {
                total.total_bytes += part.total_bytes;
                total.resident_bytes += part.resident_bytes;
                total.dirty_bytes += part.dirty_bytes;
                total.writeback_bytes += part.writeback_bytes;
                total.dirty_known &= part.dirty_known;
            }
        }
    }
    Seen::Yes(total)
}

/// System calls that may be used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AllowedCalls {
    /// `cachestat`, else `mincore`.
    Best,
    /// Only `mincore`, as on an old kernel.
    #[cfg(test)]
    Mincore,
}

fn read(fd: BorrowedFd<'_>, means: AllowedCalls) -> Result<Residency, ProbeError> {
    let total_bytes = length(fd)?;
    if total_bytes == 0 {
        return Ok(Residency { dirty_known: true, ..Residency::default() });
    }
    if means == AllowedCalls::Best {
        match cachestat(fd) {
            Ok(stat) => {
                let page_bytes = rustix::param::page_size() as u64;
                // Large folios may extend beyond the end of the file.
                let bytes = |pages: u64| pages.saturating_mul(page_bytes).min(total_bytes);
                return Ok(Residency {
                    total_bytes,
                    resident_bytes: bytes(stat.nr_cache),
                    dirty_bytes: bytes(stat.nr_dirty),
                    writeback_bytes: bytes(stat.nr_writeback),
                    dirty_known: true,
                });
            }
            // ENOSYS: before Linux 6.5. EPERM: not permitted, or a seccomp filter that does not
            // know the call. EOPNOTSUPP: hugetlbfs.
            Err(Errno::NOSYS | Errno::PERM | Errno::OPNOTSUPP) => {}
            Err(errno) => return Err(ProbeError::Call { call: "cachestat", errno }),
        }
    }
    // Without permission, `mincore` reports everything as resident.
    if !is_residency_reported(fd)? {
        let why = "the kernel reports a file's residency only to its owner and to those who may write it";
        return Err(ProbeError::Unseeable(why));
    }
    let resident_bytes = mincore(fd, total_bytes).map_err(ProbeError::call("mincore"))?;
    Ok(Residency { total_bytes, resident_bytes, ..Residency::default() })
}

/// Returns the length of a regular file or block device in bytes.
fn length(fd: BorrowedFd<'_>) -> Result<u64, ProbeError> {
    let (kind, size_bytes) = kind_and_size(fd)?;
    match kind {
        FileType::RegularFile => Ok(size_bytes),
        FileType::BlockDevice => {
            let here = rustix::fs::tell(fd).map_err(ProbeError::call("lseek"))?;
            let end = rustix::fs::seek(fd, SeekFrom::End(0)).map_err(ProbeError::call("lseek"))?;
            rustix::fs::seek(fd, SeekFrom::Start(here)).map_err(ProbeError::call("lseek"))?;
            Ok(end)
        }
        _ => Err(ProbeError::Unseeable("only regular files and block devices have pages in the cache")),
    }
}

/// Requests only the needed fields. If times are requested, as by fstat(2), the NFS client first writes back all its
/// dirty pages, and none would be left to count. Source: `nfs_getattr` in fs/nfs/inode.c.
#[cfg(target_os = "linux")]
fn kind_and_size(fd: BorrowedFd<'_>) -> Result<(FileType, u64), ProbeError> {
    use rustix::fs::{AtFlags, StatxFlags};
    match rustix::fs::statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::TYPE | StatxFlags::SIZE) {
        Ok(stat) => Ok((FileType::from_raw_mode(stat.stx_mode.into()), stat.stx_size)),
        // Before Linux 4.11, or a seccomp filter that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => kind_and_size_by_fstat(fd),
        Err(errno) => Err(ProbeError::Call { call: "statx", errno }),
    }
}

#[cfg(not(target_os = "linux"))]
fn kind_and_size(fd: BorrowedFd<'_>) -> Result<(FileType, u64), ProbeError> {
    kind_and_size_by_fstat(fd)
}

fn kind_and_size_by_fstat(fd: BorrowedFd<'_>) -> Result<(FileType, u64), ProbeError> {
    let stat = rustix::fs::fstat(fd).map_err(ProbeError::call("fstat"))?;
    Ok((FileType::from_raw_mode(stat.st_mode), stat.st_size.try_into().unwrap_or(0)))
}

/// Whether the kernel reports the file's real residency to this process: `can_do_mincore` in mm/mincore.c.
fn is_residency_reported(fd: BorrowedFd<'_>) -> Result<bool, ProbeError> {
    let stat = rustix::fs::fstat(fd).map_err(ProbeError::call("fstat"))?;
    let me = rustix::process::geteuid();
    if me.is_root() || stat.st_uid == me.as_raw() {
        return Ok(true);
    }
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    Ok(rustix::fs::access(path, Access::WRITE_OK).is_ok())
}

#[cfg(not(target_os = "linux"))]
fn cachestat(_fd: BorrowedFd<'_>) -> rustix::io::Result<Cachestat> {
    Err(Errno::NOSYS)
}

#[cfg(target_os = "linux")]
fn cachestat(fd: BorrowedFd<'_>) -> rustix::io::Result<Cachestat> {
    // A length of 0 means: to the end of the file.
    let range = CachestatRange { off: 0, len: 0 };
    let mut stat = Cachestat::default();
    // SAFETY: both structures have the kernel's layout and live across the call; the call only writes `stat`.
    let code = unsafe { libc::syscall(SYS_CACHESTAT, fd.as_raw_fd(), &raw const range, &raw mut stat, 0) };
    if code == 0 { Ok(stat) } else { Err(last_errno()) }
}

/// Returns errno of the last C library call.
fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// A mapping that is never accessed, only queried; unmapped on drop.
struct Window {
    start: *mut libc::c_void,
    length: usize,
}

impl Window {
    fn map(fd: BorrowedFd<'_>, offset: u64, length: usize) -> rustix::io::Result<Window> {
        let offset = libc::off_t::try_from(offset).map_err(|_| Errno::OVERFLOW)?;
        // SAFETY: a fresh mapping at an address of the kernel's choice, without access: no memory of ours changes.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), length, libc::PROT_NONE, libc::MAP_SHARED, fd.as_raw_fd(), offset)
        };
        if start == libc::MAP_FAILED { Err(last_errno()) } else { Ok(Window { start, length }) }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this start and length, and nothing refers into it.
        unsafe { libc::munmap(self.start, self.length) };
    }
}

fn mincore(fd: BorrowedFd<'_>, total_bytes: u64) -> rustix::io::Result<u64> {
    let page_bytes = rustix::param::page_size() as u64;
    let mut vector = vec![0u8; WINDOW_BYTES.min(total_bytes).div_ceil(page_bytes) as usize];
    let mut resident_bytes = 0;
    let mut offset = 0;
    while offset < total_bytes {
        let length = WINDOW_BYTES.min(total_bytes - offset);
        let pages = length.div_ceil(page_bytes) as usize;
        let window = Window::map(fd, offset, length as usize)?;
        // SAFETY: the range is mapped, and the vector has a byte for each of its pages.
        if unsafe { libc::mincore(window.start, window.length, vector.as_mut_ptr().cast()) } != 0 {
            return Err(last_errno());
        }
        // Only the lowest bit is defined.
        resident_bytes += vector[..pages].iter().filter(|page| **page & 1 == 1).count() as u64 * page_bytes;
        offset += length;
    }
    Ok(resident_bytes.min(total_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write as _;
    use std::os::fd::AsFd;

    const LENGTH: u64 = 4 << 20;

    fn written_file() -> File {
        // The build directory is more likely than /tmp to be on a real file system.
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![7u8; LENGTH as usize]).unwrap();
        file
    }

    fn evict(file: &File) {
        file.sync_all().unwrap();
        for _ in 0..50 {
            rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
            if read(file.as_fd(), AllowedCalls::Mincore).unwrap().resident_bytes == 0 {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    #[test]
    fn a_file_just_written_is_resident_and_an_evicted_one_is_not() {
        let file = written_file();
        let hot = of_fd(file.as_fd());
        let hot = hot.value().expect("seen");
        assert_eq!((hot.total_bytes, hot.resident_bytes), (LENGTH, LENGTH));
        evict(&file);
        let cold = of_fd(file.as_fd());
        let cold = cold.value().expect("seen");
        assert_eq!((cold.total_bytes, cold.resident_bytes, cold.dirty_bytes), (LENGTH, 0, 0));
    }

    #[test]
    fn unwritten_pages_are_dirty_if_the_kernel_reports_it() {
        let file = written_file();
        let seen = of_fd(file.as_fd());
        let seen = seen.value().expect("seen");
        if seen.dirty_known {
            assert!(seen.dirty_bytes + seen.writeback_bytes > 0, "{seen:?}");
            file.sync_all().unwrap();
            let after = of_fd(file.as_fd());
            assert_eq!(after.value().expect("seen").dirty_bytes, 0);
        } else {
            assert_eq!(seen.dirty_bytes, 0);
        }
    }

    #[test]
    fn mincore_agrees_with_cachestat_without_dirty_counts() {
        let file = written_file();
        let old = read(file.as_fd(), AllowedCalls::Mincore).unwrap();
        assert_eq!(old.resident_bytes, LENGTH);
        assert!(!old.dirty_known);
        assert_eq!(old.dirty_bytes, 0);
        evict(&file);
        let mut byte = [0];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut byte, 0).unwrap();
        let old = read(file.as_fd(), AllowedCalls::Mincore).unwrap();
        let new = read(file.as_fd(), AllowedCalls::Best).unwrap();
        assert!(old.resident_bytes > 0 && old.resident_bytes < LENGTH);
        assert_eq!(old.resident_bytes, new.resident_bytes);
    }

    #[test]
    fn a_last_page_counts_no_more_than_the_file_is_long() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"short").unwrap();
        let seen = of_fd(file.as_fd());
        assert_eq!(seen.value().expect("seen").resident_bytes, 5);
        assert_eq!(read(file.as_fd(), AllowedCalls::Mincore).unwrap().resident_bytes, 5);
    }

    #[test]
    fn windows_cover_a_file_larger_than_one() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let length = 2 * WINDOW_BYTES + 12_288;
        file.set_len(length).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &[1; 4096], length - 4096).unwrap();
        let seen = read(file.as_fd(), AllowedCalls::Mincore).unwrap();
        assert_eq!(seen.total_bytes, length);
        assert!((4096..=1 << 20).contains(&seen.resident_bytes), "{seen:?}");
    }

    #[test]
    fn files_without_pages_are_not_seen() {
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(matches!(of_fd(reader.as_fd()), Seen::No(_)));
    }

    #[test]
    fn a_sum_is_as_good_as_its_worst_part() {
        let known =
            Residency { total_bytes: 10, resident_bytes: 4, dirty_bytes: 1, writeback_bytes: 2, dirty_known: true };
        let unknown = Residency { dirty_known: false, ..known };
        let both = sum([Seen::Yes(known), Seen::Yes(unknown)]);
        assert_eq!(
            both,
            Seen::Yes(Residency {
                total_bytes: 20,
                resident_bytes: 8,
                dirty_bytes: 2,
                writeback_bytes: 4,
                dirty_known: false
            })
        );
        assert_eq!(sum([Seen::Yes(known), Seen::no("hidden")]), Seen::no("hidden"));
    }
}
