//! What stamps a job's blocks have, and where.

use super::checksum::{prepare, sum_bytes};
use super::error::ContentError;
use super::pattern::FillPattern;
use super::stamp::{HeaderLayout, header_bytes};
use plumb_workload::verify::{StampLayout, VerifyMethod};
use plumb_workload::{BufferContent, Verify};
use std::path::Path;

/// The stamps of a job, resolved.
#[derive(Debug)]
pub(super) struct StampRules {
    pub(super) method: VerifyMethod,
    pub(super) layout: HeaderLayout,
    /// One stamp covers this many bytes; one whole write where absent.
    interval: Option<u32>,
    /// Where in its interval the stamp lies.
    pub(super) stamp_at: usize,
    /// What lies between stamps.
    pub(super) body: StampedBody,
    /// The worker's number, as far as stamps hold it.
    pub(super) worker: u16,
    pub(super) writers: Writers,
    /// Bytes of the smallest and the largest write.
    pub(super) smallest: u32,
    pub(super) largest: u32,
}

/// What lies between stamps.
#[derive(Debug)]
pub(super) enum StampedBody {
    /// Random bytes that follow from the seed in the stamp, `percent` of them replaced by `tail` or zeros.
    Random { percent: u8, tail: Vec<u8> },
    /// A pattern.
    Pattern(FillPattern),
}

/// A block with a stamp, in an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StampedPiece {
    /// Where it begins in the op.
    pub(super) start: usize,
    /// Its bytes, the stamp with them.
    pub(super) length: usize,
}

/// The largest common divisor.
fn common(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common(b, a % b) }
}

/// Bytes that one stamp covers, by fio's rules: what was asked for, where it divides every write; otherwise what the
/// smallest and the largest have in common.
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
    /// Resolves what a job asks for. `whole_writes`: its sizes are any number of bytes, so that one stamp covers each
    /// write; otherwise stamps lie on a grid.
    pub(super) fn new(
        verify: &Verify,
        content: &BufferContent,
        blocks: WriteSizes,
        who: WhoWrites,
        base: &Path,
    ) -> Result<StampRules, ContentError> {
        let WriteSizes { smallest, largest, whole_writes } = blocks;
        let WhoWrites { worker, writers } = who;
        let layout = match verify.layout {
            StampLayout::Unversioned => HeaderLayout::Unversioned,
            // Blocks with Plumb's own headers, or with trailers, do not come here.
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

    /// Whether stamps have room.
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

    /// Bytes of a stamp: header and checksum; 0 for methods without.
    pub(super) fn stamp_bytes(&self) -> usize {
        match self.method {
            VerifyMethod::Pattern | VerifyMethod::Null => 0,
            method => header_bytes(self.layout) + sum_bytes(method),
        }
    }

    /// Bytes that stamps of a write of this many are apart.
    #[inline]
    pub(super) fn step(&self, length: u32) -> usize {
        match self.interval {
            Some(interval) if interval <= length => interval as usize,
            _ => length as usize,
        }
    }

    /// The blocks of an op that have room for a stamp. The last one may be shorter than the others.
    #[inline]
    pub(super) fn pieces(&self, length: u32) -> impl Iterator<Item = StampedPiece> {
        let (step, stamp) = (self.step(length).max(1), self.stamp_bytes());
        let length = length as usize;
        // A short one must hold a stamp that lies behind its start, too.
        let least = stamp + self.stamp_at.max(1);
        (0..length)
            .step_by(step)
            .map(move |start| StampedPiece { start, length: step.min(length - start) })
            .filter(move |piece| piece.length >= least)
    }

    /// Whether stamps and what is between them end where every write of the job may end, so that writes over one another
    /// replace whole blocks: all sizes and offsets are multiples of it.
    pub(super) fn grid(&self) -> Option<u32> {
        self.interval
    }
}

/// Who writes to the files of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writers {
    /// This worker alone.
    One,
    /// Others, too.
    Several,
}

/// A worker, and whether it is alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct WhoWrites {
    /// Its number among all workers of all jobs, from 1.
    pub(super) worker: u32,
    pub(super) writers: Writers,
}

/// The sizes of a job's writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriteSizes {
    pub(super) smallest: u32,
    pub(super) largest: u32,
    /// They may be any number of bytes.
    pub(super) whole_writes: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_fio() {
        assert_eq!(interval(None, 4096, 4096), 4096);
        assert_eq!(interval(None, 4096, 65536), 4096);
        assert_eq!(interval(None, 4096, 10240), 2048, "4 KiB does not divide 10 KiB");
        assert_eq!(interval(Some(512), 4096, 65536), 512);
        assert_eq!(interval(Some(8192), 4096, 65536), 4096, "no more than the smallest");
        assert_eq!(interval(Some(1000), 4096, 65536), 4096, "what does not divide is not used");
    }
}
