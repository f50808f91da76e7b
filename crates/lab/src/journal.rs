//! The undo journal: how to take a system down, written before the system is built.
//!
//! Each building process has one file of JSON lines. The first names the process. Before each act, its undo is
//! appended and synced. After an undo, that is noted too. The file is locked (`flock`) while its process lives, so a
//! process that gets the lock may take down what the journal lists.
//!
//! A journal holds shell commands and paths to write to, so it is acted upon only if no other user can have written
//! it: [`TrustedDir`] checks the file and every directory above it. Any other journal is reported and left alone.

use crate::command::{MARK, Witness, kill_group};
use crate::error::Left;
use crate::undo::{TakenDown, Undo};
use plumb_engine::guard::testdir::started_ticks;
use plumb_engine::guard::trusted_path::{TrustedDir, UntrustedPath};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Version of the file format.
const VERSION: u32 = 1;

/// File name extension of journals.
const EXTENSION: &str = "journal";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case")]
enum JournalLine {
    /// Identifies the building process.
    Begin(Owner),
    /// The undo of the next act.
    Ahead { id: u64, undo: Undo },
    /// The act was undone, or was never done.
    Done { id: u64 },
    /// A command runs, as the leader of a process group.
    Started { pid: u32, ticks: u64 },
    /// The command no longer runs.
    Ended { pid: u32 },
}

plumb_document::tagged!(JournalLine, "line");

/// The process that wrote a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    version: u32,
    pub(crate) pid: u32,
    /// Boot ID of the process: kernel state is gone after a reboot.
    boot: String,
    pub(crate) tag: String,
}

/// Reason why a journal cannot be created or used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JournalError {
    /// Another user could have written it.
    #[error("{0}; it is not trusted and was left alone")]
    Untrusted(UntrustedPath),
    /// It cannot be read or written, or is malformed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<UntrustedPath> for JournalError {
    fn from(error: UntrustedPath) -> JournalError {
        match error {
            UntrustedPath::Io { path, source } => {
                io::Error::new(source.kind(), format!("{}: {source}", path.display())).into()
            }
            error => JournalError::Untrusted(error),
        }
    }
}

/// The journals of exited processes.
#[derive(Debug, Default)]
pub(crate) struct AbandonedJournals {
    /// Journals that can be acted upon.
    pub(crate) journals: Vec<UndoJournal>,
    /// Journals that are unreadable or malformed.
    pub(crate) unreadable: Vec<Left>,
    /// Journals that another user could have written.
    pub(crate) untrusted: Vec<Left>,
}

/// An open journal, locked.
#[derive(Debug)]
pub(crate) struct UndoJournal {
    file: File,
    dir: TrustedDir,
    path: PathBuf,
    owner: Owner,
    /// Pending undos, in build order.
    ahead: Vec<(u64, Undo)>,
    next_id: u64,
    running: Vec<(u32, u64)>,
    /// Number of commands that were started.
    commands: u64,
}

impl UndoJournal {
    /// Creates a journal that only this user can read, in a directory that only this user can enter.
    ///
    /// # Errors
    /// Returns an error if another user could change the directory or one above it: a journal there
    /// could not be trusted later.
    pub(crate) fn create(dir: &Path, tag: &str) -> Result<UndoJournal, JournalError> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let trusted = TrustedDir::create_private(dir)?;
        let pid = std::process::id();
        let owner = Owner { version: VERSION, pid, boot: boot(), tag: tag.to_owned() };
        loop {
            let name = format!("{pid}-{}.{EXTENSION}", COUNTER.fetch_add(1, Ordering::Relaxed));
            let file = match trusted.create_private_file(OsStr::new(&name)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            // A recovering process may have seen the empty file first, locked and removed it.
            if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() || is_unlinked(&file)? {
                continue;
            }
            trusted.sync()?;
            let mut journal = UndoJournal {
                file,
                dir: trusted,
                path: dir.join(name),
                owner,
                ahead: vec![],
                next_id: 0,
                running: vec![],
                commands: 0,
            };
            journal.append(&JournalLine::Begin(journal.owner.clone()))?;
            return Ok(journal);
        }
    }

