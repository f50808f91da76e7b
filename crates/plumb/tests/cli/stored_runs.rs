//! Comparisons of stored runs, without measuring.

use crate::commands::fits;
use crate::common::Home;
use crate::study_question::measured;
use serde_json::Value;

fn compare(home: &Home, a: &str, b: &str, more: &[&str]) -> Value {
    let arguments = ["compare", "--from-store", a, b, "--json"].into_iter().chain(more.iter().copied());
    home.plumb_args(arguments).expect(0).json()
}

/// Makes a tagged run.
fn run(home: &Home, device: &str, tag: &str, seed: u32) {
    home.plumb(&format!("run random-read --at {device} --set time=200ms --set size=16MiB --seed {seed}")).expect(0);
    home.plumb(&format!("tag last {tag}")).expect(0);
}

// Protects: the order in which runs were made decides which claims are allowed.
#[test]
fn runs_that_took_turns_are_compared_and_others_are_shown() {
    let home = Home::new();
    for seed in 0..6 {
        let sides = [("sim:ssd", "old"), ("sim:ssd?slow=30%", "new")];
        for (device, tag) in if seed % 2 == 0 { sides } else { [sides[1], sides[0]] } {
            run(&home, device, tag, seed);
        }
    }
    let turns = compare(&home, "old", "new", &[]);
    fits(&home, "compare", &turns);
    assert_eq!(turns["stored"]["works"][0]["interleaving"], "pairs");
    assert_eq!((&turns["contrasts"][0]["verdict"], &turns["contrasts"][0]["blocks"]), (&"slower".into(), &6.into()));
    assert_eq!(turns["order"][0], "AB");
    home.plumb("compare --from-store old new").expect(0).expect_stdout(&[
        "new is slower than old",
        "exploratory",
        "A: old (6 runs",
    ]);
    for seed in 0..6 {
        run(&home, "sim:ssd?slow=30%", "late", 10 + seed);
    }
    let apart = compare(&home, "tag:old", "tag:late", &["--metrics", "iops"]);
    fits(&home, "compare", &apart);
    let contrast = &apart["contrasts"][0];
    assert_eq!((&contrast["verdict"], &contrast["capped"]["code"]), (&"cannot-tell".into(), &"D8".into()));
    assert_eq!(contrast["capped"]["verdict"], "slower");
    home.plumb("compare --from-store tag:old tag:late").expect(0).expect_stdout(&[
        "Not interleaved: a difference may be one of time",
        "fail D8",
        "if D8 is ignored: slower",
    ]);
    home.plumb("explain D8").expect(0).expect_stdout(&["Interleaved in time"]);
    // Nothing was measured, and no claim is stored.
    assert_eq!(home.query("SELECT count(*) FROM run")[0][0], 18);
    assert_eq!(home.query("SELECT count(*) FROM comparison")[0][0], 0);
}

#[test]
fn levels_of_a_study_are_selected_and_its_plots_are_the_samples() {
    let home = measured();
    let select = |device: &str| format!("study:three-disks device={device} depth=4");
    let [one, other] = ["sim:ssd?plot=1%&cv=1%", "sim:ssd?plot=1%&cv=1%&slow=50%"].map(select);
    let comparison = compare(&home, &one, &other, &["--metrics", "read.iops"]);
    let contrast = &comparison["contrasts"][0];
    assert_eq!((&contrast["unit"], &contrast["blocks"]), (&"plot".into(), &3.into()));
    assert!(comparison["notes"].to_string().contains("plumb study report three-disks"), "{:#}", comparison["notes"]);
    // Two depths are different workloads.
    let mixed = compare(&home, "study:three-disks depth=1", "study:three-disks depth=4", &[]);
    assert_eq!(mixed["contrasts"][0]["capped"]["code"], "D6");
}

#[test]
fn what_selects_nothing_is_refused_with_what_there_is() {
    let home = Home::new();
    run(&home, "sim:ssd", "nightly", 1);
    for (a, b, output) in [
        ("nightly", "nightly", "is on both sides"),
        ("nightly", "tag:nightli", "`tag:nightli` selects no run; there is `nightly`"),
        ("work:mail", "nightly", "`work:mail` selects no run; there is `random-read`"),
        ("nightly", "depth=4", "without its study"),
        ("nightly", "host:x", "none of tag, work, path, run and study"),
        ("nightly", "nothing", "is neither a tag nor a run; there is `nightly`"),
        ("SELECT name FROM run", "nightly", "the first column must be ids of runs"),
        ("DELETE FROM run", "nightly", "neither a tag nor a run"),
    ] {
        home.plumb_args(["compare", "--from-store", a, b]).expect(2).expect_stderr(&[output]);
    }
    home.plumb("compare --from-store nightly last --budget 1m").expect(2).expect_stderr(&["cannot be used with"]);
    home.plumb("compare sim:ssd sim:hdd --metrics bw").expect(2).expect_stderr(&["--from-store"]);
}
