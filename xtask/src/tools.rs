//! The workspace, its target directory, and running programs.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the root of the workspace.
pub fn workspace() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    own.parent().map(PathBuf::from).unwrap_or(own)
}

/// Runs a command to its end and fails when it does.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}

/// Runs a command to its end. Its output is printed only if it fails.
pub fn run_quietly(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

/// Returns the cargo that runs this program, in the root of the workspace.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(workspace());
    cargo
}

/// Returns cargo's target directory.
pub fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), |own| workspace().join(own))
}

/// A build profile of `Cargo.toml` for `plumb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// The profile of `cargo build --release`, which compiles fast.
    Release,
    /// The profile of packages, which runs fast.
    Dist,
    /// The profile of `cargo build`.
    Dev,
}

impl Profile {
    /// Returns its name in `Cargo.toml`, and below the target directory.
    const fn name(self) -> &'static str {
        match self {
            Profile::Release => "release",
            Profile::Dist => "dist",
            Profile::Dev => "dev",
        }
    }
}

/// Returns the named `plumb`, or builds one.
pub fn plumb(named: Option<&Path>, profile: Profile) -> Result<PathBuf> {
    if let Some(binary) = named {
        return Ok(binary.to_owned());
    }
    println!("building plumb with the profile `{}`", profile.name());
    let mut build = cargo();
    build.args(["build", "--profile", profile.name(), "--locked", "--quiet"]);
    run(build.args(["--package", crate::dist::PACKAGE]))?;
    let folder = if profile == Profile::Dev { "debug" } else { profile.name() };
    Ok(target_directory().join(folder).join("plumb"))
}
