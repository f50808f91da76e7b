//! What a work says of itself, to those who neither run nor make it: which ops it makes, how it goes over its range, what
//! it writes, how it waits and how it ends. Whoever asks here need not know which kinds of work there are.

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

/// What makes the writes of a work durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnFlush {
    /// Nothing of its own: the end of its phase does.
    ByPhase,
    /// It writes nothing.
    Nothing,
    /// Itself, all of it.
    All,
    /// Itself, and not all of it.
    Part,
    /// Nothing while its clock runs, whatever happens behind it.
    Never,
}

/// PostMark's files are all the same text from its beginning, of 95 characters: a byte holds 6.6 bits of chance, and no
/// block of 4 KiB is new where another file has it.
const POSTMARK: Content = Content::Reducible { compress_percent: 18, duplicate_percent: 99 };

impl Work {
    /// The stream of its ops, where it is block I/O.
    pub fn stream(&self) -> Option<&BlockStream> {
        match self {
            Work::Blocks(stream) => Some(stream),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn stream_mut(&mut self) -> Option<&mut BlockStream> {
        match self {
            Work::Blocks(stream) => Some(stream),
            _ => None,
        }
    }

    /// Its stream, where a generator of another tool makes it.
    pub fn foreign_stream(&self) -> Option<&BlockStream> {
        self.stream().filter(|stream| !stream.is_plumb())
    }

    /// Its pattern, where it is block I/O by Plumb's own generator.
    pub fn blocks(&self) -> Option<&Blocks> {
        match self.stream()? {
            BlockStream::Plumb(blocks) => Some(blocks),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn blocks_mut(&mut self) -> Option<&mut Blocks> {
        match self.stream_mut()? {
            BlockStream::Plumb(blocks) => Some(blocks),
            _ => None,
        }
    }

    /// What is drawn as fio draws it, where it is that.
    pub fn fio(&self) -> Option<&Stream> {
        match self.stream()? {
            BlockStream::Fio(stream) => Some(stream),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn fio_mut(&mut self) -> Option<&mut Stream> {
        match self.stream_mut()? {
            BlockStream::Fio(stream) => Some(stream),
            _ => None,
        }
    }

    /// The sweep, where it is one.
    pub fn sweep(&self) -> Option<&Sweep> {
        match self.stream()? {
            BlockStream::Sweep(sweep) => Some(sweep),
            _ => None,
        }
    }

    /// The transactions of a table, where it is that.
    pub fn accesses(&self) -> Option<&Accesses> {
        match self.stream()? {
            BlockStream::Accesses(accesses) => Some(accesses),
            _ => None,
        }
    }

    /// The requests from one queue, where it is that.
    pub fn requests(&self) -> Option<&Requests> {
        match self.stream()? {
            BlockStream::Requests(requests) => Some(requests),
            _ => None,
        }
    }

    /// The recording that it replays, where it does.
    pub fn trace(&self) -> Option<&Recording> {
        match self.stream()? {
            BlockStream::Trace(recording) => Some(recording),
            _ => None,
        }
    }

    /// The kinds of op among those of its stream.
    pub fn moves(&self) -> ByKind<bool> {
        self.stream().map_or(ByKind::all(false), BlockStream::moves)
    }

    /// The program, where it is one.
    pub fn program(&self) -> Option<&Program> {
        match self {
            Work::Program(program) => Some(program),
            _ => None,
        }
    }

    /// The copy, where it is one.
    pub fn copy(&self) -> Option<&CopySpec> {
        match self {
            Work::Copy(copy) => Some(copy),
            _ => None,
        }
    }

    /// The recording of calls that it replays, where it does.
    pub fn replay(&self) -> Option<&Replay> {
        match self {
            Work::Replay(replay) => Some(replay),
            _ => None,
        }
    }

    /// The network work, where it is that.
    pub fn net(&self) -> Option<&NetLoad> {
        match self {
            Work::Net(load) => Some(load),
            _ => None,
        }
    }

    /// The kinds of op that it is meant to make; each of them owes a number. Which ops a copy makes follows from what its
    /// ends are, which shows only when they are opened.
    pub fn op_kinds(&self) -> BTreeSet<OpKind> {
        let of = |moves: ByKind<bool>| {
            let said = [(moves.read, OpKind::Read), (moves.write, OpKind::Write), (moves.trim, OpKind::Trim)];
            said.into_iter().filter(|(moves, _)| *moves).map(|(_, kind)| kind).collect::<BTreeSet<_>>()
        };
        match self {
            Work::Blocks(stream) => {
                let mut kinds = of(stream.moves());
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

    /// Whether its block I/O writes.
    pub fn writes(&self) -> bool {
        match self {
            Work::Blocks(stream) => stream.moves().write,
            Work::Copy(copy) => copy.to.is_some(),
            Work::Program(program) => program.writes(),
            Work::Replay(_) => true,
            Work::Net(_) => false,
        }
    }

    /// Whether it may change anything of its target: bytes, names, or what lies on the device.
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

    /// Whether all that moves bytes is block I/O.
    pub fn is_block_io(&self) -> bool {
        match self {
            Work::Program(program) => program.transfers().next().is_some(),
            Work::Blocks(_) | Work::Copy(_) => true,
            Work::Replay(_) | Work::Net(_) => false,
        }
    }

    /// Whether its group's depth says how many ops are in flight.
    pub fn has_queue(&self) -> bool {
        matches!(self, Work::Blocks(_))
    }

    /// Whether it moves bytes of a file set, so that limits in bytes can end it.
    pub fn moves_bytes_of_set(&self) -> bool {
        self.program().is_some_and(|program| walk(&program.steps).any(Step::moves_bytes_of_set))
    }

    /// Whether it pauses by itself, whatever its group's pace is.
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

    /// Whether it goes part by part.
    pub fn is_sweep(&self) -> bool {
        self.sweep().is_some()
    }

    /// Whether it goes over each block of its range exactly once a pass.
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

    /// Whether it goes to every place of its range as often as to any other, sooner or later.
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

    /// Whether the flush at the end of its phase reaches what it wrote.
    pub fn is_flushed_by_phase(&self) -> bool {
        // What is written to named files, only the program's own steps flush.
        self.program().is_none_or(Program::is_over_file_set)
    }

    /// Bytes of its largest op; `None` where that is not known before it runs.
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

    /// Bytes of each of its ops, but for shorter ones at the ends of files; `None` where they differ, or that is not known
    /// before it runs.
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

    /// Sizes and places of its writes, bytes: whatever is aligned to all of them is aligned to each write.
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

    /// How far it reaches in files that have no size beforehand, bytes.
    pub fn reach_bytes(&self) -> Option<u64> {
        self.program().map(Program::reach_bytes)
    }

    /// What it writes where its group does not say, to something that makes bytes smaller; `None` where its target
    /// decides, or it writes nothing.
    pub(crate) fn own_content(&self) -> Option<Content> {
        match self {
            Work::Blocks(stream) if !stream.is_plumb() && stream.moves().write => Some(Content::Random),
            Work::Program(program) if program.writes() => Some(match program.postmarks().next() {
                Some(_) => POSTMARK,
                None => of_program(&program.content),
            }),
            _ => None,
        }
    }
}

fn write_block(blocks: &Blocks) -> &BlockSize {
    blocks.write_block.as_ref().unwrap_or(&blocks.block)
}

/// What a program's records are to something that makes bytes smaller.
fn of_program(content: &ProgramContent) -> Content {
    match content {
        ProgramContent::Zeros => Content::Zero,
        // All records are the same, but for a byte.
        ProgramContent::Words { .. } | ProgramContent::Counted | ProgramContent::Ascending => {
            Content::Reducible { compress_percent: 99, duplicate_percent: 99 }
        }
        ProgramContent::Reducible { compress_percent, duplicate_percent } => {
            Content::Reducible { compress_percent: *compress_percent, duplicate_percent: *duplicate_percent }
        }
        ProgramContent::Packets(Packets { kind: PacketKind::Random, .. })
        | ProgramContent::Told { .. }
        | ProgramContent::Sysbench { .. }
        | ProgramContent::Random => Content::Random,
        // Words that count up, or one that is repeated.
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

    /// Kinds within loops and choices owe numbers like any other; what can never be chosen owes none.
    #[test]
    fn kinds_are_found_at_any_depth() {
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
    fn a_program_that_waits_says_so() {
        let wait = Step::Delay { time: Nanos(1) };
        assert!(program(vec![Step::Loop { times: 2, steps: vec![wait] }]).waits());
        assert!(!program(vec![Step::Readdir {}]).waits());
    }

    /// What only reads may be let loose on storage that must stay as it is; everything else must not.
    #[test]
    fn what_may_change_its_target_says_so() {
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
    fn what_is_written_says_where_its_blocks_begin() {
        let even = Blocks { mix: Mix::WRITE, ..Blocks::default() };
        let work = Work::from(Blocks { offset: Bytes(512), align: Some(Bytes(1024)), ..even });
        assert_eq!(work.write_steps()[1..], [1024, 512, 0]);
        assert_eq!(blocks(Mix::READ).write_steps(), [0; 0]);
        assert_eq!((moves(Moves::Write).write_steps(), moves(Moves::Write).reach_bytes()), (vec![4096], Some(16384)));
    }
}
