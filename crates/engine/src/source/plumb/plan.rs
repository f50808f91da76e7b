//! The plan of one worker's block I/O: pure data, checked before anything starts.

use super::draw::{Newest, OffsetDistribution, PlannedZone, positions_in};
use super::shape::{Piece, Sizes, SizesByKind, Threshold, kinds_of};
use super::walk::Direction;
use super::walkers::{REUSE_BLOCK, REUSE_LEAF, Walking};
use crate::math::gcd;
use crate::rng::StreamId;
use plumb_workload::blocks::{WeightedSize, Zone};
use plumb_workload::{BlockSize, Blocks, Bytes, Mix, OpKind, Pattern};

/// Input for a plan.
#[derive(Debug, Clone, Copy)]
pub struct PlanRequest<'a> {
    pub blocks: &'a Blocks,
    /// Length of each of the target's files, in bytes; one for a device, a null or a simulated target.
    pub file_lengths: &'a [u64],
    /// Number of the worker within its group, for `offset-increment` and for the file that it starts with.
    pub worker_in_group: u32,
    /// The worker's random numbers.
    pub stream: StreamId,
    /// Number of passes; `None` repeats forever.
    pub passes: Option<u64>,
    /// Offsets and lengths must be multiples of this many bytes: the logical block size with `O_DIRECT`, otherwise 1.
    pub io_alignment_bytes: u64,
}

/// Error from planning. Each names the option, the value found and the way out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    #[error("the target has no bytes: give it a `size`, or name a file that is not empty")]
    EmptyTarget,
    #[error("`mix` has no reads, writes or trims: give one of them a weight above 0")]
    EmptyMix,
    /// The range exceeds the target.
    #[error(
        "worker {worker}: the range from `offset` {offset} with `span` {span} ends beyond the target's {target} bytes: \
         make `span`, `offset` or `offset-increment` smaller, or the target larger"
    )]
    OutsideTarget {
        /// Number of the worker within its group.
        worker: u32,
        /// Start of its range, increments included.
        offset: u64,
        /// Length of its range; 0 for "to the end" when the start is already outside.
        span: u64,
        target: u64,
    },
    /// No op fits into the range.
    #[error(
        "`{option}` of {size} bytes is larger than the longest contiguous range, {range} bytes: use a smaller block or a larger `span` or file"
    )]
    BlockLargerThanRange {
        option: &'static str,
        /// Largest size of an op.
        size: u64,
        /// The longest contiguous range of one file.
        range: u64,
    },
    /// No op can have this size.
    #[error("`{option}`: {problem}")]
    BadSize {
        option: &'static str,
        /// The invalid value, and a valid alternative.
        problem: String,
    },
    /// The system would refuse this value.
    #[error(
        "`{option}` is {value} bytes, not a multiple of {alignment}, which direct I/O on this target needs: round it \
         to a multiple of {alignment}, or use a cache policy other than `direct`"
    )]
    Unaligned { option: &'static str, value: u64, alignment: u64 },
    /// A parameter of the pattern is invalid.
    #[error("`pattern`: {problem}")]
    BadPattern {
        /// The invalid value, and a valid alternative.
        problem: String,
    },
}

/// Rule that chooses the positions of ops.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BlockOrder {
    Walk(Direction),
    Draw(OffsetDistribution),
    List(Box<[ListedPlace]>),
    Walkers { walking: Walking, count: u32 },
}

/// A listed position, whose length depends on the op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListedPlace {
    pub(crate) file: u32,
    pub(crate) offset: u64,
    /// Bytes from here to the end of the piece.
    pub(crate) room: u64,
}

