//! Every command answers, and what it publishes about itself is true.

use crate::common::{Home, needs, schema};
use serde_json::Value;
use std::process::Command;

/// Commands of `plumb --help`.
fn commands(home: &Home) -> Vec<String> {
    let help = home.plumb("--help").expect(0).out;
    let after = help.split("Commands:").nth(1).expect("help lists commands");
    let lines = after.lines().skip(1).take_while(|line| !line.trim().is_empty());
    // What a command does may go over several lines; those stand further in.
    lines
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .collect()
}

#[test]
fn every_command_has_help() {
    let home = Home::new();
    let commands = commands(&home);
    for known in [
        "try", "compare", "noise", "run", "check", "explain", "list", "show", "query", "tag", "export", "schema",
        "clean",
    ] {
        assert!(commands.iter().any(|command| command == known), "{known} is missing from {commands:?}");
    }
    for command in &commands {
        let said = home.plumb(&format!("help {command}")).expect(0);
        assert!(said.out.contains("Usage: plumb"), "{}", said.out);
        home.plumb(&format!("{command} --help")).expect(if command == "help" { 2 } else { 0 });
    }
    home.plumb("--version").expect(0).says(&["plumb 0."]);
    home.plumb("").expect(2).complains(&["Usage: plumb"]);
}

#[test]
fn the_manual_names_every_command_and_is_sound_roff() {
    let home = Home::new();
    let page = home.plumb("man").expect(0).out;
    assert!(page.contains(".TH plumb 1"), "{}", &page[..200.min(page.len())]);
    for command in commands(&home) {
        assert!(
            page.contains(&format!("plumb {command}")) || page.contains(&format!("plumb\\-{command}")),
            "{command}"
        );
    }
    if !needs::tools(&["groff"]) {
        return;
    }
    let path = home.file("plumb.1", &page);
    let mut groff = Command::new("groff");
    let output = groff.args(["-k", "-ww", "-man", "-Tutf8", "-z"]).arg(path).output().unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && complaints.is_empty(), "{complaints}");
}

