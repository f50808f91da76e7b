//! PostMark's part of a run: its transactions as ops, and the calls that move a whole file.
//!
//! A transaction on a file is up to three ops: open, move the content, close. Moving the content is one op
//! regardless of the number of calls. The calls of a small file are too short for a clock to separate, and users
//! want to know the time of the file.

use super::op::{Call, CallOp, FileInDirectory};
use super::rules::{OpenRules, Over, StepRules, WholeBlocks};
use super::stream::StdioStream;
use crate::backend::{Completion, Errno};
use plumb_workload::OpKind;
use plumb_workload::program::postmark::{Act, DrawnFile, PostmarkDraws};
use plumb_workload::program::{OpenStep, Postmark, PostmarkPart, PostmarkStep, StdioBuffer};
use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Numbers of the rules of a run's calls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CallRules {
    create: u16,
    read: u16,
    append: u16,
    whole: u16,
}

impl CallRules {
    /// Creates the rules. `add` stores a rule and returns its number.
    pub(super) fn new<E>(run: &Postmark, add: &mut dyn FnMut(StepRules) -> Result<u16, E>) -> Result<CallRules, E> {
        // Open flags of fopen(3) for `w`, `r` and `a`; without streams, those of PostMark's own open.
        let plain = match run.buffered {
            true => OpenStep { stream: Some(StdioBuffer::default()), ..OpenStep::default() },
            false => OpenStep { mode: 0o644, ..OpenStep::default() },
        };
        let writes = OpenStep { write: true, read: !run.buffered, ..plain.clone() };
        let create = OpenStep { create: true, truncate: run.buffered, ..writes.clone() };
        let append = OpenStep { append: true, create: run.buffered, ..writes };
        let mut open = |step| add(StepRules::Open(OpenRules::for_step(step, Over::Names)));
        Ok(CallRules {
            create: open(create)?,
            read: open(OpenStep { read: true, ..plain })?,
            append: open(append)?,
            whole: add(StepRules::Whole(WholeBlocks {
                read_bytes: run.read_block.0 as usize,
                write_bytes: run.write_block.0 as usize,
            }))?,
        })
    }
}

/// Draws of threads whose last part has ended, so that the next part can continue them. A part that finds none repeats
/// the draws of the earlier parts.
#[derive(Default)]
pub(crate) struct KeptDraws(Mutex<BTreeMap<u32, (PostmarkPart, PostmarkDraws)>>);

impl KeptDraws {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u32, (PostmarkPart, PostmarkDraws)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a thread's draws at the beginning of a part.
    fn take(&self, step: &PostmarkStep, thread: u32) -> PostmarkDraws {
        match self.all().remove(&thread) {
            Some((ended, draws)) if ended.next() == Some(step.part) && *draws.run() == step.run => draws,
            _ => PostmarkDraws::new(&step.run, thread).at(step.part),
        }
    }
}

/// Yields the ops of one part.
pub(super) struct PostmarkSource {
    /// `None` after the part's end.
    draws: Option<PostmarkDraws>,
    part: PostmarkPart,
    rules: CallRules,
    thread: u32,
    /// Remaining ops of the current act, in reverse order.
    waiting: [CallOp; 2],
    left: usize,
    kept: Arc<KeptDraws>,
}

impl PostmarkSource {
    /// Creates the source at the beginning of the part.
    pub(super) fn new(step: &PostmarkStep, rules: CallRules, thread: u32, kept: &Arc<KeptDraws>) -> PostmarkSource {
        let close = CallOp::new(OpKind::Close, Call::Close);
        let draws = Some(kept.take(step, thread));
        PostmarkSource { draws, part: step.part, rules, thread, waiting: [close; 2], left: 0, kept: Arc::clone(kept) }
    }

    /// Returns the next op; `None` after the last.
    #[inline]
    pub(super) fn next(&mut self) -> Option<CallOp> {
        if self.left > 0 {
            self.left -= 1;
            return Some(self.waiting[self.left]);
        }
        let draws = self.draws.as_mut()?;
        let Some(act) = draws.next(self.part) else {
            self.end();
            return None;
        };
        let file_of = |file: DrawnFile| {
            let place = draws.run().place(self.thread, file.number);
            u64::from(FileInDirectory { place, directory: file.directory })
        };
        let (file, open, moved) = match act {
            Act::Create(file, bytes) => (file_of(file), (OpKind::Create, self.rules.create), (OpKind::Write, bytes)),
            Act::Read(file, bytes) => (file_of(file), (OpKind::Open, self.rules.read), (OpKind::Read, bytes)),
            Act::Append(file, bytes) => (file_of(file), (OpKind::Open, self.rules.append), (OpKind::Write, bytes)),
            Act::Delete(file) => {
                return Some(CallOp { file: file_of(file), ..CallOp::new(OpKind::Unlink, Call::Unlink) });
            }
        };
        let call = if moved.0 == OpKind::Read { Call::ReadWhole } else { Call::WriteWhole };
        self.waiting[1] = CallOp { file, length: moved.1, rules: self.rules.whole, ..CallOp::new(moved.0, call) };
        self.waiting[0] = CallOp { file, ..CallOp::new(OpKind::Close, Call::Close) };
        self.left = 2;
        Some(CallOp { file, rules: open.1, ..CallOp::new(open.0, Call::Open) })
    }