/// One worker's block I/O, ready to start: see the [module](super) for the meaning of each part.
#[derive(Debug, Clone, PartialEq)]
pub struct PlumbPlan {
    /// At least one piece, and none is empty.
    pub(crate) pieces: Box<[Piece]>,
    /// Distance between two positions, bytes.
    pub(crate) step: u64,
    pub(crate) sizes: SizesByKind,
    pub(crate) smallest: u32,
    pub(crate) largest: u32,
    pub(crate) mix: Mix,
    pub(crate) order: BlockOrder,
    pub(crate) stream: StreamId,
    pub(crate) passes: Option<u64>,
    pub(crate) fsync_every: u64,
    pub(crate) fdatasync_every: u64,
}

impl PlumbPlan {
    /// Plans one worker's ops.
    ///
    /// # Errors
    /// [`PlanError`] if the range exceeds the target, a block does not fit the range, direct I/O would be refused,
    /// or a parameter has no meaning.
    pub fn new(request: &PlanRequest) -> Result<PlumbPlan, PlanError> {
        let blocks = request.blocks;
        let alignment = request.io_alignment_bytes.max(1);
        if kinds_of(blocks.mix).next().is_none() {
            return Err(PlanError::EmptyMix);
        }
        let write_block = blocks.write_block.as_ref();
        let trim_block = blocks.trim_block.as_ref();
        let sizes = SizesByKind {
            read: sizes(&blocks.block, "block")?,
            write: sizes(write_block.unwrap_or(&blocks.block), "write-block")?,
            trim: sizes(trim_block.unwrap_or(&blocks.block), "trim-block")?,
        };
        let option = |kind| match kind {
            OpKind::Write if write_block.is_some() => "write-block",
            OpKind::Trim if trim_block.is_some() => "trim-block",
            _ => "block",
        };
        let (mut smallest, mut largest, mut largest_option) = (u32::MAX, 0, "block");
        for kind in kinds_of(blocks.mix) {
            check_sizes(sizes.get(kind), option(kind), alignment)?;
            smallest = smallest.min(sizes.get(kind).smallest());
            if sizes.get(kind).largest() > largest {
                (largest, largest_option) = (sizes.get(kind).largest(), option(kind));
            }
        }
        let step = blocks.align.map_or(u64::from(smallest), |align| align.0);
        if step == 0 {
            return Err(PlanError::BadSize { option: "align", problem: "0 is not an alignment: use 1 or more".into() });
        }
        aligned("align", step, alignment)?;

        let mut pieces = pieces(request, alignment)?;
        let longest = pieces.iter().map(|piece| piece.length).max().unwrap_or(0);
        if u64::from(largest) > longest {
            return Err(PlanError::BlockLargerThanRange {
                option: largest_option,
                size: u64::from(largest),
                range: longest,
            });
        }
        let order = match &blocks.pattern {
            Pattern::Sequential => BlockOrder::Walk(Direction::Up),
            Pattern::Reverse => BlockOrder::Walk(Direction::Down),
            Pattern::Stride { stride } if stride.0 == 0 => {
                return Err(bad("a `stride` of 0 never moves: use the block size or more"));
            }
            Pattern::Stride { stride } => {
                aligned("pattern.stride", stride.0, alignment)?;
                BlockOrder::Walk(Direction::Stride(stride.0))
            }
            Pattern::List(offsets) => BlockOrder::List(listed(offsets, &pieces, alignment)?),
            Pattern::ReuseWalk { walkers } => {
                let Piece { length, .. } = one_piece(&pieces)?;
                if length < REUSE_LEAF {
                    return Err(bad(format!("a reuse walk needs a range of {REUSE_LEAF} bytes or more, not {length}")));
                }
                if u64::from(largest) > REUSE_BLOCK {
                    return Err(bad(format!(
                        "a reuse walk goes from block to block of {REUSE_BLOCK} bytes: use no larger `block`"
                    )));
                }
                BlockOrder::Walkers { walking: Walking::Reuse, count: *walkers }
            }
            Pattern::Runs { walkers, from_percent, to_percent, length_percent } => {
                let Piece { length, .. } = one_piece(&pieces)?;
                let at = |percent: f64| (percent / 100.0 * length as f64) as u64;
                let walking =
                    Walking::Runs { first: at(*from_percent), last: at(*to_percent), length: at(*length_percent) };
                BlockOrder::Walkers { walking, count: *walkers }
            }
            drawn => {
                // All workers see the files in the same order, so that they agree on which blocks are hot.
                pieces.sort_by_key(|piece| (piece.file, piece.start));
                let positions = pieces.iter().map(|piece| positions_in(piece, step, smallest)).sum();
                BlockOrder::Draw(distribution(drawn, positions)?)
            }
        };
        Ok(PlumbPlan {
            pieces: pieces.into(),
            step,
            sizes,
            smallest,
            largest,
            mix: blocks.mix,
            order,
            stream: request.stream,
            passes: request.passes,
            fsync_every: blocks.fsync_every,
            fdatasync_every: blocks.fdatasync_every,
        })
    }

