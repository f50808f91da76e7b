//! Calls on whole files and directories by name: each read or write is one call on the file of its number, and moves
//! nothing. Sources: open(2), stat(2), statx(2), unlink(2), mkdir(2), rmdir(2).
#![allow(unsafe_code)]

use crate::backend::psync::execute_common;
use crate::backend::{BlockContext, Completion, Errno, SyncBackend, has_context};
use crate::op::BlockOp;
use plumb_workload::OpKind;
use plumb_workload::backend::FileCall;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// New files belong to their owner alone, as fio makes them.
const FILE_MODE: libc::mode_t = 0o600;
/// fio before 3.43 asks for a directory that nobody may enter, which fails for all but root; this is what it uses where it
/// makes directories for other calls.
const DIRECTORY_MODE: libc::mode_t = 0o700;

/// Whether an op is a call on a name: those of a stream read or write, those of a sweep are of the call's own kind.
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

/// `mkdir`, and once more when its missing parents were made. Another thread may have made any of them meanwhile.
fn make_with_parents(path: &CStr) -> libc::c_int {
    // SAFETY: a NUL-terminated path.
    let make = || unsafe { libc::mkdir(path.as_ptr(), DIRECTORY_MODE) };
    let made = make();
    if made == 0 || Errno::last().0 != libc::ENOENT {
        return made;
    }
    let parent = Path::new(OsStr::from_bytes(path.to_bytes())).parent();
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
    let Some(parent) = parent.and_then(|parent| CString::new(parent.as_os_str().as_bytes()).ok()) else { return made };
    if make_with_parents(&parent) < 0 && Errno::last().0 != libc::EEXIST {
        return -1;
    }
    make()
}

/// One call, and the names it is done on.
pub(crate) struct WholeFiles {
    context: BlockContext,
    call: FileCall,
    paths: Vec<CString>,
    /// A file that was made, until it is closed outside the time of its op.
    made: Option<RawFd>,
}

impl Drop for WholeFiles {
    fn drop(&mut self) {
        self.close_made();
    }
}

impl WholeFiles {
    pub(crate) fn new(call: FileCall, context: BlockContext) -> io::Result<WholeFiles> {
        let c_path = |path: &std::path::PathBuf| {
            CString::new(path.as_os_str().as_bytes())
                .map_err(|_| io::Error::other(format!("{}: a path with a zero byte; use another name", path.display())))
        };
        let paths = context.files.paths.iter().map(c_path).collect::<Result<_, _>>()?;
        Ok(WholeFiles { context, call, paths, made: None })
    }

    fn close_made(&mut self) {
        if let Some(fd) = self.made.take() {
            // SAFETY: opened by `execute`, and closed only here.
            unsafe { libc::close(fd) };
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
        let Some(name) = self.paths.get(op.file as usize) else { return Err(Errno(libc::ENOENT)) };
        let path = name.as_ptr();
        // SAFETY: stat is plain data, valid when zeroed; so is statx.
        let mut found: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut found_more: libc::statx = unsafe { std::mem::zeroed() };
        // SAFETY: a NUL-terminated path, and memory of the size that the call writes.
        let returned = unsafe {
            match self.call {
                FileCall::Create => libc::open(path, libc::O_CREAT | libc::O_RDWR | libc::O_CLOEXEC, FILE_MODE),
                FileCall::Stat | FileCall::StatDir => libc::stat(path, &raw mut found),
                FileCall::Lstat => libc::lstat(path, &raw mut found),
                FileCall::Statx => libc::statx(libc::AT_FDCWD, path, 0, libc::STATX_ALL, &raw mut found_more),
                FileCall::Unlink => libc::unlink(path),
                FileCall::Mkdir if files.makes_parents => make_with_parents(name),
                FileCall::Mkdir => libc::mkdir(path, DIRECTORY_MODE),
                FileCall::Rmdir => libc::rmdir(path),
            }
        };
        if returned < 0 {
            let errno = Errno::last();
            return if files.passes_over_errno == Some(errno.0) { Ok(0) } else { Err(errno) };
        }
        if self.call == FileCall::Create {
            self.made = Some(returned);
        }
        Ok(u64::from(op.length))
    }

    fn after(&mut self, op: &BlockOp, moved: u64) -> Result<(), String> {
        self.close_made();
        self.context.payload.after(op, 0, moved)
    }

    fn works_between_ops(&self) -> bool {
        self.call == FileCall::Create || self.context.payload.works_each_op()
    }
}
