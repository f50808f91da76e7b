//! The short way: one file, one size, one kind of op, no flushes, no read-back. The loop spends a few nanoseconds on an
//! op against nothing, so these sources branch on nothing that is known before they start.
//!
//! They give what [`General`](super::general::General) gives for the same plan.

use super::random_map::Map;
use super::script::{Handing, Kind, Mix, Opening, PlannedCoverage, PlannedDistribution, Script, Way};
use crate::op::BlockOp;
use crate::rng::fio::Taus88;
use crate::rng::fio::Width;
use crate::source::Source;
use plumb_workload::OpKind;

/// Where the ops of a [`Plain`] source start.
pub(crate) trait Places: Clone + 'static {
    /// Blocks of one loop, `None` without end.
    fn blocks(&self) -> Option<u64>;

    /// The place of the next block.
    fn next(&mut self) -> u64;

    /// A loop begins; the one before came to the end of its blocks, or was ended.
    fn begin(&mut self, ended: Ended);

    /// Whether it is one loop without end, which goes on at its start.
    fn wraps(&self) -> bool;

    /// It goes on at its start.
    fn wrap(&mut self);
}

/// How the loop before ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// By the end of its blocks.
    AtTheEnd,
    /// By a limit.
    Early,
}

/// Yields ops of one kind on one file.
#[derive(Debug, Clone)]
pub(crate) struct Plain<P> {
    kind: OpKind,
    start: u64,
    size: u32,
    places: P,
    /// What is cached is dropped before each further loop, and where the end is wrapped around.
    evicts: bool,
    /// Ops that are left of this loop.
    left: u64,
    loops: Loops,
}

/// How many ops each loop has.
#[derive(Debug, Clone)]
struct Loops {
    size: u64,
    blocks: Option<u64>,
    /// Loops that are left of those asked for; `None` without end.
    left: Option<u64>,
    /// Ops of all loops after which no more is drawn.
    enough_ops: u64,
    /// Ops of all loops by their number alone.
    most_ops: u64,
    /// Ops after which a loop ends where ops are handed over.
    handed_ops: u64,
    /// Bytes below which further loops follow.
    bytes: Option<u64>,
    /// Further loops follow even where a loop came to its end.
    beyond_end: bool,
    done_ops: u64,
    /// Ops of the loop at hand.
    ops: u64,
    /// Ops after which the bytes are moved that were asked for.
    enough_bytes: u64,
    /// Ops that were asked for, of all loops.
    asked_ops: u64,
    ended: Ended,
    first: bool,
}

impl Loops {
    /// Ops of the next loop; `None` after the last one.
    fn next(&mut self) -> Option<u64> {
        match &mut self.left {
            None => {}
            Some(0) => {
                let done = self.done_ops * self.size;
                let more = self.bytes.is_some_and(|bytes| bytes.saturating_sub(done) >= self.size);
                let more = more && self.done_ops < self.most_ops;
                if !more || (self.ended == Ended::AtTheEnd && !self.beyond_end) {
                    return None;
                }
            }
            Some(left) => *left -= 1,
        }
        self.lasts();
        (self.ops > 0).then_some(self.ops)
    }

    /// How long the loop at hand lasts.
    fn lasts(&mut self) {
        let by_limits = (self.enough_ops - self.done_ops).min(self.handed_ops);
        let blocks = self.blocks.unwrap_or(u64::MAX);
        // At the end of its blocks, a loop finds out by asking for one more.
        self.ended = if blocks < by_limits { Ended::AtTheEnd } else { Ended::Early };
        self.ops = blocks.min(by_limits);
        self.done_ops += self.ops;
    }

    /// The limit of ops counts from here on, amid a loop of which this many ops are left to be yielded. Returns how many
    /// are left from now on.
    fn begin_anew(&mut self, left: u64, at_hand: u64) -> u64 {
        if self.first || self.enough_ops == u64::MAX {
            return left;
        }
        // Those of the loop that are still to come were added when it began.
        let yielded = self.done_ops - left;
        self.most_ops = (yielded - at_hand).saturating_add(self.asked_ops);
        self.enough_ops = self.enough_bytes.min(self.most_ops);
        let of_loop = self.ops - left;
        self.done_ops -= self.ops;
        self.lasts();
        self.ops.saturating_sub(of_loop)
    }
}

