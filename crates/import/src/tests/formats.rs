//! Samples written for these tests, in the format of tools or versions that are not installed here. Each
//! names the source of its format.

use super::*;

// Form: fio 2.x, stat.c before 3.0 (`io=`, `bw=` with KB of 1024 bytes, latencies in usec or msec).
#[test]
fn fio_before_3() {
    let text = "job: (groupid=0, jobs=1): err= 0: pid=77: Mon Jan  4 10:00:00 2016\n  read : io=512.0MB, bw=4096.0KB/s, \
                iops=1024, runtime=128000msec\n    clat (usec): min=100, max=9000, avg=970.50, stdev=10.00\n    clat percentiles \
                (usec):\n     |  1.00th=[  100], 50.00th=[  900], 99.00th=[ 2000],\n  cpu          : usr=0.10%, sys=1.00%\n";
    let run = one("fio", "old.txt", text.as_bytes());
    close(metric(&run, "job", "read.bw"), 4096.0 * KIB);
    assert_eq!(metric(&run, "job", "read.iops"), Some(1024.0));
    assert_eq!(metric(&run, "job", "read.lat.p99"), Some(2e6));
    assert_eq!(metric(&run, "job", "read.lat.mean"), Some(970_500.0));
    // JSON of 2.x: `bw` in KiB a second, latencies in µs, and `io_bytes` in KiB.
    let json = r#"{"fio version":"fio-2.16","jobs":[{"jobname":"j","error":0,"write":{"io_bytes":1024,"bw":512,"iops":128.0,
        "runtime":2000,"total_ios":256,"lat":{"min":10,"max":400,"mean":50.5,"stddev":nan},"clat":{"min":9,"max":399,"mean":49.0,
        "percentile":{"99.000000":300}}}}]}"#;
    let run = one("fio", "old.json", json.as_bytes());
    close(metric(&run, "j", "write.bw"), 512.0 * KIB);
    assert_eq!(metric(&run, "j", "write.lat.p99"), Some(300_000.0));
    assert_eq!(run.phases[0].done.values().next().unwrap().bytes, 1 << 20);
}

// Form: fio's HOWTO, "Log file formats". The name says what it is of; bandwidth is in KiB a second.
#[test]
fn fio_logs() {
    let run = one("fio", "logs/x_bw.1.log", b"1000, 2048, 0, 4096, 0\n2000, 4096, 0, 4096, 0\n2000, 10, 1, 4096, 0\n");
    assert_eq!(number(&run, "read", "bw mean"), (Some(3072.0 * KIB), "B/s".to_owned(), Some(Better::Higher)));
    assert_eq!(number(&run, "write", "entries").0, Some(1.0));
    let run = one("fio", "x_clat.2.log", b"1, 5000, 1, 4096\n2, 7000, 1, 4096\n");
    assert_eq!(number(&run, "write", "clat max"), (Some(7000.0), "ns".to_owned(), Some(Better::Lower)));
    let error = read(&file("x.log", b"1, 5000, 1, 4096\n"), Some("fio")).unwrap_err().to_string();
    assert!(error.contains("name it as fio does"), "{error}");
}

// Form: coreutils' dd in several languages (its .po files), FreeBSD's and macOS's dd, BusyBox.
#[test]
fn dd_lines() {
    for (text, expected) in [
        ("1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.5 s, 429 MB/s", 1_073_741_824.0 / 2.5),
        ("1073741824 bytes (1.1 GB) copied, 49,02 s, 21.9 MB/s", 1_073_741_824.0 / 49.02),
        ("1073741824 байт (1,1 GB) скопировано, 49,02 с, 21,9 MB/s", 1_073_741_824.0 / 49.02),
        ("1073741824 octets (1,1 GB, 1,0 GiB) copiés, 10,5 s, 102 MB/s", 1_073_741_824.0 / 10.5),
        ("1073741824字节（1.1 GB，1.0 GiB）已复制，0.5 s，2.1 GB/s", 1_073_741_824.0 / 0.5),
        ("1073741824 bytes transferred in 5.012 secs (214234000 bytes/sec)", 1_073_741_824.0 / 5.012),
        ("1073741824 bytes (1.0GB) copied, 4.000000 seconds, 256.0MB/s", 1_073_741_824.0 / 4.0),
    ] {
        let run = one("dd", "dd.txt", format!("{text}\n").as_bytes());
        close(number(&run, "copy", "copied").0, expected);
        close(Some(run.phases[0].wall_ns as f64), (1_073_741_824.0 / expected * 1e9_f64).round());
    }
}

