//! Shared state through which the coordinator and the workers of a phase communicate, across threads and processes.
#![allow(unsafe_code)]

use crate::clock::Ticks;
use crate::others::OtherProcesses;
use crate::shared::{Shareable, SharedSlice};
use crate::virtual_time;
#[cfg(target_os = "linux")]
use rustix::thread::futex;
use std::io;
use std::ops::Deref;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

/// Shared words of a phase. All zeros means that it has not begun.
#[repr(C)]
pub(crate) struct Control {
    /// Incremented to wake workers that wait for a start or a meeting.
    news: AtomicU32,
    /// Not 0 once the coordinator has taken its snapshot of the machine, after the clock stopped.
    snapshot_taken: AtomicU32,
    /// Start time of the phase.
    begins_at: AtomicU64,
    /// End of the phase's ramp.
    ramp_ends_at: AtomicU64,
    /// End of the phase's time.
    deadline: AtomicU64,
    ready: AtomicU64,
    done: AtomicU64,
    /// Number of those that did no I/O.
    companion_done: AtomicU64,
    /// Number of workers whose clock has stopped and that wait for the snapshot.
    awaiting_snapshot: AtomicU64,
    /// Ops left of the phase's common limit.
    ops_left: AtomicU64,
    /// Bytes left of the phase's common limit.
    bytes_left: AtomicU64,
    /// Number of workers that reached the stonewall.
    at_wall: AtomicU64,
    /// The highest progress among them.
    furthest: AtomicU64,
    /// Number of arrivals at barrier steps.
    at_steps: AtomicU64,
    /// Number of meetings with other processes, at the stonewall and at barrier steps, that a worker
    /// of this process has started.
    wall_led: AtomicU64,
    steps_led: AtomicU64,
    /// Number of those meetings that are over.
    wall_passed: AtomicU64,
    steps_passed: AtomicU64,
}

// SAFETY: repr(C), only atomics.
unsafe impl Shareable for Control {}

/// Limits that the workers of a phase share.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CommonLimit {
    pub(crate) ops: Option<u64>,
    pub(crate) bytes: Option<u64>,
}

/// Shared words of one worker, in their own cache line.
#[repr(C, align(64))]
pub(crate) struct WorkerWords {
    /// Time at which the worker must check its state: [`STOPPED`], or the end of its ramp, of its own time or of the
    /// phase. It only decreases, except at the end of the ramp, when the worker itself sets the next deadline.
    deadline: AtomicU64,
    /// Start time; 0 while unknown.
    go_at: AtomicU64,
    /// Start of its measured time; 0 before that.
    measured_at: AtomicU64,
}

// SAFETY: repr(C), only AtomicU64.
unsafe impl Shareable for WorkerWords {}

/// A deadline that is always over.
const STOPPED: Ticks = 0;

/// Longest sleep of a waiting worker.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// Up to this many waiting workers wake every [`LONGEST_SLEEP`].
const FREQUENT_SLEEPERS: u32 = 64;

/// Returns the longest sleep of a worker that waits for its start. The start wakes it, so many workers can wake less
/// often. Ten thousand workers that woke ten times a second kept the CPUs from starting the rest.
fn longest_before_start(workers: usize) -> Duration {
    let workers = u32::try_from(workers).unwrap_or(u32::MAX);
    LONGEST_SLEEP.saturating_mul(workers.div_ceil(FREQUENT_SLEEPERS).max(1))
}

/// A worker's view of its phase.
#[derive(Clone, Copy)]
pub(crate) struct WorkerControl<'a> {
    phase: &'a Control,
    workers: &'a [WorkerWords],
    own: &'a WorkerWords,
}

impl Deref for WorkerControl<'_> {
    type Target = Control;

    fn deref(&self) -> &Control {
        self.phase
    }
}

fn stop_all(phase: &Control, workers: &[WorkerWords]) {
    for worker in workers {
        worker.deadline.store(STOPPED, Release);
    }
    phase.wake_all();
}

