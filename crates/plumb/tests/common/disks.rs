//! Loop devices and file systems that are removed when the test ends, even if it panics.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program of the system; it must succeed.
#[track_caller]
pub fn system(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {printed}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Cargo's directory for files of tests.
const BESIDE_THE_BUILD: &str = env!("CARGO_TARGET_TMPDIR");

/// A loop device over an image of its own.
pub struct Loop {
    /// The device to use: the whole device, or its partition.
    pub device: PathBuf,
    attached: PathBuf,
    image: PathBuf,
    _dir: tempfile::TempDir,
}

impl Loop {
    /// Creates a loop device over an image next to the build, on storage that is not memory.
    pub fn new(bytes: u64) -> Loop {
        Loop::attach(BESIDE_THE_BUILD, bytes, &[])
    }

    /// Attaches it read-only. (`blockdev --setro` would outlive the test.)
    pub fn read_only(bytes: u64) -> Loop {
        Loop::attach(BESIDE_THE_BUILD, bytes, &["--read-only"])
    }

    /// Attaches it with direct I/O: its image is not cached a second time below the file system.
    pub fn uncached(bytes: u64) -> Loop {
        Loop::attach(BESIDE_THE_BUILD, bytes, &["--direct-io=on"])
    }

    /// Creates a loop device over an image in memory, which is unaffected by other use of this machine's disks.
    pub fn in_memory(bytes: u64) -> Loop {
        Loop::attach("/dev/shm", bytes, &[])
    }

    /// Creates a loop device over an image in a directory, such as one on another loop device.
    pub fn create_in(directory: &Path, bytes: u64) -> Loop {
        Loop::attach(directory.to_str().unwrap(), bytes, &[])
    }

    /// Creates a loop device that begins at this byte of its image.
    pub fn from_byte(bytes: u64, offset: u64) -> Loop {
        Loop::attach(BESIDE_THE_BUILD, bytes, &["--offset", &offset.to_string()])
    }

    /// Returns the only partition of a loop device, which starts at this sector of 512 bytes.
    pub fn partition(bytes: u64, start_sector: u64) -> Loop {
        let mut disk = Loop::lay_out(BESIDE_THE_BUILD, bytes, &[], |image| {
            let table = format!("printf 'label: dos\\n{start_sector},\\n' | sfdisk --quiet \"$0\"");
            system("sh", &["-c", &table, image.to_str().unwrap()]);
        });
        // Some kernels do not recognise this kind of table by themselves (`losetup --partscan`).
        system("partx", &["--update", disk.device()]);
        disk.device = format!("{}p1", disk.device()).into();
        super::wait_until("the partition is there", || disk.device.exists());
        disk
    }

    fn attach(place: &str, bytes: u64, options: &[&str]) -> Loop {
        Loop::lay_out(place, bytes, options, |_| ())
    }

    fn lay_out(place: &str, bytes: u64, options: &[&str], write: impl FnOnce(&Path)) -> Loop {
        let dir = tempfile::tempdir_in(place).unwrap();
        let image = dir.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(bytes).unwrap();
        write(&image);
        let arguments = [&["--find", "--show"], options, &[image.to_str().unwrap()]].concat();
        let device = system("losetup", &arguments);
        Loop { device: PathBuf::from(&device), attached: device.into(), image, _dir: dir }
    }

    pub fn device(&self) -> &str {
        self.device.to_str().unwrap()
    }

    pub fn image(&self) -> &Path {
        &self.image
    }

    /// `major:minor`.
    pub fn number(&self) -> String {
        let name = self.device.file_name().unwrap().to_str().unwrap();
        std::fs::read_to_string(format!("/sys/class/block/{name}/dev")).unwrap().trim().to_owned()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if self.device != self.attached {
            // A partition that was added by hand outlives its device.
            let _ = Command::new("partx").arg("--delete").arg(&self.attached).status();
        }
        let _ = Command::new("losetup").arg("--detach").arg(&self.attached).status();
    }
}

/// A mounted file system.
pub struct Mounted {
    dir: tempfile::TempDir,
    // Detached after it is unmounted.
    pub disk: Option<Loop>,
}

impl Mounted {
    /// Creates a file system on a loop device without a cache of its own.
    pub fn on_loop(kind: &str, bytes: u64, options: &str) -> Mounted {
        Mounted::on(Loop::uncached(bytes), kind, options)
    }

    pub fn on(disk: Loop, kind: &str, options: &str) -> Mounted {
        let quiet: &[&str] = match kind {
            "ext4" => &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
            _ => &["-q"],
        };
        system(&format!("mkfs.{kind}"), &[quiet, &[disk.device()]].concat());
        Mounted::mount(kind, Some(disk), options)
    }

    /// Creates an ext4 whose inode tables mkfs leaves to the kernel, which is the default of mke2fs(8). The kernel
    /// zeroes them slowly: it waits a thousand times as long as each table took, by default ten times.
    pub fn lazily_made(disk: Loop) -> Mounted {
        // If discarded blocks read as zeros, mkfs leaves nothing to the kernel.
        system("mkfs.ext4", &["-q", "-E", "nodiscard,lazy_itable_init=1", disk.device()]);
        Mounted::mount("ext4", Some(disk), "init_itable=1000")
    }

    /// Returns a file system in memory.
    pub fn in_memory(bytes: u64) -> Mounted {
        Mounted::mount("tmpfs", None, &format!("size={bytes}"))
    }

    fn mount(kind: &str, disk: Option<Loop>, options: &str) -> Mounted {
        let dir = tempfile::tempdir().unwrap();
        let source = disk.as_ref().map_or("tmpfs", Loop::device);
        let options = if options.is_empty() { "rw" } else { options };
        system("mount", &["-t", kind, "-o", options, source, dir.path().to_str().unwrap()]);
        Mounted { dir, disk }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn as_str(&self) -> &str {
        self.path().to_str().unwrap()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        for attempt in ["-q", "-ql"] {
            if Command::new("umount").arg(attempt).arg(self.path()).status().is_ok_and(|status| status.success()) {
                break;
            }
        }
    }
}

/// Swap on a loop device, switched off when the test ends.
pub struct Swap {
    disk: Loop,
}

impl Swap {
    /// Enables swap, or returns the reason why this machine cannot.
    pub fn on(disk: Loop) -> Result<Swap, String> {
        system("mkswap", &["--quiet", disk.device()]);
        let output = Command::new("swapon").arg(&disk.device).output().map_err(|error| error.to_string())?;
        if output.status.success() {
            Ok(Swap { disk })
        } else {
            Err(format!("this machine cannot swap: {}", String::from_utf8_lossy(&output.stderr).trim()))
        }
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        let _ = Command::new("swapoff").arg(&self.disk.device).status();
    }
}
