//! The environment that steps would be built in.

use super::nearest;
use crate::command;
use crate::error::Cause;
use crate::recipe::driver::{foresee_driver, has_module, lacks};
use crate::recipe::mount;
use crate::site::{expendable, listed, retry_while_busy};
use crate::step::Safety;
use crate::system;
use plumb_engine::guard::{Permissions, Right};
use plumb_engine::write_guard;
use std::path::{Path, PathBuf};

/// A block driver, by its names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Driver {
    /// Name in `/proc/devices`.
    pub(crate) device: &'static str,
    pub(crate) what: &'static str,
    /// Kernel module that provides it.
    pub(crate) module: &'static str,
}

/// The environment that steps would be built in: this machine, or a virtual one that has not booted.
pub(crate) trait Ground {
    /// Returns the reason why a program does not run there, if any.
    fn lacks_program(&self, program: &str) -> Option<String>;

    /// Returns the reason why a program that a `cmd` step seems to call does not run there, if any.
    fn lacks_called(&self, program: &str) -> Option<String> {
        self.lacks_program(program)
    }

    /// Returns the reason why its kernel has no such driver, if any.
    fn lacks_driver(&self, driver: Driver) -> Option<String>;

    /// Returns the reason why its kernel does not mount such a file system, if any.
    fn lacks_file_system(&self, fs: &str) -> Option<String>;

    /// Whether it uses this machine's tools, so that they can be tried here.
    fn has_tools_of_here(&self) -> bool;

    /// Whether building is allowed.
    fn is_root(&self) -> bool;

    /// Returns the sizes of the devices that may be destroyed, in order.
    ///
    /// # Errors
    /// Returns an error if one does not exist or may not be destroyed after all.
    fn expendable(&self) -> Result<Vec<Option<u64>>, Cause>;

    /// Returns the size of a device that is named by its path and is to be destroyed.
    ///
    /// # Errors
    /// Returns an error if it does not exist or may not be destroyed.
    fn device(&self, path: &Path) -> Result<Option<u64>, Cause>;

    /// Returns the free bytes for files of a directory; `None` if unknown.
    ///
    /// # Errors
    /// Returns an error if the directory does not exist or is not writable.
    fn directory(&self, path: &Path) -> Result<Option<u64>, String>;

    /// Returns the free bytes for a directory that is created if missing.
    ///
    /// # Errors
    /// Returns an error if it can be neither created nor written to.
    fn directory_to_make(&self, path: &Path) -> Result<Option<u64>, String>;

    /// Checks that something could be mounted there.
    ///
    /// # Errors
    /// Returns the reason if not.
    fn mount_point(&self, path: &str) -> Result<(), Cause>;
}

/// The machine on which this process runs.
pub(crate) struct Here<'a>(pub(crate) &'a Safety);

impl Here<'_> {
    fn may_destroy(&self, device: &Path) -> Result<Option<u64>, Cause> {
        let guard = write_guard(Permissions::parse(&self.0.typed));
        let list = listed(self.0);
        retry_while_busy(|| guard.may_destroy(device, Right::Study(&list)))?;
        Ok(system::device_bytes(device).ok())
    }
}

impl Ground for Here<'_> {
    fn lacks_program(&self, program: &str) -> Option<String> {
        command::missing(program)
    }

    fn lacks_driver(&self, driver: Driver) -> Option<String> {
        // A device-mapper target has no entry in /proc/devices, and a kernel without a module directory does
        // not list its built-in drivers.
        if driver.device.is_empty() && !modules_of_here().is_dir() {
            return None;
        }
        foresee_driver(driver.device, driver.what, driver.module).err().map(|cause| cause.to_string())
    }

    fn lacks_file_system(&self, fs: &str) -> Option<String> {
        // FUSE file systems are programs. For others, mount(8) may find a helper.
        if fs.starts_with("fuse") || command::find(&format!("mount.{fs}")).is_some() {
            return None;
        }
        let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
        let is_known = known.lines().any(|line| line.split_whitespace().last() == Some(fs));
        let is_there = is_known || has_module(&format!("fs-{fs}"));
        (!is_there).then(|| lacks(&format!("file system {fs}"), fs).to_string())
    }

    fn has_tools_of_here(&self) -> bool {
        true
    }

    fn is_root(&self) -> bool {
        rustix::process::geteuid().is_root()
    }

    fn expendable(&self) -> Result<Vec<Option<u64>>, Cause> {
        if self.0.expendable.is_empty() {
            return Err(crate::names::none_expendable("expendable"));
        }
        expendable(self.0)?.iter().map(|device| self.may_destroy(device)).collect()
    }

    fn device(&self, path: &Path) -> Result<Option<u64>, Cause> {
        self.may_destroy(path)
    }

    fn directory(&self, path: &Path) -> Result<Option<u64>, String> {
        if !path.is_dir() {
            return Err(format!("no such directory; create it: mkdir -p {}", path.display()));
        }
        free_bytes(path)
    }

    fn directory_to_make(&self, path: &Path) -> Result<Option<u64>, String> {
        let Some(here) = nearest(path) else { return Err("it has no directory above it".to_owned()) };
        if path.symlink_metadata().is_ok() && !path.is_dir() {
            return Err("it is not a directory".to_owned());
        }
        free_bytes(&here)
    }

    fn mount_point(&self, path: &str) -> Result<(), Cause> {
        mount::check_mount_point(path).map(drop)
    }
}

fn modules_of_here() -> PathBuf {
    Path::new("/lib/modules").join(rustix::system::uname().release().to_string_lossy().as_ref())
}

fn free_bytes(dir: &Path) -> Result<Option<u64>, String> {
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK)
        .map_err(|error| format!("cannot write to {}: {error}", dir.display()))?;
    Ok(rustix::fs::statvfs(dir).ok().map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize)))
}
