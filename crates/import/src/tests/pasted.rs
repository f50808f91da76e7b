//! Output of tools as people paste it from posts and logs. Each sample names the source of its format.

use super::*;

fn lower(run: &RunResult, phase: &str, name: &str) -> Option<f64> {
    let (value, _, better) = number(run, phase, name);
    assert_eq!(better, Some(Better::Lower), "{name}");
    value
}

fn higher(run: &RunResult, phase: &str, name: &str) -> (Option<f64>, String) {
    let (value, unit, better) = number(run, phase, name);
    assert_eq!(better, Some(Better::Higher), "{name}");
    (value, unit)
}

fn notes(run: &RunResult) -> String {
    run.imported.as_ref().unwrap().notes.join("\n")
}

// Form: posts of iperf 3.1 to 3.17 without -J. Bits are decimal, bytes of 1024.
#[test]
fn iperf3_text() {
    let text = "iperf 3.16\nConnecting to host 10.0.0.2, port 5201\n\
                [  5] local 10.0.0.1 port 40000 connected to 10.0.0.2 port 5201\n\
                [ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n\
                [  5]   0.00-1.00   sec   112 MBytes   941 Mbits/sec    0   3.0 MBytes\n\
                - - - - - - - - - - - - - - - - - - - - - - - - -\n\
                [ ID] Interval           Transfer     Bitrate         Retr\n\
                [  5]   0.00-10.00  sec  1.10 GBytes   943 Mbits/sec    7             sender\n\
                [  5]   0.00-10.04  sec  1.09 GBytes   937 Mbits/sec                  receiver\n\
                CPU Utilization: local/sender 1.2% (0.1%u/1.1%s), remote/receiver 3.5% (0.5%u/3.0%s)\n\niperf Done.\n";
    let run = one("iperf3", "i.txt", text.as_bytes());
    close(metric(&run, "stream", "write.bw"), 943e6 / 8.0);
    close(metric(&run, "stream", "read.bw"), 937e6 / 8.0);
    assert_eq!(lower(&run, "stream", "retransmits"), Some(7.0));
    assert_eq!(lower(&run, "stream", "CPU of the other host"), Some(3.5));
    assert_eq!((run.phases[0].wall_ns, run.tool.version.as_str()), (10_040_000_000, "3.16"));
    assert_eq!(run.imported.as_ref().unwrap().settings["server"], "10.0.0.2");
    // Two streams in each direction: the sums are used.
    let both = "[ ID][Role] Interval           Transfer     Bitrate         Retr\n\
                [  5][TX-C]   0.00-2.00   sec  100 MBytes   52.4 MBytes/sec    1             sender\n\
                [  7][TX-C]   0.00-2.00   sec  100 MBytes   50.0 MBytes/sec    2             sender\n\
                [SUM][TX-C]   0.00-2.00   sec  200 MBytes   100 MBytes/sec    3             sender\n\
                [  9][RX-C]   0.00-2.00   sec  10.0 MBytes  5.00 MBytes/sec                  receiver\n";
    let run = one("iperf3", "b.txt", both.as_bytes());
    close(metric(&run, "stream", "write.bw"), 100.0 * MIB);
    assert_eq!(lower(&run, "stream", "retransmits"), Some(3.0));
    close(metric(&run, "reverse", "read.bw"), 5.0 * MIB);
    let udp = "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
               [  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec  0.000 ms  0/906 (0%)  sender\n\
               [  5]   0.00-1.00   sec   120 KBytes   983 Kbits/sec  0.012 ms  3/906 (0.33%)  receiver\n";
    let run = one("iperf3", "u.txt", udp.as_bytes());
    assert_eq!(lower(&run, "stream", "jitter"), Some(12_000.0));
    assert_eq!(
        (lower(&run, "stream", "lost packets"), lower(&run, "stream", "lost packets share")),
        (Some(3.0), Some(0.33))
    );
}

// Form: iperf 3.7 with --bidir has both directions under the same keys (esnet/iperf#952).
#[test]
fn repeated_keys_are_not_lost() {
    let sum = |bytes: u64| format!(r#"{{"seconds":10,"bits_per_second":{}}}"#, bytes * 8);
    let json = format!(
        r#"{{"start":{{"version":"iperf 3.7"}},"end":{{"sum_sent":{},"sum_received":{},"sum_sent":{},"sum_received":{}}}}}"#,
        sum(100),
        sum(99),
        sum(50),
        sum(49)
    );
    let run = one("iperf3", "b.json", json.as_bytes());
    assert_eq!((metric(&run, "stream", "write.bw"), metric(&run, "stream", "read.bw")), (Some(100.0), Some(99.0)));
    assert_eq!((metric(&run, "reverse", "write.bw"), metric(&run, "reverse", "read.bw")), (Some(50.0), Some(49.0)));
    assert_eq!(notes(&run), "");
    // A note names every other key that is dropped.
    let fio = r#"{"fio version":"fio-3.30","jobs":[{"jobname":"a","error":0,"read":{"io_bytes":1,"bw_bytes":5,"total_ios":1},
        "read":{"io_bytes":1,"bw_bytes":6,"total_ios":1}}]}"#;
    let run = one("fio", "f.json", fio.as_bytes());
    assert_eq!(metric(&run, "a", "read.bw"), Some(5.0));
    assert!(notes(&run).contains("`jobs.read` occurs 2 times in the file; the first one is used"), "{}", notes(&run));
}

