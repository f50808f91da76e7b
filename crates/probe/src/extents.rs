//! Classifies a file's bytes: holes, allocated but unwritten blocks, or written ones.
//!
//! `FIEMAP` is tried first, because only it reports unwritten blocks (reading them accesses no device). `SEEK_HOLE`
//! finds holes in file systems without `FIEMAP` (tmpfs, NFS). Source: Documentation/filesystems/fiemap.rst, lseek(2).
#![allow(unsafe_code)]

use crate::error::ProbeError;
use plumb_result::Seen;
use plumb_result::observe::{DeviceSpan, Extents};
use rustix::fs::{FileType, SeekFrom};
use rustix::io::Errno;
use std::io;
use std::ops::{ControlFlow, Range};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Number of extents per request: an answer of 28 KiB.
const BATCH: usize = 512;

/// Writes the cache out first. Source: include/uapi/linux/fiemap.h, like the flags below.
const FIEMAP_FLAG_SYNC: u32 = 0x0000_0001;
const FIEMAP_EXTENT_LAST: u32 = 0x0000_0001;
const FIEMAP_EXTENT_UNKNOWN: u32 = 0x0000_0002;
const FIEMAP_EXTENT_DELALLOC: u32 = 0x0000_0004;
const FIEMAP_EXTENT_ENCODED: u32 = 0x0000_0008;
const FIEMAP_EXTENT_DATA_INLINE: u32 = 0x0000_0200;
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x0000_0800;
/// Extents whose physical position is meaningless: not allocated yet, or within metadata.
const WITHOUT_POSITION: u32 = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_DATA_INLINE;

/// `struct fiemap`, the header of request and answer. Source: include/uapi/linux/fiemap.h.
#[repr(C)]
struct Head {
    fm_start: u64,
    fm_length: u64,
    fm_flags: u32,
    fm_mapped_extents: u32,
    fm_extent_count: u32,
    fm_reserved: u32,
}

/// `struct fiemap_extent`. Source: include/uapi/linux/fiemap.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Extent {
    fe_logical: u64,
    fe_physical: u64,
    fe_length: u64,
    fe_reserved64: [u64; 2],
    fe_flags: u32,
    fe_reserved: [u32; 3],
}

#[repr(C)]
struct Request {
    head: Head,
    extents: [Extent; BATCH],
}

/// Classifies the bytes of a regular file up to its length; blocks beyond the end do not count.
///
/// Data that is only in the cache: `FIEMAP_FLAG_SYNC` is *not* set, since it would write the file out during a
/// measurement. Delayed allocations (ext4, xfs, btrfs) count as written, since reading them returns data. Data
/// written over blocks from `fallocate` counts as unwritten until it is flushed. To learn the state of the device,
/// flush first. An extent that btrfs stores inline in its tree counts as written.
///
/// With `SEEK_HOLE` only, `unwritten_bytes` is 0, and space reserved by `fallocate` counts as a hole (tmpfs) or as
/// written. A file system with neither has one extent of data. The file's offset is restored.
pub fn of_fd(fd: BorrowedFd<'_>) -> Seen<Extents> {
    read(fd).into()
}

/// Sums several files; `Seen::No` if any of them is.
pub fn sum(parts: impl IntoIterator<Item = Seen<Extents>>) -> Seen<Extents> {
    let mut total = Extents::default();
    for part in parts {
        match part {
            Seen::No(reason) => return Seen::No(reason),
            Seen::Yes(part) => {
                total.total_bytes += part.total_bytes;
                total.hole_bytes += part.hole_bytes;
                total.unwritten_bytes += part.unwritten_bytes;
                total.extents += part.extents;
                total.encoded_bytes += part.encoded_bytes;
                total.place = join(total.place, part.place);
            }
        }
    }
    Seen::Yes(total)
}

fn join(one: Option<DeviceSpan>, other: Option<DeviceSpan>) -> Option<DeviceSpan> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.with(other)),
        (one, other) => one.or(other),
    }
}

