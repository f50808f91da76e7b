//! What a worker is given to do, and how it ends: the words that plans, pacers, backends and loops have in common.
#![allow(unsafe_code)]

use crate::clock::Clock;
use crate::content::headers::Checksum;
use crate::control::Control;
use crate::op::Operation;
use crate::run_queue;
use plumb_result::RunQueue;
use plumb_workload::RunAs;

/// Why a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It reached its own limit or the end of its source.
    Done,
    /// Its time is over, or it was stopped.
    Stopped,
    /// An op failed, and errors end the worker.
    Failed,
}

/// What a worker may still do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) ops: u64,
    pub(crate) bytes: u64,
    /// Whether the phase has a limit that all workers share.
    pub(crate) shares_limit: bool,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::UNLIMITED
    }
}

impl Budget {
    /// Whatever it likes.
    pub(crate) const UNLIMITED: Budget = Budget { ops: u64::MAX, bytes: u64::MAX, shares_limit: false };

    /// Takes one op; false when it is used up. A flush behind the last write that fits still fits.
    #[inline(always)]
    pub(crate) fn take<O: Operation>(&mut self, control: &Control, op: &O) -> bool {
        if !op.counts() {
            return true;
        }
        let Some(left) = self.ops.checked_sub(1) else { return false };
        let bounded = self.bytes != u64::MAX;
        if (bounded && self.bytes == 0) || (self.shares_limit && !control.claim(op.moves())) {
            return false;
        }
        self.ops = left;
        if bounded {
            self.bytes = self.bytes.saturating_sub(op.moves());
        }
        true
    }

    /// How many ops of a length are sure to fit.
    pub(crate) fn room(&self, length: u64) -> u32 {
        let ops = if self.shares_limit { 0 } else { self.ops.min(self.bytes / length.max(1)) };
        u32::try_from(ops).unwrap_or(u32::MAX)
    }

    /// This many ops were made, of this many bytes together.
    #[inline(always)]
    pub(crate) fn spend(&mut self, ops: u32, bytes: u64) {
        self.ops -= u64::from(ops);
        // Without end it stays.
        if self.bytes != u64::MAX {
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }
}

/// How a queued worker gathers ops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queue {
    pub(crate) depth: u32,
    /// Most ops of one submission.
    pub(crate) submit: u32,
    /// Completions waited for when the queue is full.
    pub(crate) complete: u32,
    /// A full queue drains to this depth before it is filled again; at the depth, it is filled whenever there is room.
    pub(crate) refill_at: u32,
    /// Completions taken at once at most.
    pub(crate) most_completions: u32,
    pub(crate) in_flight: InFlight,
    pub(crate) handover: Handover,
}

impl Queue {
    /// A queue that is filled whenever there is room and waits for one completion when there is none.
    #[cfg(test)]
    pub(crate) const fn of(depth: u32) -> Queue {
        Queue {
            depth,
            submit: depth,
            complete: 1,
            refill_at: depth,
            most_completions: depth,
            in_flight: InFlight::Anything,
            handover: Handover::Plain,
        }
    }
}

/// Which ops may be in flight together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InFlight {
    /// Any.
    Anything,
    /// None that overlaps another.
    Apart,
}

/// How ops are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handover {
    /// In one call with waiting for completions.
    Plain,
    /// In a call of its own, which is timed.
    Timed,
}

/// How blocks are stamped and verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamping {
    pub(crate) checksum: Checksum,
    /// Distance between stamps: common to everything that writes or verifies the target.
    pub(crate) interval_bytes: u64,
    /// Tells this run's blocks from those of other runs.
    pub(crate) seed: u64,
    pub(crate) first_sequence: u64,
}

/// What the kernel charged to a worker. Source: getrusage(2).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
    /// Voluntary context switches.
    pub(crate) sleeps: u64,
    /// Involuntary context switches.
    pub(crate) preemptions: u64,
    pub(crate) major_faults: u64,
    pub(crate) minor_faults: u64,
    /// Waits of the thread for a processor; `None` where the kernel does not count them.
    pub(crate) run_queue: Option<RunQueue>,
}

impl Usage {
    /// Of the calling thread, or of its whole process where the worker is one: helpers are then its own. On virtual time
    /// nothing is charged to anybody.
    pub(crate) fn now(clock: &Clock, run_as: RunAs) -> Usage {
        if clock.is_virtual() {
            return Usage::default();
        }
        // SAFETY: rusage is plain data, valid when zeroed.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        #[cfg(target_os = "linux")]
        let who = if run_as == RunAs::Thread { libc::RUSAGE_THREAD } else { libc::RUSAGE_SELF };
        #[cfg(not(target_os = "linux"))]
        let who = {
            let _ = run_as;
            libc::RUSAGE_SELF
        };
        // SAFETY: writes into a live rusage.
        unsafe { libc::getrusage(who, &raw mut usage) };
        let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
        let count = |count: libc::c_long| u64::try_from(count).unwrap_or(0);
        Usage {
            user_ns: ns(usage.ru_utime),
            system_ns: ns(usage.ru_stime),
            sleeps: count(usage.ru_nvcsw),
            preemptions: count(usage.ru_nivcsw),
            major_faults: count(usage.ru_majflt),
            minor_faults: count(usage.ru_minflt),
            run_queue: run_queue::now(),
        }
    }

    /// Waits since an earlier reading; `None` where one of the two did not see them.
    pub(crate) fn waited_since(&self, before: &Usage) -> Option<RunQueue> {
        let (now, before) = (self.run_queue?, before.run_queue?);
        Some(RunQueue {
            waited_ns: now.waited_ns.saturating_sub(before.waited_ns),
            turns: now.turns.saturating_sub(before.turns),
        })
    }
}
