//! Detects which of the standard streams were open when the program started.
//!
//! Before `main`, Rust's runtime opens `/dev/null` for closed ones, so that no later file gets their number. A tool
//! that must print "Bad file descriptor" could not detect this afterwards, so it is recorded earlier.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU32, Ordering};

/// A standard stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard input.
    Input = 0,
    /// Standard output.
    Output = 1,
    /// Standard error.
    Error = 2,
}

/// A bit for each stream that was closed.
static CLOSED: AtomicU32 = AtomicU32::new(0);

/// Whether the parent process had closed this stream (`>&-`). On systems other than Linux, streams count as open.
pub fn was_closed(stream: Stream) -> bool {
    #[cfg(target_os = "linux")]
    // Keeps the linker from dropping the initializer.
    std::hint::black_box(&NOTE);
    CLOSED.load(Ordering::Relaxed) & (1 << stream as u32) != 0
}

/// Called by the C library before `main`, in glibc and musl, linked statically or dynamically. Source: System V
/// ABI, "Initialization and Termination Functions".
// SAFETY: the section holds pointers to functions, called once and in turn while there is one thread. This one makes
// three system calls that take only numbers, and touches nothing that is not initialized yet.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = note;

#[cfg(target_os = "linux")]
extern "C" fn note() {
    for stream in [Stream::Input, Stream::Output, Stream::Error] {
        // SAFETY: queries the flags of a number, which need not be an open descriptor.
        if unsafe { libc::fcntl(stream as libc::c_int, libc::F_GETFD) } == -1 {
            CLOSED.fetch_or(1 << stream as u32, Ordering::Relaxed);
        }
    }
}
