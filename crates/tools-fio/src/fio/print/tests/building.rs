//! Reports of Plumb's measurements.

use crate::fio::Compat;
use crate::fio::print::*;
use plumb_result::measurement::{Moved, PriorityMeasurement, Sample};
use plumb_result::observe::{BlockLayer, Counters, DeviceCounters, LayerKind, PhaseObservations, TargetFacts};
use plumb_result::{
    DepthSearched, Fault, Histogram, Measurement, Observations, OpMeasurement, PhaseMeasurement, Seen, SteadyOutcome,
    SteadySample, WorkerMeasurement,
};
use plumb_workload::OpKind;
use plumb_workload::process::IoPriority;

const SECOND_NS: u64 = 1_000_000_000;

fn ops(count: u64, each_ns: u64) -> OpMeasurement {
    let mut service = Histogram::new();
    service.record_n(each_ns, count);
    OpMeasurement { count, bytes: count * 4096, service, response: None, ..OpMeasurement::default() }
}

fn worker(name: &str, reads: u64) -> WorkerMeasurement {
    let sample = |number: u64, length_ns, count| Sample {
        start_ns: number * SECOND_NS / 2,
        length_ns,
        ops: if count > 0 { [(OpKind::Read, Moved { count, bytes: count * 4096 })].into() } else { [].into() },
    };
    WorkerMeasurement {
        name: name.to_owned(),
        count: reads,
        bytes: reads * 4096,
        wall_ns: 2 * SECOND_NS,
        cpu_user_ns: SECOND_NS / 10,
        cpu_system_ns: SECOND_NS / 5,
        sleeps: Some(reads),
        preemptions: Some(5),
        major_faults: Some(1),
        minor_faults: Some(20),
        pid: Some(77),
        depth_asked: 1,
        ops: [(OpKind::Read, ops(reads, 100_000)), (OpKind::Fsync, ops(0, 0))].into(),
        // Half a second of work, half a second of stall, and a short rest.
        samples: vec![sample(0, SECOND_NS / 2, reads), sample(1, SECOND_NS / 2, 0), sample(2, 1_000_000, 0)],
        ..WorkerMeasurement::default()
    }
}

/// Returns two readers with one op at a time.
fn readers() -> PhaseMeasurement {
    PhaseMeasurement {
        name: "main".to_owned(),
        wall_ns: 2 * SECOND_NS + 1_000_000,
        workers: vec![worker("a/0", 600), worker("b/0", 400)],
        ..PhaseMeasurement::default()
    }
}

fn heading() -> Heading {
    Heading {
        version: "fio-3.42".to_owned(),
        at: ReportTime::at_offset(9_000, 0),
        global_options: Vec::new(),
        compat: Compat::Meant,
        disks: DiskStats::Shown,
        stage: Stage::Final,
        phase_starts_unix_ms: vec![5_000],
        elapsed_s: 4,
        idleness: None,
    }
}

fn source(groups: &[&str]) -> JobSource {
    let member = |group: &&str| JobMember { phase: 0, group: (*group).to_owned(), priority: None };
    let job = JobReport { name: "r".to_owned(), ..JobReport::default() };
    JobSource { job, members: groups.iter().map(member).collect(), ..JobSource::default() }
}

fn report(source: JobSource, phase: PhaseMeasurement) -> Report {
    let measurement = Measurement { phases: vec![phase], ..Measurement::default() };
    report_of(heading(), vec![source], &measurement, None).unwrap()
}

fn built(source: JobSource, phase: PhaseMeasurement) -> JobReport {
    report(source, phase).jobs.remove(0)
}

