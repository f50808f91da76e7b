//! `plumb as mdtest` end to end.

use crate::common::Home;
use std::collections::BTreeSet;
use std::path::Path;

fn read(home: &Home, name: &str) -> String {
    std::fs::read_to_string(home.work().join(name)).unwrap()
}

/// Everything below a directory, by its path from there.
fn tree(root: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            found.insert(path.strip_prefix(root).unwrap().display().to_string());
            if path.is_dir() {
                waiting.push(path);
            }
        }
    }
    found
}

/// Returns the row of an operation in the first table: max, min, mean and deviation.
fn row(out: &str, operation: &str) -> Vec<f64> {
    let line = out
        .lines()
        .find(|line| line.trim_start().starts_with(operation))
        .unwrap_or_else(|| panic!("{operation}: {out}"));
    line.trim_start()[operation.len()..].split_whitespace().map(|number| number.parse().unwrap()).collect()
}

/// Protects the whole path: all phases run, nothing is left behind, each iteration is stored.
#[test]
fn all_phases_run_and_leave_nothing() {
    let home = Home::new();
    let run = home.plumb("as mdtest -n 20 -w 100 -e 100 -X -i 2 -d out --plumb-ranks 2").expect(0);
    let run = run.expect_stdout(&[
        "2 tasks, 40 files/directories",
        "SUMMARY rate (in ops/sec): (of 2 iterations)",
        "LATENCY (in ms)",
    ]);
    for operation in ["Directory creation", "Directory rename", "File creation", "File read", "Tree removal"] {
        assert!(row(&run.out, operation)[1] > 0.0, "{operation}: {}", run.out);
    }
    assert!(!run.out.contains("WARNING"), "{}", run.out);
    assert!(!home.work().join("out").exists());
    assert_eq!(
        home.query("select dialect, count(*) from run group by dialect"),
        [[serde_json::json!("mdtest"), serde_json::json!(2)]]
    );
}

/// Protects mdtest's names: the trees of the real tool for -u -L -b -z with two ranks, and for -n with -I.
#[test]
fn trees_are_those_of_mdtest() {
    let home = Home::new();
    home.plumb("as mdtest -C -F -n 8 -b 2 -z 2 -L -u -d L --plumb-ranks 2").expect(0);
    let found = tree(&home.work().join("L"));
    assert_eq!(found.len(), 1 + 14 + 16);
    assert!(
        found.contains("test-dir.0-0/mdtest_tree.1.0/mdtest_tree.1.2/mdtest_tree.1.6/file.mdtest.1.13"),
        "{found:?}"
    );
    home.plumb("as mdtest -r -F -n 8 -b 2 -z 2 -L -u -d L --plumb-ranks 2").expect(0);
    assert_eq!(tree(&home.work().join("L")).len(), 0);
    home.plumb("as mdtest -C -n 6 -I 3 -F -d M --plumb-ranks 2").expect(0);
    let found = tree(&home.work().join("M"));
    assert!(found.contains("test-dir.0-1/mdtest_tree.0/file.mdtest.1.2"), "{found:?}");
    assert_eq!(found.len(), 4 + 12);
}

/// Protects the stonewall: every rank makes as many files as the furthest one, and later runs continue to the same
/// number.
#[test]
fn ranks_wear_out_to_the_furthest() {
    let home = Home::new();
    let run = home.plumb("as mdtest -n 100000000 -F -C -W 1 -x wall -d out --plumb-ranks 2").expect(0);
    let wall: usize = read(&home, "wall").trim().parse().unwrap();
    run.expect_stdout(&[&format!("max: {wall}")]);
    let files = tree(&home.work().join("out")).iter().filter(|path| path.contains("file.mdtest")).count();
    assert_eq!(files, 2 * wall);
    let later = home.plumb("as mdtest -n 100000000 -F -T -r -x wall -d out --plumb-ranks 2").expect(0);
    assert!(!later.out.contains("WARNING"), "{}", later.out);
    let [max, min, ..] = row(&later.out, "File stat")[..] else { panic!("{}", later.out) };
    assert!(max.is_finite() && max > 0.0 && min == max, "{}", later.out);
    assert_eq!(tree(&home.work().join("out")).len(), 0);
    // A tree with branches, which mdtest itself refuses, in one run.
    let all = home.plumb("as mdtest -n 10000000 -b 2 -z 1 -F -W 1 -d t --plumb-ranks 2").expect(0);
    assert!(!all.out.contains("WARNING: unable"), "{}", all.out);
    assert!(!home.work().join("t").exists());
}

