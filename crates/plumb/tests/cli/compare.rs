//! Comparisons on simulated devices, where the truth is known.

use crate::common::{CommandOutput, Home, breadth, verdicts};
use serde_json::Value;

fn compare(home: &Home, a: &str, b: &str, more: &str) -> Value {
    let line = format!("compare {a} {b} --json --no-store {more}");
    let output: CommandOutput = home.plumb(&line);
    assert!([0, 3].contains(&output.code), "{output:?}");
    output.json()
}

/// Returns the one verdict of a comparison for one workload's rate.
fn verdict_on_rate(comparison: &Value) -> String {
    let contrasts = comparison["contrasts"].as_array().unwrap();
    let rate = contrasts.iter().find(|contrast| !contrast["metric"].as_str().unwrap().contains(".lat."));
    rate.map_or("none".to_owned(), |contrast| contrast["verdict"].as_str().unwrap().to_owned())
}

fn count(verdicts: &[String], wanted: &[&str]) -> usize {
    verdicts.iter().filter(|verdict| wanted.contains(&verdict.as_str())).count()
}

/// The key property: a device is never faster than itself, except for the 5 % error rate over all its numbers.
#[test]
fn a_device_is_not_faster_than_itself_whatever_the_seed() {
    let home = Home::new();
    let seeds = if breadth::is_lab() { 20 } else { 4 };
    let all: Vec<String> = (0..seeds)
        .flat_map(|seed| verdicts(&compare(&home, "sim:ssd?cv=3%", "sim:ssd?cv=3%", &format!("--seed {seed}"))))
        .collect();
    assert!(all.len() >= seeds as usize);
    assert!(count(&all, &["faster", "slower"]) <= all.len() / 10 + 1, "{all:?}");
    assert!(count(&all, &["equivalent"]) * 2 > all.len(), "most of them are plainly equal: {all:?}");
}

/// Drift that affects both sides, and runs with two speeds, add noise and do not create winners.
#[test]
fn drift_and_bimodality_make_no_winners() {
    let home = Home::new();
    let seeds = if breadth::is_lab() { 20 } else { 4 };
    for device in ["sim:ssd?drift=0.5%", "sim:ssd?bimodal=20%"] {
        let all: Vec<String> = (0..seeds)
            .map(|seed| verdict_on_rate(&compare(&home, device, device, &format!("--seed {seed}"))))
            .collect();
        assert!(count(&all, &["faster", "slower"]) <= all.len() / 10 + 1, "{device}: {all:?}");
    }
}

#[test]
fn a_slower_device_is_found_slower_and_a_faster_one_faster() {
    let home = Home::new();
    for seed in 0..5 {
        let more = format!("--seed {seed}");
        let slower = compare(&home, "sim:ssd", "sim:ssd?slow=20%", &more);
        assert_eq!(verdict_on_rate(&slower), "slower");
        let ratio = slower["contrasts"][0]["ratio"].as_f64().unwrap();
        assert!((0.80..0.87).contains(&ratio), "20 % longer is 0.83 of the speed: {ratio}");
        assert!(slower["verdict_note"].as_str().unwrap().contains("slower"));
        assert_eq!(verdict_on_rate(&compare(&home, "sim:ssd?slow=20%", "sim:ssd", &more)), "faster");
    }
}

/// 5 % is a difference that may be claimed, in the right direction. (The whole interval used to have to exceed the
/// margin. Now significance is enough, and a note says whether it matters.)
#[test]
fn five_percent_is_never_called_faster() {
    let home = Home::new();
    let seeds = if breadth::is_lab() { 10 } else { 3 };
    let all: Vec<String> = (0..seeds)
        .map(|seed| verdict_on_rate(&compare(&home, "sim:hdd", "sim:hdd?slow=5%", &format!("--seed {seed}"))))
        .collect();
    assert_eq!(count(&all, &["faster"]), 0, "{all:?}");
    let small: Vec<String> = (0..seeds)
        .map(|seed| verdict_on_rate(&compare(&home, "sim:ssd", "sim:ssd?slow=1%", &format!("--seed {seed}"))))
        .collect();
    assert_eq!(count(&small, &["equivalent"]), small.len(), "1 % does not matter: {small:?}");
}

