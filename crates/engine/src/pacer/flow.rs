//! Flows: workers that keep their shares of the ops that they start together.

use super::due::Due;
use crate::clock::{Clock, Ticks};
use crate::control::FlowWords;
use plumb_workload::WorkerGroup;
use plumb_workload::pace::WeightedFlow;
use std::sync::atomic::Ordering::Relaxed;

/// Returns the number of the first group with the same flow as this one, which identifies the flow. A group with a
/// consumer has a flow of its own; `None` if the group has neither.
pub(crate) fn flow_home(groups: &[WorkerGroup], group: usize) -> Option<usize> {
    let flow_of = |group: &WorkerGroup| group.pace.flow.map(|flow| flow.flow);
    let own = groups.get(group)?;
    if own.pace.consumer.is_some() {
        return Some(group);
    }
    let flow = flow_of(own)?;
    groups.iter().position(|other| flow_of(other) == Some(flow))
}

/// When a worker's weight begins to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlowEntry {
    /// Before the phase starts. A worker that starts a moment earlier then does not run ahead
    /// of the others of its phase.
    WithPhase,
    /// When the worker starts. It has a delay or waits for others, which must not wait for it.
    AtStart,
}

impl FlowEntry {
    /// Returns how a worker of this group enters its flow.
    pub(crate) fn for_group(group: &WorkerGroup) -> FlowEntry {
        if group.start.is_with_phase() { FlowEntry::WithPhase } else { FlowEntry::AtStart }
    }
}

/// Maximum poll interval in ns, if no sleep is configured.
const LONGEST_POLL_NS: u64 = 200_000;

/// A worker's share of its flow: it waits while its part of all started ops is above its part of all weights.
pub(super) struct FlowShare<'a> {
    words: &'a FlowWords,
    weight: u64,
    /// Its part of `words.started`.
    started: u64,
    joined: bool,
    /// Length of each wait; `None` means to poll with increasing intervals.
    sleep: Option<Ticks>,
    /// Maximum poll interval without a configured sleep.
    longest_poll: Ticks,
    /// The next poll interval, doubled each time.
    poll: Ticks,
    resume_at: Ticks,
}

impl<'a> FlowShare<'a> {
    pub(super) fn new(flow: WeightedFlow, words: &'a FlowWords, entry: FlowEntry, clock: &Clock) -> FlowShare<'a> {
        let joined = entry == FlowEntry::WithPhase;
        if joined {
            words.weight.fetch_add(flow.weight.max(1).into(), Relaxed);
        }
        FlowShare {
            words,
            weight: u64::from(flow.weight.max(1)),
            started: 0,
            joined,
            sleep: (flow.sleep.0 > 0).then(|| clock.ticks(flow.sleep.0)),
            longest_poll: clock.ticks(LONGEST_POLL_NS).max(1),
            poll: 1,
            resume_at: 0,
        }
    }

    /// Adds the worker to the flow. A late worker is credited with its fair part of the others' started ops, so that
    /// they do not wait for it to catch up.
    pub(super) fn join(&mut self) {
        if self.joined {
            return;
        }
        let others = self.words.weight.fetch_add(self.weight, Relaxed);
        if others > 0 {
            let started = u128::from(self.words.started.load(Relaxed));
            self.started = (started * u128::from(self.weight) / u128::from(others)) as u64;
            self.words.started.fetch_add(self.started, Relaxed);
        }
        self.joined = true;
    }

    /// Returns the reason why the next op may not start at `now`; with `None`, it starts.
    pub(super) fn due(&mut self, now: Ticks, in_flight: u32) -> Option<Due> {
        if now < self.resume_at {
            return Some(Due::At(self.resume_at));
        }
        let all = u128::from(self.words.started.load(Relaxed));
        let weights = u128::from(self.words.weight.load(Relaxed));
        if u128::from(self.started) * weights > u128::from(self.weight) * all {
            if self.sleep.is_some() && in_flight > 0 {
                return Some(Due::AfterNext);
            }
            let wait = self.sleep.unwrap_or(self.poll);
            self.poll = (self.poll * 2).min(self.longest_poll);
            self.resume_at = now + wait;
            return Some(Due::At(self.resume_at));
        }
        self.poll = 1;
        self.words.started.fetch_add(1, Relaxed);
        self.started += 1;
        None
    }
}

impl Drop for FlowShare<'_> {
    fn drop(&mut self) {
        if self.joined {
            // The others keep their shares among themselves from now on.
            self.words.started.fetch_sub(self.started, Relaxed);
            self.words.weight.fetch_sub(self.weight, Relaxed);
        }
    }
}
