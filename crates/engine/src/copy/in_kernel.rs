//! Copies inside the kernel, which moves bytes between files and pipes itself.

use super::CopyBlocks;
use super::CopyStep;
use super::account::{Account, Halt};
use super::end::End;
use plumb_workload::OpKind;
use plumb_workload::copy::CopySpec;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// Length of one `copy_file_range`, short enough to notice signals and to report progress in between.
const RANGE_BYTES: u64 = 16 << 20;

/// Length of one `splice`, more than any pipe holds.
const SPLICE_BYTES: u64 = 1 << 20;

/// If the kernel cannot move bytes between these files, they go through memory in pieces of this length.
const PIECE_BYTES: usize = 256 << 10;

/// A copy inside the kernel.
pub(super) struct Plan {
    call: MoveCall,
    /// Maximum number of bytes still to move.
    left: u64,
    block_bytes: u64,
    /// Kind that its ops count as, depending on which end is storage.
    kind: OpKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MoveCall {
    Range,
    Splice,
    Memory,
}

/// Returns how the kernel may move these bytes; `None` if not requested, or if the result of each read matters.
pub(super) fn plan(copy: &CopySpec, input: &End, output: &End) -> Option<Plan> {
    let is_file = |end: &End| end.kind == FileType::RegularFile;
    let is_pipe = |end: &End| end.kind == FileType::Fifo;
    let call = match () {
        () if is_file(input) && is_file(output) => MoveCall::Range,
        () if (is_file(input) || is_pipe(input)) && (is_file(output) || is_pipe(output)) => MoveCall::Splice,
        () => return None,
    };
    // Short reads of a pipe count as blocks.
    if !copy.in_kernel || (copy.count.is_some() && !is_file(input)) {
        return None;
    }
    let left = copy.count.map_or(Some(u64::MAX), |count| count.length_bytes(copy.read_block))?;
    let kind = if is_file(output) { OpKind::Write } else { OpKind::Read };
    Some(Plan { call, left, block_bytes: copy.read_block.0, kind })
}

/// Returns the name of the calls that move the bytes, for results.
pub(super) fn backend(copy: &CopySpec, input: &End, output: &End) -> &'static str {
    match plan(copy, input, output).map(|plan| plan.call) {
        _ if input.is_simulated() || output.is_simulated() => "sim",
        Some(MoveCall::Range) => "copy_file_range",
        Some(MoveCall::Splice) => "splice",
        Some(MoveCall::Memory) | None => "read/write",
    }
}

pub(super) fn run(mut plan: Plan, input: &End, output: &End, account: &mut Account<'_, '_>) -> Result<(), Halt> {
    let (Some(input), Some(output)) = (input.fd(), output.fd()) else { return Ok(()) };
    let mut memory = Vec::new();
    while plan.left > 0 {
        account.notify_seconds();
        account.poll()?;
        let moved = match plan.call {
            MoveCall::Range => range(input, output, plan.left.min(RANGE_BYTES)),
            MoveCall::Splice => splice(input, output, plan.left.min(SPLICE_BYTES)),
            MoveCall::Memory => {
                memory.resize(PIECE_BYTES, 0);
                through_memory(input, output, &mut memory, &mut plan, account)?;
                return Ok(());
            }
        };
        match moved {
            // Kernel files have no length, but may have data.
            Ok(0) if account.counts.written_bytes == 0 && plan.call == MoveCall::Range => plan.call = MoveCall::Memory,
            Ok(0) => break,
            Ok(moved) => {
                account.record(plan.kind, moved, moved);
                plan.count(account, moved as u64);
            }
            Err(Errno::INTR) => account.mark(),
            Err(Errno::PIPE) => return Err(Halt::Failed { what: CopyStep::Write, errno: Errno::PIPE }),
            // Either the kernel cannot copy between these two files, or one of them failed. Both offsets are unchanged,
            // and separate reads and writes will show which.
            Err(_) => plan.call = MoveCall::Memory,
        }
    }
    Ok(())
}

impl Plan {
    /// Counts blocks as if they had been read and written one by one.
    fn count(&mut self, account: &mut Account<'_, '_>, moved: u64) {
        self.left -= moved;
        let counts = &mut account.counts;
        counts.written_bytes += moved;
        let blocks = CopyBlocks {
            whole: counts.written_bytes / self.block_bytes,
            short: u64::from(!counts.written_bytes.is_multiple_of(self.block_bytes)),
        };
        (counts.read, counts.written) = (blocks, blocks);
    }

    /// Handles a failed write of the last `left` bytes. Counts the current block as read, as if blocks
    /// were moved one by one.
    fn cannot_write(&self, account: &mut Account<'_, '_>, left: usize, errno: Errno) -> Halt {
        let in_block = account.counts.written_bytes % self.block_bytes;
        let is_whole = in_block + left as u64 >= self.block_bytes;
        let read = &mut account.counts.read;
        *read = CopyBlocks { whole: account.counts.written_bytes / self.block_bytes, short: 0 };
        if is_whole {
            read.whole += 1
        } else {
            read.short += 1
        }
        Halt::Failed { what: if is_whole { CopyStep::WriteBlock } else { CopyStep::Write }, errno }
    }
}

fn through_memory(
    input: BorrowedFd<'_>,
    output: BorrowedFd<'_>,
    memory: &mut [u8],
    plan: &mut Plan,
    account: &mut Account<'_, '_>,
) -> Result<(), Halt> {
    while plan.left > 0 {
        account.notify_seconds();
        account.poll()?;
        let asked = usize::try_from(plan.left).unwrap_or(usize::MAX).min(memory.len());
        let got = match rustix::io::read(input, &mut memory[..asked]) {
            Ok(0) => break,
            Ok(got) => got,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(Halt::Failed { what: CopyStep::Read, errno }),
        };
        account.record(OpKind::Read, got, asked);
        let mut rest = &memory[..got];
        while !rest.is_empty() {
            account.poll()?;
            match rustix::io::write(output, rest) {
                Ok(0) => return Err(plan.cannot_write(account, rest.len(), Errno::NOSPC)),
                Ok(moved) => {
                    account.record(OpKind::Write, moved, rest.len());
                    plan.count(account, moved as u64);
                    rest = &rest[moved..];
                }
                Err(Errno::INTR) => account.mark(),
                Err(errno) => return Err(plan.cannot_write(account, rest.len(), errno)),
            }
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn range(input: BorrowedFd<'_>, output: BorrowedFd<'_>, bytes: u64) -> Result<usize, Errno> {
    rustix::fs::copy_file_range(input, None, output, None, bytes as usize)
}

#[cfg(target_os = "linux")]
fn splice(input: BorrowedFd<'_>, output: BorrowedFd<'_>, bytes: u64) -> Result<usize, Errno> {
    rustix::pipe::splice(input, None, output, None, bytes as usize, rustix::pipe::SpliceFlags::MOVE)
}

/// Fails: only Linux has this form of the call.
#[cfg(not(target_os = "linux"))]
fn range(_input: BorrowedFd<'_>, _output: BorrowedFd<'_>, _bytes: u64) -> Result<usize, Errno> {
    Err(Errno::NOSYS)
}

/// Fails: only Linux has this call.
#[cfg(not(target_os = "linux"))]
fn splice(_input: BorrowedFd<'_>, _output: BorrowedFd<'_>, _bytes: u64) -> Result<usize, Errno> {
    Err(Errno::NOSYS)
}
