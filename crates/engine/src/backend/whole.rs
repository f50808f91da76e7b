//! Path-based calls on whole files and directories. Each read or write is one call on the file with its number and
//! moves no data. Sources: open(2), stat(2), statx(2), unlink(2), mkdir(2), rmdir(2).

use crate::backend::psync::execute_common;
use crate::backend::{BlockContext, Completion, Errno, SyncBackend, has_context};
use crate::content::Mismatch;
use crate::guard::{Pinning, Roots};
use crate::op::BlockOp;
use crate::open_dirs::OpenDirs;
use plumb_workload::OpKind;
use plumb_workload::backend::FileCall;
use rustix::fs::{AtFlags, Mode, OFlags, RawMode};
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// Returns `true` if an op is a path-based call. In a stream, reads and writes are calls; in a sweep, the op has
/// the kind of the call.
fn is_call(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Read
            | OpKind::Write
            | OpKind::Trim
            | OpKind::Create
            | OpKind::Stat
            | OpKind::Unlink
            | OpKind::Mkdir
            | OpKind::Rmdir
    )
}

/// Calls `mkdir`; if parents are missing, creates them up to the base and retries. Other threads
/// may create them at the same time.
fn make_with_parents(dirs: &mut OpenDirs, base: u32, path: &CStr, mode: Mode) -> Result<(), Errno> {
    let made = dirs.call(base, path, |dir, name| rustix::fs::mkdirat(dir, name, mode));
    if made != Err(Errno(libc::ENOENT)) {
        return made;
    }
    let parent = Path::new(OsStr::from_bytes(path.to_bytes())).parent();
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
    let Some(parent) = parent.and_then(|parent| CString::new(parent.as_os_str().as_bytes()).ok()) else { return made };
    match make_with_parents(dirs, base, &parent, mode) {
        Ok(()) | Err(Errno(libc::EEXIST)) => dirs.call(base, path, |dir, name| rustix::fs::mkdirat(dir, name, mode)),
        failed => failed,
    }
}

/// Maximum number of open directories below those that the user named.
const DIRECTORIES: u64 = 64;

/// Makes one kind of call on each path.
pub(crate) struct WholeFiles {
    context: BlockContext,
    call: FileCall,
    /// Root of each file, and its path relative to the root.
    paths: Vec<(u32, CString)>,
    dirs: OpenDirs,
    /// `true` if the files have several directories, which are opened before each op is timed.
    has_directories: bool,
    /// The created file, closed after its op was timed.
    made: Option<OwnedFd>,
}

impl WholeFiles {
    pub(crate) fn new(call: FileCall, context: BlockContext) -> io::Result<WholeFiles> {
        let roots = match &context.files.roots {
            Some(roots) => Arc::clone(roots),
            None => Arc::new(Roots::new(&[], context.files.paths.iter().cloned(), Pinning::Pinned)),
        };
        let c_path = |path: &std::path::PathBuf| {
            let (root, rest) = roots.find(path).ok_or_else(|| {
                io::Error::other(format!("{}: this path does not name a file or directory", path.display()))
            })?;
            let rest = CString::new(rest.as_os_str().as_bytes()).map_err(|_| {
                io::Error::other(format!("{}: the path contains a zero byte; use another name", path.display()))
            })?;
            Ok::<_, io::Error>((root as u32, rest))
        };
        let paths = context.files.paths.iter().map(c_path).collect::<Result<Vec<_>, _>>()?;
        let has_directories = paths.iter().any(|(root, path)| *root != paths[0].0 || path.to_bytes().contains(&b'/'));
        let dirs = OpenDirs::below_roots(roots, DIRECTORIES);
        let mut whole = WholeFiles { context, call, paths, dirs, has_directories, made: None };
        whole.warm(0);
        Ok(whole)
    }

    fn warm(&mut self, file: usize) {
        if let Some((base, path)) = self.paths.get(file) {
            self.dirs.warm(*base, path);
        }
    }
}

impl SyncBackend for WholeFiles {
    type Op = BlockOp;

    has_context!();

    fn execute(&mut self, op: &BlockOp) -> Completion {
        let files = &mut self.context.files;
        if !is_call(op.kind) {
            // There are no open files to flush.
            return if files.fds.is_empty() { Ok(0) } else { execute_common(files, op) };
        }
        let Some((base, path)) = self.paths.get(op.file as usize) else { return Err(Errno(libc::ENOENT)) };
        let (base, path, dirs) = (*base, path.as_c_str(), &mut self.dirs);
        let mode = |mode: u32| Mode::from_raw_mode(mode as RawMode);
        let called = match self.call {
            FileCall::Create => {
                let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mode = mode(files.new.opened);
                let made = dirs.call(base, path, |dir, name| crate::raw_open::openat(dir, name, flags, mode));
                made.map(|file| self.made = Some(file))
            }
            FileCall::Stat | FileCall::StatDir => {
                dirs.call(base, path, |dir, name| rustix::fs::statat(dir, name, AtFlags::empty()).map(drop))
            }
            FileCall::Lstat => {
                dirs.call(base, path, |dir, name| rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map(drop))
            }
            #[cfg(target_os = "linux")]
            FileCall::Statx => {
                let (flags, all) = (AtFlags::empty(), rustix::fs::StatxFlags::ALL);
                dirs.call(base, path, |dir, name| rustix::fs::statx(dir, name, flags, all).map(drop))
            }
            #[cfg(not(target_os = "linux"))]
            FileCall::Statx => Err(Errno(libc::ENOSYS)),
            FileCall::Unlink => dirs.call(base, path, |dir, name| rustix::fs::unlinkat(dir, name, AtFlags::empty())),
            FileCall::Mkdir if files.makes_parents => make_with_parents(dirs, base, path, mode(files.new.directory)),
            FileCall::Mkdir => {
                let mode = mode(files.new.directory);
                dirs.call(base, path, |dir, name| rustix::fs::mkdirat(dir, name, mode))
            }
            FileCall::Rmdir => dirs.call(base, path, |dir, name| rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)),
        };
        if let Err(errno) = called {
            return if files.passes_over_errno == Some(errno.0) { Ok(0) } else { Err(errno) };
        }
        Ok(u64::from(op.length))
    }

    fn after(&mut self, op: &BlockOp, moved: u64) -> Result<(), Box<Mismatch>> {
        self.made = None;
        self.context.payload.after(op, 0, moved)
    }

    fn before(&mut self, op: &BlockOp) {
        self.context.payload.before(op, 0);
        if self.has_directories {
            self.warm(op.file as usize);
        }
    }

    fn works_between_ops(&self) -> bool {
        self.has_directories || self.call == FileCall::Create || self.context.payload.works_each_op()
    }
}
