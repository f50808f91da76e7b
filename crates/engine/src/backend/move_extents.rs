//! Exchanges blocks between two ext4 files, as a defragmenter does. Source: fs/ext4/ext4.h
//! and move_extent.c of Linux, `EXT4_IOC_MOVE_EXT`.

use crate::backend::psync::execute_common;
use crate::backend::{BlockContext, Completion, Errno, SyncBackend, has_context};
use crate::op::BlockOp;
use crate::os::{self, ExtentMove, Space};
use plumb_workload::OpKind;
use std::fs::File;
use std::os::fd::AsFd;

/// The file that donates its blocks. It has passed the write guard.
pub(crate) struct Donor {
    pub(crate) file: File,
    /// Allocate blocks to the donor for each op, and free them afterwards.
    pub(crate) in_place: bool,
}

/// Exchanges the blocks of a write's range. No other op is supported.
pub(crate) struct MoveExtents {
    context: BlockContext,
    donor: Donor,
    block_bytes: u64,
}

impl MoveExtents {
    /// # Errors
    /// The donor's block size cannot be read.
    pub(crate) fn new(context: BlockContext, donor: Donor) -> std::io::Result<MoveExtents> {
        let block_bytes = u64::try_from(rustix::fs::fstat(&donor.file)?.st_blksize).unwrap_or(0).max(1);
        Ok(MoveExtents { context, donor, block_bytes })
    }
}

impl SyncBackend for MoveExtents {
    type Op = BlockOp;

    has_context!();

    fn execute(&mut self, op: &BlockOp) -> Completion {
        let files = &mut self.context.files;
        match op.kind {
            OpKind::Write => {}
            OpKind::Read | OpKind::Trim => return Err(Errno(libc::EINVAL)),
            _ => return execute_common(files, op),
        }
        let (length, donor) = (u64::from(op.length), self.donor.file.as_fd());
        if self.donor.in_place {
            os::take_space(donor, Space::Grow, op.offset, length)?;
        }
        let first = op.offset / self.block_bytes;
        let count = (op.offset + length).div_ceil(self.block_bytes) - first;
        let moved = os::move_extents(files.file(op)?, donor, ExtentMove { first, count });
        if self.donor.in_place {
            rustix::fs::ftruncate(donor, 0)?;
        }
        match (moved? * self.block_bytes).min(length) {
            // There is nothing to move past the end of a file.
            0 => Err(Errno(libc::EINVAL)),
            moved => Ok(moved),
        }
    }
}
