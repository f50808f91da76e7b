//! Drops copied data from the page cache (`nocache`). Pages are dropped in pieces behind the current offset,
//! so that read-ahead pages stay.

use super::end::End;
use rustix::io::Errno;
use std::num::NonZeroU64;

/// Pages are dropped in pieces of this length: one system call per block would cost more than the block.
const PIECE_BYTES: u64 = 128 << 10;

/// Page cache state of one end of a copy.
#[derive(Debug)]
pub(super) struct Dropping {
    /// Drop pages during the copy.
    pub(super) drops: bool,
    /// At the end, drop all pages up to the end of the file.
    pub(super) to_end: bool,
    /// Bytes moved and not dropped yet.
    pending: u64,
    /// Offset after the last moved byte; `None` if the end cannot seek.
    at: Option<u64>,
}

impl Dropping {
    /// Prepares to drop pages from the current offset of `end`.
    pub(super) fn new(drops: bool, to_end: bool, end: &End) -> Dropping {
        let at = if drops { end.at().ok() } else { None };
        Dropping { drops, to_end, pending: 0, at }
    }

    /// Records moved or skipped bytes, and drops complete pieces.
    #[inline]
    pub(super) fn moved(&mut self, end: &End, bytes: u64) {
        if !self.drops || bytes == 0 {
            return;
        }
        self.pending += bytes;
        if let Some(at) = &mut self.at {
            *at += bytes;
            let whole = self.pending - self.pending % PIECE_BYTES;
            if whole > 0 {
                let from = *at - self.pending;
                self.pending -= whole;
                // Only advice: the copy is as good if it is not taken.
                let _ = end.drop_pages(from, NonZeroU64::new(whole));
            }
        }
    }

    /// Drops the remaining pages after the copy.
    pub(super) fn finish(&mut self, end: &End) -> Result<(), Errno> {
        if !self.to_end && (!self.drops || self.pending == 0) {
            return Ok(());
        }
        let at = match self.at {
            Some(at) => at,
            None => end.at()?,
        };
        let from = at - self.pending.min(at);
        let length = std::mem::take(&mut self.pending);
        // A range up to the end of the file has no length. Its first page is dropped whole.
        let (from, length) =
            if self.to_end { (from - from % PAGE_BYTES, None) } else { (from, NonZeroU64::new(length)) };
        end.drop_pages(from, length)
    }
}

/// A multiple of every existing page size.
const PAGE_BYTES: u64 = 64 << 10;