    /// Shares the newest block with the other workers of the group, if the pattern has one.
    pub(crate) fn share_newest(&mut self, of_group: &mut Option<(usize, Newest)>, group: usize) {
        let BlockOrder::Draw(OffsetDistribution::Latest { newest, .. }) = &mut self.order else { return };
        match of_group {
            Some((number, shared)) if *number == group => *newest = shared.clone(),
            _ => *of_group = Some((group, newest.clone())),
        }
    }

    /// Returns the size of the smallest op, bytes.
    pub(crate) fn smallest_block_bytes(&self) -> u32 {
        self.smallest
    }

    /// Returns the size of the largest op in bytes, which is the required buffer size.
    pub(crate) fn largest_block_bytes(&self) -> u32 {
        self.largest
    }

    /// Returns the greatest common divisor of all offsets and sizes, bytes, ignoring the shorter op at the end of a
    /// range. This is the maximum distance between [stamps](crate::content::Stamper).
    pub(crate) fn verify_interval_bytes(&self) -> u64 {
        let mut common = self.pieces.iter().fold(self.step, |common, piece| gcd(common, piece.start));
        for kind in kinds_of(self.mix) {
            common = match self.sizes.get(kind) {
                Sizes::Fixed(size) => gcd(common, u64::from(*size)),
                Sizes::Range { first, step, .. } => gcd(gcd(common, u64::from(*first)), u64::from(*step)),
                Sizes::Weighted(table) => table.iter().fold(common, |common, entry| gcd(common, u64::from(entry.size))),
            };
        }
        match &self.order {
            BlockOrder::Walk(Direction::Stride(stride)) => gcd(common, *stride),
            BlockOrder::List(list) => list.iter().fold(common, |common, at| gcd(common, at.offset)),
            BlockOrder::Walk(_) | BlockOrder::Draw(_) => common,
            BlockOrder::Walkers { .. } => gcd(common, REUSE_BLOCK),
        }
    }

    /// Returns the bytes of a pass: the whole range for patterns that walk, its whole blocks otherwise.
    pub(crate) fn pass_bytes(&self) -> u64 {
        let block = u64::from(self.smallest);
        match &self.order {
            BlockOrder::Walk(_) => self.pieces.iter().map(|piece| piece.length).sum(),
            BlockOrder::Draw(OffsetDistribution::Permutation) => self.positions().saturating_mul(block),
            BlockOrder::Draw(_) | BlockOrder::Walkers { .. } => {
                self.pieces.iter().map(|piece| piece.length / block * block).sum()
            }
            BlockOrder::List(list) => (list.len() as u64).saturating_mul(block),
        }
    }

