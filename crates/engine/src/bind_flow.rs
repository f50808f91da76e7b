//! Binds a worker's flow over a file set, and brings the state of its files from one phase to the next.

use crate::backend::flow::FlowBackend;
use crate::bind::{run_to_end, with_pacer};
use crate::content::Filler;
use crate::fault::Yielded;
use crate::gate::{Body, Gate};
use crate::pacer::{Closed, Open, Sharing, Think};
use crate::rng::{Purpose, StreamId};
use crate::source::Source;
use crate::source::flow::{FlowOp, FlowSource, FlowState, Program};
use crate::tree::TreeShape;
use crate::worker::Ended;
use plumb_workload::{Content, Pace};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A worker of a flow, planned.
pub(crate) struct FlowWorker {
    pub(crate) program: Arc<Program>,
    pub(crate) state: FlowState,
    pub(crate) shape: Arc<TreeShape>,
    /// The tree's root directory.
    pub(crate) root: OwnedFd,
    /// Its path, for messages.
    pub(crate) place: PathBuf,
    pub(crate) content: Content,
    pub(crate) pace: Pace,
    /// How many workers its group has, for a shared rate.
    pub(crate) group_count: u32,
    pub(crate) stream: StreamId,
    /// As `stream`, but different in every run, so that no two runs write the same bytes.
    pub(crate) content_stream: StreamId,
    pub(crate) passes: Option<u64>,
    pub(crate) returned: ReturnedState,
}

/// Where a worker that is a thread leaves the state of its files.
pub(crate) type ReturnedState = Arc<Mutex<Option<FlowState>>>;

impl FlowWorker {
    /// The worker's body.
    pub(crate) fn body(self) -> Body {
        Box::new(move |gate: &Gate| self.run(gate))
    }

    fn run(self, gate: &Gate) -> Result<Ended, String> {
        gate.report().backend.write(b"psync");
        let mut filler = Filler::new(self.content, self.content_stream);
        let content = move |_op: &FlowOp, bytes: &mut [u8]| filler.fill(bytes);
        let mut backend = FlowBackend::new(self.root, self.shape, &self.program, content).at(self.place);
        let mut source = Counted::new(FlowSource::new(&self.program, self.state, self.stream, self.passes));
        let sharing = |shared: bool| if shared { gate.sharing(self.group_count) } else { Sharing::Own };
        let ended = with_pacer!(self.pace, gate.clock(), sharing, self.stream, |pacer| {
            run_to_end(gate, &mut source, &mut backend, &mut pacer)
        });
        gate.report().set_yielded(&source.yielded);
        if let Ok(mut returned) = self.returned.lock() {
            *returned = Some(source.source.into_state());
        }
        ended
    }
}

/// Counts what a source yields, so that another process can go the same way again.
struct Counted {
    source: FlowSource,
    yielded: Yielded,
}

impl Counted {
    fn new(source: FlowSource) -> Counted {
        Counted { source, yielded: Yielded::default() }
    }
}

impl Source for Counted {
    type Op = FlowOp;

    #[inline]
    fn next(&mut self) -> Option<FlowOp> {
        let op = self.source.next();
        if op.is_some() {
            self.yielded.count();
        }
        op
    }

    fn failed(&mut self, op: &FlowOp) {
        self.yielded.last_is_undone();
        self.source.failed(op);
    }

    #[inline]
    fn transactions(&self) -> Option<u64> {
        self.source.transactions()
    }
}

/// The way a worker's files went, for a worker that was a process: its memory is gone, but the same source yields the
/// same ops, so its state is had by going through them again without doing them.
pub(crate) struct Replay {
    pub(crate) program: Arc<Program>,
    pub(crate) state: FlowState,
    pub(crate) stream: StreamId,
    pub(crate) passes: Option<u64>,
}

impl Replay {
    /// The state after so many ops, of which some were not done.
    pub(crate) fn after(self, yielded: &Yielded) -> FlowState {
        let mut source = FlowSource::new(&self.program, self.state, self.stream, self.passes);
        let mut undone = yielded.undone.iter().peekable();
        for number in 1..=yielded.ops {
            let op = source.next();
            if undone.next_if_eq(&&number).is_some()
                && let Some(op) = op
            {
                source.failed(&op);
            }
        }
        source.into_state()
    }
}
