//! How commands end: exit codes 0, 2, 3 and 4, and their messages. (5 and 130 have separate tests.)

use crate::common::{Home, assert_found, assert_no_test_data, metric};

const WORKLOAD: &str = r#"name = "reads"

[target.data.sim]
device = "sim:ssd"
size = "64MiB"

[[phase]]
name = "read"
cache = "cold"
stop.time = "1s"

[[phase.workers]]
target = "data"
depth = 4
work.blocks.pattern = "random"
"#;

#[test]
fn done_and_trusted_is_0() {
    let home = Home::new();
    home.file("reads.toml", WORKLOAD);
    let result = home.plumb("run reads.toml --json").expect(0).json();
    assert_eq!(result["verdict"], "pass");
    assert_eq!(metric(&result, "read", "read.bw")["tier"], "device");
    home.plumb("run random-read --at sim:nvme")
        .expect(0)
        .expect_stdout(&["sim:nvme simulated", "k IOPS"])
        .expect_stdout(&["Trusted."]);
    home.plumb("compare sim:ssd sim:ssd").expect(0).expect_stdout(&["equivalent, within 5 %"]);
}

/// Every error about a file names it, its line and the position in it, and suggests a fix.
#[test]
fn a_bad_file_is_2_with_place_caret_and_way_out() {
    let home = Home::new();
    let run_edited = |from: &str, to: &str| {
        assert!(WORKLOAD.contains(from));
        home.file("bad.toml", &WORKLOAD.replace(from, to));
        home.plumb("run bad.toml").expect(2)
    };
    run_edited("depth", "dpeth").expect_stderr(&[
        "error: unknown key `dpeth`",
        "--> bad.toml:14:1",
        "^^^^^",
        "did you mean `depth`?",
    ]);
    run_edited("64MiB", "64MiBB").expect_stderr(&["64MiBB", "--> bad.toml:5:8", "^^^^^^^^", "4KiB"]);
    run_edited("\"64MiB\"", "\"free*10%\"").expect_stderr(&["free*10%", "--> bad.toml:5:8", "^^^^^"]);
    run_edited("sim:ssd", "sim:floppy").expect_stderr(&["sim:floppy", "bad.toml:4", "sim:hdd"]);
    run_edited("target = \"data\"", "target = \"date\"").expect_stderr(&[
        "date",
        "bad.toml:13",
        "did you mean `data`?",
    ]);
    run_edited("random", "ranodm").expect_stderr(&["ranodm", "bad.toml:15", "random"]);
    run_edited("[[phase]]", "[[phase]").expect_stderr(&["bad.toml:7", "^"]);
    let twice = run_edited("depth = 4", "depth = 4\ndpeth = 4");
    assert!(!twice.err.contains("error: error:"), "{}", twice.err);
}

#[test]
fn a_bad_command_line_is_2_and_suggests() {
    let home = Home::new();
    home.file("reads.toml", WORKLOAD);
    let line = |line: &str, all: &[&str]| drop(home.plumb(line).expect(2).expect_stderr(all));
    line("run random-red", &["no file `random-red`", "did you mean `random-read`?"]);
    line("run nothing-like-it", &["there are `stream-read`", "`database`"]);
    line("run all --at sim:ssd", &["several workloads", "stream-read, ", "plumb compare A B --for all"]);
    std::os::unix::fs::symlink("gone", home.work().join("dangling")).unwrap();
    std::os::unix::fs::symlink("circle", home.work().join("circle")).unwrap();
    for command in ["try", "check", "run random-read --at", "compare sim:ssd"] {
        line(&format!("{command} dangling"), &["symbolic link to `gone`, which does not exist"]);
        line(&format!("{command} circle"), &["symbolic links form a loop"]);
    }
    line("explain Q1", &["unknown check `Q1`", "A1–A10", "P1–P10"]);
    home.plumb("explain p1").expect(0).expect_stdout(&["P1", "published numbers"]);
    line("run reads.toml --set dpeth=4", &["unknown setting `dpeth`", "did you mean `depth`?"]);
    line("run reads.toml --set depth=much", &["expected a whole number", "depth=much", "^^^^"]);
    line("run reads.toml --set depth", &["`depth` has no `=`", "KEY=VALUE"]);
    line("run reads.toml --set phase.7.cache=cold", &["phase.7"]);
    line("run random-read --at sim:floppy", &["unknown simulated device `sim:floppy`", "`sim:hdd`"]);
    line("run random-read --at sim:hdd?slwo=5%", &["unknown fault `slwo`", "slow"]);
    line("run random-read --at nowhere", &["`nowhere` cannot be used", "name an existing directory"]);
    line("try reads.toml", &["too small to measure", "a directory"]);
    line("check nowhere", &["`nowhere`", "name an existing file, directory or device"]);
    line("compare sim:ssd nowhere", &["`nowhere` cannot be used"]);
    line("compare sim:ssd sim:ssd --for random-reed", &["did you mean `random-read`?"]);
    line("compare sim:ssd sim:ssd --varying colour", &["unknown factor `colour`", "fs, mount, device"]);
    line("compare sim:ssd sim:ssd --budget soon", &["soon"]);
    line("show 123", &["no run \"123\"", "plumb list"]);
    line("comapre sim:ssd sim:ssd", &["compare"]);
    line("run --bogus", &["--bogus"]);
    line("export --csv --json", &["exclude each other"]);
}

