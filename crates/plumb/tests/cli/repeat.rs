//! `plumb run` of workloads that are repeated: rounds until figures are steady, and the loads of a ladder.

use crate::common::Home;
use serde_json::Value;

// Protects: the answer says which rounds were steady, and the result has the matrix, the rule and its runs.
#[test]
fn rounds_end_when_a_figure_is_steady() {
    let home = Home::new();
    let line = "run pts-latency-like --at sim:ssd --set time=100ms";
    let said = home.plumb(&format!("{line} --report r.html")).expect(0);
    let said = said.complains(&["This is not an official SNIA PTS result.", "5 to 25 rounds"]);
    said.says(&[
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
    // Conditioning is part of the first one only.
    let run = rounds["runs"][1].as_str().unwrap();
    let second = home.plumb(&format!("show {run} --json")).expect(0).json();
    assert_eq!(second["phases"].as_array().unwrap().len(), 9, "{second:#}");
}

// Protects: a device that draws another speed for each run never gets steady, and nothing says that it was.
#[test]
fn rounds_that_never_get_steady_say_so() {
    let home = Home::new();
    let line = "run pts-latency-like --at sim:ssd?cv=60% --set time=20ms --set repeat.rounds.max-rounds=8";
    home.plumb(line).expect(1).says(&["Not steady: no 5 rounds in a row of 8", "rounds 4 to 8, not steady"]);
    let rounds = home.plumb(&format!("{line} --json")).expect(1).json();
    assert_eq!((&rounds["steady"], rounds["runs"].as_array().unwrap().len()), (&Value::Null, 8));
    assert_eq!(rounds["tracked"][0]["is_steady"], false);
}

// Protects: what is about a single run is refused with the way out, and `--once` is a single run.
#[test]
fn options_of_a_single_run_are_refused() {
    let home = Home::new();
    let line = "run pts-latency-like --at sim:ssd --set time=20ms";
    for option in ["--runs 2", "--until steady", "--precondition", "--assert read.bw>1", "--name a", "--output a.txt"] {
        let complaint = ["`pts-latency-like` is repeated", "--once"];
        home.plumb(&format!("{line} {option}")).expect(2).complains(&complaint);
    }
    let once = home.plumb(&format!("{line} --once --json")).ran().json();
    let phases: Vec<&str> = once["phases"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(phases, ["conditioning", "random"]);
    home.plumb("run pts-latency-like --translate").expect(0).says(&["repeat.rounds.first-only", "random-r0-4KiB"]);
}
