//! The find phases: ranks read a directory tree and call stat on files with matching names. Ranks are threads of this
//! process, or processes of a launcher, which redistribute the directories in each round.

use plumb_bench::{Follower, JoinedRanks, Progress, Task};
use plumb_cluster::ClusterError;
use plumb_engine::signals::StopFlag;
use plumb_tools_hpc::io500::{Find, FindResult, FoundByThread};
use plumb_tools_run::error::DialectError;
use rustix::fs::{AtFlags, Dir, FileType, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Flags for directories. Links are not followed, so that the search stays below its root.
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Number of names after which a thread checks for signals.
const NAMES_BETWEEN_CHECKS: u64 = 1024;

/// Returns the modification time, ns since 1970. The types of these fields differ between systems.
fn changed_ns(stat: &Stat) -> i128 {
    i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec)
}

/// Time after which a rank returns its remaining directories. A round costs a broadcast and a sum, less than 1 ms.
const ROUND: Duration = Duration::from_millis(50);

/// With fewer directories per rank, a rank reads its own and returns their subdirectories, so
/// that all ranks get some.
const DIRECTORIES_OF_RANK: usize = 2;

/// Conditions on a file besides its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Conditions {
    newer_than_ns: Option<i128>,
    bytes: Option<u64>,
}

impl Conditions {
    /// Reads the conditions of a find phase. The file to compare with must exist.
    fn read(find: &Find) -> Result<Conditions, DialectError> {
        let failed = |what: &str| {
            let what = format!("find: {what}");
            move |errno: Errno| DialectError::file(what)(errno.into())
        };
        let changed =
            |file: &String| rustix::fs::stat(file.as_str()).map(|stat| changed_ns(&stat)).map_err(failed(file));
        let newer_than_ns = find.newer_than.as_ref().map(changed).transpose()?;
        plumb_probe::read_only::open(find.root.as_str(), DIRECTORY).map_err(failed(&find.root))?;
        Ok(Conditions { newer_than_ns, bytes: find.bytes })
    }

    fn match_file(&self, stat: &Stat) -> bool {
        self.bytes.is_none_or(|bytes| u64::try_from(stat.st_size) == Ok(bytes))
            && self.newer_than_ns.is_none_or(|newer_than_ns| changed_ns(stat) > newer_than_ns)
    }
}

