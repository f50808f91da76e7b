//! Flows on real file systems: the source's assumptions match the files on disk.

use crate::backend::{Completion, Errno, SyncBackend};
use crate::clock::Clock;
use crate::program::calls::{Calls, Files, LINK_BYTES};
use crate::program::compile::Compiled;
use crate::program::content::RecordMemory;
use crate::program::file_set::{SetEntry, SetPlace};
use crate::program::op::Call;
use crate::program::op::CallOp;
use crate::program::rules::Over;
use crate::program::source::ProgramSource;
use crate::program::stream::Streams;
use crate::program::{SetState, TreeState};
use crate::rng::{Rng, StreamId};
use crate::source::Source;
use crate::tree::{FileId, PathBuffer, TreeShape, layout};
use plumb_workload::program::{Choice, CopyStep, MissingFile, OpenStep, ProgramMemory};
use plumb_workload::{Bytes, Content, Distribution, OpKind, Pick, Step, TreeTarget};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// A laid-out tree in its own directory, and another one for copies of its files.
struct Tree {
    directory: TempDir,
    copies: TempDir,
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
            directories: DIRECTORIES,
            content: Content::Zero,
        };
        let shape = Arc::new(TreeShape::new(&target, 7).unwrap());
        let (directory, copies) = (TempDir::new_in(parent).unwrap(), TempDir::new_in(parent).unwrap());
        let tree = Tree { directory, copies, shape };
        let stop = crate::signals::StopFlag::detached();
        layout(tree.root().as_fd(), &tree.shape, stop, &mut |piece| piece.fill(b'p')).unwrap();
        let empty = TreeShape::new(&TreeTarget { preallocated_percent: 0, directories: 0, ..target }, 7).unwrap();
        layout(File::open(tree.copies.path()).unwrap().as_fd(), &empty, stop, &mut |_| {}).unwrap();
        tree
    }

    /// Returns the files that have a copy, according to the workers and on disk.
    fn copies(&self, states: &[SetState]) -> [BTreeMap<u64, bool>; 2] {
        let mut path = PathBuffer::new();
        let mut is_there = |file: FileId| {
            self.shape.write_path(file, &mut path);
            self.copies.path().join(path.as_path()).is_file()
        };
        let all = || states.iter().flat_map(|state| state.share().map(move |file| (state, FileId(file))));
        let believed = all().map(|(state, file)| (file.0, state.has_copy(file)));
        [believed.collect(), all().map(|(_, file)| (file.0, is_there(file))).collect()]
    }

    fn root(&self) -> OwnedFd {
        File::open(self.directory.path()).unwrap().into()
    }

    fn backend(&self, program: &Compiled) -> Calls {
        let stream = StreamId { seed: 1, phase: 0, worker: 0 };
        let largest = (program.max_request as usize).max(LINK_BYTES);
        let memory =
            RecordMemory::with_content(ProgramMemory::default(), Content::Byte(b'w'), largest, stream).unwrap();
        let copies = (File::open(self.copies.path()).unwrap().into(), PathBuf::from("copies"));
        let place = SetPlace::new(self.root(), PathBuf::new(), Some(copies), self.shape.clone()).unwrap();
        let files = Files::Set(Box::new(place));
        let mut calls = Calls::new(files, program.handles, Streams::none(), memory, false, Clock::monotonic());
        calls.use_rules(&program.rules);
        calls
    }

    /// Returns every name below the root with its kind.
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

    /// Returns the names below the root according to the workers.
    fn believed(&self, states: &[SetState]) -> BTreeMap<PathBuf, Found> {
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
                    Some(SetEntry::File { size }) => Found::File(size),
                    Some(SetEntry::Symlink) => Found::Symlink,
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

/// Extra directories of each tree.
const DIRECTORIES: u32 = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Directory,
    File(u64),
    Symlink,
}

