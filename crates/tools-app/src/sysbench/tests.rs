//! Tests of typical command lines, their workloads, and the format of the report.

use super::lower::lower;
use super::*;
use plumb_result::histogram::Histogram;
use plumb_result::measurement::OpMeasurement;
use plumb_result::{PhaseMeasurement, WorkerMeasurement};
use plumb_workload::blocks::requests::{RequestFlush, RequestOps, Requests};
use plumb_workload::program::{ProgramContent, RecordOrder};
use plumb_workload::verify::StampLayout;
use plumb_workload::{Arrival, Backend, Bytes, OpKind, Step, Work, Workload};
use std::collections::BTreeMap;

/// Output of sysbench 1.0.20, without its first line.
const RUN: &str = include_str!("../../golden/sysbench/run.out");

fn settings(line: &str) -> SysbenchSettings {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    match read(&words).unwrap() {
        Action::Run(settings) => settings,
        other => panic!("{line}: {other:?}"),
    }
}

fn error_of(line: &str) -> String {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    read(&words).unwrap_err().to_string()
}

fn lowered(line: &str, lengths: &[Option<u64>]) -> Workload {
    let workload = lower(&settings(line), lengths, 7);
    assert_eq!(plumb_workload_text::validate::validate(&workload), [], "{line}");
    let text = plumb_workload_text::native::to_toml(&workload).unwrap();
    assert_eq!(plumb_workload_text::native::parse("sb.toml", &text).unwrap(), workload, "{line}");
    workload
}

fn requests(line: &str) -> Requests {
    *lowered(line, &[]).phase[0].workers[0].work.requests().unwrap()
}

// Protects the defaults, and the effect of options. Dashes and underscores are equivalent, and the last value counts.
#[test]
fn options_change_the_run() {
    let default = requests("fileio run --file-test-mode=rndrw");
    let flush = RequestFlush { every: 100, each: false, data_only: false, at_end: true };
    assert_eq!(
        default,
        Requests {
            does: RequestOps::Mix { reads_per_write: 1.5 },
            random: true,
            block: Bytes(16384),
            file_bytes: Bytes(16 << 20),
            flush,
            most: None
        }
    );
    let changed = requests(
        "fileio --file_num=2 --file-total-size=3M --file-test-mode=rndrd --file-test-mode=seqrewr --max-requests=9 run \
         --file-fsync-all --file-fsync-mode=fdatasync --file-merged-requests=2",
    );
    let flush = RequestFlush { every: 0, each: true, data_only: true, at_end: false };
    assert_eq!((changed.does, changed.random, changed.block.0), (RequestOps::Write, false, 32768));
    assert_eq!((changed.file_bytes.0, changed.flush, changed.most), (3 << 19, flush, Some(9)));
    let group =
        lowered("fileio --threads=3 --file-io-mode=async --file-extra-flags=direct --file-test-mode=seqwr run", &[]);
    let group = &group.phase[0].workers[0];
    assert_eq!((group.count, group.depth, group.files.direct, group.files.at_open.empty), (3, 128, true, true));
    assert!(matches!(group.backend, Backend::Libaio { .. }));
}

#[test]
fn only_missing_parts_of_files_are_created() {
    let line = "fileio --file-num=3 --file-total-size=3M prepare";
    let lengths = [None, Some(1 << 19), Some(5 << 20)];
    let workload = lowered(line, &lengths);
    let Work::Program(program) = &workload.phase[0].workers[0].work else { panic!() };
    let described = program.steps.iter().filter_map(|step| match step {
        Step::Open(_) => Some("open".to_owned()),
        Step::Seek { to, .. } => Some(format!("seek {}", to.0)),
        Step::Transfer(transfer) => Some(format!("{} x {}", transfer.count, transfer.record.0)),
        _ => None,
    });
    let described: Vec<String> = described.collect();
    assert_eq!(described, ["open", "64 x 16384", "open", "seek 524288", "32 x 16384", "open"]);
    let text = print::preparing(&settings(line), &lengths);
    assert!(text.starts_with("3 files, 1024Kb each, 3Mb total\nCreating files for the test...\n"), "{text}");
    assert!(text.ends_with(
        "Creating file test_file.0\nExtending existing file test_file.1\nReusing existing file test_file.2\n"
    ));
}

