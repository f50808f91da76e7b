//! The undo journal: how to take down what stands, written before it is built.
//!
//! One file for each building process, JSON lines: who it is, then what will undo each act, appended and on disk before
//! the act itself, then what has been undone. While its process lives, the file is locked (`flock`): whoever gets the lock
//! may take down what is written in it.

use crate::command::{Witness, kill_group};
use crate::undo::{Gone, Undo};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The form of the file.
const VERSION: u32 = 1;

/// How the names of journals end.
const EXTENSION: &str = "journal";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
enum Line {
    /// Whose it is.
    Begin(Owner),
    /// What will undo the next act.
    Ahead { id: u64, undo: Undo },
    /// It was undone, or was never done.
    Done { id: u64 },
    /// A command runs, as the leader of a process group.
    Started { pid: u32, ticks: u64 },
    /// It runs no more.
    Ended { pid: u32 },
}

/// Whose journal it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    version: u32,
    pub(crate) pid: u32,
    /// The boot in which it ran: what lives in the kernel alone is gone with it.
    boot: String,
    pub(crate) tag: String,
}

/// An open journal, locked.
#[derive(Debug)]
pub(crate) struct Ledger {
    file: File,
    path: PathBuf,
    owner: Owner,
    /// What will have to be undone, in the order of building.
    ahead: Vec<(u64, Undo)>,
    next_id: u64,
    running: Vec<(u32, u64)>,
}

/// Something that could not be taken down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// What it is.
    pub what: String,
    /// Why it is still there.
    pub reason: String,
}

impl Ledger {
    /// A new one.
    pub(crate) fn create(dir: &Path, tag: &str) -> io::Result<Ledger> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        fs::create_dir_all(dir)?;
        let pid = std::process::id();
        let owner = Owner { version: VERSION, pid, boot: boot(), tag: tag.to_owned() };
        loop {
            let name = format!("{pid}-{}.{EXTENSION}", COUNTER.fetch_add(1, Ordering::Relaxed));
            let path = dir.join(name);
            let opened = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(&path);
            let file = match opened {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            // Who recovers may have seen the empty file first, locked and removed it.
            if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() || is_unlinked(&file)? {
                continue;
            }
            let mut ledger = Ledger { file, path, owner, ahead: vec![], next_id: 0, running: vec![] };
            ledger.append(&Line::Begin(ledger.owner.clone()))?;
            File::open(dir)?.sync_all()?;
            return Ok(ledger);
        }
    }

