//! Network work over sockets that are already connected. Each socket has a worker that runs the engine's usual loop.
//! Either a dialect's protocol connects the sockets, starts the workers, reads their counters and stops them
//! ([`Flows`]), or the workers belong to a phase like any others ([`group`]).
//!
//! A block is an op, so pacing, recording and stopping work as for all other work. Counters have one writer and only
//! grow; intervals, and totals without the omitted start, are differences of two readings.

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
    /// The socket; a listening one if the work accepts connections. It is closed with the [`Flows`].
    pub socket: OwnedFd,
    /// Address to connect to, or the only one to accept connections from, if the work does either.
    pub other: Option<SocketAddr>,
    /// File that a stream is sent from or received into. Each flow has its own, which starts at its current position.
    /// With `Passing::SendFile`, the first block is sent repeatedly.
    pub file: Option<File>,
    pub work: NetWork,
}

/// Totals of a flow so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counts {
    /// Bytes sent or received.
    pub bytes: u64,
    /// Calls, or round trips.
    pub ops: u64,
    /// Statistics of received datagrams.
    pub datagrams: Arrived,
}

/// State shared by the flows of a test.
struct Shared {
    clock: Clock,
    flows: Vec<Flow>,
    control: ControlBlock,
    cells: PhaseCells,
    reports: Reports,
    datagrams: SharedSlice<DatagramCells>,
    /// Blocks that may still be sent, and bytes still expected; `u64::MAX` means no limit.
    blocks_left: AtomicU64,
    bytes_left: AtomicU64,
    errors: ErrorRules,
    bell: Bell,
}

/// The workers of all flows, with their sockets and counters.
pub struct Flows {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// Stack size of a worker: its buffers are on the heap.
const STACK_BYTES: usize = 256 << 10;

impl Flows {
    /// Creates a worker for each flow. The workers wait for [`start`](Flows::start).
    ///
    /// # Errors
    /// A size is out of range, or a system call fails.
    pub fn new(flows: Vec<Flow>) -> io::Result<Flows> {
        Flows::with(flows, NewSockets::default())
    }

