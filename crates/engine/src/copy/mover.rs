//! The loop of a copy: reads a block, converts it and writes it, in the order and with the rules of dd. Source: POSIX,
//! dd; GNU coreutils 9.1, compared call by call under strace.

use super::account::{Account, Halt};
use super::converter::Converter;
use super::end::UnsetLength;
use super::ends::Ends;
use super::in_kernel;
use super::input::Input;
use super::output::{Gatherer, Output};
use super::{CopyEvent, CopyStep, number};
use crate::backend::region::Region;
use plumb_workload::OpKind;
use plumb_workload::copy::{CopyExtent, CopySpec};
use rustix::fs::{FileType, SeekFrom};
use rustix::io::Errno;

pub(super) struct Mover<'c> {
    copy: &'c CopySpec,
    pub(super) input: Input,
    pub(super) output: Output,
    input_block: Region,
    output_block: Option<Region>,
    converter: Converter,
    /// The first error that did not end the copy.
    pub(super) failed: Option<Halt>,
}

impl<'c> Mover<'c> {
    pub(super) fn new(copy: &'c CopySpec, ends: Ends) -> Mover<'c> {
        let moves_nothing = copy.count.is_some_and(|count| count.is_empty());
        Mover {
            copy,
            input: Input::new(ends.input, copy, moves_nothing),
            output: Output::new(ends.output, copy, moves_nothing),
            input_block: ends.input_block,
            output_block: ends.output_block,
            converter: Converter::new(&copy.conversion),
            failed: None,
        }
    }

    /// Copies all data, makes it durable if requested, and closes both ends. Returns the reason for an early end or the
    /// first error; `None` on success.
    pub(super) fn run(mut self, account: &mut Account<'_, '_>) -> Option<Halt> {
        if let Some(UnsetLength { bytes, errno }) = self.output.end.unset_length {
            // Like GNU dd, the copy continues and then counts as failed.
            let what = CopyStep::SetLength { bytes };
            account.notify(CopyEvent::Failed { what, errno: number(errno) });
            self.failed = Some(Halt::Failed { what, errno });
        }
        let moved = self.move_all(account);
        self.note(account);
        let synced = match moved {
            Err(
                halt @ (Halt::Stopped
                | Halt::Failed {
                    what: CopyStep::Skip | CopyStep::Seek | CopyStep::WriteZeros | CopyStep::WriteBlock,
                    ..
                }),
            ) => Err(halt),
            Err(halt @ Halt::Failed { what, errno }) => {
                // Report the error before its consequences.
                account.notify(CopyEvent::Failed { what, errno: number(errno) });
                self.failed.get_or_insert(halt);
                self.make_durable(account)
            }
            Ok(()) => self.make_durable(account),
        };
        if let Err(halt @ Halt::Failed { what, errno }) = synced {
            account.notify(CopyEvent::Failed { what, errno: number(errno) });
            self.failed.get_or_insert(halt);
        }
        account.settle_group();
        if synced != Err(Halt::Stopped) {
            self.drop_pages(account);
        }
        // Close before the clock stops: a network file system may write only now.
        let Mover { input, output, mut failed, .. } = self;
        for (what, end) in [(CopyStep::CloseInput, input.end), (CopyStep::CloseOutput, output.end)] {
            if let Err(errno) = end.close() {
                account.notify(CopyEvent::Failed { what, errno: number(errno) });
                failed.get_or_insert(Halt::Failed { what, errno });
            }
        }
        if synced == Err(Halt::Stopped) { Some(Halt::Stopped) } else { failed }
    }

    fn note(&self, account: &mut Account<'_, '_>) {
        account.counts.cut_lines = self.converter.cut_lines;
        account.counts.odd_swaps = self.converter.odd_swaps;
    }

    fn move_all(&mut self, account: &mut Account<'_, '_>) -> Result<(), Halt> {
        if !self.copy.skip.is_empty() {
            self.skip(account)?;
        }
        if !self.copy.seek.is_empty() {
            self.seek(account)?;
        }
        if self.copy.count.is_some_and(|count| count.is_empty()) {
            return Ok(());
        }
        account.mark();
        if let Some(plan) = in_kernel::plan(self.copy, &self.input.end, &self.output.end) {
            return in_kernel::run(plan, &self.input.end, &self.output.end, account);
        }
        match self.output_block.take() {
            Some(block) => self.gather(account, block),
            None => self.write_each_read(account),
        }
    }

    /// Writes the data of each read at once.
    fn write_each_read(&mut self, account: &mut Account<'_, '_>) -> Result<(), Halt> {
        let mut short_before = 0;
        while let Some(length) = self.next_length(account) {
            let Some(filled) = self.fill(account, length, &mut short_before)? else { break };
            let written = self.output.write(account, &self.input_block.as_mut_slice()[..filled])?;
            account.counts.written_bytes += written.bytes;
            if let Some(errno) = written.error {
                return Err(Halt::Failed { what: CopyStep::Write, errno });
            }
            let blocks = &mut account.counts.written;
            if filled as u64 == self.copy.read_block.0 {
                blocks.whole += 1;
            } else {
                blocks.short += 1;
            }
        }
        Ok(())
    }

    /// Gathers the data of reads into output blocks.
    fn gather(&mut self, account: &mut Account<'_, '_>, mut block: Region) -> Result<(), Halt> {
        let mut gathered = 0;
        let mut short_before = 0;
        while let Some(length) = self.next_length(account) {
            let Some(filled) = self.fill(account, length, &mut short_before)? else { break };
            let bytes = &mut self.input_block.as_mut_slice()[..filled];
            let mut sink =
                Gatherer { output: &mut self.output, block: &mut block, filled: &mut gathered, account: &mut *account };
            self.converter.push(bytes, &mut sink)?;
            self.note(account);
            account.mark();
        }
        let mut sink = Gatherer { output: &mut self.output, block: &mut block, filled: &mut gathered, account };
        self.converter.finish(&mut sink)?;
        sink.finish()
    }

    /// Returns the length of the next read; `None` once the count is reached.
    #[inline]
    fn next_length(&self, account: &mut Account<'_, '_>) -> Option<usize> {
        account.notify_seconds();
        let block = self.copy.read_block.0 as usize;
        let Some(CopyExtent { blocks, bytes }) = self.copy.count else { return Some(block) };
        let read = account.counts.read.whole + account.counts.read.short;
        match read.cmp(&blocks) {
            std::cmp::Ordering::Less => Some(block),
            std::cmp::Ordering::Equal if bytes > 0 => Some(bytes as usize),
            _ => None,
        }
    }

    /// Reads the next block into the input's memory. Returns how much of it to write; `None` at the end of the input.
    /// `short_before` is the length of the last short block.
    #[inline]
    fn fill(
        &mut self,
        account: &mut Account<'_, '_>,
        asked: usize,
        short_before: &mut u64,
    ) -> Result<Option<usize>, Halt> {
        let length = self.copy.read_block.0 as usize;
        loop {
            if self.copy.passes_over_read_errors
                && let Some(byte) = self.copy.pad
            {
                self.input_block.as_mut_slice()[..length].fill(byte);
                account.mark();
            }
            let got = match self.input.read(account, &mut self.input_block.as_mut_slice()[..asked])? {
                Ok(0) => {
                    self.input.cache.to_end |= self.input.cache.drops;
                    self.output.cache.to_end |= self.output.cache.drops && self.copy.truncate;
                    return Ok(None);
                }
                Ok(got) => {
                    self.input.advance(got as u64);
                    self.input.cache.moved(&self.input.end, got as u64);
                    got
                }
                Err(errno) => match self.cannot_read(account, errno, *short_before) {
                    Unreadable::Ends => return Ok(None),
                    Unreadable::IsPassedOver => continue,
                    Unreadable::BecomesPadding => 0,
                },
            };
            if got >= length {
                account.counts.read.whole += 1;
                *short_before = 0;
                return Ok(Some(got));
            }
            account.counts.read.short += 1;
            *short_before = got as u64;
            return Ok(Some(match self.copy.pad {
                Some(byte) => {
                    if !self.copy.passes_over_read_errors {
                        self.input_block.as_mut_slice()[got..length].fill(byte);
                    }
                    length
                }
                None => got,
            }));
        }
    }

    #[cold]
    fn cannot_read(&mut self, account: &mut Account<'_, '_>, errno: Errno, short_before: u64) -> Unreadable {
        let halt = Halt::Failed { what: CopyStep::Read, errno };
        account.notify(CopyEvent::Failed { what: CopyStep::Read, errno: number(errno) });
        if !self.copy.passes_over_read_errors {
            self.failed.get_or_insert(halt);
            return Unreadable::Ends;
        }
        account.context.recorder.count_error();
        let place = self.input.at.unwrap_or(0);
        let message = std::io::Error::from(errno).to_string();
        let length = self.copy.read_block.0;
        account.context.faults.keep(OpKind::Read, place, length, Some(number(errno)), &self.input.end.path, &message);
        account.notify(CopyEvent::PassesOver);
        let bad = length - short_before;
        self.input.cache.moved(&self.input.end, bad);
        if !self.input.skip_unreadable(account, bad) {
            self.failed.get_or_insert(halt);
        }
        if self.copy.pad.is_some() && short_before == 0 { Unreadable::BecomesPadding } else { Unreadable::IsPassedOver }
    }

    /// Skips the beginning of the input: seeks if possible, and reads otherwise.
    fn skip(&mut self, account: &mut Account<'_, '_>) -> Result<(), Halt> {
        let CopyExtent { mut blocks, mut bytes } = self.copy.skip;
        let block = self.copy.read_block;
        let length = self.copy.skip.length_bytes(block).and_then(|length| i64::try_from(length).ok());
        let sought = length.map_or(Err(Errno::OVERFLOW), |length| self.input.end.seek(SeekFrom::Current(length)));
        match sought {
            Ok(_) => {
                let holds = self.input.end.length().map_err(Halt::at(CopyStep::LookAtInput))?;
                let began = self.input.at.unwrap_or(0);
                let length = length.unwrap_or(0) as u64;
                let holds = holds.saturating_sub(began);
                let is_past = self.input.end.kind == FileType::RegularFile && holds < length;
                self.input.advance(if is_past { holds } else { length });
                if is_past {
                    account.notify(CopyEvent::SkippedPastEnd);
                }
                Ok(())
            }
            Err(errno) => {
                if self.input.end.seek(SeekFrom::End(0)).is_ok() {
                    return Err(Halt::Failed { what: CopyStep::Skip, errno });
                }
                while blocks > 0 || bytes > 0 {
                    let asked = if blocks > 0 { block.0 } else { bytes } as usize;
                    match self.input.read(account, &mut self.input_block.as_mut_slice()[..asked])? {
                        Ok(0) => {
                            account.notify(CopyEvent::SkippedPastEnd);
                            break;
                        }
                        Ok(_) if blocks > 0 => blocks -= 1,
                        Ok(_) => bytes = 0,
                        Err(errno) => return Err(Halt::Failed { what: CopyStep::Read, errno }),
                    }
                }
                Ok(())
            }
        }
    }

    /// Skips the beginning of the output: seeks if possible. Otherwise reads existing data, and writes zeros after it.
    fn seek(&mut self, account: &mut Account<'_, '_>) -> Result<(), Halt> {
        let CopyExtent { mut blocks, mut bytes } = self.copy.seek;
        let block = self.copy.write_block;
        let length = self.copy.seek.length_bytes(block).and_then(|length| i64::try_from(length).ok());
        let sought = length.map_or(Err(Errno::OVERFLOW), |length| self.output.end.seek(SeekFrom::Current(length)));
        let Err(why) = sought else { return Ok(()) };
        if self.output.end.seek(SeekFrom::End(0)).is_ok() {
            return Err(Halt::Failed { what: CopyStep::Seek, errno: why });
        }
        let memory = self.output_block.as_mut().unwrap_or(&mut self.input_block);
        while blocks > 0 || bytes > 0 {
            account.poll()?;
            let asked = if blocks > 0 { block.0 } else { bytes } as usize;
            match self.output.end.read(&mut memory.as_mut_slice()[..asked]) {
                Ok(0) => break,
                Ok(_) if blocks > 0 => blocks -= 1,
                Ok(_) => bytes = 0,
                Err(Errno::INTR) => {}
                Err(_) => return Err(Halt::Failed { what: CopyStep::Seek, errno: why }),
            }
        }
        memory.as_mut_slice().fill(0);
        account.mark();
        while blocks > 0 || bytes > 0 {
            let length = if blocks > 0 { block.0 } else { bytes } as usize;
            let written = self.output.write(account, &memory.as_mut_slice()[..length])?;
            if let Some(errno) = written.error {
                return Err(Halt::Failed { what: CopyStep::WriteZeros, errno });
            }
            if blocks > 0 {
                blocks -= 1;
            } else {
                bytes = 0;
            }
        }
        Ok(())
    }

    fn make_durable(&mut self, account: &mut Account<'_, '_>) -> Result<(), Halt> {
        self.output.set_length()?;
        if self.copy.fdatasync || self.output.fsync {
            account.notify(CopyEvent::Flushes);
        }
        let mut fsyncs = self.output.fsync;
        if self.copy.fdatasync {
            match self.sync(account, OpKind::Fdatasync)? {
                // A file without support for `fdatasync` may support `fsync`.
                Err(Errno::NOSYS | Errno::INVAL) => fsyncs = true,
                Err(errno) => return Err(Halt::Failed { what: CopyStep::Fdatasync, errno }),
                Ok(()) => {}
            }
        }
        if fsyncs {
            self.sync(account, OpKind::Fsync)?.map_err(Halt::at(CopyStep::Fsync))?;
        }
        Ok(())
    }

    fn sync(&self, account: &mut Account<'_, '_>, kind: OpKind) -> Result<Result<(), Errno>, Halt> {
        account.mark();
        loop {
            account.poll()?;
            match self.output.end.sync(kind) {
                Err(Errno::INTR) => {}
                Ok(()) => {
                    account.record(kind, 0, 0);
                    return Ok(Ok(()));
                }
                Err(errno) => return Ok(Err(errno)),
            }
        }
    }

    fn drop_pages(&mut self, account: &Account<'_, '_>) {
        // In a copy of nothing, the drop is all that was requested. In other copies it is best effort.
        let is_asked = self.copy.count.is_some_and(|count| count.is_empty());
        for (what, dropped) in [
            (CopyStep::DropInput, self.input.cache.finish(&self.input.end)),
            (CopyStep::DropOutput, self.output.cache.finish(&self.output.end)),
        ] {
            if let (true, Err(errno)) = (is_asked, dropped) {
                account.notify(CopyEvent::Failed { what, errno: number(errno) });
                self.failed.get_or_insert(Halt::Failed { what, errno });
            }
        }
    }
}

/// Result of an unreadable block.
enum Unreadable {
    /// The copy ends with the data read before.
    Ends,
    /// The block is skipped.
    IsPassedOver,
    /// The block is written as padding.
    BecomesPadding,
}
