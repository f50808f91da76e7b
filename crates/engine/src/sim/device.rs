//! The simulated device: a medium, a page cache above it, and injected faults.

use super::media::{Media, Range, Stretch};
use super::noise::{Jitter, log_normal};
use super::sessions;
use crate::backend::{Completion, Errno};
use crate::op::Operation;
use crate::rng::{Purpose, Rng, StreamId};
use plumb_result::conditions::{DeviceHealth, Heat, Upkeep, UpkeepKind};
use plumb_result::observe::{DeviceCounters, Extents, OwnIo, ProcessIo, Residency};
use plumb_workload::{CachePolicy, OpKind, SimDevice, SimModel, SimTarget};
use std::collections::{BTreeMap, HashSet};

/// Identifies a run. Everything that varies between runs is drawn from these numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimRun {
    /// Seed of all draws.
    pub seed: u64,
    /// Position of the run in time, from 0, over all sides of a comparison. `drift` grows with it, and each index
    /// draws its own speed (`cv`, `bimodal`).
    pub run_index: u32,
    /// Number of the provisioning that the run uses; `plot` and `session` are drawn from it.
    pub plot_index: u32,
}

/// Result of an op on the device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Served {
    /// Virtual time of completion, ns.
    pub done_ns: u64,
    /// Bytes moved, or the error.
    pub completion: Completion,
    place: Place,
    effect: Effect,
}

/// A device with the name of its target.
#[derive(Debug, Clone)]
pub(super) struct NamedDevice {
    pub(super) target: String,
    pub(super) device: Device,
}

/// The layer that served an op. The device's queue counts only its own ops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Memory,
    FileSystem,
    Device,
}

/// Counter changes of an op at its completion.
#[derive(Debug, Clone, Copy, Default)]
struct Effect {
    returned_bytes: u64,
    given_bytes: u64,
    reads: u64,
    read_bytes: u64,
    writes: u64,
    write_bytes: u64,
    /// The part of `write_bytes` that earlier ops had left in the page cache.
    written_back_bytes: u64,
    flushes: u64,
    discard_bytes: u64,
}

/// A simulated device on the virtual clock. Times passed to it must not decrease.
#[derive(Debug, Clone)]
pub(super) struct Device {
    name: String,
    target: SimTarget,
    media: Media,
    /// Factor of everything that slows this run's device, except throttling.
    slowness: f64,
    jitter: Jitter,
    chance: Rng,
    /// Share of reads that the page cache answers in this phase.
    cached: f64,
    buffered: bool,
    dirty: Dirty,
    journal_bytes: u64,
    journal_offset: u64,
    stall_after_ops: Option<u64>,
    measuring: bool,
    /// Whether this phase has written.
    written: bool,
    /// Whether this run has ever written, after which there are no holes.
    ever_written: bool,
    /// MiB-sized pieces written in this run, for devices with a slower first write.
    allocated: HashSet<u64>,
    /// Time at which the empty token bucket has a token again.
    tokens_free_ns: u64,
    totals: Totals,
    media_errors: u64,
    kernel_log: Vec<String>,
}

/// Writes in the page cache that are not flushed yet.
#[derive(Debug, Clone, Copy, Default)]
struct Dirty {
    bytes: u64,
    requests: u64,
    cost_ns: f64,
}

/// Cumulative counters, as in `/proc/diskstats` and `/proc/self/io`.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    now_ns: u64,
    in_flight: u64,
    busy_ns: u64,
    weighted_ns: u128,
    reads: u64,
    read_bytes: u64,
    writes: u64,
    write_bytes: u64,
    flushes: u64,
    discard_bytes: u64,
    own: OwnIo,
}

impl Totals {
    #[inline]
    fn advance(&mut self, now_ns: u64) {
        let passed_ns = now_ns.saturating_sub(self.now_ns);
        self.now_ns = self.now_ns.max(now_ns);
        if self.in_flight > 0 {
            self.busy_ns += passed_ns;
            self.weighted_ns += u128::from(passed_ns) * u128::from(self.in_flight);
        }
    }
}