#[test]
fn a_device_that_others_use_is_left_out_or_found_slower() {
    let home = Home::new();
    let comparison = compare(&home, "sim:ssd", "sim:ssd?background=30%", "");
    let left_out = comparison["left_out"].as_array().unwrap();
    assert!(!left_out.is_empty(), "{comparison:#}");
    for one in left_out {
        assert_eq!(one["side"], "sim:ssd?background=30%");
        assert!(one["reason"].as_str().unwrap().starts_with("C1 "), "{one}");
        assert!(comparison["runs"].as_array().unwrap().contains(&one["run"]));
    }
    assert_eq!(count(&verdicts(&comparison), &["faster"]), 0);
}

#[test]
fn what_differs_besides_the_declared_factor_confounds() {
    let home = Home::new();
    let (a, b) = ("sim:ssd", "sim:ssd?slow=20%");
    let declared = compare(&home, a, b, "--varying sim");
    assert_eq!(declared["confounded"], false);
    assert_eq!(declared["differences"][0]["factor"], "sim");
    assert_eq!(
        compare(&home, a, b, "")["confounded"],
        false,
        "nothing was declared, so the verdict is about the wholes"
    );
    let other = compare(&home, a, b, "--varying fs");
    assert_eq!(other["confounded"], true);
    assert!(other["verdict_note"].as_str().unwrap().contains("Confounded"));
    home.plumb(&format!("compare {a} {b} --varying fs"))
        .expect(0)
        .expect_stdout(&["warn D5 Confounded: besides fs, the sides differ in"]);
    assert_eq!(compare(&home, a, a, "--varying fs")["confounded"], false);
}

/// Data and log of one place differ in the same facts.
#[test]
fn a_difference_of_two_targets_is_printed_once() {
    let home = Home::new();
    let output = home.plumb("compare sim:hdd sim:ssd --for database --blocks 6").expect_measured();
    assert_eq!(output.out.matches("rotational: true | false").count(), 1, "{}", output.out);
}

/// A side that leaves work behind makes the other one pay, and must not win by it.
#[test]
fn a_side_that_leaves_unfinished_work_wins_nothing_and_a_pause_is_the_way_out() {
    let home = Home::new();
    let (clean, leaves) = ("sim:ssd?cv=2%", "sim:ssd?cv=2%&carry=10%");
    for seed in 0..4 {
        for (a, b) in [(clean, leaves), (leaves, clean)] {
            let found = compare(&home, a, b, &format!("--seed {seed}"));
            assert_eq!(verdict_on_rate(&found), "cannot-tell", "{found:#}");
            let capped = &found["contrasts"][0]["capped"];
            assert_eq!(capped["code"], "E15", "{found:#}");
            let reason = capped["reason"].as_str().unwrap();
            assert!(reason.contains("carry") && reason.contains("--settle "), "the culprit and the way out: {reason}");
            assert!(found["order"].as_array().unwrap().len().is_multiple_of(2), "{found:#}");
        }
    }
    let page = home.plumb(&format!("compare {clean} {leaves} --no-store")).out;
    assert!(page.contains("E15") && page.contains("--settle "), "{page}");
    let settled = compare(&home, clean, leaves, "--settle 10s --seed 1");
    assert_eq!(verdict_on_rate(&settled), "equivalent", "{settled:#}");
    assert_eq!(settled["settle"]["pause_ns"], 10_000_000_000u64);
    let runs = settled["runs"].as_array().unwrap().len();
    assert_eq!(settled["settle"]["waits"], runs - 1);
}