#[test]
fn a_cached_read_under_a_cold_name_is_3() {
    let home = Home::new();
    home.file("reads.toml", WORKLOAD);
    let result = home.plumb("run reads.toml --set target.data.sim.device=sim:hdd?cached=60% --json").expect(3).json();
    assert_eq!(result["verdict"], "reject");
    assert_found(&result, "A1", "fail", "came from memory");
    assert_eq!(metric(&result, "read", "read.bw")["tier"], "mixed");
    home.plumb("run stream-read --at sim:hdd?cached=100%").expect(3).expect_stdout(&[
        "Rejected: stream-read: ",
        "Comparisons leave it out",
        "✗ A1 stream-read",
        "More: plumb explain A1",
    ]);
    // A run that asks for the cache is labelled as such, and not rejected.
    let warm = home
        .plumb("run reads.toml --set target.data.sim.device=sim:hdd?cached=100% --set cache=warm --json")
        .expect(0)
        .json();
    assert_eq!(metric(&warm, "read", "read.bw")["tier"], "cache");
}

#[test]
fn a_flush_that_does_nothing_is_seen() {
    let home = Home::new();
    let result = home.plumb("run stream-write --at sim:ssd?lying-flush --json").expect(0).json();
    assert_eq!(result["verdict"], "caution");
    assert_found(&result, "A5", "warn", "No flush request reached the device");
    let result = home.plumb("run stream-write --at sim:hdd?lying-flush&write-cache=2GiB --json").expect(3).json();
    assert_eq!(result["verdict"], "reject");
}

#[test]
fn a_comparison_of_which_nothing_is_left_is_3_and_ends_early() {
    let home = Home::new();
    let line = "compare sim:ssd sim:ssd?cached=60% --for stream-read";
    let output = home.plumb(line).expect(3).expect_stdout(&[
        "Rejected: ",
        "(A1). No claim about sim:ssd and sim:ssd?cached=60%",
        "rejected stream-read read.bw",
        "fail A1 sim:ssd?cached=60% (6 of 6 runs)",
    ]);
    assert_eq!(output.out.matches("such as").count(), 0, "one list of findings: {}", output.out);
    assert!(!output.out.contains("larger `--budget`"), "more blocks would not help: {}", output.out);
    let comparison = home.plumb(&format!("{line} --json")).expect(3).json();
    let contrasts = comparison["contrasts"].as_array().unwrap();
    assert!(!contrasts.is_empty(), "the numbers are shown");
    for contrast in contrasts {
        let is_shown =
            contrast["baseline_value"].as_f64() > Some(0.0) && contrast["candidate_value"].as_f64() > Some(0.0);
        assert!(is_shown && contrast["rejected"] == true, "{contrast:#}");
        assert_eq!((&contrast["verdict"], &contrast["p"]), (&"cannot-tell".into(), &serde_json::Value::Null));
    }
    assert_eq!(comparison["left_out"].as_array().unwrap().len(), 6);
    assert_eq!(comparison["runs"].as_array().unwrap().len(), 12);
}

