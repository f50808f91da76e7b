//! The plan of a recording's replay.

use plumb_workload::WorkerGroup;
use plumb_workload::blocks::trace::Recording;
use plumb_workload::files::FileLock;

/// Settings for the replay of a recording.
#[derive(Debug, Clone)]
pub(crate) struct TracePlan {
    pub(crate) recording: Recording,
    /// Lengths of the files as laid out, bytes.
    lengths: Vec<u64>,
    /// Offsets and lengths of reads and writes are multiples of this, bytes.
    pub(crate) alignment_bytes: u64,
}

/// Assumed size of the smallest op, which a recording does not declare.
const SECTOR_BYTES: u64 = 512;

impl TracePlan {
    /// Plans the replay on files of these lengths.
    ///
    /// # Errors
    /// A setting of the job that a replay does not support.
    pub(crate) fn new(
        group: &WorkerGroup,
        recording: &Recording,
        lengths: Vec<u64>,
        alignment_bytes: u64,
    ) -> Result<TracePlan, &'static str> {
        if recording.speed_percent.is_some() && !group.pace.is_closed() {
            return Err("recorded times cannot be combined with rates, pauses or goals (`pace`); replay as fast as \
                        possible (`speed-percent` left out, fio's replay_no_stall=1), or leave `pace` out");
        }
        if group.verify.is_some() {
            return Err("a replay did not write what it reads and cannot verify it; leave `verify` out");
        }
        if group.files.lock != FileLock::None {
            return Err("a replay does not lock files; leave `lock` (fio's lockfile) out");
        }
        if group.files.create_on_open || group.files.unlink_each_loop || group.files.append {
            return Err("the files of a replay exist from start to end; leave `create-on-open`, \
                        `unlink-each-loop` and `append` out");
        }
        Ok(TracePlan { recording: recording.clone(), lengths, alignment_bytes })
    }

    /// Returns the size of the largest op that moves data, in bytes: the required buffer size.
    pub(crate) fn largest_block_bytes(&self) -> u64 {
        self.recording.largest.0.max(1)
    }

    /// Returns the assumed size of the smallest op that moves data, bytes.
    pub(crate) fn smallest_block_bytes(&self) -> u64 {
        self.largest_block_bytes().min(SECTOR_BYTES.max(self.alignment_bytes))
    }

    /// Returns an upper bound for the bytes that its ops touch.
    pub(crate) fn reached_bytes(&self) -> u64 {
        self.lengths.iter().fold(0, |sum: u64, &length| sum.saturating_add(length))
    }
}
