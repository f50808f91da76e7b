//! The virtual environment of the tests of the Python package and of exports: what they need comes from PyPI, and not from Debian.

use crate::packages::is_root;
use crate::tools::{run, target_directory, workspace};
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

/// The list of its packages, relative to the workspace.
const REQUIREMENTS: &str = "packaging/wheel/tests/requirements.txt";

fn directory() -> PathBuf {
    target_directory().join("python-tests")
}

/// Returns `true` if the environment has what the list names now.
fn is_current() -> bool {
    let installed = std::fs::read_to_string(directory().join("requirements.txt"));
    let wanted = std::fs::read_to_string(workspace().join(REQUIREMENTS));
    matches!((installed, wanted), (Ok(installed), Ok(wanted)) if installed == wanted)
}

/// Prints that the environment is missing, and the command that makes it.
pub fn report() {
    if !is_current() {
        eprintln!(
            "missing: mypy, pandas and others from PyPI for tests of the Python package; `cargo xtask test --install` \
             installs them into {}",
            directory().display()
        );
    }
}

/// Makes the environment, if it is missing or the list has changed.
///
/// # Errors
///
/// Python or its venv is missing, or PyPI cannot be reached.
pub fn provide() -> Result<()> {
    if is_current() {
        return Ok(());
    }
    if is_root() && !can_make_environments() {
        crate::packages::install(&["python3-venv"])?;
    }
    let python = directory().join("bin/python");
    println!("installing the packages of {REQUIREMENTS} into {}", directory().display());
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(directory()))?;
    let list = workspace().join(REQUIREMENTS);
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    run(Command::new(python).args(pip).arg(&list))?;
    // Last, so that an installation that was cut off is made again.
    std::fs::copy(&list, directory().join("requirements.txt")).with_context(|| list.display().to_string())?;
    Ok(())
}

fn can_make_environments() -> bool {
    let check = Command::new("python3").args(["-c", "import ensurepip, venv"]).output();
    check.is_ok_and(|output| output.status.success())
}
