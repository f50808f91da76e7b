//! Every command answers, and its self-description is correct.

use crate::common::{CommandOutput, Home, flat, needs, schema};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the commands of `plumb --help`.
fn commands(home: &Home) -> Vec<String> {
    let help = home.plumb("--help").expect(0).out;
    let after = help.split("Commands:").nth(1).expect("help lists commands");
    let lines = after.lines().skip(1).take_while(|line| !line.trim().is_empty());
    // A description can have several lines; continuation lines are indented further.
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
        let output = home.plumb(&format!("help {command}")).expect(0);
        assert!(output.out.contains("Usage: plumb"), "{}", output.out);
        home.plumb(&format!("{command} --help")).expect(if command == "help" { 2 } else { 0 });
    }
    home.plumb("--version").expect(0).expect_stdout(&["plumb 0."]);
    let mut bare = home.command::<&str>([]);
    bare.env("PLUMB_DB", "results.db");
    for output in [home.plumb(""), CommandOutput::run(bare)] {
        let output = output.expect(2).expect_stderr(&["plumb try [PATH]", "Examples:", "plumb --help"]);
        assert!(!output.err.contains("error:"), "{}", output.err);
        let commands = output.err.lines().filter(|line| line.starts_with("  plumb ")).count();
        assert!(commands == 8 && output.err.lines().count() < 16, "six commands and two examples: {}", output.err);
    }
    home.plumb("--help").expect(0).expect_stdout(&[
        "Commands: Measure storage: try",
        "Compare: compare",
        "Results: list",
    ]);
}

/// Mistyped commands are suggested, and missing arguments are listed.
#[test]
fn a_slip_is_answered_with_what_was_meant() {
    let home = Home::new();
    home.plumb("tyr /mnt").expect(2).expect_stderr(&["unrecognized subcommand 'tyr'", "'try'"]);
    home.plumb("study check disk.toml").expect(2).expect_stderr(&["'plumb check'"]);
    home.plumb("resume disk.toml").expect(2).expect_stderr(&["'plumb study resume'"]);
    home.plumb("study pln x").expect(2).expect_stderr(&["'plan'"]);
    home.plumb("as").expect(0).expect_stdout(&["iozone", "Bonnie++", "plumb as fio --name=a"]);
    assert!(home.plumb("as --json").expect(0).json().as_array().unwrap().len() > 20);
    home.plumb("fit-for").expect(0).expect_stdout(&["etcd"]);
    home.plumb("fit-for --limit play/read.bw>1").expect(2).expect_stderr(&["name one first"]);
}

/// Options that permit overwriting exist for commands that overwrite, and for no others.
#[test]
fn permissions_are_offered_where_something_is_written() {
    let home = Home::new();
    let offers = |command: &str, option: &str| home.plumb(&format!("{command} --help")).expect(0).out.contains(option);
    for command in ["", "watch", "completions", "list", "show", "explain", "net", "posix", "check", "study plan"] {
        assert!(!offers(command, "--destroy <") && !offers(command, "--plumb-allow <"), "{command}");
    }
    for command in ["try", "run", "as", "compare", "verify-capacity", "study run", "trace replay"] {
        assert!(offers(command, "--destroy <") && offers(command, "--plumb-allow <"), "{command}");
    }
    assert!(offers("try", "--no-store") && !offers("list", "--no-store"));
    let manual = home.plumb("man list").expect(0).out;
    assert!(!manual.contains("destroy"), "{manual}");
    home.plumb("try --destory X sim:ssd").expect(2).expect_stderr(&["'--destroy'"]);
    // The alias before the command still works.
    home.plumb("--plumb-allow /nowhere workloads").expect(0);
}

