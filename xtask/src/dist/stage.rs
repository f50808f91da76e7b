//! Contents of packages in one directory: programs, manual, completions, licences, and the manifest that the packagers
//! read.

use super::compile::program;
use super::debug::Split;
use super::glibc::Version;
use super::machine::Machine;
use super::{programs, version, work_directory};
use crate::tools::{run, workspace};
use anyhow::{Context, Result, ensure};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The unit of `plumb-serve` for systemd.
pub(super) const UNIT: &str = "plumb-serve.service";

pub(super) fn make(machine: Machine, fixed: &[Split], shared: &[Split], oldest: Version) -> Result<PathBuf> {
    let dir = work_directory().join(format!("stage-{}", machine.name()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(dir.join("completions"))?;
    programs::copy(shared, &dir)?;
    let unit = workspace().join("packaging/serve").join(UNIT);
    std::fs::copy(&unit, dir.join(UNIT)).with_context(|| unit.display().to_string())?;
    // The static program prints the same manual and needs no C library here.
    let fixed = &fixed.iter().find(|split| split.name() == "plumb").context("there is no static plumb")?.program;
    run(program(machine, fixed).args(["man", "--all"]).arg(dir.join("man")))?;
    pack_pages(&dir.join("man"))?;
    for (shell, file) in [("bash", "plumb.bash"), ("zsh", "_plumb"), ("fish", "plumb.fish")] {
        let output = program(machine, fixed).args(["completions", shell]).output()?;
        ensure!(output.status.success(), "completions {shell}: {}", String::from_utf8_lossy(&output.stderr));
        std::fs::write(dir.join("completions").join(file), output.stdout)?;
    }
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md"] {
        std::fs::copy(workspace().join(name), dir.join(name)).with_context(|| name.to_owned())?;
    }
    let template = workspace().join("packaging/package.toml");
    let text = std::fs::read_to_string(&template).with_context(|| template.display().to_string())?;
    std::fs::write(
        dir.join("Cargo.toml"),
        text.replace("@VERSION@", version()).replace("@GLIBC@", &oldest.to_string()),
    )?;
    // The packagers ask cargo about the manifest, and cargo requires a source.
    std::fs::write(dir.join("main.rs"), "fn main() {}\n")?;
    Ok(dir)
}

/// Lays out the contents of packages with debug information.
pub(super) fn make_debug(machine: Machine, shared: &[Split]) -> Result<PathBuf> {
    let dir = work_directory().join(format!("stage-debug-{}", machine.name()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir)?;
    std::fs::copy(workspace().join("LICENSE-MIT"), dir.join("LICENSE-MIT"))?;
    let template = workspace().join("packaging/debug.toml");
    let text = std::fs::read_to_string(&template).with_context(|| template.display().to_string())?;
    let mut text = text.replace("@VERSION@", version());
    for split in shared {
        std::fs::copy(&split.debug, dir.join(format!("{}.debug", split.name())))?;
        text = text.replace(&format!("@{}.debug@", split.name()), &split.installed_debug());
    }
    std::fs::write(dir.join("Cargo.toml"), text)?;
    std::fs::write(dir.join("main.rs"), "fn main() {}\n")?;
    Ok(dir)
}

/// As required by Debian's policy (12.1): `gzip -9n`.
fn pack_pages(dir: &Path) -> Result<()> {
    let pages: Vec<PathBuf> = std::fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    ensure!(pages.len() > 20, "{} pages", pages.len());
    run(Command::new("gzip").args(["-9n", "--force"]).args(pages))
}

/// Lays out the contents of an image: the static programs, licences, and an empty /tmp.
pub(super) fn image_root(machine: Machine, fixed: &[Split]) -> Result<PathBuf> {
    let root = work_directory().join(format!("stage-image-{}", machine.name()));
    let _ = std::fs::remove_dir_all(&root);
    let docs = root.join("usr/share/doc/plumb");
    for dir in [root.join("usr/bin"), docs.clone(), root.join("tmp")] {
        std::fs::create_dir_all(dir)?;
    }
    std::fs::set_permissions(root.join("tmp"), std::fs::Permissions::from_mode(0o1777))?;
    programs::copy(fixed, &root.join("usr/bin"))?;
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        std::fs::copy(workspace().join(name), docs.join(name)).with_context(|| name.to_owned())?;
    }
    std::fs::copy(workspace().join("packaging/static/README.md"), docs.join("README.md"))?;
    Ok(root)
}
