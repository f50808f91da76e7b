//! Properties of work for code that neither runs nor builds the work: ops, coverage of the range, writes, waits and
//! end. Callers need not know the kinds of work.

use crate::Bytes;
use crate::blocks::ByKind;
use crate::blocks::accesses::Accesses;
use crate::blocks::fio::{AccessOrder, Coverage, OffsetDistribution, Stream};
use crate::blocks::requests::Requests;
use crate::blocks::sweep::{Sweep, SweepDraw, SweepOrder};
use crate::blocks::trace::Recording;
use crate::blocks::{BlockSize, BlockStream, Blocks, Pattern};
use crate::content::Content;
use crate::copy::CopySpec;
use crate::net::NetLoad;
use crate::op::OpKind;
use crate::phase::Work;
use crate::program::{PacketKind, Packets, Program, ProgramContent, Step, Transfer, walk};
use crate::replay::Replay;
use std::collections::BTreeSet;

/// How a kind of work makes its writes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnFlush {
    /// Not by itself; the phase flushes at its end.
    ByPhase,
    /// The work does not write, so there is nothing to flush.
    Nothing,
    /// The work flushes all of its writes.
    All,
    /// The work flushes a part of its writes.
    Part,
    /// Not within the measured time.
    Never,
}

/// Content of PostMark's files. All start with the same text of 95 different characters, so a byte has 6.6 bits of
/// entropy. A 4 KiB block repeats wherever another file has it.
const POSTMARK: Content = Content::Reducible { compress_percent: 18, duplicate_percent: 99 };

impl Work {
    /// Returns the stream of ops, if the work is [`Work::Blocks`].
    pub fn stream(&self) -> Option<&BlockStream> {
        match self {
            Work::Blocks(stream) => Some(stream),
            _ => None,
        }
    }

    /// Returns the stream mutably.
    pub(crate) fn stream_mut(&mut self) -> Option<&mut BlockStream> {
        match self {
            Work::Blocks(stream) => Some(stream),
            _ => None,
        }
    }

    /// Returns the stream unless it is Plumb's own generator.
    pub fn foreign_stream(&self) -> Option<&BlockStream> {
        self.stream().filter(|stream| !stream.is_plumb())
    }

    /// Returns the settings of Plumb's own generator, if the stream is one.
    pub fn blocks(&self) -> Option<&Blocks> {
        match self.stream()? {
            BlockStream::Plumb(blocks) => Some(blocks),
            _ => None,
        }
    }

    /// Returns the settings of Plumb's own generator mutably.
    pub fn blocks_mut(&mut self) -> Option<&mut Blocks> {
        match self.stream_mut()? {
            BlockStream::Plumb(blocks) => Some(blocks),
            _ => None,
        }
    }

    /// Returns the stream of fio's generator, if this is one.
    pub fn fio(&self) -> Option<&Stream> {
        match self.stream()? {
            BlockStream::Fio(stream) => Some(stream),
            _ => None,
        }
    }

    /// Returns the stream of fio's generator mutably.
    pub fn fio_mut(&mut self) -> Option<&mut Stream> {
        match self.stream_mut()? {
            BlockStream::Fio(stream) => Some(stream),
            _ => None,
        }
    }

    /// Returns the sweep, if this is one.
    pub fn sweep(&self) -> Option<&Sweep> {
        match self.stream()? {
            BlockStream::Sweep(sweep) => Some(sweep),
            _ => None,
        }
    }

    /// Returns the table of transactions, if this is one.
    pub fn accesses(&self) -> Option<&Accesses> {
        match self.stream()? {
            BlockStream::Accesses(accesses) => Some(accesses),
            _ => None,
        }
    }

    /// Returns the queue of requests, if this is one.
    pub fn requests(&self) -> Option<&Requests> {
        match self.stream()? {
            BlockStream::Requests(requests) => Some(requests),
            _ => None,
        }
    }

