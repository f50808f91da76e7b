//! Turns a command line into a workload: one phase with one copy.

use super::keywords::{Conv, Flag, Personality};
use super::operands::{Compat, Dd};
use plumb_result::copy::CopyStep;
use plumb_workload::copy::{Characters, Conversion, CopyExtent, CopyFlags, CopySpec, CreateOutput, Letters, LineRules};
use plumb_workload::files::{JobFiles, Names};
use plumb_workload::{Bytes, CachePolicy, End, Flush, NullTarget, Phase, Target, Work, WorkerGroup, Workload};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// dd's default block size in bytes.
const BLOCK_BYTES: u64 = 512;

/// Name of the only phase.
pub const PHASE: &str = "copy";

const INPUT: &str = "input";
const OUTPUT: &str = "output";
const STREAMS: &str = "streams";

/// Ends that store nothing. Whether the page cache is bypassed depends on the other end.
const FORGETFUL: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Returns the workload of a command line.
pub fn lower(dd: &Dd) -> Workload {
    let copy = copy(dd);
    let mut target = BTreeMap::new();
    for (name, path) in [(INPUT, &dd.input), (OUTPUT, &dd.output)] {
        if let Some(path) = path {
            let names = Names::Given(vec![PathBuf::from(path)]);
            target.insert(
                name.to_owned(),
                Target::JobFiles(JobFiles { names, lengths: Vec::new(), typed: Vec::new(), make_below: None }),
            );
        }
    }
    let keeps = |path: &Option<String>| path.as_deref().is_some_and(|path| !FORGETFUL.contains(&path));
    let used = match (&copy.from, &copy.to) {
        (_, Some(_)) if keeps(&dd.output) => OUTPUT,
        (Some(_), _) => INPUT,
        (None, Some(_)) => OUTPUT,
        (None, None) => {
            target.insert(STREAMS.to_owned(), Target::Null(NullTarget::with_size(Bytes(copy.read_block.0))));
            STREAMS
        }
    };
    let ends = [(keeps(&dd.input), copy.input.direct), (keeps(&dd.output), copy.output.direct)];
    let mut kept = ends.iter().filter(|(keeps, _)| *keeps).peekable();
    let is_direct = kept.peek().is_some() && kept.all(|(_, direct)| *direct);
    let phase = Phase {
        cache: if is_direct { CachePolicy::Direct } else { CachePolicy::AsIs },
        // A copy flushes by itself.
        end: End { flush: Flush::None, ..End::default() },
        ..Phase::new(
            PHASE,
            vec![WorkerGroup { name: Some("dd".to_owned()), ..WorkerGroup::new(used, Work::Copy(Box::new(copy))) }],
        )
    };
    Workload {
        name: "dd".to_owned(),
        description: format!("A copy like that of {} dd.", dd.personality.full_name()),
        seed: Workload::DEFAULT_SEED,
        target,
        phase: vec![phase],
        repeat: None,
    }
}

/// Returns the copy that a command line asks for.
pub fn copy(dd: &Dd) -> CopySpec {
    let has = |one: Conv| dd.conversions.contains(&one);
    let input_block = dd.block.or(dd.input_block).unwrap_or(BLOCK_BYTES);
    let output_block = dd.block.or(dd.output_block).unwrap_or(BLOCK_BYTES);
    let conversion = conversion(dd);
    let counts_bytes =
        |number: super::number::Number, flags: &[Flag], flag| number.counts_bytes || flags.contains(&flag);
    let extent = |number: Option<super::number::Number>, in_bytes: bool, block: u64| match number {
        None => CopyExtent::default(),
        Some(number) if in_bytes => CopyExtent { blocks: number.value / block, bytes: number.value % block },
        Some(number) => CopyExtent { blocks: number.value, bytes: 0 },
    };
    let in_bytes = |number: Option<super::number::Number>, flags, flag| {
        number.is_some_and(|number| counts_bytes(number, flags, flag))
    };
    // For the BSDs a count of 0 means no limit.
    let count = dd.count.filter(|count| count.value > 0 || dd.personality == Personality::Gnu);
    let is_plain = dd.block.is_none()
        && dd.input_block.is_none()
        && dd.output_block.is_none()
        && dd.record.is_none()
        && dd.conversions.is_empty()
        && dd.input_flags.is_empty()
        && dd.output_flags.is_empty();
    let of_lines = conversion.lines.is_some();
    let seek = extent(dd.seek, in_bytes(dd.seek, &dd.output_flags, Flag::SeekBytes), output_block);
    CopySpec {
        from: dd.input.as_ref().map(|_| INPUT.to_owned()),
        to: dd.output.as_ref().map(|_| OUTPUT.to_owned()),
        read_block: Bytes(input_block),
        write_block: Bytes(output_block),
        gathers: dd.block.is_none() || !conversion.is_nothing() || wants_characters(dd),
        full_blocks: dd.input_flags.contains(&Flag::Fullblock),
        skip: extent(dd.skip, in_bytes(dd.skip, &dd.input_flags, Flag::SkipBytes), input_block),
        seek,
        count: count.map(|_| extent(count, in_bytes(count, &dd.input_flags, Flag::CountBytes), input_block)),
        conversion,
        pad: has(Conv::Sync).then_some(dd.fill.unwrap_or(if of_lines { b' ' } else { 0 })),
        sparse: has(Conv::Sparse),
        passes_over_read_errors: has(Conv::Noerror),
        create: match (has(Conv::Nocreat), has(Conv::Excl)) {
            (true, _) => CreateOutput::Never,
            (false, true) => CreateOutput::Always,
            (false, false) => CreateOutput::IfMissing,
        },
        truncate: !has(Conv::Notrunc),
        empties: !has(Conv::Notrunc) && dd.personality == Personality::Gnu && seek.blocks == 0 && !seek.is_empty(),
        fdatasync: has(Conv::Fdatasync),
        fsync: has(Conv::Fsync),
        input: flags(&dd.input_flags),
        output: flags(&dd.output_flags),
        in_kernel: is_plain && dd.personality == Personality::Gnu && dd.compat == Compat::Right,
    }
}