/// Returns the ranges of a regular file that may hold data: neither holes nor unwritten blocks. Reading
/// any other range returns zeros.
///
/// Unlike [`of_fd`], this writes out the cache first, so that the answer is the file system's own record. Without
/// `FIEMAP`, uses `SEEK_DATA`; a file system with neither has one range. Collects ranges up to `bytes_max`; the last
/// one then extends further. The file's offset is restored.
///
/// # Errors
/// Returns an error if it is not a regular file or the system does not answer.
pub fn written(fd: BorrowedFd<'_>, bytes_max: u64) -> Result<Vec<Range<u64>>, ProbeError> {
    let total_bytes = length(fd)?;
    let mut found: Vec<Range<u64>> = Vec::new();
    let mut bytes: u64 = 0;
    let mut add = |range: Range<u64>| {
        bytes += range.end - range.start;
        match found.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => found.push(range),
        }
        if bytes > bytes_max { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let unwritten = |extent: &Extent| {
        extent.fe_flags & FIEMAP_EXTENT_UNWRITTEN != 0
            && extent.fe_flags & (FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_UNKNOWN) == 0
    };
    let by_fiemap = each_extent(fd, total_bytes, FIEMAP_FLAG_SYNC, |extent, range| match unwritten(extent) {
        true => ControlFlow::Continue(()),
        false => add(range),
    });
    match by_fiemap {
        Ok(()) => Ok(found),
        Err(errno) if has_no_fiemap(errno) => {
            each_data(fd, total_bytes, add).map_err(ProbeError::call("SEEK_DATA"))?;
            Ok(found)
        }
        Err(errno) => Err(ProbeError::Call { call: "FIEMAP", errno }),
    }
}

/// Returns the length of a regular file in bytes.
fn length(fd: BorrowedFd<'_>) -> Result<u64, ProbeError> {
    let stat = rustix::fs::fstat(fd).map_err(ProbeError::call("fstat"))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(ProbeError::Unseeable("only regular files have extents"));
    }
    Ok(stat.st_size.try_into().unwrap_or(0))
}

fn has_no_fiemap(errno: Errno) -> bool {
    matches!(errno, Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL)
}

fn read(fd: BorrowedFd<'_>) -> Result<Extents, ProbeError> {
    let total_bytes = length(fd)?;
    match by_fiemap(fd, total_bytes) {
        Ok(extents) => Ok(extents),
        Err(errno) if has_no_fiemap(errno) => by_seeking(fd, total_bytes).map_err(ProbeError::call("SEEK_HOLE")),
        Err(errno) => Err(ProbeError::Call { call: "FIEMAP", errno }),
    }
}

fn by_fiemap(fd: BorrowedFd<'_>, total_bytes: u64) -> rustix::io::Result<Extents> {
    let mut found = Extents { total_bytes, ..Extents::default() };
    let mut data_bytes = 0;
    each_extent(fd, total_bytes, 0, |extent, range| {
        let bytes = range.end - range.start;
        data_bytes += bytes;
        found.extents += 1;
        if extent.fe_flags & FIEMAP_EXTENT_UNWRITTEN != 0 {
            found.unwritten_bytes += bytes;
        }
        if extent.fe_flags & FIEMAP_EXTENT_ENCODED != 0 {
            found.encoded_bytes += bytes;
        }
        if extent.fe_flags & WITHOUT_POSITION == 0 {
            let lowest_byte = extent.fe_physical;
            let place = DeviceSpan { lowest_byte, end_byte: lowest_byte.saturating_add(extent.fe_length) };
            found.place = join(found.place, Some(place));
        }
        ControlFlow::Continue(())
    })?;
    found.hole_bytes = total_bytes - data_bytes;
    Ok(found)
}

/// Visits the extents of a file, each with the part below the file's end.
fn each_extent(
    fd: BorrowedFd<'_>,
    total_bytes: u64,
    flags: u32,
    mut visit: impl FnMut(&Extent, Range<u64>) -> ControlFlow<()>,
) -> rustix::io::Result<()> {
    let mut start = 0;
    let mut request = Box::new(Request {
        head: Head {
            fm_start: 0,
            fm_length: 0,
            fm_flags: 0,
            fm_mapped_extents: 0,
            fm_extent_count: BATCH as u32,
            fm_reserved: 0,
        },
        extents: [Extent::default(); BATCH],
    });
    while start < total_bytes {
        request.head.fm_start = start;
        request.head.fm_length = total_bytes - start;
        request.head.fm_flags = flags;
        request.head.fm_mapped_extents = 0;
        fiemap(fd, &mut request)?;
        let mapped = (request.head.fm_mapped_extents as usize).min(BATCH);
        let batch_start = start;
        for extent in &request.extents[..mapped] {
            let from = extent.fe_logical.max(start);
            let to = extent.fe_logical.saturating_add(extent.fe_length).min(total_bytes);
            if from < to {
                if visit(extent, from..to).is_break() {
                    return Ok(());
                }
                start = to;
            }
            if extent.fe_flags & FIEMAP_EXTENT_LAST != 0 {
                return Ok(());
            }
        }
        if mapped == 0 {
            break;
        }
        if start == batch_start {
            // Extents at other positions than requested: the answer is not reliable.
            return Err(Errno::IO);
        }
    }
    Ok(())
}

