//! Runs all tests of the workspace like `cargo test`, but with the lab's program at the same time as the others: it
//! mostly waits for hosts. Tests that compare speeds run alone.
//!
//! If only a few tests failed, they run again, one by one, because a shared machine stalls now and then. A test that
//! fails twice has failed. One that passes then is named in the last lines, with its first output.

use crate::tools::{cargo, workspace};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

/// A folder of the workspace and a target in it.
pub type Which = (&'static str, &'static str);

const BESIDE: Which = ("crates/plumb", "lab");

/// Runs alone: its tests compare speeds.
const ALONE: Which = ("crates/plumb", "storage");

/// With more failures of one program, none is run again, because that is not bad luck.
const RUN_AGAIN_AT_MOST: usize = 4;

/// Lines of a failed test to show at the end.
const LINES_SHOWN: usize = 30;

/// A set of tests to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Tests that each change must pass.
    Usual,
    /// Also tests that boot virtual machines or take minutes, marked `#[ignore = "lab tier: …"]`.
    Lab,
    /// Quick tests without root, see [`super::fast`]. A missing requirement skips a test, under CI too.
    Fast,
}

/// Variables of tests besides those from cargo.
pub type Environment = Vec<(&'static str, String)>;

/// Returns the environment of the tests of a tier.
pub fn environment(tier: Tier) -> Environment {
    let mut environment = Environment::new();
    match tier {
        Tier::Usual => {}
        Tier::Lab => environment.push(("PLUMB_TEST_LAB", "1".to_owned())),
        Tier::Fast => environment.push(("PLUMB_TEST_FAST", "1".to_owned())),
    }
    // Most tests wait: for devices, virtual machines, and times that must pass.
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        environment.push(("RUST_TEST_THREADS", (2 * processors).to_string()));
    }
    environment
}

/// A line of `cargo test --message-format=json`. Source: "External tools" of The Cargo Book.
#[derive(Debug, Deserialize)]
struct Message {
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    /// Path of a built program.
    executable: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
}

#[derive(Debug, Deserialize)]
struct Profile {
    test: bool,
}

#[derive(Debug)]
pub struct Suite {
    name: String,
    program: PathBuf,
    /// Folder of its package, in which it runs.
    folder: PathBuf,
    tier: Tier,
    /// Further arguments of libtest, for a run of more than one test.
    pub arguments: Vec<String>,
}

impl Suite {
    /// Returns `None` if a message is about something else.
    fn from_message(message: Message, tier: Tier) -> Option<Suite> {
        message.profile?.test.then_some(())?;
        let folder = message.manifest_path?.parent()?.to_owned();
        let (name, program) = (message.target?.name, message.executable?);
        Some(Suite { name, program, folder, tier, arguments: Vec::new() })
    }

    /// Returns a program that is not built, for tests.
    #[cfg(test)]
    pub(super) fn at(folder: &std::path::Path, name: &str) -> Suite {
        let (name, folder) = (name.to_owned(), folder.to_owned());
        Suite { name, program: PathBuf::new(), folder, tier: Tier::Fast, arguments: Vec::new() }
    }

    /// Whether it is this target.
    pub fn is(&self, (folder, name): Which) -> bool {
        self.name == name && self.folder == workspace().join(folder)
    }

    /// Returns the name that reports print.
    pub fn title(&self) -> String {
        let folder = self.folder.strip_prefix(workspace()).unwrap_or(&self.folder);
        format!("{} in {}", self.name, folder.display())
    }

