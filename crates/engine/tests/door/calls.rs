//! Made-up recordings of calls on files: the calls below a directory, and the absence of calls elsewhere.

use super::common::*;
use plumb_engine::replay::{CallAct, CallSurvey, InitialFile, InitialFileKind, RecordedCall, RecordedCalls};
use plumb_engine::trace::{RecordedOps, Recordings, ReplayError};
use plumb_engine::{Nobody, Observer};
use plumb_result::{PhaseMeasurement, ReplayMeasurement, ReplayedSum};
use plumb_workload::blocks::trace::Recording;
use plumb_workload::{OpKind, Replay};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The calls of a recording, with the paths of its files.
struct Made {
    paths: Vec<String>,
    calls: Vec<RecordedCall>,
    initial: Vec<InitialFile>,
    absent: Vec<u32>,
}

const CREATE: u64 = 0o102 | 0o644 << 32;

fn call(at_us: u64, act: CallAct, file: u32, handle: u32, result: i64) -> RecordedCall {
    let (offset, length, aux) = (0, 0, if act == CallAct::Open { CREATE } else { 0 });
    RecordedCall { at_ns: at_us * 1_000, took_ns: 1_000, offset, length, result, aux, file, task: 0, handle, act }
}

fn moves(at_us: u64, act: CallAct, file: u32, handle: u32, range: (u64, u64)) -> RecordedCall {
    RecordedCall { offset: range.0, length: range.1, result: range.1 as i64, ..call(at_us, act, file, handle, 0) }
}

/// One thread creates, writes, reads, renames and removes a file, and another reads an existing one.
fn plain() -> Made {
    let calls = vec![
        call(0, CallAct::Mkdir, 1, 0, 0),
        call(100, CallAct::Open, 0, 4, 3),
        moves(200, CallAct::Write, 0, 4, (0, 8192)),
        call(300, CallAct::Fsync, 0, 4, 0),
        RecordedCall { task: 1, aux: 0, ..call(310, CallAct::Open, 2, 9, 8) },
        RecordedCall { task: 1, ..moves(320, CallAct::Read, 2, 9, (4096, 4096)) },
        moves(400, CallAct::Read, 0, 4, (4096, 4096)),
        call(500, CallAct::Close, 0, 4, 0),
        call(600, CallAct::Stat, 3, 0, -2),
        RecordedCall { aux: 3, ..call(700, CallAct::Rename, 0, 0, 0) },
        call(800, CallAct::Stat, 3, 0, 0),
        call(900, CallAct::Unlink, 3, 0, 0),
        call(1_000, CallAct::Rmdir, 1, 0, 0),
        RecordedCall { task: 1, ..call(1_100, CallAct::Close, 2, 9, 0) },
    ];
    Made {
        paths: ["/d/f", "/d", "/old/read", "/d/g"].map(str::to_owned).to_vec(),
        calls,
        initial: vec![InitialFile { file: 2, kind: InitialFileKind::File { bytes: 8192 } }],
        absent: vec![0, 1, 3],
    }
}

/// Everything that a recording could do to leave its directory.
fn hostile_recording() -> Made {
    let paths = [
        "/../../../../etc/passwd-of-a-replay",
        "../outside",
        "/way/../../outside",
        "/",
        "..",
        "/nul\0name",
        "/a/link/x",
        "/a/link",
    ];
    let mut calls = Vec::new();
    for file in 0..paths.len() as u32 {
        let at_us = u64::from(file) * 100;
        calls.push(call(at_us, CallAct::Symlink, file, 0, 0));
        calls.push(call(at_us + 1, CallAct::Open, file, file + 1, 3));
        calls.push(moves(at_us + 2, CallAct::Write, file, file + 1, (1 << 62, 512)));
        calls.push(call(at_us + 3, CallAct::Rmdir, file, 0, 0));
        calls.push(call(at_us + 4, CallAct::Unlink, file, 0, 0));
        calls.push(RecordedCall { aux: 0, ..call(at_us + 5, CallAct::Rename, file, 0, 0) });
        calls.push(RecordedCall { aux: u64::from(u32::MAX), ..call(at_us + 6, CallAct::Link, file, 0, 0) });
        calls.push(RecordedCall { length: u64::MAX, ..call(at_us + 7, CallAct::Truncate, file, 0, 0) });
        calls.push(RecordedCall {
            aux: u64::MAX,
            length: u64::MAX,
            ..call(at_us + 8, CallAct::Allocate, file, file + 1, 0)
        });
        calls.push(RecordedCall { aux: u64::MAX, ..call(at_us + 9, CallAct::Open, file, file + 1, 3) });
    }
    Made { paths: paths.map(str::to_owned).to_vec(), calls, initial: Vec::new(), absent: Vec::new() }
}

