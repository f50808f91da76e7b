use super::*;
use crate::native::{parse, to_toml};
use crate::phase::{Stop, Work, WorkerGroup};
use crate::units::Bytes;
use crate::validate::validate;
use crate::{Backend, OpKind, Workload};
use plumb_sorted::SortedMap;

fn scales() -> Vec<Scale> {
    let mut scales = Vec::new();
    for place in [RunPlace::Directory, RunPlace::Sim("sim:hdd?slow=5%".parse().unwrap())] {
        scales.push(Scale::moderate(place.clone()));
        scales.push(Scale { file_bytes: 0, files: 0, time_ns: 0, ..Scale::moderate(place.clone()) });
        scales.push(Scale { file_bytes: u64::MAX / 4, files: 1 << 40, seed: 7, ..Scale::moderate(place) });
    }
    scales
}

fn all(scale: &Scale) -> Vec<Workload> {
    NAMED.iter().map(|named| named.workload(scale)).chain([try_workload(scale)]).collect()
}

#[test]
fn every_one_is_valid_wherever_and_however_large() {
    for scale in scales() {
        for workload in all(&scale) {
            assert_eq!(validate(&workload), [], "{} at {scale:?}", workload.name);
        }
    }
}

#[test]
fn every_one_survives_its_native_form() {
    for scale in scales() {
        for workload in all(&scale) {
            let text = to_toml(&workload).unwrap();
            assert_eq!(parse("named", &text).unwrap_or_else(|error| panic!("{error}")), workload);
        }
    }
}

/// A headline that two phases report would be compared across different work.
#[test]
fn every_headline_metric_occurs_in_one_phase() {
    for named in NAMED {
        let workload = named.workload(&Scale::moderate(RunPlace::Directory));
        let mut phases: SortedMap<&str, usize> = SortedMap::new();
        for phase in &workload.phase {
            let mut kinds: Vec<&str> = phase.workers.iter().flat_map(subjects).collect();
            kinds.sort_unstable();
            kinds.dedup();
            kinds.into_iter().for_each(|kind| *phases.entry(kind).or_default() += 1);
        }
        for metric in named.headline {
            let subject = metric.split('.').next().unwrap();
            assert_eq!(phases.get(subject), Some(&1), "{}: {metric}", named.name);
        }
    }
}

/// First parts of the metrics that a group yields.
fn subjects(group: &WorkerGroup) -> Vec<&'static str> {
    let kinds: Vec<OpKind> = match &group.work {
        Work::Blocks(_) | Work::Program(_) => group.work.op_kinds().into_iter().collect(),
        Work::Copy(_) | Work::Replay(_) => panic!("no named workload has copies or replays"),
    };
    let transactions = match &group.work {
        Work::Program(program) if program.count_transactions => Some("txn"),
        _ => None,
    };
    kinds.into_iter().map(OpKind::name).chain(transactions).collect()
}

#[test]
fn the_survey_takes_under_a_minute_and_writes_no_more_than_promised() {
    let scale = Scale::moderate(RunPlace::Directory);
    let survey = try_workload(&scale);
    let timed: u64 = survey.phase.iter().filter_map(|phase| phase.stop.time).map(|time| time.0).sum();
    assert!(timed <= 45_000_000_000, "{timed} ns");
    for phase in &survey.phase {
        for group in &phase.workers {
            if let Some(work) = group.work.blocks()
                && work.mix.write > 0
            {
                let bounded = group.limit.passes == Some(1) || phase.stop.bytes == Some(Bytes(scale.file_bytes));
                assert!(bounded, "{} may write for ever", phase.name);
            }
        }
    }
}

/// A flow over existing files must not come before the phase that makes them, nor wait for time to end it.
#[test]
fn small_files_phases_make_what_they_use() {
    let workload = file::small_files(&Scale::moderate(RunPlace::Directory), &NAMED[5]);
    let names: Vec<&str> = workload.phase.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["create", "stat", "read", "delete"]);
    for phase in &workload.phase {
        assert_eq!(phase.workers[0].limit.passes, Some(4000), "{}", phase.name);
    }
    assert_eq!(workload.phase[0].stop, Stop::default(), "creating finishes, whatever the time");
}

#[test]
fn names_are_unique_and_found_and_near_misses_are_named() {
    for named in NAMED {
        assert_eq!(select(named.name).unwrap()[0].name, named.name);
        assert!(!named.about.contains('\n'));
    }
    assert_eq!(select("all").unwrap().len(), NAMED.len());
    assert!(select("randomread").unwrap_err().to_string().contains("did you mean `random-read`?"));
    assert!(select("webserver").unwrap_err().to_string().contains("`mail`"));
}

/// The engine chooses: a named workload must run wherever there is no io_uring.
#[test]
fn no_backend_is_forced() {
    for workload in all(&Scale::moderate(RunPlace::Directory)) {
        for group in workload.phase.iter().flat_map(|phase| &phase.workers) {
            assert_eq!(group.backend, Backend::Auto, "{}", workload.name);
        }
    }
}

#[test]
fn mail_in_its_native_form() {
    let workload = select("mail").unwrap()[0].workload(&Scale::moderate(RunPlace::Directory));
    insta::assert_snapshot!(to_toml(&workload).unwrap());
}

#[test]
fn database_in_its_native_form() {
    let workload = select("database").unwrap()[0].workload(&Scale::moderate(RunPlace::Directory));
    insta::assert_snapshot!(to_toml(&workload).unwrap());
}
