//! The report of a measured phase.

use super::format::per_second;
use super::latency::PhaseLatencies;
use crate::elbencho::lower::{LoweredPhase, PhaseKind};
use plumb_result::measurement::Moved;
use plumb_result::{Histogram, PhaseMeasurement};
use plumb_workload::OpKind;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkDone {
    /// Number of directories or files.
    pub entries: u64,
    /// Number of reads or writes.
    pub ios: u64,
    pub bytes: u64,
}

impl WorkDone {
    /// Adds the work of another service.
    pub fn add(&mut self, done: WorkDone) {
        self.entries = self.entries.saturating_add(done.entries);
        self.ios = self.ios.saturating_add(done.ios);
        self.bytes = self.bytes.saturating_add(done.bytes);
    }

    /// Returns the amounts per second, over `us` microseconds.
    pub fn per_second(self, us: u64) -> WorkDone {
        WorkDone {
            entries: per_second(self.entries, us),
            ios: per_second(self.ios, us),
            bytes: per_second(self.bytes, us),
        }
    }
}

/// A value when the first thread finished, and when the last one did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Both<T> {
    /// Value when the first thread finished.
    pub first: T,
    /// Value when the last thread finished.
    pub last: T,
}

/// Utilization of all CPUs, percent.
pub type Processors = Both<u32>;

/// Facts about a phase that are not part of the measurement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PhaseContext {
    /// Local time at the start of the phase: `2026-11-20T18:59:43.011+0000`.
    pub date: String,
    pub id: String,
    pub cpu: Processors,
}

/// A phase in the form that elbencho reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseReport {
    pub kind: PhaseKind,
    /// Name that elbencho prints.
    pub name: String,
    /// Facts that are not part of the measurement.
    pub seen: PhaseContext,
    /// Elapsed time, µs.
    pub elapsed_us: Both<u64>,
    /// Elapsed time of each thread, milliseconds.
    pub each_ms: Vec<u64>,
    /// Elapsed times of the services; empty without services.
    pub services: Vec<ServiceDone>,
    /// Work done, without the reads of a mix.
    pub done: Both<WorkDone>,
    /// Reads of a mix.
    pub mixed: Both<WorkDone>,
    /// Latencies of directories or files.
    pub entries: PhaseLatencies,
    /// Latencies of files that are read in a mix.
    pub entries_mixed: PhaseLatencies,
    /// Latencies of reads or writes.
    pub ios: PhaseLatencies,
    /// Latencies of the reads of a mix.
    pub ios_mixed: PhaseLatencies,
}

/// Elapsed time of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceDone {
    /// Host and port.
    pub name: String,
    /// Time at which its last thread finished, µs.
    pub us: u64,
}

/// One op of the op log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryOp {
    pub kind: OpKind,
    /// Index among the thread's files.
    pub file: u32,
    /// Start, ns since the start of the phase.
    pub submit_ns: u64,
    /// End, ns since the start of the phase.
    pub complete_ns: u64,
    pub ok: bool,
}

/// Counts and latencies of a phase's entries, computed from its op log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EntryCounts {
    write: Side,
    read: Side,
    logged: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Side {
    latencies: PhaseLatencies,
    /// Time at which each entry was done, ns.
    done_at: Vec<u64>,
}

impl EntryCounts {
    /// Adds the ops of a thread, counted from 0, in the order of completion.
    pub fn take(&mut self, phase: &LoweredPhase, thread: u32, ops: impl Iterator<Item = EntryOp>) {
        self.logged = true;
        let side = if thread < phase.reading_threads { &mut self.read } else { &mut self.write };
        let own = match phase.kind {
            PhaseKind::MkDirs => u64::from(phase.rank_dirs)..u64::MAX,
            PhaseKind::RmDirs if phase.rank_dirs > 0 => 0..phase.entries_per_thread,
            _ => 0..phase.whole_files.get(thread as usize).copied().map_or(u64::MAX, u64::from),
        };
        let mut opened_ns = None;
        for op in ops.filter(|op| op.ok) {
            let counts = own.contains(&u64::from(op.file));
            let began_ns = match op.kind {
                OpKind::Open => {
                    opened_ns = Some(op.submit_ns);
                    continue;
                }
                OpKind::Close => opened_ns.take().filter(|_| counts),
                OpKind::Mkdir | OpKind::Rmdir | OpKind::Stat | OpKind::Unlink if counts => Some(op.submit_ns),
                _ => None,
            };
            if let Some(began_ns) = began_ns {
                side.latencies.add(op.complete_ns.saturating_sub(began_ns));
                side.done_at.push(op.complete_ns);
            }
        }
    }
}

impl Side {
    fn counts(&self, first_ns: u64) -> Both<u64> {
        let by_then = self.done_at.iter().filter(|at| **at <= first_ns).count();
        Both { first: by_then as u64, last: self.done_at.len() as u64 }
    }
}