impl Made {
    fn for_path(path: &Path) -> Made {
        match path.to_str() {
            Some("hostile") => hostile_recording(),
            Some("large") => {
                let kind = InitialFileKind::File { bytes: 1 << 60 };
                Made { initial: vec![InitialFile { file: 2, kind }], ..plain() }
            }
            Some("nothing") => Made { calls: Vec::new(), ..plain() },
            Some("other") => {
                // No call creates the file, although it was recorded as existing.
                let mut made = plain();
                made.calls.insert(0, RecordedCall { aux: 0, ..call(0, CallAct::Open, 3, 30, 29) });
                made
            }
            _ => plain(),
        }
    }
}

struct Calls;

impl Recordings for Calls {
    fn open(&self, recording: &Recording) -> Result<RecordedOps, ReplayError> {
        Err(ReplayError::Nothing { path: recording.path.clone(), has_below: false })
    }

    fn survey(&self, replay: &Replay) -> Result<CallSurvey, ReplayError> {
        let made = Made::for_path(&replay.path);
        let mut ops: BTreeMap<OpKind, ReplayedSum> = BTreeMap::new();
        for call in &made.calls {
            let sum = ops.entry(call.act.kind()).or_default();
            sum.ops += 1;
            sum.failed += u64::from(call.result < 0);
            sum.bytes += if call.act.kind().moves_bytes() { call.result.max(0) as u64 } else { 0 };
        }
        let largest = made.initial.iter().map(|entry| match entry.kind {
            InitialFileKind::File { bytes } => bytes,
            _ => 0,
        });
        Ok(CallSurvey {
            reach_bytes: largest.sum::<u64>() + 8192,
            reaches: vec![8192; made.paths.len()],
            paths: made.paths,
            initial: made.initial,
            absent: made.absent,
            processes: vec![7, 8],
            lanes: vec![0, 1],
            lane_count: 2,
            ops,
            length_ns: made.calls.last().map_or(0, |call| call.at_ns),
            busy_ns: Some(made.calls.len() as u64 * 1_000),
            has_handles: true,
            largest_read: 8192,
            largest_write: 8192,
            left_out: Vec::new(),
            own: Vec::new(),
        })
    }

    fn open_calls(&self, replay: &Replay) -> Result<RecordedCalls, ReplayError> {
        Ok(Box::new(Made::for_path(&replay.path).calls.into_iter().map(Ok)))
    }
}

fn text(path: &str, replay: &str, target: &str) -> String {
    format!(
        r#"
        name = "calls"
        [target.files.{target}]
        {}
        [[phase]]
        name = "only"
        end.flush = "none"
        [[phase.workers]]
        target = "files"
        count = 2
        on-error = "continue"
        [phase.workers.work.replay]
        path = "{path}"
        {replay}
        "#,
        match target {
            "sim" => "device = \"sim:ssd\"\nsize = \"1MiB\"",
            _ => "path = \"tree\"",
        }
    )
}

/// Keeps the list of files that exist when the workers are ready.
#[derive(Default)]
struct FileLister(Vec<PathBuf>);

impl Observer for FileLister {
    fn targets_ready(&mut self, targets: &[plumb_engine::TargetView<'_>]) {
        fn below(path: &Path, found: &mut Vec<PathBuf>, root: &Path) {
            for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
                let path = entry.path();
                found.push(path.strip_prefix(root).unwrap().to_owned());
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    below(&path, found, root);
                }
            }
        }
        for target in targets {
            below(target.path, &mut self.0, target.path);
        }
        self.0.sort();
    }
}

fn replayed(path: &str, replay: &str, target: &str) -> (PhaseMeasurement, ReplayMeasurement, Vec<PathBuf>) {
    let mut place = Place::new();
    place.recordings = Some(&Calls);
    let mut lister = FileLister::default();
    let mut measurement = place.watch(&text(path, replay, target), &mut lister);
    let phase = measurement.phases.remove(0);
    let kept = *phase.replay.clone().expect("a replay has a replay measurement");
    (phase, kept, lister.0)
}

