//! Transactions drawn from a table of lines.

use super::Source;
use crate::op::BlockOp;
use crate::rng::{Purpose, Rng, StreamId};
use plumb_workload::OpKind;
use plumb_workload::blocks::accesses::{AccessLine, Accesses};

/// Error from using a table on a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadAccesses {
    /// Direct I/O would be refused.
    #[error(
        "{what} of {bytes} bytes is not a multiple of the {alignment} bytes that direct I/O needs here; use a multiple"
    )]
    Unaligned {
        /// The setting that is not a multiple, for the message.
        what: &'static str,
        bytes: u64,
        alignment: u64,
    },
    /// The range has no room for a line's largest op at its alignment.
    #[error(
        "the range of {length} bytes from {start} has no place for {size} bytes at a multiple of {align}; make it larger"
    )]
    NoPlace {
        /// Bytes of the range.
        length: u64,
        /// Start of the range.
        start: u64,
        /// Bytes of the op.
        size: u64,
        align: u64,
    },
}

/// A checked table of transactions.
#[derive(Debug, Clone)]
pub(crate) struct AccessesPlan {
    pub(crate) accesses: Accesses,
}

fn align_of(accesses: &Accesses, line: &AccessLine) -> u64 {
    if line.align.0 > 0 { line.align.0 } else { accesses.sector.0.max(1) }
}

impl AccessesPlan {
    pub(crate) fn new(accesses: &Accesses, alignment_bytes: u64) -> Result<AccessesPlan, BadAccesses> {
        let mut accesses = accesses.clone();
        let alignment = alignment_bytes.max(1);
        let (start, length) = (accesses.start.0, accesses.length.0);
        // Lines without their own alignment begin at sectors, and a device's sectors may be larger.
        accesses.sector.0 = accesses.sector.0.max(1).next_multiple_of(alignment);
        for line in accesses.lines.iter().filter(|line| line.percent > 0) {
            let align = align_of(&accesses, line);
            for (what, bytes) in [("a request", line.size.0), ("a reply", line.reply.0), ("an alignment", align)] {
                if bytes % alignment != 0 {
                    return Err(BadAccesses::Unaligned { what, bytes, alignment });
                }
            }
            let size = line.size.0.max(line.reply.0);
            let first = start.checked_next_multiple_of(align);
            if first.and_then(|first| first.checked_add(size)).is_none_or(|end| end > start.saturating_add(length)) {
                return Err(BadAccesses::NoPlace { length, start, size, align });
            }
        }
        Ok(AccessesPlan { accesses })
    }
}

/// The transactions of one worker.
pub(crate) struct AccessesSource {
    accesses: Accesses,
    rng: Rng,
    line: AccessLine,
    /// Transactions left in the current line's burst.
    burst_left: u32,
    /// Whether the reply that comes next reads; `None` if none comes.
    reply: Option<bool>,
    /// End of the last op.
    at: u64,
}

impl AccessesSource {
    pub(crate) fn new(plan: &AccessesPlan, stream: StreamId) -> AccessesSource {
        let accesses = plan.accesses.clone();
        let nothing = AccessLine {
            size: Default::default(),
            percent: 0,
            read_percent: 0,
            random_percent: 0,
            burst: 1,
            align: Default::default(),
            reply: Default::default(),
        };
        let at = accesses.start.0;
        AccessesSource { accesses, rng: stream.rng(Purpose::Offset), line: nothing, burst_left: 0, reply: None, at }
    }

    fn draw_line(&mut self) {
        let mut drawn = self.rng.below(100);
        for line in &self.accesses.lines {
            self.line = *line;
            match drawn.checked_sub(u64::from(line.percent)) {
                Some(rest) => drawn = rest,
                None => break,
            }
        }
        self.burst_left = self.line.burst;
    }

    /// Returns the offset of an op: random, or after the last op, at the next multiple of the alignment. Wraps around
    /// to the first aligned offset if the op would exceed the range.
    fn place(&mut self, length: u64) -> u64 {
        let (start, range) = (self.accesses.start.0, self.accesses.length.0);
        let align = align_of(&self.accesses, &self.line);
        if self.rng.below(100) < u64::from(self.line.random_percent) {
            self.at = start + self.rng.below(range);
        }
        let mut offset = self.at.next_multiple_of(align);
        if offset + length > start + range {
            offset = start.next_multiple_of(align);
        }
        self.at = offset + length;
        offset
    }
}

impl Source for AccessesSource {
    type Op = BlockOp;