/// `plumb config` prints the file, each value, and its origin.
#[test]
fn the_settings_are_shown_with_their_origin() {
    let home = Home::new();
    home.plumb("config").expect(0).expect_stdout(&[
        "config.toml (does not exist)",
        "allow (nothing) default",
        "docs/config.md",
    ]);
    let file = home.work().join("settings/plumb/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "allow = [\"/data/bench\"]\n").unwrap();
    let with = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        command.env("XDG_CONFIG_HOME", home.work().join("settings"));
        command.env("PLUMB_ALLOW", "/tmp/x, SERIAL1").env("PLUMB_STREAM_TOKEN", "s3cret");
        CommandOutput::run(command)
    };
    let shown = with(&["config"]).expect(0);
    assert!(!shown.out.contains("s3cret"), "{}", shown.out);
    shown.expect_stdout(&["PLUMB_STREAM_TOKEN (set, not shown) environment"]);
    let json = with(&["config", "--destroy", "S9", "--json"]).expect(0).json();
    let values: Vec<[&str; 3]> = json["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| ["name", "value", "from"].map(|key| value[key].as_str().unwrap()))
        .collect();
    let path = json["file"].as_str().unwrap();
    // If a parent directory is writable by others, the file is ignored, with a message.
    if json["state"] == "read" {
        assert!(values.contains(&["allow", "/data/bench", path]), "{values:?}");
    } else {
        assert!(json["state"].as_str().unwrap().starts_with("ignored"), "{json:#}");
    }
    for expected in
        [["allow", "/tmp/x", "PLUMB_ALLOW"], ["allow", "SERIAL1", "PLUMB_ALLOW"], ["allow", "S9", "--destroy"]]
    {
        assert!(values.contains(&expected), "{values:?}");
    }
}

/// Returns every command, including those of `plumb study` and `plumb trace`.
fn all_commands(home: &Home) -> Vec<String> {
    let mut all: Vec<String> = commands(home).into_iter().filter(|command| command != "help").collect();
    all.extend(["plan", "run", "resume", "gather", "report", "list"].map(|command| format!("study {command}")));
    all.extend(["record", "show", "compare", "replay", "fit", "convert"].map(|command| format!("trace {command}")));
    all.extend(["explain", "diff", "matrix"].map(|command| format!("posix {command}")));
    all.push("k8s render".to_owned());
    all.extend(["", " add", " list", " revoke"].map(|command| format!("serve token{command}")));
    all
}

#[test]
fn long_help_has_examples_and_exit_codes_and_short_help_stays_short() {
    let home = Home::new();
    for command in all_commands(&home).iter().map(String::as_str).chain([""]) {
        home.plumb(&format!("{command} --help")).expect(0).expect_stdout(&["Examples: ", "Exit codes: "]);
        let short = home.plumb(&format!("{command} -h")).expect(0).out;
        assert!(!short.contains("Examples:"), "{command}: {short}");
    }
}

/// Help on a narrow terminal has the same text as on a wide one: lines break between words.
// Protects: help names every case that ends with an exit code.
#[test]
fn help_explains_exit_codes_1_and_3() {
    let home = Home::new();
    home.plumb("--help").expect(0).expect_stdout(&["a condition is false: --assert, a limit of fit-for"]);
    home.plumb("audit --help")
        .expect(0)
        .expect_stdout(&["every claim stands", "a claim is unsupported or contradicted"]);
    home.plumb("verify-capacity --help").expect(0).expect_stdout(&["unless it is a blank loop device"]);
}

#[test]
fn help_splits_no_word_at_40_columns() {
    let home = Home::new();
    for command in all_commands(&home).iter().map(String::as_str).chain([""]) {
        let at = |columns: &str| {
            let mut help = home.command(command.split_whitespace().chain(["--help"]));
            help.env("COLUMNS", columns);
            flat(&CommandOutput::run(help).expect(0).out)
        };
        assert_eq!(at("40"), at("100"), "{command}");
    }
}

/// Errors and completions do not offer commands that Plumb only starts itself.
#[test]
fn errors_and_completions_offer_only_what_people_type() {
    let home = Home::new();
    let output = home.plumb("agent --listen x --rak").expect(2);
    assert!(output.err.contains("'--rak'") && !output.err.contains("--rank"), "{}", output.err);
    let output = home.plumb("run random-read --sim-rum 1,1").expect(2);
    assert!(output.err.contains("'--sim-rum'") && !output.err.contains("--sim-run"), "{}", output.err);
    home.plumb("run random-read --tim 1s").expect(2).expect_stderr(&["unexpected argument '--tim'"]);
    home.plumb("try --sede 1").expect(2).expect_stderr(&["'--seed'"]);
    for shell in ["bash", "zsh", "fish"] {
        let offered = home.plumb(&format!("completions {shell}")).expect(0).out;
        assert!(!offered.contains("with-parent") && !offered.contains("detached"), "{shell}");
    }
}

/// The usage line is that of the command, regardless of given options and variables.
#[test]
fn usage_does_not_show_options_as_required() {
    let home = Home::new();
    let mut command = home.command(["compare"]);
    command.env("PLUMB_DB", "x.db");
    for output in [
        CommandOutput::run(command),
        home.plumb("compare --db x.db"),
        home.plumb("compare --json"),
        home.plumb("compare"),
    ] {
        let output = output.expect(2).expect_stderr(&["<A>", "Usage: plumb compare [OPTIONS] <A> <B>"]);
        assert!(!output.err.contains("--db"), "{}", output.err);
    }
}

/// The manual has one page for the program and one for each command: complete, valid, and referring to existing pages.
#[test]
fn the_manual_has_a_page_for_every_command() {
    let home = Home::new();
    let main = home.plumb("man").expect(0).out;
    let sections = ["NAME", "SYNOPSIS", "EXAMPLES", "EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO"];
    for section in sections {
        assert!(
            main.contains(&format!(".SH {section}\n")) || main.contains(&format!(".SH \"{section}\"\n")),
            "{section}"
        );
    }
    home.plumb("man --all pages").expect(0);
    let reference = regex::Regex::new(r"plumb(?:\\-[a-z]+)*(?:\\f[RB])?\(1\)").unwrap();
    let mut files = Vec::new();
    for command in all_commands(&home).iter().map(String::as_str).chain([""]) {
        let name = format!("plumb {command}").trim().replace(' ', "-");
        let path = home.work().join(format!("pages/{name}.1"));
        let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(home.plumb(&format!("man {command}")).expect(0).out, page, "{command}");
        assert!(page.contains(&format!(".TH {}", name.to_uppercase())), "{command}: {}", &page[..200]);
        for section in ["NAME", "SYNOPSIS", "EXAMPLES", "EXIT", "SEE"] {
            assert!(
                page.contains(&format!(".SH {section}")) || page.contains(&format!(".SH \"{section}")),
                "{command}: {section}"
            );
        }
        let mut referred = 0;
        for found in reference.find_iter(&page) {
            let named = found.as_str().replace("\\-", "-").replace("\\fR", "").replace("\\fB", "").replace("(1)", "");
            assert!(home.work().join(format!("pages/{named}.1")).is_file(), "{command} refers to {named}");
            referred += 1;
        }
        assert!(referred > 0, "{command} refers to nothing");
        files.push(path);
    }
    assert_eq!(std::fs::read_dir(home.work().join("pages")).unwrap().count(), files.len(), "no page but these");
    home.plumb("man nonsense").expect(2).expect_stderr(&["no command `plumb nonsense`", "--help"]);
    if !needs::tools(&["groff"]) {
        return;
    }
    for file in files {
        let mut groff = Command::new("groff");
        let output = groff.args(["-k", "-ww", "-man", "-Tutf8", "-z"]).arg(&file).output().unwrap();
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && complaints.is_empty(), "{}: {complaints}", file.display());
    }
}