/// Time of a copy from or into the page cache.
const CACHED_OP_NS: f64 = 1_000.0;
const CACHED_NS_PER_BYTE: f64 = 0.1;
/// Journal bytes per metadata change.
const JOURNAL_CHANGE_BYTES: u64 = 1 << 10;
/// The journal is written when it holds this many bytes, or on `fsync`.
const JOURNAL_BYTES: u64 = 1 << 20;
const PAGE_BYTES: u64 = 4096;
/// Unit of allocation and of holes.
const PIECE_BYTES: u64 = 1 << 20;
/// Temperatures of a busy NVMe drive with and without airflow.
const CALM_CELSIUS: f64 = 42.0;
const HOT_CELSIUS: f64 = 78.0;
/// Usual limits of NVMe drives (WCTEMP, CCTEMP).
const WARNING_CELSIUS: f64 = 70.0;
const CRITICAL_CELSIUS: f64 = 85.0;
/// Lines of the kernel's log that are kept.
const LOG_LINES: usize = 8;
/// Request size of a neighbor or a resync.
const OTHERS_REQUEST_BYTES: u64 = 256 << 10;
/// Maximum share of others. At a share of 1, no op would ever complete.
const OTHERS_LARGEST: f64 = 0.95;

impl Device {
    /// Creates the device of a target in one run. `number` distinguishes the devices of a run.
    pub(super) fn new(target: &SimTarget, number: u32, run: SimRun) -> Device {
        let faults = &target.device;
        let stream = |index: u32, place: u32| {
            StreamId { seed: run.seed, phase: index, worker: number << 8 | place }.rng(Purpose::Device)
        };
        // Make every draw regardless of the faults, so that one fault does not shift the draws of another.
        let mut of_run = stream(run.run_index, 0);
        let speed = log_normal(faults.cv, &mut of_run);
        let slow_mode = of_run.unit() < faults.bimodal;
        let stall_after_ops = 16 + of_run.below(48);
        let plot_speed = log_normal(faults.plot, &mut stream(run.plot_index, 1))
            * sessions::speed(&faults.sessions, run.seed, number, run.plot_index);

        let drift = (1.0 + faults.drift).powi(run.run_index.min(i32::MAX as u32) as i32);
        let mode = if slow_mode { 1.0 + faults.bimodal_slow } else { 1.0 };
        let slowness = (1.0 + faults.slow) * drift * mode / (speed * plot_speed) / (1.0 - others_share(faults));
        Device {
            media: Media::new(faults.model, target.size.0, stream(run.run_index, 2)),
            slowness,
            jitter: Jitter::new(Media::jitter_cv(faults.model), stream(run.run_index, 3)),
            chance: stream(run.run_index, 4),
            cached: faults.cached,
            buffered: faults.write_cache.0 > 0,
            dirty: Dirty::default(),
            journal_bytes: 0,
            journal_offset: 0,
            stall_after_ops: faults.stall.map(|_| stall_after_ops),
            measuring: false,
            written: false,
            ever_written: false,
            allocated: HashSet::new(),
            tokens_free_ns: 0,
            totals: Totals::default(),
            media_errors: 0,
            kernel_log: Vec::with_capacity(LOG_LINES),
            name: format!("sim{number}"),
            target: target.clone(),
        }
    }

    /// Slows every op down by this share.
    pub(super) fn slow_down(&mut self, share: f64) {
        self.slowness *= 1.0 + share;
    }

    /// Starts the clock; from now on a stall may occur.
    pub(crate) fn start_measuring(&mut self) {
        self.measuring = true;
    }

    /// Sets the contents of the page cache for the next phase. [`CachePolicy::Direct`] bypasses it, and
    /// [`CachePolicy::Warm`] fills it. Otherwise it holds the share given by the `cached` fault, despite eviction.
    pub(crate) fn begin_phase(&mut self, cache: CachePolicy) {
        self.written = false;
        self.set_cache(cache);
    }

    /// Changes the contents of the page cache within a phase.
    pub(crate) fn set_cache(&mut self, cache: CachePolicy) {
        let faults = &self.target.device;
        (self.cached, self.buffered) = match cache {
            CachePolicy::Direct => (0.0, false),
            CachePolicy::Warm => (1.0, faults.write_cache.0 > 0),
            CachePolicy::Cold | CachePolicy::AsIs => (faults.cached.min(1.0), faults.write_cache.0 > 0),
        };
    }

