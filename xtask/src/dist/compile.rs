//! Builds the two programs of a machine: one for glibc, in a wheel, and a static one.

use super::debug::{self, Split};
use super::machine::Machine;
use super::{OLDEST_GLIBC, PACKAGE, tools, work_directory};
use crate::tools::{cargo, run, target_directory, workspace};
use anyhow::{Context, Result, bail};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The profile of packages in `Cargo.toml`; cargo's directory for it has the same name.
const PROFILE: &str = "dist";

/// Option for the linker, passed through the C compiler: debuggers find debug information by the build id.
const BUILD_ID: &str = "-Wl,--build-id=sha1";

/// Builds the static program. Debian's musl-gcc compiles C (SQLite) on x86-64, and zig elsewhere; Rust includes musl.
pub(super) fn fixed(machine: Machine) -> Result<PathBuf> {
    let target = machine.fixed_target();
    add_target(&target)?;
    let mut build = cargo();
    build.args(["build", "--profile", PROFILE, "--locked", "--package", PACKAGE, "--target", &target]);
    // LLD is called directly for another machine's program, and through a C compiler otherwise.
    let by_compiler = machine == Machine::X86_64;
    build.env("CARGO_ENCODED_RUSTFLAGS", rust_flags(if by_compiler { BUILD_ID } else { "--build-id=sha1" })?);
    if machine != Machine::X86_64 {
        let variable = target.replace('-', "_");
        build.env(format!("CC_{variable}"), zig(machine, "cc")?).env(format!("AR_{variable}"), zig(machine, "ar")?);
        build.env(format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase()), "rust-lld");
    }
    run(build.env("PATH", tools::search_path()))?;
    Ok(target_directory().join(target).join(PROFILE).join("plumb"))
}

/// Builds the program for glibc, without debug information, and its wheel in `out`. maturin builds it, so that the
/// wheel and the packages contain the same program; it also refuses anything that `manylinux` does not allow.
pub(super) fn shared(machine: Machine, out: &Path) -> Result<Split> {
    let target = machine.shared_target();
    let wheels = work_directory().join(format!("wheel-{}", machine.name()));
    let _ = std::fs::remove_dir_all(&wheels);
    add_target(&target)?;
    let mut build = tools::command("maturin");
    build.current_dir(workspace().join("packaging/wheel"));
    build.args(["build", "--profile", PROFILE, "--locked", "--zig", "--target", &target]);
    build.arg("--compatibility").arg(format!("manylinux_{}_{}", OLDEST_GLIBC.major, OLDEST_GLIBC.minor));
    build.arg("--out").arg(&wheels);
    build.env("CARGO_TARGET_DIR", target_directory()).env("CARGO_ENCODED_RUSTFLAGS", rust_flags(BUILD_ID)?);
    run(&mut build)?;
    let built = target_directory().join(&target).join(PROFILE).join("plumb");
    let split = debug::split(&built, &format!("plumb-{}-{}-linux-gnu.debug", super::version(), machine.name()))?;
    put_into_wheel(&wheels, &split.program, out)?;
    Ok(split)
}

/// Repacks the only wheel of a directory with this program.
fn put_into_wheel(wheels: &Path, program: &Path, out: &Path) -> Result<()> {
    let only = |dir: &Path| -> Result<PathBuf> {
        let entries: Vec<PathBuf> = std::fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        match entries.as_slice() {
            [one] => Ok(one.clone()),
            all => bail!("{} entries in {}; expected one", all.len(), dir.display()),
        }
    };
    let python = |words: &[&str]| {
        let mut python = tools::command("python3");
        python.args(["-m", "wheel"]).args(words);
        python
    };
    let unpacked = wheels.join("unpacked");
    run(python(&["unpack", "--dest"]).arg(&unpacked).arg(only(wheels)?))?;
    let tree = only(&unpacked)?;
    let data = tree.join(format!("{}-{}.data/scripts", PACKAGE.replace('-', "_"), super::version()));
    let place = only(&data)?;
    std::fs::copy(program, &place).with_context(|| place.display().to_string())?;
    std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o755))?;
    run(python(&["pack", "--dest-dir"]).arg(out).arg(&tree))
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