    #[cold]
    fn end(&mut self) {
        if let Some(draws) = self.draws.take() {
            self.kept.all().insert(self.thread, (self.part, draws));
        }
    }
}

/// The memory of a run's files.
pub(super) struct FileMemory {
    text: Vec<u8>,
    read: Vec<u8>,
}

impl FileMemory {
    pub(super) fn new(run: &Postmark, thread: u32) -> FileMemory {
        FileMemory { text: PostmarkDraws::text(run, thread), read: vec![0; run.read_block.0 as usize] }
    }

    /// Reads up to `bytes` of a file: whole blocks, then the rest. Stops at the end of the file.
    #[inline]
    pub(super) fn read_stream(&mut self, stream: &mut StdioStream, bytes: u64) -> Completion {
        self.read_by(bytes, false, |piece| stream.read(piece))
    }

    /// Like [`read_stream`](Self::read_stream), without a stream. PostMark also requests an empty rest.
    #[inline]
    pub(super) fn read_file(&mut self, fd: BorrowedFd<'_>, bytes: u64) -> Completion {
        self.read_by(bytes, true, |piece| {
            let moved = rustix::io::read(fd, piece);
            moved.map(|bytes| bytes as u64).map_err(|error| Errno(error.raw_os_error()))
        })
    }

    fn read_by(
        &mut self,
        bytes: u64,
        asks_for_nothing: bool,
        mut read: impl FnMut(&mut [u8]) -> Completion,
    ) -> Completion {
        let (mut moved, mut left) = (0, bytes as usize);
        loop {
            let block = left.min(self.read.len());
            if block == 0 && !asks_for_nothing {
                return Ok(moved);
            }
            let got = read(&mut self.read[..block])?;
            moved += got;
            left -= block;
            if got < block as u64 || block < self.read.len() {
                return Ok(moved);
            }
        }
    }

    /// Writes `bytes` of the text, in the same blocks as for reading.
    #[inline]
    pub(super) fn write_stream(&self, stream: &mut StdioStream, bytes: u64, block: usize) -> Completion {
        self.write_by(bytes, block, false, |piece| stream.write(piece))
    }

    /// Like [`write_stream`](Self::write_stream), without a stream.
    #[inline]
    pub(super) fn write_file(&self, fd: BorrowedFd<'_>, bytes: u64, block: usize) -> Completion {
        self.write_by(bytes, block, true, |piece| {
            let moved = rustix::io::write(fd, piece);
            moved.map(|bytes| bytes as u64).map_err(|error| Errno(error.raw_os_error()))
        })
    }

    fn write_by(
        &self,
        bytes: u64,
        block: usize,
        asks_for_nothing: bool,
        mut write: impl FnMut(&[u8]) -> Completion,
    ) -> Completion {
        let text = self.text.get(..bytes as usize).ok_or(Errno(libc::EFAULT))?;
        let mut moved = 0;
        for piece in text.chunks(block.max(1)) {
            let got = write(piece)?;
            moved += got;
            // Writing the rest returns the reason for the short write.
            if let Some(rest) = piece.get(got as usize..).filter(|rest| !rest.is_empty()) {
                moved += write(rest)?;
            }
        }
        if asks_for_nothing && text.len() % block.max(1) == 0 {
            write(&[])?;
        }
        Ok(moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTS: [PostmarkPart; 3] = [PostmarkPart::Create, PostmarkPart::Transactions, PostmarkPart::Delete];

    fn ops(run: &Postmark, part: PostmarkPart, kept: &Arc<KeptDraws>) -> Vec<CallOp> {
        let rules = CallRules { create: 0, read: 1, append: 2, whole: 3 };
        let mut postmark = PostmarkSource::new(&PostmarkStep { part, run: run.clone() }, rules, 0, kept);
        std::iter::from_fn(|| postmark.next()).collect()
    }

    // Protects: kept draws save time and change nothing. A part that finds none, or those of another run
    // or part, repeats the draws itself.
    #[test]
    fn a_part_has_the_same_ops_with_and_without_kept_draws() {
        let run = Postmark { number: 50, transactions: 300, ..Postmark::default() };
        let alone = PARTS.map(|part| ops(&run, part, &Arc::default()));
        assert!(alone.iter().all(|ops| !ops.is_empty()));
        let kept = Arc::default();
        assert_eq!(PARTS.map(|part| ops(&run, part, &kept)), alone);
        // All parts have ended, so no kept draws fit.
        assert_eq!(ops(&run, PostmarkPart::Transactions, &kept), alone[1]);
        let other = Postmark { seed: run.seed + 1, ..run.clone() };
        ops(&other, PostmarkPart::Create, &kept);
        assert_eq!(ops(&run, PostmarkPart::Transactions, &kept), alone[1]);
    }

    #[test]
    fn a_part_takes_the_draws_that_the_previous_part_kept() {
        let run = Postmark { number: 50, transactions: 300, ..Postmark::default() };
        let kept = Arc::default();
        ops(&run, PostmarkPart::Create, &kept);
        assert_eq!(kept.all().get(&0).map(|(part, _)| *part), Some(PostmarkPart::Create));
        let step = PostmarkStep { part: PostmarkPart::Transactions, run };
        kept.take(&step, 0);
        assert!(kept.all().get(&0).is_none());
    }
}