    /// Like [`new`](Flows::new), with settings for the connections that ops create.
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
                    // A request without a response counts as lost, and the next one follows.
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
            // Prepare the socket here, so that an option refused by the system is a setup error.
            let socket = Prepared::new(&shared.flows[number], Arc::clone(&new_sockets))?;
            let thread = std::thread::Builder::new().name(format!("net-{number}")).stack_size(STACK_BYTES);
            made.threads.push(thread.spawn(move || work(&shared, number, socket))?);
        }
        Ok(made)
    }

    /// Starts all workers now. Those that send or make requests end by themselves after `time_ns`.
    pub fn start(&self, time_ns: Option<u64>) {
        let shared = &*self.shared;
        let begins_at = shared.clock.now();
        let deadline = time_ns.map(|ns| begins_at.saturating_add(shared.clock.ticks(ns)));
        shared.control.set_times(PhaseTimes { begins_at, ramp_ends_at: begins_at, deadline });
        shared.control.release((0..shared.flows.len()).map(|worker| Departure { worker, at: begins_at }));
    }

    /// Limits all senders together to this many blocks (or requests), and ends the receivers once
    /// they have received this many bytes.
    pub fn limit(&self, blocks: u64, bytes: u64) {
        self.shared.blocks_left.store(blocks, Relaxed);
        self.shared.bytes_left.store(bytes, Relaxed);
    }

    /// Waits until a worker has ended or one of these sockets is readable, for at most `longest`.
    pub fn wait(&self, others: &[BorrowedFd<'_>], longest: Duration) {
        self.shared.bell.wait_or(longest, others);
    }

    /// Returns `true` if all workers of one direction have ended, or all expected bytes have arrived.
    pub fn is_done(&self) -> bool {
        self.shared.bytes_left.load(Relaxed) == 0 || self.is_over(true) || self.is_over(false)
    }

    /// Returns `true` if all workers that send or make requests (`leads`), or all others, have ended.
    /// Returns `false` if there are none.
    pub fn is_over(&self, leads: bool) -> bool {
        let mut of = self.numbers(leads).peekable();
        of.peek().is_some() && of.all(|number| self.has_ended(number))
    }

    pub fn has_ended(&self, number: usize) -> bool {
        self.shared.reports.worker(number).ended_at.load(Acquire) != 0
    }

    fn numbers(&self, sends: bool) -> impl Iterator<Item = usize> {
        let numbered = self.shared.flows.iter().enumerate();
        numbered.filter(move |(_, flow)| flow.work.op.leads() == sends).map(|(number, _)| number)
    }

    /// Returns the error of the first failed worker; `None` if none failed.
    pub fn failure(&self) -> Option<String> {
        let failed = |number| {
            let report = self.shared.reports.worker(number);
            report.has_failed().then(|| String::from_utf8_lossy(&report.failure.read()).into_owned())
        };
        (0..self.shared.flows.len()).find_map(failed)
    }

    /// Returns the totals of a flow so far.
    pub fn counts(&self, number: usize) -> Counts {
        let totals = self.shared.cells.data_totals(number);
        Counts { bytes: totals.bytes, ops: totals.count, datagrams: self.shared.datagrams[number].read() }
    }

    /// Takes the minimum and maximum transit time of a flow's datagrams since the previous call, microseconds.
    pub fn take_extremes(&self, number: usize) -> Option<[i64; 2]> {
        self.shared.datagrams[number].take_extremes()
    }

    /// Returns the non-empty bins of a flow's transit times with their counts. Bin 0 holds times below 0, bin 1 those
    /// below one bin width, and bin 10001 all that are longer.
    pub fn bins(&self, number: usize) -> Vec<(u32, u32)> {
        self.shared.datagrams[number].bins()
    }

    /// Returns the number of zero-copy sends that the kernel copied after all, and the number of all that it reported
    /// on. Complete once the workers have ended.
    pub fn copied(&self) -> [u64; 2] {
        let each = self.shared.datagrams.iter().map(DatagramCells::copied);
        each.fold([0; 2], |sum, one| [sum[0] + one[0], sum[1] + one[1]])
    }

    /// Returns the histogram of a flow's calls or round trips so far. Paced ops count from their intended start.
    pub fn times(&self, number: usize) -> Histogram {
        let reading = self.shared.cells.read_worker(number);
        let kind = reading.kinds.values().next().cloned().unwrap_or_default();
        if kind.response.is_empty() { kind.service } else { kind.response }
    }

    /// Returns the kernel's statistics of a flow's connection.
    pub fn tcp(&self, number: usize) -> Option<TcpFacts> {
        let flow = &self.shared.flows[number];
        (flow.work.transport == Transport::Tcp).then(|| TcpFacts::read(flow.socket.as_raw_fd()))?
    }

    pub fn socket(&self, number: usize) -> BorrowedFd<'_> {
        self.shared.flows[number].socket.as_fd()
    }

    /// Stops all workers and waits for them to end. Their counters remain readable.
    pub fn stop(&mut self) {
        self.shared.control.request_stop();
        for flow in &self.shared.flows {
            // Wakes workers that wait for data. Fails only on a socket that is already closed.
            let _ = rustix::net::shutdown(&flow.socket, rustix::net::Shutdown::Read);
        }
        for thread in self.threads.drain(..) {
            // The panic hook has already reported a panic.
            let _ = thread.join();
        }
    }

    /// Shuts the connections down, which ends waits for data at the other end.
    pub fn hang_up(&self) {
        for flow in &self.shared.flows {
            // Fails only on a socket that is already closed.
            let _ = rustix::net::shutdown(&flow.socket, rustix::net::Shutdown::Both);
        }
    }

    /// Returns `true` if the other ends have acknowledged all sent data.
    pub fn is_acknowledged(&self) -> bool {
        let mut facts = self.numbers(true).filter_map(|number| self.tcp(number));
        facts.all(|facts| facts.in_flight == 0)
    }

    /// Returns the processor time of all workers, user and system, ns. Complete once they have ended.
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

/// Yields equal blocks, with enough of them per call to make the call worth its cost.
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
    /// Claims blocks from the shared budget, so that all senders together send exactly that many.
    fn claim(&mut self) -> Option<BlockOp> {
        let take = |left: u64| (left > 0).then(|| left.saturating_sub(self.most));
        let before = self.left.fetch_update(Relaxed, Relaxed, take).ok()?;
        Some(BlockOp { length: (before.min(self.most) as u32) * self.block, ..self.op })
    }
}

/// Runs a worker from its start signal to its end.
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
            // The length of received data is not known in advance.
            let (kind, length) = if sends { (OpKind::Write, most * work.block) } else { (OpKind::Read, 1) };
            let no_limit = AtomicU64::new(u64::MAX);
            let left = if ends_itself { &shared.blocks_left } else { &no_limit };
            let op = BlockOp::load(kind, 0, 0, length);
            let mut source = BlockSource { op, block: work.block, most: most.into(), left };
            let mut pacer = pacer(shared, number, &work);
            pacer.table().start(at);
            let should_stop = || control.stop_requested();
            let ready =
                Ready { should_stop: &should_stop, bytes_left: &shared.bytes_left, cells: &shared.datagrams[number] };
            let mut socket = NetSocket::new(made, ready);
            let (source, backend): (&mut dyn Source<Op = BlockOp>, &mut dyn SyncBackend<Op = BlockOp>) =
                (&mut source, &mut socket);
            let ended = run_sync(&mut context, source, backend, pacer.table());
            // `finish` only reports counts, which the worker has already published.
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
    AnyPacer::new(&PacerRequest {
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