impl WorkerControl<'_> {
    /// Returns `true` if the worker must stop, or has reached the end of its ramp.
    #[inline(always)]
    pub(crate) fn stops_at(&self, now: Ticks) -> bool {
        now >= self.own.deadline.load(Relaxed)
    }

    /// Asks all workers of the phase to stop after the current op.
    pub(crate) fn request_stop(&self) {
        stop_all(self.phase, self.workers);
    }

    /// Reports the worker's progress at the stonewall. Waits until all `workers` that do I/O, and those of `others`,
    /// have arrived. Returns the highest progress; `None` if the worker is stopped.
    pub(crate) fn meet_at_wall(&self, count: u64, workers: u64, others: Option<&dyn OtherProcesses>) -> Option<u64> {
        self.phase.furthest.fetch_max(count, AcqRel);
        if self.phase.at_wall.fetch_add(1, AcqRel) + 1 >= workers {
            self.phase.wake_all();
        }
        loop {
            let news = self.phase.news.load(Acquire);
            if self.stop_requested() {
                return None;
            }
            // Workers that are done count as arrived. None of them has passed the wall, so none counts twice.
            if self.phase.at_wall.load(Acquire) + self.phase.io_done() >= workers
                && self.has_met(others, &self.phase.wall_led, &self.phase.wall_passed, 1)
            {
                return Some(self.phase.furthest.load(Acquire));
            }
            self.phase.wait_for_news(news, LONGEST_SLEEP);
        }
    }

    /// Reports progress for the next meeting.
    pub(crate) fn bring(&self, count: u64) {
        self.phase.furthest.fetch_max(count, AcqRel);
    }

    /// Returns the highest progress reported so far.
    pub(crate) fn furthest(&self) -> u64 {
        self.phase.furthest.load(Acquire)
    }

    /// Waits until all `workers` that do I/O, and those of `others`, have reached their `number`th barrier step,
    /// counted from 1. Returns early if the run stops.
    pub(crate) fn meet_at_step(&self, number: u64, workers: u64, others: Option<&dyn OtherProcesses>) {
        let arrivals = number.saturating_mul(workers);
        if self.phase.at_steps.fetch_add(1, AcqRel) + 1 >= arrivals {
            self.phase.wake_all();
        }
        loop {
            let news = self.phase.news.load(Acquire);
            // A worker that is done has passed its last barrier step, or will never arrive.
            if self.stop_requested() || self.phase.io_done() > 0 {
                return;
            }
            if self.phase.at_steps.load(Acquire) >= arrivals
                && self.has_met(others, &self.phase.steps_led, &self.phase.steps_passed, number)
            {
                return;
            }
            self.phase.wait_for_news(news, LONGEST_SLEEP);
        }
    }

    /// Joins the meeting at the wall even if the worker is stopped, because other processes wait there. Only for the
    /// single worker of a process.
    pub(crate) fn join_others_at_wall(&self, others: Option<&dyn OtherProcesses>) {
        self.has_met(others, &self.phase.wall_led, &self.phase.wall_passed, 1);
    }

    /// Joins the meetings with other processes up to the `number`th barrier step, even if the worker is stopped.
    pub(crate) fn join_others_at_step(&self, number: u64, others: Option<&dyn OtherProcesses>) {
        // Includes the earlier meetings that a stopped worker has skipped.
        loop {
            let led = self.phase.steps_led.load(Acquire);
            if led >= number {
                return;
            }
            self.has_met(others, &self.phase.steps_led, &self.phase.steps_passed, led + 1);
        }
    }

    /// Returns `true` once the `number`th meeting with other processes is over. All workers of this process have
    /// arrived, and one of them represents it.
    fn has_met(&self, others: Option<&dyn OtherProcesses>, led: &AtomicU64, passed: &AtomicU64, number: u64) -> bool {
        let Some(others) = others else { return true };
        if led.compare_exchange(number - 1, number, AcqRel, Relaxed).is_ok() {
            match others.meet(self.phase.furthest.load(Acquire)) {
                Some(furthest) => self.phase.furthest.fetch_max(furthest, AcqRel),
                None => {
                    self.request_stop();
                    return false;
                }
            };
            passed.store(number, Release);
            self.phase.wake_all();
        }
        passed.load(Acquire) >= number
    }

    /// Returns the worker's start time, once known.
    pub(crate) fn go_at(&self) -> Option<Ticks> {
        Some(self.own.go_at.load(Acquire)).filter(|&at| at != 0)
    }

    /// Returns `true` if this worker was asked to stop.
    pub(crate) fn stop_requested(&self) -> bool {
        self.own.deadline.load(Acquire) == STOPPED
    }

    /// Waits until the start time is known. Returns `None` if the worker is stopped before.
    pub(crate) fn wait_for_go(&self) -> Option<Ticks> {
        loop {
            let news = self.phase.news.load(Acquire);
            if self.stop_requested() {
                return None;
            }
            match self.own.go_at.load(Acquire) {
                0 => self.phase.wait_for_news(news, longest_before_start(self.workers.len())),
                at => return Some(at),
            }
        }
    }

    /// Returns the worker's current deadline.
    pub(crate) fn own_deadline(&self) -> Ticks {
        self.own.deadline.load(Acquire)
    }

    /// Replaces the deadline `from` with `to`. Returns `false` if the worker was stopped in the meantime.
    pub(crate) fn move_deadline(&self, from: Ticks, to: Ticks) -> bool {
        self.own.deadline.compare_exchange(from, to.max(STOPPED + 1), AcqRel, Relaxed).is_ok()
    }

    /// Sets the start of the worker's measured time.
    pub(crate) fn measures_from(&self, at: Ticks) {
        self.own.measured_at.store(at.max(1), Release);
    }
}

