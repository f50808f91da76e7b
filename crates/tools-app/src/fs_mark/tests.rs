//! Tests of typical command lines, their workloads, and the format of the output.

use super::print::To;
use super::*;
use plumb_result::histogram::Histogram;
use plumb_result::measurement::OpMeasurement;
use plumb_result::{PhaseMeasurement, WorkerMeasurement};
use plumb_workload::{OpKind, Step, Target, Work, Workload};
use std::collections::BTreeMap;

/// Output of fs_mark 3.3 for these arguments.
const GOLDEN: &str = include_str!("../../golden/fs_mark/run.out");
const GOLDEN_WORDS: &str = "-d d1 -n 100 -s 20000 -v -D 4 -N 5 -S 2";

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn lowered(line: &str) -> Workload {
    let workload = lower(&read(&words(line)).unwrap(), 0x6b09_7d76, 9);
    assert_eq!(plumb_workload_text::validate::validate(&workload), [], "{line}");
    let text = plumb_workload_text::native::to_toml(&workload).unwrap();
    assert_eq!(plumb_workload_text::native::parse("fs.toml", &text).unwrap(), workload, "{line}");
    workload
}

/// Returns the names of a thread's directories and files.
fn names(workload: &Workload, thread: &str) -> Vec<String> {
    let Some(Target::Scratch(scratch)) = workload.target.get(thread) else { panic!("{thread}") };
    (0..scratch.names.count()).map(|at| scratch.names.path(at).unwrap().display().to_string()).collect()
}

fn describe(steps: &[Step]) -> String {
    let describe = steps.iter().map(|step| match step {
        Step::Each(each) => format!("{:?} {}+{} [{}]", each.order, each.first, each.count, describe(&each.steps)),
        Step::Transfer(transfer) => format!("{}x{}", transfer.count, transfer.record.0),
        step => step.kinds().iter().map(|kind| kind.name()).collect::<String>(),
    });
    describe.collect::<Vec<_>>().join(" ")
}

fn steps(workload: &Workload, phase: usize) -> String {
    let Work::Program(program) = &workload.phase[phase].workers[0].work else { panic!() };
    describe(&program.steps)
}

// Protects the work on each file, and the seven flush methods.
#[test]
fn files_are_written_flushed_and_removed_as_requested() {
    let file = "mkdir create 3x16384 1x2048";
    let flush = "[open fsync close]";
    for (method, inside, after) in [
        (0, "", String::new()),
        (1, " fsync", String::new()),
        (2, "", format!(" sync Forward 1+1 {flush}")),
        (3, "", format!(" Backward 1+9 {flush}")),
        (4, "", format!(" sync Backward 1+9 {flush}")),
        (5, "", format!(" Forward 1+9 {flush}")),
        (6, "", format!(" sync Forward 1+9 {flush}")),
    ] {
        let workload = lowered(&format!("-d a -n 9 -S {method}"));
        assert_eq!(steps(&workload, 0), format!("Forward 1+9 [{file}{inside} close]{after}"), "-S {method}");
        assert_eq!(steps(&workload, 1), "Forward 1+9 [unlink]");
    }
    assert_eq!(lowered("-d a -n 9 -k").phase.len(), 1);
    assert_eq!(lowered("-d a -n 9 -L3").phase.len(), 1);
    assert_eq!(steps(&lowered("-d a -n 1 -s 0 -S0"), 0), "Forward 1+1 [mkdir create close]");
    assert_eq!(steps(&lowered("-d a -n 1 -s 5 -w 5 -S0"), 0), "Forward 1+1 [mkdir create 1x5 close]");
}

// Protects names: the time, padding, random letters, and the directory of each.
#[test]
fn names_have_fs_marks_form() {
    let workload = lowered("-d a -d b -t 4 -n 3 -p 12 -r 2");
    assert_eq!(workload.phase[0].workers.len(), 4);
    let own = names(&workload, "thread-2");
    assert_eq!(own[0], "a");
    for name in &own[1..] {
        let file = name.strip_prefix("a/6b097d76~~").unwrap_or_else(|| panic!("{name}"));
        assert!(file.len() == 2 && file.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit()));
    }
    let all: Vec<String> = (0..4).flat_map(|thread| names(&workload, &format!("thread-{thread}"))).collect();
    let mut apart = all.clone();
    apart.sort();
    apart.dedup();
    // Two threads in each of two directories.
    assert_eq!((all.len(), apart.len()), (16, 14));
    // More and fewer bytes than the time has.
    assert!(names(&lowered("-d a -n 1 -p 8 -r 4"), "thread-0")[1].starts_with("a/7d76"));
    // The time chooses the first directory: 0x6b097d76 % 4 = 2.
    let turns = lowered("-d a -n 5 -D 4 -N 2");
    let own = names(&turns, "thread-0");
    let directories: Vec<&str> = own[5..].iter().map(|name| &name[2..4]).collect();
    assert_eq!(directories, ["02", "02", "03", "03", "00"]);
    assert_eq!(steps(&turns, 0).matches("Forward").count(), 3);
    assert!(names(&lowered("-d a -n 2 -D 4"), "thread-0")[5..].iter().all(|name| name.starts_with("a/02/")));
}

