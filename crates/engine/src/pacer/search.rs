//! The search for the largest depth at which latency stays below a goal.

use super::due::{Due, PaceFailure};
use crate::clock::{Clock, Ticks};
use crate::terms::Ended;
use plumb_workload::pace::LatencyGoal;
use plumb_workload::{Nanos, OpKind};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

/// State of a search, in memory that the coordinator reads. Zeroed memory means "no search".
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct SearchWords {
    /// The depth that is being tried, or was tried last.
    depth: AtomicU64,
    /// Nonzero once that trial, and with it the search, is over.
    over: AtomicU64,
}

impl SearchWords {
    /// Returns the state for a worker without a search.
    #[cfg(test)]
    pub(crate) const fn none() -> SearchWords {
        SearchWords { depth: AtomicU64::new(0), over: AtomicU64::new(0) }
    }

    /// Returns the depth that is being tried, or was tried last; `None` without a search.
    pub(crate) fn depth(&self) -> Option<u32> {
        Some(self.depth.load(Acquire)).filter(|&depth| depth > 0).map(|depth| depth as u32)
    }

    /// Returns `true` once the search has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Acquire) > 0
    }
}

/// Tries depths, each for a window: it doubles the depth until one fails, then bisects between the best that passed and
/// the lowest that failed. The depth found is tried once more, and that trial is the result.
pub(super) struct DepthSearch<'a> {
    words: &'a SearchWords,
    latency_ns: u64,
    window: Ticks,
    percent: f64,
    keeps_on: bool,
    most: u32,
    ramp: Ticks,
    depth: u32,
    /// The largest depth that passed, or 1.
    passed: u32,
    /// The smallest depth that failed.
    failed: Option<u32>,
    /// Consecutive passes at a depth directly below the failed one.
    passes_below: u32,
    stage: Stage,
    window_began: Ticks,
    /// Ops of the current window.
    ops: u64,
    /// Ops of the window that took too long.
    slow: u64,
    /// First slow op, kept only if a single slow op makes a depth fail.
    too_slow: Option<TooSlow>,
    /// Whether the last trial begins with the next op.
    restarts: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The ramp, which ends at this time.
    Ramp(Ticks),
    Trying,
    /// Nothing starts until all ops started at another depth have completed.
    Draining {
        then: AfterDrain,
    },
    /// The last trial, at the depth found.
    Confirming,
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterDrain {
    Try,
    Confirm,
}

#[derive(Debug, Clone, Copy)]
struct TooSlow {
    kind: OpKind,
    service_ns: u64,
}

/// Number of consecutive passes directly below a failed depth before that depth is tried again.
const PASSES_BEFORE_RETRY: u32 = 3;

impl<'a> DepthSearch<'a> {
    pub(super) fn new(goal: &LatencyGoal, depth: u32, ramp: Nanos, clock: Clock, words: &'a SearchWords) -> Self {
        DepthSearch {
            words,
            latency_ns: goal.latency.0,
            window: clock.ticks(goal.window.0),
            percent: goal.percent,
            keeps_on: goal.keep_on,
            most: depth.max(1),
            ramp: clock.ticks(ramp.0),
            depth: 1,
            passed: 1,
            failed: None,
            passes_below: 0,
            stage: Stage::Ramp(0),
            window_began: 0,
            ops: 0,
            slow: 0,
            too_slow: None,
            restarts: false,
        }
    }

    /// Returns `true` once, when the last trial has begun.
    #[inline]
    pub(super) fn restarts(&mut self) -> bool {
        std::mem::take(&mut self.restarts)
    }

    pub(super) fn start(&mut self, at: Ticks) {
        self.stage = Stage::Ramp(at + self.ramp);
        self.words.depth.store(u64::from(self.depth), Release);
    }

    /// Returns `true` if one slow op makes a depth fail.
    fn is_strict(&self) -> bool {
        self.percent >= 100.0
    }