    /// Submits an op at `now_ns`; its offset is relative to byte `start`. Returns its completion time and result. The
    /// caller must call [`Device::finish`] at that time.
    #[inline]
    pub(super) fn submit(&mut self, now_ns: u64, op: &impl Operation, start: u64) -> Served {
        self.totals.advance(now_ns);
        let range = Range { offset: op.offset().saturating_add(start), length: op.length() };
        let mut served = match op.kind() {
            OpKind::Read => self.read(now_ns, range),
            OpKind::Write => self.write(now_ns, range),
            OpKind::Trim => self.trim(now_ns, range),
            kind @ (OpKind::Fsync | OpKind::Fdatasync) => self.flush(now_ns, kind),
            OpKind::Delay => Served::memory(now_ns.saturating_add(range.length)),
            kind => self.metadata(now_ns, kind),
        };
        if served.place != Place::Memory {
            self.inject(now_ns, op.kind(), range, &mut served);
        }
        if served.place == Place::Device {
            self.totals.in_flight += 1;
        }
        served.done_ns = served.done_ns.max(now_ns + 1);
        served
    }

    /// Counts an op at its completion.
    #[inline]
    pub(super) fn finish(&mut self, served: &Served) {
        self.totals.advance(served.done_ns);
        let (totals, effect) = (&mut self.totals, &served.effect);
        if served.place == Place::Device {
            totals.in_flight -= 1;
        }
        totals.reads += effect.reads;
        totals.read_bytes += effect.read_bytes;
        totals.writes += effect.writes;
        totals.write_bytes += effect.write_bytes;
        totals.flushes += effect.flushes;
        totals.discard_bytes += effect.discard_bytes;
        totals.own.rchar_bytes += effect.returned_bytes;
        totals.own.wchar_bytes += effect.given_bytes;
        totals.own.read_bytes += effect.read_bytes;
        // /proc/self/io counts bytes when they are dirtied.
        let direct_bytes = effect.write_bytes - effect.written_back_bytes;
        totals.own.write_bytes += effect.given_bytes.max(direct_bytes);
    }

    fn throttled(&self) -> bool {
        self.target.device.throttle_after.is_some_and(|after| self.totals.busy_ns >= after.0)
    }

    fn stretch(&mut self) -> Stretch {
        let faults = &self.target.device;
        let slower = self.throttled() && faults.throttle_rate.0 == 0;
        let throttle = if slower { 1.0 + faults.throttle_slow } else { 1.0 };
        Stretch { device: self.slowness * throttle, jitter: self.jitter.next() }
    }

    /// Returns the completion time of an op after the empty token bucket; without it,
    /// the op would complete at `done_ns`.
    fn throttle_completion(&mut self, now_ns: u64, length: u64, done_ns: u64) -> u64 {
        let rate = self.target.device.throttle_rate.0;
        if rate == 0 || !self.throttled() {
            return done_ns;
        }
        let token_ns = (length as f64 * 1e9 / rate as f64).min(Stretch::LONGEST_NS as f64) as u64;
        self.tokens_free_ns = self.tokens_free_ns.max(now_ns).saturating_add(token_ns);
        done_ns.max(self.tokens_free_ns)
    }

    /// Returns `true` if a piece was never written. Holes are spread evenly, because the pieces' multiples of
    /// the golden ratio, modulo 1, are.
    fn is_hole(&self, offset: u64) -> bool {
        const GOLDEN: f64 = 0.618_033_988_749_895;
        let holes = self.target.device.holes;
        holes > 0.0 && !self.ever_written && ((offset / PIECE_BYTES) as f64 * GOLDEN).fract() < holes
    }

    fn read(&mut self, now_ns: u64, range: Range) -> Served {
        if self.target.device.empty {
            return self.copied(now_ns, 0);
        }
        let length = if self.draw_chance(self.target.device.short) { range.length / 2 } else { range.length };
        let returned = Effect { returned_bytes: length, ..Effect::default() };
        if self.is_hole(range.offset) || self.draw_chance(self.cached) {
            return Served { effect: returned, ..self.copied(now_ns, length) };
        }
        let (stretch, queued) = (self.stretch(), self.totals.in_flight);
        let done_ns = self.media.read(now_ns, Range { length, ..range }, queued, stretch);
        let done_ns = self.throttle_completion(now_ns, length, done_ns);
        Served::device(done_ns, length, Effect { reads: 1, read_bytes: length, ..returned })
    }

