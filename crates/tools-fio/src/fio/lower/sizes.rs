//! Sizes of a job's files, and the ranges it uses. `size` is for the whole job and is divided between its files;
//! `filesize` is per file; `io_size` is the amount to transfer.

use super::clone::JobClone;
use super::error::JobFault;
use super::facts::{Layout, smallest, smallest_of_all};
use super::places::{Found, Places};
use super::random::{Draws, StreamOf};
use crate::fio::options::files::FileType;
use crate::fio::value::FileRegion;
use plumb_workload::Bytes;
use plumb_workload::blocks::fio::FileRange;

/// A file before it is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct File {
    /// Length in bytes; `None` if unknown.
    length: Option<u64>,
    is_regular: bool,
}

/// Maximum length of a file. Source: `off_t`.
const LONGEST: u64 = i64::MAX as u64;

fn percent_of(bytes: u64, percent: u8) -> u64 {
    (u128::from(bytes) * u128::from(percent) / 100) as u64
}

fn files(copy: &JobClone<'_>, places: &mut dyn Places) -> Vec<File> {
    let is_regular = |found: Found| match copy.job.files.names.filetype {
        FileType::Unstated => matches!(found, Found::Absent | Found::Regular { .. } | Found::Unreadable),
        FileType::Regular => true,
        FileType::Block | FileType::Character => false,
    };
    if copy.engine.has_no_files {
        return vec![File { length: None, is_regular: false }; copy.names.count()];
    }
    (0..copy.names.count())
        .map(|number| {
            let found = places.find(&path(copy, number));
            let length = match found {
                Found::Regular { bytes } | Found::Block { bytes } => Some(bytes),
                Found::Absent | Found::Directory => Some(0),
                Found::Character | Found::Unreadable => None,
            };
            File { length, is_regular: is_regular(found) }
        })
        .collect()
}

/// Builds the path of a file on demand: there may be a hundred thousand.
pub(super) fn path(copy: &JobClone<'_>, number: usize) -> String {
    let path = copy.names.path(number).unwrap_or_default().into_os_string();
    path.into_string().unwrap_or_else(|path| path.to_string_lossy().into_owned())
}

/// Returns the offset where a file's range begins.
fn start(copy: &JobClone<'_>, file: &File) -> Result<u64, JobFault> {
    let work = &copy.job.direction;
    if copy.job.files.append && file.is_regular {
        return Ok(file.length.unwrap_or(0));
    }
    let whole = |option: &'static str| {
        let why = "a percentage refers to an existing file";
        file.length.ok_or(JobFault::Needs { option, needs: "a file of known length", why })
    };
    let (increment, is_relative) = match work.region.offset_increment {
        FileRegion::Bytes(bytes) => (bytes, false),
        FileRegion::Percent(0) | FileRegion::Zones(_) => (0, false),
        FileRegion::Percent(percent) => (percent_of(whole("offset_increment")?, percent), true),
    };
    let (first, is_relative) = match work.region.offset {
        FileRegion::Bytes(bytes) => (bytes, is_relative),
        FileRegion::Percent(0) | FileRegion::Zones(_) => (0, is_relative),
        FileRegion::Percent(percent) => (percent_of(whole("offset")?, percent), true),
    };
    let start = first.saturating_add(increment.saturating_mul(copy.number.into()));
    // Only offsets relative to a file's size need rounding to a block boundary.
    if !is_relative {
        return Ok(start);
    }
    let align = work.region.offset_align.map_or_else(|| copy.min_block(), u64::from).max(1);
    Ok(start.div_ceil(align).saturating_mul(align))
}

/// Returns the sizes and ranges of a copy's files.
pub(super) fn layout(copy: &mut JobClone<'_>, places: &mut dyn Places) -> Layout {
    if copy.engine.does_no_io {
        return Layout::default();
    }
    if copy.replays() {
        return super::replay::layout(copy, places);
    }
    match resolve(copy, places) {
        Ok(layout) => layout,
        Err(fault) => {
            copy.refuse(fault);
            Layout::default()
        }
    }
}