    /// Returns the block recording to replay, if this is one.
    pub fn trace(&self) -> Option<&Recording> {
        match self.stream()? {
            BlockStream::Trace(recording) => Some(recording),
            _ => None,
        }
    }

    /// Returns the kinds of op in the stream; none if the work has no stream.
    pub fn moves(&self) -> ByKind<bool> {
        self.stream().map_or(ByKind::all(false), BlockStream::moves)
    }

    pub fn program(&self) -> Option<&Program> {
        match self {
            Work::Program(program) => Some(program),
            _ => None,
        }
    }

    pub fn copy(&self) -> Option<&CopySpec> {
        match self {
            Work::Copy(copy) => Some(copy),
            _ => None,
        }
    }

    /// Returns the recording of calls to replay, if this is one.
    pub fn replay(&self) -> Option<&Replay> {
        match self {
            Work::Replay(replay) => Some(replay),
            _ => None,
        }
    }

    pub fn net(&self) -> Option<&NetLoad> {
        match self {
            Work::Net(load) => Some(load),
            _ => None,
        }
    }

    /// Returns the kinds of op that the work is expected to make; each must have a result. Empty for a copy, whose ops
    /// depend on the types of its open files, and for a replay.
    pub fn op_kinds(&self) -> BTreeSet<OpKind> {
        let kinds_of = |moves: ByKind<bool>| {
            let flags = [(moves.read, OpKind::Read), (moves.write, OpKind::Write), (moves.trim, OpKind::Trim)];
            flags.into_iter().filter(|(moves, _)| *moves).map(|(_, kind)| kind).collect::<BTreeSet<_>>()
        };
        match self {
            Work::Blocks(stream) => {
                let mut kinds = kinds_of(stream.moves());
                match &**stream {
                    BlockStream::Plumb(blocks) if blocks.mix.write > 0 => {
                        let flushes =
                            [(blocks.fsync_every, OpKind::Fsync), (blocks.fdatasync_every, OpKind::Fdatasync)];
                        kinds.extend(flushes.into_iter().filter(|(every, _)| *every > 0).map(|(_, kind)| kind));
                    }
                    BlockStream::Sweep(sweep) => kinds.extend(sweep.call()),
                    BlockStream::Requests(_)
                    | BlockStream::Accesses(_)
                    | BlockStream::Plumb(_)
                    | BlockStream::Fio(_)
                    | BlockStream::Trace(_) => {}
                }
                kinds
            }
            Work::Program(program) => program.kinds(),
            Work::Copy(_) | Work::Replay(_) => BTreeSet::new(),
            Work::Net(load) => BTreeSet::from([load.kind()]),
        }
    }

    /// Returns `true` if the work writes or may write data. For programs, see [`Program::writes`].
    pub fn writes(&self) -> bool {
        match self {
            Work::Blocks(stream) => stream.moves().write,
            Work::Copy(copy) => copy.to.is_some(),
            Work::Program(program) => program.writes(),
            Work::Replay(_) => true,
            Work::Net(_) => false,
        }
    }

    /// Returns `true` if the work may change its target: bytes, names, or the data on a device.
    pub fn changes(&self) -> bool {
        match self {
            Work::Blocks(stream) => {
                let moves = stream.moves();
                let more = match &**stream {
                    BlockStream::Plumb(blocks) => blocks.fsync_every + blocks.fdatasync_every > 0,
                    BlockStream::Sweep(sweep) => sweep.call().is_some(),
                    BlockStream::Fio(_)
                    | BlockStream::Trace(_)
                    | BlockStream::Requests(_)
                    | BlockStream::Accesses(_) => false,
                };
                moves.write || moves.trim || more
            }
            Work::Copy(copy) => copy.to.is_some(),
            Work::Program(program) => program.is_over_file_set() || program.changes(),
            Work::Replay(_) => true,
            Work::Net(_) => false,
        }
    }