/// The manual lists every variable of Plumb's that the code reads.
#[test]
fn the_manual_names_every_variable() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let variable = regex::Regex::new(r#""(PLUMB_[A-Z_]+|NO_COLOR|XDG_[A-Z]+_HOME)""#).unwrap();
    let main = Home::new().plumb("man").expect(0).out;
    let mut seen = 0;
    let mut open: Vec<PathBuf> =
        std::fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path().join("src")).collect();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for name in variable.captures_iter(&text).map(|found| found[1].to_owned()) {
            // Only tests read some of these. Plumb itself sets the others, to find processes again and for a guest's
            // first process.
            if ["PLUMB_BLESS", "PLUMB_DEVICE_LOOKS", "PLUMB_IN_BACKGROUND", "PLUMB_LAB_COMMAND", "PLUMB_ROOT"]
                .contains(&name.as_str())
                || name.starts_with("PLUMB_TEST_")
            {
                continue;
            }
            assert!(main.contains(&name), "{} reads {name}, which the manual does not name", path.display());
            seen += 1;
        }
    }
    assert!(seen > 8, "{seen}");
}

// Protects: `docs/commands.md` and the manual page have the same variables.
#[test]
fn the_page_of_commands_names_every_variable() {
    let page = include_str!("../../../../docs/commands.md");
    let variable = regex::Regex::new("PLUMB_[A-Z_]+").unwrap();
    let manual = Home::new().plumb("man").expect(0).out;
    for name in variable.find_iter(&manual).map(|found| found.as_str()).filter(|name| *name != "PLUMB_PANIC_WORKER") {
        assert!(page.contains(&format!("`{name}`")), "docs/commands.md does not name {name}");
    }
}

