//! What a job's pacer is made from.

use super::flow::FlowEntry;
use super::kinds::KindsDue;
use super::search::SearchWords;
use crate::clock::Clock;
use crate::control::FlowWords;
use crate::rng::StreamId;
use plumb_workload::job::JobPace;
use plumb_workload::{Nanos, Pace};

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
    /// What it shares with the other jobs of its flow, where it has one: `barrier.flow(flow_home(..))`.
    pub(crate) flow: Option<&'a FlowWords>,
    /// When it begins to count there.
    pub(crate) flow_entry: FlowEntry,
    /// Where the search for a depth writes how far it is: `&barrier.report().search`.
    pub(crate) search: &'a SearchWords,
    /// What the job's source asks which kind of op is due, where it does ([`KindsDue::of`]).
    pub(crate) kinds: Option<KindsDue>,
}
