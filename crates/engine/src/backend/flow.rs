//! Executes the ops of a flow, each as the system call that a program would make, relative to the root of the tree.
//!
//! Paths are written and content is made before the clock starts; between its two readings there is the system call.
//! Nothing outside the tree is touched: every path is relative to the directory given at the start, no last component
//! is followed where it is a symbolic link, and files come into existence by `O_CREAT|O_EXCL` and
//! `RENAME_NOREPLACE`, so that nothing that exists is ever replaced or truncated.
//!
//! Flows go through the page cache: `O_DIRECT` is for block I/O, where offsets and sizes are aligned. A read or write
//! that moves fewer bytes than asked for is reported as what it moved.

#![allow(unsafe_code)]

use super::{Completion, Errno, SyncBackend};
use crate::source::flow::{Access, FileMode, FlowOp, Program};
use crate::tree::{ExtraDirectory, PathBuffer, TreeShape};
use plumb_workload::OpKind;
use rustix::fd::{AsFd, IntoRawFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps, UTIME_NOW};
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::sync::Arc;

/// Room for the entries of a directory, as the C library's `readdir` has it.
const ENTRIES_BYTES: usize = 32 << 10;
/// Longest content of a symbolic link that is read.
const LINK_BYTES: usize = 4096;

/// Executes [`FlowOp`]s. `F` makes the content of each write; it is told the op, and given the bytes that it will write.
pub struct FlowBackend<F> {
    root: OwnedFd,
    shape: Arc<TreeShape>,
    handles: Vec<Option<OwnedFd>>,
    path: PathBuffer,
    other: PathBuffer,
    content: F,
    write_buffer: Box<[u8]>,
    read_buffer: Box<[u8]>,
    entries: Box<[MaybeUninit<u8>]>,
    rename: Rename,
}

/// How files are renamed: not every file system knows the flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rename {
    NoReplace,
    Plain,
}

impl<F: FnMut(&FlowOp, &mut [u8])> FlowBackend<F> {
    /// A backend for one worker that runs `program` over the tree whose root directory is `root`.
    pub fn new(root: OwnedFd, shape: Arc<TreeShape>, program: &Program, content: F) -> FlowBackend<F> {
        let request = program.max_request() as usize;
        FlowBackend {
            root,
            shape,
            handles: (0..program.handles()).map(|_| None).collect(),
            path: PathBuffer::new(),
            other: PathBuffer::new(),
            content,
            write_buffer: vec![0; request].into_boxed_slice(),
            // At least what `readlink` reads.
            read_buffer: vec![0; request.max(LINK_BYTES)].into_boxed_slice(),
            entries: vec![MaybeUninit::uninit(); ENTRIES_BYTES].into_boxed_slice(),
            rename: if cfg!(target_os = "linux") { Rename::NoReplace } else { Rename::Plain },
        }
    }

    /// Closes every handle, at the end of a phase; the first error of any `close` is returned.
    pub fn close_all(&mut self) -> Completion {
        let mut done = Ok(0);
        for handle in &mut self.handles {
            if let Some(file) = handle.take() {
                done = done.and(close(file));
            }
        }
        done
    }

    /// Makes everything that was written durable, and the tree itself: `syncfs`. It flushes whatever else lies on that
    /// file system too.
    pub fn flush(&self) -> Completion {
        #[cfg(target_os = "linux")]
        let done = rustix::fs::syncfs(&self.root);
        #[cfg(not(target_os = "linux"))]
        let done = rustix::fs::fsync(&self.root).map(|()| rustix::fs::sync());
        nothing_moved(done)
    }

    #[inline]
    fn opened(&mut self, op: &FlowOp, opened: rustix::io::Result<OwnedFd>) -> Completion {
        match opened {
            Ok(file) => {
                self.handles[usize::from(op.handle)] = Some(file);
                Ok(0)
            }
            Err(error) => Err(errno(error)),
        }
    }

