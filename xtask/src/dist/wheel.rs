//! The wheel: a Python package with the programs for glibc as its scripts.
//!
//! maturin writes it from a crate with empty programs, whose places the built ones take. So one call of cargo makes all
//! programs of a release, and the wheel has the same ones as the packages.

use super::debug::Split;
use super::glibc::Version;
use super::machine::Machine;
use super::programs::PROGRAMS;
use super::{OLDEST_GLIBC, PACKAGE, sbom, tools, version, work_directory};
use crate::tools::{run, workspace};
use anyhow::{Context, Result, bail, ensure};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The line of `pyproject.toml` that names the crate of a build from source.
const OF_SOURCE: &str = "manifest-path = \"../../crates/plumb/Cargo.toml\"";

/// Writes the wheel into `out`.
///
/// # Errors
///
/// A tool fails, or a program needs more of a system than the wheel's tag promises.
pub(super) fn write(machine: Machine, programs: &[Split], out: &Path) -> Result<()> {
    let source = stage(machine)?;
    let made = source.join("made");
    let mut build = tools::command("maturin");
    build.current_dir(&source).args(["build", "--target", &machine.shared_target(), "--zig"]);
    build.args(["--compatibility", &tag()]).arg("--out").arg(&made);
    run(build.env("CARGO_TARGET_DIR", source.join("target")))?;
    let unpacked = source.join("unpacked");
    run(python(&["unpack", "--dest"]).arg(&unpacked).arg(only(&made)?))?;
    let tree = only(&unpacked)?;
    let scripts = tree.join(format!("{}-{}.data/scripts", PACKAGE.replace('-', "_"), version()));
    for split in programs {
        let place = scripts.join(split.name());
        ensure!(place.is_file(), "maturin put no {} into the wheel", place.display());
        std::fs::copy(&split.program, &place).with_context(|| place.display().to_string())?;
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o755))?;
    }
    // maturin lists the components of the empty programs.
    let components = tree.join(format!("{}-{}.dist-info/sboms", PACKAGE.replace('-', "_"), version()));
    std::fs::remove_dir_all(&components).with_context(|| components.display().to_string())?;
    std::fs::create_dir(&components)?;
    sbom::write(&components)?;
    let packed = source.join("packed");
    std::fs::create_dir(&packed)?;
    run(python(&["pack", "--dest-dir"]).arg(&packed).arg(&tree))?;
    let wheel = only(&packed)?;
    audit(machine, &wheel)?;
    std::fs::copy(&wheel, out.join(wheel.file_name().unwrap_or_default()))?;
    Ok(())
}

/// Returns the tag of systems that the wheel runs on, without the machine.
fn tag() -> String {
    format!("manylinux_{}_{}", OLDEST_GLIBC.major, OLDEST_GLIBC.minor)
}

/// Copies the Python package and its metadata, and writes a crate with empty programs next to them.
fn stage(machine: Machine) -> Result<PathBuf> {
    let dir = work_directory().join(format!("wheel-{}", machine.name()));
    let _ = std::fs::remove_dir_all(&dir);
    run(Command::new("cp").arg("--recursive").arg(workspace().join("packaging/wheel")).arg(&dir))?;
    let project = dir.join("pyproject.toml");
    let text = std::fs::read_to_string(&project)?;
    ensure!(text.contains(OF_SOURCE), "{} has no line `{OF_SOURCE}`", project.display());
    std::fs::write(&project, text.replace(OF_SOURCE, ""))?;
    std::fs::write(dir.join("Cargo.toml"), manifest())?;
    std::fs::write(dir.join("main.rs"), "fn main() {}\n")?;
    Ok(dir)
}

/// Returns the manifest of the crate with empty programs.
fn manifest() -> String {
    let package = format!("[package]\nname = \"{PACKAGE}\"\nversion = \"{}\"\nedition = \"2024\"\n", version());
    let programs = PROGRAMS.iter().map(|one| format!("\n[[bin]]\nname = \"{}\"\npath = \"main.rs\"\n", one.name));
    programs.fold(package + "\n[workspace]\n", |text, program| text + &program)
}

/// Checks that the programs of a wheel use only symbols and libraries that every system of its tag has.
fn audit(machine: Machine, wheel: &Path) -> Result<()> {
    let output = tools::command("auditwheel").arg("show").arg(wheel).output().context("auditwheel")?;
    let report = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "auditwheel: {}\n{report}{complaint}", output.status);
    let needed = glibc_of(&report, machine);
    ensure!(needed.is_some_and(|needed| needed <= OLDEST_GLIBC), "{} is not {}:\n{report}", wheel.display(), tag());
    Ok(())
}

/// Returns the glibc of the tag that auditwheel found. Without one, the programs need a library that no tag allows.
fn glibc_of(report: &str, machine: Machine) -> Option<Version> {
    let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, tag) = words.split_once("platform tag: \"manylinux_")?;
    let (version, _) = tag.split_once(&format!("_{}\"", machine.name()))?;
    let (major, minor) = version.split_once('_')?;
    Some(Version { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

fn python(words: &[&str]) -> Command {
    let mut python = tools::command("python3");
    python.args(["-m", "wheel"]).args(words);
    python
}

/// Returns the only entry of a directory.
fn only(dir: &Path) -> Result<PathBuf> {
    let entries: Vec<PathBuf> = std::fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    match entries.as_slice() {
        [one] => Ok(one.clone()),
        all => bail!("{} entries in {}; expected one", all.len(), dir.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Machine, OF_SOURCE, Version, glibc_of, manifest, workspace};

    // Protects: pip puts both programs into one directory, where `plumb serve` finds `plumb-serve`.
    #[test]
    fn a_wheel_has_all_programs() {
        let manifest = manifest();
        assert!(manifest.contains("name = \"plumb\"\n") && manifest.contains("name = \"plumb-serve\"\n"), "{manifest}");
        let project = std::fs::read_to_string(workspace().join("packaging/wheel/pyproject.toml")).unwrap();
        assert!(project.lines().any(|line| line == OF_SOURCE), "{project}");
    }

    // Protects: a program that needs a newer glibc, or a library of the builder's machine, is in no wheel.
    #[test]
    fn the_glibc_of_a_report_is_read() {
        let report =
            |tag: &str| format!("a.whl is consistent\nwith the following platform\ntag: \"{tag}\".\n\nThe wheel");
        let glibc = |tag: &str| glibc_of(&report(tag), Machine::X86_64);
        assert_eq!(glibc("manylinux_2_28_x86_64"), Some(Version { major: 2, minor: 28 }));
        for other in ["linux_x86_64", "manylinux_2_28_aarch64", "manylinux_2_x86_64", "manylinux_2_28"] {
            assert_eq!(glibc(other), None, "{other}");
        }
        assert_eq!(glibc_of("", Machine::X86_64), None);
    }
}
