//! Sequentiality of offsets.

use super::{FileState, Histogram, Sheet};
use crate::record::Record;

/// Number of recent op ends, to detect streams that continue them.
const STREAMS: usize = 256;

/// The sequence of the offsets of reads and writes.
pub(super) struct Sequence {
    /// Ops that continue the last one on their file.
    sequential: u64,
    /// Ops that continue a recent op.
    streaming: u64,
    /// Ends of recent ops.
    ends: Vec<u64>,
    /// Lengths of runs, in ops.
    runs: Histogram,
    pub(super) seeks: Histogram,
    /// Ops whose offset and length are multiples of 512 and of 4096.
    aligned: [u64; 2],
}

impl Default for Sequence {
    fn default() -> Sequence {
        Sequence {
            sequential: 0,
            streaming: 0,
            ends: vec![u64::MAX; STREAMS],
            runs: Histogram::default(),
            seeks: Histogram::default(),
            aligned: [0; 2],
        }
    }
}

impl Sequence {
    /// Adds a read or write on a file, and moves the file's end to its end.
    pub(super) fn add(&mut self, record: &Record, file: &mut FileState) {
        let edges = record.offset | record.length;
        self.aligned[0] += u64::from(edges.is_multiple_of(512));
        self.aligned[1] += u64::from(edges.is_multiple_of(4096));
        let end = record.offset.saturating_add(record.moved());
        let salt = u64::from(record.file).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let stream = |place: u64| (place ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = |key: u64| (key >> 56) as usize;
        let (wanted, next) = (stream(record.offset), stream(end));
        let is_first = file.bytes_read + file.bytes_written == 0 && file.end == 0;
        if record.offset == file.end && !is_first {
            self.sequential += 1;
            file.run += 1;
        } else if !is_first {
            self.seeks.add(record.offset.abs_diff(file.end));
            self.runs.add(file.run);
            file.run = 1;
        } else {
            file.run = 1;
        }
        self.streaming += u64::from(self.ends[slot(wanted)] == wanted && !is_first);
        self.ends[slot(next)] = next;
        file.end = end;
    }

    /// Writes its part of a section. `ops` is the number of reads and writes.
    pub(super) fn put(&self, sheet: &mut Sheet, section: &str, ops: u64) {
        let share = |part: u64| part as f64 / ops.max(1) as f64;
        sheet.put(section, "multiples of 512 B", share(self.aligned[0]));
        sheet.put(section, "multiples of 4 KiB", share(self.aligned[1]));
        sheet.put(section, "sequential in their file", share(self.sequential));
        sheet.put(section, "continue a recent op", share(self.streaming));
        if self.runs.total() > 0 {
            sheet.put(section, "mean run", self.runs.mean());
            sheet.put(section, "seek p50", self.seeks.quantile(0.5) as f64);
        }
    }
}