impl<P: Places> Plain<P> {
    /// The first op of the next loop, which waits for those of the loop before; what only wraps around does not.
    #[cold]
    fn turn(&mut self) -> Option<BlockOp> {
        let ended = self.loops.ended;
        self.left = self.loops.next()?;
        let first = std::mem::take(&mut self.loops.first);
        let wraps = self.places.wraps();
        if !first {
            match wraps {
                true => self.places.wrap(),
                false => self.places.begin(ended),
            }
        }
        let after_all = !first && !wraps;
        let op = match self.evicts && !first {
            true => Some(BlockOp::load(OpKind::Evict, 0, 0, 0)),
            false => self.next(),
        };
        op.map(|op| BlockOp { after_all, ..op })
    }
}

impl<P: Places> Source for Plain<P> {
    type Op = BlockOp;

    #[inline(always)]
    fn next(&mut self) -> Option<BlockOp> {
        if self.left == 0 {
            return self.turn();
        }
        self.left -= 1;
        let place = self.places.next();
        Some(BlockOp::load(self.kind, 0, self.start + place, self.size))
    }

    fn begins_anew(&mut self, at_hand: Option<&BlockOp>) {
        let counts = at_hand.is_some_and(|op| op.kind == self.kind);
        self.left = self.loops.begin_anew(self.left, u64::from(counts));
    }
}

/// What plans of the short way have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Short<'a> {
    script: &'a Script,
    kind: Kind,
    size: u64,
}

