//! File systems that the user allows Plumb to fill.

use crate::device::SystemDevices;
use crate::path_resolution::mount_id;
use crate::quoted::{escaped, shell_quoted, split_names};
use rustix::fs::{Mode, OFlags};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// Treatment of a write that would leave less than the floor ([`FLOOR_PERCENT`](super::FLOOR_PERCENT)) free.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Refuse it.
    #[default]
    Refused,
    /// Refuse it, except on the file systems that the user named. These are written to until they are full,
    /// as the original tools do.
    FilledAt(FillPlaces),
}

/// File systems that may be filled, from `PLUMB_FILL=directory[,…]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FillPlaces {
    /// Paths on the file systems that may be filled.
    pub at: Vec<PathBuf>,
    /// Paths on file systems that may never be filled.
    pub never: Vec<PathBuf>,
}

impl FillPlaces {
    /// Paths where the system itself needs space.
    pub const SYSTEM: [&'static str; 2] = ["/", "/var"];

    /// Parses the value of `PLUMB_FILL`, a list like that of [`Permissions::parse`](crate::Permissions::parse).
    pub fn parse(text: &str) -> Vec<PathBuf> {
        split_names(text).into_iter().map(PathBuf::from).collect()
    }
}

/// Whether a file system may be filled.
pub(super) enum Fill {
    Allowed,
    /// It may be filled with this setting.
    Offered(String),
    /// It may never be filled, because the system or Plumb needs it.
    Never,
    /// Filling was not mentioned.
    Unspoken,
}

impl WhenFull {
    pub(super) fn resolve(&self, file_system: BorrowedFd<'_>) -> Fill {
        let WhenFull::FilledAt(FillPlaces { at, never }) = self else { return Fill::Unspoken };
        let machine = SystemDevices::this();
        let number_of = |path: &Path| {
            let fd = crate::raw_open::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
            Some(machine.mount_of(mount_id(fd.as_fd())?)?.number)
        };
        let Some(mount) = mount_id(file_system).and_then(|id| machine.mount_of(id)) else { return Fill::Never };
        let is_on = |path: &PathBuf| number_of(path) == Some(mount.number);
        if never.iter().any(is_on) {
            Fill::Never
        } else if at.iter().any(is_on) {
            Fill::Allowed
        } else {
            let names = at.iter().chain([&mount.point]).map(|path| escaped(&path.to_string_lossy()));
            Fill::Offered(format!("PLUMB_FILL={}", shell_quoted(&names.collect::<Vec<_>>().join(","))))
        }
    }
}