/// Protects -R after a stonewall, in one run and in a later one: stat and read only use existing files.
#[test]
fn random_order_stays_within_the_wall() {
    let home = Home::new();
    let walled = "-n 100000000 -F -R -w 8 -e 8 -X -G 3 -x wall -d out --plumb-ranks 2";
    let run = home.plumb(&format!("as mdtest -C -T -E -W 1 {walled}")).expect(0);
    assert!(!run.out.contains("WARNING"), "{}", run.out);
    for operation in ["File stat", "File read"] {
        assert!(row(&run.out, operation)[0] > 0.0, "{operation}: {}", run.out);
    }
    let later = home.plumb(&format!("as mdtest -T -E -r {walled}")).expect(0);
    assert!(!later.out.contains("WARNING"), "{}", later.out);
    assert!(row(&later.out, "File read")[0] > 0.0);
    assert_eq!(tree(&home.work().join("out")).len(), 0);
    home.plumb("as mdtest -n 10 -F -R -W 1 -b 2 -z 1 -d t").expect(1).expect_stderr(&["-R after a stonewall", "-b 1"]);
}

/// Protects -c: rank 0 creates the files of all ranks, each rank writes its own, and each file counts once.
#[test]
fn collective_creation_counts_each_file_once() {
    let home = Home::new();
    home.plumb("as mdtest -n 5 -F -C -c -w 16 --saveRankPerformanceDetails=ranks -d out --plumb-ranks 3").expect(0);
    let files: Vec<String> =
        tree(&home.work().join("out")).into_iter().filter(|path| path.contains("file.mdtest")).collect();
    assert_eq!(files.len(), 15);
    for file in &files {
        assert_eq!(std::fs::metadata(home.work().join("out").join(file)).unwrap().len(), 16, "{file}");
    }
    let csv = read(&home, "ranks");
    // A header, a line for all, and one for each rank.
    assert_eq!(csv.lines().count(), 2 + 3, "{csv}");
    assert!(csv.lines().nth(1).unwrap().starts_with("all,5,"), "{csv}");
}

/// Protects --verify-write, also with direct I/O: written data is read back from the file.
#[test]
fn writes_are_read_back() {
    let home = Home::new();
    for more in ["", "--posix.odirect"] {
        let run = home.plumb(&format!("as mdtest -n 3 -F -w 4096 -e 4096 --verify-write {more} -d out")).expect(0);
        assert!(!run.out.contains("WARNING"), "{}", run.out);
        assert!(row(&run.out, "File creation")[0] > 0.0);
    }
}

/// Protects against counting failures: missing files are warnings, without a rate.
#[test]
fn failed_ops_are_reported_and_not_counted() {
    let home = Home::new();
    let run = home.plumb("as mdtest -n 3 -F -T -d none").expect(0);
    let run = run.expect_stdout(&["WARNING: unable to stat none/test-dir.0-0/mdtest_tree.0/file.mdtest.0.2"]);
    assert_eq!(row(&run.out, "File stat")[0], 0.0);
    home.plumb("as mdtest -n 3 -F -T -d none --warningAsErrors").expect(1).expect_stderr(&["none/test-dir.0-0"]);
}