/// Returns the op that ends an entry of a phase.
fn entry_op(kind: PhaseKind) -> OpKind {
    match kind {
        PhaseKind::MkDirs => OpKind::Mkdir,
        PhaseKind::RmDirs => OpKind::Rmdir,
        PhaseKind::Stat => OpKind::Stat,
        PhaseKind::RmFiles => OpKind::Unlink,
        _ => OpKind::Close,
    }
}

/// Builds the report of a phase.
pub fn report(
    phase: &LoweredPhase,
    measured: &PhaseMeasurement,
    entries: &EntryCounts,
    seen: PhaseContext,
) -> PhaseReport {
    let ends = measured.workers.iter().map(|worker| worker.started_ns.saturating_add(worker.wall_ns));
    let last_ns = ends.clone().max().unwrap_or(measured.wall_ns);
    let first_ns = measured.first_done_ns.or_else(|| ends.min()).unwrap_or(last_ns);
    // With a single thread, the first value is the last one.
    let alone = measured.workers.len() < 2 || measured.until_first_done.is_empty();
    let total: BTreeMap<OpKind, Moved> =
        BTreeMap::from_iter(measured.ops.iter().map(|(kind, op)| (*kind, Moved { count: op.count, bytes: op.bytes })));
    let by_first = if alone { &total } else { &measured.until_first_done };
    let of = |moved: &BTreeMap<OpKind, Moved>, kind: OpKind| moved.get(&kind).copied().unwrap_or_default();
    let ended_by = entry_op(phase.kind);
    let counted = if entries.logged {
        entries.write.counts(if alone { u64::MAX } else { first_ns })
    } else {
        Both { first: of(by_first, ended_by).count, last: of(&total, ended_by).count }
    };
    let counted_mixed = entries.read.counts(if alone { u64::MAX } else { first_ns });
    let own = if phase.kind == PhaseKind::Write { OpKind::Write } else { OpKind::Read };
    let done = |entries: u64, moved: Moved| WorkDone { entries, ios: moved.count, bytes: moved.bytes };
    // An immediate read back is not a read of a mix.
    let reads_apart = phase.mixes;
    let mixed = |moved| if reads_apart { of(moved, OpKind::Read) } else { Moved::default() };
    let service = |kind: OpKind| measured.ops.get(&kind).map_or_else(Histogram::new, |op| op.service.clone());
    let of_entries = if !phase.times_entries {
        PhaseLatencies::default()
    } else if entries.logged {
        entries.write.latencies.clone()
    } else if ended_by == OpKind::Close {
        PhaseLatencies::default()
    } else {
        PhaseLatencies::from_histogram(&service(ended_by))
    };
    PhaseReport {
        kind: phase.kind,
        name: phase.name.clone(),
        seen,
        elapsed_us: Both { first: first_ns / 1000, last: last_ns / 1000 },
        each_ms: measured.workers.iter().map(|worker| (worker.started_ns + worker.wall_ns) / 1_000_000).collect(),
        services: Vec::new(),
        done: Both { first: done(counted.first, of(by_first, own)), last: done(counted.last, of(&total, own)) },
        mixed: Both {
            first: done(counted_mixed.first, mixed(by_first)),
            last: done(counted_mixed.last, mixed(&total)),
        },
        entries: of_entries,
        entries_mixed: entries.read.latencies.clone(),
        ios: if phase.kind.moves_data() {
            PhaseLatencies::from_histogram(&service(own))
        } else {
            PhaseLatencies::default()
        },
        ios_mixed: if reads_apart {
            PhaseLatencies::from_histogram(&service(OpKind::Read))
        } else {
            PhaseLatencies::default()
        },
    }
}

impl PhaseReport {
    /// Returns the report of a phase with only a time, such as elbencho's sync between phases.
    pub fn timed(kind: PhaseKind, seen: PhaseContext, us: u64) -> PhaseReport {
        PhaseReport {
            kind,
            name: kind.name().to_owned(),
            seen,
            elapsed_us: Both { first: us, last: us },
            each_ms: vec![us / 1000],
            services: Vec::new(),
            done: Both::default(),
            mixed: Both::default(),
            entries: PhaseLatencies::default(),
            entries_mixed: PhaseLatencies::default(),
            ios: PhaseLatencies::default(),
            ios_mixed: PhaseLatencies::default(),
        }
    }

    /// Returns `true` if the phase mixed reads into writes.
    pub(super) fn is_mixed(&self) -> bool {
        self.mixed.last.bytes > 0 || self.mixed.last.entries > 0
    }

    pub(super) fn rates(&self, done: Both<WorkDone>) -> Both<WorkDone> {
        Both { first: done.first.per_second(self.elapsed_us.first), last: done.last.per_second(self.elapsed_us.last) }
    }
}
