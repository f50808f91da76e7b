//! `plumb run` of repeated workloads: rounds until values are steady, and the loads of a ladder.

use crate::common::Home;
use serde_json::Value;

// Protects: the answer names the steady rounds, and the result has the matrix, the rule and its runs.
#[test]
fn rounds_end_when_a_figure_is_steady() {
    let home = Home::new();
    let line = "run pts-latency-like --at sim:ssd --set time=100ms";
    let output = home.plumb(&format!("{line} --report r.html")).expect(0);
    let output = output.expect_stderr(&["This is not an official SNIA PTS result.", "5 to 25 rounds"]);
    output.expect_stdout(&[
        "Steady: rounds 1 to 5 of pts-latency-like meet the rule.",
        "Mean latency (mean of rounds 1 to 5)",
        "65/35",
    ]);
    let html = std::fs::read_to_string(home.work().join("r.html")).unwrap();
    for chart in
        ["Steady-state window: Mean latency of random-r0-4KiB", "Mean latency by round", "Longest latency by size"]
    {
        assert!(html.contains(chart), "{chart} is not in the report");
    }
    assert!(html.contains("This is not an official SNIA PTS result.") && html.contains("Plumb does not erase drives"));
    let rounds = home.plumb(&format!("{line} --json")).expect(0).json();
    crate::commands::fits(&home, "rounds", &rounds);
    assert_eq!((&rounds["steady"]["first"], &rounds["steady"]["last"]), (&1.into(), &5.into()), "{rounds:#}");
    assert_eq!(rounds["phases"].as_array().unwrap().len(), 9);
    assert_eq!(rounds["tracked"][0]["phase"], "random-r0-4KiB");
    let of = |name: &str| {
        let phases = rounds["phases"].as_array().unwrap();
        let phase = phases.iter().find(|phase| phase["name"] == name).unwrap();
        phase["figures"][0]["value"].as_f64().unwrap()
    };
    assert!(of("random-r100-8KiB") > of("random-r0-512"), "{rounds:#}");
    let tag = rounds["tag"].as_str().unwrap();
    let listed = home.plumb(&format!("list --tag {tag} --json")).expect(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 5, "a run for each round: {listed:#}");
    // Matrix, window and charts from the store equal those of the run.
    let shown = home.plumb(&format!("show {tag} --json")).expect(0).json();
    assert_eq!(shown, rounds);
    let page = home.plumb(&format!("show {tag}")).expect(0).out;
    assert!(page.contains("Mean latency (mean of rounds 1 to 5)") && page.contains("65/35"), "{page}");
    for subject in [tag, "last", &format!("tag:{tag}")] {
        home.plumb(&format!("report {subject} --html again.html")).expect(0);
        let again = std::fs::read_to_string(home.work().join("again.html")).unwrap();
        assert!(again.contains("Steady-state window: Mean latency of random-r0-4KiB"), "{subject}");
    }
    home.plumb("show rounds-1").expect(2);
    // Only the first round includes conditioning.
    let run = rounds["runs"][1].as_str().unwrap();
    let second = home.plumb(&format!("show {run} --json")).expect(0).json();
    assert_eq!(second["phases"].as_array().unwrap().len(), 9, "{second:#}");
}

// Protects: a device with a random speed for each run never gets steady, and nothing claims it.
#[test]
fn rounds_that_never_get_steady_are_reported() {
    let home = Home::new();
    let line = "run pts-latency-like --at sim:ssd?cv=60% --set time=20ms --set repeat.rounds.max-rounds=8";
    home.plumb(line).expect(1).expect_stdout(&["Not steady: no 5 rounds in a row of 8", "rounds 4 to 8, not steady"]);
    let rounds = home.plumb(&format!("{line} --json")).expect(1).json();
    assert_eq!((&rounds["steady"], rounds["runs"].as_array().unwrap().len()), (&Value::Null, 8));
    assert_eq!(rounds["tracked"][0]["is_steady"], false);
}

