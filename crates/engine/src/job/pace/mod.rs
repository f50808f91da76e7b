//! When a job's next op may start: rates by kind, pauses, goals of latency, flows.
//!
//! Which pacer a job gets is decided once, by [`with_job_pacer`]: nothing asked for is [`Closed`], rates alone are
//! [`RatedJob`], and everything else is [`JobPacer`].

mod flow;
mod kinds;
mod minimum;
mod rates;
mod search;
pub(crate) mod steady;
mod think;

#[cfg(test)]
mod tests;

pub(crate) use flow::{FlowEntry, flow_home};
pub(crate) use kinds::KindsDue;
pub(crate) use search::SearchWords;

use crate::clock::{Clock, Ticks};
use crate::control::FlowWords;
use crate::op::Operation;
use crate::pacer::{Closed, Due, PaceFailure, Pacer};
use crate::rng::StreamId;
use crate::worker::Ended;
use flow::FlowShare;
use minimum::MinimumWatch;
use plumb_workload::job::{ByKind, JobPace};
use plumb_workload::{Nanos, OpKind, Pace};
use rates::Rates;
use search::DepthSearch;
use think::Thinking;

/// What a job's pacer is made from.
pub(crate) struct JobPacerRequest<'a> {
    /// The job's rates, pauses and goals.
    pub(crate) pace: &'a JobPace,
    /// The pace of its group, which must be closed.
    pub(crate) group_pace: Pace,
    /// The worker's clock.
    pub(crate) clock: Clock,
    /// Most ops in flight.
    pub(crate) depth: u32,
    /// Where its random gaps come from: the job's seed, and the worker's number among all workers.
    pub(crate) stream: StreamId,
    /// Minimum rates and goals are judged from here on: the ramps of its phase and its group together.
    pub(crate) ramp: Nanos,
    /// What it shares with the other jobs of its flow, where it has one: `gate.flow(flow_home(..))`.
    pub(crate) flow: Option<&'a FlowWords>,
    /// When it begins to count there.
    pub(crate) flow_entry: FlowEntry,
    /// Where the search for a depth writes how far it is: `&gate.report().search`.
    pub(crate) search: &'a SearchWords,
    /// What the job's source asks which kind of op is due, where it does ([`KindsDue::of`]).
    pub(crate) kinds: Option<KindsDue>,
}

/// Takes a pacer of the type that a job needs.
pub(crate) trait PacerVisitor {
    /// What becomes of it.
    type Out;
    /// Takes it.
    fn visit<P: Pacer>(self, pacer: P) -> Self::Out;
}

/// Makes the pacer that a job needs and hands it to the visitor.
pub(crate) fn with_job_pacer<V: PacerVisitor>(request: JobPacerRequest<'_>, visitor: V) -> Result<V::Out, String> {
    let pace = request.pace;
    if request.group_pace != Pace::Closed {
        return Err("a job keeps its own pace; leave its group's `pace` out and use the job's `pace`".to_owned());
    }
    let rated = is_set(&pace.bytes_per_second) || is_set(&pace.ops_per_second);
    let watched = pace.minimum.is_some()
        || pace.think.is_some()
        || is_set(&pace.longest_op)
        || pace.latency_goal.is_some()
        || pace.flow.is_some();
    Ok(match (rated, watched) {
        (false, false) => visitor.visit(Closed),
        (true, false) => visitor.visit(RatedJob { rates: Rates::new(&request) }),
        (false, true) => visitor.visit(JobPacer::<false>::new(&request)?),
        (true, true) => visitor.visit(JobPacer::<true>::new(&request)?),
    })
}

fn is_set<T>(by_kind: &ByKind<Option<T>>) -> bool {
    by_kind.read.is_some() || by_kind.write.is_some() || by_kind.trim.is_some()
}

/// So many kinds have rates of their own: reads, writes and trims.
const KINDS: usize = 3;

const KIND: [OpKind; KINDS] = [OpKind::Read, OpKind::Write, OpKind::Trim];

/// The place of a kind in arrays of [`KINDS`].
#[inline(always)]
fn place(kind: OpKind) -> Option<usize> {
    match kind {
        OpKind::Read => Some(0),
        OpKind::Write => Some(1),
        OpKind::Trim => Some(2),
        _ => None,
    }
}

fn in_places<T: Copy>(by_kind: &ByKind<T>) -> [T; KINDS] {
    [by_kind.read, by_kind.write, by_kind.trim]
}

/// A job with rates and nothing else.
pub(crate) struct RatedJob {
    rates: Rates,
}

impl Pacer for RatedJob {
    const OPEN: bool = true;

    fn start(&mut self, at: Ticks) {
        self.rates.start(at);
    }

    #[inline]
    fn due<O: Operation>(&mut self, now: Ticks, op: &O) -> Due {
        if op.paced() { self.rates.due(now, op.kind(), op.length()) } else { Due::Now { intended: now } }
    }

    #[inline(always)]
    fn completed(&mut self, _kind: OpKind, _moved: u64, _service_ns: u64, now: Ticks) {
        self.rates.saw(now);
    }
}

/// A job with anything that a job can have. `RATED`: it has rates, so that its ops have intended starts.
pub(crate) struct JobPacer<'a, const RATED: bool> {
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

impl<'a, const RATED: bool> JobPacer<'a, RATED> {
    fn new(request: &JobPacerRequest<'a>) -> Result<JobPacer<'a, RATED>, String> {
        let pace = request.pace;
        let flow = match (pace.flow, request.flow) {
            (Some(flow), Some(words)) => Some(FlowShare::new(flow, words, request.flow_entry, &request.clock)?),
            (Some(flow), None) => {
                return Err(format!("flow {} has no shared memory; this is a defect of Plumb", flow.flow));
            }
            (None, _) => None,
        };
        Ok(JobPacer {
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

impl<const RATED: bool> Pacer for JobPacer<'_, RATED> {
    const OPEN: bool = RATED;

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

    fn due<O: Operation>(&mut self, now: Ticks, op: &O) -> Due {
        if self.failure.is_some() {
            return Due::End(Ended::Failed);
        }
        if !op.paced() {
            self.in_flight += 1;
            return Due::Now { intended: now };
        }
        if let Some(held) = self.held_back(now) {
            return held;
        }
        // A share of the flow is taken only by an op that is due.
        if let Some(flow) = &mut self.flow
            && self.rates.is_due(now, op.kind())
            && let Some(held) = flow.due(now, self.in_flight)
        {
            return held;
        }
        let due = self.rates.due(now, op.kind(), op.length());
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