// Form: `unified_rw_reporting=1`: fio has neither "read" nor "write" then.
#[test]
fn fio_mixed() {
    let json = r#"{"fio version":"fio-3.36","jobs":[{"jobname":"a","error":0,"mixed":{"io_bytes":4096,"io_kbytes":4,"bw_bytes":8192,
        "iops":2.0,"runtime":500,"total_ios":1,"clat_ns":{"min":1,"max":3,"mean":2.0,"N":1,"percentile":{"99.000000":3}}}}]}"#;
    let run = one("fio", "m.json", json.as_bytes());
    assert_eq!(higher(&run, "a", "all bandwidth"), (Some(8192.0), "B/s".to_owned()));
    assert_eq!((higher(&run, "a", "all rate").0, lower(&run, "a", "all latency p99")), (Some(2.0), Some(3.0)));
    let text = "a: (groupid=0, jobs=1): err= 0: pid=1: Mon Jan  4 10:00:00 2016\n  mixed: IOPS=10, BW=40.0KiB/s (41.0kB/s)(40.0KiB/1000msec)\n";
    let run = one("fio", "m.txt", text.as_bytes());
    assert_eq!((higher(&run, "a", "all bandwidth").0, run.phases[0].wall_ns), (Some(40.0 * KIB), 1_000_000_000));
}

// Protects: time stamps before the lines change none of a tool's numbers.
#[test]
fn time_stamps_before_lines_change_nothing() {
    let texts: [(&str, &str); 5] = [
        (
            "fio",
            "a: (groupid=0, jobs=1): err= 0: pid=1: Mon Oct 31 16:56:37 2022\n  write: IOPS=36.5k, BW=143MiB/s (149MB/s)(501GiB/3600005msec); 0 zone resets\n",
        ),
        ("dd", "1024+0 records in\n1024+0 records out\n1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.5 s, 429 MB/s\n"),
        (
            "ioping",
            "--- . (ext4 /dev/sda1 9 GiB) ioping statistics ---\n9 requests completed in 4.59 ms, 36 KiB read, 1.96 k iops, 7.66 MiB/s\n",
        ),
        ("io500", "[RESULT]       ior-easy-write        7.123456 GiB/s : time 310.123 seconds\n"),
        ("hdparm", "/dev/sda:\n Timing buffered disk reads: 1560 MB in  3.00 seconds = 519.85 MB/sec\n"),
    ];
    let stamps = [
        "2023-01-01T00:00:00.000000000Z ",
        "[2023-01-01 00:00:00] ",
        "Oct 31 16:56:37 ",
        "16:56:37.123 ",
        "1700505983.123456\t",
    ];
    for (tool, text) in texts {
        let plain = one(tool, "plain", text.as_bytes());
        for stamp in stamps {
            let stamped: String = text.lines().map(|line| format!("{stamp}{line}\r\n")).collect();
            let run = one(tool, "stamped", stamped.as_bytes());
            let numbers = |run: &RunResult| (run.phases.clone(), run.imported.as_ref().unwrap().numbers.clone());
            assert_eq!(numbers(&run), numbers(&plain), "{stamped}");
        }
    }
}

