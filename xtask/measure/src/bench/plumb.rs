//! Runs `plumb`, and parses its result.

use super::Options;
use super::rounds::Speed;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(super) struct Plumb {
    binary: PathBuf,
}

impl Plumb {
    /// Returns the named binary, or builds one with the profile of packages.
    pub(super) fn get(options: &Options) -> Result<Plumb> {
        // Benchmarks start it in other directories.
        Ok(Plumb {
            binary: std::path::absolute(xtask::tools::plumb(options.binary.as_deref(), xtask::tools::Profile::Dist)?)?,
        })
    }

    /// Returns the command that behaves like another tool.
    pub(super) fn as_tool(&self, tool: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(["as", tool]);
        command
    }

    /// Returns the command with a store of its own below this directory.
    pub(super) fn in_home(&self, home: &Path) -> Command {
        let mut command = Command::new(&self.binary);
        command.current_dir(home).env("XDG_DATA_HOME", home.join("data")).env_remove("PLUMB_DB");
        command
    }

    /// Returns the command that runs a workload file, with test data below `at`.
    pub(super) fn command(&self, workload: &Path, at: &Path) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg("run").arg(workload).arg("--at").arg(at).args(["--json", "--no-store"]);
        command
    }

    /// Runs a workload file to its end and returns its phases.
    pub(super) fn run(&self, workload: &Path, at: &Path) -> Result<Vec<Phase>> {
        let output = self.command(workload, at).stderr(Stdio::inherit()).output();
        let output = output.with_context(|| format!("cannot start {}", self.binary.display()))?;
        let result: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("plumb run {}: {} without a result", workload.display(), output.status))?;
        // 3 means that a check rejected the result, for instance on a busy machine; alternation compensates for that.
        if !matches!(output.status.code(), Some(0 | 3)) {
            bail!("plumb run {}: {}", workload.display(), output.status);
        }
        let phases = result["phases"].as_array().context("a result without phases")?;
        Ok(phases.iter().cloned().map(Phase).collect())
    }
}

/// One phase of a result.
pub(super) struct Phase(Value);

impl Phase {
    pub(super) fn metric(&self, name: &str) -> Result<f64> {
        let value = self.0["metrics"][name]["value"].as_f64();
        value.with_context(|| format!("phase {} has no metric {name}", self.0["name"]))
    }

    /// Returns the rate of the ops that `rate` counts, and the CPU time per op.
    pub(super) fn speed(&self, rate: &str) -> Result<Speed> {
        let ops_per_second = self.metric(rate)?;
        let cpus = self.metric("cpu.user")? + self.metric("cpu.system")?;
        Ok(Speed { ops_per_second, cpu_ns: cpus * 1e9 / ops_per_second })
    }
}
