//! Comparisons with elbencho's own output, shortened. Derived numbers must be equal; times that only elbencho
//! measured are inputs.

use super::live::{LiveMoment, LiveSide, LiveThread};
use super::{Both, EntryCounts, EntryOp, PhaseContext, PhaseReport, WorkDone, csv, json, live, ops, report, table};
use crate::elbencho::lower::{Geometry, LoweredPhase, PathType, PhaseKind};
use crate::elbencho::{ElbenchoSettings, read};
use plumb_result::measurement::Moved;
use plumb_result::{Histogram, OpMeasurement, PhaseMeasurement, WorkerMeasurement};
use plumb_workload::OpKind;

fn settings(line: &str) -> ElbenchoSettings {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    read(&words, &mut |_| Err(plumb_tools::FileError::NotPublished { path: String::new() })).unwrap()
}

const GEOMETRY: Geometry = Geometry {
    path_type: PathType::Directory,
    file_bytes: 16_384,
    block_bytes: 4096,
    random_bytes: 0,
    unaligned: false,
    tree: None,
};

pub(super) fn phase(kind: PhaseKind) -> LoweredPhase {
    LoweredPhase {
        kind,
        name: kind.name().to_owned(),
        mixes: false,
        times_entries: true,
        iteration: 0,
        opens_iteration: false,
        first_rank: 0,
        is_idle: false,
        rank_dirs: 1,
        entries_per_thread: 100,
        bytes_per_thread: 1_638_400,
        whole_files: Vec::new(),
        reading_threads: 0,
    }
}

fn op(count: u64, bytes: u64, each_ns: u64) -> OpMeasurement {
    let mut service = Histogram::new();
    service.record_n(each_ns, count);
    OpMeasurement { count, bytes, service, ..OpMeasurement::default() }
}

/// The read phase of the golden run: the first thread finished after 1.614 ms, the last one after 2.2 ms.
fn read_phase() -> PhaseMeasurement {
    let worker = |wall_ns| WorkerMeasurement { wall_ns, ..WorkerMeasurement::default() };
    PhaseMeasurement {
        wall_ns: 2_200_000,
        first_done_ns: Some(1_614_000),
        until_first_done: [
            (OpKind::Read, Moved { count: 403, bytes: 1_650_688 }),
            (OpKind::Close, Moved { count: 100, bytes: 0 }),
        ]
        .into(),
        ops: [(OpKind::Read, op(800, 3_276_800, 300)), (OpKind::Close, op(200, 0, 400))].into(),
        workers: vec![worker(1_614_000), worker(2_200_000)],
        ..PhaseMeasurement::default()
    }
}

fn seen() -> PhaseContext {
    PhaseContext {
        date: "2026-11-20T18:59:43.022+0000".to_owned(),
        id: "a23df162".to_owned(),
        cpu: Both { first: 0, last: 5 },
    }
}

fn report_of_reads() -> PhaseReport {
    report(&phase(PhaseKind::Read), &read_phase(), &EntryCounts::default(), seen())
}

#[test]
fn the_table_equals_elbenchos() {
    let line = "-r -t 2 -n 2 -N 50 -s 16k -b 4k --lat --cpu --allelapsed d";
    let text = table::head() + &table::phase(&report_of_reads(), &settings(line), &GEOMETRY);
    let wanted = "\
OPERATION   RESULT TYPE         FIRST DONE   LAST DONE
=========== ================    ==========   =========
READ        Elapsed time     :         1ms         2ms
            Files/s          :       61957       90909
            IOPS             :      249690      363636
            Throughput MiB/s :         975        1420
            Total MiB        :           1           3
            Files total      :         100         200
            CPU util %       :           0           5
            Time ms each     : [ 1 2 ]
            IO latency       : [ min=0us avg=0us max=0us ]
---
";
    assert_eq!(text, wanted);
}

// Protects readers of CSV: 55 columns, as many values as labels, and empty values without work.
#[test]
fn csv_has_elbenchos_columns() {
    let settings = settings("-r -t 2 -n 2 -N 50 -s 16k -b 4k --label a,b d");
    let command = ["elbencho", "-r", "x,y"].map(str::to_owned);
    let labels = csv::labels(&settings, &GEOMETRY);
    let line = csv::line(&report_of_reads(), &settings, &GEOMETRY, &command);
    let golden = "ISO date,label,path type,paths,hosts,threads,dirs,files,file size,block size,direct IO,random,random \
        aligned,IO depth,shared paths,truncate,operation,time ms [first],time ms [last],entries/s [first],entries/s \
        [last],IOPS [first],IOPS [last],MiB/s [first],MiB/s [last],CPU% [first],CPU% [last],entries [first],entries \
        [last],MiB [first],MiB [last],Ent lat us [min],Ent lat us [avg],Ent lat us [max],IO lat us [min],IO lat us \
        [avg],IO lat us [max],rwmix read entries/s [first],rwmix read entries/s [last],rwmix read IOPS [first],rwmix \
        read IOPS [last],rwmix read MiB/s [first],rwmix read MiB/s [last],rwmix read entries [first],rwmix read entries \
        [last],rwmix read MiB [first],rwmix read MiB [last],rwmix read Ent lat us [min],rwmix read Ent lat us \
        [avg],rwmix read Ent lat us [max],rwmix read IO lat us [min],rwmix read IO lat us [avg],rwmix read IO lat us \
        [max],version,command\n";
    assert_eq!(labels, golden);
    assert_eq!((labels.matches(',').count(), line.matches(',').count()), (54, 54));
    let wanted = "2026-11-20T18:59:43.022+0000,a b,dir,1,1,2,2,50,16384,4096,0,0,,1,,0,READ,1,2,61957,90909,249690,\
                  363636,975,1420,0,5,100,200,1,3,,,,0,0,0,,,,,,,,,,,,,,,,,3.1-10,\"elbencho\" \"-r\" \"x y\" \n";
    assert_eq!(line, wanted);
}

