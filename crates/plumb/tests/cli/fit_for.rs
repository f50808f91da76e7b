//! `plumb fit-for`, `plumb workloads` and `plumb run --explain`.

use crate::common::Home;
use serde_json::Value;

fn fit(home: &Home, line: &str, code: i32) -> Value {
    home.plumb(&format!("fit-for {line} --json")).expect(code).json()
}

// Protects: the answer, its exit code, the number with its limit and the limit's source, on devices known to be fast
// and slow.
#[test]
fn a_fast_device_is_good_enough_for_etcd_and_a_slow_one_is_not() {
    let home = Home::new();
    let output = home.plumb("fit-for etcd sim:nvme").expect(0);
    output.expect_stdout(&[
        "Yes: sim:nvme is good enough for etcd",
        "fdatasync.lat.p99",
        "< 10ms",
        "etcd's documentation, FAQ",
    ]);
    let fast = fit(&home, "etcd sim:nvme", 0);
    assert_eq!((&fast["schema"], &fast["answer"]), (&Value::from("plumb.fit-for/1"), &Value::from("yes")), "{fast:#}");
    assert_eq!(fast["limits"][0]["tier"], "device");
    assert!(fast["limits"][0]["hi"].as_f64().unwrap() < 1e7, "{fast:#}");
    assert_eq!(fast["runs"].as_array().unwrap().len(), 6);
    // Three times as slow, an fdatasync takes about 25 ms: there are too few for a p99, and p50 alone exceeds the
    // limit.
    let slow = fit(&home, "etcd sim:hdd?slow=200%", 1);
    assert_eq!((&slow["answer"], &slow["limits"][0]["answer"]), (&Value::from("no"), &Value::from("no")), "{slow:#}");
    home.plumb("fit-for etcd sim:hdd?slow=200%")
        .expect(1)
        .expect_stdout(&["No: sim:hdd?slow=200% is not good enough for etcd"]);
    let tagged = home.plumb("list --tag fit-for-etcd --json -n 100").expect(0).json();
    assert_eq!(tagged.as_array().unwrap().len(), 24, "{tagged:#}");
}

// Protects: an interval that contains its limit is neither yes nor no; a user's own limit is judged like a published
// one.
#[test]
fn an_interval_that_covers_the_limit_is_borderline() {
    let home = Home::new();
    let device = "sim:ssd?cv=20%";
    let found = fit(&home, &format!("video {device}"), 0);
    assert_eq!(found["answer"], "no-limit", "{found:#}");
    let read = found["numbers"].as_array().unwrap().iter().find(|one| one["metric"] == "read.bw").unwrap();
    let (lo, hi) = (read["lo"].as_f64().unwrap(), read["hi"].as_f64().unwrap());
    assert!(lo < hi, "{read:#}");
    let with = |limit: f64, code: i32| {
        let condition = format!("play/read.bw >= {}MB/s", limit / 1e6);
        home.plumb_args(["fit-for", "video", device, "--json", "--limit", &condition]).expect(code).json()["answer"]
            .clone()
    };
    assert_eq!(with((lo + hi) / 2.0, 6), "borderline");
    assert_eq!(with(hi * 1.1, 1), "no");
    assert_eq!(with(lo * 0.9, 0), "yes");
}

// Protects: a number from memory does not judge a device, on either side of the limit.
#[test]
fn numbers_of_memory_are_refused() {
    let home = Home::new();
    let limited = ["--limit", "play/read.bw >= 1MB/s"];
    let of = |device| ["fit-for", "video", device, "--json"].into_iter().chain(limited);
    assert_eq!(home.plumb_args(of("sim:ssd")).expect(0).json()["answer"], "yes");
    let refused = home.plumb_args(of("sim:ssd?cached=60%")).expect(3).json();
    assert_eq!(refused["answer"], "refused", "{refused:#}");
    assert!(!refused["refused_because"].as_array().unwrap().is_empty(), "{refused:#}");
}

// Protects: every use runs; those without a published limit report numbers and no verdict.
#[test]
fn every_use_runs_and_only_limits_give_answers() {
    let home = Home::new();
    let uses = home.plumb("fit-for --list --json").expect(0).json();
    crate::commands::fits(&home, "uses", &uses);
    let uses = uses["uses"].as_array().unwrap();
    let names: Vec<&str> = uses.iter().map(|one| one["name"].as_str().unwrap()).collect();
    for wanted in
        ["etcd", "postgres", "mysql", "kafka", "vm-image", "mail", "nfs-home", "video", "ceph-osd", "kubernetes"]
    {
        assert!(names.contains(&wanted), "{names:?}");
    }
    for one in uses {
        let name = one["name"].as_str().unwrap();
        let found = fit(&home, &format!("{name} sim:nvme --runs 3"), 0);
        let has_limit = !one["limits"].as_array().unwrap().is_empty();
        assert_eq!(found["answer"], if has_limit { "yes" } else { "no-limit" }, "{found:#}");
        for number in found["numbers"].as_array().unwrap() {
            assert!(number["value"].is_number(), "{name}: {number:#}");
        }
    }
    home.plumb("fit-for --list").expect(0).expect_stdout(&[
        "etcd",
        "wal/fdatasync.lat.p99 < 10ms",
        "no published limit",
    ]);
    home.plumb("fit-for").expect(0).expect_stdout(&["etcd", "mysql"]);
    // This is printed before the first number.
    home.plumb("fit-for mysql sim:nvme --runs 3")
        .expect(0)
        .expect_stderr(&["note: nobody has published a limit for mysql"]);
    let with_limit = home.plumb("fit-for etcd sim:nvme --runs 3").expect(0);
    assert!(!with_limit.err.contains("published"), "{}", with_limit.err);
    home.plumb("fit-for ectd sim:ssd").expect(2).expect_stderr(&["did you mean `etcd`?"]);
    home.plumb_args(["fit-for", "video", "sim:ssd", "--limit", "nowhere/read.bw > 1MB/s"])
        .expect(2)
        .expect_stderr(&["nowhere"]);
}

// Protects: users find the available workloads, and the sources of their limits.
#[test]
fn workloads_are_listed_and_explained() {
    let home = Home::new();
    let output =
        home.plumb("workloads").expect(0).expect_stdout(&["random-read", "etcd-wal", "none gives an official result"]);
    let listed = home.plumb("workloads --json").expect(0).json();
    crate::commands::fits(&home, "workloads", &listed);
    for one in listed["workloads"].as_array().unwrap() {
        let name = one["name"].as_str().unwrap();
        let line = output.out.lines().find(|line| line.split_whitespace().next() == Some(name));
        assert!(line.is_some(), "{name} is not listed");
        let explained = home.plumb(&format!("run {name} --explain --json")).expect(0).json();
        assert!(!explained["settings"].as_array().unwrap().is_empty(), "{name}");
        crate::commands::fits(&home, "workload-explained", &explained);
    }
    home.plumb("run etcd-wal --explain")
        .expect(0)
        .expect_stdout(&["work.blocks.block = \"2300\"", "vendor's page: IBM"]);
    home.plumb("run random-read --explain").expect(0).expect_stdout(&["depth = 32", "Plumb's choice"]);
    home.plumb("run nowhere --explain").expect(2).expect_stderr(&["unknown workload `nowhere`"]);
    home.plumb("run nfs-mix-2008-like --at sim:ssd --set time=100ms")
        .expect(0)
        .expect_stderr(&["This is not an official SPEC SFS result."]);
}
