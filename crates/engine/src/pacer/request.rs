//! What a pacer is made from.

use super::flow::FlowEntry;
use super::kinds::KindsDue;
use super::search::SearchWords;
use crate::clock::Clock;
use crate::control::FlowWords;
use crate::rng::Rng;
use plumb_workload::{Nanos, Pace};
use std::sync::atomic::AtomicU64;

/// A worker's pace, planned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pacing {
    pub(crate) pace: Pace,
    /// Most ops in flight.
    pub(crate) depth: u32,
    /// How many workers its group has, for a shared rate.
    pub(crate) group_count: u32,
    /// Minimum rates and goals are judged from here on: the ramps of its phase and its group together.
    pub(crate) ramp: Nanos,
    /// Every op is paced: flushes and calls on names as well, which a job's stream does not count.
    pub(crate) paces_all: bool,
    /// The group that names its flow, where it has one.
    pub(crate) flow_home: Option<usize>,
    /// When it begins to count there.
    pub(crate) flow_entry: FlowEntry,
}

/// How the workers of a group share a rate.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sharing<'a> {
    /// Each has the rate for itself.
    Own,
    /// This many workers share one rate.
    Group {
        /// How many.
        workers: u32,
        /// Number of the next start of the shared schedule.
        numbers: &'a AtomicU64,
    },
}

/// What a pacer is made from, on real time or on virtual time.
pub(crate) struct PacerRequest<'a> {
    pub(crate) pace: Pace,
    /// The worker's clock.
    pub(crate) clock: Clock,
    /// Most ops in flight.
    pub(crate) depth: u32,
    /// Where its random gaps come from.
    pub(crate) arrivals: Rng,
    /// With whom it shares the rate of an open load.
    pub(crate) sharing: Sharing<'a>,
    /// Minimum rates and goals are judged from here on.
    pub(crate) ramp: Nanos,
    /// What it shares with the others of its flow, where it has one.
    pub(crate) flow: Option<&'a FlowWords>,
    /// When it begins to count there.
    pub(crate) flow_entry: FlowEntry,
    /// Where the search for a depth writes how far it is.
    pub(crate) search: &'a SearchWords,
    /// Every op is paced: flushes and calls on names as well, which a job's stream does not count.
    pub(crate) paces_all: bool,
    /// What its source asks which kind of op is due, where it does ([`KindsDue::of`]).
    pub(crate) kinds: Option<KindsDue>,
}
