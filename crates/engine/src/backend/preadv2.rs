//! `preadv2` and `pwritev2` with `RWF_` flags. Source: preadv2(2).
#![allow(unsafe_code)]

use crate::backend::blocks::BlockCalls;
use crate::backend::psync::execute_common;
use crate::backend::{BlockFiles, Completion, completion};
use crate::op::BlockOp;
use plumb_workload::OpKind;
use plumb_workload::phase::RwFlag;

/// The kernel's flag word. Values from linux/fs.h, because the C libraries lag behind.
fn flag_word(flags: &[RwFlag]) -> libc::c_int {
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

/// Flags that say something only about writes; the kernel refuses some of them on reads.
const WRITE_ONLY: &[RwFlag] = &[RwFlag::Dsync, RwFlag::Sync, RwFlag::Atomic];

/// `preadv2` and `pwritev2`.
pub(crate) struct Preadv2 {
    read_flags: libc::c_int,
    write_flags: libc::c_int,
}

impl Preadv2 {
    pub(crate) fn new(flags: &[RwFlag]) -> Preadv2 {
        let for_reads: Vec<RwFlag> = flags.iter().copied().filter(|flag| !WRITE_ONLY.contains(flag)).collect();
        Preadv2 { read_flags: flag_word(&for_reads), write_flags: flag_word(flags) }
    }
}

#[cfg(target_os = "linux")]
impl BlockCalls for Preadv2 {
    #[inline(always)]
    fn execute(&mut self, files: &mut BlockFiles, memory: *mut u8, op: &BlockOp) -> Completion {
        let fd = files.fd(op);
        let vector = libc::iovec { iov_base: memory.cast(), iov_len: op.length as usize };
        let offset = op.offset as libc::off_t;
        match op.kind {
            // SAFETY: the vector points to memory of at least its length that is this op's alone.
            OpKind::Read => completion(unsafe { libc::preadv2(fd, &raw const vector, 1, offset, self.read_flags) }),
            // SAFETY: as above.
            OpKind::Write => completion(unsafe { libc::pwritev2(fd, &raw const vector, 1, offset, self.write_flags) }),
            _ => execute_common(files, op),
        }
    }
}
