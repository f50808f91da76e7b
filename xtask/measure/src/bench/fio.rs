//! Runs fio, and parses its result.

use super::rounds::Speed;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// Options of every case: only the work that Plumb does as well. Statistics keep fio's defaults: submission, completion
/// and total latency, and a histogram of completions.
const SAME_WORK: &[&str] =
    &["--name=peer", "--thread", "--rw=randread", "--bs=4k", "--norandommap", "--invalidate=0", "--size=256m"];

pub(super) fn command<S: AsRef<OsStr>>(fio: &Path, options: &[S]) -> Command {
    let mut command = Command::new(fio);
    command.args(SAME_WORK).args(options).arg("--output-format=json");
    command
}

/// Returns fio's version, such as `fio-3.33`.
pub(super) fn version(fio: &Path) -> Result<String> {
    let output = Command::new(fio).arg("--version").output().context("fio is needed: apt-get install fio")?;
    Ok(String::from_utf8_lossy(output.stdout.trim_ascii()).into_owned())
}

/// Runs fio for this many seconds.
pub(super) fn run<S: AsRef<OsStr>>(fio: &Path, options: &[S], seconds: u32) -> Result<Speed> {
    let mut command = command(fio, options);
    command.args(["--time_based", &format!("--runtime={seconds}")]);
    let output = command.output().context("cannot start fio")?;
    if !output.status.success() {
        bail!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let result: Value = serde_json::from_slice(&output.stdout).with_context(|| format!("the output of {command:?}"))?;
    let job = &result["jobs"][0];
    // `total_ios / runtime`: `iops` is the same, rounded from whole milliseconds.
    let ios = job["read"]["total_ios"].as_f64().context("fio: no total_ios")?;
    let runtime_ms = job["read"]["runtime"].as_f64().context("fio: no runtime")?;
    let cpu_percent = job["usr_cpu"].as_f64().unwrap_or(0.0) + job["sys_cpu"].as_f64().unwrap_or(0.0);
    let seconds = runtime_ms / 1e3;
    Ok(Speed { ops_per_second: ios / seconds, cpu_ns: cpu_percent / 100.0 * seconds * 1e9 / ios })
}
