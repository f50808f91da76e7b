//! Proof that a regular file holds nothing of value.
//!
//! There are three proofs, and none of them samples the file. The file is empty; the file system reports that nothing
//! was ever written to it (holes and unwritten extents); or all written ranges have been read, at most
//! [`READ_MAX_BYTES`], and contain only zeros or test data that identifies itself ([`Recognise`]).
//!
//! Reads bypass the page cache, so that the cache is the same for the run. On a file system without `O_DIRECT`, a
//! file that was not cached before is dropped from the cache again; a partly cached file ends up fully cached.

use super::not_blank::NotBlank;
use super::opened::{IoMode, set_mode};
use super::test_data::{Recognise, TestBlock};
use plumb_probe::{extents, residency};
use rustix::fs::{Advice, SeekFrom};
use rustix::io::Errno;
use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// Maximum number of bytes to read for the proof.
pub const READ_MAX_BYTES: u64 = 1 << 30;

/// Bytes per read. Offsets and lengths of direct reads are multiples of [`ALIGN_BYTES`].
const WINDOW_BYTES: usize = 4 << 20;
const ALIGN_BYTES: u64 = 4096;

/// Maximum length of a block of test data; longer blocks are not recognised.
const BLOCK_MAX_BYTES: u64 = 64 << 20;

/// Unit of zeros between blocks of test data.
const SECTOR_BYTES: u64 = 512;

/// Time after which a progress line is printed.
const SLOW: Duration = Duration::from_secs(1);

/// Limits on reading a file, and the way to report progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// Receives a line of progress when reading is slow.
    pub(super) say: fn(&str),
    /// Reading stops early once this is not 0.
    pub(super) stop: Option<&'static AtomicI32>,
    /// Maximum number of bytes to read.
    pub(super) bytes_max: u64,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { say: |_| {}, stop: None, bytes_max: READ_MAX_BYTES }
    }
}

