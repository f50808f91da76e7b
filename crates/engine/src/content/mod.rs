//! Content of writes, made at memory speed, and verification of reads.
//!
//! [`BlockBytes`] makes the bytes of a worker's block ops. Unverified content comes from [`buffers`]: from a
//! [`Filler`], or filled like fio's buffers. Verified blocks have one of three layouts:
//!
//! - Plumb's own blocks have a header with their location, sequence and run ([`headers`]). A [`Stamper`] writes it
//!   and a [`Verifier`] checks it.
//! - fio's stamps ([`mod@stamp`], [`checksum`]) cover content that follows from the seed in the stamp ([`random`]), or
//!   a [`pattern`]. [`mod@check`] compares read data with them, in the worker or in separate threads ([`pool`]).
//! - sysbench's blocks have a trailer ([`trailers`]).
//!
//! [`mismatch_reporter`] adds the location to a mismatch ([`Mismatch`]). [`writes`] tracks which write left which
//! bytes, for jobs whose overlapping writes stamps cannot explain. [`state`] saves the progress of writes.

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

/// Properties that determine the bytes of a worker's ops.
#[derive(Clone, Copy)]
pub(crate) struct BytesRequest<'a> {
    pub(crate) moves: ByKind<bool>,
    /// The op stream of an emulated tool that numbers its writes and reads them back.
    pub(crate) ops: Option<&'a BlockStream>,
    /// Rules for stamping and verifying blocks.
    pub(crate) verify: Option<&'a Verify>,
    /// Rules for filling buffers.
    pub(crate) content: &'a BufferContent,
    /// Name of the job, used in a state file.
    pub(crate) name: &'a str,
    /// Names of its files, for messages and dumps; `None` for a null target.
    pub(crate) names: Option<&'a Names>,
    /// Size in bytes of its smallest write, or of its smallest read if it does not write.
    pub(crate) smallest_block_bytes: u32,
    /// Size of its largest op in bytes.
    pub(crate) largest_block_bytes: u32,
    /// Maximum number of ops in flight.
    pub(crate) in_flight_max: usize,
    /// Whether other workers write to its files.
    pub(crate) writers: Writers,
    /// Seed of the job, from which the seeds of its stamps are derived.
    pub(crate) seed: u64,
    /// Number of the worker among all workers of all jobs, starting at 1.
    pub(crate) worker_number: u32,
    /// Seed of unverified content. It differs in every run, so that no run writes duplicates of the last one.
    pub(crate) content_seed: u64,
    /// Base of relative pattern paths, and the directory for wrong blocks.
    pub(crate) base: &'a Path,
}

impl<'a> BytesRequest<'a> {
    /// Returns the random stream of the job, if it is a fio job.
    fn stream(&self) -> Option<&'a Stream> {
        match self.ops {
            Some(BlockStream::Fio(stream)) => Some(stream),
            _ => None,
        }
    }
}

/// Returns the total size of a job's files in bytes, as far as the workload says.
pub(crate) fn total_bytes(stream: &Stream, names: Option<&Names>) -> u64 {
    let files = names.map_or(stream.ranges.len(), Names::count);
    let listed: u64 = stream.ranges.iter().take(files).map(|range| range.length.0).sum();
    let more = files.saturating_sub(stream.ranges.len()) as u64;
    listed.saturating_add(more.saturating_mul(stream.ranges.last().map_or(0, |range| range.length.0)))
}

/// Verification results after all ops of a job.
#[derive(Debug, Default)]
pub(crate) struct Concluded {
    /// Mismatches that no op has returned, and errors from saving state.
    pub(crate) mismatches: Vec<Mismatch>,
    /// Time spent reading back, ns, if it was separate from the load.
    pub(crate) read_back_ns: Option<u64>,
}

/// Content of writes, and verification of reads.
#[derive(Debug)]
pub(crate) struct BlockBytes {
    kind: Kind,
    writes: bool,
    reads: bool,
    /// Number of writes so far, if their source does not number them. All reads of such a source are verified.
    numbers: Option<u32>,
}

#[derive(Debug)]
enum Kind {
    Plain(Buffers),
    Headed(Box<Headed>),
    Verified(Box<Verified>),
    Trailed(Trailers),
}

