//! State shared by both sides of a copy: the worker's context, counts, the listener, and early ends.

use super::end::End;
use super::ends::Ends;
use super::{CopyCounts, CopyEvent, CopyStep, SharedListener};
use crate::clock::Ticks;
use crate::signals::{StopFlag, progress_requests};
use crate::worker::{OpGroup as Untimed, Sampler, WorkerContext};
use plumb_workload::OpKind;
use rustix::fs::FileType;
use rustix::io::Errno;

/// Reason for an early end of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    Failed { what: CopyStep, errno: Errno },
    Stopped,
}

impl Halt {
    /// Builds a [`Halt::Failed`] for `map_err`.
    pub(super) fn at(what: CopyStep) -> impl FnOnce(Errno) -> Halt {
        move |errno| Halt::Failed { what, errno }
    }
}

pub(super) struct Account<'a, 'd> {
    pub(super) context: &'a mut WorkerContext<'d>,
    pub(super) counts: CopyCounts,
    records: Recorded,
    listener: Option<SharedListener>,
    stop: StopFlag,
    started_at: Ticks,
    /// Start of the current op: the end of the last one, or of the work between the two.
    now: Ticks,
    next_second_at: Ticks,
    /// Number of progress requests answered so far.
    answered: u32,
    group: Group,
    sampler: Sampler,
    /// A group of reads without their own timing, and the number of reads in it.
    untimed: Option<(Untimed, u32)>,
}

/// Consecutive ops timed with one pair of clock readings, because a reading costs a good part of an op. Used between
/// memory devices, which never wait.
#[derive(Debug, Default)]
struct Group {
    /// Maximum number of ops; 1 if each op has its own clock readings.
    ops: u32,
    done: u32,
    reads: Counted,
    writes: Counted,
}

/// Totals of one kind of op in a group.
#[derive(Debug, Default)]
struct Counted {
    ops: u64,
    bytes: u64,
    short: u64,
}

impl<'a, 'd> Account<'a, 'd> {
    pub(super) fn new(
        context: &'a mut WorkerContext<'d>,
        records: Recorded,
        listener: Option<SharedListener>,
        stop: StopFlag,
        started_at: Ticks,
    ) -> Account<'a, 'd> {
        let clock = context.clock;
        // Reading virtual time is free.
        let samples = records.writes_nowhere && context.log.is_none() && !clock.is_virtual();
        Account {
            context,
            counts: CopyCounts::default(),
            records,
            listener,
            stop,
            started_at,
            now: clock.now(),
            next_second_at: started_at + clock.ticks(SECOND_NS),
            // A request that came before the start is answered at once.
            answered: 0,
            group: Group { ops: if records.in_groups { GROUP_OPS } else { 1 }, ..Group::default() },
            sampler: Sampler::new(clock, samples),
            untimed: None,
        }
    }

    /// Starts the next op now. The time since the last op counts for no op.
    #[inline]
    pub(super) fn mark(&mut self) {
        if self.group.done > 0 {
            self.settle_group();
        }
        self.now = self.context.clock.now();
        if let Some((group, made)) = self.untimed.take() {
            self.sampler.made_before(&mut self.context.recorder, group, made, self.now);
        }
    }

    /// Records an op that ends now. The next op begins here.
    #[inline(always)]
    pub(super) fn record(&mut self, kind: OpKind, moved: usize, asked: usize) {
        if self.group.ops > 1 && kind.moves_bytes() {
            self.gather(kind, moved, asked);
        } else {
            self.record_one(kind, moved, asked);
        }
    }

    #[inline]
    fn record_one(&mut self, kind: OpKind, moved: usize, asked: usize) {
        if kind == OpKind::Write && self.records.writes_nowhere {
            return;
        }
        if let Some((group, made)) = &mut self.untimed
            && kind == group.kind
            && moved as u64 == group.length
        {
            *made += 1;
            if *made == group.most {
                self.settle_group();
            }
            return;
        }
        let now = self.context.clock.now();
        if let Some((group, made)) = self.untimed.take() {
            self.now = self.sampler.made_before(&mut self.context.recorder, group, made, now);
        }
        let is_recorded = match kind {
            OpKind::Read => self.records.reads,
            _ => self.records.writes,
        };
        if is_recorded {
            self.context.recorder.record(kind, moved as u64, self.context.clock.ns_between(self.now, now));
            // Short reads are normal for inputs and pipes. They are reported as partial blocks.
            if moved < asked && kind != OpKind::Read {
                self.context.recorder.count_short(kind);
            }
            let timed = self.sampler.timed(kind, asked as u64, moved == asked, self.now, now);
            self.untimed = timed.map(|group| (group, 0));
        }
        self.now = now;
    }

