//! `plumb as elbencho` end to end.

use crate::common::Home;
use std::process::Command;

/// Returns the output of one phase.
fn phase<'a>(out: &'a str, name: &str) -> &'a str {
    let from = out.find(&format!("\n{name} ")).unwrap_or_else(|| panic!("no {name}: {out}")) + 1;
    let length = out[from..].find("---").unwrap_or_else(|| panic!("{name} does not end: {out}"));
    &out[from..from + length]
}

/// Returns the two numbers of a row.
fn numbers(phase: &str, what: &str) -> Vec<u64> {
    let row =
        phase.lines().find(|line| line.contains(&format!(" {what} "))).unwrap_or_else(|| panic!("{what}: {phase}"));
    let (_, numbers) = row.split_once(':').unwrap();
    numbers.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

#[test]
fn help_and_version_answer() {
    let home = Home::new();
    home.plumb("as elbencho --version").expect(0).expect_stdout(&["elbencho * Version: 3.1-10 *"]);
    home.plumb("as elbencho --help").expect(0).expect_stdout(&["-w [ --write ]", "--help-all"]);
    home.plumb("as elbencho --help-all")
        .expect(0)
        .expect_stdout(&["--s3key", "Not supported: services speak Plumb's own protocol"]);
    home.plumb("as elbencho --help-dist").expect(0).expect_stdout(&["--rotatehosts", "PLUMB_AGENT_KEYS"]);
    home.plumb("as elbencho --blokc 4k f").expect(1).expect_stderr(&["did you mean `--block`?"]);
    home.plumb("as elbencho -w --hosts a,a f").expect(1).expect_stderr(&["a:1611 twice"]);
}

/// Protects: a path that cannot be opened is reported before the table header, as in elbencho.
#[test]
fn a_missing_directory_is_reported_instead_of_a_table() {
    let home = Home::new();
    let reported = home
        .plumb("as elbencho -w -s 1m --nolive none/f")
        .expect(1)
        .expect_stderr(&["none does not exist", "mkdir -p"]);
    assert_eq!(reported.out, "");
}

/// Protects a table of something else from lines that do not fit it, as in elbencho.
#[test]
fn results_are_added_only_to_their_own_csv() {
    let home = Home::new();
    home.file("r.csv", "time,value\n1,2\n");
    let reported = home.plumb("as elbencho -w -s 64k -b 4k --nolive --csvfile r.csv f").expect(1);
    assert_eq!(reported.expect_stderr(&["r.csv has 2 columns", "have 55", "name another file"]).out, "");
    assert_eq!(std::fs::read_to_string(home.work().join("r.csv")).unwrap(), "time,value\n1,2\n");
    home.file("r.csv", "");
    for _ in 0..2 {
        home.plumb("as elbencho -w -s 64k -b 4k --nolive --csvfile r.csv f").expect(0);
    }
    assert_eq!(std::fs::read_to_string(home.work().join("r.csv")).unwrap().lines().count(), 3, "labels once");
}

/// A link with the name of the tool works.
#[test]
fn a_link_named_elbencho_is_elbencho() {
    let home = Home::new();
    let link = home.work().join("elbencho");
    std::os::unix::fs::symlink(home.command([""]).get_program(), &link).unwrap();
    let output = Command::new(&link).arg("--version").output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("3.1-10"));
}

