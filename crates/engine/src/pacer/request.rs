//! Parameters for creating a pacer.

use super::flow::FlowEntry;
use super::kinds::KindsDue;
use super::search::SearchWords;
use crate::clock::Clock;
use crate::control::FlowWords;
use crate::rng::Rng;
use plumb_workload::{Nanos, Pace};
use std::sync::atomic::AtomicU64;

/// A worker's planned pace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pacing {
    pub(crate) pace: Pace,
    /// Maximum number of ops in flight.
    pub(crate) depth: u32,
    /// Number of workers in its group, for a shared rate.
    pub(crate) group_count: u32,
    /// Minimum rates and goals apply after this time: the ramps of its phase and its group together.
    pub(crate) ramp: Nanos,
    /// Whether every op is paced, including flushes and calls on names, which a job's stream does not count.
    pub(crate) paces_all: bool,
    /// Number of the group that identifies its flow, if it has one.
    pub(crate) flow_home: Option<usize>,
    /// When its weight in the flow begins to count.
    pub(crate) flow_entry: FlowEntry,
}

/// Division of a rate among the workers of a group.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sharing<'a> {
    /// Each worker has the whole rate.
    Own,
    /// This many workers share one rate.
    Group {
        workers: u32,
        /// Number of the next start of the shared schedule.
        numbers: &'a AtomicU64,
    },
}

/// Parameters for creating a pacer, on real or virtual time.
pub(crate) struct PacerRequest<'a> {
    pub(crate) pace: Pace,
    pub(crate) clock: Clock,
    /// Maximum number of ops in flight.
    pub(crate) depth: u32,
    /// Source of its random gaps.
    pub(crate) arrivals: Rng,
    /// Division of the rate of an open load among workers.
    pub(crate) sharing: Sharing<'a>,
    /// Minimum rates and goals apply after this time.
    pub(crate) ramp: Nanos,
    /// State shared by the workers of its flow, if it has one.
    pub(crate) flow: Option<&'a FlowWords>,
    /// When its weight in the flow begins to count.
    pub(crate) flow_entry: FlowEntry,
    /// Receives the progress of a search for a depth.
    pub(crate) search: &'a SearchWords,
    /// Whether every op is paced, including flushes and calls on names, which a job's stream does not count.
    pub(crate) paces_all: bool,
    /// Due times of kinds for its source, if the source needs them ([`KindsDue::for_pace`]).
    pub(crate) kinds: Option<KindsDue>,
}
