//! All tests of the workspace, as `cargo test` runs them, but with one program of tests beside the others: that of the lab waits for
//! virtual machines most of its time. Tests that compare speeds run when nothing else does.

use super::tools::{cargo, workspace};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;

/// Of the workspace, a folder and a target in it.
type Which = (&'static str, &'static str);

/// Runs beside the others.
const BESIDE: Which = ("crates/plumb", "lab");

/// Runs when no other does: its tests compare speeds.
const ALONE: Which = ("crates/plumb", "storage");

/// What they need beside what cargo gives them.
pub(super) type Environment = Vec<(&'static str, String)>;

/// A line of `cargo test --message-format=json`. Source: "External tools" of The Cargo Book.
#[derive(Debug, Deserialize)]
struct Message {
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    /// Of a program that was built.
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

/// One program of tests.
#[derive(Debug)]
struct Suite {
    name: String,
    program: PathBuf,
    /// Of its package: where it runs.
    folder: PathBuf,
}

impl Suite {
    /// `None` where a message is of something else.
    fn of(message: Message) -> Option<Suite> {
        message.profile?.test.then_some(())?;
        let folder = message.manifest_path?.parent()?.to_owned();
        Some(Suite { name: message.target?.name, program: message.executable?, folder })
    }

    fn is(&self, (folder, name): Which) -> bool {
        self.name == name && self.folder == workspace().join(folder)
    }

    fn title(&self) -> String {
        let folder = self.folder.strip_prefix(workspace()).unwrap_or(&self.folder);
        format!("{} in {}", self.name, folder.display())
    }

    fn command(&self, environment: &Environment) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn passes(&self, environment: &Environment) -> Result<bool> {
        println!("\n== {}", self.title());
        let status = self.command(environment).status();
        Ok(status.with_context(|| format!("cannot start {}", self.program.display()))?.success())
    }

    /// Its output is for later: two at a time could not be read.
    fn output(&self, environment: &Environment) -> Result<Output> {
        let output = self.command(environment).stdin(Stdio::null()).output();
        output.with_context(|| format!("cannot start {}", self.program.display()))
    }
}

/// Builds and runs all of them. One that fails does not keep the others from running.
///
/// # Errors
/// They do not compile, or some failed.
pub(super) fn run(environment: &Environment) -> Result<()> {
    let suites = built()?;
    let only = |which: Which| {
        suites
            .iter()
            .find(|suite| suite.is(which))
            .with_context(|| format!("no test program `{}` in {}", which.1, which.0))
    };
    let (beside, alone) = (only(BESIDE)?, only(ALONE)?);
    let mut failed = Vec::new();
    let mut note = |title: String, passed: bool| {
        if !passed {
            failed.push(title);
        }
    };
    let told = thread::scope(|scope| {
        let other = scope.spawn(|| beside.output(environment));
        for suite in suites.iter().filter(|suite| !suite.is(BESIDE) && !suite.is(ALONE)) {
            note(suite.title(), suite.passes(environment)?);
        }
        other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    println!("\n== {}, beside the others", beside.title());
    print!("{}{}", String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    note(beside.title(), told.status.success());
    note(alone.title(), alone.passes(environment)?);
    println!("\n== examples in docstrings");
    let mut examples = cargo();
    examples.args(["test", "--workspace", "--locked", "--no-fail-fast", "--doc"]);
    examples.envs(environment.iter().map(|(name, value)| (name, value)));
    note("examples in docstrings".to_owned(), examples.status().context("cannot start cargo")?.success());
    if failed.is_empty() {
        println!("\nall {} test programs passed", suites.len());
        return Ok(());
    }
    bail!("failed: {}", failed.join(", "))
}

/// In cargo's order.
fn built() -> Result<Vec<Suite>> {
    let mut build = cargo();
    build.args(["test", "--workspace", "--locked", "--no-run", "--message-format=json-render-diagnostics"]);
    let output = build.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("the tests do not compile");
    }
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let messages = lines.map(|line| serde_json::from_slice(line).context("cannot read cargo's messages"));
    let messages = messages.collect::<Result<Vec<Message>>>()?;
    Ok(messages.into_iter().filter_map(Suite::of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a program of tests is one, with its folder; a library that was built for tests and a binary are none.
    #[test]
    fn programs_of_tests_are_told_from_the_rest() {
        let suite = |executable: &str, test: bool| {
            let text = format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/crates/lab/Cargo.toml","target":{{"name":"lab","kind":["test"]}},
                "profile":{{"test":{test},"opt_level":"0"}},"executable":{executable}}}"#
            );
            Suite::of(serde_json::from_str(&text).unwrap())
        };
        let found = suite(r#""/w/target/debug/deps/lab-1""#, true).unwrap();
        assert_eq!((found.name.as_str(), found.folder.as_path()), ("lab", "/w/crates/lab".as_ref()));
        assert!(suite("null", true).is_none() && suite(r#""/w/target/debug/plumb""#, false).is_none());
        let other: Message = serde_json::from_str(r#"{"reason":"build-finished","success":true}"#).unwrap();
        assert!(Suite::of(other).is_none());
    }
}
