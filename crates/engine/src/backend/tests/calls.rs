//! File operations of every backend: data, short reads, errors, flushes and trims, and calls that only some support.

use super::*;
use crate::backend::{Errno, NOT_OPEN, Opener, SyncRangeFlags};
use crate::guard::space::InMemory;
use crate::op::Role;
use plumb_workload::backend::{FileCall, RwFlag};
use plumb_workload::files::MappingAdvice;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use tempfile::TempDir;

const BLOCK: u32 = 4096;
const FILE_BYTES: u64 = 1 << 20;

/// Returns bytes that depend on their offset.
fn bytes_at(offset: u64, length: usize) -> Vec<u8> {
    (offset..offset + length as u64).map(|at| (at / 512 % 251) as u8 ^ (at % 7) as u8).collect()
}

fn file() -> (TempDir, std::path::PathBuf, File) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, bytes_at(0, FILE_BYTES as usize)).unwrap();
    let file = open(&path);
    (directory, path, file)
}

/// Protects reads: the data of each op arrives in its own memory, for any offset and length.
#[test]
fn reads_return_the_bytes_of_the_file() {
    let offsets = [0, 4096, 8192, 12288, 65536, 40960, 512 << 10, 516 << 10, 700 << 10, 0];
    let ops: Vec<BlockOp> =
        offsets.iter().enumerate().map(|(n, &offset)| op(OpKind::Read, offset, BLOCK * (1 + n as u32 % 40))).collect();
    for (name, backend, depth) in file_backends() {
        let (_directory, path, file) = file();
        let outcomes = run(request(backend, depth, block_files(&file, &path)), &ops).unwrap();
        assert_eq!(outcomes.len(), ops.len(), "{name}");
        for Outcome { op, completion, memory } in outcomes {
            assert_eq!(completion, Ok(u64::from(op.length)), "{name} at {}", op.offset);
            assert_eq!(memory, bytes_at(op.offset, op.length as usize), "{name} at {}", op.offset);
        }
    }
}

/// Protects writes: each writes its own slot's bytes to its own range, and nothing else changes.
#[test]
fn writes_change_their_range_and_nothing_else() {
    let offsets = [0u64, 4096, 8192, 12288, 65536, 40960, 300 << 10, 304 << 10];
    let ops: Vec<BlockOp> = offsets.iter().map(|&offset| op(OpKind::Write, offset, BLOCK)).collect();
    for (name, backend, depth) in file_backends() {
        let (_directory, path, file) = file();
        let outcomes = run(request(backend, depth, block_files(&file, &path)), &ops).unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.completion == Ok(4096)), "{name}: {outcomes:?}");
        let mut expected = bytes_at(0, FILE_BYTES as usize);
        for (number, &offset) in offsets.iter().enumerate() {
            let mark = (number % depth as usize) as u8 + 1;
            expected[offset as usize..offset as usize + 4096].fill(mark);
        }
        assert!(std::fs::read(&path).unwrap() == expected, "{name}");
    }
}

/// Protects splice: a block longer than a pipe passes through it in pieces, in both directions.
#[test]
fn splice_moves_more_than_a_pipe_holds() {
    let (_directory, path, file) = file();
    let ops = [op(OpKind::Write, 4096, 200 << 10), op(OpKind::Read, 0, 256 << 10)];
    let outcomes = run(request(Backend::Splice, 1, block_files(&file, &path)), &ops).unwrap();
    assert_eq!(outcomes[0].completion, Ok(200 << 10));
    assert_eq!(outcomes[1].completion, Ok(256 << 10));
    assert!(outcomes[1].memory == std::fs::read(&path).unwrap()[..256 << 10]);
}

/// Protects byte counts: a read past the end returns only the bytes that exist.
#[test]
fn reads_over_the_end_are_short() {
    let ops = [op(OpKind::Read, FILE_BYTES - 1000, 4096), op(OpKind::Read, FILE_BYTES + 8192, 4096)];
    for (name, backend, depth) in file_backends() {
        if backend == Backend::Mmap {
            continue;
        }
        let (_directory, path, file) = file();
        let outcomes = run(request(backend, depth, block_files(&file, &path)), &ops).unwrap();
        let moved = |at: u64| outcomes.iter().find(|outcome| outcome.op.offset == at).unwrap().completion;
        assert_eq!(moved(ops[0].offset), Ok(1000), "{name}");
        assert_eq!(moved(ops[1].offset), Ok(0), "{name}");
    }
}

