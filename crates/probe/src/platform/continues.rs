//! Counts how often this process was continued after a stop.
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

static CONTINUED: AtomicU32 = AtomicU32::new(0);

/// Async-signal-safe: one addition.
extern "C" fn on_continue(_: libc::c_int) {
    CONTINUED.fetch_add(1, Ordering::Relaxed);
}

/// Returns how often `SIGCONT` arrived since the first call, which starts counting. If a handler exists already, it
/// is left alone and nothing is counted. System calls are restarted; some return `EINTR` in a continued process
/// anyway (signal(7), "Interruption of system calls by stop signals").
pub(crate) fn continues() -> u32 {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        // SAFETY: both actions are plain data that is valid when zeroed. The handler is async-signal-safe and lives
        // as long as the program.
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

    // Protects: a continue is counted, and counting does not disturb a process that was never stopped.
    #[test]
    fn a_continue_is_counted() {
        let before = continues();
        // SAFETY: takes only a number. This process is not stopped, so the signal only calls the handler.
        unsafe { libc::raise(libc::SIGCONT) };
        assert!(continues() > before);
    }
}