#[test]
fn json_is_an_object_of_text() {
    let settings = settings("-r -t 2 -n 2 -N 50 -s 16k -b 4k --lat --lathisto d");
    let command = ["/bin/elbencho".to_owned()];
    let line = json::line(&report_of_reads(), &settings, &GEOMETRY, &command);
    assert!(line.contains("\"bytes\\/s\":\"1489454545\"") && line.ends_with("}\n"), "{line}");
    let value: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(value["first_done"]["iops"], "249690");
    assert_eq!(value["first_done"]["bytes"], "1650688");
    assert_eq!(value["last_done"]["entries"], "200");
    assert_eq!(value["last_done"]["latency"]["IO"]["histogram"]["buckets"][0]["range"], "0.0-1.2us");
    assert_eq!(value["config"]["direct_io"], "false");
    assert_eq!(value["config"]["command"], "\"/bin/elbencho\" ");
}

// Protects the count of directories: directories of ranks are not entries.
#[test]
fn directories_of_ranks_are_not_entries() {
    let op = |kind, file, at| EntryOp { kind, file, submit_ns: at, complete_ns: at + 1_000, ok: true };
    let mut entries = EntryCounts::default();
    entries.take(&phase(PhaseKind::MkDirs), 0, (0..3).map(|file| op(OpKind::Mkdir, file, u64::from(file) * 10_000)));
    entries.take(&phase(PhaseKind::MkDirs), 1, (0..3).map(|file| op(OpKind::Mkdir, file, u64::from(file) * 40_000)));
    let worker = |wall_ns| WorkerMeasurement { wall_ns, ..WorkerMeasurement::default() };
    let measured = PhaseMeasurement {
        first_done_ns: Some(21_000),
        until_first_done: [(OpKind::Mkdir, Moved { count: 4, bytes: 0 })].into(),
        ops: [(OpKind::Mkdir, self::op(6, 0, 1_000))].into(),
        workers: vec![worker(21_000), worker(81_000)],
        ..PhaseMeasurement::default()
    };
    let report_of_reads = report(&phase(PhaseKind::MkDirs), &measured, &entries, seen());
    assert_eq!((report_of_reads.done.first.entries, report_of_reads.done.last.entries), (2, 4));
    assert_eq!(report_of_reads.entries.count(), 4);
}

// An entry of a file lasts from its open to its close.
#[test]
fn an_entry_lasts_from_open_to_close() {
    let op = |kind, from, to| EntryOp { kind, file: 0, submit_ns: from, complete_ns: to, ok: true };
    let mut entries = EntryCounts::default();
    let all = [op(OpKind::Open, 0, 5_000), op(OpKind::Write, 5_000, 20_000), op(OpKind::Close, 20_000, 30_000)];
    entries.take(&phase(PhaseKind::Write), 0, all.into_iter());
    let report_of_reads = report(&phase(PhaseKind::Write), &PhaseMeasurement::default(), &entries, seen());
    assert_eq!(report_of_reads.entries.summary_us(), Some([30, 30, 30]));
    assert_eq!(report_of_reads.done.last.entries, 1);
}

#[test]
fn live_rows_equal_elbenchos() {
    let done = WorkDone { entries: 0, ios: 38_704, bytes: 158_531_584 };
    let moment = LiveMoment {
        date: "2026-11-20T19:00:19.814+0000".to_owned(),
        phase: "READ".to_owned(),
        runtime_ms: 500,
        total: LiveSide { done, rates: done.per_second(500_000), percent: 130, entry_us: 0, io_us: 205 },
        active: 2,
        cpu: 95,
        threads: vec![LiveThread {
            done: WorkDone { bytes: 79_876_096, ..WorkDone::default() },
            mixed: None,
            percent: 100,
        }],
        ..LiveMoment::default()
    };
    let wanted = "2026-11-20T19:00:19.814+0000,,READ,500,Total,,100,158531584,302,77408,0,0,0,205,2,95,,\n\
                  2026-11-20T19:00:19.814+0000,,READ,500,0,,100,79876096,,,0,,,,,,,\n";
    assert_eq!(live::rows(&moment), wanted);
    assert_eq!(live::LABELS.matches(',').count(), wanted.lines().next().unwrap().matches(',').count());
}

#[test]
fn logged_ops_equal_elbenchos() {
    let call = ops::LoggedCall { rank: 0, name: "pwrite", entry: "3", offset: 0, length: 4096 };
    let wanted = "{ \"date\": \"2026-11-20T19:00:23.068+0000\", \"worker_rank\": 0, \"op_name\": \"pwrite\", \
                  \"entry_name\": \"3\", \"offset\": 0, \"length\": 4096, \"is_finished\": false, \"is_error\": false }\n";
    assert_eq!(ops::line("2026-11-20T19:00:23.068+0000", &call, ops::Moment::Begin), wanted);
}
