//! Network work of a phase: groups of workers whose sockets a dialect's protocol connects, and the probe
//! that runs at the same time.

use super::backend::{NetSocket, Ready};
use super::datagram::DatagramCells;
use super::new_sockets::NewSockets;
use super::prepared::Prepared;
use super::protocol::{FlowEnd, NetEnd, NetProtocol, NetRequest, NetSession};
use super::{BlockSource, Counts, Flow, Flows, TcpFacts};
use crate::backend::SyncBackend;
use crate::barrier::{Barrier, Body};
use crate::bind::{bind_pacer, run_to_end};
use crate::engine_error::EngineError;
use crate::op::BlockOp;
use crate::pacer::Pacing;
use crate::plan::{WorkerPlanError, WorkerSeat};
use crate::rng::{Purpose, StreamId};
use crate::shared::{SharedSlice, for_this_process};
use crate::signals::StopFlag;
use crate::source::Source;
use crate::terms::Ended;
use crate::worker_error::WorkerError;
use plumb_result::{Histogram, Network, RoundTrips, WorkerMeasurement};
use plumb_workload::net::{NetLoad, NetOp, Passing, Probe, TripLoad};
use plumb_workload::{Bytes, Nanos, OpKind, PerSecond, Phase};
use std::collections::BTreeSet;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

/// The connections of a group of workers.
pub(crate) struct NetGroup {
    name: String,
    session: Box<dyn NetSession>,
    flows: Arc<Vec<Flow>>,
    cells: Arc<SharedSlice<DatagramCells>>,
    /// Index of the group's first worker in the phase.
    first_worker: usize,
    began: Instant,
}

impl NetGroup {
    /// Connects a group's workers.
    pub(crate) fn connect(
        seat: &WorkerSeat<'_>,
        load: &NetLoad,
        address: &str,
        protocol: &dyn NetProtocol,
        stop: StopFlag,
    ) -> Result<NetGroup, EngineError> {
        let Phase { stop: ends, ramp, .. } = seat.phase;
        let own_ramp = seat.group.ramp;
        let time = seat.group.limit.time.or(ends.time);
        let time = time.map(|time| Nanos(time.0.saturating_add(ramp.0).saturating_add(own_ramp.0)));
        let request = NetRequest { address, load, connections: seat.group.count, time, rate: None, stop };
        let (phase, part) = (seat.phase.name.clone(), seat.group_name());
        let failed = |reason| EngineError::Network { phase, part, reason };
        let mut session = protocol.connect(&request).map_err(failed)?;
        let flows = session.flows();
        let cells = for_this_process(|| SharedSlice::new(flows.len())).map_err(|error| seat.error(error))?;
        let began = Instant::now();
        let name = seat.group_name();
        let (flows, cells) = (Arc::new(flows), Arc::new(cells));
        Ok(NetGroup { name, session, flows, cells, first_worker: seat.worker as usize, began })
    }

    /// Builds the worker of a seat.
    pub(crate) fn worker(
        &self,
        seat: &WorkerSeat<'_>,
        kind: OpKind,
        seed: u64,
        bytes_left: &Arc<AtomicU64>,
    ) -> Result<Body, WorkerPlanError> {
        let number = seat.number as usize;
        let flow = self.flows.get(number).ok_or_else(|| seat.error("it has fewer connections than workers"))?;
        let own_limit = seat.group.limit.bytes.map(|bytes| Arc::new(AtomicU64::new(bytes.0)));
        let is_limited = own_limit.is_some() || seat.phase.stop.bytes.is_some();
        let mut work = flow.work;
        // A limit in bytes requires one call per block.
        work.apart |= is_limited && work.op == NetOp::Send;
        // The number of blocks per call depends on the interval between them.
        let pace = &seat.group.pace;
        let paced = pace.open.map(|open| PerSecond(open.rate.0 * f64::from(work.block)));
        work.rate = work.rate.or(pace.bytes_per_second.write).or(paced).filter(|_| work.op == NetOp::Send);
        let made = Prepared::with(flow, work, Arc::new(NewSockets::default()));
        let worker = NetWorker {
            made: made.map_err(|error| seat.error(error))?,
            kind,
            number,
            _flows: Arc::clone(&self.flows),
            cells: Arc::clone(&self.cells),
            pacing: seat.pacing(),
            stream: seat.stream(seed),
            bytes_left: own_limit.unwrap_or_else(|| Arc::clone(bytes_left)),
        };
        Ok(Box::new(move |barrier: &Barrier| worker.run(barrier)))
    }

    /// Ends the work at the other end, and returns the results of both ends.
    pub(crate) fn finish(self, workers: &[WorkerMeasurement]) -> Result<Network, String> {
        let own = workers.iter().skip(self.first_worker).take(self.flows.len());
        let end = |(number, worker): (usize, &WorkerMeasurement)| FlowEnd {
            counts: Counts { bytes: worker.bytes, ops: worker.count, datagrams: self.cells[number].read() },
            tcp: TcpFacts::read(self.flows[number].socket.as_raw_fd()),
        };
        let ended = NetEnd {
            seconds: self.began.elapsed().as_secs_f64(),
            cpu_ns: own.clone().fold((0, 0), |sum, one| (sum.0 + one.cpu_user_ns, sum.1 + one.cpu_system_ns)),
            flows: own.enumerate().map(end).collect(),
            copied: self.cells.iter().fold([0; 2], |sum, cells| {
                let copied = cells.copied();
                [sum[0] + copied[0], sum[1] + copied[1]]
            }),
        };
        // Stops waits for data at the other end.
        let network = self.session.finish(&ended).map_err(|error| format!("{}: {error}", self.name))?;
        Ok(Network { group: Some(self.name), ..network })
    }
}

