//! Files and loop devices of somebody else's that hold nothing: proved on the descriptor that is then written to, while
//! nobody else has them open; marked, so that a script may use one again; and given back at the end of a run, so that what
//! their owner writes later is the owner's.
//!
//! What cannot be prevented: between the proof and the first write of the run, and while it runs, another program may open the
//! file and write to it, as to any file. The lease of [`super::users`] keeps it out until the proof is complete and the file
//! is marked, and truncated where it is to be; from then on it writes into a file that is being measured.

use super::blank;
use super::device::{DeviceNumber, SystemDevices};
use super::made::FileState;
use super::mark::Whose;
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

/// A blank loop device's image.
pub(super) struct BlankImage {
    file: OwnedFd,
    path: PathBuf,
    identity: Identity,
}

impl Guard {
    /// Returns why a file that is not blank may not be taken. Data in one that has Plumb's mark by now was written since its mark was
    /// looked for: another process made it a moment ago, and the file is to be judged again.
    fn not_blank(&self, file: BorrowedFd<'_>, why: NotBlank) -> NotBlank {
        let is_made_meanwhile = || {
            let known = rustix::fs::fstat(file).ok().and_then(|now| self.known_as(file, &now));
            known.is_some_and(|known| known.whose == Whose::Plumb)
        };
        match why {
            NotBlank::Data { .. } | NotBlank::TooLarge { .. } if is_made_meanwhile() => NotBlank::Changed,
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
        looked_at: &Stat,
        judged: OwnedFd,
        intent: Intent,
    ) -> Result<(OwnedFd, PassReason), Refusal> {
        let path = place.path;
        let provenance = self.provenance(judged.as_fd(), looked_at);
        let existing = |why| self.existing(path, provenance, why);
        refuse_links(looked_at).map_err(existing)?;
        let is_as_left = self.is_as_left(judged.as_fd(), looked_at);
        let whose = match self.is_plumbs(judged.as_fd(), looked_at) {
            true => Whose::Plumb,
            false => Whose::Owner,
        };
        if !is_as_left && place.copy_of.is_none() {
            blank::may_be(judged.as_fd(), path, self.recognise)
                .map_err(|why| existing(self.not_blank(judged.as_fd(), why)))?;
        }
        SystemDevices::this().refuse_if_image(path, Identity::of(looked_at))?;
        let file = place.open(looked_at, OFlags::RDWR)?;
        // A lease is for the only one who has it open.
        drop(judged);
        let before = rustix::fs::fstat(&file).map_err(Refusal::io(path, "check the opened file"))?;
        refuse_links(&before).map_err(existing)?;
        let alone = users::alone(file.as_fd(), &before, path).map_err(existing)?;
        if !(is_as_left && state(&before) == state(looked_at)) {
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
        // Another host may have made it a moment ago, and marked it while this one waited for it to be closed.
        let known = self.known_as(file.as_fd(), &after);
        let whose = known.map_or(whose, |known| known.whose);
        self.take(file.as_fd(), Identity::of(&after), path, whose);
        drop(alone);
        Ok((file, if whose == Whose::Plumb { PassReason::TestData } else { PassReason::Blank }))
    }

    /// Proves that an open file holds nothing, or only what a copy is about to write there.
    fn prove(&self, place: &FileLocation<'_>, file: &OwnedFd, stat: &Stat) -> Result<(), NotBlank> {
        let blank = blank::prove(file.as_fd(), place.path, self.patience, self.recognise);
        match (blank, place.copy_of) {
            (Err(NotBlank::Data { .. } | NotBlank::TooLarge { .. }), Some(source)) => {
                let input = rustix::fs::fstat(source.file)?;
                match Identity::of(&input) == Identity::of(stat) {
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

    /// Proves that an open loop device and its image hold nothing. Root only: nobody else sees who has a device open.
    pub(super) fn prove_blank_device(
        &self,
        machine: &SystemDevices,
        device: BorrowedFd<'_>,
        number: DeviceNumber,
    ) -> Result<BlankImage, NotBlank> {
        const NO_LOOP: &str = "it is no loop device, whose image would tell that it holds nothing";
        let path = machine.image_of(number).ok_or(NotBlank::Unseen { why: NO_LOOP })?;
        let file = crate::raw_open::open(&path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        // What is only in the device's cache is in the image afterwards.
        rustix::io::retry_on_intr(|| rustix::fs::fsync(device))?;
        let before = rustix::fs::fstat(&file)?;
        let identity = Identity::of(&before);
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

    /// Takes a device whose image was proved to hold nothing.
    pub(super) fn lend_image(&self, image: &BlankImage) {
        self.take(image.file.as_fd(), image.identity, &image.path, Whose::Owner);
    }
}

fn refuse_links(stat: &Stat) -> Result<(), NotBlank> {
    // The field's type differs between architectures.
    #[allow(clippy::unnecessary_cast)]
    match stat.st_nlink as u64 {
        1 => Ok(()),
        count => Err(NotBlank::Linked { count }),
    }
}

/// What changes when somebody changes a file.
#[allow(clippy::unnecessary_cast)]
fn state(stat: &Stat) -> (FileState, u64) {
    (FileState::of(stat), stat.st_nlink as u64)
}
