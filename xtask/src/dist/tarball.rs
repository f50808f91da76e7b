//! The static programs with manual and completions, for any Linux.

use super::debug::Split;
use super::machine::Machine;
use super::{programs, version};
use crate::tools::{run, workspace};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Returns the name of the archive without its extensions, which is also the directory in it.
pub(super) fn name(machine: Machine) -> String {
    format!("plumb-{}-{}-linux-static", version(), machine.name())
}

/// Returns what follows the name of a static program in that of its debug information.
pub(super) fn debug_suffix(machine: Machine) -> String {
    format!("-{}-{}-linux-static.debug", version(), machine.name())
}

pub(super) fn write(machine: Machine, stage: &Path, fixed: &[Split], out: &Path) -> Result<()> {
    let name = name(machine);
    let dir = stage.join(&name);
    std::fs::create_dir_all(&dir)?;
    programs::copy(fixed, &dir)?;
    for folder in ["man", "completions"] {
        run(Command::new("cp").arg("--recursive").arg(stage.join(folder)).arg(&dir))?;
    }
    for file in ["LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md"] {
        std::fs::copy(stage.join(file), dir.join(file)).with_context(|| file.to_owned())?;
    }
    let readme = workspace().join("packaging/static/README.md");
    std::fs::copy(&readme, dir.join("README.md")).with_context(|| readme.display().to_string())?;
    archive(stage, &[&name], &out.join(format!("{name}.tar.gz")), Compression::Gzip)
}

/// Whether an archive is compressed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    None,
}

/// Writes an archive that does not depend on the time or the user.
pub(super) fn archive(dir: &Path, names: &[&str], out: &Path, compression: Compression) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--format=ustar"]);
    if compression == Compression::Gzip {
        tar.arg("--use-compress-program=gzip -9n");
    }
    run(tar.arg("--file").arg(out).arg("--directory").arg(dir).args(names))
}
