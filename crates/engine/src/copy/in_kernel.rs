//! Copies that nobody looks at: the kernel moves bytes between files and pipes by itself, as many as it takes at a time.

use super::CopyBlocks;
use super::CopyStep;
use super::account::{Account, Halt};
use super::end::End;
use plumb_workload::OpKind;
use plumb_workload::copy::CopySpec;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// So much is asked of `copy_file_range` at a time: often enough to see a signal or to tell how far it is.
const RANGE_BYTES: u64 = 16 << 20;

/// The same of `splice`, more than any pipe holds.
const SPLICE_BYTES: u64 = 1 << 20;

/// Where the kernel does not move bytes between these two, they go through memory in pieces of this length.
const PIECE_BYTES: usize = 256 << 10;

/// What is copied in the kernel, and how.
pub(super) struct Plan {
    way: Way,
    /// This many bytes at most.
    left: u64,
    block_bytes: u64,
    /// As which op it counts: at the end that is storage.
    kind: OpKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Range,
    Splice,
    Memory,
}

/// How the kernel may move these bytes; `None` where it was not asked to, or where it matters what each read returns.
pub(super) fn plan(copy: &CopySpec, input: &End, output: &End) -> Option<Plan> {
    let is_file = |end: &End| end.kind == FileType::RegularFile;
    let is_pipe = |end: &End| end.kind == FileType::Fifo;
    let way = match () {
        () if is_file(input) && is_file(output) => Way::Range,
        () if (is_file(input) || is_pipe(input)) && (is_file(output) || is_pipe(output)) => Way::Splice,
        () => return None,
    };
    // Of a pipe, short reads count as blocks.
    if !copy.in_kernel || (copy.count.is_some() && !is_file(input)) {
        return None;
    }
    let left = copy.count.map_or(Some(u64::MAX), |count| count.length_bytes(copy.read_block))?;
    let kind = if is_file(output) { OpKind::Write } else { OpKind::Read };
    Some(Plan { way, left, block_bytes: copy.read_block.0, kind })
}

/// What moves the bytes of a copy, as results name it.
pub(super) fn backend(copy: &CopySpec, input: &End, output: &End) -> &'static str {
    match plan(copy, input, output).map(|plan| plan.way) {
        _ if input.is_simulated() || output.is_simulated() => "sim",
        Some(Way::Range) => "copy_file_range",
        Some(Way::Splice) => "splice",
        Some(Way::Memory) | None => "read/write",
    }
}

/// Moves everything.
pub(super) fn run(mut plan: Plan, input: &End, output: &End, account: &mut Account<'_, '_>) -> Result<(), Halt> {
    let (Some(input), Some(output)) = (input.fd(), output.fd()) else { return Ok(()) };
    let mut memory = Vec::new();
    while plan.left > 0 {
        account.look_at_clock();
        account.look_around()?;
        let moved = match plan.way {
            Way::Range => range(input, output, plan.left.min(RANGE_BYTES)),
            Way::Splice => splice(input, output, plan.left.min(SPLICE_BYTES)),
            Way::Memory => {
                memory.resize(PIECE_BYTES, 0);
                through_memory(input, output, &mut memory, &mut plan, account)?;
                return Ok(());
            }
        };
        match moved {
            // Files of the kernel have no length, and yet something to read.
            Ok(0) if account.counts.written_bytes == 0 && plan.way == Way::Range => plan.way = Way::Memory,
            Ok(0) => break,
            Ok(moved) => {
                account.record(plan.kind, moved, moved);
                plan.count(account, moved as u64);
            }
            Err(Errno::INTR) => account.mark(),
            Err(Errno::PIPE) => return Err(Halt::Failed { what: CopyStep::Write, errno: Errno::PIPE }),
            // Not between these two, or not so, or one of them failed: both stand where they stood, and which it was shows
            // when it is tried one after the other.
            Err(_) => plan.way = Way::Memory,
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

    /// What was read of `left` bytes could not be written: counts the block at hand as read, as if blocks went one by one.
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
        account.look_at_clock();
        account.look_around()?;
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
            account.look_around()?;
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

/// Only Linux has it in this form.
#[cfg(not(target_os = "linux"))]
fn range(_input: BorrowedFd<'_>, _output: BorrowedFd<'_>, _bytes: u64) -> Result<usize, Errno> {
    Err(Errno::NOSYS)
}

/// Only Linux has it.
#[cfg(not(target_os = "linux"))]
fn splice(_input: BorrowedFd<'_>, _output: BorrowedFd<'_>, _bytes: u64) -> Result<usize, Errno> {
    Err(Errno::NOSYS)
}
