//! The real program in a home of its own, and storage to run it on.

#![allow(dead_code, unreachable_pub)] // each test binary uses its part

pub mod breadth;
pub mod disks;
pub mod draws;
pub mod groups;
pub mod needs;
pub mod ports;
pub mod postgres;
pub mod schema;
pub mod served;
pub mod slurm;
pub mod traced;

use assert_cmd::cargo::CommandCargoExt;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Plumb with a private data directory and a private working directory.
pub struct Home {
    dir: tempfile::TempDir,
}

/// The exit code and output of a command.
#[derive(Debug)]
pub struct CommandOutput {
    pub command: String,
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Home {
    pub fn new() -> Home {
        let dir = tempfile::tempdir().unwrap();
        for name in ["data", "work"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        Home { dir }
    }

    pub fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// Returns the directory in which test directories are registered.
    pub fn registry(&self) -> PathBuf {
        self.dir.path().join("data/plumb/testdirs")
    }

    /// Puts a file into the working directory.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.work().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn command<A: AsRef<std::ffi::OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::cargo_bin("plumb").unwrap();
        command.args(arguments).current_dir(self.work()).env("XDG_DATA_HOME", self.dir.path().join("data"));
        // Undo journals of studies, and images of virtual machines.
        command
            .env("XDG_CONFIG_HOME", self.dir.path().join("config"))
            .env("XDG_STATE_HOME", self.dir.path().join("state"))
            .env("XDG_CACHE_HOME", self.dir.path().join("cache"));
        for name in [
            "PLUMB_ALLOW",
            "PLUMB_FILL",
            "PLUMB_DB",
            "PLUMB_PUSH_TO",
            "PGPASSWORD",
            "PGUSER",
            "PLUMB_MPI",
            "PLUMB_AGENT_ALLOW",
            "XDG_RUNTIME_DIR",
            "PLUMB_QUIET",
            "PLUMB_STREAM",
            "PLUMB_STREAM_TOKEN",
            "NO_COLOR",
            "CLICOLOR_FORCE",
            "COLUMNS",
        ] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command to its end. Words are split at blanks.
    pub fn plumb(&self, line: &str) -> CommandOutput {
        CommandOutput::run(self.command(line.split_whitespace()))
    }

    /// Like [`Home::plumb`], with whole arguments.
    pub fn plumb_args<A: AsRef<std::ffi::OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> CommandOutput {
        CommandOutput::run(self.command(arguments))
    }

    /// Starts a command without waiting. A signal that the test's parent ignores (`nohup`) gets its default action,
    /// which the child would not restore.
    pub fn start(&self, line: &str) -> Child {
        let plain = self.command(line.split_whitespace());
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP,INT,TERM"]).arg(plain.get_program()).args(plain.get_args());
        command.current_dir(self.work()).stdin(Stdio::null());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Returns the result of a query, one list per row.
    pub fn query(&self, sql: &str) -> Vec<Vec<Value>> {
        let table = self.plumb_args(["query", sql, "--json"]).expect(0).json();
        plumb_document::json::from_value(table["rows"].clone()).unwrap()
    }
}

impl CommandOutput {
    pub fn run(mut command: Command) -> CommandOutput {
        let output = command.output().unwrap();
        CommandOutput::from_output(format!("{command:?}"), output)
    }

    /// Takes the output of a command that has ended.
    pub fn from_output(command: String, output: Output) -> CommandOutput {
        CommandOutput {
            command,
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Panics unless the exit code is this one.
    #[track_caller]
    pub fn expect(self, code: i32) -> CommandOutput {
        assert_eq!(self.code, code, "{}\nstdout:\n{}\nstderr:\n{}", self.command, self.out, self.err);
        self
    }

    /// Panics unless it ran on real storage. Others may use this machine's disk, and then the checks reject the run.
    #[track_caller]
    pub fn expect_measured(self) -> CommandOutput {
        assert!([0, 3].contains(&self.code), "{self:?}");
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        plumb_document::json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}\n{}", self.command, self.out, self.err))
    }

    /// Panics unless standard error contains all of these texts.
    #[track_caller]
    pub fn expect_stderr(self, of: &[&str]) -> CommandOutput {
        for text in of {
            assert!(self.err.contains(text), "`{text}` is missing from the output of {}:\n{}", self.command, self.err);
        }
        self
    }

    /// Panics unless standard output contains all of these texts, ignoring line breaks.
    #[track_caller]
    pub fn expect_stdout(self, all: &[&str]) -> CommandOutput {
        let flat = flat(&self.out);
        for text in all {
            assert!(flat.contains(text), "`{text}` is missing from the output of {}:\n{}", self.command, self.out);
        }
        self
    }
}

/// Joins a text in one line.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the findings of a result with this code and level.
pub fn findings<'a>(result: &'a Value, code: &str, level: &str) -> Vec<&'a Value> {
    let checks = result["checks"].as_array().expect("a result has checks");
    checks.iter().filter(|finding| finding["code"] == code && finding["level"] == level).collect()
}

/// Panics unless there is such a finding with this text in its message.
#[track_caller]
pub fn assert_found(result: &Value, code: &str, level: &str, text: &str) {
    let found = findings(result, code, level);
    let says = found.iter().any(|finding| finding["message"].as_str().unwrap_or_default().contains(text));
    assert!(says, "no {level} {code} with `{text}` in {:#}", result["checks"]);
}

/// Returns the messages of a result's findings with this code above `note`.
pub fn alarms(result: &Value, code: &str) -> Vec<String> {
    let above = ["warn", "fail"].iter().flat_map(|level| findings(result, code, level));
    above.map(|finding| format!("{code} {}: {}", finding["level"], finding["message"])).collect()
}

/// Panics if a check has findings above `note`.
#[track_caller]
pub fn assert_quiet(result: &Value, code: &str) {
    assert_eq!(alarms(result, code), [""; 0]);
}

/// Returns a metric of a phase, with its tier.
pub fn metric<'a>(result: &'a Value, phase: &str, name: &str) -> &'a Value {
    let phases = result["phases"].as_array().expect("a result has phases");
    let phase =
        phases.iter().find(|one| one["name"] == phase).unwrap_or_else(|| panic!("no phase {phase}: {phases:#?}"));
    &phase["metrics"][name]
}

/// Returns the verdicts of a comparison, one per contrast.
pub fn verdicts(comparison: &Value) -> Vec<String> {
    let contrasts = comparison["contrasts"].as_array().expect("a comparison has contrasts");
    contrasts.iter().map(|contrast| contrast["verdict"].as_str().unwrap().to_owned()).collect()
}

/// Panics if test data of Plumb is left in a directory.
#[track_caller]
pub fn assert_no_test_data(dir: &Path) {
    let left: Vec<PathBuf> = test_directories(dir);
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// Returns the test directories in a directory.
pub fn test_directories(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("plumb-test-")).collect()
}

/// Waits for a condition; panics after ten minutes.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    // Flushes of a starting program wait for all writes of other tests to the same disk: minutes, on a slow one.
    const PATIENCE: Duration = Duration::from_secs(600);
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
