//! The register of files that runs made or took, with the state in which each was left. A file that still has the same length
//! and change time holds what Plumb wrote: programs cannot set a change time.
//!
//! The register is one text file in a directory of Plumb's own state. Each run appends to it once, under a lock, when it ends.
//! Each line has a checksum, and damaged lines are ignored, so damage makes fewer files expendable, never more. Lines of files
//! that are gone or have a newer line are dropped from time to time, as are the oldest ones beyond [`BYTES_MAX`].

mod record;
mod search;
mod trusted;

use crate::path_resolution::Identity;
pub(super) use record::{FileKey, FileState, Known, Record};
use rustix::fs::{OFlags, Stat};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Name of the register in its directory.
const REGISTER: &str = "register";

/// Name of the new register while it is being written.
const NEXT: &str = "register.next";

/// Maximum length of the register, bytes: about 120,000 files.
const BYTES_MAX: u64 = 16 << 20;

/// Obsolete lines are dropped each time that the register's length passes this or a power of two above it.
const TIDY_BYTES: u64 = 1 << 20;

/// Time for which the loaded register is used without checking the file again.
const FRESH: Duration = Duration::from_millis(100);

/// Number of lookups by searching the register; after that it is loaded.
const SEARCHES: u32 = 8;

/// Looks up the state in which runs left the files that they made or took.
#[derive(Debug, Clone)]
pub struct MadeFiles {
    directory: PathBuf,
    loaded: Arc<Mutex<Loaded>>,
}

/// The register as loaded into memory.
#[derive(Debug, Default)]
struct Loaded {
    /// Identity of the register's file when it was read.
    from: Option<Identity>,
    text: Vec<u8>,
    /// The last line of each file, by device and inode, as a range in `text`.
    last: HashMap<(u64, u64), Range<usize>>,
    /// Time of the last comparison with the file on disk.
    at: Option<Instant>,
    /// Lookups so far that searched the register instead of loading it.
    searches: u32,
}

impl MadeFiles {
    /// Uses a register in `directory`, which is created with the first record.
    pub fn new(directory: PathBuf) -> MadeFiles {
        MadeFiles { directory, loaded: Arc::default() }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the register's entry for a file, if `suffices` accepts it. The first lookups search the register; a run that
    /// looks up a hundred thousand files one by one loads it.
    pub(super) fn known(&self, key: FileKey, suffices: impl Fn(Known) -> bool) -> Option<Known> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.at.is_some_and(|at| at.elapsed() < FRESH)
            && let Some(known) = loaded.last(key).filter(|&known| suffices(known))
        {
            return Some(known);
        }
        loaded.at = None;
        let dir = trusted::open(&self.directory).ok()?;
        if loaded.searches < SEARCHES {
            loaded.searches += 1;
            let (register, stat) = trusted::open_file(dir.as_fd(), REGISTER).ok()?;
            let line = search::last_line(&register, length_of(&stat), key.identity).ok()??;
            return known_of(&line, key).filter(|&known| suffices(known));
        }
        loaded.refresh(dir.as_fd()).ok()?;
        loaded.at = Some(Instant::now());
        loaded.last(key).filter(|&known| suffices(known))
    }

    /// Appends records to the register, under its lock.
    ///
    /// # Errors
    /// The register cannot be written, is locked by a stopped process, or is not private to this user.
    pub(super) fn add(&self, records: &[Record]) -> io::Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).at = None;
        let dir = trusted::make(&self.directory)?;
        let _lock = trusted::lock(dir.as_fd())?;
        // Terminates a line that a killed run left incomplete.
        let mut text = String::from("\n");
        for record in records {
            text.push_str(&record.line());
        }
        let (mut file, stat) = trusted::open_to_write(dir.as_fd(), REGISTER, OFlags::APPEND)?;
        file.write_all(text.as_bytes())?;
        let before = length_of(&stat);
        let after = before + text.len() as u64;
        if is_tidied(before, after) {
            tidy(dir.as_fd(), BYTES_MAX)?;
        }
        Ok(())
    }
}

impl Loaded {
    fn last(&self, key: FileKey) -> Option<Known> {
        let line = self.last.get(&(key.identity.device, key.identity.inode))?;
        known_of(self.text.get(line.clone())?, key)
    }