// Form: the message catalogues of coreutils 5 to 9, and posts; each line means 1 GiB in 4.46212 s.
#[test]
fn dd_in_the_languages_of_coreutils() {
    for line in [
        "1073741824 バイト (1.1 GB) コピーされました、 4.46212 秒、 241 MB/秒",
        "1073741824 bytes (1.1 GB, 1.0 GiB) コピーされました、4.46212 s、241 MB/s",
        "1073741824字节(1.1 GB)已复制，4.46212 秒，241 MB/秒",
        "1073741824 字节 (1.1 GB, 1.0 GiB) 已复制，4.46212 s，241 MB/s",
        "1073741824位元組（1.1 GB）已複製，4.46212 秒，241 MB/s",
        "1073741824 байт (1,1 GB) скопирован, 4,46212 секунды, 241 MB/s",
        "1073741824 байт (1,1 ГБ) скопировано, 4,46212 с, 241 МБ/с",
        "1073741824 byte (1,1 GB) đã sao chép, 4,46212 giây, 241 MB/giây",
        "скопійовано 1073741824 байтів (1,1 GB, 1,0 GiB), 4,46212 s, 241 MB/s",
        "1073741824 байта (1,1 GB) копирани за 4,46212 секунди с 241 MB/s",
        "1073741824\u{a0}octets (1,1 GB, 1,0 GiB) copiés, 4,46212 s, 241 MB/s",
        "1073741824 octets (1,1 GB) copiés, 4,46212 secondes, 241 MB/s",
        "1073741824 bayt (1,1 GB) kopyalandı, 4,46212 saniye, 241 MB/s",
        "1073741824 바이트 (1.1 GB, 1.0 GiB) 복사함, 4.46212 s, 241 MB/s",
        "1073741824 baiti (1,1 GB) kopeeritud, 4,46212 sekundit, 241 MB/s",
        "1073741824 bajtova (1,1 GB, 1,0 GiB) je kopirano, 4,46212 s, 241 MB/s",
        "1073741824 Bytes (1,1 GB) kopiert, 4,46212 Sekunden, 241 MB/s",
    ] {
        let run = one("dd", "dd.txt", format!("1024+0 x\n1024+0 y\n{line}\n").as_bytes());
        close(higher(&run, "copy", "copied").0, 1_073_741_824.0 / 4.46212);
    }
    // In Chinese, the count of records follows the verb.
    let text =
        "输入了 1024+0 块记录\n输出了 1024+0 块记录\n1073741824 字节 (1.1 GB, 1.0 GiB) 已复制，4.46212 s，241 MB/s\n";
    assert!(run_count("dd", text) == 1);
    // Numbers whose ratio is wrong are refused.
    for line in ["1073741824 apples (1.1 GB) eaten, 4.46212 days, 999 MB/s", "1 a 2 b 3", "5 x, 1 y, 5 B/s of 7"] {
        assert!(read(&file("x", format!("{line}\n").as_bytes()), Some("dd")).is_err(), "{line}");
    }
}

fn run_count(tool: &str, text: &str) -> usize {
    runs(tool, "x", text.as_bytes()).len()
}

// Form: netperf 2.7.0's `-O`, from kernel commits, and a title with a blank in it.
#[test]
fn netperf_columns() {
    let text = "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET : demo : first burst 0\n\
                Minimum      90th         99th         Throughput Throughput \n\
                Latency      Percentile   Percentile              Units      \n\
                Microseconds Latency      Latency                            \n\
                \x20            Microseconds Microseconds                       \n\
                77           138          183          8542.19    Trans/s    \n";
    let run = one("netperf", "o.txt", text.as_bytes());
    let phase = &run.phases[0].name.clone();
    assert_eq!(metric(&run, phase, "txn.ops"), Some(8542.19));
    assert_eq!(
        (lower(&run, phase, "latency min"), lower(&run, phase, "latency p99")),
        (Some(77_000.0), Some(183_000.0))
    );
    let text = "OMNI Send TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to h () port 0 AF_INET\n\
                Local       Elapsed Throughput Throughput  \n\
                Send Socket Time               Units       \n\
                Size        (sec)                          \n\
                Final                                      \n\
                16384       10.00   9412.51    10^6bits/s  \n";
    let run = one("netperf", "s.txt", text.as_bytes());
    let phase = &run.phases[0].name.clone();
    close(metric(&run, phase, "write.bw"), 9412.51e6 / 8.0);
    assert_eq!(run.phases[0].wall_ns, 10_000_000_000);
}

