//! The writing side of a copy: complete writes over several calls, holes if requested, and gathered blocks.

use super::account::{Account, Halt};
use super::converter::Sink;
use super::dropped::Dropping;
use super::end::End;
use super::{CopyEvent, CopyStep, number};
use crate::backend::region::Region;
use plumb_workload::OpKind;
use plumb_workload::copy::CopySpec;
use rustix::fs::{FileType, SeekFrom};
use rustix::io::Errno;

pub(super) struct Output {
    pub(super) end: End,
    block_bytes: usize,
    is_direct: bool,
    is_sparse: bool,
    /// The last block became a hole.
    pub(super) ends_in_hole: bool,
    /// The output needs an `fsync`, requested or not.
    pub(super) fsync: bool,
    pub(super) cache: Dropping,
}

impl Output {
    pub(super) fn new(end: End, copy: &CopySpec, moves_nothing: bool) -> Output {
        let cache = Dropping::new(copy.output.nocache, copy.output.nocache && moves_nothing, &end);
        Output {
            end,
            block_bytes: copy.write_block.0 as usize,
            is_direct: copy.output.direct,
            is_sparse: copy.sparse,
            ends_in_hole: false,
            fsync: copy.fsync,
            cache,
        }
    }

    /// Writes all bytes, in as many calls as needed. Returns the number of bytes written, which is
    /// lower only after an error.
    #[inline]
    pub(super) fn write(&mut self, account: &mut Account<'_, '_>, bytes: &[u8]) -> Result<Written, Halt> {
        if self.is_direct && bytes.len() < self.block_bytes {
            self.turn_off_direct(account);
        }
        let mut written = 0;
        let mut error = None;
        while written < bytes.len() {
            account.poll()?;
            self.ends_in_hole = false;
            if self.is_sparse && is_zero(bytes) {
                match self.end.seek(SeekFrom::Current(bytes.len() as i64)) {
                    Ok(_) => {
                        self.ends_in_hole = true;
                        written = bytes.len();
                        account.mark();
                        break;
                    }
                    // Sparse output is only best effort.
                    Err(_) => self.is_sparse = false,
                }
            }
            match self.end.write(&bytes[written..]) {
                // A driver that accepts no bytes is out of space.
                Ok(0) => {
                    error = Some(Errno::NOSPC);
                    break;
                }
                Ok(moved) => {
                    account.record(OpKind::Write, moved, bytes.len() - written);
                    written += moved;
                }
                Err(Errno::INTR) => account.mark(),
                Err(errno) => {
                    error = Some(errno);
                    break;
                }
            }
        }
        self.cache.moved(&self.end, written as u64);
        Ok(Written { bytes: written as u64, error })
    }

    /// Turns off direct I/O for a last block that is too short for it. The block is then made durable at the end.
    #[cold]
    fn turn_off_direct(&mut self, account: &mut Account<'_, '_>) {
        if let Err(errno) = self.end.turn_off_direct() {
            account.notify(CopyEvent::Failed { what: CopyStep::TurnOffDirect, errno: number(errno) });
        }
        self.is_direct = false;
        self.fsync = true;
        self.cache.to_end = true;
    }

    /// Sets the length of a file whose last block is a hole.
    pub(super) fn set_length(&mut self) -> Result<(), Halt> {
        if !self.ends_in_hole || self.end.kind != FileType::RegularFile {
            return Ok(());
        }
        let length = self.end.length().map_err(Halt::at(CopyStep::LookAtOutput))?;
        if let Ok(at) = self.end.at()
            && length < at
        {
            self.end.set_length(at).map_err(Halt::at(CopyStep::SetLength { bytes: at }))?;
        }
        Ok(())
    }
}

/// Bytes that a write moved, and the error that cut it short.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    pub(super) bytes: u64,
    pub(super) error: Option<Errno>,
}

/// Gathers bytes into blocks of the output.
pub(super) struct Gatherer<'a, 'b, 'd> {
    pub(super) output: &'a mut Output,
    pub(super) block: &'a mut Region,
    /// Bytes of `block` that are filled.
    pub(super) filled: &'a mut usize,
    pub(super) account: &'a mut Account<'b, 'd>,
}

impl Sink for Gatherer<'_, '_, '_> {
    type Full = Halt;

    fn take(&mut self, bytes: &[u8]) -> Result<(), Halt> {
        let length = self.output.block_bytes;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at(rest.len().min(length - *self.filled));
            self.block.as_mut_slice()[*self.filled..][..piece.len()].copy_from_slice(piece);
            *self.filled += piece.len();
            rest = tail;
            if *self.filled == length {
                self.write_block(length)?;
            }
        }
        Ok(())
    }
}

impl Gatherer<'_, '_, '_> {
    /// Writes the last, partial block.
    pub(super) fn finish(&mut self) -> Result<(), Halt> {
        match *self.filled {
            0 => Ok(()),
            filled => self.write_block(filled),
        }
    }

    fn write_block(&mut self, length: usize) -> Result<(), Halt> {
        *self.filled = 0;
        self.account.mark();
        let written = self.output.write(self.account, &self.block.as_mut_slice()[..length])?;
        self.account.counts.written_bytes += written.bytes;
        let blocks = &mut self.account.counts.written;
        match written.error {
            None if length == self.output.block_bytes => blocks.whole += 1,
            None => blocks.short += 1,
            Some(_) => blocks.short += u64::from(written.bytes > 0),
        }
        let what = if length == self.output.block_bytes { CopyStep::WriteBlock } else { CopyStep::Write };
        written.error.map_or(Ok(()), |errno| Err(Halt::at(what)(errno)))
    }
}

/// Returns `true` if all bytes are zero.
fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<16>();
    words.iter().all(|word| u128::from_ne_bytes(*word) == 0) && rest.iter().all(|&byte| byte == 0)
}