/// Protects errors: a rejected op returns the system's error number, and does not affect the next op.
#[test]
fn refusals_come_with_their_number() {
    let ops = [op(OpKind::Write, 0, BLOCK), op(OpKind::Read, 8192, BLOCK)];
    for (name, backend, depth) in file_backends() {
        if matches!(backend, Backend::Mmap | Backend::Stdio) {
            continue;
        }
        let (_directory, path, _file) = file();
        let file = File::open(&path).unwrap();
        let outcomes = run(request(backend, depth, block_files(&file, &path)), &ops).unwrap();
        let of = |kind| outcomes.iter().find(|outcome| outcome.op.kind == kind).unwrap();
        assert_eq!(of(OpKind::Write).completion, Err(Errno(libc::EBADF)), "{name}");
        assert_eq!(of(OpKind::Read).completion, Ok(4096), "{name}");
        assert_eq!(of(OpKind::Read).memory, bytes_at(8192, 4096), "{name}");
    }
}

/// Protects flushes and trims: every backend supports them, and a trim leaves a hole that reads as zeros.
#[test]
fn flushes_and_trims_go_with_every_backend() {
    let kinds = [OpKind::Fsync, OpKind::Fdatasync, OpKind::SyncRange, OpKind::Syncfs];
    for (name, backend, depth) in file_backends() {
        let (_directory, path, file) = file();
        let mut files = block_files(&file, &path);
        files.sync_range = SyncRangeFlags(7);
        let mut ops = vec![op(OpKind::Write, 0, BLOCK)];
        ops.extend(kinds.map(|kind| op(kind, 0, BLOCK)));
        ops.push(op(OpKind::Trim, 65536, 65536));
        let outcomes = run(request(backend, depth, files), &ops).unwrap();
        assert_eq!(outcomes.len(), ops.len(), "{name}");
        for Outcome { op, completion, .. } in &outcomes {
            let expected = if op.kind.moves_bytes() { u64::from(op.length) } else { 0 };
            assert_eq!(*completion, Ok(expected), "{name}: {}", op.kind.name());
        }
        let left = std::fs::read(&path).unwrap();
        assert!(left[65536..131_072].iter().all(|&byte| byte == 0), "{name}");
        assert_eq!(left[131_072..135_168], bytes_at(131_072, 4096), "{name}");
    }
}

/// Protects read-backs: after an evict, no page of the file is cached, so they read from the device. An evict that
/// drops only clean pages keeps the content, too.
#[test]
fn evicted_pages_are_no_longer_cached() {
    for (name, backend, depth) in file_backends() {
        let (_directory, path, file) = file();
        let resident = || plumb_probe::residency::of_fd(file.as_fd()).value().map(|residency| residency.resident_bytes);
        let read_back = BlockOp { role: Role::ReadBack, ..op(OpKind::Evict, 0, 0) };
        let ops = [op(OpKind::Write, 0, BLOCK), op(OpKind::Fsync, 0, 0), op(OpKind::Evict, 0, 0), read_back];
        for ops in [&ops[..1], &ops[1..]] {
            let outcomes = run(request(backend.clone(), depth, block_files(&file, &path)), ops).unwrap();
            assert!(outcomes.iter().all(|outcome| outcome.completion.is_ok()), "{name}: {outcomes:?}");
        }
        match resident() {
            Some(0) => {}
            left if InMemory::detect(&file).unwrap().is_some() => {
                eprintln!("SKIPPED: {name}: temporary files are in memory ({left:?} bytes)")
            }
            left => panic!("{name}: {left:?} bytes are still cached"),
        }
        assert_eq!(
            std::fs::read(&path).unwrap()[65536..69632],
            bytes_at(65536, 4096),
            "{name}: the old content remains"
        );
    }
}

struct OpensPath(std::path::PathBuf);

impl Opener for OpensPath {
    fn open(&self, _file: u32) -> io::Result<OwnedFd> {
        OpenOptions::new().read(true).write(true).open(&self.0).map(OwnedFd::from)
    }

    fn remove(&self, _file: u32) -> io::Result<()> {
        std::fs::remove_file(&self.0)
    }

    fn path(&self, _file: u32) -> std::path::PathBuf {
        self.0.clone()
    }
}