fn split(job: &JobReport) -> &Split {
    match &job.io {
        Io::Separate(split) => split,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_job_has_its_own_numbers() {
    let job = built(source(&["b"]), readers());
    let read = &split(&job).read;
    assert_eq!((read.ios, read.bytes, read.runtime_ms), (400, 400 * 4096, 2000));
    assert_eq!(read.bytes_per_second(), 400 * 4096 / 2);
    let clat = read.clat.value().unwrap();
    assert_eq!((clat.count, clat.min_ns, clat.max_ns, clat.mean_ns), (400, 100_000, 100_000, 100_000.0));
    assert_eq!(clat.stddev_ns, 0.0, "equal values do not spread, however wide their bucket");
    assert_eq!((split(&job).write.ios, split(&job).write.runtime_ms), (0, 0));
    assert_eq!(job.latency_shares.us[6], 100.0);
    assert_eq!((job.pid, job.times.started_unix_ms, job.times.elapsed_s), (77, 5_000, 4));
    assert_eq!(job.cpu.context_switches, Figure::Is(405));
    assert_eq!((&job.cpu.major_faults, &job.cpu.minor_faults), (&Figure::Is(1), &Figure::Is(20)));
    assert_eq!(job.depths.level, Figure::Is([100.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
    assert_eq!(read.slat, Figure::Off, "an op that completes in its call has no submission");
}

#[test]
fn a_group_is_the_sum_of_its_jobs() {
    let mut phase = readers();
    phase.workers[1].wall_ns = SECOND_NS;
    let job = built(source(&["a", "b"]), phase);
    let read = &split(&job).read;
    assert_eq!((read.ios, read.runtime_ms), (1000, 2000), "rates are over the longest run time");
    assert_eq!(read.lat.value().unwrap().count, 1000);
    assert_eq!((job.runtime_ms, job.cpu.user_ns), (3000, SECOND_NS / 5), "both workers");
    assert_eq!(job.cpu.context_switches, Figure::Is(1010));
}

/// fio omits the empty interval and reports twice the rate (defect 7 of its list).
#[test]
fn a_stall_counts_among_the_samples() {
    let job = built(source(&["a", "b"]), readers());
    let samples = *split(&job).read.bandwidth.value().unwrap();
    assert_eq!((samples.min, samples.max, samples.mean), (0, 8000, 4000.0), "of both jobs together");
    assert_eq!(samples.count, 4, "fio counts those of each job");
    let windows = Windows { bandwidth_ns: SECOND_NS, iops_ns: 2 * SECOND_NS };
    let job = built(JobSource { windows, ..source(&["a", "b"]) }, readers());
    let read = &split(&job).read;
    let samples = read.bandwidth.value().unwrap();
    assert_eq!((samples.min, samples.max, samples.count), (4000, 4000, 2), "both halves of the second");
    assert_eq!(read.iops.value(), None, "no window is full");
}

#[test]
fn submission_latency_is_separate_if_timed() {
    let mut phase = readers();
    let mut submission = Histogram::new();
    submission.record_n(2_000, 600);
    let mut completion = Histogram::new();
    completion.record_n(98_000, 600);
    let read = phase.workers[0].ops.get_mut(&OpKind::Read).unwrap();
    (read.submission, read.completion) = (Some(submission), Some(completion));
    let mut asked = source(&["a"]);
    let slat = |job: &JobReport| split(job).read.slat.value().map(|one| one.mean_ns);
    let job = built(asked.clone(), phase.clone());
    assert_eq!(slat(&job), Some(2_000.0));
    let [clat, lat] = [&split(&job).read.clat, &split(&job).read.lat].map(|one| one.value().unwrap().mean_ns);
    assert_eq!((clat, lat), (98_000.0, 100_000.0), "the parts add up");
    asked.latencies.slat = KeptLog::No;
    assert_eq!(slat(&built(asked, phase)), None);
}

#[test]
fn unmeasured_numbers_are_zero_and_listed() {
    let mut phase = readers();
    phase.workers.iter_mut().for_each(|worker| {
        worker.depth_asked = 32;
        worker.preemptions = None;
        worker.minor_faults = None;
    });
    let report = report(source(&["a"]), phase);
    let root: serde_json::Value = serde_json::from_str(&json(&report, JsonFormat::Plain)).unwrap();
    let job = &root["jobs"][0];
    for (value, name) in [
        (&job["ctx"], "ctx"),
        (&job["minf"], "minf"),
        (&job["iodepth_submit"]["4"], "iodepth_submit"),
        (&job["iodepth_level"]["32"], "iodepth_level"),
    ] {
        assert_eq!(value.as_f64(), Some(0.0), "{name}");
        assert!(job["not_measured"][name].is_string(), "{name}");
    }
    assert!(job["not_measured"].get("read.clat_ns").is_none());
    assert!(normal(&report).contains("\n  not measured : ctx, minf, iodepth_level"));
}

/// fio counts the writes that `verify_only` skips. Their time is not measured, so they have no rate.
#[test]
fn writes_that_were_not_made_are_counted_without_a_rate() {
    let mut phase = readers();
    phase.workers[0].dry = [(OpKind::Write, Moved { count: 600, bytes: 600 * 4096 })].into();
    let report = report(source(&["a"]), phase);
    let write = &split(&report.jobs[0]).write;
    assert_eq!((write.ios, write.bytes, write.runtime_ms, &write.lat), (600, 600 * 4096, 0, &Figure::default()));
    let page = normal(&report);
    assert!(page.contains("issued rwts: total=600,600,0,0") && !page.contains("write:"), "{page}");
}

#[test]
fn a_failed_op_and_a_dead_worker_fail_their_job_and_no_other() {
    let mut phase = readers();
    phase.workers[1].fault_count = 3;
    phase.workers[1].faults = vec![Fault {
        op: OpKind::Read,
        path: "f".into(),
        offset: 0,
        length: 4096,
        errno: None,
        message: "other bytes than were written".to_owned(),
    }];
    let job = built(source(&["b"]), phase.clone());
    assert_eq!(job.failures.error.as_ref().map(|error| error.code), Some(84));
    assert!(job.failures.error.unwrap().text.contains("file:f, func=read, error=other bytes"));
    assert_eq!(built(source(&["a"]), phase.clone()).failures.error, None);
    assert_eq!(built(source(&["a", "b"]), phase.clone()).failures.error.map(|error| error.code), Some(84));
    let mut passes_over = source(&["b"]);
    passes_over.job.failures.continued = Some(ContinuedErrors { total: 0, first_code: 0, first_text: String::new() });
    let job = built(passes_over, phase);
    assert_eq!(
        (job.failures.error, job.failures.continued.map(|one| (one.total, one.first_code))),
        (None, Some((3, 84)))
    );
    let mut killed = readers();
    killed.workers[1].ended_by = Some("its process was killed by signal 9".to_owned());
    assert_eq!(built(source(&["b"]), killed.clone()).failures.error.unwrap().code, 5);
    assert_eq!(built(source(&["a"]), killed.clone()).failures.error, None);
    killed.workers[1].ended_by = Some("interrupted".to_owned());
    assert_eq!(built(source(&["b"]), killed).failures.error, None, "a stopped job did not fail");
}

#[test]
fn a_job_that_was_never_started_is_reported_or_refused() {
    let mut measurement = Measurement { phases: vec![readers()], ..Measurement::default() };
    let late = || {
        let mut late = source(&["late"]);
        late.members[0].phase = 1;
        vec![late]
    };
    let built = |heading, measurement: &Measurement| report_of(heading, late(), measurement, None);
    assert!(matches!(built(heading(), &measurement), Err(BuildError::NotMeasured { phase: 1, .. })));
    let so_far = built(Heading { stage: Stage::SoFar, ..heading() }, &measurement).unwrap().jobs.remove(0);
    assert_eq!((so_far.failures.error, so_far.io), (None, Io::default()));
    measurement.error = Some("no space left".to_owned());
    let job = built(heading(), &measurement).unwrap().jobs.remove(0);
    assert!(job.failures.error.unwrap().text.contains("no space left"));
}

#[test]
fn directions_are_mixed_on_request() {
    let mut phase = readers();
    phase.workers[0].ops.insert(OpKind::Write, ops(300, 400_000));
    phase.workers[0].ops.insert(OpKind::Fdatasync, ops(5, 1_000_000));
    // fio does not count syncs at the end of a job.
    phase.workers[0].ops.insert(OpKind::EndFsync, ops(2, 1_000_000));
    let mut asked = source(&["a"]);
    asked.job.io = Io::Both(Split::default(), Box::default());
    let job = built(asked, phase);
    let Io::Both(split, mixed) = &job.io else { panic!("{:?}", job.io) };
    assert_eq!((split.read.ios, split.write.ios, mixed.ios), (600, 300, 900));
    assert_eq!(mixed.lat.value().unwrap().mean_ns, 200_000.0);
    assert_eq!((job.sync.count, job.sync.latency.value().unwrap().count), (5, 5));
}

#[test]
fn steadiness_and_depth_come_from_the_engine() {
    let mut asked = source(&["a", "b"]);
    asked.job.steady = Some(SteadyReport {
        of: SteadyOf::Iops,
        by: SteadyBy::Slope,
        limit: 5.0,
        scale: SteadyScale::Percent,
        duration_s: 3,
        intervals: 3,
        attained: false,
        criterion: 0.0,
        max_deviation: 0.0,
        slope: 0.0,
        bytes_per_second: Vec::new(),
        iops: Vec::new(),
        latency_ns: Vec::new(),
    });
    asked.job.latency_target = Some(LatencyTarget { depth: 32, target_ns: 9_000, window_us: 5, percentile: 99.0 });
    let mut phase = readers();
    let sample = |ops_per_second| SteadySample { ops_per_second, bytes_per_second: 5e5, latency_ns: 70.4 };
    phase.workers[1].steady = Some(SteadyOutcome {
        attained: true,
        criterion: Some(-1.5),
        max_deviation: Some(20.0),
        slope: Some(-15.0),
        samples: vec![sample(1_010.0), sample(990.0)],
    });
    phase.workers[1].depth_search = Some(DepthSearched { depth: 7, found: true });
    let report = report(asked, phase);
    let document: serde_json::Value = serde_json::from_str(&json(&report, JsonFormat::Plain)).unwrap();
    let data = &document["jobs"][0]["steadystate"]["data"];
    assert_eq!(
        data["iops"],
        serde_json::json!([1_010, 990, 0]),
        "as many as fio lists, for programs that divide by their number"
    );
    assert_eq!(data["iops_mean"], 1_000, "of those that were measured");
    let job = report.jobs[0].clone();
    assert_eq!(job.latency_target.unwrap().depth, 7);
    let state = job.steady.unwrap();
    assert_eq!((&state.iops, state.attained, state.criterion), (&vec![1_010, 990], true, -1.5));
    assert_eq!((state.max_deviation, state.slope), (20.0, -15.0), "not in percent, as the criterion is");
    assert_eq!((state.bytes_per_second, state.latency_ns), (vec![500_000; 2], vec![70; 2]));
}

/// Protects: latencies are reported by priority, both if one job sets priorities of single ops and if jobs of a group
/// differ. If all ops have the same priority, none is printed.
#[test]
fn priorities_are_reported_separately() {
    let times = |each_ns: u64, count: u64| {
        let mut histogram = Histogram::new();
        histogram.record_n(each_ns, count);
        histogram
    };
    let high = IoPriority { class: 1, level: 2, hint: 3 };
    let mut phase = readers();
    let reads = phase.workers[0].ops.get_mut(&OpKind::Read).unwrap();
    reads.priorities = vec![
        PriorityMeasurement { priority: None, service: times(300, 450), completion: Some(times(200, 450)) },
        PriorityMeasurement { priority: Some(high), service: times(100, 150), completion: Some(times(50, 150)) },
    ];
    let one = report(source(&["a"]), phase.clone());
    let found = &split(&one.jobs[0]).read.priorities;
    let numbers: Vec<([u64; 3], u64, u64)> = found
        .iter()
        .map(|one| (one.numbers(), one.clat.value().unwrap().max_ns, one.lat.value().unwrap().max_ns))
        .collect();
    assert_eq!(numbers, [([0, 0, 0], 200, 300), ([1, 2, 3], 50, 100)]);
    let document: serde_json::Value = serde_json::from_str(&json(&one, JsonFormat::Plain)).unwrap();
    let prios = &document["jobs"][0]["read"]["prios"];
    assert_eq!((prios[1]["prioclass"].as_u64(), prios[1]["prio"].as_u64()), (Some(1), Some(2)));
    assert_eq!((prios[1]["priohint"].as_u64(), prios[1]["clat_ns"]["N"].as_u64()), (Some(3), Some(150)));
    let text = normal(&one);
    assert!(text.contains("    clat prio 1/2/3 (nsec): min=50, max=50, avg=50.00, stdev= 0.00\n"), "{text}");
    assert!(text.contains("    clat prio 0/0/0 (75.00% of IOs) percentiles (nsec):\n"), "{text}");

    let alike = report(source(&["a", "b"]), readers());
    assert!(split(&alike.jobs[0]).read.priorities.is_empty());
    let mut apart = source(&["a", "b"]);
    apart.members[1].priority = Some(high);
    let counts: Vec<u64> =
        split(&built(apart, readers())).read.priorities.iter().map(|one| one.lat.value().unwrap().count).collect();
    assert_eq!(counts, [600, 400]);
}

/// Protects: idle times of the processors have fio's text and position.
#[test]
fn idleness_follows_the_disks() {
    let idleness = Idleness {
        system_percent: 97.25,
        each_percent: Some(vec![95.5, 99.0]),
        unit: UnitWork { mean_us: 12.5, stddev_us: 0.25 },
    };
    let measurement = Measurement { phases: vec![readers()], ..Measurement::default() };
    let heading = Heading { idleness: Some(idleness), ..heading() };
    let report = report_of(heading, vec![source(&["a"])], &measurement, None).unwrap();
    let expected =
        "\nCPU idleness:\n  system: 97.25%\n  percpu: 95.50%, 99.00%\n  unit work: mean=12.50us, stddev=0.25\n";
    assert!(normal(&report).ends_with(expected), "{}", normal(&report));
    let document: serde_json::Value = serde_json::from_str(&json(&report, JsonFormat::Plain)).unwrap();
    let idle = &document["cpu_idleness"];
    assert_eq!((idle["system"].as_f64(), idle["cpu-1"].as_f64()), (Some(97.25), Some(99.0)));
    assert_eq!((idle["unit_mean"].as_f64(), idle["unit_stddev"].as_f64()), (Some(12.5), Some(0.25)));
}

/// Protects: `unified_rw_reporting=1` prints no `sync` next to its single block, as in fio.
#[test]
fn mixed_reporting_has_no_flushes() {
    let mut asked = source(&["a"]);
    asked.job.io = Io::Mixed(Box::default());
    let document: serde_json::Value =
        serde_json::from_str(&json(&report(asked, readers()), JsonFormat::Plain)).unwrap();
    let job = &document["jobs"][0];
    assert!(job["mixed"].is_object() && job.get("sync").is_none() && job.get("read").is_none(), "{job}");
}

#[test]
fn disks_match_the_counters() {
    let counters = |at_ns, reads| Counters {
        at_ns,
        devices: ["vda", "vdb", "md0"]
            .map(|name| {
                let counted = DeviceCounters {
                    reads,
                    read_bytes: reads * 4096,
                    busy_ms: reads,
                    read_ms: 2 * reads,
                    ..Default::default()
                };
                (name.to_owned(), Seen::Yes(counted))
            })
            .into(),
        ..Counters::default()
    };
    let layer = |name: &str, kind| BlockLayer { name: name.to_owned(), kind, ..Default::default() };
    let md = BlockLayer { below: vec!["vda1".to_owned(), "vdb".to_owned()], ..layer("md0", LayerKind::Md) };
    let partition = BlockLayer { below: vec!["vda".to_owned()], ..layer("vda1", LayerKind::Partition) };
    let facts = TargetFacts {
        stack: vec![md, partition, layer("vda", LayerKind::Disk), layer("vdb", LayerKind::Disk)],
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
    let report = report_of(heading(), vec![source(&["a"])], &measurement, Some(&observations)).unwrap();
    let disks = report.disks.as_ref().unwrap();
    let names: Vec<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
    assert_eq!(names, ["md0", "vda", "vdb"], "each once, however many targets lie on it");
    assert_eq!(disks[0].counters.sectors.read, 8000);
    assert_eq!(disks[0].counters.util_percent, 50.0);
    assert_eq!(disks[0].below.as_ref().unwrap().ios.read, 1000, "the mean of two that did 1000 each");
    assert!(normal(&report).contains("\n    md0: ios=1000/0, sectors=8000/0, merge=0/0, ticks=2000/0"));
    assert!(json(&report, JsonFormat::Plain).contains("\"aggr_read_ios\" : 1000"));
}

/// Protects: the disk of a job on a loop device is the loop device, as in fio, and not the disk of its backing file.
#[test]
fn a_loop_device_is_the_disk() {
    let counters = |at_ns, reads| Counters {
        at_ns,
        devices: ["loop11", "vda"]
            .map(|name| (name.to_owned(), Seen::Yes(DeviceCounters { reads, ..Default::default() })))
            .into(),
        ..Counters::default()
    };
    let disk = BlockLayer { name: "vda".to_owned(), kind: LayerKind::Disk, ..Default::default() };
    let top = BlockLayer {
        name: "loop11".to_owned(),
        kind: LayerKind::Loop,
        below: vec!["vda".to_owned()],
        ..Default::default()
    };
    let facts = TargetFacts { stack: vec![top, disk], leaves: vec!["vda".to_owned()], ..TargetFacts::default() };
    let observations = Observations {
        targets: [("a".to_owned(), facts)].into(),
        phases: vec![PhaseObservations {
            before: counters(0, 100),
            after: counters(SECOND_NS, 101),
            ..PhaseObservations::default()
        }],
        ..Observations::default()
    };
    let measurement = Measurement { phases: vec![readers()], ..Measurement::default() };
    let report = report_of(heading(), vec![source(&["a"])], &measurement, Some(&observations)).unwrap();
    let names: Vec<String> = report.disks.unwrap().into_iter().map(|disk| disk.name).collect();
    assert_eq!(names, ["loop11"]);
}
