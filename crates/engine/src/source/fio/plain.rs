//! Fast path: one file, one size, one kind of op, no flushes, no read-back. Against a null target, the loop spends a
//! few nanoseconds per op, so these sources do not branch on anything that is known in advance.
//!
//! They yield the same ops as [`General`](super::general::General) for the same plan.

use super::random_map::Map;
use super::script::{Handing, Kind, Mix, OffsetOrder, Opening, PlannedCoverage, PlannedDistribution, Script};
use crate::op::BlockOp;
use crate::rng::fio::Taus88;
use crate::rng::fio::Width;
use crate::source::Source;
use plumb_workload::OpKind;

/// Chooses the starts of the ops of a [`Plain`] source.
pub(crate) trait Places: Clone + 'static {
    /// Returns the number of blocks in one loop; `None` if it is endless.
    fn blocks(&self) -> Option<u64>;

    /// Returns the offset of the next block.
    fn next(&mut self) -> u64;

    /// Begins a loop, after the previous one ended as `ended` says.
    fn begin(&mut self, ended: Ended);

    /// Returns `true` if there is one endless loop, which wraps around.
    fn wraps(&self) -> bool;

    /// Wraps around to the start.
    fn wrap(&mut self);
}

/// End of the previous loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// At the end of its blocks.
    AtTheEnd,
    /// At a limit.
    Early,
}

/// Yields ops of one kind on one file.
#[derive(Debug, Clone)]
pub(crate) struct Plain<P> {
    kind: OpKind,
    start: u64,
    size: u32,
    places: P,
    /// Whether cached data is dropped before each further loop, and when an endless one wraps around.
    evicts: bool,
    /// Ops left in this loop.
    left: u64,
    loops: Loops,
}

/// Computes the number of ops in each loop.
#[derive(Debug, Clone)]
struct Loops {
    size: u64,
    blocks: Option<u64>,
    /// Requested loops that are left; `None` if endless.
    left: Option<u64>,
    /// Total ops after which no more are drawn.
    enough_ops: u64,
    /// Maximum total ops, by the limit of ops alone.
    most_ops: u64,
    /// Ops after which a loop ends if ops are queued.
    handed_ops: u64,
    /// Bytes to move; further loops follow below this.
    bytes: Option<u64>,
    /// Whether further loops follow even after a loop that reached its end.
    beyond_end: bool,
    done_ops: u64,
    /// Ops in the current loop.
    ops: u64,
    /// Ops that move the requested bytes.
    enough_bytes: u64,
    /// Requested ops over all loops.
    asked_ops: u64,
    ended: Ended,
    first: bool,
}

impl Loops {
    /// Returns the ops of the next loop; `None` after the last one.
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
        self.set_length();
        (self.ops > 0).then_some(self.ops)
    }

    /// Computes the length of the current loop.
    fn set_length(&mut self) {
        let by_limits = (self.enough_ops - self.done_ops).min(self.handed_ops);
        let blocks = self.blocks.unwrap_or(u64::MAX);
        // A loop only detects the end of its blocks when it asks for one more.
        self.ended = if blocks < by_limits { Ended::AtTheEnd } else { Ended::Early };
        self.ops = blocks.min(by_limits);
        self.done_ops += self.ops;
    }

    /// Restarts the limit of ops within a loop that has `left` ops left. Returns the new number of ops left.
    fn restart(&mut self, left: u64, at_hand: u64) -> u64 {
        if self.first || self.enough_ops == u64::MAX {
            return left;
        }
        // The rest of the loop was counted when it began.
        let yielded = self.done_ops - left;
        self.most_ops = (yielded - at_hand).saturating_add(self.asked_ops);
        self.enough_ops = self.enough_bytes.min(self.most_ops);
        let of_loop = self.ops - left;
        self.done_ops -= self.ops;
        self.set_length();
        self.ops.saturating_sub(of_loop)
    }
}

impl<P: Places> Plain<P> {
    /// Returns the first op of the next loop. It waits for the ops of the previous loop,
    /// unless the loop only wraps around.
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

    fn restarts(&mut self, at_hand: Option<&BlockOp>) {
        let counts = at_hand.is_some_and(|op| op.kind == self.kind);
        self.left = self.loops.restart(self.left, u64::from(counts));
    }
}

/// The common part of plans that can use the fast path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Short<'a> {
    script: &'a Script,
    kind: Kind,
    size: u64,
}

/// A plan that can use the fast path.
pub(super) enum Shortcut<'a> {
    Upwards(Short<'a>),
    Anywhere(Short<'a>),
    Once(Short<'a>),
}

impl<'a> Shortcut<'a> {
    /// Checks whether a plan can use the fast path; `None` if not.
    pub(super) fn from_script(script: &'a Script) -> Option<Shortcut<'a>> {
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
        match &script.offset_order {
            OffsetOrder::Sequential { skip: 0 } if !script.overwrites() => Some(Shortcut::Upwards(short)),
            OffsetOrder::Random(random)
                if random.ops_per_draw == 1
                    && random.percent[kind as usize] == 100
                    && random.distribution == PlannedDistribution::Uniform
                    && script.seeding.width == Width::Narrow
                    && part.blocks[kind as usize] > 0
                    // Otherwise an op could exceed the file, which ends the loop.
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
        let part = self.script.parts.get(0);
        let evicts = self.script.files.evicts;
        Plain { kind: self.kind.op(), start: part.start, size: self.size as u32, places, evicts, left: 0, loops }
    }

    pub(super) fn upwards(self) -> Upwards {
        let part = self.script.parts.get(0);
        let starts = part.length.div_ceil(self.size);
        let whole = part.file_length.saturating_sub(part.start) / self.size;
        // The file may continue after the part, so that the last op there is complete.
        let blocks = starts.min(whole);
        let endless = self.script.limits.until_time && starts <= whole;
        Upwards { at: 0, step: self.size, blocks, endless }
    }

    fn draws(&self) -> Draws {
        let seed = self.script.seeding.seeds.offset;
        Draws { taus: Taus88::new(seed), again: self.script.seeding.reseeds.then(|| Taus88::new(seed)) }
    }

    pub(super) fn anywhere(self) -> Anywhere {
        let blocks = self.script.parts.get(0).blocks[self.kind as usize];
        Anywhere { draws: self.draws(), blocks: blocks as f64, step: self.script.align[self.kind as usize] }
    }

    pub(super) fn once(self) -> Once {
        let blocks = self.script.parts.get(0).blocks[self.kind as usize];
        let endless = self.script.limits.until_time;
        Once { draws: self.draws(), map: Map::new(blocks), blocks, step: self.size, endless }
    }
}

/// From the first byte to the last, repeatedly.
#[derive(Debug, Clone)]
pub(crate) struct Upwards {
    at: u64,
    step: u64,
    blocks: u64,
    /// Whether it is one endless loop.
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

/// Random numbers for positions.
#[derive(Debug, Clone)]
struct Draws {
    taus: Taus88,
    /// Initial generator of each loop, if loops repeat the draws.
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

/// Every block once per loop.
#[derive(Debug, Clone)]
pub(crate) struct Once {
    draws: Draws,
    map: Map,
    blocks: u64,
    step: u64,
    /// Whether it is one endless loop, in which a full map is cleared.
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
