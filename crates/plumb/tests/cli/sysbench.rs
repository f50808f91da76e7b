//! `plumb as sysbench` end to end.

use crate::common::traced::{traced, whole_calls};
use crate::common::{Home, needs};
use serde_json::json;
use std::collections::BTreeMap;
use std::process::Command;

const FILES: &str = "fileio --file-num=4 --file-total-size=4M";

/// Protects the whole path: files are created, used and removed, a report is printed, and each run is stored.
#[test]
fn files_are_prepared_used_and_removed() {
    let home = Home::new();
    let plumb = |words: &str| home.plumb(&format!("as sysbench {FILES} {words}"));
    let missing = plumb("--file-test-mode=rndrd run").expect(1);
    assert!(missing.out.contains("FATAL: Cannot open file 'test_file.0' errno = 2"), "{}", missing.out);
    let made = plumb("prepare").expect(0);
    assert!(made.out.contains("Creating file test_file.3\n4194304 bytes written in "), "{}", made.out);
    let again = plumb("prepare").expect(0);
    assert!(again.out.contains("Reusing existing file test_file.3\nNo bytes written.\n"), "{}", again.out);
    let short = home.plumb("as sysbench fileio --file-num=2 --file-total-size=4M --file-test-mode=seqrd run").expect(1);
    assert!(short.out.contains("is 1MiB, but at least 2MiB is expected"), "{}", short.out);
    for (words, events) in [
        ("--file-test-mode=rndrw --events=250 --threads=2", 250),
        ("--file-test-mode=seqrd --events=300 --threads=2", 300),
        ("--file-test-mode=seqwr --events=300 --file-io-mode=async", 300),
        ("--file-test-mode=rndwr --events=300 --file-io-mode=mmap --file-fsync-all", 300),
    ] {
        let run = plumb(&format!("{words} run")).expect(0);
        let total = format!("    total number of events:              {events}\n");
        assert!(run.out.contains("Threads started!\n") && run.out.contains(&total), "{words}: {}", run.out);
    }
    plumb("cleanup").expect(0);
    assert!(!home.work().join("test_file.0").exists());
    let stored = home.query("select dialect, count(*) from run group by dialect");
    assert_eq!(stored, [[json!("sysbench"), json!(7)]]);
}

/// Returns how often a command makes each call on its files.
pub(crate) fn counts(home: &Home, command: &Command) -> BTreeMap<String, u64> {
    let text = traced(home, command, &["-y", "-e", "trace=pread64,pwrite64,fsync,fdatasync,msync"]);
    let mut counts = BTreeMap::new();
    for (_, call) in
        whole_calls(&text).iter().filter(|(_, call)| call.contains("test_file.") || call.starts_with("msync"))
    {
        *counts.entry(call.split('(').next().unwrap_or_default().to_owned()).or_insert(0) += 1;
    }
    counts
}

/// The real tool and ours make the same calls equally often, for each mode.
#[test]
fn the_same_calls_are_made_as_by_sysbench() {
    if !needs::tools(&["sysbench", "strace"]) {
        return;
    }
    for words in [
        "--file-test-mode=rndrw --events=450",
        "--file-test-mode=rndrw --events=450 --file-rw-ratio=3 --file-fsync-freq=30",
        "--file-test-mode=rndwr --events=450 --file-fsync-mode=fdatasync",
        "--file-test-mode=rndwr --events=100 --file-fsync-all",
        "--file-test-mode=seqwr --events=450 --file-merged-requests=4",
        "--file-test-mode=seqrewr --events=450 --file-fsync-end=off",
        "--file-test-mode=seqrd --events=450",
        "--file-test-mode=rndwr --events=450 --file-io-mode=mmap",
        "--file-test-mode=rndrw --events=90 --file-io-mode=mmap --file-fsync-mode=fdatasync",
    ] {
        let home = Home::new();
        let real = |more: &str| {
            let mut command = Command::new("sysbench");
            command.args(FILES.split_whitespace()).args(more.split_whitespace()).current_dir(home.work());
            command
        };
        assert!(real("prepare").output().unwrap().status.success());
        let of_real = counts(&home, &real(&format!("{words} run")));
        // Prepare with ours: the guard would first read the original's files to see whether they contain data.
        assert!(real("cleanup").output().unwrap().status.success());
        home.plumb(&format!("as sysbench {FILES} prepare")).expect(0);
        let real = of_real;
        let ours = counts(&home, &home.command(format!("as sysbench {FILES} {words} run").split_whitespace()));
        assert_eq!(real, ours, "{words}");
        assert!(!real.is_empty());
    }
}

/// The real tool and ours keep a rate: the same number of events, within random variation, and a histogram of all of
/// them.
#[test]
fn a_rate_and_a_histogram_are_sysbenchs() {
    if !needs::tools(&["sysbench"]) {
        return;
    }
    let home = Home::new();
    home.plumb(&format!("as sysbench {FILES} prepare")).expect(0);
    let words = format!("{FILES} --file-test-mode=rndrd --threads=2 --rate=300 --time=2 --histogram run");
    let real = Command::new("sysbench").args(words.split(' ')).current_dir(home.work()).output().unwrap();
    let real = String::from_utf8_lossy(&real.stdout).into_owned();
    let ours = home.plumb(&format!("as sysbench {words}")).expect(0).out;
    for reported in [&real, &ours] {
        let number = |label: &str| {
            let line =
                reported.lines().find(|line| line.contains(label)).unwrap_or_else(|| panic!("{label}: {reported}"));
            line.split_whitespace().last().unwrap().parse::<f64>().unwrap()
        };
        let events = number("total number of events:");
        assert!((450.0..=750.0).contains(&events), "{reported}");
        assert!(reported.contains("\nTarget transaction rate: 300/sec\n"), "{reported}");
        let rows: Vec<&str> = reported.lines().filter(|line| line.contains(" |*")).collect();
        let counted: f64 = rows.iter().map(|row| row.split_whitespace().last().unwrap().parse::<f64>().unwrap()).sum();
        assert_eq!(counted, events, "{reported}");
        assert!(rows.iter().all(|row| row.find('|') == Some(13)), "{reported}");
    }
    let above = |reported: &str| reported.lines().find(|line| line.contains("distribution")).map(str::to_owned);
    assert_eq!(above(&ours), above(&real));
}