    /// Adds an op to the group.
    #[inline(always)]
    fn gather(&mut self, kind: OpKind, moved: usize, asked: usize) {
        let counted = if kind == OpKind::Read { &mut self.group.reads } else { &mut self.group.writes };
        counted.ops += 1;
        counted.bytes += moved as u64;
        // Short reads are normal for inputs.
        if moved < asked && kind != OpKind::Read {
            counted.short += 1;
        }
        self.group.done += 1;
        if self.group.done == self.group.ops {
            self.settle_group();
        }
    }

    /// Records grouped and untimed ops, each with its part of the time.
    #[inline(never)]
    pub(super) fn settle_group(&mut self) {
        if let Some((group, made)) = self.untimed.take() {
            self.now = self.context.clock.now();
            self.sampler.made(&mut self.context.recorder, group, made, self.now);
        }
        if self.group.done == 0 {
            return;
        }
        let Group { ops, done, reads, writes } = std::mem::take(&mut self.group);
        self.group.ops = ops;
        let now = self.context.clock.now();
        let each_ns = self.context.clock.ns_between(self.now, now) / u64::from(done);
        for (kind, counted) in [(OpKind::Read, reads), (OpKind::Write, writes)] {
            self.context.recorder.record_many(kind, counted.ops, counted.bytes, each_ns);
            (0..counted.short).for_each(|_| self.context.recorder.count_short(kind));
        }
        self.now = now;
    }

    /// Answers progress requests and checks for a stop.
    #[inline]
    pub(super) fn poll(&mut self) -> Result<(), Halt> {
        if progress_requests() != self.answered {
            self.answer();
        }
        if self.stop.requested() || self.context.stops_at(self.now) {
            return Err(Halt::Stopped);
        }
        Ok(())
    }

    #[cold]
    fn answer(&mut self) {
        self.answered = progress_requests();
        self.notify(CopyEvent::ProgressRequested);
    }

    /// Passes an event to the listener.
    #[cold]
    pub(super) fn notify(&self, event: CopyEvent) {
        let clock = self.context.clock;
        if let Some(listener) = &self.listener {
            listener.hear(event, &self.counts, clock.ns_between(self.started_at, clock.now()));
        }
    }

    /// Notifies the listener of each second that has passed.
    #[inline]
    pub(super) fn notify_seconds(&mut self) {
        if self.now >= self.next_second_at {
            self.next_second_at += self.context.clock.ticks(SECOND_NS);
            self.notify(CopyEvent::Second);
        }
    }
}

/// Which ops are recorded. Next to a file, reading zeros from `/dev/zero` is not a storage read. If neither end is
/// storage, both sides measure the path between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Recorded {
    reads: bool,
    writes: bool,
    /// Writes go to `/dev/null` while reads come from storage. Such a write takes less than 1.5 clock readings,
    /// for any length, so its time counts for the next read. Short reads share clock readings, as in scripts.
    writes_nowhere: bool,
    /// An op is shorter than a few clock readings and never waits.
    in_groups: bool,
}

impl Recorded {
    pub(super) fn from_ends(ends: &Ends) -> Recorded {
        let is_storage = |end: &End| matches!(end.kind, FileType::RegularFile | FileType::BlockDevice);
        let (input, output) = (is_storage(&ends.input), is_storage(&ends.output));
        let neither = !input && !output;
        let in_groups = ends.input.is_memory() && ends.output.is_memory();
        let writes_nowhere = input && ends.output.is_null();
        Recorded { reads: input || neither, writes: output || neither, writes_nowhere, in_groups }
    }
}

/// Ops per group: enough that clock readings take only a few percent of the time.
const GROUP_OPS: u32 = 32;

const SECOND_NS: u64 = 1_000_000_000;
