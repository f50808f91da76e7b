//! Turns a job into the fixed part of its sources.

use super::parts::{Part, Parts};
use super::random_map::Register;
use super::script::{
    FileHandling, Flushing, Handing, Kind, Limits, Mix, OffsetOrder, Opening, PlannedCoverage, PlannedDistribution,
    Random, Script, SeedPlan, Verifying, three,
};
use super::sizes::Sizes;
use super::steady_state;
use crate::files::Lengths;
use crate::rng::fio::{Seeds, Width};
use plumb_workload::Verify;
use plumb_workload::blocks::fio::{AccessOrder, Coverage, FileRange, OffsetDistribution, RandomGenerator, Stream};
use plumb_workload::files::{FileRules, Syncs};
use std::sync::Arc;
use thiserror::Error;

/// Input for a [`FioPlan`].
#[derive(Debug, Clone, Copy)]
pub struct FioPlanRequest<'a> {
    pub stream: &'a Stream,
    /// Rules for opening, sharing and removing the job's files.
    pub files: &'a FileRules,
    /// Flushes between the job's ops and at its end.
    pub syncs: &'a Syncs,
    /// Settings for verification; `None` if the job does not verify.
    pub verify: Option<&'a Verify>,
    /// Length of each of the target's files and devices, in bytes.
    pub(crate) file_lengths: &'a Lengths,
    /// Offsets and lengths of reads and writes must be multiples of this, in bytes; 1 allows any.
    pub io_alignment_bytes: u64,
    /// Whether the backend queues ops or completes each within its call.
    pub handing: Handing,
    /// Whether the job's ops use the page cache on files that stay open.
    pub cached: bool,
    /// Whether a log should contain where the job opens and closes its files.
    pub noted: bool,
}

/// Error from planning a job.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum FioPlanError {
    /// The job has no file, or no range in one.
    #[error("the job has no file or no range of one; name a file, and give `ranges` at least one entry")]
    NoFile,
    /// The job neither reads nor writes nor trims.
    #[error("the job has no reads, writes or trims; set a `read-percent`, or `trims = true`")]
    NoKind,
    /// No part of any file has room for an op.
    #[error("no file has room for one op of {smallest} bytes in its range; use smaller ops or a longer range")]
    NoRoom {
        /// Bytes of the smallest op.
        smallest: u64,
    },
    /// A size is 0, or exceeds the maximum of an op.
    #[error("an op of {bytes} bytes is not possible; use sizes from 1 byte to below 4 GiB")]
    Size { bytes: u64 },
    /// Direct I/O needs multiples of the alignment.
    #[error(
        "{what} of {bytes} bytes is not a multiple of the {alignment} bytes that direct I/O needs here; use a multiple, \
         or leave `direct` out"
    )]
    Unaligned {
        /// The setting that is not a multiple, for the message.
        what: &'static str,
        bytes: u64,
        alignment: u64,
    },
    #[error("`unaligned-sizes` is not possible with direct I/O; leave it or `direct` out")]
    UnalignedSizes,
    #[error("a trim of {ranges} ranges is not supported, because every op has one range; use `ranges-per-trim = 1`")]
    RangesPerTrim { ranges: u32 },
    /// The seed is the one state that the register cannot leave.
    #[error(
        "the shift register cannot cover {blocks} blocks with this job's seed; use `coverage = \"once\"`, or \
         another seed"
    )]
    Register { blocks: u64 },
    /// The map of used blocks does not fit into memory.
    #[error(
        "remembering which of {blocks} blocks were used needs {bytes} bytes of memory, more than the machine has; use larger \
         blocks, a smaller range, `coverage = \"again\"` (fio: norandommap) or `\"once-by-register\"` \
         (random_generator=lfsr)"
    )]
    MapMemory {
        blocks: u64,
        /// Memory that the map needs.
        bytes: u64,
    },
    #[error("a shift register covers all blocks evenly and supports no other distribution; use another `coverage`")]
    RegisterWithDistribution,
    /// The steady state cannot be reached.
    #[error("steady state: {problem}")]
    SteadyState {
        /// The invalid setting, and the way out.
        problem: String,
    },
    /// A block of the list is outside the range.
    #[error(
        "block {block} of the sequence is outside the range, which has {blocks} blocks; use smaller numbers or a longer range"
    )]
    SequenceBeyond {
        block: u64,
        /// Number of blocks in the range.
        blocks: u64,
    },
    #[error("the sequence of blocks is empty; list at least one")]
    EmptySequence,
    /// The zones exceed the range.
    #[error("the zones need {zones} bytes, but the range has {range}; use smaller zones or a longer range")]
    ZonesBeyond {
        /// Bytes of all zones.
        zones: u64,
        /// Bytes of the range.
        range: u64,
    },
    /// The access shares of the zones do not add up to 100 %.
    #[error("the accesses of the zones add up to {percent} %; make them 100 %")]
    ZoneShares { percent: u32 },
    /// A curve has an invalid parameter.
    #[error("invalid distribution: {problem}")]
    Curve {
        /// The parameter with its valid range.
        problem: &'static str,
    },
    /// A zone has no room for an op.
    #[error("a zone of {range} bytes has no room for an op of {largest}; use larger zones")]
    Stride {
        /// Bytes of a zone.
        range: u64,
        /// Bytes of the largest op.
        largest: u64,
    },
    /// A setting must not be 0.
    #[error("`{what}` is 0; use at least 1, or leave it out")]
    Zero { what: &'static str },
}