#[test]
fn an_error_of_the_device_is_4_and_is_named() {
    let home = Home::new();
    home.file("reads.toml", WORKLOAD);
    let result = home.plumb("run reads.toml --set target.data.sim.device=sim:ssd?errors=0.1% --json").expect(4).json();
    assert_eq!(result["verdict"], "reject");
    assert_found(&result, "B9", "fail", "Input/output error");
    // The result is stored anyway.
    assert_eq!(home.plumb("show last --json").expect(0).json()["id"], result["id"]);
    // A worker that continues after errors counts them.
    let line = "run reads.toml --set target.data.sim.device=sim:ssd?errors=1% --set phase.0.workers.0.on-error=continue --json";
    assert_found(&home.plumb(line).expect(4).json(), "B9", "fail", "ops failed");
}

#[test]
fn a_database_that_cannot_be_is_4_and_an_alien_one_is_left_alone() {
    let home = Home::new();
    let alien = home.file("alien.db", "This is no database, and it is precious.");
    home.plumb("list --db alien.db").expect(4).expect_stderr(&["alien.db", "it was not changed"]);
    assert_eq!(std::fs::read_to_string(alien).unwrap(), "This is no database, and it is precious.");
    home.plumb("run random-read --at sim:ssd --db alien.db/below/plumb.db")
        .expect(4)
        .expect_stderr(&["alien.db", "--db"]);
    home.plumb("run random-read --at sim:ssd --no-store").expect(0);
    assert!(!home.registry().parent().unwrap().join("plumb.db").exists(), "--no-store makes no database");
}

#[test]
fn a_real_run_leaves_no_files() {
    let home = Home::new();
    for line in ["run random-read --set size=4MiB --set time=200ms", "run small-files --set files=50"] {
        home.plumb(&format!("{line} --set cache=as-is --json")).expect_measured();
    }
    assert_no_test_data(&home.work());
    assert_eq!(std::fs::read_dir(home.registry()).map_or(0, Iterator::count), 0);
}

/// A later phase that cannot run does not discard an earlier phase's results: they are printed, stored and shown, and
/// the command still ends with the error.
#[test]
fn an_error_in_a_later_phase_is_4_with_what_was_measured_before() {
    let home = Home::new();
    let phase = |name: &str, more: &str| {
        format!("[[phase]]\nname = \"{name}\"\n{more}\n[[phase.workers]]\ntarget = \"data\"\nwork.blocks = {{}}\n")
    };
    let target = "name = \"later\"\n[target.data.file]\npath = \"data\"\nsize = \"1MiB\"\n";
    let (first, second) = (phase("first", ""), phase("second", "memory-pressure = \"900TiB\""));
    home.file("later.toml", &format!("{target}{first}{second}"));
    let output = home.plumb("run later.toml").expect(4);
    output.expect_stdout(&["The run ended early", "The run ended early: phase `second`"]);
    let result = home.plumb("run later.toml --json").expect(4).expect_stderr(&["error:", "second", "memory"]).json();
    assert_eq!((result["partial"].as_bool(), result["phases"].as_array().unwrap().len()), (Some(true), 1));
    assert!(result["error"].as_str().unwrap().contains("second"), "{}", result["error"]);
    let stored = home.plumb("show last --json").expect(0).json();
    assert_eq!(stored["id"], result["id"]);
    assert_eq!(home.query("SELECT status FROM run WHERE reason LIKE '%second%'").len(), 2);
    home.plumb("list").expect(0).expect_stdout(&["failed"]);
    assert_no_test_data(&home.work());
}

/// A run that could not be prepared is recorded, although runs are logged only when their preparation is nearly
/// complete.
#[test]
fn a_first_phase_that_cannot_begin_is_stored_as_failed() {
    let home = Home::new();
    let text = WORKLOAD.replace("device = \"sim:ssd\"", "path = \"data\"").replace("data.sim", "data.file");
    let text = text.replace("64MiB", "1MiB").replace("cache = \"cold\"", "memory-pressure = \"900TiB\"");
    home.file("first.toml", &text);
    home.plumb("run first.toml").expect(4).expect_stderr(&["phase `read`", "memory"]);
    assert_eq!(home.query("SELECT status FROM run WHERE reason LIKE '%memory%' AND status = 'failed'").len(), 1);
}