// Protects: each report is a run, progress is not, and the command line says what was read and written.
#[test]
fn dd_with_its_command() {
    let text = "$ time dd if=/dev/zero of=/mnt/x/f bs=1M count=100 oflag=direct\n35 bytes (36 B) copied, 1 s, 35 B/s\r61 bytes (61 B) \
                copied, 2 s, 30 B/s\n100+0 records in\n100+0 records out\n104857600 bytes (105 MB, 100 MiB) copied, 2 s, 52.4 MB/s\n\
                # dd if=/mnt/x/f of=/dev/null bs=1M\n100+0 records in\n100+0 records out\n104857600 bytes (105 MB) copied, 1 s, 105 \
                MB/s\n";
    let runs = runs("dd", "dd.txt", text.as_bytes());
    assert_eq!(runs.len(), 2);
    close(metric(&runs[0], "copy", "write.bw"), 52_428_800.0);
    assert!(!has(&runs[0], "copy", "read.bw") && runs[0].target.contains_key("/mnt/x/f"));
    assert_eq!(runs[0].imported.as_ref().unwrap().settings["oflag"], "direct");
    close(metric(&runs[1], "copy", "read.bw"), 104_857_600.0);
}

// Form: Bonnie++ 1.03's and 2.00's lines, as its own bon_csv2txt reads them.
#[test]
fn bonnie_lines_are_runs() {
    let old = "box,96M,26807,8,+++++,+++,+++++,+++,27263,8,+++++,+++,+++++,+++,8:4096:0/8,9094,8,+++++,+++,11634,8,9055,8,+++++,+++,8196,8\n";
    let runs = runs("bonnie++", "b.csv", format!("{old}{old}").as_bytes());
    assert_eq!(runs.len(), 2, "two lines that are alike are two runs");
    assert_ne!(runs[0].id[..13], runs[1].id[..13], "a short id names one of them");
    assert_eq!((runs[0].environment.hostname.as_str(), metric(&runs[0], "seq-stat", "stat.ops")), ("box", None));
    close(metric(&runs[0], "putc", "write.bw"), 26_807.0 * KIB);
}

// Form: mdtest 1.9, whose rows end with a colon.
#[test]
fn old_mdtest() {
    let text = "-- started at 01/02/2015 10:00:00 --\n\nmdtest-1.9.3 was launched with 8 total task(s) on 2 node(s)\nSUMMARY: (of 3 \
                iterations)\n   File creation     :       2000.500       1000.250       1500.125          10.000\n";
    let run = one("mdtest", "old.txt", text.as_bytes());
    assert_eq!(metric(&run, "File creation", "create.ops"), Some(1500.125));
    assert_eq!((run.tool.version.as_str(), run.imported.unwrap().settings["tasks"].as_str()), ("1.9.3", "8"));
}

// Form: what sysbench 1.0, 1.1 and 0.4 print for fileio, as in many published logs (found by searching for "written, MiB/s:" and
// "Requests/sec executed").
#[test]
fn sysbench() {
    let text = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nNumber of threads: 4\nBlock size 16KiB\nDoing random r/w test\n\n\
                File operations:\n    reads/s:                      1000.50\n    writes/s:                     500.25\n    fsyncs/s:     \
                0.00\n\nThroughput:\n    read, MiB/s:                  15.63\n    written, MiB/s:               7.82\n\nGeneral \
                statistics:\n    total time:                          10.0s\n\nLatency (ms):\n         min:      0.01\n         avg:   \
                0.50\n         95th percentile:   0.90\n\nThreads fairness:\n";
    let run = one("sysbench", "s.txt", text.as_bytes());
    assert_eq!(metric(&run, "fileio", "read.iops"), Some(1000.5));
    close(metric(&run, "fileio", "write.bw"), 7.82 * MIB);
    assert!(!has(&run, "fileio", "fsync.ops"));
    assert_eq!(number(&run, "fileio", "latency avg"), (Some(500_000.0), "ns".to_owned(), Some(Better::Lower)));
    let newer = "sysbench 1.1.0\nThroughput:\n         read:  IOPS=200.00 3.12 MiB/s (3.28 MB/s)\n         write: IOPS=0.00 0.00 MiB/s \
                 (0.00 MB/s)\n         fsync: IOPS=0.00\n\nLatency (ms):\n  avg: 4.00\nThreads fairness:\n";
    let run = one("sysbench", "s.txt", newer.as_bytes());
    close(metric(&run, "fileio", "read.bw"), 3.12 * MIB);
    assert_eq!(metric(&run, "fileio", "read.lat.mean"), Some(4e6));
    let older = "sysbench 0.4.12:  multi-threaded system evaluation benchmark\n\nOperations performed:  6000 Read, 4000 Write, 12800 \
                 Other = 22800 Total\nRead 93.75Mb  Written 62.5Mb  Total transferred 156.25Mb  (15.6Mb/sec)\n 1000.00 Requests/sec \
                 executed\n\nTest execution summary:\n    total time:                          10.0000s\nThreads fairness:\n";
    let run = one("sysbench", "s.txt", older.as_bytes());
    close(metric(&run, "fileio", "write.bw"), 6.25 * MIB);
    assert_eq!(metric(&run, "fileio", "read.iops"), Some(600.0));
}