    fn write(&mut self, now_ns: u64, range: Range) -> Served {
        self.written = true;
        self.ever_written = true;
        let given = Effect { given_bytes: range.length, ..Effect::default() };
        if self.buffered && self.dirty.bytes + range.length <= self.target.device.write_cache.0 {
            self.dirty.bytes += range.length;
            self.dirty.requests += 1;
            self.dirty.cost_ns += self.media.writeback_cost(range);
            return Served { effect: given, ..self.copied(now_ns, range.length) };
        }
        // If the page cache is full, a write must wait for the writeback of as many bytes.
        let mut stretch = self.stretch();
        let thin = self.target.device.thin;
        if thin > 0.0 && self.allocated.insert(range.offset / PIECE_BYTES) {
            stretch.device *= 1.0 + thin;
        }
        let done_ns = self.media.write(now_ns, range, stretch);
        let done_ns = self.throttle_completion(now_ns, range.length, done_ns);
        Served::device(done_ns, range.length, Effect { writes: 1, write_bytes: range.length, ..given })
    }

    fn trim(&mut self, now_ns: u64, range: Range) -> Served {
        const TRIM_NS: f64 = 50_000.0;
        let stretch = self.stretch();
        let done_ns = now_ns + stretch.all(TRIM_NS);
        Served::device(done_ns, range.length, Effect { discard_bytes: range.length, ..Effect::default() })
    }

    fn flush(&mut self, now_ns: u64, kind: OpKind) -> Served {
        if self.target.device.lying_flush {
            return self.copied(now_ns, 0);
        }
        let stretch = self.stretch();
        let dirty = std::mem::take(&mut self.dirty);
        let mut done_ns = self.media.flush(now_ns, dirty.cost_ns, stretch);
        let mut effect = Effect {
            writes: dirty.requests,
            write_bytes: dirty.bytes,
            written_back_bytes: dirty.bytes,
            flushes: 1,
            ..Effect::default()
        };
        if kind == OpKind::Fsync && self.journal_bytes > 0 {
            let committed = self.commit(done_ns, stretch);
            done_ns = self.media.flush(committed.done_ns, 0.0, stretch);
            effect.writes += committed.effect.writes;
            effect.write_bytes += committed.effect.write_bytes;
            effect.flushes += 1;
        }
        Served::device(done_ns, 0, effect)
    }

    /// Writes the journal: one sequential write in its own area after the data.
    fn commit(&mut self, now_ns: u64, stretch: Stretch) -> Served {
        let length = std::mem::take(&mut self.journal_bytes).next_multiple_of(PAGE_BYTES) + PAGE_BYTES;
        let offset = self.target.size.0.saturating_add(self.journal_offset);
        self.journal_offset = (self.journal_offset + length) % (64 * JOURNAL_BYTES);
        let done_ns = self.media.write(now_ns, Range { offset, length }, stretch);
        Served::device(done_ns, 0, Effect { writes: 1, write_bytes: length, ..Effect::default() })
    }

    fn metadata(&mut self, now_ns: u64, kind: OpKind) -> Served {
        // Processor time of a warm journaling file system, ns.
        let (nominal_ns, journalled) = match kind {
            OpKind::Create => (20_000.0, true),
            OpKind::Unlink => (15_000.0, true),
            OpKind::Mkdir => (25_000.0, true),
            OpKind::Rmdir => (20_000.0, true),
            OpKind::Rename => (20_000.0, true),
            OpKind::Link => (15_000.0, true),
            OpKind::Symlink => (18_000.0, true),
            OpKind::Truncate | OpKind::Fallocate => (15_000.0, true),
            OpKind::Utimens | OpKind::Chmod => (5_000.0, true),
            OpKind::Readdir => (10_000.0, false),
            OpKind::Open => (4_000.0, false),
            OpKind::Close => (1_000.0, false),
            // Stat and readlink; ops that move or flush data do not get here.
            _ => (2_000.0, false),
        };
        let stretch = self.stretch();
        let done_ns = now_ns + stretch.all(nominal_ns);
        if journalled {
            self.journal_bytes += JOURNAL_CHANGE_BYTES;
            if self.journal_bytes >= JOURNAL_BYTES {
                return self.commit(done_ns, stretch);
            }
        }
        Served { place: Place::FileSystem, ..Served::memory(done_ns) }
    }

