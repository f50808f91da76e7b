//! `plumb gate` on simulated devices: its answers, exit codes and files.

use crate::commands::fits;
use crate::common::Home;
use serde_json::Value;

fn gate(home: &Home, baseline: &str, candidate: &str, more: &str) -> (i32, Value) {
    let output = home.plumb(&format!("gate --baseline {baseline} --candidate {candidate} --json --no-store {more}"));
    (output.code, output.json())
}

#[test]
fn each_answer_has_its_exit_code_and_fits_the_schema() {
    let home = Home::new();
    for (baseline, candidate, more, code, answer) in [
        ("sim:ssd", "sim:ssd", "", 0, "pass"),
        ("sim:ssd", "sim:ssd?slow=20%", "", 1, "regression"),
        ("sim:ssd?slow=20%", "sim:ssd", "", 0, "pass"),
        ("sim:ssd?cv=15%", "sim:ssd?cv=15%", "", 6, "cannot-tell"),
        ("sim:ssd?cv=15%", "sim:ssd?cv=15%", "--allow-cannot-tell", 0, "cannot-tell"),
        ("sim:ssd", "sim:ssd?slow=10%", "--margin 20%", 0, "pass"),
    ] {
        let (found, gate) = gate(&home, baseline, candidate, more);
        assert_eq!((found, &gate["answer"]), (code, &answer.into()), "{baseline} {candidate} {more}: {gate:#}");
        assert_eq!(gate["schema"], "plumb.gate/1");
        fits(&home, "gate", &gate);
    }
}

// Protects: a candidate that leaves work behind does not pass because the baseline pays for it.
#[test]
fn a_candidate_that_leaves_unfinished_work_does_not_pass() {
    let home = Home::new();
    let (code, open) = gate(&home, "sim:ssd?cv=2%", "sim:ssd?cv=2%&slow=5%&carry=10%", "");
    assert_eq!((code, &open["answer"]), (6, &"cannot-tell".into()), "{open:#}");
    assert!(open["checks"].as_array().unwrap().iter().any(|check| check["code"] == "E15"), "{open:#}");
    let (code, settled) = gate(&home, "sim:ssd?cv=2%", "sim:ssd?cv=2%&carry=10%", "--settle 10s");
    assert_eq!((code, &settled["answer"]), (0, &"pass".into()), "{settled:#}");
    fits(&home, "gate", &settled);
}

// Protects: a gate without a verdict names the options to run longer, and following them gives a verdict.
#[test]
fn an_undecided_gate_names_options_that_decide() {
    let home = Home::new();
    let device = "sim:ssd?cv=8%";
    let (code, open) = gate(&home, device, device, "--time 200ms --budget 3s --seed 3");
    assert_eq!(code, 6, "{open:#}");
    let options = open["needed"]["options"].as_str().unwrap();
    let (code, decided) = gate(&home, device, device, &format!("--time 200ms {options} --seed 4"));
    assert_eq!((code, &decided["answer"]), (0, &"pass".into()), "{options}: {decided:#}");
    let (_, until) = gate(&home, device, device, "--time 200ms --until-decided --seed 5");
    assert_ne!(until["answer"], "cannot-tell", "{until:#}");
}

// Protects: a gate that could not measure a number, or whose runs are rejected, does not pass.
#[test]
fn what_is_missing_or_rejected_never_passes() {
    let home = Home::new();
    let (code, gate_of_disk) = gate(&home, "sim:hdd", "sim:hdd", "--time 2s");
    assert_eq!((code, &gate_of_disk["answer"]), (6, &"cannot-tell".into()), "{gate_of_disk:#}");
    assert!(gate_of_disk["missing"][0].as_str().unwrap().starts_with("random-read read.lat.p99: "), "{gate_of_disk:#}");
    let (code, rate) = gate(&home, "sim:hdd", "sim:hdd", "--time 2s --metrics read.iops");
    assert_eq!((code, &rate["answer"]), (0, &"pass".into()), "{rate:#}");
    // Half of the candidate's reads are answered by a cache.
    let (code, rejected) = gate(&home, "sim:ssd", "sim:ssd?errors=5%", "");
    assert_eq!(
        (code, &rejected["answer"], &rejected["rejected"]),
        (3, &"cannot-tell".into(), &true.into()),
        "{rejected:#}"
    );
    let shown = &rejected["rejected_numbers"][0];
    assert!(shown["candidate_value"].as_f64() > Some(0.0) && shown["rejected"] == true, "{rejected:#}");
    fits(&home, "gate", &rejected);
    let allowed = home.plumb("gate --baseline sim:ssd --candidate sim:ssd?errors=5% --allow-cannot-tell --no-store");
    allowed.expect(3);
}

