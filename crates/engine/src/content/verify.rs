//! Content and verification of a worker's blocks, with fio's stamps.

use super::check::{ExpectedStamp, ExpectedWrite, Scratch, check, zeros};
use super::error::ContentError;
use super::mismatch::Mismatch;
use super::mismatch_reporter::{MismatchReporter, fill_body, stamp};
use super::pool::Pool;
use super::random::fill as fill_random;
use super::rules::{StampRules, StampWriter, StampedBody, StampedPiece, WriteSizes, Writers};
use super::seeds::WriteSeeds;
use super::stamp::{Header, code};
use super::state::SavedState;
use super::writes::Writes;
use super::{BytesRequest, Concluded, total_bytes};
use crate::clock::{Clock, Ticks, monotonic_ns};
use crate::op::{BlockOp, Role};
use crate::rng::fio::{Seeds, Taus, Width};
use plumb_workload::blocks::fio::{AccessOrder, Coverage, JobSize, RandomGenerator, Sequencer, Stream};
use plumb_workload::{OpKind, Verify};
use std::path::PathBuf;
use std::sync::Arc;

/// Tolerance for writes of other workers that seem to be issued before this worker began: each process calibrated
/// its clock on its own.
const CLOCKS_DIFFER_NS: u64 = 1_000_000_000;

/// Stamps a worker's writes, and verifies its reads.
#[derive(Debug)]
pub(super) struct Verified {
    rules: Arc<StampRules>,
    reporter: Arc<MismatchReporter>,
    seeds: WriteSeeds,
    time: StampTime,
    reading: Option<ReadBackTime>,
    content_seed: u64,
    /// Expected fields of stamps.
    expects: Expects,
    /// Tracks which write left which bytes, if stamps alone cannot explain them.
    writes: Option<Writes>,
    progress: WriteProgress,
    /// State of an earlier run; only the writes in it are verified.
    loaded: Option<SavedState>,
    save: Option<Save>,
    threads: Option<Threads>,
    pool: Option<Pool>,
    scratch: Scratch,
}

#[derive(Debug, Clone, Copy)]
struct Expects {
    number: bool,
    seed: bool,
    /// An offset may be written more than once.
    revisits: bool,
    /// Maximum number of writes in flight.
    in_flight_max: u32,
    not_before_ns: Option<u64>,
    /// Verify only flushed writes.
    flushed_only: bool,
}

/// Total time spent reading back.
#[derive(Debug, Clone, Copy, Default)]
struct ReadBackTime {
    /// Start of the current read-back phase; `None` outside of one.
    since: Option<Ticks>,
    /// Time of the earlier phases, ns.
    ns: u64,
}

/// Progress of a worker's writes.
#[derive(Debug)]
struct WriteProgress {
    /// Number of writes issued.
    issued: u32,
    /// Number of writes issued before the last completed flush.
    flushed: u32,
    /// The write or flush in each slot.
    in_flight: Vec<Option<StampedFlight>>,
}

#[derive(Debug, Clone, Copy)]
enum StampedFlight {
    /// The write with this number.
    Write(u32),
    /// A flush, with the number of writes issued before it.
    Flush(u32),
}

#[derive(Debug)]
struct Save {
    path: PathBuf,
    name: String,
    worker: u32,
}

#[derive(Debug)]
struct Threads {
    count: u32,
    cpus: Vec<u32>,
    ahead: usize,
}

/// Clock for the time in stamps: the loops' clock, counted from boot.
#[derive(Debug, Clone, Copy)]
struct StampTime {
    clock: Clock,
    start: Ticks,
    start_ns: u64,
}

impl StampTime {
    fn new() -> StampTime {
        let clock = Clock::best();
        StampTime { clock, start: clock.now(), start_ns: monotonic_ns() }
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        self.start_ns + self.ns_since(self.start)
    }

    #[inline]
    fn ns_since(&self, since: Ticks) -> u64 {
        self.clock.ns_between(since, self.clock.now())
    }
}

