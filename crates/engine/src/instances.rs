//! Hot loops with their own compiled instance. This is the only place that decides which combinations of source,
//! backend and pacer get one.
//!
//! | | null, psync | null queue, io_uring | any other backend |
//! |---|---|---|---|
//! | sequential, random or permuted ops of one size and kind on one file, Plumb's own or fio's; as soon as there is room | a loop each | a loop for each backend | through vtables |
//! | any other source; as soon as there is room | a loop for each backend | a loop for each backend | through vtables |
//! | any other pace | through vtables | through vtables | through vtables |
//!
//! These instances matter for the speed bars: on the fastest storage, the loop is a good part of an op's cost. "Through
//! vtables" means a single loop that calls source, backend and pacer through vtables, at one or two nanoseconds per
//! call. Programs have loops with their own op types; [`bind`](crate::bind) creates them.

use crate::backend::io_uring::Ring;
use crate::backend::null::{Null, NullQueue};
use crate::backend::psync::Psync;
use crate::backend::{QueuedBackend, SyncBackend};
use crate::op::BlockOp;
use crate::pacer::AnyPacer;
use crate::source::Source;
use crate::source::fio::FioSource;
use crate::source::plumb::PlumbSource;
use crate::terms::{Ended, Queue};
use crate::worker::{WorkerContext, run_queued, run_sync};
use std::io;

pub(crate) enum AnySource {
    Plumb(PlumbSource),
    Fio(FioSource),
    Other(Box<dyn Source<Op = BlockOp>>),
}

#[expect(
    clippy::large_enum_variant,
    reason = "one per worker, moved before the clock starts; a box would cost one more load per op"
)]
pub(crate) enum AnyBackend<'a> {
    Sync(AnySync<'a>),
    Queued(AnyQueued),
}

#[expect(
    clippy::large_enum_variant,
    reason = "one per worker, moved before the clock starts; a box would cost one more load per op"
)]
pub(crate) enum AnySync<'a> {
    Null(Null),
    Psync(Psync),
    Other(Box<dyn SyncBackend<Op = BlockOp> + 'a>),
}

#[expect(
    clippy::large_enum_variant,
    reason = "one per worker, moved before the clock starts; a box would cost one more load per op"
)]
pub(crate) enum AnyQueued {
    Null(NullQueue),
    Ring(Ring),
    Other(Box<dyn QueuedBackend>),
}

impl AnySource {
    pub(crate) fn table(&mut self) -> &mut dyn Source<Op = BlockOp> {
        match self {
            AnySource::Plumb(source) => source.table(),
            AnySource::Fio(source) => source.table(),
            AnySource::Other(source) => &mut **source,
        }
    }
}

impl<'a> AnySync<'a> {
    /// Returns the backend as a trait object.
    pub(crate) fn table(&mut self) -> &mut (dyn SyncBackend<Op = BlockOp> + 'a) {
        match self {
            AnySync::Null(backend) => backend,
            AnySync::Psync(backend) => backend,
            AnySync::Other(backend) => &mut **backend,
        }
    }

    /// Boxes the backend, to be wrapped by another one.
    pub(crate) fn boxed(self) -> Box<dyn SyncBackend<Op = BlockOp> + 'a> {
        match self {
            AnySync::Null(backend) => Box::new(backend),
            AnySync::Psync(backend) => Box::new(backend),
            AnySync::Other(backend) => backend,
        }
    }
}

impl AnyQueued {
    /// Returns the backend as a trait object.
    pub(crate) fn table(&mut self) -> &mut dyn QueuedBackend {
        match self {
            AnyQueued::Null(backend) => backend,
            AnyQueued::Ring(backend) => backend,
            AnyQueued::Other(backend) => &mut **backend,
        }
    }
}

/// Matches the source types with their own instance, and all others.
macro_rules! by_source {
    ($source:expr, |$typed:ident| $run:expr) => {
        match $source {
            AnySource::Plumb(PlumbSource::Sequential($typed)) => $run,
            AnySource::Plumb(PlumbSource::Random($typed)) => $run,
            AnySource::Plumb(PlumbSource::Permuted($typed)) => $run,
            AnySource::Fio(FioSource::Sequential($typed)) => $run,
            AnySource::Fio(FioSource::Random($typed)) => $run,
            AnySource::Fio(FioSource::Permuted($typed)) => $run,
            other => {
                let $typed = other.table();
                $run
            }
        }
    };
}

/// Runs the loop with one op at a time.
pub(crate) fn run_any_sync(
    context: &mut WorkerContext<'_>,
    source: &mut AnySource,
    backend: &mut AnySync<'_>,
    pacer: &mut AnyPacer<'_>,
) -> Ended {
    match (backend, pacer) {
        (AnySync::Null(null), AnyPacer::Closed(closed)) => {
            by_source!(source, |source| run_sync(context, source, null, closed))
        }
        (AnySync::Psync(psync), AnyPacer::Closed(closed)) => {
            by_source!(source, |source| run_sync(context, source, psync, closed))
        }
        (backend, pacer) => run_sync(context, source.table(), backend.table(), pacer.table()),
    }
}

/// Runs the loop with several ops in flight.
pub(crate) fn run_any_queued(
    context: &mut WorkerContext<'_>,
    source: &mut AnySource,
    backend: &mut AnyQueued,
    pacer: &mut AnyPacer<'_>,
    queue: Queue,
) -> io::Result<Ended> {
    match (backend, pacer) {
        (AnyQueued::Null(null), AnyPacer::Closed(closed)) => run_queued(context, source.table(), null, closed, queue),
        (AnyQueued::Ring(ring), AnyPacer::Closed(closed)) => run_queued(context, source.table(), ring, closed, queue),
        (backend, pacer) => run_queued(context, source.table(), backend.table(), pacer.table(), queue),
    }
}
