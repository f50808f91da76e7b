//! Builds the programs of a machine twice: for glibc, and static.

use super::machine::Machine;
use super::programs::package_options;
use super::{OLDEST_GLIBC, tools, work_directory};
use crate::tools::{cargo, run, target_directory, workspace};
use anyhow::{Context, Result};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The profile of packages in `Cargo.toml`; cargo's directory for it has the same name.
const PROFILE: &str = "dist";

/// Option for the linker, passed through the C compiler: debuggers find debug information by the build id.
const BUILD_ID: &str = "-Wl,--build-id=sha1";

/// Builds the static programs and returns their directory. Debian's musl-gcc compiles C (SQLite) on x86-64, and zig elsewhere; Rust includes musl.
pub(super) fn fixed(machine: Machine) -> Result<PathBuf> {
    let target = machine.fixed_target();
    add_target(&target)?;
    let mut build = cargo();
    build.args(["build", "--profile", PROFILE, "--locked", "--target", &target]).args(package_options());
    // LLD is called directly for another machine's program, and through a C compiler otherwise.
    let by_compiler = machine == Machine::X86_64;
    build.env("CARGO_ENCODED_RUSTFLAGS", rust_flags(if by_compiler { BUILD_ID } else { "--build-id=sha1" })?);
    if machine != Machine::X86_64 {
        let variable = target.replace('-', "_");
        build.env(format!("CC_{variable}"), zig(machine, "cc")?).env(format!("AR_{variable}"), zig(machine, "ar")?);
        build.env(format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase()), "rust-lld");
    }
    run(build.env("PATH", tools::search_path()))?;
    Ok(target_directory().join(target).join(PROFILE))
}

/// Builds the programs for glibc and returns their directory. zig links them, by cargo-zigbuild, which maturin includes, too:
/// maturin alone would build one package at a time, and the crates that both share twice.
pub(super) fn shared(machine: Machine) -> Result<PathBuf> {
    let target = machine.shared_target();
    add_target(&target)?;
    let mut build = tools::command("cargo-zigbuild");
    build.current_dir(workspace()).args(["zigbuild", "--profile", PROFILE, "--locked"]).args(package_options());
    build.args(["--target", &format!("{target}.{OLDEST_GLIBC}")]);
    run(build.env("CARGO_ENCODED_RUSTFLAGS", rust_flags(BUILD_ID)?))?;
    Ok(target_directory().join(target).join(PROFILE))
}

/// Returns options for rustc, as cargo reads them from one variable. Debug information and messages refer to sources by
/// paths that are the same on every machine, not by the builder's directories.
fn rust_flags(build_id: &str) -> Result<String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).context("no home directory")?;
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let flags = [
        format!("-Clink-arg={build_id}"),
        remap(&workspace(), "/usr/src/plumb"),
        remap(&cargo.join("registry/src"), "/usr/src/cargo"),
    ];
    Ok(flags.join("\x1f"))
}

fn add_target(target: &str) -> Result<()> {
    run(Command::new("rustup").args(["target", "add", target]).current_dir(workspace()))
}

/// Writes a script that calls zig for a machine. zig does not understand Rust's target name, so the script drops it.
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

/// Returns a command for a program of a machine, emulated if this machine is another one.
pub(super) fn program(machine: Machine, path: &Path) -> Command {
    if machine.is_own() {
        return Command::new(path);
    }
    let mut command = Command::new(machine.emulator());
    command.arg(path);
    command
}