/// The plan of a job's ops.
#[derive(Debug, Clone)]
pub struct FioPlan {
    pub(super) script: Arc<Script>,
}

impl FioPlan {
    /// Plans a job.
    pub fn new(request: &FioPlanRequest<'_>) -> Result<FioPlan, FioPlanError> {
        let script = script(request)?;
        check_alignment(&script, request.io_alignment_bytes)?;
        Ok(FioPlan { script: Arc::new(script) })
    }

    /// Returns the size of the largest op that moves data, in bytes: the required buffer size.
    pub(crate) fn largest_block_bytes(&self) -> u64 {
        self.used().map(|sizes| sizes.largest).max().unwrap_or_default()
    }

    /// Returns the size of the smallest op that moves data, in bytes. A used block can shorten one further.
    pub(crate) fn smallest_block_bytes(&self) -> u64 {
        self.used().map(|sizes| sizes.smallest).min().unwrap_or_default()
    }

    /// Returns the number of distinct bytes that the job's ops can touch.
    pub fn working_set_bytes(&self) -> u64 {
        let bytes = |part: &Part| part.length.min(part.file_length.saturating_sub(part.start));
        self.script.parts.sum(bytes)
    }

    fn used(&self) -> impl Iterator<Item = &Sizes> {
        let script = &*self.script;
        Kind::ALL
            .into_iter()
            .filter(|kind| script.sizes_by_order || uses(script, *kind))
            .map(|kind| &script.sizes[kind as usize])
    }
}

fn uses(script: &Script, kind: Kind) -> bool {
    script.mix.has(kind)
}

fn mix(stream: &Stream) -> Result<Mix, FioPlanError> {
    match (stream.read_percent, stream.trims) {
        (None, true) => Ok(Mix::Only(Kind::Trim)),
        (Some(_), true) => Ok(Mix::TrimWrite),
        (Some(100..), false) => Ok(Mix::Only(Kind::Read)),
        (Some(0), false) => Ok(Mix::Only(Kind::Write)),
        (Some(percent), false) => Ok(Mix::ReadWrite(percent)),
        (None, false) => Err(FioPlanError::NoKind),
    }
}

