//! Detects pauses of this process: stopped by a signal, frozen, or on a machine that did not run.
//!
//! A thread repeatedly sleeps for a short time. If it oversleeps without waiting on a run queue, it was not allowed
//! to run. A scheduler short of processors makes a thread wait there, and counts the wait.

use crate::error::ProbeError;
use crate::platform;
use crate::sysroot::Sysroot;
use plumb_result::{Pause, PauseCause, Seen};
use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Sleep of the thread. cpulimit(1) stops its victim for parts of 100 ms.
const TICK: Duration = Duration::from_millis(10);
/// Minimum length of a stop. Shorter ones look like late timers.
const STOPPED_NS: u64 = 10_000_000;
/// Minimum length of a pause without a signal as evidence: a page fault or a late timer of the host takes less.
const STALLED_NS: u64 = 100_000_000;
/// If one clock advanced by this much while the other stood still, it was not just read late.
const SUSPENDED_NS: u64 = 50_000_000;
/// Number of ticks between two readings of stolen time.
const STEAL_TICKS: u32 = 100;
/// Maximum number of pauses kept. Further ones are added to the last.
const PAUSES_MAX: usize = 1000;

/// Watches this process for pauses while it lives.
#[derive(Debug)]
pub struct PauseWatch {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Vec<Pause>, ProbeError>>>,
}

/// Ends the thread if `finish` is never called.
impl Drop for PauseWatch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
    }
}

impl PauseWatch {
    /// Starts watching: call it as the clock starts.
    pub fn start() -> PauseWatch {
        platform::continues();
        let is_over = Arc::new(AtomicBool::new(false));
        let seen_there = Arc::clone(&is_over);
        let began_ns = platform::monotonic_ns();
        let thread = thread::Builder::new().name("pauses".to_owned()).spawn(move || watch(&seen_there, began_ns)).ok();
        PauseWatch { is_over, thread }
    }

    /// Returns the pauses since the start, in order.
    pub fn finish(mut self) -> Seen<Vec<Pause>> {
        self.is_over.store(true, Ordering::Release);
        let Some(thread) = self.thread.take() else {
            return Seen::no("the thread that watches for pauses could not be started");
        };
        thread.thread().unpark();
        match thread.join() {
            Ok(seen) => seen.into(),
            Err(_) => Seen::no("the thread that watched for pauses panicked"),
        }
    }
}

fn watch(is_over: &AtomicBool, began_ns: u64) -> Result<Vec<Pause>, ProbeError> {
    let waits = OwnWaits::open()?;
    let mut state = PausesFound::new(began_ns, waits.read()?, stolen_ns());
    let mut ticks = 0;
    while !is_over.load(Ordering::Acquire) {
        thread::park_timeout(TICK);
        let read = waits.read()?;
        ticks += 1;
        let is_late = state.overslept_ns(&read) >= STOPPED_NS;
        let stolen_ns = (is_late || ticks % STEAL_TICKS == 0).then(stolen_ns).flatten();
        state.see(read, stolen_ns);
    }
    Ok(state.pauses)
}

/// Returns the stolen time of all processors in ns. Counts time in which the host did not run the machine,
/// if the host reports it.
fn stolen_ns() -> Option<u64> {
    let text = Sysroot::real().read("/proc/stat").ok()?;
    let ticks = crate::counters::cpu_ticks(&text).ok()?.steal;
    Some(ticks.saturating_mul(1_000_000_000 / platform::ticks_per_second().max(1)))
}

/// One reading of the watching thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WaitsReading {
    monotonic_ns: u64,
    boot_ns: u64,
    /// Time that this thread was runnable and waited for a processor.
    waited_ns: u64,
    continues: u32,
}

/// Waits of the watching thread itself.
struct OwnWaits {
    file: OwnedFd,
}

impl OwnWaits {
    fn open() -> Result<OwnWaits, ProbeError> {
        let path = "/proc/thread-self/schedstat";
        let waits = OwnWaits { file: crate::read_only::open(path, OFlags::RDONLY).map_err(ProbeError::read(path))? };
        // This thread must have had a turn to get here, unless the kernel does not count.
        match waits.numbers()? {
            [_, 0] => Err(ProbeError::Unseeable("this kernel does not count how long threads wait for processors")),
            _ => Ok(waits),
        }
    }

    /// Returns the time waited in ns, and the turns on a processor.
    fn numbers(&self) -> Result<[u64; 2], ProbeError> {
        let mut text = [0u8; 64];
        let length = rustix::io::pread(&self.file, &mut text, 0).map_err(ProbeError::call("pread of schedstat"))?;
        let text = String::from_utf8_lossy(&text[..length]);
        let mut numbers = text.split_ascii_whitespace().skip(1).map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(waited_ns)), Some(Ok(turns))) => Ok([waited_ns, turns]),
            _ => Err(ProbeError::form("/proc/thread-self/schedstat", &text, "three numbers")),
        }
    }

    fn read(&self) -> Result<WaitsReading, ProbeError> {
        let [waited_ns, _] = self.numbers()?;
        let (monotonic_ns, boot_ns) = platform::monotonic_and_boot();
        Ok(WaitsReading { monotonic_ns, boot_ns, waited_ns, continues: platform::continues() })
    }
}

/// The pauses found so far. Pure, so that tests control the time.
struct PausesFound {
    began_ns: u64,
    last: WaitsReading,
    stolen_ns: Option<u64>,
    pauses: Vec<Pause>,
}