    /// Returns `true` if the work transfers data at offsets: a stream, a copy, or a program with transfers.
    pub fn is_block_io(&self) -> bool {
        match self {
            Work::Program(program) => program.transfers().next().is_some(),
            Work::Blocks(_) | Work::Copy(_) => true,
            Work::Replay(_) | Work::Net(_) => false,
        }
    }

    /// Returns `true` if the group's depth sets the number of ops in flight.
    pub fn has_queue(&self) -> bool {
        matches!(self, Work::Blocks(_))
    }

    /// Returns `true` if the work moves bytes of a file set, so that limits in bytes can end it.
    pub fn moves_bytes_of_set(&self) -> bool {
        self.program().is_some_and(|program| walk(&program.steps).any(Step::moves_bytes_of_set))
    }

    /// Returns `true` if the work pauses by itself, regardless of its group's pace.
    pub fn waits(&self) -> bool {
        match self {
            Work::Program(program) => program.waits(),
            Work::Blocks(_) => {
                self.trace().is_some_and(|recording| recording.speed_percent.is_some() || recording.in_flight)
            }
            Work::Copy(_) | Work::Net(_) => false,
            Work::Replay(_) => true,
        }
    }

    pub fn is_sweep(&self) -> bool {
        self.sweep().is_some()
    }

    /// Returns `true` if each pass covers each block of the range exactly once.
    pub fn covers_once(&self) -> bool {
        match self {
            Work::Blocks(stream) => match &**stream {
                BlockStream::Plumb(blocks) => matches!(
                    blocks.pattern,
                    Pattern::Sequential | Pattern::Reverse | Pattern::Stride { .. } | Pattern::Permutation
                ),
                BlockStream::Fio(stream) => {
                    matches!(stream.order, AccessOrder::Sequential { skip_bytes: 0 })
                        || stream.coverage != Coverage::Again
                }
                BlockStream::Sweep(sweep) => {
                    !sweep.repeat && !matches!(sweep.order, SweepOrder::Random(SweepDraw::Again | SweepDraw::Unaligned))
                }
                BlockStream::Requests(requests) => !requests.random && requests.most.is_some(),
                BlockStream::Trace(_) | BlockStream::Accesses(_) => false,
            },
            Work::Copy(_) => true,
            Work::Replay(_) | Work::Net(_) => false,
            Work::Program(program) => {
                let mut transfers = program.transfers().peekable();
                transfers.peek().is_some() && transfers.all(Transfer::covers_once)
            }
        }
    }

    /// Returns `true` if all places of the range are accessed equally often in the long run.
    pub fn is_even(&self) -> bool {
        let uniform = match self.stream() {
            Some(BlockStream::Plumb(blocks)) => blocks.pattern == Pattern::Random,
            Some(BlockStream::Fio(stream)) => stream.distribution == OffsetDistribution::Uniform,
            Some(BlockStream::Requests(_)) => true,
            Some(BlockStream::Accesses(accesses)) => accesses.is_random(),
            _ => false,
        };
        uniform || self.covers_once()
    }

    /// Returns `true` if the flush at the end of the phase covers its writes.
    pub fn is_flushed_by_phase(&self) -> bool {
        // Writes to named files are flushed only by the program's own steps.
        self.program().is_none_or(Program::is_over_file_set)
    }

    /// Returns the size of the largest op in bytes; `None` if unknown before the run.
    pub fn largest_op_bytes(&self) -> Option<u64> {
        match self {
            Work::Blocks(stream) => match &**stream {
                BlockStream::Plumb(blocks) => Some(blocks.block.max().0.max(write_block(blocks).max().0)),
                BlockStream::Fio(stream) => Some(stream.sizes.read.max().0.max(stream.sizes.write.max().0)),
                BlockStream::Sweep(sweep) => Some(sweep.block.0),
                BlockStream::Requests(requests) => Some(requests.block.0),
                BlockStream::Accesses(accesses) => Some(accesses.sizes().1),
                BlockStream::Trace(_) => None,
            },
            Work::Copy(copy) => Some(copy.read_block.0.max(copy.write_block.0)),
            Work::Replay(_) | Work::Net(_) => None,
            Work::Program(program) if program.is_over_file_set() => None,
            Work::Program(program) => Some(program.transfers().map(Transfer::largest_bytes).max().unwrap_or(0)),
        }
    }