    #[inline]
    fn next(&mut self) -> Option<BlockOp> {
        let (reads, length) = match self.reply.take() {
            Some(reads) => (reads, self.line.reply.0),
            None => {
                if self.burst_left == 0 {
                    self.draw_line();
                }
                self.burst_left -= 1;
                let reads = self.rng.below(100) < u64::from(self.line.read_percent);
                self.reply = (self.line.reply.0 > 0).then_some(!reads);
                (reads, self.line.size.0)
            }
        };
        let kind = if reads { OpKind::Read } else { OpKind::Write };
        let offset = self.place(length);
        Some(BlockOp::load(kind, 0, offset, length as u32))
    }

    #[inline(always)]
    fn waits_for_all(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::Bytes;
    use std::collections::BTreeMap;

    const STREAM: StreamId = StreamId { seed: 7, phase: 0, worker: 0 };

    fn line(size: u64, percent: u8, read_percent: u8, random_percent: u8) -> AccessLine {
        let size = Bytes(size);
        AccessLine { size, percent, read_percent, random_percent, burst: 1, align: Bytes(0), reply: Bytes(0) }
    }

    fn ops(lines: Vec<AccessLine>, count: usize) -> Vec<BlockOp> {
        let accesses = Accesses { lines, start: Bytes(4096), length: Bytes(1 << 20), sector: Bytes(512) };
        let mut source = AccessesSource::new(&AccessesPlan::new(&accesses, 512).unwrap(), STREAM);
        (0..count).map(|_| source.next().unwrap()).collect()
    }

    // Protects: each op belongs to one line, and is drawn only by that line's shares.
    #[test]
    fn lines_have_their_own_shares() {
        let all = ops(vec![line(512, 25, 100, 0), line(4096, 50, 50, 100), line(65_536, 25, 0, 0)], 40_000);
        let mut counts: BTreeMap<(u32, &str), f64> = BTreeMap::new();
        for op in &all {
            *counts.entry((op.length, op.kind.name())).or_default() += 1.0;
            assert!(op.offset >= 4096 && op.offset + u64::from(op.length) <= 4096 + (1 << 20), "{op:?}");
            assert!(op.offset.is_multiple_of(512), "{op:?}");
        }
        for (what, expected) in
            [((512, "read"), 0.25), ((4096, "read"), 0.25), ((4096, "write"), 0.25), ((65_536, "write"), 0.25)]
        {
            let share = counts.remove(&what).unwrap_or(0.0) / all.len() as f64;
            assert!((share - expected).abs() < 0.01, "{what:?}: {share}");
        }
        assert_eq!(counts, BTreeMap::new());
        // A sequential line continues at the end of the last op, even one of another line.
        let follows = |pair: &&[BlockOp]| pair[1].offset == pair[0].offset + u64::from(pair[0].length);
        let after = all.windows(2).filter(|pair| pair[1].length == 512).collect::<Vec<_>>();
        let share = after.iter().filter(|pair| follows(pair)).count() as f64 / after.len() as f64;
        assert!(share > 0.95, "{share}");
    }

    #[test]
    fn bursts_and_replies_stay_with_their_line() {
        let burst = AccessLine { burst: 3, reply: Bytes(1024), ..line(8192, 50, 100, 0) };
        let all = ops(vec![burst, line(512, 50, 0, 100)], 3000);
        let listed: Vec<(u32, &str)> = all.iter().map(|op| (op.length, op.kind.name())).collect();
        let at = listed.iter().position(|op| op.0 == 8192).unwrap();
        let pair = [(8192, "read"), (1024, "write")];
        assert_eq!(listed[at..at + 6], [pair, pair, pair].concat());
        assert!(listed.iter().filter(|op| op.0 == 1024).all(|op| op.1 == "write"));
    }

    #[test]
    fn aligned_lines_begin_at_multiples_and_wrap_around() {
        let aligned = AccessLine { align: Bytes(8192), ..line(4096, 100, 50, 50) };
        let all = ops(vec![aligned], 2000);
        assert!(all.iter().all(|op| op.offset.is_multiple_of(8192)), "{all:?}");
        let in_sequence = ops(vec![line(65_536, 100, 0, 0)], 17);
        assert_eq!((in_sequence[0].offset, in_sequence[15].offset, in_sequence[16].offset), (4096, 987_136, 4096));
    }

    #[test]
    fn lines_without_room_are_refused() {
        let accesses = |lines| Accesses { lines, start: Bytes(512), length: Bytes(8192), sector: Bytes(512) };
        let of = |line, alignment| AccessesPlan::new(&accesses(vec![line]), alignment).unwrap_err().to_string();
        let large = AccessLine { align: Bytes(8192), ..line(4096, 100, 0, 0) };
        assert_eq!(
            of(large, 512),
            "the range of 8192 bytes from 512 has no place for 4096 bytes at a multiple of 8192; make it larger"
        );
        assert_eq!(
            of(line(512, 100, 0, 0), 4096),
            "a request of 512 bytes is not a multiple of the 4096 bytes that direct I/O needs here; use a multiple"
        );
    }
}
