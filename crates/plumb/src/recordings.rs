//! Recordings, as the engine wants them: opened by `plumb-trace`, scaled, aligned and filtered as a replay asks.

use plumb_engine::trace::{RecordedOp, RecordedOps, Recordings, ReplayError};
use plumb_trace::{Record, RecordedAct, TraceError};
use plumb_workload::OpKind;
use plumb_workload::blocks::trace::{Recording, SkipOps, Waits};

/// Recordings in files.
pub struct OnDisk;

impl Recordings for OnDisk {
    fn open(&self, recording: &Recording) -> Result<RecordedOps, ReplayError> {
        let waits = waits(recording.waits);
        let reader = plumb_trace::open(&recording.path, waits).map_err(|error| ReplayError::Read(Box::new(error)))?;
        let recording = recording.clone();
        Ok(Box::new(reader.filter_map(move |record| op(record, &recording))))
    }
}

/// The same for the reader.
pub fn waits(waits: Waits) -> plumb_trace::iolog::Waits {
    match waits {
        Waits::Manual => plumb_trace::iolog::Waits::Manual,
        Waits::Fio => plumb_trace::iolog::Waits::Fio,
    }
}

/// What a record is in a replay; nothing where it is left out.
fn op(record: Result<Record, TraceError>, recording: &Recording) -> Option<Result<RecordedOp, ReplayError>> {
    let record = match record {
        Ok(record) => record,
        Err(error) => return Some(Err(ReplayError::Read(Box::new(error)))),
    };
    let kind = kind(record.act).filter(|kind| !skips(recording.skip, *kind))?;
    let align = recording.align.map_or(1, |align| align.0.max(1));
    let offset = record.offset / u64::from(recording.scale.max(1)) / align * align;
    let file = if recording.one_file { 0 } else { record.file };
    Some(match u32::try_from(record.length) {
        Ok(length) => Ok(RecordedOp { at_ns: record.at_ns, kind, file, offset, length }),
        Err(_) => Err(ReplayError::TooLong { bytes: record.length }),
    })
}

fn kind(act: RecordedAct) -> Option<OpKind> {
    match act {
        RecordedAct::Read => Some(OpKind::Read),
        RecordedAct::Write => Some(OpKind::Write),
        RecordedAct::Trim => Some(OpKind::Trim),
        RecordedAct::Sync => Some(OpKind::Fsync),
        RecordedAct::Datasync => Some(OpKind::Fdatasync),
        // Files are open as long as the job runs, and all that is done with names is done before.
        _ => None,
    }
}

fn skips(skip: SkipOps, kind: OpKind) -> bool {
    match kind {
        OpKind::Read => skip.read,
        OpKind::Write => skip.write,
        OpKind::Trim => skip.trim,
        _ => skip.sync,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::Bytes;
    use std::path::PathBuf;

    fn recording(change: impl FnOnce(&mut Recording)) -> Recording {
        let mut recording = Recording::new(PathBuf::from("r"), Bytes(4096));
        change(&mut recording);
        recording
    }

    const WRITE: Record = Record::ranged(5, 3, RecordedAct::Write, 10_000, 512);

    #[test]
    fn offsets_are_divided_and_then_rounded_down() {
        let found = op(Ok(WRITE), &recording(|asked| (asked.scale, asked.align) = (2, Some(Bytes(4096)))));
        assert_eq!(found.unwrap().unwrap().offset, 4096);
    }

    #[test]
    fn all_ops_may_go_to_one_file_and_kinds_may_be_left_out() {
        assert_eq!(op(Ok(WRITE), &recording(|_| {})).unwrap().unwrap().file, 3);
        assert_eq!(op(Ok(WRITE), &recording(|asked| asked.one_file = true)).unwrap().unwrap().file, 0);
        assert!(op(Ok(WRITE), &recording(|asked| asked.skip.write = true)).is_none());
        assert!(
            op(Ok(Record { act: RecordedAct::Sync, ..WRITE }), &recording(|asked| asked.skip.sync = true)).is_none()
        );
    }

    #[test]
    fn an_op_beyond_four_gigabytes_is_told() {
        assert!(op(Ok(Record { length: 1 << 33, ..WRITE }), &recording(|_| {})).unwrap().is_err());
    }
}
