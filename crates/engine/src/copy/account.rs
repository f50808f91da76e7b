//! What both sides of a copy share: the worker's context, the counts, who hears of them, and why a copy may end early.

use super::end::End;
use super::ends::Ends;
use super::{CopyCounts, CopyEvent, CopyStep, SharedListener};
use crate::clock::Ticks;
use crate::signals::{StopFlag, questions};
use crate::worker::{OpGroup as Untimed, Sampler, WorkerContext};
use plumb_workload::OpKind;
use rustix::fs::FileType;
use rustix::io::Errno;

/// Why a copy ends before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    /// Something failed.
    Failed { what: CopyStep, errno: Errno },
    /// It was stopped.
    Stopped,
}

impl Halt {
    /// Shapes an error of the system for `map_err`.
    pub(super) fn at(what: CopyStep) -> impl FnOnce(Errno) -> Halt {
        move |errno| Halt::Failed { what, errno }
    }
}

/// What both sides of a copy share.
pub(super) struct Account<'a, 'd> {
    pub(super) context: &'a mut WorkerContext<'d>,
    pub(super) counts: CopyCounts,
    records: Recorded,
    listener: Option<SharedListener>,
    stop: StopFlag,
    started_at: Ticks,
    /// When the op at hand began: where the last one ended, or the work between the two.
    now: Ticks,
    next_second_at: Ticks,
    /// Questions that were answered.
    answered: u32,
    group: Group,
    sampler: Sampler,
    /// Reads that are not timed by themselves, and how many of them there were.
    untimed: Option<(Untimed, u32)>,
}

/// Ops that two readings of the clock bound together, where a reading costs a good part of an op: between devices of
/// memory, which never wait.
#[derive(Debug, Default)]
struct Group {
    /// How many ops; 1 where each has readings of its own.
    ops: u32,
    done: u32,
    reads: Counted,
    writes: Counted,
}

/// Ops of a group, of one kind.
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
        // Virtual time is read at no cost.
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
            // Who asked before there was anything to tell is answered at once.
            answered: 0,
            group: Group { ops: if records.in_groups { GROUP_OPS } else { 1 }, ..Group::default() },
            sampler: Sampler::new(clock, samples),
            untimed: None,
        }
    }

    /// The next op begins now, and what came behind the last one is no op's.
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

    /// An op ended now, and the next may begin.
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
            // Inputs end where they end, and pipes give what they have: that is told in blocks.
            if moved < asked && kind != OpKind::Read {
                self.context.recorder.count_short(kind);
            }
            let timed = self.sampler.timed(kind, asked as u64, moved == asked, self.now, now);
            self.untimed = timed.map(|group| (group, 0));
        }
        self.now = now;
    }

    /// An op of a group ended.
    #[inline(always)]
    fn gather(&mut self, kind: OpKind, moved: usize, asked: usize) {
        let counted = if kind == OpKind::Read { &mut self.group.reads } else { &mut self.group.writes };
        counted.ops += 1;
        counted.bytes += moved as u64;
        // Inputs end where they end.
        if moved < asked && kind != OpKind::Read {
            counted.short += 1;
        }
        self.group.done += 1;
        if self.group.done == self.group.ops {
            self.settle_group();
        }
    }

    /// Records what is gathered or was not timed, each op with its part of the time.
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

    /// Answers who asked, and sees whether to stop.
    #[inline]
    pub(super) fn look_around(&mut self) -> Result<(), Halt> {
        if questions() != self.answered {
            self.answer();
        }
        if self.stop.requested() || self.context.stops_at(self.now) {
            return Err(Halt::Stopped);
        }
        Ok(())
    }

    #[cold]
    fn answer(&mut self) {
        self.answered = questions();
        self.tell(CopyEvent::Asked);
    }

    /// Tells what happens.
    #[cold]
    pub(super) fn tell(&self, event: CopyEvent) {
        let clock = self.context.clock;
        if let Some(listener) = &self.listener {
            listener.hear(event, &self.counts, clock.ns_between(self.started_at, clock.now()));
        }
    }

    /// Tells of each second that has passed.
    #[inline]
    pub(super) fn look_at_clock(&mut self) {
        if self.now >= self.next_second_at {
            self.next_second_at += self.context.clock.ticks(SECOND_NS);
            self.tell(CopyEvent::Second);
        }
    }
}

/// Which ops are recorded: those on storage. Beside a file, reading zeros from `/dev/zero` is no read of storage; where
/// neither end is storage, both say something of the path between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Recorded {
    reads: bool,
    writes: bool,
    /// Writes go to `/dev/null` beside reads of storage. They take less than a reading of the clock and a half, whatever
    /// they move, and stay in the time of the read behind them. Short reads share readings, as those of scripts do.
    writes_nowhere: bool,
    /// An op is shorter than a few readings of the clock, and never waits.
    in_groups: bool,
}

impl Recorded {
    pub(super) fn of(ends: &Ends) -> Recorded {
        let is_storage = |end: &End| matches!(end.kind, FileType::RegularFile | FileType::BlockDevice);
        let (input, output) = (is_storage(&ends.input), is_storage(&ends.output));
        let neither = !input && !output;
        let in_groups = ends.input.is_memory() && ends.output.is_memory();
        let writes_nowhere = input && ends.output.is_null();
        Recorded { reads: input || neither, writes: output || neither, writes_nowhere, in_groups }
    }
}

/// Ops of a group: enough that the readings are some hundredths of the time.
const GROUP_OPS: u32 = 32;

const SECOND_NS: u64 = 1_000_000_000;
