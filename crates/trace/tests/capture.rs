//! Tests the recorder on a program that does all its I/O with io_uring: this test runs itself again as that program.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(unsafe_code)]
#![allow(clippy::disallowed_methods)] // tests write files

use io_uring::types::{DestinationSlot, Fd, Fixed};
use io_uring::{IoUring, opcode, squeue};
use plumb_trace::capture::{CaptureError, Facts, Method, Subject, record};
use plumb_trace::iolog::Waits;
use plumb_trace::read;
use std::ffi::CString;
use std::io::Cursor;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Working directory of the program. Unset in the test itself.
const DIRECTORY: &str = "PLUMB_TEST_RING_DIRECTORY";

fn run(ring: &mut IoUring, entry: squeue::Entry) -> i32 {
    // SAFETY: the entry's pointers stay valid until its completion, for which this waits.
    unsafe { ring.submission().push(&entry) }.unwrap();
    ring.submit_and_wait(1).unwrap();
    ring.completion().next().unwrap().result()
}

/// The program: opens through the ring, a registered file, a file opened as a registered one, a rename, and closes.
#[test]
fn as_a_program_with_rings() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let name = |name: &str| CString::new(Path::new(&directory).join(name).as_os_str().as_bytes()).unwrap();
    let (a, b, c, moved) = (name("a"), name("b"), name("c"), name("moved"));
    let here = Fd(libc::AT_FDCWD);
    let flags = libc::O_CREAT | libc::O_RDWR;
    let mut ring = IoUring::new(8).unwrap();
    let open = |path: &CString| opcode::OpenAt::new(here, path.as_ptr()).flags(flags).mode(0o600).build();
    let (bytes, mut space) = ([7_u8; 4096], [0_u8; 4096]);

    let descriptor = run(&mut ring, open(&a));
    // SAFETY: the kernel has just opened it for this process.
    let first = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let write = |file: Fd, length| opcode::Write::new(file, bytes.as_ptr(), length).offset(8192).build();
    assert_eq!(run(&mut ring, write(Fd(first.as_raw_fd()), 4096)), 4096);
    let second = std::fs::OpenOptions::new()
        .create_new(true)
        .read(true)
        .write(true)
        .open(Path::new(&directory).join("b"))
        .unwrap();
    // The first slot stays empty; the third is for a file opened later.
    ring.submitter().register_files(&[-1, second.as_raw_fd(), -1]).unwrap();
    let write = |place, length| opcode::Write::new(Fixed(place), bytes.as_ptr(), length).offset(0).build();
    assert_eq!(run(&mut ring, write(1, 100)), 100);
    let slot = DestinationSlot::try_from_slot_target(2).unwrap();
    let direct = opcode::OpenAt::new(here, c.as_ptr()).flags(flags).mode(0o600).file_index(Some(slot)).build();
    assert_eq!(run(&mut ring, direct), 0);
    assert_eq!(run(&mut ring, write(2, 50)), 50);
    assert_eq!(run(&mut ring, opcode::Read::new(Fixed(2), space.as_mut_ptr(), 4096).offset(10).build()), 40);
    assert_eq!(run(&mut ring, opcode::Fsync::new(Fixed(2)).build()), 0);
    assert_eq!(run(&mut ring, opcode::Close::new(Fixed(2)).build()), 0);
    let renamed = opcode::RenameAt::new(here, a.as_ptr(), here, moved.as_ptr()).build();
    assert_eq!(run(&mut ring, renamed), 0);
    assert_eq!(run(&mut ring, opcode::UnlinkAt::new(here, b.as_ptr()).build()), 0);
    let descriptor = std::os::fd::IntoRawFd::into_raw_fd(first);
    assert_eq!(run(&mut ring, opcode::Close::new(Fd(descriptor)).build()), 0);
}

#[test]
fn files_of_rings_are_tracked() {
    let directory = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let setting = format!("{DIRECTORY}={}", directory.path().display());
    let words =
        ["env", &setting, program.to_str().unwrap(), "--exact", "as_a_program_with_rings", "--test-threads=1", "-q"];
    let words = words.iter().map(Into::into).collect();
    let mut bytes = Vec::new();
    match record(Method::Bpf, &Subject::Command(words), &mut bytes, &Facts::default(), &|| false) {
        Ok(captured) => assert!(captured.status.unwrap().success() && !captured.misses_io_uring, "{captured:?}"),
        Err(CaptureError::Kernel { what, source }) => {
            if what.contains("PID namespace") {
                return eprintln!("SKIPPED: in a PID namespace");
            }
            // A container, or no root. Neither is allowed in CI.
            assert!(std::env::var_os("CI").is_none(), "under CI nothing may be skipped: {what}: {source}");
            return eprintln!("SKIPPED: the kernel does not allow loading programs: {what}: {source}");
        }
        Err(other) => panic!("{other}"),
    }
    let mut reader = read(Box::new(Cursor::new(bytes)), Path::new("r"), Waits::Manual).unwrap();
    let records: Vec<_> = reader.by_ref().map(Result::unwrap).collect();
    let below = format!("{}/", std::fs::canonicalize(directory.path()).unwrap().display());
    let lines: Vec<String> = records
        .iter()
        .filter_map(|record| {
            let file = reader.files()[record.file as usize].to_string();
            let name = file.strip_prefix(&below)?.to_owned();
            Some(format!("{} {name} {} {}", record.act.name(), record.offset, record.length))
        })
        .collect();
    let expected = [
        "open a 0 0",
        "write a 8192 4096",
        "open b 0 0",
        "write b 0 100",
        "open c 0 0",
        "write c 0 50",
        "read c 10 4096",
        "fsync c 0 0",
        "close c 0 0",
        "rename a 0 0",
        "unlink b 0 0",
        "close a 0 0",
    ];
    let of_program: Vec<&String> = lines.iter().filter(|line| !line.starts_with("close b")).collect();
    assert_eq!(of_program, expected, "{lines:#?}");
}
