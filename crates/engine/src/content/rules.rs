//! Method, layout and positions of a job's stamps.

use super::checksum::{prepare, sum_bytes};
use super::error::ContentError;
use super::pattern::FillPattern;
use super::stamp::{HeaderLayout, header_bytes};
use plumb_workload::verify::{StampLayout, VerifyMethod};
use plumb_workload::{BufferContent, Verify};
use std::path::Path;

/// The resolved stamp rules of a job.
#[derive(Debug)]
pub(super) struct StampRules {
    pub(super) method: VerifyMethod,
    pub(super) layout: HeaderLayout,
    /// Bytes that one stamp covers; `None` if it covers the whole write.
    interval: Option<u32>,
    /// Position of the stamp in its interval.
    pub(super) stamp_at: usize,
    pub(super) body: StampedBody,
    /// The worker's number, cut to the width of the stamp's field.
    pub(super) worker: u16,
    pub(super) writers: Writers,
    /// Size of the smallest write in bytes.
    pub(super) smallest: u32,
    pub(super) largest: u32,
}

#[derive(Debug)]
pub(super) enum StampedBody {
    /// Random bytes from the seed in the stamp, with `percent` of them replaced by `tail` or zeros.
    Random {
        percent: u8,
        tail: Vec<u8>,
    },
    Pattern(FillPattern),
}

/// A block of an op that has its own stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StampedPiece {
    /// Position in the op.
    pub(super) start: usize,
    /// Length in bytes, including the stamp.
    pub(super) length: usize,
}

/// Returns the greatest common divisor.
fn common(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common(b, a % b) }
}

/// Returns the number of bytes that one stamp covers, by fio's rules: the requested interval if it divides every write,
/// otherwise the greatest common divisor of the smallest and largest write.
pub(super) fn interval(asked: Option<u64>, smallest: u32, largest: u32) -> u32 {
    let asked = match asked.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX)) {
        None | Some(0) if smallest != largest => smallest,
        None | Some(0) => 0,
        Some(bytes) => bytes.min(smallest),
    };
    if asked == 0 || !smallest.is_multiple_of(asked) || !largest.is_multiple_of(asked) {
        common(smallest, largest)
    } else {
        asked
    }
}

impl StampRules {
    /// Resolves the rules of a job. With `whole_writes`, sizes are arbitrary numbers of bytes and one stamp covers each
    /// write; otherwise stamps are on a grid.
    pub(super) fn new(
        verify: &Verify,
        content: &BufferContent,
        blocks: WriteSizes,
        writer: StampWriter,
        base: &Path,
    ) -> Result<StampRules, ContentError> {
        let WriteSizes { smallest, largest, whole_writes } = blocks;
        let StampWriter { worker, writers } = writer;
        let layout = match verify.layout {
            StampLayout::Unversioned => HeaderLayout::Unversioned,
            // Blocks with Plumb's own headers or with trailers never get here.
            StampLayout::Plumb | StampLayout::Sysbench | StampLayout::Versioned => HeaderLayout::Versioned,
        };
        let pattern = FillPattern::new(&verify.pattern, verify.pattern_interval.map(|bytes| bytes.0), base)?;
        let body = match pattern {
            Some(pattern) => StampedBody::Pattern(pattern),
            None if matches!(verify.method, VerifyMethod::Pattern | VerifyMethod::PatternHeader) => {
                return Err(ContentError::NoPattern);
            }
            None => {
                let tail =
                    FillPattern::new(&content.pattern, None, base)?.map_or(Vec::new(), |tail| tail.bytes().to_vec());
                StampedBody::Random { percent: content.compress_percent, tail }
            }
        };
        let grid = interval(verify.interval.map(|bytes| bytes.0), smallest, largest);
        let rules = StampRules {
            method: verify.method,
            layout,
            interval: (!whole_writes).then_some(grid),
            stamp_at: usize::try_from(verify.stamp_at.0).unwrap_or(usize::MAX),
            body,
            worker: worker as u16,
            writers,
            smallest,
            largest,
        };
        rules.fit(grid)?;
        prepare(verify.method);
        Ok(rules)
    }

    /// Checks that the stamps have room in the blocks.
    fn fit(&self, grid: u32) -> Result<(), ContentError> {
        let stamp = self.stamp_bytes();
        if stamp == 0 {
            return Ok(());
        }
        let grid = grid as usize;
        if grid <= stamp {
            return Err(ContentError::StampTooLarge { method: self.method, stamp, grid });
        }
        if self.stamp_at > 0 && (self.stamp_at < stamp || self.stamp_at > grid - stamp) {
            return Err(ContentError::StampPlace { stamp, at: self.stamp_at, grid });
        }
        Ok(())
    }

    /// Returns the length of a stamp, header and checksum, in bytes; 0 for methods without one.
    pub(super) fn stamp_bytes(&self) -> usize {
        match self.method {
            VerifyMethod::Pattern | VerifyMethod::Null => 0,
            method => header_bytes(self.layout) + sum_bytes(method),
        }
    }

    /// Returns the distance between stamps in a write of `length` bytes.
    #[inline]
    pub(super) fn step(&self, length: u32) -> usize {
        match self.interval {
            Some(interval) if interval <= length => interval as usize,
            _ => length as usize,
        }
    }

    /// Returns the blocks of an op that have room for a stamp. The last one may be shorter than the others.
    #[inline]
    pub(super) fn pieces(&self, length: u32) -> impl Iterator<Item = StampedPiece> {
        let (step, stamp) = (self.step(length).max(1), self.stamp_bytes());
        let length = length as usize;
        // A short block must also have room for a stamp that is not at its start.
        let least = stamp + self.stamp_at.max(1);
        (0..length)
            .step_by(step)
            .map(move |start| StampedPiece { start, length: step.min(length - start) })
            .filter(move |piece| piece.length >= least)
    }

    /// Returns the unit of which all sizes and offsets of writes are multiples, so that overlapping writes replace
    /// whole stamped blocks; `None` if there is none.
    pub(super) fn grid(&self) -> Option<u32> {
        self.interval
    }
}

/// Writers to the files of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writers {
    One,
    /// Several workers write to them.
    Several,
}

/// A worker, and whether others write to its files as well.
#[derive(Debug, Clone, Copy)]
pub(super) struct StampWriter {
    /// Number among all workers of all jobs, starting at 1.
    pub(super) worker: u32,
    pub(super) writers: Writers,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct WriteSizes {
    pub(super) smallest: u32,
    pub(super) largest: u32,
    /// Sizes may be any number of bytes.
    pub(super) whole_writes: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_match_fio() {
        assert_eq!(interval(None, 4096, 4096), 4096);
        assert_eq!(interval(None, 4096, 65536), 4096);
        assert_eq!(interval(None, 4096, 10240), 2048, "4 KiB does not divide 10 KiB");
        assert_eq!(interval(Some(512), 4096, 65536), 512);
        assert_eq!(interval(Some(8192), 4096, 65536), 4096, "at most the smallest size");
        assert_eq!(interval(Some(1000), 4096, 65536), 4096, "an interval that does not divide the sizes is ignored");
    }
}