// Form: IO500's result_summary.txt of 2023, and the scripts of 2019.
#[test]
fn io500_summaries() {
    let text = "IO500 version io500-sc23_v3 (standard)\n\
                [RESULT]       ior-easy-write        7.123456 GiB/s : time 310.123 seconds\n\
                [RESULT]    mdtest-easy-write       25.123456 kIOPS : time 301.000 seconds [INVALID]\n\
                [      ]            timestamp        0.000000 kIOPS : time 0.000 seconds\n\
                [RESULT]                 find     4190.882132 kIOPS : time 0.001 seconds\n\
                [SCORE ] Bandwidth 2.405543 GiB/s : IOPS 25.123456 kiops : TOTAL 7.773211 [INVALID]\n";
    let run = one("io500", "result_summary.txt", text.as_bytes());
    close(metric(&run, "ior-easy-write", "write.bw"), 7.123456 * 1024.0 * MIB);
    close(metric(&run, "mdtest-easy-write", "create.ops"), 25_123.456);
    close(higher(&run, "find", "rate").0, 4_190_882.132);
    assert_eq!(higher(&run, "score", "total").0, Some(7.773211));
    assert_eq!((run.tool.version.as_str(), run.phases[0].wall_ns), ("io500-sc23_v3", 310_123_000_000));
    assert!(notes(&run).contains("mdtest-easy-write invalid") && notes(&run).contains("the score invalid"));
    let old = "[RESULT] BW   phase 1            ior_easy_write                1.234 GB/s : time 300.12 seconds\n\
               [RESULT] IOPS phase 1         mdtest_easy_stat               12.500 kiops : time 303.00 seconds\n";
    let run = one("io500", "old.txt", old.as_bytes());
    close(metric(&run, "ior-easy-write", "write.bw"), 1.234 * 1024.0 * MIB);
    assert_eq!(metric(&run, "mdtest-easy-stat", "stat.ops"), Some(12_500.0));
}

// Form: Bonnie++ 1.97's tables, as copied into posts.
#[test]
fn bonnie_tables() {
    let text = "Version  1.97       ------Sequential Output------ --Sequential Input- --Random-\n\
                Concurrency   1     -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n\
                Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP\n\
                host3           16G   500  99 100123  15 50123  10  2500  98 150123  14 302.1   9\n\
                Latency             17000us    1200ms     900ms   10000us     250ms     200ms\n\
                Version  1.97       ------Sequential Create------ --------Random Create--------\n\
                host3               -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--\n\
                \x20             files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP\n\
                \x20                16  1234  12 +++++ +++  2345  23  3456  34 +++++ +++  4567  45\n";
    let run = one("bonnie++", "b.txt", text.as_bytes());
    let of = |test: &str| run.phases.iter().find(|phase| phase.name.contains(test)).map(|phase| phase.name.clone());
    let names: Vec<&str> = run.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names.len(), 12, "{names:?}");
    let blocks =
        run.phases.iter().find(|phase| phase.metrics.values().any(|value| value.value == Some(100_123.0 * KIB)));
    assert_eq!(blocks.map(|phase| &phase.name), Some(&run.phases[1].name), "{names:?}");
    assert_eq!(metric(&run, &run.phases[1].name, "write.lat.max"), Some(1.2e9));
    assert_eq!(metric(&run, &run.phases[6].name, "create.ops"), Some(1234.0));
    assert_eq!((run.environment.hostname.as_str(), run.tool.version.as_str()), ("host3", "1.97"));
    assert!(of("").is_some());
    // A skipped test leaves its columns blank.
    let fast = "Version 1.03e       ------Sequential Output------ --Sequential Input- --Random-\n\
                \x20                   -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n\
                Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP\n\
                a               16G           80000  15 40000  10           90000  14 302.1   9\n";
    let run = one("bonnie++", "f.txt", fast.as_bytes());
    assert_eq!(run.phases.len(), 4);
    assert!(run.phases[0].metrics.values().any(|value| value.value == Some(80_000.0 * KIB)));
}

// Form: hdparm 9.65, `do_time`.
#[test]
fn hdparm() {
    let text = "\n/dev/sda:\n Timing cached reads:   15278 MB in  1.99 seconds = 7672.41 MB/sec\n \
                Timing buffered disk reads: 1560 MB in  3.00 seconds = 519.85 MB/sec\n\n/dev/sdb:\n \
                Timing O_DIRECT disk reads: 2 MB in  4.00 seconds = 512.50 kB/sec\n";
    let found = runs("hdparm", "h.txt", text.as_bytes());
    close(metric(&found[0], "buffered disk reads", "read.bw"), 519.85 * MIB);
    assert_eq!(higher(&found[0], "cached reads", "memory reads"), (Some(7672.41 * MIB), "B/s".to_owned()));
    close(metric(&found[1], "O_DIRECT disk reads", "read.bw"), 512.5 * KIB);
    assert!(found[1].target.contains_key("/dev/sdb"));
}