// Blocks have sysbench's trailers, merged requests have one per block, and data added to a file contains its offset.
#[test]
fn validated_blocks_have_trailers() {
    let words = "--file-num=1 --file-total-size=64K --file-block-size=4K --validate";
    let made = lowered(&format!("fileio {words} prepare"), &[Some(10_000)]);
    let program = made.phase[0].workers[0].work.program().unwrap();
    assert_eq!(program.content, ProgramContent::Sysbench { block: Bytes(4096) });
    let transfer = program.transfers().next().unwrap();
    assert!(
        matches!(&transfer.order, RecordOrder::Segments(segments) if segments.first == Bytes(10_000)),
        "{transfer:?}"
    );
    assert_eq!(transfer.count, 14);
    let run = lowered(&format!("fileio {words} --file-test-mode=seqwr --file-merged-requests=4 run"), &[]);
    let verify = run.phase[0].workers[0].verify.as_ref().unwrap();
    assert_eq!((verify.layout, verify.interval), (StampLayout::Sysbench, Some(Bytes(4096))));
    assert!(lowered("fileio --file-test-mode=rndrw --validate run", &[]).phase[0].workers[0].verify.is_some());
    assert!(lowered("fileio --file-test-mode=rndrw --validate=off run", &[]).phase[0].workers[0].verify.is_none());
}

// Protects sysbench's own error messages, and a reason for each refused option.
#[test]
fn invalid_commands_are_refused_with_a_reason() {
    for (line, message) in [
        ("fileio run", "FATAL: Missing required argument: --file-test-mode"),
        ("fileio run --file-test-mode=x", "FATAL: Invalid IO operations mode: x."),
        ("fileio run --bla=1", "invalid option: --bla=1"),
        ("fileio prepare --file-num=0", "FATAL: Invalid value for file-num: 0"),
        ("fileio prepare --threads=0", "FATAL: Invalid value for --threads: 0"),
        ("fileio prepare --threads=99999999999", "Invalid value for the 'threads' option: '99999999999'"),
        ("fileio prepare --file-total-size=1x", "FATAL: Invalid value for file-total-size: 1x"),
        ("fileio prepare --file-total-size=99999999T", "FATAL: Invalid value for file-total-size: 99999999T"),
        ("fileio prepare --file-total-size=9", "FATAL: Invalid value for file-total-size: each file would be empty"),
        ("fileio run --file-test-mode=rndrw --file-rw-ratio=nan", "FATAL: Invalid value for --file-rw-ratio: nan"),
        ("fileio prepare --file-extra-flags=direct,x", "FATAL: Invalid value for file-extra-flags: x"),
        (
            "fileio prepare --validate --file-block-size=12",
            "FATAL: Invalid value for file-block-size: with --validate, more than 12: 12",
        ),
        (
            "fileio run --file-test-mode=rndrw --validate --threads=2",
            "FATAL: --validate with --file-test-mode=rndrw: a read may see half of another write; use --threads=1 and \
             --file-io-mode=sync, or rndrd",
        ),
        ("fileio prepare --file-fsync-all=maybe", "invalid option: --file-fsync-all=maybe"),
        ("fileio prepare --rand-type=x", "FATAL: Invalid random numbers distribution: x."),
        ("fileio cleanup --percentile=101", "FATAL: Invalid value for --percentile: 101"),
        ("fileio prepare --histogram --percentile=0", "FATAL: --histogram cannot be used with --percentile=0"),
        (
            "fileio run --file-test-mode=rndrd --file-io-mode=async --file-async-backlog=direct",
            "Invalid value for the 'file-async-backlog' option: 'direct'",
        ),
        (
            "fileio run --file-test-mode=rndrd --file-io-mode=async --file-async-backlog=0",
            "FATAL: Invalid value for file-async-backlog: 0",
        ),
        ("run --test=fileio", "The 'fileio' test requires a command argument. See 'sysbench fileio help'"),
        ("--test fileio run", "invalid option: --test"),
        ("fileio prepare a", "Unrecognized command line argument: a"),
        ("fileio foo", "Unknown command: foo"),
    ] {
        assert_eq!(error_of(line), message, "{line}");
    }
    assert!(error_of("cpu run").contains("use sysbench itself"));
    settings("fileio prepare --validate=off --rate=0 --verbosity=5");
}