fn resolve(copy: &mut JobClone<'_>, places: &mut dyn Places) -> Result<Layout, JobFault> {
    if asks_for_zones(copy)? {
        // Only the device knows the size of a zone.
        return Ok(Layout::default());
    }
    let (work, rules) = (&copy.job.direction, &copy.job.files);
    let block = copy.min_block();
    let files = files(copy, places);
    let total = files.iter().try_fold(0_u64, |sum, file| Some(sum.saturating_add(file.length?)));
    let size_bytes = match work.region.size {
        Some(FileRegion::Bytes(bytes)) => bytes,
        _ => 0,
    };
    let is_empty = total.is_none_or(|total| total == 0);
    if is_empty && size_bytes == 0 && rules.filesize.is_none() && !rules.fill_device {
        if copy.is_foreign() {
            // Only the engine knows the size of its target.
            return Ok(Layout::default());
        }
        return Err(JobFault::NoSize);
    }
    if size_bytes > 0 && size_bytes < block {
        return Err(JobFault::SizeBelowBlock { size: size_bytes, block });
    }
    let fills = rules.fill_device && size_bytes == 0;
    let free_bytes = match files.first() {
        Some(_) if fills => places.free_bytes(&path(copy, 0)).ok_or(JobFault::NoSize)?.min(LONGEST / 2),
        _ => 0,
    };
    let mut lengths = Lengths::new(copy, size_bytes, files.len() as u64, fills.then_some(free_bytes));
    let mut layout = Layout::default();
    let mut moved = 0_u64;
    for (number, file) in files.iter().enumerate() {
        let start = start(copy, file)?;
        let length = lengths.next_length(file, start, number)?;
        let Some(end) = start.checked_add(length).filter(|end| *end <= LONGEST) else {
            return Err(JobFault::Unsupported {
                option: "offset and size".to_owned(),
                why: format!("the end is beyond the maximum file size, {LONGEST}"),
            });
        };
        moved = moved.saturating_add(match work.region.io_size {
            Some(FileRegion::Percent(percent)) => percent_of(length, percent),
            _ => length,
        });
        layout.bytes = layout.bytes.saturating_add(length);
        layout.ranges.push(FileRange { start: Bytes(start), length: Bytes(length) });
        let is_laid_out = file.is_regular && !fills;
        layout.lengths.push(Bytes(if is_laid_out { end } else { 0 }));
        if is_laid_out && file.length.unwrap_or(0) < end {
            layout.fresh += 1;
        }
    }
    let size = if size_bytes == 0 || (moved > 0 && size_bytes > moved) { moved } else { size_bytes };
    if size < block {
        return Err(JobFault::SizeBelowBlock { size, block });
    }
    layout.io_bytes = match work.region.io_size {
        Some(FileRegion::Bytes(bytes)) if bytes > 0 => Some(Bytes(bytes)),
        _ if size != layout.bytes => Some(Bytes(size)),
        _ => None,
    };
    if let (Some(steady), [range]) = (work.steady_state.wanted(), layout.ranges.as_slice()) {
        let block = smallest(&work.sizes().write);
        if let Some(why) = steady.problem_in(range.length.0, block) {
            return Err(JobFault::Unsupported { option: "sprandom".to_owned(), why });
        }
        // fio ignores `io_size` here as well.
        layout.io_bytes = Some(Bytes(steady.physical_bytes(range.length.0, block)));
    }
    if copy.engine.calls_files {
        one_op_a_file(copy, &mut layout, block)?;
    }
    finish(copy, &mut layout);
    Ok(layout)
}

/// Returns `true` if an option counts zones of a zoned device.
fn asks_for_zones(copy: &JobClone<'_>) -> Result<bool, JobFault> {
    let region = &copy.job.direction.region;
    let regions = [
        ("size", region.size),
        ("io_size", region.io_size),
        ("offset", Some(region.offset)),
        ("offset_increment", Some(region.offset_increment)),
    ];
    match regions.iter().find(|(_, region)| region.is_some_and(JobClone::is_zones)) {
        None => Ok(false),
        Some(_) if copy.is_zoned() => Ok(true),
        Some((option, _)) => {
            Err(JobFault::Needs { option, needs: "zonemode=zbd", why: "zones exist only on a zoned device" })
        }
    }
}

/// Computes the lengths of the ranges of a copy's files, in file order.
struct Lengths<'a, 'j> {
    copy: &'a JobClone<'j>,
    block: u64,
    /// Share of `size` per file in bytes; 0 without `size`.
    each_bytes: u64,
    /// Number of files that still get a block of the remainder of `size`.
    longer: u64,
    /// Free bytes of the file system, for a job that fills it.
    fills_bytes: Option<u64>,
    drawn: Draws,
    /// Random sizes are multiples of this.
    unit_bytes: u64,
}

