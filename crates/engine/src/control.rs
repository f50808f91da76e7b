//! What the coordinator and the workers of a phase tell each other, across threads and processes.
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

/// The shared words of a phase. Zeroed is "not begun".
#[repr(C)]
pub(crate) struct Control {
    /// Changes whenever there is something new for a worker that waits for its start.
    news: AtomicU32,
    /// Whether the coordinator has seen the machine as the clock stopped.
    looked: AtomicU32,
    /// When the phase begins.
    begins_at: AtomicU64,
    /// When the phase's ramp is over.
    ramp_ends_at: AtomicU64,
    /// When the phase's time is over.
    deadline: AtomicU64,
    ready: AtomicU64,
    done: AtomicU64,
    /// Those of them that did no I/O.
    beside_done: AtomicU64,
    /// Those whose clock has stopped and who wait for the look before they go on.
    awaiting_look: AtomicU64,
    /// Ops left of the phase's common limit.
    ops_left: AtomicU64,
    /// Bytes left of the phase's common limit.
    bytes_left: AtomicU64,
    /// Workers that met at the stonewall.
    at_wall: AtomicU64,
    /// How far the furthest of them came.
    furthest: AtomicU64,
    /// Arrivals at steps at which all workers meet.
    at_steps: AtomicU64,
    /// Meetings with other processes that one of the workers here has gone to: at the stonewall, and at steps.
    wall_led: AtomicU64,
    steps_led: AtomicU64,
    /// And has come back from.
    wall_passed: AtomicU64,
    steps_passed: AtomicU64,
}

// SAFETY: repr(C), nothing but AtomicU64.
unsafe impl Shareable for Control {}

/// What the workers of a phase may use up together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CommonLimit {
    pub(crate) ops: Option<u64>,
    pub(crate) bytes: Option<u64>,
}

/// The shared words of one worker, in a cache line of their own.
#[repr(C, align(64))]
pub(crate) struct WorkerWords {
    /// When the worker shall look up: [`STOPPED`], or when its ramp, its own time or the phase's is over. It only falls,
    /// but for the end of the ramp, which the worker itself exchanges for what comes next.
    deadline: AtomicU64,
    /// When it starts; 0 while that is not known.
    go_at: AtomicU64,
    /// Where its measured time begins; 0 before.
    measured_at: AtomicU64,
}

// SAFETY: repr(C), nothing but AtomicU64.
unsafe impl Shareable for WorkerWords {}

/// A deadline that is always over.
const STOPPED: Ticks = 0;

/// Longest sleep of a worker that waits for news.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// Up to this many workers look up every [`LONGEST_SLEEP`] while they wait for their start.
const FREQUENT_SLEEPERS: u32 = 64;

/// Longest sleep of a worker that waits for its start. The start wakes it, so that it can look up less often where there are many
/// workers: ten thousand that woke ten times a second took the processors from those still to be started.
fn longest_before_start(workers: usize) -> Duration {
    let workers = u32::try_from(workers).unwrap_or(u32::MAX);
    LONGEST_SLEEP.saturating_mul(workers.div_ceil(FREQUENT_SLEEPERS).max(1))
}

/// What one worker sees of its phase, and says to it.
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
    phase.tell();
}

