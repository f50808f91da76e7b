//! Calls on whole files and directories by name: each read or write is one call on the file of its number, and moves
//! nothing. Sources: open(2), stat(2), statx(2), unlink(2), mkdir(2), rmdir(2).

use crate::backend::psync::execute_common;
use crate::backend::{BlockContext, Completion, Errno, SyncBackend, has_context};
use crate::content::Mismatch;
use crate::op::BlockOp;
use plumb_workload::OpKind;
use plumb_workload::backend::FileCall;
use rustix::fs::{Mode, OFlags, RawMode};
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

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
fn make_with_parents(path: &CStr, mode: Mode) -> rustix::io::Result<()> {
    let make = || rustix::fs::mkdir(path, mode);
    let made = make();
    if made != Err(rustix::io::Errno::NOENT) {
        return made;
    }
    let parent = Path::new(OsStr::from_bytes(path.to_bytes())).parent();
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
    let Some(parent) = parent.and_then(|parent| CString::new(parent.as_os_str().as_bytes()).ok()) else { return made };
    match make_with_parents(&parent, mode) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => make(),
        failed => failed,
    }
}

/// One call, and the names it is done on.
pub(crate) struct WholeFiles {
    context: BlockContext,
    call: FileCall,
    paths: Vec<CString>,
    /// A file that was made, until it is closed outside the time of its op.
    made: Option<OwnedFd>,
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
        let path = name.as_c_str();
        let mode = |mode: u32| Mode::from_raw_mode(mode as RawMode);
        let called = match self.call {
            FileCall::Create => {
                let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC;
                crate::raw_open::open(path, flags, mode(files.new.opened)).map(|file| self.made = Some(file))
            }
            FileCall::Stat | FileCall::StatDir => rustix::fs::stat(path).map(drop),
            FileCall::Lstat => rustix::fs::lstat(path).map(drop),
            #[cfg(target_os = "linux")]
            FileCall::Statx => {
                let (flags, all) = (rustix::fs::AtFlags::empty(), rustix::fs::StatxFlags::ALL);
                rustix::fs::statx(rustix::fs::CWD, path, flags, all).map(drop)
            }
            #[cfg(not(target_os = "linux"))]
            FileCall::Statx => Err(rustix::io::Errno::NOSYS),
            FileCall::Unlink => rustix::fs::unlink(path),
            FileCall::Mkdir if files.makes_parents => make_with_parents(path, mode(files.new.directory)),
            FileCall::Mkdir => rustix::fs::mkdir(path, mode(files.new.directory)),
            FileCall::Rmdir => rustix::fs::rmdir(path),
        };
        if let Err(error) = called {
            let errno = Errno::from(error);
            return if files.passes_over_errno == Some(errno.0) { Ok(0) } else { Err(errno) };
        }
        Ok(u64::from(op.length))
    }

    fn after(&mut self, op: &BlockOp, moved: u64) -> Result<(), Box<Mismatch>> {
        self.made = None;
        self.context.payload.after(op, 0, moved)
    }

    fn works_between_ops(&self) -> bool {
        self.call == FileCall::Create || self.context.payload.works_each_op()
    }
}
