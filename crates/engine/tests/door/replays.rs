//! Jobs that replay a made-up recording.

use super::common::*;
use super::jobs::assert_no_faults;
use plumb_engine::trace::{RecordedOp, RecordedOps, Recordings, ReplayError};
use plumb_engine::{LoggedOp, Observer};
use plumb_result::PhaseMeasurement;
use plumb_workload::OpKind;
use plumb_workload::blocks::trace::Recording;

/// Opens recordings whose name determines their content.
struct FixedRecordings;

/// Four writes, two reads of them and a flush in two files, a fifth of a millisecond apart.
fn few() -> Vec<Result<RecordedOp, ReplayError>> {
    let op = |number: u64, kind, file, offset, length| {
        Ok(RecordedOp { at_ns: number * 200_000, took_ns: u64::MAX, kind, file, offset, length })
    };
    vec![
        op(0, OpKind::Write, 0, 0, 4096),
        op(1, OpKind::Write, 1, 8192, 512),
        op(2, OpKind::Write, 0, 4096, 4096),
        op(3, OpKind::Fsync, 0, 0, 0),
        op(4, OpKind::Read, 0, 4096, 4096),
        op(5, OpKind::Write, 1, 0, 8192),
        op(6, OpKind::Read, 1, 8192, 512),
    ]
}

impl Recordings for FixedRecordings {
    fn open(&self, recording: &Recording) -> Result<RecordedOps, ReplayError> {
        let mut ops = few();
        match recording.path.to_str() {
            Some("few") => {}
            Some("broken") => ops.insert(3, Err(ReplayError::Read("broken: line 5: `x` is no offset".into()))),
            Some("behind") => {
                ops.push(Ok(RecordedOp {
                    at_ns: 0,
                    took_ns: u64::MAX,
                    kind: OpKind::Read,
                    file: 0,
                    offset: 1 << 20,
                    length: 512,
                }));
            }
            _ => {
                let text = format!("{}: No such file or directory", recording.path.display());
                return Err(ReplayError::Read(text.into()));
            }
        }
        Ok(Box::new(ops.into_iter()))
    }
}

fn place() -> Place {
    let mut place = Place::new();
    place.recordings = Some(&FixedRecordings);
    place
}

/// Returns a job that replays `path`, with more settings of the recording and of its group.
fn text(path: &str, recording: &str, group: &str) -> String {
    format!(
        r#"
        name = "replay"
        [target.data.job-files]
        names.numbered = {{ path = "data.{{}}", count = 2 }}
        lengths = ["64KiB"]
        [[phase]]
        name = "only"
        end.flush = "none"
        [[phase.workers]]
        name = "again"
        target = "data"
        on-error = "leave"
        {group}
        log-ops = true
        [phase.workers.work.blocks.trace]
        path = "{path}"
        largest = "8KiB"
        {recording}
        "#
    )
}

/// Keeps the log of ops.
#[derive(Default)]
struct OpLog(Vec<LoggedOp>);

impl Observer for OpLog {
    fn op_log(&mut self, _phase: &str, _worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        self.0.extend(ops);
        self.0.sort_by_key(|op| op.submit_ns);
    }
}

fn replayed(path: &str, recording: &str, group: &str) -> (PhaseMeasurement, Vec<LoggedOp>) {
    let mut log = OpLog::default();
    let mut measurement = place().watch(&text(path, recording, group), &mut log);
    (measurement.phases.remove(0), log.0)
}

fn expected() -> Vec<(OpKind, u32, u64, u64)> {
    few().into_iter().map(Result::unwrap).map(|op| (op.kind, op.file, op.offset, op.length.into())).collect()
}

fn done(ops: &[LoggedOp]) -> Vec<(OpKind, u32, u64, u64)> {
    ops.iter().map(|op| (op.kind, op.file, op.offset, op.length)).collect()
}

#[test]
fn every_op_is_made_where_it_was_recorded() {
    for group in ["", "backend = \"preadv\"\nrun-as = \"process\""] {
        let (phase, ops) = replayed("few", "", group);
        assert_no_faults(&phase);
        assert_eq!(done(&ops), expected(), "{group}");
        assert_eq!((phase.workers[0].count, bytes(&phase, OpKind::Write)), (7, 16_896));
    }
    let (phase, mut ops) = replayed("few", "", "backend.io-uring = {}\ndepth = 4");
    assert_no_faults(&phase);
    let (mut expected, key) = (expected(), |op: &(OpKind, u32, u64, u64)| (op.0.name(), op.1, op.2));
    let mut found = done(&std::mem::take(&mut ops));
    expected.sort_by_key(key);
    found.sort_by_key(key);
    assert_eq!(found, expected, "a queued backend makes the same ops");
}

/// Protects: no op is made before its time, and the lag of each is measured.
#[test]
fn recorded_times_are_kept_and_lags_are_measured() {
    let (phase, ops) = replayed("few", "speed-percent = 50\nloops = 2", "");
    assert_no_faults(&phase);
    assert_eq!(ops.len(), 14);
    for (number, op) in ops.iter().enumerate() {
        // The last op of a loop and the first of the next are due at the same time.
        let due_ns = (number as u64 - u64::from(number >= 7)) * 400_000;
        // A microsecond for rounding from ticks and back.
        assert!(op.submit_ns + 1_000 >= due_ns, "{number} at {}", op.submit_ns);
    }
    let lag = phase.start_lag.as_ref().expect("expected start lags");
    assert_eq!(lag.count(), 14);
    assert!(phase.ops.values().all(|op| op.response.as_ref().is_some_and(|response| response.count() == op.count)));
    let (phase, _) = replayed("few", "", "");
    assert!(phase.start_lag.is_none(), "nothing is late without due times");
}

#[test]
fn limits_and_time_end_a_replay() {
    let (phase, ops) = replayed("few", "loops = 3\nmax-ops = 8", "");
    assert_no_faults(&phase);
    assert_eq!(ops.iter().filter(|op| op.kind.moves_bytes()).count(), 8);
    let (phase, ops) = replayed("few", "repeat-until-time = true", "limit.time = \"50ms\"");
    assert_no_faults(&phase);
    assert!(ops.len() > 7, "the replay was repeated: {} ops", ops.len());
}

#[test]
fn an_error_in_a_recording_fails_the_job_with_its_message() {
    let (phase, ops) = replayed("broken", "", "");
    assert_eq!(done(&ops), expected()[..3], "the ops before the error were made");
    let why = phase.workers[0].ended_by.clone().unwrap_or_default();
    assert!(why.contains("line 5: `x` is no offset"), "{why}");
    let (phase, _) = replayed("behind", "", "");
    let why = phase.workers[0].ended_by.clone().unwrap_or_default();
    assert!(why.contains("1048576 in data.0, which ends at 65536"), "{why}");
    let (phase, ops) = replayed("none", "", "");
    assert_eq!(ops, [], "no ops were made");
    assert_eq!(phase.workers[0].ended_by.as_deref(), Some("none: No such file or directory"));
}

#[test]
fn unsupported_replays_are_refused_before_the_start() {
    let refused = |place: &Place, text: &str| match place.try_run(text, &mut plumb_engine::Nobody) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{text}"),
    };
    let rated = text("few", "speed-percent = 100", "")
        .replace("log-ops = true", "log-ops = true\npace.ops-per-second.read = 10\n");
    let error = refused(&place(), &rated);
    assert!(error.contains("replay_no_stall"), "{error}");
    let error = refused(&Place::new(), &text("few", "", ""));
    assert!(error.contains("few: recordings cannot be read here"), "{error}");
}
