//! `preadv` and `pwritev`; `preadv2` and `pwritev2` with `RWF_` flags. Source: preadv2(2).
#![allow(unsafe_code)]

use crate::backend::psync::execute_common;
use crate::backend::{BlockContext, Completion, SyncBackend, completion, has_context};
use crate::op::BlockOp;
use crate::os;
use crate::rng::Rng;
use plumb_workload::OpKind;
use plumb_workload::backend::RwFlag;

/// Converts flags to the kernel's flag word. The values are from linux/fs.h, because the C libraries are often outdated.
pub(crate) fn flag_word(flags: &[RwFlag]) -> libc::c_int {
    flags.iter().fold(0, |word, flag| {
        word | match flag {
            RwFlag::Hipri => 0x01,
            RwFlag::Dsync => 0x02,
            RwFlag::Sync => 0x04,
            RwFlag::Nowait => 0x08,
            RwFlag::Atomic => 0x40,
            RwFlag::Uncached => 0x80,
        }
    })
}

/// Flags that only affect writes. The kernel rejects some of them on reads.
pub(crate) const WRITE_ONLY: &[RwFlag] = &[RwFlag::Dsync, RwFlag::Sync, RwFlag::Atomic];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RwWords {
    pub(crate) read: libc::c_int,
    pub(crate) write: libc::c_int,
}

impl RwWords {
    /// Converts flags to words, and leaves out the write-only flags for reads.
    pub(crate) fn from_flags(flags: &[RwFlag]) -> RwWords {
        let for_reads: Vec<RwFlag> = flags.iter().copied().filter(|flag| !WRITE_ONLY.contains(flag)).collect();
        RwWords { read: flag_word(&for_reads), write: flag_word(flags) }
    }
}

/// Percentage of ops that are polled; the others go without `RWF_HIPRI`.
struct Unpolled {
    hipri_percent: u8,
    rng: Rng,
}

pub(crate) struct Preadv2 {
    context: BlockContext,
    words: RwWords,
    /// Set if only some of the ops are polled.
    unpolled: Option<Unpolled>,
}

impl Preadv2 {
    /// If `hipri_percent` is below 100, `rng` chooses the ops that are polled.
    pub(crate) fn new(context: BlockContext, flags: &[RwFlag], hipri_percent: u8, rng: Rng) -> Preadv2 {
        let chooses = flags.contains(&RwFlag::Hipri) && hipri_percent < 100;
        Preadv2 {
            context,
            words: RwWords::from_flags(flags),
            unpolled: chooses.then_some(Unpolled { hipri_percent, rng }),
        }
    }
}

impl SyncBackend for Preadv2 {
    type Op = BlockOp;

    has_context!();

    #[inline]
    fn execute(&mut self, op: &BlockOp) -> Completion {
        let (files, memory) = self.context.parts(0);
        let vector = libc::iovec { iov_base: memory.cast(), iov_len: op.length as usize };
        let offset = op.offset as libc::off_t;
        let mut words = self.words;
        if let Some(Unpolled { hipri_percent, rng }) = &mut self.unpolled
            && rng.below(100) >= u64::from(*hipri_percent)
        {
            let polled = flag_word(&[RwFlag::Hipri]);
            words = RwWords { read: words.read & !polled, write: words.write & !polled };
        }
        match op.kind {
            OpKind::Read => {
                // SAFETY: the vector points to memory of at least its length, which only this op uses.
                completion(unsafe { os::preadv2(files.fd(op), &raw const vector, 1, offset, words.read) })
            }
            OpKind::Write => {
                // SAFETY: as above.
                completion(unsafe { os::pwritev2(files.fd(op), &raw const vector, 1, offset, words.write) })
            }
            _ => execute_common(files, op),
        }
    }
}

pub(crate) struct Preadv {
    pub(crate) context: BlockContext,
}

impl SyncBackend for Preadv {
    type Op = BlockOp;

    has_context!();

    #[inline]
    fn execute(&mut self, op: &BlockOp) -> Completion {
        let (files, memory) = self.context.parts(0);
        let vector = libc::iovec { iov_base: memory.cast(), iov_len: op.length as usize };
        let offset = op.offset as libc::off_t;
        match op.kind {
            OpKind::Read => {
                // SAFETY: the vector points to memory of at least its length, which only this op uses.
                completion(unsafe { libc::preadv(files.fd(op), &raw const vector, 1, offset) })
            }
            OpKind::Write => {
                // SAFETY: as above.
                completion(unsafe { libc::pwritev(files.fd(op), &raw const vector, 1, offset) })
            }
            _ => execute_common(files, op),
        }
    }
}