    /// Returns the size of every op in bytes, ignoring shorter ones at the ends of files. `None` if sizes differ or
    /// are unknown before the run.
    pub fn op_bytes(&self) -> Option<u64> {
        let all = |sizes: &[(Bytes, Bytes)]| {
            let first = sizes.first()?.0;
            sizes.iter().all(|size| *size == (first, first)).then_some(first.0)
        };
        match self {
            Work::Blocks(stream) => match &**stream {
                BlockStream::Plumb(blocks) => {
                    let ends = |size: &BlockSize| (size.min(), size.max());
                    all(&[ends(&blocks.block), ends(write_block(blocks))])
                }
                BlockStream::Fio(stream) => {
                    let (read, write) = (&stream.sizes.read, &stream.sizes.write);
                    all(&[(read.min(), read.max()), (write.min(), write.max())])
                }
                BlockStream::Sweep(sweep) => Some(sweep.block.0),
                BlockStream::Requests(requests) => Some(requests.block.0),
                BlockStream::Accesses(accesses) => {
                    let (smallest, largest) = accesses.sizes();
                    (smallest == largest).then_some(largest)
                }
                BlockStream::Trace(_) => None,
            },
            Work::Copy(copy) => all(&[(copy.read_block, copy.write_block)]),
            Work::Program(_) | Work::Replay(_) | Work::Net(_) => None,
        }
    }

    /// Returns the sizes and offset steps of all writes, in bytes. An offset aligned to all of them is aligned to
    /// every write.
    pub fn write_steps(&self) -> Vec<u64> {
        match self {
            Work::Blocks(stream) if stream.moves().write => match &**stream {
                BlockStream::Plumb(blocks) => {
                    let size = write_block(blocks).min().0;
                    let step = blocks.align.map_or(size, |align| align.0);
                    vec![size, step, blocks.offset.0, blocks.offset_increment.0]
                }
                BlockStream::Fio(stream) => {
                    let starts = stream.ranges.iter().map(|range| range.start.0);
                    [stream.sizes.write.min().0, stream.align.write.0].into_iter().chain(starts).collect()
                }
                BlockStream::Sweep(sweep) => vec![sweep.block.0],
                BlockStream::Requests(requests) => vec![requests.block.0],
                BlockStream::Accesses(accesses) => accesses.write_steps(),
                BlockStream::Trace(_) => Vec::new(),
            },
            Work::Copy(copy) if copy.to.is_some() => {
                vec![copy.write_block.0, copy.seek.length_bytes(copy.write_block).unwrap_or(0)]
            }
            Work::Program(program) => {
                let writes = program.transfers().filter(|transfer| transfer.does.writes());
                writes.map(|transfer| transfer.record.0).collect()
            }
            Work::Blocks(_) | Work::Copy(_) | Work::Replay(_) | Work::Net(_) => Vec::new(),
        }
    }

    /// Returns the offset at which a program's furthest timed transfer ends, in bytes; `None` for other work.
    pub fn reach_bytes(&self) -> Option<u64> {
        self.program().map(Program::reach_bytes)
    }

    /// Returns the default write content as a compressing or deduplicating device sees it; `None` if the target
    /// decides, or if the work writes nothing.
    pub(crate) fn own_content(&self) -> Option<Content> {
        match self {
            Work::Blocks(stream) if !stream.is_plumb() && stream.moves().write => Some(Content::Random),
            Work::Program(program) if program.writes() => Some(match program.postmarks().next() {
                Some(_) => POSTMARK,
                None => program_content(&program.content),
            }),
            _ => None,
        }
    }
}