fn program(steps: Vec<Step>) -> Arc<Compiled> {
    Arc::new(Compiled::new(&steps, Over::FileSet, false).unwrap())
}

fn over(program: &Arc<Compiled>, state: SetState, stream: StreamId, passes: Option<u64>) -> ProgramSource {
    ProgramSource::new(program, 0, Some(state), stream, passes)
}

/// Completes one op, as a worker does.
fn run_op(source: &mut ProgramSource, backend: &mut Calls, op: &CallOp) -> Completion {
    backend.before(op);
    let done = backend.execute(op);
    match done {
        Ok(moved) => backend.after(op, moved).unwrap(),
        Err(_) => source.failed(op),
    }
    done
}

/// Returns the directories to test in: the default temporary directory, and memory if there is any.
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
fn every_kind_of_op_has_its_effect() {
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
            Step::Access { file: same },
            Step::Rename { file: same },
            Step::Link { file: same, to: None },
            Step::Symlink { file: same, to: None },
            Step::Readlink { file: same },
            Step::Open(OpenStep { file: Pick::Sequential, handle: 3, write: false, ..OpenStep::default() }),
            Step::ReadWhole { handle: 3, request: Bytes(1 << 20) },
            Step::Unlink { file: Pick::Sequential, missing: MissingFile::Fails },
            copy(Pick::Sequential, false),
            Step::Mkdir { file: Pick::Usual, mode: None, may_exist: false },
            Step::Mkdir { file: Pick::Usual, mode: None, may_exist: false },
            Step::Rmdir { file: Pick::Usual },
            Step::Readdir {},
            Step::Delay { time: plumb_workload::Nanos(1) },
        ];
        let program = program(steps);
        let mut source = over(&program, SetState::new(&tree.shape, 0, 1).unwrap(), STREAM, Some(1));
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
        let of_jobs = [OpKind::Trim, OpKind::SyncRange, OpKind::Syncfs, OpKind::EndFsync, OpKind::Evict];
        let of_scripts =
            [OpKind::Seek, OpKind::Lock, OpKind::Flush, OpKind::Sync, OpKind::Map, OpKind::Unmap, OpKind::Command];
        let of_connections = [OpKind::Send, OpKind::Receive, OpKind::Rr, OpKind::Crr];
        let of_load_files = [OpKind::Fstat, OpKind::Statfs, OpKind::Unlock, OpKind::RemoveTree];
        let others = of_jobs.into_iter().chain(of_scripts).chain(of_connections).chain(of_load_files);
        assert!(missing.into_iter().copied().eq(others));
        // The read at 10 400 of 10 500 bytes is short, and reports that.
        assert_eq!(moved[..9], [4096, 4096, 1808, 500, 4096, 4096, 2308, moved[7], moved[8]]);
        assert_eq!(moved[9], 100);
        assert_eq!(source.skipped(), 0);
        assert!(backend.finish().is_ok());

        let states = [source.into_state().unwrap()];
        assert_eq!(tree.found(), tree.believed(&states));
        let [believed, there] = tree.copies(&states);
        assert!(believed == there && there.values().filter(|is_there| **is_there).count() == 1, "{there:?}");
        // Laid out are 3 and 6. File 0 became 1, got the additional name 2 to which 4 leads, and lost the name 1.
        let path = |file| {
            let mut path = PathBuffer::new();
            tree.shape.write_path(FileId(file), &mut path);
            tree.directory.path().join(path.as_path())
        };
        let link = fs::canonicalize(path(4)).unwrap();
        assert_eq!(fs::metadata(link).unwrap().len(), 15_000);
        assert_eq!(fs::metadata(path(2)).unwrap().permissions().mode() & 0o777, 0o600);
        let written = fs::read(path(2)).unwrap();
        assert!(written[..10_500].iter().all(|byte| *byte == b'w') && written[10_500..].iter().all(|byte| *byte == 0));
    }
}

