//! Builds `.deb` and `.rpm` from a stage.

use super::machine::Machine;
use super::tools;
use crate::tools::run;
use anyhow::Result;
use std::path::Path;

pub(super) fn deb(machine: Machine, stage: &Path, out: &Path) -> Result<()> {
    let mut packager = tools::command("cargo-deb");
    packager.args(["deb", "--no-build", "--no-strip", "--offline", "--target", &machine.shared_target()]);
    run(packager.arg("--manifest-path").arg(stage.join("Cargo.toml")).arg("--output").arg(out))
}

pub(super) fn rpm(machine: Machine, stage: &Path, out: &Path) -> Result<()> {
    let mut packager = tools::command("cargo-generate-rpm");
    packager.current_dir(stage).args(["generate-rpm", "--auto-req", "disabled", "--arch", machine.name()]);
    run(packager.arg("--output").arg(out))
}
