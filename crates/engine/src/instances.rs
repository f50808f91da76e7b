//! The loops that have a type of their own, by name: the one place where it is decided which combinations of source,
//! backend and pacer are compiled apart.
//!
//! | | null, psync | null queue, io_uring | any other backend |
//! |---|---|---|---|
//! | sequential, random or permuted ops of one size and kind on one file, Plumb's own or fio's; as soon as there is room | a loop each | a loop for each backend | through tables |
//! | any other source; as soon as there is room | a loop for each backend | a loop for each backend | through tables |
//! | any other pace | through tables | through tables | through tables |
//!
//! These carry the speed bars: on the fastest storage, the loop is a good part of what an op costs. "Through tables" is
//! one loop for all of it, which calls source, backend and pacer by tables of functions, a nanosecond or two each. The
//! loops of programs have ops of their own; [`bind`](crate::bind) makes them.

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

/// A source of block ops.
pub(crate) enum AnySource {
    Plumb(PlumbSource),
    Fio(FioSource),
    Other(Box<dyn Source<Op = BlockOp>>),
}

/// A backend of block I/O.
#[expect(
    clippy::large_enum_variant,
    reason = "one a worker, moved before the clock starts; a box would be one more load an op"
)]
pub(crate) enum AnyBackend<'a> {
    Sync(AnySync<'a>),
    Queued(AnyQueued),
}

/// One with one op at a time.
#[expect(
    clippy::large_enum_variant,
    reason = "one a worker, moved before the clock starts; a box would be one more load an op"
)]
pub(crate) enum AnySync<'a> {
    Null(Null),
    Psync(Psync),
    Other(Box<dyn SyncBackend<Op = BlockOp> + 'a>),
}

/// One with several ops in flight.
#[expect(
    clippy::large_enum_variant,
    reason = "one a worker, moved before the clock starts; a box would be one more load an op"
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
    /// Through a table of functions.
    pub(crate) fn table(&mut self) -> &mut (dyn SyncBackend<Op = BlockOp> + 'a) {
        match self {
            AnySync::Null(backend) => backend,
            AnySync::Psync(backend) => backend,
            AnySync::Other(backend) => &mut **backend,
        }
    }

    /// For a backend around it.
    pub(crate) fn boxed(self) -> Box<dyn SyncBackend<Op = BlockOp> + 'a> {
        match self {
            AnySync::Null(backend) => Box::new(backend),
            AnySync::Psync(backend) => Box::new(backend),
            AnySync::Other(backend) => backend,
        }
    }
}

impl AnyQueued {
    /// Through a table of functions.
    pub(crate) fn table(&mut self) -> &mut dyn QueuedBackend {
        match self {
            AnyQueued::Null(backend) => backend,
            AnyQueued::Ring(backend) => backend,
            AnyQueued::Other(backend) => &mut **backend,
        }
    }
}

/// The sources with a type of their own, and all others.
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

/// The loop of one op at a time.
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

/// The loop of several ops in flight.
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
