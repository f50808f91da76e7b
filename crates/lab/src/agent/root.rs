//! Switches a virtual machine to another system's userland: mounts its disk, lays a file system in memory over it,
//! and makes the union `/`. Sources: mount(2), overlayfs in the kernel's Documentation/filesystems/overlayfs.rst.

use super::init::{PORT_TIMEOUT, PROGRAM, mount_all};
use crate::system;
use plumb_engine::guard::OutputFile;
use rustix::mount::{MountFlags, mount, mount_bind, mount_move};
use std::ffi::CString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// File systems that a root disk may have.
const KINDS: [&str; 3] = ["ext4", "xfs", "btrfs"];

/// Mount points of the disk, of the writable layer, and of the union.
const LOWER: &str = "/root-lower";
const UPPER: &str = "/root-upper";
const BOTH: &str = "/root-both";

/// Path of Plumb in the other system.
const PROGRAM_THERE: &str = "/run/plumb-agent";

/// Error from switching to the root disk.
#[derive(Debug, thiserror::Error)]
pub(super) enum RootError {
    /// The kernel shows no such disk.
    #[error("root: the machine has no disk with the serial {serial}")]
    NoDisk {
        /// Serial of the missing disk.
        serial: String,
    },
    /// The disk holds no system.
    #[error(
        "root: no system found on it: {tried}. Plumb reads ext4, xfs and btrfs, on the whole disk or in its partitions; \
         unpack others into a directory"
    )]
    NoSystem {
        /// Attempts and the kernel's answers.
        tried: String,
    },
    #[error("root: cannot {act}: {source}")]
    Call { act: &'static str, source: io::Error },
    /// Plumb does not run in that system.
    #[error(
        "root: Plumb does not run with this system's C library ({reason}); a static build does: `cargo xtask musl` makes \
         one, and PLUMB_AGENT names it"
    )]
    Foreign {
        /// Error text of Plumb or of the system.
        reason: String,
    },
}

fn call<E: Into<io::Error>>(act: &'static str) -> impl FnOnce(E) -> RootError {
    move |error| RootError::Call { act, source: error.into() }
}

/// Makes the system on the disk with this serial the machine's own. Returns Plumb's path in it.
pub(super) fn enter(serial: &str) -> Result<PathBuf, RootError> {
    let disk = disk(serial)?;
    for dir in [LOWER, UPPER, BOTH] {
        fs::create_dir_all(dir).map_err(call("make a directory"))?;
    }
    find_system(&disk)?;
    mount("tmpfs", UPPER, "tmpfs", MountFlags::empty(), None).map_err(call("mount a tmpfs"))?;
    let (written, work) = (format!("{UPPER}/written"), format!("{UPPER}/work"));
    for dir in [&written, &work] {
        fs::create_dir(dir).map_err(call("make a directory"))?;
    }
    let layers = CString::new(format!("lowerdir={LOWER},upperdir={written},workdir={work}")).unwrap_or_default();
    mount("overlay", BOTH, "overlay", MountFlags::empty(), Some(layers.as_c_str()))
        .map_err(call("lay a file system in memory over it (the kernel needs `overlay`)"))?;
    mount_all(BOTH);
    let program = format!("{BOTH}{PROGRAM_THERE}");
    OutputFile::made_up("Plumb", &program)
        .write(b"")
        .map_err(std::io::Error::from)
        .map_err(call("make Plumb's place in it"))?;
    mount_bind(PROGRAM, &program).map_err(call("show Plumb in it"))?;
    rustix::process::chdir(BOTH).map_err(call("enter it"))?;
    mount_move(BOTH, "/").map_err(call("move it to /"))?;
    rustix::process::chroot(".").map_err(call("change to it"))?;
    rustix::process::chdir("/").map_err(call("enter it"))?;
    check_program()?;
    Ok(PathBuf::from(PROGRAM_THERE))
}

/// Returns the disk's name below /dev. Waits, as the kernel may take its time.
fn disk(serial: &str) -> Result<String, RootError> {
    let start = Instant::now();
    loop {
        let mut disks = system::with_attribute("/sys/block", "serial");
        if let Some((name, _)) = disks.find(|(_, found)| found == serial) {
            return Ok(name);
        }
        if start.elapsed() > PORT_TIMEOUT {
            return Err(RootError::NoDisk { serial: serial.to_owned() });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Mounts the first of the disk and its partitions that holds a system.
fn find_system(disk: &str) -> Result<(), RootError> {
    let inside = fs::read_dir(Path::new("/sys/block").join(disk)).into_iter().flatten().flatten();
    let mut parts: Vec<String> = inside
        .filter(|entry| entry.path().join("partition").exists())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    parts.sort();
    let mut tried = Vec::new();
    for name in std::iter::once(disk.to_owned()).chain(parts) {
        let device = format!("/dev/{name}");
        let mut refused = Vec::new();
        for kind in KINDS {
            match mount(device.as_str(), LOWER, kind, MountFlags::RDONLY, None) {
                Err(error) => refused.push(format!("{kind} {error}")),
                Ok(()) => {
                    let has = |name: &str| Path::new(LOWER).join(name).symlink_metadata().is_ok();
                    if has("etc/os-release") || has("usr/lib/os-release") {
                        return Ok(());
                    }
                    refused.push(format!("{kind} without etc/os-release"));
                    rustix::mount::unmount(LOWER, rustix::mount::UnmountFlags::empty()).map_err(call("unmount"))?;
                }
            }
        }
        tried.push(format!("{name} ({})", refused.join(", ")));
    }
    Err(RootError::NoSystem { tried: tried.join("; ") })
}

/// Checks that Plumb runs in the new system. The calling process is loaded already, but its
/// children need the new libraries.
fn check_program() -> Result<(), RootError> {
    let output = Command::new(PROGRAM_THERE).arg("--version").stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            // A C library that is too old prints a line for each missing version: keep the first.
            let first_line = String::from_utf8_lossy(&output.stderr).lines().next().map(str::to_owned);
            Err(RootError::Foreign { reason: first_line.unwrap_or_else(|| output.status.to_string()) })
        }
        // A missing loader shows as "no such file".
        Err(error) => Err(RootError::Foreign { reason: error.to_string() }),
    }
}