/// State of blocks with Plumb's own headers.
#[derive(Debug)]
pub(crate) struct Headed {
    pub(crate) stamper: Stamper,
    pub(crate) verifier: Verifier,
    /// Content after the headers.
    pub(crate) buffers: Buffers,
}

impl BlockBytes {
    /// Creates content that nothing verifies.
    pub(crate) fn plain(buffers: Buffers, writes: bool, reads: bool) -> BlockBytes {
        BlockBytes { kind: Kind::Plain(buffers), writes, reads, numbers: None }
    }

    /// Creates blocks with Plumb's own headers.
    pub(crate) fn headed(headed: Headed) -> BlockBytes {
        BlockBytes { kind: Kind::Headed(Box::new(headed)), writes: true, reads: true, numbers: None }
    }

    /// Creates the content of a worker whose blocks have fio's stamps or sysbench's trailers, or whose
    /// buffers are filled like fio's.
    ///
    /// # Errors
    /// [`ContentError`] if that is impossible.
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

    /// Returns `true` if each op needs work on its buffer. Otherwise a slot keeps the content from
    /// [`fill_slot`](BlockBytes::fill_slot).
    pub(crate) fn works_each_op(&self) -> bool {
        match &self.kind {
            Kind::Plain(buffers) => self.writes && (self.reads || buffers.works_each_op()),
            Kind::Trailed(_) => true,
            Kind::Headed(_) | Kind::Verified(_) => true,
        }
    }

    /// Returns `true` if completed ops must be checked, to verify them or to note slots that reads overwrote.
    pub(crate) fn checks_completions(&self) -> bool {
        self.keeps_slots() || matches!(self.kind, Kind::Headed(_) | Kind::Trailed(_))
    }

    /// Returns `true` if a write builds on the content of its slot, which a read overwrites.
    pub(crate) fn keeps_slots(&self) -> bool {
        match &self.kind {
            Kind::Plain(buffers) => {
                self.writes && self.reads && !buffers.refills_whole_writes() && !buffers.uses_pool()
            }
            Kind::Headed(_) | Kind::Trailed(_) => false,
            Kind::Verified(_) => true,
        }
    }

    /// Returns `true` if writes take turns through a pool of random bytes, so that reads need their own memory.
    pub(crate) fn uses_pool(&self) -> bool {
        matches!(&self.kind, Kind::Plain(buffers) if self.writes && buffers.uses_pool())
    }

    pub(crate) fn reads(&self) -> bool {
        self.reads
    }

    /// Returns `true` if [`before`](BlockBytes::before) must be called for flushes.
    pub(crate) fn notes_flushes(&self) -> bool {
        matches!(self.kind, Kind::Verified(_))
    }

    /// Fills a slot before the clock runs, and again after a read overwrote it.
    pub(crate) fn fill_slot(&mut self, memory: &mut [u8]) {
        match &mut self.kind {
            // Slots that are only read into need no content.
            Kind::Plain(_) if !self.writes => {}
            Kind::Plain(buffers) => buffers.fill(memory),
            Kind::Headed(headed) => headed.buffers.fill(memory),
            Kind::Verified(verified) => verified.fill_slot(memory),
            Kind::Trailed(trailers) => trailers.fill(0, memory),
        }
    }

    /// Makes the content of a write, or records a flush. Call it in the order of issue. `memory` is empty for a flush.
    #[inline]
    pub(crate) fn before(&mut self, op: &BlockOp, slot: usize, memory: &mut [u8]) {
        match &mut self.kind {
            Kind::Plain(buffers) if op.kind == OpKind::Write => buffers.before_write(op, memory),
            Kind::Headed(headed) if op.kind == OpKind::Write => {
                // Headers overwrite part of the content, so all of it is refilled.
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

    /// Records a completed op and verifies its data. `read` is the data read: shorter than requested at the end of a
    /// file, and empty for ops that do not read.
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

    /// Waits for pending verification and saves the state, if requested. Returns the mismatches that no call of
    /// [`after`](BlockBytes::after) returned, and errors from saving.
    pub(crate) fn finish(&mut self) -> Concluded {
        match &mut self.kind {
            Kind::Plain(_) | Kind::Headed(_) | Kind::Trailed(_) => Concluded::default(),
            Kind::Verified(verified) => verified.finish(),
        }
    }
}