    /// Copies between the page cache and the program. No fault slows memory.
    fn copied(&mut self, now_ns: u64, length: u64) -> Served {
        let ns = (CACHED_OP_NS + length as f64 * CACHED_NS_PER_BYTE) * self.jitter.next();
        Served { completion: Ok(length), ..Served::memory(now_ns + ns as u64) }
    }

    #[inline]
    fn draw_chance(&mut self, share: f64) -> bool {
        share > 0.0 && self.chance.unit() < share
    }

    fn inject(&mut self, now_ns: u64, kind: OpKind, range: Range, served: &mut Served) {
        match self.stall_after_ops.as_mut() {
            Some(0) if self.measuring => {
                self.stall_after_ops = None;
                let stall_ns = self.target.device.stall.map_or(0, |stall| stall.0);
                served.done_ns = served.done_ns.max(now_ns.saturating_add(stall_ns));
                self.media.hold(served.done_ns);
            }
            Some(left) if self.measuring => *left -= 1,
            _ => {}
        }
        if self.draw_chance(self.target.device.errors) {
            served.completion = Err(Errno(libc::EIO));
            served.effect = Effect::default();
            self.media_errors += 1;
            if self.kernel_log.len() < LOG_LINES {
                let sector = range.offset / 512;
                let line = format!("I/O error, dev {}, sector {sector} op {}", self.name, kind.name().to_uppercase());
                self.kernel_log.push(line);
            }
        }
    }
}

/// Observations that a probe would make of the device.
impl Device {
    /// The kernel's name of the device: `sim0`.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns its counters, including others' I/O. `now_ns` must not be before the last op.
    pub(super) fn counters(&mut self, now_ns: u64) -> DeviceCounters {
        self.totals.advance(now_ns);
        let totals = &self.totals;
        let others = self.others(now_ns);
        let share = others_share(&self.target.device);
        // Others also take their share of our idle time.
        let idle_ns = totals.now_ns - totals.busy_ns;
        let busy_ns = totals.busy_ns + (idle_ns as f64 * share) as u64;
        let weighted_ns = totals.weighted_ns + (totals.now_ns as f64 * share) as u128;
        DeviceCounters {
            reads: totals.reads + others.read_bytes / OTHERS_REQUEST_BYTES,
            read_bytes: totals.read_bytes + others.read_bytes,
            writes: totals.writes + others.write_bytes / OTHERS_REQUEST_BYTES,
            write_bytes: totals.write_bytes + others.write_bytes,
            flushes: Some(totals.flushes),
            busy_ms: busy_ns / 1_000_000,
            weighted_ms: (weighted_ns / 1_000_000) as u64,
            discard_bytes: totals.discard_bytes,
            // No requests are merged, and their times are not kept.
            ..DeviceCounters::default()
        }
    }

    pub(crate) fn was_written_this_phase(&self) -> bool {
        self.written
    }

    /// Returns Plumb's own I/O on the device.
    pub(super) fn own_io(&self) -> OwnIo {
        self.totals.own
    }

    /// Returns the bytes that others have moved since the clock began, half of them reads.
    fn others(&self, now_ns: u64) -> ProcessIo {
        let faults = &self.target.device;
        let bytes = others_share(faults) * Media::bytes_per_second(faults.model) as f64 * now_ns as f64 / 1e9;
        let half = (bytes / 2.0) as u64 / OTHERS_REQUEST_BYTES * OTHERS_REQUEST_BYTES;
        ProcessIo { pid: 0, command: String::new(), read_bytes: half, write_bytes: half, with_children: false }
    }

    /// Returns the processes that caused others' I/O between two times, largest first.
    pub(crate) fn other_processes(&self, from_ns: u64, to_ns: u64) -> Vec<ProcessIo> {
        let faults = &self.target.device;
        let (before, after) = (self.others(from_ns), self.others(to_ns));
        let mut processes: Vec<ProcessIo> =
            [(faults.background, 4321, "neighbour".to_owned()), (faults.resync, 77, format!("{}_resync", self.name))]
                .into_iter()
                .filter(|(share, ..)| *share > 0.0)
                .map(|(share, pid, command)| {
                    let part = |bytes: u64| (bytes as f64 * share / (faults.background + faults.resync)) as u64;
                    ProcessIo {
                        pid,
                        command,
                        read_bytes: part(after.read_bytes - before.read_bytes),
                        write_bytes: part(after.write_bytes - before.write_bytes),
                        with_children: false,
                    }
                })
                .collect();
        processes.sort_by_key(|process| std::cmp::Reverse(process.read_bytes + process.write_bytes));
        processes
    }