    /// Opens and takes over the journals of exited processes.
    pub(crate) fn open_abandoned(dir: &Path) -> AbandonedJournals {
        let mut found = AbandonedJournals::default();
        let left = |error: &dyn std::fmt::Display| Left {
            what: format!("undo journals in {}", dir.display()),
            reason: error.to_string(),
        };
        let trusted = match TrustedDir::open(dir, rustix::process::geteuid().as_raw()) {
            Ok(trusted) => trusted,
            Err(error) if error.io_kind() == Some(io::ErrorKind::NotFound) => return found,
            Err(error @ UntrustedPath::Io { .. }) => {
                found.unreadable.push(left(&error));
                return found;
            }
            Err(error) => {
                found.untrusted.extend(untrusted_journals(dir, &error));
                return found;
            }
        };
        let names = match trusted.names() {
            Ok(names) => names,
            Err(error) => {
                found.unreadable.push(left(&error));
                return found;
            }
        };
        for name in names.iter().filter(|name| is_journal(name)) {
            let path = dir.join(name);
            let left = |error: &JournalError| Left {
                what: format!("undo journal {}", path.display()),
                reason: error.to_string(),
            };
            match UndoJournal::open(&trusted, name, &path) {
                Ok(Some(journal)) => found.journals.push(journal),
                Ok(None) => {}
                Err(error @ JournalError::Untrusted(_)) => found.untrusted.push(left(&error)),
                Err(error) => found.unreadable.push(left(&error)),
            }
        }
        found
    }

    /// Opens a journal of an exited process; `None` if the process still runs.
    fn open(dir: &TrustedDir, name: &OsStr, path: &Path) -> Result<Option<UndoJournal>, JournalError> {
        let file = match dir.open_private_file(name) {
            Err(error) if error.io_kind() == Some(io::ErrorKind::NotFound) => return Ok(None),
            file => file?,
        };
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            locked => locked.map_err(io::Error::from)?,
        }
        if is_unlinked(&file)? {
            return Ok(None);
        }
        let mut lines = vec![];
        for (number, text) in BufReader::new(&file).split(b'\n').enumerate() {
            let text = text?;
            match plumb_document::json::from_slice::<JournalLine>(&text) {
                Ok(line) => lines.push(line),
                // A crash tore this line: its act had not begun. The empty line appended below ends it.
                Err(error) if error.is_cut_off() => {}
                Err(error) => return Err(invalid(format!("line {}: {error}", number + 1))),
            }
        }
        let mut lines = lines.into_iter();
        let owner = match lines.next() {
            Some(JournalLine::Begin(owner)) if owner.version == VERSION => owner,
            Some(JournalLine::Begin(owner)) => {
                return Err(invalid(format!("it was written by another version of Plumb (format {})", owner.version)));
            }
            // The process wrote nothing and began nothing.
            None => {
                dir.remove_file(name)?;
                return Ok(None);
            }
            Some(_) => return Err(invalid("it does not name its process".to_owned())),
        };
        let (mut ahead, mut running, mut next_id, mut commands) = (vec![], vec![], 0, 0);
        for line in lines {
            match line {
                JournalLine::Begin(_) => {}
                JournalLine::Ahead { id, undo } => {
                    next_id = id + 1;
                    ahead.push((id, undo));
                }
                JournalLine::Done { id } => ahead.retain(|(known, _)| *known != id),
                JournalLine::Started { pid, ticks } => {
                    commands += 1;
                    running.push((pid, ticks));
                }
                JournalLine::Ended { pid } => running.retain(|(known, _)| *known != pid),
            }
        }
        // The lock is free, so every starting command has executed its program by now.
        running.extend(unrecorded_leaders(path, commands));
        let (dir, path) = (dir.try_clone()?, path.to_owned());
        let mut journal = UndoJournal { file, dir, path, owner, ahead, next_id, running, commands };
        // Ends a torn line.
        journal.file.write_all(b"\n")?;
        Ok(Some(journal))
    }

    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Records how the next act is undone. The record is on disk when this returns.
    pub(crate) fn record_undo(&mut self, undo: Undo) -> io::Result<u64> {
        let id = self.next_id;
        self.append(&JournalLine::Ahead { id, undo: undo.clone() })?;
        self.next_id += 1;
        self.ahead.push((id, undo));
        Ok(id)
    }

    /// Records that the act was not done after all.
    pub(crate) fn cancel(&mut self, id: u64) -> io::Result<()> {
        self.append(&JournalLine::Done { id })?;
        self.ahead.retain(|(known, _)| *known != id);
        Ok(())
    }

    /// Returns the number of pending undos.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.ahead.len()
    }

    /// Returns a description of a part that was built and is gone, if any.
    pub(crate) fn missing_part(&self) -> Option<String> {
        self.ahead.iter().find(|(_, undo)| undo.exists() == Some(false)).map(|(_, undo)| undo.to_string())
    }

    /// Takes parts down, the last first, until `keep` are left. Returns how many were taken down, and the
    /// parts that could not be.
    pub(crate) fn undo(&mut self, keep: usize, listener: &mut dyn FnMut(&str)) -> (usize, Vec<Left>) {
        for (pid, ticks) in std::mem::take(&mut self.running) {
            end_process(pid, ticks);
        }
        let is_same_boot = self.owner.boot == boot();
        let (mut undone, mut left) = (0, vec![]);
        for (id, undo) in self.ahead.split_off(keep.min(self.ahead.len())).into_iter().rev() {
            let outcome = if is_same_boot || undo.survives_reboot() { undo.apply() } else { Ok(TakenDown::Already) };
            match outcome {
                Ok(taken_down) => {
                    if taken_down == TakenDown::Now {
                        undone += 1;
                        listener(&format!("taken down: {undo}"));
                    }
                    // If this record is lost, the undo is tried again and finds nothing.
                    let _ = self.append(&JournalLine::Done { id });
                }
                Err(error) => {
                    listener(&format!("still there: {undo}: {error}"));
                    left.push((id, undo, error.to_string()));
                }
            }
        }
        left.reverse();
        let reports =
            left.iter().map(|(_, undo, reason)| Left { what: undo.to_string(), reason: reason.clone() }).collect();
        self.ahead.extend(left.into_iter().map(|(id, undo, _)| (id, undo)));
        (undone, reports)
    }

    /// Removes the file. Call it only after everything was taken down.
    pub(crate) fn close(self) -> io::Result<()> {
        self.path.file_name().map_or(Ok(()), |name| self.dir.remove_file(name))
    }

    fn append(&mut self, line: &JournalLine) -> io::Result<()> {
        let mut text = plumb_document::json::to_vec(line).map_err(io::Error::other)?;
        text.push(b'\n');
        self.file.write_all(&text)?;
        self.file.sync_data()
    }
}

