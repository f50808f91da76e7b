//! The two programs of a machine: one for glibc, in a wheel, and a static one.

use super::machine::Machine;
use super::{OLDEST_GLIBC, tools, work_directory};
use crate::tools::{cargo, run, target_directory, workspace};
use anyhow::{Context, Result};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The static program. C (SQLite) is compiled by Debian's musl-gcc on x86-64 and by zig elsewhere; Rust has musl itself.
pub fn fixed(machine: Machine) -> Result<PathBuf> {
    let target = machine.fixed_target();
    add_target(&target)?;
    let mut build = cargo();
    build.args(["build", "--release", "--locked", "--package", "plumb", "--target", &target]);
    if machine != Machine::X86_64 {
        let variable = target.replace('-', "_");
        build.env(format!("CC_{variable}"), zig(machine, "cc")?).env(format!("AR_{variable}"), zig(machine, "ar")?);
        build.env(format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase()), "rust-lld");
    }
    run(build.env("PATH", tools::search_path()))?;
    Ok(target_directory().join(target).join("release/plumb"))
}

/// The program for glibc. maturin builds it, so that its wheel and the packages have the same; it also refuses what
/// `manylinux` does not allow.
pub fn shared(machine: Machine, out: &Path) -> Result<PathBuf> {
    let target = machine.shared_target();
    add_target(&target)?;
    let mut build = tools::command("maturin");
    build.current_dir(workspace().join("packaging/wheel"));
    build.args(["build", "--release", "--locked", "--zig", "--target", &target]);
    build.arg("--compatibility").arg(format!("manylinux_{}_{}", OLDEST_GLIBC.major, OLDEST_GLIBC.minor));
    build.arg("--out").arg(out);
    build.env("CARGO_TARGET_DIR", target_directory()).env("PLUMB_OLDEST_GLIBC", OLDEST_GLIBC.to_string());
    run(&mut build)?;
    Ok(target_directory().join(target).join("release/plumb"))
}

fn add_target(target: &str) -> Result<()> {
    run(Command::new("rustup").args(["target", "add", target]).current_dir(workspace()))
}

/// A script that calls zig for a machine. Rust names a target in a way that zig does not read, so that is left out.
fn zig(machine: Machine, what: &str) -> Result<PathBuf> {
    let target = format!("{}-linux-musl", machine.name());
    let script = match what {
        "cc" => format!(
            "#!/bin/sh\nfor word; do\n  shift\n  case $word in --target=*) ;; *) set -- \"$@\" \"$word\" ;; esac\ndone\n\
             exec python3 -m ziglang cc -target {target} \"$@\"\n"
        ),
        what => format!("#!/bin/sh\nexec python3 -m ziglang {what} \"$@\"\n"),
    };
    let dir = work_directory().join("zig");
    std::fs::create_dir_all(&dir)?;
    let path = dir.join(format!("zig-{what}-{}", machine.name()));
    std::fs::write(&path, script).with_context(|| path.display().to_string())?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

/// A program of a machine, emulated where this machine is another.
pub fn program(machine: Machine, path: &Path) -> Command {
    if machine.is_own() {
        return Command::new(path);
    }
    let mut command = Command::new(machine.emulator());
    command.arg(path);
    command
}