    /// Returns the number of distinct bytes that the ops could touch in unlimited time: an upper bound if sizes vary.
    /// Files outside a worker's range do not count.
    pub fn working_set_bytes(&self) -> u64 {
        let largest = u64::from(self.largest);
        // Blocks of the largest size at positions `step` apart, within the piece.
        let drawn = |positions: u64, room: u64| match positions {
            0 => 0,
            _ if largest >= self.step => ((positions - 1) * self.step).saturating_add(largest).min(room),
            _ => positions * largest,
        };
        match &self.order {
            BlockOrder::Walk(_) | BlockOrder::Walkers { .. } => self.pieces.iter().map(|piece| piece.length).sum(),
            BlockOrder::Draw(OffsetDistribution::Zoned(zones)) => {
                let room = self.pieces.iter().map(|piece| piece.length).sum::<u64>();
                zones.iter().map(|zone| drawn(zone.count, room)).sum::<u64>().min(room)
            }
            BlockOrder::Draw(_) => {
                self.pieces.iter().map(|piece| drawn(positions_in(piece, self.step, self.smallest), piece.length)).sum()
            }
            BlockOrder::List(list) => {
                let mut ranges: Vec<(u32, u64, u64)> =
                    list.iter().map(|at| (at.file, at.offset, at.offset + largest.min(at.room))).collect();
                ranges.sort();
                let (mut bytes, mut file, mut reached) = (0, u32::MAX, 0);
                for (its_file, begin, end) in ranges {
                    let begin = if its_file == file { begin.max(reached) } else { begin };
                    bytes += end.saturating_sub(begin);
                    reached = if its_file == file { reached.max(end) } else { end };
                    file = its_file;
                }
                bytes
            }
        }
    }

    /// Returns `true` if two ops of a pass may have the same place.
    pub(crate) fn repeats_itself(&self) -> bool {
        match &self.order {
            BlockOrder::Walk(_) | BlockOrder::Draw(OffsetDistribution::Permutation) => false,
            BlockOrder::Draw(_) | BlockOrder::List(_) | BlockOrder::Walkers { .. } => true,
        }
    }

    /// Returns the number of possible starts of ops, for patterns that draw.
    pub(crate) fn positions(&self) -> u64 {
        self.pieces.iter().map(|piece| positions_in(piece, self.step, self.smallest)).sum()
    }
}

fn bad(problem: impl Into<String>) -> PlanError {
    PlanError::BadPattern { problem: problem.into() }
}

fn aligned(option: &'static str, value: u64, alignment: u64) -> Result<(), PlanError> {
    if value.is_multiple_of(alignment) { Ok(()) } else { Err(PlanError::Unaligned { option, value, alignment }) }
}

fn sizes(size: &BlockSize, option: &'static str) -> Result<Sizes, PlanError> {
    let bad = |problem: String| PlanError::BadSize { option, problem };
    let small = |bytes: Bytes| match u32::try_from(bytes.0) {
        Ok(0) => Err(bad("an op has 0 bytes: use 1 or more".into())),
        Ok(size) => Ok(size),
        Err(_) => Err(bad(format!("{} bytes are more than one op can move: use less than 4 GiB", bytes.0))),
    };
    match size {
        BlockSize::Fixed(size) => Ok(Sizes::Fixed(small(*size)?)),
        BlockSize::Range { min, max, step } => {
            let (min, max) = (small(*min)?, small(*max)?);
            let step = step.map_or(Ok(min), small)?;
            let (first, last) = (min.div_ceil(step).saturating_mul(step), max / step * step);
            if first > last {
                return Err(bad(format!(
                    "there is no multiple of {step} between {min} and {max}: make `max` larger or `step` smaller"
                )));
            }
            Ok(Sizes::Range { first, step, count: u64::from((last - first) / step) + 1 })
        }
        BlockSize::Weighted(table) => {
            let entries: Vec<WeightedSize> = table.iter().copied().filter(|entry| entry.weight != 0.0).collect();
            let sum: f64 = entries.iter().map(|entry| entry.weight).sum();
            if !(sum > 0.0 && sum.is_finite()) || entries.iter().any(|entry| entry.weight < 0.0) {
                return Err(bad("the weights must be finite, not negative, and not all 0".into()));
            }
            let mut before = 0.0;
            let thresholds = entries.iter().map(|entry| {
                before += entry.weight;
                Ok(Threshold { upto: share_of_2_64(before / sum), size: small(entry.size)? })
            });
            Ok(Sizes::Weighted(thresholds.collect::<Result<_, PlanError>>()?))
        }
    }
}