fn copy(file: Pick, moves: bool) -> Step {
    Step::Copy(CopyStep { file, to: "copies".to_owned(), request: Bytes(4096), moves })
}

// Protects: a copy contains its file's data and replaces an older one, and moved files are gone.
#[test]
fn copies_have_the_content_of_their_files() {
    let tree = Tree::new(&std::env::temp_dir(), 3, 1, Distribution::Fixed(Bytes(10_000)), 100);
    let program = program(vec![copy(Pick::Sequential, false), copy(Pick::Sequential, true)]);
    let mut source = over(&program, SetState::new(&tree.shape, 0, 1).unwrap(), STREAM, None);
    let mut backend = tree.backend(&program);
    let path = |root: &TempDir, file| {
        let mut path = PathBuffer::new();
        tree.shape.write_path(FileId(file), &mut path);
        root.path().join(path.as_path())
    };
    for file in 0..3 {
        fs::write(path(&tree.directory, file), vec![file as u8; 10_000]).unwrap();
    }
    let mut calls = Vec::new();
    while let Some(op) = source.next() {
        assert!(run_op(&mut source, &mut backend, &op).is_ok(), "{op:?}");
        assert_eq!(backend.path_of(&op).starts_with("copies"), op.is_on_copy(), "{op:?}");
        calls.push((op.kind, op.file, op.length));
    }
    use OpKind::{Close, Create, Open, Read, Unlink, Write};
    let copied = |file| {
        let moved =
            [4096, 4096, 1808].into_iter().flat_map(move |length| [(Read, file, length), (Write, file, length)]);
        [(Open, file, 0), (Create, file, 0)].into_iter().chain(moved).chain([(Close, file, 0); 2])
    };
    // Each step continues at its own position: 0 is copied, then moved; 1 and 2 likewise, whose copies exist by then.
    let moved = |file| [(Unlink, file, 0)].into_iter().chain(copied(file)).chain([(Unlink, file, 0)]);
    let all: Vec<_> = (0..3).flat_map(|file| copied(file).chain(moved(file))).collect();
    assert_eq!(calls, all);
    assert!(backend.finish().is_ok());
    for file in 0..3 {
        assert!(!path(&tree.directory, file).exists());
        assert_eq!(fs::read(path(&tree.copies, file)).unwrap(), vec![file as u8; 10_000]);
    }
}

// Protects: it is known which files have copies, in any number of shares of any size.
#[test]
fn copies_are_known_to_other_shares() {
    let tree = Tree::new(&std::env::temp_dir(), 200, 1, Distribution::Fixed(Bytes(10)), 100);
    let program = program(vec![copy(Pick::Sequential, false)]);
    let mut state = TreeState::new(tree.shape.clone());
    // Twice each, by more and by fewer workers: existing copies are removed first.
    for (workers, passes, removed) in [(4, 50, 0), (3, 66, 198), (1, 200, 200)] {
        let mut unlinked = 0;
        let mut states = Vec::new();
        for state in state.split(workers).unwrap() {
            let mut source = over(&program, state, STREAM, Some(passes));
            let mut backend = tree.backend(&program);
            while let Some(op) = source.next() {
                assert!(run_op(&mut source, &mut backend, &op).is_ok(), "{op:?}");
                unlinked += u32::from(op.kind == OpKind::Unlink);
            }
            states.push(source.into_state().unwrap());
        }
        assert_eq!(unlinked, removed, "{workers} workers");
        let [believed, there] = tree.copies(&states);
        assert!(believed == there && there.values().all(|is_there| *is_there));
        state = TreeState::join(tree.shape.clone(), states);
    }
}

