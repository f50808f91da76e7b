//! A separate table of open files for a worker.
//!
//! If threads share a table, each read and write takes and drops a reference to its file, and reads and writes at a
//! file's own position also take a lock: some 10 ns per call. A single-threaded tool does not pay that, and a worker
//! that is alone in its phase should not either. Source: unshare(2), `CLONE_FILES`; `fdget` in the kernel's fs/file.c.
#![allow(unsafe_code)]

use std::os::fd::{BorrowedFd, RawFd};

/// Gives the calling thread its own table until it ends. `moved` are the descriptors that it owns: they stay open only
/// in its own table, so that closing one there closes the file. If the kernel refuses, nothing changes.
///
/// Afterwards the thread must not use anything that depends on a shared table: locks of fcntl(2), and
/// helpers started by other threads.
#[cfg(target_os = "linux")]
pub(crate) fn take(moved: &[BorrowedFd<'_>]) {
    use std::os::fd::AsRawFd;
    let numbers: Vec<RawFd> = moved.iter().map(AsRawFd::as_raw_fd).collect();
    // SAFETY: passes no memory; descriptors keep their numbers and files.
    let unshare = || unsafe { libc::unshare(libc::CLONE_FILES) } == 0;
    if numbers.is_empty() {
        unshare();
        return;
    }
    std::thread::scope(|scope| {
        let (sender, receiver) = crossbeam_channel::unbounded();
        // The helper starts in the shared table, and stays there when the caller leaves it.
        let helper = std::thread::Builder::new().spawn_scoped(scope, move || {
            if receiver.recv() == Ok(true) {
                for number in numbers {
                    // SAFETY: the owner of this descriptor has moved to its own table, so nothing owns it here.
                    unsafe { libc::close(number) };
                }
            }
        });
        if helper.is_ok() {
            let _ = sender.send(unshare());
        }
    });
}

/// Does nothing: tables are always shared here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn take(_: &[BorrowedFd<'_>]) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    /// Protects readers of a pipe: they must see its end when the worker closes it, not only when its
    /// thread or the program ends.
    #[test]
    fn closing_a_moved_descriptor_closes_the_file() {
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&reader, true).unwrap();
        let (sender, receiver) = crossbeam_channel::unbounded();
        let (end, ends) = crossbeam_channel::unbounded::<()>();
        let worker = std::thread::spawn(move || {
            super::take(&[writer.as_fd()]);
            writer.write_all(b"all of it").unwrap();
            drop(writer);
            sender.send(()).unwrap();
            // The thread stays alive, and with it its table.
            ends.recv().unwrap();
        });
        receiver.recv().unwrap();
        let mut text = String::new();
        let read = reader.read_to_string(&mut text);
        end.send(()).unwrap();
        worker.join().unwrap();
        assert_eq!(read.unwrap(), 9, "the other end is still open");
        assert_eq!(text, "all of it");
    }
}