/// Validated files are interchangeable with the real tool's: each tool accepts both, and neither accepts a changed
/// block.
#[test]
fn validated_files_are_sysbenchs() {
    let home = Home::new();
    let has_real = needs::tools(&["sysbench"]);
    let files = format!("{FILES} --validate");
    let real = |more: &str| {
        let words = format!("{files} {more}");
        let run = Command::new("sysbench").args(words.split_whitespace()).current_dir(home.work()).output().unwrap();
        (run.status.success(), String::from_utf8_lossy(&run.stdout).into_owned())
    };
    let plumb = |more: &str| home.plumb(&format!("as sysbench {files} {more}"));
    // Files with zeros, as written without validation, do not pass.
    home.plumb(&format!("as sysbench {FILES} prepare")).expect(0);
    let zeros = plumb("--file-test-mode=seqrd run").expect(1).out;
    assert!(zeros.contains("FATAL: Validation failed on file 0, block offset 0, exiting...\n"), "{zeros}");
    plumb("cleanup").expect(0);
    // Half a file is extended, with the offsets that its blocks have in it.
    home.plumb("as sysbench fileio --validate --file-num=4 --file-total-size=2M prepare").expect(0);
    plumb("prepare").expect(0);
    let modes = ["seqrd", "rndrd --threads=4", "rndrw", "seqrewr --threads=2", "rndwr --file-io-mode=async", "seqrd"];
    for mode in
        modes.iter().chain(&["seqrd --file-io-mode=mmap", "seqrd --file-io-mode=async --file-merged-requests=3"])
    {
        let run = plumb(&format!("--file-test-mode={mode} --events=256 run")).expect(0).out;
        assert!(
            run.contains("\nUsing checksums validation.\n") && run.contains("\nValidation checks: on.\n\n"),
            "{run}"
        );
    }
    if has_real {
        assert!(real("--file-test-mode=seqrd --events=256 run").0, "files of ours, which ours has written over");
        assert!(real("--file-test-mode=seqrewr --events=256 run").0);
        plumb("--file-test-mode=seqrd --events=256 run").expect(0);
        // The original has changed the files, so ours refuses to remove them.
        plumb("cleanup").expect(5).expect_stderr(&["test_file.0", "PLUMB_ALLOW="]);
        assert!(real("cleanup").0 && real("prepare").0);
        plumb("--file-test-mode=rndrd --events=256 run").expect(0);
    }
    // A block that was changed externally, and one at the offset of another.
    let path = home.work().join("test_file.2");
    let whole = std::fs::read(&path).unwrap();
    let mut changed = whole.clone();
    changed[40_000] ^= 1;
    std::fs::write(&path, &changed).unwrap();
    let wrong = plumb("--file-test-mode=seqrd --events=256 run").expect(1).out;
    assert!(wrong.contains("FATAL: the block at offset 32768 has the checksum 0x"), "{wrong}");
    assert!(wrong.contains("FATAL: Validation failed on file 2, block offset 32768, exiting...\n"), "{wrong}");
    assert!(!wrong.contains("General statistics"), "{wrong}");
    let mut misplaced = whole.clone();
    misplaced.copy_within(..16_384, 16_384);
    std::fs::write(&path, &misplaced).unwrap();
    let wrong = plumb("--file-test-mode=seqrd --events=256 run").expect(1).out;
    assert!(wrong.contains("FATAL: the block at offset 16384 was written for offset 0\n"), "{wrong}");
    if has_real {
        let (passes, reported) = real("--file-test-mode=seqrd --events=256 run");
        assert!(
            !passes && reported.contains("FATAL: Validation failed on file 2, block offset 16384, exiting..."),
            "{reported}"
        );
    }
}

/// Protects the most common form on the web, `--test=fileio` with other deprecated options: it runs, with warnings.
#[test]
fn the_deprecated_form_runs() {
    let home = Home::new();
    let files = "--test=fileio --file-num=2 --file-total-size=1M";
    for command in ["prepare", "--file-test-mode=rndrw --num-threads=2 --max-requests=50 --max-time=60 run", "cleanup"]
    {
        let run = home.plumb(&format!("as sysbench {files} {command}")).expect(0);
        assert!(run.err.starts_with("WARNING: the --test option is deprecated. "), "{}", run.err);
        if command.ends_with("run") {
            let head = "WARNING: --num-threads is deprecated, use --threads instead\n\
                        WARNING: --max-requests is deprecated, use --events instead\n\
                        WARNING: --max-time is deprecated, use --time instead\nsysbench 1.0.20";
            assert!(run.out.starts_with(head) && run.out.contains("Number of threads: 2\n"), "{}", run.out);
        }
    }
}