impl Witness for UndoJournal {
    fn mark(&self) -> Option<String> {
        Some(mark(&self.path, self.commands))
    }

    fn started(&mut self, pid: u32) {
        // Commands that have ended get a line too: the number of lines gives the next command's number.
        let ticks = started_ticks(pid).unwrap_or_default();
        self.running.push((pid, ticks));
        self.commands += 1;
        let _ = self.append(&JournalLine::Started { pid, ticks });
    }

    fn ended(&mut self, pid: u32) {
        self.running.retain(|(known, _)| *known != pid);
        let _ = self.append(&JournalLine::Ended { pid });
    }
}

fn is_journal(name: &OsStr) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == EXTENSION)
}

/// Lists the journals of an untrusted directory by name, without reading them.
fn untrusted_journals(dir: &Path, error: &UntrustedPath) -> Vec<Left> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names: Vec<OsString> = entries.map(|entry| entry.file_name()).filter(|name| is_journal(name)).collect();
    let left = |name: OsString| Left {
        what: format!("undo journal {}", dir.join(name).display()),
        reason: format!("{error}; it is not trusted and was left alone"),
    };
    names.into_iter().map(left).collect()
}

fn invalid(message: String) -> JournalError {
    io::Error::new(io::ErrorKind::InvalidData, message).into()
}

/// Returns the mark that identifies a command of a journal.
fn mark(journal: &Path, command: u64) -> String {
    format!("{}#{command}", journal.display())
}