    /// Returns the target's pages in the page cache now.
    pub(super) fn residency(&self) -> Residency {
        let total_bytes = self.target.size.0;
        let clean_bytes = (total_bytes as f64 * self.cached) as u64 / PAGE_BYTES * PAGE_BYTES;
        Residency {
            total_bytes,
            resident_bytes: clean_bytes.max(self.dirty.bytes.min(total_bytes)),
            dirty_bytes: self.dirty.bytes.min(total_bytes),
            writeback_bytes: 0,
            dirty_known: true,
        }
    }

    /// Returns the extents of the target: one piece, with its holes.
    pub(super) fn extents(&self) -> Extents {
        let total_bytes = self.target.size.0;
        let pieces = 0..total_bytes.div_ceil(PIECE_BYTES);
        let hole = |piece: u64| self.is_hole(piece * PIECE_BYTES);
        if self.target.device.holes == 0.0 || self.ever_written {
            return Extents { total_bytes, extents: 1, ..Extents::default() };
        }
        let length = |piece: u64| PIECE_BYTES.min(total_bytes - piece * PIECE_BYTES);
        Extents {
            total_bytes,
            hole_bytes: pieces.clone().filter(|&piece| hole(piece)).map(length).sum(),
            extents: pieces.filter(|&piece| !hole(piece) && (piece == 0 || hole(piece - 1))).count() as u64,
            ..Extents::default()
        }
    }

    /// Returns `true` if each op of a worker completes before its next one starts.
    pub(crate) fn is_serial(&self) -> bool {
        self.target.device.serial
    }

    /// Returns the background work of the layers below.
    pub(super) fn upkeep(&self) -> Option<Upkeep> {
        let kind = UpkeepKind::Resync;
        (self.target.device.resync > 0.0).then(|| Upkeep { on: self.name.clone(), kind, detail: String::new() })
    }

    pub(super) fn heat(&self) -> Heat {
        let celsius = if self.target.device.hot { HOT_CELSIUS } else { CALM_CELSIUS };
        let (warning_celsius, critical_celsius) = (Some(WARNING_CELSIUS), Some(CRITICAL_CELSIUS));
        Heat { celsius, warning_celsius, critical_celsius, alarm: false }
    }

    /// Returns the health that the device reports.
    pub(super) fn health(&self) -> DeviceHealth {
        let faults = &self.target.device;
        DeviceHealth {
            errors: BTreeMap::from([("media_errors".to_owned(), self.media_errors)]),
            wear_percent: Some((faults.worn * 100.0).round() as u64),
            thermal_throttles: Some(u64::from(faults.hot && self.throttled())),
            ..DeviceHealth::default()
        }
    }

    /// Takes the lines of the simulated kernel's log since the previous call.
    pub(crate) fn take_kernel_log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.kernel_log)
    }

    /// Returns `true` if the model has a volatile cache that must be flushed.
    pub(crate) fn has_volatile_cache(model: SimModel) -> bool {
        model != SimModel::Ram
    }

    /// Returns the speed of the model's link as a probe would read it, which no run can exceed.
    pub(crate) fn ceiling_bytes_per_second(model: SimModel) -> u64 {
        Media::link_bytes_per_second(model)
    }
}

impl Served {
    fn memory(done_ns: u64) -> Served {
        Served { done_ns, completion: Ok(0), place: Place::Memory, effect: Effect::default() }
    }

    fn device(done_ns: u64, moved_bytes: u64, effect: Effect) -> Served {
        Served { done_ns, completion: Ok(moved_bytes), place: Place::Device, effect }
    }
}

/// Returns the share of the device's time that others take.
fn others_share(faults: &SimDevice) -> f64 {
    (faults.background + faults.resync).min(OTHERS_LARGEST)
}