/// All phases in a directory: each has its entries, files exist in between, and nothing is left behind.
#[test]
fn a_directory_is_filled_asked_about_read_and_emptied() {
    let home = Home::new();
    std::fs::create_dir(home.work().join("d")).unwrap();
    let all = home.plumb(
        "as elbencho -d -w --stat -r -F -D -t 2 -n 2 -N 5 -s 10k -b 4k --lat --latpercent --lathisto --cpu --nolive \
         --csvfile r.csv --jsonfile r.json --resfile r.txt --opslog ops d",
    );
    let out = all.expect(0).out;
    for (name, rate, total) in [
        ("MKDIRS", "Dirs/s", 4),
        ("WRITE", "Files/s", 20),
        ("STAT", "Files/s", 20),
        ("READ", "Files/s", 20),
        ("RMFILES", "Files/s", 20),
        ("RMDIRS", "Dirs/s", 4),
    ] {
        let reported = phase(&out, name);
        let what = if rate == "Dirs/s" { "Dirs total" } else { "Files total" };
        let found = numbers(reported, what);
        assert_eq!(found[1], total, "{reported}");
        assert!(found[0] <= total && found[0] > 0, "{reported}");
        assert_eq!(numbers(reported, rate).len(), 2);
        assert!(reported.contains("latency ") && reported.contains("lat hist"), "{reported}");
    }
    assert_eq!(std::fs::read_dir(home.work().join("d")).unwrap().count(), 0, "nothing is left");
    let csv = std::fs::read_to_string(home.work().join("r.csv")).unwrap();
    assert_eq!(csv.lines().count(), 7);
    assert!(csv.lines().all(|line| line.matches(',').count() == 54), "{csv}");
    let json = std::fs::read_to_string(home.work().join("r.json")).unwrap();
    let phases: Vec<serde_json::Value> =
        json.lines().map(|line| plumb_document::json::from_str(line).unwrap()).collect();
    assert_eq!(phases.len(), 6);
    assert_eq!(phases[1]["last_done"]["bytes"], "204800", "with the short block at the end of each file");
    assert!(std::fs::read_to_string(home.work().join("r.txt")).unwrap().contains("COMMAND LINE: \"elbencho\" \"-d\""));
    let ops = std::fs::read_to_string(home.work().join("ops")).unwrap();
    let ops: Vec<serde_json::Value> = ops.lines().map(|line| plumb_document::json::from_str(line).unwrap()).collect();
    let written = ops.iter().filter(|op| op["op_name"] == "pwrite" && op["is_finished"] == true).count();
    assert_eq!(written, 60, "three blocks of each of twenty files");
}

/// The next command line finds the files of the previous one.
#[test]
fn files_stay_for_the_next_command_line() {
    let home = Home::new();
    std::fs::create_dir(home.work().join("d")).unwrap();
    home.plumb("as elbencho -d -w -t 2 -N 3 -s 8k -b 4k --nolive d").expect(0);
    assert_eq!(std::fs::metadata(home.work().join("d/r1/d0/r1-f2")).unwrap().len(), 8192);
    home.plumb("as elbencho -w -t 2 -N 3 -s 8k -b 4k --nolive d").expect(0);
    let read = home.plumb("as elbencho -r -t 2 -N 3 -s 8k -b 4k --nolive d").expect(0);
    assert_eq!(numbers(phase(&read.out, "READ"), "Files total")[1], 6);
    home.plumb("as elbencho -r -t 2 -N 4 -s 8k -b 4k --nolive d").expect(1).expect_stderr(&["-f3"]);
    home.plumb("as elbencho -F -D -t 2 -N 3 --nolive d").expect(0);
    assert_eq!(std::fs::read_dir(home.work().join("d")).unwrap().count(), 0);
    home.plumb("as elbencho -F -t 2 -N 3 --nolive d").expect(1).expect_stderr(&["-f0"]);
    home.plumb("as elbencho -F -t 2 -N 3 --nodelerr --nolive d").expect(0);
}

/// Two threads write a whole file; a byte changed afterwards is detected.
#[test]
fn a_flipped_byte_is_found() {
    let home = Home::new();
    let write = home.plumb("as elbencho -w -t 2 -b 4k -s 50k --verify 1 --blockvarpct 0 --nolive f").expect(0);
    assert_eq!(numbers(phase(&write.out, "WRITE"), "Total MiB").len(), 2);
    let path = home.work().join("f");
    let mut content = std::fs::read(&path).unwrap();
    assert_eq!(content.len(), 51_200);
    let words = content.chunks_exact(8).enumerate();
    assert!(words.into_iter().all(|(at, word)| u64::from_le_bytes(word.try_into().unwrap()) == at as u64 * 8 + 1));
    home.plumb("as elbencho -r -t 2 -b 4k --verify 1 --nolive f").expect(0);
    home.plumb("as elbencho -r -t 2 -b 4k --verify 2 --nolive f").expect(1);
    content[20_000] ^= 1;
    std::fs::write(&path, content).unwrap();
    home.plumb("as elbencho -r -t 2 -b 4k --verify 1 --nolive f").expect(1).expect_stderr(&["f"]);
}