impl Verified {
    pub(super) fn new(request: &BytesRequest<'_>, verify: &Verify) -> Result<Verified, ContentError> {
        let stream = request.stream();
        let blocks = WriteSizes {
            smallest: request.smallest_block_bytes,
            largest: request.largest_block_bytes,
            whole_writes: stream.is_some_and(|stream| stream.unaligned_sizes),
        };
        let writer = StampWriter { worker: request.worker_number, writers: request.writers };
        let rules = StampRules::new(verify, request.content, blocks, writer, request.base)?;
        let width = match stream.map(|stream| stream.generator) {
            Some(RandomGenerator::Taus258) => Width::Wide,
            _ => Width::Narrow,
        };
        let seeding = stream.map(|stream| stream.seeding).unwrap_or_default();
        let seeds = Seeds::new(request.seed, request.worker_number, seeding);
        // Reads back its own writes, instead of only verifying existing data.
        let own = request.ops.is_some() && request.moves.write && !verify.only;
        let revisits = stream.is_none_or(|stream| revisits(stream, total_bytes(stream, request.names)));
        let overlaps = own && overlaps(stream, &rules, request.in_flight_max);
        let time = StampTime::new();
        let not_before_ns = match request.writers {
            _ if !own => None,
            Writers::One => Some(time.start_ns),
            Writers::Several => Some(time.start_ns.saturating_sub(CLOCKS_DIFFER_NS)),
        };
        let random = matches!(rules.body, StampedBody::Random { .. });
        Ok(Verified {
            rules: Arc::new(rules),
            reporter: Arc::new(MismatchReporter {
                names: request.names.cloned(),
                dumps: verify.dump.then(|| request.base.to_owned()),
            }),
            seeds: WriteSeeds::new(Taus::new(seeds.stamps, width)),
            time,
            reading: (own && verify.read_back && verify.backlog.is_none()).then(ReadBackTime::default),
            content_seed: request.content_seed,
            expects: Expects {
                number: verify.expects_number && request.ops.is_some() && request.moves.write,
                seed: verify.expects_seed && random && request.ops.is_some(),
                revisits,
                in_flight_max: u32::try_from(request.in_flight_max).unwrap_or(u32::MAX),
                not_before_ns,
                flushed_only: verify.flushed_only && own,
            },
            writes: overlaps.then(|| Writes::new(request.in_flight_max)),
            progress: WriteProgress { issued: 0, flushed: 0, in_flight: vec![None; request.in_flight_max.max(1)] },
            loaded: verify.state.load.as_deref().map(SavedState::load).transpose()?,
            save: verify.state.save.as_ref().map(|path| Save {
                path: path.clone(),
                name: request.name.to_owned(),
                worker: request.worker_number,
            }),
            threads: (verify.threads > 0).then(|| Threads {
                count: verify.threads,
                cpus: verify.thread_cpus.clone(),
                ahead: request.in_flight_max.max(verify.threads as usize),
            }),
            pool: None,
            scratch: Scratch::default(),
        })
    }

    pub(super) fn fill_slot(&mut self, memory: &mut [u8]) {
        match &self.rules.body {
            StampedBody::Pattern(pattern) => pattern.fill(0, memory),
            StampedBody::Random { .. } => fill_random(self.content_seed | 1, memory),
        }
    }

    /// Stamps a write, or records a flush.
    #[inline]
    pub(super) fn before(&mut self, op: &BlockOp, slot: usize, memory: &mut [u8]) {
        match op.kind {
            OpKind::Write => {}
            OpKind::Evict => return self.begin_reading(op),
            _ => {
                if is_flush(op.kind) {
                    self.progress.note(slot, StampedFlight::Flush(self.progress.issued));
                }
                return;
            }
        }
        if let Some(reading) = &mut self.reading
            && let Some(since) = reading.since.take()
        {
            reading.ns += self.time.ns_since(since);
        }
        self.progress.note(slot, StampedFlight::Write(op.number));
        self.progress.issued = op.number.wrapping_add(1);
        if let Some(writes) = &mut self.writes {
            writes.issue(slot, op);
        }
        let rules = &*self.rules;
        let seed = match &rules.body {
            StampedBody::Random { .. } => self.seeds.seed(op.number),
            StampedBody::Pattern(_) => 0,
        };
        // A pattern that is equal for every write is already in the slot, unless a stamp was moved over it.
        let is_filled =
            rules.stamp_at == 0 && matches!(&rules.body, StampedBody::Pattern(pattern) if pattern.is_always_equal());
        if !is_filled {
            fill_body(rules, op.offset, seed, memory);
        }
        if rules.stamp_bytes() == 0 {
            return;
        }
        let now_ns = self.time.now_ns();
        let mut header = Header {
            layout: rules.layout,
            method: code(rules.method),
            length: 0,
            seed,
            offset: 0,
            seconds: (now_ns / 1_000_000_000) as u32,
            nanoseconds: (now_ns % 1_000_000_000) as u32,
            number: u64::from(op.number),
            worker: rules.worker,
        };
        for StampedPiece { start, length } in rules.pieces(op.length) {
            header.length = length as u32;
            header.offset = op.offset + start as u64;
            stamp(rules, &header, &mut memory[start..start + length]);
        }
    }

