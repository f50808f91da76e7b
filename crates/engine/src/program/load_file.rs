//! Clients that execute a load file of dbench. An operation is one op that includes all calls that dbench makes for it.
//! The extra work of a file server, such as looking up a name in its directory, is part of the measured time.

use super::descriptor::{errno, lock, zero_bytes};
use crate::backend::{Begun, Completion, Errno, NotBegun, SyncBackend};
use crate::barrier::{Barrier, Body};
use crate::bind::begin;
use crate::guard::Roots;
use crate::instances::{AnySource, AnySync, run_any_sync};
use crate::op::BlockOp;
use crate::open_dirs::OpenDirs;
use crate::pacer::{AnyPacer, Closed};
use crate::source::Source;
use crate::terms::Ended;
use crate::worker_error::WorkerError;
use plumb_workload::program::{LoadAct, LoadFile, LoadFileStep, LoadOp, LockKind};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Timespec, Timestamps};
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The client whose names are in a load file.
const RECORDED: &str = "client1";

/// Buffer size of the C library for reading a directory.
const ENTRIES_BYTES: usize = 32 << 10;

/// Maximum depth of nested directories that are removed.
const DEPTH_MAX: u32 = 64;

/// Maximum number of directories that a client keeps open.
const DIRECTORIES: u64 = 256;

/// dbench sets the access and change times of files this far back, s.
const OLDER_ACCESS_S: i64 = 10;
const OLDER_CHANGE_S: i64 = 12;

/// Error from using a load file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadGroupError {
    #[error("{path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}: {source}")]
    Parse { path: PathBuf, source: plumb_workload::program::LoadFileError },
}

/// Size limit of load files, bytes.
const LOAD_BYTES_MAX: u64 = 256 << 20;

/// State shared by all clients.
#[derive(Clone)]
pub(crate) struct LoadGroup {
    step: LoadFileStep,
    file: Arc<LoadFile>,
    directory: PathBuf,
    roots: Arc<Roots>,
    /// Number of `directory` among the roots.
    base: u32,
}

impl LoadGroup {
    /// Reads the load file, relative to `base`. The clients work in `directory`, one of the roots.
    pub(crate) fn new(
        step: &LoadFileStep,
        directory: PathBuf,
        roots: Arc<Roots>,
        base: &Path,
    ) -> Result<LoadGroup, LoadGroupError> {
        let path = base.join(&step.path);
        // The load published with dbench, ten minutes long, has 26 MB.
        let read = plumb_text::bounded::read_at_most(&path, LOAD_BYTES_MAX);
        let text = read.map_err(|source| LoadGroupError::Read { path: path.clone(), source })?;
        let file = LoadFile::parse(&String::from_utf8_lossy(&text));
        let file = file.map_err(|source| LoadGroupError::Parse { path, source })?;
        let base = roots.find(&directory.join(RECORDED)).map_or(u32::MAX, |(base, _)| base as u32);
        Ok(LoadGroup { step: step.clone(), file: Arc::new(file), directory, roots, base })
    }
}

/// A planned client.
pub(crate) struct LoadWorker {
    pub(crate) group: LoadGroup,
    /// Number of the client.
    pub(crate) client: u32,
}

impl LoadWorker {
    /// Returns the function that the client runs.
    pub(crate) fn body(self) -> Body {
        Box::new(move |barrier: &Barrier| self.run(barrier))
    }

    fn run(self, barrier: &Barrier) -> Result<Ended, WorkerError> {
        barrier.report().backend.write(b"psync");
        let failed = |source| WorkerError::Backend { backend: "load-file", source };
        let client = Client::new(&self.group, self.client).map_err(failed)?;
        let mut source = AnySource::Other(Box::new(LoadSource { file: Arc::clone(&self.group.file), at: 0 }));
        let mut backend = AnySync::Other(Box::new(client));
        let mut pacer = AnyPacer::Closed(Closed);
        let Some(mut passed) = barrier.pass() else { return Ok(Ended::Stopped) };
        let ended = match begin(&mut passed, backend.table(), pacer.table()) {
            Ok(()) => run_any_sync(&mut passed.context, &mut source, &mut backend, &mut pacer),
            Err(ended) => ended,
        };
        passed.stop_clock();
        Ok(ended)
    }
}