fn fiemap(fd: BorrowedFd<'_>, request: &mut Request) -> rustix::io::Result<()> {
    const OPCODE: rustix::ioctl::Opcode = rustix::ioctl::opcode::read_write::<Head>(b'f', 11);
    // SAFETY: the header states the number of extents that fit after it, and the kernel writes no more than those.
    let code = unsafe { libc::ioctl(fd.as_raw_fd(), OPCODE as _, std::ptr::from_mut(request)) };
    if code == 0 { Ok(()) } else { Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)) }
}

fn by_seeking(fd: BorrowedFd<'_>, total_bytes: u64) -> rustix::io::Result<Extents> {
    let mut found = Extents { total_bytes, ..Extents::default() };
    let mut data_bytes = 0;
    each_data(fd, total_bytes, |range| {
        data_bytes += range.end - range.start;
        found.extents += 1;
        ControlFlow::Continue(())
    })?;
    found.hole_bytes = total_bytes - data_bytes;
    Ok(found)
}

/// Visits the data that `SEEK_DATA` finds, and restores the offset.
fn each_data(
    fd: BorrowedFd<'_>,
    total_bytes: u64,
    visit: impl FnMut(Range<u64>) -> ControlFlow<()>,
) -> rustix::io::Result<()> {
    let here = rustix::fs::tell(fd)?;
    let done = seek_through(fd, total_bytes, visit);
    rustix::fs::seek(fd, SeekFrom::Start(here))?;
    done
}