impl<'a, 'j> Lengths<'a, 'j> {
    fn new(copy: &'a JobClone<'j>, size_bytes: u64, files: u64, fills_bytes: Option<u64>) -> Lengths<'a, 'j> {
        let block = copy.min_block();
        let each_bytes = size_bytes.checked_div(files).unwrap_or(0);
        Lengths {
            copy,
            block,
            each_bytes,
            longer: (size_bytes - each_bytes * files) / block,
            fills_bytes,
            drawn: Draws::new(copy.seed, copy.thread_number, StreamOf::FileSizes, copy.width()),
            unit_bytes: smallest_of_all(&copy.job.direction),
        }
    }

    /// Returns the length of the next file's part, which begins at `start`.
    fn next_length(&mut self, file: &File, start: u64, number: usize) -> Result<u64, JobFault> {
        let copy = self.copy;
        let beyond = |length: u64| JobFault::OffsetBeyondEnd { offset: start, path: path(copy, number), length };
        let whole = |bytes: u64| bytes.checked_sub(start).ok_or_else(|| beyond(bytes));
        let mut length = match (copy.job.files.filesize, self.fills_bytes) {
            (None, Some(free_bytes)) => {
                // All free space and one block more, so that the job ends with ENOSPC.
                let blocks = file.length.unwrap_or(0).saturating_add(free_bytes).div_ceil(self.block) + 1;
                blocks.saturating_mul(self.block).saturating_sub(start)
            }
            (None, None) if self.each_bytes > 0 || self.longer > 0 => {
                let extra = if self.longer > 0 { self.block } else { 0 };
                self.longer = self.longer.saturating_sub(1);
                self.each_bytes + extra
            }
            (None, None) => whole(file.length.unwrap_or(0))?,
            (Some(range), _) => match file.length {
                Some(bytes) if (range.low..=range.high.max(range.low)).contains(&bytes) => whole(bytes)?,
                _ if start > range.low => return Err(beyond(range.low)),
                _ if range.high <= range.low => range.low - start,
                _ => {
                    let span = (range.high - range.low) as f64;
                    let bytes = range.low.saturating_add((span * self.drawn.share()) as u64);
                    (bytes - bytes % self.unit_bytes).saturating_sub(start)
                }
            },
        };
        if let Some(FileRegion::Percent(percent @ 0..100)) = copy.job.direction.region.size {
            let whole = length.saturating_add(start);
            length = percent_of(whole, percent).min(whole - start);
            length -= length % self.block;
        }
        Ok(length)
    }
}

/// A file engine makes one call per file, at the time fio would open it, whatever the file's size.
fn one_op_a_file(copy: &mut JobClone<'_>, layout: &mut Layout, block: u64) -> Result<(), JobFault> {
    let longest = layout.ranges.iter().map(|range| range.length.0).max().unwrap_or(0);
    if let Some(short) = layout.ranges.iter().find(|range| range.length.0 < block) {
        return Err(JobFault::SizeBelowBlock { size: short.length.0, block });
    }
    if longest >= 2 * block {
        let blocks = longest / block;
        copy.fix(format!("each file counts as one op of {}; fio counts {blocks} ops per file", Bytes(block)));
    }
    for range in &mut layout.ranges {
        *range = FileRange { start: Bytes(0), length: Bytes(block) };
    }
    layout.bytes = block * layout.ranges.len() as u64;
    layout.io_bytes =
        layout.io_bytes.filter(|bytes| bytes.0 > layout.bytes && copy.job.direction.region.io_size.is_some());
    Ok(())
}

/// Removes trailing entries that repeat the one before.
fn finish(copy: &JobClone<'_>, layout: &mut Layout) {
    if layout.lengths.iter().all(|length| length.0 == 0) {
        layout.lengths.clear();
    }
    while let [.., before, last] = layout.lengths.as_slice()
        && before == last
    {
        layout.lengths.pop();
    }
    // Files of a null target are counted by their ranges.
    if copy.engine.has_no_files && !copy.engine.calls_files && !copy.is_foreign() {
        return;
    }
    while let [.., before, last] = layout.ranges.as_slice()
        && before == last
    {
        layout.ranges.pop();
    }
}
