//! The memory of block ops: an aligned region of the kind that the workload asks for.
#![allow(unsafe_code)]

use crate::os;
use plumb_workload::process::{BufferMemory, BufferRules};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// Minimum alignment of slots. Every `O_DIRECT` file accepts it.
pub(crate) const SLOT_ALIGN_BYTES: usize = 4096;

/// Default size of a huge page, usual on x86-64 and arm64.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// A region of memory with the requested alignment. All pages are present.
pub(crate) struct Region {
    start: NonNull<u8>,
    bytes: usize,
    _mapping: Mapping,
}

// SAFETY: the region is owned memory. Memory shared with other processes is only ever read as bytes.
unsafe impl Send for Region {}

/// The mapping to release on drop.
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
    kind: RegionKind,
}

enum RegionKind {
    /// From mmap(2).
    Mapped {
        /// A file created for this mapping, to be removed with it.
        made: Option<PathBuf>,
    },
    /// From shmat(2).
    Attached,
}

impl Region {
    /// Maps private zeroed memory. Touches every page, so that no op pays for a page fault.
    pub(crate) fn new(bytes: usize) -> io::Result<Region> {
        Region::with_rules(bytes, &BufferRules::default())
    }

    /// Maps memory of the kind and alignment that `rules` ask for. If the kind is not available, the error
    /// says how to fix it.
    pub(crate) fn with_rules(bytes: usize, rules: &BufferRules) -> io::Result<Region> {
        let align = align_bytes(rules)?;
        let huge = huge_page_bytes(rules)?;
        // Mappings begin at a page. A larger alignment needs room to move the start.
        let room = bytes.max(1).next_multiple_of(SLOT_ALIGN_BYTES) + if align > SLOT_ALIGN_BYTES { align } else { 0 };
        let mapping = match &rules.memory {
            BufferMemory::Private => map(room, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, None)?,
            BufferMemory::Shared(None) => map(room, libc::MAP_SHARED | libc::MAP_ANONYMOUS, None)?,
            BufferMemory::File(path) => map_file(room, libc::MAP_PRIVATE, path)?,
            BufferMemory::Shared(Some(path)) => map_file(room, libc::MAP_SHARED, path)?,
            BufferMemory::Huge(None) => {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | os::huge_map_flags(huge)?;
                map(room.next_multiple_of(huge), flags, None).map_err(|error| no_huge_pages(&error, huge, room))?
            }
            BufferMemory::Huge(Some(path)) => map_file(room.next_multiple_of(huge), libc::MAP_SHARED, path)?,
            BufferMemory::SystemV => attach(room, 0)?,
            BufferMemory::SystemVHuge => attach(room.next_multiple_of(huge), os::huge_segment_flags(huge)?)
                .map_err(|error| no_huge_pages(&error, huge, room))?,
        };
        let shift = mapping.start.as_ptr().align_offset(align);
        // SAFETY: if the shift is not 0, `room` has `align` spare bytes, so the start stays inside.
        let start = unsafe { mapping.start.add(shift) };
        let mut region = Region { start, bytes: bytes.max(1).next_multiple_of(SLOT_ALIGN_BYTES), _mapping: mapping };
        region.as_mut_slice().iter_mut().step_by(4096).for_each(|byte| {
            // SAFETY: a valid reference; volatile only so that the store is not optimised away.
            unsafe { std::ptr::write_volatile(byte, 0) };
        });
        Ok(region)
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: `start` maps `bytes` initialised bytes, borrowed as long as `self` is.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    pub(crate) fn pointer(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Locks the whole region in RAM. Source: mlock(2).
    pub(crate) fn lock(&self) -> io::Result<()> {
        // SAFETY: the range belongs to this region.
        if unsafe { libc::mlock(self.start.as_ptr().cast(), self.bytes) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        let text = format!(
            "cannot lock {} bytes of memory: {error}; raise the limit of locked memory (`ulimit -l`), or lock less",
            self.bytes
        );
        Err(io::Error::new(error.kind(), text))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        match &self.kind {
            RegionKind::Mapped { made } => {
                // SAFETY: mapped by `map` with exactly this length; no reference outlives the region.
                unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
                if let Some(made) = made {
                    // The file held only buffers, so a failed removal does no harm.
                    drop(std::fs::remove_file(made));
                }
            }
            RegionKind::Attached => {
                // SAFETY: attached by `attach`; no reference outlives the region.
                unsafe { libc::shmdt(self.start.as_ptr().cast()) };
            }
        }
    }
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// Returns the alignment of slots in bytes.
pub(crate) fn align_bytes(rules: &BufferRules) -> io::Result<usize> {
    let Some(align) = rules.align else { return Ok(SLOT_ALIGN_BYTES) };
    let bytes = usize::try_from(align.0).unwrap_or(usize::MAX);
    if !bytes.is_power_of_two() || bytes > 1 << 30 {
        return Err(invalid(format!("buffers cannot be aligned to {bytes} bytes: use a power of two up to 1 GiB")));
    }
    Ok(bytes.max(SLOT_ALIGN_BYTES))
}

fn huge_page_bytes(rules: &BufferRules) -> io::Result<usize> {
    let Some(page) = rules.huge_page else { return Ok(HUGE_PAGE_BYTES) };
    let bytes = usize::try_from(page.0).unwrap_or(usize::MAX);
    if !bytes.is_power_of_two() || !(SLOT_ALIGN_BYTES..=1 << 34).contains(&bytes) {
        let text = format!("a huge page of {bytes} bytes does not exist: the sizes are in /sys/kernel/mm/hugepages");
        return Err(invalid(text));
    }
    Ok(bytes)
}

fn no_huge_pages(error: &io::Error, huge: usize, bytes: usize) -> io::Error {
    let count = bytes.div_ceil(huge);
    let kib = huge >> 10;
    let text = format!(
        "no {count} huge pages of {kib} KiB for the buffers: {error}; reserve them with \
         `echo {count} > /sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages`, or use plain memory"
    );
    io::Error::new(error.kind(), text)
}

fn map(bytes: usize, flags: i32, file: Option<RawFd>) -> io::Result<Mapping> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh mapping, no address asked for; the descriptor is open or absent.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file.unwrap_or(-1), 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let start = NonNull::new(start.cast::<u8>()).expect("mmap without MAP_FIXED never returns null");
    Ok(Mapping { start, bytes, kind: RegionKind::Mapped { made: None } })
}

/// Maps a file, which is created if it is missing. Existing content is never overwritten: a file with content can only
/// be mapped privately, and only if it is long enough.
fn map_file(bytes: usize, flags: i32, path: &Path) -> io::Result<Mapping> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("buffers in {}: {error}", path.display()));
    let made = !path.try_exists().map_err(named)?;
    let file = open_buffer_file(path, made).map_err(named)?;
    let mapping =
        fit(&file, bytes, flags, path).and_then(|()| map(bytes, flags, Some(file.as_raw_fd())).map_err(named));
    match mapping {
        Ok(mut mapping) => {
            mapping.kind = RegionKind::Mapped { made: made.then(|| path.to_owned()) };
            Ok(mapping)
        }
        Err(error) => {
            if made {
                drop(std::fs::remove_file(path));
            }
            Err(error)
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a mapped file with content is never overwritten: see `fit`")]
fn open_buffer_file(path: &Path, is_new: bool) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(is_new).open(path)
}

fn fit(file: &File, bytes: usize, flags: i32, path: &Path) -> io::Result<()> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("buffers in {}: {error}", path.display()));
    let meta = file.metadata().map_err(named)?;
    let kind = meta.file_type();
    if kind.is_block_device() {
        return Err(invalid(format!(
            "buffers in {}: the contents of a block device would be destroyed; name a file",
            path.display()
        )));
    }
    if !kind.is_file() {
        return Ok(());
    }
    let shared = flags & libc::MAP_SHARED != 0;
    if meta.len() > 0 && (shared || meta.len() < bytes as u64) {
        let text =
            format!("buffers in {}: the file already holds {} bytes; name a new one", path.display(), meta.len());
        return Err(invalid(text));
    }
    if meta.len() < bytes as u64 { file.set_len(bytes as u64).map_err(named) } else { Ok(()) }
}

/// Attaches a System V shared memory segment and marks it for removal at once. Source: shmget(2), shmctl(2).
fn attach(bytes: usize, flags: i32) -> io::Result<Mapping> {
    // SAFETY: creates a new private segment.
    let id = unsafe { libc::shmget(libc::IPC_PRIVATE, bytes, libc::IPC_CREAT | 0o600 | flags) };
    if id < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the segment was created above; no address is requested.
    let start = unsafe { libc::shmat(id, std::ptr::null(), 0) };
    let error = io::Error::last_os_error();
    // SAFETY: the segment was created above; it survives until it is detached.
    unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
    match NonNull::new(start.cast::<u8>()) {
        Some(start) if start.as_ptr() as isize != -1 => Ok(Mapping { start, bytes, kind: RegionKind::Attached }),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::Bytes;
    use std::process::Command;

    const BYTES: usize = 256 << 10;

    fn rules(memory: BufferMemory) -> BufferRules {
        BufferRules { memory, ..BufferRules::default() }
    }

    fn refusal(bytes: usize, rules: &BufferRules) -> String {
        Region::with_rules(bytes, rules).err().expect("a refusal").to_string()
    }

    /// Reports that a test cannot run here. In CI it must run.
    fn skip(why: &str) {
        assert!(std::env::var_os("CI").is_none(), "{why}");
        eprintln!("SKIPPED: {why}");
    }

    /// Asserts that the region is zeroed and aligned, and that it keeps the bytes written to it.
    #[track_caller]
    fn holds(region: &mut Region, align: usize) {
        assert!(region.pointer().addr().is_multiple_of(align) && region.bytes() >= BYTES);
        let memory = region.as_mut_slice();
        assert!(memory.iter().all(|&byte| byte == 0), "not zeros");
        memory.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at >> 8) as u8 ^ at as u8);
        assert!(memory.iter().enumerate().all(|(at, &byte)| byte == (at >> 8) as u8 ^ at as u8));
    }