/// Converts a share to a 64-bit number; the conversion saturates at the ends.
fn share_of_2_64(share: f64) -> u64 {
    (share * 18_446_744_073_709_551_616.0) as u64
}

fn check_sizes(sizes: &Sizes, option: &'static str, alignment: u64) -> Result<(), PlanError> {
    match sizes {
        Sizes::Fixed(size) => aligned(option, u64::from(*size), alignment),
        Sizes::Range { first, step, count } => {
            aligned(option, u64::from(*first), alignment)?;
            if *count > 1 { aligned(option, u64::from(*step), alignment) } else { Ok(()) }
        }
        Sizes::Weighted(table) => table.iter().try_for_each(|entry| aligned(option, u64::from(entry.size), alignment)),
    }
}

/// Returns the worker's range as pieces of files, in the order in which it visits them.
fn pieces(request: &PlanRequest, alignment: u64) -> Result<Vec<Piece>, PlanError> {
    let blocks = request.blocks;
    let lengths = request.file_lengths;
    let target = lengths.iter().try_fold(0u64, |sum, &length| sum.checked_add(length)).unwrap_or(u64::MAX);
    if target == 0 {
        return Err(PlanError::EmptyTarget);
    }
    if i64::try_from(target).is_err() {
        let problem = format!("{target} bytes are more than an offset can reach: use less than 8 EiB");
        return Err(PlanError::BadSize { option: "size", problem });
    }
    let worker = request.worker_in_group;
    let outside = |offset, span| PlanError::OutsideTarget { worker, offset, span, target };
    let offset = blocks.offset_increment.0.saturating_mul(u64::from(worker)).saturating_add(blocks.offset.0);
    if offset >= target {
        return Err(outside(offset, blocks.span.map_or(0, |span| span.0)));
    }
    let span = blocks.span.map_or(target - offset, |span| span.0);
    if span == 0 {
        let problem = "a range of 0 bytes holds no block: leave `span` out to use all of the target".into();
        return Err(PlanError::BadSize { option: "span", problem });
    }
    let end = offset.checked_add(span).filter(|&end| end <= target).ok_or_else(|| outside(offset, span))?;
    aligned("offset", offset, alignment)?;

    let first_file = worker as usize % lengths.len();
    let turn = (first_file..lengths.len()).chain(0..first_file);
    let mut pieces = Vec::new();
    let mut before = 0u64;
    for file in turn {
        let after = before + lengths[file];
        let (begin, stop) = (offset.max(before), end.min(after));
        if begin < stop {
            let start = begin - before;
            // Only the first file can be entered at an unaligned offset, and only if
            // another file's length is not aligned.
            aligned("offset", start, alignment)?;
            let length = (stop - begin) / alignment * alignment;
            if length > 0 {
                pieces.push(Piece { file: file as u32, start, length });
            }
        }
        before = after;
    }
    if pieces.is_empty() {
        return Err(PlanError::BlockLargerThanRange { option: "block", size: alignment, range: span });
    }
    Ok(pieces)
}

/// Returns the only piece. Walkers share one range, which must not cross the end of a file.
fn one_piece(pieces: &[Piece]) -> Result<Piece, PlanError> {
    match pieces {
        [only] => Ok(*only),
        several => Err(bad(format!("walkers need a range within one file, and this one spans {}", several.len()))),
    }
}