// Protects: sysbench checks a value only if it is used, so that a typo elsewhere changes nothing. Source: runs of
// sysbench 1.0.20.
#[test]
fn values_that_a_mode_does_not_use_are_not_checked() {
    for line in [
        "fileio run --file-test-mode=rndrd --file-async-backlog=direct",
        "fileio run --file-test-mode=rndwr --file-io-mode=mmap --file-async-backlog=0",
        "fileio prepare --file-io-mode=async --file-async-backlog=0",
        "fileio cleanup --file-total-size=9",
        "fileio cleanup --validate --file-block-size=12",
        "fileio prepare --file-test-mode=x",
        "fileio prepare --file-rw-ratio=abc",
        "fileio run --file-test-mode=seqrd --file-rw-ratio=abc",
        "fileio run --file-test-mode=rndrd --events=-1 --report-interval=-5 --time=-1 --rand-seed=-1",
    ] {
        settings(line);
    }
    let unlimited = settings("fileio run --file-test-mode=rndrd --events=-1 --report-interval=-5");
    assert_eq!((unlimited.limits.events, unlimited.report.interval_s), (0, 0));
}

// Protects the most common form on the web, `--test=fileio`, and other deprecated options, with sysbench's warnings.
#[test]
fn deprecated_options_work_with_a_warning() {
    const TEST: &str = "WARNING: the --test option is deprecated. You can pass a script name or path on the command \
                        line without any options.\n";
    let check = |line: &str, threads: u32, events: u64, time_s: u64, output: &str| {
        let run = settings(&format!("{line} --file-test-mode=rndrd"));
        assert_eq!((run.threads, run.limits.events, run.limits.time_s), (threads, events, time_s), "{line}");
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let errors = if line.contains("--test=") { TEST } else { "" };
        assert_eq!(warnings(&words), Warnings { errors: errors.to_owned(), output: output.to_owned() }, "{line}");
    };
    let threads = "WARNING: --num-threads is deprecated, use --threads instead\n";
    let events = "WARNING: --max-requests is deprecated, use --events instead\n";
    let time = "WARNING: --max-time is deprecated, use --time instead\n";
    check("fileio run", 1, 0, 10, "");
    check("--test=fileio run", 1, 0, 10, "");
    check("cpu --test=fileio run", 1, 0, 10, "");
    check("fileio --num-threads=4 --threads=2 run", 4, 0, 10, threads);
    check("fileio --num-threads=1 --threads=2 run", 2, 0, 10, "");
    check("--test=fileio --max-time=60 --max-requests=0 run", 1, 0, 60, time);
    check("fileio --max-time=3 --max-requests=5 --num-threads=2 run", 2, 5, 3, &format!("{threads}{events}{time}"));
    check("fileio --max-time=0 run", 1, 0, 10, "");
    let endless = "WARNING: Both event and time limits are disabled, running an endless test\n";
    check("fileio --time=0 run", 1, 0, 0, endless);
    let rate = "WARNING: --tx-rate is deprecated, use --rate instead\n";
    check("fileio --time=0 --tx-rate=5 run", 1, 0, 0, &format!("{endless}{rate}"));
    assert_eq!(warnings(&["--time=0".to_owned(), "--help".to_owned()]), Warnings::default());
}

/// Replaces every number by `#`, whatever its width.
fn shape(text: &str) -> String {
    let mut shape = String::new();
    for letter in text.chars() {
        match letter {
            '0'..='9' | '.' if shape.ends_with('#') => {}
            '0'..='9' => {
                while shape.ends_with("  ") {
                    shape.pop();
                }
                shape.push('#');
            }
            other => shape.push(other),
        }
    }
    shape
}