    /// Counts a completed op.
    #[inline]
    pub(super) fn completed(&mut self, kind: OpKind, service_ns: u64) {
        if !matches!(self.stage, Stage::Trying | Stage::Confirming) {
            return;
        }
        self.ops += 1;
        if service_ns > self.latency_ns {
            self.slow += 1;
            if self.is_strict() && self.too_slow.is_none() {
                self.too_slow = Some(TooSlow { kind, service_ns });
            }
        }
    }

    /// Returns the reason why the next op may not start at `now`; with `None`, it starts.
    pub(super) fn due(&mut self, now: Ticks, in_flight: u32) -> Option<Due> {
        match self.stage {
            Stage::Ramp(until) if now >= until => self.begin_window(Stage::Trying, now),
            Stage::Trying | Stage::Confirming => self.judge(now),
            _ => {}
        }
        if let Stage::Draining { then } = self.stage {
            if in_flight > 0 {
                return Some(Due::AfterNext);
            }
            match then {
                AfterDrain::Try => self.begin_window(Stage::Trying, now),
                AfterDrain::Confirm => {
                    self.begin_window(Stage::Confirming, now);
                    // The measurement so far only served to find the depth.
                    self.restarts = true;
                }
            }
        }
        if self.stage == Stage::Over {
            return Some(Due::End(Ended::Done));
        }
        (in_flight >= self.depth).then_some(Due::AfterNext)
    }

    /// Returns the failure if no depth keeps the goal.
    pub(super) fn failure(&self) -> Option<PaceFailure> {
        let TooSlow { kind, service_ns } = self.too_slow.filter(|_| self.depth == 1)?;
        Some(PaceFailure {
            kind,
            errno: libc::ETIMEDOUT,
            message: format!(
                "a {} took {} at depth 1, but the latency goal is {}; no depth meets it",
                kind.name(),
                Nanos(service_ns),
                Nanos(self.latency_ns)
            ),
        })
    }

    fn begin_window(&mut self, stage: Stage, now: Ticks) {
        self.stage = stage;
        self.window_began = now;
        (self.ops, self.slow, self.too_slow) = (0, 0, None);
    }

    fn judge(&mut self, now: Ticks) {
        if self.too_slow.is_some() {
            self.lower();
            return;
        }
        // A window without completions allows no verdict yet.
        if now < self.window_began + self.window || self.ops == 0 {
            return;
        }
        let kept_percent = (self.ops - self.slow) as f64 / self.ops as f64 * 100.0;
        if kept_percent >= self.percent {
            self.raise(now);
        } else if self.depth > 1 {
            self.lower();
        } else {
            // There is no smaller depth to try: go on, and let the result show the latency.
            self.begin_window(self.stage, now);
        }
    }

    /// Lowers the depth after it failed.
    fn lower(&mut self) {
        if self.depth == 1 {
            return;
        }
        self.too_slow = None;
        self.failed = Some(self.depth);
        if self.depth == self.passed {
            self.passed -= 1;
        }
        self.passes_below = 0;
        self.set_depth(u32::midpoint(self.depth, self.passed));
        self.stage = Stage::Draining { then: AfterDrain::Try };
    }

    /// Raises the depth after it passed.
    fn raise(&mut self, now: Ticks) {
        let tried = self.depth;
        self.passed = tried;
        if let Some(failed) = &mut self.failed
            && tried + 1 == *failed
        {
            self.passes_below += 1;
            if self.passes_below == PASSES_BEFORE_RETRY {
                self.passes_below = 0;
                *failed += 1;
            }
        }
        let next = match self.failed {
            None => tried * 2,
            Some(failed) => u32::midpoint(tried, failed),
        };
        self.set_depth(next.min(self.most));
        if self.keeps_on || self.depth != tried {
            self.begin_window(Stage::Trying, now);
        } else if self.stage == Stage::Confirming {
            self.stage = Stage::Over;
            self.words.over.store(1, Release);
        } else {
            self.stage = Stage::Draining { then: AfterDrain::Confirm };
        }
    }

    fn set_depth(&mut self, depth: u32) {
        self.depth = depth;
        self.words.depth.store(u64::from(depth), Release);
    }
}