fn script(request: &FioPlanRequest<'_>) -> Result<Script, FioPlanError> {
    let stream = request.stream;
    let mix = mix(stream)?;
    if stream.ranges_per_trim > 1 {
        return Err(FioPlanError::RangesPerTrim { ranges: stream.ranges_per_trim });
    }
    let sizes = three(&stream.sizes).map(|size| Sizes::new(&size, stream.unaligned_sizes));
    for kind in Kind::ALL.into_iter().filter(|kind| stream.sizes_by_order || mix.has(*kind)) {
        let Sizes { smallest, largest, .. } = sizes[kind as usize];
        for bytes in [smallest, largest] {
            if bytes == 0 || bytes > u64::from(u32::MAX) {
                return Err(FioPlanError::Size { bytes });
            }
        }
    }
    let random = matches!(stream.order, AccessOrder::Random { .. });
    // Sequential jobs align only to their sizes.
    let mut align = three(&stream.align).map(|align| align.0);
    for (align, sizes) in align.iter_mut().zip(&sizes) {
        if *align == 0 || !random {
            *align = sizes.smallest.max(1);
        }
    }
    let parts = parts(request, stream, &sizes, align)?;
    let smallest = Kind::ALL.into_iter().filter(|kind| mix.has(*kind)).map(|kind| sizes[kind as usize].smallest).min();
    let smallest = smallest.unwrap_or_default();
    let room = |part: &Part| part.length.min(part.file_length.saturating_sub(part.start));
    if parts.distinct().all(|part| room(part) < smallest) {
        return Err(FioPlanError::NoRoom { smallest });
    }
    let seeds = Seeds::new(stream.seed, stream.worker_number, stream.seeding);
    let offset_order = plan_offset_order(stream, mix, &sizes, align, &parts, &seeds)?;
    let most_mapped = parts.distinct().map(|part| part.mapped).max().unwrap_or_default();
    let wide = match stream.generator {
        RandomGenerator::Taus258 => true,
        RandomGenerator::Taus88 => random && most_mapped > u64::from(u32::MAX),
        RandomGenerator::Taus88Only => false,
    };
    if let Some(zones) = &stream.zones {
        let largest = sizes.iter().map(|sizes| sizes.largest).max().unwrap_or_default();
        if zones.range.0 < largest {
            return Err(FioPlanError::Stride { range: zones.range.0, largest });
        }
        if zones.size.0 == 0 {
            return Err(FioPlanError::Zero { what: "zones.size" });
        }
    }
    let open_files = stream.open_files.map_or(parts.count(), |most| most as usize);
    if open_files == 0 {
        return Err(FioPlanError::Zero { what: "open-files" });
    }
    let removes = request.files.unlink_each_loop && stream.repeats();
    let yields = open_files < parts.count() || request.files.create_on_open || removes;
    let verifying = request.verify.map(|verify| Verifying {
        read_back: verify.read_back,
        only: verify.only,
        backlog: verify.backlog.filter(|backlog| *backlog > 0),
        batch: verify.backlog_batch.filter(|batch| *batch > 0).map_or(verify.backlog.unwrap_or_default(), u64::from),
        redraw: verify.redraw,
    });
    Ok(Script {
        mix,
        offset_order,
        sizes,
        sizes_by_order: stream.sizes_by_order,
        align,
        files: FileHandling {
            choice: stream.file_choice,
            open_files,
            opening: match (yields, request.noted) {
                (true, _) => Opening::Yielded,
                (false, true) => Opening::Noted,
                (false, false) => Opening::Before,
            },
            notes: request.noted,
            removes,
            evicts: request.cached && request.files.drop_cached && !request.files.direct,
        },
        zones: stream.zones,
        limits: Limits {
            size: if stream.fill_device { u64::MAX } else { parts.sum(|part| part.length) },
            io_bytes: stream.io_bytes.map(|bytes| bytes.0),
            max_ops: stream.max_ops,
            loops: stream.loops.max(1),
            until_time: stream.repeat_until_time,
        },
        flushing: Flushing::new(request.syncs),
        verifying,
        amid: stream.trim_amid.filter(|amid| amid.percent > 0).map(|amid| plumb_workload::blocks::fio::TrimAmid {
            backlog: amid.backlog.filter(|backlog| *backlog > 0),
            batch: amid.batch.filter(|batch| *batch > 0),
            ..amid
        }),
        handing: request.handing,
        seeding: SeedPlan {
            width: if wide { Width::Wide } else { Width::Narrow },
            seeds,
            seed: stream.seed,
            worker_number: stream.worker_number,
            scheme: stream.seeding,
            reseeds: stream.reseed_each_loop,
        },
        parts,
    })
}