    #[inline]
    fn file(&self, op: &FlowOp) -> Result<&OwnedFd, Errno> {
        self.handles.get(usize::from(op.handle)).and_then(Option::as_ref).ok_or(Errno(libc::EBADF))
    }

    fn renamed(&mut self) -> Completion {
        #[cfg(target_os = "linux")]
        if self.rename == Rename::NoReplace {
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            let (from, to) = (self.path.as_c_str(), self.other.as_c_str());
            match rustix::fs::renameat_with(&self.root, from, &self.root, to, flags) {
                // What a file system that does not know the flag says, rename(2).
                Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => self.rename = Rename::Plain,
                done => return nothing_moved(done),
            }
        }
        nothing_moved(rustix::fs::renameat(&self.root, self.path.as_c_str(), &self.root, self.other.as_c_str()))
    }

    #[cfg(target_os = "linux")]
    fn read_directory(&mut self) -> Completion {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(&self.root, self.path.as_c_str(), flags, Mode::empty()).map_err(errno)?;
        let mut entries = rustix::fs::RawDir::new(directory.as_fd(), &mut self.entries);
        while let Some(entry) = entries.next() {
            entry.map_err(errno)?;
        }
        close(directory)
    }

    #[cfg(not(target_os = "linux"))]
    fn read_directory(&mut self) -> Completion {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(&self.root, self.path.as_c_str(), flags, Mode::empty()).map_err(errno)?;
        for entry in rustix::fs::Dir::new(directory).map_err(errno)? {
            entry.map_err(errno)?;
        }
        Ok(0)
    }
}

impl<F: FnMut(&FlowOp, &mut [u8])> SyncBackend for FlowBackend<F> {
    type Op = FlowOp;

    fn path_of(&self, op: &FlowOp) -> PathBuf {
        let mut path = PathBuffer::new();
        write_path(&self.shape, op, &mut path);
        path.as_path().to_owned()
    }

    fn finish(&mut self) -> Result<(), Errno> {
        self.close_all().map(|_| ())
    }

    #[inline]
    fn before(&mut self, op: &FlowOp) {
        match op.kind {
            OpKind::Write => (self.content)(op, &mut self.write_buffer[..op.length as usize]),
            OpKind::Read
            | OpKind::Close
            | OpKind::Fsync
            | OpKind::Fdatasync
            | OpKind::Truncate
            | OpKind::Fallocate
            | OpKind::Delay => {}
            OpKind::Create | OpKind::Open => {
                // A handle that is still open is closed here, outside the clock.
                self.handles[usize::from(op.handle)] = None;
                write_path(&self.shape, op, &mut self.path);
            }
            OpKind::Symlink => {
                self.shape.write_link(op.file, &mut self.path);
                self.shape.write_path(op.other, &mut self.other);
            }
            OpKind::Rename | OpKind::Link => {
                write_path(&self.shape, op, &mut self.path);
                self.shape.write_path(op.other, &mut self.other);
            }
            _ => write_path(&self.shape, op, &mut self.path),
        }
    }

