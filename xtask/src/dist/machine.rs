//! The processors that programs are built for.

use anyhow::{Result, bail};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Machine {
    /// Intel and AMD, 64 bits.
    X86_64,
    /// Arm, 64 bits.
    Aarch64,
}

impl Machine {
    pub(super) const ALL: [Machine; 2] = [Machine::X86_64, Machine::Aarch64];

    /// Parses its common name.
    pub(super) fn named(name: &str) -> Result<Machine> {
        match name {
            "x86-64" | "x86_64" | "amd64" => Ok(Machine::X86_64),
            "aarch64" | "arm64" => Ok(Machine::Aarch64),
            _ => bail!("unknown machine `{name}`; known: x86-64, aarch64"),
        }
    }

    /// Returns its name in file names; Rust, rpm and the kernel use the same.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Machine::X86_64 => "x86_64",
            Machine::Aarch64 => "aarch64",
        }
    }

    /// Returns its name in Debian and in images.
    pub(super) const fn debian(self) -> &'static str {
        match self {
            Machine::X86_64 => "amd64",
            Machine::Aarch64 => "arm64",
        }
    }

    pub(super) fn shared_target(self) -> String {
        format!("{}-unknown-linux-gnu", self.name())
    }

    pub(super) fn fixed_target(self) -> String {
        format!("{}-unknown-linux-musl", self.name())
    }

    /// Whether its programs run here without emulation.
    pub(super) fn is_own(self) -> bool {
        std::env::consts::ARCH == self.name()
    }

    /// Returns the emulator for its programs.
    pub(super) fn emulator(self) -> String {
        format!("qemu-{}-static", self.name())
    }
}
