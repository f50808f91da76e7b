//! The agent as the first process of a virtual machine. It has only the kernel and the files of [`crate::vm::image`].

use super::{AgentSettings, root, serve};
use crate::error::HostError;
use crate::step::Expendable;
use crate::system;
use crate::vm::{DISK_SERIAL, LAST_FILE, MODULES_FILE, PORT_NAME, ROOT_VARIABLE};
use plumb_engine::guard::{open_channel, write_setting};
use plumb_engine::signals::StopFlag;
use rustix::mount::{MountFlags, mount};
use rustix::system::RebootCommand;
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Path of Plumb in the image.
pub(super) const PROGRAM: &str = "/init";

/// Time limit for the kernel to find a port or a disk.
pub(super) const PORT_TIMEOUT: Duration = Duration::from_secs(60);

/// Mounts of the machine, in order.
const MOUNTS: [(&str, &str); 9] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("devpts", "/dev/pts"),
    ("tmpfs", "/dev/shm"),
    ("tmpfs", "/run"),
    ("tmpfs", "/tmp"),
    ("cgroup2", "/sys/fs/cgroup"),
    ("debugfs", "/sys/kernel/debug"),
];

/// Sets the machine up, answers requests over its port until that closes, and switches the machine off.
///
/// # Errors
/// Returns an error if the machine cannot be switched off.
pub fn run_as_init() -> Result<Infallible, std::io::Error> {
    if let Err(reason) = live() {
        // The host shows the last lines of this console.
        eprintln!("plumb: {reason}");
    }
    rustix::fs::sync();
    rustix::system::reboot(RebootCommand::PowerOff)?;
    Err(std::io::Error::other("still on"))
}

/// Error that keeps a machine from starting.
#[derive(Debug, thiserror::Error)]
enum InitError {
    /// A file of the image or of the kernel cannot be used.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// The kernel had too little memory for the image, and left out the rest of its files.
    #[error("the image's last files are missing: it did not fit into the machine's memory; give it more by `memory`")]
    Incomplete,
    /// The kernel shows no port to the host.
    #[error("the machine has no virtio port `{PORT_NAME}`")]
    NoPort,
    /// The root file system cannot be entered.
    #[error(transparent)]
    Root(#[from] root::RootError),
    /// The agent cannot work.
    #[error(transparent)]
    Agent(#[from] HostError),
}

impl InitError {
    /// Returns a closure for `map_err` that adds the file's path.
    fn file(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> InitError {
        let path = path.as_ref().to_owned();
        move |source| InitError::File { path, source }
    }
}

fn live() -> Result<(), InitError> {
    if !Path::new(LAST_FILE).exists() {
        return Err(InitError::Incomplete);
    }
    mount_all("");
    // Control-group limits apply to child groups, which need their controllers enabled. Each is enabled alone,
    // as one may be missing.
    for controller in ["+cpu", "+io", "+memory"] {
        let _ = write_setting("/sys/fs/cgroup/cgroup.subtree_control", controller);
    }
    let _ = rustix::system::sethostname(b"plumb-vm");
    load_modules()?;
    let program = match std::env::var(ROOT_VARIABLE) {
        Ok(serial) => root::enter(&serial)?,
        Err(_) => PathBuf::from(PROGRAM),
    };
    let port = port()?;
    let open = || open_channel(&port);
    let file = open().map_err(InitError::file(&port))?;
    let reader = file.try_clone().map_err(InitError::file(&port))?;
    let settings = AgentSettings {
        program,
        state: PathBuf::from("/run/plumb"),
        expendable: own_disks(),
        silence: None,
        policy: None,
    };
    Ok(serve(reader, file, settings, StopFlag::detached())?)
}

/// Mounts the usual file systems below a directory.
pub(super) fn mount_all(below: &str) {
    for (kind, place) in MOUNTS {
        let place = format!("{below}{place}");
        let made = std::fs::create_dir_all(&place);
        // debugfs is optional.
        if let Err(error) = made.and_then(|()| Ok(mount(kind, &place, kind, MountFlags::empty(), None)?)) {
            eprintln!("plumb: cannot mount {kind} on {place}: {error}");
        }
    }
}

/// Loads the modules in the order of the list.
fn load_modules() -> Result<(), InitError> {
    let list = std::fs::read_to_string(MODULES_FILE).map_err(InitError::file(MODULES_FILE))?;
    for path in list.lines() {
        let file = File::open(path).map_err(InitError::file(path))?;
        // A module for another kind of processor refuses to load, and a generic one does its work. A module that is
        // really missing shows up when it is used.
        if let Err(error) = rustix::system::finit_module(&file, c"", 0)
            && error != rustix::io::Errno::EXIST
        {
            eprintln!("plumb: {path}: {error}");
        }
        // Frees memory, which is the machine's scarcest resource.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

/// Returns the device of the port to the host.
fn port() -> Result<PathBuf, InitError> {
    let start = Instant::now();
    loop {
        let mut ports = system::with_attribute("/sys/class/virtio-ports", "name");
        if let Some((port, _)) = ports.find(|(_, name)| name == PORT_NAME) {
            return Ok(Path::new("/dev").join(port));
        }
        if start.elapsed() > PORT_TIMEOUT {
            return Err(InitError::NoPort);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the disks that were created for this machine alone.
fn own_disks() -> Vec<Expendable> {
    let mut disks: Vec<(u32, Expendable)> = system::with_attribute("/sys/block", "serial")
        .filter_map(|(name, serial)| {
            let number = serial.strip_prefix(DISK_SERIAL)?.parse().ok()?;
            let path = format!("/dev/{name}");
            Some((number, Expendable { path: Some(path), serial: Some(serial) }))
        })
        .collect();
    disks.sort_by_key(|(number, _)| *number);
    disks.into_iter().map(|(_, disk)| disk).collect()
}