    /// Those whose processes are gone; they are this process's now. A file that cannot be read is left, and said.
    pub(crate) fn abandoned(dir: &Path) -> (Vec<Ledger>, Vec<Left>) {
        let (mut found, mut left) = (vec![], vec![]);
        let entries = match fs::read_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return (found, left),
            Err(error) => {
                return (
                    found,
                    vec![Left { what: format!("undo journals in {}", dir.display()), reason: error.to_string() }],
                );
            }
            Ok(entries) => entries,
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == EXTENSION));
        paths.sort();
        for path in paths {
            match Ledger::open(&path) {
                Ok(Some(ledger)) => found.push(ledger),
                Ok(None) => {}
                Err(error) => {
                    left.push(Left { what: format!("undo journal {}", path.display()), reason: error.to_string() });
                }
            }
        }
        (found, left)
    }

    /// One whose process is gone; `None` while it lives.
    fn open(path: &Path) -> io::Result<Option<Ledger>> {
        let file = match OpenOptions::new().read(true).append(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            locked => locked?,
        }
        if is_unlinked(&file)? {
            return Ok(None);
        }
        let mut lines = vec![];
        for (number, text) in BufReader::new(&file).split(b'\n').enumerate() {
            let text = text?;
            match serde_json::from_slice::<Line>(&text) {
                Ok(line) => lines.push(line),
                // A line that was torn by the crash: its act had not begun. An empty one closes it.
                Err(error) if error.is_eof() => {}
                Err(error) => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, format!("line {}: {error}", number + 1)));
                }
            }
        }
        let mut lines = lines.into_iter();
        let owner = match lines.next() {
            Some(Line::Begin(owner)) if owner.version == VERSION => owner,
            Some(Line::Begin(owner)) => {
                let message = format!("it was written by another version of Plumb (form {})", owner.version);
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            // Nothing was begun.
            None => {
                fs::remove_file(path)?;
                return Ok(None);
            }
            Some(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "it does not say whose it is")),
        };
        let (mut ahead, mut running, mut next_id) = (vec![], vec![], 0);
        for line in lines {
            match line {
                Line::Begin(_) => {}
                Line::Ahead { id, undo } => {
                    next_id = id + 1;
                    ahead.push((id, undo));
                }
                Line::Done { id } => ahead.retain(|(known, _)| *known != id),
                Line::Started { pid, ticks } => running.push((pid, ticks)),
                Line::Ended { pid } => running.retain(|(known, _)| *known != pid),
            }
        }
        let mut ledger = Ledger { file, path: path.to_owned(), owner, ahead, next_id, running };
        // Closes a torn line.
        ledger.file.write_all(b"\n")?;
        Ok(Some(ledger))
    }

    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Says how the next act is undone. It is on disk when this returns.
    pub(crate) fn ahead(&mut self, undo: Undo) -> io::Result<u64> {
        let id = self.next_id;
        self.append(&Line::Ahead { id, undo: undo.clone() })?;
        self.next_id += 1;
        self.ahead.push((id, undo));
        Ok(id)
    }

    /// The act was never done after all.
    pub(crate) fn cancel(&mut self, id: u64) -> io::Result<()> {
        self.append(&Line::Done { id })?;
        self.ahead.retain(|(known, _)| *known != id);
        Ok(())
    }

    /// How many things stand.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.ahead.len()
    }

    /// Something that was built and is gone.
    pub(crate) fn vanished(&self) -> Option<String> {
        self.ahead.iter().find(|(_, undo)| undo.stands() == Some(false)).map(|(_, undo)| undo.to_string())
    }

    /// Takes down what stands, the last first, down to `keep` things; how many were taken down, and what is left.
    pub(crate) fn undo(&mut self, keep: usize, listener: &mut dyn FnMut(&str)) -> (usize, Vec<Left>) {
        for (pid, ticks) in std::mem::take(&mut self.running) {
            end_process(pid, ticks);
        }
        let is_same_boot = self.owner.boot == boot();
        let (mut undone, mut left) = (0, vec![]);
        for (id, undo) in self.ahead.split_off(keep.min(self.ahead.len())).into_iter().rev() {
            let outcome = if is_same_boot || undo.survives_reboot() { undo.apply() } else { Ok(Gone::Already) };
            match outcome {
                Ok(gone) => {
                    if gone == Gone::Now {
                        undone += 1;
                        listener(&format!("taken down: {undo}"));
                    }
                    // Should this not reach the disk, it is tried once more, and found gone.
                    let _ = self.append(&Line::Done { id });
                }
                Err(reason) => {
                    listener(&format!("still there: {undo}: {reason}"));
                    left.push((id, undo, reason));
                }
            }
        }
        left.reverse();
        let said =
            left.iter().map(|(_, undo, reason)| Left { what: undo.to_string(), reason: reason.clone() }).collect();
        self.ahead.extend(left.into_iter().map(|(id, undo, _)| (id, undo)));
        (undone, said)
    }

    /// Removes the file; nothing may stand any more.
    pub(crate) fn close(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line).map_err(io::Error::other)?;
        text.push(b'\n');
        self.file.write_all(&text)?;
        self.file.sync_data()
    }
}

impl Witness for Ledger {
    fn started(&mut self, pid: u32) {
        if let Some(ticks) = started_ticks(pid) {
            self.running.push((pid, ticks));
            let _ = self.append(&Line::Started { pid, ticks });
        }
    }

    fn ended(&mut self, pid: u32) {
        self.running.retain(|(known, _)| *known != pid);
        let _ = self.append(&Line::Ended { pid });
    }
}

fn is_unlinked(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() == 0)
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// Ends a process that a builder left running when it was killed, with its group, and waits until it is gone: what it
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

