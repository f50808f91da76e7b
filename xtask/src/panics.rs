//! Checks that a built program survives the panic of one of its workers: only an optimised build shows whether it
//! unwinds and has kept its symbols.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// Runs a simulated workload whose only worker panics on purpose.
///
/// # Errors
/// The exit code is not 4, or the report lacks the message or the name of the function that panicked.
pub fn check(program: &Path) -> Result<()> {
    let output = Command::new(program)
        .args(["run", "random-read", "--at", "sim:ssd", "--set", "time=100ms", "--no-store"])
        .env("PLUMB_PANIC_WORKER", "workers.0/0")
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let report = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(4), "a worker's panic ends with {}, not 4:\n{report}", output.status);
    for text in ["worker workers.0/0 panicked at", "plumb_engine::panics::panic_on_purpose"] {
        ensure!(report.contains(text), "the report of a worker's panic lacks `{text}`:\n{report}");
    }
    Ok(())
}