// The golden is the output of the real tool. Ours has the same lines, labels and order.
#[test]
fn the_report_has_sysbenchs_format() {
    let settings = settings(
        "fileio --file-num=4 --file-total-size=64M --file-test-mode=rndrw --threads=2 --report-interval=1 run",
    );
    let measured = |count: u64, ns: u64| {
        let mut service = Histogram::new();
        service.record_n(ns, count);
        OpMeasurement { count, bytes: count * 16384, service, ..OpMeasurement::default() }
    };
    let ops = BTreeMap::from([
        (OpKind::Read, measured(600, 10_000)),
        (OpKind::Write, measured(400, 20_000)),
        (OpKind::Fsync, OpMeasurement { bytes: 0, ..measured(40, 3_000_000) }),
        (OpKind::EndFsync, OpMeasurement { bytes: 0, ..measured(8, 9_000_000) }),
    ]);
    let worker = || WorkerMeasurement { ops: ops.clone(), ..WorkerMeasurement::default() };
    let phase = PhaseMeasurement {
        wall_ns: 2_000_000_000,
        ops: ops.clone(),
        workers: vec![worker(), worker()],
        ..Default::default()
    };
    let Command::Run(mode) = settings.command else { panic!() };
    let counted = print::Counted::from_ops(&ops, false);
    let text = format!(
        "{}Initializing worker threads...\n\nThreads started!\n\n{}{}{}",
        print::running(&settings, mode),
        print::line(&settings, 1.0, 1.0, &counted),
        print::line(&settings, 2.0, 1.0, &counted.since(&counted)),
        print::report(&settings, &phase)
    );
    assert_eq!(shape(&text), shape(RUN));
    for line in [
        "    reads/s:                      300.00\n",
        "    fsyncs/s:                     24.00\n",
        "    written, MiB/s:               3.12\n",
        "    total time:                          2.0000s\n",
        // Flushes at the end are not events.
        "    total number of events:              1040\n",
        "         min:                                    0.01\n",
        "         max:                                    3.00\n",
        "         sum:                                  134.00\n",
        "    events (avg/stddev):           1040.0000/0.00\n",
        "[ 1s ] reads: 9.38 MiB/s writes: 6.25 MiB/s fsyncs: 48.00/s latency (ms,95%): 0.020\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}

#[test]
fn sizes_have_five_digits() {
    for (line, described) in [
        ("--file-num=3 --file-total-size=64M", "3 files, 21.333MiB each\n64MiB total file size\n"),
        ("--file-num=7 --file-total-size=1G", "7 files, 146.29MiB each\n1024MiB total file size\n"),
        ("--file-num=1 --file-total-size=1023", "1 files, 1023B each\n1023B total file size\n"),
        ("--file-num=3 --file-total-size=10T", "3 files, 3.3333TiB each\n10TiB total file size\n"),
    ] {
        let settings = settings(&format!("fileio {line} --file-test-mode=rndrd run"));
        let text = print::running(&settings, TestMode::RandomRead);
        assert!(text.contains(described), "{described}{text}");
    }
}

// Protects: a rate applies to the events of all threads together, at random times, and latency counts from the due
// time.
#[test]
fn a_rate_applies_to_all_threads_together() {
    let pace = |line: &str| {
        let workload = lowered(&format!("fileio --threads=4 --file-test-mode={line} run"), &[]);
        workload.phase[0].workers[0].pace.open.map(|open| (open.rate.0, open.arrival, open.shared))
    };
    assert_eq!(pace("rndrd"), None);
    assert_eq!(pace("rndrd --rate=200"), Some((200.0, Arrival::Poisson, true)));
    assert_eq!(pace("rndwr --tx-rate=200"), Some((200.0, Arrival::Poisson, true)));
    // The flush after each write belongs to the write's event, and is an op of its own.
    assert_eq!(pace("rndwr --rate=200 --file-fsync-all"), Some((400.0, Arrival::Poisson, true)));
    assert_eq!(pace("rndrw --rate=200 --file-fsync-all"), Some((280.0, Arrival::Poisson, true)));
    let of = |ns: u64| {
        let mut times = Histogram::new();
        times.record_n(ns, 10);
        times
    };
    let reads =
        OpMeasurement { count: 10, service: of(1000), response: Some(of(5_000_000)), ..OpMeasurement::default() };
    let ops = BTreeMap::from([(OpKind::Read, reads)]);
    let phase = PhaseMeasurement { wall_ns: 1_000_000_000, ops, ..Default::default() };
    let settings = settings("fileio --file-test-mode=rndrd --rate=10 run");
    assert!(print::running(&settings, TestMode::RandomRead).contains("\nTarget transaction rate: 10/sec\n"));
    assert!(print::report(&settings, &phase).contains("         avg:                                    5.00\n"));
}

// The lines are output of sysbench 1.0.20.
#[test]
fn the_histogram_equals_sysbenchs() {
    let mut service = Histogram::new();
    service.record_n(12_100_000, 10);
    service.record_n(860_000, 1);
    service.record_n(101_200_000, 6);
    let reads = OpMeasurement { count: 17, service, ..OpMeasurement::default() };
    let phase =
        PhaseMeasurement { wall_ns: 1_000_000_000, ops: BTreeMap::from([(OpKind::Read, reads)]), ..Default::default() };
    let of = |line: &str| print::report(&settings(&format!("fileio --file-test-mode=rndrd {line} run")), &phase);
    let described = "Latency histogram (values are in milliseconds)\n\
                \u{20}      value  ------------- distribution ------------- count\n\
                \u{20}      0.856 |****                                     1\n\
                \u{20}     12.081 |**************************************** 10\n\
                \u{20}    101.132 |************************                 6\n \n\nFile operations:\n";
    let text = of("--histogram");
    assert!(text.starts_with(described), "{text}");
    assert!(of("").starts_with("\nFile operations:\n"));
}