/// Every access order moves the right amount.
#[test]
fn files_are_gone_through_in_every_order() {
    let home = Home::new();
    home.plumb("as elbencho -w -t 2 -b 4k -s 1m --nolive f g").expect(0);
    for way in
        ["", "--backward", "--strided", "--rand", "--rand --norandalign", "--rand --randamount 2m", "--iodepth 4"]
    {
        let read = home.plumb(&format!("as elbencho -r -t 2 -b 4k --nolive {way} f g")).expect(0);
        assert_eq!(numbers(phase(&read.out, "READ"), "Total MiB")[1], 2, "{way}");
    }
    let mix = home.plumb("as elbencho -w -t 2 -b 4k -s 1m --rwmixpct 25 --nolive --log 1 f g").expect(0);
    let reported = phase(&mix.out, "RWMIX25");
    assert_eq!((numbers(reported, "IOs write")[1], numbers(reported, "IOs read")[1]), (363, 149), "{reported}");
    let threads = home.plumb("as elbencho -w -t 2 -b 4k -s 1m --rwmixthr 1 --nolive f g").expect(0);
    let reported = phase(&threads.out, "MIX-T1");
    assert_eq!((numbers(reported, "MiB write")[1], numbers(reported, "MiB read")[1]), (1, 1), "{reported}");
    home.plumb("as elbencho -F --nolive f g").expect(0);
    assert!(!home.work().join("f").exists());
}

/// A phase that takes too long ends with a note, and no other phase begins.
#[test]
fn a_time_limit_is_a_note() {
    let home = Home::new();
    home.plumb("as elbencho -w -b 4k -s 1m --nolive f").expect(0);
    let limited =
        home.plumb("as elbencho -r -F -b 4k --infloop --timelimit 1 --nolive --livecsv l.csv --liveint 200 f");
    let limited = limited.expect(0).expect_stdout(&["Terminating due to phase time limit."]);
    assert!(phase(&limited.out, "READ").contains("1.0"), "{}", limited.out);
    assert!(!limited.out.contains("RMFILES") && home.work().join("f").exists());
    let rows = std::fs::read_to_string(home.work().join("l.csv")).unwrap();
    assert!(rows.lines().count() >= 3 && rows.starts_with("ISO Date,Label,Phase"), "{rows}");
}

/// The user's own files are safe.
#[test]
fn files_that_plumb_did_not_make_are_not_overwritten() {
    let home = Home::new();
    home.file("mine", "what I wrote");
    home.plumb("as elbencho -w -b 4k -s 8k --nolive mine").expect(1).expect_stderr(&["mine"]);
    assert_eq!(std::fs::read_to_string(home.work().join("mine")).unwrap(), "what I wrote");
    home.plumb("as elbencho -F --nolive mine").expect(1);
    assert!(home.work().join("mine").exists());
}