/// Protects jobs with more files than descriptors: files are opened on demand and closed again.
#[test]
fn files_are_opened_and_closed_during_the_run() {
    for (name, backend, _) in file_backends() {
        if backend == Backend::Stdio {
            continue;
        }
        let (_directory, path, file) = file();
        let mut files = block_files(&file, &path);
        files.fds[0] = NOT_OPEN;
        files.opener = Some(Arc::new(OpensPath(path.clone())));
        let read = op(OpKind::Read, 8192, BLOCK);
        let ops = [read, op(OpKind::Open, 0, 0), read, op(OpKind::Open, 0, 0), op(OpKind::Close, 0, 0), read];
        // At depth 1, because opening a file does not order it before queued ops.
        let outcomes = run(request(backend, 1, files), &ops).unwrap();
        let completions: Vec<Completion> = outcomes.iter().map(|outcome| outcome.completion).collect();
        let shut = Err(Errno(libc::EBADF));
        assert_eq!(completions, [shut, Ok(0), Ok(4096), Ok(0), Ok(0), shut], "{name}");
        assert_eq!(outcomes[2].memory, bytes_at(8192, 4096), "{name}");
    }
}

/// Protects a worker from a missing file: the open op fails, and the worker goes on.
#[test]
fn opening_a_missing_file_fails_only_that_op() {
    let (directory, path, file) = file();
    let mut files = block_files(&file, &path);
    files.fds[0] = NOT_OPEN;
    files.opener = Some(Arc::new(OpensPath(directory.path().join("gone"))));
    let outcomes = run(request(Backend::Psync, 1, files), &[op(OpKind::Open, 0, 0)]).unwrap();
    assert_eq!(outcomes[0].completion, Err(Errno(libc::ENOENT)));
}

/// Protects flags: they reach the kernel. Without special hardware, only a rejected flag shows this.
#[test]
fn flags_reach_the_kernel() {
    let (_directory, path, file) = file();
    let read = [op(OpKind::Read, 0, BLOCK)];
    let write = [op(OpKind::Write, 0, BLOCK)];
    for flags in [vec![RwFlag::Sync], vec![RwFlag::Dsync]] {
        let backend = Backend::Preadv2 { flags, hipri_percent: 100 };
        for ops in [read, write] {
            let outcomes = run(request(backend.clone(), 1, block_files(&file, &path)), &ops).unwrap();
            assert_eq!(outcomes[0].completion, Ok(4096));
        }
    }
    // The kernel rejects untorn writes through the page cache everywhere. Only writes ask for them.
    let backend = |name: &str| match name {
        "preadv2" => Backend::Preadv2 { flags: Vec::new(), hipri_percent: 100 },
        "libaio" => Backend::Libaio { userspace_reap: false, vectored: false, nowait: false },
        _ => Backend::IO_URING,
    };
    for name in ["preadv2", "libaio", "io-uring"] {
        let mut asked = request(backend(name), 1, block_files(&file, &path));
        asked.atomic_writes = true;
        let refused = run(asked, &write).unwrap()[0].completion;
        assert!(matches!(refused, Err(Errno(libc::EOPNOTSUPP | libc::EINVAL))), "{name}: {refused:?}");
        let mut asked = request(backend(name), 1, block_files(&file, &path));
        asked.atomic_writes = true;
        assert_eq!(run(asked, &read).unwrap()[0].completion, Ok(4096), "{name}");
    }
}

/// Protects mappings: pages are dropped after use, and data written through a mapping reaches the file.
#[test]
fn a_mapping_takes_advice_and_drops_its_pages() {
    let (_directory, path, file) = file();
    let mut asked = request(Backend::Mmap, 1, block_files(&file, &path));
    // Some kernels have no huge pages.
    asked.mapping_advice =
        vec![MappingAdvice::DontNeed, MappingAdvice::Sequential, MappingAdvice::Random, MappingAdvice::WillNeed];
    asked.drops_pages = true;
    // Unaligned: dropping rounds to whole pages and loses no data.
    let ops = [op(OpKind::Write, 70_000, BLOCK), op(OpKind::Read, 69_000, BLOCK)];
    let outcomes = run(asked, &ops).unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.completion == Ok(4096)), "{outcomes:?}");
    assert_eq!(outcomes[1].memory[..1000], bytes_at(69_000, 1000));
    let whole = std::fs::read(&path).unwrap();
    assert!(whole[70_000..74_096].iter().all(|&byte| byte != 0 || bytes_at(70_000, 1)[0] == 0));
    assert_eq!(whole[..70_000], bytes_at(0, 70_000));
}

/// Protects fallocate: a write reserves space without writing data, and a trim frees it.
#[test]
fn fallocate_reserves_and_gives_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let file = open(&path);
    let ops = [op(OpKind::Write, 0, 1 << 20), op(OpKind::Read, 1 << 20, 1 << 20), op(OpKind::Fsync, 0, 0)];
    let outcomes = run(request(Backend::Fallocate, 1, block_files(&file, &path)), &ops).unwrap();
    assert_eq!(outcomes[0].completion, Ok(1 << 20));
    let found = file.metadata().unwrap();
    assert_eq!(found.len(), 1 << 20, "only writes make the file longer");
    assert!(found.blocks() * 512 >= 1 << 20);
    let outcomes =
        run(request(Backend::Fallocate, 1, block_files(&file, &path)), &[op(OpKind::Trim, 0, 1 << 20)]).unwrap();
    assert_eq!(outcomes[0].completion, Ok(1 << 20));
    assert!(file.metadata().unwrap().blocks() < found.blocks());
}

