//! Which of the standard streams were open when the program started.
//!
//! Rust's runtime opens `/dev/null` for those that were not, before `main`, so that no file that is opened later takes
//! their number. From then on a tool that must say "Bad file descriptor" cannot see it any more; so it is noted before.
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

/// Whether whoever started the program had closed this stream (`>&-`). Elsewhere than on Linux it is taken as open.
pub fn was_closed(stream: Stream) -> bool {
    #[cfg(target_os = "linux")]
    // Whoever asks needs what notes it: the linker must not leave it out.
    std::hint::black_box(&NOTE);
    CLOSED.load(Ordering::Relaxed) & (1 << stream as u32) != 0
}

/// Called by the C library before `main`, glibc's and musl's alike, linked statically or not. Source: System V ABI,
/// "Initialization and Termination Functions".
// SAFETY: the section holds pointers to functions, called once and in turn while there is one thread. This one makes
// three system calls that take numbers only, and touches nothing that has yet to be set up.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = note;

#[cfg(target_os = "linux")]
extern "C" fn note() {
    for stream in [Stream::Input, Stream::Output, Stream::Error] {
        // SAFETY: asks for the flags of a number; it may be nobody's.
        if unsafe { libc::fcntl(stream as libc::c_int, libc::F_GETFD) } == -1 {
            CLOSED.fetch_or(1 << stream as u32, Ordering::Relaxed);
        }
    }
}