fn write_block(blocks: &Blocks) -> &BlockSize {
    blocks.write_block.as_ref().unwrap_or(&blocks.block)
}

/// Returns the content of a program's records as a compressing or deduplicating device sees it.
fn program_content(content: &ProgramContent) -> Content {
    match content {
        ProgramContent::Zeros => Content::Zero,
        // All records are the same except for one byte.
        ProgramContent::Words { .. } | ProgramContent::Counted | ProgramContent::Ascending => {
            Content::Reducible { compress_percent: 99, duplicate_percent: 99 }
        }
        ProgramContent::Reducible { compress_percent, duplicate_percent } => {
            Content::Reducible { compress_percent: *compress_percent, duplicate_percent: *duplicate_percent }
        }
        ProgramContent::Packets(Packets { kind: PacketKind::Random, .. })
        | ProgramContent::UniqueWords { .. }
        | ProgramContent::Sysbench { .. }
        | ProgramContent::Random => Content::Random,
        // Counting words, or one repeated word.
        ProgramContent::Packets(_) => Content::Reducible { compress_percent: 75, duplicate_percent: 99 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::Mix;
    use crate::program::{Choice, Moves, OpenStep, Pick};
    use crate::units::{Bytes, Nanos};

    fn program(steps: Vec<Step>) -> Work {
        Work::Program(Box::new(Program::new(steps)))
    }

    fn blocks(mix: Mix) -> Work {
        Blocks { mix, ..Blocks::default() }.into()
    }

    fn moves(does: Moves) -> Work {
        let transfer = Transfer::forward(does, Bytes(4096), 4);
        let open = Step::Open(OpenStep { read: true, write: does.writes(), ..OpenStep::default() });
        program(vec![open, Step::Transfer(transfer)])
    }

    /// Protects metrics for nested steps: kinds of op within loops and choices are found, and
    /// those never chosen are not.
    #[test]
    fn op_kinds_are_found_at_any_depth() {
        let stat = Step::Stat { file: Pick::Random };
        let choices = vec![
            Choice { weight: 1.0, steps: vec![Step::Mkdir { file: Pick::Usual, mode: None, may_exist: false }] },
            Choice { weight: 0.0, steps: vec![Step::Rmdir { file: Pick::Usual }] },
        ];
        let work = program(vec![Step::Loop { times: 2, steps: vec![stat, Step::Mix { choices }] }]);
        assert_eq!(work.op_kinds(), BTreeSet::from([OpKind::Stat, OpKind::Mkdir]));
        assert!(!work.moves_bytes_of_set() && work.changes());
    }

    #[test]
    fn waiting_programs_are_recognised() {
        let wait = Step::Delay { time: Nanos(1) };
        assert!(program(vec![Step::Loop { times: 2, steps: vec![wait] }]).waits());
        assert!(!program(vec![Step::Readdir {}]).waits());
    }

    /// Protects storage that must not change: only work that reads may run on it.
    #[test]
    fn work_that_changes_its_target_is_recognised() {
        for (work, changes) in [
            (blocks(Mix::READ), false),
            (blocks(Mix::WRITE), true),
            (blocks(Mix { read: 1, write: 0, trim: 1 }), true),
            (moves(Moves::Read), false),
            (moves(Moves::Write), true),
            (program(vec![Step::Readdir {}]), true),
        ] {
            assert_eq!(work.changes(), changes, "{work:?}");
        }
    }

    #[test]
    fn write_steps_include_sizes_and_offsets() {
        let even = Blocks { mix: Mix::WRITE, ..Blocks::default() };
        let work = Work::from(Blocks { offset: Bytes(512), align: Some(Bytes(1024)), ..even });
        assert_eq!(work.write_steps()[1..], [1024, 512, 0]);
        assert_eq!(blocks(Mix::READ).write_steps(), [0; 0]);
        assert_eq!((moves(Moves::Write).write_steps(), moves(Moves::Write).reach_bytes()), (vec![4096], Some(16384)));
    }
}
