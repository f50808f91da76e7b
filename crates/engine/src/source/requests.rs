//! Requests that the workers of a group take from one queue. The queue is a counter: the number of a place determines
//! its request, so taking one is an addition.

use crate::op::BlockOp;
use crate::rng::Rng;
use crate::source::Source;
use plumb_workload::OpKind;
use plumb_workload::blocks::requests::{RequestOps, Requests};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A size that direct I/O does not support.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} of {bytes} bytes is not a multiple of the {alignment} bytes that direct I/O needs here; use a multiple, or \
     leave `direct` out"
)]
pub(crate) struct Unaligned {
    what: &'static str,
    bytes: u64,
    alignment: u64,
}

/// The queue that the workers of a group share.
#[derive(Debug, Default)]
pub(crate) struct RequestQueue {
    /// Number of places taken.
    taken: AtomicU64,
    /// Requests and flushes made so far, if their number is limited.
    made: AtomicU64,
    /// Whether there were writes since the last flush of all files.
    is_dirty: AtomicBool,
}

/// Planned requests.
#[derive(Debug, Clone)]
pub(crate) struct RequestsPlan {
    pub(crate) requests: Requests,
    files: u64,
    /// The group's queue.
    pub(crate) queue: Arc<RequestQueue>,
}

impl RequestsPlan {
    pub(crate) fn new(requests: &Requests, files: usize, alignment_bytes: u64) -> Result<RequestsPlan, Unaligned> {
        let alignment = alignment_bytes.max(1);
        for (what, bytes) in [("a request", requests.block.0), ("a file", requests.file_bytes.0)] {
            if bytes % alignment != 0 {
                return Err(Unaligned { what, bytes, alignment });
            }
        }
        Ok(RequestsPlan { requests: *requests, files: files as u64, queue: Arc::default() })
    }

    /// Returns the number of distinct bytes that they can touch.
    pub(crate) fn working_set_bytes(&self) -> u64 {
        self.requests.file_bytes.0.saturating_mul(self.files)
    }
}

/// A place of the queue.
enum Place {
    /// The request with this number.
    Request(u64),
    /// A flush of this file.
    Flush(u64),
}

/// The requests of one worker.
pub(crate) struct RequestsSource {
    requests: Requests,
    files: u64,
    queue: Arc<RequestQueue>,
    rng: Rng,
    reads: u64,
    writes: u64,
    /// File whose flush comes next.
    flush: Option<u32>,
}

impl RequestsSource {
    pub(crate) fn new(plan: &RequestsPlan, rng: Rng) -> RequestsSource {
        let RequestsPlan { requests, files, ref queue } = *plan;
        let queue = Arc::clone(queue);
        RequestsSource { requests, files, queue, rng, reads: 0, writes: 0, flush: None }
    }

    fn flush_kind(&self) -> OpKind {
        if self.requests.flush.data_only { OpKind::Fdatasync } else { OpKind::Fsync }
    }

    /// Takes the next place. Skips flushes of files without writes.
    fn take(&mut self) -> Place {
        let every = u64::from(self.requests.flush.every);
        loop {
            let number = self.queue.taken.fetch_add(1, Relaxed);
            if every == 0 || self.requests.does == RequestOps::Read {
                return Place::Request(number);
            }
            let round = every + self.files;
            let (rounds, within) = (number / round, number % round);
            if within < every {
                return Place::Request(rounds * every + within);
            }
            if self.queue.is_dirty.load(Relaxed) {
                let file = within - every;
                if file + 1 == self.files {
                    self.queue.is_dirty.store(false, Relaxed);
                }
                return Place::Flush(file);
            }
        }
    }

    fn request(&mut self, number: u64) -> BlockOp {
        let Requests { does, random, block, file_bytes, flush, .. } = self.requests;
        let writes = match does {
            RequestOps::Read => false,
            RequestOps::Write => true,
            RequestOps::Mix { reads_per_write } => {
                (self.reads + 1) as f64 / (self.writes + 1) as f64 >= reads_per_write
            }
        };
        let (file, offset) = if random {
            let all = file_bytes.0.saturating_mul(self.files);
            let at = self.rng.below(all.div_ceil(block.0)) * block.0;
            (at / file_bytes.0, at % file_bytes.0)
        } else {
            let blocks = file_bytes.0.div_ceil(block.0);
            (number / blocks % self.files, number % blocks * block.0)
        };
        let length = block.0.min(file_bytes.0 - offset) as u32;
        let kind = if writes { OpKind::Write } else { OpKind::Read };
        let mut op = BlockOp::load(kind, file as u32, offset, length);
        if writes {
            op.number = self.writes as u32;
            self.writes += 1;
            self.flush = flush.each.then_some(op.file);
            self.queue.is_dirty.store(true, Relaxed);
        } else {
            self.reads += 1;
        }
        op
    }
}

