//! Output of the real tools. Versions and command lines are next to the goldens of the dialects, or in the files themselves.

use super::*;

macro_rules! golden {
    ($name:literal) => {
        include_bytes!(concat!("../../golden/", $name)).as_slice()
    };
}

macro_rules! of_tool {
    ($name:literal) => {
        include_bytes!(concat!("../../../", $name)).as_slice()
    };
}

pub(super) const ALL: &[(&str, &str, &[u8])] = &[
    ("fio", "jsonplus.json", of_tool!("tools-fio/golden/fio/jsonplus.json")),
    ("fio", "terse_v2.txt", of_tool!("tools-fio/golden/fio/terse_v2.txt")),
    ("fio", "terse_v3.txt", of_tool!("tools-fio/golden/fio/terse_v3.txt")),
    ("fio", "terse_v4.txt", of_tool!("tools-fio/golden/fio/terse_v4.txt")),
    ("fio", "terse_v5.txt", of_tool!("tools-fio/golden/fio/terse_v5.txt")),
    ("fio", "normal.txt", of_tool!("tools-fio/golden/fio/normal.txt")),
    ("iozone", "auto.xls", of_tool!("tools-classic/golden/iozone/auto.xls")),
    ("iozone", "ext_E.out", of_tool!("tools-classic/golden/iozone/ext_E.out")),
    ("bonnie++", "bonnie_fast.out", golden!("bonnie_fast.out")),
    ("postmark", "postmark_verbose.out", golden!("postmark_verbose.out")),
    ("postmark", "postmark_terse.out", golden!("postmark_terse.out")),
    ("elbencho", "elbencho.csv", golden!("elbencho.csv")),
    ("elbencho", "elbencho.json", golden!("elbencho.json")),
    ("mdtest", "mdtest_ranks.out", golden!("mdtest_ranks.out")),
    ("mdtest", "mdtest_times.out", golden!("mdtest_times.out")),
    ("ior", "ior_repeated.out", golden!("ior_repeated.out")),
    ("ior", "ior.json", golden!("ior.json")),
    ("ior", "ior.csv", golden!("ior.csv")),
    ("filebench", "filebench_varmail.out", golden!("filebench_varmail.out")),
    ("filebench", "filebench_randomread.out", golden!("filebench_randomread.out")),
    ("iperf3", "iperf3_bidir.json", golden!("iperf3_bidir.json")),
    ("iperf3", "iperf3_stream.json", golden!("iperf3_stream.json")),
    ("iperf2", "iperf2_udp.out", golden!("iperf2_udp.out")),
    ("iperf2", "iperf2_reverse.out", golden!("iperf2_reverse.out")),
    ("iperf2", "iperf2.csv", golden!("iperf2.csv")),
    ("netperf", "netperf_tcp_stream.out", golden!("netperf_tcp_stream.out")),
    ("netperf", "netperf_tcp_maerts.out", golden!("netperf_tcp_maerts.out")),
    ("netperf", "netperf_tcp_rr.out", golden!("netperf_tcp_rr.out")),
    ("netperf", "netperf_udp_stream.out", golden!("netperf_udp_stream.out")),
    ("netperf", "netperf_omni_csv.out", golden!("netperf_omni_csv.out")),
    ("netperf", "netperf_omni_kv.out", golden!("netperf_omni_kv.out")),
    ("md-workbench", "run.out", of_tool!("tools-hpc/golden/md-workbench/run.out")),
    ("iostat", "json.txt", of_tool!("tools-classic/golden/iostat/json.txt")),
    ("iostat", "json_basic.txt", of_tool!("tools-classic/golden/iostat/json_basic.txt")),
    ("iostat", "three_basic.txt", of_tool!("tools-classic/golden/iostat/three_basic.txt")),
    ("iostat", "three_human.txt", of_tool!("tools-classic/golden/iostat/three_human.txt")),
    ("iostat", "colour.txt", of_tool!("tools-classic/golden/iostat/colour.txt")),
    ("iostat", "group_pretty.txt", of_tool!("tools-classic/golden/iostat/group_pretty.txt")),
];

fn golden(name: &str) -> Vec<RunResult> {
    let (tool, name, bytes) = ALL.iter().find(|(_, known, _)| *known == name).unwrap();
    runs(tool, name, bytes)
}