/// Yields the operations in order, repeatedly.
struct LoadSource {
    file: Arc<LoadFile>,
    at: usize,
}

impl Source for LoadSource {
    type Op = BlockOp;

    fn next(&mut self) -> Option<BlockOp> {
        let op = self.file.ops.get(self.at)?;
        let number = self.at as u32;
        self.at = if self.at + 1 == self.file.ops.len() { 0 } else { self.at + 1 };
        let length = if op.act.kind().moves_bytes() { op.moved as u32 } else { 0 };
        Some(BlockOp::load(op.act.kind(), number, op.offset, length))
    }
}

/// An open file with its name.
struct OpenFile {
    file: OwnedFd,
    name: u32,
}

/// A client's names and open files.
struct Client {
    step: LoadFileStep,
    file: Arc<LoadFile>,
    directory: PathBuf,
    base: u32,
    dirs: OpenDirs,
    /// Open directories for the new names of renames.
    others: OpenDirs,
    names: Vec<CString>,
    open: Vec<Option<OpenFile>>,
    zeros: Vec<u8>,
    read: Vec<u8>,
    entries: Box<[MaybeUninit<u8>]>,
}

impl Client {
    fn new(group: &LoadGroup, number: u32) -> std::io::Result<Client> {
        let mut dirs = OpenDirs::below_roots(Arc::clone(&group.roots), DIRECTORIES);
        let others = OpenDirs::below_roots(Arc::clone(&group.roots), DIRECTORIES);
        dirs.base(group.base).map_err(|error| std::io::Error::from_raw_os_error(error.0))?;
        let own = format!("client{number}");
        let names = group.file.names.iter().map(|name| CString::new(name.replace(RECORDED, &own)));
        let bytes = group.file.largest_bytes() as usize;
        Ok(Client {
            step: group.step.clone(),
            file: Arc::clone(&group.file),
            directory: group.directory.clone(),
            base: group.base,
            dirs,
            others,
            names: names.collect::<Result<_, _>>()?,
            open: (0..group.file.slots).map(|_| None).collect(),
            zeros: vec![0; bytes],
            read: vec![0; bytes],
            entries: vec![MaybeUninit::uninit(); ENTRIES_BYTES].into_boxed_slice(),
        })
    }

