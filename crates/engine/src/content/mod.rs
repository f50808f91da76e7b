//! What is written, made at memory speed, and how what is read is verified.
//!
//! [`BlockBytes`] makes the bytes of a worker's block ops. What nobody verifies is what [`buffers`] make, of a [`Filler`]'s
//! content or as fio fills its buffers. Verified blocks have one of three layouts. Plumb's own has a header that knows its
//! place, its order and its run ([`headers`]): a [`Stamper`] writes it and a [`Verifier`] checks it. fio's stamps
//! ([`mod@stamp`], [`checksum`]) stand on content that follows from the seed in the stamp ([`random`]) or is a [`pattern`];
//! [`mod@check`] holds what was read back against them, in the worker or in threads of its own ([`pool`]), and
//! sysbench's blocks have a trailer ([`trailers`]). [`mismatch_reporter`] gives a mismatch its address ([`Mismatch`]). [`writes`] knows which write left which bytes, for jobs
//! whose writes overlap in ways that stamps cannot explain; [`state`] keeps how far the writes came.

mod buffers;
mod check;
mod checksum;
mod error;
mod fill;
pub(crate) mod headers;
mod mismatch;
mod mismatch_reporter;
pub(crate) mod packets;
mod pattern;
mod pool;
mod premade;
mod random;
mod recognise;
mod rules;
mod seeds;
mod stamp;
mod state;
#[cfg(test)]
mod tests;
pub(crate) mod trailers;
mod verify;
mod writes;

pub(crate) use buffers::{BufferRequest, Buffers};
pub use checksum::compute;
pub use error::{ContentError, StateProblem};
pub use fill::Filler;
pub use headers::{
    BlockIdentity, Checksum, ExpectedBlock, HEADER_BYTES, HeaderDifference, HeaderMismatch, IntervalError, Stamper,
    Verifier, check, stamp,
};
pub(crate) use mismatch::Mismatch;
pub(crate) use premade::{Pool, Premade};
pub(crate) use recognise::test_block;
pub(crate) use rules::Writers;

use crate::op::{BlockOp, Role};
use crate::rng::StreamId;
use plumb_workload::blocks::ByKind;
use plumb_workload::blocks::fio::Stream;
use plumb_workload::files::Names;
use plumb_workload::verify::{StampLayout, VerifyMethod};
use plumb_workload::{BlockStream, BufferContent, OpKind, Verify};
use std::path::Path;
use trailers::Trailers;
use verify::Verified;

/// What the bytes of a worker's ops depend on.
#[derive(Clone, Copy)]
pub(crate) struct BytesRequest<'a> {
    /// The kinds of op that it makes.
    pub(crate) moves: ByKind<bool>,
    /// The stream of another tool's generator, which reads back what it wrote, and numbers its writes.
    pub(crate) ops: Option<&'a BlockStream>,
    /// How blocks are stamped and verified.
    pub(crate) verify: Option<&'a Verify>,
    /// How its buffers are filled.
    pub(crate) content: &'a BufferContent,
    /// What the job is called: the name in a state file.
    pub(crate) name: &'a str,
    /// What its files are called, for messages and dumps; absent for a null target.
    pub(crate) names: Option<&'a Names>,
    /// Bytes of its smallest write; of its smallest read, where it does not write.
    pub(crate) smallest_block_bytes: u32,
    /// Bytes of its largest op.
    pub(crate) largest_block_bytes: u32,
    /// Ops that may be in flight at once.
    pub(crate) in_flight_max: usize,
    /// Whether workers beside this one write to its files.
    pub(crate) writers: Writers,
    /// The seed of the job, from which the seeds in its stamps follow.
    pub(crate) seed: u64,
    /// Number of the worker among all workers of all jobs, from 1.
    pub(crate) worker_number: u32,
    /// Content that nobody verifies follows from this; another one in every run, so that no run writes duplicates of the
    /// last.
    pub(crate) content_seed: u64,
    /// What relative paths of patterns begin at, and where blocks that differ are kept.
    pub(crate) base: &'a Path,
}

impl<'a> BytesRequest<'a> {
    /// The draws of the job, where it draws.
    fn stream(&self) -> Option<&'a Stream> {
        match self.ops {
            Some(BlockStream::Fio(stream)) => Some(stream),
            _ => None,
        }
    }
}