/// Protects verification: changed bytes are reported with file and offset.
#[test]
fn changed_bytes_are_found() {
    let home = Home::new();
    home.plumb("as mdtest -n 3 -F -C -w 100 -G 3 -d out").expect(0);
    home.plumb("as mdtest -n 3 -F -E -e 100 -X -G 3 -d out").expect(0);
    let path = home.work().join("out/test-dir.0-0/mdtest_tree.0/file.mdtest.0.1");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[50] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let run = home.plumb("as mdtest -n 3 -F -E -e 100 -X -G 3 -d out").expect(0);
    run.expect_stdout(&["file.mdtest.0.1: ", "at byte 48"]);
}

/// Protects against invalid words, and numbers that overflow.
#[test]
fn wrong_words_are_refused() {
    let home = Home::new();
    home.plumb("as mdtest --verify-reads").expect(1).expect_stderr(&["did you mean `--verify-read`?"]);
    home.plumb("as mdtest -n 99999999999p").expect(1).expect_stderr(&["exceeds 64 bits"]);
    home.plumb("as mdtest -S -u").expect(1).expect_stderr(&["-u and -S"]);
    home.plumb("as mdtest -h").expect(0).expect_stdout(&["Synopsis mdtest", "--plumb-ranks"]);
    home.plumb("as mdtest -n 1 -d sim:ssd").expect(1).expect_stderr(&["real files"]);
    home.file("file", "mine");
    let output = home.plumb("as mdtest -n 1 -F -C -d file").expect_stderr(&["file"]);
    assert_ne!(output.code, 0);
    assert_eq!(read(&home, "file"), "mine");
}

/// Protects -v -v -v: it prints exactly the created paths; with less verbosity, it prints none.
#[test]
fn traces_are_of_what_is_made() {
    let home = Home::new();
    let words = "-C -I 3 -b 2 -z 2 -w 8 -i 2 --plumb-ranks 1";
    let run = home.plumb(&format!("as mdtest {words} -v -v -v -d out")).expect(0);
    let made = |line: &str| {
        let path = line.split_once("create): curr_item is 'out/")?.1.trim_end_matches('\'');
        Some(path.replace("//", "/"))
    };
    let traced: BTreeSet<String> = run.out.lines().filter_map(made).collect();
    let items = |path: &String| path.contains("dir.mdtest") || path.contains("file.mdtest");
    let there: BTreeSet<String> = tree(&home.work().join("out")).into_iter().filter(items).collect();
    assert_eq!(traced.len(), 2 * 2 * 21);
    assert_eq!(traced, there);
    let quiet = home.plumb(&format!("as mdtest {words} -v -v -d other")).expect(0);
    assert!(!quiet.out.contains("V-3"), "{}", quiet.out);
}

/// Protects -a DUMMY: all phases run and create only the status file, and the result is not attributed to storage.
#[test]
fn dummy_touches_no_file() {
    let home = Home::new();
    let wall = home.plumb("as mdtest -a DUMMY -I 20 -W 1 -x wall -C -d out --plumb-ranks 2").expect(0);
    assert!(row(&wall.out, "File creation")[0] > 0.0, "{}", wall.out);
    assert_eq!(read(&home, "wall").trim(), "20");
    let later = home.plumb("as mdtest -a DUMMY -I 20 -x wall -T -r -V=4 -d out --plumb-ranks 2").expect(0);
    assert_eq!(later.out.matches("mdtest_stat file: out/").count(), 20);
    assert!(!home.work().join("out").exists());
    let result = home.plumb("show --json").expect(0).json();
    assert!(result["workload"]["target"]["trees"]["null"].is_object(), "{}", result["workload"]["target"]);
    for phase in result["phases"].as_array().unwrap() {
        let tiers = phase["metrics"].as_object().unwrap().values().filter_map(|metric| metric["tier"].as_str());
        assert!(tiers.clone().count() > 0 && tiers.clone().all(|tier| tier == "unknown"), "{phase}");
    }
    home.plumb("as mdtest -a DUMMY -n 5 -w 8 -e 8 -X -d out").expect(1).expect_stderr(&["DUMMY does not keep"]);
}