// Protects: options for a single run are refused with a suggestion, and `--once` makes a single run.
#[test]
fn options_of_a_single_run_are_refused() {
    let home = Home::new();
    let line = "run pts-latency-like --at sim:ssd --set time=20ms";
    for option in ["--runs 2", "--until steady", "--precondition", "--assert read.bw>1", "--name a", "--output a.txt"] {
        let complaint = ["`pts-latency-like` is repeated", "--once"];
        home.plumb(&format!("{line} {option}")).expect(2).expect_stderr(&complaint);
    }
    let once = home.plumb(&format!("{line} --once --json")).expect_measured().json();
    let phases: Vec<&str> = once["phases"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(phases, ["conditioning", "random"]);
    home.plumb("run pts-latency-like --translate")
        .expect(0)
        .expect_stdout(&["repeat.rounds.first-only", "random-r0-4KiB"]);
}

// Protects: each load is a share of the requested rate, repeated loads are compared, and every stream has its share.
#[test]
fn a_ladder_holds_its_limit_and_repeats() {
    let home = Home::new();
    let line = "run spc1-like --at sim:nvme --set time=4s";
    let output = home.plumb(line).expect(0).expect_stderr(&["This is not an official SPC-1 result.", "at 9 loads"]);
    output.expect_stdout(&[
        "every load is within the limit of 30 ms",
        "100 % again",
        "Repeated loads (within 5.0 %)",
        "log-runs",
    ]);
    let ladder = home.plumb(&format!("{line} --report l.html --json")).expect(0).json();
    crate::commands::fits(&home, "ladder", &ladder);
    let steps = ladder["steps"].as_array().unwrap();
    let loads: Vec<f64> = steps.iter().filter_map(|step| step["percent"].as_f64()).collect();
    assert_eq!(loads, [100.0, 100.0, 95.0, 90.0, 80.0, 50.0, 10.0, 100.0, 10.0]);
    for step in steps {
        let (asked, rate) = (step["asked"].as_f64().unwrap(), step["rate"].as_f64().unwrap());
        assert!((asked - step["percent"].as_f64().unwrap() * 10.0).abs() < 1e-6, "{step:#}");
        assert!((rate / asked - 1.0).abs() < 0.1, "{step:#}");
    }
    let shares = steps[0]["streams"].as_array().unwrap();
    assert_eq!(shares.len(), 8);
    for share in shares {
        let (asked, done) = (share["asked"].as_f64().unwrap(), share["done"].as_f64().unwrap());
        assert!((asked - done).abs() < 0.03, "{share:#}");
    }
    assert_eq!(ladder["again"].as_array().unwrap().len(), 2);
    let tag = ladder["tag"].as_str().unwrap();
    assert_eq!(home.plumb(&format!("show {tag} --json")).expect(0).json(), ladder);
    home.plumb(&format!("report {tag} --html again.html")).expect(0);
    assert!(std::fs::read_to_string(home.work().join("again.html")).unwrap().contains("Response time by load"));
    let html = std::fs::read_to_string(home.work().join("l.html")).unwrap();
    assert!(html.contains("Response time by load") && html.contains("This is not an official SPC-1 result."));
}

// Protects: a load beyond the limit is reported and fails its condition, and the overall response time is between those
// of the loads.
#[test]
fn a_limit_that_does_not_hold_is_an_exit_code() {
    let home = Home::new();
    let line = "run nfs-mix-2008-like --at sim:hdd --set time=500ms";
    let ladder = home.plumb(&format!("{line} --set repeat.ladder.limit=1us --json")).expect(1).json();
    assert_eq!(ladder["within_limit"], false, "{ladder:#}");
    let steps = ladder["steps"].as_array().unwrap();
    assert_eq!((steps.len(), ladder["of"].is_null()), (9, true), "{ladder:#}");
    let times: Vec<f64> = steps.iter().map(|step| step["response_ns"].as_f64().unwrap()).collect();
    let overall = ladder["overall_response_ns"].as_f64().unwrap();
    assert!(times.iter().any(|time| *time <= overall) && times.iter().any(|time| *time >= overall), "{ladder:#}");
    let (full, first) = (ladder["full"].as_f64().unwrap(), &steps[0]);
    assert!((first["asked"].as_f64().unwrap() / full - 0.1).abs() < 1e-9, "{ladder:#}");
    home.plumb(&format!("{line} --set repeat.ladder.limit=1us"))
        .expect(1)
        .expect_stdout(&["a load is beyond the limit of 1"]);
}