    #[inline]
    pub(super) fn after(&mut self, op: &BlockOp, slot: usize, read: &[u8]) -> Result<(), Box<Mismatch>> {
        self.begin_reading(op);
        match op.kind {
            OpKind::Read if op.role == Role::ReadTrimmed => {
                zeros(op, read).map_err(|mismatch| self.reporter.report(None, op, read, mismatch).into())
            }
            OpKind::Read => self.read_back(op, read),
            OpKind::Write => {
                self.progress.completed(slot);
                if let Some(writes) = &mut self.writes {
                    writes.complete(slot);
                }
                Ok(())
            }
            OpKind::Trim => {
                if let Some(writes) = &mut self.writes {
                    writes.forget(op);
                }
                Ok(())
            }
            kind => {
                if is_flush(kind)
                    && let Some(StampedFlight::Flush(before)) = self.progress.completed(slot)
                {
                    self.progress.flushed = before;
                }
                Ok(())
            }
        }
    }

    /// Starts the read-back time at the first read, or at the drop of cached pages before it.
    #[inline]
    fn begin_reading(&mut self, op: &BlockOp) {
        let begins = op.kind == OpKind::Read || (op.kind == OpKind::Evict && op.role == Role::ReadBack);
        if begins
            && let Some(reading) = &mut self.reading
            && reading.since.is_none()
        {
            reading.since = Some(self.time.clock.now());
        }
    }

    fn read_back(&mut self, op: &BlockOp, read: &[u8]) -> Result<(), Box<Mismatch>> {
        let flushed = !self.expects.flushed_only || op.number < self.progress.flushed;
        if !flushed || self.loaded.as_ref().is_some_and(|state| !state.holds(op.number)) {
            return Ok(());
        }
        let expected = ExpectedStamp {
            number: self.expects.number.then(|| self.number(op.number)),
            seed: self.expects.seed.then(|| self.seeds.seed(op.number)),
            not_before_ns: self.expects.not_before_ns,
        };
        if self.threads.is_some() && self.owns_all(op) {
            return self.check_in_pool(op, expected, read);
        }
        let writes = &self.writes;
        let wanted = |piece: StampedPiece| match writes {
            None => true,
            Some(writes) => {
                let start = op.offset + piece.start as u64;
                writes.owns(op.file, start, start + piece.length as u64, op.number)
            }
        };
        check(&self.rules, op, read, &expected, &mut self.scratch, wanted)
            .map_err(|mismatch| self.reporter.report(Some(&self.rules), op, read, mismatch).into())
    }

    /// Returns the writes that may have replaced write `write`.
    fn number(&self, write: u32) -> ExpectedWrite {
        // If `writes` tracks the bytes, or no offset is written twice, only that write is valid.
        if self.writes.is_some() || !self.expects.revisits {
            return ExpectedWrite { write, later: 0, together: 0 };
        }
        let later = match self.expects.not_before_ns {
            Some(_) => self.progress.issued.wrapping_sub(write).wrapping_sub(1),
            None => i32::MAX as u32,
        };
        ExpectedWrite { write, later, together: self.expects.in_flight_max.saturating_sub(1) }
    }

    fn owns_all(&self, op: &BlockOp) -> bool {
        let end = op.offset + u64::from(op.length);
        self.writes.as_ref().is_none_or(|writes| writes.owns(op.file, op.offset, end, op.number))
    }