/// Findings go to standard error when they become true, one line each, and standard output remains pure JSON.
#[test]
fn findings_go_to_standard_error_while_standard_output_stays_json() {
    let home = Home::new();
    let output = home.plumb("run stream-read --at sim:hdd?cached=60% --json").expect(3);
    let reported: Vec<&str> = output.err.lines().filter(|line| line.starts_with("fail A1  stream-read: ")).collect();
    assert_eq!(reported.len(), 1, "{}", output.err);
    assert_found(&output.json(), "A1", "fail", "came from memory");
    // In a comparison each check is reported once, however many runs it rejects.
    let output = home.plumb("compare sim:hdd?cached=60% sim:hdd?cached=60% --for stream-read").expect(3);
    let reported: Vec<&str> = output.err.lines().filter(|line| line.starts_with("fail A1 ")).collect();
    assert_eq!(reported.len(), 1, "{}", output.err);
    assert!(reported[0].contains("block 1"), "{}", reported[0]);
    assert!(!output.err.contains("warn "), "{}", output.err);
}

/// The result contains the limiting resource with its utilisation.
#[test]
fn a_result_names_the_limiter_of_each_phase() {
    let home = Home::new();
    let limiter = |line: &str| home.plumb(line).json()["phases"][0]["limiter"].clone();
    let spinning = limiter("run random-read --at sim:hdd --json");
    assert_eq!(spinning["what"], "device");
    assert!(spinning["utilisation"].as_f64().unwrap() > 0.9, "{spinning}");
    let one = limiter("run random-read --at sim:nvme --set depth=1 --json");
    assert_eq!(one["what"], "depth");
    let paced = limiter("run random-read --at sim:ssd --set rate=1000 --json");
    assert_eq!(paced["what"], "pace");
}

/// A mistyped database name must not look like a database without runs.
#[test]
fn a_missing_database_is_an_error_for_commands_that_only_read() {
    let home = Home::new();
    for words in ["list", "show last", "export", "query", "study list"] {
        home.plumb(&format!("{words} --db typo.db")).expect(2).expect_stderr(&["typo.db", "--db"]);
    }
    assert!(!home.work().join("typo.db").exists());
    home.plumb("list").expect(0);
    home.plumb("list -n 0").expect(2).expect_stderr(&["-n"]);
}

/// A single op, which fails.
const MISSING: &str = r#"
name = "missing"
[target.data.scratch]
names.said = ["missing"]
[[phase]]
name = "one"
[[phase.workers]]
target = "data"
work.program.steps = [{ open = { read = true } }, "close"]
"#;

/// File names are bytes; only printed names must be text.
#[test]
fn names_need_not_be_unicode() {
    use std::os::unix::ffi::OsStrExt;
    let home = Home::new();
    let database = std::ffi::OsStr::from_bytes(b"d\xff.db");
    let words = ["run", "random-read", "--at", "sim:ssd", "--db"].map(std::ffi::OsStr::new);
    home.plumb_args(words.into_iter().chain([database])).expect(0);
    assert!(home.work().join(database).exists());

    let place = std::ffi::OsStr::from_bytes(b"p\xff");
    std::fs::create_dir(home.work().join(place)).unwrap();
    let short = ["--set", "size=1MiB", "--set", "time=100ms"].map(std::ffi::OsStr::new);
    let run = ["run", "random-read", "--at"].map(std::ffi::OsStr::new);
    home.plumb_args(run.into_iter().chain([place]).chain(short)).expect_measured().expect_stdout(&["/p\\xff'"]);
    let try_it = ["try", "--time", "50ms", "--size", "1MiB"].map(std::ffi::OsStr::new);
    home.plumb_args(try_it.into_iter().chain([place])).expect_measured();
    home.plumb_args([std::ffi::OsStr::new("check"), place]).expect(0);
    // The failure is stored like any result.
    home.file("missing.toml", MISSING);
    let failed = ["run", "missing.toml", "--at"].map(std::ffi::OsStr::new);
    home.plumb_args(failed.into_iter().chain([place])).expect(4);
    home.plumb("show last --json").expect(0).expect_stdout(&["/p\\\\xff/missing' at offset", "/p\\\\xff'\""]);
    assert_eq!(std::fs::read_dir(home.work().join(place)).unwrap().count(), 0);
}