/// Returns the leaders of process groups that were started from this journal but have no line, with their start
/// times. The builder was killed before it learned their IDs. Only commands up to `recorded` have lines.
fn unrecorded_leaders(journal: &Path, recorded: u64) -> Vec<(u32, u64)> {
    let marked = format!("{MARK}={}#", journal.display());
    let number =
        |variable: &[u8]| std::str::from_utf8(variable.strip_prefix(marked.as_bytes())?).ok()?.parse::<u64>().ok();
    let process = |entry: fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let environment = fs::read(entry.path().join("environ")).ok()?;
        environment.split(|&byte| byte == 0).filter_map(number).find(|number| *number >= recorded)?;
        let leader = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)?;
        let leads = rustix::process::getpgid(Some(leader)).is_ok_and(|group| group == leader);
        Some((pid, started_ticks(pid).filter(|_| leads)?))
    };
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(process).collect()
}

fn is_unlinked(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() == 0)
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// Kills a process that a killed builder left running, with its group, and waits until it is gone. Devices that it
/// holds can be taken down only then.
fn end_process(pid: u32, ticks: u64) {
    for _ in 0..500 {
        if started_ticks(pid) != Some(ticks) {
            return;
        }
        kill_group(pid);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet() -> impl FnMut(&str) {
        |_: &str| ()
    }

    /// Returns the only journal of a directory. A command that another test is about to start holds a copy of its
    /// lock until it executes its program.
    fn only_abandoned(journals: &Path) -> UndoJournal {
        let begun = std::time::Instant::now();
        loop {
            let mut found = UndoJournal::open_abandoned(journals);
            assert!(found.unreadable.is_empty() && found.untrusted.is_empty(), "{found:?}");
            if let Some(journal) = found.journals.pop() {
                return journal;
            }
            assert!(begun.elapsed() < std::time::Duration::from_secs(10), "no journal was abandoned");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    fn dir_undo(path: &Path) -> Undo {
        Undo::MountPoint { path: path.to_owned() }
    }

    // Protects: a dead process's acts are undone by another process, in reverse order, and
    // never while the process lives.
    #[test]
    fn only_systems_of_exited_processes_are_taken_down() {
        let dir = tempfile::tempdir().unwrap();
        let journals = dir.path().join("journals");
        let (outer, inner) = (dir.path().join("a"), dir.path().join("a/b"));
        let mut journal = UndoJournal::create(&journals, "study plot 1").unwrap();
        for path in [&outer, &inner] {
            journal.record_undo(dir_undo(path)).unwrap();
            fs::create_dir(path).unwrap();
        }
        assert!(UndoJournal::open_abandoned(&journals).journals.is_empty(), "its process still runs");
        drop(journal);
        let mut journal = only_abandoned(&journals);
        assert_eq!(journal.owner().tag, "study plot 1");
        // The inner directory first: the outer one would not be empty.
        assert_eq!(journal.undo(0, &mut quiet()), (2, vec![]));
        assert!(!outer.exists());
        journal.close().unwrap();
        assert_eq!(fs::read_dir(&journals).unwrap().count(), 0);
    }

    #[test]
    fn missing_parts_are_fine_and_remaining_ones_are_reported_and_retried() {
        let dir = tempfile::tempdir().unwrap();
        let journals = dir.path().join("journals");
        let (absent, full) = (dir.path().join("absent"), dir.path().join("full"));
        fs::create_dir_all(&full).unwrap();
        // A file in place of a directory makes rmdir fail.
        let odd = full.join("file");
        fs::write(&odd, "").unwrap();
        let mut journal = UndoJournal::create(&journals, "t").unwrap();
        journal.record_undo(dir_undo(&absent)).unwrap();
        journal.record_undo(dir_undo(&odd)).unwrap();
        let (undone, left) = journal.undo(0, &mut quiet());
        assert_eq!((undone, left.len()), (0, 1), "{left:?}");
        drop(journal);
        fs::remove_file(&odd).unwrap();
        let mut again = only_abandoned(&journals);
        assert_eq!(again.len(), 1, "a finished undo is not retried");
        assert_eq!(again.undo(0, &mut quiet()), (0, vec![]));
    }

    #[test]
    fn torn_lines_are_ignored_and_malformed_ones_reported() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = UndoJournal::create(dir.path(), "t").unwrap();
        journal.record_undo(dir_undo(&dir.path().join("x"))).unwrap();
        journal.file.write_all(br#"{"line":"ahead","id":1,"un"#).unwrap();
        let path = journal.path.clone();
        drop(journal);
        let trusted = TrustedDir::open(dir.path(), rustix::process::geteuid().as_raw()).unwrap();
        let open = || UndoJournal::open(&trusted, path.file_name().unwrap(), &path).unwrap();
        for _ in 0..2 {
            let journal = open().unwrap();
            assert_eq!(journal.len(), 1);
        }
        fs::write(&path, "{\"line\":\"begin\"}\n").unwrap();
        let found = UndoJournal::open_abandoned(dir.path());
        assert!(found.journals.is_empty());
        assert!(found.unreadable[0].reason.contains("line 1"), "{found:?}");
        fs::write(&path, "").unwrap();
        assert!(open().is_none());
        assert!(!path.exists(), "the journal began nothing");
    }

    /// Creates the journal of an exited process; undoing it would create the file `ran`.
    fn forged(dir: &Path, ran: &Path) -> PathBuf {
        let mut journal = UndoJournal::create(dir, "t").unwrap();
        journal.record_undo(Undo::Cmd { run: format!("touch {}", ran.display()), timeout_s: 5 }).unwrap();
        journal.path.clone()
    }

    // Protects: a journal that another user could have written is reported and not acted upon.
    // Before, all of these were.
    #[test]
    fn journals_that_others_could_have_written_are_reported_and_left_alone() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let dir = tempfile::tempdir().unwrap();
        let (journals, ran) = (dir.path().join("state/journals"), dir.path().join("ran"));
        let path = forged(&journals, &ran);
        let set_mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let refused = |why: &str| {
            let mut found = UndoJournal::open_abandoned(&journals);
            found.journals.iter_mut().for_each(|journal| drop(journal.undo(0, &mut quiet())));
            assert!(!ran.exists(), "{why}");
            assert!(found.unreadable.is_empty() && found.untrusted.len() == 1, "{why}: {found:?}");
            let left = &found.untrusted[0];
            assert!(left.what.contains(&path.display().to_string()) && left.reason.contains(why), "{left:?}");
            assert!(path.exists());
        };
        for place in [&path, &journals, &dir.path().join("state")] {
            for bits in [0o020, 0o002] {
                let mode = fs::metadata(place).unwrap().permissions().mode() & 0o777;
                set_mode(place, mode | bits);
                refused("others can write to");
                set_mode(place, mode);
            }
        }
        let second = dir.path().join("second");
        fs::hard_link(&path, &second).unwrap();
        refused("2 names");
        fs::remove_file(&second).unwrap();
        if rustix::process::geteuid().is_root() {
            for place in [&path, &journals, &dir.path().join("state")] {
                chown(place, Some(65534), None).unwrap();
                refused("user 65534 owns");
                chown(place, Some(0), None).unwrap();
            }
        } else {
            eprintln!("SKIPPED: only root can change a file's owner");
        }
        // Restore this user's own file.
        only_abandoned(&journals).undo(0, &mut quiet());
        assert!(ran.exists());
    }

    // Protects: journals of earlier versions, which others could read, are accepted and made private.
    #[test]
    fn readable_journals_of_earlier_versions_are_accepted() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (journals, ran) = (dir.path().join("journals"), dir.path().join("ran"));
        let path = forged(&journals, &ran);
        let set_mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&journals), mode(&path)), (0o700, 0o600));
        set_mode(&journals, 0o755);
        set_mode(&path, 0o644);
        let mut found = UndoJournal::open_abandoned(&journals);
        assert_eq!((found.untrusted.len(), found.journals.len()), (0, 1));
        assert_eq!(mode(&path), 0o600);
        found.journals[0].undo(0, &mut quiet());
        assert!(ran.exists());
        UndoJournal::create(&journals, "t").unwrap();
        assert_eq!(mode(&journals), 0o700);
    }

    // Protects: a command whose builder was killed does not keep writing.
    #[test]
    fn a_command_left_running_is_killed() {
        use std::os::unix::process::CommandExt as _;
        let dir = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let mut journal = UndoJournal::create(dir.path(), "t").unwrap();
        journal.started(child.id());
        drop(journal);
        let mut journal = only_abandoned(dir.path());
        journal.undo(0, &mut quiet());
        assert!(!child.wait().unwrap().success());
    }
}