/// Every run of each workload follows both sides equally often, for any number of workloads.
#[test]
fn runs_follow_both_sides_equally_often() {
    let home = Home::new();
    for works in ["random-read", "random-read,fsync-log"] {
        let found = compare(&home, "sim:ssd", "sim:ssd", &format!("--for {works} --blocks 8 --time 50ms"));
        let order: String = found["order"].as_array().unwrap().iter().map(|block| block.as_str().unwrap()).collect();
        assert_eq!(order.len(), found["runs"].as_array().unwrap().len(), "{order}");
        let count = |pair: &str| (1..order.len()).filter(|&at| order[at - 1..=at] == *pair).count();
        let mut counts = ["AA", "AB", "BA", "BB"].map(count);
        counts.sort_unstable();
        assert_eq!(counts[0] + 1, counts[1], "one is missing, into the first run: {order}");
        assert_eq!(counts[1], counts[3], "{order}");
    }
}

/// The seed alone reproduces a comparison.
#[test]
fn one_seed_gives_one_result() {
    let home = Home::new();
    let more = "--seed 7 --for random-read,fsync-log";
    let without_ids = |mut comparison: Value| {
        for part in ["runs", "left_out"] {
            comparison.as_object_mut().unwrap().remove(part);
        }
        comparison
    };
    let first = without_ids(compare(&home, "sim:hdd", "sim:ssd", more));
    assert_eq!(first, without_ids(compare(&home, "sim:hdd", "sim:ssd", more)));
    let other = compare(&home, "sim:hdd", "sim:ssd", "--seed 8 --for random-read,fsync-log");
    assert_ne!(first["contrasts"], other["contrasts"]);
}

#[test]
fn the_order_is_blocked_balanced_and_random() {
    let home = Home::new();
    let orders: Vec<Vec<String>> = (0..8)
        .map(|seed| {
            let comparison = compare(&home, "sim:ssd", "sim:ssd", &format!("--seed {seed}"));
            plumb_document::json::from_value(comparison["order"].clone()).unwrap()
        })
        .collect();
    for order in &orders {
        assert!(order.len() >= 6);
        for pair in order.chunks_exact(2) {
            assert!(pair == ["AB", "BA"] || pair == ["BA", "AB"], "each pair of blocks is balanced: {order:?}");
        }
    }
    assert!(orders.iter().any(|order| order[0] != orders[0][0]), "{orders:?}");
}