/// A position beyond the maximum length of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreachable {
    /// The initial length of the output.
    Length { blocks: u64, block_bytes: u64 },
    /// An offset to skip or seek to.
    Place(CopyStep),
}

/// Returns the first position beyond the maximum length of a file, as GNU dd detects it.
pub fn unreachable(dd: &Dd) -> Option<Unreachable> {
    let copy = copy(dd);
    if copy.seek.length_bytes(copy.write_block).is_none() {
        let (blocks, block_bytes) = (copy.seek.blocks, copy.write_block.0);
        let is_cut = copy.truncate && dd.output.is_some() && dd.personality == Personality::Gnu;
        return Some(if is_cut {
            Unreachable::Length { blocks, block_bytes }
        } else {
            Unreachable::Place(CopyStep::Seek)
        });
    }
    let skips = copy.skip.length_bytes(copy.read_block).is_some();
    (!skips).then_some(Unreachable::Place(CopyStep::Skip))
}

fn wants_characters(dd: &Dd) -> bool {
    [Conv::Block, Conv::Unblock].into_iter().any(|one| dd.conversions.contains(&one))
}

fn conversion(dd: &Dd) -> Conversion {
    let has = |one: Conv| dd.conversions.contains(&one);
    let record = dd.record.map(Bytes);
    let to_records = [Conv::Block, Conv::Ebcdic, Conv::Ibm].into_iter().any(has);
    let from_records = [Conv::Unblock, Conv::Ascii].into_iter().any(has);
    Conversion {
        characters: match (has(Conv::Ascii), has(Conv::Ebcdic), has(Conv::Ibm)) {
            (true, _, _) => Some(Characters::Ascii),
            (_, true, _) => Some(Characters::Ebcdic),
            (_, _, true) => Some(Characters::Ibm),
            _ => None,
        },
        letters: match (has(Conv::Lcase), has(Conv::Ucase)) {
            (true, _) => Some(Letters::Lower),
            (_, true) => Some(Letters::Upper),
            _ => None,
        },
        swap_pairs: has(Conv::Swab),
        // Without a record length there are no records.
        lines: match (to_records, from_records) {
            (true, _) => record.map(LineRules::ToRecords),
            (_, true) => record.map(LineRules::FromRecords),
            _ => None,
        },
    }
}

fn flags(flags: &[Flag]) -> CopyFlags {
    let has = |flag: Flag| flags.contains(&flag);
    CopyFlags {
        append: has(Flag::Append),
        direct: has(Flag::Direct),
        directory: has(Flag::Directory),
        dsync: has(Flag::Dsync),
        sync: has(Flag::Sync),
        nonblock: has(Flag::Nonblock),
        noatime: has(Flag::Noatime),
        nocache: has(Flag::Nocache),
        noctty: has(Flag::Noctty),
        nofollow: has(Flag::Nofollow),
    }
}

/// Formats the plan of a copy, one line per fact.
pub fn plan(dd: &Dd) -> String {
    let copy = copy(dd);
    let end = |path: &Option<String>, stream: &str| path.clone().unwrap_or_else(|| format!("standard {stream}"));
    let extent = |extent: CopyExtent| match extent {
        CopyExtent { blocks, bytes: 0 } => format!("{blocks} blocks"),
        CopyExtent { blocks, bytes } => format!("{blocks} blocks and {bytes} bytes"),
    };
    let mut lines = vec![
        format!("reads   {} in blocks of {} bytes", end(&dd.input, "input"), copy.read_block.0),
        format!("writes  {} in blocks of {} bytes", end(&dd.output, "output"), copy.write_block.0),
    ];
    if !copy.skip.is_empty() {
        lines.push(format!("skips   {} of the input", extent(copy.skip)));
    }
    if !copy.seek.is_empty() {
        lines.push(format!("skips   {} of the output", extent(copy.seek)));
    }
    lines.push(match copy.count {
        Some(count) => format!("ends    after {}, or with the input", extent(count)),
        None => "ends    with the input".to_owned(),
    });
    if dd.output.is_some() {
        let content = if copy.truncate { "is truncated" } else { "not truncated" };
        lines.push(format!("output  {content}"));
    }
    if copy.fsync || copy.fdatasync {
        lines.push("flushed within the timed part".to_owned());
    }
    if copy.in_kernel {
        lines.push("between files and pipes, the kernel copies by itself in its own block sizes".to_owned());
    }
    lines.push(String::new());
    lines.join("\n")
}