    #[inline]
    fn execute(&mut self, op: &FlowOp) -> Completion {
        let root = &self.root;
        match op.kind {
            OpKind::Create => {
                let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let opened = rustix::fs::openat(root, self.path.as_c_str(), flags, mode(op.mode));
                self.opened(op, opened)
            }
            OpKind::Open => {
                let access = match op.access {
                    Access::Read => OFlags::RDONLY,
                    Access::ReadWrite => OFlags::RDWR,
                };
                let flags = access | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let opened = rustix::fs::openat(root, self.path.as_c_str(), flags, Mode::empty());
                self.opened(op, opened)
            }
            OpKind::Close => match self.handles.get_mut(usize::from(op.handle)).and_then(Option::take) {
                Some(file) => close(file),
                None => Err(Errno(libc::EBADF)),
            },
            OpKind::Read => {
                let file = self.handles.get(usize::from(op.handle)).and_then(Option::as_ref);
                let file = file.ok_or(Errno(libc::EBADF))?;
                moved(rustix::io::pread(file, &mut self.read_buffer[..op.length as usize], op.offset))
            }
            OpKind::Write => {
                moved(rustix::io::pwrite(self.file(op)?, &self.write_buffer[..op.length as usize], op.offset))
            }
            OpKind::Fsync => nothing_moved(rustix::fs::fsync(self.file(op)?)),
            OpKind::Fdatasync => nothing_moved(rustix::fs::fdatasync(self.file(op)?)),
            OpKind::Truncate => nothing_moved(rustix::fs::ftruncate(self.file(op)?, op.length)),
            OpKind::Fallocate => {
                let flags = rustix::fs::FallocateFlags::empty();
                nothing_moved(rustix::fs::fallocate(self.file(op)?, flags, op.offset, op.length))
            }
            OpKind::Stat => {
                let done = rustix::fs::statat(root, self.path.as_c_str(), AtFlags::SYMLINK_NOFOLLOW);
                nothing_moved(done.map(|_| ()))
            }
            OpKind::Utimens => {
                let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
                let times = Timestamps { last_access: now, last_modification: now };
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                nothing_moved(rustix::fs::utimensat(root, self.path.as_c_str(), &times, flags))
            }
            OpKind::Chmod => {
                nothing_moved(rustix::fs::chmodat(root, self.path.as_c_str(), mode(op.mode), AtFlags::empty()))
            }
            OpKind::Rename => self.renamed(),
            OpKind::Link => {
                let (from, to) = (self.path.as_c_str(), self.other.as_c_str());
                nothing_moved(rustix::fs::linkat(root, from, root, to, AtFlags::empty()))
            }
            OpKind::Symlink => nothing_moved(rustix::fs::symlinkat(self.path.as_c_str(), root, self.other.as_c_str())),
            OpKind::Readlink => {
                let done = rustix::fs::readlinkat_raw(root, self.path.as_c_str(), &mut self.read_buffer[..LINK_BYTES]);
                nothing_moved(done.map(|_| ()))
            }
            OpKind::Unlink => nothing_moved(rustix::fs::unlinkat(root, self.path.as_c_str(), AtFlags::empty())),
            OpKind::Mkdir => nothing_moved(rustix::fs::mkdirat(root, self.path.as_c_str(), Mode::from_raw_mode(0o755))),
            OpKind::Rmdir => nothing_moved(rustix::fs::unlinkat(root, self.path.as_c_str(), AtFlags::REMOVEDIR)),
            OpKind::Readdir => self.read_directory(),
            // The worker's loop waits; there is nothing to execute.
            OpKind::Delay => Ok(0),
            OpKind::Trim => Err(Errno(libc::EOPNOTSUPP)),
        }
    }
}

fn write_path(shape: &TreeShape, op: &FlowOp, path: &mut PathBuffer) {
    match op.kind {
        OpKind::Readdir => shape.write_leaf(op.file.0, path),
        OpKind::Mkdir | OpKind::Rmdir => shape.write_extra(ExtraDirectory::unpack(op.file), path),
        _ => shape.write_path(op.file, path),
    }
}

fn mode(mode: FileMode) -> Mode {
    Mode::from_raw_mode(match mode {
        FileMode::Public => 0o644,
        FileMode::Private => 0o600,
    })
}

/// Closes a file, and says how that went: an error of an earlier write may surface here, close(2).
#[inline]
fn close(file: OwnedFd) -> Completion {
    // SAFETY: the descriptor was owned by `file`, which gave it up, so nothing else uses or closes it.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(0),
        _ => Err(Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))),
    }
}

#[inline(always)]
fn errno(error: rustix::io::Errno) -> Errno {
    Errno(error.raw_os_error())
}

#[inline(always)]
fn nothing_moved(done: rustix::io::Result<()>) -> Completion {
    done.map(|()| 0).map_err(errno)
}

