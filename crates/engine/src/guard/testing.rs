//! Loop devices and mounts for tests: made by root, taken apart on drop.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Says aloud why a test does nothing; under CI it fails instead.
pub(crate) fn skipped(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    eprintln!("SKIPPED: {why}");
}

/// Whether this is root; says aloud if it is not.
pub(crate) fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skipped("loop devices and mounts need root");
    }
    is_root
}

/// Runs a program; whether it succeeded.
pub(crate) fn run(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// Tries again while a device or lock is still held. A child that another test is just starting has copies of all
/// descriptors until it runs its program, so that a close takes effect a moment later.
pub(crate) fn once_released<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    for _ in 0..500 {
        match attempt() {
            Some(done) => return done,
            None => std::thread::sleep(std::time::Duration::from_millis(10)),
        }
    }
    panic!("still held");
}

/// A loop device over a sparse image.
pub(crate) struct LoopDevice {
    pub path: PathBuf,
    pub image: PathBuf,
    is_attached: bool,
    _dir: tempfile::TempDir,
}

impl LoopDevice {
    pub(crate) fn new(size_bytes: u64) -> LoopDevice {
        LoopDevice::with(size_bytes, &[])
    }

    pub(crate) fn with(size_bytes: u64, options: &[&str]) -> LoopDevice {
        LoopDevice::over(|image| image.set_len(size_bytes).unwrap(), options)
    }

    /// Over an image that `make` makes.
    pub(crate) fn made(make: impl FnOnce(&File)) -> LoopDevice {
        LoopDevice::over(make, &[])
    }

    fn over(make: impl FnOnce(&File), options: &[&str]) -> LoopDevice {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let image = dir.path().join("disk image.img");
        make(&File::options().read(true).write(true).create_new(true).open(&image).unwrap());
        LoopDevice { path: attach(&image, options), image, is_attached: true, _dir: dir }
    }

    /// Once only: afterwards the number may be somebody else's.
    pub(crate) fn detach(&mut self) {
        if std::mem::replace(&mut self.is_attached, false) {
            run("losetup", &["-d", self.path.to_str().unwrap()]);
        }
    }

    pub(crate) fn serial(&self) -> String {
        format!("loop:{}", self.image.display())
    }

    /// Whether it could be formatted; says aloud if not.
    pub(crate) fn format(&self, tool: &str, options: &[&str]) -> bool {
        let path = self.path.to_str().unwrap();
        // Once more, since it wants the device for itself.
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

/// Attaches an image to a free loop device, of which others may be just taking the same.
pub(crate) fn attach(image: &Path, options: &[&str]) -> PathBuf {
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

/// A mount, with a directory of its own for its mount point.
pub(crate) struct Mounted {
    point: tempfile::TempDir,
}

impl Mounted {
    /// `mount ARGUMENTS POINT`.
    pub(crate) fn new(arguments: &[&str]) -> Mounted {
        let point = tempfile::tempdir().unwrap();
        let all = [arguments, &[point.path().to_str().unwrap()]].concat();
        assert!(run("mount", &all), "mount {all:?}");
        Mounted { point }
    }

    pub(crate) fn path(&self) -> &Path {
        self.point.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run("umount", &[self.point.path().to_str().unwrap()]);
    }
}
