//! Counts how often this process was continued after a stop.
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

static CONTINUED: AtomicU32 = AtomicU32::new(0);

/// Async-signal-safe: one addition.
extern "C" fn on_continue(_: libc::c_int) {
    CONTINUED.fetch_add(1, Ordering::Relaxed);
}

/// Returns how often `SIGCONT` arrived since the first call, which begins to count. An existing handler is left alone, and
/// nothing is counted then. System calls are restarted: a continued process ends some of them with `EINTR` anyhow
/// (signal(7), "Interruption of system calls by stop signals").
pub(crate) fn continues() -> u32 {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        // SAFETY: both actions are plain data that is valid when zeroed; the handler is async-signal-safe and lives as long as
        // the program.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(libc::SIGCONT, std::ptr::null(), &raw mut before) != 0
                || before.sa_sigaction != libc::SIG_DFL
            {
                return;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_continue as extern "C" fn(libc::c_int) as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(libc::SIGCONT, &raw const action, std::ptr::null_mut());
        }
    });
    CONTINUED.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a continue is counted, and counting changes nothing else for a process that was never stopped.
    #[test]
    fn a_continue_is_counted() {
        let before = continues();
        // SAFETY: a number only; this process is not stopped, so that the signal does nothing but call the handler.
        unsafe { libc::raise(libc::SIGCONT) };
        assert!(continues() > before);
    }
}