    /// Reads the lines that were added since the last call.
    fn refresh(&mut self, dir: BorrowedFd<'_>) -> io::Result<()> {
        let (file, stat) = trusted::open_file(dir, REGISTER)?;
        let (from, length) = (Identity::from_stat(&stat), length_of(&stat));
        if self.from != Some(from) || (self.text.len() as u64) > length {
            *self = Loaded { from: Some(from), searches: self.searches, ..Loaded::default() };
        }
        let known = self.text.len();
        let wanted = length.min(2 * BYTES_MAX).saturating_sub(known as u64);
        if wanted == 0 {
            return Ok(());
        }
        self.text.resize(known + wanted as usize, 0);
        file.read_exact_at(&mut self.text[known..], known as u64).inspect_err(|_| self.text.truncate(known))?;
        // An incomplete line is read again once it is complete.
        let whole = self.text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1).max(known);
        self.text.truncate(whole);
        let mut at = known;
        for line in self.text[known..].split(|&byte| byte == b'\n') {
            if let Some(Identity { device, inode }) = record::identity_of_line(line) {
                self.last.insert((device, inode), at..at + line.len());
            }
            at += line.len() + 1;
        }
        Ok(())
    }
}

/// Parses a line; `None` if it is damaged or about an earlier file with the same inode number.
fn known_of(line: &[u8], key: FileKey) -> Option<Known> {
    let record = Record::parse(line)?;
    (record.key == key).then_some(record.known)
}

fn length_of(register: &Stat) -> u64 {
    u64::try_from(register.st_size).unwrap_or(0)
}

/// Returns `true` if a register that grew from `before` to `after` bytes should be tidied. Tidying checks a file per
/// line. With a fixed step, each run that leaves many files would check all earlier files again.
fn is_tidied(before: u64, after: u64) -> bool {
    after >= TIDY_BYTES && before.max(1).ilog2() != after.ilog2()
}