/// Bytes that a job's files hold, as far as the workload says.
pub(crate) fn total_bytes(stream: &Stream, names: Option<&Names>) -> u64 {
    let files = names.map_or(stream.ranges.len(), Names::count);
    let said: u64 = stream.ranges.iter().take(files).map(|range| range.length.0).sum();
    let more = files.saturating_sub(stream.ranges.len()) as u64;
    said.saturating_add(more.saturating_mul(stream.ranges.last().map_or(0, |range| range.length.0)))
}

/// What is known of a job's bytes when all of its ops are done.
#[derive(Debug, Default)]
pub(crate) struct Concluded {
    /// Mismatches that no op has returned, and what could not be kept.
    pub(crate) wrong: Vec<Mismatch>,
    /// Time of reading back, ns, where that is a part of its own: not amid the load.
    pub(crate) read_back_ns: Option<u64>,
}

/// The bytes of block ops: what writes hold, and what reads should.
#[derive(Debug)]
pub(crate) struct BlockBytes {
    kind: Kind,
    writes: bool,
    reads: bool,
    /// Of the writes so far, where their source does not number them. All reads of such a source are verified.
    numbers: Option<u32>,
}

#[derive(Debug)]
enum Kind {
    /// Nobody verifies them.
    Plain(Buffers),
    /// Blocks with Plumb's own headers.
    Headed(Box<Headed>),
    /// Blocks with fio's stamps.
    Verified(Box<Verified>),
    /// Blocks with sysbench's trailers.
    Trailed(Trailers),
}

/// Blocks with Plumb's own headers.
#[derive(Debug)]
pub(crate) struct Headed {
    pub(crate) stamper: Stamper,
    pub(crate) verifier: Verifier,
    /// What lies behind the headers.
    pub(crate) buffers: Buffers,
}

impl BlockBytes {
    /// Bytes that nobody verifies.
    pub(crate) fn plain(buffers: Buffers, writes: bool, reads: bool) -> BlockBytes {
        BlockBytes { kind: Kind::Plain(buffers), writes, reads, numbers: None }
    }

    /// Blocks with Plumb's own headers.
    pub(crate) fn headed(headed: Headed) -> BlockBytes {
        BlockBytes { kind: Kind::Headed(Box::new(headed)), writes: true, reads: true, numbers: None }
    }

    /// What a worker asks for whose blocks have fio's stamps, or whose buffers are filled as fio fills them; what is wrong
    /// with it where that cannot be done.
    pub(crate) fn new(request: &BytesRequest<'_>) -> Result<BlockBytes, ContentError> {
        let BytesRequest { moves, verify, .. } = *request;
        let kind = match verify {
            Some(rules) if rules.layout == StampLayout::Sysbench => {
                let block = rules.interval.map_or(request.smallest_block_bytes.into(), |bytes| bytes.0);
                Kind::Trailed(Trailers::new(block, request.content_seed))
            }
            Some(rules) if rules.method != VerifyMethod::Null => {
                Kind::Verified(Box::new(Verified::new(request, rules)?))
            }
            _ => Kind::Plain(Buffers::new(&BufferRequest {
                content: request.content,
                stream: StreamId { seed: request.content_seed, phase: 0, worker: request.worker_number },
                smallest: request.smallest_block_bytes,
                total_bytes: request.stream().map_or(0, |stream| total_bytes(stream, request.names)),
                base: request.base,
            })?),
        };
        let numbers = if request.ops.is_none() { Some(0) } else { None };
        Ok(BlockBytes { kind, writes: moves.write, reads: moves.read || verify.is_some(), numbers })
    }

    /// Whether anything is done for each op; without, a slot keeps what [`fill_slot`](BlockBytes::fill_slot) put there.
    pub(crate) fn works_each_op(&self) -> bool {
        match &self.kind {
            Kind::Plain(buffers) => self.writes && (self.reads || buffers.works_each_op()),
            Kind::Trailed(_) => true,
            Kind::Headed(_) | Kind::Verified(_) => true,
        }
    }

