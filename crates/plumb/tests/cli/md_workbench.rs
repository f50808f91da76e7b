//! `plumb as md-workbench` end to end.

use crate::common::Home;
use serde_json::json;
use std::collections::BTreeSet;

/// Returns every object below a directory, as `SET/OBJECT`.
fn objects(home: &Home, directory: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let Ok(sets) = std::fs::read_dir(home.work().join(directory)) else { return found };
    for set in sets.map(|set| set.unwrap().path()) {
        let name = set.file_name().unwrap().to_string_lossy().into_owned();
        for object in std::fs::read_dir(&set).unwrap() {
            found.insert(format!("{name}/{}", object.unwrap().file_name().to_string_lossy()));
        }
    }
    found
}

/// Returns the objects if every rank has these sets with these object numbers.
fn expected(ranks: u32, sets: u32, numbers: std::ops::Range<u64>) -> BTreeSet<String> {
    let all = (0..ranks).flat_map(|rank| (0..sets).map(move |set| (rank, set)));
    all.flat_map(|(rank, set)| numbers.clone().map(move |number| format!("{rank}_{set}/file-{number}"))).collect()
}

/// Returns the number after a word in a line.
fn number(line: &str, word: &str) -> f64 {
    let (_, behind) = line.split_once(word).unwrap_or_else(|| panic!("{word}: {line}"));
    behind.split([' ', ',', 's']).next().unwrap().parse().unwrap_or_else(|_| panic!("{word}: {line}"))
}

/// Protects the whole path: all phases run, each follows its options, nothing is left behind, and one result is stored.
#[test]
fn all_phases_run_and_leave_nothing() {
    let home = Home::new();
    let run =
        home.plumb("as md-workbench -D 2 -P 5 -I 3 -R 2 -X -S 100 -o out --process-reports --plumb-ranks 3").expect(0);
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(lines[1], "Nodemap: 111");
    assert!(
        lines[2].starts_with("MD-Workbench total objects: 66 workingset size: 0.003 MiB (version: "),
        "{}",
        lines[2]
    );
    // A line for all ranks, and one for each.
    let of = |word: &str| lines.iter().filter(|line| line.starts_with(word)).copied().collect::<Vec<_>>();
    assert_eq!(["precreate ", "benchmark ", "cleanup ", "2: "].map(|word| of(word).len()), [1, 2, 1, 4]);
    assert_eq!((number(of("precreate ")[0], " dsets: "), number(of("precreate ")[0], " objects:")), (6.0, 30.0));
    for line in of("benchmark ") {
        assert_eq!(number(line, " objects:"), 18.0, "{line}");
        for operation in ["read(", "stat(", "create(", "delete("] {
            assert!(number(line, operation) > 0.0, "{line}");
        }
    }
    assert_eq!((number(of("cleanup ")[0], " dsets: "), number(of("cleanup ")[0], " objects:")), (6.0, 30.0));
    assert_eq!(run.out.matches("(0 errs)").count(), 16, "{}", run.out);
    assert!(!home.work().join("out").exists() && !home.work().join("md-workbench.status").exists());
    assert_eq!(home.query("select dialect, count(*) from run group by dialect"), [[json!("md-workbench"), json!(1)]]);
    let result = home.plumb("show last --json").expect(0).json();
    let phases: Vec<&str> =
        result["phases"].as_array().unwrap().iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(phases, ["precreate", "benchmark-0", "benchmark-1", "cleanup"]);
    assert_eq!(result["phases"][1]["done"]["stat"]["ops"], 18);
}

/// Protects runs of single phases: each continues where the previous one stopped, and finds the objects that it made
/// for another rank.
#[test]
fn single_phases_go_on_where_the_last_one_stopped() {
    let home = Home::new();
    let run = |words: &str| {
        home.plumb(&format!(
            "as md-workbench -D 2 -P 4 -I 3 -X -G 5 -O 1 -o out --run-info-file=at {words} --plumb-ranks 3"
        ))
    };
    let position = || std::fs::read_to_string(home.work().join("at")).unwrap();
    for (words, at) in [("-1", 0), ("-2 -R 1", 3), ("-2 -R 2 --dataPacketType=t", 9), ("-2 -R 2 --read-only", 9)] {
        let output = run(words).expect(0);
        assert!(output.out.contains("(0 errs)") && !output.out.contains("!!!"), "{words}: {}", output.out);
        assert_eq!(position(), format!("pos: {at}\n"), "{words}");
        assert_eq!(objects(&home, "out"), expected(3, 2, at..at + 4), "{words}");
    }
    run("-3").expect(0);
    assert!(!home.work().join("out").exists());
    std::fs::remove_file(home.work().join("at")).unwrap();
    run("-2").expect(1).expect_stderr(&["--run-info-file: cannot read at"]);
}