// Form: the report of vdbench 5.04, whose head says `1024**2` (found by searching for "avg_2-"), and its flat file.
#[test]
fn vdbench() {
    let text = "10:00:00.000 Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=5; For loops: None\n\n\
                Jan 01, 2020    interval        i/o   MB/sec   bytes   read     resp     read    write     read\n\
                                             rate  1024**2     i/o    pct     time     resp     resp      max\n\
                10:00:01.000           1     9000.0    35.16    4096 100.00    0.100    0.100    0.000     1.00\n\
                10:00:05.000     avg_2-5    10000.0    39.06    4096 100.00    0.095    0.095    0.000     2.00\n";
    let run = one("vdbench", "summary.html", text.as_bytes());
    assert_eq!(metric(&run, "rd1", "read.iops"), Some(10_000.0));
    close(metric(&run, "rd1", "read.bw"), 39.06 * MIB);
    assert_eq!(metric(&run, "rd1", "read.lat.mean"), Some(95_000.0));
    let flat = "* time of day\n tod Run Interval reqrate rate MB/sec bytes/io read% resp resp_max\n\
                10:00:01.000 rd2 1 max 10.0 0.04 4096 50.00 1.0 2.0\n10:00:05.000 rd2 avg_2-5 max 20.0 0.08 4096 50.00 1.5 3.0\n";
    let run = one("vdbench", "flatfile.html", flat.as_bytes());
    assert_eq!(number(&run, "rd2", "rate of reads and writes"), (Some(20.0), "ops/s".to_owned(), Some(Better::Higher)));
    assert_eq!(number(&run, "rd2", "response mean").0, Some(1.5e6));
}

// Form: hyperfine's `src/export/json.rs` (fields of BenchmarkResult): seconds.
#[test]
fn hyperfine() {
    let text = r#"{"results":[{"command":"sync","mean":0.25,"stddev":0.01,"median":0.24,"user":0.1,"system":0.05,"min":0.2,"max":0.3,
                  "times":[0.2,0.3],"exit_codes":[0,1]}]}"#;
    let run = one("hyperfine", "h.json", text.as_bytes());
    assert_eq!(number(&run, "sync", "time mean"), (Some(0.25e9), "ns".to_owned(), Some(Better::Lower)));
    assert_eq!(number(&run, "sync", "time of run 2").0, Some(0.3e9));
    assert_eq!(run.imported.unwrap().notes[0], "`sync`: 1 of 2 runs did not exit with 0");
}

// Form: composite.xml as the Phoronix Test Suite writes it (pts_result_file_writer): Scale, Proportion, Entry.
#[test]
fn phoronix() {
    let text = "<?xml version=\"1.0\"?>\n<PhoronixTestSuite><Generated><TestClient>Phoronix Test Suite v10.8.4</TestClient></Generated>\
                <System><Identifier>box A</Identifier><Hardware>Processor: X</Hardware></System><Result><Identifier>pts/fio-2.1.0\
                </Identifier><Title>Flexible IO Tester</Title><Description>Type: Random Read &amp; more</Description><Scale>MB/s</Scale>\
                <Proportion>HIB</Proportion><Data><Entry><Identifier>box A</Identifier><Value>123.5</Value><RawString>123:124</RawString>\
                </Entry><Entry><Identifier>=box B</Identifier><Value></Value></Entry></Data></Result></PhoronixTestSuite>";
    let runs = runs("phoronix", "composite.xml", text.as_bytes());
    assert_eq!(runs.len(), 2);
    let test = "Flexible IO Tester: Type: Random Read & more";
    // PTS's MB/s is not converted.
    assert_eq!(number(&runs[0], test, "result"), (Some(123.5), "MB/s".to_owned(), Some(Better::Higher)));
    assert_eq!(number(&runs[0], test, "trial 2").0, Some(124.0));
    assert_eq!(number(&runs[1], test, "result").0, None, "a test that failed has no value");
    assert_eq!(runs[0].imported.as_ref().unwrap().settings["Hardware"], "Processor: X");
}

