//! How long a rank waits for others once a signal has come.

use plumb_engine::signals::{StopFlag, StopSignal, signalled_alone};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// After a signal to this rank alone, no launcher kills, and the others hear of it at their next sign of life.
const AFTER_OWN_SIGNAL: Duration = Duration::from_secs(10);

/// Waits for as long as it takes, but for a while only once a signal has come.
pub(super) struct AfterSignal {
    stop: StopFlag,
    /// Since when it has been known.
    since: OnceLock<Instant>,
}

impl AfterSignal {
    pub(super) fn new(stop: StopFlag) -> AfterSignal {
        AfterSignal { stop, since: OnceLock::new() }
    }

    /// A signal has come, to this rank at least. Where another rank ended the run, that one says why.
    pub(super) fn is_signalled(&self) -> bool {
        self.stop.signal().is_some_and(|signal| signal != StopSignal::Program)
    }

    /// Whether to wait on: for at most this long after a signal to all ranks, which may be the launcher's last word before it kills.
    pub(super) fn waits_on(&self, most: Duration) -> bool {
        if !self.is_signalled() {
            return true;
        }
        let since = self.since.get_or_init(Instant::now);
        since.elapsed() < if signalled_alone() { AFTER_OWN_SIGNAL } else { most }
    }
}
