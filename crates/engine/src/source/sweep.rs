//! The ops of a sweep: parts of files one after another, block by block, or a call on the name of each.
//!
//! If files are opened on demand, an op opens each file before its first block, and another closes it after its last,
//! with nothing else in flight. A file without bytes is opened and closed too.

use crate::op::{BlockOp, Role};
use crate::rng::{Purpose, Rng, StreamId};
use crate::source::Source;
use crate::source::plumb::permute::Shuffle;
use plumb_workload::OpKind;
use plumb_workload::blocks::sweep::{AfterWrite, FilePart, Sweep, SweepDraw, SweepOps, SweepOrder, SweepParts};
use std::sync::Arc;

/// Input for planning a sweep.
pub(crate) struct SweepRequest<'a> {
    pub(crate) sweep: &'a Sweep,
    /// Whether each file is opened when its turn comes.
    pub(crate) opens: bool,
    /// Whether reads are verified.
    pub(crate) verifies: bool,
    /// Number of the target's files.
    pub(crate) files: usize,
    /// Offsets and lengths must be multiples of this, bytes.
    pub(crate) alignment_bytes: u64,
}

/// Error from planning a sweep.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SweepError {
    #[error("a block of {bytes} bytes cannot be moved at once; use 1 byte to 4 GiB")]
    Block { bytes: u64 },
    /// A part refers to a file that does not exist.
    #[error("its parts use file {file}, but the target has {files} files")]
    NoFile { file: u32, files: usize },
    #[error(
        "{what} of {bytes} bytes is not a multiple of the {alignment} bytes that direct I/O needs here; use a multiple, \
         or leave `direct` out"
    )]
    Unaligned { what: &'static str, bytes: u64, alignment: u64 },
    #[error("a sweep in strides needs all of its files open (`create-on-open = false`)")]
    Opening,
}

/// A planned sweep.
#[derive(Debug, Clone)]
pub(crate) struct SweepPlan {
    sweep: Arc<Sweep>,
    count: usize,
    opens: bool,
    verifies: bool,
    /// Total length of all parts.
    total_bytes: u64,
}

impl SweepPlan {
    pub(crate) fn new(request: &SweepRequest<'_>) -> Result<SweepPlan, SweepError> {
        let SweepRequest { sweep, opens, verifies, files, alignment_bytes } = *request;
        let block = sweep.block.0;
        if block == 0 || block > u64::from(u32::MAX) {
            return Err(SweepError::Block { bytes: block });
        }
        let count = match &sweep.parts {
            SweepParts::Files { .. } => files,
            SweepParts::Listed(parts) => parts.len(),
        };
        let check = |what, bytes: u64| match bytes % alignment_bytes.max(1) {
            0 => Ok(()),
            _ => Err(SweepError::Unaligned { what, bytes, alignment: alignment_bytes }),
        };
        let mut total_bytes: u64 = 0;
        for number in 0..count {
            let Some(part) = sweep.part(number) else { continue };
            if part.file as usize >= files {
                return Err(SweepError::NoFile { file: part.file, files });
            }
            total_bytes = total_bytes.saturating_add(part.length.0);
            if !matches!(sweep.does, SweepOps::Call { .. }) {
                check("a part", part.length.0)?;
                check("the start of a part", part.start.0)?;
            }
        }
        if !matches!(sweep.does, SweepOps::Call { .. }) {
            check("a block", block)?;
        }
        if opens && is_across(sweep, opens) {
            return Err(SweepError::Opening);
        }
        Ok(SweepPlan { sweep: Arc::new(sweep.clone()), count, opens, verifies, total_bytes })
    }

    /// Returns the size of the largest op in bytes, which is the required buffer size.
    pub(crate) fn block_bytes(&self) -> u64 {
        match self.sweep.does {
            SweepOps::Call { .. } => 512,
            _ => self.sweep.block.0,
        }
    }

    /// Returns the number of distinct bytes that its ops can touch.
    pub(crate) fn working_set_bytes(&self) -> u64 {
        match self.sweep.does {
            SweepOps::Call { .. } => 0,
            _ => self.total_bytes,
        }
    }
}