/// Protects -X, and against false success: a changed object and a missing one are errors. The exit code is that of the
/// tool, except for wrong data.
#[test]
fn what_is_wrong_is_an_error() {
    let home = Home::new();
    let run = |words: &str| home.plumb(&format!("as md-workbench -D 1 -P 4 -S 64 -G 5 -o out {words}"));
    for kind in ["t", "o", "i", "r"] {
        run(&format!("-1 --dataPacketType={kind}")).expect(0);
        run(&format!("-2 -X -I 2 -R 1 --dataPacketType={kind} --read-only")).expect(0);
        let path = home.work().join("out/0_0/file-1");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[40] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let wrong = run(&format!("-2 -X -I 2 -R 1 --dataPacketType={kind} --read-only")).expect(1);
        wrong.expect_stdout(&["(1 errs!!!)", "WARNING: read of ", "0_0/file-1"]);
        run(&format!("-2 -I 2 -R 1 --dataPacketType={kind} --read-only")).expect(0);
        run("-3").expect(0);
    }
    run("-1").expect(0);
    run("-1").expect(1).expect_stdout(&["WARNING: mkdir of out/0_0: "]).expect_stderr(&["--ignore-precreate-errors"]);
    run("-1 --ignore-precreate-errors").expect(0).expect_stdout(&["(1 errs!!!)"]);
    std::fs::remove_file(home.work().join("out/0_0/file-0")).unwrap();
    let missing = run("-2 -I 3 -R 1").expect(0);
    let line = missing.out.lines().find(|line| line.starts_with("benchmark ")).unwrap();
    assert!(line.contains("(1 errs!!!)") && number(line, " objects:") == 2.0, "{line}");
    // Its number stays unused.
    assert_eq!(objects(&home, "out"), ["0_0/file-3", "0_0/file-5", "0_0/file-6"].map(str::to_owned).into());
    run("-3").expect(0).expect_stdout(&["cleanup process", "(1 errs!!!)"]);
    assert!(!home.work().join("out").exists());
}

/// Protects the stonewall with wear-out: all ranks renew as often as the furthest one, and a later run finds the
/// remaining objects.
#[test]
fn ranks_wear_out_to_the_furthest() {
    let home = Home::new();
    let line = "as md-workbench -D 2 -P 50 -I 100000000 -R 1 -S 8 -w 1 -o out --plumb-ranks 2";
    let run = home.plumb(&format!("{line} -W -1 -2")).expect(0);
    let line_of_all = run.out.lines().find(|line| line.starts_with("benchmark ")).unwrap();
    let most = number(line_of_all, " stonewall-iter:") as u64;
    assert_eq!(number(line_of_all, " objects:") as u64, most * 4);
    run.expect_stdout(&[&format!("({most} iter)")]);
    assert_eq!(objects(&home, "out"), expected(2, 2, most..most + 50));
    home.plumb(&format!("{line} -W -3")).expect(0);
    assert!(!home.work().join("out").exists());
}

/// Protects -L: a row for every operation of rank 0, or of all ranks, and the file names of the real tool.
#[test]
fn latencies_of_operations_are_written() {
    let home = Home::new();
    let rows = |name: &str| {
        let text = std::fs::read_to_string(home.work().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(text.starts_with("time,runtime\n"), "{name}: {text}");
        text.lines().count() - 1
    };
    let line = "as md-workbench -D 2 -P 5 -I 3 -R 1 -t 0.5 -L lat -o out --plumb-ranks 2";
    home.plumb(line).expect(0).expect_stdout(&[" waiting_factor:0.50 (0 errs)"]);
    assert_eq!(
        ["precreate", "read", "stat", "create", "delete"].map(|name| rows(&format!("lat-0.50-0-{name}.csv"))),
        [10, 6, 6, 6, 6]
    );
    assert_eq!(rows("lat-0.50-1-cleanup.csv"), 10);
    home.plumb(&format!("{line} --latency-all")).expect(0);
    assert_eq!(rows("lat-0.50-0-read-all.csv"), 12);
}

/// Protects DUMMY and adaptive waiting: every phase runs, without files.
#[test]
fn dummy_makes_no_file() {
    let home = Home::new();
    let run = home.plumb("as md-workbench -a DUMMY -D 2 -P 5 -I 3 -R 1 -T -o out --print-detailed-stats").expect(0);
    let benchmarks =
        run.out.lines().filter(|line| *line == "benchmark" || line.starts_with("benchmark \t0\t0\t6\t6\t6\t6\t"));
    assert_eq!(benchmarks.count(), 8, "{}", run.out);
    assert!(!home.work().join("out").exists());
    let help = home.plumb("as md-workbench -h").expect(0);
    help.expect_stdout(&["Synopsis md-workbench", "-W, --stonewall-wear-out", "--plumb-ranks"]);
    home.plumb("as md-workbench -a MMAP").expect(1).expect_stderr(&["use POSIX or DUMMY"]);
}