impl PausesFound {
    fn new(began_ns: u64, first: WaitsReading, stolen_ns: Option<u64>) -> PausesFound {
        PausesFound { began_ns, last: first, stolen_ns, pauses: Vec::new() }
    }

    fn overslept_ns(&self, now: &WaitsReading) -> u64 {
        let slept = now.monotonic_ns.saturating_sub(self.last.monotonic_ns);
        slept.saturating_sub(TICK.as_nanos() as u64)
    }

    fn see(&mut self, now: WaitsReading, stolen_ns: Option<u64>) {
        let overslept_ns = self.overslept_ns(&now);
        let waited_ns = now.waited_ns.saturating_sub(self.last.waited_ns);
        let boot_ns = now.boot_ns.saturating_sub(self.last.boot_ns);
        let asleep_ns = boot_ns.saturating_sub(now.monotonic_ns.saturating_sub(self.last.monotonic_ns));
        let stolen = stolen_ns.zip(self.stolen_ns).map_or(0, |(now, before)| now.saturating_sub(before));
        // Waiting for a processor is due to the scheduler, not a pause.
        let still_ns = overslept_ns.saturating_sub(waited_ns);
        let is_still = still_ns >= STOPPED_NS && still_ns > overslept_ns / 2;
        if asleep_ns >= SUSPENDED_NS {
            self.add(now, asleep_ns, PauseCause::Suspended);
        } else if is_still && now.continues != self.last.continues {
            self.add(now, still_ns, PauseCause::Stopped);
        } else if is_still && still_ns >= STALLED_NS && stolen < still_ns / 2 {
            self.add(now, still_ns, PauseCause::Stalled);
        }
        self.stolen_ns = stolen_ns.or(self.stolen_ns);
        self.last = now;
    }

    fn add(&mut self, now: WaitsReading, length_ns: u64, cause: PauseCause) {
        let until_ns = now.monotonic_ns.saturating_sub(self.began_ns);
        let is_full = self.pauses.len() >= PAUSES_MAX;
        match self.pauses.last_mut() {
            Some(last) if is_full => {
                (last.until_ns, last.length_ns) = (until_ns, last.length_ns.saturating_add(length_ns));
            }
            _ => self.pauses.push(Pause { until_ns, length_ns, cause }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// One sleep of the thread, in ms.
    #[derive(Clone, Copy, Default)]
    struct Sleep {
        took: u64,
        waited: u64,
        suspended: u64,
        continued: bool,
        stolen: u64,
    }

    fn pauses(sleeps: &[Sleep]) -> Vec<(PauseCause, u64)> {
        let mut now = WaitsReading { monotonic_ns: 7 * MS, boot_ns: 9 * MS, waited_ns: MS, continues: 3 };
        let mut stolen_ns = 0;
        let mut state = PausesFound::new(now.monotonic_ns, now, Some(stolen_ns));
        for sleep in sleeps {
            now.monotonic_ns += sleep.took * MS;
            now.boot_ns += (sleep.took + sleep.suspended) * MS;
            now.waited_ns += sleep.waited * MS;
            now.continues += u32::from(sleep.continued);
            stolen_ns += sleep.stolen * MS;
            state.see(now, Some(stolen_ns));
        }
        state.pauses.iter().map(|pause| (pause.cause, pause.length_ns / MS)).collect()
    }

    // Protects: each cause has its own evidence, and a scheduler's delay is not a pause.
    #[test]
    fn causes_are_distinguished() {
        let plain = Sleep { took: 10, ..Sleep::default() };
        assert_eq!(pauses(&[plain; 200]), []);
        let stopped = Sleep { took: 4010, continued: true, ..Sleep::default() };
        assert_eq!(pauses(&[plain, stopped, plain]), [(PauseCause::Stopped, 4000)]);
        assert_eq!(pauses(&[Sleep { took: 4010, ..plain }]), [(PauseCause::Stalled, 4000)]);
        assert_eq!(pauses(&[Sleep { suspended: 9000, ..plain }]), [(PauseCause::Suspended, 9000)]);
        for delayed in [
            Sleep { took: 4010, waited: 3900, ..Sleep::default() },
            Sleep { took: 4010, waited: 3900, continued: true, ..Sleep::default() },
            Sleep { took: 4010, stolen: 3900, ..Sleep::default() },
            Sleep { took: 90, ..Sleep::default() },
        ] {
            assert_eq!(pauses(&[plain, delayed, plain]), []);
        }
        // A continue without a stop, as shells send it to running jobs.
        assert_eq!(pauses(&[Sleep { continued: true, ..plain }]), []);
    }

    // Protects: half the time in short stops adds up to half the time, and the list is bounded.
    #[test]
    fn many_short_stops_add_up() {
        let cycle = [Sleep { took: 10, ..Sleep::default() }, Sleep { took: 60, continued: true, ..Sleep::default() }];
        let seen = pauses(&cycle.repeat(2000));
        assert_eq!(seen.len(), PAUSES_MAX);
        assert_eq!(seen.iter().map(|(_, ms)| ms).sum::<u64>(), 2000 * 50);
    }

    // Protects: on this machine the thread starts, ends when asked to, and finds nothing impossible.
    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine() {
        let watch = PauseWatch::start();
        thread::sleep(Duration::from_millis(30));
        match watch.finish() {
            Seen::Yes(pauses) => assert!(pauses.iter().all(|pause| pause.length_ns < 600_000_000_000)),
            Seen::No(reason) => assert!(reason.contains("count"), "{reason}"),
        }
    }
}