#[test]
fn completions_know_every_command() {
    let home = Home::new();
    let commands = commands(&home);
    for shell in ["bash", "zsh", "fish"] {
        let script = home.plumb(&format!("completions {shell}")).expect(0).out;
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell} does not know {command}");
        }
        // Every shell reads its script as far as it is here; that of bash must be.
        let is_here = Command::new(shell).args(["-c", "true"]).status().is_ok_and(|status| status.success());
        if is_here || (shell == "bash" && needs::tools(&[shell])) {
            let path = home.file("script", &script);
            let output = Command::new(shell).arg("-n").arg(path).output().unwrap();
            assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// Behind `plumb as fio` bash knows fio's options and their words, and Plumb's own everywhere else.
#[test]
fn completions_know_the_options_of_fio() {
    if !needs::tools(&["bash"]) {
        return;
    }
    let home = Home::new();
    let script = home.plumb("completions bash").expect(0).out;
    home.file("script", &script);
    let completed = |words: &str| {
        let line = format!(
            "source ./script; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _plumb_or_fio plumb \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let output = Command::new("bash").args(["--norc", "-c", &line]).current_dir(home.work()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(completed("plumb as fio --iodepth_b").split(' ').count(), 3);
    assert_eq!(completed("plumb as fio --ioengine = io_"), "io_uring");
    assert_eq!(completed("plumb as fio --name=a --rw = randr"), "randread randrw");
    assert_eq!(completed("plumb as fio --rbdn"), "", "what is refused is not offered");
    assert_eq!(completed("plumb as iostat -x --hu"), "--human");
    assert_eq!(completed("plumb compl"), "completions");
}

#[track_caller]
pub(crate) fn fits(home: &Home, form: &str, document: &Value) {
    let schema = home.plumb(&format!("schema {form}")).expect(0).json();
    let problems = schema::problems(&schema, document);
    assert!(problems.is_empty(), "{form}: {problems:#?}");
}

/// The contract of the JSON form: the published schema holds, and so do the names that programs read.
#[test]
fn results_fit_their_schema() {
    let home = Home::new();
    let result = home.plumb("try sim:ssd --size 16MiB --time 100ms --json").expect(0).json();
    fits(&home, "result", &result);
    assert_eq!(result["schema"], "plumb.result/1");
    assert_eq!(result["tool"]["name"], "plumb");
    assert_eq!(result["id"].as_str().unwrap().len(), 36);
    assert!(result["started_at"].as_str().unwrap().ends_with('Z'));
    for part in ["workload", "environment", "target"] {
        assert!(result[part].is_object(), "{part}");
    }
    assert!(["pass", "caution", "reject", "unknown"].contains(&result["verdict"].as_str().unwrap()));
    for check in result["checks"].as_array().unwrap() {
        for part in ["code", "level", "observed", "threshold", "message", "remedy"] {
            assert!(check[part].is_string(), "{part} of {check}");
        }
    }
    let phases = result["phases"].as_array().unwrap();
    assert!(phases.len() > 5);
    for phase in phases {
        assert!(phase["name"].is_string() && phase["wall_ns"].is_u64());
        for (name, metric) in phase["metrics"].as_object().unwrap() {
            assert!(metric["value"].is_number() || metric["value"].is_null(), "{name}: {metric}");
            assert_ne!(metric["value"], 0, "{name}: missing is null, never 0");
            assert!(metric["unit"].is_string(), "{name}: {metric}");
            let is_rate = [".bw", ".iops", ".ops"].iter().any(|end| name.ends_with(end)) && name != "txn.ops";
            assert_eq!(metric.get("tier").is_some(), is_rate, "a tier on every rate, and on nothing else: {name}");
        }
    }
    fits(&home, "workload", &result["workload"]);
}

#[test]
fn comparisons_fit_their_schema() {
    let home = Home::new();
    let comparison = home.plumb("compare sim:ssd sim:nvme --for random-read --json").expect(0).json();
    fits(&home, "compare", &comparison);
    assert_eq!(comparison["schema"], "plumb.compare/1");
    assert!(comparison["verdict_note"].is_string());
    let first = &comparison["contrasts"][0];
    assert_eq!((&first["baseline"], &first["candidate"]), (&"sim:ssd".into(), &"sim:nvme".into()));
    let number = |name: &str| first[name].as_f64().unwrap();
    assert!(number("lo") < number("ratio") && number("ratio") < number("hi"));
    assert_eq!(first["verdict"], "faster");
    let blocks = first["blocks"].as_u64().unwrap();
    assert!(blocks >= 6);
    assert_eq!(comparison["runs"].as_array().unwrap().len() as u64, 2 * blocks);
}

/// A schema that allowed everything would prove nothing.
#[test]
fn the_schemas_refuse_what_is_wrong() {
    let home = Home::new();
    let schema = home.plumb("schema result").expect(0).json();
    let mut result = home.plumb("run random-read --at sim:ssd --set time=100ms --json").expect(0).json();
    result["verdict"] = "splendid".into();
    result["phases"][0]["metrics"]["read.bw"]["value"] = "fast".into();
    result.as_object_mut().unwrap().remove("checks");
    let problems = schema::problems(&schema, &result);
    for place in ["$.verdict", "$.phases[0].metrics.read.bw.value", "`checks` is missing"] {
        assert!(problems.iter().any(|problem| problem.contains(place)), "{place}: {problems:#?}");
    }
}

#[test]
fn every_check_is_explained() {
    let home = Home::new();
    let all = home.plumb("explain").expect(0).out;
    // The rules of published numbers are listed too, and explained more briefly.
    let checks = all.lines().filter(|line| !line.ends_with("(plumb audit)"));
    let codes: Vec<&str> = checks.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(codes.len() < all.lines().count() && codes.len() >= 24, "{codes:?}");
    for code in codes {
        home.plumb(&format!("explain {code}")).expect(0).says(&[code, "What", "Why", "How", "Threshold"]);
    }
    home.plumb("explain a3").expect(0).says(&["A3 · Write not flushed"]);
    home.plumb("explain Z9").expect(2).complains(&["unknown check `Z9`", "A1"]);
}

/// What `--translate` prints is the same workload again.
#[test]
fn a_translated_workload_translates_to_itself() {
    let home = Home::new();
    for name in
        ["stream-read", "stream-write", "random-read", "random-write", "fsync-log", "small-files", "mail", "database"]
    {
        let text = home.plumb(&format!("run {name} --translate")).expect(0).out;
        home.file("again.toml", &text);
        assert_eq!(home.plumb("run again.toml --translate").expect(0).out, text, "{name}");
    }
}