/// Rewrites the register with the last line of each file that still exists. Keeps the newest lines, up to three
/// quarters of `bytes_max`: half of it would be a power of two, at which the next run tidied again. The caller holds the lock.
fn tidy(dir: BorrowedFd<'_>, bytes_max: u64) -> io::Result<()> {
    let (file, _) = trusted::open_file(dir, REGISTER)?;
    let mut text = Vec::new();
    file.take(2 * BYTES_MAX).read_to_end(&mut text)?;
    let mut seen = std::collections::HashSet::new();
    let (mut kept, mut kept_bytes) = (Vec::new(), 0);
    // From the newest line to the oldest.
    for line in text.split(|&byte| byte == b'\n').rev() {
        let Some(record) = Record::parse(line) else { continue };
        let identity = record.key.identity;
        if !seen.insert((identity.device, identity.inode)) || !is_there(&record.path, identity) {
            continue;
        }
        kept_bytes += line.len() as u64 + 1;
        if kept_bytes > bytes_max / 4 * 3 {
            break;
        }
        kept.push(line);
    }
    match rustix::fs::unlinkat(dir, NEXT, rustix::fs::AtFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let (mut next, _): (File, _) = trusted::open_to_write(dir, NEXT, OFlags::EXCL)?;
    let mut all = Vec::with_capacity(kept_bytes as usize);
    for line in kept.into_iter().rev() {
        all.extend_from_slice(line);
        all.push(b'\n');
    }
    next.write_all(&all)?;
    // The new register must be on disk before it replaces the old one.
    next.sync_data()?;
    Ok(rustix::fs::renameat(dir, NEXT, dir, REGISTER)?)
}

fn is_there(path: &Path, identity: Identity) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| Identity::from_metadata(&meta) == identity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mark::FileOwner;
    use std::os::unix::fs::PermissionsExt;

    fn record(path: &Path) -> Record {
        let file = File::open(path).unwrap();
        let stat = rustix::fs::fstat(&file).unwrap();
        let known = Known::Left { owner: FileOwner::Plumb, state: FileState::from_stat(&stat) };
        Record { key: FileKey::from_file(file.as_fd(), &stat).unwrap(), known, path: path.to_owned() }
    }

    fn file(dir: &Path, name: &str) -> PathBuf {
        let path = dir.join(name);
        fs::write(&path, name).unwrap();
        path
    }

    #[test]
    fn a_file_is_known_in_the_state_of_the_last_record_until_another_takes_its_place() {
        let place = tempfile::tempdir().unwrap();
        let made = MadeFiles::new(place.path().join("state/made"));
        let path = file(place.path(), "file");
        assert_eq!(made.known(record(&path).key, |_| true), None, "nothing is known at first");
        for length in [4, 5] {
            fs::write(&path, vec![1; length]).unwrap();
            let left = record(&path);
            made.add(std::slice::from_ref(&left)).unwrap();
            assert_eq!(made.known(left.key, |_| true), Some(left.known));
            assert_eq!(MadeFiles::new(place.path().join("state/made")).known(left.key, |_| true), Some(left.known));
        }
        let before = record(&path);
        let other = file(place.path(), "other");
        fs::rename(&other, &path).unwrap();
        assert_ne!(record(&path).key, before.key);
        assert_eq!(made.known(record(&path).key, |_| true), None);
    }

    #[test]
    fn the_register_is_private_for_any_umask_and_trusted_only_then() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("made");
        let made = MadeFiles::new(directory.clone());
        let path = file(place.path(), "file");
        let left = record(&path);
        made.add(std::slice::from_ref(&left)).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&directory), mode(&directory.join(REGISTER))), (0o700, 0o600));
        let open_to_others = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for (path, open, closed) in [
            (directory.join(REGISTER), 0o620, 0o600),
            (directory.join(REGISTER), 0o602, 0o600),
            (directory.clone(), 0o770, 0o700),
            (place.path().to_owned(), 0o777, 0o700),
        ] {
            open_to_others(&path, open);
            assert_eq!(
                MadeFiles::new(directory.clone()).known(left.key, |_| true),
                None,
                "{} {open:o}",
                path.display()
            );
            assert!(made.add(std::slice::from_ref(&left)).is_err());
            open_to_others(&path, closed);
            assert_eq!(MadeFiles::new(directory.clone()).known(left.key, |_| true), Some(left.known));
        }
        // Root does not trust another user's directory.
        if rustix::process::geteuid().is_root() {
            for path in [&directory, &directory.join(REGISTER), &place.path().to_owned()] {
                std::os::unix::fs::chown(path, Some(1000), None).unwrap();
                assert_eq!(MadeFiles::new(directory.clone()).known(left.key, |_| true), None, "{}", path.display());
                assert!(made.add(std::slice::from_ref(&left)).is_err());
                std::os::unix::fs::chown(path, Some(0), None).unwrap();
            }
        }
        // A link in place of the register is not followed.
        fs::rename(directory.join(REGISTER), place.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(place.path().join("elsewhere"), directory.join(REGISTER)).unwrap();
        assert_eq!(MadeFiles::new(directory.clone()).known(left.key, |_| true), None);
        assert!(made.add(std::slice::from_ref(&left)).is_err());
    }

    #[test]
    fn a_cut_or_damaged_register_loses_only_the_damaged_lines() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("made");
        let made = MadeFiles::new(directory.clone());
        let [one, two, three] = ["one", "two", "three"].map(|name| record(&file(place.path(), name)));
        made.add(&[one.clone(), two.clone()]).unwrap();
        let register = directory.join(REGISTER);
        let mut text = fs::read(&register).unwrap();
        // Cuts off the end of the second line.
        text.truncate(text.len() - 20);
        fs::write(&register, &text).unwrap();
        made.add(std::slice::from_ref(&three)).unwrap();
        let known = |record: &Record| MadeFiles::new(directory.clone()).known(record.key, |_| true).is_some();
        assert!(known(&one) && !known(&two) && known(&three));
        text = fs::read(&register).unwrap();
        text.splice(0..0, *b"\0\xff garbage 2 ffff\n2 1 1 b1.1 plumb 1 1.1 / 00000000\n");
        fs::write(&register, &text).unwrap();
        assert!(known(&one) && !known(&two) && known(&three));
        fs::write(&register, vec![0; 5000]).unwrap();
        assert!(!known(&one));
        made.add(std::slice::from_ref(&one)).unwrap();
        assert!(known(&one));
    }

    // Protects the user's disk from a register that grows without bound.
    #[test]
    fn lines_of_files_that_are_gone_or_known_better_are_dropped_and_the_oldest_beyond_the_limit() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("made");
        let made = MadeFiles::new(directory.clone());
        let [gone, stays, last] = ["gone", "stays", "last"].map(|name| file(place.path(), name));
        for path in [&gone, &stays, &stays, &last] {
            made.add(&[record(path)]).unwrap();
        }
        let (before, key) = (fs::metadata(directory.join(REGISTER)).unwrap().len(), record(&gone).key);
        fs::remove_file(&gone).unwrap();
        let dir = trusted::open(&directory).unwrap();
        tidy(dir.as_fd(), BYTES_MAX).unwrap();
        let after = fs::metadata(directory.join(REGISTER)).unwrap().len();
        assert!(after < before * 2 / 3, "{before} to {after}");
        assert_eq!(MadeFiles::new(directory.clone()).known(key, |_| true), None);
        let known = |path: &Path| MadeFiles::new(directory.clone()).known(record(path).key, |_| true).is_some();
        assert!(known(&stays) && known(&last));
        tidy(dir.as_fd(), after).unwrap();
        assert!(!known(&stays) && known(&last));
        assert!(!directory.join(NEXT).exists());
        // Growing beyond `TIDY_BYTES` drops obsolete lines.
        let many: Vec<Record> = vec![record(&last); TIDY_BYTES as usize / 50];
        made.add(&many).unwrap();
        assert!(fs::metadata(directory.join(REGISTER)).unwrap().len() < 1000);
    }

    // Protects runs that leave many files from checking those of all earlier runs, and enforces the
    // maximum length of the register.
    #[test]
    fn a_register_is_tidied_each_time_that_it_has_doubled() {
        let step = TIDY_BYTES / 4;
        let tidied = (0..4 * BYTES_MAX / step).filter(|&run| is_tidied(run * step, (run + 1) * step)).count();
        assert_eq!(tidied, 7, "at 1, 2, 4, 8, 16, 32 and 64 MiB");
        assert!(is_tidied(BYTES_MAX - 1, BYTES_MAX) && !is_tidied(0, TIDY_BYTES - 1));
    }

    // Protects lookups: searching the register and loading it give the same answer.
    #[test]
    fn a_search_and_the_loaded_register_give_the_same_answer() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("made");
        let made = MadeFiles::new(directory.clone());
        let files: Vec<Record> = (0..40).map(|number| record(&file(place.path(), &number.to_string()))).collect();
        // Makes the directory and the file with their modes; its lines are written below, so that they are not tidied.
        made.add(&files[..1]).unwrap();
        let known =
            Known::Left { owner: FileOwner::User, state: FileState::from_stat(&rustix::fs::stat("/").unwrap()) };
        let newer: Vec<Record> = files[30..].iter().map(|record| Record { known, ..record.clone() }).collect();
        let lines = |records: &[Record]| records.iter().map(Record::line).collect::<String>();
        // The first file is only at the beginning, without a line feed before it, as after tidying. A killed run left the last line
        // incomplete.
        let text = lines(&files) + &lines(&files[1..]).repeat(400) + &lines(&newer) + &files[35].line()[..60];
        let register = directory.join(REGISTER);
        fs::write(&register, &text).unwrap();
        assert!(text.len() > (1 << 20) / 2, "{}", text.len());
        let loaded = MadeFiles::new(directory.clone());
        loaded.loaded.lock().unwrap().searches = SEARCHES;
        for (number, file) in files.iter().enumerate() {
            let expected = if number < 30 { file.known } else { known };
            assert_eq!(
                MadeFiles::new(directory.clone()).known(file.key, |_| true),
                Some(expected),
                "{number} searched"
            );
            assert_eq!(loaded.known(file.key, |_| true), Some(expected), "{number} loaded");
        }
        let other = record(&register);
        assert_eq!(MadeFiles::new(directory).known(other.key, |_| true), None);
    }

    #[test]
    fn runs_that_end_at_once_lose_no_line() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("made");
        let records: Vec<Record> = (0..40).map(|number| record(&file(place.path(), &number.to_string()))).collect();
        std::thread::scope(|scope| {
            for part in records.chunks(5) {
                let made = MadeFiles::new(directory.clone());
                scope.spawn(move || part.iter().for_each(|record| made.add(std::slice::from_ref(record)).unwrap()));
            }
        });
        let made = MadeFiles::new(directory);
        assert!(records.iter().all(|record| made.known(record.key, |_| true) == Some(record.known)));
    }
}