/// The store contains the announced order: sides alternate within blocks.
#[test]
fn the_runs_follow_the_order() {
    let home = Home::new();
    let comparison = home.plumb("compare sim:ssd sim:nvme --json --seed 3").expect(0).json();
    let runs = home.query("SELECT run.id, target.path FROM run JOIN run_target ON run_id = run.id JOIN target ON target.id = target_id ORDER BY run.started_at, run.id");
    let order: String = comparison["order"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let ran: String = runs.iter().map(|row| if row[1] == "sim:ssd" { 'A' } else { 'B' }).collect();
    assert_eq!(ran, order);
    let ids: Vec<&Value> = runs.iter().map(|row| &row[0]).collect();
    let output: Vec<&Value> = comparison["runs"].as_array().unwrap().iter().collect();
    let sorted = |mut ids: Vec<String>| {
        ids.sort();
        ids
    };
    let texts = |ids: &[&Value]| sorted(ids.iter().map(|id| id.to_string()).collect());
    assert_eq!(texts(&ids), texts(&output));
    assert_eq!(home.query("SELECT count(*) FROM comparison")[0][0], 1);
}

#[test]
#[ignore = "lab tier: takes minutes"]
fn all_named_workloads_are_compared() {
    let home = Home::new();
    let comparison = compare(&home, "sim:hdd", "sim:nvme", "--for all --time 2s --size 32MiB");
    let metrics: Vec<&str> =
        comparison["contrasts"].as_array().unwrap().iter().map(|one| one["metric"].as_str().unwrap()).collect();
    for metric in [
        "read.bw",
        "write.bw",
        "read.iops",
        "write.iops",
        "fdatasync.ops",
        "create.ops",
        "stat.ops",
        "unlink.ops",
        "txn.ops",
    ] {
        assert!(metrics.contains(&metric), "{metric} is missing from {metrics:?}");
    }
    assert_eq!(count(&verdicts(&comparison), &["slower"]), 0, "{comparison:#}");
}

/// Two sides with the same name are still distinguished.
#[test]
fn two_sides_of_one_name_are_called_a_and_b() {
    let home = Home::new();
    let comparison = compare(&home, "sim:ssd", "sim:ssd", "");
    let first = &comparison["contrasts"][0];
    assert_eq!((&first["baseline"], &first["candidate"]), (&"sim:ssd (A)".into(), &"sim:ssd (B)".into()));
}

/// The verdict from the numbers alone is kept next to the permitted claim.
#[test]
fn one_provisioning_a_side_makes_no_claim_about_a_factor_that_takes_one() {
    let home = Home::new();
    let (a, b) = ("sim:ssd?plot=6%", "sim:ssd?plot=6%&slow=20%");
    let one = compare(&home, a, b, "--varying sim");
    let first = &one["contrasts"][0];
    assert_eq!((&first["verdict"], &first["capped"]["code"]), (&"cannot-tell".into(), &"E1".into()));
    assert_eq!(first["capped"]["verdict"], "slower");
    let e1 = one["checks"].as_array().unwrap().iter().find(|check| check["code"] == "E1").unwrap();
    assert!(e1["remedy"].as_str().unwrap().contains("--plots 3"), "{e1}");
    // Changing a setting needs no new provisioning. Without a declared factor, the verdict is about these two.
    assert_eq!(verdict_on_rate(&compare(&home, a, b, "")), "slower");
    assert_eq!(verdict_on_rate(&compare(&home, a, b, "--varying scheduler")), "slower");
}

#[test]
fn with_plots_the_provisioning_is_the_sample() {
    let home = Home::new();
    let comparison = compare(&home, "sim:hdd?plot=2%", "sim:hdd?plot=2%&slow=30%", "--varying sim --plots 4");
    let first = &comparison["contrasts"][0];
    assert_eq!((&first["unit"], &first["blocks"]), (&"plot".into(), &4.into()));
    assert_eq!(first["verdict"], "slower");
    assert_eq!(comparison["plots"]["baseline"].as_array().unwrap().len(), 4);
    let runs = comparison["runs"].as_array().unwrap().len();
    assert!(runs >= 16 && runs.is_multiple_of(8), "whole rounds over the plots: {runs} runs");
    home.plumb("compare sim:hdd?plot=2% sim:hdd?plot=2%&slow=30% --plots 4 --no-store")
        .expect(0)
        .expect_stdout(&["4 plots", "places: sim:hdd?plot=2% #1"]);
}

/// Provisionings that differ by 6 % do not create winners, neither by the chance of the draw nor by many runs on each.
#[test]
fn provisionings_that_differ_make_no_winners() {
    let home = Home::new();
    let device = "sim:hdd?plot=6%";
    let all: Vec<String> = (0..10)
        .flat_map(|seed| {
            let more = format!("--varying sim --plots 3 --seed {seed}");
            verdicts(&compare(&home, device, device, &more))
        })
        .collect();
    assert!(count(&all, &["faster", "slower"]) <= 1, "{all:?}");
}

#[test]
fn several_places_are_given_with_commas() {
    let home = Home::new();
    let comparison = compare(&home, "sim:ssd,sim:ssd", "sim:nvme,sim:nvme", "");
    assert_eq!(comparison["contrasts"][0]["unit"], "plot");
    assert_eq!(verdict_on_rate(&comparison), "faster");
    for name in ["a", "b", "c,d"] {
        std::fs::create_dir(home.work().join(name)).unwrap();
    }
    let refused = |line: &str, why: &[&str]| drop(home.plumb(line).expect(2).expect_stderr(why));
    refused("compare a,./a b", &["names `./a` twice"]);
    refused("compare a,b sim:ssd", &["a,b has 2 places and sim:ssd has one place", "both at least two"]);
    refused("compare a b --plots 3", &["`--plots` only provisions simulated devices", "A1,A2,A3"]);
    refused("compare a,nowhere b,a", &["`nowhere` cannot be used"]);
    // A directory whose name contains a comma is a single target.
    home.plumb("compare c,d nowhere").expect(2).expect_stderr(&["`nowhere` cannot be used"]);
}

/// Among many numbers, one is expected to differ by chance: the correction is in the JSON and on the page.
#[test]
fn raw_and_corrected_p_are_both_printed() {
    let home = Home::new();
    let comparison = compare(&home, "sim:hdd", "sim:hdd?cv=3%", "--for random-read,fsync-log");
    let contrasts = comparison["contrasts"].as_array().unwrap();
    assert!(contrasts.len() >= 2);
    for contrast in contrasts {
        let p = |name: &str| contrast[name].as_f64().unwrap();
        assert!(p("p_adjusted") >= p("p"), "{contrast}");
    }
    assert!(contrasts.iter().any(|contrast| contrast["p_adjusted"].as_f64() > contrast["p"].as_f64()));
    home.plumb("compare sim:hdd sim:hdd?cv=3% --for random-read,fsync-log --no-store")
        .expect_stdout(&["p corrected for 4 comparisons (Holm)"]);
}

#[test]
fn drift_and_several_speeds_are_reported() {
    let home = Home::new();
    let found = |device: &str, code: &str| -> Option<String> {
        let comparison = compare(&home, device, device, "--seed 3");
        let checks = comparison["checks"].as_array().unwrap();
        let finding = checks.iter().find(|check| check["code"] == code && check["level"] == "warn");
        finding.map(|check| check["message"].as_str().unwrap().to_owned())
    };
    assert!(found("sim:hdd?drift=1%", "E5").unwrap().contains("from the first run to the last"));
    assert!(found("sim:hdd?bimodal=30%&bimodal-slow=40%", "E4").unwrap().contains("a fast and a slow group"));
    assert_eq!(found("sim:hdd", "E4").or(found("sim:hdd", "E5")), None);
    let page = home.plumb("compare sim:hdd?bimodal=30%&bimodal-slow=40% sim:hdd --seed 3 --no-store").out;
    assert!(page.contains("% of runs, "), "both speeds instead of one mean: {page}");
}

/// The JSON contains the comparison's own checks and its plan.
#[test]
fn checks_of_the_comparison_are_reported() {
    let home = Home::new();
    let comparison = compare(&home, "sim:hdd", "sim:hdd?slow=20%", "--for random-read,fsync-log --time 2s");
    let level = |code: &str| {
        let checks = comparison["checks"].as_array().unwrap();
        checks.iter().find(|check| check["code"] == code).map(|check| check["level"].as_str().unwrap().to_owned())
    };
    for code in ["D6", "D7", "E1", "E11", "E13"] {
        assert_eq!(level(code).as_deref(), Some("pass"), "{code}");
    }
    assert_eq!((level("E10").as_deref(), &comparison["planned"]), (Some("note"), &4.into()));
    assert_eq!(comparison["contrasts"].as_array().unwrap().len(), 2);
}

/// Protects: with one provisioning per side, more blocks are never advised, and
/// the comparison says so before it starts.
#[test]
fn one_provisioning_a_side_asks_for_no_more_blocks() {
    let home = Home::new();
    let line = "compare sim:ssd?cv=8% sim:ssd?cv=8%&slow=2% --varying fs --no-store";
    let output = home.plumb(line).expect_stderr(&["no verdict about fs"]);
    assert!(!output.out.contains("--budget"), "{}", output.out);
    let comparison = home.plumb(&format!("{line} --json")).json();
    for contrast in comparison["contrasts"].as_array().unwrap() {
        assert_eq!((&contrast["verdict"], &contrast["blocks_needed"]), (&"cannot-tell".into(), &Value::Null));
    }
}

#[test]
fn every_contrast_names_what_it_measured() {
    let home = Home::new();
    let comparison = compare(&home, "sim:ssd", "sim:ssd?slow=20%", "--for random-read");
    for contrast in comparison["contrasts"].as_array().unwrap() {
        assert_eq!((&contrast["baseline_tier"], &contrast["candidate_tier"]), (&"device".into(), &"device".into()));
    }
}

#[test]
fn lengths_of_nothing_are_refused() {
    let home = Home::new();
    for (option, output) in [("--budget 0s", "--budget 0s"), ("--time 0s", "--time 0s"), ("--size 0", "--size 0")] {
        home.plumb(&format!("compare sim:ssd sim:ssd {option}")).expect(2).expect_stderr(&[output]);
        home.plumb(&format!("noise sim:ssd {option}")).expect(2).expect_stderr(&[output]);
    }
    home.plumb("sweep depth=1,2 sim:ssd --time 0s").expect(2).expect_stderr(&["--time 0s"]);
    home.plumb("try sim:ssd --time 1ms").expect(2).expect_stderr(&["--time 1ms", "too short"]);
    home.plumb("try sim:ssd --size -5").expect(2).expect_stderr(&["-5", "--size"]);
}

// Protects: `--phase` excludes the numbers of other phases, and a misspelt phase stops before anything runs.
#[test]
fn a_comparison_can_be_of_one_phase() {
    let home = Home::new();
    let comparison = compare(&home, "sim:ssd", "sim:ssd?slow=20%", "--for small-files --phase create");
    let contrasts = comparison["contrasts"].as_array().unwrap();
    assert!(!contrasts.is_empty() && contrasts.iter().all(|one| one["phase"] == "create"), "{contrasts:#?}");
    assert_eq!(comparison["planned"], contrasts.len(), "other phases are not missing");
    let output = home.plumb("compare sim:ssd sim:ssd --for small-files --phase cretae").expect(2);
    output.expect_stderr(&["--phase cretae", "its phases: create, stat, read, delete"]);
}

// Protects: advice to run longer can be followed as printed.
#[test]
fn every_measuring_command_takes_a_length() {
    let home = Home::new();
    let length = |result: &Value| result["workload"]["phase"][0]["stop"]["time"].clone();
    let run = home.plumb("run random-read --at sim:ssd --time 300ms --json").expect(0).json();
    assert_eq!(length(&run), "300ms");
    let fit = home.plumb("fit-for etcd sim:nvme --time 2s --runs 3 --json").json();
    assert_eq!(fit["runs"].as_array().unwrap().len(), 3);
    assert_eq!(length(&home.plumb("show last --json").expect(0).json()), "2s");
}

// Protects: a stall of 200 ms in each run of one side changes no rate by 5 %, and `equivalent` must not hide it.
#[test]
fn equal_rates_do_not_hide_a_stall() {
    let home = Home::new();
    let line = "compare sim:ssd sim:ssd?stall=200ms --no-store";
    home.plumb(line).expect(0).expect_stdout(&[
        "are equivalent, within 5 %, in ",
        "; but the slowest read of sim:ssd?stall=200ms took 200 ms, against ",
        "slow ops (A | B)",
        "| 200 ms",
    ]);
    let comparison = home.plumb(&format!("{line} --json")).expect(0).json();
    let tail = &comparison["tails"][0];
    assert_eq!(tail["candidate"]["runs_beyond"], tail["candidate"]["runs"], "{tail}");
    assert_eq!(tail["baseline"]["runs_beyond"], 0, "{tail}");
    let alike = home.plumb("compare sim:ssd sim:ssd --no-store").expect(0).expect_stdout(&["slow ops (A | B)"]);
    assert!(!alike.out.contains("the slowest read"), "{}", alike.out);
}