    fn file(&self, op: &LoadOp) -> Result<BorrowedFd<'_>, Errno> {
        let open = self.open.get(usize::from(op.slot)).and_then(Option::as_ref);
        open.map(|open| open.file.as_fd()).ok_or(Errno(libc::EBADF))
    }

    fn execute(&mut self, op: &LoadOp) -> Completion {
        match op.act {
            LoadAct::Open { directory, create, truncate } => self.open(op, directory, create, truncate),
            LoadAct::Close => {
                let open = self.open.get_mut(usize::from(op.slot)).and_then(Option::take).ok_or(Errno(libc::EBADF))?;
                super::close(open.file)
            }
            LoadAct::Read => self.read(op),
            LoadAct::Write => self.write(op),
            LoadAct::Flush => zero_bytes(rustix::fs::fsync(self.file(op)?)),
            LoadAct::Lock => lock(self.file(op)?, LockKind::Write, op.offset, op.length),
            LoadAct::Unlock => lock(self.file(op)?, LockKind::None, op.offset, op.length),
            LoadAct::Rename => {
                self.resolve(op.name);
                self.resolve(op.new_name);
                let Client { dirs, others, names, base, .. } = self;
                let (old, new) = (name_of(names, op.name)?, name_of(names, op.new_name)?);
                let done = dirs.call(*base, old, |dir, name| match others.at(*base, new) {
                    Ok(to) => rustix::fs::renameat(dir, name, to.dir, to.name),
                    Err(error) => Err(rustix::io::Errno::from_raw_os_error(error.0)),
                });
                dirs.renamed(*base, old);
                others.renamed(*base, old);
                self.changed(op, op.new_name, done)
            }
            LoadAct::Unlink => {
                self.resolve(op.name);
                let done = self.at(op.name, |dir, name| rustix::fs::unlinkat(dir, name, AtFlags::empty()));
                self.changed(op, op.name, done)
            }
            LoadAct::Rmdir => {
                self.resolve(op.name);
                let done = self.at(op.name, |dir, name| rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR));
                self.changed(op, op.name, done)
            }
            LoadAct::Mkdir => {
                self.resolve(op.name);
                // The directory may already exist.
                let _ = self.at(op.name, |dir, name| rustix::fs::mkdirat(dir, name, Mode::from_raw_mode(0o777)));
                Ok(0)
            }
            LoadAct::Deltree => {
                // Nothing exists the first time.
                match self.at(op.name, |dir, name| remove_files(dir, name, DEPTH_MAX)) {
                    Ok(()) | Err(Errno(libc::ENOENT)) => Ok(0),
                    Err(error) => Err(error),
                }
            }
            LoadAct::QueryPath => {
                self.resolve(op.name);
                Ok(0)
            }
            LoadAct::QueryFile => zero_bytes(rustix::fs::fstat(self.file(op)?).map(drop)),
            LoadAct::QueryFileSystem => zero_bytes(rustix::fs::statvfs(&self.directory).map(drop)),
            LoadAct::SetFile => self.set_times(op),
            LoadAct::Find => {
                self.resolve(op.name);
                let name = self.name(op.name)?;
                if name.to_bytes().iter().any(|letter| b"<>*?\"".contains(letter)) {
                    self.list(op.name, op.length);
                }
                Ok(0)
            }
            LoadAct::Sleep => {
                std::thread::sleep(Duration::from_micros(op.length));
                Ok(0)
            }
        }
    }

    fn name(&self, number: u32) -> Result<&CStr, Errno> {
        name_of(&self.names, number)
    }

    /// Runs a call on the directory of a path and its last name.
    fn at<T>(
        &mut self,
        number: u32,
        call: impl FnMut(BorrowedFd<'_>, &CStr) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        let Client { dirs, names, base, .. } = self;
        dirs.call(*base, name_of(names, number)?, call)
    }

    /// Opens a directory to read or flush it, as dbench does.
    fn open_parent(&mut self, number: u32) -> Result<OwnedFd, Errno> {
        let name = self.name(number)?.to_bytes();
        let end = name.iter().rposition(|&letter| letter == b'/');
        let parent = CString::new(end.map_or(b".".as_slice(), |end| &name[..end])).map_err(|_| Errno(libc::EINVAL))?;
        self.dirs.call(self.base, &parent, open_directory)
    }

    /// Searches a directory for a name, like a server whose clients ignore case.
    fn resolve(&mut self, number: u32) {
        let is_there = self.at(number, |dir, name| rustix::fs::statat(dir, name, AtFlags::empty()).map(drop)).is_ok();
        let Ok(name) = self.name(number) else { return };
        if is_there || self.step.no_resolve {
            return;
        }
        let wanted = name.to_bytes();
        let wanted = wanted.rsplit(|&letter| letter == b'/').next().unwrap_or(wanted).to_vec();
        self.each_entry(number, &mut |entry| !entry.eq_ignore_ascii_case(&wanted));
    }

    /// Lists up to `most` entries of a name's directory.
    fn list(&mut self, number: u32, most: u64) {
        let mut left = most;
        if left > 0 {
            self.each_entry(number, &mut |_| {
                left -= 1;
                left > 0
            });
        }
    }

    /// Reads the directory of a name while `goes_on` returns `true`.
    fn each_entry(&mut self, number: u32, goes_on: &mut dyn FnMut(&[u8]) -> bool) {
        let Ok(directory) = self.open_parent(number) else { return };
        // The directory may have been removed; dbench ignores that too.
        let _ = each_name(&directory, &mut self.entries, &mut |name| Ok(goes_on(name.to_bytes())));
    }

    /// Compares the result of a change in a directory with the recorded one; a different result is an error.
    fn changed(&mut self, op: &LoadOp, number: u32, done: Result<(), Errno>) -> Completion {
        match (done, op.succeeds) {
            (Ok(()), true) | (Err(_), false) => {}
            (Err(error), true) => return Err(error),
            (Ok(()), false) => return Err(Errno(libc::EEXIST)),
        }
        if self.step.sync_directories {
            let directory = self.open_parent(number)?;
            rustix::fs::fdatasync(directory).map_err(errno)?;
        }
        Ok(0)
    }

    fn open(&mut self, op: &LoadOp, is_directory: bool, create: bool, truncate: bool) -> Completion {
        self.resolve(op.name);
        let of_directory = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let wanted = [(create, OFlags::CREATE), (truncate, OFlags::TRUNC), (self.step.sync_open, OFlags::SYNC)];
        let of_file = wanted
            .into_iter()
            .filter(|(wanted, _)| *wanted)
            .fold(OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW, |flags, (_, flag)| flags | flag);
        if is_directory {
            let _ = self.at(op.name, |dir, name| rustix::fs::mkdirat(dir, name, Mode::RWXU));
        }
        let flags = if is_directory { of_directory } else { of_file };
        let mode = Mode::RUSR | Mode::WUSR;
        let opened = self.at(op.name, |dir, name| match crate::raw_open::openat(dir, name, flags, mode) {
            Err(rustix::io::Errno::ISDIR) => crate::raw_open::openat(dir, name, of_directory, mode),
            opened => opened,
        });
        match (opened, op.succeeds) {
            (Ok(file), true) => {
                rustix::fs::fstat(&file).map_err(errno)?;
                if let Some(slot) = self.open.get_mut(usize::from(op.slot)) {
                    *slot = Some(OpenFile { file, name: op.name });
                }
                Ok(0)
            }
            (Err(_), false) => Ok(0),
            (Err(error), true) => Err(error),
            (Ok(_), false) => Err(Errno(libc::EEXIST)),
        }
    }

    fn read(&mut self, op: &LoadOp) -> Completion {
        let open = self.open.get(usize::from(op.slot)).and_then(Option::as_ref).ok_or(Errno(libc::EBADF))?;
        let read = self.read.get_mut(..op.length as usize).ok_or(Errno(libc::EFAULT))?;
        Ok(rustix::io::pread(&open.file, read, op.offset).map_err(errno)? as u64)
    }

    fn write(&mut self, op: &LoadOp) -> Completion {
        let zeros = self.zeros.get(..op.length as usize).ok_or(Errno(libc::EFAULT))?;
        let file = self.file(op)?;
        let moved = rustix::io::pwrite(file, zeros, op.offset).map_err(errno)?;
        if self.step.flush_writes {
            rustix::fs::fsync(file).map_err(errno)?;
        }
        Ok(moved as u64)
    }

    #[allow(clippy::unnecessary_cast, reason = "the type differs between systems")]
    fn set_times(&mut self, op: &LoadOp) -> Completion {
        let open = self.open.get(usize::from(op.slot)).and_then(Option::as_ref).ok_or(Errno(libc::EBADF))?;
        let number = open.name;
        let found = rustix::fs::fstat(&open.file).map_err(errno)?;
        let at = |seconds: i64| Timespec { tv_sec: seconds as _, tv_nsec: 0 };
        let times = Timestamps {
            last_access: at(found.st_atime as i64 - OLDER_ACCESS_S),
            last_modification: at(found.st_mtime as i64 - OLDER_CHANGE_S),
        };
        // The name may no longer exist, or may belong to another file: dbench does not check.
        let _ = self.at(number, |dir, name| rustix::fs::utimensat(dir, name, &times, AtFlags::SYMLINK_NOFOLLOW));
        Ok(0)
    }
}

