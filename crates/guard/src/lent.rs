//! Blank files and loop devices of other owners. Blankness is proved on the descriptor that is then written, while no
//! other program has the file open. The file is marked, so that a script can use it again. It is given back at the
//! end of the run, so that data written later belongs to its owner.
//!
//! Another program can still open the file and write to it between the proof and the first write, or during
//! the run. This cannot be prevented for any file. The lease of [`super::users`] keeps other programs out
//! until the proof is complete and the file is marked and, if requested, truncated. After that, they write
//! to a file that is being measured.

use super::blank;
use super::device::{DeviceNumber, SystemDevices};
use super::made::FileState;
use super::mark::FileOwner;
use super::not_blank::NotBlank;
use super::pass::has_one_name;
use super::path_resolution::Identity;
use super::same;
use super::users::{self, Scan, once_released};
use super::{FileLocation, Guard, Intent, PassReason, Refusal};
use crate::os;
use rustix::fs::{Mode, OFlags, Stat};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

/// Image of a blank loop device.
pub(super) struct BlankImage {
    file: OwnedFd,
    path: PathBuf,
    identity: Identity,
}

impl Guard {
    /// Returns why a file that is not blank may not be taken. If the file bears Plumb's mark by now, another process
    /// has just created it and written the data. It must then be judged again.
    fn not_blank(&self, file: BorrowedFd<'_>, why: NotBlank) -> NotBlank {
        let was_just_created = || {
            let known = rustix::fs::fstat(file).ok().and_then(|now| self.known_as(file, &now));
            known.is_some_and(|known| known.owner == FileOwner::Plumb)
        };
        match why {
            NotBlank::Data { .. } | NotBlank::TooLarge { .. } if was_just_created() => NotBlank::Changed,
            why => why,
        }
    }

    /// Opens an existing file that holds nothing, or only what a copy is about to write there. `judged` is
    /// a descriptor of it for reading.
    ///
    /// # Errors
    /// [`Refusal::ExistingFile`] if the file may hold data; otherwise as [`Guard::open_file`].
    pub(super) fn take_blank(
        &self,
        place: &FileLocation<'_>,
        checked: &Stat,
        judged: OwnedFd,
        intent: Intent,
    ) -> Result<(OwnedFd, PassReason), Refusal> {
        let path = place.path;
        let provenance = self.provenance(judged.as_fd(), checked);
        let existing = |why| self.existing(path, provenance, why);
        refuse_links(checked).map_err(existing)?;
        let is_as_left = self.is_as_left(judged.as_fd(), checked);
        let owner = match self.is_plumbs(judged.as_fd(), checked) {
            true => FileOwner::Plumb,
            false => FileOwner::User,
        };
        if !is_as_left && place.copy_of.is_none() {
            blank::may_be(judged.as_fd(), path, self.recognise)
                .map_err(|why| existing(self.not_blank(judged.as_fd(), why)))?;
        }
        SystemDevices::this().refuse_if_image(path, Identity::from_stat(checked))?;
        let file = place.open(checked, OFlags::RDWR)?;
        // A lease requires that no other descriptor of the file is open.
        drop(judged);
        let before = rustix::fs::fstat(&file).map_err(Refusal::io(path, "check the opened file"))?;
        refuse_links(&before).map_err(existing)?;
        let alone = users::alone(file.as_fd(), &before, path).map_err(existing)?;
        if !(is_as_left && state(&before) == state(checked)) {
            self.prove(place, &file, &before).map_err(|why| existing(self.not_blank(file.as_fd(), why)))?;
        }
        let after = rustix::fs::fstat(&file).map_err(Refusal::io(path, "check the opened file"))?;
        if state(&before) != state(&after) {
            return Err(existing(NotBlank::Changed));
        }
        if !alone.is_kept() {
            return Err(existing(NotBlank::InUse { by: None }));
        }
        if intent == Intent::Truncate {
            rustix::fs::ftruncate(&file, 0).map_err(Refusal::io(path, "truncate it"))?;
        }
        // Another host may have created the file just now, and marked it while this one waited for it to be closed.
        let known = self.known_as(file.as_fd(), &after);
        let owner = known.map_or(owner, |known| known.owner);
        self.take(file.as_fd(), Identity::from_stat(&after), path, owner);
        drop(alone);
        Ok((file, if owner == FileOwner::Plumb { PassReason::TestData } else { PassReason::Blank }))
    }

