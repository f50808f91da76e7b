//! The oldest glibc that can run a program, derived from its symbol versions.
//!
//! Source: "Version Requirements" (`SHT_GNU_verneed`), Linux Standard Base Core 5.0, 10.7.4.

use anyhow::{Context, Result};
use object::elf::FileHeader64;
use object::read::elf::FileHeader;
use object::{Endianness, SectionIndex};
use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    /// Always 2 so far.
    pub major: u32,
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Returns the oldest glibc that has all symbol versions of a program.
///
/// # Errors
///
/// It is not a 64-bit ELF program, or needs no version of glibc.
pub(super) fn oldest(program: &[u8]) -> Result<Version> {
    let header = FileHeader64::<Endianness>::parse(program).context("not a 64-bit ELF file")?;
    let endian = header.endian()?;
    let sections = header.sections(endian, program)?;
    let mut oldest = None;
    if let Some((mut needed, strings)) = sections.gnu_verneed(endian, program)? {
        let strings = sections.strings(endian, program, SectionIndex(strings.0))?;
        while let Some((_, mut names)) = needed.next()? {
            while let Some(name) = names.next()? {
                oldest = oldest.max(version_of(&String::from_utf8_lossy(name.name(endian, strings)?)));
            }
        }
    }
    oldest.context("needs no version of glibc; is it static?")
}

/// Parses `GLIBC_2.28` or `GLIBC_2.2.5`. Packed relative relocations need a glibc with `GLIBC_ABI_DT_RELR`.
fn version_of(name: &str) -> Option<Version> {
    let numbers = match name.strip_prefix("GLIBC_")? {
        "ABI_DT_RELR" => "2.36",
        numbers => numbers,
    };
    let mut parts = numbers.split('.').map(str::parse);
    let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) else { return None };
    Some(Version { major, minor })
}

#[cfg(test)]
mod tests {
    use super::{Version, oldest, version_of};

    #[test]
    fn names_of_versions() {
        assert_eq!(version_of("GLIBC_2.2.5"), Some(Version { major: 2, minor: 2 }));
        assert_eq!(version_of("GLIBC_2.34"), Some(Version { major: 2, minor: 34 }));
        assert_eq!(version_of("GLIBC_ABI_DT_RELR"), Some(Version { major: 2, minor: 36 }));
        assert_eq!(version_of("GCC_3.0"), None);
        assert!(Version { major: 2, minor: 9 } < Version { major: 2, minor: 28 });
    }

    // The test itself is linked with this machine's glibc, and Rust's library needs at least 2.17.
    #[cfg(target_env = "gnu")]
    #[test]
    fn of_this_program() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(oldest(&program).unwrap() >= Version { major: 2, minor: 17 });
    }

    #[test]
    fn invalid_programs_are_refused() {
        assert!(oldest(b"#!/bin/sh\n").is_err());
    }
}