#[test]
fn pipelines_get_their_files() {
    let home = Home::new();
    let mut command = home.command(
        "gate --baseline sim:ssd --candidate sim:ssd?slow=20% --no-store --github --junit j.xml --md m.md --bencher b.json"
            .split(' '),
    );
    let summary = home.file("summary.md", "before\n");
    let output = crate::common::CommandOutput::run({
        command.env("GITHUB_STEP_SUMMARY", &summary);
        command
    });
    let output = output
        .expect(1)
        .expect_stdout(&["::error title=plumb gate%3A regression::Regression: sim:ssd?slow=20%25 is worse"]);
    assert!(output.out.contains("At most 5 % of gates of an unchanged system answer"), "{}", output.out);
    let read = |name: &str| std::fs::read_to_string(home.work().join(name)).unwrap();
    assert!(read("j.xml").contains("<failure message="));
    assert!(read("m.md").starts_with("### ❌ Plumb gate: regression\n"));
    assert_eq!(read("summary.md"), format!("before\n{}", read("m.md")));
    let bencher: Value = plumb_document::json::from_str(&read("b.json")).unwrap();
    assert!(bencher["random-read"]["read-iops"]["value"].as_f64().unwrap() > 1000.0, "{bencher:#}");
}

/// Returns a session of a pipeline with a history of its own.
fn session(home: &Home, device: &str, more: &str) -> crate::common::CommandOutput {
    home.plumb(&format!(
        "gate --candidate {device} --keep base.json --time 200ms --metrics read.iops --no-store {more}"
    ))
}

fn kept(home: &Home, file: &str) -> Vec<Value> {
    plumb_document::json::from_str(&std::fs::read_to_string(home.work().join(file)).unwrap()).unwrap()
}

/// Returns the answers stored with the runs in a file, one for each session of six runs.
fn answers(home: &Home, file: &str) -> Vec<String> {
    let of = |run: &Value| match &run["gated"] {
        gated if gated["suspected"] == true => "suspected".to_owned(),
        gated => gated["answer"].as_str().unwrap_or("none").to_owned(),
    };
    let all: Vec<String> = kept(home, file).iter().map(of).collect();
    assert!(all.chunks(6).all(|session| session.iter().all(|one| *one == session[0])), "{all:?}");
    all.chunks(6).map(|session| session[0].clone()).collect()
}

// Protects: a history of too few sessions makes no claim. A sufficient one suspects a worse session, calls a second one
// a regression, and keeps both: a history without its bad sessions would look steadier than the machine is.
#[test]
fn a_second_session_makes_a_suspected_one_a_regression() {
    let home = Home::new();
    let output = session(&home, "sim:ssd?session=1%", "").expect(6);
    output.expect_stdout(&["base.json has no runs yet"]).expect_stderr(&["6 runs of 1 session"]);
    for _ in 1..5 {
        let output = session(&home, "sim:ssd?session=1%", "").expect(6);
        output.expect_stdout(&["fewer than 5 sessions say too little of how sessions differ"]);
    }
    let judge = |device: &str| {
        home.plumb(&format!("gate --baseline base.json --candidate {device} --metrics read.iops --json --no-store"))
    };
    let pass = judge("sim:ssd?session=1%").expect(0).json();
    fits(&home, "gate", &pass);
    assert_eq!((&pass["design"], &pass["baseline"]["sessions"]), (&"history".into(), &5.into()), "{pass:#}");
    assert_eq!((&pass["numbers"][0]["unit"], &pass["numbers"][0]["units"]), (&"session".into(), &5.into()));

    let first = session(&home, "sim:ssd?session=1%&slow=25%", "--json").expect(7).json();
    fits(&home, "gate", &first);
    assert_eq!((&first["answer"], &first["suspected"]), (&"cannot-tell".into(), &true.into()), "{first:#}");
    let note = first["note"].as_str().unwrap();
    assert!(
        note.starts_with("Suspected: ") && note.contains("run the same command again more than 60 min later"),
        "{note}"
    );
    let second = session(&home, "sim:ssd?session=1%&slow=25%", "--json").expect(1).json();
    assert_eq!(
        (&second["candidate"]["sessions"], &second["baseline"]["sessions"]),
        (&2.into(), &5.into()),
        "{second:#}"
    );
    assert!(second["note"].as_str().unwrap().ends_with("2 sessions agree."), "{second:#}");
    let third = session(&home, "sim:ssd?session=1%&slow=25%", "").expect(6);
    third.expect_stdout(&["was a regression. It is part of the history"]);
    let answers = answers(&home, "base.json");
    assert_eq!(answers[5..], ["suspected", "regression", "cannot-tell"]);
    // The file contains results, which the store imports.
    home.plumb("import base.json").expect(0);
    assert_eq!(home.query("SELECT count(*) FROM run")[0][0], 48);
    let stored = home.plumb("gate --baseline work:random-read --candidate last --json").json();
    assert_eq!(
        (&stored["candidate"]["source"], &stored["design"]),
        (&"stored".into(), &"history".into()),
        "{stored:#}"
    );
}

