//! Atomic replacement of a report: readers see the old file or the new one, never a part, even after a crash.

use super::place::NameOrigin;
use super::place::{Entry, Place};
use super::{IfMissing, Opened, OutputError, OutputFile, PRIVATE_MODE, is_same};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU32, Ordering};

/// Mode bits that a replacement keeps: set-user-ID is not one of them.
const KEPT_BITS: Mode = Mode::from_bits_retain(0o777);

impl OutputFile<'_> {
    /// Replaces the file with this content atomically. The mode of the replaced file is kept.
    ///
    /// # Errors
    /// [`OutputError`]; the old file is then unchanged.
    pub fn replace(self, content: &[u8]) -> Result<(), OutputError> {
        self.replace_with(|out| out.write_all(content))
    }

    /// Replaces the file with the output of `write` atomically. See [`OutputFile::replace`].
    ///
    /// Pipes and other streams are written directly, as is an existing file if no new one can be created in its directory.
    ///
    /// # Errors
    /// As [`OutputFile::replace`], and the errors of `write`.
    pub(crate) fn replace_with(self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), OutputError> {
        let entry = match self.place()? {
            Place::Entry(entry) => entry,
            place => {
                let opened = self.open(place, OFlags::empty(), IfMissing::Fail)?;
                return write_all(&opened.file, write).map_err(self.failed());
            }
        };
        let old = self.replaced(&entry)?;
        let (name, file) = match self.make_replacement(&entry, old.as_ref()) {
            Ok(made) => made,
            Err(error) => match &old {
                Some(old) if is_of_directory(error) => return self.rewrite(old, write),
                _ => return Err(self.failed()(error)),
            },
        };
        let made = write_all(&file, write).and_then(|()| file.sync_all());
        if let Err(error) = made {
            entry.remove_beside(&name);
            return Err(self.failed()(error));
        }
        match (entry.take_over(&name), &old) {
            (Ok(()), _) => Ok(()),
            (Err(error), Some(old)) if is_of_directory(error) => {
                let copied = self.rewrite(old, |out| copy(&file, out));
                entry.remove_beside(&name);
                copied
            }
            (Err(error), _) => {
                entry.remove_beside(&name);
                Err(self.failed()(error))
            }
        }
    }

    /// Opens the file to be replaced for writing, so that a read-only one is not replaced. Its
    /// other hard links keep their content.
    fn replaced(&self, entry: &Entry) -> Result<Option<Opened>, OutputError> {
        let stat = match entry.stat() {
            Err(Errno::NOENT) => return Ok(None),
            found => found.map_err(self.failed())?,
        };
        self.judge(&stat)?;
        let file = entry.open(OFlags::WRONLY).map_err(self.failed())?;
        let opened = self.judged(file)?;
        match is_same(&stat, &opened.stat) {
            true => Ok(Some(opened)),
            false => Err(self.failed()(Errno::AGAIN)),
        }
    }

    fn make_replacement(&self, entry: &Entry, old: Option<&Opened>) -> Result<(OsString, File), Errno> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!(".plumb-{}-{number}.new", std::process::id()));
            // Others must not read it before its mode is set.
            let mode = if old.is_some() { PRIVATE_MODE } else { self.mode };
            let file = match entry.make_beside(&name, mode) {
                Err(Errno::EXIST) => continue,
                made => made?,
            };
            if let Err(error) = self.keep_attributes(&file, old) {
                entry.remove_beside(&name);
                return Err(error);
            }
            return Ok((name, file));
        }
    }

    fn keep_attributes(&self, file: &File, old: Option<&Opened>) -> Result<(), Errno> {
        let mode = match old {
            _ if self.mode == PRIVATE_MODE => PRIVATE_MODE,
            Some(old) => Mode::from_raw_mode(old.stat.st_mode) & KEPT_BITS,
            None => return Ok(()),
        };
        if let Some(old) = old {
            // Only root can change the owner. Otherwise the file belongs to this user, like a new one.
            let (user, group) =
                (rustix::fs::Uid::from_raw(old.stat.st_uid), rustix::fs::Gid::from_raw(old.stat.st_gid));
            let _ = rustix::fs::fchown(file, Some(user), Some(group));
        }
        rustix::fs::fchmod(file, mode)
    }

    /// Writes into the existing file instead of replacing it.
    fn rewrite(&self, old: &Opened, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), OutputError> {
        if self.origin == NameOrigin::MadeUp {
            self.refuse_second_name(&old.stat)?;
        }
        old.file.set_len(0).map_err(self.failed())?;
        write_all(&old.file, write).map_err(self.failed())
    }
}

/// Returns `true` if the directory accepts no new file, or the file is a mount point: the file itself can still be written.
fn is_of_directory(error: Errno) -> bool {
    matches!(error, Errno::ACCESS | Errno::PERM | Errno::BUSY | Errno::ROFS | Errno::XDEV | Errno::TXTBSY)
}

fn write_all(file: &File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.flush()
}

fn copy(mut from: &File, to: &mut dyn Write) -> io::Result<()> {
    from.seek(SeekFrom::Start(0))?;
    io::copy(&mut from, to).map(drop)
}