// Form: ioping 1.2, and 0.8 with one unit for all times.
#[test]
fn ioping() {
    let text = "512 B >>> /dev/nvme0n1 (block device 894.3 GiB): request=8 time=582.1 us\n\n\
                --- /dev/nvme0n1 (block device 894.3 GiB) ioping statistics ---\n\
                9 requests completed in 9.54 ms, 4.50 KiB written, 943 iops, 471.9 KiB/s\n\
                generated 10 requests in 9.00 s, 5 KiB, 1 iops, 568 B/s\n\
                min/avg/max/mdev = 388.1 us / 1.06 ms / 1.83 ms / 487.4 us\n";
    let run = one("ioping", "i.txt", text.as_bytes());
    assert_eq!(
        (metric(&run, "requests", "write.iops"), metric(&run, "requests", "write.lat.mean")),
        (Some(943.0), Some(1.06e6))
    );
    close(metric(&run, "requests", "write.bw"), 471.9 * KIB);
    close(lower(&run, "requests", "latency mdev"), 487_400.0);
    let old = "4096 bytes from . (ext4 /dev/sda3): request=5 time=0.3 ms\n\n--- . (ext4 /dev/sda3) ioping statistics ---\n\
               5 requests completed in 4794.0 ms, 364 iops, 1.4 MiB/s\nmin/avg/max/mdev = 0.2/2.8/12.7/5.0 ms\n";
    let run = one("ioping", "o.txt", old.as_bytes());
    assert_eq!(
        (metric(&run, "requests", "read.iops"), metric(&run, "requests", "read.lat.max")),
        (Some(364.0), Some(12.7e6))
    );
}

// Form: CrystalDiskMark 8's `TextResult`, and 5's.
#[test]
fn crystaldiskmark() {
    let text = "------------------------------------------------------------------------------\r\n\
                CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo\r\n* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]\r\n\r\n\
                [Read]\r\n  SEQ    1MiB (Q=  8, T= 1):  3544.112 MB/s [   3379.9 IOPS] <  2364.36 us>\r\n\
                \x20 RND    4KiB (Q=  1, T= 1):    65.100 MB/s [  15893.6 IOPS] <    62.71 us>\r\n\r\n\
                [Write]\r\n  SEQ    1MiB (Q=  8, T= 1):  2100.000 MB/s [   2002.7 IOPS] <  3990.00 us>\r\n\r\n\
                [Mix] Read 70%/Write 30%\r\n  RND    4KiB (Q=  1, T= 1):    70.000 MB/s [  17089.8 IOPS] <    58.00 us>\r\n\r\n\
                Profile: Default\r\n   Test: 1 GiB (x5) [C: 50% (232/465GiB)]\r\n     OS: Windows 10\r\n";
    let run = one("crystaldiskmark", "c.txt", text.as_bytes());
    let (seq, rnd) = ("SEQ 1MiB (Q= 8, T= 1)", "RND 4KiB (Q= 1, T= 1)");
    close(metric(&run, seq, "read.bw"), 3544.112e6);
    close(metric(&run, seq, "write.bw"), 2100e6);
    close(metric(&run, rnd, "read.lat.mean"), 62_710.0);
    assert_eq!((higher(&run, rnd, "mixed rate").0, run.tool.version.as_str()), (Some(17_089.8), "8.0.4"));
    assert!(run.target.contains_key("C:"));
    let old = "CrystalDiskMark 5.2.1 x64 (C) 2007-2017 hiyohiyo\n   Sequential Read (Q= 32,T= 1) :   551.063 MB/s\n  \
               Random Write 4KiB (Q= 32,T= 1) :   303.286 MB/s [ 74044.4 IOPS]\n";
    let run = one("crystaldiskmark", "o.txt", old.as_bytes());
    close(metric(&run, "Sequential (Q= 32,T= 1)", "read.bw"), 551.063e6);
    close(metric(&run, "Random 4KiB (Q= 32,T= 1)", "write.iops"), 74_044.4);
}

