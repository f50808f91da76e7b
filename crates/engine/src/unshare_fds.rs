//! A worker's own table of open files.
//!
//! Where threads share a table, each read and write takes a reference to its file and gives it back, and reads and writes
//! at a file's own position take a lock as well: some 10 ns a call. A tool of one thread does not pay that, and neither
//! shall a worker that is alone in its phase. Source: unshare(2), `CLONE_FILES`; `fdget` in the kernel's fs/file.c.
#![allow(unsafe_code)]

use std::os::fd::{BorrowedFd, RawFd};

/// Gives the calling thread a table of its own until it ends. `moved` are the descriptors that it owns: they stay open in
/// its own table only, so that closing one there is the last. Where the kernel refuses, everything stays as it is.
///
/// What the thread has in common with others by its table, it must not use: locks of fcntl(2), and helpers that were
/// started by other threads.
#[cfg(target_os = "linux")]
pub(crate) fn take(moved: &[BorrowedFd<'_>]) {
    use std::os::fd::AsRawFd;
    let numbers: Vec<RawFd> = moved.iter().map(AsRawFd::as_raw_fd).collect();
    // SAFETY: no memory is passed; descriptors keep their numbers and what they refer to.
    let part = || unsafe { libc::unshare(libc::CLONE_FILES) } == 0;
    if numbers.is_empty() {
        part();
        return;
    }
    std::thread::scope(|scope| {
        let (tell, told) = crossbeam_channel::unbounded();
        // It begins with the table of all, and keeps that when the caller leaves it.
        let beside = std::thread::Builder::new().spawn_scoped(scope, move || {
            if told.recv() == Ok(true) {
                for number in numbers {
                    // SAFETY: a descriptor whose owner has gone to a table of its own: here nothing owns it any more.
                    unsafe { libc::close(number) };
                }
            }
        });
        if beside.is_ok() {
            let _ = tell.send(part());
        }
    });
}

/// Tables are shared here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn take(_: &[BorrowedFd<'_>]) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    /// Whoever reads a pipe must see its end when the worker closes it, not when its thread or the program ends.
    #[test]
    fn closing_what_was_moved_is_the_last_closing() {
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&reader, true).unwrap();
        let (tell, told) = crossbeam_channel::unbounded();
        let (end, ends) = crossbeam_channel::unbounded::<()>();
        let worker = std::thread::spawn(move || {
            super::take(&[writer.as_fd()]);
            writer.write_all(b"all of it").unwrap();
            drop(writer);
            tell.send(()).unwrap();
            // The thread lives on, and with it its table.
            ends.recv().unwrap();
        });
        told.recv().unwrap();
        let mut text = String::new();
        let read = reader.read_to_string(&mut text);
        end.send(()).unwrap();
        worker.join().unwrap();
        assert_eq!(read.unwrap(), 9, "the other end is still open");
        assert_eq!(text, "all of it");
    }
}