    /// Whether completed ops are checked: to verify them, or to know which slots reads overwrote.
    pub(crate) fn looks_after(&self) -> bool {
        self.keeps_slots() || matches!(self.kind, Kind::Headed(_) | Kind::Trailed(_))
    }

    /// Whether a write builds on what its slot held, which a read overwrites.
    pub(crate) fn keeps_slots(&self) -> bool {
        match &self.kind {
            Kind::Plain(buffers) => self.writes && self.reads && !buffers.makes_all_anew() && !buffers.uses_pool(),
            Kind::Headed(_) | Kind::Trailed(_) => false,
            Kind::Verified(_) => true,
        }
    }

    /// Whether writes take turns through a pool of random bytes, and reads need memory of their own.
    pub(crate) fn uses_pool(&self) -> bool {
        matches!(&self.kind, Kind::Plain(buffers) if self.writes && buffers.uses_pool())
    }

    /// Whether some ops read.
    pub(crate) fn reads(&self) -> bool {
        self.reads
    }

    /// Whether flushes are taken note of.
    pub(crate) fn notes_flushes(&self) -> bool {
        matches!(self.kind, Kind::Verified(_))
    }

    /// Fills a slot, before the clock runs, and again where a read overwrote it.
    pub(crate) fn fill_slot(&mut self, memory: &mut [u8]) {
        match &mut self.kind {
            // What is only read into needs no content.
            Kind::Plain(_) if !self.writes => {}
            Kind::Plain(buffers) => buffers.fill(memory),
            Kind::Headed(headed) => headed.buffers.fill(memory),
            Kind::Verified(verified) => verified.fill_slot(memory),
            Kind::Trailed(trailers) => trailers.fill(0, memory),
        }
    }

    /// Makes the content of a write, and takes note of a flush, in the order of issue. `memory` is empty for a flush.
    #[inline]
    pub(crate) fn before(&mut self, op: &BlockOp, slot: usize, memory: &mut [u8]) {
        match &mut self.kind {
            Kind::Plain(buffers) if op.kind == OpKind::Write => buffers.before_write(op, memory),
            Kind::Headed(headed) if op.kind == OpKind::Write => {
                // Headers lie over it, so that all of it is made anew.
                headed.buffers.fill_for(op, memory);
                headed.stamper.stamp(op.file, op.offset, memory);
            }
            Kind::Trailed(trailers) if op.kind == OpKind::Write => trailers.fill(op.offset, memory),
            Kind::Plain(_) | Kind::Headed(_) | Kind::Trailed(_) => {}
            Kind::Verified(verified) => match &mut self.numbers {
                Some(number) if op.kind == OpKind::Write => {
                    verified.before(&BlockOp { number: *number, ..*op }, slot, memory);
                    *number = number.wrapping_add(1);
                }
                _ => verified.before(op, slot, memory),
            },
        }
    }

    /// Takes note of a completed op, and verifies what it read back; `read` is what came, less than the op asked for at
    /// the end of a file, and empty for ops that do not read.
    #[inline]
    pub(crate) fn after(&mut self, op: &BlockOp, slot: usize, read: &[u8]) -> Result<(), Box<Mismatch>> {
        match &mut self.kind {
            Kind::Plain(_) => Ok(()),
            Kind::Headed(headed) if op.kind == OpKind::Read => {
                headed.verifier.check(op.file, op.offset, read, None).map_err(Box::from)
            }
            Kind::Trailed(trailers) if op.kind == OpKind::Read => trailers.check(op.offset, read),
            Kind::Headed(_) | Kind::Trailed(_) => Ok(()),
            Kind::Verified(_) if op.kind == OpKind::Read && op.role == Role::Load && self.numbers.is_none() => Ok(()),
            Kind::Verified(verified) => verified.after(op, slot, read),
        }
    }

    /// Waits for what is still being verified, and leaves what should be kept: the mismatches that no call of
    /// [`after`](BlockBytes::after) returned, and what could not be kept.
    pub(crate) fn finish(&mut self) -> Concluded {
        match &mut self.kind {
            Kind::Plain(_) | Kind::Headed(_) | Kind::Trailed(_) => Concluded::default(),
            Kind::Verified(verified) => verified.finish(),
        }
    }
}