    #[test]
    fn every_kind_of_memory_is_aligned_and_holds_bytes() {
        let dir = tempfile::tempdir().unwrap();
        for align in [None, Some(512), Some(1 << 16), Some(4 << 20)] {
            let kinds = [
                BufferMemory::Private,
                BufferMemory::Shared(None),
                BufferMemory::Shared(Some(dir.path().join("shared"))),
                BufferMemory::File(dir.path().join("file")),
                BufferMemory::SystemV,
            ];
            for memory in kinds {
                let rules = BufferRules { align: align.map(Bytes), ..rules(memory) };
                let align = align.map_or(SLOT_ALIGN_BYTES, |align| (align as usize).max(SLOT_ALIGN_BYTES));
                holds(&mut Region::with_rules(BYTES, &rules).unwrap(), align);
            }
        }
        assert_eq!(dir.path().read_dir().unwrap().count(), 0, "files created for buffers remain");
    }

    #[test]
    fn impossible_alignments_and_kinds_are_refused() {
        for align in [0, 3, 6000, 2 << 30] {
            let text = refusal(BYTES, &BufferRules { align: Some(Bytes(align)), ..BufferRules::default() });
            assert!(text.contains("power of two"), "{text}");
        }
        let page = BufferRules { huge_page: Some(Bytes(12345)), ..rules(BufferMemory::Huge(None)) };
        assert!(refusal(BYTES, &page).contains("/sys/kernel/mm/hugepages"));
        let nowhere = rules(BufferMemory::File("no-such-directory/buffers".into()));
        assert!(refusal(BYTES, &nowhere).contains("no-such-directory/buffers"));
    }

