//! File systems that the user lets Plumb fill.

use crate::device::SystemDevices;
use crate::path_resolution::mount_id;
use crate::quoted::{escaped, shell_quoted, split_names};
use rustix::fs::{Mode, OFlags};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// What happens where less than the floor ([`FLOOR_PERCENT`](super::FLOOR_PERCENT)) would stay free.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// It is refused.
    #[default]
    Refused,
    /// It is refused but for the file systems that the user named, which are written to until nothing is left, as by the
    /// tools whose languages Plumb speaks.
    FilledAt(FillPlaces),
}

/// File systems that may be filled, `PLUMB_FILL=directory[,…]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FillPlaces {
    /// Those on which these paths lie.
    pub at: Vec<PathBuf>,
    /// But never those on which these lie.
    pub never: Vec<PathBuf>,
}

impl FillPlaces {
    /// What the system itself needs room on.
    pub const SYSTEM: [&'static str; 2] = ["/", "/var"];

    /// Reads the value of `PLUMB_FILL`, a list as that of [`Permissions::parse`](crate::Permissions::parse).
    pub fn parse(text: &str) -> Vec<PathBuf> {
        split_names(text).into_iter().map(PathBuf::from).collect()
    }
}

/// Whether a file system may be filled.
pub(super) enum Fill {
    Allowed,
    /// It may be if this setting says so.
    Offered(String),
    /// It holds what the system or Plumb needs.
    Never,
    /// Nothing was ever said of filling.
    Unspoken,
}

impl WhenFull {
    pub(super) fn of(&self, file_system: BorrowedFd<'_>) -> Fill {
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