// Protects: workers share the directories that exist in advance. Each is removed once, also
// by a worker that inherits it.
#[test]
fn preexisting_directories_are_removed_first() {
    // Number of directories that each worker of the first phase removes, and the number of workers of the second phase.
    for (at_first, workers) in [([1, 1, 1], 2), ([0, 2, 0], 1), ([2, 2, 0], 1)] {
        let tree = Tree::new(&std::env::temp_dir(), 0, 1, Distribution::Fixed(Bytes(0)), 0);
        let program = program(vec![Step::Rmdir { file: Pick::Usual }]);
        let remove = |state, passes| {
            let mut source = over(&program, state, STREAM, passes);
            let mut backend = tree.backend(&program);
            let mut removed = 0;
            while passes != Some(removed)
                && let Some(op) = source.next()
            {
                assert!(run_op(&mut source, &mut backend, &op).is_ok(), "{op:?} of {at_first:?} and {workers}");
                removed += 1;
            }
            (removed, source.into_state().unwrap())
        };
        let first = TreeState::new(tree.shape.clone()).split(3).unwrap();
        let (removed, states): (Vec<_>, Vec<_>) =
            first.into_iter().zip(at_first).map(|(state, passes)| remove(state, Some(passes))).unzip();
        assert_eq!(removed, at_first);
        assert_eq!(tree.found(), tree.believed(&states));
        let second = TreeState::join(tree.shape.clone(), states).split(workers).unwrap();
        let rest: u64 = second.into_iter().map(|state| remove(state, None).0).sum();
        assert_eq!(at_first.iter().sum::<u64>() + rest, u64::from(DIRECTORIES));
    }
}

#[test]
fn existing_files_are_neither_replaced_nor_truncated() {
    for place in places() {
        let tree = Tree::new(&place, 4, 0, Distribution::Fixed(Bytes(10)), 25);
        // Worker 0 has file 3; names 0, 1 and 2 are free in its state, but taken on disk.
        fs::write(tree.directory.path().join("f00000000"), "precious").unwrap();
        std::os::unix::fs::symlink("f00000003", tree.directory.path().join("f00000001")).unwrap();
        let before = tree.found();
        for step in [
            Step::Create { handle: 0 },
            Step::Rename { file: Pick::Random },
            Step::Link { file: Pick::Random, to: None },
            Step::Symlink { file: Pick::Random, to: None },
        ] {
            let program = program(vec![step]);
            let state = SetState::new(&tree.shape, 0, 1).unwrap();
            let mut source = over(&program, state, STREAM, Some(2));
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
        Step::Open(OpenStep { file: Pick::Random, handle: 0, write: true, ..OpenStep::default() }),
        Step::Append { handle: 0, size: Distribution::Fixed(Bytes(5)) },
    ]);
    let mut source = over(&program, SetState::new(&tree.shape, 0, 1).unwrap(), STREAM, Some(1));
    let mut backend = tree.backend(&program);
    let op = source.next().unwrap();
    assert_eq!(run_op(&mut source, &mut backend, &op), Err(Errno(libc::ELOOP)));
    assert_eq!(source.next(), None);
    assert_eq!(precious.as_file().metadata().unwrap().len(), 0);
}