fn name_of(names: &[CString], number: u32) -> Result<&CStr, Errno> {
    names.get(number as usize).map(CString::as_c_str).ok_or(Errno(libc::ENOENT))
}

fn open_directory(root: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = crate::raw_open::openat(root, name, flags, Mode::empty())?;
    // As opendir(3) does.
    rustix::fs::fstat(&directory)?;
    Ok(directory)
}

/// Removes the files of a tree but keeps its directories. Follows no links.
fn remove_files(root: BorrowedFd<'_>, name: &CStr, depth: u32) -> rustix::io::Result<()> {
    let directory = open_directory(root, name)?;
    let mut buffer = vec![MaybeUninit::uninit(); ENTRIES_BYTES];
    each_name(&directory, &mut buffer, &mut |name| {
        if matches!(name.to_bytes(), b"." | b"..") {
            return Ok(true);
        }
        match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if FileType::from_raw_mode(found.st_mode) != FileType::Directory => {
                rustix::fs::unlinkat(&directory, name, AtFlags::empty())?;
            }
            Ok(_) if depth > 0 => remove_files(directory.as_fd(), name, depth - 1)?,
            Ok(_) | Err(_) => {}
        }
        Ok(true)
    })
}

/// Reads a directory while `goes_on` returns `true`.
#[cfg(target_os = "linux")]
fn each_name(
    directory: &OwnedFd,
    buffer: &mut [MaybeUninit<u8>],
    goes_on: &mut dyn FnMut(&CStr) -> rustix::io::Result<bool>,
) -> rustix::io::Result<()> {
    let mut entries = rustix::fs::RawDir::new(directory, buffer);
    while let Some(entry) = entries.next() {
        if !goes_on(entry?.file_name())? {
            break;
        }
    }
    Ok(())
}