// Form: what warp prints, of two generations (found by searching for "Operation: PUT. Concurrency:").
#[test]
fn warp() {
    let text = "-------------------\nOperation: PUT. Concurrency: 40. Hosts: 1.\n* Average: 141.82 MiB/s, 14.18 obj/s (4m54s, starting \
                09:07:43 UTC)\n\nThroughput by host:\n * http://a: Avg: 1.00 MiB/s, 3 obj/s\n\nOperation: DELETE (100). Ran 1m30s. \
                Concurrency: 8.\n* Average: 11.00 obj/s\n * Reqs: Avg: 100ms, 50%: 50ms, 99%: 200ms, Slowest: 3s\n";
    let run = one("warp", "w.txt", text.as_bytes());
    close(metric(&run, "PUT", "write.bw"), 141.82 * MIB);
    assert_eq!((metric(&run, "PUT", "write.iops"), metric(&run, "DELETE", "unlink.ops")), (Some(14.18), Some(11.0)));
    assert_eq!(run.phases[1].wall_ns, 90_000_000_000);
    assert_eq!(number(&run, "DELETE", "request Slowest").0, Some(3e9));
}

// Form: DLIO's statscounter.py, which divides twice by 1024 for its MB.
#[test]
fn mlperf_storage() {
    let text = r#"{"num_accelerators":4,"hostname":"node1","metric":{"train_au_percentage":[90.5,91.5],"train_au_mean_percentage":91.0,
        "train_au_meet_expectation":"success","train_throughput_mean_samples_per_second":12.5,"train_io_mean_MB_per_second":1748.0}}"#;
    let run = one("mlperf-storage", "summary.json", text.as_bytes());
    close(metric(&run, "train", "read.bw"), 1748.0 * MIB);
    assert_eq!(number(&run, "train", "au_percentage (2)"), (Some(91.5), "%".to_owned(), Some(Better::Higher)));
    assert_eq!(run.environment.hostname, "node1");
    assert_eq!(run.imported.unwrap().settings["train_au_meet_expectation"], "success");
}

// Form: output of `rados bench` (found by searching for "Bandwidth (MB/sec):"), with and without units of latencies.
#[test]
fn rados() {
    let text = "    1      16        20         4   15.9           16     0.9   0.8\nTotal time run:         10.5\nTotal reads made:     \
                420\nRead size:            4194304\nBandwidth (MB/sec):   160\nAverage IOPS:         40\nAverage Latency(s):   0.4\nMax \
                latency(s):       1.5\n";
    let run = one("rados", "output.0", text.as_bytes());
    close(metric(&run, "bench", "read.bw"), 160.0 * MIB);
    assert_eq!((metric(&run, "bench", "read.iops"), metric(&run, "bench", "read.lat.max")), (Some(40.0), Some(1.5e9)));
}

// Form: kubestr's FioStats.Print (found by searching for "BW(KiB/s)="), and its JSON, which has fio's in `raw.result`.
#[test]
fn kubestr() {
    let text = "Running FIO test (default-fio) on StorageClass (fast) with a PVC of Size (10Gi)\nFIO test results:\n\nFIO version - \
                fio-3.30\nGlobal options - ioengine=libaio direct=1\n\nJobName: read_iops\n  blocksize=4K iodepth=64 rw=randread\nread:\n  \
                IOPS=4516.5 BW(KiB/s)=18066\n  iops: min=1 max=2 avg=1.5\n";
    let run = one("kubestr", "k.txt", text.as_bytes());
    close(metric(&run, "read_iops", "read.bw"), 18_066.0 * KIB);
    assert_eq!(metric(&run, "read_iops", "read.iops"), Some(4516.5));
    let json = r#"[{"testName":"fio","raw":{"size":"10Gi","storageClass":{"name":"fast"},"result":{"fio version":"fio-3.30","jobs":[
        {"jobname":"w","error":0,"write":{"total_ios":10,"bw":4,"iops":1.0,"io_kbytes":40,"io_bytes":40960}}]}}}]"#;
    let run = one("kubestr", "k.json", json.as_bytes());
    close(metric(&run, "w", "write.bw"), 4.0 * KIB);
}
