//! Tests of typical command lines, valid and invalid load files, and dbench's report.

use super::print::Done;
use super::*;
use plumb_result::PhaseMeasurement;
use plumb_result::histogram::Histogram;
use plumb_result::measurement::OpMeasurement;
use plumb_workload::OpKind;
use plumb_workload::program::LoadAct;
use std::collections::BTreeMap;

/// Output of dbench 4.00 after a run of small.txt.
const GOLDEN: &str = include_str!("../../golden/dbench/run.out");

fn settings(line: &str) -> DbenchSettings {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    match read(&words).unwrap() {
        Action::Run(settings) => settings,
        Action::Help => panic!("{line}"),
    }
}

fn error_of(line: &str) -> String {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    read(&words).unwrap_err()
}

#[test]
fn words_become_clients_with_a_load() {
    let all = settings("-t5 --loadfile=small.txt -D /tmp/x -s -S -F --no-resolve --skip-cleanup 4 ignored");
    assert_eq!((all.clients, all.time_s, all.warmup_s()), (4, 5, 1));
    let workload = lower(&all);
    assert_eq!(plumb_workload_text::validate::validate(&workload), []);
    let text = plumb_workload_text::native::to_toml(&workload).unwrap();
    assert_eq!(plumb_workload_text::native::parse("db.toml", &text).unwrap(), workload);
    let step = workload.phase[0].workers[0].work.program().unwrap().load_file().unwrap();
    assert!(step.sync_open && step.sync_directories && step.flush_writes && step.no_resolve);
    assert_eq!((workload.phase[0].workers[0].count, step.path.to_str()), (4, Some("small.txt")));
    for (line, why) in [
        ("-t 5", "You need to specify NPROCS"),
        ("0", "`0` clients: a number from 1 to 4096 expected"),
        ("-t x 1", "Invalid option -t: `x` is not a number of seconds"),
        ("-R 5 1", "--target-rate is not supported: use `plumb trace replay`"),
        ("--bla 1", "Invalid option --bla: unknown option"),
        ("-sS 1", "Invalid option -sS: give each option by itself"),
        ("-s=1 1", "Invalid option -s=1: it takes no value"),
        ("-- 1", "Invalid option --: unknown option"),
        ("1 -c", "Invalid option -c: missing argument"),
        ("--sync=1 1", "Invalid option --sync=1: it takes no value"),
    ] {
        assert_eq!(error_of(line), why, "{line}");
    }
}

#[test]
fn a_load_file_is_read_line_by_line() {
    let text = "# none\n\nNTCreateX \"\\clients\\client1\\a b\" 0x40 0x2 7 NT_STATUS_OK\n\
                writex 7 65534 1 1 NT_STATUS_OK\r\nUnlockX 7 2147483538 1 NT_STATUS_OK\nClose 7 0x0\n\
                FIND_FIRST \"\\clients\\client1\\*.x\" 260 1366 0 NT_STATUS_NO_SUCH_FILE\n";
    let file = LoadFile::parse(text).unwrap();
    assert_eq!(file.names, ["clients/client1/a b", "clients/client1/*.x"]);
    assert_eq!((file.ops.len(), file.slots, file.largest_bytes()), (5, 1, 1));
    assert_eq!(file.ops[0].act, LoadAct::Open { directory: false, create: true, truncate: false });
    assert_eq!((file.ops[1].offset, file.ops[1].moved), (65534, 1));
    assert_eq!((file.ops[4].length, file.ops[4].succeeds), (1366, false));
}

