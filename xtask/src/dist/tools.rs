//! The programs that a release is made and checked with.

use anyhow::{Result, bail};
use std::process::{Command, Stdio};

/// A program, how to see that it is here, and how it comes here.
pub struct Tool {
    name: &'static str,
    probe: &'static [&'static str],
    install: &'static str,
}

const fn tool(name: &'static str, probe: &'static [&'static str], install: &'static str) -> Tool {
    Tool { name, probe, install }
}

/// What making needs.
pub const TO_MAKE: &[Tool] = &[
    tool("musl-gcc", &["musl-gcc", "--version"], "apt-get install musl-tools"),
    tool("zig", &["python3", "-m", "ziglang", "version"], "pip install ziglang"),
    tool("maturin", &["maturin", "--version"], "pip install maturin"),
    tool("cargo-deb", &["cargo-deb", "--version"], "cargo install cargo-deb --locked"),
    tool("cargo-generate-rpm", &["cargo-generate-rpm", "--version"], "cargo install cargo-generate-rpm --locked"),
    tool("tar", &["tar", "--version"], "apt-get install tar"),
];

/// What checking needs as well.
pub const TO_CHECK: &[Tool] = &[
    tool("mmdebstrap", &["mmdebstrap", "--version"], "apt-get install mmdebstrap"),
    tool("rpm", &["rpm", "--version"], "apt-get install rpm"),
    tool("pip", &["python3", "-m", "pip", "--version"], "apt-get install python3-pip"),
    tool("chroot", &["chroot", "--version"], "apt-get install coreutils"),
];

/// What checking programs of another machine needs.
pub const TO_EMULATE: &[Tool] =
    &[tool("qemu-user", &["qemu-aarch64-static", "--version"], "apt-get install qemu-user-static")];

/// Fails with a line for each tool that is missing.
pub fn require(tools: &[Tool]) -> Result<()> {
    let missing: Vec<String> = tools
        .iter()
        .filter(|tool| !starts(tool.probe))
        .map(|tool| format!("{} is missing; install it with `{}`", tool.name, tool.install))
        .collect();
    if !missing.is_empty() {
        bail!("{}", missing.join("\n"));
    }
    Ok(())
}

fn starts(probe: &[&str]) -> bool {
    let Some((name, words)) = probe.split_first() else { return false };
    let started =
        Command::new(name).args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    started.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::{require, tool};

    #[test]
    fn a_missing_tool_is_named_with_the_way_to_install_it() {
        let tools =
            [tool("sh", &["sh", "-c", "true"], "–"), tool("nothing", &["plumb-no-such-tool"], "pip install it")];
        let error = require(&tools).unwrap_err().to_string();
        assert_eq!(error, "nothing is missing; install it with `pip install it`");
    }
}