/// Protects the delays of DUMMY: every call sleeps at least that long, and its latency includes it.
#[test]
fn dummy_calls_take_their_delay() {
    let home = Home::new();
    let run =
        home.plumb("as mdtest -a DUMMY -n 5 -F -C --dummy.delay-create=2000 --dummy.delay-close=1000 -d out").expect(0);
    let latency = run.out.split("LATENCY").nth(1).unwrap();
    let created = latency.lines().find(|line| line.contains("File creation")).unwrap();
    let p50_ms: f64 = created.split_whitespace().nth(2).unwrap().parse().unwrap();
    assert!(p50_ms >= 2.9, "{created}");
}

/// Protects --savePerOpDataCSV: a row for each operation of each rank in the last iteration, without the files that
/// rank 0 creates for all with -c.
#[test]
fn single_operations_are_written_down() {
    let home = Home::new();
    home.plumb("as mdtest -F -n 4 -w 10 -e 10 -Y -i 2 -d out --savePerOpDataCSV=op --plumb-ranks 2").expect(0);
    for test in ["File creation", "File stat", "File read", "File removal"] {
        for rank in 0..2 {
            let text = read(&home, &format!("op-{test}-{rank:05}.csv"));
            let rows: Vec<&str> = text.lines().collect();
            assert_eq!((rows[0], rows.len()), ("time,runtime,tp", 5), "{test}: {text}");
            let starts: Vec<f64> =
                rows[1..].iter().map(|row| row.split(',').next().unwrap().parse().unwrap()).collect();
            assert!(starts.is_sorted() && starts[0] < starts[3], "{test}: {text}");
        }
    }
    home.plumb("as mdtest -F -n 3 -C -c -d out --savePerOpDataCSV=c --plumb-ranks 2").expect(0);
    let rows = |rank: u32| read(&home, &format!("c-File creation-{rank:05}.csv")).lines().count();
    assert_eq!([rows(0), rows(1)], [1 + 3, 1 + 3]);
    home.plumb("as mdtest -F -n 1 -d out --savePerOpDataCSV=none/op")
        .expect(1)
        .expect_stderr(&["cannot write none/op-File"]);
}

/// Protects --run-cmd-*: they are refused unless the user allows them. Then each task runs each once around each phase
/// of items; the latter counts in the phase's time but in no task's own.
#[test]
fn commands_run_around_phases() {
    let home = Home::new();
    let script = "echo $1 >> said\n[ $1 = before ] || sleep 0.3\nexit 3\n";
    std::fs::write(home.work().join("say"), script).unwrap();
    let commands = ["--run-cmd-before-phase", "sh say before", "--run-cmd-after-phase", "sh say after"];
    let line = ["as", "mdtest", "-F", "-n", "2", "-d", "out", "--plumb-ranks", "2", "--print-all-procs", "-Z"];
    let words: Vec<&str> = line.into_iter().chain(commands).collect();
    home.plumb_args(&words).expect(1).expect_stderr(&["sh say before", "--allow-system"]);
    assert!(!home.work().join("said").exists());
    let words: Vec<&str> = words.into_iter().chain(["--allow-system"]).collect();
    home.plumb_args(&words).expect(0);
    let output = read(&home, "said");
    let count = |word: &str| output.lines().filter(|line| *line == word).count();
    assert_eq!([count("before"), count("after")], [4 * 2, 4 * 2]);
    let result = home.plumb("show --json").expect(0).json();
    let phases = result["phases"].as_array().unwrap();
    let create = phases.iter().find(|phase| phase["name"] == "file-create").unwrap();
    assert!(create["wall_ns"].as_u64().unwrap() >= 300_000_000, "{create:#}");
    assert_eq!(create["done"]["command"]["ops"], 2, "{create:#}");
}