#[test]
fn opening_an_open_handle_closes_the_previous_file() {
    let tree = Tree::new(&std::env::temp_dir(), 3000, 1, Distribution::Fixed(Bytes(1)), 0);
    let program = program(vec![Step::Create { handle: 0 }]);
    let mut source = over(&program, SetState::new(&tree.shape, 0, 1).unwrap(), STREAM, None);
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
fn ops_without_their_file_are_errors_instead_of_panics() {
    let tree = Tree::new(&std::env::temp_dir(), 1, 0, Distribution::Fixed(Bytes(1)), 0);
    let program = program(vec![Step::Stat { file: Pick::Random }]);
    let mut backend = tree.backend(&program);
    for kind in [OpKind::Close, OpKind::Fsync, OpKind::Read, OpKind::Write, OpKind::Truncate, OpKind::Fallocate] {
        let call = match kind {
            OpKind::Close => Call::Close,
            OpKind::Fsync => Call::Fsync,
            OpKind::Read => Call::ReadAt,
            OpKind::Write => Call::WriteAt,
            OpKind::Truncate => Call::Truncate,
            _ => Call::Fallocate,
        };
        let op = CallOp { handle: 9, is_bare: kind.moves_bytes(), ..CallOp::new(kind, call) };
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
        3 => (pick(), handle()).prop_map(|(file, handle)| Step::Open(OpenStep { file, handle, write: true, ..OpenStep::default() })),
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
        1 => pick().prop_map(|file| Step::Access { file }),
        1 => pick().prop_map(|file| Step::Utimens { file }),
        2 => (pick(), any::<bool>()).prop_map(|(file, moves)| copy(file, moves)),
        1 => pick().prop_map(|file| Step::Chmod { file }),
        2 => pick().prop_map(|file| Step::Rename { file }),
        2 => pick().prop_map(|file| Step::Link { file, to: None }),
        1 => pick().prop_map(|file| Step::Symlink { file, to: None }),
        1 => pick().prop_map(|file| Step::Readlink { file }),
        2 => pick().prop_map(|file| Step::Unlink { file, missing: MissingFile::Fails }),
        1 => Just(Step::Mkdir { file: Pick::Usual, mode: None, may_exist: false }),
        1 => Just(Step::Rmdir { file: Pick::Usual }),
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

/// Generates steps that open both handles somewhere, so that they compile.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 1..12).prop_map(|mut steps| {
        steps.push(Step::Create { handle: 0 });
        steps.push(Step::Open(OpenStep { file: Pick::Random, handle: 1, write: true, ..OpenStep::default() }));
        steps
    })
}

/// Runs one phase with the workers' ops interleaved, a few of which are made to fail. Returns the states afterwards.
fn run_phase(tree: &Tree, state: TreeState, workers: u32, steps: Vec<Step>, chance: &mut Rng) -> Vec<SetState> {
    let program = program(steps);
    let states = state.split(workers).unwrap();
    let mut running: Vec<_> = states
        .into_iter()
        .enumerate()
        .map(|(worker, state)| {
            let share = state.share();
            let stream = StreamId { seed: chance.next_u64(), phase: 0, worker: worker as u32 };
            (share, over(&program, state, stream, Some(20)), tree.backend(&program))
        })
        .collect();
    for _ in 0..200 {
        for (share, source, backend) in &mut running {
            let Some(op) = source.next() else { continue };
            let on_file = !matches!(op.kind, OpKind::Mkdir | OpKind::Rmdir | OpKind::Readdir | OpKind::Delay);
            assert!(!on_file || share.contains(&op.file), "{op:?} is outside {share:?}");
            let renames = matches!(op.kind, OpKind::Rename | OpKind::Link | OpKind::Symlink);
            assert!(!renames || share.contains(&op.other), "{op:?} is outside {share:?}");
            // A failed `open` has closed the handle's previous file, and a `close` cannot fail here.
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
    running.into_iter().map(|(_, source, _)| source.into_state().unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_state_of_any_program_matches_the_disk(
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
        let [believed, there] = tree.copies(&states);
        prop_assert_eq!(believed, there);
        // Hard links that end up in different shares get separate sizes, so these shares stay.
        let linked = states.iter().any(|state| state.share().any(|file| is_linked(&tree, file)));
        let workers = if linked { workers.0 } else { workers.1 };
        let state = TreeState::join(tree.shape.clone(), states);
        let states = run_phase(&tree, state, workers, second, &mut chance);
        prop_assert_eq!(tree.found(), tree.believed(&states));
        let [believed, there] = tree.copies(&states);
        prop_assert_eq!(believed, there);
    }
}

fn is_linked(tree: &Tree, file: u64) -> bool {
    use std::os::unix::fs::MetadataExt;
    let mut path = PathBuffer::new();
    tree.shape.write_path(FileId(file), &mut path);
    fs::symlink_metadata(tree.directory.path().join(path.as_path())).is_ok_and(|found| found.nlink() > 1)
}
