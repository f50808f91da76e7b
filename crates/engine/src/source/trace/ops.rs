//! The ops of a whole replay: all loops up to its limits. Each op is checked before it is made.

use super::error::ReplayError;
use super::{RecordedOp, RecordedOps, Recordings};
use crate::backend::FileKind;
use plumb_workload::OpKind;
use plumb_workload::blocks::trace::Recording;
use plumb_workload::files::Names;

/// The files that recorded ops use.
#[derive(Debug, Clone)]
pub(crate) struct ReplayFiles {
    pub(crate) names: Names,
    /// Length of each file, bytes.
    pub(crate) lengths: Vec<u64>,
    /// Kind of the files; a write beyond the end extends regular files.
    pub(crate) kind: FileKind,
    /// Offsets and lengths of reads and writes must be multiples of this, bytes.
    pub(crate) alignment_bytes: u64,
}

/// Yields the ops of a replay in order. An op that cannot be made yields an error and ends the replay.
pub(crate) struct ReplayOps {
    recordings: &'static dyn Recordings,
    recording: Recording,
    /// `None` if the ops use no files.
    files: Option<ReplayFiles>,
    ops: Option<RecordedOps>,
    loops_left: u64,
    /// Number of ops in this loop so far.
    in_loop: u64,
    /// Start of this loop, ns.
    began_ns: u64,
    /// Due time of the last op, ns.
    last_ns: u64,
    bytes_left: u64,
    ops_left: u64,
}

impl ReplayOps {
    /// Opens the recording.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub(crate) fn open(
        recordings: &'static dyn Recordings,
        recording: &Recording,
        files: Option<ReplayFiles>,
    ) -> Result<ReplayOps, ReplayError> {
        let ops = recordings.open(recording)?;
        Ok(ReplayOps {
            recordings,
            files,
            ops: Some(ops),
            loops_left: if recording.repeat_until_time { u64::MAX } else { recording.loops.saturating_sub(1) },
            in_loop: 0,
            began_ns: 0,
            last_ns: 0,
            bytes_left: recording.io_bytes.map_or(u64::MAX, |bytes| bytes.0),
            ops_left: recording.max_ops.unwrap_or(u64::MAX),
            recording: recording.clone(),
        })
    }

    /// Starts the next loop, if there is one. A recording without ops always ends after one loop.
    fn next_loop(&mut self) -> Option<Result<(), ReplayError>> {
        if self.loops_left == 0 || self.in_loop == 0 {
            return None;
        }
        self.loops_left -= 1;
        self.in_loop = 0;
        self.began_ns = self.last_ns;
        match self.recordings.open(&self.recording) {
            Ok(ops) => {
                self.ops = Some(ops);
                Some(Ok(()))
            }
            Err(error) => Some(Err(error)),
        }
    }

    /// Checks that the files and the recording's settings allow an op.
    fn check(&mut self, op: &RecordedOp) -> Result<(), ReplayError> {
        let path = || self.recording.path.clone();
        let moves = self.recording.moves;
        let expected = match op.kind {
            OpKind::Read => moves.read,
            OpKind::Write => moves.write,
            OpKind::Trim => moves.trim,
            _ => true,
        };
        if !expected {
            return Err(ReplayError::UnexpectedKind { path: path(), kind: op.kind });
        }
        if op.kind != OpKind::Trim && u64::from(op.length) > self.recording.largest.0 {
            let largest = self.recording.largest.0;
            return Err(ReplayError::Larger { path: path(), bytes: op.length, largest });
        }
        let Some(files) = &mut self.files else { return Ok(()) };
        let count = files.lengths.len();
        let Some(length) = files.lengths.get_mut(op.file as usize) else {
            return Err(ReplayError::Files { path: path(), wanted: u64::from(op.file) + 1, count });
        };
        if !op.kind.moves_bytes() {
            return Ok(());
        }
        let end = op.offset.saturating_add(op.length.into());
        let (kind, bytes, offset) = (op.kind, op.length, op.offset);
        let file = || files.names.path(op.file as usize).unwrap_or_default();
        if end > *length {
            if op.kind == OpKind::Write && files.kind == FileKind::Regular {
                *length = end;
            } else {
                return Err(ReplayError::Beyond { path: path(), kind, bytes, offset, file: file(), end: *length });
            }
        }
        let alignment = files.alignment_bytes;
        if op.kind != OpKind::Trim
            && !(op.offset.is_multiple_of(alignment) && u64::from(op.length).is_multiple_of(alignment))
        {
            return Err(ReplayError::Unaligned { path: path(), kind, bytes, offset, file: file(), alignment });
        }
        Ok(())
    }

    /// Returns `true` if the limits allow an op.
    fn admits(&mut self, op: &RecordedOp) -> bool {
        if self.ops_left == 0 || self.bytes_left == 0 {
            return false;
        }
        if op.kind.moves_bytes() {
            self.ops_left -= 1;
            self.bytes_left = self.bytes_left.saturating_sub(op.length.into());
        }
        true
    }
}

impl Iterator for ReplayOps {
    type Item = Result<RecordedOp, ReplayError>;

