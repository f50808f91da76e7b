//! Whole studies on simulated devices: run, killed, resumed, answered.

use crate::commands::fits;
use crate::common::Home;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Provisionings and runs vary, and the second device is half as fast again.
pub(crate) const STUDY: &str = r#"
[experiment]
name     = "two-disks"
question = "Which disk reads faster?"
seed     = 7

[[factor]]
name   = "device"
levels = ["sim:ssd?plot=2%&cv=1%", "sim:ssd?plot=2%&cv=1%&slow=50%"]
change = "hard"

[[factor]]
name   = "depth"
levels = [1, 4]

[target]
path = "${device}"

[workload]
random-read = { size = "64MiB", depth = "${depth}", direct = true, time = "1s" }

[design]
plots  = 2
repeat = 2

[compare]
by      = "device"
within  = ["depth"]
metrics = ["read.iops"]
"#;

fn studies(home: &Home) -> Vec<Value> {
    home.plumb("study list --json").expect(0).json().as_array().unwrap().clone()
}

/// Returns ids and results of all runs of the studies, in order.
fn results(home: &Home) -> Vec<String> {
    let rows = home.query("SELECT run_id FROM study_run WHERE run_id IS NOT NULL ORDER BY study_id, seq");
    rows.iter().map(|row| row[0].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_study_is_killed_resumed_and_answered_without_a_run_lost_or_repeated() {
    let home = Home::new();
    home.file("two-disks.toml", STUDY);
    let mut child = home.start("study run two-disks.toml");
    let began = Instant::now();
    let done = || studies(&home).first().map_or(0, |study| study["ended"].as_u64().unwrap());
    while done() < 3 {
        assert!(began.elapsed() < Duration::from_secs(300), "three runs should have ended");
        assert!(child.try_wait().unwrap().is_none(), "it should go on");
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = results(&home);
    assert!((3..16).contains(&before.len()), "{}", before.len());
    let killed = &studies(&home)[0];
    assert_eq!((&killed["running"], &killed["done"]), (&false.into(), &false.into()));
    home.plumb("study list").expect(0).expect_stdout(&["two-disks", "of 16 runs", "to be resumed"]);

    home.plumb("study resume two-disks.toml").expect(0).expect_stdout(&["is slower than"]);
    let after = results(&home);
    assert_eq!(after.len(), 16);
    assert_eq!(after.iter().filter(|run| before.contains(run)).count(), before.len(), "what had ended is kept");
    assert_eq!(home.query("SELECT count(*) FROM run")[0][0], 16, "and nothing was run again");

    let report = home.plumb("study report two-disks.toml --json").expect(0).json();
    fits(&home, "study-report", &report);
    assert_eq!((&report["schema"], &report["counts"]["done"]), (&"plumb.study/1".into(), &16.into()));
    assert_eq!(report["cells"].as_array().unwrap().len(), 4);
    // Other programs' use of this machine's disks does not affect a simulated device, which has its declared
    // properties.
    assert!(report["cells"].as_array().unwrap().iter().all(|cell| cell["devices"].as_array().unwrap().is_empty()));
    assert_eq!(report["undeclared"].as_array().unwrap().len(), 0, "{:#}", report["undeclared"]);
    for contrast in report["contrasts"].as_array().unwrap() {
        assert_eq!(
            (&contrast["verdict"], &contrast["unit"], &contrast["blocks"]),
            (&"slower".into(), &"plot".into(), &2.into())
        );
        // Runs and provisionings of a simulated device must differ, or there would be nothing to learn.
        assert!(contrast["baseline_cv"].as_f64().unwrap() > 0.001, "{contrast:#}");
    }
    let values = home.query(
        "SELECT count(DISTINCT value.value) FROM value JOIN study_run USING (run_id) WHERE metric = 'read.iops'",
    );
    assert_eq!(values[0][0], 16);
    home.plumb("study report two-disks --md").expect(0).expect_stdout(&["# two-disks", "| verdict |", "## Trust"]);
}

#[test]
fn a_changed_file_is_another_study() {
    let home = Home::new();
    home.file("two-disks.toml", STUDY);
    home.plumb("study run two-disks.toml --scale none").expect(2);
    assert!(studies(&home).is_empty(), "what cannot be planned is no study");
    let mut child = home.start("study run two-disks.toml");
    let began = Instant::now();
    while studies(&home).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(300));
        std::thread::sleep(Duration::from_millis(50));
    }
    let busy = home.plumb("study resume two-disks.toml");
    assert!(busy.code == 2 && busy.err.contains("another process"), "{busy:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    home.file("two-disks.toml", &STUDY.replace("plots  = 2", "plots  = 3"));
    let refused = home.plumb("study resume two-disks.toml");
    assert!(refused.code == 2 && refused.err.contains("has changed since study"), "{refused:?}");
    // A comment does not change the study.
    home.file("two-disks.toml", &format!("# a remark\n{STUDY}"));
    home.plumb("study resume two-disks.toml").expect(0);
}

#[test]
fn a_study_needs_a_store_and_a_name() {
    let home = Home::new();
    home.file("two-disks.toml", STUDY);
    let refused = home.plumb("study run two-disks.toml --no-store");
    assert!(refused.code == 2 && refused.err.contains("stored run by run"), "{refused:?}");
    let none = home.plumb("study report nothing");
    assert!(none.code == 2 && none.err.contains("plumb study list"), "{none:?}");
    home.plumb("study list").expect(0).expect_stdout(&["No studies are stored"]);
}

/// Conformance rules next to a number, in one directory; Linux breaks one of them.
const RULES: &str = r#"
[experiment]
name     = "rules"
question = "Which rules hold here, and how fast is it written to?"

[workload.rules]
posix = { only = ["make.regular", "unlink.directory-eperm", "chown.nothing-ctime"], level = "common" }

[workload.log]
write = { size = "1MiB", block = "16KiB" }

[design]
plots  = 1
repeat = 2

[target]
path = "PLACE"
"#;

// Protects: conformance is an outcome of a study: in its report, its page, its workbook and its store. A file system
// that breaks rules does not fail a run.
#[cfg(target_os = "linux")]
#[test]
fn a_study_has_conformance_as_an_outcome() {
    let home = Home::new();
    home.file("study.toml", &RULES.replace("PLACE", home.work().to_str().unwrap()));
    let output = home.plumb("study run study.toml --exploratory");
    assert!(output.code == 0 || output.code == 3, "{}", output.err);
    let answer = output.out.lines().find(|line| line.starts_with("Rules of ")).unwrap_or_default();
    assert!(answer.starts_with("Rules of POSIX, Linux's manual and what is common (rules): "), "{}", output.out);
    assert!(answer.contains("break none") || answer.contains("breaks none"), "{answer}");
    assert!(
        output.out.contains("Conformance: rules") && output.out.contains("unlink.directory-eperm"),
        "{}",
        output.out
    );
    let report = home.plumb("study report last --json").json();
    let setup = &report["conformance"][0]["setups"][0];
    assert_eq!((&setup["runs"], &setup["failures"]), (&2.into(), &0.into()), "{setup}");
    let counts = setup["counts"].as_array().unwrap();
    let of = |outcome: &str| counts.iter().find(|one| one["outcome"] == outcome).map(|one| one["cases"].clone());
    assert_eq!((of("expected-fail"), of("pass")), (Some(2.into()), Some(1.into())), "{setup}");
    let differing = report["conformance"][0]["differing"].as_array().unwrap();
    assert!(differing.iter().all(|case| case["fails"] == true) && differing.len() == 2, "{differing:?}");
    assert_eq!(home.query("SELECT count(*) FROM study_run JOIN conformance ON conformance.id = conformance_id"), [[2]]);
    home.plumb("report last --xlsx book.xlsx").expect(0);
    home.file("broken.toml", &RULES.replace("level = \"common\"", "level = \"strict\"").replace("PLACE", "/tmp"));
    let output = home.plumb("study plan broken.toml --exploratory").expect(2);
    assert!(output.err.contains("broken.toml:7:"), "{}", output.err);
    home.file("device.toml", &RULES.replace("PLACE", "sim:ssd"));
    let output = home.plumb("study plan device.toml --exploratory").expect(2);
    assert!(output.err.contains("the rules are those of file systems"), "{}", output.err);
}