/// When a process started, clock ticks since boot; `None` if there is none, or if it only waits to be reaped. Source:
/// proc_pid_stat(5), field 22.
fn started_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command may contain blanks and brackets; what follows its last bracket does not.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet() -> impl FnMut(&str) {
        |_: &str| ()
    }

    fn dir_undo(path: &Path) -> Undo {
        Undo::MountPoint { path: path.to_owned() }
    }

    // Protects: what a process wrote ahead is taken down by another one, in reverse order, once it is gone and not before.
    #[test]
    fn what_the_gone_left_is_taken_down_and_what_the_living_have_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let journals = dir.path().join("journals");
        let (outer, inner) = (dir.path().join("a"), dir.path().join("a/b"));
        let mut ledger = Ledger::create(&journals, "study plot 1").unwrap();
        for path in [&outer, &inner] {
            ledger.ahead(dir_undo(path)).unwrap();
            fs::create_dir(path).unwrap();
        }
        assert!(Ledger::abandoned(&journals).0.is_empty(), "it lives");
        drop(ledger);
        let (mut found, left) = Ledger::abandoned(&journals);
        assert!(left.is_empty());
        let mut ledger = found.pop().unwrap();
        assert_eq!(ledger.owner().tag, "study plot 1");
        // The inner one first: the outer one would not be empty.
        assert_eq!(ledger.undo(0, &mut quiet()), (2, vec![]));
        assert!(!outer.exists());
        ledger.close().unwrap();
        assert_eq!(fs::read_dir(&journals).unwrap().count(), 0);
    }

    #[test]
    fn what_is_gone_already_is_no_error_and_what_stays_is_told_and_tried_again() {
        let dir = tempfile::tempdir().unwrap();
        let journals = dir.path().join("journals");
        let (absent, full) = (dir.path().join("absent"), dir.path().join("full"));
        fs::create_dir_all(&full).unwrap();
        // A file where a directory is expected: rmdir fails.
        let odd = full.join("file");
        fs::write(&odd, "").unwrap();
        let mut ledger = Ledger::create(&journals, "t").unwrap();
        ledger.ahead(dir_undo(&absent)).unwrap();
        ledger.ahead(dir_undo(&odd)).unwrap();
        let (undone, left) = ledger.undo(0, &mut quiet());
        assert_eq!((undone, left.len()), (0, 1), "{left:?}");
        drop(ledger);
        fs::remove_file(&odd).unwrap();
        let mut again = Ledger::abandoned(&journals).0.pop().unwrap();
        assert_eq!(again.len(), 1, "what was undone is not tried again");
        assert_eq!(again.undo(0, &mut quiet()), (0, vec![]));
    }

    #[test]
    fn a_torn_line_is_an_act_that_never_began_and_a_false_one_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::create(dir.path(), "t").unwrap();
        ledger.ahead(dir_undo(&dir.path().join("x"))).unwrap();
        ledger.file.write_all(br#"{"line":"ahead","id":1,"un"#).unwrap();
        let path = ledger.path.clone();
        drop(ledger);
        for _ in 0..2 {
            let ledger = Ledger::open(&path).unwrap().unwrap();
            assert_eq!(ledger.len(), 1);
        }
        fs::write(&path, "{\"line\":\"begin\"}\n").unwrap();
        let (found, left) = Ledger::abandoned(dir.path());
        assert!(found.is_empty());
        assert!(left[0].reason.contains("line 1"), "{left:?}");
        fs::write(&path, "").unwrap();
        assert!(Ledger::open(&path).unwrap().is_none());
        assert!(!path.exists(), "nothing was begun in it");
    }

    // Protects: a command that its builder was killed from under does not go on writing.
    #[test]
    fn a_command_left_running_is_ended() {
        use std::os::unix::process::CommandExt as _;
        let dir = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let mut ledger = Ledger::create(dir.path(), "t").unwrap();
        ledger.started(child.id());
        drop(ledger);
        let mut ledger = Ledger::abandoned(dir.path()).0.pop().unwrap();
        ledger.undo(0, &mut quiet());
        assert!(!child.wait().unwrap().success());
    }
}