impl Control {
    /// Returns the end of the phase's time.
    pub(crate) fn deadline(&self) -> Ticks {
        self.deadline.load(Relaxed)
    }

    /// Returns the start of the phase.
    pub(crate) fn began_at(&self) -> Ticks {
        self.begins_at.load(Relaxed)
    }

    /// Returns the end of the phase's ramp.
    pub(crate) fn ramp_ends_at(&self) -> Ticks {
        self.ramp_ends_at.load(Relaxed)
    }

    /// Wakes all waiting workers.
    fn wake_all(&self) {
        self.news.fetch_add(1, Release);
        virtual_time::tell();
        #[cfg(target_os = "linux")]
        // A shared futex: workers may be processes.
        let _ = futex::wake(&self.news, futex::Flags::empty(), i32::MAX.unsigned_abs());
    }

    /// Waits until `news` differs from `seen`, for at most `longest`.
    fn wait_for_news(&self, seen: u32, longest: Duration) {
        if virtual_time::in_worker() {
            return virtual_time::wait_for_news();
        }
        #[cfg(target_os = "linux")]
        {
            let longest = futex::Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos().into() };
            // A changed word, a signal and the timeout all make the caller check again.
            let _ = futex::wait(&self.news, futex::Flags::empty(), seen, Some(&longest));
        }
        #[cfg(not(target_os = "linux"))]
        if self.news.load(Acquire) == seen {
            std::thread::sleep(longest / 100);
        }
    }

    /// Counts a worker as ready for the barrier.
    pub(crate) fn worker_ready(&self) {
        self.ready.fetch_add(1, Release);
    }

    /// Returns the number of ready workers.
    pub(crate) fn ready(&self) -> u64 {
        self.ready.load(Acquire)
    }

    /// Counts a worker as done.
    pub(crate) fn worker_done(&self) {
        self.done.fetch_add(1, Release);
    }

    /// Returns the number of workers that are done.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Acquire)
    }

    /// Waits, after the worker's clock has stopped, until the coordinator has taken its
    /// snapshot. `wake` wakes the coordinator.
    pub(crate) fn await_snapshot(&self, wake: impl FnOnce()) {
        self.awaiting_snapshot.fetch_add(1, Release);
        wake();
        loop {
            let news = self.news.load(Acquire);
            if self.snapshot_taken.load(Acquire) != 0 {
                break;
            }
            self.wait_for_news(news, LONGEST_SLEEP);
        }
        self.awaiting_snapshot.fetch_sub(1, Release);
    }

    /// Returns the number of workers that wait for the snapshot.
    pub(crate) fn awaiting_snapshot(&self) -> u64 {
        self.awaiting_snapshot.load(Acquire)
    }

    /// Releases the workers that wait for the snapshot.
    pub(crate) fn snapshot_taken(&self) {
        self.snapshot_taken.store(1, Release);
        self.wake_all();
    }

    /// Counts a worker without I/O that is about to be done.
    pub(crate) fn companion_done(&self) {
        self.companion_done.fetch_add(1, Release);
    }

    /// Returns the number of I/O workers that are done. It may briefly be too low, but never too high.
    pub(crate) fn io_done(&self) -> u64 {
        // Read `done` first: every companion in it is then also in `companion_done`.
        let done = self.done();
        done.saturating_sub(self.companion_done.load(Acquire))
    }

    /// Sets the common limit, before the workers start.
    pub(crate) fn set_limit(&self, limit: CommonLimit) {
        self.ops_left.store(limit.ops.unwrap_or(u64::MAX), Relaxed);
        self.bytes_left.store(limit.bytes.unwrap_or(u64::MAX), Relaxed);
    }

    /// Takes one op of `bytes` from the common limit. Returns `false` if it is used up.
    pub(crate) fn claim(&self, bytes: u64) -> bool {
        let take = |left: &AtomicU64, amount: u64| {
            left.fetch_update(Relaxed, Relaxed, |left| match left {
                0 => None,
                u64::MAX => Some(u64::MAX),
                left => Some(left.saturating_sub(amount)),
            })
            .is_ok()
        };
        take(&self.ops_left, 1) && take(&self.bytes_left, bytes)
    }
}

