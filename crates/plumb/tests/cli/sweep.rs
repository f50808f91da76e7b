//! `plumb sweep` and the conditions of `plumb run`, on simulated devices and small files.

use crate::common::{Home, assert_no_test_data, test_directories, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

fn levels(curve: &Value) -> Vec<f64> {
    let points = curve["points"].as_array().expect("a curve has points");
    points.iter().map(|point| point["level"].as_f64().unwrap()).collect()
}

/// A simulated SSD processes 8 ops of 4 KiB at a time before its controller limits it: its knee and its saturation.
#[test]
fn a_depth_sweep_finds_the_knee_where_the_device_is_full() {
    let home = Home::new();
    let sweep = home.plumb("sweep depth=1..64 sim:ssd --time 300ms --p99 200us --json").expect(0).json();
    let curve = &sweep["curves"][0];
    assert_eq!(levels(curve), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
    assert_eq!(curve["found"]["knee"]["level"], 8.0, "{:#}", curve["found"]);
    assert_eq!(curve["found"]["saturation"]["level"], 8.0, "{:#}", curve["found"]);
    let within = curve["found"]["within"]["best"]["level"].as_f64().unwrap();
    assert!([8.0, 16.0].contains(&within), "both run at the full rate, and 32 waits longer: {:#}", curve["found"]);
    for point in curve["points"].as_array().unwrap() {
        let rate = &point["rate"];
        assert!(rate["lo"].as_f64().unwrap() <= rate["value"].as_f64().unwrap());
        assert_eq!((rate["runs"].as_u64(), point["runs"].as_array().unwrap().len()), (Some(3), 3));
        assert!(point.get("response").is_none(), "a closed loop has no response time");
    }
    assert_eq!(sweep["runs"].as_array().unwrap().len(), 21);
    assert_eq!(home.query("SELECT count(*) FROM run")[0][0], 21, "every run is stored");
}

/// Protects the comparability of two curves, as in `plumb run`: the op size, unless it is swept, and the cache mode are
/// printed.
#[test]
fn a_sweep_prints_the_block_size_and_the_cache_mode() {
    let home = Home::new();
    let head = |line: &str| {
        let page = home.plumb(&format!("sweep {line} sim:nvme --time 20ms --repeat 1")).expect(0).out;
        page.lines().find(|line| line.starts_with("read along")).unwrap_or_else(|| panic!("{page}")).to_owned()
    };
    assert!(head("depth=1,2").starts_with("read along depth · 4 KiB blocks · direct · closed loop"));
    assert!(head("block=4k,8k").starts_with("read along block · direct · closed loop"));
}

/// The order is random within each block, and the same for the same seed.
#[test]
fn points_run_in_randomised_blocks() {
    let order = |seed: u32| -> Vec<f64> {
        let home = Home::new();
        let line = format!("sweep depth=1..32 sim:nvme --time 50ms --repeat 2 --seed {seed} --json");
        let sweep = home.plumb(&line).expect(0).json();
        let ids: Vec<&str> = sweep["runs"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let points = sweep["curves"][0]["points"].as_array().unwrap();
        let level_of = |id: &str| {
            let is_there = |point: &&Value| point["runs"].as_array().unwrap().iter().any(|run| run["id"] == id);
            points.iter().find(is_there).unwrap()["level"].as_f64().unwrap()
        };
        ids.into_iter().map(level_of).collect()
    };
    let first = order(7);
    for block in first.chunks(6) {
        let mut sorted = block.to_vec();
        sorted.sort_by(f64::total_cmp);
        assert_eq!(sorted, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0], "each block holds every point once");
        assert_ne!(block, sorted, "not in rising order");
    }
    assert_ne!(first[..6], first[6..]);
    assert_eq!(first, order(7));
    assert_ne!(first, order(8));
}

/// Beyond the maximum, an open load queues: response time grows but service time does not.
#[test]
fn rates_go_past_the_maximum_and_response_time_shows_it() {
    let home = Home::new();
    let sweep = home.plumb("sweep rate=auto sim:ssd --points 4 --time 300ms --json").expect(0).json();
    let curve = &sweep["curves"][0];
    assert_eq!(curve["arrivals"], "poisson");
    let most = curve["closed_loop_max"]["value"].as_f64().unwrap();
    let asked = levels(curve);
    assert!((asked[0] / most - 0.1).abs() < 1e-9 && (asked[3] / most - 1.2).abs() < 1e-9, "{asked:?} of {most}");
    let last = &curve["points"][3];
    let achieved = last["rate"]["value"].as_f64().unwrap();
    assert!(achieved < 1.05 * most, "{achieved} of {most}");
    let p99 = |point: &Value, kind: &str| point[kind]["p99"]["value"].as_f64().unwrap();
    assert!(p99(last, "response") > 10.0 * p99(last, "service"), "{last:#}");
    let first = &curve["points"][0];
    assert!(p99(first, "response") < 1.1 * p99(first, "service"), "{first:#}");
    home.plumb("sweep rate=auto sim:ssd --points 3 --time 100ms")
        .expect(0)
        .expect_stdout(&["p99 service | response", "Poisson"]);
}

#[test]
fn a_depth_sweep_can_go_on_to_rates() {
    let home = Home::new();
    let sweep = home.plumb("sweep depth=1..16 --rate auto --points 3 sim:ssd --time 100ms --json").expect(0).json();
    let curves = sweep["curves"].as_array().unwrap();
    assert_eq!(curves.len(), 2);
    assert_eq!((&curves[0]["key"], &curves[1]["key"]), (&"depth".into(), &"rate".into()));
    assert_eq!(curves[1]["fixed"]["depth"], 16.0, "arrivals do not wait for room in the queue");
}

#[test]
fn two_keys_make_a_grid() {
    let home = Home::new();
    let sweep = home.plumb("sweep depth=1,8,32 block=4k,64k sim:nvme --time 50ms --json").expect(0).json();
    let curves = sweep["curves"].as_array().unwrap();
    assert_eq!(curves.len(), 2);
    for (curve, block) in curves.iter().zip([4096.0, 65536.0]) {
        assert_eq!(levels(curve), [1.0, 8.0, 32.0]);
        assert_eq!(curve["fixed"]["block"], block);
    }
    // Larger blocks move more bytes at depth one: the grid is not mixed up.
    let bytes = |curve: &Value| curve["points"][0]["bandwidth"]["value"].as_f64().unwrap();
    assert!(bytes(&curves[1]) > 2.0 * bytes(&curves[0]));
}

#[test]
fn every_key_sweeps() {
    let home = Home::new();
    for arguments in [
        "threads=1..4 --for mail",
        "read=0..100:3",
        "size=16M..64M",
        "block=4k..64k",
        "rate=1k/s..10k/s:3",
        "depth=1..4 --rate 2k/s",
        "depth=1..4 --for small-files --phase create --set files=100",
    ] {
        let output = home.plumb(&format!("sweep {arguments} sim:ssd --time 100ms --repeat 2 --json"));
        if arguments.contains("small-files") {
            output.expect(2).expect_stderr(&["sweep `threads`"]);
            continue;
        }
        let sweep = output.expect(0).json();
        for point in sweep["curves"][0]["points"].as_array().unwrap() {
            assert!(point["rate"]["value"].as_f64().unwrap() > 0.0, "{arguments}: {point:#}");
        }
    }
}

#[test]
fn sweeps_fit_their_schema() {
    let home = Home::new();
    let schema = home.plumb("schema sweep").expect(0).json();
    for line in ["sweep depth=1..4 --rate auto --points 3 --p99 1ms", "sweep size=16M..64M --p99 1ns"] {
        let sweep = home.plumb(&format!("{line} sim:ssd --time 100ms --json")).expect(0).json();
        let problems = crate::common::schema::problems(&schema, &sweep);
        assert!(problems.is_empty(), "{problems:#?}");
        assert_eq!(sweep["schema"], "plumb.sweep/1");
        assert!(!sweep["verdict_note"].as_str().unwrap().is_empty());
    }
}

/// Rejected runs are shown and stored; their points are missing, and never 0.
#[test]
fn rejected_points_are_missing() {
    let home = Home::new();
    let output = home.plumb("sweep depth=1..4 sim:ssd?errors=5% --time 100ms --json").expect(3);
    let sweep = output.json();
    for point in sweep["curves"][0]["points"].as_array().unwrap() {
        assert!(point["rate"].is_null() && point["service"]["p99"].is_null(), "{point:#}");
        assert!(point["rejected"]["rate"]["value"].as_f64() > Some(0.0), "shown all the same: {point:#}");
        assert!(point["runs"].as_array().unwrap().iter().all(|run| run["verdict"] == "reject"));
    }
    assert_eq!(sweep["left_out"].as_array().unwrap().len(), 9);
    assert_eq!(home.query("SELECT count(*) FROM run")[0][0], 9);
    home.plumb("sweep depth=1..4 sim:ssd?errors=5% --time 100ms").expect(3).expect_stdout(&[
        "no curve: the checks rejected all of its 9 runs",
        "9 of 9 runs were rejected",
        "fail B9 depth=",
        "(9 of 9 runs)",
    ]);
}

#[test]
fn what_cannot_be_swept_is_refused_before_anything_runs() {
    let home = Home::new();
    for (line, text) in [
        ("sweep dpeth=1..4 sim:ssd", "did you mean `depth`?"),
        ("sweep sim:ssd", "nothing to sweep"),
        ("sweep depth=1..64 size=1M..1T sim:ssd", "more than 64"),
        ("sweep depth=1..4 sim:ssd sim:hdd", "one place"),
        ("sweep depth=1..4 --for small-files sim:ssd", "--phase: create, stat, read, delete"),
        ("sweep depth=1..4 --for nothing sim:ssd", "unknown workload `nothing`"),
        ("sweep block=4k,3G --size 16M sim:ssd", "error"),
        ("sweep depth=1..4 --rate fast sim:ssd", "nor `auto`"),
        ("sweep depth=1..4 --read-only .", "has to lay out a file first"),
        ("sweep depth=1..4 --read-only --for random-write sim:ssd", "only reads"),
        ("sweep depth=1..4 no-such-place", "cannot be used"),
    ] {
        home.plumb(line).expect(2).expect_stderr(&[text]);
    }
    assert_eq!(home.query("SELECT count(*) FROM run")[0][0], 0, "nothing ran");
}

/// An existing file is only read.
#[test]
fn a_file_that_is_there_is_only_read() {
    let home = Home::new();
    let text: String = (0..1 << 20).map(|number: u32| char::from(b'a' + (number % 26) as u8)).collect();
    let path = home.file("mine", &text);
    let line = "sweep depth=1..4 mine --read-only --time 200ms --repeat 1 --set cache=warm --json";
    let sweep = home.plumb(line).expect_measured().json();
    assert_eq!(sweep["path"], "mine");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    // The guard refuses a request to write to it.
    home.plumb("sweep depth=1..4 mine --for random-write --time 200ms --repeat 1").expect(5);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

/// In a directory, the file is laid out once, and removed at the end.
#[test]
fn a_directory_is_left_as_it_was() {
    let home = Home::new();
    home.plumb("sweep depth=1,4 . --size 4MiB --time 200ms --repeat 2")
        .expect_measured()
        .expect_stderr(&["of test data, once, and removes it at the end"]);
    assert_no_test_data(&home.work());
    assert_eq!(std::fs::read_dir(home.registry()).map_or(0, Iterator::count), 0);
}

#[test]
fn ctrl_c_prints_what_there_is_and_cleans_up() {
    let home = Home::new();
    let child = home.start("sweep depth=1,4 . --size 4MiB --time 2s --repeat 50 --budget 1h --json");
    wait_until("two runs are done", || {
        let printed = home.plumb_args(["query", "SELECT count(*) FROM run WHERE status = 'ok'", "--json"]);
        printed.code == 0 && printed.json()["rows"][0][0].as_i64().unwrap() >= 2
    });
    assert!(!test_directories(&home.work()).is_empty());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let sweep: Value = plumb_document::json::from_slice(&output.stdout).unwrap();
    assert_eq!(sweep["partial"], true);
    let runs =
        sweep["curves"][0]["points"].as_array().unwrap().iter().map(|point| point["runs"].as_array().unwrap().len());
    assert!(runs.sum::<usize>() >= 2);
    assert_no_test_data(&home.work());
}

#[test]
fn assertions_decide_the_exit_code() {
    let home = Home::new();
    let run = |device: &str, conditions: &[&str]| {
        let mut words = vec!["run", "random-read", "--at", device, "--set", "time=300ms"];
        for condition in conditions {
            words.extend(["--assert", condition]);
        }
        home.plumb_args(words)
    };
    run("sim:ssd", &["read.lat.p99 < 5ms", "random-read/read.iops >= 1k/s"])
        .expect(0)
        .expect_stdout(&["ok read.lat.p99 < 5ms (random-read", "ok random-read/read.iops >= 1k/s"]);
    run("sim:ssd", &["read.lat.p99 < 5ms", "read.bw > 9GB/s"])
        .expect(1)
        .expect_stdout(&["false read.bw > 9GB/s (random-read"]);
    // A condition on an unmeasured number is not true.
    run("sim:ssd", &["write.lat.p99 < 5ms"]).expect(1).expect_stdout(&["not measured: no phase has write.lat.p99"]);
    let json = home.plumb_args([
        "run",
        "random-read",
        "--at",
        "sim:ssd",
        "--set",
        "time=300ms",
        "--json",
        "--assert",
        "read.bw > 9GB/s",
    ]);
    let result = json.expect(1).json();
    assert_eq!(result["assertions"][0]["holds"], false);
    let schema = home.plumb("schema result").expect(0).json();
    let problems = crate::common::schema::problems(&schema, &result);
    assert!(problems.is_empty(), "{problems:#?}");
}

/// A number that is not trusted makes a condition neither true nor false.
#[test]
fn a_rejected_result_stays_rejected_whatever_is_asserted() {
    let home = Home::new();
    for condition in ["read.bw > 1MB/s", "read.bw > 900GB/s"] {
        let words = ["run", "stream-read", "--at", "sim:hdd?cached=60%", "--assert", condition];
        let output = home.plumb_args(words).expect(3);
        output.expect_stdout(&["The checks reject this result: whether a condition is true or false", "Rejected: "]);
    }
}

#[test]
fn a_bad_assertion_is_pointed_at_before_anything_runs() {
    let home = Home::new();
    for (condition, texts) in [
        ("read.lat.p99x < 5ms", ["  | ^^^^^^^^^^^^^\n", "did you mean `read.lat.p99`?"]),
        ("read.lat.p99 < 5MB/s", ["  |                ^^^^^\n", "is not a time"]),
        ("random-raed/read.bw > 1MB/s", ["  | ^^^^^^^^^^^\n", "did you mean `random-read`?"]),
    ] {
        home.plumb_args(["run", "random-read", "--at", "sim:ssd", "--assert", condition])
            .expect(2)
            .expect_stderr(&texts);
    }
    assert_eq!(home.query("SELECT count(*) FROM run")[0][0], 0);
}

#[test]
fn until_steady_prints_the_number_of_rounds() {
    let home = Home::new();
    home.plumb("run random-read --at sim:ssd --until steady")
        .expect(0)
        .expect_stdout(&["steady random-read: steady after 5 rounds of 1s"]);
    let result = home.plumb("run random-read --at sim:ssd --until steady:2s --json").expect(0).json();
    assert_eq!(result["steady"][0]["reached"], true);
    assert_eq!(result["steady"][0]["round_ns"], 2_000_000_000u64);
    home.plumb("run random-read --at sim:ssd --until stady").expect(2).expect_stderr(&["use `steady`"]);
    home.plumb("run stream-write --at sim:ssd --until steady")
        .expect_measured()
        .expect_stdout(&["stream-write: ended by its own limit"]);
}

#[test]
fn preconditioning_prints_its_bytes_and_is_in_the_result() {
    let home = Home::new();
    let output = home.plumb("run random-write --at sim:ssd --set size=64MiB --precondition").expect(0);
    let output = output.expect_stderr(&["writes 128 MiB to `data` in sequence", "until they are steady"]);
    output.expect_stdout(&["preconditioning-fill-data", "preconditioning-rounds-random-write: steady after 5 rounds"]);
    let line = "run random-write --at sim:ssd --set size=64MiB --precondition --assert write.iops>1k --json";
    let result = home.plumb(line).expect(0).json();
    let phases: Vec<&str> =
        result["phases"].as_array().unwrap().iter().filter_map(|phase| phase["name"].as_str()).collect();
    assert_eq!(phases, ["preconditioning-fill-data", "preconditioning-rounds-random-write", "random-write"]);
    let observed = result["assertions"][0]["observed"].as_array().unwrap();
    assert_eq!(observed.len(), 1, "an assertion does not speak of preconditioning: {observed:?}");
    home.plumb("run mail --at sim:ssd --precondition").expect(2).expect_stderr(&["nothing to precondition"]);
}

/// Points without a p99 are neither within a limit nor beyond it.
#[test]
fn a_limit_that_cannot_be_judged_is_not_called_missed() {
    let home = Home::new();
    let short = "sweep depth=1,2,4 sim:hdd --time 1s --p99 50ms";
    let output = home.plumb(short).expect(0);
    assert!(!output.out.contains("No point is within"), "{}", output.out);
    output.expect_stdout(&["3 of 3 points cannot be judged against p99 ≤ 50.0 ms: their runs are too short for a p99; run longer: `--time "]);
    let within = home.plumb(&format!("{short} --json")).expect(0).json()["curves"][0]["found"]["within"].clone();
    assert_eq!((&within["best"], &within["unjudged"]), (&serde_json::Value::Null, &3.into()));
}

#[test]
fn the_runs_of_a_sweep_are_found_by_their_tag() {
    let home = Home::new();
    let sweep = home.plumb("sweep depth=1,2 sim:ssd --repeat 2 --json").expect(0).json();
    let tag = sweep["tag"].as_str().unwrap();
    let tagged = home.query(&format!("SELECT count(*) FROM run_tag WHERE tag = '{tag}'"));
    assert_eq!(tagged[0][0], sweep["runs"].as_array().unwrap().len());
    home.plumb("sweep depth=1,2 sim:ssd").expect(0).expect_stdout(&["Runs: plumb list --tag sweep-"]);
    let unkept = home.plumb("sweep depth=1,2 sim:ssd --no-store --json").expect(0).json();
    assert_eq!(unkept["tag"], serde_json::Value::Null);
}