    #[test]
    fn a_shared_mapping_is_the_file_and_a_private_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("buffers");
        for (memory, expected) in [(BufferMemory::Shared(Some(path.clone())), 7), (BufferMemory::File(path.clone()), 0)]
        {
            let mut region = Region::with_rules(BYTES, &rules(memory)).unwrap();
            region.as_mut_slice().fill(7);
            assert_eq!(std::fs::read(&path).unwrap()[100], expected);
        }
    }

    #[test]
    fn the_content_of_a_file_is_never_lost() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("precious");
        std::fs::write(&path, [5; 2 * BYTES]).unwrap();
        assert!(refusal(BYTES, &rules(BufferMemory::Shared(Some(path.clone())))).contains("name a new one"));
        assert!(refusal(4 * BYTES, &rules(BufferMemory::File(path.clone()))).contains("name a new one"));
        let mut region = Region::with_rules(BYTES, &rules(BufferMemory::File(path.clone()))).unwrap();
        region.as_mut_slice().fill(9);
        drop(region);
        assert_eq!(std::fs::read(&path).unwrap(), [5; 2 * BYTES]);
    }

    #[test]
    fn a_segment_of_system_v_goes_with_its_region() {
        let ours = || {
            let segments = std::fs::read_to_string("/proc/sysvipc/shm").unwrap();
            let maker = std::process::id().to_string();
            let of_this_size = (BYTES + (3 << 12)).to_string();
            segments
                .lines()
                .map(|line| line.split_whitespace().collect::<Vec<_>>())
                .filter(|words| words.get(3) == Some(&of_this_size.as_str()) && words.get(4) == Some(&maker.as_str()))
                .count()
        };
        let region = Region::with_rules(BYTES + (3 << 12), &rules(BufferMemory::SystemV)).unwrap();
        assert_eq!(ours(), 1);
        drop(region);
        assert_eq!(ours(), 0);
    }

    #[test]
    fn locked_memory_is_locked() {
        let locked_kib = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("VmLck:")).unwrap().to_owned();
            line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap()
        };
        let region = Region::new(BYTES).unwrap();
        region.lock().unwrap();
        assert!(locked_kib() >= BYTES >> 10);
    }

    /// Restores the number of reserved huge pages when a test ends.
    struct Reserved {
        before: String,
    }

    const RESERVED: &str = "/proc/sys/vm/nr_hugepages";

    impl Drop for Reserved {
        fn drop(&mut self) {
            std::fs::write(RESERVED, &self.before).unwrap();
        }
    }

    fn page_counts() -> Option<(u64, u64)> {
        let text = std::fs::read_to_string("/proc/meminfo").ok()?;
        let of = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            line.split_whitespace().nth(1)?.parse().ok()
        };
        Some((of("HugePages_Free:")?, of("Hugepagesize:")?))
    }

    #[test]
    fn huge_pages_need_a_reservation_and_the_error_explains_it() {
        let Some((free, 2048)) = page_counts() else { return skip("this system has no huge pages of 2 MiB") };
        if free == 0 {
            for memory in [BufferMemory::Huge(None), BufferMemory::SystemVHuge] {
                let text = refusal(3 << 20, &rules(memory));
                assert!(text.contains("echo 2 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"), "{text}");
            }
        }
        let before = std::fs::read_to_string(RESERVED).unwrap();
        let wanted = before.trim().parse::<u64>().unwrap() + 4;
        if std::fs::write(RESERVED, wanted.to_string()).is_err() {
            return skip("only root can reserve huge pages");
        }
        let _reserved = Reserved { before };
        if page_counts().is_none_or(|(free, _)| free < 2) {
            return skip("the system has no memory for huge pages");
        }
        for memory in [BufferMemory::Huge(None), BufferMemory::SystemVHuge] {
            let mut region = Region::with_rules(BYTES, &rules(memory)).unwrap();
            holds(&mut region, 2 << 20);
        }
        let dir = tempfile::tempdir().unwrap();
        let mount = |program: &str, words: &[&str]| {
            Command::new(program).args(words).arg(dir.path()).status().is_ok_and(|status| status.success())
        };
        if !mount("mount", &["-t", "hugetlbfs", "none"]) {
            return skip("hugetlbfs cannot be mounted");
        }
        let path = dir.path().join("buffers");
        let had = Region::with_rules(BYTES, &rules(BufferMemory::Huge(Some(path.clone()))));
        let text = had.as_ref().err().map(|error| error.to_string());
        if let Ok(mut region) = had {
            holds(&mut region, 2 << 20);
        }
        let left = path.exists();
        assert!(mount("umount", &[]));
        assert_eq!((text, left), (None, false));
    }
}
