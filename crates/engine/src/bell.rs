//! Wakes the coordinator of a phase.

use crate::virtual_time;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// An eventfd that wakes the coordinator, from any worker thread or process.
pub(crate) struct Bell {
    fd: OwnedFd,
}

impl Bell {
    pub(crate) fn new() -> io::Result<Bell> {
        Ok(Bell { fd: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)? })
    }

    pub(crate) fn ring(&self) {
        if virtual_time::ring() {
            return;
        }
        // A write can fail only if the counter is full, and then the coordinator wakes anyway.
        let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
    }

    /// Waits for a ring, a signal, or the timeout.
    pub(crate) fn wait(&self, timeout: Duration) {
        self.wait_or(timeout, &[]);
    }

    /// Like [`wait`](Bell::wait), but also returns when one of `others` is readable.
    pub(crate) fn wait_or(&self, timeout: Duration, others: &[BorrowedFd<'_>]) {
        let longest = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX).min(i32::MAX.into()),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let all = others.iter().copied().chain([self.fd.as_fd()]);
        let mut watched: Vec<PollFd<'_>> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let rung = poll(&mut watched, Some(&longest));
        if rung.is_ok() && watched.last().is_some_and(|bell| !bell.revents().is_empty()) {
            let mut count = [0; 8];
            let _ = rustix::io::read(&self.fd, &mut count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// Protects the bell: a ring wakes one wait, even if it came before. Without a ring, the
    /// wait lasts its full timeout.
    #[test]
    fn a_ring_wakes_one_wait() {
        let bell = Bell::new().unwrap();
        bell.ring();
        bell.ring();
        let start = Instant::now();
        bell.wait(Duration::from_secs(60));
        assert!(start.elapsed() < Duration::from_secs(30), "the ring did not end the wait");
        let start = Instant::now();
        bell.wait(Duration::from_millis(20));
        assert!(start.elapsed() >= Duration::from_millis(20), "the ring ended two waits");
    }
}