/// Returns `true` if ops go to the parts in any order, rather than to one part after another.
fn is_across(sweep: &Sweep, opens: bool) -> bool {
    match sweep.order {
        SweepOrder::Strided { .. } => true,
        SweepOrder::Random(_) => matches!(sweep.parts, SweepParts::Listed(_)) && !opens,
        SweepOrder::Forward | SweepOrder::Backward => false,
    }
}

/// Positions of the blocks of one part, or of all parts together.
enum Places {
    Forward {
        next: u64,
        blocks: u64,
    },
    Backward {
        left: u64,
    },
    Strided {
        next: u64,
        step: u64,
        left: u64,
    },
    /// The last op is shorter if the bytes are not a multiple of the block.
    Drawn {
        draw: Draw,
        left_bytes: u64,
    },
}

enum Draw {
    Once(Box<Shuffle>),
    Again { blocks: u64 },
    Unaligned { bytes: u64 },
}

/// Start and maximum length of an op within the parts.
struct Place {
    at: u64,
    most: u64,
}

/// Yields the ops of a sweep.
pub(crate) struct SweepSource {
    sweep: Arc<Sweep>,
    count: usize,
    opens: bool,
    verifies: bool,
    across: bool,
    /// Start of each part in the concatenation of all parts, for ops that go to any part.
    row: Vec<u64>,
    row_bytes: u64,
    /// Number of the current part, or of the next one.
    number: usize,
    part: Option<FilePart>,
    places: Option<Places>,
    /// Op that comes before the next draw.
    waiting: Option<BlockOp>,
    rng: Rng,
    ops: u64,
    writes: u32,
    /// Whether this pass has yielded anything. A repeated sweep ends after a pass
    /// without ops, instead of looping forever.
    yielded: bool,
    /// Whether a file was opened and nothing of it moved yet. Its first block waits for the open, so that
    /// a failed open is reported once.
    just_opened: bool,
}

impl SweepSource {
    pub(crate) fn new(plan: &SweepPlan) -> SweepSource {
        let sweep = Arc::clone(&plan.sweep);
        let across = is_across(&sweep, plan.opens);
        let mut row = Vec::new();
        let mut row_bytes = 0;
        if across {
            for number in 0..plan.count {
                row.push(row_bytes);
                row_bytes += sweep.part(number).map_or(0, |part| part.length.0);
            }
        }
        let stream = StreamId { seed: sweep.seed, phase: 0, worker: sweep.worker_number };
        SweepSource {
            across,
            row,
            row_bytes,
            count: plan.count,
            opens: plan.opens,
            verifies: plan.verifies,
            number: 0,
            part: None,
            places: None,
            waiting: None,
            rng: stream.rng(Purpose::Offset),
            ops: 0,
            writes: 0,
            yielded: false,
            just_opened: false,
            sweep,
        }
    }

    fn stretch(&mut self, bytes: u64) -> Places {
        let block = self.sweep.block.0;
        match self.sweep.order {
            SweepOrder::Forward => Places::Forward { next: 0, blocks: bytes.div_ceil(block) },
            SweepOrder::Backward => Places::Backward { left: bytes.div_ceil(block) },
            SweepOrder::Strided { first, step } => {
                let step = step.max(1);
                Places::Strided { next: first, step, left: bytes / block / step }
            }
            SweepOrder::Random(draw) => {
                // A part may be shorter than a block, and may end with a shorter one.
                let blocks = (bytes / block).max(u64::from(bytes > 0 && !self.across));
                let all = if self.across { blocks * block } else { bytes };
                let left_bytes = self.sweep.random_bytes.map_or(all, |bytes| bytes.0);
                let draw = match draw {
                    _ if blocks == 0 => return Places::Forward { next: 0, blocks: 0 },
                    SweepDraw::Once => Draw::Once(Box::new(Shuffle::new(blocks, Rng::new(self.rng.next_u64())))),
                    SweepDraw::Again => Draw::Again { blocks },
                    SweepDraw::Unaligned => Draw::Unaligned { bytes },
                };
                Places::Drawn { draw, left_bytes }
            }
        }
    }

