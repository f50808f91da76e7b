//! The reading side of a copy: single reads or whole blocks, and skipping of unreadable blocks.

use super::account::{Account, Halt};
use super::dropped::Dropping;
use super::end::End;
use super::{CopyEvent, CopyStep, number};
use plumb_workload::OpKind;
use plumb_workload::copy::CopySpec;
use rustix::fs::SeekFrom;
use rustix::io::Errno;

pub(super) struct Input {
    pub(super) end: End,
    /// Current offset; `None` if the input cannot seek.
    pub(super) at: Option<u64>,
    full_blocks: bool,
    is_direct: bool,
    /// A short read still deserves a warning. Cleared after the first one.
    warns: bool,
    /// Bytes that the last read returned.
    last: usize,
    pub(super) cache: Dropping,
}

impl Input {
    pub(super) fn new(end: End, copy: &CopySpec, moves_nothing: bool) -> Input {
        let at = end.at().ok();
        let cache = Dropping::new(copy.input.nocache, copy.input.nocache && moves_nothing, &end);
        let counts_blocks = copy.skip.blocks > 0
            || copy.count.is_some_and(|count| count.blocks > 0)
            || copy.input.direct
            || copy.output.direct;
        Input {
            at,
            full_blocks: copy.full_blocks,
            is_direct: copy.input.direct,
            warns: counts_blocks && !copy.gathers && !copy.full_blocks,
            last: 0,
            end,
            cache,
        }
    }

    /// Reads a block, or the part of it that is available.
    #[inline]
    pub(super) fn read(
        &mut self,
        account: &mut Account<'_, '_>,
        block: &mut [u8],
    ) -> Result<Result<usize, Errno>, Halt> {
        if !self.full_blocks {
            return self.read_once(account, block);
        }
        let mut filled = 0;
        while filled < block.len() {
            match self.read_once(account, &mut block[filled..])? {
                Ok(0) => break,
                Ok(got) => filled += got,
                Err(errno) => return Ok(Err(errno)),
            }
        }
        Ok(Ok(filled))
    }

    #[inline]
    fn read_once(&mut self, account: &mut Account<'_, '_>, block: &mut [u8]) -> Result<Result<usize, Errno>, Halt> {
        let asked = block.len();
        let got = loop {
            account.poll()?;
            match self.end.read(block) {
                Ok(0) => break 0,
                Ok(got) => {
                    account.record(OpKind::Read, got, asked);
                    break got;
                }
                Err(Errno::INTR) => account.mark(),
                // After the short last block of a file, direct I/O has no aligned offset to read at.
                Err(Errno::INVAL) if self.is_direct && 0 < self.last && self.last < asked => break 0,
                Err(errno) => {
                    // The time of a failed read must not count for the next read.
                    account.mark();
                    return Ok(Err(errno));
                }
            }
        };
        if 0 < got && got < asked {
            // A signal may have cut it short.
            account.poll()?;
        }
        if 0 < got && self.warns && 0 < self.last && self.last < asked {
            account.notify(CopyEvent::ShortRead { bytes: self.last as u64 });
            self.warns = false;
        }
        self.last = got;
        Ok(Ok(got))
    }

    pub(super) fn advance(&mut self, bytes: u64) {
        if let Some(at) = &mut self.at {
            *at = at.saturating_add(bytes);
        }
    }

    /// Skips data that could not be read. Returns `false` if that fails.
    pub(super) fn skip_unreadable(&mut self, account: &Account<'_, '_>, bytes: u64) -> bool {
        let Some(at) = self.at else { return true };
        let wanted = at.saturating_add(bytes);
        self.at = Some(wanted);
        let moved = self.end.at().and_then(|current| match wanted.checked_sub(current) {
            Some(0) => Ok(current),
            Some(forward) => self.end.seek(SeekFrom::Current(forward.min(i64::MAX as u64) as i64)),
            None => self.end.seek(SeekFrom::Start(wanted)),
        });
        match moved {
            Ok(_) => true,
            Err(errno) => {
                account.notify(CopyEvent::Failed { what: CopyStep::PassOver, errno: number(errno) });
                // Report this only once.
                self.at = None;
                false
            }
        }
    }
}