    /// Passes a check to the threads and starts them at the first check. If they started earlier, a worker that is a
    /// forked process would not have them.
    fn check_in_pool(&mut self, op: &BlockOp, expected: ExpectedStamp, read: &[u8]) -> Result<(), Box<Mismatch>> {
        if self.pool.is_none()
            && let Some(Threads { count, cpus, ahead }) = &self.threads
        {
            self.pool = Some(Pool::start(*count, cpus, *ahead, &self.rules, &self.reporter)?);
        }
        self.pool.as_mut().map_or(Ok(()), |pool| pool.check(op, expected, read))
    }

    pub(super) fn finish(&mut self) -> Concluded {
        let read_back_ns =
            self.reading.map(|ReadBackTime { since, ns }| ns + since.map_or(0, |since| self.time.ns_since(since)));
        let mut mismatches = self.pool.take().map_or(Vec::new(), Pool::finish);
        if let Some(Save { path, name, worker }) = &self.save {
            let state = self.progress.state(self.expects.flushed_only);
            mismatches.extend(state.save(path, name, *worker).err().map(Mismatch::from));
        }
        Concluded { mismatches, read_back_ns }
    }
}

/// Returns `true` if an op makes written data durable.
fn is_flush(kind: OpKind) -> bool {
    matches!(kind, OpKind::Fsync | OpKind::EndFsync | OpKind::Fdatasync | OpKind::SyncRange | OpKind::Syncfs)
}

impl WriteProgress {
    #[inline]
    fn note(&mut self, slot: usize, flight: StampedFlight) {
        if slot >= self.in_flight.len() {
            self.in_flight.resize(slot + 1, None);
        }
        self.in_flight[slot] = Some(flight);
    }

    #[inline]
    fn completed(&mut self, slot: usize) -> Option<StampedFlight> {
        self.in_flight.get_mut(slot).and_then(Option::take)
    }

    fn state(&self, flushed_only: bool) -> SavedState {
        let issued = if flushed_only { self.flushed } else { self.issued };
        let writes = self.in_flight.iter().flatten().filter_map(|flight| match flight {
            StampedFlight::Write(number) => Some(u64::from(*number)),
            StampedFlight::Flush(_) => None,
        });
        SavedState { issued: u64::from(issued), unsure: writes.collect() }
    }
}

/// Returns `true` if an offset may be written more than once.
fn revisits(stream: &Stream, total_bytes: u64) -> bool {
    let again = match stream.order {
        AccessOrder::Sequential { skip_bytes } => skip_bytes < 0,
        AccessOrder::Random { ops_per_draw } => {
            stream.coverage == Coverage::Again || (ops_per_draw > 1 && stream.sequencer == Sequencer::Identical)
        }
    };
    again
        || stream.loops > 1
        || stream.repeat_until_time
        || stream.random_percent.write != 100
        || stream.io_bytes.is_some_and(|bytes| bytes.0 > total_bytes)
}

/// Returns `true` if writes may overlap in a way that stamps cannot explain: off the grid of
/// stamps, or in flight together.
fn overlaps(stream: Option<&Stream>, rules: &StampRules, in_flight_max: usize) -> bool {
    let Some(stream) = stream else { return true };
    let Some(grid) = rules.grid() else { return true };
    let off_grid = |bytes: u64| !bytes.is_multiple_of(u64::from(grid.max(1)));
    let sizes = match &stream.sizes.write {
        JobSize::Split(shares) => shares.iter().any(|share| off_grid(share.size.0)),
        JobSize::Fixed(size) => off_grid(size.0),
        JobSize::Range { low, high } => off_grid(low.0) || off_grid(high.0),
    };
    let offsets = match stream.order {
        AccessOrder::Sequential { skip_bytes } => off_grid(skip_bytes.unsigned_abs()),
        AccessOrder::Random { .. } => off_grid(stream.align.write.0),
    };
    let together =
        in_flight_max > 1 && stream.coverage == Coverage::Again && matches!(stream.order, AccessOrder::Random { .. });
    sizes || offsets || (together && !stream.no_overlap_in_flight)
}