/// Protects page-fault memory: it holds stored data and zeros elsewhere, has the file's length, and rejects trims.
#[test]
fn memory_stands_for_a_file() {
    let files = || BlockFiles { fds: vec![NOT_OPEN], lengths: vec![1 << 20], ..BlockFiles::default() };
    let ops = [
        op(OpKind::Write, 8192, BLOCK),
        op(OpKind::Read, 8192, BLOCK),
        op(OpKind::Read, 65_536, BLOCK),
        op(OpKind::Fsync, 0, 0),
        op(OpKind::Trim, 0, BLOCK),
        op(OpKind::Read, (1 << 20) - 1, BLOCK),
    ];
    let outcomes = run(request(Backend::PageFault, 1, files()), &ops).unwrap();
    let completions: Vec<Completion> = outcomes.iter().map(|outcome| outcome.completion).collect();
    let refused = |errno| Err(Errno(errno));
    assert_eq!(completions, [Ok(4096), Ok(4096), Ok(4096), Ok(0), refused(libc::EINVAL), refused(libc::EFAULT)]);
    assert_eq!(outcomes[1].memory, outcomes[0].memory);
    assert!(outcomes[2].memory.iter().all(|&byte| byte == 0), "never written");
    let much = BlockFiles { lengths: vec![u64::MAX / 2], ..files() };
    let refused =
        run(request(Backend::PageFault, 1, much), &ops).expect_err("no machine has that much memory").to_string();
    assert!(refused.contains("more memory than the machine has"), "{refused}");
    let several = BlockFiles { fds: vec![NOT_OPEN; 2], lengths: vec![4096; 2], ..BlockFiles::default() };
    assert!(run(request(Backend::PageFault, 1, several), &ops).is_err());
}

/// Protects fio's `ftruncate`: the offset is the new length, and reads are rejected.
#[test]
fn truncate_sets_the_length_to_the_offset() {
    let (_directory, path, file) = file();
    let ops = [op(OpKind::Write, 8192, BLOCK), op(OpKind::Read, 0, BLOCK)];
    let outcomes = run(request(Backend::Truncate, 1, block_files(&file, &path)), &ops).unwrap();
    assert_eq!(outcomes[0].completion, Ok(4096));
    assert_eq!(outcomes[1].completion, Err(Errno(libc::EINVAL)));
    assert_eq!(file.metadata().unwrap().len(), 8192);
}

/// Protects path-based calls: each op is one call on the file with its number, and errors carry their number.
#[test]
fn calls_on_whole_files_have_their_effect() {
    let directory = tempfile::tempdir().unwrap();
    let names: Vec<std::path::PathBuf> = (0..3).map(|number| directory.path().join(number.to_string())).collect();
    let files = || BlockFiles { paths: names.clone(), ..BlockFiles::default() };
    let ops: Vec<BlockOp> = (0..3).map(|file| BlockOp::load(OpKind::Read, file, 0, 4096)).collect();
    let done = |call| -> Vec<Completion> {
        let outcomes = run(request(Backend::Files(call), 1, files()), &ops).unwrap();
        outcomes.iter().map(|outcome| outcome.completion).collect()
    };
    let (well, missing) = (vec![Ok(4096); 3], vec![Err(Errno(libc::ENOENT)); 3]);
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    assert_eq!(done(FileCall::Stat), missing);
    let before = descriptors();
    assert_eq!(done(FileCall::Create), well);
    // Other tests of this process open files as well. A leak would add one descriptor per file.
    assert!(descriptors() < before + 50);
    assert!(names.iter().all(|name| name.metadata().unwrap().mode() & 0o777 == 0o600));
    for call in [FileCall::Create, FileCall::Stat, FileCall::Lstat, FileCall::Statx, FileCall::Unlink] {
        assert_eq!(done(call), well, "{call:?}");
    }
    assert_eq!(done(FileCall::Unlink), missing);
    assert_eq!(done(FileCall::Mkdir), well);
    assert_eq!(done(FileCall::Mkdir), vec![Err(Errno(libc::EEXIST)); 3]);
    assert_eq!(done(FileCall::StatDir), well);
    assert_eq!(done(FileCall::Rmdir), well);
    assert_eq!(done(FileCall::StatDir), missing);
}