fn parts(
    request: &FioPlanRequest<'_>,
    stream: &Stream,
    sizes: &[Sizes; 3],
    align: [u64; 3],
) -> Result<Parts, FioPlanError> {
    let last = stream.ranges.last().ok_or(FioPlanError::NoFile)?;
    let lengths = request.file_lengths;
    if lengths.count() == 0 {
        return Err(FioPlanError::NoFile);
    }
    let smallest = sizes.iter().map(|sizes| sizes.smallest).min().unwrap_or_default().max(1);
    let part = |range: &FileRange, file_length: u64| {
        let whole = range.length.0.min(file_length);
        let drawn_from = stream.zones.map_or(whole, |zones| zones.range.0);
        let blocks = |kind: Kind| {
            let (align, smallest) = (align[kind as usize], sizes[kind as usize].smallest);
            drawn_from.saturating_sub(smallest.saturating_sub(align)) / align
        };
        Part {
            start: range.start.0,
            length: range.length.0,
            file_length,
            blocks: Kind::ALL.map(blocks),
            mapped: drawn_from / smallest,
        }
    };
    Ok(match (lengths, stream.ranges.as_slice()) {
        (Lengths::Same { bytes, count }, [range]) => Parts::same(part(range, *bytes), *count),
        (_, ranges) => Parts::each(
            (0..lengths.count()).map(|file| part(ranges.get(file).unwrap_or(last), lengths.get(file))).collect(),
        ),
    })
}

fn plan_offset_order(
    stream: &Stream,
    mix: Mix,
    sizes: &[Sizes; 3],
    align: [u64; 3],
    parts: &Parts,
    seeds: &Seeds,
) -> Result<OffsetOrder, FioPlanError> {
    let ops_per_draw = match stream.order {
        AccessOrder::Sequential { skip_bytes } => return Ok(OffsetOrder::Sequential { skip: skip_bytes as u64 }),
        AccessOrder::Random { ops_per_draw } => ops_per_draw,
    };
    if ops_per_draw == 0 {
        return Err(FioPlanError::Zero { what: "ops-per-draw" });
    }
    let distribution = distribution(stream, mix, sizes, parts)?;
    if let PlannedDistribution::SteadyState(steady) = &distribution {
        steady_state::check(steady, parts, sizes[Kind::Write as usize].smallest, seeds.offset)?;
    }
    // fio keeps no map if a distribution repeats some blocks, or if blocks could overlap.
    let apart = align.iter().zip(sizes).all(|(align, sizes)| *align == sizes.smallest);
    let coverage = match stream.coverage {
        Coverage::OnceByRegister if distribution != PlannedDistribution::Uniform => {
            return Err(FioPlanError::RegisterWithDistribution);
        }
        Coverage::OnceByRegister => {
            for part in parts.distinct().filter(|part| part.mapped > 0) {
                Register::new(part.mapped, seeds.offset).ok_or(FioPlanError::Register { blocks: part.mapped })?;
            }
            PlannedCoverage::Register
        }
        Coverage::Once if distribution == PlannedDistribution::Uniform && apart => {
            // One bit per block, and the levels above.
            let bytes = parts.sum(|part| part.mapped / 8).saturating_add(parts.sum(|part| part.mapped / 8 / 63));
            if bytes > crate::os::ram_bytes() {
                return Err(FioPlanError::MapMemory { blocks: parts.sum(|part| part.mapped), bytes });
            }
            PlannedCoverage::Map
        }
        Coverage::Once | Coverage::Again => PlannedCoverage::Again,
    };
    Ok(OffsetOrder::Random(Random {
        ops_per_draw,
        sequencer: stream.sequencer,
        percent: three(&stream.random_percent),
        distribution,
        coverage,
    }))
}

