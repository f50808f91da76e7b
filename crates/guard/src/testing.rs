//! Test helpers: loop devices and mounts, created by root and removed on drop, and test data.

use super::test_data::TestBlock;
use super::{Guard, MadeFiles, Permissions};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Prints why a test does nothing. Under CI, it fails instead.
pub fn skipped(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    eprintln!("SKIPPED: {why}");
}

/// Returns bytes without a pattern, the same each time.
pub fn random_bytes(length: usize) -> Vec<u8> {
    let mut state: u64 = 1;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// First bytes of the test data in these tests.
const TEST_DATA: &[u8; 8] = b"PLUMBTST";

/// Filling after the offset and the length.
const FILLING: u8 = 7;

/// Returns a block of test data for [`recognised`].
#[cfg(test)]
pub(crate) fn test_data(offset: u64, length: usize) -> Vec<u8> {
    let mut block = vec![FILLING; length];
    block[..8].copy_from_slice(TEST_DATA);
    block[8..16].copy_from_slice(&offset.to_le_bytes());
    block[16..24].copy_from_slice(&(length as u64).to_le_bytes());
    block
}

/// Recognises complete blocks of [`test_data`] at their own offset.
pub fn recognised(bytes: &[u8], offset: u64) -> TestBlock {
    let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let length = match (bytes.starts_with(TEST_DATA), number(8) == Some(offset), number(16)) {
        (true, true, Some(length)) => length,
        _ => return TestBlock::None,
    };
    match bytes.get(..length as usize) {
        None => TestBlock::Longer(length),
        Some(block) if block[24..].iter().all(|byte| *byte == FILLING) => TestBlock::Whole(block.len()),
        Some(_) => TestBlock::None,
    }
}

/// Returns a guard that recognises this test data and the files of earlier guards of the same thread.
/// Each test has its own thread.
pub fn guard(permissions: Permissions) -> Guard {
    thread_local! {
        static REGISTER: tempfile::TempDir = tempfile::tempdir().expect("a temporary directory");
    }
    let made = REGISTER.with(|place| MadeFiles::new(place.path().join("made")));
    Guard::new(permissions, recognised).with_register(made)
}

/// Returns `true` for root. Prints a message otherwise.
pub fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skipped("loop devices and mounts need root");
    }
    is_root
}

/// Runs a program. Returns `true` if it succeeded.
pub fn run(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// Retries while a device or lock is still held. A child that another test is starting has copies of all descriptors
/// until it runs its program, so that a close takes effect a moment later.
pub fn once_released<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    for _ in 0..500 {
        match attempt() {
            Some(done) => return done,
            None => std::thread::sleep(std::time::Duration::from_millis(10)),
        }
    }
    panic!("still held");
}

/// A loop device over a sparse image.
pub struct LoopDevice {
    /// Path of the device node.
    pub path: PathBuf,
    /// Path of the image.
    pub image: PathBuf,
    is_attached: bool,
    _dir: tempfile::TempDir,
}

impl LoopDevice {
    /// Creates one of this size whose image is a hole.
    pub fn new(size_bytes: u64) -> LoopDevice {
        LoopDevice::with(size_bytes, &[])
    }

    /// Works as [`LoopDevice::new`], with options of losetup(8).
    pub fn with(size_bytes: u64, options: &[&str]) -> LoopDevice {
        LoopDevice::over(|image| image.set_len(size_bytes).unwrap(), options)
    }

    /// Creates one over an image that `make` fills.
    pub fn made(make: impl FnOnce(&File)) -> LoopDevice {
        LoopDevice::over(make, &[])
    }

    fn over(make: impl FnOnce(&File), options: &[&str]) -> LoopDevice {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let image = dir.path().join("disk image.img");
        make(&File::options().read(true).write(true).create_new(true).open(&image).unwrap());
        LoopDevice { path: attach(&image, options), image, is_attached: true, _dir: dir }
    }

    /// Detaches it, only once: afterwards, the number may belong to another device.
    pub fn detach(&mut self) {
        if std::mem::replace(&mut self.is_attached, false) {
            run("losetup", &["-d", self.path.to_str().unwrap()]);
        }
    }

    /// Returns the serial as a user names it.
    pub fn serial(&self) -> String {
        format!("loop:{}", self.image.display())
    }

