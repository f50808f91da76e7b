//! Promises of queued backends to the loop: all submitted ops are in flight, and `enter` waits only when asked to.
#![allow(unsafe_code)]

use super::*;
use plumb_workload::process::{CommandPriority, IoPriority, OpPriority};
use std::io::Write as _;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

fn pipe() -> (OwnedFd, File) {
    let mut ends = [0 as RawFd; 2];
    // SAFETY: writes two descriptors into a live array. They are new, and nothing else owns them.
    unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0);
        (OwnedFd::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]))
    }
}

/// Reads of an empty pipe stay in flight until data arrives.
fn reads_of_a_pipe(mut write_end: File, backend: &mut dyn QueuedBackend) {
    let reaped = |backend: &mut dyn QueuedBackend| std::iter::from_fn(|| backend.completed()).collect::<Vec<Done>>();
    for slot in 0..8 {
        backend.submit(&op(OpKind::Read, 0, 16), slot);
    }
    backend.enter(Wait::For(0)).unwrap();
    assert!(reaped(backend).is_empty(), "all are in flight");
    backend.enter(Wait::Timeout(1_000_000)).unwrap();
    assert!(reaped(backend).is_empty(), "the timeout has passed, and no data has arrived");
    for _ in 0..5 {
        write_end.write_all(&[7; 16]).unwrap();
    }
    let mut done = Vec::new();
    while done.len() < 5 {
        // Without waiting: polling alone must find them.
        backend.enter(Wait::For(0)).unwrap();
        done.extend(reaped(backend));
    }
    write_end.write_all(&[7; 48]).unwrap();
    while done.len() < 8 {
        backend.enter(Wait::For(1)).unwrap();
        done.extend(reaped(backend));
    }
    let mut slots: Vec<u16> = done.iter().map(|done| done.slot).collect();
    slots.sort_unstable();
    assert_eq!(slots, (0..8).collect::<Vec<u16>>(), "each comes back once");
    assert!(done.iter().all(|done| done.completion == Ok(16)), "{done:?}");
}

#[test]
fn a_ring_keeps_ops_in_flight_and_waits_only_when_asked() {
    let (read_end, write_end) = pipe();
    let files = BlockFiles { fds: vec![read_end.as_raw_fd()], lengths: vec![0], ..BlockFiles::default() };
    let asked = request(Backend::IO_URING, 8, files);
    reads_of_a_pipe(write_end, build_queue(asked, &barrier()).table());
}

/// Submits without waiting, polls without waiting, then waits for one op at a time: all ops complete.
fn submits_then_waits(backend: &mut dyn QueuedBackend) {
    let mut seen = [0; 16];
    let mut count = 0;
    let mut reap = |backend: &mut dyn QueuedBackend| {
        while let Some(Done { slot, completion }) = backend.completed() {
            assert_eq!(completion.map(|_| ()), Ok(()), "slot {slot}");
            seen[usize::from(slot)] += 1;
            count += 1;
        }
        count
    };
    for slot in 0..16u16 {
        // All kinds, to include ops that run in the calling thread.
        let kind = if slot % 5 == 4 { OpKind::Syncfs } else { OpKind::Read };
        backend.submit(&op(kind, u64::from(slot) * 4096, 4096), slot);
        backend.enter(Wait::For(0)).unwrap();
    }
    while reap(backend) < 8 {
        backend.enter(Wait::For(0)).unwrap();
    }
    while reap(backend) < 16 {
        backend.enter(Wait::For(1)).unwrap();
    }
    // With nothing in flight, `enter` does not wait.
    backend.enter(Wait::For(0)).unwrap();
    assert_eq!(reap(backend), 16);
    assert_eq!(seen, [1; 16]);
}

#[test]
fn submitting_and_waiting_are_separate_steps() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, vec![3; 1 << 20]).unwrap();
    let file = open(&path);
    for (_, backend, depth) in file_backends() {
        if depth > 1 {
            let asked = request(backend, 16, block_files(&file, &path));
            submits_then_waits(build_queue(asked, &barrier()).table());
        }
    }
    let asked = request(Backend::Null, 16, BlockFiles::default());
    submits_then_waits(build_queue(asked, &barrier()).table());
}

/// Protects priorities: they reach the kernel, which rejects the undefined class 7 and accepts class 2.
#[test]
fn priorities_reach_the_kernel() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, vec![3; 1 << 20]).unwrap();
    let file = open(&path);
    let libaio = Backend::Libaio { userspace_reap: false, vectored: false, nowait: false };
    for backend in [libaio, Backend::IO_URING] {
        for (class, expected) in [(2, Ok(4096)), (7, Err(crate::backend::Errno(libc::EINVAL)))] {
            let mut asked = request(backend.clone(), 4, block_files(&file, &path));
            let priority = IoPriority { class, level: 3, hint: 0 };
            asked.priorities = vec![CommandPriority { of: OpPriority::Read, size: None, percent: 100, priority }];
            let outcomes = run(asked, &[op(OpKind::Read, 0, 4096), op(OpKind::Write, 8192, 4096)]).unwrap();
            let of = |kind| outcomes.iter().find(|outcome| outcome.op.kind == kind).unwrap().completion;
            assert_eq!(of(OpKind::Read), expected, "{} class {class}", backend.name());
            assert_eq!(of(OpKind::Write), Ok(4096), "writes have none");
        }
    }
}

/// Protects the user: a depth above the system's limit gives an error with a fix.
#[test]
fn a_depth_above_the_system_limit_is_refused() {
    let libaio = Backend::Libaio { userspace_reap: false, vectored: false, nowait: false };
    let limit: u32 = std::fs::read_to_string("/proc/sys/fs/aio-max-nr").unwrap().trim().parse().unwrap();
    let Some(depth) = limit.checked_add(1).filter(|&depth| depth < 1 << 24) else {
        return skip("the limit of asynchronous ops is too high to exceed");
    };
    let barrier = barrier();
    let asked = request(libaio, depth, BlockFiles::default());
    let refusal = build_backend(asked, &barrier, |_| unreachable!("a refused request needs no memory"));
    assert!(refusal.err().unwrap().to_string().contains("aio-max-nr"));
}
