//! Reports of what Plumb measured.

use crate::fio::Compat;
use crate::fio::print::*;
use plumb_result::observe::{Counters, DeviceCounters, LayerKind, PhaseObservations, TargetFacts};
use plumb_result::{
    Fault, Histogram, Interval, Measurement, Observations, OpCounts, OpMeasurement, PhaseMeasurement, Seen,
    WorkerMeasurement,
};
use plumb_workload::OpKind;

const SECOND_NS: u64 = 1_000_000_000;

fn ops(count: u64, each_ns: u64) -> OpMeasurement {
    let mut service = Histogram::new();
    service.record_n(each_ns, count);
    OpMeasurement { count, bytes: count * 4096, service, response: None, ..OpMeasurement::default() }
}

fn worker(name: &str, count: u64, depth_asked: u32) -> WorkerMeasurement {
    WorkerMeasurement {
        name: name.to_owned(),
        count,
        bytes: count * 4096,
        wall_ns: 2 * SECOND_NS,
        cpu_user_ns: SECOND_NS / 10,
        cpu_system_ns: SECOND_NS / 5,
        sleeps: Some(count),
        depth_asked,
        ..WorkerMeasurement::default()
    }
}

fn second(start: u64, length_ns: u64, reads: u64) -> Interval {
    let counts = OpCounts { count: reads, bytes: reads * 4096, ..OpCounts::default() };
    Interval { start_ns: start * SECOND_NS, length_ns, ops: [(OpKind::Read, counts)].into() }
}

/// Two readers of one op at a time: a second of work, a second of stall, and a stub of a third.
fn readers() -> PhaseMeasurement {
    PhaseMeasurement {
        name: "main".to_owned(),
        wall_ns: 2 * SECOND_NS + 1_000_000,
        ops: [(OpKind::Read, ops(1000, 100_000)), (OpKind::Fsync, ops(0, 0))].into(),
        intervals: vec![second(0, SECOND_NS, 1000), second(1, SECOND_NS, 0), second(2, 1_000_000, 0)],
        workers: vec![worker("a/0", 600, 1), worker("b/0", 400, 1)],
        ..PhaseMeasurement::default()
    }
}

fn heading() -> Heading {
    Heading {
        version: "fio-3.42".to_owned(),
        at: Moment::at_offset(0, 0),
        global_options: Vec::new(),
        compat: Compat::Meant,
        disks: DiskStats::Shown,
    }
}

fn source(name: &str, phase: usize, share: Share) -> JobSource {
    JobSource { job: Job { name: name.to_owned(), ..Job::default() }, phase, share, ..JobSource::default() }
}

fn built(source: JobSource, phases: Vec<PhaseMeasurement>) -> Job {
    let measurement = Measurement { phases, ..Measurement::default() };
    report_of(heading(), vec![source], &measurement, None).unwrap().jobs.remove(0)
}

