//! Refusals to write if too little space would remain.

use super::fill::Fill;
use super::free::{FillHint, Space, TooFull};
use crate::door::Naming;
use crate::pass::{Guard, occupied_bytes};
use crate::refusal::Refusal;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

impl Guard {
    /// Refuses if this many more bytes would leave too little space on the file system of an open directory.
    ///
    /// # Errors
    /// [`Refusal::Space`]; [`Refusal::Io`].
    pub(crate) fn admit(&self, directory: BorrowedFd<'_>, path: &Path, needed_bytes: u64) -> Result<(), Refusal> {
        let space = Space::read(directory).map_err(Refusal::io(path, "read how much space is free"))?;
        Space::admit(space, path, needed_bytes).or_else(|refusal| self.filled(directory, refusal))
    }

    /// Returns `true` if the user allows filling the file system of an open directory.
    pub(crate) fn may_fill(&self, directory: BorrowedFd<'_>) -> bool {
        matches!(self.permissions.when_full.resolve(directory), Fill::Allowed)
    }

    fn filled(&self, directory: BorrowedFd<'_>, refusal: Refusal) -> Result<(), Refusal> {
        match (self.permissions.when_full.resolve(directory), refusal) {
            (Fill::Allowed, _) => Ok(()),
            (Fill::Offered(setting), Refusal::Space { path, full, .. }) => {
                Err(Refusal::Space { path, full, fill: FillHint::Setting(setting) })
            }
            (Fill::Never, Refusal::Space { path, full, .. }) => {
                Err(Refusal::Space { path, full, fill: FillHint::Never })
            }
            (_, refusal) => Err(refusal),
        }
    }

    /// Checks whether files may grow to this many bytes in total, before anything is opened. Space that they already
    /// occupy is not counted again.
    ///
    /// # Errors
    /// [`Refusal::Space`], [`Refusal::NoDirectory`], [`Refusal::Io`].
    pub fn admit_files(&self, paths: &[PathBuf], needed_bytes: u64) -> Result<(), Refusal> {
        let Some(first) = paths.first() else { return Ok(()) };
        let occupied: u64 = paths.iter().filter_map(|path| Some(occupied_bytes(&rustix::fs::stat(path).ok()?))).sum();
        let mut door = self.door(Naming::Typed);
        door.admit(first, needed_bytes.saturating_sub(occupied))
    }

    /// Refuses to fill a file system that the system or Plumb needs. Some tools have options to write
    /// until no space is left.
    ///
    /// # Errors
    /// [`Refusal::NeverFilled`].
    pub(crate) fn admit_filling(&self, directory: BorrowedFd<'_>, path: &Path) -> Result<(), Refusal> {
        match self.permissions.when_full.resolve(directory) {
            Fill::Never => Err(Refusal::NeverFilled { path: path.to_owned() }),
            Fill::Allowed | Fill::Offered(_) | Fill::Unspoken => Ok(()),
        }
    }
}

impl Space {
    /// Refuses if `needed_bytes` more would go below the floor. Writing nothing is always allowed.
    ///
    /// # Errors
    /// [`Refusal::Space`].
    pub fn admit(space: Option<Space>, path: &Path, needed_bytes: u64) -> Result<(), Refusal> {
        match space {
            Some(space) if needed_bytes > space.headroom_bytes() => Err(Refusal::Space {
                path: path.to_owned(),
                full: TooFull { needed_bytes, space },
                fill: FillHint::None,
            }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_percent_stay_free_to_the_byte() {
        let space = Some(Space { size_bytes: 1000, free_bytes: 100 });
        assert!(Space::admit(space, Path::new("/x"), 50).is_ok());
        let refusal = Space::admit(space, Path::new("/x"), 51).unwrap_err();
        assert!(matches!(&refusal, Refusal::Space { full, .. } if full.space.headroom_bytes() == 50), "{refusal:?}");
        assert!(refusal.to_string().contains("at most 50 bytes"), "{refusal}");
        assert_eq!(refusal.exit_code(), 5);
    }

    #[test]
    fn a_file_system_already_below_the_floor_takes_nothing_but_reading() {
        let space = Some(Space { size_bytes: 1000, free_bytes: 10 });
        assert!(Space::admit(space, Path::new("/x"), 0).is_ok());
        assert!(Space::admit(space, Path::new("/x"), 1).is_err());
        assert!(Space::admit(None, Path::new("/x"), u64::MAX).is_ok());
    }
}
