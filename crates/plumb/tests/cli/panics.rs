//! Deliberate panics of the program: reported with function names, exit code 4, and nothing left behind.

use crate::common::{CommandOutput, Home, assert_no_test_data};

/// The worker with this name panics as its clock starts; `main`: the coordinator, once the workers run.
const PANICS: &str = "PLUMB_PANIC_WORKER";

fn two_phases(run_as: &str) -> String {
    let phase = |name: &str, end: &str, on_error: &str| {
        format!(
            "[[phase]]\nname = \"{name}\"\n{end}\n[[phase.workers]]\nname = \"{name}er\"\ncount = 2\ntarget = \"data\"\n\
             run-as = \"{run_as}\"\non-error = \"{on_error}\"\nwork.blocks.pattern = \"random\"\n"
        )
    };
    format!(
        "name = \"two\"\n[target.data.file]\npath = \"data\"\nsize = \"8MiB\"\n{}{}",
        phase("first", "stop.time = \"200ms\"", "stop"),
        // Ten minutes: only the panic ends it. `leave` lets the others continue after a failure, but not after a panic.
        phase("second", "stop.time = \"10m\"", "leave"),
    )
}

fn run(home: &Home, line: &str, panics: &str) -> CommandOutput {
    let mut command = home.command(line.split_whitespace());
    command.env(PANICS, panics);
    CommandOutput::run(command)
}

/// The report of a panic in Plumb's own code: place, message, and the function that panicked in the backtrace.
fn assert_reported(output: &CommandOutput, thread: &str) {
    for text in [
        &format!("error: thread `{thread}` panicked at crates/engine/src/panics.rs:"),
        "PLUMB_PANIC_WORKER names this worker",
        "plumb_engine::panics::panic_on_purpose",
        "This is a defect of Plumb. Please report it",
    ] {
        assert!(output.err.contains(text), "`{text}` is missing in\n{}", output.err);
    }
}

#[test]
fn a_workers_panic_ends_the_run_with_4_keeps_earlier_phases_and_removes_the_test_directory() {
    for (run_as, thread) in [("thread", "plumb-1"), ("process", "main")] {
        let home = Home::new();
        home.file("two.toml", &two_phases(run_as));
        let output = run(&home, "run two.toml --json", "seconder/1").expect(4);
        assert_reported(&output, thread);
        let output =
            output.expect_stderr(&["worker seconder/1 panicked at crates/engine/src/panics.rs", "a defect of Plumb"]);
        let phases = output.json()["phases"].as_array().unwrap().len();
        assert_eq!(phases, 1, "{run_as}: the first phase is kept");
        assert_eq!(home.plumb("list --json").expect(0).json()[0]["status"], "failed", "{run_as}");
        assert_no_test_data(&home.work());
        home.plumb("clean").expect(0).expect_stdout(&["nothing to clean"]);
    }
}

#[test]
fn a_panic_on_virtual_time_ends_the_run_with_4() {
    let home = Home::new();
    home.file("two.toml", &two_phases("thread").replace("file]\npath = \"data\"", "sim]\ndevice = \"sim:ssd\""));
    let output = run(&home, "run two.toml", "firster/0").expect(4);
    assert_reported(&output, "main");
    output.expect_stderr(&["worker firster/0 panicked"]);
}

// Protects: the tool's own exit codes, such as the number of failed jobs, do not hide a defect.
#[test]
fn a_panic_in_the_place_of_a_tool_is_4_too() {
    let home = Home::new();
    let line = "as fio --name=j --directory=. --size=1m --rw=write --thread";
    let output = run(&home, line, "j/0").expect(4);
    assert_reported(&output, "plumb-0");
    assert_eq!(home.query("SELECT count(*) FROM run WHERE status = 'complete'")[0][0], 0);
}

#[test]
fn a_panic_of_the_coordinator_removes_the_test_directory() {
    let home = Home::new();
    home.file("two.toml", &two_phases("process"));
    let output = run(&home, "run two.toml", "main").expect(4);
    assert_reported(&output, "main");
    assert_no_test_data(&home.work());
}