/// Searches with this many threads, or as many as can be started. A signal ends the search early.
///
/// # Errors
/// The file to compare with, or the directory, cannot be read.
pub(super) fn find(find: &Find, threads: u32, stop: Option<StopFlag>) -> Result<FindResult, DialectError> {
    let search = Search::new(Conditions::read(find)?, stop, vec![PathBuf::from(&find.root)], None);
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

/// Searches with `workers` processes of a launcher.
///
/// # Errors
/// As for [`find`], or a rank does not answer.
pub(crate) fn find_with(
    ranks: &JoinedRanks,
    find: &Find,
    workers: u32,
    stop: StopFlag,
) -> Result<FindResult, DialectError> {
    let conditions = Conditions::read(find)?;
    let lost = |error: ClusterError| DialectError::file("find".to_owned())(io::Error::other(error));
    let began = Instant::now();
    ranks.ask(words(conditions, workers)).map_err(lost)?;
    let found = share(ranks, conditions, workers, vec![find.root.clone().into_bytes()], stop).map_err(lost)?;
    let time_s = began.elapsed().as_secs_f64();
    let found: Vec<Found> = found.iter().map(|(_, answer)| Found::read(answer)).take(workers as usize).collect();
    Ok(FindResult {
        time_s,
        error: found.iter().find_map(|found| found.error.clone()),
        threads: found.into_iter().map(|found| found.counts).collect(),
    })
}

/// A rank that takes part in a search of rank 0.
pub struct TakesPart;

impl Progress for TakesPart {}

impl Follower for TakesPart {
    fn other(&mut self, words: &str, ranks: &JoinedRanks, stop: StopFlag) -> Result<(), ClusterError> {
        let (conditions, workers) =
            read_words(words).ok_or(ClusterError::Unexpected { rank: 0, what: "work that is not known" })?;
        share(ranks, conditions, workers, Vec::new(), stop).map(drop)
    }
}

/// Formats the request to the other ranks.
fn words(Conditions { newer_than_ns, bytes }: Conditions, workers: u32) -> String {
    let shown = |number: Option<i128>| number.map_or_else(|| "any".to_owned(), |number| number.to_string());
    format!("find {workers} {} {}", shown(newer_than_ns), shown(bytes.map(i128::from)))
}

fn read_words(text: &str) -> Option<(Conditions, u32)> {
    let mut words = text.strip_prefix("find ")?.split(' ');
    let workers = words.next()?.parse().ok()?;
    let mut number = || match words.next()? {
        "any" => Some(None),
        number => number.parse::<i128>().ok().map(Some),
    };
    let newer_than_ns = number()?;
    let bytes = number()?.map(u64::try_from).transpose().ok()?;
    Some((Conditions { newer_than_ns, bytes }, workers))
}

/// Searches together with all other ranks, until no directory is left.
fn share(
    ranks: &JoinedRanks,
    conditions: Conditions,
    workers: u32,
    first: Vec<Task>,
    stop: StopFlag,
) -> Result<Vec<(u32, Task)>, ClusterError> {
    let mut all = Found::default();
    ranks.empty_queue(stop, first, workers, &mut |directories, count| {
        let directories = directories.into_iter().map(|path| PathBuf::from(OsString::from_vec(path))).collect();
        let mut search = Search::new(conditions, Some(stop), directories, Some(Instant::now() + ROUND));
        search.descends = count >= DIRECTORIES_OF_RANK * workers as usize;
        all.add(search.directories());
        // An interrupted rank drops its remaining directories.
        let left = if search.is_stopped() { Vec::new() } else { search.left() };
        left.into_iter().map(|path| path.into_os_string().into_vec()).collect()
    })?;
    ranks.gather(stop, all.text().into_bytes())
}

/// Directories that are not read yet.
struct Queue {
    waiting: Vec<PathBuf>,
    /// Directories for another round or rank.
    later: Vec<PathBuf>,
    /// Number of threads that read a directory and may find more.
    busy: u32,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Found {
    counts: FoundByThread,
    error: Option<String>,
}

impl Found {
    fn failed(&mut self, path: &Path, errno: Errno) {
        self.counts.errors += 1;
        self.error.get_or_insert_with(|| format!("{}: {errno}", path.display()));
    }

    fn add(&mut self, other: Found) {
        let FoundByThread { errors, found, files, names } = other.counts;
        self.counts.errors += errors;
        self.counts.found += found;
        self.counts.files += files;
        self.counts.names += names;
        self.error = self.error.take().or(other.error);
    }

    /// Formats the counts for rank 0.
    fn text(&self) -> String {
        let FoundByThread { errors, found, files, names } = self.counts;
        format!("{errors} {found} {files} {names} {}", self.error.as_deref().unwrap_or_default())
    }

    fn read(answer: &[u8]) -> Found {
        let text = String::from_utf8_lossy(answer);
        let mut parts = text.splitn(5, ' ');
        let mut number = || parts.next().and_then(|number| number.parse().ok()).unwrap_or(0);
        let counts = FoundByThread { errors: number(), found: number(), files: number(), names: number() };
        Found { counts, error: parts.next().filter(|error| !error.is_empty()).map(str::to_owned) }
    }
}

struct Search {
    conditions: Conditions,
    stop: Option<StopFlag>,
    /// Time at which the rank returns its remaining directories.
    until: Option<Instant>,
    /// Whether subdirectories are read too.
    descends: bool,
    queue: Mutex<Queue>,
    more: Condvar,
}

impl Search {
    fn new(conditions: Conditions, stop: Option<StopFlag>, waiting: Vec<PathBuf>, until: Option<Instant>) -> Search {
        let queue = Mutex::new(Queue { waiting, later: Vec::new(), busy: 0 });
        Search { conditions, stop, until, descends: true, queue, more: Condvar::new() }
    }

    /// Returns the directories that were not read.
    fn left(&self) -> Vec<PathBuf> {
        let mut queue = self.queue();
        let mut left = std::mem::take(&mut queue.waiting);
        left.append(&mut queue.later);
        left
    }

    fn is_over(&self) -> bool {
        self.is_stopped() || self.until.is_some_and(|until| Instant::now() >= until)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_some_and(StopFlag::requested)
    }

    /// Reads directories in one thread, until none is left and no other thread can find more.
    fn directories(&self) -> Found {
        let mut found = Found::default();
        let mut inside = Vec::new();
        while let Some(directory) = self.take() {
            if let Err(errno) = self.read(&directory, &mut found, &mut inside) {
                found.failed(&directory, errno);
            }
            let mut queue = self.queue();
            queue.busy -= 1;
            if self.descends {
                queue.waiting.append(&mut inside);
            } else {
                queue.later.append(&mut inside);
            }
            self.more.notify_all();
        }
        found
    }

    fn take(&self) -> Option<PathBuf> {
        let mut queue = self.queue();
        loop {
            if self.is_over() {
                return None;
            }
            if let Some(directory) = queue.waiting.pop() {
                queue.busy += 1;
                return Some(directory);
            }
            if queue.busy == 0 {
                return None;
            }
            queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn read(&self, path: &Path, found: &mut Found, inside: &mut Vec<PathBuf>) -> Result<(), Errno> {
        let directory = plumb_probe::read_only::open(path, DIRECTORY)?;
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            found.counts.names += 1;
            if found.counts.names.is_multiple_of(NAMES_BETWEEN_CHECKS) && self.is_stopped() {
                return Ok(());
            }
            let stat = |name: &CStr| rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW);
            let full = || path.join(OsStr::from_bytes(name.to_bytes()));
            let kind = match entry.file_type() {
                // Some file systems do not report the type.
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
                    if Find::matches(name.to_bytes()) {
                        match stat(name) {
                            Ok(stat) => found.counts.found += u64::from(self.conditions.match_file(&stat)),
                            Err(errno) => found.failed(&full(), errno),
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    // Protects the messages between ranks: every condition, and every count with its error.
    #[test]
    fn words_and_counts_survive_being_sent() {
        for newer_than_ns in [None, Some(-1), Some(1 << 70)] {
            for bytes in [None, Some(0), Some(u64::MAX)] {
                let conditions = Conditions { newer_than_ns, bytes };
                assert_eq!(read_words(&words(conditions, 7)), Some((conditions, 7)));
            }
        }
        for text in ["", "find", "find x any any", "find 1 any", "seek 1 any any", "find 1 any -1"] {
            assert_eq!(read_words(text), None, "{text}");
        }
        let counts = FoundByThread { errors: 1, found: 2, files: 3, names: 4 };
        for error in [None, Some("a b: no such file".to_owned())] {
            let found = Found { counts, error };
            assert_eq!(Found::read(found.text().as_bytes()), found);
        }
    }

    // Protects rounds: a rank returns the directories that it does not reach, and none is read twice.
    #[test]
    fn remaining_directories_are_returned() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("a/b")).unwrap();
        let conditions = Conditions { newer_than_ns: None, bytes: None };
        let over = Search::new(conditions, None, vec![place.path().to_owned()], Some(Instant::now()));
        assert_eq!((over.directories(), over.left()), (Found::default(), vec![place.path().to_owned()]));
        let whole = Search::new(conditions, None, vec![place.path().to_owned()], None);
        assert_eq!((whole.directories().counts.names, whole.left()), (2, Vec::<PathBuf>::new()));
        let mut level = Search::new(conditions, None, vec![place.path().to_owned()], None);
        level.descends = false;
        assert_eq!((level.directories().counts.names, level.left()), (1, vec![place.path().join("a")]));
    }

    // Protects the search: by name, length and time, in every directory, with any number of threads.
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
            newer_than: Some(at("stamp").display().to_string()),
            bytes: Some(3901),
            threads: None,
        };
        for threads in [1, 2, 9] {
            let result = find(&wanted, threads, None).unwrap();
            assert_eq!((result.found(), result.files(), result.errors()), (3, 7, 0), "{threads} threads");
            assert_eq!(result.threads.len(), threads as usize);
        }
        let by_name = Find { newer_than: None, bytes: None, ..wanted.clone() };
        assert_eq!(find(&by_name, 2, None).unwrap().found(), 5, "names alone");
        let nowhere = Find { root: at("none").display().to_string(), ..wanted };
        assert!(find(&nowhere, 1, None).unwrap_err().to_string().contains("none"));
    }
}