#[test]
fn every_call_is_made_and_has_its_recorded_result() {
    for order in ["thread", "resource", "inferred", "total"] {
        let (phase, kept, files) = replayed("plain", &format!("order = \"{order}\""), "recorded");
        assert_eq!(phase.fault_count, 0, "{order}: {:?}", phase.faults);
        assert_eq!((kept.begun, kept.different_count), (14, 0), "{order}: {:?}", kept.different);
        assert_eq!(phase.count(), 14);
        assert_eq!((bytes(&phase, OpKind::Write), bytes(&phase, OpKind::Read)), (8192, 8192));
        assert_eq!(files, ["old", "old/read"].map(PathBuf::from), "files that are read existed");
        assert_eq!(kept.recorded_length_ns, 1_100_000);
        assert!(phase.wall_ns >= 1_100_000, "no call begins before its time");
    }
}

#[test]
fn timings_other_than_the_recorded_one() {
    for timing in
        ["\"as-fast-as-possible\"", "\"think-times\"", "\"in-flight\"", "{ recorded = { speed-percent = 400 } }"]
    {
        let (phase, kept, _) = replayed("plain", &format!("timing = {timing}"), "recorded");
        assert_eq!((phase.fault_count, kept.begun, kept.different_count), (0, 14, 0), "{timing}: {:?}", kept.different);
        let is_open = timing.contains("recorded") || timing.contains("think");
        assert_eq!(phase.start_lag.is_some(), is_open, "{timing}");
    }
}

#[test]
fn a_simulated_device_keeps_times_exactly() {
    let (phase, kept, _) = replayed("plain", "", "sim");
    assert_eq!((kept.begun, phase.fault_count), (14, 0));
    assert_eq!(bytes(&phase, OpKind::Write), 8192);
    let (again, _, _) = replayed("plain", "", "sim");
    assert_eq!(phase.start_lag, again.start_lag, "the same run is identical");
    for timing in ["\"think-times\"", "\"in-flight\"", "\"as-fast-as-possible\""] {
        for order in ["none", "thread", "resource", "inferred", "total"] {
            let (_, kept, _) = replayed("plain", &format!("timing = {timing}\norder = \"{order}\""), "sim");
            assert_eq!(kept.begun, 14, "{timing} {order}");
        }
    }
}

/// Protects: a recording can neither leave its directory nor end the program.
#[test]
fn a_hostile_recording_does_nothing_elsewhere() {
    let outside = tempfile::tempdir().unwrap();
    let before = std::fs::read_dir("/etc").unwrap().count();
    for order in ["none", "thread", "resource", "total"] {
        let replay = format!("timing = \"as-fast-as-possible\"\norder = \"{order}\"");
        let (_, kept, _) = replayed("hostile", &replay, "recorded");
        assert_eq!(kept.begun, 80, "{order}");
        assert!(kept.different_count > 0, "{order}: most calls fail");
    }
    assert_eq!(std::fs::read_dir("/etc").unwrap().count(), before);
    assert!(!Path::new("/etc/passwd-of-a-replay").exists());
    drop(outside);
}

#[test]
fn different_results_are_named() {
    let (phase, kept, _) = replayed("other", "", "recorded");
    assert_eq!((kept.different_count, phase.fault_count), (1, 1));
    let different = &kept.different[0];
    assert_eq!((different.kind, different.recorded, different.replayed), (OpKind::Open, 1, -2));
    assert_eq!(different.path, "d/g");
}

#[test]
fn impossible_replays_are_refused_before_anything_is_created() {
    let refused = |path: &str, replay: &str, with: bool| {
        let mut place = Place::new();
        place.recordings = with.then_some(&Calls);
        match place.try_run(&text(path, replay, "recorded"), &mut Nobody) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{path} {replay}"),
        }
    };
    assert!(refused("nothing", "", true).contains("nothing to replay"));
    assert!(refused("plain", "", false).contains("cannot be read here"));
    let large = refused("large", "", true);
    assert!(large.contains("free") || large.contains("space"), "the guard checks the space: {large}");
}
