//! `plumb as mdtest` from outside.

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

/// The row of an operation in the first table: max, min, mean and deviation.
fn row(out: &str, operation: &str) -> Vec<f64> {
    let line = out
        .lines()
        .find(|line| line.trim_start().starts_with(operation))
        .unwrap_or_else(|| panic!("{operation}: {out}"));
    line.trim_start()[operation.len()..].split_whitespace().map(|number| number.parse().unwrap()).collect()
}

/// Protects the whole way: all phases run, nothing is left, each iteration is stored.
#[test]
fn all_phases_run_and_leave_nothing() {
    let home = Home::new();
    let run = home.plumb("as mdtest -n 20 -w 100 -e 100 -X -i 2 -d out --plumb-ranks 2").expect(0);
    let run =
        run.says(&["2 tasks, 40 files/directories", "SUMMARY rate (in ops/sec): (of 2 iterations)", "LATENCY (in ms)"]);
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

/// Protects the stonewall: every rank made as many files as the one that came furthest, and later runs go as far.
#[test]
fn ranks_wear_out_to_the_furthest() {
    let home = Home::new();
    let run = home.plumb("as mdtest -n 100000000 -F -C -W 1 -x wall -d out --plumb-ranks 2").expect(0);
    let wall: usize = read(&home, "wall").trim().parse().unwrap();
    run.says(&[&format!("max: {wall}")]);
    let files = tree(&home.work().join("out")).iter().filter(|path| path.contains("file.mdtest")).count();
    assert_eq!(files, 2 * wall);
    let later = home.plumb("as mdtest -n 100000000 -F -T -r -x wall -d out --plumb-ranks 2").expect(0);
    assert!(!later.out.contains("WARNING"), "{}", later.out);
    assert!(!later.out.contains("inf") && row(&later.out, "File stat")[0] > 0.0);
    assert_eq!(tree(&home.work().join("out")).len(), 0);
    // A tree with branches, which mdtest itself refuses, in one run.
    let all = home.plumb("as mdtest -n 10000000 -b 2 -z 1 -F -W 1 -d t --plumb-ranks 2").expect(0);
    assert!(!all.out.contains("WARNING: unable"), "{}", all.out);
    assert!(!home.work().join("t").exists());
}

/// Protects from counting what failed: missing files are warnings, and no rate.
#[test]
fn what_fails_is_said_and_not_counted() {
    let home = Home::new();
    let run = home.plumb("as mdtest -n 3 -F -T -d none").expect(0);
    let run = run.says(&["WARNING: unable to stat none/test-dir.0-0/mdtest_tree.0/file.mdtest.0.2"]);
    assert_eq!(row(&run.out, "File stat")[0], 0.0);
    home.plumb("as mdtest -n 3 -F -T -d none --warningAsErrors").expect(1).complains(&["none/test-dir.0-0"]);
}

/// Protects verification: bytes that changed are found, by file and place.
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
    run.says(&["file.mdtest.0.1: ", "at byte 48"]);
}

/// Protects from words that mean nothing, and numbers that overflow.
#[test]
fn wrong_words_are_refused() {
    let home = Home::new();
    home.plumb("as mdtest --verify-reads").expect(1).complains(&["did you mean `--verify-read`?"]);
    home.plumb("as mdtest -n 99999999999p").expect(1).complains(&["exceeds 64 bits"]);
    home.plumb("as mdtest -S -u").expect(1).complains(&["-u and -S"]);
    home.plumb("as mdtest -h").expect(0).says(&["Synopsis mdtest", "--plumb-ranks"]);
    home.plumb("as mdtest -n 1 -d sim:ssd").expect(1).complains(&["real files"]);
    home.file("file", "mine");
    let said = home.plumb("as mdtest -n 1 -F -C -d file").complains(&["file"]);
    assert_ne!(said.code, 0);
    assert_eq!(read(&home, "file"), "mine");
}