fn seek_through(
    fd: BorrowedFd<'_>,
    total_bytes: u64,
    mut visit: impl FnMut(Range<u64>) -> ControlFlow<()>,
) -> rustix::io::Result<()> {
    let mut at = 0;
    while at < total_bytes {
        let data = match rustix::fs::seek(fd, SeekFrom::Data(at)) {
            Ok(data) => data.min(total_bytes),
            // No data from here to the end.
            Err(Errno::NXIO) => break,
            Err(error) => return Err(error),
        };
        if data >= total_bytes {
            break;
        }
        let hole = rustix::fs::seek(fd, SeekFrom::Hole(data))?.min(total_bytes);
        if hole <= data {
            return Err(Errno::IO);
        }
        if visit(data..hole).is_break() {
            break;
        }
        at = hole;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::FallocateFlags;
    use std::fs::File;
    use std::io::{Seek as _, Write as _};
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    const LENGTH: u64 = 1 << 20;

    fn seen(file: &File) -> Extents {
        *of_fd(file.as_fd()).as_result().expect("seen")
    }

    /// Tests the three ways in which a file gets its length.
    fn check_sparse_and_written(dir: &Path) {
        let sparse = tempfile::tempfile_in(dir).unwrap();
        sparse.set_len(LENGTH).unwrap();
        let found = seen(&sparse);
        assert_eq!((found.total_bytes, found.hole_bytes, found.unwritten_bytes), (LENGTH, LENGTH, 0), "sparse");

        let written = tempfile::tempfile_in(dir).unwrap();
        written.write_all_at(&vec![7; LENGTH as usize], 0).unwrap();
        let delayed = seen(&written);
        assert_eq!((delayed.hole_bytes, delayed.unwritten_bytes), (0, 0), "written, not yet allocated");
        written.sync_all().unwrap();
        let found = seen(&written);
        assert_eq!((found.hole_bytes, found.unwritten_bytes), (0, 0), "written and flushed");
        assert!(found.extents >= 1);
        // If the file system reports addresses, the span covers the extents.
        if let Some(place) = found.place {
            assert!(place.end_byte - place.lowest_byte >= found.extents.min(1) * 4096, "{place:?}");
        }

        let half = tempfile::tempfile_in(dir).unwrap();
        half.write_all_at(&vec![7; LENGTH as usize / 2], LENGTH / 2).unwrap();
        half.sync_all().unwrap();
        assert_eq!(seen(&half).hole_bytes, LENGTH / 2, "hole in front");

        let mut tiny = tempfile::tempfile_in(dir).unwrap();
        tiny.write_all(b"inline on btrfs").unwrap();
        tiny.sync_all().unwrap();
        let found = seen(&tiny);
        assert_eq!((found.total_bytes, found.hole_bytes), (15, 0), "a few bytes");
    }

    fn check_unwritten(dir: &Path) {
        let reserved = tempfile::tempfile_in(dir).unwrap();
        rustix::fs::fallocate(&reserved, FallocateFlags::empty(), 0, LENGTH).unwrap();
        let found = seen(&reserved);
        assert_eq!((found.hole_bytes, found.unwritten_bytes), (0, LENGTH), "fallocate");
        reserved.write_all_at(&vec![7; LENGTH as usize], 0).unwrap();
        reserved.sync_all().unwrap();
        assert_eq!(seen(&reserved).unwritten_bytes, 0, "written over and flushed");

        let beyond = tempfile::tempfile_in(dir).unwrap();
        rustix::fs::fallocate(&beyond, FallocateFlags::KEEP_SIZE, 0, LENGTH).unwrap();
        assert_eq!(seen(&beyond), Extents::default(), "blocks beyond the end do not count");
    }

    #[test]
    fn sparse_and_written_files_are_distinguished_here() {
        check_sparse_and_written(Path::new(env!("CARGO_MANIFEST_DIR")));
    }

    #[test]
    fn seek_hole_answers_on_tmpfs() {
        let dir = Path::new("/dev/shm");
        if !dir.is_dir() {
            assert!(std::env::var_os("CI").is_none(), "no /dev/shm");
            eprintln!("SKIPPED: no /dev/shm here");
            return;
        }
        check_sparse_and_written(dir);
        let mut file = tempfile::tempfile_in(dir).unwrap();
        file.set_len(LENGTH).unwrap();
        file.seek(io::SeekFrom::Start(123)).unwrap();
        seen(&file);
        assert_eq!(file.stream_position().unwrap(), 123, "the query moved the file's offset");
    }

    /// Protects ranges treated as blank: anything outside the returned ranges is never read before it is overwritten.
    #[test]
    fn written_ranges_hold_every_byte_that_was_written_and_no_reserved_block() {
        let mut places = vec![Path::new(env!("CARGO_MANIFEST_DIR"))];
        places.extend(Some(Path::new("/dev/shm")).filter(|shm| shm.is_dir()));
        for place in places {
            let file = tempfile::tempfile_in(place).unwrap();
            file.set_len(LENGTH).unwrap();
            let ranges = |most| written(file.as_fd(), most).unwrap();
            assert_eq!(ranges(u64::MAX), [], "only a hole");
            if rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, LENGTH).is_ok() {
                assert_eq!(ranges(u64::MAX), [], "reserved");
                let mut read = vec![1; LENGTH as usize];
                file.read_exact_at(&mut read, 0).unwrap();
                // A tmpfs allocates a page of zeros on read, and reports it as data afterwards.
                let by_seeking = place == Path::new("/dev/shm");
                assert!(by_seeking || ranges(u64::MAX).is_empty(), "reserved, and read through the cache");
            }
            let file = tempfile::tempfile_in(place).unwrap();
            file.set_len(LENGTH).unwrap();
            for at in [0, 300_000, 700_000] {
                file.write_all_at(&[7], at).unwrap();
            }
            // Not flushed: the query itself flushes.
            let found = written(file.as_fd(), u64::MAX).unwrap();
            for at in [0, 300_000, 700_000] {
                assert!(found.iter().any(|range| range.contains(&at)), "{at}: {found:?}");
            }
            assert!(found.iter().map(|range| range.end - range.start).sum::<u64>() < LENGTH / 2, "{found:?}");
            let bounded = written(file.as_fd(), 1).unwrap();
            assert_eq!(bounded.len(), 1, "only the requested amount is collected");
        }
    }

    #[test]
    fn a_file_of_many_extents_is_walked_in_batches() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let pieces = BATCH as u64 * 2 + 10;
        for piece in 0..pieces {
            file.write_all_at(&[7; 4096], piece * 65_536).unwrap();
        }
        file.sync_all().unwrap();
        let found = seen(&file);
        assert_eq!(found.total_bytes - found.hole_bytes, pieces * 4096);
        let by_seeking = by_seeking(file.as_fd(), found.total_bytes).unwrap();
        assert_eq!(by_seeking.hole_bytes, found.hole_bytes);
    }

    #[test]
    fn other_files_are_not_seen() {
        let dir = File::open(env!("CARGO_MANIFEST_DIR")).unwrap();
        assert!(matches!(of_fd(dir.as_fd()), Seen::No(_)));
    }

    /// A fresh file system on a loop device, unmounted and detached on drop.
    struct Mounted {
        image: PathBuf,
        point: tempfile::TempDir,
    }

    impl Mounted {
        /// Returns `None` and prints the reason if this is not permitted or a tool is missing.
        /// Under CI that fails instead.
        fn new(kind: &str, options: &[&str]) -> Option<Mounted> {
            let missing = |why: &str| {
                assert!(std::env::var_os("CI").is_none(), "{why}");
                eprintln!("SKIPPED: {why}");
            };
            if !rustix::process::geteuid().is_root() {
                missing("a loop mount needs root");
                return None;
            }
            let point = tempfile::tempdir().unwrap();
            let image = point.path().with_extension("img");
            File::create(&image).unwrap().set_len(320 << 20).unwrap();
            let made = Command::new(format!("mkfs.{kind}")).args(options).arg(&image).output();
            if !made.is_ok_and(|output| output.status.success()) {
                std::fs::remove_file(&image).unwrap();
                missing(&format!("mkfs.{kind} is missing or fails"));
                return None;
            }
            let status = Command::new("mount").args(["-o", "loop"]).arg(&image).arg(point.path()).status().unwrap();
            assert!(status.success(), "mount");
            Some(Mounted { image, point })
        }
    }

    impl Drop for Mounted {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(self.point.path()).status();
            let _ = std::fs::remove_file(&self.image);
        }
    }

    #[test]
    fn root_ext4_xfs_and_btrfs_report_holes_and_unwritten_blocks() {
        for (kind, options) in [("ext4", ["-q"]), ("xfs", ["-q"]), ("btrfs", ["-q"])] {
            let Some(mounted) = Mounted::new(kind, &options) else { continue };
            eprintln!("{kind}");
            check_sparse_and_written(mounted.point.path());
            check_unwritten(mounted.point.path());
        }
    }

    #[test]
    fn root_compressed_extents_of_btrfs_are_encoded() {
        let Some(mounted) = Mounted::new("btrfs", &["-q"]) else { return };
        let remounted =
            Command::new("mount").args(["-o", "remount,compress-force=zstd"]).arg(mounted.point.path()).status();
        assert!(remounted.unwrap().success());
        let file = tempfile::tempfile_in(mounted.point.path()).unwrap();
        file.write_all_at(&vec![0x55; LENGTH as usize], 0).unwrap();
        file.sync_all().unwrap();
        assert_eq!(seen(&file).encoded_bytes, LENGTH);
    }

    #[test]
    fn a_sum_is_not_seen_if_a_part_is_not() {
        let place = |lowest_byte, end_byte| Some(DeviceSpan { lowest_byte, end_byte });
        let part = Extents {
            total_bytes: 5,
            hole_bytes: 1,
            unwritten_bytes: 2,
            extents: 3,
            encoded_bytes: 4,
            place: place(100, 200),
        };
        let further = Extents { place: place(150, 900), ..part };
        let both = Extents {
            total_bytes: 10,
            hole_bytes: 2,
            unwritten_bytes: 4,
            extents: 6,
            encoded_bytes: 8,
            place: place(100, 900),
        };
        assert_eq!(sum([Seen::Yes(part), Seen::Yes(further)]), Seen::Yes(both));
        assert_eq!(sum([Seen::Yes(part), Seen::Yes(Extents::default())]), Seen::Yes(part));
        assert_eq!(sum([Seen::Yes(part), Seen::no("hidden")]), Seen::no("hidden"));
    }
}