/// A quick check that finds most files with data, without opening them for writing. Success proves nothing.
pub(super) fn may_be(file: BorrowedFd<'_>, path: &Path, recognise: Recognise) -> Result<(), NotBlank> {
    let at = match rustix::fs::seek(file, SeekFrom::Data(0)) {
        Ok(at) => at,
        Err(Errno::NXIO) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    rustix::fs::seek(file, SeekFrom::Start(0))?;
    let mut window = Window::new(file, path, ALIGN_BYTES as usize);
    let at = at / ALIGN_BYTES * ALIGN_BYTES;
    let outcome = window.read(at).and_then(|_| match first_data(window.seen(), at, true, recognise) {
        Stretch::Blank(_) | Stretch::Cut { .. } => Ok(()),
        Stretch::Data { offset_bytes } => Err(NotBlank::Data { offset_bytes }),
    });
    window.close()?;
    outcome
}

/// Checks whether a file is blank. `Ok` is a proof for as long as no other program writes to the file.
pub(super) fn prove(
    file: BorrowedFd<'_>,
    path: &Path,
    patience: Patience,
    recognise: Recognise,
) -> Result<(), NotBlank> {
    let written = extents::written(file, patience.bytes_max)?;
    let total_bytes: u64 = written.iter().map(|range| range.end - range.start).sum();
    if total_bytes > patience.bytes_max {
        return Err(NotBlank::TooLarge { bytes_max: patience.bytes_max });
    }
    if total_bytes == 0 {
        return Ok(());
    }
    let mut window = Window::new(file, path, WINDOW_BYTES);
    let outcome = read_through(&mut window, &written, total_bytes, patience, recognise);
    window.close()?;
    outcome
}

/// Returns `true` if anything was ever written to a file, even zeros.
pub(super) fn has_written(file: BorrowedFd<'_>) -> Result<bool, NotBlank> {
    Ok(!extents::written(file, 0)?.is_empty())
}

fn read_through(
    window: &mut Window<'_>,
    written: &[Range<u64>],
    total_bytes: u64,
    patience: Patience,
    recognise: Recognise,
) -> Result<(), NotBlank> {
    let (began, mut is_reported, mut done_bytes) = (Instant::now(), false, 0);
    // A block may extend beyond the written range.
    let mut at = 0;
    for range in written {
        at = at.max(range.start);
        while at < range.end {
            if patience.stop.is_some_and(|stop| stop.load(Ordering::Relaxed) != 0) {
                return Err(NotBlank::Stopped);
            }
            if !is_reported && began.elapsed() > SLOW {
                is_reported = true;
                (patience.say)(&format!(
                    "reading {} to see whether it holds only zeros or test data: {} of {} MiB so far",
                    window.path.display(),
                    done_bytes >> 20,
                    total_bytes >> 20
                ));
            }
            let read = window.read(at)?;
            if read == ReadTo::Nothing {
                return Err(NotBlank::Changed);
            }
            match first_data(window.seen(), at, read == ReadTo::Room, recognise) {
                Stretch::Blank(blank_bytes) => {
                    at += blank_bytes;
                    done_bytes += blank_bytes;
                }
                Stretch::Cut { blank_bytes: 0, wanted_bytes } => window.grow(at, wanted_bytes)?,
                Stretch::Cut { blank_bytes, .. } => {
                    at += blank_bytes;
                    done_bytes += blank_bytes;
                }
                Stretch::Data { offset_bytes } => return Err(NotBlank::Data { offset_bytes }),
            }
        }
    }
    Ok(())
}

/// Result of searching a range of bytes for data.
enum Stretch {
    /// All of these bytes are blank.
    Blank(u64),
    /// `blank_bytes` are blank, followed by a block of test data that is longer than the rest.
    Cut { blank_bytes: u64, wanted_bytes: u64 },
    /// Data begins at this offset.
    Data { offset_bytes: u64 },
}

/// Searches the bytes at an offset of a file for data. `goes_on` means that the file continues, so that a
/// block may be cut off.
fn first_data(bytes: &[u8], offset: u64, goes_on: bool, recognise: Recognise) -> Stretch {
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let start = offset + at as u64;
        let to_sector = (SECTOR_BYTES - start % SECTOR_BYTES) as usize;
        let stride = if to_sector == SECTOR_BYTES as usize { STRIDE_BYTES } else { to_sector };
        let strides = [stride, to_sector].map(|stride| &rest[..stride.min(rest.len())]);
        if let Some(zeros) = strides.into_iter().find(|stride| is_zero(stride)) {
            at += zeros.len();
            continue;
        }
        match recognise(rest, start) {
            TestBlock::Whole(length) => at += length,
            TestBlock::Longer(wanted_bytes) if goes_on && wanted_bytes <= BLOCK_MAX_BYTES => {
                return Stretch::Cut { blank_bytes: at as u64, wanted_bytes };
            }
            TestBlock::Longer(_) | TestBlock::None => return Stretch::Data { offset_bytes: start },
        }
    }
    Stretch::Blank(at as u64)
}

/// End of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadTo {
    /// The memory is full, and the file may continue.
    Room,
    /// The end of the file.
    End,
    /// The file ends before the offset.
    Nothing,
}

/// Bytes to compare with zeros at a time.
const STRIDE_BYTES: usize = 64 << 10;

fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks();
    words.iter().all(|word| u64::from_ne_bytes(*word) == 0) && rest.iter().all(|byte| *byte == 0)
}

/// Memory with the alignment that direct reads need.
struct AlignedMemory {
    memory: Vec<u8>,
    start: usize,
}

impl AlignedMemory {
    fn new(bytes: usize) -> AlignedMemory {
        let memory = vec![0; bytes + ALIGN_BYTES as usize];
        let start = memory.as_ptr().align_offset(ALIGN_BYTES as usize);
        AlignedMemory { memory, start }
    }

    fn bytes(&self) -> usize {
        self.memory.len() - ALIGN_BYTES as usize
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        let bytes = self.bytes();
        &mut self.memory[self.start..][..bytes]
    }
}

/// A part of a file in memory, read around the page cache if possible.
pub(super) struct Window<'a> {
    file: BorrowedFd<'a>,
    path: &'a Path,
    memory: AlignedMemory,
    is_direct: bool,
    /// Whether nothing of the file was in the page cache.
    was_cold: bool,
    /// Range of the memory that the last read filled.
    seen: Range<usize>,
}