/// A plan of the short way.
pub(super) enum Shortcut<'a> {
    Upwards(Short<'a>),
    Anywhere(Short<'a>),
    Once(Short<'a>),
}

impl<'a> Shortcut<'a> {
    /// `None` for a plan that goes the long way.
    pub(super) fn of(script: &'a Script) -> Option<Shortcut<'a>> {
        let Mix::Only(kind) = script.mix else { return None };
        let sizes = &script.sizes[kind as usize];
        let part = script.parts.only()?;
        let simple = sizes.is_fixed()
            && !script.sizes_by_order
            && script.zones.is_none()
            && script.amid.is_none()
            && script.verifying.is_none()
            && !(script.flushing.any() && kind == Kind::Write)
            && script.files.opening == Opening::Before;
        if !simple {
            return None;
        }
        let short = Short { script, kind, size: sizes.smallest };
        match &script.way {
            Way::Sequential { skip: 0 } if !script.overwrites() => Some(Shortcut::Upwards(short)),
            Way::Random(random)
                if random.ops_per_draw == 1
                    && random.percent[kind as usize] == 100
                    && random.distribution == PlannedDistribution::Uniform
                    && script.seeding.width == Width::Narrow
                    && part.blocks[kind as usize] > 0
                    // Otherwise an op can reach behind the end of the file, and is the end of the loop.
                    && part.start.saturating_add(part.length) <= part.file_length =>
            {
                match random.coverage {
                    PlannedCoverage::Again => Some(Shortcut::Anywhere(short)),
                    PlannedCoverage::Map if part.mapped == part.blocks[kind as usize] => Some(Shortcut::Once(short)),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

impl Short<'_> {
    pub(super) fn source<P: Places>(self, places: P) -> Plain<P> {
        let limits = &self.script.limits;
        let ops_of = |bytes: u64| bytes.div_ceil(self.size);
        let by_bytes = limits.bytes().map_or(u64::MAX, |bytes| ops_of(bytes.saturating_mul(limits.loops)));
        let most_ops = limits.max_ops.map_or(u64::MAX, |ops| ops.saturating_mul(limits.loops));
        let until_time = limits.until_time;
        let again = self.script.covers() == PlannedCoverage::Again && self.script.is_random();
        let mut loop_bytes = limits.size;
        if self.kind == Kind::Write && again {
            loop_bytes = loop_bytes.max(limits.io_bytes.unwrap_or_default());
        }
        let handed = self.script.handing == Handing::Queued && !until_time;
        let loops = Loops {
            size: self.size,
            blocks: places.blocks(),
            left: (!until_time).then_some(limits.loops),
            enough_ops: if until_time { u64::MAX } else { by_bytes.min(most_ops) },
            most_ops,
            handed_ops: if handed { ops_of(loop_bytes) } else { u64::MAX },
            bytes: limits.bytes(),
            beyond_end: limits.io_bytes.is_some(),
            done_ops: 0,
            ops: 0,
            enough_bytes: by_bytes,
            asked_ops: most_ops,
            ended: Ended::Early,
            first: true,
        };
        let part = self.script.parts.of(0);
        let evicts = self.script.files.evicts;
        Plain { kind: self.kind.op(), start: part.start, size: self.size as u32, places, evicts, left: 0, loops }
    }

    pub(super) fn upwards(self) -> Upwards {
        let part = self.script.parts.of(0);
        let starts = part.length.div_ceil(self.size);
        let whole = part.file_length.saturating_sub(part.start) / self.size;
        // The file may go on behind the part, so that the last op there is whole.
        let blocks = starts.min(whole);
        let endless = self.script.limits.until_time && starts <= whole;
        Upwards { at: 0, step: self.size, blocks, endless }
    }

    fn draws(&self) -> Draws {
        let seed = self.script.seeding.seeds.offset;
        Draws { taus: Taus88::new(seed), again: self.script.seeding.reseeds.then(|| Taus88::new(seed)) }
    }

    pub(super) fn anywhere(self) -> Anywhere {
        let blocks = self.script.parts.of(0).blocks[self.kind as usize];
        Anywhere { draws: self.draws(), blocks: blocks as f64, step: self.script.align[self.kind as usize] }
    }

    pub(super) fn once(self) -> Once {
        let blocks = self.script.parts.of(0).blocks[self.kind as usize];
        let endless = self.script.limits.until_time;
        Once { draws: self.draws(), map: Map::new(blocks), blocks, step: self.size, endless }
    }
}

/// From the first byte to the last, and again.
#[derive(Debug, Clone)]
pub(crate) struct Upwards {
    at: u64,
    step: u64,
    blocks: u64,
    /// It is one loop without end.
    endless: bool,
}

impl Places for Upwards {
    fn blocks(&self) -> Option<u64> {
        Some(self.blocks)
    }

    fn wraps(&self) -> bool {
        self.endless
    }

    fn wrap(&mut self) {
        self.at = 0;
    }

    #[inline(always)]
    fn next(&mut self) -> u64 {
        let at = self.at;
        self.at += self.step;
        at
    }

    fn begin(&mut self, _ended: Ended) {
        self.at = 0;
    }
}

/// The numbers of random places.
#[derive(Debug, Clone)]
struct Draws {
    taus: Taus88,
    /// What each loop begins with again.
    again: Option<Taus88>,
}

/// Uniform, with replacement.
#[derive(Debug, Clone)]
pub(crate) struct Anywhere {
    draws: Draws,
    blocks: f64,
    step: u64,
}

impl Places for Anywhere {
    fn blocks(&self) -> Option<u64> {
        None
    }

    fn wraps(&self) -> bool {
        false
    }

    fn wrap(&mut self) {}

    #[inline(always)]
    fn next(&mut self) -> u64 {
        (self.blocks * self.draws.taus.share()) as u64 * self.step
    }

    fn begin(&mut self, _ended: Ended) {
        if let Some(again) = self.draws.again {
            self.draws.taus = again;
        }
    }
}

/// Every block once a loop.
#[derive(Debug, Clone)]
pub(crate) struct Once {
    draws: Draws,
    map: Map,
    blocks: u64,
    step: u64,
    /// One loop without end, in which the map begins again when it is full.
    endless: bool,
}

impl Once {
    #[inline(always)]
    fn draw(&mut self) -> u64 {
        (self.blocks as f64 * self.draws.taus.share()) as u64
    }
}

impl Places for Once {
    fn blocks(&self) -> Option<u64> {
        Some(self.blocks)
    }

    fn wraps(&self) -> bool {
        self.endless
    }

    fn wrap(&mut self) {
        self.map.clear();
        // The draw that found no free block.
        self.draws.taus.next();
    }

    #[inline(always)]
    fn next(&mut self) -> u64 {
        let drawn = self.draw();
        self.map.take_from(drawn).unwrap_or(drawn) * self.step
    }

    fn begin(&mut self, ended: Ended) {
        self.map.clear();
        match self.draws.again {
            Some(again) => self.draws.taus = again,
            None if ended == Ended::AtTheEnd => {
                self.draws.taus.next();
            }
            None => {}
        }
    }
}