struct NetWorker {
    made: Prepared,
    kind: OpKind,
    number: usize,
    /// Keeps the sockets open.
    _flows: Arc<Vec<Flow>>,
    cells: Arc<SharedSlice<DatagramCells>>,
    pacing: Pacing,
    stream: StreamId,
    bytes_left: Arc<AtomicU64>,
}

impl NetWorker {
    fn run(self, barrier: &Barrier) -> Result<Ended, WorkerError> {
        let work = *self.made.work();
        match work.passing {
            Passing::Copy => barrier.report().backend.write(b"socket"),
            passing => barrier.report().backend.write(format!("socket, {}", passing.name()).as_bytes()),
        }
        barrier.expect(&BTreeSet::from([self.kind]));
        let most = self.made.blocks_at_once;
        // The length of received data is not known in advance.
        let length = if work.op == NetOp::Send { most * work.block } else { 1 };
        let no_limit = AtomicU64::new(u64::MAX);
        let op = BlockOp::load(self.kind, 0, 0, length);
        let mut source = BlockSource { op, block: work.block, most: most.into(), left: &no_limit };
        let mut pacer = bind_pacer(&self.pacing, barrier, self.stream.rng(Purpose::Arrival), None);
        let should_stop = || barrier.stops();
        let ready = Ready { should_stop: &should_stop, bytes_left: &self.bytes_left, cells: &self.cells[self.number] };
        let mut socket = NetSocket::new(self.made, ready);
        let (source, backend): (&mut dyn Source<Op = BlockOp>, &mut dyn SyncBackend<Op = BlockOp>) =
            (&mut source, &mut socket);
        Ok(run_to_end(barrier, source, backend, pacer.table()))
    }
}

/// The probe of a running phase.
pub(crate) struct ProbeRun {
    session: Box<dyn NetSession>,
    flows: Flows,
    began: Instant,
    idle: Histogram,
    /// Readings at the start of the phase's clock, and at its end.
    readings: [Option<(Histogram, u64)>; 2],
    idle_lost: u64,
}

/// Interval at which a waiting probe checks for shutdown.
const STOP_POLL: Duration = Duration::from_millis(50);

impl ProbeRun {
    /// Connects, and makes round trips on the idle network before the phase starts.
    pub(crate) fn begin(probe: &Probe, protocol: &dyn NetProtocol, stop: StopFlag) -> Result<ProbeRun, String> {
        let bytes = Bytes(Probe::BYTES);
        let load =
            NetLoad::Rr(TripLoad { protocol: probe.protocol, request: bytes, response: bytes, ..TripLoad::default() });
        let (address, rate) = (probe.to.as_str(), Some(probe.rate.0));
        let mut session =
            protocol.connect(&NetRequest { address, load: &load, connections: 1, time: None, rate, stop })?;
        let flows = Flows::new(session.flows()).map_err(|error| error.to_string())?;
        flows.start(None);
        let began = Instant::now();
        while began.elapsed() < Duration::from_nanos(probe.idle.0) && !stop.requested() {
            let left = Duration::from_nanos(probe.idle.0).saturating_sub(began.elapsed());
            std::thread::sleep(left.min(STOP_POLL));
            if let Some(failure) = flows.failure() {
                return Err(failure);
            }
        }
        let (idle, idle_lost) = (flows.times(0), flows.counts(0).datagrams.lost);
        Ok(ProbeRun { session, flows, began, idle, readings: [None, None], idle_lost })
    }

    /// Takes the reading at the start of the phase's clock.
    pub(crate) fn starts(&mut self) {
        self.readings[0] = Some(self.reading());
    }

    /// Takes the reading at the end of the phase's clock.
    pub(crate) fn stopped(&mut self) {
        self.readings[1] = Some(self.reading());
    }

    fn reading(&self) -> (Histogram, u64) {
        (self.flows.times(0), self.flows.counts(0).datagrams.lost)
    }

    /// Stops the probe and returns its results, idle and during the phase.
    pub(crate) fn finish(mut self, phase: &str) -> Result<Network, String> {
        let failure = self.flows.failure();
        let end = self.readings[1].take().unwrap_or_else(|| self.reading());
        let start = self.readings[0].take().unwrap_or_default();
        let idle = RoundTrips::from_times("idle", &self.idle, self.idle_lost);
        let during = RoundTrips::from_times(phase, &end.0.since(&start.0), end.1.saturating_sub(start.1));
        self.flows.stop();
        let ended = NetEnd {
            seconds: self.began.elapsed().as_secs_f64(),
            flows: vec![FlowEnd { counts: self.flows.counts(0), tcp: self.flows.tcp(0) }],
            cpu_ns: self.flows.cpu_ns(),
            copied: [0; 2],
        };
        let network = self.session.finish(&ended).map_err(|error| failure.unwrap_or(error))?;
        Ok(Network { group: Some("probe".to_owned()), round_trips: vec![idle, during], ..network })
    }
}