/// A tree is copied in shape: the scanned files are created, filled by all threads together, read and removed.
#[test]
fn a_tree_is_scanned_made_and_removed() {
    let home = Home::new();
    let at = |name: &str| home.work().join(name);
    std::fs::create_dir_all(at("src/a/b")).unwrap();
    std::fs::create_dir(at("d")).unwrap();
    for (name, bytes) in [("src/a/b/small", 5000), ("src/a/none", 0), ("src/large", 300_000), ("src/huge", 1_000_001)] {
        std::fs::write(at(name), vec![1; bytes]).unwrap();
    }
    let tree = "-t 3 -b 8k --sharesize 64k --nolive --log 1";
    let made = home.plumb(&format!("as elbencho --treescan src --treefile list -d -w --verify 5 {tree} d")).expect(0);
    // Parts of shared files are not entries: all of `large` is in one thread's share, unlike `huge`.
    let written = phase(&made.out, "WRITE");
    assert_eq!(numbers(written, "IOs total")[1], 1 + 37 + 123, "{written}");
    assert_eq!(numbers(phase(&made.out, "MKDIRS"), "Dirs total")[1], 2);
    let whole = numbers(written, "Files total")[1];
    assert!((2..=3).contains(&whole), "{written}");
    let list = std::fs::read_to_string(at("list")).unwrap();
    assert!(list.starts_with("# encoding=base64\n") && list.contains("\nf 300000 bGFyZ2U=\n"), "{list}");
    let content = std::fs::read(at("d/huge")).unwrap();
    let mut words = content.chunks_exact(8).zip(0u64..);
    assert!(words.all(|(word, at)| u64::from_le_bytes(word.try_into().unwrap()) == at * 8 + 5));
    assert_eq!((content.len(), std::fs::metadata(at("d/a/b/small")).unwrap().len()), (1_000_001, 5000));
    for way in ["", "--treeroundrob", "--treerand --backward", "--rand", "--iodepth 4 --flock range"] {
        let read = home.plumb(&format!("as elbencho -r --stat --verify 5 --treefile list {way} {tree} d")).expect(0);
        assert_eq!(numbers(phase(&read.out, "READ"), "IOs total")[1], 161, "{way}");
    }
    let json = "--jsonfile j --csvfile c";
    home.plumb(&format!("as elbencho -F -D --treefile list {json} {tree} d")).expect(0);
    assert_eq!(std::fs::read_dir(at("d")).unwrap().count(), 0, "shared files and full directories are gone too");
    let removed = std::fs::read_to_string(at("j")).unwrap();
    let removed: serde_json::Value = plumb_document::json::from_str(removed.lines().next().unwrap()).unwrap();
    let config = &removed["config"];
    assert_eq!((&config["custom_tree_dirs"], &config["custom_tree_files_shared"]), (&"2".into(), &"2".into()));
    assert_eq!((&config["files_not_shared"], &config["dirs"]), (&"2".into(), &serde_json::Value::Null));
}

/// A scanned tree contains a user's data: nothing is written to it under the same names.
#[test]
fn files_of_a_tree_that_plumb_did_not_make_are_safe() {
    let home = Home::new();
    std::fs::create_dir(home.work().join("src")).unwrap();
    home.file("src/mine", "what I wrote");
    home.plumb("as elbencho -w -b 4k --treescan src --nolive src").expect(1).expect_stderr(&["mine", "PLUMB_ALLOW"]);
    home.plumb("as elbencho -F -b 4k --treescan src --nolive src").expect(1);
    assert_eq!(std::fs::read_to_string(home.work().join("src/mine")).unwrap(), "what I wrote");
    home.file("list", "f 8 ../mine\n");
    home.plumb("as elbencho -w -b 4k --treefile list --nolive src")
        .expect(1)
        .expect_stderr(&["list:1", "leaves the benchmark directory"]);
}

#[test]
fn a_dry_run_prints_the_amount_of_work() {
    let home = Home::new();
    std::fs::create_dir(home.work().join("d")).unwrap();
    let reported = home.plumb("as elbencho --dryrun -w -t 2 -n 3 -N 4 -s 1m d").expect(0);
    reported.expect_stdout(&["Phase: WRITE", "* Entries total: 24 |", "* Bytes total: 25165824 | 24 MiB"]);
    assert_eq!(std::fs::read_dir(home.work().join("d")).unwrap().count(), 0);
    home.plumb("as elbencho --dryrun -w -t 2 -s 1m f1 f2")
        .expect(0)
        .expect_stdout(&["* Entries total: 4 |", "| 2 MiB | 0 GiB"]);
    assert!(!home.work().join("f1").exists(), "a dry run creates nothing");
}