fn distribution(
    stream: &Stream,
    mix: Mix,
    sizes: &[Sizes; 3],
    parts: &Parts,
) -> Result<PlannedDistribution, FioPlanError> {
    let used = || Kind::ALL.into_iter().filter(|kind| mix.has(*kind));
    match &stream.distribution {
        OffsetDistribution::Uniform => Ok(PlannedDistribution::Uniform),
        OffsetDistribution::Curved { curve, center, as_fio } => {
            use plumb_workload::blocks::fio::Curve;
            let problem = match *curve {
                Curve::Zipf { theta } if !(theta.is_finite() && theta >= 0.0) => {
                    Some("zipf's `theta` must be 0 or more")
                }
                Curve::Pareto { h } if !(h > 0.0 && h < 1.0) => Some("pareto's `h` must be between 0 and 1"),
                Curve::Normal { deviation } if !(deviation.is_finite() && deviation >= 0.0) => {
                    Some("normal's `deviation` must be 0 or more")
                }
                _ if !center.is_none_or(|center| (0.0..=1.0).contains(&center)) => {
                    Some("`center` must be between 0 and 1")
                }
                _ => None,
            };
            match problem {
                Some(problem) => Err(FioPlanError::Curve { problem }),
                None => Ok(PlannedDistribution::Curved { curve: *curve, center: *center, as_fio: as_fio.clone() }),
            }
        }
        OffsetDistribution::Zoned(zones) => {
            let zones = three(zones);
            for zones in used().map(|kind| &zones[kind as usize]).filter(|zones| !zones.is_empty()) {
                shares(zones.iter().map(|zone| zone.access_percent))?;
                let size: u64 = zones.iter().map(|zone| u64::from(zone.size)).sum();
                if size > 100 {
                    return Err(FioPlanError::ZonesBeyond { zones: size, range: 100 });
                }
            }
            Ok(PlannedDistribution::Zoned(zones.map(Into::into)))
        }
        OffsetDistribution::ZonedBytes(zones) => {
            let zones = three(zones);
            for kind in used().filter(|kind| !zones[*kind as usize].is_empty()) {
                let zones = &zones[kind as usize];
                shares(zones.iter().map(|zone| zone.access_percent))?;
                let size = zones.iter().fold(0u64, |sum, zone| sum.saturating_add(zone.size.0));
                let range = parts.distinct().map(|part| part.length.min(part.file_length)).min().unwrap_or_default();
                if size > range {
                    return Err(FioPlanError::ZonesBeyond { zones: size, range });
                }
            }
            Ok(PlannedDistribution::ZonedBytes(zones.map(Into::into)))
        }
        OffsetDistribution::SteadyState(steady) => Ok(PlannedDistribution::SteadyState(*steady)),
        OffsetDistribution::Sequence(listed) | OffsetDistribution::SequenceOnward(listed) if listed.is_empty() => {
            Err(FioPlanError::EmptySequence)
        }
        OffsetDistribution::Sequence(listed) | OffsetDistribution::SequenceOnward(listed) => {
            let block = listed.iter().copied().max().unwrap_or_default();
            for kind in used() {
                let smallest = sizes[kind as usize].smallest;
                let blocks = parts.distinct().map(|part| part.length.min(part.file_length) / smallest).min();
                let blocks = blocks.unwrap_or_default();
                if block >= blocks {
                    return Err(FioPlanError::SequenceBeyond { block, blocks });
                }
            }
            let step = if matches!(stream.distribution, OffsetDistribution::SequenceOnward(_)) {
                listed.len() as u64
            } else {
                0
            };
            Ok(PlannedDistribution::Sequence { listed: listed.as_slice().into(), step })
        }
    }
}

fn shares(percents: impl Iterator<Item = u8>) -> Result<(), FioPlanError> {
    match percents.map(u32::from).sum() {
        100 => Ok(()),
        percent => Err(FioPlanError::ZoneShares { percent }),
    }
}

fn check_alignment(script: &Script, alignment: u64) -> Result<(), FioPlanError> {
    if alignment <= 1 {
        return Ok(());
    }
    let check = |what, bytes: u64| match bytes % alignment {
        0 => Ok(()),
        _ => Err(FioPlanError::Unaligned { what, bytes, alignment }),
    };
    for kind in [Kind::Read, Kind::Write].into_iter().filter(|kind| uses(script, *kind)) {
        let sizes = &script.sizes[kind as usize];
        check("a size", sizes.smallest)?;
        if sizes.is_unaligned() {
            return Err(FioPlanError::UnalignedSizes);
        }
        check("the alignment of random offsets", script.align[kind as usize])?;
    }
    if script.mix != Mix::Only(Kind::Trim) {
        script.parts.distinct().try_for_each(|part| check("the start of a range", part.start))?;
        if let OffsetOrder::Sequential { skip } = script.offset_order {
            check("the skip after each op", (skip as i64).unsigned_abs())?;
        }
    }
    Ok(())
}