/// State shared by the jobs of a flow. All zeros means that no job has joined.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct FlowWords {
    /// Number of ops started by the jobs that have joined.
    pub(crate) started: AtomicU64,
    /// Sum of their weights.
    pub(crate) weight: AtomicU64,
    /// Shared state of the readers' emulated consumer.
    pub(crate) consumer: ConsumerWords,
}

/// State shared by the readers of an emulated consumer. All zeros means that nothing was read.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct ConsumerWords {
    pub(crate) started: AtomicU64,
    pub(crate) completed: AtomicU64,
    pub(crate) read: AtomicU64,
    /// Time at which it has consumed all batches read so far, in ticks.
    pub(crate) free_at: AtomicU64,
}

// SAFETY: repr(C), only atomics.
unsafe impl Shareable for FlowWords {}

/// Control words of a phase and its workers. Also holds the state of its shared schedules and
/// flows, one per worker group.
pub(crate) struct ControlBlock {
    control: SharedSlice<Control>,
    workers: SharedSlice<WorkerWords>,
    schedules: SharedSlice<AtomicU64>,
    flows: SharedSlice<FlowWords>,
}

impl ControlBlock {
    /// Allocates the words of a phase that has not begun.
    pub(crate) fn new(groups: usize, workers: usize) -> io::Result<ControlBlock> {
        let workers: SharedSlice<WorkerWords> = SharedSlice::new(workers)?;
        for worker in workers.iter() {
            worker.deadline.store(Ticks::MAX, Relaxed);
        }
        Ok(ControlBlock {
            control: SharedSlice::new(1)?,
            workers,
            schedules: SharedSlice::new(groups)?,
            flows: SharedSlice::new(groups)?,
        })
    }

    pub(crate) fn control(&self) -> &Control {
        &self.control[0]
    }