// Hostile load files: each is refused with its line number, and none escapes from the clients' directory.
#[test]
fn errors_in_a_load_file_name_their_line() {
    let long = "NTCreateX \"\\clients\\a\" 0 2 1 NT_STATUS_OK\n".to_owned()
        + &(2..300).map(|n| format!("NTCreateX \"\\clients\\a\" 0 2 {n} NT_STATUS_OK\n")).collect::<String>();
    for (text, message) in [
        ("", "line 1: there is no operation"),
        ("Close 5 NT_STATUS_OK", "line 1: handle 5 is not open here"),
        (
            "\nUnlink \"\\etc\\passwd\" NT_STATUS_OK",
            "line 2: `/etc/passwd` is not below \\clients; Plumb touches nothing else",
        ),
        (
            "Unlink \"\\clients\\..\\x\" NT_STATUS_OK",
            "line 1: `/clients/../x` is not below \\clients; Plumb touches nothing else",
        ),
        (
            "Deltree \"\\clients\\\" NT_STATUS_OK",
            "line 1: `/clients/` is not below \\clients; Plumb touches nothing else",
        ),
        ("Deltree \"\\\" NT_STATUS_OK", "line 1: `/` is not below \\clients; Plumb touches nothing else"),
        (
            "Unlink \"\\clients\\a\0b\" NT_STATUS_OK",
            "line 1: `/clients/a\0b` is not below \\clients; Plumb touches nothing else",
        ),
        ("Unlink clients NT_STATUS_OK", "line 1: `clients` is not a name; names begin with \\ or /"),
        ("Rename \"\\clients\\a\" NT_STATUS_OK", "line 1: a name is missing"),
        ("Frobnicate 1 NT_STATUS_OK", "line 1: unknown operation `Frobnicate`"),
        ("0.5 Close 1 NT_STATUS_OK", "line 1: times are not supported; remove the first column"),
        ("Close 1 2", "line 1: `2` is not a status; end the line with one such as NT_STATUS_OK"),
        ("Sleep x NT_STATUS_OK", "line 1: `x` is not a number"),
        ("Sleep 99999999999999999999 NT_STATUS_OK", "line 1: `99999999999999999999` is not a number"),
        (
            "NTCreateX \"\\clients\\a\" 0 2 1 NT_STATUS_OK\nReadX 1 18446744073709551615 2 2 NT_STATUS_OK",
            "line 2: the operation ends beyond the largest possible file",
        ),
        (
            "NTCreateX \"\\clients\\a\" 0 2 1 NT_STATUS_OK\nWriteX 1 0 99999999 1 NT_STATUS_OK",
            "line 2: at most 67108864 bytes can be moved, and no more than requested",
        ),
        (
            "NTCreateX \"\\clients\\a\" 0 2 1 NT_STATUS_OK\nNTCreateX \"\\clients\\a\" 0 2 1 NT_STATUS_OK",
            "line 2: handle 1 is open already; close it first",
        ),
        (&long, "line 201: more than 200 files are open; close some"),
    ] {
        assert_eq!(LoadFile::parse(text).unwrap_err().to_string(), message, "{text}");
    }
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

// The golden is the output of the real tool. Ours has the same lines, columns and order of operations.
#[test]
fn the_report_has_dbenchs_format() {
    let settings = settings("-t 2 -c small.txt 1");
    let measured = |count: u64, bytes: u64| {
        let mut service = Histogram::new();
        service.record_n(1_500_000, count);
        OpMeasurement { count, bytes, service, ..OpMeasurement::default() }
    };
    let kinds = [
        OpKind::Open,
        OpKind::Close,
        OpKind::Rename,
        OpKind::Unlink,
        OpKind::RemoveTree,
        OpKind::Rmdir,
        OpKind::Mkdir,
        OpKind::Stat,
        OpKind::Fstat,
        OpKind::Statfs,
        OpKind::Utimens,
        OpKind::Readdir,
        OpKind::Lock,
        OpKind::Unlock,
        OpKind::Fsync,
    ];
    let mut ops: BTreeMap<OpKind, OpMeasurement> = kinds.into_iter().map(|kind| (kind, measured(311, 0))).collect();
    ops.insert(OpKind::Write, measured(622, 20_000_000));
    ops.insert(OpKind::Read, measured(311, 24_029_600));
    let phase = PhaseMeasurement { wall_ns: 2_000_000_000, ops: ops.clone(), ..PhaseMeasurement::default() };
    let done = Done::from_ops(&ops);
    let text = format!("{}{}", print::line(&settings, 1.0, &done, &Done::default()), print::report(&settings, &phase));
    let golden: String =
        GOLDEN.lines().filter(|line| !line.contains("cleanup")).map(|line| format!("{line}\n")).collect();
    assert_eq!(shape(&text), shape(&golden));
    for line in [
        " NTCreateX        311     1.500     1.500\n",
        "   1      5598    44.03 MB/sec  execute   1 sec  latency 1.500 ms\n",
        "\nThroughput 22.0148 MB/sec  1 clients  1 procs  max_latency=1.500 ms\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}
