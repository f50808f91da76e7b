//! Network work: sockets that are connected already, each with a worker of the engine's one loop. Whoever connects them
//! (a dialect's protocol) starts the workers, reads their counters while they run, and stops them ([`Flows`]); or they are
//! workers of a phase as any others ([`group`]).
//!
//! A block is an op, so pacing, recording and stopping are those of all other work. Counters have one writer and only grow;
//! intervals and what is left out at the start are differences of two readings.

mod backend;
mod bursts;
mod datagram;
mod group;
mod local_address;
mod new_sockets;
mod options;
mod passing;
mod prepared;
mod protocol;
mod socket;
mod trips;

pub use datagram::{Arrived, DatagramHeader};
pub(crate) use group::{NetGroup, ProbeRun};
pub use local_address::{LocalAddress, LocalAddressError};
pub use new_sockets::NewSockets;
pub use options::{OptionError, SocketOptions};
pub use protocol::{FlowEnd, NetEnd, NetProtocol, NetRequest, NetSession};
pub use socket::{
    ConnectError, KeepAlive, TcpFacts, buffers, congestion, connect_socket, connect_tcp, datagram_socket, has_sctp,
    keep_off_routers, listen_tcp, segment_bytes, watch,
};

use crate::backend::SyncBackend;
use crate::bell::Bell;
use crate::clock::{Clock, Ticks};
use crate::control::{CommonLimit, ControlBlock, Departure, PhaseTimes};
use crate::fault::{FaultLog, Reports};
use crate::op::BlockOp;
use crate::pacer::{AnyPacer, FlowEntry, PacerRequest, Sharing, Waited, wait_until};
use crate::recorder::{PhaseCells, Ramps, Recorder};
use crate::rng::Rng;
use crate::shared::{SharedSlice, for_this_process};
use crate::source::Source;
use crate::terms::{Budget, Ended, Usage};
use crate::worker::{WorkerContext, run_sync};
use backend::{NetSocket, Ready};
use datagram::DatagramCells;
use plumb_result::Histogram;
use plumb_workload::blocks::ByKind;
use plumb_workload::net::{NetOp, NetWork, Transport};
use plumb_workload::phase::{ErrorOrigin, ErrorRules, IgnoredError};
use plumb_workload::{Arrival, Nanos, OnError, OpKind, Pace, RunAs};
use prepared::Prepared;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread::JoinHandle;
use std::time::Duration;

/// A connected socket and its work.
#[derive(Debug)]
pub struct Flow {
    /// The socket, which listens where connections are accepted. It is closed with the [`Flows`].
    pub socket: OwnedFd,
    /// Whom to connect to, or whose connections are accepted, where that is the work.
    pub other: Option<SocketAddr>,
    /// What a stream is sent from, or received into; one of its own, from its place on. With `Passing::SendFile`, its first
    /// block is sent again and again.
    pub file: Option<File>,
    /// What is done with it.
    pub work: NetWork,
}

/// What a flow has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counts {
    /// Bytes sent or received.
    pub bytes: u64,
    /// Calls, or round trips.
    pub ops: u64,
    /// Of received datagrams.
    pub datagrams: Arrived,
}

/// What the flows of a test share.
struct Shared {
    clock: Clock,
    flows: Vec<Flow>,
    control: ControlBlock,
    cells: PhaseCells,
    reports: Reports,
    datagrams: SharedSlice<DatagramCells>,
    /// Blocks that may still be sent, and bytes that are still to come; `u64::MAX` is no limit.
    blocks_left: AtomicU64,
    bytes_left: AtomicU64,
    errors: ErrorRules,
    bell: Bell,
}

/// Running flows.
pub struct Flows {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// What a worker needs of memory for its stack: its buffers are on the heap.
const STACK_BYTES: usize = 256 << 10;

impl Flows {
    /// Makes a worker for each flow. They wait for [`start`](Flows::start).
    ///
    /// # Errors
    /// A size out of range, or the system's own.
    pub fn new(flows: Vec<Flow>) -> io::Result<Flows> {
        Flows::with(flows, NewSockets::default())
    }