    pub(crate) fn worker(&self, number: usize) -> WorkerControl<'_> {
        WorkerControl { phase: self.control(), workers: &self.workers, own: &self.workers[number] }
    }

    /// Sets the start and end of the phase, before the first worker is released.
    pub(crate) fn set_times(&self, times: PhaseTimes) {
        let control = self.control();
        control.begins_at.store(times.begins_at, Relaxed);
        control.ramp_ends_at.store(times.ramp_ends_at, Relaxed);
        control.deadline.store(times.deadline.unwrap_or(Ticks::MAX), Relaxed);
    }

    /// Sets the start times of these workers and wakes them.
    pub(crate) fn release(&self, workers: impl Iterator<Item = Departure>) {
        for Departure { worker, at } in workers {
            self.workers[worker].go_at.store(at.max(1), Release);
        }
        self.control().wake_all();
    }

    /// Asks all workers to stop after the current op.
    pub(crate) fn request_stop(&self) {
        stop_all(self.control(), &self.workers);
    }

    /// Asks one worker to stop after the current op.
    pub(crate) fn stop_worker(&self, number: usize) {
        self.workers[number].deadline.store(STOPPED, Release);
        self.control().wake_all();
    }

    /// Ends the ramp of a worker if the coordinator decides its end. Returns `false` if the worker has not begun.
    pub(crate) fn end_ramp(&self, number: usize) -> bool {
        let of_ramp = |deadline: Ticks| (deadline != STOPPED && deadline != Ticks::MAX).then_some(STOPPED + 1);
        let ended = self.workers[number].deadline.fetch_update(AcqRel, Acquire, of_ramp).is_ok();
        virtual_time::tell();
        ended
    }

    /// Returns a worker's start time, once known.
    pub(crate) fn go_at(&self, number: usize) -> Option<Ticks> {
        Some(self.workers[number].go_at.load(Acquire)).filter(|&at| at != 0)
    }

    /// Returns the start of a worker's measured time, once it has begun.
    pub(crate) fn measured_at(&self, number: usize) -> Option<Ticks> {
        Some(self.workers[number].measured_at.load(Acquire)).filter(|&at| at != 0)
    }

    /// Returns the number of the next start in a group's shared schedule.
    pub(crate) fn schedule(&self, group: usize) -> &AtomicU64 {
        &self.schedules[group]
    }

    /// Returns the shared state of a flow. The first group of the flow identifies it.
    pub(crate) fn flow(&self, first_group: usize) -> &FlowWords {
        &self.flows[first_group]
    }
}

/// Start, ramp end and deadline of a phase.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PhaseTimes {
    pub(crate) begins_at: Ticks,
    pub(crate) ramp_ends_at: Ticks,
    /// End of its time; `None` for no limit.
    pub(crate) deadline: Option<Ticks>,
}

/// A worker and its start time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Departure {
    pub(crate) worker: usize,
    pub(crate) at: Ticks,
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects machines with many workers: a few waiting workers wake as often as before, but ten thousand do not wake
    // a thousand times a second.
    #[test]
    fn many_waiting_workers_wake_rarely() {
        assert_eq!([1, 64].map(longest_before_start), [LONGEST_SLEEP; 2]);
        let wakeups_per_s = 10_000.0 / longest_before_start(10_000).as_secs_f64();
        assert!(wakeups_per_s < 1_000.0, "{wakeups_per_s}");
    }

    #[test]
    fn a_common_limit_is_used_up_exactly() {
        let block = ControlBlock::new(0, 0).unwrap();
        block.control().set_limit(CommonLimit { ops: Some(3), bytes: None });
        let claims: Vec<bool> = (0..5).map(|_| block.control().claim(4096)).collect();
        assert_eq!(claims, [true, true, true, false, false]);
        block.control().set_limit(CommonLimit { ops: None, bytes: Some(8192) });
        let claims: Vec<bool> = (0..3).map(|_| block.control().claim(4096)).collect();
        assert_eq!(claims, [true, true, false]);
    }

    #[test]
    fn a_stop_outlives_the_end_of_a_ramp() {
        let block = ControlBlock::new(0, 2).unwrap();
        let worker = block.worker(1);
        assert!(worker.move_deadline(Ticks::MAX, 500), "the ramp begins");
        assert!(worker.move_deadline(500, 900), "and ends");
        assert!(!worker.stops_at(899) && worker.stops_at(900));
        block.stop_worker(1);
        assert!(worker.stops_at(1) && worker.stop_requested());
        assert!(!worker.move_deadline(900, 1200), "a stopped worker does not continue");
        assert!(!block.worker(0).stop_requested(), "the other worker is not stopped");
        block.worker(0).request_stop();
        assert!(block.worker(0).stop_requested());
    }

    #[test]
    fn a_worker_waits_for_its_own_start_and_notices_a_stop() {
        let block = ControlBlock::new(0, 2).unwrap();
        std::thread::scope(|scope| {
            let (first, second) =
                (scope.spawn(|| block.worker(0).wait_for_go()), scope.spawn(|| block.worker(1).wait_for_go()));
            block.release([Departure { worker: 1, at: 7 }].into_iter());
            assert_eq!(second.join().unwrap(), Some(7));
            block.request_stop();
            assert_eq!(first.join().unwrap(), None);
        });
    }
}
