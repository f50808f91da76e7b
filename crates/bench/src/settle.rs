//! Pauses between the runs of a comparison, until the storage has finished the leftover work of the run before.
//!
//! It only polls counters, and never issues a flush, a discard or a sync.

use plumb_engine::signals::StopFlag;
use plumb_probe::idle::IdleWatch;
use plumb_result::observe::TargetFacts;
use plumb_result::settle::Settled;
use std::time::{Duration, Instant};

/// Time between two reads of the counters.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Consecutive reads that must show nothing pending.
const IDLE_POLLS: u32 = 2;

/// Longest wait before a run.
const LONGEST: Duration = Duration::from_secs(10);

/// Longest wait, as a share of the previous run's time, so that storage that is never idle does not double the time of
/// a comparison.
const SHARE_OF_RUN: f64 = 0.5;

/// Smallest limit, for very short runs.
const SHORTEST: Duration = Duration::from_millis(200);

/// Pauses between the runs of a comparison, and their record.
#[derive(Debug, Default)]
pub struct Settling {
    /// Pause before each run but the first, after the storage is idle.
    pub pause: Option<Duration>,
    /// Storage of all runs so far, because the other side may be on the same disk.
    watch: Option<IdleWatch>,
    /// Time of the last run; `None` before the first.
    last: Option<Duration>,
    waits: u32,
    waited: Duration,
    not_idle: u32,
    pending: Option<&'static str>,
}

impl Settling {
    /// Forgets earlier comparisons; the pause stays.
    pub(crate) fn begin(&mut self) {
        *self = Settling { pause: self.pause, ..Settling::default() };
    }

    /// Records the end of a run on these targets, which took `took`.
    pub(crate) fn record_run<'a>(&mut self, took: Duration, targets: impl IntoIterator<Item = &'a TargetFacts>) {
        self.last = Some(took);
        if let Some(watch) = &mut self.watch {
            targets.into_iter().for_each(|target| watch.include(target));
        }
    }

    /// Waits before a run on real storage until nothing is pending, for at most a share of the time of the last run,
    /// then for the pause. The first run of a comparison does not wait.
    pub(crate) fn wait(&mut self, stop: StopFlag) {
        let watch = self.watch.get_or_insert_with(IdleWatch::new);
        let Some(last) = self.last else { return };
        let began = Instant::now();
        if let Some(pending) = wait_until_idle(watch, last.mul_f64(SHARE_OF_RUN).clamp(SHORTEST, LONGEST), stop) {
            self.not_idle += 1;
            self.pending = Some(pending);
        }
        if let Some(pause) = self.pause {
            stop.sleep(pause);
        }
        self.waits += 1;
        self.waited += began.elapsed();
    }

    /// Returns the pause before a run on simulated devices, which takes no real time; 0 before the first.
    pub(crate) fn simulated_pause(&mut self) -> Duration {
        let Some(pause) = self.pause.filter(|_| self.last.is_some()) else { return Duration::ZERO };
        self.waits += 1;
        self.waited += pause;
        pause
    }

    pub(crate) fn last(&self) -> Option<Duration> {
        self.last
    }

    /// Returns the record of all waits; `None` if there were none.
    pub fn settled(&self) -> Option<Settled> {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        (self.waits > 0 || self.pause.is_some()).then(|| Settled {
            pause_ns: self.pause.map(ns),
            waits: self.waits,
            waited_ns: ns(self.waited),
            not_idle: self.not_idle,
            pending: self.pending.map(str::to_owned),
        })
    }
}

/// Waits until the storage is idle. Returns the kind of work still pending at the time limit; `None` if
/// idle, or after a signal.
fn wait_until_idle(watch: &IdleWatch, limit: Duration, stop: StopFlag) -> Option<&'static str> {
    let began = Instant::now();
    let (mut before, mut quiet) = (watch.read(), 0);
    while quiet < IDLE_POLLS && !stop.requested() {
        stop.sleep(POLL_INTERVAL);
        let now = watch.read();
        let pending = watch.pending(&before, &now);
        if pending.is_some() && began.elapsed() >= limit {
            return pending;
        }
        quiet = if pending.is_none() { quiet + 1 } else { 0 };
        before = now;
    }
    None
}

/// Returns a note about runs that began too early; `None` if all storage was idle.
pub fn note(settled: Option<&Settled>) -> Option<String> {
    let settled = settled.filter(|settled| settled.not_idle > 0)?;
    Some(format!(
        "before {} of {} runs the storage was still busy ({}) after a wait of half a run's time; `--settle TIME` waits longer",
        settled.not_idle,
        settled.waits + 1,
        settled.pending.as_deref().unwrap_or("for an unknown reason")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settling(pause: Option<Duration>) -> Settling {
        Settling { pause, ..Settling::default() }
    }

    #[test]
    fn every_run_but_the_first_waits_for_the_pause() {
        let pause = Duration::from_millis(30);
        let mut settling = settling(Some(pause));
        settling.begin();
        settling.wait(StopFlag::detached());
        assert_eq!(settling.settled().unwrap().waits, 0);
        settling.record_run(Duration::from_millis(1), []);
        settling.wait(StopFlag::detached());
        let settled = settling.settled().unwrap();
        assert_eq!((settled.waits, settled.pause_ns), (1, Some(30_000_000)));
        settling.begin();
        assert_eq!(settling.settled().map(|settled| settled.waits), Some(0), "another comparison");
        assert!(settling.last().is_none());
    }

    #[test]
    fn a_signal_ends_the_pause() {
        let stop = StopFlag::detached();
        stop.request();
        let mut settling = settling(Some(Duration::from_secs(3600)));
        settling.wait(stop);
        settling.record_run(Duration::from_secs(3600), []);
        settling.wait(stop);
        assert_eq!(settling.settled().unwrap().not_idle, 0);
    }

    #[test]
    fn simulated_devices_pause_in_their_own_time() {
        let mut settling = settling(Some(Duration::from_secs(60)));
        assert_eq!(settling.simulated_pause(), Duration::ZERO, "nothing before the first run");
        settling.record_run(Duration::from_secs(1), []);
        assert_eq!(settling.simulated_pause(), Duration::from_secs(60));
        let settled = settling.settled().unwrap();
        assert_eq!((settled.waits, settled.waited_ns), (1, 60_000_000_000));
        assert_eq!(note(Some(&settled)), None);
    }

    #[test]
    fn nothing_is_recorded_without_a_wait() {
        assert_eq!(settling(None).settled(), None);
        let busy =
            Settled { pause_ns: None, waits: 11, waited_ns: 1, not_idle: 3, pending: Some("writeback".to_owned()) };
        let note = note(Some(&busy)).unwrap();
        assert!(note.contains("3 of 12 runs") && note.contains("writeback") && note.contains("--settle"), "{note}");
    }
}