impl Source for RequestsSource {
    type Op = BlockOp;

    #[inline]
    fn next(&mut self) -> Option<BlockOp> {
        if let Some(file) = self.flush.take() {
            return Some(BlockOp { after_all: true, ..BlockOp::load(self.flush_kind(), file, 0, 0) });
        }
        let is_over = self.requests.most.is_some_and(|most| self.queue.made.fetch_add(1, Relaxed) >= most);
        // Flushes at the end of the phase follow without an op here.
        if is_over {
            return None;
        }
        Some(match self.take() {
            Place::Request(number) => self.request(number),
            Place::Flush(file) => BlockOp::load(self.flush_kind(), file as u32, 0, 0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::Bytes;
    use plumb_workload::blocks::requests::RequestFlush;

    const PLAIN: Requests = Requests {
        does: RequestOps::Write,
        random: false,
        block: Bytes(4096),
        file_bytes: Bytes(10_000),
        flush: RequestFlush { every: 0, each: false, data_only: false, at_end: false },
        most: Some(6),
    };

    fn sources(requests: Requests, count: u64) -> Vec<RequestsSource> {
        let plan = RequestsPlan::new(&requests, 2, 1).unwrap();
        (0..count).map(|seed| RequestsSource::new(&plan, Rng::new(seed))).collect()
    }

    /// Returns the alternating ops of two workers: kind, file, offset, length.
    fn in_turns(requests: Requests) -> String {
        let mut sources = sources(requests, 2);
        let mut ops = Vec::new();
        for turn in 0.. {
            let Some(op) = sources[turn % 2].next() else { break };
            ops.push(format!("{}{}@{}+{}", &op.kind.name()[..2], op.file, op.offset, op.length));
        }
        ops.join(" ")
    }

    /// Protects: no two workers take the same request, over all files and again from the first.
    #[test]
    fn workers_share_one_sequence() {
        let all = "wr0@0+4096 wr0@4096+4096 wr0@8192+1808 wr1@0+4096 wr1@4096+4096 wr1@8192+1808";
        assert_eq!(in_turns(PLAIN), all);
        assert_eq!(in_turns(Requests { most: Some(7), ..PLAIN }), format!("{all} wr0@0+4096"));
    }

    #[test]
    fn all_files_are_flushed_in_turn_after_every_few_requests() {
        let flush = RequestFlush { every: 2, ..PLAIN.flush };
        let ops = in_turns(Requests { flush, ..PLAIN });
        assert_eq!(ops, "wr0@0+4096 wr0@4096+4096 fs0@0+0 fs1@0+0 wr0@8192+1808 wr1@0+4096");
        let ops = in_turns(Requests { flush, does: RequestOps::Read, ..PLAIN });
        assert!(!ops.contains("fs"), "{ops}");
        // Six requests do not reach this ratio: nothing is written, and nothing is flushed.
        let ops = in_turns(Requests { flush, does: RequestOps::Mix { reads_per_write: 100.0 }, ..PLAIN });
        assert!(!ops.contains("fs"), "{ops}");
    }

    #[test]
    fn each_write_is_flushed_on_request() {
        let flush = RequestFlush { each: true, data_only: true, ..PLAIN.flush };
        let [mut source] = <[_; 1]>::try_from(sources(Requests { flush, most: Some(1), ..PLAIN }, 1)).ok().unwrap();
        let kinds: Vec<_> = std::iter::from_fn(|| source.next()).map(|op| (op.kind, op.file)).collect();
        assert_eq!(kinds, [(OpKind::Write, 0), (OpKind::Fdatasync, 0)]);
    }

    /// sysbench's ratio: three reads for two writes.
    #[test]
    fn a_mix_keeps_its_ratio_at_every_moment() {
        let does = RequestOps::Mix { reads_per_write: 1.5 };
        let [mut source] =
            <[_; 1]>::try_from(sources(Requests { does, random: true, most: None, ..PLAIN }, 1)).ok().unwrap();
        let ops: Vec<_> = (0..1000).map(|_| source.next().unwrap()).collect();
        assert_eq!(ops.iter().filter(|op| op.kind == OpKind::Read).count(), 600);
        let inside = |op: &BlockOp| op.offset + u64::from(op.length) <= 10_000;
        assert!(ops.iter().all(|op| inside(op) && op.offset < 10_000 && op.file < 2));
        assert!((0..2).all(|file| ops.iter().any(|op| op.file == file)));
    }
}