#[test]
fn invalid_commands_are_refused_with_a_reason() {
    for (line, why) in [
        ("", "Must specify at least one directory with -d switch"),
        ("-d a -d b -t 3", "Threads (3) must be an even multiple the number of directories (2) and less than 64 "),
        ("-d a -N 3", "Must specify at more than 1 subdirectory with -D switch for -N num_per_subdir to make sense"),
        ("-d a -S 9", "fs_mark: -S 9: a number from 0 to 6 expected"),
        ("-d a -n x", "fs_mark: -n x: a number from 1 to 1000000 expected"),
        ("-d a -t 65", "fs_mark: -t 65: a number from 1 to 64 expected"),
        ("-d a -p 4", "fs_mark: a name of 4 bytes (-p) cannot have 24 random ones (-r)"),
        ("-d", "fs_mark: option requires an argument -- 'd'"),
        ("-d a -F", "fs_mark: -F is not supported: use -L with as many iterations as it takes"),
        ("-d a -é", "fs_mark: invalid option -- 'é'"),
        ("-d a --sync", "fs_mark: invalid option -- '-'"),
        ("-h", ""),
    ] {
        assert_eq!(read(&words(line)).unwrap_err().to_string(), why, "{line}");
    }
    assert_eq!(read(&words("-d a -- -S 9")), read(&words("-d a")), "getopt(3) ends options at two dashes");
}

fn measured(count: u64, ns: u64) -> OpMeasurement {
    let mut service = Histogram::new();
    service.record_n(ns, count);
    OpMeasurement { count, service, ..OpMeasurement::default() }
}

// The golden is the output of the real tool. Ours equals it in everything but the numbers, column by column.
#[test]
fn lines_and_columns_equal_fs_marks() {
    let settings = read(&words(GOLDEN_WORDS)).unwrap();
    let ops = BTreeMap::from([
        (OpKind::Create, measured(100, 14_000)),
        (OpKind::Write, measured(200, 20_000)),
        (OpKind::Fsync, measured(1, 1_400_000)),
        (OpKind::Open, measured(1, 100_000)),
        (OpKind::Sync, measured(1, 13_000_000)),
        (OpKind::Close, measured(101, 1_000)),
    ]);
    let worker = WorkerMeasurement { ops: ops.clone(), wall_ns: 25_000_000, ..WorkerMeasurement::default() };
    let write = PhaseMeasurement { ops, workers: vec![worker], ..PhaseMeasurement::default() };
    let unlink = PhaseMeasurement {
        ops: BTreeMap::from([(OpKind::Unlink, measured(100, 615_000))]),
        ..PhaseMeasurement::default()
    };
    let command = words(&format!("fs_mark {GOLDEN_WORDS}"));
    let began = "Fri Nov 27 12:59:08 2026";
    let head = print::head(&settings, &command, began, To::Output);
    let golden = GOLDEN.rsplit_once('\n').map_or(GOLDEN, |(text, _)| text);
    let (golden_head, golden_line) = golden.rsplit_once('\n').unwrap();
    assert_eq!(head, format!("{golden_head}\n"));
    let line = print::line(&settings, &[write, unlink], 94, 300);
    let columns = |line: &str| {
        line.trim_end()
            .char_indices()
            .filter(|(at, letter)| *letter != ' ' && line[at + letter.len_utf8()..].starts_with([' ', '\n']))
            .map(|(at, _)| at)
            .collect::<Vec<_>>()
    };
    assert_eq!(columns(&line), columns(&format!("{golden_line}\n")), "{line}{golden_line}");
    let numbers: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(
        numbers.join(" "),
        "94 400 20000 4000.0 4999 14 14 14 20 20 20 1400 15 1400 0 13000 0 1 1 1 615 615 615"
    );
    assert!(print::head(&settings, &command, began, To::Log).contains("\n##\tAll system call times"));
}
