//! Pacers of everything but the closed loop.

use super::consumer::Consuming;
use super::due::{Due, PaceFailure, PacedOp, Pacer};
use super::flow::FlowShare;
use super::kinds::{KINDS, in_places, place};
use super::minimum::MinimumWatch;
use super::rates::Rates;
use super::request::PacerRequest;
use super::search::DepthSearch;
use super::think::Thinking;
use crate::clock::Ticks;
use crate::terms::Ended;
use plumb_workload::{Nanos, OpKind};

/// A pacer with rates and nothing else.
pub(super) struct Rated<'a> {
    pub(super) rates: Rates<'a>,
    /// Whether every op is paced, even those that their source marks as unpaced.
    pub(super) paces_all: bool,
}

impl Pacer for Rated<'_> {
    fn is_open(&self) -> bool {
        true
    }

    fn start(&mut self, at: Ticks) {
        self.rates.start(at);
    }

    #[inline]
    fn due(&mut self, now: Ticks, op: PacedOp) -> Due {
        self.rates.due(now, PacedOp { is_paced: op.is_paced || self.paces_all, ..op })
    }

    #[inline(always)]
    fn completed(&mut self, _kind: OpKind, _moved: u64, _service_ns: u64, now: Ticks) {
        self.rates.set_now(now);
    }
}

/// A pacer that supports every setting of a pace.
pub(super) struct FullPacer<'a> {
    /// Whether it has rates, so that its ops have intended starts.
    rated: bool,
    rates: Rates<'a>,
    /// Whether every op is paced, even those that their source marks as unpaced.
    paces_all: bool,
    think: Option<Thinking>,
    /// Whether starts delayed by a pause are caught up.
    catches_up: bool,
    minimum: Option<MinimumWatch>,
    /// Maximum latency per kind, ns. A longer op ends the job.
    longest_ns: [Option<u64>; KINDS],
    search: Option<DepthSearch<'a>>,
    flow: Option<FlowShare<'a>>,
    consumer: Option<Consuming<'a>>,
    in_flight: u32,
    failure: Option<PaceFailure>,
}

impl<'a> FullPacer<'a> {
    pub(super) fn new(request: &PacerRequest<'a>, rated: bool) -> FullPacer<'a> {
        let PacerRequest { pace, clock, ramp, .. } = *request;
        FullPacer {
            rated,
            rates: Rates::new(request),
            paces_all: request.paces_all,
            think: pace.think.map(|think| Thinking::new(&think, clock)),
            catches_up: pace.catch_up_thinking,
            minimum: pace.minimum.map(|minimum| MinimumWatch::new(&minimum, ramp, clock)),
            longest_ns: in_places(&pace.longest_op).map(|longest| longest.map(|longest| longest.0)),
            search: pace.latency_goal.map(|goal| DepthSearch::new(&goal, request.depth, ramp, clock, request.search)),
            flow: pace
                .flow
                .zip(request.flow)
                .map(|(flow, words)| FlowShare::new(flow, words, request.flow_entry, &clock)),
            consumer: pace
                .consumer
                .zip(request.flow)
                .map(|(consumer, words)| Consuming::new(&consumer, &words.consumer, &clock)),
            in_flight: 0,
            failure: None,
        }
    }

    /// Returns what delays a paced op other than the rates; `None` if nothing does.
    fn held_back(&mut self, now: Ticks) -> Option<Due> {
        if let Some(search) = &mut self.search {
            let held = search.due(now, self.in_flight);
            if let Some(failure) = search.failure() {
                return Some(self.fail(failure));
            }
            if held.is_some() {
                return held;
            }
        }
        let think = self.think.as_mut()?;
        let held = think.due(now, self.in_flight);
        if let Some(pause) = think.take_pause()
            && !self.catches_up
        {
            self.rates.skip_missed_starts(pause, now);
        }
        held
    }

    #[cold]
    fn fail(&mut self, failure: PaceFailure) -> Due {
        self.failure.get_or_insert(failure);
        Due::End(Ended::Failed)
    }
}

impl Pacer for FullPacer<'_> {
    fn is_open(&self) -> bool {
        self.rated
    }

    fn start(&mut self, at: Ticks) {
        self.rates.start(at);
        if let Some(think) = &mut self.think {
            think.start(at);
        }
        if let Some(minimum) = &mut self.minimum {
            minimum.start(at);
        }
        if let Some(search) = &mut self.search {
            search.start(at);
        }
        if let Some(flow) = &mut self.flow {
            flow.join();
        }
    }

    fn due(&mut self, now: Ticks, op: PacedOp) -> Due {
        if self.failure.is_some() {
            return Due::End(Ended::Failed);
        }
        let op = PacedOp { is_paced: op.is_paced || self.paces_all, ..op };
        if !op.is_paced {
            self.in_flight += 1;
            return Due::Now { intended: now };
        }
        if let Some(held) = self.held_back(now) {
            return held;
        }
        if let Some(consumer) = &mut self.consumer
            && self.rates.is_due(now, op)
            && let Some(held) = consumer.due(now, op.length)
        {
            return held;
        }
        // Only an op that is due takes a share of the flow.
        if let Some(flow) = &mut self.flow
            && self.rates.is_due(now, op)
            && let Some(held) = flow.due(now, self.in_flight)
        {
            return held;
        }
        let due = self.rates.due(now, op);
        if let Due::Now { .. } = due {
            self.in_flight += 1;
            if let Some(think) = &mut self.think {
                think.started();
            }
        }
        due
    }

    fn completed(&mut self, kind: OpKind, moved: u64, service_ns: u64, now: Ticks) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.rates.set_now(now);
        let place = place(kind);
        if let Some(think) = &mut self.think
            && (place.is_some() || self.paces_all)
        {
            think.completed();
        }
        let Some(place) = place else { return };
        if let Some(consumer) = &mut self.consumer {
            consumer.completed(moved, now);
        }
        if let Some(search) = &mut self.search {
            search.completed(kind, service_ns);
        }
        if let Some(longest_ns) = self.longest_ns[place]
            && service_ns > longest_ns
        {
            self.fail(PaceFailure {
                kind,
                errno: libc::ETIMEDOUT,
                message: format!(
                    "a {} took {}, but at most {} is allowed",
                    kind.name(),
                    Nanos(service_ns),
                    Nanos(longest_ns)
                ),
            });
        }
        if let Some(minimum) = &mut self.minimum
            && let Some(failure) = minimum.completed(place, moved, now)
        {
            self.fail(failure);
        }
    }

    #[inline]
    fn restarts(&mut self) -> bool {
        self.search.as_mut().is_some_and(DepthSearch::restarts)
    }

    fn failure(&self) -> Option<PaceFailure> {
        self.failure.clone().or_else(|| self.search.as_ref()?.failure())
    }
}