impl WorkerControl<'_> {
    /// True when the worker shall end, or has reached the end of its ramp.
    #[inline(always)]
    pub(crate) fn stops_at(&self, now: Ticks) -> bool {
        now >= self.own.deadline.load(Relaxed)
    }

    /// Asks all workers of the phase to end after the op at hand.
    pub(crate) fn request_stop(&self) {
        stop_all(self.phase, self.workers);
    }

    /// Says how far the worker came to the stonewall, and waits until all `workers` that do I/O have, and those of
    /// `others`. How far the furthest came; `None` where the worker is stopped meanwhile.
    pub(crate) fn meet_at_wall(&self, count: u64, workers: u64, others: Option<&dyn OtherProcesses>) -> Option<u64> {
        self.phase.furthest.fetch_max(count, AcqRel);
        if self.phase.at_wall.fetch_add(1, AcqRel) + 1 >= workers {
            self.phase.tell();
        }
        loop {
            let news = self.phase.news.load(Acquire);
            if self.stop_requested() {
                return None;
            }
            // Who ended before the wall never comes: nobody passes it before all others are there.
            if self.phase.at_wall.load(Acquire) + self.phase.io_done() >= workers
                && self.has_met(others, &self.phase.wall_led, &self.phase.wall_passed, 1)
            {
                return Some(self.phase.furthest.load(Acquire));
            }
            self.phase.wait_for_news(news, LONGEST_SLEEP);
        }
    }

    /// Comes to the next meeting with a count.
    pub(crate) fn bring(&self, count: u64) {
        self.phase.furthest.fetch_max(count, AcqRel);
    }

    /// The highest count that anybody came with so far.
    pub(crate) fn furthest(&self) -> u64 {
        self.phase.furthest.load(Acquire)
    }

    /// Waits until all `workers` that do I/O, and those of `others`, have reached their `number`th barrier step, counted from
    /// 1, or the run stops.
    pub(crate) fn meet_at_step(&self, number: u64, workers: u64, others: Option<&dyn OtherProcesses>) {
        let arrivals = number.saturating_mul(workers);
        if self.phase.at_steps.fetch_add(1, AcqRel) + 1 >= arrivals {
            self.phase.tell();
        }
        loop {
            let news = self.phase.news.load(Acquire);
            // Who is done has left its last such step behind, or never comes.
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

    /// Comes to the wall where other processes wait, whether the worker is stopped or not; it is the only one of this process.
    pub(crate) fn keep_appointment_at_wall(&self, others: Option<&dyn OtherProcesses>) {
        self.has_met(others, &self.phase.wall_led, &self.phase.wall_passed, 1);
    }

    /// The same at their `number`th barrier step.
    pub(crate) fn keep_appointment_at_step(&self, number: u64, others: Option<&dyn OtherProcesses>) {
        // With those before it that a stopped worker has passed over.
        loop {
            let led = self.phase.steps_led.load(Acquire);
            if led >= number {
                return;
            }
            self.has_met(others, &self.phase.steps_led, &self.phase.steps_passed, led + 1);
        }
    }

    /// Whether the `number`th meeting with other processes is over, now that all workers of this one are there. One of them
    /// goes to it.
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
            self.phase.tell();
        }
        passed.load(Acquire) >= number
    }

    /// When this worker starts, once that is known.
    pub(crate) fn go_at(&self) -> Option<Ticks> {
        Some(self.own.go_at.load(Acquire)).filter(|&at| at != 0)
    }

    /// True when this worker was asked to end.
    pub(crate) fn stop_requested(&self) -> bool {
        self.own.deadline.load(Acquire) == STOPPED
    }

    /// Waits until it is known when the worker starts. `None` when it is stopped before that.
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

    /// When the worker is to look up.
    pub(crate) fn own_deadline(&self) -> Ticks {
        self.own.deadline.load(Acquire)
    }

    /// Exchanges the deadline at hand for the next. False when the worker was stopped meanwhile.
    pub(crate) fn move_deadline(&self, from: Ticks, to: Ticks) -> bool {
        self.own.deadline.compare_exchange(from, to.max(STOPPED + 1), AcqRel, Relaxed).is_ok()
    }

    /// Says where the worker's measured time begins.
    pub(crate) fn measures_from(&self, at: Ticks) {
        self.own.measured_at.store(at.max(1), Release);
    }
}

impl Control {
    /// When the phase's time is over.
    pub(crate) fn deadline(&self) -> Ticks {
        self.deadline.load(Relaxed)
    }

    /// When the phase began.
    pub(crate) fn began_at(&self) -> Ticks {
        self.begins_at.load(Relaxed)
    }

    /// When the phase's ramp is over.
    pub(crate) fn ramp_ends_at(&self) -> Ticks {
        self.ramp_ends_at.load(Relaxed)
    }