    /// Formats it. Returns `false` and prints a message if that fails.
    pub fn format(&self, tool: &str, options: &[&str]) -> bool {
        let path = self.path.to_str().unwrap();
        // Retried, because the tool needs exclusive access.
        let done = (0..20).any(|attempt| {
            std::thread::sleep(std::time::Duration::from_millis(attempt * 10));
            run(tool, &[options, &[path]].concat())
        });
        if !done {
            skipped(&format!("{tool} is missing or fails"));
        }
        done
    }
}

/// Attaches an image to a free loop device. Retries, because other tests may take the same one.
pub fn attach(image: &Path, options: &[&str]) -> PathBuf {
    for _ in 0..20 {
        let output = Command::new("losetup").args(options).args(["-f", "--show"]).arg(image).output().unwrap();
        if output.status.success() {
            return PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("no free loop device");
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        self.detach();
    }
}

/// A mount with its own directory as the mount point.
pub struct Mounted {
    point: tempfile::TempDir,
}

impl Mounted {
    /// Runs `mount ARGUMENTS POINT`.
    pub fn new(arguments: &[&str]) -> Mounted {
        let point = tempfile::tempdir().unwrap();
        let all = [arguments, &[point.path().to_str().unwrap()]].concat();
        assert!(run("mount", &all), "mount {all:?}");
        Mounted { point }
    }

    /// Returns the mount point.
    pub fn path(&self) -> &Path {
        self.point.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let point = self.point.path().to_str().unwrap();
        // A process started by another test may briefly hold a copy of a descriptor. A file system that stays mounted
        // keeps its loop device, which a later test would find in use.
        for _ in 0..100 {
            if run("umount", &[point]) || !run("mountpoint", &["-q", point]) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

/// Content of files that no run may touch.
pub const PRECIOUS: &str = "precious";

/// Another user's directory with files that must not change.
pub struct Victim {
    path: PathBuf,
    files: Vec<String>,
}

impl Victim {
    /// Creates the directory `victim` in `place`, with these files.
    pub fn new(place: &Path, files: &[impl AsRef<str>]) -> Victim {
        let path = place.join("victim");
        std::fs::create_dir(&path).unwrap();
        let mut files: Vec<String> = files.iter().map(|file| file.as_ref().to_owned()).collect();
        files.sort_unstable();
        for file in &files {
            std::fs::write(path.join(file), PRECIOUS).unwrap();
        }
        Victim { path, files }
    }

    /// Panics if a file was changed, removed or added.
    #[track_caller]
    pub fn is_unharmed(&self, way: &str) {
        let entries = std::fs::read_dir(&self.path).unwrap().map(|entry| entry.unwrap().file_name());
        let mut found: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
        found.sort_unstable();
        assert_eq!(found, self.files, "{way}");
        for file in &self.files {
            assert_eq!(std::fs::read_to_string(self.path.join(file)).unwrap(), PRECIOUS, "{way}: {file}");
        }
    }
}

/// A thread that keeps exchanging a directory and a symbolic link to a victim.
pub struct Swapping {
    stop: std::sync::Arc<std::sync::atomic::AtomicBool>,
    thread: Option<std::thread::JoinHandle<u64>>,
}

impl Swapping {
    /// Starts the thread, and creates the link if it is missing.
    pub fn begin(directory: &Path, link: &Path, victim: &Victim) -> Swapping {
        use rustix::fs::{CWD, RenameFlags};
        use std::sync::atomic::Ordering::Relaxed;
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let stops = std::sync::Arc::clone(&stop);
        let (directory, link, victim) = (directory.to_owned(), link.to_owned(), victim.path.clone());
        let thread = std::thread::spawn(move || {
            let mut swaps = 0;
            while !stops.load(Relaxed) {
                match rustix::fs::renameat_with(CWD, &directory, CWD, &link, RenameFlags::EXCHANGE) {
                    Ok(()) => swaps += 1,
                    // One of them was removed, or does not exist yet.
                    Err(_) => {
                        let _ = std::os::unix::fs::symlink(&victim, &link);
                        std::thread::yield_now();
                    }
                }
                // Keeps each order for about as long as a few system calls.
                for _ in 0..swaps % 7 * 40 {
                    std::hint::spin_loop();
                }
            }
            swaps
        });
        Swapping { stop, thread: Some(thread) }
    }

    /// Stops the thread, and returns the number of exchanges.
    pub fn end(mut self) -> u64 {
        self.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        self.thread.take().map_or(0, |thread| thread.join().unwrap())
    }
}

impl Drop for Swapping {
    fn drop(&mut self) {
        self.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}