// Form: DiskSpd 2.1's text.
#[test]
fn diskspd() {
    let text = "\nCommand Line: diskspd -b64K -d120 x\n\nInput parameters:\n\n\ttimespan:   1\n\t-------------\n\tduration: 120s\n\
                \tpath: 'C:\\x'\n\nResults for timespan 1:\n***\n\nactual test time:\t2.00s\nthread count:\t\t8\n\n\
                Total IO\nthread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file\n\
                \x20    0 |      1700134912 |        25942 |      13.51 |     216.16 |    9.251 |    17.590 | x\n\
                total:       13592559616 |       207406 |     108.01 |    1728.17 |    9.257 |    17.604\n\n\
                Read IO\ntotal:        8157331456 |       124471 |      64.82 |    1037.13 |   15.252 |    20.652\n\n\
                Write IO\ntotal:                  0 |            0 |       0.00 |       0.00 |    0.000 |       N/A\n\n\
                total:\n  %-ile |  Read (ms) | Write (ms) | Total (ms)\n----\n    min |      0.041 |        N/A |      0.041\n\
                \x20  99th |     49.633 |        N/A |     49.633\n3-nines |     53.694 |        N/A |     53.694\n";
    let run = one("diskspd", "d.txt", text.as_bytes());
    close(metric(&run, "timespan 1", "read.bw"), 8_157_331_456.0 / 2.0);
    close(metric(&run, "timespan 1", "read.iops"), 124_471.0 / 2.0);
    assert_eq!(
        (metric(&run, "timespan 1", "read.lat.mean"), metric(&run, "timespan 1", "read.lat.p99.9")),
        (Some(15_252_000.0), Some(53_694_000.0))
    );
    close(higher(&run, "timespan 1", "all rate").0, 207_406.0 / 2.0);
    assert!(!has(&run, "timespan 1", "write.bw") && !has(&run, "timespan 1", "write.lat.p99"));
}

// Form: YABS of 2022, whose MB are 1000 KiB, and of 2026, whose MB are 10^6 bytes.
#[test]
fn yabs() {
    let of = |read: &str| {
        format!(
            "#              Yet-Another-Bench-Script              #\n#                     v2026-09-20                    #\n\
             Processor  : AMD EPYC\nfio Disk Speed Tests (Mixed R/W 50/50):\n---------------------------------\n\
             Block Size | 4k            (IOPS) | 64k           (IOPS)\n  ------   | ---            ----  | ----           ---- \n\
             Read       | {read} | 1.10 GB/s    (17.2k)\nTotal      | 203.92 MB/s  (50.9k) | 2.21 GB/s    (34.6k)\n\n\
             Provider        | Location (Link)           | Send Speed      | Recv Speed      | Ping           \n\
             -----           | -----                     | ----            | ----            | ----           \n\
             Clouvider       | London, UK (10G)          | busy            | 786 Mbits/sec   | 77.2 ms        \n"
        )
    };
    let run = one("yabs", "y.txt", of("245.56 MB/s  (61.3k)").as_bytes());
    close(metric(&run, "fio 4k", "read.bw"), 245.56 * 1024.0 * 1000.0);
    assert_eq!((metric(&run, "fio 64k", "read.iops"), run.tool.version.as_str()), (Some(17_200.0), "2026-09-20"));
    assert_eq!(lower(&run, "iperf3 Clouvider, London, UK (10G)", "ping"), Some(77_200_000.0));
    close(higher(&run, "iperf3 Clouvider, London, UK (10G)", "received").0, 786e6 / 8.0);
    let run = one("yabs", "n.txt", of("110.95 MB/s  (27.0k)").as_bytes());
    close(metric(&run, "fio 4k", "read.bw"), 110.95e6);
}