#[inline(always)]
fn moved(done: rustix::io::Result<usize>) -> Completion {
    done.map(|bytes| bytes as u64).map_err(errno)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Rng, StreamId};
    use crate::source::Source;
    use crate::source::flow::{Entry, FileId, FlowSource, FlowState, TreeState};
    use crate::tree::layout;
    use plumb_workload::flow::Choice;
    use plumb_workload::{Bytes, Content, Distribution, Flow, Pick, Step, TreeTarget};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::fs::{self, File};
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    use std::path::Path;
    use tempfile::TempDir;

    /// A laid-out tree in a directory of its own.
    struct Tree {
        directory: TempDir,
        shape: Arc<TreeShape>,
    }

    impl Tree {
        fn new(parent: &Path, files: u64, depth: u32, size: Distribution, preallocated_percent: u32) -> Tree {
            let target = TreeTarget {
                path: "tree".into(),
                files,
                width: 3,
                depth,
                size,
                preallocated_percent,
                content: Content::Zero,
            };
            let shape = Arc::new(TreeShape::new(&target, 7).unwrap());
            let directory = TempDir::new_in(parent).unwrap();
            let tree = Tree { directory, shape };
            layout(tree.root().as_fd(), &tree.shape, &mut |piece| piece.fill(b'p')).unwrap();
            tree
        }

        fn root(&self) -> OwnedFd {
            File::open(self.directory.path()).unwrap().into()
        }

        fn backend(&self, program: &Program) -> FlowBackend<impl FnMut(&FlowOp, &mut [u8]) + use<>> {
            FlowBackend::new(self.root(), self.shape.clone(), program, |_: &FlowOp, bytes: &mut [u8]| bytes.fill(b'w'))
        }

        /// Every name below the root: what it is.
        fn found(&self) -> BTreeMap<PathBuf, Found> {
            let mut found = BTreeMap::new();
            let mut open = vec![self.directory.path().to_owned()];
            while let Some(directory) = open.pop() {
                for entry in fs::read_dir(directory).unwrap() {
                    let path = entry.unwrap().path();
                    let metadata = fs::symlink_metadata(&path).unwrap();
                    let kind = metadata.file_type();
                    assert!(!kind.is_fifo());
                    let what = if kind.is_dir() {
                        open.push(path.clone());
                        Found::Directory
                    } else if kind.is_symlink() {
                        Found::Symlink
                    } else {
                        Found::File(metadata.len())
                    };
                    found.insert(path.strip_prefix(self.directory.path()).unwrap().to_owned(), what);
                }
            }
            found
        }

        /// What the workers believe is below the root.
        fn believed(&self, states: &[FlowState]) -> BTreeMap<PathBuf, Found> {
            let mut believed = BTreeMap::new();
            let mut path = PathBuffer::new();
            for level in 1..=self.shape.depth() {
                for number in 0..3u64.pow(level) {
                    self.shape.write_directory(level, number, &mut path);
                    believed.insert(path.as_path().to_owned(), Found::Directory);
                }
            }
            for state in states {
                for file in state.share().map(FileId) {
                    let what = match state.entry(file) {
                        None => continue,
                        Some(Entry::File { size }) => Found::File(size),
                        Some(Entry::Symlink) => Found::Symlink,
                    };
                    self.shape.write_path(file, &mut path);
                    believed.insert(path.as_path().to_owned(), what);
                }
                for directory in state.extra_directories() {
                    self.shape.write_extra(directory, &mut path);
                    believed.insert(path.as_path().to_owned(), Found::Directory);
                }
            }
            believed
        }
    }

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Found {
        Directory,
        File(u64),
        Symlink,
    }

    fn program(steps: Vec<Step>) -> Arc<Program> {
        Arc::new(Program::compile(&Flow { steps, count_transactions: false }).unwrap())
    }

    /// One op to its end, as a worker does it.
    fn run_op<F: FnMut(&FlowOp, &mut [u8])>(
        source: &mut FlowSource,
        backend: &mut FlowBackend<F>,
        op: &FlowOp,
    ) -> Completion {
        backend.before(op);
        let done = backend.execute(op);
        backend.after(op, done).unwrap();
        if done.is_err() {
            source.failed(op);
        }
        done
    }

    /// Directories on which to test: the default temporary directory, and memory where there is any.
    fn places() -> Vec<PathBuf> {
        let mut places = vec![std::env::temp_dir()];
        let memory = PathBuf::from("/dev/shm");
        match memory.is_dir() {
            true => places.push(memory),
            false => eprintln!("SKIPPED: tmpfs, because there is no /dev/shm"),
        }
        places
    }

    const STREAM: StreamId = StreamId { seed: 5, phase: 0, worker: 0 };

    #[test]
    fn every_kind_of_op_does_what_it_says() {
        for place in places() {
            let tree = Tree::new(&place, 9, 2, Distribution::Fixed(Bytes(10_000)), 33);
            let size = |bytes| Distribution::Fixed(Bytes(bytes));
            let same = Pick::Same;
            let steps = vec![
                Step::Create { handle: 0 },
                Step::WriteWhole { handle: 0, request: Bytes(4096) },
                Step::Fsync { handle: 0 },
                Step::Fdatasync { handle: 0 },
                Step::Append { handle: 0, size: size(500) },
                Step::ReadWhole { handle: 0, request: Bytes(4096) },
                Step::ReadRandom { handle: 0, size: size(512) },
                Step::WriteRandom { handle: 0, size: size(512) },
                Step::ReadAt { handle: 0, offset: Bytes(10_400), size: size(512) },
                Step::WriteAt { handle: 0, offset: Bytes(100), size: size(512) },
                Step::Fallocate { handle: 0, size: size(20_000) },
                Step::Truncate { handle: 0, size: size(15_000) },
                Step::Close { handle: 0 },
                Step::Chmod { file: same },
                Step::Utimens { file: same },
                Step::Stat { file: same },
                Step::Rename { file: same },
                Step::Link { file: same },
                Step::Symlink { file: same },
                Step::Readlink { file: same },
                Step::Open { file: Pick::Sequential, handle: 3, write: false },
                Step::ReadWhole { handle: 3, request: Bytes(1 << 20) },
                Step::Unlink { file: Pick::Sequential },
                Step::Mkdir {},
                Step::Mkdir {},
                Step::Rmdir {},
                Step::Readdir {},
                Step::Delay { time: plumb_workload::Nanos(1) },
            ];
            let program = program(steps);
            let mut source = FlowSource::new(&program, FlowState::new(&tree.shape, 0, 1).unwrap(), STREAM, Some(1));
            let mut backend = tree.backend(&program);
            let mut moved = Vec::new();
            let mut kinds = Vec::new();
            while let Some(op) = source.next() {
                let done = run_op(&mut source, &mut backend, &op);
                assert!(
                    done.is_ok(),
                    "{} of {} in {}: {done:?}",
                    op.kind.name(),
                    backend.path_of(&op).display(),
                    place.display()
                );
                kinds.push(op.kind);
                if op.kind.moves_bytes() {
                    moved.push(done.unwrap());
                }
            }
            let missing: Vec<_> = OpKind::ALL.iter().filter(|kind| !kinds.contains(kind)).collect();
            assert_eq!(missing, [&OpKind::Trim]);
            // The read at 10 400 of 10 500 bytes is short, and says so.
            assert_eq!(moved[..9], [4096, 4096, 1808, 500, 4096, 4096, 2308, moved[7], moved[8]]);
            assert_eq!(moved[9], 100);
            assert_eq!(source.skipped(), 0);
            assert!(backend.close_all().is_ok() && backend.flush().is_ok());

            let states = [source.into_state()];
            assert_eq!(tree.found(), tree.believed(&states));
            // Laid out are 3 and 6. File 0 became 1, got the further name 2 to which 4 leads, and lost the name 1.
            let path = |file| {
                let mut path = PathBuffer::new();
                tree.shape.write_path(FileId(file), &mut path);
                tree.directory.path().join(path.as_path())
            };
            let link = fs::canonicalize(path(4)).unwrap();
            assert_eq!(fs::metadata(link).unwrap().len(), 15_000);
            assert_eq!(fs::metadata(path(2)).unwrap().permissions().mode() & 0o777, 0o600);
            let written = fs::read(path(2)).unwrap();
            assert!(
                written[..10_500].iter().all(|byte| *byte == b'w') && written[10_500..].iter().all(|byte| *byte == 0)
            );
        }
    }

    #[test]
    fn what_is_in_the_way_is_neither_replaced_nor_truncated() {
        for place in places() {
            let tree = Tree::new(&place, 4, 0, Distribution::Fixed(Bytes(10)), 25);
            // Worker 0 has file 3; 0, 1 and 2 are free, and somebody has put something there.
            fs::write(tree.directory.path().join("f00000000"), "precious").unwrap();
            std::os::unix::fs::symlink("f00000003", tree.directory.path().join("f00000001")).unwrap();
            let before = tree.found();
            for step in [
                Step::Create { handle: 0 },
                Step::Rename { file: Pick::Random },
                Step::Link { file: Pick::Random },
                Step::Symlink { file: Pick::Random },
            ] {
                let program = program(vec![step]);
                let state = FlowState::new(&tree.shape, 0, 1).unwrap();
                let mut source = FlowSource::new(&program, state, STREAM, Some(2));
                let mut backend = tree.backend(&program);
                for _ in 0..2 {
                    let op = source.next().unwrap();
                    assert_eq!(run_op(&mut source, &mut backend, &op), Err(Errno(libc::EEXIST)), "{op:?}");
                }
            }
            assert_eq!(tree.found(), before);
            assert_eq!(fs::read(tree.directory.path().join("f00000000")).unwrap(), b"precious");
        }
    }

    #[test]
    fn a_symbolic_link_put_in_place_of_a_file_is_not_followed() {
        let tree = Tree::new(&std::env::temp_dir(), 1, 0, Distribution::Fixed(Bytes(10)), 100);
        let precious = tempfile::NamedTempFile::new().unwrap();
        let path = tree.directory.path().join("f00000000");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(precious.path(), &path).unwrap();
        let program = program(vec![
            Step::Open { file: Pick::Random, handle: 0, write: true },
            Step::Append { handle: 0, size: Distribution::Fixed(Bytes(5)) },
        ]);
        let mut source = FlowSource::new(&program, FlowState::new(&tree.shape, 0, 1).unwrap(), STREAM, Some(1));
        let mut backend = tree.backend(&program);
        let op = source.next().unwrap();
        assert_eq!(run_op(&mut source, &mut backend, &op), Err(Errno(libc::ELOOP)));
        assert_eq!(source.next(), None);
        assert_eq!(precious.as_file().metadata().unwrap().len(), 0);
    }

    #[test]
    fn opening_an_open_handle_closes_the_file_before() {
        let tree = Tree::new(&std::env::temp_dir(), 3000, 1, Distribution::Fixed(Bytes(1)), 0);
        let program = program(vec![Step::Create { handle: 0 }]);
        let mut source = FlowSource::new(&program, FlowState::new(&tree.shape, 0, 1).unwrap(), STREAM, None);
        let mut backend = tree.backend(&program);
        // More files than a process may have open.
        let mut made = 0;
        while let Some(op) = source.next() {
            run_op(&mut source, &mut backend, &op).unwrap();
            made += 1;
        }
        assert_eq!(made, 3000);
    }

    #[test]
    fn ops_without_their_file_are_errors_and_no_panics() {
        let tree = Tree::new(&std::env::temp_dir(), 1, 0, Distribution::Fixed(Bytes(1)), 0);
        let program = program(vec![Step::Stat { file: Pick::Random }]);
        let mut backend = tree.backend(&program);
        for kind in [OpKind::Close, OpKind::Fsync, OpKind::Read, OpKind::Write, OpKind::Truncate, OpKind::Fallocate] {
            let op = FlowOp {
                kind,
                access: Access::Read,
                mode: FileMode::Public,
                handle: 9,
                file: FileId(0),
                other: FileId(0),
                offset: 0,
                length: 0,
            };
            backend.before(&op);
            assert_eq!(backend.execute(&op), Err(Errno(libc::EBADF)), "{kind:?}");
        }
    }

    fn pick() -> impl Strategy<Value = Pick> {
        prop_oneof![
            3 => Just(Pick::Random),
            1 => Just(Pick::Sequential),
            1 => Just(Pick::RoundRobin),
            1 => Just(Pick::Same),
            1 => (0.0..2.0f64).prop_map(|theta| Pick::Zipf { theta }),
        ]
    }

    fn sizes() -> impl Strategy<Value = Distribution> {
        prop_oneof![
            (0u64..9000).prop_map(|size| Distribution::Fixed(Bytes(size))),
            (0u64..500, 500u64..9000).prop_map(|(min, max)| Distribution::Uniform { min: Bytes(min), max: Bytes(max) }),
            (1u64..2000, 0.5..3.0f64).prop_map(|(mean, shape)| Distribution::Gamma { mean: Bytes(mean), shape }),
        ]
    }

    fn step() -> impl Strategy<Value = Step> {
        let handle = || 0u16..2;
        let request = || (500u64..9000).prop_map(Bytes);
        let plain = prop_oneof![
            3 => handle().prop_map(|handle| Step::Create { handle }),
            3 => (pick(), handle()).prop_map(|(file, handle)| Step::Open { file, handle, write: true }),
            1 => handle().prop_map(|handle| Step::Close { handle }),
            1 => (handle(), request()).prop_map(|(handle, request)| Step::ReadWhole { handle, request }),
            1 => (handle(), sizes()).prop_map(|(handle, size)| Step::ReadRandom { handle, size }),
            1 => (handle(), 0u64..9000, sizes())
                .prop_map(|(handle, offset, size)| Step::ReadAt { handle, offset: Bytes(offset), size }),
            1 => (handle(), request()).prop_map(|(handle, request)| Step::WriteWhole { handle, request }),
            1 => (handle(), sizes()).prop_map(|(handle, size)| Step::WriteRandom { handle, size }),
            1 => (handle(), 0u64..9000, sizes())
                .prop_map(|(handle, offset, size)| Step::WriteAt { handle, offset: Bytes(offset), size }),
            2 => (handle(), sizes()).prop_map(|(handle, size)| Step::Append { handle, size }),
            1 => pick().prop_map(|file| Step::Stat { file }),
            1 => pick().prop_map(|file| Step::Utimens { file }),
            1 => pick().prop_map(|file| Step::Chmod { file }),
            2 => pick().prop_map(|file| Step::Rename { file }),
            2 => pick().prop_map(|file| Step::Link { file }),
            1 => pick().prop_map(|file| Step::Symlink { file }),
            1 => pick().prop_map(|file| Step::Readlink { file }),
            2 => pick().prop_map(|file| Step::Unlink { file }),
            1 => Just(Step::Mkdir {}),
            1 => Just(Step::Rmdir {}),
            1 => Just(Step::Readdir {}),
            1 => (handle(), sizes()).prop_map(|(handle, size)| Step::Truncate { handle, size }),
            1 => (handle(), sizes()).prop_map(|(handle, size)| Step::Fallocate { handle, size }),
        ];
        plain.prop_recursive(3, 24, 6, |inner| {
            let steps = || proptest::collection::vec(inner.clone(), 1..6);
            prop_oneof![
                (0u64..4, steps()).prop_map(|(times, steps)| Step::Loop { times, steps }),
                proptest::collection::vec((0.1..5.0f64, steps()), 1..4).prop_map(|choices| Step::Mix {
                    choices: choices.into_iter().map(|(weight, steps)| Choice { weight, steps }).collect()
                }),
            ]
        })
    }

    /// Steps that open both handles somewhere, so that they compile.
    fn steps() -> impl Strategy<Value = Vec<Step>> {
        proptest::collection::vec(step(), 1..12).prop_map(|mut steps| {
            steps.push(Step::Create { handle: 0 });
            steps.push(Step::Open { file: Pick::Random, handle: 1, write: true });
            steps
        })
    }

    /// Runs one phase, the workers' ops interleaved, a few of them made to fail; the states afterwards.
    fn run_phase(tree: &Tree, state: TreeState, workers: u32, steps: Vec<Step>, chance: &mut Rng) -> Vec<FlowState> {
        let program = program(steps);
        let states = state.split(workers).unwrap();
        let mut running: Vec<_> = states
            .into_iter()
            .enumerate()
            .map(|(worker, state)| {
                let share = state.share();
                let stream = StreamId { seed: chance.next(), phase: 0, worker: worker as u32 };
                (share, FlowSource::new(&program, state, stream, Some(20)), tree.backend(&program))
            })
            .collect();
        for _ in 0..200 {
            for (share, source, backend) in &mut running {
                let Some(op) = source.next() else { continue };
                let on_file = !matches!(op.kind, OpKind::Mkdir | OpKind::Rmdir | OpKind::Readdir | OpKind::Delay);
                assert!(!on_file || share.contains(&op.file.0), "{op:?} is outside {share:?}");
                let renames = matches!(op.kind, OpKind::Rename | OpKind::Link | OpKind::Symlink);
                assert!(!renames || share.contains(&op.other.0), "{op:?} is outside {share:?}");
                // A failed `open` has closed what the handle held, and a `close` cannot fail here.
                if chance.below(20) == 0 && !matches!(op.kind, OpKind::Open | OpKind::Create | OpKind::Close) {
                    source.failed(&op);
                    continue;
                }
                match run_op(source, backend, &op) {
                    Ok(moved) if op.kind == OpKind::Write => assert_eq!(moved, op.length),
                    Ok(_) => {}
                    Err(error) => assert_eq!((op.kind, error), (OpKind::Readlink, Errno(libc::EINVAL)), "{op:?}"),
                }
            }
        }
        running.into_iter().map(|(_, source, _)| source.into_state()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn the_belief_of_any_program_is_the_truth(
            first in steps(),
            second in steps(),
            files in 0u64..60,
            preallocated in 0u32..=100,
            workers in (1u32..4, 1u32..4),
            seed in any::<u64>(),
        ) {
            let sizes = Distribution::Uniform { min: Bytes(0), max: Bytes(9000) };
            let tree = Tree::new(places().last().unwrap(), files, 1, sizes, preallocated);
            let mut chance = Rng::new(seed);
            let state = TreeState::new(tree.shape.clone());
            let states = run_phase(&tree, state, workers.0, first, &mut chance);
            prop_assert_eq!(tree.found(), tree.believed(&states));
            // Sizes of hard links that come to lie in different shares part, so these shares stay.
            let linked = states.iter().any(|state| state.share().any(|file| is_linked(&tree, file)));
            let workers = if linked { workers.0 } else { workers.1 };
            let state = TreeState::join(tree.shape.clone(), states);
            let states = run_phase(&tree, state, workers, second, &mut chance);
            prop_assert_eq!(tree.found(), tree.believed(&states));
        }
    }

    fn is_linked(tree: &Tree, file: u64) -> bool {
        use std::os::unix::fs::MetadataExt;
        let mut path = PathBuffer::new();
        tree.shape.write_path(FileId(file), &mut path);
        fs::symlink_metadata(tree.directory.path().join(path.as_path())).is_ok_and(|found| found.nlink() > 1)
    }
}
