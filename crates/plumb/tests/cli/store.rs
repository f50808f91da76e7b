//! Stored results can be found again.

use crate::common::Home;
use serde_json::Value;

/// Returns a home with three runs, and their ids, newest first.
fn with_runs(home: &Home) -> Vec<String> {
    for line in ["random-read --at sim:hdd", "random-read --at sim:ssd", "stream-write --at sim:nvme"] {
        home.plumb(&format!("run {line} --set time=200ms --set size=64MiB")).expect(0);
    }
    let rows = home.plumb("list --json").expect(0).json();
    rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn runs_are_listed_newest_first() {
    let home = Home::new();
    home.plumb("list").expect(0).expect_stdout(&["no runs are stored; start with `plumb try`"]);
    home.plumb("show last").expect(2).expect_stderr(&["no run \"last\"", "plumb list"]);
    let ids = with_runs(&home);
    assert_eq!(ids.len(), 3);
    assert!(ids.is_sorted_by(|one, other| one > other));
    let page = home.plumb("list").expect(0).out;
    let lines: Vec<&str> = page.lines().collect();
    assert!(lines[0].starts_with("run") && lines[0].contains("workload") && lines[0].contains("trust"));
    for (line, path) in lines[1..].iter().zip(["sim:nvme", "sim:ssd", "sim:hdd"]) {
        assert!(line.contains(path), "{page}");
    }
    assert_eq!(home.plumb("list -n 1").expect(0).out.lines().count(), 2);
}

#[test]
fn a_run_is_shown_by_id_beginning_end_or_last() {
    let home = Home::new();
    let ids = with_runs(&home);
    let shown =
        |text: &str| home.plumb(&format!("show {text} --json")).expect(0).json()["id"].as_str().unwrap().to_owned();
    assert_eq!([shown("last"), shown("last~1"), shown("last~2")], ids[..3]);
    home.plumb("show last~3").expect(2).expect_stderr(&["no run \"last~3\""]);
    // Everywhere a run can be named.
    let diff = |one: &str, other: &str| home.plumb(&format!("show {one} --diff {other}")).expect(0).out;
    assert_eq!(diff("last", "last~1"), diff(&ids[0], &ids[1]));
    assert_eq!(home.plumb("export last~2").expect(0).json()[0]["id"], *ids[2]);
    for id in &ids {
        assert_eq!(shown(id), *id);
        assert_eq!(shown(&id[24..]), *id);
    }
    // An id begins with a time in milliseconds, so consecutive runs share its first digits.
    home.plumb("show 0").expect(2).expect_stderr(&["is ambiguous", &ids[0], &ids[1], &ids[2], "give more of the id"]);
    home.plumb("show zzz").expect(2).expect_stderr(&["no run \"zzz\""]);
    // The page equals the one printed at run time, and names run and seed.
    home.plumb("show last").expect(0).expect_stdout(&["sim:nvme simulated", "Trusted.", &ids[0], "seed 42"]);
    // The short id in `plumb list` and in a page's last line finds a run.
    let short = home.plumb("list -n 1").expect(0).out.lines().nth(1).unwrap().split(' ').next().unwrap().to_owned();
    assert_eq!(shown(&short), ids[0]);
}

#[test]
fn two_runs_are_distinguished() {
    let home = Home::new();
    let ids = with_runs(&home);
    let output = home.plumb(&format!("show {} --diff {}", ids[2], ids[1])).expect(0);
    // A rate and a time, in one direction, and the change.
    let out = output.out.clone();
    let lines: Vec<&str> = out.lines().collect();
    let [rate, median] = ["read.iops", "read.lat.p50"].map(|metric| {
        let line = lines.iter().find(|line| line.contains(metric)).unwrap_or_else(|| panic!("{out}"));
        let ratio = line.split_whitespace().last().unwrap().trim_end_matches('×');
        ratio.parse::<f64>().unwrap()
    });
    assert!(rate > 1.0 && median > 1.0, "an SSD is better in both: {out}");
    let output = output.expect_stdout(&["IOPS", "ratio above 1", "setting", "sim:hdd", "sim:ssd", "Every fact: -v"]);
    assert!(output.out.lines().count() < 30, "{}", output.out);
    let whole = home.plumb(&format!("show {} --diff {} -v", ids[2], ids[1])).expect(0);
    assert!(whole.out.lines().count() > lines.len() && whole.out.contains("phases.random-read"), "{}", whole.out);
    let differences = home.plumb(&format!("show {} --diff {} --json", ids[2], ids[1])).expect(0).json();
    let fact = |difference: &Value| difference["fact"].as_str().unwrap().to_owned();
    let facts: Vec<String> = differences.as_array().unwrap().iter().map(fact).collect();
    assert!(facts.iter().any(|fact| fact.contains("device")), "{facts:?}");
    home.plumb(&format!("show {} --diff {}", ids[0], ids[0])).expect(0).expect_stdout(&["no differences"]);
}

#[test]
fn queries_read_and_never_write() {
    let home = Home::new();
    let ids = with_runs(&home);
    let output = home.plumb_args(["query", "SELECT name, verdict FROM run ORDER BY id"]).expect(0);
    assert_eq!(output.out.lines().count(), 4, "{}", output.out);
    let rows = home.query("SELECT count(*), max(id), NULL, 1.5 FROM run");
    assert_eq!(rows, [[3.into(), Value::from(ids[0].clone()), Value::Null, 1.5.into()]]);
    home.plumb("query").expect(0).expect_stdout(&["CREATE TABLE run"]);
    for sql in
        ["DELETE FROM run", "DROP TABLE run", "UPDATE run SET name = 'x'", "ATTACH 'other.db' AS other", "VACUUM"]
    {
        home.plumb_args(["query", sql]).expect(2).expect_stderr(&["queries are read-only", sql]);
    }
    home.plumb_args(["query", "SELECT * FROM nowhere"]).expect(2).expect_stderr(&["no such table"]);
    assert_eq!(home.query("SELECT count(*) FROM run")[0][0], 3);
    assert!(!home.work().join("other.db").exists());
}

#[test]
fn tags_are_put_on_found_and_taken_off() {
    let home = Home::new();
    let ids = with_runs(&home);
    home.plumb("tag last nightly").expect(0);
    home.plumb(&format!("tag {} nightly", ids[2])).expect(0);
    home.plumb(&format!("tag {} other", ids[2])).expect(0);
    let tagged = |tag: &str| home.plumb(&format!("list --tag {tag} --json")).expect(0).json().as_array().unwrap().len();
    assert_eq!((tagged("nightly"), tagged("other"), tagged("none")), (2, 1, 0));
    assert!(home.plumb("list").expect(0).out.contains("nightly,other"));
    home.plumb("tag last nightly --delete").expect(0);
    assert_eq!(tagged("nightly"), 1);
    home.plumb_args(["tag", "last", "a,b"]).expect(2).expect_stderr(&["invalid tag"]);
    home.plumb("tag zzz x").expect(2);
}

#[test]
fn runs_are_exported_as_json_and_csv() {
    let home = Home::new();
    let ids = with_runs(&home);
    let all = home.plumb("export").expect(0).json();
    assert_eq!(all.as_array().unwrap().len(), 3);
    let one = home.plumb("export last").expect(0).json();
    assert_eq!(one[0], home.plumb("show last --json").expect(0).json(), "exactly as it was stored");
    let csv = home.plumb(&format!("export {} --csv", ids[2])).expect(0).out;
    let mut lines = csv.split("\r\n");
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column =
        |name: &str| head.iter().position(|title| *title == name).unwrap_or_else(|| panic!("{name}: {head:?}"));
    let rows: Vec<Vec<&str>> = lines.filter(|line| !line.is_empty()).map(|line| line.split(',').collect()).collect();
    let result = &all[2];
    let bandwidth = rows.iter().find(|row| row[column("metric")] == "read.bw").expect("read.bw is there");
    assert_eq!(bandwidth[column("run")], ids[2]);
    let value: f64 = bandwidth[column("value")].parse().unwrap();
    assert_eq!(value, result["phases"][0]["metrics"]["read.bw"]["value"].as_f64().unwrap());
    assert_eq!((bandwidth[column("unit")], bandwidth[column("tier")]), ("B/s", "device"));
    let missing = rows.iter().find(|row| row[column("metric")] == "read.lat.p99.99").unwrap();
    assert_eq!(missing[column("value")], "", "missing is empty, never 0");
}

/// Two programs measure at the same time into one database.
#[test]
fn two_at_once_do_not_disturb_each_other() {
    let home = Home::new();
    let children: Vec<_> = (0..4)
        .map(|seed| home.start(&format!("run random-read --at sim:ssd --set time=500ms --seed {seed}")))
        .collect();
    for mut child in children {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    assert_eq!(home.plumb("list --json").expect(0).json().as_array().unwrap().len(), 4);
}