    /// Wakes those who wait for their start.
    fn tell(&self) {
        self.news.fetch_add(1, Release);
        virtual_time::tell();
        #[cfg(target_os = "linux")]
        // Not private: workers may be processes.
        let _ = futex::wake(&self.news, futex::Flags::empty(), i32::MAX.unsigned_abs());
    }

    /// Waits until there is other news than `seen`, but no longer than `longest`.
    fn wait_for_news(&self, seen: u32, longest: Duration) {
        if virtual_time::in_worker() {
            return virtual_time::wait_for_news();
        }
        #[cfg(target_os = "linux")]
        {
            let longest = futex::Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos().into() };
            // That the word has changed, a signal and the time-out all end in another look.
            let _ = futex::wait(&self.news, futex::Flags::empty(), seen, Some(&longest));
        }
        #[cfg(not(target_os = "linux"))]
        if self.news.load(Acquire) == seen {
            std::thread::sleep(longest / 100);
        }
    }

    /// A worker is ready for the barrier.
    pub(crate) fn worker_ready(&self) {
        self.ready.fetch_add(1, Release);
    }

    /// How many workers are ready.
    pub(crate) fn ready(&self) -> u64 {
        self.ready.load(Acquire)
    }

    /// A worker is done.
    pub(crate) fn worker_done(&self) {
        self.done.fetch_add(1, Release);
    }

    /// How many workers are done.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Acquire)
    }

    /// Waits, as a worker whose clock has stopped, until the coordinator has seen the machine. `says` wakes it.
    pub(crate) fn await_look(&self, says: impl FnOnce()) {
        self.awaiting_look.fetch_add(1, Release);
        says();
        loop {
            let news = self.news.load(Acquire);
            if self.looked.load(Acquire) != 0 {
                break;
            }
            self.wait_for_news(news, LONGEST_SLEEP);
        }
        self.awaiting_look.fetch_sub(1, Release);
    }

    /// How many workers wait for the look.
    pub(crate) fn awaiting_look(&self) -> u64 {
        self.awaiting_look.load(Acquire)
    }

    /// The coordinator has seen the machine: what no clock sees may go on.
    pub(crate) fn looked(&self) {
        self.looked.store(1, Release);
        self.tell();
    }

    /// A worker that does no I/O is about to be done.
    pub(crate) fn beside_done(&self) {
        self.beside_done.fetch_add(1, Release);
    }

    /// How many workers that do I/O are done; never more than there are, but for a moment perhaps fewer.
    pub(crate) fn io_done(&self) -> u64 {
        // In this order: what is among the first is among the second.
        let done = self.done();
        done.saturating_sub(self.beside_done.load(Acquire))
    }

    /// Sets the common limit, before the workers start.
    pub(crate) fn set_limit(&self, limit: CommonLimit) {
        self.ops_left.store(limit.ops.unwrap_or(u64::MAX), Relaxed);
        self.bytes_left.store(limit.bytes.unwrap_or(u64::MAX), Relaxed);
    }

    /// Takes one op of `bytes` from the common limit; false when it is used up.
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

/// What the jobs of a flow share. Zeroed is "nobody is there".
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct FlowWords {
    /// Ops that those who are there have started.
    pub(crate) started: AtomicU64,
    /// Sum of their weights.
    pub(crate) weight: AtomicU64,
    /// What the readers of the group know of their consumer.
    pub(crate) consumer: ConsumerWords,
}

/// What the readers of an emulated consumer share. Zeroed is "nothing is read".
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct ConsumerWords {
    /// Ops that were started,
    pub(crate) started: AtomicU64,
    /// and that came to their end.
    pub(crate) completed: AtomicU64,
    /// Bytes that were read.
    pub(crate) read: AtomicU64,
    /// When it is done with all batches that were read, ticks.
    pub(crate) free_at: AtomicU64,
}

// SAFETY: repr(C), nothing but AtomicU64.
unsafe impl Shareable for FlowWords {}