/// The pages that users consult refer to the promise in `docs/json.md`.
#[test]
fn the_promise_of_stability_is_pointed_to() {
    let home = Home::new();
    let help = home.plumb("schema --help").expect(0).expect_stdout(&["docs/json.md"]).out;
    let promise = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let promise = std::fs::read_to_string(promise).unwrap();
    let formats: Vec<&str> = help
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "))
        .filter_map(|line| line.split(':').next())
        .collect();
    assert!(formats.len() >= 10, "{formats:?}");
    for format in formats {
        let schema = home.plumb(&format!("schema {format}")).expect(0).json();
        assert!(schema["$comment"].as_str().unwrap_or_default().contains("docs/json.md"), "{format}");
        assert!(promise.contains(&format!("`{format}`")), "docs/json.md does not name {format}");
        // Readers must accept additional keys of later versions in a result. In a file that people write, an unknown
        // key is a mistake.
        let is_read = ["workload", "study", "audit"].contains(&format);
        assert_eq!(schema["additionalProperties"] == false, is_read, "{format}");
    }
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
        // Every installed shell must parse its script; bash must be installed.
        let is_here = Command::new(shell).args(["-c", "true"]).status().is_ok_and(|status| status.success());
        if is_here || (shell == "bash" && needs::tools(&[shell])) {
            let path = home.file("script", &script);
            let output = Command::new(shell).arg("-n").arg(path).output().unwrap();
            assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// After `plumb as fio`, bash completes fio's options and their values; elsewhere, Plumb's own.
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

/// The contract of the JSON format: results match the published schema and contain the keys that programs read.
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

/// A schema that allows everything would prove nothing.
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
    // The audit rules are listed too, with shorter explanations.
    let checks = all.lines().filter(|line| !line.ends_with("(plumb audit)"));
    let codes: Vec<&str> = checks.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(codes.len() < all.lines().count() && codes.len() >= 24, "{codes:?}");
    for code in codes {
        home.plumb(&format!("explain {code}")).expect(0).expect_stdout(&[code, "What", "Why", "How", "Threshold"]);
    }
    home.plumb("explain a3").expect(0).expect_stdout(&["A3 · Write not flushed"]);
    home.plumb("explain Z9").expect(2).expect_stderr(&["unknown check `Z9`", "A1"]);
}

/// The output of `--translate` translates to itself.
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