impl<'a> Window<'a> {
    pub(super) fn new(file: BorrowedFd<'a>, path: &'a Path, length: usize) -> Window<'a> {
        let was_cold = residency::of_fd(file).as_result().is_ok_and(|seen| seen.resident_bytes == 0);
        let is_direct = set_mode(file, path, IoMode::Direct).is_ok();
        Window { file, path, memory: AlignedMemory::new(length), is_direct, was_cold, seen: 0..0 }
    }

    /// Reads the file from an offset on, up to the size of the memory.
    pub(super) fn read(&mut self, offset: u64) -> Result<ReadTo, NotBlank> {
        let start = offset / ALIGN_BYTES * ALIGN_BYTES;
        let skipped = (offset - start) as usize;
        let mut filled = 0;
        loop {
            let room = &mut self.memory.as_mut_slice()[filled..];
            if room.is_empty() {
                break;
            }
            match rustix::io::pread(self.file, room, start + filled as u64) {
                Ok(0) => break,
                Ok(got) => {
                    filled += got;
                    if self.is_direct && !(filled as u64).is_multiple_of(ALIGN_BYTES) {
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                // The device has larger sectors than these reads.
                Err(Errno::INVAL) if self.is_direct => {
                    set_mode(self.file, self.path, IoMode::Buffered).map_err(io::Error::other)?;
                    self.is_direct = false;
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.seen = skipped.min(filled)..filled;
        Ok(match filled {
            _ if self.seen.is_empty() => ReadTo::Nothing,
            filled if filled == self.memory.bytes() => ReadTo::Room,
            _ => ReadTo::End,
        })
    }

    /// Returns the bytes of the last read, from its offset on.
    pub(super) fn seen(&mut self) -> &[u8] {
        let seen = self.seen.clone();
        &self.memory.as_mut_slice()[seen]
    }

    /// Enlarges the memory for a block that begins at an offset.
    fn grow(&mut self, offset: u64, block_bytes: u64) -> Result<(), NotBlank> {
        let wanted = (offset % ALIGN_BYTES + block_bytes).next_multiple_of(ALIGN_BYTES) as usize;
        if wanted <= self.memory.bytes() {
            // The memory was large enough, so the file ends within the block.
            return Err(NotBlank::Data { offset_bytes: offset });
        }
        self.memory = AlignedMemory::new(wanted);
        Ok(())
    }

    /// Restores the descriptor's flags and the page cache.
    pub(super) fn close(self) -> Result<(), NotBlank> {
        set_mode(self.file, self.path, IoMode::Buffered).map_err(io::Error::other)?;
        if !self.is_direct && self.was_cold {
            let _ = rustix::fs::fadvise(self.file, 0, None, Advice::DontNeed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{recognised, test_data};
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;
    use std::path::PathBuf;

    /// Directories on the disk and in memory.
    fn places() -> Vec<PathBuf> {
        let mut places = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR"))];
        places.extend(Some(PathBuf::from("/dev/shm")).filter(|shm| shm.is_dir()));
        places
    }

    fn prove_blank(file: &File, bytes_max: u64) -> Result<(), NotBlank> {
        let patience = Patience { bytes_max, ..Patience::default() };
        let (path, fd) = (Path::new("file"), file.as_fd());
        let proved = prove(fd, path, patience, recognised);
        if proved.is_ok() {
            may_be(fd, path, recognised).unwrap();
        }
        assert!(!rustix::fs::fcntl_getfl(fd).unwrap().contains(rustix::fs::OFlags::DIRECT));
        assert_eq!(rustix::fs::tell(fd).unwrap(), 0);
        proved
    }

    fn data_at(file: &File) -> Option<u64> {
        match prove_blank(file, READ_MAX_BYTES) {
            Ok(()) => None,
            Err(NotBlank::Data { offset_bytes }) => Some(offset_bytes),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn unwritten_files_of_any_length_are_blank_without_reading() {
        for place in places() {
            let file = tempfile::tempfile_in(&place).unwrap();
            prove_blank(&file, 0).unwrap();
            file.set_len(1 << 40).unwrap();
            prove_blank(&file, 0).unwrap();
            let reserved = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 1 << 30, 8 << 20);
            assert!(reserved.is_ok());
            prove_blank(&file, 0).unwrap();
        }
    }

    // Protects users' files whose data is small, late, or between zeros.
    #[test]
    fn one_byte_anywhere_is_data() {
        const LENGTH: u64 = (9 << 20) + 700;
        for place in places() {
            for at in [0, 1, 511, 512, 4095, 4 << 20, (4 << 20) - 1, 5_000_001, (9 << 20) + 600, LENGTH - 1] {
                let zeros = tempfile::tempfile_in(&place).unwrap();
                zeros.write_all_at(&vec![0; LENGTH as usize], 0).unwrap();
                assert_eq!(data_at(&zeros), None);
                let sparse = tempfile::tempfile_in(&place).unwrap();
                sparse.set_len(1 << 38).unwrap();
                for file in [zeros, sparse] {
                    file.write_all_at(&[1], at).unwrap();
                    assert_eq!(data_at(&file).unwrap() / 512, at / 512, "{at}");
                }
            }
        }
    }

    #[test]
    fn files_above_the_limit_are_not_read_and_prove_nothing() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all_at(&vec![0; 1 << 20], 0).unwrap();
        prove_blank(&file, 1 << 20).unwrap();
        let why = prove_blank(&file, (1 << 20) - 4096).unwrap_err();
        assert!(matches!(why, NotBlank::TooLarge { .. }), "{why}");
        // Unwritten ranges do not count.
        file.set_len(1 << 40).unwrap();
        prove_blank(&file, 1 << 20).unwrap();
        assert_eq!(READ_MAX_BYTES, 1 << 30, "the limit that the documentation states");
    }

    #[test]
    fn test_data_throughout_is_blank_with_zeros_between_and_blocks_longer_than_a_read() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let mut ends = vec![];
        for (offset, length) in
            [(0u64, 4096), (4096, 128 << 10), (1 << 20, 6 << 20), ((7 << 20) + 512, 1536), (64 << 20, 5 << 20)]
        {
            file.write_all_at(&test_data(offset, length), offset).unwrap();
            ends.push(offset + length as u64);
        }
        assert_eq!(data_at(&file), None);
        for end in ends {
            file.write_all_at(&[0xff], end - 1).unwrap();
            assert!(data_at(&file).is_some(), "the last byte of the block that ends at {end}");
            file.write_all_at(&[7], end - 1).unwrap();
            assert_eq!(data_at(&file), None);
        }
        // A block at another offset is a copy that a user made.
        file.write_all_at(&test_data(0, 4096), 16 << 20).unwrap();
        assert_eq!(data_at(&file), Some(16 << 20));
    }

    #[test]
    fn a_block_that_the_end_of_the_file_cuts_is_data() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        for length in [4096usize, 6 << 20] {
            file.set_len(0).unwrap();
            file.write_all_at(&test_data(0, length)[..length - 100], 0).unwrap();
            assert_eq!(data_at(&file), Some(0), "{length}");
        }
    }

    // Protects the measurements of the run: cold files stay cold, and cached files stay cached.
    #[test]
    fn the_page_cache_is_restored() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all_at(&vec![0; 4 << 20], 0).unwrap();
        file.sync_all().unwrap();
        let resident = || residency::of_fd(file.as_fd()).as_result().unwrap().resident_bytes;
        let cached = resident();
        assert_eq!(data_at(&file), None);
        assert_eq!(resident(), cached, "cached");
        rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        let cold = resident();
        assert_eq!(data_at(&file), None);
        assert_eq!(resident(), cold, "cold");
    }

    #[test]
    fn a_signal_ends_the_reading() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all_at(&vec![0; 4 << 20], 0).unwrap();
        static RAISED: AtomicI32 = AtomicI32::new(15);
        let patience = Patience { stop: Some(&RAISED), ..Patience::default() };
        assert!(matches!(prove(file.as_fd(), Path::new("file"), patience, recognised), Err(NotBlank::Stopped)));
    }
}
