//! When a job's next op may start: rates by kind, pauses, goals of latency, flows.
//!
//! Which pacer a job gets is decided once, by [`job_pacer`]: nothing asked for is [`Closed`], rates alone are
//! [`RatedJob`], and everything else is [`JobPacer`].

mod flow;
mod kinds;
mod minimum;
mod rates;
mod request;
mod search;
pub(crate) mod steady;
mod think;

#[cfg(test)]
mod tests;

pub(crate) use flow::{FlowEntry, flow_home};
pub(crate) use kinds::KindsDue;
pub(crate) use request::JobPacerRequest;
pub(crate) use search::SearchWords;

use crate::clock::Ticks;
use crate::pacer::{AnyPacer, Closed, Due, PaceFailure, PacedOp, Pacer};
use crate::terms::Ended;
use crate::worker_error::WorkerError;
use flow::FlowShare;
use kinds::{KINDS, in_places, place};
use minimum::MinimumWatch;
use plumb_workload::job::ByKind;
use plumb_workload::{Nanos, OpKind, Pace};
use rates::Rates;
use search::DepthSearch;
use think::Thinking;

/// Makes the pacer that a job needs.
pub(crate) fn job_pacer<'a>(request: JobPacerRequest<'a>) -> Result<AnyPacer<'a>, WorkerError> {
    let pace = request.pace;
    if request.group_pace != Pace::Closed {
        let words = "a job keeps its own pace; leave its group's `pace` out and use the job's `pace`";
        return Err(words.to_owned().into());
    }
    let rated = is_set(&pace.bytes_per_second) || is_set(&pace.ops_per_second);
    let watched = pace.minimum.is_some()
        || pace.think.is_some()
        || is_set(&pace.longest_op)
        || pace.latency_goal.is_some()
        || pace.flow.is_some();
    Ok(match (rated, watched) {
        (false, false) => AnyPacer::Closed(Closed),
        (true, false) => AnyPacer::Other(Box::new(RatedJob { rates: Rates::new(&request) })),
        (rated, true) => AnyPacer::Other(Box::new(JobPacer::new(&request, rated)?)),
    })
}

fn is_set<T>(by_kind: &ByKind<Option<T>>) -> bool {
    by_kind.read.is_some() || by_kind.write.is_some() || by_kind.trim.is_some()
}

/// A job with rates and nothing else.
pub(crate) struct RatedJob {
    rates: Rates,
}

impl Pacer for RatedJob {
    fn is_open(&self) -> bool {
        true
    }

    fn start(&mut self, at: Ticks) {
        self.rates.start(at);
    }

    #[inline]
    fn due(&mut self, now: Ticks, op: PacedOp) -> Due {
        if op.is_paced { self.rates.due(now, op.kind, op.length) } else { Due::Now { intended: now } }
    }

    #[inline(always)]
    fn completed(&mut self, _kind: OpKind, _moved: u64, _service_ns: u64, now: Ticks) {
        self.rates.saw(now);
    }
}

/// A job with anything that a job can have.
pub(crate) struct JobPacer<'a> {
    /// It has rates, so that its ops have intended starts.
    rated: bool,
    rates: Rates,
    think: Option<Thinking>,
    /// Whether what a pause kept from starting is made up for.
    catches_up: bool,
    minimum: Option<MinimumWatch>,
    /// Ops of each kind that take longer end the job, ns.
    longest_ns: [Option<u64>; KINDS],
    search: Option<DepthSearch<'a>>,
    flow: Option<FlowShare<'a>>,
    in_flight: u32,
    failure: Option<PaceFailure>,
}

impl<'a> JobPacer<'a> {
    fn new(request: &JobPacerRequest<'a>, rated: bool) -> Result<JobPacer<'a>, String> {
        let pace = request.pace;
        let flow = match (pace.flow, request.flow) {
            (Some(flow), Some(words)) => Some(FlowShare::new(flow, words, request.flow_entry, &request.clock)?),
            (Some(flow), None) => {
                return Err(format!("flow {} has no shared memory; this is a defect of Plumb", flow.flow));
            }
            (None, _) => None,
        };
        Ok(JobPacer {
            rated,
            rates: Rates::new(request),
            think: pace.think.map(|think| Thinking::new(&think, request.clock)),
            catches_up: pace.catch_up_thinking,
            minimum: pace.minimum.map(|minimum| MinimumWatch::new(&minimum, request.ramp, request.clock)),
            longest_ns: in_places(&pace.longest_op).map(|longest| longest.map(|longest| longest.0)),
            search: pace
                .latency_goal
                .map(|goal| DepthSearch::new(&goal, request.depth, request.ramp, request.clock, request.search)),
            flow,
            in_flight: 0,
            failure: None,
        })
    }

    /// Whether anything but the rates keeps an op that counts from starting.
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
            self.rates.forgive(pause, now);
        }
        held
    }

    #[cold]
    fn fail(&mut self, failure: PaceFailure) -> Due {
        self.failure.get_or_insert(failure);
        Due::End(Ended::Failed)
    }
}

impl Pacer for JobPacer<'_> {
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
        if !op.is_paced {
            self.in_flight += 1;
            return Due::Now { intended: now };
        }
        if let Some(held) = self.held_back(now) {
            return held;
        }
        // A share of the flow is taken only by an op that is due.
        if let Some(flow) = &mut self.flow
            && self.rates.is_due(now, op.kind)
            && let Some(held) = flow.due(now, self.in_flight)
        {
            return held;
        }
        let due = self.rates.due(now, op.kind, op.length);
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
        self.rates.saw(now);
        let Some(place) = place(kind) else { return };
        if let Some(think) = &mut self.think {
            think.completed();
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
                    "a {} took {} where {} is the longest allowed",
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
    fn begins_anew(&mut self) -> bool {
        self.search.as_mut().is_some_and(DepthSearch::begins_anew)
    }

    fn failure(&self) -> Option<PaceFailure> {
        self.failure.clone().or_else(|| self.search.as_ref()?.failure())
    }
}