    /// The same, with what connections are given that ops make.
    ///
    /// # Errors
    /// As [`new`](Flows::new).
    pub fn with(flows: Vec<Flow>, new_sockets: NewSockets) -> io::Result<Flows> {
        if let Some((name, least, most)) = flows.iter().find_map(|flow| flow.work.problem()) {
            let message = format!("{name} must be from {least} to {most} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let count = flows.len();
        let shared = for_this_process(|| {
            let control = ControlBlock::new(1, count)?;
            control.control().set_limit(CommonLimit::default());
            Ok::<_, io::Error>(Shared {
                clock: Clock::best(),
                control,
                cells: PhaseCells::new(count, Ramps::None)?,
                reports: Reports::new(count)?,
                datagrams: SharedSlice::new(count)?,
                blocks_left: AtomicU64::new(u64::MAX),
                bytes_left: AtomicU64::new(u64::MAX),
                errors: ErrorRules {
                    // A request that got no response is lost, and the next one is made.
                    ignore: vec![IgnoredError { at: ErrorOrigin::Read, errno: libc::ETIMEDOUT }],
                    ..ErrorRules::default()
                },
                bell: Bell::new()?,
                flows,
            })
        })?;
        let new_sockets = Arc::new(new_sockets);
        let mut made = Flows { shared: Arc::new(shared), threads: Vec::with_capacity(count) };
        for number in 0..count {
            let shared = Arc::clone(&made.shared);
            // Made here, so that what the system refuses is an error of the set-up.
            let socket = Prepared::new(&shared.flows[number], Arc::clone(&new_sockets))?;
            let thread = std::thread::Builder::new().name(format!("net-{number}")).stack_size(STACK_BYTES);
            made.threads.push(thread.spawn(move || work(&shared, number, socket))?);
        }
        Ok(made)
    }

    /// Starts all of them now; senders and those who ask end after this time by themselves.
    pub fn start(&self, time_ns: Option<u64>) {
        let shared = &*self.shared;
        let begins_at = shared.clock.now();
        let deadline = time_ns.map(|ns| begins_at.saturating_add(shared.clock.ticks(ns)));
        shared.control.set_times(PhaseTimes { begins_at, ramp_ends_at: begins_at, deadline });
        shared.control.release((0..shared.flows.len()).map(|worker| Departure { worker, at: begins_at }));
    }

    /// From now on, senders send this many blocks together (or ask this often), and receivers end when they have this many bytes.
    pub fn limit(&self, blocks: u64, bytes: u64) {
        self.shared.blocks_left.store(blocks, Relaxed);
        self.shared.bytes_left.store(bytes, Relaxed);
    }

    /// Waits until a worker has ended or one of these sockets has something to read, but no longer than this.
    pub fn wait(&self, others: &[BorrowedFd<'_>], longest: Duration) {
        self.shared.bell.wait_or(longest, others);
    }

    /// Returns `true` if all workers of one direction have ended, or all bytes have come that were to come.
    pub fn is_done(&self) -> bool {
        self.shared.bytes_left.load(Relaxed) == 0 || self.is_over(true) || self.is_over(false)
    }

    /// Whether all workers have ended that send or ask, or all others; not where there are none.
    pub fn is_over(&self, leads: bool) -> bool {
        let mut of = self.numbers(leads).peekable();
        of.peek().is_some() && of.all(|number| self.has_ended(number))
    }

    /// Whether this one has.
    pub fn has_ended(&self, number: usize) -> bool {
        self.shared.reports.worker(number).ended_at.load(Acquire) != 0
    }

    fn numbers(&self, sends: bool) -> impl Iterator<Item = usize> {
        let numbered = self.shared.flows.iter().enumerate();
        numbered.filter(move |(_, flow)| flow.work.op.leads() == sends).map(|(number, _)| number)
    }

    /// Why one of them failed, where one did.
    pub fn failure(&self) -> Option<String> {
        let failed = |number| {
            let report = self.shared.reports.worker(number);
            report.has_failed().then(|| String::from_utf8_lossy(&report.failure.read()).into_owned())
        };
        (0..self.shared.flows.len()).find_map(failed)
    }

    /// What one has done so far.
    pub fn counts(&self, number: usize) -> Counts {
        let totals = self.shared.cells.data_totals(number);
        Counts { bytes: totals.bytes, ops: totals.count, datagrams: self.shared.datagrams[number].read() }
    }

    /// The shortest and the longest time that its datagrams were on the way since this was last asked, microseconds.
    pub fn take_extremes(&self, number: usize) -> Option<[i64; 2]> {
        self.shared.datagrams[number].take_extremes()
    }

    /// How many of its times on the way are in each bin (1 is of those below one width, 0 of those below 0), of bins that are not
    /// empty. The last bin, 10001, is of all that are longer.
    pub fn bins(&self, number: usize) -> Vec<(u32, u32)> {
        self.shared.datagrams[number].bins()
    }

    /// Of calls that were to go without a copy: those that the kernel copied all the same, and all. Complete when they have ended.
    pub fn copied(&self) -> [u64; 2] {
        let each = self.shared.datagrams.iter().map(DatagramCells::copied);
        each.fold([0; 2], |sum, one| [sum[0] + one[0], sum[1] + one[1]])
    }

    /// Times of its calls so far, or of its round trips: from their intended start where they are paced.
    pub fn times(&self, number: usize) -> Histogram {
        let reading = self.shared.cells.read_worker(number);
        let kind = reading.kinds.values().next().cloned().unwrap_or_default();
        if kind.response.is_empty() { kind.service } else { kind.response }
    }

    /// What the system knows of its connection.
    pub fn tcp(&self, number: usize) -> Option<TcpFacts> {
        let flow = &self.shared.flows[number];
        (flow.work.transport == Transport::Tcp).then(|| TcpFacts::of(flow.socket.as_raw_fd()))?
    }

    /// Its socket.
    pub fn socket(&self, number: usize) -> BorrowedFd<'_> {
        self.shared.flows[number].socket.as_fd()
    }

    /// Ends all of them, and waits until they have. Their counters can still be read.
    pub fn stop(&mut self) {
        self.shared.control.request_stop();
        for flow in &self.shared.flows {
            // Wakes who waits for data; what fails is a socket that is closed already.
            let _ = rustix::net::shutdown(&flow.socket, rustix::net::Shutdown::Read);
        }
        for thread in self.threads.drain(..) {
            // The hook has reported a panic.
            let _ = thread.join();
        }
    }

    /// Ends the connections, so that whoever waits for data at the other end waits no longer.
    pub fn hang_up(&self) {
        for flow in &self.shared.flows {
            // What fails is a socket that is closed already.
            let _ = rustix::net::shutdown(&flow.socket, rustix::net::Shutdown::Both);
        }
    }

    /// Whether the other ends have acknowledged all that was sent to them.
    pub fn is_acknowledged(&self) -> bool {
        let mut facts = self.numbers(true).filter_map(|number| self.tcp(number));
        facts.all(|facts| facts.in_flight == 0)
    }

    /// Processor time of all workers, user and system, ns. Complete when they have ended.
    pub fn cpu_ns(&self) -> (u64, u64) {
        let of = |number| {
            let report = self.shared.reports.worker(number);
            (report.usage.cpu_user_ns.load(Relaxed), report.usage.cpu_system_ns.load(Relaxed))
        };
        (0..self.shared.flows.len()).map(of).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
}

impl Drop for Flows {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Blocks of one size, as many at once as make a call worth its price.
struct BlockSource<'a> {
    op: BlockOp,
    block: u32,
    most: u64,
    left: &'a AtomicU64,
}

impl Source for BlockSource<'_> {
    type Op = BlockOp;

    #[inline]
    fn next(&mut self) -> Option<BlockOp> {
        if self.left.load(Relaxed) == u64::MAX {
            return Some(self.op);
        }
        self.claim()
    }
}

impl BlockSource<'_> {
    /// Exactly as many blocks as there may be, whoever sends them.
    fn claim(&mut self) -> Option<BlockOp> {
        let take = |left: u64| (left > 0).then(|| left.saturating_sub(self.most));
        let before = self.left.fetch_update(Relaxed, Relaxed, take).ok()?;
        Some(BlockOp { length: (before.min(self.most) as u32) * self.block, ..self.op })
    }
}

/// A worker's whole life.
fn work(shared: &Shared, number: usize, made: Prepared) {
    let (clock, control, report) = (shared.clock, shared.control.worker(number), shared.reports.worker(number));
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    if let Some(at) = control.wait_for_go() {
        let work = shared.flows[number].work;
        let ends_itself = work.op.leads();
        let deadline = if ends_itself { control.deadline() } else { Ticks::MAX - 1 };
        if control.move_deadline(Ticks::MAX, deadline) && wait_until(&clock, control, at) != Waited::Stopped {
            let before = Usage::now(&clock, RunAs::Thread);
            let mut context = WorkerContext {
                clock,
                control,
                recorder: Recorder::new(shared.cells.worker(number)),
                faults: FaultLog::new(report),
                budget: Budget::UNLIMITED,
                on_error: OnError::Leave,
                errors: &shared.errors,
                fills: false,
                log: None,
                tally: None,
                priorities: None,
                ramp: None,
                run_as: RunAs::Thread,
                usage: before,
            };
            let sends = work.op == NetOp::Send;
            let most = made.blocks_at_once;
            // What is received has no length beforehand.
            let (kind, length) = if sends { (OpKind::Write, most * work.block) } else { (OpKind::Read, 1) };
            let no_limit = AtomicU64::new(u64::MAX);
            let left = if ends_itself { &shared.blocks_left } else { &no_limit };
            let op = BlockOp::load(kind, 0, 0, length);
            let mut source = BlockSource { op, block: work.block, most: most.into(), left };
            let mut pacer = pacer(shared, number, &work);
            pacer.table().start(at);
            let stops = || control.stop_requested();
            let ready = Ready { stops: &stops, bytes_left: &shared.bytes_left, cells: &shared.datagrams[number] };
            let mut socket = NetSocket::new(made, ready);
            let (source, backend): (&mut dyn Source<Op = BlockOp>, &mut dyn SyncBackend<Op = BlockOp>) =
                (&mut source, &mut socket);
            let ended = run_sync(&mut context, source, backend, pacer.table());
            // What it has to say is only counts.
            let _ = backend.finish();
            if ended == Ended::Failed {
                report.fail("the connection failed");
            }
            let after = Usage::now(&clock, RunAs::Thread);
            report.usage.cpu_user_ns.store(after.user_ns - before.user_ns, Relaxed);
            report.usage.cpu_system_ns.store(after.system_ns - before.system_ns, Relaxed);
        }
    }
    report.ended_at.store(clock.now().max(1), Release);
    shared.bell.ring();
}

fn pacer<'a>(shared: &'a Shared, number: usize, work: &NetWork) -> AnyPacer<'a> {
    let pace = match (work.op, work.rate) {
        (NetOp::Send, Some(rate)) => {
            Pace { bytes_per_second: ByKind { write: Some(rate), ..ByKind::all(None) }, ..Pace::default() }
        }
        (NetOp::Request | NetOp::Connect, Some(rate)) => Pace::open(rate, Arrival::Fixed, false),
        _ => Pace::default(),
    };
    AnyPacer::of(&PacerRequest {
        pace,
        clock: shared.clock,
        depth: 1,
        arrivals: Rng::new(number as u64),
        sharing: Sharing::Own,
        ramp: Nanos(0),
        flow: None,
        flow_entry: FlowEntry::AtStart,
        search: &shared.reports.worker(number).search,
        paces_all: true,
        kinds: None,
    })
}

#[cfg(test)]
mod tests;