fn split(job: &Job) -> &Split {
    match &job.io {
        Io::Separate(split) => split,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_whole_phase_gives_everything_that_was_measured() {
    let job = built(source("r", 0, Share::Whole), vec![readers()]);
    let read = &split(&job).read;
    assert_eq!((read.ios, read.bytes, read.runtime_ms), (1000, 4_096_000, 2000));
    assert_eq!(read.bytes_per_second(), 2_048_000);
    let clat = read.clat.value().unwrap();
    assert_eq!((clat.count, clat.min_ns, clat.max_ns, clat.mean_ns), (1000, 100_000, 100_000, 100_000.0));
    assert_eq!(clat.stddev_ns, 0.0, "equal values do not spread, however wide their bucket");
    assert_eq!(job.latency_shares.us[6], 100.0);
    assert_eq!((job.runtime_ms, job.cpu.user_ns), (4000, SECOND_NS / 5), "both workers");
    assert_eq!(job.depths.level, Figure::Is([100.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
    assert_eq!(read.slat, Figure::Off, "an op that completes in its call has no submission");
}

/// fio leaves the empty second out and reports twice the rate (defect 7 of its list).
#[test]
fn a_stall_counts_among_the_samples() {
    let job = built(source("r", 0, Share::Whole), vec![readers()]);
    let samples = *split(&job).read.bandwidth.value().unwrap();
    assert_eq!((samples.count, samples.min, samples.max, samples.mean), (2, 0, 4000, 2000.0));
}

#[test]
fn what_the_engine_does_not_measure_is_zero_and_is_named() {
    let mut phase = readers();
    phase.workers.iter_mut().for_each(|worker| worker.depth_asked = 32);
    let measurement = Measurement { phases: vec![phase], ..Measurement::default() };
    let report = report_of(heading(), vec![source("r", 0, Share::Whole)], &measurement, None).unwrap();
    let root: serde_json::Value = serde_json::from_str(&json(&report, JsonFormat::Plain)).unwrap();
    let job = &root["jobs"][0];
    for (value, name) in [
        (&job["ctx"], "ctx"),
        (&job["minf"], "minf"),
        (&job["read"]["slat_ns"]["N"], "read.slat_ns"),
        (&job["iodepth_submit"]["4"], "iodepth_submit"),
        (&job["iodepth_level"]["32"], "iodepth_level"),
    ] {
        assert_eq!(value.as_f64(), Some(0.0), "{name}");
        assert!(job["not_measured"][name].is_string(), "{name}");
    }
    assert!(job["not_measured"].get("read.clat_ns").is_none());
    assert!(normal(&report).contains("\n  not measured : read.slat_ns, ctx, majf, minf, iodepth_level"));
}

#[test]
fn jobs_that_ran_at_once_have_their_counts_where_they_did_one_kind_of_op() {
    let job = built(source("b", 0, Share::Groups(vec!["b".to_owned()])), vec![readers()]);
    let read = &split(&job).read;
    assert_eq!((read.ios, read.bytes, job.runtime_ms), (400, 400 * 4096, 2000));
    assert!(matches!(read.clat, Figure::Unknown(_)), "the distribution is of both jobs");
    let mut phase = readers();
    phase.ops.insert(OpKind::Write, ops(10, 5));
    let measurement = Measurement { phases: vec![phase], ..Measurement::default() };
    let error = report_of(heading(), vec![source("b", 0, Share::Groups(vec!["b".to_owned()]))], &measurement, None);
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("job `b`") && error.contains("read and write") && error.contains("group_reporting"),
        "{error}"
    );
}

#[test]
fn a_failed_op_and_a_dead_worker_fail_their_job() {
    let mut phase = readers();
    phase.fault_count = 3;
    phase.faults = vec![Fault {
        op: OpKind::Read,
        path: "f".into(),
        offset: 0,
        length: 4096,
        errno: None,
        message: "other bytes than were written".to_owned(),
    }];
    let job = built(source("r", 0, Share::Whole), vec![phase.clone()]);
    assert_eq!(job.error.as_ref().map(|error| error.code), Some(84));
    assert!(job.error.unwrap().text.contains("read of f: other bytes"));
    let mut source_with = source("r", 0, Share::Whole);
    source_with.job.continued = Some(ContinuedErrors { total: 0, first_code: 0, first_text: String::new() });
    assert_eq!(built(source_with, vec![phase]).continued.unwrap().total, 3);
    let mut killed = readers();
    killed.workers[1].ended_by = Some("its process was killed by signal 9".to_owned());
    let only_b = built(source("b", 0, Share::Groups(vec!["b".to_owned()])), vec![killed.clone()]);
    assert_eq!(only_b.error.unwrap().code, 5);
    assert_eq!(built(source("a", 0, Share::Groups(vec!["a".to_owned()])), vec![killed]).error, None);
}

#[test]
fn a_job_that_was_never_started_is_reported_or_refused() {
    let mut measurement = Measurement { phases: vec![readers()], ..Measurement::default() };
    let late = || vec![source("late", 1, Share::Whole)];
    assert!(matches!(
        report_of(heading(), late(), &measurement, None),
        Err(BuildError::NoPhase { phase: 1, phases: 1, .. })
    ));
    measurement.error = Some("no space left".to_owned());
    let job = report_of(heading(), late(), &measurement, None).unwrap().jobs.remove(0);
    assert!(job.error.unwrap().text.contains("no space left"));
}

#[test]
fn directions_are_mixed_where_that_is_asked_for() {
    let mut phase = readers();
    phase.ops.insert(OpKind::Write, ops(500, 400_000));
    phase.ops.insert(OpKind::Fdatasync, ops(7, 1_000_000));
    let mut asked = source("m", 0, Share::Whole);
    asked.job.io = Io::Both(Split::default(), Box::default());
    let job = built(asked, vec![phase]);
    let Io::Both(split, mixed) = &job.io else { panic!("{:?}", job.io) };
    assert_eq!((split.read.ios, split.write.ios, mixed.ios), (1000, 500, 1500));
    assert_eq!(mixed.lat.value().unwrap().mean_ns, 200_000.0);
    assert_eq!((job.sync.count, job.sync.latency.value().unwrap().count), (7, 7));
}

#[test]
fn disks_are_what_the_counters_say() {
    let counters = |at_ns, reads| Counters {
        at_ns,
        devices: ["vda", "vdb", "md0"]
            .map(|name| {
                let counted = DeviceCounters { reads, read_bytes: reads * 4096, busy_ms: reads, ..Default::default() };
                (name.to_owned(), Seen::Yes(counted))
            })
            .into(),
        ..Counters::default()
    };
    let layer =
        |name: &str, kind| plumb_result::observe::BlockLayer { name: name.to_owned(), kind, ..Default::default() };
    let facts = TargetFacts {
        stack: vec![layer("md0", LayerKind::Md), layer("vda", LayerKind::Disk), layer("vdb", LayerKind::Disk)],
        leaves: vec!["vda".to_owned(), "vdb".to_owned()],
        ..TargetFacts::default()
    };
    let observations = Observations {
        targets: [("a".to_owned(), facts.clone()), ("b".to_owned(), facts)].into(),
        phases: vec![PhaseObservations {
            before: counters(0, 100),
            after: counters(2 * SECOND_NS, 1100),
            ..PhaseObservations::default()
        }],
        ..Observations::default()
    };
    let measurement = Measurement { phases: vec![readers()], ..Measurement::default() };
    let report = report_of(heading(), vec![source("r", 0, Share::Whole)], &measurement, Some(&observations)).unwrap();
    let disks = report.disks.as_ref().unwrap();
    let names: Vec<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
    assert_eq!(names, ["md0", "vda", "vdb"], "each once, however many targets lie on it");
    assert_eq!(disks[0].counters.sectors.read, 8000);
    assert_eq!(disks[0].counters.util_percent, 50.0);
    assert_eq!(disks[0].below.as_ref().unwrap().ios.read, 1000, "the mean of two that did 1000 each");
    assert!(normal(&report).contains("\n    md0: ios=1000/0, sectors=8000/0"));
    assert!(json(&report, JsonFormat::Plain).contains("\"aggr_read_ios\" : 1000"));
}