/// The control words of one phase and of its workers, and the numbers of its shared schedules and the words of its flows,
/// one a worker group.
pub(crate) struct ControlBlock {
    control: SharedSlice<Control>,
    workers: SharedSlice<WorkerWords>,
    schedules: SharedSlice<AtomicU64>,
    flows: SharedSlice<FlowWords>,
}

impl ControlBlock {
    /// Words of a phase with this many groups and workers that has not begun.
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

    /// The phase's words.
    pub(crate) fn control(&self) -> &Control {
        &self.control[0]
    }

    /// What a worker sees.
    pub(crate) fn worker(&self, number: usize) -> WorkerControl<'_> {
        WorkerControl { phase: self.control(), workers: &self.workers, own: &self.workers[number] }
    }

    /// Sets when the phase begins and ends, before the first worker is released.
    pub(crate) fn set_times(&self, times: PhaseTimes) {
        let control = self.control();
        control.begins_at.store(times.begins_at, Relaxed);
        control.ramp_ends_at.store(times.ramp_ends_at, Relaxed);
        control.deadline.store(times.deadline.unwrap_or(Ticks::MAX), Relaxed);
    }

    /// Starts these workers, each at its time.
    pub(crate) fn release(&self, workers: impl Iterator<Item = Departure>) {
        for Departure { worker, at } in workers {
            self.workers[worker].go_at.store(at.max(1), Release);
        }
        self.control().tell();
    }

    /// Asks all workers to end after the op at hand.
    pub(crate) fn request_stop(&self) {
        stop_all(self.control(), &self.workers);
    }

    /// Asks one worker to end after the op at hand.
    pub(crate) fn stop_worker(&self, number: usize) {
        self.workers[number].deadline.store(STOPPED, Release);
        self.control().tell();
    }

    /// Ends the ramp of a worker that has begun and whose ramp has no time of its own. False where it has not begun.
    pub(crate) fn end_ramp(&self, number: usize) -> bool {
        let of_ramp = |deadline: Ticks| (deadline != STOPPED && deadline != Ticks::MAX).then_some(STOPPED + 1);
        let ended = self.workers[number].deadline.fetch_update(AcqRel, Acquire, of_ramp).is_ok();
        virtual_time::tell();
        ended
    }

    /// When a worker starts, once that is known.
    pub(crate) fn go_at(&self, number: usize) -> Option<Ticks> {
        Some(self.workers[number].go_at.load(Acquire)).filter(|&at| at != 0)
    }

    /// Where a worker's measured time begins, once it has.
    pub(crate) fn measured_at(&self, number: usize) -> Option<Ticks> {
        Some(self.workers[number].measured_at.load(Acquire)).filter(|&at| at != 0)
    }

    /// The number of the next start of a group's shared schedule.
    pub(crate) fn schedule(&self, group: usize) -> &AtomicU64 {
        &self.schedules[group]
    }

    /// What the jobs of a flow share; the flow is named by the first group that belongs to it.
    pub(crate) fn flow(&self, first_group: usize) -> &FlowWords {
        &self.flows[first_group]
    }
}

/// When a phase begins and ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PhaseTimes {
    pub(crate) begins_at: Ticks,
    pub(crate) ramp_ends_at: Ticks,
    /// When its time is over, where it has one.
    pub(crate) deadline: Option<Ticks>,
}

/// A worker and when it starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Departure {
    pub(crate) worker: usize,
    pub(crate) at: Ticks,
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects many workers from those that wait: few look up as often as ever, and ten thousand not a thousand times a second.
    #[test]
    fn many_that_wait_for_their_start_look_up_seldom() {
        assert_eq!([1, 64].map(longest_before_start), [LONGEST_SLEEP; 2]);
        let looks_per_s = 10_000.0 / longest_before_start(10_000).as_secs_f64();
        assert!(looks_per_s < 1_000.0, "{looks_per_s}");
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
        assert!(!worker.move_deadline(900, 1200), "nobody who was stopped goes on");
        assert!(!block.worker(0).stop_requested(), "which is nobody else's stop");
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