    fn place(&mut self) -> Option<Place> {
        let block = self.sweep.block.0;
        let rng = &mut self.rng;
        match self.places.as_mut()? {
            Places::Forward { next, blocks } => {
                if next >= blocks {
                    return None;
                }
                *next += 1;
                Some(Place { at: (*next - 1) * block, most: block })
            }
            Places::Backward { left } => {
                *left = left.checked_sub(1)?;
                Some(Place { at: *left * block, most: block })
            }
            Places::Strided { next, step, left } => {
                *left = left.checked_sub(1)?;
                let at = *next * block;
                *next += *step;
                Some(Place { at, most: block })
            }
            Places::Drawn { draw, left_bytes } => {
                let most = block.min(*left_bytes);
                if most == 0 {
                    return None;
                }
                *left_bytes -= most;
                let at = match draw {
                    Draw::Once(shuffle) => shuffle.next() * block,
                    Draw::Again { blocks } => rng.below(*blocks) * block,
                    Draw::Unaligned { bytes } => rng.below(bytes.saturating_sub(block) + 1),
                };
                Some(Place { at, most })
            }
        }
    }

    /// Converts a place to an op on a file.
    fn block(&mut self, place: &Place) -> Option<BlockOp> {
        let (part, at) = if self.across {
            let number = self.row.partition_point(|first| *first <= place.at).saturating_sub(1);
            let part = self.sweep.part(number)?;
            // A block does not cross from one file into the next.
            let last = part.length.0.saturating_sub(place.most);
            (part, (place.at - self.row[number]).min(last))
        } else {
            (self.part?, place.at)
        };
        let length = place.most.min(part.length.0 - at) as u32;
        let n = self.ops;
        self.ops += 1;
        let kind = match self.sweep.does {
            SweepOps::Read => OpKind::Read,
            SweepOps::Write { .. } => OpKind::Write,
            SweepOps::Mix { read_percent, first } => {
                let turn = (n + u64::from(first)) % 100;
                if turn < u64::from(read_percent) { OpKind::Read } else { OpKind::Write }
            }
            SweepOps::Call { kind, .. } => kind,
        };
        let mut op = BlockOp::load(kind, part.file, part.start.0 + at, length);
        match self.sweep.does {
            SweepOps::Read if self.verifies => op.role = Role::LoadVerified,
            SweepOps::Write { then: AfterWrite::ReadBack } => {
                op.number = self.writes;
                self.waiting = Some(BlockOp { kind: OpKind::Read, role: Role::ReadBack, after_all: true, ..op });
            }
            _ => op.number = self.writes,
        }
        if kind == OpKind::Write {
            self.writes = self.writes.wrapping_add(1);
        }
        Some(op)
    }

    /// Moves on to the next part, or to a new pass; `None` at the end.
    fn next_part(&mut self) -> Option<()> {
        let parts = if self.across { 1 } else { self.count };
        if self.number >= parts {
            if !self.sweep.repeat || !self.yielded {
                return None;
            }
            self.number = 0;
            self.yielded = false;
        }
        let bytes = if self.across {
            self.row_bytes
        } else {
            self.part = self.sweep.part(self.number);
            self.part.map_or(0, |part| part.length.0)
        };
        self.number += 1;
        self.places = Some(self.stretch(bytes));
        Some(())
    }

    fn call(&mut self, kind: OpKind) -> Option<BlockOp> {
        if self.number >= self.count {
            if !self.sweep.repeat || self.count == 0 {
                return None;
            }
            self.number = 0;
        }
        let part = self.sweep.part(self.number)?;
        self.number += 1;
        Some(BlockOp::load(kind, part.file, 0, 0))
    }
}

impl Source for SweepSource {
    type Op = BlockOp;

    #[inline]
    fn next(&mut self) -> Option<BlockOp> {
        if let SweepOps::Call { kind, .. } = self.sweep.does {
            return self.call(kind);
        }
        if let Some(op) = self.waiting.take() {
            return Some(op);
        }
        loop {
            if let Some(place) = self.place() {
                self.yielded = true;
                let first = std::mem::take(&mut self.just_opened);
                return self.block(&place).map(|op| BlockOp { after_all: op.after_all | first, ..op });
            }
            if self.places.take().is_some()
                && self.opens
                && let Some(part) = self.part
            {
                return Some(BlockOp { after_all: true, ..BlockOp::load(OpKind::Close, part.file, 0, 0) });
            }
            self.next_part()?;
            if self.opens
                && let Some(part) = self.part
            {
                self.yielded = true;
                self.just_opened = true;
                return Some(BlockOp { after_all: true, ..BlockOp::load(OpKind::Open, part.file, 0, 0) });
            }
        }
    }
}