// Protects: a single bad session does not fail a pipeline, and joins the history once the next one is good.
#[test]
fn a_session_that_the_next_one_does_not_confirm_is_released() {
    let home = Home::new();
    for _ in 0..8 {
        session(&home, "sim:ssd?session=1%", "");
    }
    // Old files have no answers, and stay readable.
    let mut old = kept(&home, "base.json");
    old.iter_mut().for_each(|run| drop(run.as_object_mut().unwrap().remove("gated")));
    std::fs::write(home.work().join("base.json"), plumb_document::json::to_string(&old).unwrap()).unwrap();
    session(&home, "sim:ssd?session=1%&slow=30%", "--allow-cannot-tell").expect(0).expect_stdout(&["Suspected: "]);
    let next = session(&home, "sim:ssd?session=1%", "--json");
    assert_ne!(next.code, 1, "{}", next.out);
    assert_eq!(next.json()["baseline"]["sessions"], 9);
    let answers = answers(&home, "base.json");
    assert_eq!((answers[7].as_str(), answers[8].as_str(), answers.len()), ("none", "suspected", 10));
}

// Protects: a pull request, judged against the main branch's history, keeps its sessions in a separate file.
#[test]
fn a_candidate_may_have_a_file_of_its_own() {
    let home = Home::new();
    for _ in 0..8 {
        session(&home, "sim:ssd?session=1%", "");
    }
    let before = std::fs::read(home.work().join("base.json")).unwrap();
    let own = || {
        home.plumb(
            "gate --baseline base.json --candidate sim:ssd?session=1%&slow=25% --keep own.json --metrics read.iops --no-store",
        )
    };
    own().expect(7);
    own().expect(1);
    assert_eq!(answers(&home, "own.json"), ["suspected", "regression"]);
    assert_eq!(std::fs::read(home.work().join("base.json")).unwrap(), before);
    // Both sessions at once are equivalent to two separate ones.
    home.plumb("gate --baseline base.json --candidate own.json --metrics read.iops --no-store").expect(1);
}

// Protects: after a change of level, earlier sessions are not used for comparison.
#[test]
fn only_sessions_since_the_last_change_count() {
    let home = Home::new();
    for session_number in 0..14 {
        let slow = if session_number < 7 { "&slow=40%" } else { "" };
        session(&home, &format!("sim:ssd?session=1%{slow}"), "--seed 2");
    }
    let gate = home
        .plumb(
            "gate --baseline base.json --candidate sim:ssd?session=1% --metrics read.iops --json --no-store --seed 2",
        )
        .json();
    let number = &gate["numbers"][0];
    assert_eq!(number["changes"].as_array().map(Vec::len), Some(1), "{gate:#}");
    assert_eq!(number["changes"][0]["at"], kept(&home, "base.json")[7 * 6]["started_at"], "{number:#}");
    assert_eq!((&number["units"], &gate["answer"]), (&7.into(), &"pass".into()), "{gate:#}");
}

#[test]
fn what_cannot_be_judged_is_refused_with_a_way_out() {
    let home = Home::new();
    home.file("text.json", "[]");
    for (line, output) in [
        ("gate --candidate sim:ssd", "name --baseline, or a file to keep runs in: --keep FILE"),
        ("gate --baseline sim:ssd --candidate sim:ssd --margin 0", "such as `5%`"),
        ("gate --baseline sim:ssd --candidate ./nothing", "`./nothing` is neither a directory nor a file of results"),
        ("gate --baseline sim:ssd --candidate sim:ssd --metrics write.bw", "there is read.iops, read.lat.p99"),
        ("gate --baseline sim:ssd --candidate sim:ssd --keep b.json", "there is nothing to keep"),
        ("gate --baseline sim:ssd --candidate text.json", "name a file or stored runs for --baseline"),
        ("gate --baseline sim:ssd --candidate sim:ssd --junit no/such/place.xml", "no/such/place.xml"),
    ] {
        home.plumb(line).expect(2).expect_stderr(&[output]);
    }
}
