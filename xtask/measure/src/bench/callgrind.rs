//! User instructions per op.

use anyhow::{Context, Result, bail};
use std::process::Command;

/// Ops of the shorter run.
const FEW: u64 = 200_000;
const MANY: u64 = 1_200_000;

/// Returns instructions per op: the difference between a long run and a short one, divided by the difference of their
/// ops, so that starting, ending and reporting cancel out. `command` builds the run of N ops.
pub(super) fn instructions_per_op(mut command: impl FnMut(u64) -> Result<Command>) -> Result<f64> {
    let few = instructions(&command(FEW)?)?;
    let many = instructions(&command(MANY)?)?;
    Ok((many as f64 - few as f64) / (MANY - FEW) as f64)
}

fn instructions(command: &Command) -> Result<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(command.get_program()).args(command.get_args());
    let output = valgrind.output().context("valgrind is needed: apt-get install valgrind")?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{valgrind:?}: {}\n{text}", output.status);
    }
    // "==1234== Collected : 56789"
    let collected = text.lines().find_map(|line| line.split_once("Collected :"));
    let collected = collected.and_then(|(_, number)| number.trim().parse().ok());
    collected.with_context(|| format!("callgrind did not say what it collected:\n{text}"))
}