fn distribution(pattern: &Pattern, positions: u64) -> Result<OffsetDistribution, PlanError> {
    Ok(match pattern {
        Pattern::Permutation => OffsetDistribution::Permutation,
        Pattern::Zipf { theta } if *theta > 0.0 && theta.is_finite() => OffsetDistribution::Zipf { theta: *theta },
        Pattern::Zipf { theta } => {
            return Err(bad(format!("zipf's `theta` is {theta}: use a number above 0, such as 0.99")));
        }
        Pattern::Latest { theta } if *theta > 0.0 && theta.is_finite() => {
            OffsetDistribution::Latest { theta: *theta, newest: Newest::default() }
        }
        Pattern::Latest { theta } => {
            return Err(bad(format!("latest's `theta` is {theta}: use a number above 0, such as 0.99")));
        }
        Pattern::Pareto { h } if *h > 0.5 && *h < 1.0 => OffsetDistribution::Pareto { h: *h },
        Pattern::Pareto { h } => {
            return Err(bad(format!("pareto's `h` is {h}: use a share above 0.5 and below 1, such as 0.8")));
        }
        Pattern::Normal { center, .. } if !(0.0..=1.0).contains(center) => {
            return Err(bad(format!("the normal's `center` is {center}: use a share of the range, from 0 to 1")));
        }
        // At ten ranges wide it is already flat, and one draw in 25 falls into the range.
        Pattern::Normal { deviation, .. } if !(*deviation > 0.0 && *deviation <= 10.0) => {
            return Err(bad(format!(
                "the normal's `deviation` is {deviation}: use a share of the range, above 0 and at most 10"
            )));
        }
        Pattern::Normal { center, deviation } => OffsetDistribution::Normal { center: *center, deviation: *deviation },
        Pattern::Zoned(zones) => OffsetDistribution::Zoned(planned_zones(zones, positions)?),
        _ => OffsetDistribution::Uniform,
    })
}

fn planned_zones(zones: &[Zone], positions: u64) -> Result<Box<[PlannedZone]>, PlanError> {
    if zones.is_empty() {
        return Err(bad("there are no zones: name at least one"));
    }
    let negative = |zone: &Zone| !(zone.access_percent >= 0.0 && zone.span_percent >= 0.0);
    if let Some(number) = zones.iter().position(negative) {
        return Err(bad(format!("zone {number}: shares are numbers from 0 to 100")));
    }
    let access: f64 = zones.iter().map(|zone| zone.access_percent).sum();
    if (access - 100.0).abs() > 0.01 {
        return Err(bad(format!("the zones' `access-percent` add up to {access}: make them add up to 100")));
    }
    let span: f64 = zones.iter().map(|zone| zone.span_percent).sum();
    if span > 100.01 {
        return Err(bad(format!("the zones' `span-percent` add up to {span}: make them add up to 100 at most")));
    }
    let boundary = |percent: f64| (((percent / 100.0 * positions as f64) + 0.5).floor() as u64).min(positions);
    let (mut access_before, mut span_before) = (0.0, 0.0);
    let mut planned = Vec::new();
    for (number, zone) in zones.iter().enumerate() {
        let first = boundary(span_before);
        access_before += zone.access_percent;
        span_before += zone.span_percent;
        let count = boundary(span_before) - first;
        if zone.access_percent == 0.0 {
            continue;
        }
        if count == 0 {
            return Err(bad(format!(
                "zone {number} of {}% of the range holds no block: make it or the range larger",
                zone.span_percent
            )));
        }
        planned.push(PlannedZone { upto: share_of_2_64(access_before / access), first, count });
    }
    Ok(planned.into())
}

fn listed(offsets: &[Bytes], pieces: &[Piece], alignment: u64) -> Result<Box<[ListedPlace]>, PlanError> {
    if offsets.is_empty() {
        return Err(bad("the list has no offsets: name at least one"));
    }
    let place = |offset: u64| {
        aligned("pattern.list", offset, alignment)?;
        let mut within = offset;
        for piece in pieces {
            if within < piece.length {
                let room = piece.length - within;
                return Ok(ListedPlace { file: piece.file, offset: piece.start + within, room });
            }
            within -= piece.length;
        }
        let range: u64 = pieces.iter().map(|piece| piece.length).sum();
        Err(bad(format!("the listed offset {offset} is outside the range of {range} bytes: leave it out")))
    };
    offsets.iter().map(|offset| place(offset.0)).collect()
}