    fn command(&self, environment: &Environment) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        match self.tier {
            Tier::Usual => {}
            Tier::Lab => {
                command.arg("--include-ignored");
            }
            Tier::Fast => {
                command.env_remove("CI");
            }
        }
        command
    }

    /// Returns the names of its tests.
    pub fn listed(&self) -> Result<Vec<String>> {
        let output = Command::new(&self.program).args(["--list", "--format", "terse"]).output();
        let output = output.with_context(|| format!("cannot start {}", self.program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// Runs it. Its output is printed at once, or later if two programs run at the same time.
    pub fn run(&self, environment: &Environment, prints_at_once: bool) -> Result<Ran> {
        let mut command = self.command(environment);
        command.args(&self.arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        let no_start = || format!("cannot start {}", self.program.display());
        if !prints_at_once {
            let output = command.output().with_context(no_start)?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            return Ok(Ran { status: output.status, text, errors: output.stderr });
        }
        let mut child = command.spawn().with_context(no_start)?;
        let mut text = String::new();
        let mut lines = BufReader::new(child.stdout.take().context("no output")?);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 {
            std::io::stdout().write_all(&line)?;
            text.push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
        Ok(Ran { status: child.wait()?, text, errors: Vec::new() })
    }

    /// Runs one of its tests alone.
    fn passes_alone(&self, test: &str, environment: &Environment) -> Result<bool> {
        println!("\n== {test} of {}, once more", self.title());
        let status = self.command(environment).args(["--exact", test]).status();
        Ok(status.with_context(|| format!("cannot start {}", self.program.display()))?.success())
    }
}

/// The result of a test program.
pub struct Ran {
    pub status: ExitStatus,
    /// Its output, including that of failed tests.
    pub text: String,
    /// Its standard error, if that was not printed at once.
    pub errors: Vec<u8>,
}

/// Returns the failed tests, from libtest's list at the end.
fn failures(text: &str) -> Vec<&str> {
    let list = text.rfind("\nfailures:\n").map_or("", |at| &text[at + "\nfailures:\n".len()..]);
    list.lines().map_while(|line| line.strip_prefix("    ")).collect()
}

/// Returns the tests of the lab tier that were left out, from libtest's lines.
fn left_out(text: &str) -> Vec<String> {
    let tests = text.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... ignored, lab tier: "));
    tests.map(|(test, _)| test.to_owned()).collect()
}

/// Returns the first lines of a failed test's output.
fn failure_lines<'text>(text: &'text str, test: &str) -> Vec<&'text str> {
    let head = format!("---- {test} stdout ----\n");
    let Some(at) = text.find(&head) else { return Vec::new() };
    let lines = text[at + head.len()..].lines();
    lines.take_while(|line| !line.starts_with("---- ") && *line != "failures:").take(LINES_SHOWN).collect()
}

/// The results of all programs.
pub struct Outcome<'suites> {
    environment: &'suites Environment,
    failed: Vec<String>,
    /// Tests of the lab tier that the usual tier leaves out.
    left_out: Vec<String>,
    /// Tests that failed, but passed alone.
    passed_alone: Vec<String>,
    /// Output of failed tests.
    excerpts: String,
}

impl<'suites> Outcome<'suites> {
    /// Begins a report of programs that run in this environment.
    pub fn new(environment: &'suites Environment) -> Self {
        Outcome {
            environment,
            failed: Vec::new(),
            left_out: Vec::new(),
            passed_alone: Vec::new(),
            excerpts: String::new(),
        }
    }

    /// Records the result of a program, and runs its failed tests once more.
    pub fn note(&mut self, suite: &'suites Suite, ran: &Ran) -> Result<()> {
        self.left_out.extend(left_out(&ran.text));
        if ran.status.success() {
            return Ok(());
        }
        let failures = failures(&ran.text);
        for test in &failures {
            self.excerpts += &format!("\n{test}:\n{}\n", failure_lines(&ran.text, test).join("\n"));
        }
        // A crashed program has no list of failures.
        if failures.is_empty() || failures.len() > RUN_AGAIN_AT_MOST {
            self.failed.push(suite.title());
            return Ok(());
        }
        for test in failures {
            let passed = suite.passes_alone(test, self.environment)?;
            let list = if passed { &mut self.passed_alone } else { &mut self.failed };
            list.push(format!("{test} of {}", suite.title()));
        }
        Ok(())
    }

    /// Prints the last lines: failures, tests that passed at the second try, tests that were left out.
    ///
    /// # Errors
    ///
    /// At least one test failed twice.
    pub fn finish(self, success: &str) -> Result<()> {
        let Outcome { failed, passed_alone, excerpts, left_out, .. } = self;
        if !excerpts.is_empty() {
            println!("\n== what failed, at first\n{excerpts}");
        }
        if !passed_alone.is_empty() {
            println!("\nfailed, and passed when run once more: {}", passed_alone.join(", "));
        }
        if !left_out.is_empty() {
            println!("\nleft out, which `cargo xtask test --lab` runs: {}", left_out.join(", "));
        }
        if failed.is_empty() {
            println!("\n{success}");
            return Ok(());
        }
        bail!("failed: {}", failed.join(", "))
    }
}

/// Builds and runs all of them. A failure does not stop the others.
///
/// # Errors
///
/// They do not compile, or some failed.
pub fn run(tier: Tier, environment: &Environment) -> Result<()> {
    let suites = built(tier, &["--workspace".to_owned()])?;
    let only = |which: Which| {
        suites
            .iter()
            .find(|suite| suite.is(which))
            .with_context(|| format!("no test program `{}` in {}", which.1, which.0))
    };
    let (beside, alone) = (only(BESIDE)?, only(ALONE)?);
    let mut outcome = Outcome::new(environment);
    let ran_beside = thread::scope(|scope| {
        let other = scope.spawn(|| beside.run(environment, false));
        for suite in suites.iter().filter(|suite| !suite.is(BESIDE) && !suite.is(ALONE)) {
            println!("\n== {}", suite.title());
            outcome.note(suite, &suite.run(environment, true)?)?;
        }
        other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    println!("\n== {}, beside the others", beside.title());
    print!("{}{}", ran_beside.text, String::from_utf8_lossy(&ran_beside.errors));
    outcome.note(beside, &ran_beside)?;
    println!("\n== {}", alone.title());
    outcome.note(alone, &alone.run(environment, true)?)?;
    println!("\n== examples in docstrings");
    let mut examples = cargo();
    examples.args(["test", "--workspace", "--locked", "--no-fail-fast", "--doc"]);
    examples.envs(environment.iter().map(|(name, value)| (name, value)));
    if !examples.status().context("cannot start cargo")?.success() {
        outcome.failed.push("examples in docstrings".to_owned());
    }
    outcome.finish(&format!("all {} test programs passed", suites.len()))
}

/// Builds the programs that `selection`, arguments of `cargo test`, names, and returns them in cargo's order.
pub fn built(tier: Tier, selection: &[String]) -> Result<Vec<Suite>> {
    let mut build = cargo();
    build.args(["test", "--locked", "--no-run", "--message-format=json-render-diagnostics"]).args(selection);
    let output = build.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("the tests do not compile");
    }
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let messages = lines.map(|line| serde_json::from_slice(line).context("cannot read cargo's messages"));
    let messages = messages.collect::<Result<Vec<Message>>>()?;
    Ok(messages.into_iter().filter_map(|message| Suite::from_message(message, tier)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: test programs are recognised with their folders; a library built for tests and a binary are not.
    #[test]
    fn test_programs_are_recognised() {
        let suite = |executable: &str, test: bool| {
            let text = format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/crates/lab/Cargo.toml","target":{{"name":"lab","kind":["test"]}},
                "profile":{{"test":{test},"opt_level":"0"}},"executable":{executable}}}"#
            );
            Suite::from_message(serde_json::from_str(&text).unwrap(), Tier::Usual)
        };
        let found = suite(r#""/w/target/debug/deps/lab-1""#, true).unwrap();
        assert_eq!((found.name.as_str(), found.folder.as_path()), ("lab", "/w/crates/lab".as_ref()));
        assert!(suite("null", true).is_none() && suite(r#""/w/target/debug/plumb""#, false).is_none());
        let other: Message = serde_json::from_str(r#"{"reason":"build-finished","success":true}"#).unwrap();
        assert!(Suite::from_message(other, Tier::Usual).is_none());
    }

    // Protects: failed tests are run again, and the last lines contain the output of their failure.
    #[test]
    fn failures_are_read_from_what_a_program_of_tests_printed() {
        let text = "test a::one ... ok\ntest a::two ... FAILED\n\nfailures:\n\n---- a::two stdout ----\nsome 1\nsome 2\n\n---- b::three \
            stdout ----\nother\n\n\nfailures:\n    a::two\n    b::three\n\ntest result: FAILED. 1 passed; 2 failed\n";
        assert_eq!(failures(text), ["a::two", "b::three"]);
        assert_eq!(failure_lines(text, "a::two"), ["some 1", "some 2", ""]);
        assert_eq!(failure_lines(text, "b::three"), ["other", "", ""]);
        let text = "test vm::a ... ignored, lab tier: boots a virtual machine\ntest b ... ignored, of another test\ntest c ... ok\n";
        assert_eq!(left_out(text), ["vm::a"]);
        assert!(failures("test a::one ... ok\n").is_empty() && failure_lines(text, "a::one").is_empty());
    }

    // Protects: a test that fails twice fails the run. One that passes alone does not, and is named. A program that
    // crashes without a list, or has many failures, is not run again.
    #[test]
    fn what_failed_is_run_once_more_by_itself() {
        use std::os::unix::fs::PermissionsExt;
        use std::os::unix::process::ExitStatusExt;
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("tests");
        std::fs::write(&program, "#!/bin/sh\n[ \"$1 $2\" = '--exact a::flaky' ]\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        let suite = Suite {
            name: "cli".to_owned(),
            program,
            folder: place.path().to_owned(),
            tier: Tier::Usual,
            arguments: Vec::new(),
        };
        let environment = Environment::new();
        let failed = |tests: &[&str]| {
            let list: String = tests.iter().map(|test| format!("    {test}\n")).collect();
            let text = format!("\nfailures:\n\n---- a::flaky stdout ----\nlate\n\n\nfailures:\n{list}\n");
            let mut outcome = Outcome::new(&environment);
            outcome.note(&suite, &Ran { status: ExitStatus::from_raw(101 << 8), text, errors: Vec::new() }).unwrap();
            (outcome.failed.len(), outcome.passed_alone, outcome.excerpts)
        };
        let (lost, passed, excerpts) = failed(&["a::flaky", "a::broken"]);
        assert_eq!((lost, passed.len()), (1, 1));
        assert!(passed[0].starts_with("a::flaky of cli") && excerpts.contains("a::flaky:\nlate"), "{excerpts}");
        assert_eq!(failed(&[]).0, 1, "it died");
        let (lost, passed, _) = failed(&["a::flaky"; RUN_AGAIN_AT_MOST + 1]);
        assert_eq!((lost, passed.len()), (1, 0));
    }
}
