//! Studies in parts: each plot measured by a process with a database of its own, and put together afterwards.

use crate::common::Home;
use serde_json::Value;

/// Returns the number of plots of a study file.
pub(crate) fn count_plots(home: &Home, file: &str) -> usize {
    home.plumb(&format!("study plan {file} --json")).expect(0).json()["plots"].as_array().unwrap().len()
}

/// Returns the verdicts of a report, without ids and times.
fn claims(report: &Value) -> Vec<Value> {
    let contrasts = report["contrasts"].as_array().unwrap();
    assert!(!contrasts.is_empty());
    contrasts.iter().map(|one| serde_json::json!([one["metric"], one["ratio"], one["verdict"]])).collect()
}

// Protects the answer of a study that an array of jobs measures: it is the one of the undivided study, whichever parts come
// first, and nothing counts twice.
#[test]
fn parts_give_the_answer_of_the_whole_study() {
    let (whole, home) = (Home::new(), Home::new());
    for home in [&whole, &home] {
        home.file("two-disks.toml", crate::study_conduct::STUDY);
    }
    let expected = whole.plumb("study run two-disks.toml --json").expect(0).json();
    let plots = count_plots(&home, "two-disks.toml");
    assert!(plots > 1);
    for plot in 1..=plots {
        let run = home.plumb(&format!("study run two-disks.toml --plot {plot} --db {plot}.db")).expect(0);
        run.expect_stdout(&[&format!("plot {plot} of {plots}: "), "0 failed"]);
    }
    // Some parts, then all: what was there already is not taken again.
    home.plumb("study gather 1.db")
        .expect(0)
        .expect_stderr(&["gathered 1 plot into study", "missing: gather the others"]);
    let parts: Vec<String> = (1..=plots).map(|plot| format!("{plot}.db")).collect();
    let gather = format!("study gather {} --json", parts.join(" "));
    let output = home.plumb(&gather).expect(0);
    let (report, rest) = (output.json(), plots - 1);
    output.expect_stderr(&[&format!("gathered {rest} plot")]);
    assert_eq!(claims(&report), claims(&expected));
    assert_eq!(report["counts"], expected["counts"]);
    home.plumb(&gather).expect(0).expect_stderr(&["gathered 0 plots"]);
    let studies = home.plumb("study list --json").expect(0).json();
    assert_eq!(studies.as_array().unwrap().len(), 1, "{studies}");
    assert_eq!(studies[0]["done"], true, "{studies}");
    let runs = |home: &Home| home.query("SELECT count(*) FROM run")[0][0].clone();
    assert_eq!(runs(&home), runs(&whole));
}

// Protects against mixing: parts of other plans, unfinished plots and plots that the plan lacks are named, not taken.
#[test]
fn what_does_not_fit_is_not_gathered() {
    let home = Home::new();
    home.file("two-disks.toml", crate::study_conduct::STUDY);
    let plots = count_plots(&home, "two-disks.toml");
    home.plumb(&format!("study run two-disks.toml --plot {}", plots + 1)).expect(2).expect_stderr(&["the plan has"]);
    home.plumb("study run two-disks.toml --plot 1 --db 1.db").expect(0);
    home.plumb("study run two-disks.toml --plot 2 --db 2.db --seed 4711").expect(0);
    home.plumb("study gather 1.db 2.db").expect(2).expect_stderr(&["1.db and 2.db hold studies of different plans"]);
    home.plumb("study gather 1.db none.db").expect(2).expect_stderr(&["none.db is not a file"]);
    home.plumb("run random-read --at sim:ssd --db run.db").expect_measured();
    home.plumb("study gather run.db").expect(2).expect_stderr(&["holds no study"]);
    assert!(home.plumb("study list --json").expect(0).json().as_array().unwrap().is_empty());
    // A plot of which a run is open, as after a kill.
    home.plumb("study resume --plot 2 --db 1.db").expect(0);
    let open = "UPDATE study_run SET status = 'planned', run_id = NULL WHERE seq = (SELECT min(seq) FROM study_run WHERE plot = 1)";
    rusqlite::Connection::open(home.work().join("1.db")).unwrap().execute(open, []).unwrap();
    home.plumb("study gather 1.db").expect(0).expect_stderr(&["1 unfinished plot left out", "gathered 1 plot into"]);
}
