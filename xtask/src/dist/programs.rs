//! The programs of a release. One call of cargo builds them, so that the crates that they share are compiled once.

use super::PACKAGE;
use super::debug::{self, Split};
use anyhow::{Context, Result};
use std::path::Path;

/// A program, the package that makes it, and the source of its `main`.
#[derive(Debug)]
pub(super) struct Program {
    pub name: &'static str,
    pub package: &'static str,
    pub main: &'static str,
}

/// `plumb` starts the others, which it finds in its own directory.
pub(super) const PROGRAMS: [Program; 2] = [
    Program { name: "plumb", package: PACKAGE, main: "crates/plumb/src/main.rs" },
    Program { name: "plumb-serve", package: "plumb-serve", main: "crates/serve/src/main.rs" },
];

/// Returns cargo's options that select the packages of all programs.
pub(super) fn package_options() -> Vec<&'static str> {
    PROGRAMS.iter().flat_map(|program| ["--package", program.package]).collect()
}

/// Splits the debug information from all programs of a directory. `suffix` follows the name of each program in the name of
/// its debug information.
pub(super) fn split(built: &Path, suffix: &str) -> Result<Vec<Split>> {
    let split = |program: &Program| debug::split(&built.join(program.name), &format!("{}{suffix}", program.name));
    PROGRAMS.iter().map(split).collect()
}

/// Copies all programs into a directory.
pub(super) fn copy(programs: &[Split], dir: &Path) -> Result<()> {
    for split in programs {
        let place = dir.join(split.name());
        std::fs::copy(&split.program, &place).with_context(|| place.display().to_string())?;
    }
    Ok(())
}