/// Reads a directory while `goes_on` returns `true`.
#[cfg(not(target_os = "linux"))]
fn each_name(
    directory: &OwnedFd,
    _buffer: &mut [MaybeUninit<u8>],
    goes_on: &mut dyn FnMut(&CStr) -> rustix::io::Result<bool>,
) -> rustix::io::Result<()> {
    for entry in rustix::fs::Dir::read_from(directory)? {
        if !goes_on(entry?.file_name())? {
            break;
        }
    }
    Ok(())
}

impl SyncBackend for Client {
    type Op = BlockOp;

    fn execute(&mut self, op: &BlockOp) -> Completion {
        let file = Arc::clone(&self.file);
        let op = file.ops.get(op.file as usize).ok_or(Errno(libc::EINVAL))?;
        Client::execute(self, op)
    }

    fn begin(&mut self) -> Result<Begun, NotBegun> {
        Ok(Begun::AtOnce)
    }

    fn works_between_ops(&self) -> bool {
        false
    }

    fn path_of(&self, op: &BlockOp) -> PathBuf {
        let Some(op) = self.file.ops.get(op.file as usize) else { return PathBuf::new() };
        let open = || self.open.get(usize::from(op.slot)).and_then(Option::as_ref).map(|open| open.name);
        let number = match op.act {
            LoadAct::Close
            | LoadAct::Read
            | LoadAct::Write
            | LoadAct::Flush
            | LoadAct::Lock
            | LoadAct::Unlock
            | LoadAct::QueryFile
            | LoadAct::SetFile => open(),
            LoadAct::QueryFileSystem | LoadAct::Sleep => None,
            _ => Some(op.name),
        };
        let name = number.and_then(|number| self.names.get(number as usize));
        name.map_or_else(|| self.directory.clone(), |name| self.directory.join(name.to_string_lossy().as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Pinning;

    const LOAD: &str = "\
# A comment
Deltree \"\\clients\\client1\" NT_STATUS_OK
Mkdir \"\\clients\" NT_STATUS_OK
NTCreateX \"\\clients\\client1\" 0x1 0x2 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX \"\\clients\\client1\\a b\" 0x40 0x1 2 NT_STATUS_OBJECT_NAME_NOT_FOUND
NTCreateX \"\\clients\\client1\\a b\" 0x40 0x2 2 NT_STATUS_OK
WriteX 2 10 100 100 NT_STATUS_OK
ReadX 2 60 100 50 NT_STATUS_OK
SET_FILE_INFORMATION 2 1004 NT_STATUS_OK
LockX 2 0 10 NT_STATUS_OK
UnlockX 2 0 10 NT_STATUS_OK
Flush 2 NT_STATUS_OK
QUERY_FILE_INFORMATION 2 1 NT_STATUS_OK
QUERY_FS_INFORMATION 1 NT_STATUS_OK
Close 2 NT_STATUS_OK
Rename \"\\clients\\client1\\a b\" \"\\clients\\client1\\C\" NT_STATUS_OK
QUERY_PATH_INFORMATION \"\\clients\\client1\\c\" 1004 NT_STATUS_OK
FIND_FIRST \"\\clients\\client1\\*\" 260 1 0 NT_STATUS_OK
Unlink \"\\clients\\client1\\a b\" NT_STATUS_OBJECT_NAME_NOT_FOUND
";

    fn client(text: &str, directory: &Path) -> (Client, LoadSource) {
        let step = LoadFileStep {
            path: "load".into(),
            sync_open: true,
            sync_directories: true,
            flush_writes: true,
            no_resolve: false,
        };
        std::fs::write(directory.join("load"), text).unwrap();
        let roots = Arc::new(Roots::new(&[directory.to_owned()], [], Pinning::Pinned));
        let group = LoadGroup::new(&step, directory.to_owned(), roots, directory).unwrap();
        (Client::new(&group, 7).unwrap(), LoadSource { file: Arc::clone(&group.file), at: 0 })
    }

    /// Protects: in two passes over a load, all operations end as recorded, within the client's own
    /// directory, and move all existing data.
    #[test]
    fn a_load_can_be_repeated() {
        let place = tempfile::tempdir().unwrap();
        let (mut client, mut source) = client(LOAD, place.path());
        let mut moved = 0;
        for _ in 0..2 * client.file.ops.len() {
            let op = source.next().unwrap();
            moved += SyncBackend::execute(&mut client, &op).unwrap_or_else(|error| {
                panic!("{} of {}: {}", op.kind.name(), client.path_of(&op).display(), error.text())
            });
        }
        assert_eq!(moved, 300);
        let left: Vec<_> = std::fs::read_dir(place.path().join("clients/client7")).unwrap().collect();
        assert_eq!(left.len(), 1);
        let found = std::fs::metadata(place.path().join("clients/client7/C")).unwrap();
        assert_eq!(found.len(), 110);
        assert!(found.modified().unwrap() < std::time::SystemTime::now() - Duration::from_secs(9));
    }

    /// Protects: an operation that does not end as recorded is an error, with the client's path.
    #[test]
    fn a_result_other_than_recorded_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        let text = "Mkdir \"\\clients\" NT_STATUS_OK\nUnlink \"\\clients\\client1\\x\" NT_STATUS_OK\n";
        let (mut client, mut source) = client(text, place.path());
        let mut next = || source.next().unwrap();
        assert_eq!(SyncBackend::execute(&mut client, &next()), Ok(0));
        let op = next();
        assert_eq!(SyncBackend::execute(&mut client, &op), Err(Errno(libc::ENOENT)));
        assert_eq!(client.path_of(&op), place.path().join("clients/client7/x"));
    }
}
