//! The phase that finds: threads that read the directories below one, and ask about the files whose names are looked for.

use super::super::error::DialectError;
use plumb_dialects::io500::{Find, FindResult, FoundByThread};
use plumb_engine::signals::StopFlag;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Directories are read, and nothing is followed out of them.
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A signal is heard after this many names at the latest.
const NAMES_BETWEEN_LOOKS: u64 = 1024;

/// When a file was changed, ns since 1970. The types of these fields differ from system to system.
fn changed_ns(stat: &Stat) -> i128 {
    i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec)
}

/// Finds, with this many threads, or as many of them as can be started. A signal ends it early.
///
/// # Errors
/// The file to compare with, or the directory, cannot be read.
pub fn find(find: &Find, threads: u32, stop: Option<StopFlag>) -> Result<FindResult, DialectError> {
    let failed = |what: &str| {
        let what = format!("find: {what}");
        move |errno: Errno| DialectError::file(what)(errno.into())
    };
    let newer_than = rustix::fs::stat(find.newer_than.as_str()).map_err(failed(&find.newer_than))?;
    rustix::fs::openat(CWD, find.root.as_str(), DIRECTORY, Mode::empty()).map_err(failed(&find.root))?;
    let search = Search {
        find,
        newer_than_ns: changed_ns(&newer_than),
        stop,
        queue: Mutex::new(Queue { waiting: vec![PathBuf::from(&find.root)], busy: 0 }),
        more: Condvar::new(),
    };
    let began = Instant::now();
    let found: Vec<Found> = std::thread::scope(|scope| {
        let start = |number| {
            let thread = std::thread::Builder::new().name(format!("find-{number}"));
            thread.spawn_scoped(scope, || search.directories())
        };
        let others: Vec<_> = (1..threads).map_while(|number| start(number).ok()).collect();
        let own = search.directories();
        std::iter::once(own).chain(others.into_iter().filter_map(|thread| thread.join().ok())).collect()
    });
    Ok(FindResult {
        time_s: began.elapsed().as_secs_f64(),
        error: found.iter().find_map(|found| found.error.clone()),
        threads: found.into_iter().map(|found| found.counts).collect(),
    })
}

/// Directories that are still to be read.
struct Queue {
    waiting: Vec<PathBuf>,
    /// Threads that read one, and may find more.
    busy: u32,
}

#[derive(Default)]
struct Found {
    counts: FoundByThread,
    error: Option<String>,
}

impl Found {
    fn failed(&mut self, path: &Path, errno: Errno) {
        self.counts.errors += 1;
        self.error.get_or_insert_with(|| format!("{}: {errno}", path.display()));
    }
}

struct Search<'a> {
    find: &'a Find,
    newer_than_ns: i128,
    stop: Option<StopFlag>,
    queue: Mutex<Queue>,
    more: Condvar,
}

impl Search<'_> {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_some_and(StopFlag::requested)
    }

    /// Reads directories, in one thread, until none is left and no other thread can find more.
    fn directories(&self) -> Found {
        let mut found = Found::default();
        let mut inside = Vec::new();
        while let Some(directory) = self.take() {
            if let Err(errno) = self.read(&directory, &mut found, &mut inside) {
                found.failed(&directory, errno);
            }
            let mut queue = self.queue();
            queue.busy -= 1;
            queue.waiting.append(&mut inside);
            self.more.notify_all();
        }
        found
    }

    fn take(&self) -> Option<PathBuf> {
        let mut queue = self.queue();
        loop {
            if let Some(directory) = queue.waiting.pop().filter(|_| !self.is_stopped()) {
                queue.busy += 1;
                return Some(directory);
            }
            if queue.busy == 0 || self.is_stopped() {
                return None;
            }
            queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn read(&self, path: &Path, found: &mut Found, inside: &mut Vec<PathBuf>) -> Result<(), Errno> {
        let directory = rustix::fs::openat(CWD, path, DIRECTORY, Mode::empty())?;
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            found.counts.names += 1;
            if found.counts.names.is_multiple_of(NAMES_BETWEEN_LOOKS) && self.is_stopped() {
                return Ok(());
            }
            let stat = |name: &CStr| rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW);
            let full = || path.join(OsStr::from_bytes(name.to_bytes()));
            let kind = match entry.file_type() {
                // Some file systems do not say.
                FileType::Unknown => match stat(name) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(errno) => {
                        found.failed(&full(), errno);
                        continue;
                    }
                },
                kind => kind,
            };
            match kind {
                FileType::Directory => inside.push(full()),
                FileType::RegularFile => {
                    found.counts.files += 1;
                    if self.find.takes(name.to_bytes()) {
                        match stat(name) {
                            Ok(stat) => found.counts.found += u64::from(self.matches(&stat)),
                            Err(errno) => found.failed(&full(), errno),
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn matches(&self, stat: &Stat) -> bool {
        u64::try_from(stat.st_size) == Ok(self.find.bytes) && changed_ns(stat) > self.newer_than_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    // Protects what is found: by name, length and time, in every directory, whatever the number of threads.
    #[test]
    fn files_are_found_by_all_conditions() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let file = |name: &str, bytes: usize| fs::write(at(name), vec![0; bytes]).unwrap();
        for directory in ["data", "data/a", "data/b", "data/b/c", "data/empty"] {
            fs::create_dir(at(directory)).unwrap();
        }
        file("data/old.01", 3901);
        std::thread::sleep(std::time::Duration::from_millis(50));
        file("stamp", 0);
        std::thread::sleep(std::time::Duration::from_millis(50));
        for name in ["data/a/f.101", "data/b/c/f.201", "data/b/01"] {
            file(name, 3901);
        }
        file("data/a/f.102", 3901 - 1);
        file("data/a/f.301", 3902);
        file("data/b/f.110", 3901);
        std::os::unix::fs::symlink(at("data/a/f.101"), at("data/b/link.01")).unwrap();
        std::os::unix::fs::symlink(at("data"), at("data/b/up.01")).unwrap();
        let wanted = Find {
            root: at("data").display().to_string(),
            newer_than: at("stamp").display().to_string(),
            bytes: 3901,
            threads: None,
        };
        for threads in [1, 2, 9] {
            let result = find(&wanted, threads, None).unwrap();
            assert_eq!((result.found(), result.files(), result.errors()), (3, 7, 0), "{threads} threads");
            assert_eq!(result.threads.len(), threads as usize);
        }
        let nowhere = Find { root: at("none").display().to_string(), ..wanted };
        assert!(find(&nowhere, 1, None).unwrap_err().to_string().contains("none"));
    }
}
