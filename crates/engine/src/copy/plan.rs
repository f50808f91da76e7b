//! The worker of a copy. Its ends are opened before the clock starts, and closed before it stops.

use super::account::{Account, Halt, Recorded};
use super::ends::EndPlace;
use super::mover::Mover;
use super::{CopyError, CopyEvent, CopyStep, SharedListener, ends, in_kernel, number};
use crate::barrier::{Barrier, Body};
use crate::setting::Setting;
use crate::signals::{StopFlag, WokenBySignals};
use crate::targets::{OpenTarget, OpenTargets};
use crate::terms::Ended;
use crate::unshare_fds;
use plumb_workload::OpKind;
use plumb_workload::copy::CopySpec;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// A copy of this many blocks or fewer keeps the process's table of open files, which threads share. A separate table
/// needs a thread, which takes 200 µs to create, and saves only 20 ns per block.
const SHORT_BLOCKS: u64 = 10_000;

pub(crate) struct CopyWorker {
    copy: CopySpec,
    ends: ends::Ends,
    listener: Option<SharedListener>,
    stop: StopFlag,
}

/// Opens both ends of a copy.
pub(crate) fn worker(copy: &CopySpec, targets: &OpenTargets, setting: &Setting<'_>) -> Result<CopyWorker, CopyError> {
    let place = |name: &Option<String>| match targets.get(name.as_deref()?) {
        Some(OpenTarget::Copy { path }) => Some(EndPlace::Path(path)),
        Some(OpenTarget::Sim(sim)) => Some(EndPlace::Sim(&sim.device, sim.bytes)),
        Some(OpenTarget::Null { .. }) => Some(EndPlace::Null),
        _ => None,
    };
    let ends = ends::open(copy, place(&copy.from), place(&copy.to), targets.guard())?;
    Ok(CopyWorker { copy: copy.clone(), ends, listener: setting.copy_listener.clone(), stop: setting.stop })
}

impl CopyWorker {
    /// Returns the body of the worker's thread.
    pub(crate) fn body(self) -> Body {
        Box::new(move |barrier: &Barrier| Ok(self.run(barrier)))
    }

    fn run(self, barrier: &Barrier) -> Ended {
        let CopyWorker { copy, ends, listener, stop } = self;
        let _woken = WokenBySignals::this_thread();
        let is_short = copy.count.is_some_and(|count| count.blocks <= SHORT_BLOCKS);
        if barrier.is_alone() && !barrier.clock().is_virtual() && !is_short {
            let ends = [&ends.input, &ends.output];
            let held = ends.into_iter().filter_map(|end| end.held.as_ref()).map(AsFd::as_fd);
            let moved: Vec<_> = ends.into_iter().filter_map(|end| end.fd()).chain(held).collect();
            unshare_fds::take(&moved);
        }
        let paths = Paths { input: ends.input.path.clone(), output: ends.output.path.clone() };
        barrier.report().backend.write(in_kernel::backend(&copy, &ends.input, &ends.output).as_bytes());
        ends.input.begin();
        ends.output.begin();
        let Some(mut passed) = barrier.pass() else {
            if let Some(listener) = listener {
                listener.hear(CopyEvent::Interrupted, &Default::default(), 0);
            }
            return Ended::Stopped;
        };
        // Waiting for a CPU after the barrier is not part of the copy.
        passed.start_over();
        let (clock, started_at) = (passed.context.clock, passed.started_at);
        let records = Recorded::from_ends(&ends);
        let mover = Mover::new(&copy, ends);
        let mut account = Account::new(&mut passed.context, records, listener.clone(), stop, started_at);
        let halt = mover.run(&mut account);
        let counts = account.counts;
        passed.stop_clock();
        let event = if halt == Some(Halt::Stopped) { CopyEvent::Interrupted } else { CopyEvent::Ended };
        if let Some(listener) = listener {
            listener.hear(event, &counts, clock.ns_between(started_at, clock.now()));
        }
        match halt {
            None => Ended::Done,
            Some(Halt::Stopped) => Ended::Stopped,
            Some(Halt::Failed { what, errno }) => {
                let message = io::Error::from(errno).to_string();
                passed.context.failed(kind(what), paths.get(what), Some(number(errno)), &message)
            }
        }
    }
}

struct Paths {
    input: PathBuf,
    output: PathBuf,
}

impl Paths {
    fn get(&self, what: CopyStep) -> &Path {
        match what {
            CopyStep::LookAtInput
            | CopyStep::Skip
            | CopyStep::PassOver
            | CopyStep::Read
            | CopyStep::DropInput
            | CopyStep::CloseInput => &self.input,
            CopyStep::LookAtOutput
            | CopyStep::Seek
            | CopyStep::Write
            | CopyStep::WriteBlock
            | CopyStep::WriteZeros
            | CopyStep::SetLength { .. }
            | CopyStep::TurnOffDirect
            | CopyStep::Fdatasync
            | CopyStep::Fsync
            | CopyStep::DropOutput
            | CopyStep::CloseOutput => &self.output,
        }
    }
}

/// Returns the op kind that a failed step counts as.
fn kind(what: CopyStep) -> OpKind {
    match what {
        CopyStep::Skip | CopyStep::PassOver | CopyStep::Read | CopyStep::DropInput => OpKind::Read,
        CopyStep::Seek
        | CopyStep::Write
        | CopyStep::WriteBlock
        | CopyStep::WriteZeros
        | CopyStep::TurnOffDirect
        | CopyStep::DropOutput => OpKind::Write,
        CopyStep::LookAtInput | CopyStep::LookAtOutput => OpKind::Stat,
        CopyStep::SetLength { .. } => OpKind::Truncate,
        CopyStep::Fdatasync => OpKind::Fdatasync,
        CopyStep::Fsync => OpKind::Fsync,
        CopyStep::CloseInput | CopyStep::CloseOutput => OpKind::Close,
    }
}