    fn next(&mut self) -> Option<Result<RecordedOp, ReplayError>> {
        loop {
            let found = match self.ops.as_mut()?.next() {
                Some(Ok(op)) => Ok(RecordedOp { at_ns: self.began_ns.saturating_add(op.at_ns), ..op }),
                Some(Err(error)) => Err(error),
                None => {
                    self.ops = None;
                    match self.next_loop()? {
                        Ok(()) => continue,
                        Err(error) => Err(error),
                    }
                }
            };
            let checked = found.and_then(|op| self.check(&op).map(|()| op));
            match &checked {
                Ok(op) if self.admits(op) => {
                    self.in_loop += 1;
                    self.last_ns = self.last_ns.max(op.at_ns);
                }
                Ok(_) => {
                    self.ops = None;
                    return None;
                }
                Err(_) => self.ops = None,
            }
            return Some(checked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::Bytes;
    use plumb_workload::blocks::ByKind;
    use std::path::PathBuf;

    /// Reads 4 KiB at 0, writes 4 KiB at 4 KiB, and flushes, one microsecond apart.
    struct Three;

    impl Recordings for Three {
        fn open(&self, _recording: &Recording) -> Result<RecordedOps, ReplayError> {
            let op = |at_us: u64, kind, offset, length| {
                Ok(RecordedOp { at_ns: at_us * 1_000, took_ns: u64::MAX, kind, file: 0, offset, length })
            };
            let ops = [op(0, OpKind::Read, 0, 4096), op(1, OpKind::Write, 4096, 4096), op(2, OpKind::Fsync, 0, 0)];
            Ok(Box::new(ops.into_iter()))
        }
    }

    /// Yields no ops.
    struct Empty;

    impl Recordings for Empty {
        fn open(&self, _recording: &Recording) -> Result<RecordedOps, ReplayError> {
            Ok(Box::new(std::iter::empty()))
        }
    }

    fn recording(change: impl FnOnce(&mut Recording)) -> Recording {
        let mut recording = Recording::new(PathBuf::from("r"), Bytes(4096));
        change(&mut recording);
        recording
    }

    fn files(length: u64, kind: FileKind, alignment_bytes: u64) -> Option<ReplayFiles> {
        let names = Names::Given(vec![PathBuf::from("there")]);
        Some(ReplayFiles { names, lengths: vec![length], kind, alignment_bytes })
    }

    fn all(recording: &Recording, files: Option<ReplayFiles>) -> Vec<Result<RecordedOp, ReplayError>> {
        ReplayOps::open(&Three, recording, files).unwrap().take(100).collect()
    }

    fn error_of(recording: &Recording, files: Option<ReplayFiles>) -> String {
        let mut ops = all(recording, files);
        ops.pop().unwrap().expect_err("the last op is an error").to_string()
    }

    #[test]
    fn loops_follow_one_another_in_time() {
        let ops = all(&recording(|asked| asked.loops = 3), None);
        let times: Vec<u64> = ops.into_iter().map(|op| op.unwrap().at_ns / 1_000).collect();
        assert_eq!(times, [0, 1, 2, 2, 3, 4, 4, 5, 6]);
        assert_eq!(all(&recording(|asked| asked.repeat_until_time = true), None).len(), 100, "the replay is endless");
        let endless = recording(|asked| asked.repeat_until_time = true);
        assert_eq!(ReplayOps::open(&Empty, &endless, None).unwrap().count(), 0, "an empty recording is not repeated");
    }

    #[test]
    fn limits_count_over_all_loops_and_flushes_are_free() {
        let kinds = |recording: &Recording| -> Vec<OpKind> {
            all(recording, None).into_iter().map(|op| op.unwrap().kind).collect()
        };
        use OpKind::{Fsync, Read, Write};
        assert_eq!(kinds(&recording(|asked| (asked.loops, asked.max_ops) = (2, Some(3)))), [Read, Write, Fsync, Read]);
        let limited = recording(|asked| (asked.loops, asked.io_bytes) = (2, Some(Bytes(4097))));
        assert_eq!(kinds(&limited), [Read, Write]);
    }

    #[test]
    fn ops_that_do_not_fit_their_files_are_errors_with_the_way_out() {
        let plain = recording(|_| {});
        assert_eq!(all(&plain, files(4096, FileKind::Regular, 1)).iter().filter(|op| op.is_ok()).count(), 3);
        let beyond = error_of(&plain, files(4096, FileKind::Device, 1));
        assert!(beyond.contains("write of 4096 bytes at 4096 in there") && beyond.contains("replay_scale"), "{beyond}");
        let short = error_of(&plain, files(512, FileKind::Regular, 1));
        assert!(short.contains("read of 4096 bytes at 0 in there"), "{short}");
        let unaligned = error_of(&plain, files(1 << 20, FileKind::Regular, 8192));
        assert!(unaligned.contains("multiples of 8192"), "{unaligned}");
        let mut none = files(1, FileKind::Regular, 1).unwrap();
        none.lengths.clear();
        assert!(error_of(&plain, Some(none)).contains("replay_redirect"));
        assert!(error_of(&recording(|asked| asked.largest = Bytes(512)), None).contains("`largest`"));
        let reads = recording(|asked| asked.moves = ByKind { read: true, write: false, trim: false });
        assert!(error_of(&reads, None).contains("`moves`"));
    }
}
