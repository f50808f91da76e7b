//! Loop devices and file systems that are gone when the test ends, however it ends.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program of the system; it must succeed.
#[track_caller]
pub fn system(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Cargo's directory for what tests write.
const BESIDE_THE_BUILD: &str = env!("CARGO_TARGET_TMPDIR");

/// A loop device over an image of its own.
pub struct Loop {
    /// What to use: the device, or its partition.
    pub device: PathBuf,
    attached: PathBuf,
    image: PathBuf,
    _dir: tempfile::TempDir,
}

impl Loop {
    /// Over an image beside the build, on storage that is no memory.
    pub fn new(bytes: u64) -> Loop {
        Loop::attach(BESIDE_THE_BUILD, bytes, &[])
    }

    /// Attached for reading only. (`blockdev --setro` would outlive the test.)
    pub fn read_only(bytes: u64) -> Loop {
        Loop::attach(BESIDE_THE_BUILD, bytes, &["--read-only"])
    }

    /// Attached round the page cache: its image is not cached a second time below the file system.
    pub fn uncached(bytes: u64) -> Loop {
        Loop::attach(BESIDE_THE_BUILD, bytes, &["--direct-io=on"])
    }

    /// Over an image in memory: what others do with this machine's disks is not felt here.
    pub fn in_memory(bytes: u64) -> Loop {
        Loop::attach("/dev/shm", bytes, &[])
    }

    /// Over an image in a directory, such as one on another loop device.
    pub fn within(directory: &Path, bytes: u64) -> Loop {
        Loop::attach(directory.to_str().unwrap(), bytes, &[])
    }

    /// Over its image from this byte on.
    pub fn from_byte(bytes: u64, offset: u64) -> Loop {
        Loop::attach(BESIDE_THE_BUILD, bytes, &["--offset", &offset.to_string()])
    }

    /// The only partition of a loop device, which starts at this sector of 512 bytes.
    pub fn partition(bytes: u64, start_sector: u64) -> Loop {
        let mut disk = Loop::lay_out(BESIDE_THE_BUILD, bytes, &[], |image| {
            let table = format!("printf 'label: dos\\n{start_sector},\\n' | sfdisk --quiet \"$0\"");
            system("sh", &["-c", &table, image.to_str().unwrap()]);
        });
        // Not every kernel knows this kind of table by itself (`losetup --partscan`).
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
            // A partition that the kernel was told of outlives its device.
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
    /// A fresh file system on a loop device without a cache of its own.
    pub fn on_loop(kind: &str, bytes: u64, options: &str) -> Mounted {
        Mounted::on(Loop::uncached(bytes), kind, options)
    }

    /// A fresh file system.
    pub fn on(disk: Loop, kind: &str, options: &str) -> Mounted {
        let quiet: &[&str] = match kind {
            "ext4" => &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
            _ => &["-q"],
        };
        system(&format!("mkfs.{kind}"), &[quiet, &[disk.device()]].concat());
        Mounted::mount(kind, Some(disk), options)
    }

    /// An ext4 whose inode tables mkfs leaves to the kernel, as is the default of mke2fs(8), and which the kernel takes its
    /// time to zero: it waits a thousand times as long as a table took, by default ten times.
    pub fn lazily_made(disk: Loop) -> Mounted {
        // Where discarded blocks read as zeros, mkfs need not leave anything.
        system("mkfs.ext4", &["-q", "-E", "nodiscard,lazy_itable_init=1", disk.device()]);
        Mounted::mount("ext4", Some(disk), "init_itable=1000")
    }

    /// A file system in memory.
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

/// Swap on a loop device, off again when the test ends.
pub struct Swap {
    disk: Loop,
}

impl Swap {
    /// Or why this machine cannot swap.
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
