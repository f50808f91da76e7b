//! Keeps what was moved out of the page cache (`nocache`): pages are dropped behind the place at hand, in pieces, so that
//! what was read ahead stays.

use super::end::End;
use rustix::io::Errno;
use std::num::NonZeroU64;

/// Pages are dropped in pieces of this length: a system call for each block would cost more than the block.
const PIECE_BYTES: u64 = 128 << 10;

/// Pages of one end of a copy.
#[derive(Debug)]
pub(super) struct Dropping {
    /// Drop them as they are moved.
    pub(super) drops: bool,
    /// Drop all to the end of the file when it is over.
    pub(super) to_end: bool,
    /// Moved and not dropped yet, bytes.
    pending: u64,
    /// Up to where was moved; unknown where there are no places.
    at: Option<u64>,
}

impl Dropping {
    /// Of an end that begins at its present place.
    pub(super) fn new(drops: bool, to_end: bool, end: &End) -> Dropping {
        let at = if drops { end.at().ok() } else { None };
        Dropping { drops, to_end, pending: 0, at }
    }

    /// So much was moved, or passed over.
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
                // Advice: where there is none to take, the copy is as good.
                let _ = end.drop_pages(from, NonZeroU64::new(whole));
            }
        }
    }

    /// The copy is over.
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
        // To the end of the file there is no length; its first page is dropped whole.
        let (from, length) =
            if self.to_end { (from - from % PAGE_BYTES, None) } else { (from, NonZeroU64::new(length)) };
        end.drop_pages(from, length)
    }
}

/// A multiple of every page size there is.
const PAGE_BYTES: u64 = 64 << 10;