    /// Proves that an open file holds nothing, or only what a copy is about to write there.
    fn prove(&self, place: &FileLocation<'_>, file: &OwnedFd, stat: &Stat) -> Result<(), NotBlank> {
        let blank = blank::prove(file.as_fd(), place.path, self.patience, self.recognise);
        match (blank, place.copy_of) {
            (Err(NotBlank::Data { .. } | NotBlank::TooLarge { .. }), Some(source)) => {
                let input = rustix::fs::fstat(source.file)?;
                match Identity::from_stat(&input) == Identity::from_stat(stat) {
                    true => Err(NotBlank::InUse { by: None }),
                    false => same::prove(file.as_fd(), place.path, source, self.patience),
                }
            }
            (blank, _) => blank,
        }
    }

    fn is_as_left(&self, file: BorrowedFd<'_>, stat: &Stat) -> bool {
        has_one_name(stat) && self.known_as(file, stat).is_some()
    }

    /// Proves that an open loop device and its image are blank. Works only for root: other users cannot see
    /// who has a device open.
    pub(super) fn prove_blank_device(
        &self,
        machine: &SystemDevices,
        device: BorrowedFd<'_>,
        number: DeviceNumber,
    ) -> Result<BlankImage, NotBlank> {
        const NO_LOOP: &str = "it is not a loop device, whose image could prove it blank";
        let path = machine.image_of(number).ok_or(NotBlank::Unseen { why: NO_LOOP })?;
        let file = crate::raw_open::open(&path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        // After this, the image contains everything that was only in the device's cache.
        rustix::io::retry_on_intr(|| rustix::fs::fsync(device))?;
        let before = rustix::fs::fstat(&file)?;
        let identity = Identity::from_stat(&before);
        if os::loop_image(device)? != (identity.device, identity.inode) {
            return Err(NotBlank::Changed);
        }
        refuse_links(&before)?;
        if machine.count_images(identity)? != 1 || machine.is_swap(identity) {
            return Err(NotBlank::InUse { by: None });
        }
        let rdev = rustix::fs::fstat(device)?.st_rdev;
        once_released(|| match Scan::for_device(rdev, identity) {
            Scan { found: Some(program), .. } => Err(NotBlank::InUse { by: Some(program) }),
            Scan { is_complete: false, .. } => Err(NotBlank::Unseen { why: "only root can know who has it open" }),
            Scan { .. } => Ok(()),
        })?;
        if !self.is_as_left(file.as_fd(), &before) {
            blank::prove(file.as_fd(), &path, self.patience, self.recognise)?;
        }
        let after = rustix::fs::fstat(&file)?;
        if state(&before) != state(&after) || os::loop_image(device)? != (identity.device, identity.inode) {
            return Err(NotBlank::Changed);
        }
        Ok(BlankImage { file, path, identity })
    }

    /// Takes a device whose image was proved to be blank.
    pub(super) fn lend_image(&self, image: &BlankImage) {
        self.take(image.file.as_fd(), image.identity, &image.path, FileOwner::User);
    }
}

fn refuse_links(stat: &Stat) -> Result<(), NotBlank> {
    // The type of the field differs between architectures.
    #[allow(clippy::unnecessary_cast)]
    match stat.st_nlink as u64 {
        1 => Ok(()),
        count => Err(NotBlank::Linked { count }),
    }
}

/// Returns everything that changes when another program modifies the file.
#[allow(clippy::unnecessary_cast)]
fn state(stat: &Stat) -> (FileState, u64) {
    (FileState::from_stat(stat), stat.st_nlink as u64)
}