fn only(name: &str) -> RunResult {
    let mut runs = golden(name);
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

// Protects: each golden is recognised as its tool's, gives the same runs each time, and survives being stored and read back.
#[test]
fn every_golden_is_recognised_and_comes_back() {
    for (tool, name, bytes) in ALL {
        let first = runs(tool, name, bytes);
        assert_eq!(first, runs(tool, name, bytes), "{name}");
        let ids: std::collections::BTreeSet<&str> = first.iter().map(|run| run.id.as_str()).collect();
        assert_eq!(ids.len(), first.len(), "{name}: duplicate ids");
        let text = plumb_document::json::to_vec(&first).unwrap();
        let back = plumb_result::reader::read(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(back, first, "{name}");
    }
}

// Protects: `bw_bytes` takes precedence, latencies are in ns, and percentiles are those of the table.
#[test]
fn fio_json() {
    let run = only("jsonplus.json");
    assert_eq!((run.tool.version.as_str(), run.started_at.as_str()), ("3.42-135-gf5344", "2026-11-20T18:46:27.998Z"));
    assert_eq!(run.imported.as_ref().unwrap().time, TimeSource::Tool);
    assert_eq!(metric(&run, "a", "read.bw"), Some(114_383_000.0));
    assert_eq!(metric(&run, "a", "read.iops"), Some(27_925.537231));
    assert_eq!(metric(&run, "a", "read.lat.p99"), Some(2_277_376.0));
    assert_eq!(metric(&run, "a", "read.lat.max"), Some(41_511_175.0));
    assert_eq!(run.phases[0].wall_ns, 2_001_000_000);
    assert!(has(&run, "a", "fsync.lat.p99") && !has(&run, "b", "write.bw"));
    let imported = run.imported.unwrap();
    assert_eq!(imported.settings["a: rwmixread"], "70");
    assert!(imported.notes.iter().any(|note| note.contains("clat")));
}

// Protects: `bw` of terse output is in KiB/s and its latencies are in µs, in each version's columns.
#[test]
fn fio_terse() {
    for (name, read_kib, read_p99_us, write_kib) in [
        ("terse_v2.txt", 126_842.0, 1564.0, 54_018.0),
        ("terse_v3.txt", 134_606.0, 1449.0, 57_245.0),
        ("terse_v4.txt", 65_429.0, 3915.0, 27_938.0),
        ("terse_v5.txt", 74_823.0, 2506.0, 32_005.0),
    ] {
        let run = only(name);
        close(metric(&run, "a", "read.bw"), read_kib * KIB);
        close(metric(&run, "a", "read.lat.p99"), read_p99_us * 1e3);
        close(metric(&run, "a", "write.bw"), write_kib * KIB);
        assert!(!has(&run, "b", "trim.bw"));
    }
}

#[test]
fn fio_normal() {
    let run = only("normal.txt");
    close(metric(&run, "a", "read.bw"), 146.0 * MIB);
    close(metric(&run, "a", "read.iops"), 37_300.0);
    close(metric(&run, "a", "read.lat.p99"), 1_598_000.0);
    close(metric(&run, "a", "read.lat.max"), 17_852_000.0);
    assert_eq!(run.phases[0].wall_ns, 2_001_000_000);
    assert_eq!(run.imported.unwrap().settings["b: rw"], "read");
}

// Protects: IOzone's KB are KiB, and each record size is a separate phase.
#[test]
fn iozone_sheet_and_text() {
    let sheet = only("auto.xls");
    close(metric(&sheet, "write 1MiB by 4KiB", "write.bw"), 2_348_509.0 * KIB);
    close(metric(&sheet, "reread 1MiB by 1MiB", "read.bw"), 32_098_538.0 * KIB);
    let text = only("ext_E.out");
    assert_eq!(text.phases.len(), 17);
    assert!(text.imported.unwrap().command.unwrap().contains("iozone"));
}

// Protects: `+++++` is "not measured", which is not 0, and the longest call of a test is a latency.
#[test]
fn bonnie_too_fast() {
    let run = only("bonnie_fast.out");
    close(metric(&run, "putc", "write.bw"), 1772.0 * KIB);
    assert_eq!(metric(&run, "put-block", "write.bw"), None);
    assert_eq!(metric(&run, "seeks", "read.iops"), None);
    close(metric(&run, "putc", "write.lat.max"), 38_185e3);
    close(number(&run, "rewrite", "latency max").0, 4_070e3);
    assert!(run.phases.iter().all(|phase| phase.name != "seq-create"), "this test did not run");
}

// Protects: PostMark's megabytes are MiB, its rates belong to their phases, and a note mentions its coarse clock.
#[test]
fn postmark() {
    let run = only("postmark_verbose.out");
    assert_eq!(metric(&run, "transactions", "txn.ops"), Some(25_000.0));
    close(metric(&run, "whole", "read.bw"), 789.76 * MIB);
    close(metric(&run, "whole", "write.bw"), 858.99 * MIB);
    assert_eq!(metric(&run, "creation alone", "create.ops"), Some(2000.0));
    assert_eq!(metric(&run, "whole", "unlink.ops"), Some(13_636.0));
    let imported = run.imported.as_ref().unwrap();
    assert_eq!((imported.settings["seed"].as_str(), run.tool.version.as_str()), ("42", "1.51"));
    assert!(imported.notes[0].contains("whole seconds"));
    let terse = only("postmark_terse.out");
    assert_eq!(metric(&terse, "transactions", "txn.ops"), Some(500.0));
    assert_eq!(metric(&terse, "whole", "write.bw"), Some(4_662_068.0));
    assert_eq!(metric(&terse, "deletion alone", "unlink.ops"), Some(528.0));
}

// Protects: the column `last` is used, CSV is in whole MiB/s and JSON in bytes, and a file of one command is one run.
#[test]
fn elbencho() {
    let (csv, json) = (only("elbencho.csv"), only("elbencho.json"));
    assert_eq!(metric(&csv, "WRITE", "write.bw"), Some(451.0 * MIB));
    assert_eq!(metric(&json, "WRITE", "write.bw"), Some(472_979_214.0));
    for run in [&csv, &json] {
        assert_eq!((run.tool.version.as_str(), run.started_at.as_str()), ("3.1-10", "2026-11-20T18:59:43.011Z"));
        assert_eq!(metric(run, "WRITE", "write.iops"), Some(115_473.0));
        assert_eq!(metric(run, "WRITE", "write.lat.max"), Some(1_079_000.0));
        assert_eq!(metric(run, "MKDIRS", "mkdir.ops"), Some(2393.0));
        assert_eq!(metric(run, "RMFILES", "unlink.lat.mean"), Some(5000.0));
        assert_eq!(number(run, "WRITE", "write entries"), (Some(28_868.0), "ops/s".to_owned(), Some(Better::Higher)));
    }
    // A second command, or a repeated phase, starts a new run.
    let text = std::str::from_utf8(ALL.iter().find(|one| one.1 == "elbencho.csv").unwrap().2).unwrap();
    let (head, rows) = text.split_once('\n').unwrap();
    assert_eq!(runs("elbencho", "two.csv", format!("{head}\n{rows}{rows}").as_bytes()).len(), 2);
}

#[test]
fn mdtest() {
    let ranks = only("mdtest_ranks.out");
    // Mean over iterations, not over ranks.
    assert_eq!(metric(&ranks, "File creation", "create.ops"), Some(69_544.837));
    assert_eq!(number(&ranks, "File creation", "rate max").0, Some(137_405.536));
    assert_eq!(number(&ranks, "File read", "rate"), (Some(1_537_820.74), "ops/s".to_owned(), Some(Better::Higher)));
    let times = only("mdtest_times.out");
    assert_eq!(metric(&times, "Directory removal", "rmdir.ops"), Some(375.629));
    assert_eq!(metric(&times, "Directory removal", "rmdir.lat.mean"), Some(280_000.0));
    assert!(!has(&times, "Directory stat", "stat.lat.mean"), "0.000 ms is a rounded value");
}

// Protects: each iteration is a run, in all three formats, and MiB are 2^20 bytes.
#[test]
fn ior() {
    for (name, count, first, second) in [
        ("ior_repeated.out", 3, 1396.95, 1751.14),
        ("ior.json", 2, 832.2857, 1075.8764),
        ("ior.csv", 2, 2570.8268, 3611.1098),
    ] {
        let runs = golden(name);
        assert_eq!(runs.len(), count, "{name}");
        close(metric(&runs[0], "write", "write.bw"), first * MIB);
        close(metric(&runs[1], "write", "write.bw"), second * MIB);
        assert!(has(&runs[1], "read", "read.iops"));
    }
    let run = golden("ior_repeated.out").remove(0);
    close(metric(&run, "write", "write.lat.mean"), 683_000.0);
    assert_eq!(run.imported.as_ref().unwrap().settings["xfersize"], "262144 bytes");
    assert!(run.imported.unwrap().command.unwrap().ends_with("-C -o t1"));
}

#[test]
fn filebench() {
    let run = only("filebench_varmail.out");
    assert_eq!(metric(&run, "IO Summary", "read.iops"), Some(3287.0));
    close(number(&run, "IO Summary", "bandwidth of reads and writes").0, 135.1 * MIB);
    assert_eq!(number(&run, "fsyncfile3", "latency max"), (Some(10_343_000.0), "ns".to_owned(), Some(Better::Lower)));
    assert_eq!(run.phases.last().unwrap().wall_ns, 2_000_000_000);
    close(metric(&only("filebench_randomread.out"), "IO Summary", "read.bw"), 5214.2 * MIB);
}

// Protects: bits are not bytes, sent is not received, and the two directions stay separate.
#[test]
fn iperf() {
    let run = only("iperf3_bidir.json");
    close(metric(&run, "stream", "write.bw"), 41_893_856.612_337_11 / 8.0);
    close(metric(&run, "reverse", "read.bw"), 41_891_471.598_462_3 / 8.0);
    assert!(run.phases[0].metrics.values().all(|value| value.tier.is_none()), "a network test has no storage tier");
    close(metric(&only("iperf3_stream.json"), "stream", "write.bw"), 20_437_156.481_854_443 / 8.0);
    let udp = only("iperf2_udp.out");
    close(metric(&udp, "sent", "write.bw"), 523e3 / 8.0);
    close(metric(&udp, "received", "read.bw"), 523e3 / 8.0);
    assert_eq!(number(&udp, "received", "jitter").0, Some(21_000.0));
    close(metric(&only("iperf2_reverse.out"), "received", "read.bw"), 2e6 / 8.0);
    close(number(&only("iperf2.csv"), "connection 1", "bandwidth").0, 2_959_270.0 / 8.0);
}

#[test]
fn netperf() {
    close(metric(&only("netperf_tcp_stream.out"), "TCP STREAM", "write.bw"), 17_034.45e6 / 8.0);
    close(metric(&only("netperf_tcp_maerts.out"), "TCP MAERTS", "read.bw"), 12_847.85e6 / 8.0);
    assert_eq!(metric(&only("netperf_tcp_rr.out"), "TCP REQUEST/RESPONSE", "txn.ops"), Some(172_254.70));
    let udp = only("netperf_udp_stream.out");
    close(metric(&udp, "UDP STREAM", "write.bw"), 3535.63e6 / 8.0);
    close(metric(&udp, "UDP STREAM", "read.bw"), 1604.85e6 / 8.0);
    assert_eq!(metric(&only("netperf_omni_csv.out"), "TCP REQUEST/RESPONSE", "txn.ops"), Some(158_439.28));
    let kv = only("netperf_omni_kv.out");
    assert_eq!(metric(&kv, "OMNI Send|Recv", "txn.ops"), Some(162_077.93));
    assert_eq!(number(&kv, "OMNI Send|Recv", "latency p99").0, Some(8000.0));
}

// Protects: rates of objects and data sets, throughput and quantiles of calls belong to their phase.
#[test]
fn md_workbench() {
    let run = only("run.out");
    assert_eq!((run.tool.version.as_str(), run.phases.len()), ("4.1.0+dev", 4));
    assert_eq!(metric(&run, "precreate", "create.ops"), Some(104_141.6));
    assert_eq!(metric(&run, "precreate", "mkdir.ops"), Some(10_414.163));
    close(metric(&run, "precreate", "write.bw"), 387.4 * MIB);
    close(metric(&run, "precreate", "create.lat.p50"), 11_921.0);
    assert_eq!(metric(&run, "benchmark", "read.iops"), Some(101_067.6));
    close(number(&run, "benchmark (2)", "throughput").0, 826.7 * MIB);
    close(metric(&run, "benchmark (2)", "unlink.lat.max"), 9_059.9);
    assert_eq!(number(&run, "benchmark", "delete p75"), (Some(5_006.8), "ns".to_owned(), Some(Better::Lower)));
    assert_eq!(metric(&run, "cleanup", "rmdir.ops"), Some(1986.174));
    assert_eq!(number(&run, "cleanup", "errors").0, Some(0.0));
}

// Protects: the lines of `-v`, and errors. Form: that of Plumb's printer (`md_workbench/print.rs`).
#[test]
fn md_workbench_in_detail() {
    let text = "MD-Workbench total objects: 40 workingset size: 0.149 MiB (version: 4.1.0) time: 2026-11-20 18:54:20\nprecreate \t4\t0\t40\t0\t0\t0\t\
                2.000s\t2.000s\t387.40 MiB/s 2.5000e-03\nprecreate err\t3\n";
    let run = one("md-workbench", "m.txt", text.as_bytes());
    assert_eq!((run.phases.len(), run.phases[0].wall_ns), (1, 2_000_000_000));
    close(number(&run, "precreate", "throughput").0, 387.4 * MIB);
    close(number(&run, "precreate", "op max").0, 2.5e6);
    assert_eq!(number(&run, "precreate", "errors").0, Some(3.0));
    assert_eq!(run.phases[0].done.values().map(|done| done.ops).sum::<u64>(), 44);
}

// Protects: rates, sizes and times of IOMeter's columns. MB/s of 2006, whose unit the file does not define, are
// computed from bytes. Form: the headers of results that IOMeter 2006.07.27 and 1.1.0 save.
#[test]
fn iometer() {
    let head = "'Test Type,Test Description\n0,night\n'Version\n2006.07.27 \n'Time Stamp\n2008-05-06 10:11:12:013\n'Results\n'Target Type,Target \
                Name,Access Specification Name,# Managers,# Workers,# Disks,IOps,Read IOps,Write IOps,MBps,Average Read Response Time,Maximum \
                Read Response Time,Errors,Bytes Read,Bytes Written,Read I/Os,Write I/Os\n";
    let rows = "ALL,All,4K read,1,1,1,250.5,250.5,0,0.978515,3.5,40,2,10260480,0,2505,0\nDISK,D:,,,,,250.5,250.5,0,0.978515,3.5,40,2,10260480,0,2505,0\n";
    let run = one("iometer", "r.csv", format!("{head}{rows}'End Test\n").as_bytes());
    assert_eq!((run.tool.version.as_str(), run.phases.len()), ("2006.07.27", 2));
    assert_eq!(metric(&run, "test 1: 4K read", "read.iops"), Some(250.5));
    close(metric(&run, "test 1: 4K read", "read.bw"), 250.5 * 4096.0);
    assert_eq!(metric(&run, "test 1, disk D:", "read.lat.mean"), Some(3.5e6));
    assert_eq!(metric(&run, "test 1, disk D:", "read.lat.max"), Some(40e6));
    assert!(!has(&run, "test 1: 4K read", "write.iops"), "the test wrote nothing");
    assert_eq!(number(&run, "test 1: 4K read", "errors"), (Some(2.0), String::new(), Some(Better::Lower)));
    assert_eq!(run.imported.unwrap().settings["test description"], "night");
}

// Protects: iostat's kB are 1024 bytes, its reports stay separate, and every format of a report gives the same numbers.
#[test]
fn iostat() {
    for name in ["json.txt", "colour.txt"] {
        let run = only(name);
        assert_eq!(run.environment.hostname, "vm");
        assert_eq!(metric(&run, "vda", "read.iops"), Some(5440.65), "{name}");
        close(metric(&run, "vda", "write.bw"), 42_204.75 * KIB);
        close(metric(&run, "vda, report 2", "write.lat.mean"), 2.01e6);
        close(number(&run, "vda, report 3", "aqu-sz").0, 990.10);
        assert_eq!(number(&run, "vda, report 3", "%util").0, Some(100.0));
        assert_eq!(number(&run, "avg-cpu, report 2", "%idle").0, Some(29.29));
        close(number(&run, "vda", "dareq-sz").0, 193.69 * KIB);
    }
    let run = only("three_basic.txt");
    close(number(&run, "vda", "tps").0, 5845.35);
    close(metric(&run, "vda, report 2", "read.bw"), 4004.0 * KIB);
    // `34.9M` means 34.9 MB.
    let run = only("three_human.txt");
    close(metric(&run, "vda", "read.bw"), 34.9 * MIB);
    assert_eq!(metric(&run, "vda", "read.iops"), Some(5440.65));
}
