//! Types shared by plans, pacers, backends and loops: a worker's limits, its queue rules, and its end.
#![allow(unsafe_code)]

use crate::clock::Clock;
use crate::content::headers::Checksum;
use crate::control::Control;
use crate::op::Operation;
use crate::run_queue;
use plumb_result::RunQueue;
use plumb_workload::RunAs;

/// Reason for the end of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It reached its own limit or the end of its source.
    Done,
    /// Its time is over, or it was stopped.
    Stopped,
    /// An op failed, and errors end the worker.
    Failed,
}

/// Remaining limits of a worker.
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
    pub(crate) const UNLIMITED: Budget = Budget { ops: u64::MAX, bytes: u64::MAX, shares_limit: false };

    /// Takes one op from the budget; returns `false` if it is used up. A flush after the last
    /// write that fits also fits.
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

    /// Returns how many ops of this length are certain to fit.
    pub(crate) fn room(&self, length: u64) -> u32 {
        let ops = if self.shares_limit { 0 } else { self.ops.min(self.bytes / length.max(1)) };
        u32::try_from(ops).unwrap_or(u32::MAX)
    }

    /// Subtracts `ops` executed ops with `bytes` bytes together.
    #[inline(always)]
    pub(crate) fn spend(&mut self, ops: u32, bytes: u64) {
        self.ops -= u64::from(ops);
        // An unlimited budget stays unlimited.
        if self.bytes != u64::MAX {
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }
}

/// Queue rules of a worker with several ops in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queue {
    pub(crate) depth: u32,
    /// Maximum number of ops per submission.
    pub(crate) submit: u32,
    /// Number of completions to wait for when the queue is full.
    pub(crate) complete: u32,
    /// A full queue drains to this depth before it is refilled. If this equals the depth, the queue is
    /// refilled whenever there is room.
    pub(crate) refill_at: u32,
    /// Maximum number of completions to reap at once.
    pub(crate) most_completions: u32,
    pub(crate) in_flight: InFlight,
    pub(crate) handover: Handover,
}

impl Queue {
    /// A queue that is refilled whenever there is room, and waits for one completion otherwise.
    #[cfg(test)]
    pub(crate) const fn with_depth(depth: u32) -> Queue {
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

/// Restrictions on ops in flight together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InFlight {
    Anything,
    /// Ops in flight must not overlap.
    Apart,
}

/// How ops are submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handover {
    /// In one call together with waiting for completions.
    Plain,
    /// In a separate call, which is timed.
    Timed,
}

/// Rules for stamping and verifying blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamping {
    pub(crate) checksum: Checksum,
    /// Distance between stamps, common to everything that writes or verifies the target.
    pub(crate) interval_bytes: u64,
    /// Distinguishes this run's blocks from those of other runs.
    pub(crate) seed: u64,
    pub(crate) first_sequence: u64,
}

/// Resources that the kernel charged to a worker. Source: getrusage(2).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
    pub(crate) sleeps: u64,
    pub(crate) preemptions: u64,
    pub(crate) major_faults: u64,
    pub(crate) minor_faults: u64,
    /// Time that the thread waited for a CPU; `None` if the kernel does not count it.
    pub(crate) run_queue: Option<RunQueue>,
}

impl Usage {
    /// Reads the usage of the calling thread. If the worker is a process, reads that of the whole process, because all
    /// its threads belong to the worker. On virtual time nothing is charged.
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
        // SAFETY: writes to a live rusage.
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

    /// Returns the waits since an earlier reading; `None` if either reading has none.
    pub(crate) fn waited_since(&self, before: &Usage) -> Option<RunQueue> {
        let (now, before) = (self.run_queue?, before.run_queue?);
        Some(RunQueue {
            waited_ns: now.waited_ns.saturating_sub(before.waited_ns),
            turns: now.turns.saturating_sub(before.turns),
        })
    }
}
