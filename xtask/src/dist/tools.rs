//! Programs for building and checking a release. Missing ones are installed: Debian packages as root, all others in a
//! separate directory below the target directory.

use super::machine::Machine;
use crate::packages::{self, is_root};
use crate::tools::{cargo, run, target_directory};
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A program, how to detect it, and its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tool {
    name: &'static str,
    probe: &'static [&'static str],
    origin: Origin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Debian(&'static str),
    Crate(&'static str),
    /// A package of the Python Package Index.
    Python(&'static str),
}

const fn tool(name: &'static str, probe: &'static [&'static str], origin: Origin) -> Tool {
    Tool { name, probe, origin }
}

/// Tools for building. Python's packages need its venv, so that comes first.
pub(super) const TO_MAKE: &[Tool] = &[
    tool("musl-gcc", &["musl-gcc", "--version"], Origin::Debian("musl-tools")),
    tool("tar", &["tar", "--version"], Origin::Debian("tar")),
    tool("llvm-objcopy", &["llvm-objcopy", "--version"], Origin::Debian("llvm")),
    VENV,
    tool("zig", &["python3", "-m", "ziglang", "version"], Origin::Python("ziglang")),
    tool("cargo-zigbuild", &["cargo-zigbuild", "--version"], Origin::Python("cargo-zigbuild")),
    tool("wheel", &["python3", "-m", "wheel", "version"], Origin::Python("wheel")),
    tool("maturin", &["maturin", "--version"], Origin::Python("maturin")),
    tool("auditwheel", &["auditwheel", "--version"], Origin::Python("auditwheel")),
    tool("cargo-deb", &["cargo-deb", "--version"], Origin::Crate("cargo-deb")),
    tool("cargo-generate-rpm", &["cargo-generate-rpm", "--version"], Origin::Crate("cargo-generate-rpm")),
];

/// Additional tools for checking.
pub(super) const TO_CHECK: &[Tool] = &[
    tool("mmdebstrap", &["mmdebstrap", "--version"], Origin::Debian("mmdebstrap")),
    tool("rpm", &["rpm", "--version"], Origin::Debian("rpm")),
    tool("gdb", &["gdb", "--version"], Origin::Debian("gdb")),
    VENV,
    tool("curl", &["curl", "--version"], Origin::Debian("curl")),
    tool("chroot", &["chroot", "--version"], Origin::Debian("coreutils")),
    tool("ruby", &["ruby", "-ryaml", "-rjson", "-e", ""], Origin::Debian("ruby")),
    tool("shellcheck", &["shellcheck", "--version"], Origin::Debian("shellcheck")),
    tool("nix-instantiate", &["nix-instantiate", "--version"], Origin::Debian("nix-bin")),
    tool("ansible-playbook", &["ansible-playbook", "--version"], Origin::Debian("ansible-core")),
];

const VENV: Tool = tool("Python's venv", &["python3", "-c", "import ensurepip, venv"], Origin::Debian("python3-venv"));

/// Tools for programs of another machine: they are emulated to print manual and completions.
const TO_EMULATE: &[Tool] =
    &[tool("qemu-user", &["qemu-aarch64-static", "--version"], Origin::Debian("qemu-user-static"))];

/// Returns these, and an emulator if one of the machines is not this one.
pub(super) fn for_machines(tools: &[Tool], machines: &[Machine]) -> Vec<Tool> {
    let emulated = machines.iter().any(|machine| !machine.is_own());
    [tools, if emulated { TO_EMULATE } else { &[] }].concat()
}

/// Installs missing tools.
///
/// # Errors
///
/// One line for each missing tool that cannot be installed, with the command that installs it.
pub(super) fn provide(tools: &[Tool]) -> Result<()> {
    // Before installing anything, which takes minutes.
    require(tools.iter().filter(|tool| !tool.can_be_installed()))?;
    for tool in tools.iter().filter(|tool| !tool.starts()) {
        println!("installing {} ({})", tool.name, tool.by_hand());
        tool.install().with_context(|| format!("installing {}", tool.name))?;
    }
    require(tools.iter())
}

fn require<'a>(tools: impl Iterator<Item = &'a Tool>) -> Result<()> {
    let missing: Vec<String> = tools
        .filter(|tool| !tool.starts())
        .map(|tool| format!("{} is missing; install it with `{}`", tool.name, tool.by_hand()))
        .collect();
    if !missing.is_empty() {
        bail!("{}", missing.join("\n"));
    }
    Ok(())
}

/// Returns a command that prefers tools installed here to those of the system.
pub(super) fn command(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env("PATH", search_path());
    command
}

/// Returns the search path: the tools installed here first.
pub(super) fn search_path() -> OsString {
    let own = [directory().join("bin"), venv().join("bin")];
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let all = own.into_iter().chain(std::env::split_paths(&inherited));
    // A directory whose name contains a colon cannot be in a search path.
    std::env::join_paths(all).unwrap_or(inherited)
}

fn directory() -> PathBuf {
    target_directory().join("dist-tools")
}

fn venv() -> PathBuf {
    directory().join("venv")
}

impl Tool {
    fn starts(&self) -> bool {
        let Some((name, words)) = self.probe.split_first() else { return false };
        let started =
            command(name).args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        started.is_ok_and(|status| status.success())
    }

    fn can_be_installed(&self) -> bool {
        match self.origin {
            Origin::Debian(_) => is_root() && command("apt-get").arg("--version").output().is_ok(),
            Origin::Crate(_) | Origin::Python(_) => true,
        }
    }

    fn install(&self) -> Result<()> {
        match self.origin {
            Origin::Debian(package) => packages::install(&[package]).or_else(|_| {
                // The package list may be older than the mirror.
                packages::apt(&["update", "--quiet"])?;
                packages::install(&[package])
            }),
            Origin::Crate(name) => {
                // A packer for a few files need not be fast; an optimised build of it takes minutes.
                let mut install = cargo();
                install.args(["install", name, "--locked", "--quiet", "--debug", "--root"]).arg(directory());
                run(install.env("CARGO_TARGET_DIR", directory().join("build")))?;
                Ok(std::fs::remove_dir_all(directory().join("build"))?)
            }
            Origin::Python(name) => {
                if !venv().join("bin/python3").exists() {
                    run(Command::new("python3").args(["-m", "venv"]).arg(venv()))?;
                }
                run(Command::new(venv().join("bin/python3")).args([
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                    name,
                ]))
            }
        }
    }

    /// Returns the command that installs it.
    fn by_hand(&self) -> String {
        match self.origin {
            Origin::Debian(package) => format!("apt-get install {package}"),
            Origin::Crate(name) => format!("cargo install {name} --locked"),
            Origin::Python(name) => format!("pip install {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Machine, Origin, TO_CHECK, directory, for_machines, require, search_path, tool};

    #[test]
    fn every_tool_that_is_missing_is_named_with_the_way_to_install_it() {
        let tools = [
            tool("sh", &["sh", "-c", "true"], Origin::Debian("dash")),
            tool("nothing", &["plumb-no-such-tool"], Origin::Python("nothing")),
            tool("none", &["plumb-no-such-tool"], Origin::Debian("none-utils")),
        ];
        let error = require(tools.iter()).unwrap_err().to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(
            lines,
            [
                "nothing is missing; install it with `pip install nothing`",
                "none is missing; install it with `apt-get install none-utils`"
            ]
        );
    }

    #[test]
    fn another_machine_needs_an_emulator() {
        let emulators = |machines: &[Machine]| {
            for_machines(TO_CHECK, machines).iter().filter(|tool| tool.name == "qemu-user").count()
        };
        assert_eq!(emulators(&Machine::ALL), 1);
        let own = Machine::ALL.into_iter().filter(|machine| machine.is_own());
        assert_eq!(emulators(&own.collect::<Vec<_>>()), 0);
    }

    #[test]
    fn own_tools_are_found_first() {
        let first = std::env::split_paths(&search_path()).next();
        assert_eq!(first, Some(directory().join("bin")));
    }
}