// Form: fs_mark 3.3 with and without -v; dbench 4.
#[test]
fn fs_mark_and_dbench() {
    let text = "\n#  fs_mark  -d  m \n#\tVersion 3.3, 4 thread(s) starting at Fri Nov 20 18:46:23 2026\n#\tSync method: INBAND FSYNC: x\n\n\
                FSUse%        Count         Size    Files/sec     App Overhead        CREAT (Min/Avg/Max)        WRITE (Min/Avg/Max)\n\
                \x20    5          200         4096       1234.5            12345        1        2        3       10       20       30\n\
                \x20    5          400         4096       2000.0            12345        1        2        3       10       20       30\n";
    let run = one("fs_mark", "f.txt", text.as_bytes());
    assert_eq!(
        (metric(&run, "200 files", "create.ops"), metric(&run, "400 files", "create.ops")),
        (Some(1234.5), Some(2000.0))
    );
    assert_eq!(
        (lower(&run, "200 files", "app overhead"), lower(&run, "200 files", "write max")),
        (Some(12_345_000.0), Some(30_000.0))
    );
    let text = "dbench version 4.00 - Copyright Andrew Tridgell 1999-2004\n\n   2       100    10.00 MB/sec  execute   1 sec  latency 5.000 ms\n\n \
                Operation      Count    AvgLat    MaxLat\n ----------------------------------------\n WriteX        1000     0.100     9.500\n\n\
                Throughput 12.3456 MB/sec  2 clients  2 procs  max_latency=9.500 ms\n";
    let run = one("dbench", "d.txt", text.as_bytes());
    assert_eq!(higher(&run, "load", "throughput"), (Some(12_345_600.0), "B/s".to_owned()));
    assert_eq!(
        (lower(&run, "load", "latency max"), lower(&run, "load", "WriteX latency mean")),
        (Some(9_500_000.0), Some(100_000.0))
    );
    assert_eq!(run_count("dbench", "Throughput 500.1 MB/sec 4 procs\n"), 1);
}

// Protects: every block that Plumb prints in elbencho's, mdtest's and vdbench's format is read, and none overwrites another.
#[test]
fn blocks_of_our_own_printers() {
    let text = "OPERATION   RESULT TYPE         FIRST DONE   LAST DONE\n=========== ================    ==========   =========\n\
                WRITE       Elapsed time     :      1m1.5s       1m2s\n            IOPS             :      103896      103000\n\
                \x20           Throughput MiB/s :        6493        6400\n            Files/s          :          10          12\n\
                \x20           IO latency       : [ min=4us avg=5us max=11us ]\n---\n\
                RMFILES     Elapsed time     :         2ms         4ms\n            Files/s          :         100         200\n---\n";
    let run = one("elbencho", "e.txt", text.as_bytes());
    close(metric(&run, "WRITE", "write.bw"), 6400.0 * MIB);
    assert_eq!(
        (metric(&run, "WRITE", "write.iops"), metric(&run, "WRITE", "write.lat.max")),
        (Some(103_000.0), Some(11_000.0))
    );
    assert_eq!((metric(&run, "RMFILES", "unlink.ops"), run.phases[0].wall_ns), (Some(200.0), 62_000_000_000));
    let text = "mdtest-4.1.0+dev was launched with 1 total task(s) on 1 node(s)\n1 tasks, 10 files/directories\n\n\
                SUMMARY rate (in ops/sec): (of 1 iterations)\n   File creation               48104.676      48104.676      48104.676          0.000\n\n\
                LATENCY (in ms): (of single operations, all iterations)\n\
                \x20  File creation             0.011679       0.013663       0.034193       0.034193       0.034193\n";
    let run = one("mdtest", "m.txt", text.as_bytes());
    close(metric(&run, "File creation", "create.ops"), 48_104.676);
    close(metric(&run, "File creation", "create.lat.p50"), 11_679.0);
    let text = "10:46:32.559 Starting RD=rd1; elapsed=1; fwdrate=max. For loops: None\n\n\
                Nov 29, 2026 .Interval. .ReqstdOps...  read ....read..... ....write.... ..mb/sec... mb/sec .xfer.. ...mkdir....\n\
                \x20                         rate   resp   pct   rate   resp   rate   resp  read write  total    size  rate   resp\n\
                10:46:33.741          1 494153  0.001 100.0 494153  0.001    0.0  0.000  1930  0.00 1930.3    4096   0.0  0.000\n\
                10:46:33.879    avg_1-1 491365  0.001 100.0 491365  0.001    0.0  0.000  1919  0.00 1919.4    4096   7.0  0.500\n";
    let run = one("vdbench", "v.txt", text.as_bytes());
    assert_eq!(
        (metric(&run, "rd1", "read.iops"), metric(&run, "rd1", "read.bw")),
        (Some(491_365.0), Some(1919.0 * MIB))
    );
    assert_eq!((metric(&run, "rd1", "mkdir.ops"), metric(&run, "rd1", "mkdir.lat.mean")), (Some(7.0), Some(500_000.0)));
    assert_eq!(higher(&run, "rd1", "requested operations").0, Some(491_365.0));
}
